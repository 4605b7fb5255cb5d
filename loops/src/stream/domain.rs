//! The operations that iterators use, common to running and emitting.

/// A buffer of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BufferId(pub u32);

/// A variable that belongs to an iterator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State(pub u32);

/// Arithmetic on coordinates, positions and hashes of them; it wraps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Arith {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Min,
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Shift to the left.
    Shl,
    /// Arithmetic shift to the right: the sign stays.
    Shr,
}

/// Comparisons of coordinates and positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Compare {
    Lt,
    Le,
    Eq,
    Ne,
}

/// The number of elements that [`Domain::among`] compares at once.
pub const LANES: i64 = 8;

/// The searches of [`Domain::among`]. Each gives the number of the first matching lane, counted from `begin`, else [`LANES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sought {
    /// The first element before `end` that is the target.
    Target,
    /// The first element that is not below the target, or `end`: the number of elements below.
    NotBelow,
    /// The first element that is not the target, or `end`: the number of equal elements.
    Other,
}

impl Sought {
    /// All searches.
    pub const ALL: [Sought; 3] = [Sought::Target, Sought::NotBelow, Sought::Other];

    /// The search's name in the text of kernels.
    pub fn name(self) -> &'static str {
        match self {
            Sought::Target => "among",
            Sought::NotBelow => "below",
            Sought::Other => "alike",
        }
    }

    /// The lane found, given `[begin, end, target]`. Loads every element before `end`, also behind the lane found, as hardware does that
    /// compares all lanes at once.
    ///
    /// # Errors
    /// Errors of `load`.
    pub fn of<E>(self, places: [i64; 3], mut load: impl FnMut(i64) -> Result<i64, E>) -> Result<i64, E> {
        let [begin, end, target] = places;
        let lanes = end.saturating_sub(begin).clamp(0, LANES);
        let mut found = if self == Sought::Target { LANES } else { lanes };
        // Runs from the last lane to the first, so that the first match remains.
        for k in (0..lanes).rev() {
            let element = load(begin + k)?;
            let is_it = match self {
                Sought::Target => element == target,
                Sought::NotBelow => element >= target,
                Sought::Other => element != target,
            };
            if is_it {
                found = k;
            }
        }
        Ok(found)
    }

    /// The search with this name.
    pub fn named(name: &str) -> Option<Sought> {
        Sought::ALL.into_iter().find(|sought| sought.name() == name)
    }
}

/// Where iterators run. `I` is a coordinate or position, `B` a truth value.
///
/// In `Concrete` a read is a snapshot; in `Symbolic` it is an expression that is evaluated where it is used. The two agree as long as no
/// expression is used after a variable that it reads was set ([`Domain::snapshot`] keeps a value). With debug assertions, `Symbolic`
/// panics at such a use.
pub trait Domain: Sized {
    /// A coordinate or position.
    type I: Clone;
    /// A truth value.
    type B: Clone;

    /// A constant.
    fn int(&mut self, c: i64) -> Self::I;
    /// A new variable with this initial value.
    fn state(&mut self, name: &str, init: Self::I) -> State;
    /// The value of a variable.
    fn get(&mut self, s: State) -> Self::I;
    /// Sets a variable.
    fn set(&mut self, s: State, x: Self::I);
    /// The current value, unaffected by later sets.
    fn snapshot(&mut self, name: &str, x: Self::I) -> Self::I;
    /// An element of an array of positions or coordinates.
    fn load(&mut self, array: BufferId, i: &Self::I) -> Self::I;
    /// The number, from `begin` on, of the first `sought` element among the next [`LANES`](super::LANES) before `end`; `places` are
    /// `[begin, end, target]`. [`Expr::Among`](crate::Expr::Among) says the result where there is none.
    fn among(&mut self, sought: Sought, array: BufferId, places: [&Self::I; 3]) -> Self::I;
    /// Sets an element of a table of positions.
    fn store(&mut self, table: BufferId, i: &Self::I, x: &Self::I);
    /// The number of elements for which an array has room.
    fn capacity(&mut self, array: BufferId) -> Self::I;
    /// The number of the lowest bit that is set; 64 if none is.
    fn trailing_zeros(&mut self, x: &Self::I) -> Self::I;
    /// Arithmetic.
    fn arith(&mut self, op: Arith, a: &Self::I, b: &Self::I) -> Self::I;
    /// Comparison.
    fn compare(&mut self, op: Compare, a: &Self::I, b: &Self::I) -> Self::B;
    /// The current truth value, unaffected by later sets.
    fn snapshot_bool(&mut self, name: &str, b: Self::B) -> Self::B;
    /// Conjunction; the second is evaluated only if the first holds, and has no effects.
    fn and(&mut self, a: Self::B, b: &dyn Fn(&mut Self) -> Self::B) -> Self::B;
    /// Negation.
    fn not(&mut self, a: Self::B) -> Self::B;
    /// Disjunction; the second is evaluated only if the first does not hold.
    fn or(&mut self, a: Self::B, b: Self::B) -> Self::B;
    /// 1 if it holds, else 0.
    fn to_int(&mut self, b: &Self::B) -> Self::I;
    /// `t` where `c` holds, else `e`; `t` is evaluated only where it is needed, and has no effects.
    fn select(&mut self, c: &Self::B, t: &dyn Fn(&mut Self) -> Self::I, e: Self::I) -> Self::I;
    /// A conditional.
    fn branch(&mut self, c: Self::B, t: &mut dyn FnMut(&mut Self), e: &mut dyn FnMut(&mut Self));
    /// A loop while a condition holds. `Symbolic` calls condition and body once.
    fn repeat(&mut self, c: &dyn Fn(&mut Self) -> Self::B, body: &mut dyn FnMut(&mut Self));
    /// A counted loop, ascending. `Symbolic` calls the body once.
    fn count(&mut self, name: &str, lo: Self::I, hi: Self::I, body: &mut dyn FnMut(&mut Self, Self::I));

    /// An element of an array of flags.
    fn flag(&mut self, flags: BufferId, i: &Self::I) -> Self::B {
        let (element, zero) = (self.load(flags, i), self.int(0));
        self.compare(Compare::Ne, &element, &zero)
    }

    /// Sets an element of an array of flags.
    fn mark(&mut self, flags: BufferId, i: &Self::I, is: bool) {
        let is = self.int(is.into());
        self.store(flags, i, &is);
    }

    /// Adds to a variable: `s := s + x`.
    fn advance(&mut self, s: State, x: Self::I) {
        let old = self.get(s);
        let new = self.arith(Arith::Add, &old, &x);
        self.set(s, new);
    }
}
