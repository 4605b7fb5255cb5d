//! Levels: one file each, and the list of them.
//!
//! ```text
//!  levels! { Vbl = vbl { pos: Positions, … } }      the line of a level: its name, and the arrays that it has
//!      ├──▶ LevelKind::Vbl                          the kind, with its capabilities: `LevelKind::is_stepped`, …
//!      ├──▶ Arrays::Vbl { pos, crd, ofs }           its arrays: data (`Level`), or a kernel's buffers
//!      └──▶ vbl::Vbl: Kind                          the file: looplet, properties, lengths, check, entries
//! ```
//!
//! Code asks for a level's capabilities, not for its kind; only code that builds a level names the kind.

use super::assemble::Error;
use super::check::{Above, list};
use super::entries::{self, Spread};
use super::levelled::Store;
use super::triangle::Triangle;
use super::{Array, Level, Malformed, Tensor, room};
use crate::algebra::Type;
use crate::looplet::{Looplet, Values};

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

/// The contents of an array of a tensor.
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
    /// The name of the contents, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Holds::Positions => "positions",
            Holds::Coordinates => "coordinates",
            Holds::Flags => "flags",
            Holds::Words => "words of 64 flags",
            Holds::Values => "values",
        }
    }

    /// The element type of these arrays, if it is fixed: positions and coordinates are `i32` or `i64`, values have the tensor's type.
    pub fn ty(self) -> Option<Type> {
        match self {
            Holds::Flags => Some(Type::Bool),
            Holds::Words => Some(Type::U64),
            Holds::Positions | Holds::Coordinates | Holds::Values => None,
        }
    }
}

/// A step that computes the length of an array, or the number of positions, from the number before; the first step begins with that of
/// the level above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Multiplies the number of positions by the level's extent.
    Spread,
    /// Multiplies the number of positions by this.
    Times(u64),
    /// Replaces each square of the level's extent by the positions of its triangle.
    Triangles,
    /// An array with one element per position.
    Each(&'static str),
    /// An array of words with one bit per position.
    Bits(&'static str),
    /// An array with one element more than there are positions; its last element is the number of positions from here on.
    Fibers(&'static str),
    /// An array of any length.
    Any(&'static str),
}

/// The part of a level in a chain: a nonunique level and the singletons directly below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// The level begins a chain.
    First,
    /// The level continues the chain that begins above it, if there is one.
    Next,
}

/// A level of a tensor that is well-formed down to this level.
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

    /// The level's arrays, in the order of its declaration; there are `N`.
    pub(super) fn arrays<const N: usize>(self) -> [&'t Array<'t>; N] {
        let mut arrays = self.level().arrays();
        std::array::from_fn(|_| arrays.next().expect("the arrays of the level's line"))
    }
}

/// The definition of a level. The defaults are those of a list of coordinates with `pos` and `crd`.
pub(super) trait Kind: Sync {
    /// The looplet of a fiber when the level is opened along an index variable.
    fn looplet(&self) -> Looplet;

    /// The lengths of the level's arrays.
    fn steps(&self) -> &'static [Step];

    /// Whether a flag per position says whether anything is stored there.
    fn is_flagged(&self) -> bool {
        false
    }

    /// Whether a fiber is expected to hold few of its coordinates.
    fn is_short(&self) -> bool {
        matches!(self.looplet(), Looplet::Stepper(Looplet::Spike | Looplet::Run(_) | Looplet::Sequence(_)))
    }

    /// Whether a table finds a coordinate in constant time.
    fn has_table(&self) -> bool {
        false
    }

    /// The triangle whose positions the level has, if any.
    fn triangle(&self) -> Option<Triangle> {
        None
    }

    /// The level's part in a chain, if any.
    fn link(&self) -> Option<Link> {
        None
    }

    /// The level in which data are stored, if it is another.
    fn stored(&self) -> Option<LevelKind> {
        None
    }

    /// Checks the level's invariants, below a level that has been checked; returns the state for the level below.
    fn check<'t>(&self, at: At<'t>, above: Above<'t>) -> Result<Above<'t>, Malformed>;

    /// Builds the level from sorted entries, below the levels above.
    fn assemble(&self, store: &mut Store, l: usize, extent: u64) -> Result<Level<'static>, Error>;

    /// Builds the level from runs of values: `pos` with the runs of each parent, and the last coordinate of each run.
    fn of_runs(&self, store: &mut Store, pos: &[i64], crd: &[i64]) -> Result<Level<'static>, Error> {
        let _ = (store, pos, crd);
        unreachable!("its results are not assembled as runs")
    }

    /// Whether the level may have positions here at which nothing is stored.
    fn leaves_out(&self, at: At) -> bool {
        let _ = at;
        self.is_flagged()
    }

    /// Whether a value may be stored at a position.
    fn is_set(&self, at: At, position: usize) -> bool {
        let _ = (at, position);
        true
    }

    /// The parent of a position.
    fn parent(&self, at: At, position: usize) -> usize {
        let [pos, ..] = at.arrays::<1>();
        entries::parent(pos, position)
    }

    /// Replaces positions by their parents'.
    fn to_parents(&self, at: At, positions: &mut [usize]) -> Result<(), Error> {
        let [pos] = at.arrays();
        let parents = entries::parents(pos)?;
        positions.iter_mut().for_each(|p| *p = parents[*p]);
        Ok(())
    }

    /// The coordinates of these positions, each of which stands for one.
    fn column(&self, at: At, positions: &[usize]) -> Result<Vec<i64>, Error> {
        let crd = at.level().first(Holds::Coordinates).expect("a list has coordinates");
        room::collected(positions.iter().map(|&p| crd.index(p)))
    }

    /// The coordinates of these positions, each of which may stand for several.
    fn spread(&self, at: At, positions: &[usize]) -> Result<Vec<Spread>, Error> {
        let _ = (at, positions);
        unreachable!("its positions stand for one coordinate each")
    }

    /// Multiplies each count by the number of coordinates for which its position stands.
    fn multiply(&self, at: At, positions: &[usize], counts: &mut [u64]) -> Result<(), Error> {
        let _ = (at, positions, counts);
        Ok(())
    }
}

