//! Kernels from bytes: every type, every function, every statement and entry point.
//!
//! How they stay well-formed: all variables that change are set at the start; all indices are taken modulo the least
//! room that a buffer has; loops turn a few times; a parallel or vector loop stores to its own elements only, reads
//! what nobody writes, and a vector loop accumulates. The capacity of a buffer that may have grown is never read, since
//! engines may differ in it.

use super::Case;
use arbitrary::Unstructured;
use fiberloom_core::algebra::{Op, Type, Value, result_type};
use fiberloom_core::format::Array;
use fiberloom_loops::{Buffer, BufferId, Entry, Expr, Failure, How, Kernel, Role, Sought, Stmt, Var};

/// Elements that every buffer has at least.
const ROOM: i64 = 6;
/// Statements of a kernel, apart from those that all have.
const STATEMENTS: usize = 40;

/// The case of these bytes. Where they end, choices are the first ones.
pub fn case(u: &mut Unstructured) -> Case {
    let kernel = Kernel {
        name: "random".into(),
        vars: vec![("n".into(), Type::I64)],
        params: vec![Var(0)],
        buffers: vec![],
        body: vec![],
        arguments: vec![],
        solved: vec![],
        given: vec![],
        reassociate: false,
        hints: Default::default(),
    };
    let mut maker = Maker { u, kernel, mutable: vec![], scope: vec![Var(0)], left: STATEMENTS, alone: None };
    let operands = maker.buffers();
    let mut body = maker.start();
    body.extend(maker.block(3));
    body.extend(maker.end());
    maker.kernel.body = body;
    let params = vec![maker.below(ROOM as usize + 1) as i64];
    Case { kernel: maker.kernel, params, operands }
}

struct Maker<'u, 'b> {
    u: &'u mut Unstructured<'b>,
    kernel: Kernel,
    /// Variables that may be set.
    mutable: Vec<Var>,
    /// Variables that may be read.
    scope: Vec<Var>,
    /// Statements that may still be made.
    left: usize,
    /// In a loop whose turns may run at once: its variable.
    alone: Option<Var>,
}

fn int(x: i64) -> Expr {
    Expr::Const(Value::i64(x))
}

fn modulo(e: Expr, n: i64) -> Expr {
    Expr::Op(Op::FloorRem, vec![e, int(n)])
}

impl Maker<'_, '_> {
    fn below(&mut self, n: usize) -> usize {
        self.u.choose_index(n).unwrap_or(0)
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn ty(&mut self) -> Type {
        self.one(&Type::ALL)
    }

    fn value(&mut self, ty: Type) -> Value {
        match self.below(4) {
            0 => Value::from_i128(ty, self.below(5) as i128 - 2),
            1 => match ty.range() {
                Some((least, greatest)) => Value::from_i128(ty, self.one(&[least, greatest, least + 1, greatest / 2])),
                None => Value::from_f64(ty, self.one(&[-0.0, 0.5, 1e30, -1e-40, f64::INFINITY, f64::NAN])),
            },
            2 if ty.is_float() => Value::from_f64(ty, (self.below(4001) as f64 - 2000.0) / 16.0),
            _ => {
                let value = Value::from_bits(ty, self.u.arbitrary().unwrap_or(0));
                // There is one NaN.
                if value.is_nan() { Value::from_f64(ty, f64::NAN) } else { value }
            }
        }
    }

    /// An operand, a result and a workspace a type; the operands' elements.
    fn buffers(&mut self) -> Vec<Option<Array<'static>>> {
        let mut operands = vec![];
        for (role, letter) in [(Role::Operand, 'a'), (Role::Result, 'r'), (Role::Workspace, 'w')] {
            for ty in Type::ALL {
                self.kernel.buffers.push(Buffer { name: format!("{letter}_{ty}"), ty, role, private: false });
                operands.push((role == Role::Operand).then(|| {
                    let values: Vec<Value> = (0..ROOM).map(|_| self.value(ty)).collect();
                    Array::from_values(ty, values)
                }));
            }
        }
        operands
    }

    fn buffer(&mut self, roles: &[Role], ty: Type) -> BufferId {
        let role = self.one(roles);
        let at = self.kernel.buffers.iter().position(|b| b.role == role && b.ty == ty);
        BufferId(at.expect("one of each") as u32)
    }

    fn new_var(&mut self, ty: Type) -> Var {
        let n = self.kernel.vars.len();
        self.kernel.vars.push((format!("v{n}"), ty));
        Var(n as u32)
    }

