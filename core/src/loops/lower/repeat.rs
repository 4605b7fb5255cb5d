//! Blocks: loops around nests, at whose end arrays move.
//!
//! ```text
//!  repeat 20 { … }                         while e[] > 1e-6 { … }
//!    if 20 > 4194304 - turns                 go = true
//!      fail turns                            while go
//!    turns = turns + 20                        go = go && e_vals[0] > 1e-6
//!    for turn in 0..20                         if go
//!      …                                         if 1 > 4194304 - turns { fail turns }
//!      move x_vals from x_was_vals               turns = turns + 1
//!                                                …
//! ```
//!
//! The tensors of an iteration are allocated anew in each, in the memory that a tensor had in the iteration before.

use super::nest::Sink;
use super::{Context, Expr, binary, int, minus, plus};
use crate::algebra::{Op, Type};
use crate::loops::arith::yes;
use crate::loops::choose::scope::Scope;
use crate::loops::lower::{self, nest, statement};
use crate::loops::plan::Pass;
use crate::loops::{Entry, Failure, Symbolic, Var};
use crate::notation::concrete::{self, Carried, Repeat, Step, Turns};
use crate::notation::typed::{Fun, TURNS};

/// Emits the steps of the program, or of a block.
pub(super) fn in_order<'a>(cx: &mut Context<'a>, d: &mut Symbolic, steps: &'a [Step]) {
    for step in steps {
        match step {
            Step::Nest(nest) => statement::statement(cx, d, nest),
            Step::Repeat(block) => {
                // Facts proved in an iteration hold only inside: the block may have no iteration.
                let guarded = cx.guarded.clone();
                repeat(cx, d, block);
                cx.guarded = guarded;
            }
        }
    }
}

fn repeat<'a>(cx: &mut Context<'a>, d: &mut Symbolic, block: &'a Repeat) {
    // The first block is not inside of another: the variable that counts all iterations begins there.
    let turns = *cx.turns.get_or_insert_with(|| {
        let turns = d.fresh("turns", Type::I64);
        d.assign(turns, int(0));
        turns
    });
    let count = match &block.turns {
        Turns::While(condition) => return repeat_while(cx, d, condition, block, turns),
        Turns::Count(n) => int(i64::try_from(*n).unwrap_or(i64::MAX)),
        Turns::Extent(class) => cx.extent(*class),
    };
    take(d, turns, count.clone());
    d.each("turn", int(0), count, |d, _| turn(cx, d, block));
}

fn repeat_while<'a>(cx: &mut Context<'a>, d: &mut Symbolic, condition: &concrete::Expr, block: &'a Repeat, turns: Var) {
    let go = d.fresh("go", Type::Bool);
    d.assign(go, yes());
    d.during(Expr::Var(go), |d| {
        let sink = Sink::Scalar { var: go, fun: Fun::Op(Op::AndAlso), begun: None };
        cx.both = None;
        cx.book.under(Pass::Condition, || nest::emit(cx, d, &[], condition, Scope::default(), &sink));
        let taken = |d: &mut Symbolic| {
            take(d, turns, int(1));
            turn(cx, d, block);
        };
        d.when(Expr::Var(go), taken, |_| {});
    });
}

fn turn<'a>(cx: &mut Context<'a>, d: &mut Symbolic, block: &'a Repeat) {
    in_order(cx, d, &block.steps);
    for Carried { tensor, last } in &block.carried {
        let [to, from] = [*tensor, *last].map(|place| {
            let arrays = lower::arrays_of(cx, place);
            let levels = arrays.levels.iter().flat_map(|level| level.buffers()).map(|(b, _)| b);
            levels.chain([arrays.values]).collect::<Vec<_>>()
        });
        to.into_iter().zip(from).for_each(|(to, from)| d.call(Entry::Move { to, from }));
    }
}

/// Takes `more` from the iterations that are left, or makes the kernel fail.
fn take(d: &mut Symbolic, turns: Var, more: Expr) {
    let left = minus(int(TURNS as i64), Expr::Var(turns));
    d.when(binary(Op::Gt, more.clone(), left), |d| d.call(Entry::Fail(Failure::Turns)), |_| {});
    d.assign(turns, plus(Expr::Var(turns), more));
}
