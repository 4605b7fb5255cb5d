//! Loops over the pieces of levels that store the ends of their pieces.

use super::Context;
use crate::choose::symbol::{Name, Sym};
use crate::plan::Block;
use crate::stream::{Compare, Domain};
use crate::{Symbolic, Term};

/// Emits the loop over a range up to the next end of a piece, and on from there.
pub(super) fn steps(cx: &Context, d: &mut Symbolic, (from, to): (Sym, Sym), (begin, stop): (Sym, Sym), body: &Block) {
    let (first, to) = (cx.term(d, from), cx.term(d, to));
    let from = d.state("from", first);
    let left = |d: &mut Symbolic| {
        let from = d.get(from);
        d.compare(Compare::Lt, &from, &to)
    };
    d.repeat(&left, &mut |d| {
        let here = d.get(from);
        let here = d.snapshot("begin", here);
        cx.say_term(d, begin, &here);
        cx.block(d, body);
        let stop = cx.term(d, stop);
        d.set(from, stop);
    });
}

/// Emits the loop over blocks, as long as each level has one, and no list is at its end.
pub(super) fn blocks(cx: &Context, d: &mut Symbolic, pieces: &[Name], lists: &[(Name, Sym)], body: &Block) {
    let pieces: Vec<_> = pieces.iter().map(|name| cx.pieces(*name)).collect();
    let lists: Vec<_> = lists.iter().map(|(at, end)| (cx.state(*at), cx.term(d, *end))).collect();
    let more = |d: &mut Symbolic| {
        let mut valid: Vec<Term> = pieces.iter().map(|pieces| pieces.valid(d)).collect();
        for (at, end) in &lists {
            let at = d.get(*at);
            valid.push(d.compare(Compare::Lt, &at, end));
        }
        valid.into_iter().reduce(|all, one| d.and(all, &|_| one.clone())).expect("one level or more")
    };
    d.repeat(&more, &mut |d| cx.block(d, body));
}
