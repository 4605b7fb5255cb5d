//! The types of the loop language.

use crate::algebra::{Op, Type, Value};
pub use crate::format::Holds;
use crate::format::{Arrays, Format};
pub use crate::notation::concrete::Asked;
use crate::notation::typed::{SizeId, TensorId, VarId};
use crate::stream::{BufferId, Sought};
use std::collections::{BTreeMap, BTreeSet};

/// A scalar variable of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Var(pub u32);

/// A kernel: what one call computes from operands and extents.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Its name, an identifier.
    pub name: String,
    /// Names and types of all variables.
    pub vars: Vec<(String, Type)>,
    /// Variables that the caller sets, all `i64`: extents, not negative.
    pub params: Vec<Var>,
    /// Buffers.
    pub buffers: Vec<Buffer>,
    /// What runs.
    pub body: Vec<Stmt>,
    /// The program's tensors: which buffers and params are theirs.
    pub arguments: Vec<Argument>,
    /// Params that are extents of no tensor, each with an index variable of the typed program that has the extent. No formula computes
    /// them from the other params: a quotient by 0 determines nothing, and another equation may.
    pub solved: Vec<(Var, VarId)>,
    /// Params that are extents of no tensor, and sizes that the caller says.
    pub given: Vec<(Var, SizeId)>,
    /// Float sums may be reassociated and contracted (algebraic mode).
    pub reassociate: bool,
    /// What a schedule asks of `for` loops, by their variables.
    pub asked: BTreeMap<Var, Asked>,
}

/// An array in memory. Distinct buffers never overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Its name, for people: `A1_pos`.
    pub name: String,
    /// Element type.
    pub ty: Type,
    /// Who owns it.
    pub role: Role,
}

/// Who owns a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The caller; read only; its length is known at the call.
    Operand,
    /// Made by the kernel, given to the caller.
    Result,
    /// Made by the kernel, dropped at its end.
    Workspace,
}

/// How a tensor of the program is passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The tensor in the typed program.
    pub tensor: TensorId,
    /// Its name.
    pub name: String,
    /// Element type.
    pub ty: Type,
    /// Its format.
    pub format: Format,
    /// Its fill value.
    pub fill: Value,
    /// Parameter that holds each mode's extent, in the order of declaration. Tensors may share one.
    pub extents: Vec<Var>,
    /// Arrays of each level, in storage order.
    pub levels: Vec<LevelBuffers>,
    /// The values.
    pub values: BufferId,
    /// Whether the caller gives it (else the kernel makes it).
    pub operand: bool,
}

/// The buffers of a level.
pub type LevelBuffers = Arrays<BufferId>;

impl LevelBuffers {
    /// Its buffers in storage order, each with what its elements are.
    pub fn buffers(&self) -> impl Iterator<Item = (BufferId, Holds)> {
        self.holding().map(|(buffer, holds)| (*buffer, holds))
    }

    /// The first of its buffers that holds this.
    pub fn array(&self, what: Holds) -> Option<BufferId> {
        self.first(what).copied()
    }
}

/// An expression. No side effects; both arguments of `AndAlso` and `OrElse` and all of `Select` may be evaluated only
/// where needed: these three guard loads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A constant.
    Const(Value),
    /// A variable.
    Var(Var),
    /// An element; the index is an `i64` and in bounds.
    Load(BufferId, Box<Expr>),
    /// The lane, among the next [`LANES`](crate::stream::LANES) elements, of the first that is sought; from `begin`, `end` and a
    /// target, all `i64`. An `i64`. Elements are `i32` or `i64`, and in bounds; nothing at or behind `end` is read.
    Among(Sought, BufferId, Box<[Expr; 3]>),
    /// A built-in function, typed as `algebra::Op` says. Never `Coalesce`.
    Op(Op, Vec<Expr>),
    /// Number of elements for which a result or workspace has room; an operand's length. An `i64`.
    Capacity(BufferId),
}

impl Expr {
    /// Calls `f` with the expression and all its parts, each before its own parts.
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

    /// Whether it reads elements of a buffer.
    pub fn loads_from(&self, b: BufferId) -> bool {
        let mut found = false;
        self.each(&mut |e| found |= matches!(e, Expr::Load(from, _) | Expr::Among(_, from, _) if *from == b));
        found
    }

    /// The expression with variables replaced by those in `now`.
    pub fn renamed(&self, now: &BTreeMap<Var, Var>) -> Expr {
        match self {
            Expr::Var(v) => Expr::Var(*now.get(v).unwrap_or(v)),
            Expr::Load(b, at) => Expr::Load(*b, Box::new(at.renamed(now))),
            Expr::Among(sought, b, parts) => {
                Expr::Among(*sought, *b, Box::new(parts.each_ref().map(|part| part.renamed(now))))
            }
            Expr::Op(op, args) => Expr::Op(*op, args.iter().map(|arg| arg.renamed(now)).collect()),
            Expr::Const(_) | Expr::Capacity(_) => self.clone(),
        }
    }

    /// Whether it reads a buffer.
    pub fn loads(&self) -> bool {
        let mut found = false;
        self.each(&mut |e| found |= matches!(e, Expr::Load(..) | Expr::Among(..)));
        found
    }

