//! Functions of values: built-in ones as symbols, others as operations.

use super::Context;
use crate::choose::symbol::Sym;
use crate::plan::{Block, Op};
use fiberloom_core::algebra::{Mode, Op as Fn, Type};
use fiberloom_core::notation::typed::Fun;

/// The value of a function applied to arguments. A declared function, and a quotient whose numerator is tested, are operations.
pub(super) fn applied(cx: &Context, b: &mut Block, fun: Fun, args: Vec<Sym>, ty: Type) -> Sym {
    match fun {
        Fun::Op(op) if !(tests_numerator(op, cx.simplify.mode) && ty.is_float()) => cx.symbols.op(op, args),
        _ => {
            let it = cx.symbols.read("value", ty);
            b.push(Op::Call { it, fun, args });
            it
        }
    }
}

/// Whether a mode defines a float quotient with numerator 0 as 0, where IEEE 754 may give another value.
fn tests_numerator(op: Fn, mode: Mode) -> bool {
    matches!(op, Fn::Div | Fn::FloorDiv) && mode == Mode::Algebraic
}
