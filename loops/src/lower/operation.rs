//! Emits the operations of a plan, one after the other.

use super::{Context, Expr, call, cut, fiber, held, made, pieces_of, position_map, results, walks};
use crate::choose::symbol::Sym;
use crate::plan::Op;
use crate::stream::Domain;
use crate::{Entry, Symbolic, Term, Var};

/// Emits an operation, and those inside of it.
pub(super) fn operation(cx: &Context, d: &mut Symbolic, op: &Op) {
    match op {
        Op::Let { it, of } => {
            let ((name, ty), value) = (cx.named(*it), cx.expr(d, *of));
            cx.say(*it, d.define(&name, ty, value));
        }
        Op::Hold { it, of } => {
            let ((name, _), value) = (cx.named(*it), cx.expr(d, *of));
            cx.say(*it, held(d, &name, value));
        }
        Op::Fresh { it } => {
            let (name, ty) = cx.named(*it);
            cx.say(*it, Expr::Var(d.fresh(&name, ty)));
        }
        Op::Var { it, of } => {
            let (name, ty) = cx.named(*it);
            let (var, of) = (d.fresh(&name, ty), cx.expr(d, *of));
            d.assign(var, of);
            cx.say(*it, Expr::Var(var));
        }
        Op::Set { var, to } => {
            let to = cx.expr(d, *to);
            d.assign(variable(cx, d, *var), to);
        }
        Op::Call { it, fun, args } => {
            let args = args.iter().map(|arg| cx.expr(d, *arg)).collect();
            cx.say(*it, call::applied(cx, d, *fun, args));
        }
        Op::Fail { why } => d.call(Entry::Fail(*why)),
        Op::When { cond, then, otherwise } => {
            let cond = cx.expr(d, *cond);
            d.when(cond, |d| cx.block(d, then), |d| cx.block(d, otherwise));
        }
        Op::Range { hints, body, .. } => {
            let around = std::mem::replace(&mut d.wanted, *hints);
            cx.block(d, body);
            d.wanted = around;
        }
        Op::Make { made } => made::make(cx, d, made),
        _ => fiber_or_list(cx, d, op),
    }
}

/// The variable that a symbol stands for.
pub(super) fn variable(cx: &Context, d: &Symbolic, s: Sym) -> Var {
    let Expr::Var(var) = cx.expr(d, s) else { unreachable!("what is set is a variable") };
    var
}

/// Emits an operation on one fiber or one open list.
fn fiber_or_list(cx: &Context, d: &mut Symbolic, op: &Op) {
    match op {
        Op::RunEnd { it, run } => {
            let end = cx.run(run.name).end(d);
            cx.say_term(d, *it, &end);
        }
        Op::Interval { of, parent, present, is } => fiber::interval(cx, d, *of, (*parent, *present), is),
        Op::Finger { it, of, begin } => {
            let begin = cx.term(d, *begin);
            let state = d.state(&format!("p_{}", cx.program.tensor(*of).name), begin);
            cx.names.borrow_mut().states.insert(*it, state);
        }
        Op::Open { it, list } => {
            let opened = fiber::open(cx, d, list);
            cx.names.borrow_mut().lists.insert(*it, (list.of.0, opened));
        }
        Op::Rest { list, is } => {
            let entry = cx.list(*list).entry(d);
            cx.say_entry(d, is, &entry);
        }
        Op::CatchUp { list, at, gallops } => {
            let (list, at) = (cx.list(*list), cx.term(d, *at));
            if *gallops { list.gallop(d, &at) } else { list.catch_up(d, &at) }
        }
        Op::ComeNear { list, at } => {
            let at = cx.term(d, *at);
            cx.list(*list).come_near(d, &at);
        }
        Op::Follow { list, at, here, is } => {
            let (list, at) = (cx.list(*list), cx.term(d, *at));
            let found = list.found(d, &at);
            let found = d.snapshot_bool("here", found);
            cx.say_term(d, *here, &found);
            let entry = list.entry(d);
            cx.say_entry(d, is, &entry);
        }
        Op::NextIf { list, cond } => {
            let cond = cx.term(d, *cond);
            cx.list(*list).next_if(d, &cond);
        }
        Op::Seek { by, at, is } => fiber::seek(cx, d, by, *at, is),
        Op::Ask { of, at, inside, found, position } => {
            position_map::ask(cx, d, *of, (*at, *inside), (*found, *position))
        }
        Op::Scatter { it, list, flags } => position_map::lay(cx, d, *it, list, flags.as_ref()),
        Op::ClearMap { it } => position_map::clear_map(cx, d, *it),
        Op::Hint { it } => {
            let state = d.state("hint", Term::fixed(super::int(0)));
            cx.names.borrow_mut().states.insert(*it, state);
        }
        Op::Edge { of, hints, at, count, extents, begins, is } => {
            cut::edge(cx, d, (of, hints), (*at, *begins), (*count, extents), is);
        }
        _ => loops(cx, d, op),
    }
}

