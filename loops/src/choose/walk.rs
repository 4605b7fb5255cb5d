//! Decides how a loop walks the points of its lattice.

use crate::choose::{Effect, Facts, access, along, condition, condition::cheap, piece::Piece, scope::Scope};
use fiberloom_core::algebra::{Op, identity};
use fiberloom_core::iteration::{Point, Sequence, Shape, background};
use fiberloom_core::notation::concrete::{AccessId, Expr, Index};
use fiberloom_core::notation::typed::Fun;

/// The way in which a point is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// No coordinate.
    Nothing,
    /// Every coordinate.
    Every,
    /// All coordinates at once: they have the same value.
    Constant,
    /// Every coordinate, in the gaps between a list's entries and at the entries.
    Gaps,
    /// As `Gaps`, with the value of a gap folded in once for all of its coordinates.
    CountedGaps,
    /// As `CountedGaps`, for several lists.
    Between,
    /// A list's entries.
    Each,
    /// A list's entries; if few are in view, each entry is tested.
    Filter,
    /// A list's entries; a fiber without gaps is inserted at once.
    Gapless,
    /// A list's entries; each value is stored speculatively, and kept if the followers have an entry.
    Decided,
    /// A list's entries beside blocks of a follower.
    Lanes,
    /// The intersection of lists; each value is stored speculatively, and kept at common coordinates.
    Speculative,
    /// The intersection of lists, some of which gallop.
    Leap,
    /// The intersection of lists; a value is computed at every step.
    Flat,
    /// The intersection of lists.
    Meet,
    /// The union of two lists, by a decision tree.
    Tree,
    /// The union of two lists, without branches.
    FlatTree,
    /// The union of lists in one loop, with exhausted lists at infinity.
    Wide,
}

/// A pair of lists: if the first is much longer, the loop gallops through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leap {
    /// The list that may be longer.
    pub far: AccessId,
    /// The list whose entries are visited.
    pub near: AccessId,
}

/// The way in which levels with pieces split a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// No split: pieces are searched at each coordinate.
    Search,
    /// Into one loop where this access has a fiber, and one where it has none.
    Presence(AccessId),
    /// Into blocks: only these are visited.
    Block,
    /// At each end of a piece; this many packed levels have code for either kind of piece.
    Piece(usize),
}

/// The most packed levels of one loop that have code for either kind of piece; if there are more, positions are computed without a
/// branch.
const SWITCHES: usize = 2;

/// The destination of a loop's values.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    /// Into a scalar.
    Scalar,
    /// Into a result.
    Result(Stored),
    /// Into a workspace; `in_bulk`: consecutive coordinates can be inserted at once.
    Workspace { in_bulk: bool },
    /// Nowhere: entries are counted.
    Counts,
    /// Into nested code, inside of the loop.
    Around,
}

/// The way in which a loop's values are stored in a result.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    /// Whether values are neither folded nor stored at computed coordinates.
    pub assigned: bool,
    /// Whether the loop is the innermost over an appended level.
    pub appends: bool,
    /// Whether that level is the last, and nothing else is written for an entry.
    pub last: bool,
    /// Whether the level's chain continues below it.
    pub chained: bool,
    /// Whether everything below a coordinate of the level has to come at once.
    pub whole: bool,
    /// Whether the level holds runs of the loop's own coordinates.
    pub runs: bool,
}

/// Properties of an access's list at a loop.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    /// Whether several of its entries can be compared with a coordinate at once.
    pub lanes: bool,
    /// Whether an entry may be a run of positions.
    pub repeats: bool,
}

/// Properties of a fiber that a loop walks alone.
#[derive(Clone, Copy, Debug)]
pub struct Alone {
    /// Whether several positions may have the same coordinate.
    pub repeats: bool,
    /// Whether the whole fiber is in view.
    pub whole: bool,
    /// Whether the fiber is in view from some coordinate on, without a stride, and no cursor is in it.
    pub piece: bool,
    /// Whether the fiber is a run of an entry of the level above, whose end is unknown before it is walked.
    pub open: bool,
}

/// A loop, with the loops over `rest` inside of it.
pub struct Loop<'a> {
    pub rest: &'a [Index],
    pub scope: &'a Scope,
    pub goal: Goal,
    pub effect: Effect,
    pub list: &'a dyn Fn(AccessId) -> Listed,
}

