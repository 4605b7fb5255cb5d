//! Levels: one file each, and the list of them.
//!
//! ```text
//!  levels! { Vbl = vbl { pos: Positions, … } }      the line of a level: its name, and the arrays that it has
//!      ├──▶ LevelKind::Vbl                          which level it is; what it can do: `LevelKind::is_stepped`, …
//!      ├──▶ Arrays::Vbl { pos, crd, ofs }           its arrays: data (`Level`), or a kernel's buffers
//!      └──▶ vbl::Vbl: Kind                          the file: looplet, properties, lengths, check, entries
//! ```
//!
//! Who meets a level asks what it can do, not which one it is; to make one, it is named.

use super::assemble::Error;
use super::check::{Above, list};
use super::entries::{self, Spread};
use super::levelled::Store;
use super::triangle::Triangle;
use super::{Array, Level, Malformed, Tensor, room};
use crate::algebra::Type;
use crate::looplet::Looplet;

mod band;
mod bitmap;
mod blocked;
mod bytemap;
mod compressed;
mod dense;
mod function;
mod hashed;
mod lower;
mod nonunique;
mod packbits;
mod ragged;
mod runs;
mod singleton;
mod symmetric;
mod upper;
mod vbl;

/// What the elements of an array of a tensor are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Holds {
    Positions,
    Coordinates,
    Flags,
    Words,
    Values,
}

impl Holds {
    /// In words, for people.
    pub fn name(self) -> &'static str {
        match self {
            Holds::Positions => "positions",
            Holds::Coordinates => "coordinates",
            Holds::Flags => "flags",
            Holds::Words => "words of 64 flags",
            Holds::Values => "values",
        }
    }

    /// The element type, where it is not the caller's to choose: positions and coordinates are `i32` or `i64`, values
    /// are of the tensor's type.
    pub fn ty(self) -> Option<Type> {
        match self {
            Holds::Flags => Some(Type::Bool),
            Holds::Words => Some(Type::U64),
            Holds::Positions | Holds::Coordinates | Holds::Values => None,
        }
    }
}

/// How long an array of a level is, and how many positions there are then; before the first step as many as the level above has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// As many times more positions as the level's extent.
    Spread,
    /// So many times more positions.
    Times(u64),
    /// For each square of the level's extent as many positions as its triangle has.
    Triangles,
    /// An array with an element a position.
    Each(&'static str),
    /// An array of words with a bit a position.
    Bits(&'static str),
    /// An array with one element more than positions, the last of which is the number of positions from here on.
    Fibers(&'static str),
    /// An array as long as it is.
    Any(&'static str),
}

/// How loops make the arrays of a result's level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// There is a position for every coordinate, and it is computed.
    Located,
    /// The same of a triangle's coordinates, below the level of its rows; a value elsewhere that is not the fill value, or not the one
    /// that it mirrors, ends the kernel.
    Triangle(Triangle),
    /// Coordinates are appended, in ascending order.
    List,
    /// Values are appended, in ascending order of their coordinates, as runs that reach the end of the extent.
    Runs,
    /// The same, those of one coordinate that follow one another in one piece.
    Pieces,
    /// Values are appended, and the fill value between them.
    Interval,
    /// Values are appended, as blocks of coordinates that follow one another.
    Blocks,
    /// Values are appended, as aligned blocks of so many coordinates.
    Aligned(i64),
}

impl Maker {
    /// Whether it appends: coordinates of a fiber arrive in ascending order, and fibers in theirs.
    pub fn appends(self) -> bool {
        !matches!(self, Maker::Located | Maker::Triangle(_))
    }
}

/// How a level is part of a chain: a nonunique level and the singletons directly below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// It begins one.
    First,
    /// It goes on with one that begins above it, if one does.
    Next,
}

/// A level of a tensor that is well-formed down to there.
#[derive(Clone, Copy)]
pub(super) struct At<'t> {
    pub(super) tensor: &'t Tensor<'t>,
    pub(super) l: usize,
}

