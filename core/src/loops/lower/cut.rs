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
//! The search for an edge begins where the previous edge was found, and its steps double: consecutive pieces share edges.
//!
//! A piece is a range of tuples of coordinates. The loops inside are the same as without the cut, over these ranges; a counted list
//! begins and ends at known positions. The first piece begins with the first coordinates, whether or not anything is stored there, and
//! the last ends with the last.

use super::{Context, Expr, Holds, binary, held, int, plus, times};
use crate::algebra::{Op, Type};
use crate::loops::choose::{range::Range, scope::Scope};
use crate::loops::lower::{coordinate, fiber};
use crate::loops::{BufferId, Symbolic, Term};
use crate::map::{Map, Size};
use crate::notation::concrete::{self, AccessId, Counted, Index, Length, Limit, Terms, Within};
use crate::stream::{Domain, State};

/// A cut whose loops have not begun yet.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    /// The total that is divided among the pieces.
    pub count: Expr,
    /// The kind of things that are counted.
    pub of: Of,
    /// For each searched level, where the search for a piece's edge begins: where the previous edge was found. Any value is correct.
    pub hints: Vec<State>,
}

#[derive(Clone, Debug)]
pub(super) enum Of {
    /// The coordinates of loops with these extents.
    Coordinates(Vec<Expr>),
    /// The entries of an access, from level `first` on. The positions in the last of the levels begin at `begin`. `ends` has, for each
    /// level whose parents are searched, the position at which these parents end.
    Entries { access: AccessId, first: usize, begin: Expr, ends: Vec<Expr> },
    /// The entries of these lists, as weights of the coordinates of one loop.
    Weight(Vec<Weight>),
    /// Nothing is counted: there is one piece.
    Nothing,
}

/// The number of entries that a list has below each coordinate of a loop.
#[derive(Clone, Debug)]
pub(super) struct Weight {
    /// The list's array of positions.
    pub pos: BufferId,
    /// The index in `pos` of the first coordinate of the loop that is within the level.
    pub begin: Expr,
    /// The index in `pos` behind the last such coordinate.
    pub end: Expr,
    /// The number of coordinates of the loop before the level begins: 0 unless the loop is a window.
    pub before: Expr,
}

/// A piece.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The first coordinates of the piece, outermost first.
    pub lo: Vec<Expr>,
    /// The coordinates behind the piece.
    pub hi: Vec<Expr>,
    /// The counted list, its level, and the positions of its entries in the piece.
    pub list: Option<(AccessId, usize, Expr, Expr)>,
}

/// Counts the total of a cut, if `v` is the first of its loops over pieces.
pub(super) fn open_cut(cx: &Context, d: &mut Symbolic, scope: &mut Scope, v: Index, body: &concrete::Expr) {
    for limit in &cx.program.vars[v.0].limits {
        if let Limit::Pieces { cut, .. } = limit
            && !scope.cuts.contains_key(cut)
        {
            let opened = opened(cx, d, scope, *cut, body);
            scope.cuts.insert(*cut, cx.name_counting(opened));
        }
    }
}

fn opened(cx: &Context, d: &mut Symbolic, scope: &Scope, cut: usize, body: &concrete::Expr) -> Opened {
    let concrete::Cut { counted, tensors, extents } = &cx.program.cuts[cut];
    let here = |a: &AccessId| tensors.contains(&cx.program.accesses[a.0].tensor);
    let read: Vec<AccessId> = body.accesses().into_iter().filter(here).collect();
    match counted {
        Counted::Coordinates => {
            let extents: Vec<Expr> = extents.iter().map(|e| cx.extent(*e)).collect();
            let count = extents.iter().cloned().reduce(times).unwrap_or(int(1));
            Opened { count: held(d, "count", count), of: Of::Coordinates(extents), hints: vec![] }
        }
        Counted::Entries => {
            let found = read.iter().find_map(|a| entries_of(cx, d, scope, *a, extents.len()));
            found.unwrap_or(Opened { count: int(0), of: Of::Nothing, hints: vec![] })
        }
        Counted::Weight => {
            let lists: Vec<Weight> = read.iter().filter_map(|a| weight_of(cx, d, scope, *a)).collect();
            let entries = |Weight { pos, begin, end, .. }: &Weight| {
                binary(Op::Sub, load(*pos, end.clone()), load(*pos, begin.clone()))
            };
            let count = lists.iter().map(entries).reduce(plus).unwrap_or(int(0));
            let hints = vec![d.state("hint", Term::fixed(int(0)))];
            Opened { count: held(d, "count", count), of: Of::Weight(lists), hints }
        }
    }
}

