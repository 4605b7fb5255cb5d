//! Programs: what lowering makes of them computes their meaning, interpreted and as machine code.
//!
//! ```text
//!  bytes ──random──▶ text ──front, check──▶ typed ──▶ semantics::meaning ───────────────┐
//!                      data                   └─lower─▶ loops ─┬▶ semantics::machine ───┼▶ equal, results well-formed
//!                                                              └▶ codegen, fenced ──────┘
//! ```
//!
//! One program is run on operands of extents 4, 1 and 0. Values are chosen so that equality is exact: integers, and
//! small integers as `f64` under functions that keep them so.
pub mod campaign;
pub mod case;
pub mod engines;
pub mod random;
pub mod shrink;

use arbitrary::Unstructured;
use fiberloom_codegen::{Compiled, OptLevel, compile};
use fiberloom_core::algebra::Mode;
use fiberloom_core::format::{Array, Tensor};
use fiberloom_core::loops::{self, Bound, Kernel};
use fiberloom_core::notation::{self, typed};
use fiberloom_core::shape;
use fiberloom_semantics::{agree as same, machine, meaning};
use std::collections::BTreeMap;

/// How a program ended, on all engines alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With the same results on so many sets of operands.
    Agreed(usize),
    /// Nothing ran: the program is rejected, with this message.
    Rejected(String),
}

/// Runs the program of these bytes on every engine, machine code at these levels.
///
/// # Panics
/// If engines disagree, a result is malformed, or a stage finds a defect in what another made: that is the finding.
pub fn agree(bytes: &[u8], levels: &[OptLevel]) -> Ended {
    let u = &mut Unstructured::new(bytes);
    let text = random::program(u);
    let (syntax, wrong) = fiberloom_front::parse(&text);
    let syntax = syntax.filter(|_| wrong.is_empty()).unwrap_or_else(|| panic!("{wrong:?}\n{text}"));
    let typed = match notation::check(&syntax) {
        Ok(typed) => typed,
        Err(wrong) => return Ended::Rejected(wrong[0].message.clone()),
    };
    let kernel = match fiberloom_core::lower(&typed, &Default::default()) {
        Ok(lowered) => lowered.kernel,
        Err(wrong) => {
            assert!(!wrong[0].message.contains("defect"), "{}\n{text}", wrong[0].message);
            return Ended::Rejected(wrong[0].message.clone());
        }
    };
    let printed = kernel.to_string();
    assert_eq!(loops::read(&printed).map(|k| k.to_string()), Ok(printed), "the loops read as others");
    let options = levels.iter().map(|l| fiberloom_codegen::Options { opt_level: *l, ..Default::default() });
    let compiled: Vec<Compiled> =
        options.map(|o| compile(&kernel, &o).unwrap_or_else(|e| panic!("{e}\n{text}"))).collect();
    let mut agreed = 0;
    for extent in [4, 1, 0] {
        let operands = random::operands(u, &kernel, extent);
        let given = typed.tensors.iter().enumerate();
        let given = given
            .filter_map(|(t, tensor)| Some((typed::TensorId(t as u32), operands.get(&tensor.name)?.extents.clone())));
        let extents = match shape::solve(&typed, &given.collect::<Vec<_>>()) {
            Ok(extents) => extents,
            Err(shape::Unsolved::Unknown(wrong)) => return Ended::Rejected(wrong.message),
            Err(shape::Unsolved::Contradiction(wrong)) => panic!("{}\n{text}", wrong.message),
        };
        let run = Run { text: &text, typed: &typed, kernel: &kernel, operands: &operands };
        run.agrees(&extents, &compiled);
        agreed += 1;
    }
    Ended::Agreed(agreed)
}

/// The case of these bytes on an engine.
///
/// # Panics
/// If it does not give the meaning's answer: with the case, shrunk.
pub fn attack(bytes: &[u8], engine: engines::Engine) {
    let case = case::case(&mut Unstructured::new(bytes));
    if let Err(finding) = engines::run(&case, engine) {
        let (case, finding) = shrink::shrink(case, finding, engine);
        let kernel = finding.kernel.map_or(String::new(), |k| k.to_string());
        panic!("{}: {}\n{case}\n{kernel}", finding.kind, finding.what)
    }
}

