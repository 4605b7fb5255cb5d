//! The plan of a kernel: a program that says what its loops compute, and how, with names for values where loops have expressions.
//!
//! ```text
//!  result y _0 _1: own
//!    every i in 0 .. n_I {                                            every coordinate of a range
//!      visit _0 _1 at i counted below _2 {                            a coordinate of the result's level
//!        var t: f64 = 0.0
//!        each A@0.1[A1_pos[i] .. A1_pos[i + 1]] at j position p {     the entries of one fiber
//!          set t = t + A_vals[p] * x_vals[j]
//!        }
//!        store _0 _2 = t
//!      }
//!    }
//! ```
//!
//! The planner makes it (`loops::planner`), and lowering emits one operation after the other (`loops::lower`) without decisions. An
//! operation defines symbols and names; operations inside of it and behind it use these.
//!
//! [`Plan::show`] prints plans, and the checker (`check.rs`) checks them: symbols and names are defined once, before they are used, and levels are
//! walked and opened in ways that they allow; the arrays of results are made as the operations that fill them need it (`analysis`).

pub(super) mod analysis;
mod check;
mod parts;
mod print;
mod read;
mod rules;

use super::choose::cut::Counted;
use super::choose::scope::Run;
use super::choose::symbol::{Name, Sym, Symbols};
use super::{Failure, Hints};
use crate::stream::Shift;
use fiberloom_core::algebra::Value;
use fiberloom_core::format::LevelKind;
use fiberloom_core::iteration::{self, Sequence, Shape};
use fiberloom_core::looplet::Looplet;
use fiberloom_core::notation::concrete::{AccessId, Carried, Expr, Index, Nest, Place};
use fiberloom_core::notation::typed::Fun;
use fiberloom_core::text::{Read, Reading};
use parts::Visitor;
use read::Reader;
pub use read::Refused;

/// A level of an access.
pub type Level = (AccessId, usize);

/// A kernel's plan.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The meanings of the symbols in it.
    pub(super) symbols: Symbols,
    /// Statements and blocks, in their order.
    pub(super) steps: Vec<Step>,
    /// The symbols of extents, which are known before the first step.
    pub(super) extents: Vec<Sym>,
}

impl Plan {
    /// The plan of these steps.
    pub(super) fn new(steps: Vec<Step>) -> Plan {
        Plan { steps, ..Plan::default() }
    }

    /// The ranges of all loops that the planner has planned, each once: those of several walks over the same loops once, and none between
    /// the ends of pieces.
    pub fn loops(&self) -> Vec<&Loop> {
        let mut all = vec![];
        self.steps.iter().for_each(|step| step.loops(&mut all));
        all
    }
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
    /// As in [`fiberloom_core::iteration::Point`].
    pub leaders: Vec<AccessId>,
    /// As in [`fiberloom_core::iteration::Point`].
    pub followers: Vec<AccessId>,
    /// As in [`fiberloom_core::iteration::Point`].
    pub beside: Sequence,
    /// The shape of the point's loop.
    pub shape: Shape,
    /// (exhausted list, remaining point).
    pub edges: Vec<(AccessId, usize)>,
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

/// Operations in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Block(pub Vec<Op>);

impl Block {
    /// Whether it does nothing.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|op| matches!(op, Op::Range { body, .. } if body.is_empty()))
    }

    /// Adds the ranges in it that are shown.
    fn loops<'b>(&'b self, all: &mut Vec<&'b Loop>) {
        for op in &self.0 {
            if let Op::Range { of: Shown(Some(of)), .. } = op {
                all.push(of);
            }
            op.blocks().into_iter().for_each(|(_, block)| block.loops(all));
        }
    }
}

/// A range as it is shown; `None` if the same loops are planned elsewhere, or if the plan was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown(pub Option<Box<Loop>>);

/// A fiber of a list, or of the ends of pieces, in a view.
#[derive(Clone, Debug)]
pub(super) struct List {
    /// The access and its level.
    pub of: (AccessId, usize),
    /// The first position.
    pub begin: Sym,
    /// One past the last position.
    pub end: Sym,
    /// Whether consecutive positions may have the same coordinate.
    pub repeats: bool,
    /// The entries in view.
    pub view: View,
    /// The run of an entry of the level above, if the fiber is that run; it may end before `end`.
    pub run: Option<Run>,
    /// The bucket index, if there is one.
    pub bucket_index: Option<BucketIndex>,
}

