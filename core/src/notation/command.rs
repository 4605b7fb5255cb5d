//! Schedule commands: one list, over names as they are written, and over index variables and tensors once these are known.
//!
//! ```text
//!  syntax   Kind<Ident, Ident, syntax::TensorCommand>          split(i -> i0, i1, 16)
//!     │ check: `Kind::resolved`
//!     ▼
//!  typed    Kind<VarId, TensorId, typed::TensorCommand>        the same, of variables 3, 7 and 8
//! ```
//!
//! What each command does, and when it may, its file in `schedule` says.

use std::fmt::{self, Display, Formatter};

/// A schedule command of `docs/language.md`. `V` names an index variable, `T` a tensor; `C` are the commands on tensors.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Kind<V, T, C> {
    /// `none`: the planner chooses nothing.
    None,
    /// `pos(i -> p, T)`: the loop counts entries of a tensor.
    Pos { from: V, to: V, tensor: T },
    /// `coord(p -> i)`
    Coord { from: V, to: V },
    /// `collapse(i, j -> f)`
    Collapse { from: (V, V), to: V },
    /// `split(i -> i0, i1, n)`, `split_up(i -> i0, i1, n)`
    Split { from: V, to: (V, V), parts: Parts },
    /// `reorder(i, j, …)`
    Reorder(Vec<V>),
    /// `bound(i, n)`
    Bound(V, u64),
    /// `unroll(i, n)`
    Unroll(V, u64),
    /// `parallelize(i, cpu_thread, atomics)`
    Parallelize(V, Unit, Race),
    /// `weigh(i, T, …)`
    Weigh { var: V, tensors: Vec<T> },
    /// A command that makes, copies or reads tensors.
    Tensor(C),
}

/// How a loop is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// Into parts of so many iterations: `split`.
    Of(u64),
    /// Into so many parts: `split_up`.
    Into(u64),
}

/// What a parallel loop runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Unit {
    CpuThread,
    CpuVector,
    GpuBlock,
    GpuWarp,
    GpuThread,
}

/// What keeps parallel iterations apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Race {
    NoRaces,
    Atomics,
    Temporary,
    ParallelReduction,
}

impl<V, T, C> Kind<V, T, C> {
    /// The index variables that the command uses, and those that it defines; of a command on tensors, none.
    pub fn vars(&self) -> (Vec<&V>, Vec<&V>) {
        match self {
            Kind::None | Kind::Tensor(_) => (vec![], vec![]),
            Kind::Pos { from, to, .. } | Kind::Coord { from, to } => (vec![from], vec![to]),
            Kind::Collapse { from, to } => (vec![&from.0, &from.1], vec![to]),
            Kind::Split { from, to, .. } => (vec![from], vec![&to.0, &to.1]),
            Kind::Reorder(vars) => (vars.iter().collect(), vec![]),
            Kind::Bound(var, _) | Kind::Unroll(var, _) | Kind::Parallelize(var, ..) | Kind::Weigh { var, .. } => {
                (vec![var], vec![])
            }
        }
    }

    /// The command over other names; `None` if one of them has none.
    pub fn resolved<W, U, D>(
        &self,
        var: &mut dyn FnMut(&V) -> Option<W>,
        tensor: &mut dyn FnMut(&T) -> Option<U>,
        command: impl FnOnce(&C) -> Option<D>,
    ) -> Option<Kind<W, U, D>> {
        Some(match self {
            Kind::None => Kind::None,
            Kind::Pos { from, to, tensor: of } => {
                let of = tensor(of);
                Kind::Pos { from: var(from)?, to: var(to)?, tensor: of? }
            }
            Kind::Coord { from, to } => Kind::Coord { from: var(from)?, to: var(to)? },
            Kind::Collapse { from, to } => Kind::Collapse { from: (var(&from.0)?, var(&from.1)?), to: var(to)? },
            Kind::Split { from, to, parts } => {
                Kind::Split { from: var(from)?, to: (var(&to.0)?, var(&to.1)?), parts: *parts }
            }
            Kind::Reorder(vars) => Kind::Reorder(vars.iter().map(var).collect::<Option<_>>()?),
            Kind::Bound(v, n) => Kind::Bound(var(v)?, *n),
            Kind::Unroll(v, n) => Kind::Unroll(var(v)?, *n),
            Kind::Parallelize(v, unit, race) => Kind::Parallelize(var(v)?, *unit, *race),
            Kind::Weigh { var: of, tensors } => {
                // All that is unknown is said.
                let tensors: Vec<Option<U>> = tensors.iter().map(tensor).collect();
                Kind::Weigh { var: var(of)?, tensors: tensors.into_iter().collect::<Option<_>>()? }
            }
            Kind::Tensor(of) => Kind::Tensor(command(of)?),
        })
    }
}

/// Items with commas between them.
fn list(items: &[impl Display]) -> String {
    items.iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

impl<V: Display, T: Display, C: Display> Display for Kind<V, T, C> {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Kind::None => f.write_str("none"),
            Kind::Pos { from, to, tensor } => write!(f, "pos({from} -> {to}, {tensor})"),
            Kind::Coord { from, to } => write!(f, "coord({from} -> {to})"),
            Kind::Collapse { from, to } => write!(f, "collapse({}, {} -> {to})", from.0, from.1),
            Kind::Split { from, to, parts } => {
                let (up, n) = match parts {
                    Parts::Of(n) => ("", n),
                    Parts::Into(n) => ("_up", n),
                };
                write!(f, "split{up}({from} -> {}, {}, {n})", to.0, to.1)
            }
            Kind::Reorder(vars) => write!(f, "reorder({})", list(vars)),
            Kind::Bound(v, n) => write!(f, "bound({v}, {n})"),
            Kind::Unroll(v, n) => write!(f, "unroll({v}, {n})"),
            Kind::Parallelize(v, unit, race) => write!(f, "parallelize({v}, {unit}, {race})"),
            Kind::Weigh { var, tensors } => write!(f, "weigh({var}, {})", list(tensors)),
            Kind::Tensor(command) => command.fmt(f),
        }
    }
}
