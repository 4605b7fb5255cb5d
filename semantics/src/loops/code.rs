//! The form in which kernels are executed: names are resolved to places, types are checked once, scalars are bits.
//!
//! ```text
//!  Expr ──▶ Code    a tree over places of variables and buffers; frequent functions on i64 and f64 have variants of their own
//!  Stmt ──▶ Step    with the statement from which it was made, for messages
//! ```

use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_loops::{
    self, BufferId, Entry, Expr, How, Kernel, Sought, Stmt, Var, array_in_pieces, fold_in_pieces, private,
};

/// An expression. Its value is the bits of a [`Value`] of the expression's type.
#[derive(Debug)]
pub(super) enum Code {
    Const(u64),
    Var(usize),
    Load {
        buffer: usize,
        at: Box<Code>,
        /// Whether to widen the element from `i32` to `i64`.
        widen: bool,
    },
    /// A search among the next elements: the search, the buffer, whether its elements are `i32`, and `[begin, end, target]`.
    Among(Sought, usize, bool, Box<[Code; 3]>),
    Capacity(usize),
    /// A function of two `i64`s or two `f64`s.
    Fast(Fast, Box<[Code; 2]>),
    AndAlso(Box<[Code; 2]>),
    OrElse(Box<[Code; 2]>),
    Select(Box<[Code; 3]>),
    /// Any function, on arguments with their types.
    Apply(Op, Vec<(Type, Code)>),
}

/// The functions that kernels execute most.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fast {
    AddI,
    SubI,
    MulI,
    MinI,
    LtI,
    LeI,
    GtI,
    GeI,
    EqI,
    NeI,
    AddF,
    SubF,
    MulF,
}

impl Fast {
    fn of(op: Op, ty: Type) -> Option<Fast> {
        Some(match (op, ty) {
            (Op::Add, Type::I64) => Fast::AddI,
            (Op::Sub, Type::I64) => Fast::SubI,
            (Op::Mul, Type::I64) => Fast::MulI,
            (Op::Min, Type::I64) => Fast::MinI,
            (Op::Lt, Type::I64) => Fast::LtI,
            (Op::Le, Type::I64) => Fast::LeI,
            (Op::Gt, Type::I64) => Fast::GtI,
            (Op::Ge, Type::I64) => Fast::GeI,
            (Op::Eq, Type::I64) => Fast::EqI,
            (Op::Ne, Type::I64) => Fast::NeI,
            (Op::Add, Type::F64) => Fast::AddF,
            (Op::Sub, Type::F64) => Fast::SubF,
            (Op::Mul, Type::F64) => Fast::MulF,
            _ => return None,
        })
    }

    /// Whether the function is one of the six comparisons.
    pub fn compares(self) -> bool {
        matches!(self, Fast::LtI | Fast::LeI | Fast::GtI | Fast::GeI | Fast::EqI | Fast::NeI)
    }

    /// The function's value.
    pub fn apply(self, a: u64, b: u64) -> u64 {
        let (i, j) = (a as i64, b as i64);
        let float = |f: fn(f64, f64) -> f64| {
            let x = f(f64::from_bits(a), f64::from_bits(b));
            if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
        };
        match self {
            Fast::AddI => a.wrapping_add(b),
            Fast::SubI => a.wrapping_sub(b),
            Fast::MulI => a.wrapping_mul(b),
            Fast::MinI => i.min(j) as u64,
            Fast::LtI => (i < j) as u64,
            Fast::LeI => (i <= j) as u64,
            Fast::GtI => (i > j) as u64,
            Fast::GeI => (i >= j) as u64,
            Fast::EqI => (i == j) as u64,
            Fast::NeI => (i != j) as u64,
            Fast::AddF => float(|x, y| x + y),
            Fast::SubF => float(|x, y| x - y),
            Fast::MulF => float(|x, y| x * y),
        }
    }
}

/// The statements of a block.
#[derive(Debug)]
pub(super) struct Block<'k> {
    pub steps: Vec<Step<'k>>,
    /// The variables that `let` defines in the block; they are unset at its end.
    pub lets: Vec<usize>,
}

/// A statement.
#[derive(Debug)]
pub(super) struct Step<'k> {
    pub kind: Kind<'k>,
    pub source: &'k Stmt,
}