/// A list's bucket index, with the list's extent if a search may go further.
#[derive(Clone, Copy, Debug)]
pub(super) struct BucketIndex {
    /// The list's extent.
    pub extent: Option<Sym>,
}

/// A view of a fiber, as [`crate::stream::View`] is in loops.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// The distance between stored coordinates and those in view.
    pub shift: Option<Shift<Sym>>,
    /// The stride.
    pub stride: Option<Sym>,
    /// The length of blocks.
    pub blocks: Option<Sym>,
    /// The level's extent, if the last block goes further.
    pub extent: Option<Sym>,
    /// The first stored coordinate in view.
    pub start: Option<Sym>,
    /// One past the last stored coordinate in view.
    pub stop: Option<Sym>,
    /// The cursor that stays where the last piece ended.
    pub finger: Option<Name>,
    /// The element of the table of windows.
    pub mark: Option<Sym>,
}

impl View {
    /// Whether it shows every entry of the fiber as an entry of its own.
    pub fn is_whole(&self) -> bool {
        self.stride.is_none() && self.blocks.is_none() && self.start.is_none() && self.stop.is_none()
    }
}

impl List {
    /// Whether an entry may be a run of positions.
    pub fn is_of_runs(&self) -> bool {
        self.repeats || self.view.blocks.is_some()
    }

    /// Whether several entries can be compared with a coordinate at once.
    pub fn has_lanes(&self) -> bool {
        !self.is_of_runs() && self.view.stride.is_none() && self.view.finger.is_none()
    }

    /// Whether a counted loop over the positions visits each entry once.
    pub fn is_counted(&self) -> bool {
        !self.repeats && self.view.is_whole()
    }
}

/// An open list that comes to the coordinates of others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaping {
    /// The list.
    pub list: Name,
    /// Whether it comes by exponential search.
    pub gallops: bool,
}

/// An entry: its position, or the run of its positions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// The position, or the first of the run.
    pub position: Sym,
    /// The run.
    pub run: Option<Run>,
}

/// The walk of a list alone, at an entry.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    /// The coordinate.
    pub at: Sym,
    /// The entry.
    pub entry: Entry,
    /// The operations there.
    pub body: Block,
}

/// A gap between entries, in which a value is the same everywhere.
#[derive(Clone, Debug)]
pub(super) struct Gap {
    /// The first coordinate.
    pub begin: Sym,
    /// One past the last coordinate.
    pub end: Sym,
    /// The operations for it.
    pub body: Block,
}

/// How pieces of a level are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A position for each piece.
    Runs,
    /// Fill, then a position for each coordinate.
    Blocks,
    /// A position for a piece, or one for each coordinate.
    Packed,
}

impl Kind {
    /// How a level's pieces are stored, if it has any.
    pub fn of(level: LevelKind) -> Option<Kind> {
        let Looplet::Stepper(piece) = level.looplet() else { return None };
        match piece {
            Looplet::Run(_) => Some(Kind::Runs),
            Looplet::Sequence(_) => Some(Kind::Blocks),
            Looplet::Switch(_) => Some(Kind::Packed),
            _ => None,
        }
    }
}

/// How a level is found at a coordinate.
#[derive(Clone, Debug)]
pub(super) enum Found {
    /// In the level's own hash table, below a parent.
    Hash { list: List, parent: Sym },
    /// By a search in the list.
    Search { list: List },
    /// In the pieces of a level.
    Pieces { list: List, kind: Kind, extent: Sym },
}

/// The entry that is found, and the condition that it is there.
#[derive(Clone, Copy, Debug)]
pub(super) struct There {
    /// The condition; `None` if an entry is always there.
    pub found: Option<Sym>,
    /// The entry.
    pub entry: Entry,
}

