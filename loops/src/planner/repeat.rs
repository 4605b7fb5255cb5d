//! Blocks: loops around nests, at whose end arrays move (`lower/repeat.rs`).

use super::{Context, destination::Destination, statement};
use crate::choose::scope::Scope;
use crate::plan::{self, Block};
use fiberloom_core::algebra::{Op as Fn, Type};
use fiberloom_core::notation::concrete::{Repeat, Step, Turns};
use fiberloom_core::notation::typed::Fun;

/// Plans the steps of the program, or of a block.
pub(super) fn in_order<'a>(cx: &mut Context<'a>, steps: &'a [Step]) -> Vec<plan::Step> {
    let plan = |step: &'a Step| match step {
        Step::Nest(nest) => statement::statement(cx, nest),
        Step::Repeat(block) => repeat(cx, block),
    };
    steps.iter().map(plan).collect()
}

fn repeat<'a>(cx: &mut Context<'a>, block: &'a Repeat) -> plan::Step {
    let turns = match &block.turns {
        Turns::Count(n) => plan::Turns::Count(cx.symbols.int(i64::try_from(*n).unwrap_or(i64::MAX))),
        Turns::Extent(class) => plan::Turns::Count(cx.extents.name(*class)),
        Turns::While(condition) => {
            let go = cx.symbols.held("go", Type::Bool);
            let destination = Destination::Scalar { var: (go, Type::Bool), fun: Fun::Op(Fn::AndAlso), begun: None };
            cx.also = None;
            let plan = |b: &mut Block| (cx.nest)(cx, b, &[], condition, Scope::default(), &destination);
            let condition = Block::of(plan);
            plan::Turns::While { go, condition }
        }
    };
    let steps = in_order(cx, &block.steps);
    plan::Step::Repeat { turns, steps, carried: block.carried.clone() }
}
