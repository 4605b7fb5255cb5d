//! The plan of a program's loops: every decision of lowering, made before anything is emitted.
//!
//! ```text
//!  result y: own, values filled          the assembly of the result's arrays
//!    forall i                            a loop
//!      range                             a part of its extent, in which the body is one expression
//!        fiber A[i,j].0 Lookup           the looplet of each access there: level 0 of A[i,j]
//!        point 0 dense 𝓕                 the lattice: the coordinates at which a body runs, and its loop's shape
//!        walk 0 every                    the loop of a point
//!          seek A[i,j].0 locate          the way in which a level is opened at a coordinate
//!          forall j
//!            …
//! ```
//!
//! A plan is a tree of [`Step`]s. The planner's walk over the loops makes it, or follows a given one without decisions of its own: it takes
//! the steps in order (`planner/book.rs`). A plan whose steps do not fit the program is refused.
//!
//! [`Plan::show`] prints plans, [`Plan::read`] reads them, and [`Plan::check`] checks them: names are those of a concrete program.

mod check;
mod print;
mod read;

use crate::algebra::Value;
use crate::iteration::{self, Sequence, Shape};
use crate::looplet::Looplet;
use crate::notation::concrete::{AccessId, Expr, Index, Place};

/// A level of an access.
pub type Level = (AccessId, usize);

/// The decisions of lowering, statement by statement.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Plan {
    /// The steps; those of a statement are inside of its [`Statement`].
    pub steps: Vec<Node>,
}

/// A step with the steps inside of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The decision.
    pub step: Step,
    /// The decisions inside of it, in the order in which they are emitted.
    pub inside: Vec<Node>,
}

/// A step of a plan, of one kind.
pub trait Decision: Sized + Clone + PartialEq {
    /// The decision as a step of any kind.
    fn step(self) -> Step;
    /// The step as a decision of this kind, if it is one.
    fn of(step: &Step) -> Option<&Self>;
}

macro_rules! steps {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        /// A decision at one place.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Step {$(
            $(#[$doc])*
            $name($name),
        )*}
        $(impl Decision for $name {
            fn step(self) -> Step {
                Step::$name(self)
            }
            fn of(step: &Step) -> Option<&$name> {
                if let Step::$name(it) = step { Some(it) } else { None }
            }
        })*
    };
}

steps! {
    /** A statement. */ Statement;
    /** A table for a list that stays. */ Table;
    /** Marks of windows. */ Marks;
    /** A directory of a list. */ Directory;
    /** One of several walks over the same loops. */ Pass;
    /** A loop. */ Forall;
    /** A list that a loop sees in blocks. */ Blocks;
    /** A cursor. */ Finger;
    /** A list that is scattered into its table. */ Spread;
    /** Lists of which one may be much longer. */ Leap;
    /** What becomes of concatenations. */ Choices;
    /** Where a range ends. */ Cut;
    /** A range. */ Range;
    /** A fiber. */ Fiber;
    /** A point of a lattice. */ Point;
    /** A point's loop. */ Walk;
    /** Levels with pieces. */ Stepped;
    /** The place where some accesses have entries. */ Arm;
    /** How a level is opened. */ Seek;
}

/// A statement, with the assembly of its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The result.
    pub target: Place,
    /// The assembly of its arrays.
    pub assembly: Assembly,
}

/// The assembly of a result's arrays.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Assembly {
    /// The owner of the arrays.
    pub arrays: Arrays,
    /// Whether values are filled beforehand, because loops may leave some unstored.
    pub filled: bool,
    /// Lists for which loops may skip a parent: a last pass carries their positions forward.
    pub carried: Vec<usize>,
    /// A bound on the number of entries, if there is one: room for all is allocated at once. Otherwise each loop makes room for its own.
    pub room: Option<Room>,
}

/// The origin of a result's arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Arrays {
    /// The result's own arrays.
    #[default]
    Own,
    /// The result's own arrays: entries are counted in one walk, and stored in another.
    Counted,
    /// An operand's arrays: the result equals it.
    Operand(Place),
    /// The arrays of an earlier version that nothing reads any more.
    Taken(Place),
    /// The levels are those of an access, all of whose entries the loops visit; a value is stored for each.
    Levels(AccessId),
    /// The values and coordinates are those of an access's entries, in another format.
    Entries(AccessId),
}

/// A bound on a result's entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// The lists whose entries bound those of the result.
    pub leaders: Vec<Level>,
    /// Whether one more entry may be written behind the last one, as a speculative store.
    pub spare: bool,
}

/// The table for the position map of a list that stays while other lists move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// The list.
    pub list: Level,
    /// Whether the table holds values instead of positions.
    pub by_value: bool,
    /// Whether coordinates with an entry have flags as well.
    pub flagged: bool,
}

/// The beginnings of a list's windows: a position for each iteration of a loop, or a single one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// The list.
    pub list: Level,
    /// The loop with a position for each of its iterations; `None` for a single position.
    pub by: Option<Index>,
}

/// A bucket index of an access's first list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directory(pub AccessId);

/// One of several walks over the same loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The condition of a block.
    Condition,
    /// Counts the entries of each row.
    Counting,
    /// Bounds the number of values of a row.
    Bounding,
    /// The walk for a row of few values.
    Short,
    /// The walk if one list is much longer: it is galloped through.
    Leaping,
    /// The walk for a short fiber, each entry of which is tested.
    Sifting,
    /// The walk for a fiber without gaps.
    Gapless,
}

/// A loop over an index variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forall(pub Index);

/// A list whose blocks the loop visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks(pub AccessId);

