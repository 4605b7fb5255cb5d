//! Cuts of loops into pieces: the coordinates of the loops that are cut, and the positions in a counted list, at which pieces begin and
//! end.
//!
//! ```text
//!  pos(j -> q, A); split(q -> q0, q1, 8)             let count = A_pos[i + 1] - A_pos[i]
//!                                                    for q0 in 0..max(⌈count / 8⌉, 1):
//!                                                      j from A_crd[A_pos[i] + 8·q0] up to A_crd[A_pos[i] + 8·q0 + 8]
//!  collapse(i, j -> f); pos(f -> p, A); split(p -> p0, p1, 8)
//!                                                    the row of entry 8·p0 is searched in A_pos; in the first row of a piece
//!                                                    j begins at the piece's begin; in the last row it ends at the piece's end
//! ```
//!
//! The search for an edge begins where the previous edge was found, and its steps double: consecutive pieces share edges. Where pieces are to
//! run in parallel, each searches from the begin.
//!
//! ```text
//!  collapse(i, j -> f); weigh(f, A, B); split(f -> p, q, 64)
//!                                                    (i, j) is the last tuple before which A and B store 64·p entries or fewer
//! ```
//!
//! A piece is a range of tuples of coordinates. The loops inside are the same as without the cut, over these ranges; counted and weighed
//! lists begin and end at known positions. The first piece begins with the first coordinates, whether or not anything is stored there, and
//! the last ends with the last.

use super::{Context, levels};
use crate::choose::{
    Facts, coordinate,
    cut::{Counted, Edges, Listed, Opened, Weight, is_searched},
    range::{Bound, Range},
    scope::Scope,
    symbol::{Name, Sym},
};
use crate::plan::{Block, Op};
use fiberloom_core::algebra::{Op as Fn, Type};
use fiberloom_core::format::Holds;
use fiberloom_core::map::{Map, Size};
use fiberloom_core::notation::concrete::{self, AccessId, Claim, Index, Length, Limit, Terms, Within};
use std::rc::Rc;

/// Counts the total of a cut, if `v` is the first of its loops over pieces.
pub(super) fn open_cut(cx: &Context, b: &mut Block, scope: &mut Scope, v: Index, body: &concrete::Expr) {
    for limit in &cx.program.vars[v.0].limits {
        if let Limit::Pieces { cut, .. } = limit
            && !scope.cuts.contains_key(cut)
        {
            let mut opened = opened(cx, b, scope, *cut, body);
            if cx.program.vars[v.0].hints.claim == Claim::Nothing {
                opened.hints = hints(cx, b, &opened.of);
            }
            scope.cuts.insert(*cut, Rc::new(opened));
        }
    }
}

/// The places where the searches for an edge begin.
fn hints(cx: &Facts, b: &mut Block, of: &Counted) -> Vec<Name> {
    let hint = |_| {
        let it = cx.symbols.name();
        b.push(Op::Hint { it });
        it
    };
    (0..of.searches()).map(hint).collect()
}

fn opened(cx: &Context, b: &mut Block, scope: &Scope, cut: usize, body: &concrete::Expr) -> Opened {
    let concrete::Cut { counted, tensors, extents } = &cx.program.cuts[cut];
    let symbols = &cx.symbols;
    let here = |a: &AccessId| tensors.contains(&cx.program.accesses[a.0].tensor);
    let read: Vec<AccessId> = body.accesses().into_iter().filter(here).collect();
    match counted {
        concrete::Counted::Coordinates => {
            let extents = extents.iter().map(|e| cx.extents.name(*e));
            let count = extents.reduce(|a, b| symbols.times(a, b)).unwrap_or(symbols.int(1));
            Opened { count: b.held(cx, "count", count), of: Counted::Coordinates, hints: vec![] }
        }
        concrete::Counted::Entries => {
            let found = read.iter().find_map(|a| entries_of(cx, b, scope, *a, (cut, extents.len())));
            found.unwrap_or(Opened { count: Sym::ZERO, of: Counted::Nothing, hints: vec![] })
        }
        concrete::Counted::Weight => {
            let loops = extents.len();
            let (weights, counts): (Vec<Weight>, Vec<Sym>) =
                read.iter().filter_map(|a| weight_of(cx, b, scope, *a, (cut, loops))).unzip();
            let count = counts.into_iter().reduce(|a, b| symbols.plus(a, b)).unwrap_or(Sym::ZERO);
            let of = if weights.is_empty() { Counted::Nothing } else { Counted::Weight(weights) };
            Opened { count: b.held(cx, "count", count), of, hints: vec![] }
        }
    }
}