    /// Whether the expression reads one of some variables.
    fn mentions(&self, vars: &BTreeSet<Var>) -> bool {
        let mut found = false;
        self.each(&mut |e| found |= matches!(e, Expr::Var(v) if vars.contains(v)));
        found
    }

    /// Whether it loads at an index that is itself loaded, directly or through one of `named`.
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
    /// Defines a variable that does not change until its block is left or begun anew.
    Let(Var, Expr),
    /// Sets a variable that may change.
    Set(Var, Expr),
    /// Sets an element; the index is in bounds.
    Store(BufferId, Expr, Expr),
    /// Both blocks may be empty.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// While the condition holds.
    While(Expr, Vec<Stmt>),
    /// `for var in lo..hi`, ascending by one, bounds evaluated once; none if `lo >= hi`. The variable is unchangeable
    /// in the body and undefined after the loop.
    For {
        /// The loop variable, an `i64`.
        var: Var,
        /// First value.
        lo: Expr,
        /// One past the last.
        hi: Expr,
        /// How iterations run.
        how: How,
        /// What runs.
        body: Vec<Stmt>,
    },
    /// A runtime entry point.
    Call(Entry),
    /// A line for people.
    Comment(String),
}

impl Kernel {
    /// The variables of its `for` loops.
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

/// Whether a loop's body loads at an index that it has loaded, in the same expression or through a name.
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

/// Whether a loop's body makes buffers: the loop is a block of the program, and each turn runs all loops of some statements.
pub fn runs_statements(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Call(entry) => matches!(entry, Entry::Alloc { .. } | Entry::Move { .. }),
        _ => stmt.blocks().any(runs_statements),
    })
}

impl Stmt {
    /// Its own expressions, in the order in which they are evaluated; not those of its blocks.
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

    /// Its blocks.
    pub fn blocks(&self) -> impl Iterator<Item = &[Stmt]> {
        let (first, second): (Option<&[Stmt]>, Option<&[Stmt]>) = match self {
            Stmt::If(_, yes, no) => (Some(yes), Some(no)),
            Stmt::While(_, body) | Stmt::For { body, .. } => (Some(body), None),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }
}

/// How a loop's iterations run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// One after the other.
    Serial,
    /// Iterations are independent but for reassociable sums: machine code may run them as lanes.
    Vector,
    /// Iterations are independent. No pass emits it, and machine code runs it serially.
    Parallel,
}

/// The closed set of runtime entry points. Each but `SortInto` can fail (no memory, a limit), which ends the kernel with an error.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Makes the buffer anew with room for exactly `len` elements, each `fill`; `None` leaves them unset.
    Alloc {
        /// A result or workspace.
        buffer: BufferId,
        /// Elements; 0 if negative. Of `i64::MIN`, which is one more than the greatest number, memory has none.
        len: Expr,
        /// What they hold.
        fill: Option<Value>,
    },
    /// Makes room for at least `len` elements (and, if it must grow, for at least twice as many as before); what was
    /// there stays, the rest is unset.
    Reserve {
        /// A result or workspace, allocated before.
        buffer: BufferId,
        /// Elements.
        len: Expr,
    },
    /// Sets the final length of a result, or of what moves to one; all elements up to it are set, and there is room for them.
    Finish {
        /// A result or workspace.
        buffer: BufferId,
        /// Elements.
        len: Expr,
    },
    /// Gives `to` the elements, the room and, if it is finished, the length of `from`, in constant time. `from` is not allocated
    /// afterwards; its next allocation reuses the memory that `to` had.
    Move {
        /// A result or workspace.
        to: BufferId,
        /// Another of the same type, allocated before.
        from: BufferId,
    },
    /// Sorts elements `0..len` of `keys`, ascending and stably. `order` gets the index that each key had before.
    Sort {
        /// A workspace of `i64`.
        keys: BufferId,
        /// A workspace of `i64`.
        order: BufferId,
        /// Elements.
        len: Expr,
    },
    /// Writes elements `0..len` of `keys` to `into`, ascending, from `at` on. What follows there stays.
    SortInto {
        /// A workspace of `i32` or `i64`.
        keys: BufferId,
        /// Another buffer, of the same type: a result or workspace with room for them.
        into: BufferId,
        /// Where the first goes.
        at: Expr,
        /// Elements, at most [`Entry::FEW`].
        len: Expr,
    },
    /// Ends the kernel with an error.
    Fail(Failure),
}

impl Entry {
    /// The most elements that [`Entry::SortInto`] sorts: as many as fit a core's vector registers.
    pub const FEW: i64 = 128;

    /// The same with others in the place of its expressions.
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

    /// The buffers that it works on.
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

/// Why a kernel stops before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Failure {
    /// Memory or the memory limit does not suffice.
    Memory,
    /// A product of extents or a number of elements does not fit its integer type.
    Overflow,
    /// A 32-bit position array would have to hold a larger number: compile for 64-bit positions.
    Positions,
    /// A step limit.
    Steps,
    /// A coordinate that was read from a tensor is outside of the extent that it indexes.
    Outside,
    /// A result that has an operand's values has another number of entries: a defect of the compiler.
    Entries,
    /// The limit on turns of the program's blocks.
    Turns,
    /// A value that is not the fill value stands where its result's format has no place.
    Unheld,
}

impl Failure {
    /// All of them.
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