    /// Everything is allocated, and two variables a type are set.
    fn start(&mut self) -> Vec<Stmt> {
        let made: Vec<(usize, Type)> = self.kernel.buffers.iter().map(|b| b.ty).enumerate().skip(11).collect();
        let mut body = vec![];
        for (b, ty) in made {
            let fill = Some(self.value(ty));
            body.push(Stmt::Call(Entry::Alloc { buffer: BufferId(b as u32), len: int(ROOM), fill }));
        }
        for ty in Type::ALL.into_iter().chain(Type::ALL) {
            let v = self.new_var(ty);
            body.push(Stmt::Set(v, Expr::Const(self.value(ty))));
            self.mutable.push(v);
            self.scope.push(v);
        }
        body
    }

    fn end(&mut self) -> Vec<Stmt> {
        let results = 11..22;
        results.map(|b| Stmt::Call(Entry::Finish { buffer: BufferId(b), len: int(ROOM) })).collect()
    }

    fn index(&mut self, depth: usize) -> Expr {
        let i = self.expr(Type::I64, depth);
        modulo(i, ROOM)
    }

    fn expr(&mut self, ty: Type, depth: usize) -> Expr {
        let kind = if depth == 0 { self.below(3) } else { self.below(8) };
        match kind {
            0 => {
                let vars: Vec<Var> =
                    self.scope.iter().copied().filter(|v| self.kernel.vars[v.0 as usize].1 == ty).collect();
                if vars.is_empty() { Expr::Const(self.value(ty)) } else { Expr::Var(self.one(&vars)) }
            }
            1 => {
                let all = [Role::Operand, Role::Result, Role::Workspace];
                // Where turns may run at once, others may be writing to anything else.
                let b = self.buffer(if self.alone.is_some() { &all[..1] } else { &all }, ty);
                let at = if depth == 0 { int(self.below(ROOM as usize) as i64) } else { self.index(depth - 1) };
                Expr::Load(b, Box::new(at))
            }
            2 => Expr::Const(self.value(ty)),
            3 if ty == Type::I64 => Expr::Capacity(BufferId(self.below(11) as u32)),
            4 if ty == Type::I64 && self.below(2) == 0 => self.among(depth - 1),
            4 if ty == Type::I64 => Expr::Op(Op::Convert(ty), vec![self.expr(Type::I32, depth - 1)]),
            _ => self.call(ty, depth - 1),
        }
    }

    /// Elements before the end are there, which is no more than the least room; the target is often one of them.
    fn among(&mut self, depth: usize) -> Expr {
        let (all, of) = ([Role::Operand, Role::Result, Role::Workspace], self.one(&[Type::I32, Type::I64]));
        let b = self.buffer(if self.alone.is_some() { &all[..1] } else { &all }, of);
        let (begin, end) = (self.index(depth), modulo(self.expr(Type::I64, depth), ROOM + 1));
        let element = Expr::Load(b, Box::new(self.index(0)));
        let target = match (self.below(3), of) {
            (0, _) => self.expr(Type::I64, depth),
            (_, Type::I64) => element,
            _ => Expr::Op(Op::Convert(Type::I64), vec![element]),
        };
        Expr::Among(self.one(&Sought::ALL), b, Box::new([begin, end, target]))
    }

    fn call(&mut self, ty: Type, depth: usize) -> Expr {
        let ops: Vec<Op> = Op::all().filter(|op| *op != Op::Coalesce).collect();
        for _ in 0..20 {
            let (op, of) = (self.one(&ops), if self.below(2) == 0 { ty } else { self.ty() });
            let types = match op {
                Op::Select => vec![Type::Bool, of, of],
                Op::Mask => vec![Type::Bool, of],
                Op::Ldexp => vec![of, Type::I8],
                _ => vec![of; op.arity().unwrap_or(1)],
            };
            if result_type(op, &types) == Some(ty) {
                return Expr::Op(op, types.into_iter().map(|t| self.expr(t, depth)).collect());
            }
        }
        Expr::Const(self.value(ty))
    }

    fn block(&mut self, depth: usize) -> Vec<Stmt> {
        let scope = self.scope.len();
        let mut stmts = vec![];
        for _ in 0..1 + self.below(6) {
            if self.left > 0 {
                self.left -= 1;
                stmts.extend(self.stmt(depth));
            }
        }
        self.scope.truncate(scope);
        stmts
    }