/// The entries below an access's next `levels` levels, if they are over the loops of a cut, and the last of them is a list.
fn entries_of(
    cx: &Context,
    b: &mut Block,
    scope: &Scope,
    a: AccessId,
    (cut, levels): (usize, usize),
) -> Option<Opened> {
    let (fiber, symbols) = (scope.fiber(a), &cx.symbols);
    let first = fiber.depth;
    let format = &cx.program.tensor(a).format;
    let last = first + levels - 1;
    let list = format.levels.get(last).is_some_and(|kind| kind.is_list());
    if !list || fiber.may_miss() || fiber.run.is_some() || scope.block(a).is_some() {
        return None;
    }
    if !(0..levels).all(|place| is_over(cx, scope, (a, first + place), (cut, place))) {
        return None;
    }
    let (mut begin, mut end) = (fiber.position, symbols.plus(fiber.position, symbols.int(1)));
    let mut ends = vec![];
    for level in first..=last {
        if level > first && is_searched(cx, a, level) {
            end = b.held(cx, "past", end);
            ends.push(end);
        }
        (begin, end) = below(cx, (a, level), (begin, end))?;
        if level == first && format.levels[level].is_located() {
            (begin, end) = in_tile(cx, tile(cx, scope, a, level).as_ref(), (begin, end));
        }
    }
    let begin = b.held(cx, "first", begin);
    let count = b.held(cx, "count", symbols.sub(end, begin));
    Some(Opened { count, of: Counted::Entries { access: a, first, begin, ends }, hints: vec![] })
}

/// Whether a level is over the loop at a place of a cut: of the variables that its coordinate is made of, that loop's alone is not bound
/// yet. A copy of an operand may have its levels in another order.
fn is_over(cx: &Context, scope: &Scope, (a, level): (AccessId, usize), (cut, place): (usize, usize)) -> bool {
    let map = cx.program.root_map(cx.program.level_var(&cx.program.accesses[a.0], level));
    let mut free = map.factors.keys().filter(|v| scope.coordinate(**v).is_none());
    let (Some(v), None) = (free.next(), free.next()) else { return false };
    let limits = &cx.program.vars[v.0].limits;
    limits.iter().any(|limit| matches!(limit, Limit::Within(w) if w.cut == cut && w.place == place))
}

/// The part of a level over which a loop runs: `extent` coordinates from `shift` on.
#[derive(Clone)]
struct Tile {
    shift: Sym,
    extent: Sym,
    /// Whether the part is a window, which may begin before the level does.
    is_window: bool,
}

impl Tile {
    /// The number of the tile's coordinates that are before the level.
    fn before(&self, cx: &Facts) -> Sym {
        let symbols = &cx.symbols;
        if self.is_window { symbols.max(symbols.sub(Sym::ZERO, self.shift), Sym::ZERO) } else { Sym::ZERO }
    }
}

/// The tile of a level over which a loop runs; `None` if the loop runs over the whole level.
fn tile(cx: &Context, scope: &Scope, a: AccessId, level: usize) -> Option<Tile> {
    let (map, symbols) = (cx.program.root_map(cx.program.level_var(&cx.program.accesses[a.0], level)), &cx.symbols);
    let mut free = map.factors.iter().filter(|(v, _)| scope.coordinate(**v).is_none());
    let (v, factor) = free.next()?;
    let mut around = map.clone();
    around.factors.remove(v);
    let tiled = free.next().is_none() && factor.value() == Some(1) && around != Map::constant(Size::default());
    let shift = if tiled { coordinate::mapped(cx, scope, &around) } else { None }?;
    let extent = cx.extents.name(cx.program.vars[v.0].extent);
    if around.constant == Size::default() {
        return Some(Tile { shift, extent, is_window: false });
    }
    // A window farther outside covers as little, and the clamped ends fit 64 bits.
    let past = levels::extent(cx, (a, level));
    let shift = symbols.max(symbols.min(shift, past), symbols.sub(Sym::ZERO, extent));
    Some(Tile { shift, extent, is_window: true })
}

