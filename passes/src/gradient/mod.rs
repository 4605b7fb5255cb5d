//! Gradients, as programs: a rewrite of typed programs that is written down as syntax, and compiled as any other program.
//!
//! ```text
//!  draft.rs      the program that is written: names, variables, extents
//!  versions.rs   each statement defines a tensor of its own; turns.rs: blocks that stay blocks
//!  forward.rs    how results move if operands do
//!  backward.rs   from the last statement to the first; which gradients become tensors; around.rs: through blocks
//!  pull.rs       from a right side's value to what it reads; a rule a construct, a file a family, in pull/
//!  function.rs   derivatives of declared functions, as functions
//!  pattern.rs    gradients in the operand's own entries
//!  expr.rs       expressions, simplified as they are made; change.rs: copies of them
//!  text.rs       the program as syntax; lines.rs: its statements and blocks, in order
//! ```
//!
//! A rule is linear in the gradient that it passes on. What has no derivative (integers, truth values, comparisons) passes nothing on; a
//! function without one is refused by name. `docs/gradients.md` says what users see.

mod around;
mod backward;
mod change;
mod draft;
mod expr;
mod forward;
mod function;
mod lines;
mod pattern;
mod pull;
mod text;
mod turns;
mod versions;

use crate::check::Checker;
use backward::{Asked, Backward};
use draft::Draft;
use fiberloom_core::nearest;
use fiberloom_core::notation::typed::TensorId;
use fiberloom_core::notation::{Diagnostic, Span, syntax};
use fiberloom_core::stack::with_room;
use forward::{Forward, Written};
use text::Parts;

pub use pattern::keeps_entries;

/// What is asked of [`grad`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// The tensor whose gradient is asked.
    pub of: String,
    /// The tensors by which: each gets a gradient, `A_bar` for `A`.
    pub by: Vec<String>,
    /// The name of the operand that is the gradient of `of`, which is given. Without a name it is that of `of` with
    /// `_bar` (`_seed`, if a gradient by `of` is asked for, too), and 1 for a scalar.
    pub seed: Option<String>,
    /// Those of `by` whose gradients are wanted at each coordinate, not only where they store an entry.
    pub dense: Vec<String>,
    /// Whether the program gives the value of `of`, too.
    pub value: bool,
}

/// The program that computes a gradient: statements of the original that it needs, and for each tensor of `by` one that defines `A_bar`, the
/// derivative of `Σ of · seed` by `A`. It has the entries of `A` if `A` has lists, whatever values they hold: those of `A_pattern`, a `bool`
/// operand with the levels of `A`.
///
/// # Errors
/// What is wrong with the program, as `checker` says; a name that it has not, or of integers; a construct that has no derivative, by name.
pub fn grad(source: &syntax::Program, checker: Checker, ask: &Ask) -> Result<syntax::Program, Vec<Diagnostic>> {
    with_room(|| grad_here(source, checker, ask))
}

fn grad_here(source: &syntax::Program, checker: Checker, ask: &Ask) -> Result<syntax::Program, Vec<Diagnostic>> {
    let has_blocks = source.items.iter().any(|item| matches!(item, syntax::Item::Repeat(_)));
    // What keeps a block from staying one may not keep its statements from being written out.
    backward((source, checker), ask, true).or_else(|wrong| match has_blocks {
        true => backward((source, checker), ask, false).map_err(|_| wrong),
        false => Err(wrong),
    })
}

/// A gradient; with `blocks` those of the program stay blocks.
fn backward(
    (source, checker): (&syntax::Program, Checker),
    ask: &Ask,
    blocks: bool,
) -> Result<syntax::Program, Vec<Diagnostic>> {
    let one = |d: Diagnostic| vec![d];
    let mut draft = plain(source, checker)?;
    let tensors = |names: &[String]| -> Result<Vec<TensorId>, Diagnostic> {
        names.iter().map(|name| float(&draft, name)).collect()
    };
    let (of, by, dense) = (tensors(std::slice::from_ref(&ask.of)), tensors(&ask.by), tensors(&ask.dense));
    let (of, by, dense) = (of.map_err(one)?[0], by.map_err(one)?, dense.map_err(one)?);
    let (mut pieces, now) = versions::versions(&mut draft, source, (blocks, &by)).map_err(one)?;
    let of = now.tensor(of);
    around::outside(&draft, &pieces, &by).map_err(one)?;
    let asked = Asked { of, by, dense: dense.into_iter().collect(), seed: seed(&mut draft, of, ask).map_err(one)? };
    let mut backward = Backward::new(&mut draft, &asked, &pieces);
    backward.run(&mut pieces).map_err(one)?;
    let gradients = asked.by.iter().filter_map(|t| backward.gradients.get(t).copied());
    let patterns = asked.by.iter().filter_map(|t| backward.patterns.made.get(t).copied());
    let mut declared: Vec<TensorId> = asked.by.clone();
    declared.extend(patterns.chain(asked.seed).chain(gradients));
    let made = std::mem::take(&mut backward.made);
    let wanted = if ask.value { vec![of] } else { vec![] };
    Parts { source, pieces, made, declared, wanted }
        .program(&mut draft)
        .map_err(one)
        .and_then(|made| sound(made, checker))
}

