//! The types of the loop language.

use crate::stream::{BufferId, Sought};
use fiberloom_core::algebra::{Op, Type, Value};
pub use fiberloom_core::format::Holds;
use fiberloom_core::format::{Arrays, Format};
pub use fiberloom_core::notation::concrete::{Claim, Deal, Hints};
use fiberloom_core::notation::typed::{SizeId, TensorId, VarId};
use std::collections::{BTreeMap, BTreeSet};

/// A scalar variable of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Var(pub u32);

/// A kernel: what one call computes from operands and extents.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The kernel's name, an identifier.
    pub name: String,
    /// The names and types of all variables.
    pub vars: Vec<(String, Type)>,
    /// The variables that the caller sets, all `i64`: extents, which are not negative.
    pub params: Vec<Var>,
    /// The buffers.
    pub buffers: Vec<Buffer>,
    /// The statements.
    pub body: Vec<Stmt>,
    /// The program's tensors, with their buffers and params.
    pub arguments: Vec<Argument>,
    /// Params that are not extents of tensors, each with an index variable of the typed program that has the extent. The caller solves
    /// for them, as formulas from the other params do not suffice: a quotient by 0 determines nothing, where another equation may.
    pub solved: Vec<(Var, VarId)>,
    /// Params that are not extents of tensors, with the sizes that the caller gives.
    pub given: Vec<(Var, SizeId)>,
    /// Whether float sums may be reassociated and contracted (algebraic mode).
    pub reassociate: bool,
    /// A schedule's requests for `for` loops, by their variables.
    pub hints: BTreeMap<Var, Hints>,
}

/// An array in memory. Distinct buffers never overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// The name, for people: `A1_pos`.
    pub name: String,
    /// The element type.
    pub ty: Type,
    /// The owner.
    pub role: Role,
    /// Whether it is a workspace that is *private* to the iterations of a loop: one that touches it leaves it as it was, or sets what it
    /// reads of it before. So threads may have copies of it.
    pub private: bool,
}

/// The owner of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The caller: read only; its length is known at the call.
    Operand,
    /// The kernel, which returns it to the caller.
    Result,
    /// The kernel, which frees it at its end.
    Workspace,
}

/// The buffers and params with which a tensor of the program is passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The tensor in the typed program.
    pub tensor: TensorId,
    /// The tensor's name.
    pub name: String,
    /// The element type.
    pub ty: Type,
    /// The tensor's format.
    pub format: Format,
    /// The tensor's fill value.
    pub fill: Value,
    /// The parameter with each mode's extent, in the order of declaration. Tensors may share one.
    pub extents: Vec<Var>,
    /// The arrays of each level, in storage order.
    pub levels: Vec<LevelBuffers>,
    /// The array of values.
    pub values: BufferId,
    /// Whether the tensor is an operand; else it is a result.
    pub operand: bool,
}

/// The buffers of a level.
pub type LevelBuffers = Arrays<BufferId>;

/// An expression, without side effects. The arguments of `AndAlso`, `OrElse` and `Select` may be evaluated only where they are needed, so
/// these three guard loads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A constant.
    Const(Value),
    /// A variable.
    Var(Var),
    /// An element; the index is an `i64` and in bounds.
    Load(BufferId, Box<Expr>),
    /// The lane of the first `Sought` element among the next [`LANES`](crate::stream::LANES); the arguments are `begin`, `end` and a
    /// target, all `i64`. The value is an `i64`. Elements are `i32` or `i64`, and in bounds; nothing at or behind `end` is read.
    Among(Sought, BufferId, Box<[Expr; 3]>),
    /// A built-in function, typed as `algebra::Op` says. Never `Coalesce`.
    Op(Op, Vec<Expr>),
    /// The number of elements for which a result or workspace has room; an operand's length. An `i64`.
    Capacity(BufferId),
}

impl Expr {
    /// Calls `f` with the expression and all its parts, outermost first.
    pub fn each(&self, f: &mut dyn FnMut(&Expr)) {
        f(self);
        match self {
            Expr::Load(_, at) => at.each(f),
            Expr::Among(_, _, parts) => parts.iter().for_each(|part| part.each(f)),
            Expr::Op(_, args) => args.iter().for_each(|arg| arg.each(f)),
            Expr::Const(_) | Expr::Var(_) | Expr::Capacity(_) => {}
        }
    }

