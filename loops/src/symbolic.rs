//! The domain that emits code: coordinates are expressions of the loop language, effects are statements.
//!
//! Invariant (*no stale reads*): an expression is evaluated where it is placed, so one that reads a variable must not be placed after
//! that variable was set again, nor in a loop that sets it if it was read before the loop. Every term carries the variables that it
//! reads, with their versions. Placing a stale term is a defect of the compiler, and panics with debug assertions (`cargo test`); without
//! them it is not detected.

use super::names::Names;
use super::{Buffer, BufferId, Entry, Expr, Hints, How, Role, Sought, Stmt, Var};
use crate::stream::{Arith, Compare, Domain, State};
use fiberloom_core::algebra::{Op, Type, Value, apply, result_type};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// An expression and the mutable variables that it reads, each with its version.
#[derive(Clone, Debug)]
pub struct Term {
    expr: Expr,
    reads: Vec<Read>,
}

/// A read of a variable: its version, and the number of loops begun before the read.
#[derive(Clone, Copy, Debug)]
struct Read {
    var: Var,
    version: u64,
    loops: u64,
}

impl Term {
    /// An expression that reads no variable which is set twice.
    pub fn fixed(expr: Expr) -> Term {
        Term { expr, reads: Vec::new() }
    }

    fn join(op: Op, parts: &[&Term]) -> Term {
        let reads = parts.iter().flat_map(|t| t.reads.iter().copied()).collect();
        Term { expr: Expr::Op(op, parts.iter().map(|t| t.expr.clone()).collect()), reads }
    }
}

#[derive(Debug, Default)]
struct OpenLoop {
    /// The number of loops begun, including this one.
    number: u64,
    read_before: FxHashSet<Var>,
    set: FxHashSet<Var>,
}

/// Emits loops.
#[derive(Debug, Default)]
pub struct Symbolic {
    /// The variables so far.
    pub vars: Vec<(String, Type)>,
    /// The buffers so far.
    pub buffers: Vec<Buffer>,
    body: Vec<Stmt>,
    names: Names,
    version: FxHashMap<Var, u64>,
    clock: u64,
    loops: u64,
    open: Vec<OpenLoop>,
    /// The requests for the next loops; not for loops inside of them.
    pub wanted: Option<Hints>,
    /// The requests for loops, by their variables.
    pub hints: BTreeMap<Var, Hints>,
}

impl Symbolic {
    /// A new variable with a distinct name that begins with `name`.
    pub fn fresh(&mut self, name: &str, ty: Type) -> Var {
        let name = self.names.fresh(name);
        self.vars.push((name, ty));
        Var(self.vars.len() as u32 - 1)
    }

    /// A new buffer with a distinct name that begins with `name`.
    pub fn buffer(&mut self, name: &str, ty: Type, role: Role) -> BufferId {
        let name = self.names.fresh(name);
        self.buffers.push(Buffer { name, ty, role, private: false });
        BufferId(self.buffers.len() as u32 - 1)
    }

    /// As `buffer`, for a workspace that is private to iterations.
    pub fn private(&mut self, name: &str, ty: Type) -> BufferId {
        let made = self.buffer(name, ty, Role::Workspace);
        self.buffers[made.0 as usize].private = true;
        made
    }

    /// The term's expression, to be placed here.
    pub fn place(&mut self, term: &Term) -> Expr {
        for read in &term.reads {
            let now = self.version.get(&read.var).copied().unwrap_or(0);
            debug_assert_eq!(now, read.version, "a stale read of {}", self.vars[read.var.0 as usize].0);
            for open in self.open.iter_mut().filter(|open| read.loops < open.number) {
                open.read_before.insert(read.var);
            }
        }
        term.expr.clone()
    }

    /// Emits a statement.
    pub fn emit(&mut self, stmt: Stmt) {
        self.body.push(stmt);
    }

    /// Emits a call of a runtime entry point.
    pub fn call(&mut self, entry: Entry) {
        self.emit(Stmt::Call(entry));
    }

    /// Emits setting a variable.
    pub fn assign(&mut self, v: Var, value: Expr) {
        self.emit(Stmt::Set(v, value));
        self.clock += 1;
        self.version.insert(v, self.clock);
        for open in &mut self.open {
            open.set.insert(v);
        }
    }

    /// The value of a variable; the term has to be placed before the variable is set again.
    pub fn read(&mut self, v: Var) -> Term {
        let version = self.version.get(&v).copied().unwrap_or(0);
        Term { expr: Expr::Var(v), reads: vec![Read { var: v, version, loops: self.loops }] }
    }

    /// The type of an expression in this kernel.
    ///
    /// # Panics
    /// If a function is applied to arguments that it does not take.
    pub fn type_of(&self, e: &Expr) -> Type {
        match e {
            Expr::Const(x) => x.ty(),
            Expr::Var(v) => self.vars[v.0 as usize].1,
            Expr::Load(b, _) => self.buffers[b.0 as usize].ty,
            Expr::Capacity(_) | Expr::Among(..) => Type::I64,
            Expr::Op(op, args) => {
                let types: Vec<Type> = args.iter().map(|a| self.type_of(a)).collect();
                result_type(*op, &types).expect("checked programs apply functions to their types")
            }
        }
    }

