//! Schedules.

use super::{Rule, ident, int, list, parens, span, word};
use crate::lexer::Token;
use chumsky::prelude::*;
use fiberloom_core::notation::syntax::*;

/// `"schedule" "{" (command ";")* "}"`
pub fn schedule<'t, 's: 't>(expr: Rule<'t, 's, Expr>) -> Rule<'t, 's, Schedule> {
    command(expr)
        .then_ignore(just(Token::Semicolon))
        .repeated()
        .collect()
        .delimited_by(just(Token::Schedule).then(just(Token::OpenBlock)), just(Token::CloseBlock))
        .map_with(|commands, e| Schedule { commands, span: span(e.span()) })
        .boxed()
}

fn command<'t, 's: 't>(expr: Rule<'t, 's, Expr>) -> Rule<'t, 's, Command> {
    let comma = || just(Token::Comma);
    let arrow = || just(Token::Arrow);
    let pos = ident().then_ignore(arrow()).then(ident()).then_ignore(comma()).then(ident());
    let coord = ident().then_ignore(arrow()).then(ident());
    let collapse = ident().then_ignore(comma()).then(ident()).then_ignore(arrow()).then(ident());
    let split = ident()
        .then_ignore(arrow())
        .then(ident())
        .then_ignore(comma())
        .then(ident())
        .then_ignore(comma())
        .then(int())
        .boxed();
    let cut =
        |parts: fn(u64) -> Parts| move |(((from, a), b), n)| CommandKind::Split { from, to: (a, b), parts: parts(n) };
    let some = ident().map(|v| vec![v]).or(parens(list(ident(), 1))).boxed();
    let precompute = expr
        .clone()
        .then_ignore(comma())
        .then(some.clone())
        .then_ignore(arrow())
        .then(some)
        .then_ignore(comma())
        .then(ident())
        .map(|(((expr, from), to), workspace)| {
            CommandKind::Tensor(TensorCommand::Precompute { expr, from, to, workspace })
        });
    let counted = ident().then_ignore(comma()).then(int()).boxed();
    let parallelize = ident()
        .then_ignore(comma())
        .then(unit())
        .then_ignore(comma())
        .then(race())
        .map(|((v, unit), race)| CommandKind::Parallelize(v, unit, race));
    let weigh = ident().then_ignore(comma()).then(list(ident(), 1)).boxed();
    let stage = expr.clone().then_ignore(comma()).then(super::expression::access(expr.clone())).boxed();
    let kept = ident().then_ignore(comma()).then(super::declaration::format()).boxed();
    let protocol = super::expression::access(expr)
        .then_ignore(comma())
        .then(protocol())
        .map(|(access, p)| CommandKind::Tensor(TensorCommand::Protocol(access, p)));
    choice((
        word("none").to(CommandKind::None),
        word("pos").ignore_then(parens(pos.map(|((from, to), tensor)| CommandKind::Pos { from, to, tensor }).boxed())),
        word("coord").ignore_then(parens(coord.map(|(from, to)| CommandKind::Coord { from, to }).boxed())),
        just(Token::Collapse)
            .ignore_then(parens(collapse.map(|((a, b), to)| CommandKind::Collapse { from: (a, b), to }).boxed())),
        just(Token::Split).ignore_then(parens(split.clone().map(cut(Parts::Of)).boxed())),
        word("split_up").ignore_then(parens(split.map(cut(Parts::Into)).boxed())),
        word("reorder").ignore_then(parens(list(ident(), 1))).map(CommandKind::Reorder),
        word("precompute").ignore_then(parens(precompute.boxed())),
        word("bound").ignore_then(parens(counted.clone())).map(|(v, n)| CommandKind::Bound(v, n)),
        word("unroll").ignore_then(parens(counted)).map(|(v, n)| CommandKind::Unroll(v, n)),
        word("parallelize").ignore_then(parens(parallelize.boxed())),
        word("protocol").ignore_then(parens(protocol.boxed())),
        word("weigh").ignore_then(parens(weigh)).map(|(var, tensors)| CommandKind::Weigh { var, tensors }),
        word("stage")
            .ignore_then(parens(stage))
            .map(|(expr, into)| CommandKind::Tensor(TensorCommand::Stage { expr, into })),
        word("store")
            .ignore_then(parens(kept.clone()))
            .map(|(tensor, format)| CommandKind::Tensor(TensorCommand::Store(tensor, format))),
        word("copy")
            .ignore_then(parens(kept))
            .map(|(tensor, format)| CommandKind::Tensor(TensorCommand::Copy(tensor, format))),
    ))
    .labelled("a schedule command")
    .map_with(|kind, e| Command { kind, span: span(e.span()) })
    .boxed()
}

fn unit<'t, 's: 't>() -> Rule<'t, 's, Unit> {
    choice((
        word("cpu_thread").to(Unit::CpuThread),
        word("cpu_vector").to(Unit::CpuVector),
        word("gpu_block").to(Unit::GpuBlock),
        word("gpu_warp").to(Unit::GpuWarp),
        word("gpu_thread").to(Unit::GpuThread),
    ))
    .boxed()
}

fn race<'t, 's: 't>() -> Rule<'t, 's, Race> {
    choice((
        word("no_races").to(Race::NoRaces),
        word("atomics").to(Race::Atomics),
        word("temporary").to(Race::Temporary),
        word("parallel_reduction").to(Race::ParallelReduction),
    ))
    .boxed()
}

fn protocol<'t, 's: 't>() -> Rule<'t, 's, Protocol> {
    choice((word("walk").to(Protocol::Walk), word("gallop").to(Protocol::Gallop), word("locate").to(Protocol::Locate)))
        .boxed()
}