/// The table of operations: the word with which an operation's line begins, its name, and its parts in the order in which they are shown.
/// `new` parts are defined by the operation; what stands in quotes is a word between parts.
macro_rules! operations {
    ($($(#[$doc:meta])* $word:literal $name:ident {
        $($(@$before:literal)? $field:ident: $ty:ty $(= $role:ident)?),* $(,)?
    })*) => {
        /// One operation of a plan.
        #[derive(Clone, Debug)]
        pub(super) enum Op {$(
            $(#[$doc])*
            $name { $($field: $ty),* },
        )*}

        impl Op {
            /// Shows a visitor the operation: its word, then its parts.
            fn show(&self, v: &mut dyn Visitor) {
                match self {$(
                    Op::$name { $($field),* } => {
                        v.word($word);
                        $(operations!(@part v $field ($($before)?) $($role)?);)*
                    }
                )*}
            }

            /// Whether it has blocks for which alone it defines what it defines.
            fn is_scope(&self) -> bool {
                match self {$(
                    Op::$name { .. } => false $(|| operations!(@scope $ty $(= $role)?))*,
                )*}
            }

            /// The operation's blocks, each with the coordinate that a loop has in it.
            fn blocks(&self) -> Vec<(Option<Sym>, &Block)> {
                let (at, mut all) = (self.coordinate(), vec![]);
                match self {$(
                    Op::$name { $($field),* } => { $(operations!(@blocks $field at all $($role)?);)* }
                )*}
                all
            }

            /// Reads an operation.
            fn read(r: &mut Reader) -> Read<Op> {
                match r.word()? {
                    $($word => {
                        $(let $field = operations!(@read r ($($before)?) $($role)?)?;)*
                        Ok(Op::$name { $($field),* })
                    })*
                    other => Err(format!("there is no operation `{other}`")),
                }
            }
        }
    };
    (@blocks $field:ident $at:ident $all:ident new) => { let _ = $field; };
    (@blocks $field:ident $at:ident $all:ident) => { parts::Part::blocks($field, $at, &mut $all) };
    (@scope $ty:ty = new) => { false };
    (@scope $ty:ty) => { <$ty as parts::Part>::SCOPE };
    (@read $r:ident ($($before:literal)?)) => { parts::read_behind(&[$($before)?], $r) };
    (@read $r:ident ($($before:literal)?) new) => {
        parts::new_behind(&[$($before)?], $r)
    };
    (@part $v:ident $field:ident ($($before:literal)?)) => { parts::behind(&[$($before)?], $field, $v) };
    (@part $v:ident $field:ident ($($before:literal)?) new) => {
        $($v.word($before);)?
        parts::New::show_new($field, $v)
    };
}

operations! {
    /** `let it = of` */
    "let" Let { it: Sym = new, @"=" of: Sym }
    /** As `Let`, unless `of` is a variable or a constant already. */
    "hold" Hold { it: Sym = new, @"=" of: Sym }
    /** A variable that is set again, with its first value. */
    "var" Var { it: Sym = new, @"=" of: Sym }
    /** A variable without a value yet. */
    "fresh" Fresh { it: Sym = new }
    /** `var = to` */
    "set" Set { var: Sym, @"=" to: Sym }
    /** The value of a function. */
    "call" Call { it: Sym = new, @"=" fun: Fun, args: Vec<Sym> }
    /** The kernel fails. */
    "fail" Fail { why: Failure }
    /** A conditional. */
    "if" When { cond: Sym, then: Block, @"else" otherwise: Block }
    /** A range of a loop, of which a schedule may ask something. */
    "range" Range { hints: Option<Hints>, of: Shown, body: Block }

    /** The end of a run of positions. */
    "run_end" RunEnd { it: Sym = new, @"of" run: Run }
    /** The interval of a level of an access below a parent, which is there where `present` holds. */
    "interval" Interval { is: [Sym; 3] = new, @"of" of: Level, @"below" parent: Sym, @"where" present: Option<Sym> }
    /** A cursor in a list whose consecutive pieces loops visit. */
    "finger" Finger { it: Name = new, @"in" of: AccessId, @"at" begin: Sym }
    /** A list is opened. */
    "open" Open { it: Name = new, @"of" list: List }
    /** The entry on which an open list rests. */
    "rest" Rest { is: Entry = new, @"of" list: Name }
    /** An open list comes to a coordinate; far away, by exponential search. */
    "catch_up" CatchUp { list: Name, @"to" at: Sym, @"galloping" gallops: bool }
    /** An open list comes near a coordinate. */
    "come_near" ComeNear { list: Name, @"to" at: Sym }
    /** The entry of an open list, and whether it is at a coordinate. */
    "follow" Follow { here: Sym = new, is: Entry = new, @"of" list: Name, @"at" at: Sym }
    /** An open list moves on where a condition holds. */
    "advance" NextIf { list: Name, @"if" cond: Sym }
    /** A level is opened at a coordinate. */
    "seek" Seek { is: There = new, @"of" by: Found, @"at" at: Sym }
    /** A level is looked up in the position map of its list, at a coordinate that may be outside of it where `inside` does not hold. */
    "ask" Ask { found: Sym = new, position: Sym = new, @"of" of: Level, @"at" at: Sym, @"where" inside: Option<Sym> }

    /** Every coordinate of a range. */
    "every" Every { at: Sym = new, @"in" lo: Sym, @".." hi: Sym, body: Block }
    /** The entries of a fiber, or its only entry. */
    "each" Each { list: List, @"single" single: bool, visit: Visit }
    /** The entries of an open list. */
    "each_open" EachOpen { list: Name, visit: Visit }
    /** The entries of an open list, one after the other, with a cursor. */
    "along" Along { at: Sym = new, @"of" list: Name, body: Block }
    /** The entries of a short fiber, each tested; those of another by `otherwise`. */
    "filter" Filter { list: List, kept: Sym = new, stored: Visit, @"else" otherwise: Block }
    /** The entries of a fiber without gaps, inserted into a workspace at once; those of another by `otherwise`. */
    "in_bulk" InBulk { list: List, @"into" into: Name, @"as" said: Name = new, visit: Visit, @"else" otherwise: Block }
    /** The coordinates that all of these lists have. */
    "meet" Intersect { at: Sym = new, @"in" lists: Vec<Name>, body: Block }
    /** As `Intersect`, of lists some of which gallop. */
    "leap" Leap { at: Sym = new, @"in" lists: Vec<Leaping>, body: Block }
    /** The coordinates of the first of these lists, with the condition that all have them. */
    "meet_flat" Meet { at: Sym = new, met: Sym = new, @"in" lists: Vec<Name>, body: Block }
    /** As `Meet`, of two lists, several entries at once. */
    "meet_lanes" MeetLanes {
        at: Sym = new, met: Sym = new, entries: [Entry; 2] = new, @"in" lists: [Name; 2], body: Block
    }
    /** The coordinates that one of two lists has, up to the end of one: where both have it, the first, the second. */
    "join" Unite { at: Sym = new, @"in" lists: [Name; 2], arms: [Block; 3] }
    /** As `Unite`, without branches: where both have it, and where the flags say which. */
    "join_flat" UniteFlat {
        at: Sym = new, flags: [Sym; 2] = new, @"in" lists: [Name; 2], both: Block, @"or" some: Block
    }
    /** The coordinates that some of these lists have, while enough of them have entries. */
    "join_wide" Wide {
        at: Sym = new, present: Vec<Sym> = new, @"in" lists: Vec<(AccessId, Name)>, @"while" live: Sequence, body: Block
    }
    /** The entries of an open list, and the gaps between them. With `counts`, a list all of which is in view has one gap of that length
        less its entries, behind them. */
    "gaps" Gaps {
        list: Name, @"in" from: Sym, @".." to: Sym, @"counted" counts: Option<Sym>, visit: Visit, @"gap" gap: Gap
    }
    /** The coordinates that one of these lists has, and the gaps between them. */
    "between" Between {
        at: Sym = new, present: Vec<Sym> = new, @"in" lists: Vec<Name>, @"from" from: Sym, @".." to: Sym,
        body: Block, @"gap" gap: Gap
    }
    /** A coordinate beside a list: where it has an entry, and where it has none. */
    "beside" Beside { list: Name, @"at" at: Sym, present: Block, @"else" absent: Block }

    /** The pieces of a level are opened at a coordinate. */
    "open_pieces" OpenPieces { it: Name = new, @"of" list: List, @"as" kind: Kind, @"up_to" extent: Sym }
    /** The number of pieces that are left. */
    "left" Left { it: Sym = new, @"of" pieces: Name }
    /** The parts of a range, each up to the next end of a piece: from `begin` to `stop`, which operations of the body define. */
    "steps" Steps { begin: Sym = new, @"in" from: Sym, @".." to: Sym, body: Block, @"next" stop: Sym }
    /** The blocks of levels, as long as each has one and no list at one of these cursors is at its end. */
    "blocks" Blocks { pieces: Vec<Name>, @"beside" lists: Vec<(Name, Sym)>, body: Block }
    /** The end of the current piece. */
    "piece_end" PieceEnd { it: Sym = new, @"of" pieces: Name }
    /** The position of the current piece. */
    "piece_number" PieceNumber { it: Sym = new, @"of" pieces: Name, @"in" of: AccessId }
    /** The interval of the current block; `certain`: there is one. */
    "piece_block" PieceBlock { is: [Sym; 3] = new, @"of" pieces: Name, @"in" of: AccessId, @"certain" certain: bool }
    /** Whether the current packed piece has a position for each coordinate, its base, and its first position. */
    "piece_packed" PiecePacked { is: [Sym; 3] = new, @"of" pieces: Name, @"in" of: AccessId }
    /** The next piece, always or where a condition holds. */
    "leave" Leave { pieces: Name, @"where" cond: Option<Sym> }

    /** Where the search for the edges of a cut's pieces begins. */
    "hint" Hint { it: Name = new }
    /** The coordinates of the thing with number `at` that a cut counts; at the begin of a piece, or at its end. */
    "edge" Edge {
        is: Vec<Sym> = new, @"of" of: Counted, @"hints" hints: Vec<Name>, @"at" at: Sym, @"among" count: Sym,
        @"extents" extents: Vec<Sym>, @"begins" begins: bool
    }

    /** A list is scattered into its position map, with flags beside it. */
    "scatter" Scatter { it: Name = new, @"of" list: List, flags: Option<Flags> }
    /** A list is removed from its position map. */
    "clear_map" ClearMap { it: Name }

    /** A temporary of a nest is computed. */
    "make" Make { made: Box<Made> }
    /** The loops over a fiber of the result begin; at most `bound` entries are appended. */
    "begin" OpenFiber { output: Name, insertion: Name, @"room" bound: Sym }
    /** Room for `bound` more entries. */
    "reserve" MakeRoom { output: Name, insertion: Name, @"for" bound: Sym }
    /** The loops over a fiber of the result end. */
    "end" CloseFiber { output: Name, insertion: Name }
    /** A coordinate of the result's next level. `positions` are those of operands' entries there. */
    "visit" Visit {
        output: Name, insertion: Name, @"at" at: Sym, driver: Driver, @"below" below: Name = new,
        @"entries" positions: Vec<(AccessId, Sym)>, body: Block
    }
    /** A located level of the result at a coordinate. */
    "locate" Locate { output: Name, insertion: Name, @"at" at: Sym, @"below" below: Name = new }
    /** A value is stored, or folded into the one that is stored. */
    "store" Store { output: Name, insertion: Name, @"by" fold: Option<Fun>, @"=" value: Sym }
    /** A value is stored behind the last one, and kept where a condition holds. */
    "store_if" StoreIf { output: Name, insertion: Name, @"=" value: Sym, @"if" kept: Sym }
    /** Runs of the result up to a number of pieces' runs are announced. */
    "expect" Expect { output: Name, insertion: Name, @"from" first: Sym, @"room" most: Sym }
    /** A run is stored; without `lo` it begins where the last one ends. */
    "store_run" PutRun { output: Name, insertion: Name, @"from" lo: Option<Sym>, @".." hi: Sym, @"=" value: Sym }
    /** A value is folded into an element of a vector beside the result. */
    "fold_in" FoldIn { of: Place, @"at" at: Sym, @"by" fun: Fun, @"=" value: Sym }
    /** An entry of a counted copy is counted, or placed at a coordinate with its value. */
    "tally" Tally { row: Sym, @"as" place: Option<(Sym, Sym)> }

    /** A nest's workspace is made: beside a list at whose entries alone values are put, or with a bound on the number of values and a
        form for short rows. */
    "workspace" Work { work: Box<Work> }
    /** A workspace is filled and drained: in its form for short rows where at most so many values are put, else as it is. */
    "by_length" ByLength { work: Name, @"short" few: Name, @"if" is_short: Sym, body: Block }
    /** A workspace is emptied. */
    "clear" Clear { work: Name }
    /** A value is put into a workspace. */
    "put" Put { work: Name, @"at" at: Vec<Sym>, @"by" fold: Option<Fun>, @"=" value: Sym }
    /** What a workspace has so far is the old version. */
    "mark_old" MarkOld { work: Name }
    /** A workspace is drained into the result, along a list if values were put at its entries alone. */
    "drain" Drain { work: Name, @"along" along: Option<List>, @"into" output: Name, insertion: Name }
}

impl Op {
    /// The coordinate of a loop in its blocks. The visit of an entry has its own.
    fn coordinate(&self) -> Option<Sym> {
        match self {
            Op::Every { at, .. }
            | Op::Along { at, .. }
            | Op::Intersect { at, .. }
            | Op::Leap { at, .. }
            | Op::Meet { at, .. }
            | Op::MeetLanes { at, .. }
            | Op::Unite { at, .. }
            | Op::UniteFlat { at, .. }
            | Op::Wide { at, .. }
            | Op::Between { at, .. } => Some(*at),
            _ => None,
        }
    }
}

/// The flags beside a position map: set where a condition holds at an entry's position.
#[derive(Clone, Debug)]
pub(super) struct Flags {
    pub position: Sym,
    pub body: Block,
    pub cond: Sym,
}

/// A statement, or a block of them.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// The result is an operand.
    Whole { target: Place, operand: Place },
    /// A statement with loops.
    Nest(Box<Statement>),
    /// Steps that run again and again; at the end of each iteration arrays move.
    Repeat { turns: Turns, steps: Vec<Step>, carried: Vec<Carried> },
}