impl Loop<'_> {
    /// The way in which its values are stored, if they are assigned to a result.
    fn assigns(&self) -> Option<Stored> {
        if let Goal::Result(stored) = self.goal { Some(stored).filter(|stored| stored.assigned) } else { None }
    }

    /// The function with which each value is folded into the loop's scalar, if it is built in and the fold has begun.
    fn folds(&self) -> Option<Op> {
        match (self.goal, self.effect) {
            (Goal::Scalar, Effect::Folded { fun: Fun::Op(op), begins: false }) => Some(op),
            _ => None,
        }
    }

    /// Whether a point's value takes a few instructions and neither loop nor search: it may be computed where it is not used.
    pub fn is_flat(&self, cx: &Facts, point: &Point) -> bool {
        self.rest.is_empty() && cheap(&point.body) && access::is_open(cx, self.scope, point)
    }

    /// The value that a scalar folds in at a coordinate: the fold over the loops inside of this one.
    pub fn folded(&self, body: &Expr) -> Expr {
        match (self.goal, self.effect) {
            (Goal::Scalar, Effect::Folded { fun: fun @ Fun::Op(_), .. }) if !self.rest.is_empty() => {
                Expr::Reduce(fun, self.rest.to_vec(), Box::new(body.clone()), body.ty())
            }
            _ => body.clone(),
        }
    }

    /// The cheapest way to walk a point.
    pub fn way(&self, cx: &Facts, point: &Point) -> How {
        let special = match point.shape {
            Shape::Nothing => Some(How::Nothing),
            Shape::Dense => self.of_whole_extent(cx, point),
            Shape::Each if self.decides_speculatively(cx, point) => Some(How::Decided),
            Shape::Each if self.has_follower_in_lanes(cx, point) => Some(How::Lanes),
            Shape::Each => None,
            Shape::Intersect if point.followers.is_empty() && self.is_speculative(cx, point) => Some(How::Speculative),
            Shape::Intersect if point.leaders.iter().any(|a| access::gallops(cx, self.scope, *a)) => Some(How::Leap),
            Shape::Intersect => (self.folds().is_some() && self.is_flat(cx, point)).then_some(How::Flat),
            Shape::Tree => (self.is_flat(cx, point) && self.unites_flat(cx, point)).then_some(How::FlatTree),
            Shape::Wide => None,
        };
        special.unwrap_or(match point.shape {
            Shape::Nothing | Shape::Dense => How::Every,
            Shape::Each => How::Each,
            Shape::Intersect => How::Meet,
            Shape::Tree => How::Tree,
            Shape::Wide => How::Wide,
        })
    }

    /// A cheaper way to walk a point over the whole extent than every coordinate, if there is one.
    fn of_whole_extent(&self, cx: &Facts, point: &Point) -> Option<How> {
        if self.is_one_run(cx, point) {
            return Some(How::Constant);
        }
        let counts = self.counts(cx, &without_followers(cx, point));
        match point.followers[..] {
            [_] if counts => Some(How::CountedGaps),
            [_] if self.rest.is_empty() => Some(How::Gaps),
            _ => counts.then_some(How::Between),
        }
    }

    /// Whether a value can be folded in once for all coordinates of a gap.
    fn counts(&self, cx: &Facts, body: &Expr) -> bool {
        let Some(op) = self.folds() else { return false };
        let value = if let Expr::Literal(v) = self.folded(body) { Some(v) } else { None };
        // The value of inner loops is first folded on its own, from the identity.
        let apart = self.rest.is_empty() || identity(op, body.ty()).is_some();
        let invariant = || condition::is_one(cx, self.scope, &self.scope.order, &self.folded(body));
        apart && cx.simplify.at_once(Fun::Op(op), body.ty(), value) && invariant()
    }

    /// Whether a range is one run of the result: its value is constant there.
    fn is_one_run(&self, cx: &Facts, point: &Point) -> bool {
        let stores = self.assigns().is_some_and(|stored| stored.runs && stored.appends);
        let innermost = self.rest.is_empty() && point.followers.is_empty();
        stores && innermost && condition::is_one(cx, self.scope, &self.scope.order, &point.body)
    }

    /// Whether an intersection stores its values speculatively at every step, and keeps them where the lists meet: values must be cheap
    /// and appended to the last list.
    fn is_speculative(&self, cx: &Facts, point: &Point) -> bool {
        let last = self.assigns().is_some_and(|stored| stored.last);
        let steps = !point.leaders.iter().any(|a| access::gallops(cx, self.scope, *a));
        last && steps && self.is_flat(cx, point)
    }

    /// As `is_speculative`, for a leader with followers that decide whether its entry has a value.
    fn decides_speculatively(&self, cx: &Facts, point: &Point) -> bool {
        let plain = |a: &AccessId| access::protocol(cx, self.scope, *a).is_none() && !(self.list)(*a).repeats;
        let decide = !point.beside.lists().is_empty() && point.followers.iter().all(plain);
        decide && self.is_speculative(cx, point)
    }

    /// Whether a list has one follower, several of whose entries can be compared at once with each of the leader's. The body must be
    /// small: it stands in two loops, for the parts before and behind the follower's end.
    fn has_follower_in_lanes(&self, cx: &Facts, point: &Point) -> bool {
        let [leader] = point.leaders[..] else { return false };
        let [follower] = point.followers[..] else { return false };
        let lanes = [leader, follower].iter().all(|a| (self.list)(*a).lanes);
        let plain = access::protocol(cx, self.scope, follower).is_none() && !access::gallops(cx, self.scope, follower);
        let one = point.beside.lists().is_empty() && point.body.accesses().contains(&follower);
        lanes && plain && one && self.rest.is_empty() && access::is_open(cx, self.scope, point)
    }

    /// Whether the body of a union of two lists has an effect at each entry of either list, and no entry repeats.
    fn unites_flat(&self, cx: &Facts, point: &Point) -> bool {
        let alone = |a: &AccessId| !cx.is_nothing(self.effect, &without(cx, point, Some(*a)).body);
        point.leaders.iter().all(|a| alone(a) && !(self.list)(*a).repeats)
    }

    /// Whether a fiber without gaps is inserted in bulk: its coordinates into a set, and its values into a workspace without a test.
    pub fn goes_in_bulk(&self, cx: &Facts, point: &Point, fiber: Alone) -> bool {
        let ends = !fiber.repeats && fiber.whole && !fiber.open;
        let in_bulk = matches!(self.goal, Goal::Workspace { in_bulk: true });
        ends && in_bulk && self.is_flat(cx, point) && self.is_everywhere(cx, point)
    }

    /// Whether everything that a point reads has a value at each coordinate that the loop visits: all levels below the list that is
    /// walked, and all levels of other accesses, hold every coordinate.
    fn is_everywhere(&self, cx: &Facts, point: &Point) -> bool {
        let full = |a: &AccessId| {
            let depth = self.scope.fiber(*a).depth + usize::from(point.leaders.contains(a));
            cx.program.tensor(*a).format.levels[depth..].iter().all(|k| k.is_full())
        };
        point.body.accesses().iter().all(full)
    }

    /// Whether each entry of a short fiber is tested, instead of searching for the first one in view. Values must be cheap and appended
    /// to the last list: each is stored speculatively, and kept if it is in view. Nothing else may be read at a coordinate out of view.
    pub fn filters(&self, cx: &Facts, point: &Point, fiber: Alone) -> bool {
        // The level below an entry with several positions is opened, so its value is not flat.
        let scope = self.scope;
        let open = |a: &AccessId| point.leaders.contains(a) || access::next_var(cx, scope, *a).is_none();
        // Levels below must be at coordinates that are bound already, as entries out of view have no valid one.
        let below = |a: &AccessId| {
            let access = &cx.program.accesses[a.0];
            let depths = scope.fiber(*a).depth + 1..access.vars.len();
            depths.into_iter().all(|l| along::is_bound(cx, scope, cx.program.level_var(access, l)))
        };
        let open = || point.body.accesses().iter().all(open) && point.leaders.iter().all(below);
        fiber.piece && self.assigns().is_some_and(|stored| stored.last) && open() && self.is_flat(cx, point)
    }

    /// Whether entries with several positions are walked position by position, as if each were an entry: the destination accepts the same
    /// coordinate several times in a row, and reading the others again costs nothing.
    pub fn one_by_one(&self, cx: &Facts, point: &Point, fiber: Alone) -> bool {
        let (a, scope) = (point.leaders[0], self.scope);
        let (access, below) = (&cx.program.accesses[a.0], scope.fiber(a).depth + 1);
        let format = &cx.program.tensor(a).format;
        if format.levels.get(below).is_none_or(|kind| !kind.continues_chain()) {
            return false;
        }
        let inside = !format.repeats(below) && self.rest == [cx.program.level_var(access, below)];
        let minds = match self.goal {
            Goal::Result(stored) => stored.whole || stored.appends && !stored.chained,
            Goal::Scalar | Goal::Workspace { .. } | Goal::Counts => false,
            Goal::Around => true,
        };
        let read = |b: AccessId| b == a || access::is_located(cx, b, scope.fiber(b).depth);
        let positions = fiber.repeats && fiber.whole;
        positions && inside && !minds && !point.body.has_loops() && point.body.accesses().into_iter().all(read)
    }
}