/// The positions of a located level that are in a tile; none if the tile lies outside of the extent.
fn in_tile(cx: &Facts, tile: Option<&Tile>, (begin, end): (Sym, Sym)) -> (Sym, Sym) {
    let (Some(Tile { shift, extent, is_window }), symbols) = (tile, &cx.symbols) else { return (begin, end) };
    let at = symbols.plus(begin, *shift);
    let past = symbols.plus(at, *extent);
    let from = |at: Sym| if *is_window { symbols.max(at, begin) } else { at };
    (symbols.min(from(at), end), symbols.min(from(past), end))
}

/// The positions of a level below a range of positions of the level above.
fn below(cx: &Context, of: (AccessId, usize), (begin, end): (Sym, Sym)) -> Option<(Sym, Sym)> {
    let (kind, symbols) = (cx.kind(of.0, of.1), &cx.symbols);
    if kind.is_located() {
        let extent = levels::extent(cx, of);
        return Some((symbols.times(begin, extent), symbols.times(end, extent)));
    }
    let position = |at: Sym| symbols.load(levels::array(cx, of, Holds::Positions), at);
    match (kind.is_list(), kind.holds(Holds::Positions)) {
        (true, true) => Some((position(begin), position(end))),
        (true, false) => Some((begin, end)),
        (false, _) => None,
    }
}

/// The weights of the coordinates of an access's next levels, which are over the loops of a cut, and their sum.
fn weight_of(
    cx: &Context,
    b: &mut Block,
    scope: &Scope,
    a: AccessId,
    (cut, loops): (usize, usize),
) -> Option<(Weight, Sym)> {
    let (fiber, symbols) = (scope.fiber(a), &cx.symbols);
    let (first, format) = (fiber.depth, &cx.program.tensor(a).format);
    let counted = format.weighed(first, loops)?;
    let over = |place: usize| is_over(cx, scope, (a, first + place), (cut, place));
    let tiles = |place: usize| tile(cx, scope, a, first + place);
    if fiber.may_miss() || !(0..loops).all(over) || (1..loops).any(|place| tiles(place).is_some()) {
        return None;
    }
    let (kind, tile) = (format.levels[first], tiles(0));
    if kind.is_list() && (tile.is_some() || fiber.run.is_some() || scope.block(a).is_some()) {
        return None;
    }
    let range = below(cx, (a, first), (fiber.position, symbols.plus(fiber.position, symbols.int(1))))?;
    let (begin, end) = in_tile(cx, tile.as_ref(), range);
    let before = tile.map_or(Sym::ZERO, |tile| tile.before(cx));
    let (begin, end) = (b.held(cx, "first", begin), b.held(cx, "past", end));
    let weight = Weight { of: (a, first), begin, end, before: b.held(cx, "before", before) };
    let entries = (first + 1..=counted).try_fold((begin, end), |range, level| below(cx, (a, level), range))?;
    Some((weight, symbols.sub(entries.1, entries.0)))
}

/// The number of iterations of a loop over pieces.
pub(super) fn turns(cx: &Context, b: &mut Block, scope: &Scope, cut: usize, turns: &Length) -> Sym {
    b.held(cx, "pieces", length(cx, turns, scope.cuts[&cut].count))
}

/// The range of a loop that is cut: the part of it in the current piece.
pub(super) fn within(cx: &Context, b: &mut Block, scope: &mut Scope, within: &Within, range: Range) -> Range {
    let (key, symbols) = (within.cut, &cx.symbols);
    if within.place == 0 {
        let piece = piece(cx, b, scope, within);
        scope.pieces.insert(key, Rc::new(piece));
    }
    let Some(piece) = scope.pieces.get(&key) else { return range };
    let (Edges { lo, hi, .. }, place) = (&**piece, within.place);
    let on = |edge: &[Sym]| {
        let same = |k: usize| {
            let before = cut_loop(cx, scope, key, k)?;
            Some(symbols.op(Fn::Eq, [scope.coordinate(before)?, edge[k]]))
        };
        let all: Option<Vec<Sym>> = (0..place).map(same).collect();
        all.map(|all| symbols.all(all))
    };
    let extent = range.hi.at;
    let inner = place + 1 < lo.len();
    let past = if inner { symbols.plus(hi[place], symbols.int(1)) } else { hi[place] };
    let (begin, end) = match (on(lo), on(hi)) {
        (Some(first), Some(last)) => (choose(cx, first, lo[place], Sym::ZERO), choose(cx, last, past, extent)),
        _ => return range,
    };
    let begin = b.held(cx, "from", symbols.min(begin, extent));
    let end = b.held(cx, "to", symbols.min(end, extent));
    Range { lo: Bound::at(begin), hi: Bound::at(end) }
}

