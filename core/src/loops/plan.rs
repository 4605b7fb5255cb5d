//! The plan of a program's loops: everything that lowering decides of them, before anything is emitted.
//!
//! ```text
//!  result y: own, values filled          how the result's arrays are made
//!    forall i                            a loop
//!      range                             a part of its extent, in which the body is one expression
//!        fiber A[i,j].0 Lookup           what each access looks like there: level 0 of A[i,j]
//!        point 0 dense 𝓕                 the lattice: where a body runs, and the shape of its loop
//!        walk 0 every                    the loop of a point
//!          seek A[i,j].0 locate          how a level is opened at a coordinate
//!          forall j
//!            …
//! ```
//!
//! A plan is a tree of [`Step`]s, made by one walk over the loops ([`lower::plan`]), and followed by the next
//! ([`lower::emit`]), which decides nothing: it asks for each step in turn. A plan whose steps are not those of the program is refused.
//!
//! Printed by [`Plan::show`], read by [`Plan::read`], checked by [`Plan::check`]: names are those of a concrete program.
//!
//! [`lower::plan`]: crate::loops::lower::plan
//! [`lower::emit`]: crate::loops::lower::emit

mod check;
mod print;
mod read;

use crate::algebra::Value;
use crate::iteration::{self, Sequence, Shape};
use crate::looplet::Looplet;
use crate::notation::concrete::{AccessId, Expr, Index, Place};

/// A level of an access.
pub type Level = (AccessId, usize);

/// What is decided, statement by statement.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Plan {
    /// The steps, those of a statement inside of its [`Statement`].
    pub steps: Vec<Node>,
}

/// A step and those that follow from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What is decided.
    pub step: Step,
    /// What is decided inside of it, in the order in which it is emitted.
    pub inside: Vec<Node>,
}

/// A step of a plan, of one kind.
pub trait Decision: Sized + Clone + PartialEq {
    /// It, as any step.
    fn step(self) -> Step;
    /// The step, if it is one of this kind.
    fn of(step: &Step) -> Option<&Self>;
}

macro_rules! steps {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        /// What is decided at one place.
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

/// A statement, with how its result's arrays are made.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The result.
    pub target: Place,
    /// Its arrays.
    pub assembly: Assembly,
}

/// How a result's arrays are made.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Assembly {
    /// Whose they are.
    pub arrays: Arrays,
    /// Whether values are filled beforehand, since loops may leave some unstored.
    pub filled: bool,
    /// Lists of which loops may pass over a parent, so that a last pass carries positions forward.
    pub carried: Vec<usize>,
    /// What bounds the number of entries, if anything does: room for all is allocated at once. Else each loop makes its own.
    pub room: Option<Room>,
}

/// Whose arrays a result has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Arrays {
    /// Its own.
    #[default]
    Own,
    /// Its own: entries are counted in one walk, and placed in another.
    Counted,
    /// An operand's: the result is that as it stands.
    Operand(Place),
    /// Those of an earlier version, which nothing reads any more.
    Taken(Place),
    /// The levels are an access's, all of whose entries the loops visit; values are made for each.
    Levels(AccessId),
    /// Values and coordinates are those of an access's entries, in another format.
    Entries(AccessId),
}

/// A bound on a result's entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// The lists whose entries lead to all of them.
    pub leaders: Vec<Level>,
    /// Whether one more may be written behind the last one, and not kept.
    pub spare: bool,
}

/// A table into which a list is scattered that stays while others move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// The list.
    pub list: Level,
    /// Whether it holds values, and not positions.
    pub by_value: bool,
    /// Whether coordinates with an entry have flags, too.
    pub flagged: bool,
}

/// Where the windows of a list began: a position for each turn of a loop, or a single one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// The list.
    pub list: Level,
    /// The loop.
    pub by: Option<Index>,
}

/// A directory of an access's first list.
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
    /// Of a row of few values.
    Short,
    /// One list is much longer, and is galloped through.
    Leaping,
    /// Of a short fiber, each entry of which is tested.
    Sifting,
    /// Of a fiber without gaps.
    Gapless,
}

/// A loop over an index variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forall(pub Index);

/// A list of which the loop visits blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks(pub AccessId);

/// A cursor in a list of which loops see one piece after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finger {
    /// The list.
    pub list: Level,
    /// The loops that move it.
    pub through: Vec<Index>,
}

/// A list that is scattered into its table before the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread(pub Level);

