//! The meaning over dual numbers: a program's results, and how they move if its operands do.
//!
//! ```text
//!  operands T, tangents Ṫ  ──▶  results R, and Ṙ = Σ ∂R/∂T · Ṫ        T, R: floats; what has no tangent does not move
//! ```

use super::support::run_stored;
use super::{Function, Limits, Refusal, World};
use crate::algebra::{Dual, Number};
use fiberloom_core::algebra::Mode;
use fiberloom_core::format::Tensor;
use fiberloom_core::notation::typed::{Program, TensorId};
use fiberloom_core::stack::with_room;
use std::collections::BTreeMap;

/// Which of the two evaluations is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visiting {
    /// Each coordinate by itself.
    Everywhere,
    /// What is stored, as [`super::evaluate_stored`].
    Stored,
}

/// The function of each result, by name, with how it moves where operands move as these tensors, which have the operands' names, types and
/// extents. An operand without one does not move.
///
/// # Errors
/// As [`super::evaluate`]; a tangent that is not like its operand is an [`Refusal::Operand`].
pub fn evaluate(
    program: &Program,
    operands: &BTreeMap<String, Tensor>,
    tangents: &BTreeMap<String, Tensor>,
    (mode, visiting): (Mode, Visiting),
    limits: &Limits,
) -> Result<BTreeMap<String, Function<Dual>>, Refusal> {
    with_room(|| {
        let mut world = World::<Dual>::new(program, operands, mode, limits)?;
        for (name, tangent) in tangents {
            world.moves(name, tangent)?;
        }
        match visiting {
            Visiting::Everywhere => world.steps(&program.order, &mut |world, s| world.statement(s))?,
            Visiting::Stored => run_stored(&mut world)?,
        }
        Ok(world.results())
    })
}

impl World<'_, Dual> {
    /// Lets an operand move.
    fn moves(&mut self, name: &str, tangent: &Tensor) -> Result<(), Refusal> {
        let wrong = |what: &str| Refusal::Operand(name.to_string(), what.to_string());
        let id = self.program.tensors.iter().position(|t| t.name == name).map(|n| TensorId(n as u32));
        let place = id.and_then(|id| self.functions[id.index()].as_mut());
        let Some(function) = place else { return Err(wrong("a tangent is given for what is no operand")) };
        if function.extents != tangent.extents || function.ty != tangent.fill.ty() || !function.ty.is_float() {
            return Err(wrong("its tangent has another type or other extents, or it is not of floats"));
        }
        tangent.check().map_err(|malformed| wrong(&malformed.to_string()))?;
        let moved = Function::<Number>::of(tangent);
        let fill = Dual::moving(function.fill.value, moved.fill);
        let mut whole = Function::constant(function.extents.clone(), fill);
        for at in function.entries.keys().chain(moved.entries.keys()) {
            whole.set(at.clone(), Dual::moving(function.at(at).value, moved.at(at)));
        }
        *function = whole;
        Ok(())
    }
}

impl Function<Dual> {
    /// How the function moves.
    pub fn tangent(&self) -> Function {
        self.part(|dual| dual.tangent)
    }

    /// The function itself.
    pub fn primal(&self) -> Function {
        self.part(|dual| dual.value)
    }

    fn part(&self, of: impl Fn(&Dual) -> Number) -> Function {
        let mut part = Function::constant(self.extents.clone(), of(&self.fill));
        self.entries.iter().for_each(|(at, dual)| part.set(at.clone(), of(dual)));
        part
    }
}
