//! Extents, once the data's are known.

use super::bounds;
use super::classes::{Classes, values};
use crate::notation::typed::{Extents, Program, SizeId, TensorId, VarId};
use crate::notation::{Diagnostic, Span};
use crate::words::counted;

/// Why extents are not known.
#[derive(Clone, Debug, PartialEq)]
pub enum Unsolved {
    /// Neither the program nor the data say an extent: the program is to blame.
    Unknown(Diagnostic),
    /// These data do not say an extent which others would: it is a factor of one that is 0.
    Unsaid(Diagnostic),
    /// The data's extents contradict each other or the program.
    Contradiction(Diagnostic),
}

impl From<Diagnostic> for Unsolved {
    fn from(d: Diagnostic) -> Unsolved {
        Unsolved::Contradiction(d)
    }
}

/// What the program alone decides of its extents: see [`Classes::of`].
///
/// # Errors
/// As there.
pub fn check(program: &Program) -> Result<(), Vec<Diagnostic>> {
    Classes::of(program).map(|_| ())
}

/// Solves for the extents of a checked program whose `given` tensors have these extents.
///
/// # Errors
/// The first of: a contradiction, an index that leaves its tensor, a fold over nothing without a value, an extent that
/// nothing says.
pub fn solve(program: &Program, given: &[(TensorId, Vec<u64>)]) -> Result<Extents, Unsolved> {
    let classes = learn(program, given)?;
    first(bounds::check(program, &classes))?;
    let values: Vec<SizeId> = values(program).into_iter().map(|(size, _)| size).collect();
    let used = |size: SizeId| {
        let of = |t: TensorId| program.tensors[t.index()].sizes.contains(&size);
        let mut found = values.contains(&size);
        program.statements.iter().for_each(|s| s.accesses(&mut |t, _, _| found |= of(t)));
        found
    };
    let unknown = |span: Span, what: String| {
        let tensors = given.iter().map(|(id, _)| *id);
        match Classes::of(program).is_ok_and(|classes| classes.says_all(program, tensors)) {
            false => {
                let unknown = Diagnostic::new(span, format!("the extent of {what} is unknown"));
                let missing = program.unread().into_iter().filter(|id| given.iter().all(|(other, _)| other != id));
                let missing = missing.map(|id| format!("`{}`", program.tensors[id.index()].name)).collect::<Vec<_>>();
                let help = || format!("nothing is given for {}, which may say it", missing.join(", "));
                Unsolved::Unknown(if missing.is_empty() { unknown } else { unknown.help(help()) })
            }
            true => {
                let message = format!("these data do not say the extent of {what}");
                let help = "it is a factor of an extent that is 0: give its size a value (`dim N = …`), or other data";
                Unsolved::Unsaid(Diagnostic::new(span, message).help(help))
            }
        }
    };
    let mut solved = Extents::default();
    for (place, var) in program.vars.iter().enumerate() {
        let extent = classes.extent_of_var(VarId(place as u32));
        solved.vars.push(extent.ok_or_else(|| unknown(var.span, format!("index variable `{}`", var.name)))?);
    }
    for (place, size) in program.sizes.iter().enumerate() {
        match classes.extent(place) {
            Some(extent) => solved.sizes.push(extent),
            None if !used(SizeId(place as u32)) => solved.sizes.push(0),
            None => return Err(unknown(size.span, classes.called(place))),
        }
    }
    Ok(solved)
}

/// What the program and the extents of `given` tensors say of a tensor's extents: one a mode.
///
/// # Errors
/// The first contradiction.
pub fn known(
    program: &Program,
    given: &[(TensorId, Vec<u64>)],
    tensor: TensorId,
) -> Result<Vec<Option<u64>>, Diagnostic> {
    let classes = learn(program, given)?;
    Ok(program.tensors[tensor.index()].sizes.iter().map(|s| classes.extent(s.index())).collect())
}

fn first(errors: Vec<Diagnostic>) -> Result<(), Diagnostic> {
    errors.into_iter().next().map_or(Ok(()), Err)
}

/// The classes of a checked program, with every extent that follows when `given` tensors have these.
fn learn(program: &Program, given: &[(TensorId, Vec<u64>)]) -> Result<Classes, Diagnostic> {
    let mut classes = Classes::of(program).map_err(|mut errors| errors.swap_remove(0))?;
    let mut errors = Vec::new();
    for (id, extents) in given {
        let tensor = &program.tensors[id.index()];
        if extents.len() != tensor.sizes.len() {
            let modes = counted(tensor.sizes.len(), "mode", "modes");
            let found = counted(extents.len(), "extent", "extents");
            let message = format!("`{}` has {modes}, and its data has {found}", tensor.name);
            return Err(Diagnostic::new(tensor.span, message));
        }
        for (mode, (size, extent)) in tensor.sizes.iter().zip(extents).enumerate() {
            if *extent > i64::MAX as u64 {
                let message = format!("the extent {extent} of mode {mode} of `{}` is not below 2⁶³", tensor.name);
                return Err(Diagnostic::new(tensor.span, message));
            }
            let by = format!("the data of `{}`, mode {mode}", tensor.name);
            classes.learn(size.index(), *extent, &by, tensor.span, &mut errors);
        }
    }
    classes.propagate(&mut errors);
    first(errors)?;
    Ok(classes)
}