/// Reads a text, checks it if it reads, and reads its print.
///
/// # Panics
/// If the print reads as another program: that is the finding, as is any panic of parser, printer or checker.
pub fn reads_back(text: &str) {
    let (program, wrong) = fiberloom_front::parse(text);
    let Some(program) = program.filter(|_| wrong.is_empty()) else {
        fiberloom_front::render("fuzzed", text, &wrong, false);
        return;
    };
    let printed = program.to_string();
    let (again, wrong) = fiberloom_front::parse(&printed);
    assert!(wrong.is_empty(), "its print does not read: {wrong:?}\n{printed}");
    assert_eq!(again.as_ref(), Some(&program), "its print reads as another program\n{printed}");
    if let Err(wrong) = notation::check(&program) {
        fiberloom_front::render("fuzzed", text, &wrong, false);
    }
}

/// One program on one set of operands.
struct Run<'a> {
    text: &'a str,
    typed: &'a typed::Program,
    kernel: &'a Kernel,
    operands: &'a BTreeMap<String, Tensor<'static>>,
}

impl Run<'_> {
    fn agrees(&self, extents: &shape::Extents, compiled: &[Compiled]) {
        let of = |t: typed::TensorId| {
            let sizes = &self.typed.tensors[t.index()].sizes;
            sizes.iter().map(|s| extents.sizes[s.index()]).collect()
        };
        let tensors: Vec<(&str, &Tensor)> = self.operands.iter().map(|(n, t)| (n.as_str(), t)).collect();
        let bound = loops::bind(self.kernel, &tensors, &of).unwrap_or_else(|e| self.found(&e));
        let meant = meaning::evaluate(self.typed, self.operands, Mode::Algebraic, &Default::default());
        let meant = meant.unwrap_or_else(|e| self.found(&format!("no meaning: {e:?}")));
        let Bound { params, operands } = &bound;
        let outcome = machine::run(self.kernel, params, operands, &Default::default());
        let outcome = outcome.unwrap_or_else(|e| self.found(&e.to_string()));
        self.means("loops", params, outcome.buffers, &meant);
        for code in compiled {
            // SAFETY: the interpreter has just found every access of this run inside its buffer.
            #[allow(unsafe_code)]
            let buffers = unsafe { code.run_fenced(params, operands, &Default::default()) };
            self.means("machine code", params, buffers.unwrap_or_else(|e| self.found(&format!("{e:?}"))), &meant);
        }
    }

    fn means(
        &self,
        engine: &str,
        params: &[i64],
        buffers: Vec<Option<Array<'static>>>,
        meant: &BTreeMap<String, meaning::Function>,
    ) {
        for (name, tensor) in loops::collect(self.kernel, params, buffers) {
            tensor.check().unwrap_or_else(|e| self.found(&format!("{engine}: `{name}` is malformed: {e}")));
            let agrees = same(&meant[&name], &tensor, Mode::Algebraic);
            agrees.unwrap_or_else(|e| self.found(&format!("{engine}: `{name}`: {e}")));
        }
    }

    fn found(&self, what: &str) -> ! {
        panic!("{what}\n{}\n{:#?}\n{}", self.text, self.operands, self.kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes;

    #[test]
    fn loops_and_machine_code_compute_the_meaning() {
        let (mut agreed, mut rejected) = (0, 0);
        for seed in 0..800 {
            let levels = [OptLevel::None, OptLevel::Full];
            let levels = &levels[..2usize.saturating_sub(seed as usize % 20)];
            match agree(&bytes(seed, 2000), levels) {
                Ended::Agreed(n) => agreed += n,
                Ended::Rejected(why) if why.contains("is unknown") || why.contains("is no value of type") => {
                    rejected += 1
                }
                Ended::Rejected(why) => panic!("{why}, of seed {seed}"),
            }
        }
        // An index variable that only a literal's fold names has no extent; there are such programs, and few.
        assert!(agreed > 1500 && rejected < 250, "{agreed} agreed, {rejected} rejected");
    }
}