/// The most arrays of a level.
const MOST: usize = 3;

fn padded<T, const N: usize>(arrays: [T; N]) -> [Option<T>; MOST] {
    let mut arrays = arrays.into_iter();
    std::array::from_fn(|_| arrays.next())
}

/// Declares the levels, one per line: kinds, names, the arrays of each, and its file.
macro_rules! levels {
    (
        stored { $($name:ident = $module:ident $({ $($array:ident: $holds:ident),* })?;)* }
        called { $($computed:ident = $file:ident;)* }
    ) => {
        /// A kind of level (design, section 5). Its file in `core/src/format/levels/` defines it.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[allow(missing_docs)]
        pub enum LevelKind { $($name,)* $($computed,)* }

        impl LevelKind {
            /// All kinds.
            pub const ALL: [LevelKind; [$(stringify!($name),)* $(stringify!($computed),)*].len()] =
                [$(LevelKind::$name,)* $(LevelKind::$computed,)*];

            /// The kind's name in programs.
            pub fn name(self) -> &'static str {
                match self {
                    $(LevelKind::$name => stringify!($module),)*
                    $(LevelKind::$computed => stringify!($file),)*
                }
            }

            /// The names of the kind's arrays, and their contents, in the order in which they are declared.
            pub fn arrays(self) -> &'static [(&'static str, Holds)] {
                match self {
                    $(LevelKind::$name => &[$($((stringify!($array), Holds::$holds)),*)?],)*
                    $(LevelKind::$computed => &[],)*
                }
            }

            /// Whether the kind has an array with these contents.
            pub fn holds(self, what: Holds) -> bool {
                self.arrays().iter().any(|(_, holds)| *holds == what)
            }

            /// The kind's definition.
            pub(super) fn of(self) -> &'static dyn Kind {
                match self {
                    $(LevelKind::$name => &$module::$name,)*
                    $(LevelKind::$computed => &$file::$computed,)*
                }
            }
        }

        /// The arrays of one level: of data, or of a kernel's buffers. [`LevelKind::arrays`] gives the contents of each; `docs/format.md`
        /// defines how they fit together.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub enum Arrays<A> { $($name $({ $($array: A),* })?,)* }

        impl<A> Arrays<A> {
            /// The kind of level whose arrays these are.
            pub fn kind(&self) -> LevelKind {
                match self { $(Arrays::$name $({ $($array: _),* })? => LevelKind::$name,)* }
            }

            /// The arrays, in the order in which they are declared.
            pub fn arrays(&self) -> impl Iterator<Item = &A> {
                let arrays: [Option<&A>; MOST] = match self {
                    $(Arrays::$name $({ $($array),* })? => padded([$($($array),*)?]),)*
                };
                arrays.into_iter().flatten()
            }

            /// The arrays for writing, in the order in which they are declared.
            pub fn arrays_mut(&mut self) -> impl Iterator<Item = &mut A> {
                let arrays: [Option<&mut A>; MOST] = match self {
                    $(Arrays::$name $({ $($array),* })? => padded([$($($array),*)?]),)*
                };
                arrays.into_iter().flatten()
            }

            /// The level with `f` applied to each array.
            ///
            /// # Errors
            /// Errors of `f`.
            pub fn map_into<B, E>(self, mut f: impl FnMut(A) -> Result<B, E>) -> Result<Arrays<B>, E> {
                let _ = &mut f;
                Ok(match self {
                    $(Arrays::$name $({ $($array),* })? => Arrays::$name $({ $($array: f($array)?),* })?,)*
                })
            }

            /// The arrays of a level of this kind, each made by `of` from its name and contents; `None` for kinds without data.
            ///
            /// # Errors
            /// Errors of `of`.
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

impl<A: Copy> Arrays<A> {
    /// The level's arrays in storage order, each with its contents.
    pub fn buffers(&self) -> impl Iterator<Item = (A, Holds)> {
        self.holding().map(|(array, holds)| (*array, holds))
    }

    /// The first of the level's arrays with these contents.
    pub fn array(&self, what: Holds) -> Option<A> {
        self.first(what).copied()
    }
}

impl<A> Arrays<A> {
    /// The arrays, each with its contents, in the order in which they are declared.
    pub fn holding(&self) -> impl Iterator<Item = (&A, Holds)> {
        self.arrays().zip(self.kind().arrays()).map(|(array, (_, holds))| (array, *holds))
    }

    /// The first array with these contents.
    pub fn first(&self, what: Holds) -> Option<&A> {
        self.holding().find(|(_, holds)| *holds == what).map(|(array, _)| array)
    }

    /// The array of this name, if there is one.
    pub fn find(&self, name: &str) -> Option<&A> {
        let place = self.kind().arrays().iter().position(|(own, _)| *own == name)?;
        self.arrays().nth(place)
    }

    /// The array of this name.
    ///
    /// # Panics
    /// If there is none.
    pub fn named(&self, name: &str) -> &A {
        self.find(name).expect("a level has the arrays that it names")
    }

    /// The level with `f` applied to a reference to each array.
    ///
    /// # Errors
    /// Errors of `f`.
    pub fn map<'s, B, E>(&'s self, mut f: impl FnMut(&'s A) -> Result<B, E>) -> Result<Arrays<B>, E> {
        let mut arrays = self.arrays();
        let made = Arrays::of(self.kind(), |_, _| f(arrays.next().expect("as many as its kind has")))?;
        Ok(made.expect("a level with arrays is one of data"))
    }
}

/// The capabilities of a kind of level.
impl LevelKind {
    /// The looplet of a fiber along an index variable.
    pub fn looplet(self) -> Looplet {
        self.of().looplet()
    }

    /// The lengths of the level's arrays, and the number of its positions.
    pub fn steps(self) -> &'static [Step] {
        self.of().steps()
    }

    /// Whether there is a position for every coordinate, computed from the parent's position and the coordinate.
    pub fn is_located(self) -> bool {
        self.looplet() == Looplet::VALUES
    }

    /// Whether a result has a computed place at every coordinate, so that its values may arrive in any order.
    pub fn holds_any(self) -> bool {
        self.is_located() || self.is_mirrored()
    }

    /// Whether the level is located and has no flags.
    pub fn is_full(self) -> bool {
        self.is_located() && !self.is_flagged()
    }

    /// Whether a flag per position says whether anything is stored there.
    pub fn is_flagged(self) -> bool {
        self.of().is_flagged()
    }

    /// Whether the level lists coordinates in ascending order, and stores nothing else.
    pub fn is_list(self) -> bool {
        self.looplet() == Looplet::Stepper(&Looplet::Spike)
    }

    /// Whether the level is a list of distinct coordinates without a chain or a table.
    pub fn is_plain(self) -> bool {
        self.is_list() && self.of().link().is_none() && !self.has_table()
    }

    /// Whether the level is a list with a table that finds a coordinate in constant time.
    pub fn has_table(self) -> bool {
        self.of().has_table()
    }

    /// Whether the level begins a chain: its coordinates may repeat where the levels that continue the chain distinguish them.
    pub fn begins_chain(self) -> bool {
        self.of().link() == Some(Link::First)
    }

    /// Whether the level has one coordinate per parent position; below a level that begins a chain, it continues the chain.
    pub fn continues_chain(self) -> bool {
        self.of().link() == Some(Link::Next)
    }

    /// Whether a fiber is expected to hold few of its coordinates: a list, a band, blocks, runs.
    pub fn is_short(self) -> bool {
        self.of().is_short()
    }

    /// Whether loops assemble the level in a result, below all other levels if it is the `last`; otherwise they assemble another level
    /// and convert the result.
    pub fn is_made(self, last: bool) -> bool {
        let anywhere = self.is_located() || self.is_list() || self.is_triangle() && !self.is_mirrored();
        anywhere || last && !self.is_called()
    }

    /// The level that loops assemble in place of one that they do not assemble; it is located or appended. The `last` one may be runs.
    pub fn assembled(self, last: bool) -> LevelKind {
        match self.looplet() {
            Looplet::VALUES => self,
            Looplet::Stepper(Looplet::Run(_) | Looplet::Switch(_)) if last => LevelKind::Runs,
            _ => LevelKind::Compressed,
        }
    }

    /// Whether loops assemble the level by appending at its end: a fiber's coordinates arrive in ascending order, and so do fibers.
    pub fn is_appended(self) -> bool {
        !matches!(self.looplet(), Looplet::Lookup(_)) && !self.is_triangle()
    }

    /// Whether a fiber holds the values of an interval of coordinates, one per coordinate, and nothing else.
    pub fn is_interval(self) -> bool {
        matches!(self.looplet(), Looplet::Sequence(phases) if phases.contains(&Looplet::FILL))
    }

    /// Whether a fiber is an interval of few coordinates, as a band's row.
    pub fn is_narrow(self) -> bool {
        self.is_interval() && self.is_short()
    }

    /// Whether the position of a coordinate, if it has one, is computed in constant time.
    pub fn is_computed(self) -> bool {
        self.is_located() || self.is_interval() || self.is_mirrored()
    }

    /// Whether the level's positions are those of a triangle, below a dense level of an equal extent.
    pub fn is_triangle(self) -> bool {
        self.triangle().is_some()
    }

    /// The triangle whose positions the level has, if any.
    pub fn triangle(self) -> Option<Triangle> {
        self.of().triangle()
    }

    /// Whether a value at (i, j), with i the parent's coordinate, is also the value at (j, i).
    pub fn is_mirrored(self) -> bool {
        matches!(self.looplet(), Looplet::Sequence([_, Looplet::Lookup(Values::Mirrored)]))
    }

    /// Whether the level stores places rather than entries: positions between entries hold fill values.
    pub fn pads(self) -> bool {
        let exact = match self.looplet() {
            Looplet::Stepper(part) => matches!(part, Looplet::Spike | Looplet::Sequence([_, Looplet::VALUES])),
            looplet => looplet == Looplet::Lookup(Values::Computed),
        };
        !exact && !self.is_flagged()
    }

    /// Whether a position may stand for several coordinates.
    pub fn shares(self) -> bool {
        self.looplet().shares()
    }

    /// Whether a fiber lists the ends of its pieces, in ascending order: runs, blocks, or both.
    pub fn is_stepped(self) -> bool {
        matches!(self.looplet(), Looplet::Stepper(part) if *part != Looplet::Spike)
    }

    /// Whether a fiber's pieces are runs, with a position for each.
    pub fn is_in_runs(self) -> bool {
        matches!(self.looplet(), Looplet::Stepper(Looplet::Run(_)))
    }

    /// Whether a fiber's pieces are blocks, with a position for each coordinate, and nothing is stored between them.
    pub fn is_in_blocks(self) -> bool {
        matches!(self.looplet(), Looplet::Stepper(Looplet::Sequence(_)))
    }

    /// Whether the level has no arrays: its values are computed on demand.
    pub fn is_called(self) -> bool {
        self.looplet() == Looplet::Lookup(Values::Computed)
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<LevelKind> {
        LevelKind::ALL.into_iter().find(|k| k.name() == name)
    }
}

/// Checks a list's `pos` and `crd`; each coordinate of a fiber is distinct.
fn check_list<'t>(at: At<'t>, above: &Above<'t>) -> Result<Above<'t>, Malformed> {
    let [pos, crd] = at.arrays();
    list::check(at.l, pos, crd, at.extent(), above)?;
    Ok(Above::of(crd.len() as u64))
}