    /// An immutable variable with the expression's value.
    pub fn define(&mut self, name: &str, ty: Type, value: Expr) -> Expr {
        if matches!(value, Expr::Const(_)) {
            return value;
        }
        let v = self.fresh(name, ty);
        self.emit(Stmt::Let(v, value));
        Expr::Var(v)
    }

    /// Whether no statement of the open block has a block of its own.
    pub fn is_straight(&self) -> bool {
        self.body.iter().all(|stmt| stmt.blocks().next().is_none())
    }

    /// The statements that `f` emits, which are not added to the open block.
    pub fn block(&mut self, f: impl FnOnce(&mut Symbolic)) -> Vec<Stmt> {
        let outer = std::mem::take(&mut self.body);
        f(self);
        std::mem::replace(&mut self.body, outer)
    }

    /// The block of a loop. With debug assertions, it panics if a term that was read before the loop is placed in it and the block sets
    /// the term's variable.
    fn loop_body(&mut self, f: impl FnOnce(&mut Symbolic)) -> Vec<Stmt> {
        self.loops += 1;
        if cfg!(debug_assertions) {
            self.open.push(OpenLoop { number: self.loops, ..OpenLoop::default() });
        }
        let block = self.block(f);
        if let Some(open) = self.open.pop() {
            let stale: Vec<_> = open.read_before.intersection(&open.set).map(|v| &self.vars[v.0 as usize].0).collect();
            assert!(stale.is_empty(), "a read from before a loop that sets {stale:?}");
        }
        block
    }

    /// Emits a conditional; one with two empty blocks is omitted.
    pub fn when(&mut self, c: Expr, t: impl FnOnce(&mut Symbolic), e: impl FnOnce(&mut Symbolic)) {
        let (t, e) = (self.block(t), self.block(e));
        match (t.is_empty(), e.is_empty()) {
            (true, true) => {}
            (true, false) => self.emit(Stmt::If(Expr::Op(Op::Not, vec![c]), e, t)),
            _ => self.emit(Stmt::If(c, t, e)),
        }
    }

    /// Emits a counted loop over plain expressions; an empty one is omitted.
    pub fn each(&mut self, name: &str, lo: Expr, hi: Expr, body: impl FnOnce(&mut Symbolic, Expr)) {
        self.counted(How::Serial, name, [lo, hi], body);
    }

    /// Emits a counted loop with independent iterations: none reads or writes what another writes.
    pub fn each_apart(&mut self, name: &str, lo: Expr, hi: Expr, body: impl FnOnce(&mut Symbolic, Expr)) {
        self.counted(How::Vector, name, [lo, hi], body);
    }

    fn counted(&mut self, how: How, name: &str, [lo, hi]: [Expr; 2], body: impl FnOnce(&mut Symbolic, Expr)) {
        let var = self.fresh(name, Type::I64);
        let wanted = self.wanted.take();
        let body = self.loop_body(|d| body(d, Expr::Var(var)));
        self.wanted = wanted;
        if !body.is_empty() {
            self.hints.extend(wanted.map(|hints| (var, hints)));
            self.emit(Stmt::For { var, lo, hi, how, body });
        }
    }

    /// Emits a loop while `c` holds.
    pub fn during(&mut self, c: Expr, body: impl FnOnce(&mut Symbolic)) {
        let body = self.loop_body(body);
        self.emit(Stmt::While(c, body));
    }

    /// The variables, buffers and statements that were emitted.
    pub fn finish(self) -> (Vec<(String, Type)>, Vec<Buffer>, Vec<Stmt>) {
        (self.vars, self.buffers, self.body)
    }

    /// The element type of a buffer.
    pub fn element(&self, b: BufferId) -> Type {
        self.buffers[b.0 as usize].ty
    }

    /// An element of an index buffer as an `i64`.
    pub fn index(&self, array: BufferId, i: Expr) -> Expr {
        let load = Expr::Load(array, Box::new(i));
        if self.element(array) == Type::I64 { load } else { Expr::Op(Op::Convert(Type::I64), vec![load]) }
    }
}

impl Domain for Symbolic {
    type I = Term;
    type B = Term;