impl Step {
    /// Adds the ranges in it that are shown.
    fn loops<'s>(&'s self, all: &mut Vec<&'s Loop>) {
        match self {
            Step::Whole { .. } => {}
            Step::Nest(of) => of.body.blocks().into_iter().for_each(|block| block.loops(all)),
            Step::Repeat { turns, steps, .. } => {
                if let Turns::While { condition, .. } = turns {
                    condition.loops(all);
                }
                steps.iter().for_each(|step| step.loops(all));
            }
        }
    }
}

/// The iterations of a block.
#[derive(Clone, Debug)]
pub(super) enum Turns {
    /// So many.
    Count(Sym),
    /// As long as `go` holds, into which the condition is folded.
    While { go: Sym, condition: Block },
}

/// A statement.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub nest: Nest,
    /// The tables for position maps.
    pub tables: Vec<Table>,
    /// The tables for the beginnings of windows.
    pub marks: Vec<Marks>,
    /// The lists with bucket indices, each with a bound on the number of slots.
    pub bucket_indices: Vec<(AccessId, List, Sym)>,
    pub assembly: Assembly,
    /// The result, and the insertion point above its levels.
    pub output: Name,
    pub root: Name,
    pub body: Body,
}

/// The loops of a statement.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// Operations that fill the result.
    Loops(Block),
    /// A transposition by counting: its two passes.
    Counted([Block; 2]),
    /// A vector's coordinates are split entry by entry, or by loops where there are too many rows.
    Split { split: Split, otherwise: Option<Block> },
}

