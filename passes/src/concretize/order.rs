//! Chooses the order of a statement's loops, and moves the innermost sums inside of the value.
//!
//! ```text
//!  C[i,j] = sum(k: A[i,k] * B[k,j])     i k j                   the sum's loop is around one of the result's
//!  y[i] = sum(j: A[i,j] * x[j])         i j     ─▶  i           and the value is the sum
//! ```
//!
//! A schedule's order takes precedence, then that of a column-by-column copy, then the cheapest (`passes/src/schedule/order.rs`).

use super::Concretize;
use super::draft::Draft;
use super::given::Given;
use super::out::Out;
use super::schedule::{Scheduled, pieces_of};
use super::store::counted;
use crate::schedule::order::{Question, Target, assembly, choose};
use fiberloom_core::format::Format;
use fiberloom_core::notation::concrete::{Assign, Expr, Index};

/// The statement with its loops' order, and the assembly of its result in that order. (Reading the schedule may add loops over pieces.)
pub(super) fn ordered(s: Draft, scheduled: &mut Scheduled, out: &mut Out, given: Given) -> Draft {
    let loops = s.loops(out);
    let said = s.order.clone().or_else(|| scheduled.said(&loops, out));
    let order = said.or_else(|| counted(&s, out, given)).unwrap_or_else(|| match is_in_order(&s, out, given) {
        true => loops,
        false => cheapest(&s, scheduled, out, given),
    });
    let sums = [&s.sums[..], &pieces_of(out, &s.sums, &order)].concat();
    let assembly = assembly(target(&s, out, &Format::dense(0)), &order);
    Draft { order: Some(order), sums, assembly, ..s }
}

/// The statement of the program with its order applied as a command, by what applies the user's: the schedule then says the order.
pub(super) fn applied(s: Draft, c: &mut Concretize) -> Draft {
    let Draft { stated: true, order: Some(order), .. } = &s else { return s };
    let of = (c.given.typed, &c.given.typed.statements[c.statement]);
    let Some(command) = c.scheduled.reordered(&[&order[..], &s.rhs.summed()].concat(), of) else { return s };
    c.chosen.commands.push((c.statement, command));
    let order = c.scheduled.said(&s.loops(&c.out), &mut c.out);
    Draft { order, ..s }
}

/// Whether values have to arrive in the given order of the loops: a scatter with a function that depends on the order.
fn is_in_order(s: &Draft, out: &Out, given: Given) -> bool {
    let (Assign::Scatter(..), Some(fun)) = (&s.assign, s.assign.fold()) else { return false };
    given.gathered(fun, out.tensors[s.place.0].ty, s.assign.before().is_some()).is_none()
}

/// The statement's result. A scatter's is taken as a scalar, as no loop is over its coordinates.
fn target<'s>(s: &'s Draft, out: &'s Out, nowhere: &'s Format) -> Target<'s> {
    let tensor = &out.tensors[s.place.0];
    let (format, vars) = if s.assign.scatters() { (nowhere, &[][..]) } else { (&tensor.format, &s.target[..]) };
    Target { program: out, format, fill: tensor.fill, vars }
}

/// The cheapest order of loops. A loop that a command splits is ordered as one and replaced by its parts.
fn cheapest(s: &Draft, scheduled: &Scheduled, out: &Out, given: Given) -> Vec<Index> {
    let nowhere = Format::dense(0);
    let (target, sums, body) = (target(s, out, &nowhere), &s.sums[..], &s.rhs);
    let (fold, scatters, classes, simplify) = (s.assign.fold(), s.assign.scatters(), given.classes, given.simplify);
    let inverses = &out.inverses;
    let question = Question { program: out, target, sums, fold, scatters, body, classes, inverses, simplify };
    let Some((program, parts)) = scheduled.unsplit(out) else { return choose(&question) };
    let whole = |v: &Index| parts.iter().find(|(_, parts)| parts.contains(v)).map_or(*v, |(whole, _)| *whole);
    let mut sums: Vec<Index> = sums.iter().map(whole).collect();
    sums.dedup();
    let target = Target { program: &program, ..target };
    let order = choose(&Question { program: &program, target, sums: &sums, ..question });
    let of = |v: &Index| parts.iter().find(|(whole, _)| whole == v).map_or(vec![*v], |(_, parts)| parts.clone());
    order.iter().flat_map(of).collect()
}

/// The statement with its innermost sums moved inside of its value.
pub(super) fn inward(s: Draft) -> Draft {
    let Draft { order: Some(mut order), assign, sums, mut rhs, .. } = s else { return s };
    let trailing = order.iter().rev().take_while(|v| sums.contains(v)).count();
    let inner = order.split_off(order.len() - trailing);
    if let (Some(fun), false) = (assign.fold(), inner.is_empty()) {
        let ty = rhs.ty();
        rhs = Expr::Reduce(fun, inner, Box::new(rhs), ty);
    }
    let assign = if order.iter().any(|v| sums.contains(v)) { assign } else { Assign::Once };
    Draft { order: Some(order), assign, sums, rhs, ..s }
}