/// The entries below an access's next `levels` levels, the last of which is a list.
fn entries_of(cx: &Context, d: &mut Symbolic, scope: &Scope, a: AccessId, levels: usize) -> Option<Opened> {
    let fiber = scope.fiber(a);
    let first = fiber.depth;
    let format = &cx.program.tensor(a).format;
    let last = first + levels - 1;
    let list = format.levels.get(last).is_some_and(|kind| kind.is_list());
    if !list || fiber.may_miss() || fiber.run.is_some() || scope.block(a).is_some() {
        return None;
    }
    let position = cx.expr(fiber.position);
    let (mut begin, mut end) = (position.clone(), plus(position, int(1)));
    let mut ends = vec![];
    for level in first..=last {
        if level > first && searched(cx, a, level).is_some() {
            end = held(d, "past", end);
            ends.push(end.clone());
        }
        (begin, end) = below(cx, a, level, (begin, end))?;
        if level == first && format.levels[level].is_located() {
            (begin, end) = in_tile(tile(cx, scope, a, level).as_ref(), (begin, end));
        }
    }
    let begin = held(d, "first", begin);
    let count = held(d, "count", binary(Op::Sub, end, begin.clone()));
    let hints = ends.iter().map(|_| d.state("hint", Term::fixed(int(0)))).collect();
    Some(Opened { count, of: Of::Entries { access: a, first, begin, ends }, hints })
}

/// The part of a level over which a loop runs: `extent` coordinates from `shift` on.
#[derive(Clone)]
struct Tile {
    shift: Expr,
    extent: Expr,
    /// Whether the part is a window, which may begin before the level does.
    is_window: bool,
}

impl Tile {
    /// The number of the tile's coordinates that are before the level.
    fn before(&self) -> Expr {
        if self.is_window { binary(Op::Max, binary(Op::Sub, int(0), self.shift.clone()), int(0)) } else { int(0) }
    }
}

/// The tile of a level over which a loop runs; `None` if the loop runs over the whole level.
fn tile(cx: &Context, scope: &Scope, a: AccessId, level: usize) -> Option<Tile> {
    let map = cx.program.root_map(cx.program.level_var(&cx.program.accesses[a.0], level));
    let mut free = map.factors.iter().filter(|(v, _)| scope.coordinate(**v).is_none());
    let (v, factor) = free.next()?;
    let mut around = map.clone();
    around.factors.remove(v);
    let tiled = free.next().is_none() && factor.value() == Some(1) && around != Map::constant(Size::default());
    let shift = if tiled { coordinate::mapped(cx, scope, &around) } else { None }?;
    let extent = cx.extent(cx.program.vars[v.0].extent);
    if around.constant == Size::default() {
        return Some(Tile { shift, extent, is_window: false });
    }
    // A window farther outside covers as little, and the clamped ends fit 64 bits.
    let tensor = cx.program.tensor(a);
    let past = cx.extent(tensor.extents[tensor.format.order[level]]);
    let shift = binary(Op::Max, binary(Op::Min, shift, past), binary(Op::Sub, int(0), extent.clone()));
    Some(Tile { shift, extent, is_window: true })
}

/// The positions of a located level that are in a tile; none if the tile lies outside of the extent.
fn in_tile(tile: Option<&Tile>, (begin, end): (Expr, Expr)) -> (Expr, Expr) {
    let Some(Tile { shift, extent, is_window }) = tile else { return (begin, end) };
    let at = plus(begin.clone(), shift.clone());
    let past = plus(at.clone(), extent.clone());
    let from = |at: Expr| if *is_window { binary(Op::Max, at, begin.clone()) } else { at };
    (binary(Op::Min, from(at), end.clone()), binary(Op::Min, from(past), end))
}

/// The positions of a level below a range of positions of the level above.
fn below(cx: &Context, a: AccessId, level: usize, (begin, end): (Expr, Expr)) -> Option<(Expr, Expr)> {
    let tensor = cx.program.tensor(a);
    let kind = tensor.format.levels[level];
    if kind.is_located() {
        let extent = cx.extent(tensor.extents[tensor.format.order[level]]);
        return Some((times(begin, extent.clone()), times(end, extent)));
    }
    let buffers = &fiber::levels(cx, a)[level];
    match buffers.array(Holds::Positions) {
        Some(pos) if kind.is_list() => Some((load(pos, begin), load(pos, end))),
        None if kind.is_list() => Some((begin, end)),
        _ => None,
    }
}

