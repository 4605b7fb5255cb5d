//! Print and read are inverse on random trees: every construct, drawn from a fixed seed.

use super::{parse, render, syntax};
use fiberloom_core::algebra::Type;
use fiberloom_core::notation::Span;
use syntax::*;

/// Marsaglia's xorshift: small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn chance(&mut self) -> bool {
        self.below(2) == 0
    }

    fn some<T>(&mut self, least: u64, mut make: impl FnMut(&mut Dice) -> T) -> Vec<T> {
        let n = least + self.below(3);
        (0..n).map(|_| make(self)).collect()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Dice) -> T) -> Option<T> {
        if self.chance() { Some(make(self)) } else { None }
    }

    fn name(&mut self) -> Ident {
        let names = ["i", "j", "A", "x", "pos", "all", "none", "case", "csr", "_1", "split_up", "iterate", "E1"];
        Ident { name: names[self.below(names.len() as u64) as usize].to_string(), span: Span::default() }
    }

    fn int(&mut self) -> u64 {
        [0, 1, 2, 7, 1 << 40, u64::MAX][self.below(6) as usize]
    }

    fn ty(&mut self) -> Type {
        Type::ALL[self.below(11) as usize]
    }

    fn literal(&mut self) -> Literal {
        let sign = if self.chance() { 1 } else { -1 };
        let floats = [0.0, 1.0, 0.1, 1e300, 5e-324, 1e16, 123456.75, f64::INFINITY, f64::MAX];
        match self.below(4) {
            0 => Literal::Bool(self.chance()),
            1 => Literal::Float(Float(f64::NAN)),
            2 => Literal::Float(Float(sign as f64 * floats[self.below(9) as usize])),
            _ => Literal::Int(sign * self.int() as i128),
        }
    }

    fn affine(&mut self, deep: u32) -> Affine {
        let mut terms = self.some(1, |d| (d.chance(), d.term(deep)));
        terms[0].0 = false;
        Affine { terms }
    }

    fn term(&mut self, deep: u32) -> Term {
        let factor = match self.below(if deep == 0 { 2 } else { 3 }) {
            0 => Factor::Var(self.name()),
            1 => Factor::Int(self.int()),
            _ => Factor::Group(Box::new(self.affine(deep - 1))),
        };
        let coefficient = self.maybe(Dice::int);
        let divisions = if self.chance() { Vec::new() } else { self.some(1, |d| (d.chance(), d.int())) };
        Term { coefficient, factor, divisions }
    }

    fn access(&mut self, deep: u32) -> Access {
        let tensor = self.name();
        let indices = self.some(0, |d| match d.below(4) {
            0 if deep > 0 => Index::Access(d.access(deep - 1)),
            1 => {
                let (var, start, end) = (d.name(), d.maybe(Dice::int), d.maybe(Dice::int));
                Index::Slice { var, start, end, step: d.maybe(Dice::int), span: Span::default() }
            }
            _ => Index::Affine { permit: d.chance(), map: d.affine(deep.min(2)), span: Span::default() },
        });
        Access { tensor, indices, span: Span::default() }
    }

    fn unary(&mut self) -> UnaryOp {
        if self.chance() { UnaryOp::Neg } else { UnaryOp::Not }
    }

    fn binary(&mut self) -> BinaryOp {
        use BinaryOp::*;
        let all =
            [Mul, Div, Rem, Add, Sub, Shl, Shr, And, Xor, Or, Lt, Le, Gt, Ge, Eq, Ne, AndAlso, OrElse, Mul, Add, Sub];
        all[self.below(all.len() as u64) as usize]
    }

    fn boxed(&mut self, deep: u32) -> Box<Expr> {
        Box::new(self.expr(deep))
    }

    fn expr(&mut self, deep: u32) -> Expr {
        use ExprKind::*;
        let next = deep.saturating_sub(1);
        let kind = match self.below(if deep == 0 { 3 } else { 16 }) {
            0 => Literal(self.literal()),
            1 => Name(self.name()),
            2 => Access(self.access(next)),
            3 | 4 => Unary(self.unary(), self.boxed(next)),
            5..=9 => Binary(self.binary(), self.boxed(next), self.boxed(next)),
            10 => Call(
                self.name(),
                self.some(0, |d| match d.below(3) {
                    0 => Argument::Type(d.ty(), Span::default()),
                    _ => Argument::Expr(d.expr(next)),
                }),
            ),
            11 => If(self.boxed(next), self.boxed(next), self.boxed(next)),
            12 => {
                let (function, vars) = (self.name(), self.some(1, Dice::name));
                Reduce { function, vars, body: self.boxed(next), start: self.maybe(|d| d.boxed(next)) }
            }
            13 => match self.chance() {
                true => Collapse { body: self.boxed(next), from: self.some(2, Dice::name), to: self.name() },
                false => Split { body: self.boxed(next), from: self.name(), to: (self.name(), self.name()) },
            },
            14 => {
                let parts = self.some(2, |d| d.expr(next));
                let from = parts.iter().map(|_| self.name()).collect();
                Concat { parts, from, to: self.name() }
            }
            _ => {
                let (body, from, to) = (self.boxed(next), self.name(), self.name());
                Slice { body, from, to, start: self.int(), end: self.int(), step: self.maybe(Dice::int) }
            }
        };
        Expr { kind, span: Span::default() }
    }

    fn statement(&mut self, deep: u32) -> Statement {
        let (lhs, rhs) = (self.access(2), self.expr(5));
        let op = match self.below(3) {
            0 => Assign::Set,
            1 => Assign::Add,
            _ => Assign::Fold(self.name()),
        };
        let locals = if deep == 0 { Vec::new() } else { self.some(0, |d| d.statement(deep - 1)) };
        Statement { lhs, op, rhs, locals, schedule: self.maybe(Dice::schedule), span: Span::default() }
    }

    fn schedule(&mut self) -> Schedule {
        let span = Span::default();
        Schedule { commands: self.some(0, |d| Command { kind: d.command(), span }), span }
    }

    fn command(&mut self) -> CommandKind {
        match self.below(11) {
            0 => CommandKind::None,
            1 => CommandKind::Pos { from: self.name(), to: self.name(), tensor: self.name() },
            2 => CommandKind::Coord { from: self.name(), to: self.name() },
            3 => CommandKind::Collapse { from: (self.name(), self.name()), to: self.name() },
            4 => {
                let (up, from, to) = (self.chance(), self.name(), (self.name(), self.name()));
                CommandKind::Split { up, from, to, factor: self.int() }
            }
            5 => CommandKind::Reorder(self.some(1, Dice::name)),
            6 => {
                let (expr, from, to) = (self.expr(3), self.some(1, Dice::name), self.some(1, Dice::name));
                CommandKind::Precompute { expr, from, to, workspace: self.name() }
            }
            7 => CommandKind::Bound(self.name(), self.int()),
            8 => CommandKind::Unroll(self.name(), self.int()),
            9 => {
                use {Race::*, Unit::*};
                let unit = [CpuThread, CpuVector, GpuBlock, GpuWarp, GpuThread][self.below(5) as usize];
                let race = [NoRaces, Atomics, Temporary, ParallelReduction][self.below(4) as usize];
                CommandKind::Parallelize(self.name(), unit, race)
            }
            _ => {
                let protocol = [Protocol::Walk, Protocol::Gallop, Protocol::Locate][self.below(3) as usize];
                CommandKind::Protocol(self.access(1), protocol)
            }
        }
    }

    fn stmt(&mut self, deep: u32) -> Stmt {
        match self.below(if deep == 0 { 2 } else { 4 }) {
            0 => Stmt::Let(self.name(), self.expr(3)),
            1 => Stmt::Set(self.name(), self.expr(3)),
            2 => Stmt::While(self.expr(2), self.some(0, |d| d.stmt(deep - 1))),
            _ => Stmt::If(self.expr(2), self.some(0, |d| d.stmt(deep - 1)), self.some(0, |d| d.stmt(deep - 1))),
        }
    }

    fn set(&mut self, deep: u32) -> SetExpr {
        match self.below(if deep == 0 { 2 } else { 5 }) {
            0 => SetExpr::All,
            1 => SetExpr::Param(Ident { name: "x".into(), span: Span::default() }),
            2 => SetExpr::Not(Box::new(self.set(deep - 1))),
            3 => SetExpr::And(Box::new(self.set(deep - 1)), Box::new(self.set(deep - 1))),
            _ => SetExpr::Or(Box::new(self.set(deep - 1)), Box::new(self.set(deep - 1))),
        }
    }

    fn property(&mut self) -> Property {
        match self.below(7) {
            0 => Property::Commutative,
            1 => Property::Associative,
            2 => Property::Idempotent,
            3 => Property::Identity(self.literal(), self.maybe(Dice::int)),
            4 => Property::Annihilator(self.literal(), self.maybe(Dice::int)),
            5 => Property::Iterate(self.set(4)),
            _ => {
                let pattern = |d: &mut Dice| match d.chance() {
                    true => Pattern::Literal(d.literal()),
                    false => Pattern::Name(d.name()),
                };
                Property::Case(self.some(1, pattern), self.expr(3))
            }
        }
    }

    fn item(&mut self) -> Item {
        match self.below(6) {
            0 => Item::Dim(Dim { name: self.name(), value: self.int() }),
            1 => {
                let size = |d: &mut Dice| match d.chance() {
                    true => Size::Name(d.name()),
                    false => Size::Int(d.int(), Span::default()),
                };
                let format = |d: &mut Dice| match d.chance() {
                    true => Format::Name(d.name()),
                    false => Format::Levels {
                        levels: d.some(1, Dice::name),
                        order: d.maybe(|d| d.some(1, Dice::int)),
                        span: Span::default(),
                    },
                };
                Item::Tensor(Tensor {
                    name: self.name(),
                    ty: self.ty(),
                    sizes: self.some(0, size),
                    fill: self.maybe(|d| (d.literal(), Span::default())),
                    format: self.maybe(format),
                })
            }
            2 => Item::Function(Function {
                name: self.name(),
                params: self.some(1, |d| (d.name(), d.ty())),
                result: self.ty(),
                body: Block { stmts: self.some(0, |d| d.stmt(2)), value: self.boxed(3) },
                properties: self.some(0, |d| (d.property(), Span::default())),
            }),
            _ => Item::Statement(self.statement(2)),
        }
    }
}

#[test]
fn random_trees_read_back() {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    for _ in 0..2_000 {
        let program = Program { items: dice.some(1, Dice::item) };
        let printed = program.to_string();
        let (read, diagnostics) = parse(&printed);
        assert!(diagnostics.is_empty(), "{}", render("random.loom", &printed, &diagnostics, false));
        assert_eq!(read.expect("no diagnostics"), program, "{printed}");
    }
}