impl<'t> At<'t> {
    pub(super) fn level(self) -> &'t Level<'t> {
        &self.tensor.levels[self.l]
    }

    pub(super) fn extent(self) -> u64 {
        self.tensor.level_extent(self.l)
    }

    /// The level's arrays, in the order of its line; so many it has.
    pub(super) fn arrays<const N: usize>(self) -> [&'t Array<'t>; N] {
        let mut arrays = self.level().arrays();
        std::array::from_fn(|_| arrays.next().expect("the arrays of the level's line"))
    }
}

/// What the file of a level says. Where it says nothing, it is as a list of coordinates with `pos` and `crd`.
pub(super) trait Kind: Sync {
    /// A fiber along an index variable, when its level is opened.
    fn looplet(&self) -> Looplet;

    /// The lengths of its arrays.
    fn steps(&self) -> &'static [Step];

    /// Whether a flag at each position says whether something is stored there.
    fn is_flagged(&self) -> bool {
        false
    }

    /// Whether a fiber is expected to hold few of its coordinates.
    fn is_short(&self) -> bool {
        self.looplet() == Looplet::Stepper
    }

    /// Whether what it stores is a matter of where, not of what: fill values as well as others.
    fn pads(&self) -> bool {
        let exact = matches!(self.looplet(), Looplet::Stepper | Looplet::Blocks | Looplet::Computed);
        !exact && !self.is_flagged()
    }

    /// Whether a table finds a coordinate in constant time.
    fn has_table(&self) -> bool {
        false
    }

    /// Which triangle its positions are those of.
    fn triangle(&self) -> Option<Triangle> {
        None
    }

    /// How it is part of a chain.
    fn link(&self) -> Option<Link> {
        None
    }

    /// The level in which data of it are kept, if it is another.
    fn stored(&self) -> Option<LevelKind> {
        None
    }

    /// How loops make its arrays in a result, below all other levels if it is the `last`; `None` if they do not.
    fn maker(&self, last: bool) -> Option<Maker> {
        let _ = last;
        match self.looplet() {
            Looplet::Lookup => Some(Maker::Located),
            Looplet::Stepper => Some(Maker::List),
            _ => None,
        }
    }

    /// The level that loops make in the place of one that they do not make, located or appended to; the `last` one may be runs.
    fn assembled(&self, last: bool) -> LevelKind {
        let _ = last;
        LevelKind::Compressed
    }

    /// The level's invariants, below a level that has been checked; what it is for the level below.
    fn check<'t>(&self, at: At<'t>, above: Above<'t>) -> Result<Above<'t>, Malformed>;

    /// The level of entries in storage order, of which the levels above are made.
    fn assemble(&self, store: &mut Store, l: usize, extent: u64) -> Result<Level<'static>, Error>;

    /// The level of runs of values: their number at each parent, and the last coordinate of each.
    fn of_runs(&self, store: &mut Store, pos: &[i64], crd: &[i64]) -> Result<Level<'static>, Error> {
        let _ = (store, pos, crd);
        unreachable!("its results are not assembled as runs")
    }

    /// Whether nothing can be stored at some of the positions that it has here.
    fn leaves_out(&self, at: At) -> bool {
        let _ = at;
        self.is_flagged()
    }

    /// Whether something may be stored at a position.
    fn is_set(&self, at: At, position: usize) -> bool {
        let _ = (at, position);
        true
    }

    /// The parent of a position.
    fn parent(&self, at: At, position: usize) -> usize {
        let [pos, ..] = at.arrays::<1>();
        entries::parent(pos, position)
    }

    /// From positions to their parents'.
    fn to_parents(&self, at: At, positions: &mut [usize]) -> Result<(), Error> {
        let [pos] = at.arrays();
        let parents = entries::parents(pos)?;
        positions.iter_mut().for_each(|p| *p = parents[*p]);
        Ok(())
    }

    /// The coordinates of positions that stand for one each.
    fn column(&self, at: At, positions: &[usize]) -> Result<Vec<i64>, Error> {
        let crd = at.level().first(Holds::Coordinates).expect("a list has coordinates");
        room::collected(positions.iter().map(|&p| crd.index(p)))
    }

    /// What entries at these positions stand for, where one may stand for several coordinates.
    fn spread(&self, at: At, positions: &[usize]) -> Result<Vec<Spread>, Error> {
        let _ = (at, positions);
        unreachable!("its positions stand for one coordinate each")
    }

    /// Multiplies each number by how many coordinates its position stands for.
    fn multiply(&self, at: At, positions: &[usize], counts: &mut [u64]) -> Result<(), Error> {
        let _ = (at, positions, counts);
        Ok(())
    }
}