/// The weights of the coordinates of an access's next level, which is located: the array of positions of the list below, and the indices
/// in it at which these coordinates begin and end.
fn weight_of(cx: &Context, d: &mut Symbolic, scope: &Scope, a: AccessId) -> Option<Weight> {
    let fiber = scope.fiber(a);
    let tensor = cx.program.tensor(a);
    let located = tensor.format.levels.get(fiber.depth)?.is_located();
    let list = fiber::levels(cx, a).get(fiber.depth + 1)?.array(Holds::Positions);
    let pos = list.filter(|_| located && !fiber.may_miss())?;
    let extent = cx.extent(tensor.extents[tensor.format.order[fiber.depth]]);
    let position = cx.expr(fiber.position);
    let (begin, end) = (times(position.clone(), extent.clone()), times(plus(position, int(1)), extent));
    let tile = tile(cx, scope, a, fiber.depth);
    let (begin, end) = in_tile(tile.as_ref(), (begin, end));
    let before = tile.map_or(int(0), |tile| tile.before());
    Some(Weight { pos, begin: held(d, "first", begin), end: held(d, "past", end), before: held(d, "before", before) })
}

/// The number of iterations of a loop over pieces.
pub(super) fn turns(cx: &Context, d: &mut Symbolic, scope: &Scope, cut: usize, turns: &Length) -> Expr {
    let count = cx.counting(scope.cuts[&cut]).count;
    held(d, "pieces", length(turns, &count))
}