/// The variable of one of a cut's loops, by its place, if it is bound.
fn cut_loop(cx: &Context, scope: &Scope, cut: usize, place: usize) -> Option<Index> {
    let is = |v: &&Index| {
        let limits = &cx.program.vars[v.0].limits;
        limits.iter().any(|l| matches!(l, Limit::Within(w) if w.cut == cut && w.place == place))
    };
    scope.order.iter().rev().find(is).copied()
}

/// The current piece of the loops over pieces.
fn piece(cx: &Context, b: &mut Block, scope: &Scope, within: &Within) -> Edges {
    let opened = scope.cuts[&within.cut].clone();
    let (count, symbols) = (opened.count, &cx.symbols);
    let length = |of: &Length| length(cx, of, count);
    let at = |terms: &Terms| {
        let term = |(v, by): &(Index, Vec<Length>)| {
            let at = scope.coordinate(*v).expect("pieces stand around what they cut");
            by.iter().fold(at, |at, by| symbols.times(at, length(by)))
        };
        terms.iter().map(term).reduce(|a, b| symbols.plus(a, b)).unwrap_or(Sym::ZERO)
    };
    let inside = within.beyond.iter().map(|(terms, n)| symbols.op(Fn::Lt, [at(terms), length(n)]));
    let inside = symbols.all(inside);
    // A piece that does not exist begins and ends behind everything.
    let nowhere = symbols.plus(count, symbols.int(1));
    let begin = choose(cx, inside, at(&within.from), nowhere);
    let begin = b.held(cx, "begin", begin);
    let end = symbols.plus(begin, length(&within.unit));
    let ends = within.ends.iter().map(|(terms, n)| symbols.plus(at(terms), length(n)));
    let end = ends.fold(end, |end, other| symbols.min(end, other));
    let end = b.held(cx, "end", symbols.min(end, count));
    let extents: Vec<Sym> = cx.program.cuts[within.cut].extents.iter().map(|e| cx.extents.name(*e)).collect();
    let known = if opened.hints.is_empty() { hints(cx, b, &opened.of) } else { opened.hints.clone() };
    let found = opened.of.found(cx, extents.len());
    let mut edge = |at: Sym, begins: bool| {
        let name = if begins { "from" } else { "to" };
        let mut is: Vec<Sym> = extents.iter().map(|_| symbols.read(name, Type::I64)).collect();
        is.extend(found.iter().map(|_| symbols.read(if begins { "p_begin" } else { "p_end" }, Type::I64)));
        let (of, hints) = (opened.of.clone(), known.clone());
        b.push(Op::Edge { of, hints, at, count, extents: extents.clone(), begins, is: is.clone() });
        let positions = is.split_off(extents.len());
        (is, positions)
    };
    let ((mut lo, begins), (mut hi, ends)) = (edge(begin, true), edge(end, false));
    let Counted::Entries { access, first, begin: from, .. } = opened.of else {
        let listed = |((of, begin), end)| Listed { of, begin, end, may_be_outside: true };
        return Edges { lo, hi, lists: found.into_iter().zip(begins).zip(ends).map(listed).collect() };
    };
    let tiles: Vec<_> = (0..extents.len()).map(|k| tile(cx, scope, access, first + k)).collect();
    let behind = symbols.op(Fn::Lt, [end, count]);
    let some = symbols.and(symbols.op(Fn::Gt, [begin, Sym::ZERO]), symbols.op(Fn::Lt, [begin, count]));
    let may_be_outside = tiles.iter().any(Option::is_some);
    lo = in_tiles(cx, b, lo, &tiles, some);
    hi = in_tiles(cx, b, hi, &tiles, behind);
    let begin = symbols.min(begin, end);
    let (begin, end) = (symbols.plus(from, begin), symbols.plus(from, end));
    let (begin, end) = (b.held(cx, "p_begin", begin), b.held(cx, "p_end", end));
    Edges { lo, hi, lists: vec![Listed { of: (access, first + extents.len() - 1), begin, end, may_be_outside }] }
}