/// At most so many arrays has a level.
const MOST: usize = 3;

fn padded<T, const N: usize>(arrays: [T; N]) -> [Option<T>; MOST] {
    let mut arrays = arrays.into_iter();
    std::array::from_fn(|_| arrays.next())
}

/// From one line a level: which levels there are, their names, the arrays that each has, and its file.
macro_rules! levels {
    (
        stored { $($name:ident = $module:ident $({ $($array:ident: $holds:ident),* })?;)* }
        called { $($computed:ident = $file:ident;)* }
    ) => {
        /// A kind of level (design, section 5). What each is stands in its file, `core/src/format/levels/`.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[allow(missing_docs)]
        pub enum LevelKind { $($name,)* $($computed,)* }

        impl LevelKind {
            /// Every kind.
            pub const ALL: [LevelKind; [$(stringify!($name),)* $(stringify!($computed),)*].len()] =
                [$(LevelKind::$name,)* $(LevelKind::$computed,)*];

            /// Its name in programs.
            pub fn name(self) -> &'static str {
                match self {
                    $(LevelKind::$name => stringify!($module),)*
                    $(LevelKind::$computed => stringify!($file),)*
                }
            }

            /// The names of its arrays, and what they hold, in the order in which they are declared.
            pub fn arrays(self) -> &'static [(&'static str, Holds)] {
                match self {
                    $(LevelKind::$name => &[$($((stringify!($array), Holds::$holds)),*)?],)*
                    $(LevelKind::$computed => &[],)*
                }
            }

            /// What its file says.
            pub(super) fn of(self) -> &'static dyn Kind {
                match self {
                    $(LevelKind::$name => &$module::$name,)*
                    $(LevelKind::$computed => &$file::$computed,)*
                }
            }
        }

        /// The arrays of one level, whatever stands for an array: data, or a kernel's buffer. [`LevelKind::arrays`] says what each
        /// holds; `docs/format.md`, how they fit together.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub enum Arrays<A> { $($name $({ $($array: A),* })?,)* }

        impl<A> Arrays<A> {
            /// The kind of level whose arrays these are.
            pub fn kind(&self) -> LevelKind {
                match self { $(Arrays::$name $({ $($array: _),* })? => LevelKind::$name,)* }
            }

            /// Them, in the order in which they are declared.
            pub fn arrays(&self) -> impl Iterator<Item = &A> {
                let arrays: [Option<&A>; MOST] = match self {
                    $(Arrays::$name $({ $($array),* })? => padded([$($($array),*)?]),)*
                };
                arrays.into_iter().flatten()
            }

            /// Them, to be changed.
            pub fn arrays_mut(&mut self) -> impl Iterator<Item = &mut A> {
                let arrays: [Option<&mut A>; MOST] = match self {
                    $(Arrays::$name $({ $($array),* })? => padded([$($($array),*)?]),)*
                };
                arrays.into_iter().flatten()
            }

            /// The same level with `f` of each array.
            ///
            /// # Errors
            /// Those of `f`.
            pub fn map_into<B, E>(self, mut f: impl FnMut(A) -> Result<B, E>) -> Result<Arrays<B>, E> {
                let _ = &mut f;
                Ok(match self {
                    $(Arrays::$name $({ $($array),* })? => Arrays::$name $({ $($array: f($array)?),* })?,)*
                })
            }

            /// The arrays of a level of this kind, each as `of` makes it from its name and what it holds; `None` of kinds that
            /// have none and are no levels of data.
            ///
            /// # Errors
            /// Those of `of`.
            pub fn of<E>(
                kind: LevelKind,
                mut of: impl FnMut(&'static str, Holds) -> Result<A, E>,
            ) -> Result<Option<Arrays<A>>, E> {
                let _ = &mut of;
                Ok(Some(match kind {
                    $(LevelKind::$name => {
                        Arrays::$name $({ $($array: of(stringify!($array), Holds::$holds)?),* })?
                    })*
                    $(LevelKind::$computed => return Ok(None),)*
                }))
            }
        }
    };
}

