//! Loops that do not visit their whole extent: as far as a coordinate goes that they are a part of, or a piece of what is cut.
//!
//! ```text
//!  forall i0: forall i1 while 16*i0 + i1 < |I|:                  a split whose parts may not divide the extent
//!
//!  cut entries A over I, J                                       cut 0: pieces hold equal numbers of A's entries
//!  forall p0 pieces 0 of all/64:                                 ⌈entries / 64⌉ iterations, one at least
//!    forall i within 0 at 0 from p0 by 64 for 64:                from the coordinates of entry 64·p0 on, up to those of the 64th
//!      forall j within 0 at 1 from p0 by 64 for 64:              behind it
//! ```
//!
//! Pieces are consecutive: together they are all coordinates of the loops that are cut, in lexicographic order, whatever the cut
//! counts. The first begins with coordinate 0, the last ends with the extents.

use super::{Index, Place};
use crate::map::{ClassId, Map};

/// What cuts loops into pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// What is counted.
    pub counted: Counted,
    /// Whose entries: the first that is read with its levels over the first of the loops to be opened next; of a weight all of them.
    pub tensors: Vec<Place>,
    /// The extents of the loops, outermost first.
    pub extents: Vec<ClassId>,
}

/// What ends a loop before its extent.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// It goes on as long as a coordinate, of its variable and those of loops around it, is below its extent.
    Below {
        /// The coordinate.
        at: Map<Index>,
        /// Its extent.
        extent: ClassId,
    },
    /// It counts pieces of a cut.
    Pieces {
        /// The cut.
        cut: usize,
        /// The number of iterations that it takes.
        turns: Length,
    },
    /// It is cut.
    Within(Within),
}

/// What a loop visits of a cut.
#[derive(Clone, Debug, PartialEq)]
pub struct Within {
    /// The cut.
    pub cut: usize,
    /// Which of its loops this is.
    pub place: usize,
    /// Where the piece begins, counted from the cut's begin.
    pub from: Terms,
    /// What it counts.
    pub unit: Length,
    /// Where it ends at the latest.
    pub ends: Vec<(Terms, Length)>,
    /// Where one of these reaches its length there is no piece.
    pub beyond: Vec<(Terms, Length)>,
}

/// What a schedule asks of a loop, and says of its iterations. It changes no answer, and may be ignored; a claim that does not hold makes a
/// parallel loop wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// The number of iterations that are written out one after the other; 0 leaves it to the compiler.
    pub unroll: u32,
    /// Whether several iterations run at once, as lanes of vectors.
    pub lanes: bool,
    /// The units of a GPU to which the iterations are dealt out.
    pub deal: Option<Deal>,
    /// Whether iterations are to run in parallel.
    pub claim: Claim,
    /// Whether only the first and the last iteration touch places of the target that another iteration of the racing loop around touches:
    /// pieces of what is cut are consecutive.
    pub seamed: bool,
}

/// What a schedule says of iterations that are to run in parallel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// They need not.
    #[default]
    Nothing,
    /// No two of them touch one place of the target.
    Apart,
    /// Two of them may fold into one place of the target.
    Racing,
    /// The same, and blocks of a GPU, which run them, fold into copies of their own.
    Temporary,
}

impl Claim {
    /// Those that are said, each by a word.
    pub const ALL: [Claim; 3] = [Claim::Apart, Claim::Racing, Claim::Temporary];

    /// Whether two iterations may fold into one place of the target.
    pub fn races(self) -> bool {
        matches!(self, Claim::Racing | Claim::Temporary)
    }

    /// The word; none for what is not said.
    pub fn name(self) -> &'static str {
        match self {
            Claim::Nothing => "",
            Claim::Apart => "apart",
            Claim::Racing => "racing",
            Claim::Temporary => "temporary",
        }
    }
}

/// Units of a GPU, to which the iterations of a loop are dealt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deal {
    /// The blocks of a launch.
    Block,
    /// The warps of a block.
    Warp,
    /// The lanes of a warp.
    Lane,
}

impl Deal {
    /// All of them, the largest first.
    pub const ALL: [Deal; 3] = [Deal::Block, Deal::Warp, Deal::Lane];

    /// The word for it before `for`.
    pub fn name(self) -> &'static str {
        match self {
            Deal::Block => "block",
            Deal::Warp => "warp",
            Deal::Lane => "lane",
        }
    }
}

/// A sum of index variables of pieces, each with factors.
pub type Terms = Vec<(Index, Vec<Length>)>;

/// A number of what a cut counts.
#[derive(Clone, Debug, PartialEq)]
pub enum Length {
    /// All that there is.
    All,
    /// So many.
    Number(u64),
    /// So many parts of it hold it: rounded up.
    Over(Box<Length>, u64),
}

impl Limit {
    /// The index variables that it is made of.
    pub fn vars(&self) -> Vec<Index> {
        let of = |terms: &Terms| terms.iter().map(|(v, _)| *v).collect::<Vec<_>>();
        match self {
            Limit::Below { at, .. } => at.factors.keys().copied().collect(),
            Limit::Pieces { .. } => vec![],
            Limit::Within(within) => {
                let ends = within.ends.iter().chain(&within.beyond).flat_map(|(terms, _)| of(terms));
                of(&within.from).into_iter().chain(ends).collect()
            }
        }
    }

    /// The same of other index variables and another number of the cut.
    pub fn renamed(&self, var: &mut dyn FnMut(Index) -> Index, cut: &mut dyn FnMut(usize) -> usize) -> Limit {
        let mut terms = |all: &Terms| all.iter().map(|(v, by)| (var(*v), by.clone())).collect::<Terms>();
        match self {
            Limit::Below { at, extent } => {
                let names: Vec<(Index, Index)> = at.factors.keys().map(|v| (*v, var(*v))).collect();
                let own = |v: Index| Map::var(names.iter().find(|(old, _)| *old == v).map_or(v, |(_, new)| *new));
                Limit::Below { at: at.within(own), extent: *extent }
            }
            Limit::Pieces { cut: of, turns } => Limit::Pieces { cut: cut(*of), turns: turns.clone() },
            Limit::Within(within) => {
                let from = terms(&within.from);
                let mut all = |ends: &[(Terms, Length)]| {
                    ends.iter().map(|(end, length)| (terms(end), length.clone())).collect::<Vec<_>>()
                };
                let (ends, beyond) = (all(&within.ends), all(&within.beyond));
                Limit::Within(Within { cut: cut(within.cut), from, ends, beyond, ..within.clone() })
            }
        }
    }
}

impl std::fmt::Display for Length {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Length::All => f.write_str("all"),
            Length::Number(n) => write!(f, "{n}"),
            Length::Over(of, n) => write!(f, "{of}/{n}"),
        }
    }
}

/// What makes pieces equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Coordinates, in lexicographic order.
    Coordinates,
    /// Entries of a tensor: `pos`.
    Entries,
    /// Entries of tensors, in whole iterations of the loop: `weigh`.
    Weight,
}

impl Counted {
    /// All of them.
    pub const ALL: [Counted; 3] = [Counted::Coordinates, Counted::Entries, Counted::Weight];

    /// The word for it in prints.
    pub fn name(self) -> &'static str {
        match self {
            Counted::Coordinates => "coordinates",
            Counted::Entries => "entries",
            Counted::Weight => "weight",
        }
    }
}
