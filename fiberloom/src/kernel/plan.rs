//! What a bind finds out beyond whether its operands fit, remembered for the next one on operands of the same shapes.
//!
//! ```text
//!  operands ──▶ shapes: extents and index widths ──▶ Plan: every extent; the code    ─┐
//!                    └── the same as at the last bind? ── its plan, shared ◀──────────┘ remembered
//! ```
//!
//! Invariant: a plan depends on the program, the options and the shapes alone, so that it changes no answer which one
//! is remembered.

use crate::cache::{self, Code};
use crate::error::Error;
use crate::kernel::Engine;
use crate::program::Program;
use fiberloom_core::algebra::Mode;
use fiberloom_core::format::{Level, Tensor};
use fiberloom_core::notation::typed::TensorId;
use fiberloom_core::schedule::storage::Magnitude;
use fiberloom_core::shape::Extents;
use fiberloom_core::{Options as Lowering, Widths};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What is known of a call once the shapes of its operands are.
#[derive(Debug)]
pub(super) struct Plan {
    shapes: Vec<Shape>,
    /// Of all tensors.
    pub(super) extents: Extents,
    /// With 32-bit results, once it is made: one engine's.
    code: OnceLock<Arc<Code>>,
}

/// What of an operand a plan depends on.
#[derive(Debug)]
struct Shape {
    tensor: TensorId,
    extents: Vec<u64>,
    widths: Vec<Widths>,
}

impl Shape {
    fn of((id, tensor): (&TensorId, &&Tensor)) -> Shape {
        let widths = tensor.levels.iter().map(widths).collect();
        Shape { tensor: *id, extents: tensor.extents.clone(), widths }
    }

    fn is_of(&self, (id, tensor): (&TensorId, &&Tensor)) -> bool {
        self.tensor == *id
            && self.extents == tensor.extents
            && self.widths.iter().copied().eq(tensor.levels.iter().map(widths))
    }
}

/// The index widths of a level's arrays.
fn widths(level: &Level) -> Widths {
    let (pos, crd) = level.index_types();
    Widths { pos: pos.unwrap_or(Widths::NARROW.pos), crd: crd.unwrap_or(Widths::NARROW.crd) }
}

/// The plan of a kernel's last bind, shared by its clones.
#[derive(Clone, Debug, Default)]
pub(super) struct Last(Arc<Mutex<Option<Arc<Plan>>>>);

impl Last {
    /// The plan for these operands: the last one if it fits, else a new one with the extents that `solve` finds.
    pub(super) fn plan(
        &self,
        operands: &BTreeMap<TensorId, &Tensor>,
        solve: impl FnOnce() -> Result<Extents, Error>,
    ) -> Result<Arc<Plan>, Error> {
        // A thread that panicked while it held the lock has left a plan or none.
        let last = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |plan: &&Arc<Plan>| {
            plan.shapes.len() == operands.len() && plan.shapes.iter().zip(operands).all(|(shape, o)| shape.is_of(o))
        };
        if let Some(plan) = last().as_ref().filter(fits) {
            return Ok(plan.clone());
        }
        let shapes = operands.iter().map(Shape::of).collect();
        let plan = Arc::new(Plan { shapes, extents: solve()?, code: OnceLock::new() });
        *last() = Some(plan.clone());
        Ok(plan)
    }
}

impl Plan {
    /// The code for the operands' index widths, these of what is made, and sizes as large as the operands'.
    pub(super) fn code(&self, program: &Program, engine: Engine, mode: Mode, made: Widths) -> Result<Arc<Code>, Error> {
        let remembered = made == Widths::NARROW;
        if let Some(code) = self.code.get().filter(|_| remembered) {
            return Ok(code.clone());
        }
        let operands = self.shapes.iter().map(|shape| (shape.tensor, shape.widths.clone())).collect();
        let given = |id: &TensorId| self.shapes.iter().any(|shape| shape.tensor == *id);
        let initial = program.typed().starts().into_iter().filter(given).collect();
        let asked = program.lowers(mode)?;
        let sizes = asked.magnitudes.iter().map(|s| (*s, Magnitude::of(self.extents.sizes[s.index()]))).collect();
        let extents = asked.extents.then(|| self.extents.clone());
        let lowering = Lowering { mode, operands, initial, made, sizes, extents, ..Lowering::default() };
        let code = cache::code(program, engine, &lowering)?;
        if remembered {
            // Another thread may have been faster, with the same code.
            let _ = self.code.set(code.clone());
        }
        Ok(code)
    }
}