levels! {
    stored {
        Dense = dense;
        Compressed = compressed { pos: Positions, crd: Coordinates };
        Nonunique = nonunique { pos: Positions, crd: Coordinates };
        Singleton = singleton { crd: Coordinates };
        Bitmap = bitmap { words: Words };
        Bytemap = bytemap { flags: Flags };
        Hashed = hashed { pos: Positions, crd: Coordinates, table: Positions };
        Runs = runs { pos: Positions, crd: Coordinates };
        Packbits = packbits { pos: Positions, crd: Coordinates, ofs: Positions };
        Band = band { pos: Positions, first: Coordinates };
        Blocked = blocked { pos: Positions, crd: Coordinates };
        Vbl = vbl { pos: Positions, crd: Coordinates, ofs: Positions };
        Ragged = ragged { pos: Positions };
        Lower = lower;
        Upper = upper;
        Symmetric = symmetric;
    }
    called {
        Function = function;
    }
}

impl<A> Arrays<A> {
    /// The arrays, each with what it holds, in the order in which they are declared.
    pub fn holding(&self) -> impl Iterator<Item = (&A, Holds)> {
        self.arrays().zip(self.kind().arrays()).map(|(array, (_, holds))| (array, *holds))
    }

    /// The first of its arrays that holds this.
    pub fn first(&self, what: Holds) -> Option<&A> {
        self.holding().find(|(_, holds)| *holds == what).map(|(array, _)| array)
    }

    /// Its array of this name, if it has one.
    pub fn find(&self, name: &str) -> Option<&A> {
        let place = self.kind().arrays().iter().position(|(own, _)| *own == name)?;
        self.arrays().nth(place)
    }

    /// Its array of this name.
    ///
    /// # Panics
    /// If it has none.
    pub fn named(&self, name: &str) -> &A {
        self.find(name).expect("a level has the arrays that it names")
    }

    /// The same level with `f` of a reference to each array.
    ///
    /// # Errors
    /// Those of `f`.
    pub fn map<'s, B, E>(&'s self, mut f: impl FnMut(&'s A) -> Result<B, E>) -> Result<Arrays<B>, E> {
        let mut arrays = self.arrays();
        let made = Arrays::of(self.kind(), |_, _| f(arrays.next().expect("as many as its kind has")))?;
        Ok(made.expect("a level with arrays is one of data"))
    }
}

/// What a level can do.
impl LevelKind {
    /// A fiber along an index variable.
    pub fn looplet(self) -> Looplet {
        self.of().looplet()
    }