/// The lists that a loop over `v` sees in blocks: then it visits their blocks, otherwise its whole extent. `located`: the loop is over a
/// level of the result that is visited as a whole.
pub fn seen_in_blocks(
    cx: &Facts,
    scope: &Scope,
    body: &Expr,
    v: Index,
    effect: Effect,
    located: bool,
) -> Vec<AccessId> {
    let blocks = super::fingers::in_blocks(cx, scope, body, v);
    if blocks.is_empty() || located {
        return vec![];
    }
    let comes_to_all = |lists: &[AccessId]| {
        let (sequence, rest) = background(body, lists, &|a| cx.fill(a), cx.simplify);
        sequence == Sequence::Full || !cx.is_nothing(effect, &rest)
    };
    let lists = access::walked(cx, scope, body, v);
    let together: Vec<AccessId> = lists.iter().chain(&blocks).copied().collect();
    if !comes_to_all(&lists) || comes_to_all(&together) { vec![] } else { blocks }
}

/// The body of a point where none of its followers has an entry.
pub fn without_followers(cx: &Facts, point: &Point) -> Expr {
    cx.simplify.replace(&point.body, &|a| point.followers.contains(&a).then(|| cx.fill(a)))
}

/// A point where an access has no entry.
pub fn without(cx: &Facts, point: &Point, absent: Option<AccessId>) -> Point {
    let body = cx.simplify.replace(&point.body, &|x| (Some(x) == absent).then(|| cx.fill(x)));
    Point { body, ..point.clone() }
}