    /// Whether the expression reads a variable.
    pub fn reads(&self, v: Var) -> bool {
        let mut found = false;
        self.each(&mut |e| found |= *e == Expr::Var(v));
        found
    }

    /// Whether the expression reads elements of a buffer.
    pub fn loads_from(&self, b: BufferId) -> bool {
        let mut found = false;
        self.each(&mut |e| found |= matches!(e, Expr::Load(from, _) | Expr::Among(_, from, _) if *from == b));
        found
    }

    /// The expression with parts replaced by what `by` makes of them, from the outermost in.
    pub(crate) fn with(&self, by: &dyn Fn(&Expr) -> Option<Expr>) -> Expr {
        by(self).unwrap_or_else(|| match self {
            Expr::Load(b, at) => Expr::Load(*b, Box::new(at.with(by))),
            Expr::Among(sought, b, parts) => {
                Expr::Among(*sought, *b, Box::new(parts.each_ref().map(|part| part.with(by))))
            }
            Expr::Op(op, args) => Expr::Op(*op, args.iter().map(|arg| arg.with(by)).collect()),
            Expr::Const(_) | Expr::Var(_) | Expr::Capacity(_) => self.clone(),
        })
    }

    /// The expression with variables replaced by those in `now`.
    pub fn renamed(&self, now: &BTreeMap<Var, Var>) -> Expr {
        self.with(&|e| if let Expr::Var(v) = e { now.get(v).copied().map(Expr::Var) } else { None })
    }

    /// Whether the expression reads a buffer.
    pub fn loads(&self) -> bool {
        let mut found = false;
        self.each(&mut |e| found |= matches!(e, Expr::Load(..) | Expr::Among(..)));
        found
    }

    /// Whether the expression reads one of these variables.
    fn mentions(&self, vars: &BTreeSet<Var>) -> bool {
        let mut found = false;
        self.each(&mut |e| found |= matches!(e, Expr::Var(v) if vars.contains(v)));
        found
    }

    /// Whether the expression loads at an index that is itself loaded, directly or through one of `named`.
    fn gathers(&self, named: &BTreeSet<Var>) -> bool {
        match self {
            Expr::Load(_, at) => at.loads() || at.mentions(named),
            Expr::Among(_, _, parts) => parts[0].loads() || parts[1].loads() || parts[2].gathers(named),
            Expr::Op(_, args) => args.iter().any(|arg| arg.gathers(named)),
            Expr::Const(_) | Expr::Var(_) | Expr::Capacity(_) => false,
        }
    }
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// Defines a variable that does not change until its block ends or begins again.
    Let(Var, Expr),
    /// Sets a variable that may change.
    Set(Var, Expr),
    /// Sets an element; the index has to be in bounds.
    Store(BufferId, Expr, Expr),
    /// Both blocks may be empty.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// Runs a block while the condition holds.
    While(Expr, Vec<Stmt>),
    /// `for var in lo..hi`, ascending by one, bounds evaluated once; none if `lo >= hi`. The variable is unchangeable
    /// in the body and undefined after the loop.
    For {
        /// The loop variable, an `i64`.
        var: Var,
        /// The first value.
        lo: Expr,
        /// One past the last value.
        hi: Expr,
        /// The way in which iterations run.
        how: How,
        /// The body.
        body: Vec<Stmt>,
    },
    /// Calls a runtime entry point.
    Call(Entry),
    /// A comment for people.
    Comment(String),
}

impl Kernel {
    /// Whether some loop may run on threads.
    pub fn is_parallel(&self) -> bool {
        fn has(stmt: &Stmt) -> bool {
            matches!(stmt, Stmt::For { how: How::Parallel { .. }, .. }) || stmt.blocks().flatten().any(has)
        }
        self.body.iter().any(has)
    }

    /// The variables of the kernel's `for` loops.
    pub fn loops(&self) -> BTreeSet<Var> {
        fn visit(block: &[Stmt], all: &mut BTreeSet<Var>) {
            for stmt in block {
                if let Stmt::For { var, .. } = stmt {
                    all.insert(*var);
                }
                stmt.blocks().for_each(|inner| visit(inner, all));
            }
        }
        let mut all = BTreeSet::new();
        visit(&self.body, &mut all);
        all
    }
}