/// The positions at which the part of a list in a piece begins and ends, where they are known, in a fiber with these ends over which a loop over `v`
/// walks. `None` if the loop does not visit the whole piece, or something else narrows its range.
pub(super) fn of_piece(
    cx: &Context,
    scope: &Scope,
    (list, fiber): ((AccessId, usize), (Sym, Sym)),
    v: Index,
    range: &Range,
) -> Option<(Sym, Sym)> {
    let limit = cx.program.vars[v.0].limits.iter().find_map(|limit| match limit {
        Limit::Within(within) => Some(within),
        _ => None,
    })?;
    let last = limit.place + 1 == cx.program.cuts[limit.cut].extents.len();
    let piece = scope.pieces.get(&limit.cut).filter(|_| last)?;
    let Listed { begin, end, may_be_outside, .. } = piece.lists.iter().find(|known| known.of == list)?.clone();
    let whole = scope.ranges.get(&v).is_some_and(|(lo, hi)| *lo == range.lo.at && *hi == range.hi.at);
    let bare = cx.program.level_var(&cx.program.accesses[list.0.0], list.1) == v;
    // A run of equal coordinates belongs to one piece, whichever of its entries is counted.
    let unique = !cx.program.tensor(list.0).format.repeats(list.1);
    if !(whole && bare && unique) {
        return None;
    }
    if limit.place == 0 {
        return Some((begin, end));
    }
    let symbols = &cx.symbols;
    let (begin, end) = (symbols.max(fiber.0, begin), symbols.min(fiber.1, end));
    Some((begin, if may_be_outside { symbols.max(begin, end) } else { end }))
}

/// Converts coordinates of levels into coordinates of tiles, clamped: a coordinate before a tile becomes its begin, one behind it its
/// end, and the coordinates inside of it follow. If `inside` is false, the coordinates are no entry's, and remain as they are.
fn in_tiles(cx: &Context, b: &mut Block, tuple: Vec<Sym>, tiles: &[Option<Tile>], inside: Sym) -> Vec<Sym> {
    if tiles.iter().all(Option::is_none) {
        return tuple;
    }
    let symbols = &cx.symbols;
    let mut outside: Option<Sym> = None;
    let mut all = vec![];
    for (at, tile) in tuple.into_iter().zip(tiles) {
        let made = match tile {
            None => at,
            Some(Tile { shift, extent, .. }) => symbols.min(symbols.max(symbols.sub(at, *shift), Sym::ZERO), *extent),
        };
        let made = outside.map_or(made, |outside| symbols.select(outside, Sym::ZERO, made));
        all.push(b.define(cx, "tile", Type::I64, symbols.select(inside, made, at)));
        if let Some(Tile { shift, extent, .. }) = tile {
            let before = symbols.op(Fn::Lt, [at, *shift]);
            let behind = symbols.op(Fn::Ge, [at, symbols.plus(*shift, *extent)]);
            let left = symbols.and(inside, symbols.or(before, behind));
            outside = Some(outside.map_or(left, |outside| symbols.or(outside, left)));
        }
    }
    all
}

/// The value of a length; `All` is `count`.
fn length(cx: &Facts, of: &Length, count: Sym) -> Sym {
    let symbols = &cx.symbols;
    match of {
        Length::All => count,
        Length::Number(n) => symbols.int(*n as i64),
        Length::Over(of, n) => {
            let (of, n, one) = (length(cx, of, count), symbols.int(*n as i64), symbols.int(1));
            let rest = symbols.op(Fn::FloorRem, [of, n]);
            // An empty total has one part, too: of several empty parts, each would begin at the begin.
            symbols.max(symbols.plus(symbols.op(Fn::FloorDiv, [of, n]), symbols.min(rest, one)), one)
        }
    }
}

/// `a` where a condition holds, if there is one, else `b`.
fn choose(cx: &Facts, c: Option<Sym>, a: Sym, b: Sym) -> Sym {
    c.map_or(a, |c| cx.symbols.select(c, a, b))
}