/// Whether an access's next fiber has exactly one entry, at the position of the level above.
pub fn is_single(cx: &Facts, scope: &Scope, a: AccessId) -> bool {
    let fiber = scope.fiber(a);
    let single = cx.kind(a, fiber.depth).continues_chain();
    single && fiber.run.is_none() && !fiber.may_miss() && scope.block(a).is_none()
}

/// The way in which levels with pieces split a range.
pub fn stepped_by(cx: &Facts, piece: &Piece, stepped: &[AccessId], v: Index, effect: Effect) -> By {
    let affords = |parts| piece.scope.affords(cx, &piece.body, parts);
    let blocks = |a: &AccessId| leads_in_blocks(cx, *a, v, piece, effect);
    match stepped.iter().find(|a| piece.scope.fiber(**a).may_miss()) {
        Some(a) if affords(2) => By::Presence(*a),
        Some(_) => By::Search,
        None if stepped.iter().all(blocks) => By::Block,
        None => By::Piece(if affords(1 << SWITCHES) { SWITCHES } else { 0 }),
    }
}

/// Whether a level has blocks, all of them in the range, and the body has no effect outside of them.
fn leads_in_blocks(cx: &Facts, access: AccessId, v: Index, piece: &Piece, effect: Effect) -> bool {
    let depth = piece.scope.fiber(access).depth;
    cx.kind(access, depth).is_in_blocks()
        && along::is_whole(cx, v, piece, (access, depth))
        && leads(cx, access, &piece.body, effect)
}

/// Whether a body has no effect where an access has no entry.
pub fn leads(cx: &Facts, access: AccessId, body: &Expr, effect: Effect) -> bool {
    cx.is_nothing(effect, &cx.simplify.replace(body, &|x| (x == access).then(|| cx.fill(access))))
}

/// The lists of which one may be much longer than the other, for an innermost loop over `v` that folds into a scalar.
pub fn may_leap(cx: &Facts, scope: &Scope, v: Index, body: &Expr, effect: Effect) -> Vec<Leap> {
    let along = access::lists(cx, scope, body, v);
    let alike = |a: &AccessId| cx.kind(*a, scope.fiber(*a).depth).is_plain();
    let free = |a: &AccessId| cx.program.protocol(*a, scope.fiber(*a).depth).is_none() && alike(a);
    let (laid, walked): (Vec<_>, Vec<_>) = along.into_iter().partition(|a| scope.is_laid(*a));
    let pairs = match (&laid[..], &walked[..]) {
        ([stays], [moves]) => vec![Leap { far: *moves, near: *stays }],
        ([], [a, b]) if scope.order.is_empty() && meet(cx, body, &walked, effect) => {
            vec![Leap { far: *a, near: *b }, Leap { far: *b, near: *a }]
        }
        _ => vec![],
    };
    if !walked.iter().all(free) || !access::opened_by(cx, scope, body, v, |kind| kind.is_stepped()).is_empty() {
        return vec![];
    }
    pairs
}

/// Whether a body has an effect only where each of these lists has an entry.
fn meet(cx: &Facts, body: &Expr, lists: &[AccessId], effect: Effect) -> bool {
    let (set, rest) = background(body, lists, &|a| cx.fill(a), cx.simplify);
    let needed = set.needed().map_or(vec![], |(needed, _)| needed);
    lists.iter().all(|a| needed.contains(a)) && cx.is_nothing(effect, &rest)
}
