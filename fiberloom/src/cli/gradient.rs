//! `fiberloom grad` and `fiberloom jvp`: programs of gradients and tangents, printed.

use super::args::Gradient;
use super::{memory, print, source};
use crate::{Error, relation};
use fiberloom_core::notation::{Diagnostic, syntax};
use fiberloom_passes::check::Checker;
use fiberloom_passes::gradient::{Ask, grad, jvp};

/// Prints the program of a gradient.
pub fn backward(args: &Gradient) -> Result<(), Error> {
    printed(args, grad)
}

/// Prints the program of a tangent.
pub fn forward(args: &Gradient) -> Result<(), Error> {
    printed(args, jvp)
}

type Rewrite = fn(&syntax::Program, Checker, &Ask) -> Result<syntax::Program, Vec<Diagnostic>>;

fn printed(args: &Gradient, rewrite: Rewrite) -> Result<(), Error> {
    let source::Text { name, text } = source::read(&args.source)?;
    memory::takes(text.len())?;
    let ask = Ask {
        of: args.of.clone(),
        by: args.by.clone(),
        seed: args.seed_name.clone(),
        dense: args.dense.clone(),
        value: args.value,
    };
    let made = match fiberloom_front::parse(&text) {
        (Some(program), diagnostics) if diagnostics.is_empty() => rewrite(&program, &relation::check, &ask),
        (_, diagnostics) => Err(diagnostics),
    };
    match made {
        Ok(program) => print::out(program.to_string().trim_end()),
        Err(diagnostics) => Err(Error::Program { file: name, text, diagnostics }),
    }
}
