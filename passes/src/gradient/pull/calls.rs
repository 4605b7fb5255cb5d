//! Rules of calls: built-in functions by their table, `coalesce`, conversions, and declared functions.

use super::super::expr::{call, made, mul, number};
use super::super::function;
use super::{Done, Pull, moves};
use fiberloom_core::algebra::{Derivative, Op, Slope, Type, Value};
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::typed::{Expr, FnId, Fun, Kind};

impl Pull<'_> {
    /// `f(a, b)`: `a` gets `w · ∂f/∂a`, `b` gets `w · ∂f/∂b`, as the table of built-ins says.
    pub(super) fn built_in(&mut self, e: &Expr, op: Op, args: &[Expr], w: Expr) -> Done {
        match op.derivative() {
            Derivative::Nothing => Ok(()),
            Derivative::Along(slopes) => {
                for (arg, slope) in args.iter().zip(slopes) {
                    let Some(slope) = slope.filter(|_| moves(self.moving, arg)) else { continue };
                    let along = self.slope(&slope(), (e, args), &w)?;
                    if op == Op::Mask {
                        self.masked(e, arg);
                    }
                    self.pull(arg, along)?;
                }
                Ok(())
            }
            Derivative::Construct if op == Op::Coalesce => self.coalesce(args, w),
            Derivative::Construct => self.convert(&args[0], w),
            Derivative::Missing => {
                let message = format!("`{}` has no derivative", op.name());
                Err(Diagnostic::new(e.span, message)
                    .help("leave it out of what the gradient is of, or name no tensor by `--by` that it reads"))
            }
        }
    }

    /// An entry of the table, with the weight and the arguments of a call.
    fn slope(&mut self, slope: &Slope, (e, args): (&Expr, &[Expr]), w: &Expr) -> Result<Expr, Diagnostic> {
        Ok(match slope {
            Slope::Weight => w.clone(),
            Slope::Value => self.value(e)?,
            Slope::Argument(n) if matches!(e.kind, Kind::Call(Fun::Op(Op::Mul), _)) => self.here(&args[*n])?,
            Slope::Argument(n) => self.argument(&args[*n])?,
            Slope::Number(x) => number(*x, w.ty),
            Slope::Call(op, parts) => {
                let parts: Vec<Expr> =
                    parts.iter().map(|part| self.slope(part, (e, args), w)).collect::<Result<_, _>>()?;
                call(*op, parts)
            }
        })
    }

    /// `coalesce(a, b, …)`: each argument gets `w` where it is the first that is not missing. What is computed of what is missing is
    /// missing: `coalesce(mask(false, a), w)` is `w` where `a` is missing, else 0.
    fn coalesce(&mut self, args: &[Expr], w: Expr) -> Done {
        let mut left = w;
        for arg in args {
            self.pull(arg, left.clone())?;
            if arg.may_miss().is_none() {
                break;
            }
            let never = made(Kind::Literal(Value::bool(false)), Type::Bool);
            let none = made(Kind::Call(Fun::Op(Op::Mask), vec![never, self.here(arg)?]), left.ty);
            left = made(Kind::Call(Fun::Op(Op::Coalesce), vec![none, left.clone()]), left.ty);
        }
        Ok(())
    }

    /// `convert(a, T)`: `a` gets `w` in its own type. Integers pass nothing.
    fn convert(&mut self, arg: &Expr, w: Expr) -> Done {
        let w = if w.ty == arg.ty || !arg.ty.is_float() { w } else { call(Op::Convert(arg.ty), vec![w]) };
        self.pull(arg, w)
    }

    /// `f(a, b)` of a declared function: `a` gets `w · f_a(a, b)`, a function that is made of the body of `f`, or declared with it.
    pub(super) fn declared(&mut self, e: &Expr, f: FnId, args: &[Expr], w: Expr) -> Done {
        for (n, arg) in args.iter().enumerate() {
            if !moves(self.moving, arg) {
                continue;
            }
            let Some(slope) = function::slope(self.draft, f, n, e.span)? else { continue };
            let args = args.iter().map(|a| self.argument(a)).collect::<Result<_, _>>()?;
            let along = mul(w.clone(), made(Kind::Call(Fun::User(slope), args), w.ty));
            self.convert(arg, along)?;
        }
        Ok(())
    }
}
