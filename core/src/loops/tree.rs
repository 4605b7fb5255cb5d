//! The plan of a kernel as a program: what its loops compute, and how, with names for values where loops have expressions.
//!
//! ```text
//!  for i in 0..n_I                            Every      every coordinate of a range
//!    t = 0.0                                  Var        a variable
//!    each j, q in A.1[i]                      Each       the entries of one fiber
//!      t = t + A[q] * x[j]                    Set
//!    store y[i] t                             Store
//! ```
//!
//! The planner makes it ([`super::planner`]), and lowering emits one operation after the other ([`super::lower`]) without decisions. An
//! operation says the symbols that it defines; operations behind it and inside of it use these.

use super::choose::cut::Counted;
use super::choose::scope::Run;
use super::choose::symbol::{Name, Sym};
use super::plan::{Assembly, Marks, Table};
use super::{Asked, Failure};
use crate::algebra::Type;
use crate::iteration::Sequence;
use crate::notation::concrete::{AccessId, Carried, Nest, Place};
use crate::notation::typed::Fun;
use crate::stream::Shift;

/// Operations in their order.
#[derive(Debug, Default)]
pub(super) struct Block(pub Vec<Op>);

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
    pub directory: Option<Directory>,
}

/// A list's bucket index, with the list's extent if a search may go further.
#[derive(Clone, Copy, Debug)]
pub(super) struct Directory {
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

/// An entry: its position, or the run of its positions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// The position, or the first of the run.
    pub position: Sym,
    /// The run.
    pub run: Option<Run>,
}

/// The walk of a list alone, at an entry.
#[derive(Debug)]
pub(super) struct Visit {
    /// The name of the variable with its coordinate.
    pub name: String,
    /// The coordinate.
    pub at: Sym,
    /// The entry.
    pub entry: Entry,
    /// The operations there.
    pub body: Block,
}

/// A gap between entries, in which a value is the same everywhere.
#[derive(Debug)]
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

/// How a level is found at a coordinate.
#[derive(Debug)]
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

/// One operation of a plan.
#[derive(Debug)]
pub(super) enum Op {
    /// `let name: ty = of`
    Let { it: Sym, name: String, ty: Type, of: Sym },
    /// As `Let`, unless `of` is a variable or a constant already.
    Hold { it: Sym, name: String, of: Sym },
    /// A variable that is set again, with its first value.
    Var { it: Sym, name: String, ty: Type, of: Sym },
    /// A variable without a value yet.
    Fresh { it: Sym, name: String, ty: Type },
    /// `var = to`
    Set { var: Sym, to: Sym },
    /// The value of a function.
    Call { it: Sym, fun: Fun, args: Vec<Sym> },
    /// The kernel fails.
    Fail(Failure),
    /// A conditional.
    When { cond: Sym, then: Block, otherwise: Block },
    /// The loops inside are those of which a schedule asks something.
    Asked { what: Option<Asked>, body: Block },

    /// The end of a run of positions.
    RunEnd { it: Sym, run: Run },
    /// The interval of a level of an access below a parent, which is there where `present` holds.
    Interval { of: (AccessId, usize), parent: Sym, present: Option<Sym>, is: [Sym; 3] },
    /// A cursor in a list whose consecutive pieces loops visit.
    Finger { it: Name, of: AccessId, begin: Sym },
    /// A list is opened.
    Open { it: Name, list: List },
    /// The entry on which an open list rests.
    Rest { list: Name, is: Entry },
    /// An open list comes to a coordinate; far away, by exponential search.
    CatchUp { list: Name, at: Sym, gallops: bool },
    /// An open list comes near a coordinate.
    ComeNear { list: Name, at: Sym },
    /// The entry of an open list, and whether it is at a coordinate.
    Follow { list: Name, at: Sym, here: Sym, is: Entry },
    /// An open list moves on where a condition holds.
    NextIf { list: Name, cond: Sym },
    /// A level is opened at a coordinate.
    Seek { by: Found, at: Sym, is: There },
    /// A level is looked up in the position map of its list, at a coordinate that may be outside of it where `inside` does not hold.
    Ask { of: (AccessId, usize), at: Sym, inside: Option<Sym>, found: Sym, position: Sym },