/// The range of a loop that is cut: the part of it in the current piece.
pub(super) fn within(cx: &Context, d: &mut Symbolic, scope: &mut Scope, within: &Within, range: Range) -> Range {
    let key = within.cut;
    if within.place == 0 {
        let piece = piece(cx, d, scope, within);
        scope.pieces.insert(key, cx.name_piece(piece));
    }
    let Some(Piece { lo, hi, .. }) = scope.pieces.get(&key).map(|piece| cx.piece(*piece)) else { return range };
    let place = within.place;
    let on = |edge: &[Expr]| {
        let same = |k: usize| {
            let before = cut_loop(cx, scope, key, k)?;
            Some(binary(Op::Eq, cx.expr(scope.coordinate(before)?), edge[k].clone()))
        };
        let all: Option<Vec<Expr>> = (0..place).map(same).collect();
        all.map(|all| all.into_iter().reduce(|a, b| binary(Op::AndAlso, a, b)))
    };
    let extent = cx.expr(range.hi.at);
    let inner = place + 1 < lo.len();
    let past = if inner { plus(hi[place].clone(), int(1)) } else { hi[place].clone() };
    let (begin, end) = match (on(&lo), on(&hi)) {
        (Some(first), Some(last)) => {
            let begin = choose(first, lo[place].clone(), int(0));
            (begin, choose(last, past, extent.clone()))
        }
        _ => return range,
    };
    let begin = held(d, "from", binary(Op::Min, begin, extent.clone()));
    let end = held(d, "to", binary(Op::Min, end, extent));
    Range { lo: cx.bound(begin), hi: cx.bound(end) }
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
fn piece(cx: &Context, d: &mut Symbolic, scope: &Scope, within: &Within) -> Piece {
    let Opened { count, of, hints } = cx.counting(scope.cuts[&within.cut]);
    let at = |terms: &Terms| {
        let term = |(v, by): &(Index, Vec<Length>)| {
            let at = cx.expr(scope.coordinate(*v).expect("pieces stand around what they cut"));
            by.iter().fold(at, |at, by| times(at, length(by, &count)))
        };
        terms.iter().map(term).reduce(plus).unwrap_or(int(0))
    };
    let inside = within.beyond.iter().map(|(terms, n)| binary(Op::Lt, at(terms), length(n, &count)));
    let inside = inside.reduce(|a, b| binary(Op::AndAlso, a, b));
    // A piece that does not exist begins and ends behind everything.
    let nowhere = plus(count.clone(), int(1));
    let begin = match inside {
        None => at(&within.from),
        inside => choose(inside, at(&within.from), nowhere),
    };
    let begin = held(d, "begin", begin);
    let end = plus(begin.clone(), length(&within.unit, &count));
    let ends = within.ends.iter().map(|(terms, n)| plus(at(terms), length(n, &count)));
    let end = ends.fold(end, |end, other| binary(Op::Min, end, other));
    let end = held(d, "end", binary(Op::Min, end, count.clone()));
    let extents: Vec<Expr> = cx.program.cuts[within.cut].extents.iter().map(|e| cx.extent(*e)).collect();
    let mut lo = tuple(cx, d, (&of, &hints), begin.clone(), (&count, &extents), true);
    let mut hi = tuple(cx, d, (&of, &hints), end.clone(), (&count, &extents), false);
    if let Of::Entries { access, first, .. } = of {
        let tiles: Vec<_> = (0..extents.len()).map(|k| tile(cx, scope, access, first + k)).collect();
        let behind = binary(Op::Lt, end.clone(), count.clone());
        lo = in_tiles(
            d,
            lo,
            &tiles,
            binary(Op::AndAlso, binary(Op::Gt, begin.clone(), int(0)), binary(Op::Lt, begin.clone(), count.clone())),
        );
        hi = in_tiles(d, hi, &tiles, behind);
    }
    let list = match of {
        Of::Entries { access, first, begin: from, .. } => {
            let begin = binary(Op::Min, begin, end.clone());
            let positions = (plus(from.clone(), begin), plus(from, end));
            let positions = (held(d, "p_begin", positions.0), held(d, "p_end", positions.1));
            Some((access, first + extents.len() - 1, positions.0, positions.1))
        }
        _ => None,
    };
    Piece { lo, hi, list }
}

/// The coordinates of the thing with number `at`. At the begin they are the first coordinates; behind the last thing they are the
/// extents.
fn tuple(
    cx: &Context,
    d: &mut Symbolic,
    of: (&Of, &[State]),
    at: Expr,
    (count, extents): (&Expr, &[Expr]),
    begins: bool,
) -> Vec<Expr> {
    let name = if begins { "from" } else { "to" };
    let tuple: Vec<_> = extents.iter().map(|_| d.state(name, Term::fixed(int(0)))).collect();
    let past = |d: &mut Symbolic| {
        for (state, extent) in tuple.iter().zip(extents).take(1) {
            d.set(*state, Term::fixed(extent.clone()));
        }
    };
    let inside = |d: &mut Symbolic| {
        let all = counted_at(cx, d, of, at.clone(), extents);
        for (state, coordinate) in tuple.iter().zip(all) {
            d.set(*state, Term::fixed(coordinate));
        }
    };
    let some = binary(Op::Lt, at.clone(), count.clone());
    // The first piece begins at the first coordinate, even if nothing is counted there.
    let first = binary(Op::Gt, at.clone(), int(0));
    match begins {
        true => d.when(first, |d| d.when(some, inside, past), |_| {}),
        false => d.when(some, inside, past),
    }
    let fixed = |d: &mut Symbolic, state| {
        let at = d.get(state);
        d.place(&at)
    };
    tuple.into_iter().map(|state| fixed(d, state)).collect()
}

/// The coordinates of the thing with number `at`, which is less than the total.
fn counted_at(cx: &Context, d: &mut Symbolic, (of, hints): (&Of, &[State]), at: Expr, extents: &[Expr]) -> Vec<Expr> {
    match of {
        Of::Nothing => extents.iter().map(|_| int(0)).collect(),
        Of::Coordinates(extents) => {
            let mut rest = at;
            let mut all: Vec<Expr> = vec![];
            for extent in extents[1..].iter().rev() {
                all.push(binary(Op::FloorRem, rest.clone(), extent.clone()));
                rest = binary(Op::FloorDiv, rest, extent.clone());
            }
            all.push(rest);
            all.reverse();
            all
        }
        Of::Weight(lists) => {
            let weight = |c: Expr| {
                let below = |Weight { pos, begin, before, .. }: &Weight| {
                    let of_level = match *before == int(0) {
                        true => c.clone(),
                        false => binary(Op::Max, binary(Op::Sub, c.clone(), before.clone()), int(0)),
                    };
                    binary(Op::Sub, load(*pos, plus(begin.clone(), of_level)), load(*pos, begin.clone()))
                };
                lists.iter().map(below).reduce(plus).unwrap_or(int(0))
            };
            let seen = |Weight { begin, end, before, .. }: &Weight| {
                plus(binary(Op::Sub, end.clone(), begin.clone()), before.clone())
            };
            let most = lists.iter().map(seen).fold(extents[0].clone(), |least, n| binary(Op::Min, least, n));
            vec![found_from(d, hints[0], most, |c| binary(Op::Le, weight(c), at.clone()))]
        }
        Of::Entries { access, first, begin, ends } => {
            let position = plus(begin.clone(), at);
            let searches: Vec<(State, Expr)> = hints.iter().copied().zip(ends.iter().cloned()).collect();
            coordinates_at(cx, d, (*access, &searches), (*first, extents.len()), position)
        }
    }
}

/// The coordinates of an entry of the last of some levels, the first of which the loops around have yet to open. Parents are searched
/// from a hint on, up to the end of the parents that have entries here: an array may have room for more.
fn coordinates_at(
    cx: &Context,
    d: &mut Symbolic,
    (a, searches): (AccessId, &[(State, Expr)]),
    (first, levels): (usize, usize),
    position: Expr,
) -> Vec<Expr> {
    let mut searches = searches.iter().rev();
    let tensor = cx.program.tensor(a);
    let (mut at, mut all) = (held(d, "at", position), vec![]);
    for level in (first..first + levels).rev() {
        let kind = tensor.format.levels[level];
        let buffers = &fiber::levels(cx, a)[level];
        let extent = cx.extent(tensor.extents[tensor.format.order[level]]);
        if kind.is_located() {
            all.push(binary(Op::FloorRem, at.clone(), extent.clone()));
            at = binary(Op::FloorDiv, at, extent);
            continue;
        }
        let crd = buffers.array(Holds::Coordinates).expect("a list has coordinates");
        all.push(load(crd, at.clone()));
        if let Some(pos) = searched(cx, a, level).filter(|_| level > first) {
            let (hint, end) = searches.next().expect("one for each level that is searched");
            let here = at.clone();
            at = found_from(d, *hint, end.clone(), |q| binary(Op::Le, load(pos, q), here.clone()));
        }
    }
    all.reverse();
    all
}

/// The array in which the parents of a level's positions are searched, if the level is a list below other levels.
fn searched(cx: &Context, a: AccessId, level: usize) -> Option<BufferId> {
    let kind = cx.program.tensor(a).format.levels[level];
    fiber::levels(cx, a)[level].array(Holds::Positions).filter(|_| !kind.is_located())
}

/// The positions of the part of a counted list over which a loop over `v` walks, if the loop visits a whole piece and nothing else
/// narrows its range.
pub(super) fn of_piece(
    cx: &Context,
    scope: &Scope,
    (a, level): (AccessId, usize),
    v: Index,
    range: &Range,
) -> Option<(Expr, Expr, bool)> {
    let limit = cx.program.vars[v.0].limits.iter().find_map(|limit| match limit {
        Limit::Within(within) => Some(within),
        _ => None,
    })?;
    let last = limit.place + 1 == cx.program.cuts[limit.cut].extents.len();
    let piece = scope.pieces.get(&limit.cut).filter(|_| last)?;
    let (access, of, begin, end) = cx.piece(*piece).list?;
    let whole = scope.ranges.get(&v).is_some_and(|(lo, hi)| *lo == range.lo.at && *hi == range.hi.at);
    let bare = cx.program.level_var(&cx.program.accesses[a.0], level) == v;
    // A run of equal coordinates belongs to one piece, whichever of its entries is counted.
    let unique = !cx.program.tensor(a).format.repeats(level);
    ((access, of) == (a, level) && whole && bare && unique).then_some((begin, end, limit.place > 0))
}

/// Converts coordinates of levels into coordinates of tiles, clamped: a coordinate before a tile becomes its begin, one behind it its
/// end, and the coordinates inside of it follow. If `inside` is false, the coordinates are no entry's, and remain as they are.
fn in_tiles(d: &mut Symbolic, tuple: Vec<Expr>, tiles: &[Option<Tile>], inside: Expr) -> Vec<Expr> {
    if tiles.iter().all(Option::is_none) {
        return tuple;
    }
    let mut outside: Option<Expr> = None;
    let mut all = vec![];
    for (at, tile) in tuple.into_iter().zip(tiles) {
        let made = match tile {
            None => at.clone(),
            Some(Tile { shift, extent, .. }) => {
                let moved = binary(Op::Sub, at.clone(), shift.clone());
                binary(Op::Min, binary(Op::Max, moved, int(0)), extent.clone())
            }
        };
        let made = match &outside {
            Some(outside) => choose(Some(outside.clone()), int(0), made),
            None => made,
        };
        let made = choose(Some(inside.clone()), made, at.clone());
        all.push(d.define("tile", Type::I64, made));
        if let Some(Tile { shift, extent, .. }) = tile {
            let before = binary(Op::Lt, at.clone(), shift.clone());
            let behind = binary(Op::Ge, at, plus(shift.clone(), extent.clone()));
            let left = binary(Op::AndAlso, inside.clone(), binary(Op::OrElse, before, behind));
            outside = Some(match outside {
                Some(outside) => binary(Op::OrElse, outside, left),
                None => left,
            });
        }
    }
    all
}

/// The greatest number below `end` at which a condition holds. The condition holds at 0 and is monotonic: behind the first number where
/// it fails it never holds. The search begins at the hint, and stores the result in it.
fn found_from(d: &mut Symbolic, hint: State, end: Expr, holds: impl Fn(Expr) -> Expr) -> Expr {
    let read = |d: &mut Symbolic, state| {
        let at = d.get(state);
        d.place(&at)
    };
    let begin = read(d, hint);
    let begin = d.define("begin", Type::I64, begin);
    let (low, high) = (d.state("low", Term::fixed(int(0))), d.state("high", Term::fixed(begin.clone())));
    let ascend = |d: &mut Symbolic| {
        let step = d.state("step", Term::fixed(int(1)));
        d.set(low, Term::fixed(begin.clone()));
        let next = |d: &mut Symbolic| plus(read(d, low), read(d, step));
        let goes_on = |d: &mut Symbolic| {
            let next = next(d);
            binary(Op::AndAlso, binary(Op::Lt, next.clone(), end.clone()), holds(next))
        };
        d.repeat(&|d| Term::fixed(goes_on(d)), &mut |d| {
            let (next, twice) = (next(d), times(read(d, step), int(2)));
            d.set(low, Term::fixed(next));
            d.set(step, Term::fixed(twice));
        });
        let next = next(d);
        d.set(high, Term::fixed(binary(Op::Min, next, end.clone())));
    };
    d.when(holds(begin.clone()), ascend, |_| {});
    bisect(d, (low, high), &holds);
    let at = read(d, low);
    let found = d.define("found", Type::I64, at);
    d.set(hint, Term::fixed(found.clone()));
    found
}

/// Bisects: the condition holds at `low`, and does not hold at `high`, unless that is the end.
fn bisect(d: &mut Symbolic, (low, high): (State, State), holds: &impl Fn(Expr) -> Expr) {
    let read = |d: &mut Symbolic, state| {
        let at = d.get(state);
        d.place(&at)
    };
    let apart = |d: &mut Symbolic| {
        let (a, b) = (read(d, low), read(d, high));
        binary(Op::Lt, plus(a, int(1)), b)
    };
    d.repeat(&|d| Term::fixed(apart(d)), &mut |d| {
        let (a, b) = (read(d, low), read(d, high));
        let middle = d.define("middle", Type::I64, binary(Op::FloorDiv, plus(a, b), int(2)));
        let holds = holds(middle.clone());
        d.when(holds, |d| d.set(low, Term::fixed(middle.clone())), |d| d.set(high, Term::fixed(middle.clone())));
    });
}

/// The value of a length; `All` is `count`.
fn length(of: &Length, count: &Expr) -> Expr {
    match of {
        Length::All => count.clone(),
        Length::Number(n) => int(*n as i64),
        Length::Over(of, n) => {
            let of = length(of, count);
            let n = int(*n as i64);
            let rest = binary(Op::FloorRem, of.clone(), n.clone());
            // An empty total has one part, too: of several empty parts, each would begin at the begin.
            binary(Op::Max, plus(binary(Op::FloorDiv, of, n), binary(Op::Min, rest, int(1))), int(1))
        }
    }
}

fn choose(c: Option<Expr>, a: Expr, b: Expr) -> Expr {
    match c {
        None => a,
        Some(c) => Expr::Op(Op::Select, vec![c, a, b]),
    }
}

fn load(array: BufferId, at: Expr) -> Expr {
    Expr::Op(Op::Convert(Type::I64), vec![Expr::Load(array, Box::new(at))])
}