/// Emits a loop.
fn loops(cx: &Context, d: &mut Symbolic, op: &Op) {
    match op {
        Op::Every { at, lo, hi, body } => {
            let (lo, hi) = (cx.term(d, *lo), cx.term(d, *hi));
            d.count(&cx.named(*at).0, lo, hi, &mut |d, here| {
                cx.say_term(d, *at, &here);
                cx.block(d, body);
            });
        }
        Op::Each { list, single, visit } => walks::each(cx, d, list, *single, visit),
        Op::EachOpen { list, visit } => walks::each_open(cx, d, *list, visit),
        Op::Along { list, at, body } => walks::along(cx, d, *list, *at, body),
        Op::Filter { list, stored, kept, otherwise } => walks::filter(cx, d, list, (stored, *kept), otherwise),
        Op::InBulk { list, into, said, visit, otherwise } => {
            walks::in_bulk(cx, d, list, (*into, *said), visit, otherwise);
        }
        Op::Intersect { lists, at, body } => walks::intersection(cx, d, lists, *at, body),
        Op::Leap { lists, at, body } => walks::leaping(cx, d, lists, *at, body),
        Op::Meet { lists, at, met, body } => walks::meeting(cx, d, lists, (*at, *met), body),
        Op::MeetLanes { lists, at, met, entries, body } => {
            walks::meeting_in_lanes(cx, d, *lists, (*at, *met), entries, body);
        }
        Op::Unite { lists, at, arms } => walks::union(cx, d, *lists, *at, arms),
        Op::UniteFlat { lists, at, flags, both, some } => walks::flat_union(cx, d, *lists, (*at, *flags), [both, some]),
        Op::Wide { lists, live, at, present, body } => walks::wide_union(cx, d, lists, live, (*at, present), body),
        Op::Gaps { list, counts, from, to, visit, gap } => {
            walks::gaps(cx, d, *list, *counts, (*from, *to), (visit, gap));
        }
        Op::Between { lists, from, to, at, present, body, gap } => {
            walks::between(cx, d, lists, (*from, *to), (*at, present), (body, gap));
        }
        Op::Beside { list, at, present, absent } => walks::beside(cx, d, *list, *at, [present, absent]),
        _ => pieces(cx, d, op),
    }
}

/// Emits an operation on the pieces of levels.
fn pieces(cx: &Context, d: &mut Symbolic, op: &Op) {
    match op {
        Op::OpenPieces { it, list, extent, .. } => {
            let pieces = fiber::pieces(cx, d, list, *extent);
            cx.names.borrow_mut().pieces.insert(*it, pieces.into());
        }
        Op::Left { pieces, it } => {
            let left = cx.pieces(*pieces).left(d);
            cx.say_term(d, *it, &left);
        }
        Op::Steps { from, to, begin, stop, body } => pieces_of::steps(cx, d, (*from, *to), (*begin, *stop), body),
        Op::Blocks { pieces, lists, body } => pieces_of::blocks(cx, d, pieces, lists, body),
        Op::PieceEnd { pieces, it } => {
            let end = cx.pieces(*pieces).end(d);
            cx.say_term(d, *it, &end);
        }
        Op::PieceNumber { pieces, of, it } => {
            let position = cx.pieces(*pieces).number(d, &cx.program.tensor(*of).name);
            cx.say_term(d, *it, &position);
        }
        Op::PieceBlock { pieces, of, certain, is } => {
            let (pieces, name) = (cx.pieces(*pieces), &cx.program.tensor(*of).name);
            let interval = if *certain { pieces.certain_block(d, name) } else { pieces.block(d, name) };
            cx.say_interval(d, is, &interval);
        }
        Op::PiecePacked { pieces, of, is } => {
            let (lookup, base, begin) = cx.pieces(*pieces).packed(d, &cx.program.tensor(*of).name);
            is.iter().zip([lookup, base, begin]).for_each(|(s, term)| cx.say_term(d, *s, &term));
        }
        Op::Leave { pieces, cond } => {
            let pieces = cx.pieces(*pieces);
            match cond {
                None => pieces.leave(d),
                Some(cond) => {
                    let cond = cx.term(d, *cond);
                    pieces.leave_if(d, &cond);
                }
            }
        }
        op => results::emit(cx, d, op),
    }
}