    /// Every coordinate of a range.
    Every { name: String, lo: Sym, hi: Sym, at: Sym, body: Block },
    /// The entries of a fiber, or its only entry.
    Each { list: List, single: bool, visit: Visit },
    /// The entries of an open list.
    EachOpen { list: Name, visit: Visit },
    /// The entries of an open list, one after the other, with a cursor.
    Along { list: Name, at: Sym, body: Block },
    /// The entries of a short fiber, each tested; those of another by `otherwise`.
    Sift { list: List, stored: Visit, kept: Sym, otherwise: Block },
    /// The entries of a fiber without gaps, inserted into a workspace at once; those of another by `otherwise`.
    InBulk { list: List, into: Name, said: Name, visit: Visit, otherwise: Block },
    /// The coordinates that all of these lists have.
    Intersect { lists: Vec<Name>, at: Sym, body: Block },
    /// As `Intersect`, with a flag for each list that gallops.
    Leap { lists: Vec<(Name, bool)>, at: Sym, body: Block },
    /// The coordinates of the first of these lists, with the condition that all have them.
    Meet { lists: Vec<Name>, at: Sym, met: Sym, body: Block },
    /// As `Meet`, of two lists, several entries at once.
    MeetLanes { lists: [Name; 2], at: Sym, met: Sym, entries: [Entry; 2], body: Block },
    /// The coordinates that one of two lists has, up to the end of one: where both have it, the first, the second.
    Unite { lists: [Name; 2], at: Sym, arms: [Block; 3] },
    /// As `Unite`, without branches: where both have it, and where the flags say which.
    UniteFlat { lists: [Name; 2], at: Sym, flags: [Sym; 2], both: Block, some: Block },
    /// The coordinates that some of these lists have, while enough of them have entries.
    Wide { lists: Vec<(AccessId, Name)>, live: Sequence, at: Sym, present: Vec<Sym>, body: Block },
    /// The entries of an open list, and the gaps between them. With `counts`, a list all of which is in view has one gap of that length
    /// less its entries, behind them.
    Gaps { list: Name, counts: Option<Sym>, from: Sym, to: Sym, visit: Visit, gap: Gap },
    /// The coordinates that one of these lists has, and the gaps between them.
    Between { lists: Vec<Name>, from: Sym, to: Sym, at: Sym, present: Vec<Sym>, body: Block, gap: Gap },
    /// A coordinate beside a list: where it has an entry, and where it has none.
    Beside { list: Name, at: Sym, present: Block, absent: Block },

    /// The pieces of a level are opened at a coordinate.
    OpenPieces { it: Name, list: List, kind: Kind, extent: Sym },
    /// The number of pieces that are left.
    Left { pieces: Name, it: Sym },
    /// The parts of a range, each up to the next end of a piece: from `begin` to `stop`, which operations of the body define.
    Steps { from: Sym, to: Sym, begin: Sym, stop: Sym, body: Block },
    /// The blocks of levels, as long as each has one and no list at one of these cursors is at its end.
    Blocks { pieces: Vec<Name>, lists: Vec<(Name, Sym)>, body: Block },
    /// The end of the current piece.
    PieceEnd { pieces: Name, it: Sym },
    /// The position of the current piece.
    PieceNumber { pieces: Name, of: AccessId, it: Sym },
    /// The interval of the current block; `certain`: there is one.
    PieceBlock { pieces: Name, of: AccessId, certain: bool, is: [Sym; 3] },
    /// Whether the current packed piece has a position for each coordinate, its base, and its first position.
    PiecePacked { pieces: Name, of: AccessId, is: [Sym; 3] },
    /// The next piece, always or where a condition holds.
    Leave { pieces: Name, cond: Option<Sym> },

    /// Where the search for the edges of a cut's pieces begins.
    Hint { it: Name },
    /// The coordinates of the thing with number `at` that a cut counts; at the begin of a piece, or at its end.
    Edge { of: Counted, hints: Vec<Name>, at: Sym, count: Sym, extents: Vec<Sym>, begins: bool, is: Vec<Sym> },

    /// A list is scattered into its position map; with flags where `cond` holds at the entry's position.
    Lay { it: Name, list: List, flags: Option<Flags> },
    /// A list is removed from its position map.
    TakeUp { it: Name },

