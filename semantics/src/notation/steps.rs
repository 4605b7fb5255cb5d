//! The order of execution: statements, and blocks of them, iteration after iteration.
//!
//! ```text
//!  repeat n { S }     S, n times                       while c { S }     S while ⟦c⟧ is true before it
//! ```
//!
//! A tensor that a block assigns has, in each iteration, the value that the previous iteration left. In the first it has the value before
//! the block: its fill if it was neither defined nor given, 0 if it is not declared. Locals of `where` blocks begin again in each
//! iteration.

use super::{Function, Refusal, World};
use crate::algebra::Numeric;
use fiberloom_core::algebra::Value;
use fiberloom_core::notation::typed::{Expr, Repeat, Role, Statement, Step, TensorId, Turns};

/// Evaluates a statement to the new function of its tensor.
type Define<'p, 'd, V> = &'d mut dyn FnMut(&mut World<'p, V>, &'p Statement) -> Result<Function<V>, Refusal>;

impl<'p, V: Numeric> World<'p, V> {
    /// Runs steps; `define` evaluates a statement.
    pub(super) fn steps(&mut self, steps: &'p [Step], define: Define<'p, '_, V>) -> Result<(), Refusal> {
        for step in steps {
            match step {
                Step::Statement(n) => {
                    let s = &self.program.statements[*n];
                    let function = define(self, s)?;
                    // A local may be evaluated together with the expression that reads it.
                    let is_local = self.program.tensors[s.tensor.index()].role == Role::Local;
                    self.functions[s.tensor.index()] = Some(if is_local { function } else { function.stored() });
                }
                Step::Repeat(block) => self.repeat(block, define)?,
            }
        }
        Ok(())
    }

    fn repeat(&mut self, block: &'p Repeat, define: Define<'p, '_, V>) -> Result<(), Refusal> {
        let carried = self.program.carried(block);
        self.begin(block, &carried)?;
        match &block.turns {
            Turns::Count(n) => self.times(*n, block, define)?,
            Turns::Extent(size, _) => {
                let unknown = || Refusal::Shape(block.span, "the number of turns stays unknown".to_string());
                self.times(self.extents.size(*size).ok_or_else(unknown)?, block, define)?;
            }
            Turns::While(condition) => {
                while self.goes_on(condition)? {
                    self.take(1)?;
                    self.turn(block, define)?;
                }
            }
        }
        if let Some(reason) = self.unsure {
            for t in carried {
                self.functions[t.index()].iter_mut().for_each(|function| function.promise_nothing(reason));
            }
        }
        Ok(())
    }

    fn times(&mut self, turns: u64, block: &'p Repeat, define: Define<'p, '_, V>) -> Result<(), Refusal> {
        self.take(turns)?;
        (0..turns).try_for_each(|_| self.turn(block, define))
    }

    /// Takes iterations off those that may still be taken.
    fn take(&mut self, turns: u64) -> Result<(), Refusal> {
        self.turns = self.turns.checked_sub(turns).ok_or(Refusal::Turns)?;
        Ok(())
    }

    fn turn(&mut self, block: &'p Repeat, define: Define<'p, '_, V>) -> Result<(), Refusal> {
        self.step()?;
        for n in block.statements() {
            let tensor = self.program.statements[n].tensor;
            if self.program.tensors[tensor.index()].role == Role::Local {
                self.functions[tensor.index()] = None;
            }
        }
        self.steps(&block.body, define)
    }

    /// The value of a condition.
    fn goes_on(&mut self, condition: &Expr) -> Result<bool, Refusal> {
        let value = self.value(condition, &mut vec![])?;
        self.unsure = self.unsure.or(value.reason());
        Ok(value.value().is_true())
    }

    /// Gives each tensor without a value before a block its fill, or 0 if it is not declared.
    fn begin(&mut self, block: &Repeat, carried: &[TensorId]) -> Result<(), Refusal> {
        let program = self.program;
        for t in carried.iter().filter(|t| self.functions[t.index()].is_none()).copied().collect::<Vec<_>>() {
            let tensor = &program.tensors[t.index()];
            let unknown = || Refusal::Shape(block.span, format!("the extents of `{}` stay unknown", tensor.name));
            let extents = self.extents.tensor(program, t).ok_or_else(unknown)?;
            let fill = tensor.fill.unwrap_or(Value::zero(tensor.ty));
            self.functions[t.index()] = Some(Function::constant(extents, V::given(fill)));
        }
        Ok(())
    }
}