    fn int(&mut self, c: i64) -> Term {
        Term::fixed(Expr::Const(Value::i64(c)))
    }
    fn state(&mut self, name: &str, init: Term) -> State {
        let v = self.fresh(name, Type::I64);
        let init = self.place(&init);
        self.assign(v, init);
        State(v.0)
    }
    fn get(&mut self, s: State) -> Term {
        self.read(Var(s.0))
    }
    fn set(&mut self, s: State, x: Term) {
        let x = self.place(&x);
        self.assign(Var(s.0), x);
    }
    fn snapshot(&mut self, name: &str, x: Term) -> Term {
        let x = self.place(&x);
        Term::fixed(self.define(name, Type::I64, x))
    }
    fn load(&mut self, array: BufferId, i: &Term) -> Term {
        Term { expr: self.index(array, i.expr.clone()), reads: i.reads.clone() }
    }
    fn among(&mut self, sought: Sought, array: BufferId, places: [&Term; 3]) -> Term {
        let reads = places.iter().flat_map(|t| t.reads.iter().copied()).collect();
        Term { expr: Expr::Among(sought, array, Box::new(places.map(|t| t.expr.clone()))), reads }
    }
    fn store(&mut self, table: BufferId, i: &Term, x: &Term) {
        let (i, x) = (self.place(i), self.place(x));
        let x = match (self.element(table), x) {
            (Type::I64, x) => x,
            (ty, Expr::Const(x)) => Expr::Const(apply(Op::Convert(ty), &[x]).expect("numbers are converted")),
            (ty, x) => Expr::Op(Op::Convert(ty), vec![x]),
        };
        self.emit(Stmt::Store(table, i, x));
    }
    fn capacity(&mut self, array: BufferId) -> Term {
        Term::fixed(Expr::Capacity(array))
    }
    fn trailing_zeros(&mut self, x: &Term) -> Term {
        Term::join(Op::TrailingZeros, &[x])
    }
    fn flag(&mut self, flags: BufferId, i: &Term) -> Term {
        Term { expr: Expr::Load(flags, Box::new(i.expr.clone())), reads: i.reads.clone() }
    }
    fn mark(&mut self, flags: BufferId, i: &Term, is: bool) {
        let i = self.place(i);
        self.emit(Stmt::Store(flags, i, Expr::Const(Value::bool(is))));
    }
    fn arith(&mut self, op: Arith, a: &Term, b: &Term) -> Term {
        let op = match op {
            Arith::Add => Op::Add,
            Arith::Sub => Op::Sub,
            Arith::Mul => Op::Mul,
            Arith::Div => Op::FloorDiv,
            Arith::Rem => Op::FloorRem,
            Arith::Min => Op::Min,
            Arith::Max => Op::Max,
            Arith::And => Op::And,
            Arith::Or => Op::Or,
            Arith::Xor => Op::Xor,
            Arith::Shl => Op::Shl,
            Arith::Shr => Op::Shr,
        };
        let joined = Term::join(op, &[a, b]);
        match (&a.expr, &b.expr) {
            (Expr::Const(x), Expr::Const(y)) => match apply(op, &[*x, *y]) {
                Some(v) => Term::fixed(Expr::Const(v)),
                None => joined,
            },
            _ => joined,
        }
    }
    fn compare(&mut self, op: Compare, a: &Term, b: &Term) -> Term {
        let op = match op {
            Compare::Lt => Op::Lt,
            Compare::Le => Op::Le,
            Compare::Eq => Op::Eq,
            Compare::Ne => Op::Ne,
        };
        Term::join(op, &[a, b])
    }
    fn snapshot_bool(&mut self, name: &str, b: Term) -> Term {
        let b = self.place(&b);
        Term::fixed(self.define(name, Type::Bool, b))
    }
    fn and(&mut self, a: Term, b: &dyn Fn(&mut Self) -> Term) -> Term {
        let b = self.pure(b);
        Term::join(Op::AndAlso, &[&a, &b])
    }
    fn not(&mut self, a: Term) -> Term {
        Term::join(Op::Not, &[&a])
    }
    fn or(&mut self, a: Term, b: Term) -> Term {
        Term::join(Op::OrElse, &[&a, &b])
    }
    fn to_int(&mut self, b: &Term) -> Term {
        Term::join(Op::Convert(Type::I64), &[b])
    }
    fn select(&mut self, c: &Term, t: &dyn Fn(&mut Self) -> Term, e: Term) -> Term {
        let t = self.pure(t);
        Term::join(Op::Select, &[c, &t, &e])
    }
    fn branch(&mut self, c: Term, t: &mut dyn FnMut(&mut Self), e: &mut dyn FnMut(&mut Self)) {
        let c = self.place(&c);
        self.when(c, |d| t(d), |d| e(d));
    }
    fn repeat(&mut self, c: &dyn Fn(&mut Self) -> Term, body: &mut dyn FnMut(&mut Self)) {
        // The condition is evaluated again in every iteration, so it is read inside of the loop.
        let mut condition = None;
        let body = self.loop_body(|d| {
            let c = d.pure(c);
            condition = Some(d.place(&Term::fixed(c.expr)));
            body(d);
        });
        self.emit(Stmt::While(condition.expect("set above"), body));
    }
    fn count(&mut self, name: &str, lo: Term, hi: Term, body: &mut dyn FnMut(&mut Self, Term)) {
        let (lo, hi) = (self.place(&lo), self.place(&hi));
        self.each(name, lo, hi, |d, i| body(d, Term::fixed(i)));
    }
}

impl Symbolic {
    /// The term that `f` returns; `f` must emit nothing.
    fn pure(&mut self, f: &dyn Fn(&mut Self) -> Term) -> Term {
        let before = self.body.len();
        let term = f(self);
        debug_assert_eq!(before, self.body.len(), "a condition has effects");
        term
    }
}
