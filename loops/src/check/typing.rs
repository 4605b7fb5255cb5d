//! The types of expressions.

use super::{buffer, variable};
use crate::print::expression;
use crate::{Expr, Kernel};
use fiberloom_core::algebra::{Op, Type, result_type};

impl Kernel {
    /// The type of an expression in this kernel.
    ///
    /// # Errors
    /// The reason why it has no type, with the part that is wrong.
    pub fn type_of(&self, e: &Expr) -> Result<Type, String> {
        typed(self, e)
    }
}

fn typed(kernel: &Kernel, e: &Expr) -> Result<Type, String> {
    match e {
        Expr::Const(x) => Ok(x.ty()),
        Expr::Var(v) => variable(kernel, *v).map(|(_, ty)| *ty),
        Expr::Capacity(b) => buffer(kernel, *b).map(|_| Type::I64),
        Expr::Load(b, at) => {
            let b = buffer(kernel, *b)?;
            match typed(kernel, at)? {
                Type::I64 => Ok(b.ty),
                ty => Err(format!("the index of `{}` is {ty}, not i64", expression(kernel, e))),
            }
        }
        Expr::Among(_, b, parts) => {
            let element = buffer(kernel, *b)?.ty;
            let types = parts.iter().map(|part| typed(kernel, part)).collect::<Result<Vec<_>, _>>()?;
            match types.into_iter().find(|ty| *ty != Type::I64) {
                Some(ty) => Err(format!("`{}` takes i64s, not {ty}", expression(kernel, e))),
                None if matches!(element, Type::I32 | Type::I64) => Ok(Type::I64),
                None => Err(format!("`{}`: elements are {element}, not i32 or i64", expression(kernel, e))),
            }
        }
        Expr::Op(Op::Coalesce, _) => Err(format!("`{}` cannot be run: loops know no `missing`", expression(kernel, e))),
        Expr::Op(op, args) => {
            let types = args.iter().map(|a| typed(kernel, a)).collect::<Result<Vec<_>, _>>()?;
            result_type(*op, &types).ok_or_else(|| {
                let types: Vec<_> = types.iter().map(|t| t.name()).collect();
                format!("`{}`: {} does not take ({})", expression(kernel, e), op.name(), types.join(", "))
            })
        }
    }
}