/// The program that computes how `of` moves if the tensors of `by` do: for `A` of `by` an operand `A_dot` with the format of `A`, and the result
/// `of` with `_dot`. `seed` and `dense` of what is asked say nothing here.
///
/// # Errors
/// As of [`grad`]; blocks have tangents.
pub fn jvp(source: &syntax::Program, checker: Checker, ask: &Ask) -> Result<syntax::Program, Vec<Diagnostic>> {
    with_room(|| jvp_here(source, checker, ask))
}

fn jvp_here(source: &syntax::Program, checker: Checker, ask: &Ask) -> Result<syntax::Program, Vec<Diagnostic>> {
    let one = |d: Diagnostic| vec![d];
    let mut draft = plain(source, checker)?;
    let of = float(&draft, &ask.of).map_err(one)?;
    let by: Vec<TensorId> = ask.by.iter().map(|name| float(&draft, name)).collect::<Result<_, _>>().map_err(one)?;
    let order = draft.program.order.clone();
    let mut forward = Forward::new(&mut draft, &by);
    let mut steps = forward.steps(&order).map_err(one)?;
    let begun = forward.begun(&by);
    let Some(dot) = forward.dots.get(&of).copied() else {
        let message = format!("`{}` does not move with {}", ask.of, ask.by.join(", "));
        return Err(one(
            Diagnostic::new(Span::default(), message).help("name tensors by `--by` that it is computed of")
        ));
    };
    steps.extend(forward.kept(dot, &steps).map(Written::Made));
    let declared = by.iter().flat_map(|t| [*t, forward.dots[t]]).chain([dot]).collect();
    let wanted = if ask.value { vec![of, dot] } else { vec![dot] };
    Parts { source, pieces: vec![], made: vec![], declared, wanted }
        .forward(&mut draft, (begun, &steps))
        .map_err(one)
        .and_then(|made| sound(made, checker))
}

/// A derivative that the checker takes. It does not where terms that do not move are dropped which alone say an extent.
fn sound(made: syntax::Program, checker: Checker) -> Result<syntax::Program, Vec<Diagnostic>> {
    match checker(&made) {
        Ok(_) => Ok(made),
        Err(wrong) => {
            let said = wrong.first().map_or("", |d| &d.message);
            let message = format!("the derivative drops what its program needs: {said}");
            let help =
                "write the sums and terms of this program as statements of their own, each with a declared result";
            Err(vec![Diagnostic::new(Span::default(), message).help(help)])
        }
    }
}

/// A draft of a program without tables.
fn plain(source: &syntax::Program, checker: Checker) -> Result<Draft, Vec<Diagnostic>> {
    let program = checker(source)?;
    if source.items.iter().any(|item| matches!(item, syntax::Item::Domain(_) | syntax::Item::Table(_))) {
        let message = "programs with tables have no gradients: values of labels do not move";
        return Err(vec![Diagnostic::new(Span::default(), message)]);
    }
    Draft::new(program)
}

/// A tensor of floats, by its name.
fn float(draft: &Draft, name: &str) -> Result<TensorId, Diagnostic> {
    let tensors = &draft.program.tensors;
    let Some(n) = tensors.iter().position(|t| t.name == name) else {
        let d = Diagnostic::new(Span::default(), format!("the program has no tensor `{name}`"));
        return Err(match nearest(name, tensors.iter().map(|t| t.name.as_str())) {
            Some(near) => d.help(format!("there is `{near}`")),
            None => d,
        });
    };
    if !tensors[n].ty.is_float() {
        let message = format!("`{name}` is of {}, which has no gradient: only floats move", tensors[n].ty);
        return Err(Diagnostic::new(tensors[n].span, message));
    }
    Ok(TensorId(n as u32))
}

/// The operand that is the gradient of `of`; none of a scalar, whose gradient is 1.
fn seed(draft: &mut Draft, of: TensorId, ask: &Ask) -> Result<Option<TensorId>, Diagnostic> {
    let tensor = draft.program.tensors[of.index()].clone();
    if ask.seed.is_none() && tensor.sizes.is_empty() {
        return Ok(None);
    }
    let suffix = if ask.by.contains(&ask.of) { "seed" } else { "bar" };
    let wanted = ask.seed.clone().unwrap_or_else(|| format!("{}_{suffix}", ask.of));
    let format = tensor.format.unwrap_or_else(|| fiberloom_core::format::Format::dense(tensor.sizes.len()));
    let seed = draft.like(&wanted, of, tensor.ty, Some(format));
    if ask.seed.is_some() && draft.program.tensors[seed.index()].name != wanted {
        let message = format!(
            "`{wanted}` cannot be the name of what is given for the gradient: the program has that name already"
        );
        return Err(Diagnostic::new(Span::default(), message));
    }
    Ok(Some(seed))
}