    /// The lengths of its arrays, and the number of its positions.
    pub fn steps(self) -> &'static [Step] {
        self.of().steps()
    }

    /// Whether a position is computed from its parent's and a coordinate: there is one for every coordinate.
    pub fn is_located(self) -> bool {
        self.looplet() == Looplet::Lookup
    }

    /// Whether a result's values have a place at every coordinate, which is computed: they may arrive in any order.
    pub fn holds_any(self) -> bool {
        self.is_located() || self.is_mirrored()
    }

    /// Whether it is located, and nothing more is known of what stands at a position.
    pub fn is_full(self) -> bool {
        self.is_located() && !self.is_flagged()
    }

    /// Whether a flag at each position says whether something is stored there.
    pub fn is_flagged(self) -> bool {
        self.of().is_flagged()
    }

    /// Whether it lists coordinates in ascending order, and stores nothing else.
    pub fn is_list(self) -> bool {
        self.looplet() == Looplet::Stepper
    }

    /// Whether it is a list by itself, of each coordinate once, and nothing beside: no chain, no table.
    pub fn is_plain(self) -> bool {
        self.is_list() && self.of().link().is_none() && !self.has_table()
    }

    /// Whether it is a list with a table that finds a coordinate in constant time.
    pub fn has_table(self) -> bool {
        self.of().has_table()
    }

    /// Whether it begins a chain: its coordinates may repeat where levels that go on with it tell them apart.
    pub fn begins_chain(self) -> bool {
        self.of().link() == Some(Link::First)
    }

    /// Whether it has one coordinate a parent position: below a level that begins a chain, it goes on with it.
    pub fn continues_chain(self) -> bool {
        self.of().link() == Some(Link::Next)
    }

    /// Whether a fiber is expected to hold few of its coordinates: a list, a band, blocks, runs.
    pub fn is_short(self) -> bool {
        self.of().is_short()
    }

    /// How loops make its arrays in a result, below all other levels if it is the `last`; `None` if they do not: they make another
    /// level, and the result is converted.
    pub fn maker(self, last: bool) -> Option<Maker> {
        self.of().maker(last)
    }

    /// Whether a result's level grows at its end, if it is one that loops make.
    pub fn is_appended(self) -> bool {
        self.maker(true).is_some_and(Maker::appends)
    }

    /// Whether a fiber holds the values of an interval of coordinates, one a coordinate, and nothing else.
    pub fn is_interval(self) -> bool {
        matches!(self.looplet(), Looplet::Interval | Looplet::Prefix)
    }

    /// Whether the position of a coordinate, if there is one, is computed: in constant time, whatever was asked before.
    pub fn is_computed(self) -> bool {
        self.is_located() || self.is_interval() || self.is_mirrored()
    }

    /// Whether its positions are those of a triangle, below a dense level of an equal extent.
    pub fn is_triangle(self) -> bool {
        self.triangle().is_some()
    }

    /// The triangle that its positions are those of.
    pub fn triangle(self) -> Option<Triangle> {
        self.of().triangle()
    }

    /// Whether what stands at (i, j), i its parent's coordinate, stands at (j, i) too.
    pub fn is_mirrored(self) -> bool {
        self.looplet() == Looplet::Mirrored
    }

    /// Whether what it stores is a matter of where, not of what: fill values as well as others.
    pub fn pads(self) -> bool {
        self.of().pads()
    }

    /// Whether one of its positions may stand for several coordinates.
    pub fn shares(self) -> bool {
        matches!(self.looplet(), Looplet::Runs | Looplet::Packed | Looplet::Mirrored)
    }

    /// Whether a fiber lists where its pieces end, in ascending order: runs, blocks, or both.
    pub fn is_stepped(self) -> bool {
        matches!(self.looplet(), Looplet::Runs | Looplet::Packed | Looplet::Blocks | Looplet::Aligned(_))
    }

    /// Whether a fiber's pieces are blocks, with a position for each coordinate, and nothing between them.
    pub fn is_in_blocks(self) -> bool {
        matches!(self.looplet(), Looplet::Blocks | Looplet::Aligned(_))
    }

    /// Whether no arrays hold it: it is computed wherever it is asked for.
    pub fn is_called(self) -> bool {
        self.looplet() == Looplet::Computed
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<LevelKind> {
        LevelKind::ALL.into_iter().find(|k| k.name() == name)
    }
}

/// A list's `pos` and `crd`, each coordinate of a fiber once.
fn check_list<'t>(at: At<'t>, above: &Above<'t>) -> Result<Above<'t>, Malformed> {
    let [pos, crd] = at.arrays();
    list::check(at.l, pos, crd, at.extent(), above)?;
    Ok(Above::of(crd.len() as u64))
}
