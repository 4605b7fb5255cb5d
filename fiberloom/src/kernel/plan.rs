//! What a bind finds out beyond whether its operands fit, remembered for the next one on operands of the same shapes.
//!
//! ```text
//!  operands ──▶ shapes: extents and index widths ──▶ Plan: every extent; the code    ─┐
//!                    └── the same as at the last bind? ── its plan, shared ◀──────────┘ remembered
//! ```
//!
//! Invariant: a plan depends on the program, the options, the shapes and which results are thin alone, so that it changes no answer which one
//! is remembered.

use super::size::Sizes;
use super::{Engine, Operand, Shape};
use crate::cache::{self, Code};
use crate::error::Error;
use crate::program::Program;
use fiberloom_core::algebra::Mode;
use fiberloom_core::iteration::Thin;
use fiberloom_core::notation::typed::TensorId;
use fiberloom_core::shape::Extents;
use fiberloom_core::shape::Magnitude;
use fiberloom_loops::{Options as Lowering, Widths};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What is known of a call once the shapes of its operands are.
#[derive(Debug)]
pub(super) struct Plan {
    /// Of each operand.
    shapes: BTreeMap<TensorId, Shape>,
    /// Those that the caller says.
    pub(super) sizes: Sizes,
    /// Of all tensors.
    pub(super) extents: Extents,
    /// The undeclared results that are thin.
    pub(super) thin: Thin,
    /// With 32-bit results, once it is made: one engine's.
    code: OnceLock<Arc<Code>>,
}

/// The plan of a kernel's last bind, shared by its clones.
#[derive(Clone, Debug, Default)]
pub(super) struct Last(Arc<Mutex<Option<Arc<Plan>>>>);

impl Last {
    /// The plan for these operands: the last one if it fits, else a new one with the extents that `solve` finds.
    pub(super) fn plan(
        &self,
        program: &Program,
        operands: &BTreeMap<TensorId, Operand>,
        sizes: Sizes,
        solve: impl FnOnce(&BTreeMap<TensorId, Shape>, &Sizes) -> Result<Extents, Error>,
    ) -> Result<Arc<Plan>, Error> {
        let entries = |id: TensorId| operands.get(&id).map_or(0, |operand| operand.tensor().values.len() as u64);
        let thin = |extents: &Extents| program.spares().thin(extents, &entries);
        let fits = |plan: &&Arc<Plan>| {
            let is_of = |(shape, operand): ((&TensorId, &Shape), (&TensorId, &Operand))| {
                shape.0 == operand.0 && shape.1.is_of(operand.1.tensor())
            };
            let alike = plan.shapes.len() == operands.len() && plan.shapes.iter().zip(operands).all(is_of);
            alike && plan.sizes == sizes && plan.thin == thin(&plan.extents)
        };
        if let Some(plan) = self.held().as_ref().filter(fits) {
            return Ok(plan.clone());
        }
        let shapes: BTreeMap<_, _> = operands.iter().map(|(id, operand)| (*id, operand.tensor().into())).collect();
        let extents = solve(&shapes, &sizes)?;
        let thin = thin(&extents);
        Ok(self.remember((shapes, sizes), extents, thin))
    }

    /// A new plan, which is the last one from now on.
    pub(super) fn remember(
        &self,
        (shapes, sizes): (BTreeMap<TensorId, Shape>, Sizes),
        extents: Extents,
        thin: Thin,
    ) -> Arc<Plan> {
        let plan = Arc::new(Plan { shapes, sizes, extents, thin, code: OnceLock::new() });
        *self.held() = Some(plan.clone());
        plan
    }

    /// What is remembered; a thread that panicked while it held the lock has left a plan or none.
    fn held(&self) -> MutexGuard<'_, Option<Arc<Plan>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is expected of results, until a kernel fails since it is otherwise.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Expected {
    /// Index widths of what the kernel makes.
    pub made: Widths,
    /// As [`Lowering`] has it: every value has a place in its result's format.
    pub held: bool,
}

impl Default for Expected {
    fn default() -> Expected {
        Expected { made: Widths::NARROW, held: true }
    }
}

impl Plan {
    /// The code for the operands' index widths, these of what is made, and sizes as large as the operands'.
    pub(super) fn code(
        &self,
        program: &Program,
        engine: Engine,
        mode: Mode,
        expected: Expected,
    ) -> Result<Arc<Code>, Error> {
        let remembered = expected == Expected::default();
        if let Some(code) = self.code.get().filter(|_| remembered) {
            return Ok(code.clone());
        }
        let code = cache::code(program, engine, &self.lowering(program, mode, expected)?)?;
        if remembered {
            // Another thread may have been faster, with the same code.
            let _ = self.code.set(code.clone());
        }
        Ok(code)
    }

    /// What the program is lowered for.
    pub(super) fn lowering(&self, program: &Program, mode: Mode, expected: Expected) -> Result<Lowering, Error> {
        let operands = self.shapes.iter().map(|(id, shape)| (*id, shape.widths.clone())).collect();
        let given = |id: &TensorId| self.shapes.contains_key(id);
        let initial = program.typed().starts().into_iter().filter(given).collect();
        let thin = self.thin.clone();
        let asked = match thin.is_empty() {
            true => program.lowers(mode)?.clone(),
            // Other loops than the program's usual ones, which may ask for other sizes.
            false => program.lowered_for(&Lowering { mode, thin: thin.clone(), ..Lowering::default() })?.asked,
        };
        let sizes = asked.magnitudes.iter().map(|s| (*s, Magnitude::of(self.extents.sizes[s.index()]))).collect();
        let extents = asked.extents.then(|| self.extents.clone());
        let empty = asked.summed.iter().copied().filter(|v| self.extents.vars.get(v.index()) == Some(&0)).collect();
        let Expected { made, held } = expected;
        Ok(Lowering { mode, operands, initial, made, held, sizes, thin, extents, empty, ..Lowering::default() })
    }
}