/// The effect of a statement.
#[derive(Debug)]
pub(super) enum Kind<'k> {
    Set(usize, Code),
    Store(usize, Code, Code),
    If(Code, Block<'k>, Block<'k>),
    While(Code, Block<'k>),
    For(Box<For<'k>>),
    Alloc(usize, Code, Option<Value>),
    Reserve(usize, Code),
    Finish(usize, Code),
    /// To the first, from the second.
    Move(usize, usize),
    Sort(usize, usize, Code),
    SortInto {
        keys: usize,
        into: usize,
        at: Code,
        len: Code,
    },
    Fail(fiberloom_loops::Failure),
}

/// A counted loop.
#[derive(Debug)]
pub(super) struct For<'k> {
    pub var: usize,
    pub lo: Code,
    pub hi: Code,
    pub how: How,
    pub body: Block<'k>,
    /// The buffers of which each thread has its own, in order.
    pub own: Vec<usize>,
    /// The arrays of which each iteration makes a part.
    pub joined: Vec<Joined>,
    /// The variables into which iterations fold.
    pub folded: Vec<Folded>,
    /// The arrays into whose elements they fold, by the numbers of their buffers.
    pub arrays: Vec<Folded>,
    /// The variables of which each iteration has its own.
    pub private: Vec<usize>,
}

/// An array of which each iteration of a loop makes a part.
#[derive(Debug)]
pub(super) struct Joined {
    pub array: usize,
    /// The counter at which parts begin, and by how much behind it.
    pub counter: Option<(usize, i64)>,
    /// The first index of an iteration's part.
    pub from: Code,
    /// The counter whose values the elements are.
    pub holds: Option<usize>,
}

/// A variable, or an array, into which the iterations of a loop fold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Folded {
    pub into: usize,
    pub op: Op,
    /// The function's identity.
    pub begins: Value,
}

/// Compiles the kernel's body.
///
/// # Errors
/// An expression without a type.
pub(super) fn compile(kernel: &Kernel) -> Result<Block<'_>, String> {
    block(kernel, &kernel.body)
}

fn block<'k>(kernel: &'k Kernel, stmts: &'k [Stmt]) -> Result<Block<'k>, String> {
    let mut steps = vec![];
    let mut lets = vec![];
    for source in stmts {
        if let Stmt::Let(v, _) = source {
            lets.push(v.0 as usize);
        }
        if let Some(kind) = statement(kernel, source)? {
            steps.push(Step { kind, source });
        }
    }
    Ok(Block { steps, lets })
}

/// The buffers of which each thread has its own, in order.
fn own(how: &How) -> Vec<usize> {
    let How::Parallel { own, arrays, .. } = how else { return vec![] };
    let mut own: Vec<usize> = own.iter().chain(arrays).map(|b| b.0 as usize).collect();
    own.sort_unstable();
    own
}

fn joined(kernel: &Kernel, index: Var, of: &fiberloom_loops::Joined) -> Result<Joined, String> {
    Ok(Joined {
        array: of.array.0 as usize,
        counter: of.counter(index).map(|(v, more)| (v.0 as usize, more)),
        from: expression(kernel, &of.from)?.0,
        holds: of.holds.map(|v| v.0 as usize),
    })
}

fn folded(kernel: &Kernel, body: &[Stmt], v: Var) -> Result<Folded, String> {
    let (op, begins) = fold_in_pieces(kernel, body, v).ok_or("iterations fold otherwise than the checker saw")?;
    Ok(Folded { into: v.0 as usize, op, begins })
}

fn array(kernel: &Kernel, body: &[Stmt], b: BufferId) -> Result<Folded, String> {
    let (op, begins) = array_in_pieces(kernel, body, b).ok_or("iterations fold otherwise than the checker saw")?;
    Ok(Folded { into: b.0 as usize, op, begins })
}