/// Whether a loop's body loads at an index that is loaded, in the same expression or through a name.
pub fn gathers(body: &[Stmt]) -> bool {
    let mut named = BTreeSet::new();
    body.iter().any(|stmt| {
        let found = stmt.exprs().any(|e| e.gathers(&named));
        if let Stmt::Let(v, e) = stmt
            && e.loads()
        {
            named.insert(*v);
        }
        found
    })
}

/// Whether a loop's body allocates buffers: the loop is a block of the program, and each iteration runs all loops of some statements.
pub fn runs_statements(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Call(entry) => matches!(entry, Entry::Alloc { .. } | Entry::Move { .. }),
        _ => stmt.blocks().any(runs_statements),
    })
}

impl Stmt {
    /// The statement's own expressions, in the order in which they are evaluated; not those of its blocks.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let (first, second) = match self {
            Stmt::Let(_, e) | Stmt::Set(_, e) | Stmt::If(e, ..) | Stmt::While(e, _) => (Some(e), None),
            Stmt::Store(_, at, e) => (Some(at), Some(e)),
            Stmt::For { lo, hi, .. } => (Some(lo), Some(hi)),
            Stmt::Call(entry) => match entry {
                Entry::Alloc { len, .. } | Entry::Reserve { len, .. } | Entry::Finish { len, .. } => (Some(len), None),
                Entry::Sort { len, .. } => (Some(len), None),
                Entry::SortInto { at, len, .. } => (Some(at), Some(len)),
                Entry::Move { .. } | Entry::Fail(_) => (None, None),
            },
            Stmt::Comment(_) => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// Calls `f` with each variable that the statement sets, in its blocks too, and the expression.
    pub fn each_set<'s>(&'s self, f: &mut dyn FnMut(Var, &'s Expr)) {
        if let Stmt::Set(v, e) = self {
            f(*v, e);
        }
        self.blocks().flatten().for_each(|stmt| stmt.each_set(f));
    }

    /// The statement's blocks.
    pub fn blocks(&self) -> impl Iterator<Item = &[Stmt]> {
        let (first, second): (Option<&[Stmt]>, Option<&[Stmt]>) = match self {
            Stmt::If(_, yes, no) => (Some(yes), Some(no)),
            Stmt::While(_, body) | Stmt::For { body, .. } => (Some(body), None),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }
}

/// The way in which a loop's iterations run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// One after the other.
    Serial,
    /// Independent iterations, except for reassociable sums: machine code may run them as lanes.
    Vector,
    /// Independent iterations, which threads may run in any order.
    Parallel {
        /// Workspaces of which each thread has a copy, as it is before the loop. An iteration reads of them what it has written, or what it
        /// finds there unless another iteration has changed it. Behind the loop they are as before it, where no iteration has changed them.
        own: Vec<BufferId>,
        /// Arrays to which iterations append. Each thread appends to arrays of its own, and counts from where it is; behind the loop, what
        /// iterations have appended stands in their order, and counters have the values that serial iterations give them.
        joined: Vec<Joined>,
        /// Variables into which iterations only fold, with one function each. Iterations run in pieces; in each, such a variable begins with
        /// the function's identity. Behind the loop it is its value before, and then the pieces' values, in order, folded.
        folded: Vec<Var>,
        /// Arrays into whose elements iterations only fold, in the same way.
        arrays: Vec<BufferId>,
    },
}

/// An array of which each iteration of a parallel loop makes a part: the elements from one index up to the index from which the next
/// iteration goes on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Joined {
    /// A result or workspace.
    pub array: BufferId,
    /// The index at which a part begins: a *counter*, which is a variable of type `i64` that iterations increase, or one more; or a number
    /// that the loop's variable and loop-invariant ones determine, linear in the former.
    pub from: Expr,
    /// The counter whose values the elements are, if they are a counter's.
    pub holds: Option<Var>,
}

impl Joined {
    /// The counter at which a part begins, and by how much behind it; `None` if the loop's variable says where.
    pub fn counter(&self, index: Var) -> Option<(Var, i64)> {
        match &self.from {
            Expr::Var(v) if *v != index => Some((*v, 0)),
            Expr::Op(Op::Add, args) => match &args[..] {
                [Expr::Var(v), Expr::Const(more)] if *v != index => Some((*v, more.bits() as i64)),
                _ => None,
            },
            _ => None,
        }
    }
}

