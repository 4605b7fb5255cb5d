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

use super::{Context, Expr, binary, int, minus, plus};
use crate::arith::yes;
use crate::lower::{self, statement};
use crate::plan::{Block, Step, Turns};
use crate::{Entry, Failure, Symbolic, Var};
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::notation::concrete::Carried;
use fiberloom_core::notation::typed::TURNS;

/// Emits the steps of a plan, or of a block.
pub(super) fn in_order(cx: &mut Context, d: &mut Symbolic, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Whole { target, operand } => cx.arrays[target.0] = cx.arrays[operand.0].clone(),
            Step::Nest(nest) => statement::statement(cx, d, nest),
            Step::Repeat { turns, steps, carried } => {
                // Facts proved in an iteration hold only inside: the block may have no iteration.
                let guarded = cx.guarded.clone();
                repeat(cx, d, turns, (steps, carried));
                cx.guarded = guarded;
            }
        }
    }
}

fn repeat(cx: &mut Context, d: &mut Symbolic, of: &Turns, inside: (&[Step], &[Carried])) {
    // The first block is not inside of another: the variable that counts all iterations begins there.
    let turns = *cx.turns.get_or_insert_with(|| {
        let turns = d.fresh("turns", Type::I64);
        d.assign(turns, int(0));
        turns
    });
    match of {
        Turns::While { go, condition } => {
            let var = d.fresh("go", Type::Bool);
            cx.say(*go, Expr::Var(var));
            repeat_while(cx, d, (var, condition), turns, inside);
        }
        Turns::Count(count) => {
            let count = cx.expr(d, *count);
            take(d, turns, count.clone());
            d.each("turn", int(0), count, |d, _| turn(cx, d, inside));
        }
    }
}

fn repeat_while(
    cx: &mut Context,
    d: &mut Symbolic,
    (go, condition): (Var, &Block),
    turns: Var,
    inside: (&[Step], &[Carried]),
) {
    d.assign(go, yes());
    d.during(Expr::Var(go), |d| {
        cx.block(d, condition);
        let taken = |d: &mut Symbolic| {
            take(d, turns, int(1));
            turn(cx, d, inside);
        };
        d.when(Expr::Var(go), taken, |_| {});
    });
}

fn turn(cx: &mut Context, d: &mut Symbolic, (steps, carried): (&[Step], &[Carried])) {
    in_order(cx, d, steps);
    for Carried { tensor, last } in carried {
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
