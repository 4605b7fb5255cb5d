//! Formats: lists of levels with an order of modes.

use super::LevelKind;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// One level per mode, outermost first; level `l` holds mode `order[l]`. A scalar has no levels. Cloning increments two counts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Format {
    /// The kinds of the levels.
    pub levels: Arc<[LevelKind]>,
    /// A permutation of the modes, as long as `levels`.
    pub order: Arc<[usize]>,
}

/// Names of formats; each fits certain ranks.
pub const NAMES: [&str; 8] = ["dense", "csr", "csc", "dcsr", "dcsc", "coo", "csf", "sparse"];

impl Format {
    /// The format of these levels, in the order of the modes.
    pub fn of(levels: Vec<LevelKind>) -> Format {
        let order = (0..levels.len()).collect();
        Format { levels: levels.into(), order }
    }

    /// All levels dense, last mode innermost.
    pub fn dense(rank: usize) -> Format {
        Format::of(vec![LevelKind::Dense; rank])
    }

    /// The format with its modes in reverse order.
    pub fn reversed(self) -> Format {
        Format { order: self.order.iter().rev().copied().collect(), ..self }
    }

    /// Whether every level is dense.
    pub fn is_dense(&self) -> bool {
        self.levels.iter().all(|k| k.is_full())
    }

    /// Whether it is of rows: two levels or more, dense ones and plain lists.
    pub fn has_rows(&self) -> bool {
        self.rank() > 1 && self.levels.iter().all(|kind| *kind == LevelKind::Dense || kind.is_plain())
    }

    /// The level whose entries are counted before a coordinate of `loops` levels from `first` on: the deepest list that only lists and located levels
    /// lead to, of these levels the last or one below it. `None` where there is none, or one of the levels is neither.
    pub fn weighed(&self, first: usize, loops: usize) -> Option<usize> {
        let counts = |kind: &&LevelKind| kind.is_located() || kind.is_list();
        let end = first + self.levels.iter().skip(first).take_while(counts).count();
        let last = (first + loops).checked_sub(1)?;
        (last..end).rev().find(|l| self.levels[*l].is_list())
    }

    /// All levels compressed, last mode innermost.
    pub fn csf(rank: usize) -> Format {
        Format::of(vec![LevelKind::Compressed; rank])
    }

    /// The format `name` of rank `rank`; `None` if there is no such name, or the name does not fit the rank.
    /// `dense`, `csf` and `coo` exist at every rank (`csf` and `coo` from 1), `sparse` at rank 1, the others at 2.
    pub fn named(name: &str, rank: usize) -> Option<Format> {
        use LevelKind::*;
        let matrix = |levels: [LevelKind; 2], order: [usize; 2]| {
            (rank == 2).then(|| Format { levels: levels.into(), order: order.into() })
        };
        match name {
            "dense" => Some(Format::dense(rank)),
            "csf" if rank > 0 => Some(Format::csf(rank)),
            "sparse" if rank == 1 => Some(Format::csf(1)),
            "csr" => matrix([Dense, Compressed], [0, 1]),
            "csc" => matrix([Dense, Compressed], [1, 0]),
            "dcsr" => matrix([Compressed, Compressed], [0, 1]),
            "dcsc" => matrix([Compressed, Compressed], [1, 0]),
            "coo" if rank == 1 => Some(Format::csf(1)),
            "coo" if rank > 1 => {
                let mut levels = vec![Singleton; rank];
                levels[0] = Nonunique;
                Some(Format::of(levels))
            }
            // A single level is a format of one mode.
            _ if rank == 1 => LevelKind::from_name(name).map(|kind| Format::of(vec![kind])),
            _ => None,
        }
    }

    /// The chain that level `l` belongs to: a nonunique level and the singletons directly below it. `None` for other levels, among them
    /// singletons below no such chain.
    pub fn chain(&self, l: usize) -> Option<Range<usize>> {
        let singleton = |l: &usize| self.levels.get(*l).is_some_and(|kind| kind.continues_chain());
        let begin = (0..=l).rev().find(|l| !singleton(l))?;
        let end = (begin + 1..).find(|l| !singleton(l))?;
        self.levels.get(begin).is_some_and(|kind| kind.begins_chain()).then_some(begin..end)
    }

    /// Whether a coordinate of level `l` may occur at consecutive positions, which the levels below distinguish.
    pub fn repeats(&self, l: usize) -> bool {
        self.chain(l).is_some_and(|chain| l + 1 < chain.end)
    }

    /// The format in which data are stored: a level without arrays is stored as hashed, which holds the same function and finds a
    /// coordinate in constant time.
    pub fn stored(&self) -> Format {
        let stored = |kind: &LevelKind| kind.of().stored().unwrap_or(*kind);
        Format { levels: self.levels.iter().map(stored).collect(), order: self.order.clone() }
    }

    /// Whether loops assemble results in this format directly. Otherwise they assemble [`Format::assembled`], and the result is
    /// converted. All other levels beside a triangle have to be dense: a level below it exists below each of its positions.
    pub fn is_made(&self) -> bool {
        let triangles = self.levels.iter().any(|kind| kind.is_triangle());
        let beside = |kind: &LevelKind| !triangles || kind.is_full() || kind.is_triangle();
        self.levels.iter().enumerate().all(|(l, kind)| kind.is_made(l + 1 == self.rank()) && beside(kind))
    }

    /// Whether the format has a place for every value: no level is a triangle.
    pub fn holds_all(&self) -> bool {
        !self.levels.iter().any(|kind| kind.is_triangle())
    }

    /// The format in which loops assemble a result of this format: this format itself, if its levels are located, lists, or runs below
    /// all others; else the same modes in the same order in such levels.
    pub fn assembled(&self) -> Format {
        let level = |l: usize| self.levels[l].assembled(l + 1 == self.rank());
        let levels = (0..self.rank()).map(level).collect();
        if (0..self.rank()).all(|l| self.levels[l] == level(l) || self.levels[l].is_list()) {
            return self.clone();
        }
        Format { levels, order: self.order.clone() }
    }

    /// Whether level `l` is a singleton in no chain: it holds exactly one coordinate per parent position.
    pub fn is_single(&self, l: usize) -> bool {
        self.levels[l].continues_chain() && self.chain(l).is_none()
    }

    /// The levels, for writing.
    pub fn levels_mut(&mut self) -> &mut [LevelKind] {
        Arc::make_mut(&mut self.levels)
    }

    /// The order of the modes, for writing.
    pub fn order_mut(&mut self) -> &mut [usize] {
        Arc::make_mut(&mut self.order)
    }

    /// Number of modes.
    pub fn rank(&self) -> usize {
        self.levels.len()
    }
}

/// Prints the format as the language writes it: `{dense, compressed} order(1, 0)`, with the order only if it is not that of the modes.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.levels.is_empty() {
            return write!(f, "dense");
        }
        let names: Vec<_> = self.levels.iter().map(|l| l.name()).collect();
        write!(f, "{{{}}}", names.join(", "))?;
        if self.order.iter().enumerate().any(|(l, m)| l != *m) {
            let order: Vec<_> = self.order.iter().map(usize::to_string).collect();
            write!(f, " order({})", order.join(", "))?;
        }
        Ok(())
    }
}
