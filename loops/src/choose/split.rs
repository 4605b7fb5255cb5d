//! Decides where the ranges of a loop end: at choices of concatenations, at comparisons, at phases of levels.

use crate::choose::{Facts, access, along, keys, piece::Piece, range::Range, scope::Scope};
use fiberloom_core::algebra::Mode;
use fiberloom_core::iteration::{Sequence, Simplify, background};
use fiberloom_core::notation::concrete::{self, AccessId, Concat, Index};

/// The reason why ranges of a loop end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The parts of a concatenation.
    Choice,
    /// The outcome of a comparison.
    Comparison,
    /// The phases of a level.
    Phases,
    /// The first and the last coordinate of the intervals of several levels, each of which is tested.
    Hull,
    /// No end: intervals are tested.
    Tested,
    /// No end: the range is the whole extent.
    Whole,
}

/// Whether a concatenation can end ranges of the current loop.
pub type Along<'a> = &'a dyn Fn(&Concat) -> bool;

/// The most ranges of a loop, unless the text has more.
const RANGES: u64 = 9;

/// The most ranges of a loop whose body has lists: each range walks them in loops of its own.
const RANGES_OF_LISTS: u64 = 4;

/// The most intervals of one loop that have phases; if there are more, each is tested at each coordinate.
const PHASES: usize = 3;

/// Whether a concatenation is along `v`: all other variables of its coordinate are bound, and it is not guarded.
pub fn is_along(cx: &Facts, scope: &Scope, v: Index, c: &Concat) -> bool {
    let roots = cx.program.roots_of(&c.of);
    let bound = |u: &Index| *u == v || scope.coordinate(*u).is_some();
    roots.contains(&v) && roots.iter().all(bound) && !c.parts.iter().any(|(u, _)| scope.guarded(*u).is_some())
}

/// Whether an expression is `outside` where these accesses, those that depend on `w`, have no entries, and depends on `w` in no other
/// way.
pub fn is_quiet(cx: &Facts, of: (Index, &concrete::Expr), under: &[AccessId], outside: &concrete::Expr) -> bool {
    is_fill(cx, of, under, outside, cx.simplify)
}

/// As [`is_quiet`], where the expression is computed of their fill values: annihilators do not count, since the machine multiplies, and what
/// a 0 is multiplied by may be infinite or no number.
pub fn computes_quiet(cx: &Facts, of: (Index, &concrete::Expr), under: &[AccessId], outside: &concrete::Expr) -> bool {
    is_fill(cx, of, under, outside, Simplify { mode: Mode::Strict, ..cx.simplify })
}

fn is_fill(
    cx: &Facts,
    (w, e): (Index, &concrete::Expr),
    under: &[AccessId],
    outside: &concrete::Expr,
    simplify: Simplify,
) -> bool {
    let mut only = true;
    e.each(&mut |part| match part {
        concrete::Expr::Index(u) => only &= !access::depends(cx, *u, w),
        concrete::Expr::Concat(c, _) => only &= !c.of.factors.keys().any(|u| access::depends(cx, *u, w)),
        _ => {}
    });
    let rest = simplify.replace(e, &|a| under.contains(&a).then(|| cx.fill(a)));
    only && match (&rest, &simplify.simplify(outside)) {
        (concrete::Expr::Literal(a), concrete::Expr::Literal(b)) => cx.simplify.same(*a, *b),
        (rest, outside) => rest == outside,
    }
}

/// Whether the concatenations of a loop end its ranges.
pub fn is_split(cx: &Facts, piece: &Piece, v: Index) -> bool {
    let along = |c: &Concat| is_along(cx, &piece.scope, v, c);
    let (ranges, text) = alternatives(cx, piece, v, &[&piece.body], &along);
    let located = access::is_all_located(cx, &piece.scope, &piece.body);
    let few = ranges <= text.max(if located { RANGES } else { RANGES_OF_LISTS });
    // If all end at the same coordinates, each choice has its lines in one range.
    let ends = outermost(&piece.body, &along);
    let parts = if ends.iter().all(|c| along::ends_with(cx, ends[0], c)) { 1 } else { ranges };
    few && piece.scope.affords(cx, &piece.body, parts)
}

/// The number of ranges into which the concatenations of expressions beside each other can split a loop, and the number of ranges that
/// these have in the text.
pub fn alternatives(cx: &Facts, piece: &Piece, v: Index, all: &[&concrete::Expr], along: Along) -> (u64, u64) {
    let mut groups: Vec<Vec<&Concat>> = Vec::new();
    for c in all.iter().flat_map(|e| outermost(e, along)) {
        match groups.iter_mut().find(|group| along::ends_with(cx, group[0], c)) {
            Some(group) => group.push(c),
            None => groups.push(vec![c]),
        }
    }
    let sum = |(n, m): (u64, u64), (a, b): (u64, u64)| (n.saturating_add(a), m.saturating_add(b));
    let of_group = |group: &Vec<&Concat>| {
        let choices = (0..group[0].choices().count()).filter(|n| !along::never(cx, &piece.range, v, group[0], *n));
        let choice = |n: usize| {
            let chosen: Vec<_> = group.iter().filter_map(|c| c.choices().nth(n)).collect();
            let (ranges, text) = alternatives(cx, piece, v, &chosen, along);
            (ranges, text.max(1))
        };
        choices.map(choice).fold((0, 0), sum)
    };
    let groups = groups.iter().map(of_group);
    groups.fold((1, 0), |(n, m), (a, b)| (n.saturating_mul(a), m.saturating_add(b)))
}