    /// The temporary of a nest is computed.
    Make(Box<Made>),
    /// The loops over a fiber of the result begin; at most `bound` entries are appended.
    OpenFiber { output: Name, slot: Name, bound: Sym },
    /// Room for `bound` more entries.
    MakeRoom { output: Name, slot: Name, bound: Sym },
    /// The loops over a fiber of the result end.
    CloseFiber { output: Name, slot: Name },
    /// A coordinate of the result's next level. `positions` are those of operands' entries there.
    Visit {
        output: Name,
        slot: Name,
        at: Sym,
        driven: Driven,
        below: Name,
        positions: Vec<(AccessId, Sym)>,
        body: Block,
    },
    /// A located level of the result at a coordinate.
    Locate { output: Name, slot: Name, at: Sym, below: Name },
    /// A value is stored, or folded into the one that is stored.
    Store { output: Name, slot: Name, fold: Option<Fun>, value: Sym },
    /// A value is stored behind the last one, and kept where a condition holds.
    StoreIf { output: Name, slot: Name, value: Sym, kept: Sym },
    /// Runs of the result up to a number of pieces' runs are announced.
    Expect { output: Name, slot: Name, first: Sym, most: Sym },
    /// A run is stored; without `lo` it begins where the last one ends.
    PutRun { output: Name, slot: Name, lo: Option<Sym>, hi: Sym, value: Sym },
    /// A value is folded into an element of a vector beside the result.
    FoldIn { of: Place, at: Sym, fun: Fun, value: Sym },
    /// An entry of a counted copy is counted, or placed.
    Tally { row: Sym, place: Option<(Sym, Sym)> },

    /// A nest's workspace is made: beside a list at whose entries alone values are put, or with a bound on the number of values and a form
    /// for short rows.
    Work(Box<Work>),
    /// A workspace is emptied.
    Clear { work: Name },
    /// A value is put into a workspace.
    Put { work: Name, at: Vec<Sym>, fold: Option<Fun>, value: Sym },
    /// What a workspace has so far is the old version.
    LayOld { work: Name },
    /// A workspace is drained into the result, along a list if values were put at its entries alone.
    Drain { work: Name, along: Option<List>, output: Name, slot: Name },
}

/// The flags beside a position map: set where a condition holds at an entry's position.
#[derive(Debug)]
pub(super) struct Flags {
    pub position: Sym,
    pub body: Block,
    pub cond: Sym,
}

/// A kernel's plan: its statements and blocks in their order.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub steps: Vec<Step>,
}

/// A statement, or a block of them.
#[derive(Debug)]
pub(super) enum Step {
    /// The result is an operand.
    Whole { target: Place, operand: Place },
    /// A statement with loops.
    Nest(Box<Statement>),
    /// Steps that run turn after turn, at whose end arrays move.
    Repeat { turns: Turns, steps: Vec<Step>, carried: Vec<Carried> },
}

/// The turns of a block.
#[derive(Debug)]
pub(super) enum Turns {
    /// So many.
    Count(Sym),
    /// As long as `go` holds, into which the condition is folded.
    While { go: Sym, condition: Block },
}

/// A statement.
#[derive(Debug)]
pub(super) struct Statement {
    pub nest: Nest,
    /// The tables for position maps.
    pub tables: Vec<Table>,
    /// The tables for the beginnings of windows.
    pub marks: Vec<Marks>,
    /// The lists with bucket indices, each with a bound on the number of slots.
    pub directories: Vec<(AccessId, List, Sym)>,
    pub assembly: Assembly,
    /// The result, and the slot above its levels.
    pub output: Name,
    pub root: Name,
    pub body: Body,
}

/// The loops of a statement.
#[derive(Debug)]
pub(super) enum Body {
    /// Operations that fill the result.
    Loops(Block),
    /// A transposition by counting: its two passes.
    Counted([Block; 2]),
    /// A vector's coordinates are split entry by entry, or by loops where there are too many rows.
    Split { split: Split, otherwise: Option<Block> },
}

/// A vector whose coordinates are split into rows and columns.
#[derive(Debug)]
pub(super) struct Split {
    pub of: AccessId,
    pub rows: Sym,
    pub columns: Sym,
}

/// A temporary that is computed inside of loops.
#[derive(Debug)]
pub(super) struct Made {
    pub nest: Nest,
    pub output: Name,
    pub root: Name,
    pub assembly: Assembly,
    pub body: Block,
}

/// The workspace of a nest.
#[derive(Debug)]
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
pub(super) enum Driven {
    /// The loop is at an entry of a list.
    Stored,
    /// The loop counts through the extent, without conditions.
    Counted,
    /// The loop counts, and the body is under a condition.
    Guarded,
}

impl Driven {
    /// This way of visiting a coordinate, under a condition.
    pub fn guarded(self) -> Driven {
        if self == Driven::Counted { Driven::Guarded } else { self }
    }
}