    fn stmt(&mut self, depth: usize) -> Vec<Stmt> {
        let ty = self.ty();
        vec![match self.below(if depth == 0 { 8 } else { 13 }) {
            0 | 1 => {
                let v = self.one(&self.mutable.clone());
                let ty = self.kernel.vars[v.0 as usize].1;
                Stmt::Set(v, self.expr(ty, 4))
            }
            2 => {
                let e = self.expr(ty, 4);
                let v = self.new_var(ty);
                self.scope.push(v);
                Stmt::Let(v, e)
            }
            3 | 4 => {
                let b = self.buffer(&[Role::Result, Role::Workspace], ty);
                Stmt::Store(b, self.index(2), self.expr(ty, 4))
            }
            5 => Stmt::Call(self.entry()),
            6 => {
                let failure = self.one(&[Failure::Memory, Failure::Overflow, Failure::Positions]);
                let rare = Expr::Op(Op::Eq, vec![self.index(2), int(1)]);
                let c = Expr::Op(Op::AndAlso, vec![rare, self.expr(Type::Bool, 2)]);
                Stmt::If(c, vec![Stmt::Call(Entry::Fail(failure))], vec![])
            }
            7 => Stmt::Comment("a comment".into()),
            8 | 9 => Stmt::If(self.expr(Type::Bool, 3), self.block(depth - 1), self.block(depth - 1)),
            10 => return self.repeat(depth),
            11 => {
                let (lo, hi) = (self.index(1), self.index(1));
                self.each(lo, hi, How::Serial, |m| m.block(depth - 1))
            }
            _ => self.apart(),
        }]
    }

    /// A loop that a counter ends.
    fn repeat(&mut self, depth: usize) -> Vec<Stmt> {
        let counter = self.new_var(Type::I64);
        let more = Expr::Op(Op::Lt, vec![Expr::Var(counter), int(4)]);
        let c = Expr::Op(Op::AndAlso, vec![more, self.expr(Type::Bool, 2)]);
        let mut body = self.block(depth - 1);
        body.push(Stmt::Set(counter, Expr::Op(Op::Add, vec![Expr::Var(counter), int(1)])));
        vec![Stmt::Set(counter, int(0)), Stmt::While(c, body)]
    }

    fn each(&mut self, lo: Expr, hi: Expr, how: How, body: impl FnOnce(&mut Self) -> Vec<Stmt>) -> Stmt {
        let var = self.new_var(Type::I64);
        self.scope.push(var);
        let body = body(self);
        self.scope.retain(|v| *v != var);
        Stmt::For { var, lo, hi, how, body }
    }

    /// A loop whose turns may run at once: it stores to its own elements and, in lanes, accumulates.
    fn apart(&mut self) -> Stmt {
        let how = if self.below(2) == 0 { How::Vector } else { How::apart() };
        let (ty, target) = (self.ty(), self.ty());
        let kinds = [Op::Add, Op::Mul, Op::Min, Op::Max, Op::Xor, Op::And, Op::Or];
        let op = self.one(&kinds);
        let total = self.mutable.iter().copied().find(|v| self.kernel.vars[v.0 as usize].1 == ty);
        let folds = how == How::Vector && !ty.is_float() && op.takes(ty);
        let total = total.filter(|_| folds);
        // Nothing else in the body reads what it folds into.
        let scope = self.scope.clone();
        self.scope.retain(|v| Some(*v) != total);
        let b = self.buffer(&[Role::Result, Role::Workspace], target);
        let stmt = self.each(int(0), Expr::Var(Var(0)), how, |m| {
            let var = *m.scope.last().expect("pushed");
            m.alone = Some(var);
            // The parameter is at most the least room, so its own element is there.
            let mut body = vec![Stmt::Store(b, Expr::Var(var), m.expr(target, 3))];
            if let Some(v) = total {
                body.push(Stmt::Set(v, Expr::Op(op, vec![Expr::Var(v), m.expr(ty, 3)])));
            }
            m.alone = None;
            body
        });
        self.scope = scope;
        stmt
    }

    fn entry(&mut self) -> Entry {
        let ty = self.ty();
        let buffer = self.buffer(&[Role::Result, Role::Workspace], ty);
        match self.below(4) {
            0 => Entry::Alloc { buffer, len: int(ROOM + self.below(3) as i64), fill: Some(self.value(ty)) },
            1 => Entry::Reserve { buffer, len: int(self.below(40) as i64) },
            2 => {
                let ty = [Type::I32, Type::I64][self.below(2)];
                let keys = self.buffer(&[Role::Workspace], ty);
                let first = self.below(ROOM as usize) as i64;
                let len = modulo(self.expr(Type::I64, 1), ROOM - first + 1);
                Entry::SortInto { keys, into: self.buffer(&[Role::Result], ty), at: int(first), len }
            }
            _ => {
                let keys = self.buffer(&[Role::Workspace], Type::I64);
                Entry::Sort { keys, order: self.buffer(&[Role::Result], Type::I64), len: self.index(1) }
            }
        }
    }
}