impl Body {
    /// Its blocks.
    fn blocks(&self) -> Vec<&Block> {
        match self {
            Body::Loops(block) => vec![block],
            Body::Counted(passes) => passes.iter().collect(),
            Body::Split { otherwise, .. } => otherwise.iter().collect(),
        }
    }
}

/// A vector whose coordinates are split into rows and columns.
#[derive(Clone, Debug)]
pub(super) struct Split {
    pub of: AccessId,
    pub rows: Sym,
    pub columns: Sym,
}

/// A temporary that is computed inside of loops.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub nest: Nest,
    pub output: Name,
    pub root: Name,
    pub assembly: Assembly,
    pub body: Block,
}

/// The workspace of a nest.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub nest: Nest,
    pub it: Name,
    pub output: Name,
    pub within: Option<AccessId>,
    pub most: Option<Sym>,
    pub few: Option<Name>,
}

/// How a loop visits a coordinate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Driver {
    /// The loop is at an entry of a list.
    Stored,
    /// The loop counts through the extent, without conditions.
    Counted,
    /// The loop counts, and the body is under a condition.
    Guarded,
}

impl Driver {
    /// This way of visiting a coordinate, under a condition.
    pub fn guarded(self) -> Driver {
        if self == Driver::Counted { Driver::Guarded } else { self }
    }
}