fn statement<'k>(kernel: &'k Kernel, stmt: &'k Stmt) -> Result<Option<Kind<'k>>, String> {
    let code = |e: &Expr| expression(kernel, e).map(|(code, _)| code);
    Ok(Some(match stmt {
        Stmt::Let(v, e) | Stmt::Set(v, e) => Kind::Set(v.0 as usize, code(e)?),
        Stmt::Store(b, at, e) => Kind::Store(b.0 as usize, code(at)?, code(e)?),
        Stmt::If(c, yes, no) => Kind::If(code(c)?, block(kernel, yes)?, block(kernel, no)?),
        Stmt::While(c, body) => Kind::While(code(c)?, block(kernel, body)?),
        Stmt::For { var, lo, hi, how, body } => Kind::For(Box::new(For {
            var: var.0 as usize,
            lo: code(lo)?,
            hi: code(hi)?,
            how: how.clone(),
            own: own(how),
            joined: how.joined().iter().map(|j| joined(kernel, *var, j)).collect::<Result<_, _>>()?,
            folded: how.folded().iter().map(|v| folded(kernel, body, *v)).collect::<Result<_, _>>()?,
            arrays: how.arrays().iter().map(|b| array(kernel, body, *b)).collect::<Result<_, _>>()?,
            private: private(kernel, (*var, how), body).into_iter().map(|v| v.0 as usize).collect(),
            body: block(kernel, body)?,
        })),
        Stmt::Call(Entry::Alloc { buffer, len, fill }) => Kind::Alloc(buffer.0 as usize, code(len)?, *fill),
        Stmt::Call(Entry::Reserve { buffer, len }) => Kind::Reserve(buffer.0 as usize, code(len)?),
        Stmt::Call(Entry::Finish { buffer, len }) => Kind::Finish(buffer.0 as usize, code(len)?),
        Stmt::Call(Entry::Move { to, from }) => Kind::Move(to.0 as usize, from.0 as usize),
        Stmt::Call(Entry::Sort { keys, order, len }) => Kind::Sort(keys.0 as usize, order.0 as usize, code(len)?),
        Stmt::Call(Entry::SortInto { keys, into, at, len }) => {
            Kind::SortInto { keys: keys.0 as usize, into: into.0 as usize, at: code(at)?, len: code(len)? }
        }
        Stmt::Call(Entry::Fail(failure)) => Kind::Fail(*failure),
        Stmt::Comment(_) => return Ok(None),
    }))
}

fn expression(kernel: &Kernel, e: &Expr) -> Result<(Code, Type), String> {
    Ok(match e {
        Expr::Const(x) => (Code::Const(x.bits()), x.ty()),
        Expr::Var(v) => (Code::Var(v.0 as usize), kernel.type_of(e)?),
        Expr::Capacity(b) => (Code::Capacity(b.0 as usize), Type::I64),
        Expr::Load(b, at) => {
            let ty = kernel.buffers.get(b.0 as usize).ok_or("no such buffer")?.ty;
            (Code::Load { buffer: b.0 as usize, at: Box::new(expression(kernel, at)?.0), widen: false }, ty)
        }
        Expr::Among(sought, b, parts) => {
            let ty = kernel.buffers.get(b.0 as usize).ok_or("no such buffer")?.ty;
            let [begin, end, target] = &**parts;
            let code = |e: &Expr| expression(kernel, e).map(|(code, _)| code);
            let parts = Box::new([code(begin)?, code(end)?, code(target)?]);
            (Code::Among(*sought, b.0 as usize, ty == Type::I32, parts), Type::I64)
        }
        Expr::Op(op, args) => {
            let args = args.iter().map(|a| expression(kernel, a)).collect::<Result<Vec<_>, _>>()?;
            let types: Vec<Type> = args.iter().map(|(_, ty)| *ty).collect();
            let ty = fiberloom_core::algebra::result_type(*op, &types).ok_or("a function of other types")?;
            (call(*op, args), ty)
        }
    })
}

fn call(op: Op, args: Vec<(Code, Type)>) -> Code {
    let ty = args[0].1;
    let mut codes = args.into_iter();
    let mut next = || codes.next().map_or(Code::Const(0), |(code, _)| code);
    match op {
        Op::AndAlso => Code::AndAlso(Box::new([next(), next()])),
        Op::OrElse => Code::OrElse(Box::new([next(), next()])),
        Op::Select => Code::Select(Box::new([next(), next(), next()])),
        Op::Convert(Type::I64) if ty == Type::I32 => match next() {
            Code::Load { buffer, at, .. } => Code::Load { buffer, at, widen: true },
            other => Code::Apply(op, vec![(ty, other)]),
        },
        _ => match Fast::of(op, ty) {
            Some(fast) => Code::Fast(fast, Box::new([next(), next()])),
            None => Code::Apply(op, codes.map(|(code, ty)| (ty, code)).collect()),
        },
    }
}