/// A cursor in a list whose consecutive pieces the loops visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finger {
    /// The list.
    pub list: Level,
    /// The loops that move it.
    pub through: Vec<Index>,
}

/// A list that is scattered into its position map before the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread(pub Level);

/// A pair of lists: if the first is much longer, the loop gallops through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leap {
    /// The list that may be longer.
    pub far: AccessId,
    /// The list whose entries are visited.
    pub near: AccessId,
}

/// The treatment of concatenations along a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choices {
    /// The ends of a concatenation's parts split the loop's range.
    Split,
    /// Parts are guarded.
    Asked,
    /// Parts are guarded in the ranges before and behind one range in which all windows hold.
    Around,
    /// Parts are guarded at each coordinate of the loop.
    Everywhere,
}

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

/// A range of a loop, in which the body is one expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range;

/// The looplet of an access's level along a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fiber {
    /// The level.
    pub level: Level,
    /// The level's looplet.
    pub looplet: Looplet,
}

/// A point of a range's lattice, without its body: that is the range's body with the exhausted lists at their fill values.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The coordinates at which it runs.
    pub sequence: Sequence,
    /// As in [`crate::iteration::Point`].
    pub leaders: Vec<AccessId>,
    /// As in [`crate::iteration::Point`].
    pub followers: Vec<AccessId>,
    /// As in [`crate::iteration::Point`].
    pub beside: Sequence,
    /// The shape of the point's loop.
    pub shape: Shape,
    /// (exhausted list, remaining point).
    pub edges: Vec<(AccessId, usize)>,
}

/// The loop of a point, and the way in which it is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// The number of the point.
    pub point: usize,
    /// The way in which it is walked.
    pub how: How,
}

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
    Sift,
    /// A list's entries; a fiber without gaps is inserted at once.
    Gapless,
    /// A list's entries; each value is stored speculatively, and kept if the followers have an entry.
    Decided,
    /// A list's entries beside blocks of a follower.
    Lanes,
    /// The intersection of lists; each value is stored speculatively, and kept at common coordinates.
    Tentative,
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

/// Levels that list the ends of their pieces, and the way in which they split a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stepped {
    /// The accesses.
    pub accesses: Vec<AccessId>,
    /// How the range is split.
    pub by: By,
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

/// The arm of a walk in which exactly these accesses have entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm(pub Vec<AccessId>);

/// The way in which an access's level is opened at a coordinate that is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seek {
    /// The level.
    pub level: Level,
    /// How the level is opened.
    pub by: Sought,
}

/// A way to open a level at a coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sought {
    /// By computing the position.
    Locate,
    /// By computing the position, and loading its flag.
    Flag,
    /// By the level's interval, or its pieces.
    Piece,
    /// In the list's position map.
    Table,
    /// In the level's own hash table.
    Hash,
    /// By a search that begins where the bucket index says.
    Directory,
    /// By a search in the list.
    Search,
}

impl From<iteration::Point> for Point {
    fn from(point: iteration::Point) -> Point {
        let iteration::Point { sequence, leaders, followers, beside, shape, edges, .. } = point;
        Point { sequence, leaders, followers, beside, shape, edges }
    }
}

impl From<Point> for iteration::Point {
    /// The point, with no body yet.
    fn from(Point { sequence, leaders, followers, beside, shape, edges }: Point) -> iteration::Point {
        let body = Expr::Literal(Value::bool(false));
        iteration::Point { body, sequence, leaders, followers, beside, shape, edges }
    }
}

impl By {
    /// Whether a range may be split in this way in place of `other`: the two differ in code or in speed, not in results.
    pub fn fits(self, other: &By) -> bool {
        use By::{Block, Piece, Presence, Search};
        match (self, *other) {
            (Presence(a), Presence(b)) => a == b,
            (Search | Presence(_), Search | Presence(_)) | (Block | Piece(_), Block) => true,
            (Piece(_), Piece(_)) => true,
            _ => false,
        }
    }
}

impl Sought {
    /// All ways, in order of cost.
    pub const ALL: [Sought; 7] =
        [Sought::Flag, Sought::Locate, Sought::Piece, Sought::Table, Sought::Hash, Sought::Directory, Sought::Search];
}

/// A range of a loop in a plan.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The index variables of the loops around it, outermost first, then its own.
    pub vars: Vec<Index>,
    /// The looplets of accesses along it.
    pub fibers: Vec<Fiber>,
    /// The points of its lattice.
    pub points: Vec<Point>,
}

impl Plan {
    /// The ranges of all loops, each once: those of several walks over the same loops once, and none between the ends of pieces.
    pub fn loops(&self) -> Vec<Loop> {
        fn visit(node: &Node, vars: &[Index], all: &mut Vec<Loop>) {
            let vars = match node.step {
                Step::Pass(Pass::Condition) => vars.to_vec(),
                Step::Pass(_) | Step::Stepped(_) => return,
                Step::Forall(Forall(v)) => [vars, &[v]].concat(),
                _ => vars.to_vec(),
            };
            if let Step::Range(_) = node.step {
                let steps = || node.inside.iter().map(|node| &node.step);
                let fibers = steps().filter_map(Fiber::of).copied().collect();
                let points = steps().filter_map(Point::of).cloned().collect();
                all.push(Loop { vars: vars.clone(), fibers, points });
            }
            node.inside.iter().for_each(|node| visit(node, &vars, all));
        }
        let mut all = vec![];
        self.steps.iter().for_each(|node| visit(node, &[], &mut all));
        all
    }
}

impl Node {
    /// A step without further steps inside.
    pub fn leaf(step: Step) -> Node {
        Node { step, inside: vec![] }
    }
}