/// Two lists: if the first is much longer, the loop gallops through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leap {
    /// The one that may be longer.
    pub far: AccessId,
    /// The one whose entries are visited.
    pub near: AccessId,
}

/// What becomes of concatenations along a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choices {
    /// They end ranges.
    Split,
    /// They are asked.
    Asked,
    /// They are asked around a range in which all windows hold.
    Around,
    /// They are asked at each coordinate.
    Everywhere,
}

/// What ends ranges of a loop.
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
    /// Nothing: intervals are tested.
    Tested,
    /// Nothing.
    Whole,
}

/// A range of a loop, in which the body is one expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range;

/// What an access's level looks like along a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fiber {
    /// The level.
    pub level: Level,
    /// What it is.
    pub looplet: Looplet,
}

/// A point of a range's lattice, without its body: that is the range's with the exhausted lists gone.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Where it runs.
    pub sequence: Sequence,
    /// As in [`crate::iteration::Point`].
    pub leaders: Vec<AccessId>,
    /// As in [`crate::iteration::Point`].
    pub followers: Vec<AccessId>,
    /// As in [`crate::iteration::Point`].
    pub beside: Sequence,
    /// The shape of its loop.
    pub shape: Shape,
    /// (exhausted list, point that is left)
    pub edges: Vec<(AccessId, usize)>,
}

/// The loop of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Which point.
    pub point: usize,
    /// How it is walked.
    pub how: How,
}

/// How a point is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Not at all.
    Nothing,
    /// Every coordinate.
    Every,
    /// All coordinates at once: they have one value.
    Constant,
    /// Every coordinate, in the gaps between a list's entries and at them.
    Gaps,
    /// The same; a gap is folded in at once.
    CountedGaps,
    /// The same of several lists.
    Between,
    /// A list's entries.
    Each,
    /// The same; where few are in view, each entry is tested.
    Sift,
    /// The same; a fiber without gaps is inserted at once.
    Gapless,
    /// A list's entries; each value is written, and kept if followers decide so.
    Decided,
    /// A list's entries beside blocks of a follower.
    Lanes,
    /// Where lists meet; each value is written, and kept where they do.
    Tentative,
    /// Where lists meet, some of them galloping.
    Leap,
    /// Where lists meet; a value is computed at every step.
    Flat,
    /// Where lists meet.
    Meet,
    /// Where one of two lists is, by a decision tree.
    Tree,
    /// The same, without branches.
    FlatTree,
    /// Where lists are, the exhausted ones at infinity.
    Wide,
}

/// Levels that list where their pieces end, and how a range is split by them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stepped {
    /// The accesses.
    pub accesses: Vec<AccessId>,
    /// How the range is split.
    pub by: By,
}

/// How a range is split by levels with pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// It is not: pieces are searched at each coordinate.
    Search,
    /// Once where this access has a fiber, once where it has none.
    Presence(AccessId),
    /// Only the blocks are visited.
    Block,
    /// At each end of a piece; so many packed levels have code for either kind of piece.
    Piece(usize),
}

/// The place where these accesses have entries, of those of the walk around.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm(pub Vec<AccessId>);

/// How an access's level is opened at a coordinate that is bound.
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
    /// By arithmetic.
    Locate,
    /// By arithmetic, and its flag is loaded.
    Flag,
    /// By its interval, or its pieces.
    Piece,
    /// In the table into which the list is scattered.
    Table,
    /// In the level's own table.
    Hash,
    /// By a search from where its directory says.
    Directory,
    /// By a search.
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
    /// Whether a range may be split so in the place of `other`: the two differ in lines or in speed, not in answers.
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
    /// All ways, those that cost least first.
    pub const ALL: [Sought; 7] =
        [Sought::Flag, Sought::Locate, Sought::Piece, Sought::Table, Sought::Hash, Sought::Directory, Sought::Search];
}

/// A range of a loop, as a plan has it.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The index variables of the loops around it, outermost first, then its own.
    pub vars: Vec<Index>,
    /// What accesses look like along it.
    pub fibers: Vec<Fiber>,
    /// Its points.
    pub points: Vec<Point>,
}

impl Plan {
    /// The ranges of all loops, each once: of several walks over the same loops one, and none of those between the ends of pieces.
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
    /// A step with nothing inside.
    pub fn leaf(step: Step) -> Node {
        Node { step, inside: vec![] }
    }
}