impl How {
    /// A parallel loop without workspaces that threads have copies of, without counters and folds.
    pub fn apart() -> How {
        How::Parallel { own: vec![], joined: vec![], folded: vec![], arrays: vec![] }
    }

    /// Whether each iteration of a parallel loop is by itself, but for elements that all fold into: those that [`How::arrays`] names.
    pub fn is_apart(&self) -> bool {
        matches!(self, How::Parallel { own, joined, folded, .. } if own.is_empty() && joined.is_empty() && folded.is_empty())
    }

    /// The arrays to which iterations append.
    pub fn joined(&self) -> &[Joined] {
        if let How::Parallel { joined, .. } = self { joined } else { &[] }
    }

    /// The variables into which the iterations of a parallel loop fold.
    pub fn folded(&self) -> &[Var] {
        if let How::Parallel { folded, .. } = self { folded } else { &[] }
    }

    /// The arrays into whose elements the iterations of a parallel loop fold.
    pub fn arrays(&self) -> &[BufferId] {
        if let How::Parallel { arrays, .. } = self { arrays } else { &[] }
    }

    /// Whether the iterations of a parallel loop fold.
    pub fn folds(&self) -> bool {
        !(self.folded().is_empty() && self.arrays().is_empty())
    }

    /// The variables that count what iterations append, in order.
    pub fn counters(&self, index: Var) -> BTreeSet<Var> {
        let counters = self.joined().iter();
        counters.flat_map(|j| j.counter(index).map(|(v, _)| v).into_iter().chain(j.holds)).collect()
    }

    /// Whether machine code may run iterations as lanes.
    pub fn is_vector(&self) -> bool {
        *self == How::Vector
    }
}

/// The closed set of runtime entry points. All except `SortInto` can fail (no memory, a limit), which ends the kernel with an error.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Allocates the buffer again, with room for exactly `len` elements, each set to `fill`; `None` leaves them unset.
    Alloc {
        /// A result or workspace.
        buffer: BufferId,
        /// The number of elements; 0 if negative. `i64::MIN` is taken as more than memory has.
        len: Expr,
        /// The value of the elements.
        fill: Option<Value>,
    },
    /// Makes room for at least `len` elements (and, if the buffer must grow, for at least twice as many as before). Existing elements
    /// stay, the rest is unset.
    Reserve {
        /// A result or workspace, allocated before.
        buffer: BufferId,
        /// The number of elements.
        len: Expr,
    },
    /// Sets the final length of a result, or of a buffer that is moved to one; all elements up to it are set, and there is room for them.
    Finish {
        /// A result or workspace.
        buffer: BufferId,
        /// The number of elements.
        len: Expr,
    },
    /// Moves the elements, the room and, if it is finished, the length of `from` to `to`, in constant time. `from` is unallocated
    /// afterwards; its next allocation reuses the memory of `to`.
    Move {
        /// A result or workspace.
        to: BufferId,
        /// Another buffer of the same type, allocated before.
        from: BufferId,
    },
    /// Sorts elements `0..len` of `keys`, ascending and stably. `order` gets the original index of each key.
    Sort {
        /// A workspace of `i64`.
        keys: BufferId,
        /// A workspace of `i64`.
        order: BufferId,
        /// The number of elements.
        len: Expr,
    },
    /// Writes elements `0..len` of `keys` in ascending order to `into`, from `at` on. Elements behind them stay.
    SortInto {
        /// A workspace of `i32` or `i64`.
        keys: BufferId,
        /// Another buffer, of the same type: a result or workspace with enough room.
        into: BufferId,
        /// The index of the first element written.
        at: Expr,
        /// The number of elements, at most [`Entry::FEW`].
        len: Expr,
    },
    /// Ends the kernel with an error.
    Fail(Failure),
}

impl Entry {
    /// The most elements that [`Entry::SortInto`] sorts: as many as fit a core's vector registers.
    pub const FEW: i64 = 128;