/// Whether a body can differ from its value without lists at every coordinate.
pub fn is_full(cx: &Facts, v: Index, piece: &Piece) -> bool {
    let lists = access::walked(cx, &piece.scope, &piece.body, v);
    let (sequence, rest) = background(&piece.body, &lists, &|a| cx.fill(a), cx.simplify);
    sequence == Sequence::Full || !matches!(rest, concrete::Expr::Literal(_))
}

/// The body where all windows along `v` hold, and the range of each of them; `None` if there are other concatenations.
pub fn within_windows(cx: &Facts, v: Index, piece: &Piece, asked: &Scope) -> Option<(concrete::Expr, Vec<Range>)> {
    let along = |c: &Concat| is_along(cx, &piece.scope, v, c);
    let (mut body, mut holds) = (piece.body.clone(), Vec::new());
    loop {
        let Some(c) = outermost(&body, &along).first().map(|c| (*c).clone()) else {
            return Some((cx.simplify.simplify(&body), holds));
        };
        let [(w, _)] = c.parts[..] else { return None };
        c.outside.as_ref()?;
        holds.push(asked.guarded(w)?.range.clone());
        body = along::chosen(cx, &body, &c, 1);
    }
}

/// The concatenations of an expression with a part under `w`.
pub fn concats_of(e: &concrete::Expr, w: Index) -> Vec<Concat> {
    let mut all = Vec::new();
    e.each(&mut |e| {
        if let concrete::Expr::Concat(c, _) = e
            && c.parts.iter().any(|(u, _)| *u == w)
        {
            all.push((**c).clone());
        }
    });
    all
}

/// The concatenations for which `along` holds that are in no other such concatenation.
pub fn outermost<'e>(e: &'e concrete::Expr, along: Along) -> Vec<&'e Concat> {
    match e {
        concrete::Expr::Concat(c, _) if along(c) => vec![c],
        concrete::Expr::Concat(c, _) => c.exprs().flat_map(|part| outermost(part, along)).collect(),
        concrete::Expr::Call(_, args, _) => args.iter().flat_map(|a| outermost(a, along)).collect(),
        concrete::Expr::Reduce(_, _, body, _) => outermost(body, along),
        concrete::Expr::Fold(fold, _) => fold.parts().flat_map(|part| outermost(part, along)).collect(),
        concrete::Expr::Where(..)
        | concrete::Expr::Literal(_)
        | concrete::Expr::Index(_)
        | concrete::Expr::Access(..)
        | concrete::Expr::Column(_) => vec![],
    }
}

/// The reasons for which a piece may be split, in order of precedence.
pub fn may_cut(cx: &Facts, v: Index, piece: &Piece) -> Vec<Cut> {
    if !outermost(&piece.body, &|c| is_along(cx, &piece.scope, v, c)).is_empty() {
        return vec![Cut::Choice];
    }
    let compared = keys::first_key(cx, v, piece).map(|_| Cut::Comparison);
    let phased = !access::phased(cx, &piece.scope, &piece.body, v).is_empty();
    let phases = if phased { &[Cut::Phases, Cut::Hull, Cut::Tested][..] } else { &[] };
    compared.into_iter().chain(phases.iter().copied()).collect()
}

/// The reason for which a piece is split, among those that are possible.
pub fn cut_of(cx: &Facts, v: Index, piece: &Piece, found: &[Cut]) -> Cut {
    match found {
        [Cut::Comparison, ..] if keys::decides(cx, piece) => Cut::Comparison,
        [Cut::Choice, ..] => Cut::Choice,
        [.., Cut::Tested] => phases_or_hull(cx, v, piece),
        _ => Cut::Whole,
    }
}

/// Whether a range with phases of accesses is split by those of one access, or by the hull of all, if there are many.
pub fn phases_or_hull(cx: &Facts, v: Index, piece: &Piece) -> Cut {
    let phased = access::phased(cx, &piece.scope, &piece.body, v);
    let affords = |parts| piece.scope.affords(cx, &piece.body, parts);
    let symmetric = |a: &AccessId| cx.kind(*a, piece.scope.fiber(*a).depth).is_mirrored();
    match phased.len() {
        0 => Cut::Whole,
        n if n <= PHASES && affords(3_u64.saturating_pow(n as u32)) => Cut::Phases,
        _ if phased.iter().any(symmetric) || !affords(3) => Cut::Tested,
        _ => Cut::Hull,
    }
}