    /// The entry with `f` applied to its expressions.
    pub(super) fn mapped(self, f: &dyn Fn(&Expr) -> Expr) -> Entry {
        match self {
            Entry::Alloc { buffer, len, fill } => Entry::Alloc { buffer, len: f(&len), fill },
            Entry::Reserve { buffer, len } => Entry::Reserve { buffer, len: f(&len) },
            Entry::Finish { buffer, len } => Entry::Finish { buffer, len: f(&len) },
            Entry::Sort { keys, order, len } => Entry::Sort { keys, order, len: f(&len) },
            Entry::SortInto { keys, into, at, len } => Entry::SortInto { keys, into, at: f(&at), len: f(&len) },
            Entry::Move { .. } | Entry::Fail(_) => self,
        }
    }

    /// The buffers that the entry uses.
    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        let (first, second) = match self {
            Entry::Alloc { buffer, .. } | Entry::Reserve { buffer, .. } | Entry::Finish { buffer, .. } => {
                (Some(*buffer), None)
            }
            Entry::Move { to, from } => (Some(*to), Some(*from)),
            Entry::Sort { keys, order, .. } => (Some(*keys), Some(*order)),
            Entry::SortInto { keys, into, .. } => (Some(*keys), Some(*into)),
            Entry::Fail(_) => (None, None),
        };
        first.into_iter().chain(second)
    }
}

/// The reason why a kernel stops before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Failure {
    /// Memory, or the limit on memory, does not suffice.
    Memory,
    /// A product of extents or a number of elements does not fit its integer type.
    Overflow,
    /// A 32-bit position array would have to hold a larger number: compile for 64-bit positions.
    Positions,
    /// The limit on steps is reached.
    Steps,
    /// A coordinate that was read from a tensor is outside of the extent of the mode that it indexes.
    Outside,
    /// A result that shares an operand's values has another number of entries: a defect of the compiler.
    Entries,
    /// The limit on iterations of the program's blocks is reached.
    Turns,
    /// A value that is not the fill value has no place in its result's format.
    Unheld,
}

impl Failure {
    /// All failures.
    pub const ALL: [Failure; 8] = [
        Failure::Memory,
        Failure::Overflow,
        Failure::Positions,
        Failure::Steps,
        Failure::Outside,
        Failure::Entries,
        Failure::Turns,
        Failure::Unheld,
    ];
}

/// An expression without a conversion around it.
pub fn bare(e: &Expr) -> &Expr {
    match e {
        Expr::Op(Op::Convert(_), args) => &args[0],
        _ => e,
    }
}

/// Statements with `f` applied to their expressions, in blocks too.
pub(crate) fn map_exprs(block: Vec<Stmt>, f: &dyn Fn(&Expr) -> Expr) -> Vec<Stmt> {
    let block = block.into_iter().map(|stmt| mapped(stmt, f)).collect();
    map_blocks(block, &mut |inner| map_exprs(inner, f))
}

/// A statement with `f` applied to its expressions; its blocks stay.
pub(crate) fn mapped(stmt: Stmt, f: &dyn Fn(&Expr) -> Expr) -> Stmt {
    match stmt {
        Stmt::Let(v, e) => Stmt::Let(v, f(&e)),
        Stmt::Set(v, e) => Stmt::Set(v, f(&e)),
        Stmt::Store(b, at, e) => Stmt::Store(b, f(&at), f(&e)),
        Stmt::If(e, yes, no) => Stmt::If(f(&e), yes, no),
        Stmt::While(e, body) => Stmt::While(f(&e), body),
        Stmt::For { var, lo, hi, how, body } => Stmt::For { var, lo: f(&lo), hi: f(&hi), how, body },
        Stmt::Call(entry) => Stmt::Call(entry.mapped(f)),
        Stmt::Comment(_) => stmt,
    }
}

/// The statements of a block, each with the blocks inside of it replaced by what `f` makes of them.
pub(crate) fn map_blocks(block: Vec<Stmt>, f: &mut dyn FnMut(Vec<Stmt>) -> Vec<Stmt>) -> Vec<Stmt> {
    let mut each = |mut stmt: Stmt| {
        match &mut stmt {
            Stmt::If(_, yes, no) => [yes, no].into_iter().for_each(|inner| *inner = f(std::mem::take(inner))),
            Stmt::While(_, inner) | Stmt::For { body: inner, .. } => *inner = f(std::mem::take(inner)),
            _ => {}
        }
        stmt
    };
    block.into_iter().map(&mut each).collect()
}
