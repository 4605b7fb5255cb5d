//! What the planner decided, as commands that read back: typed expressions as syntax, in the names of their statement.
//!
//! ```text
//!  Stage { t, [j], Reduce(add, [k], …) }    ─▶    stage(sum(k: B[j,k] * x[k]), t[j])
//! ```
//!
//! Free variables have the names that the statement gives them. One that the expression binds has another name where two have one.

use crate::algebra::{Op, Value};
use crate::format::Format;
use crate::notation::Span;
use crate::notation::syntax::{
    self, Access, Affine, Argument, Assign, BinaryOp, CommandKind, ExprKind, Factor, Float, Ident, Literal, Parts,
    TensorCommand, Term, UnaryOp,
};
use crate::notation::typed::{
    self, Bound, Expr, Fun, Function, Index, Kind, LocalId, Map, Program, Property, Set, SizeId, Statement, Stmt,
    TensorId, VarId,
};
use rustc_hash::FxHashMap;

/// A command of a statement, by the statement's place in the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The statement.
    pub statement: usize,
    /// What is done to it.
    pub command: CommandKind,
}

/// A command as it is written. `program` has its tensors and variables.
pub fn command(program: &Program, command: &typed::CommandKind) -> CommandKind {
    let tensor = |t: &TensorId| &program.tensors[t.index()].name;
    let of = |c: &typed::TensorCommand| match c {
        typed::TensorCommand::Copy(t, format) => Some(TensorCommand::Copy(ident(tensor(t)), written(format))),
        typed::TensorCommand::Stage(stage) => Some(sum(program, &stage.expr, (tensor(&stage.tensor), &stage.vars))),
    };
    let mut var = |v: &VarId| Some(ident(&program.vars[v.index()].name));
    command.resolved(&mut var, &mut |t| Some(ident(tensor(t))), of).expect("all have names")
}

/// A sum that becomes a temporary over these variables as a command.
pub fn sum(program: &Program, expr: &Expr, (name, vars): (&str, &[VarId])) -> TensorCommand {
    let spell = Spell::new(program, expr);
    let under = |v: &VarId| spell.index(&Index { permit: false, map: Map::Var(*v), span: Span::default() });
    let into = Access { tensor: ident(name), indices: vars.iter().map(under).collect(), span: Span::default() };
    TensorCommand::Stage { expr: spell.expr(expr), into }
}

/// An expression as it is written.
pub fn spelled(program: &Program, expr: &Expr) -> syntax::Expr {
    Spell::new(program, expr).expr(expr)
}

/// A sum that is made inside of loops as a command: for each of some of its variables there is a loop of its own.
pub fn precompute(program: &Program, expr: &Expr, (name, loops): (&str, &[(&str, &str)])) -> TensorCommand {
    let (from, to) = loops.iter().map(|(from, to)| (ident(from), ident(to))).unzip();
    TensorCommand::Precompute { expr: Spell::new(program, expr).expr(expr), from, to, workspace: ident(name) }
}

/// How a temporary is stored as a command.
pub fn store(tensor: &str, format: &Format) -> TensorCommand {
    TensorCommand::Store(ident(tensor), written(format))
}

/// A loop in parts of so many turns as a command.
pub fn split(from: &str, (outer, inner): (&str, &str), factor: u64) -> CommandKind {
    CommandKind::Split { from: ident(from), to: (ident(outer), ident(inner)), parts: Parts::Of(factor) }
}

/// An order of loops as a command.
pub fn reorder<'a>(loops: impl Iterator<Item = &'a str>) -> CommandKind {
    CommandKind::Reorder(loops.map(ident).collect())
}

/// A statement as it is written, without schedule.
pub fn statement(program: &Program, s: &Statement) -> syntax::Statement {
    let left = Expr { kind: Kind::Access(s.tensor, s.indices.clone()), ty: s.rhs.ty, span: s.span };
    let spell = Spell::beside(program, &s.rhs, Some(&left));
    let op = match s.fold {
        None => Assign::Set,
        Some(Fun::Op(Op::Add)) => Assign::Add,
        Some(Fun::User(f)) if program.functions[f.index()].is_latest() => Assign::Set,
        Some(fun) => Assign::Fold(spell.fold(fun)),
    };
    let lhs = spell.access(s.tensor, &s.indices);
    syntax::Statement { lhs, op, rhs: spell.expr(&s.rhs), locals: vec![], schedule: None, span: Span::default() }
}

/// A function as it is written; of its properties, the parameter where it is computed.
pub fn function(program: &Program, f: &Function) -> syntax::Function {
    let locals = f.locals.iter().map(|(name, _)| name.clone()).collect();
    let spell = Spell { program, names: FxHashMap::default(), locals };
    let params = f.locals[..f.arity].iter().map(|(name, ty)| (ident(name), *ty)).collect();
    let body = syntax::Block { stmts: spell.stmts(&f.stmts, f.arity), value: Box::new(spell.expr(&f.value)) };
    let iterated = f.properties.iter().filter_map(|(property, span)| match property {
        Property::Iterate(Set::Param(n)) => {
            Some((syntax::Property::Iterate(syntax::SetExpr::Param(ident(&f.locals[*n].0))), *span))
        }
        _ => None,
    });
    syntax::Function { name: ident(&f.name), params, result: f.result, body, properties: iterated.collect() }
}

/// A format as it is written: its levels.
pub fn format(format: &Format) -> syntax::Format {
    written(format)
}

/// A format as it is written: its levels.
fn written(format: &Format) -> syntax::Format {
    let levels = format.levels.iter().map(|kind| ident(kind.name())).collect();
    let order = (!format.order.is_sorted()).then(|| format.order.iter().map(|m| *m as u64).collect());
    syntax::Format::Levels { levels, order, span: Span::default() }
}

struct Spell<'a> {
    program: &'a Program,
    /// The names of variables that are not their own.
    names: FxHashMap<VarId, String>,
    /// The names of a function's locals.
    locals: Vec<String>,
}

impl Spell<'_> {
    fn new<'a>(program: &'a Program, expr: &Expr) -> Spell<'a> {
        Spell::beside(program, expr, None)
    }

    /// Of an expression, and of another that binds nothing.
    fn beside<'a>(program: &'a Program, expr: &Expr, other: Option<&Expr>) -> Spell<'a> {
        let mut spell = Spell { program, names: FxHashMap::default(), locals: vec![] };
        let left = other.map(Expr::free).unwrap_or_default();
        let mut taken: Vec<String> = left.iter().map(|v| spell.var(*v)).collect();
        let mut others: Vec<VarId> = expr.free().into_iter().filter(|v| !left.contains(v)).collect();
        expr.walk(&mut |e| others.extend(e.bound()));
        for (n, v) in others.iter().enumerate() {
            if others[..n].contains(v) {
                continue;
            }
            let own = spell.var(*v);
            if taken.contains(&own) {
                let names = (2..).map(|n| format!("{own}_{n}"));
                let free = |name: &String| program.vars.iter().all(|v| v.name != *name) && !taken.contains(name);
                spell.names.extend(names.into_iter().find(free).map(|name| (*v, name)));
            }
            taken.push(spell.var(*v));
        }
        spell
    }

    fn var(&self, v: VarId) -> String {
        self.names.get(&v).unwrap_or(&self.program.vars[v.index()].name).clone()
    }

    fn vars(&self, vars: &[VarId]) -> Vec<Ident> {
        vars.iter().map(|v| ident(&self.var(*v))).collect()
    }

    fn access(&self, tensor: TensorId, indices: &[Index]) -> Access {
        let tensor = ident(&self.program.tensors[tensor.index()].name);
        Access { tensor, indices: indices.iter().map(|i| self.index(i)).collect(), span: Span::default() }
    }

    fn index(&self, index: &Index) -> syntax::Index {
        let permit = index.permit;
        match &index.map {
            Map::Gather(tensor, indices) if !permit => syntax::Index::Access(self.access(*tensor, indices)),
            Map::Computed(e) => syntax::Index::Computed { permit, of: Box::new(self.expr(e)) },
            map => syntax::Index::Affine { permit, map: self.affine(map), span: Span::default() },
        }
    }

    fn affine(&self, map: &Map) -> Affine {
        let mut terms = vec![];
        self.terms(map, &mut terms);
        if terms[0].0 {
            terms.insert(0, (false, Term { coefficient: None, factor: Factor::Int(0), divisions: vec![] }));
        }
        Affine { terms }
    }

    fn terms(&self, map: &Map, terms: &mut Vec<(bool, Term)>) {
        let plain = |factor| Term { coefficient: None, factor, divisions: vec![] };
        let term = match map {
            Map::Add(a, b) => {
                self.terms(a, terms);
                return match **b {
                    Map::Add(..) => terms.push((false, plain(self.factor(b)))),
                    _ => self.terms(b, terms),
                };
            }
            Map::Mul(-1, a) => {
                let mut of = vec![];
                self.terms(a, &mut of);
                match <[_; 1]>::try_from(of) {
                    Ok([(false, term)]) => (true, term),
                    _ => (true, plain(self.factor(a))),
                }
            }
            Map::Mul(n, a) => (*n < 0, Term { coefficient: Some(n.unsigned_abs()), ..plain(self.factor(a)) }),
            Map::Div(a, n) => (false, self.divided(a, (false, *n as u64))),
            Map::Mod(a, n) => (false, self.divided(a, (true, *n as u64))),
            Map::Const(n) if *n < 0 => (true, plain(Factor::Int(n.unsigned_abs()))),
            other => (false, plain(self.factor(other))),
        };
        terms.push(term);
    }

    fn divided(&self, a: &Map, by: (bool, u64)) -> Term {
        let mut of = vec![];
        self.terms(a, &mut of);
        match <[_; 1]>::try_from(of) {
            Ok([(false, Term { coefficient, factor, mut divisions })]) => {
                divisions.push(by);
                Term { coefficient, factor, divisions }
            }
            _ => Term { coefficient: None, factor: self.factor(a), divisions: vec![by] },
        }
    }

    fn factor(&self, map: &Map) -> Factor {
        match map {
            Map::Var(v) => Factor::Var(ident(&self.var(*v))),
            Map::Const(n) if *n >= 0 => Factor::Int(*n as u64),
            Map::Bound(bound) => Factor::Group(Box::new(self.bound(bound))),
            other => Factor::Group(Box::new(self.affine(other))),
        }
    }

    fn bound(&self, bound: &Bound) -> Affine {
        let size = |(n, size): &(i64, SizeId)| {
            let factor = self.size_factor(*size);
            (*n < 0, Term { coefficient: (n.abs() != 1).then_some(n.unsigned_abs()), factor, divisions: vec![] })
        };
        let constant = (bound.constant != 0 || bound.terms.is_empty()).then(|| {
            let factor = Factor::Int(bound.constant.unsigned_abs());
            (bound.constant < 0, Term { coefficient: None, factor, divisions: vec![] })
        });
        Affine { terms: bound.terms.iter().map(size).chain(constant).collect() }
    }

    fn size_factor(&self, size: SizeId) -> Factor {
        let size = &self.program.sizes[size.index()];
        match &size.name {
            Some(name) => Factor::Var(ident(name)),
            None => Factor::Int(size.value.unwrap_or_default()),
        }
    }

    /// Where a slice without an end ends: at the extent of what is read under its variable.
    fn extent(&self, body: &Expr, v: VarId) -> Affine {
        let mut found = None;
        body.walk(&mut |e| {
            if let Kind::Access(tensor, indices) = &e.kind {
                let mode = indices.iter().position(|index| index.bare() == Some(v));
                found = found.or(mode.map(|m| self.program.tensors[tensor.index()].sizes[m]));
            }
        });
        let factor = found.map_or(Factor::Int(0), |size| self.size_factor(size));
        Affine { terms: vec![(false, Term { coefficient: None, factor, divisions: vec![] })] }
    }

    fn expr(&self, e: &Expr) -> syntax::Expr {
        let boxed = |e: &Expr| Box::new(self.expr(e));
        let kind = match &e.kind {
            Kind::Literal(value) => ExprKind::Literal(literal(*value)),
            Kind::Index(v) => ExprKind::Name(ident(&self.var(*v))),
            Kind::Size(size) => match self.size_factor(*size) {
                Factor::Var(name) => ExprKind::Name(name),
                _ => {
                    let value = self.program.sizes[size.index()].value.unwrap_or_default();
                    ExprKind::Literal(Literal::Int(value.into()))
                }
            },
            Kind::Local(local) => {
                let unnamed = || format!("local {}", local.0);
                ExprKind::Name(ident(&self.locals.get(local.index()).cloned().unwrap_or_else(unnamed)))
            }
            Kind::Access(tensor, indices) => ExprKind::Access(self.access(*tensor, indices)),
            Kind::Call(fun, args) => self.call(*fun, args),
            Kind::Reduce { fun, vars, body, start } => ExprKind::Reduce {
                function: self.fold(*fun),
                vars: self.vars(vars),
                body: boxed(body),
                start: start.as_deref().map(boxed),
            },
            Kind::Collapse { body, from, to } => {
                ExprKind::Collapse { body: boxed(body), from: self.vars(from), to: ident(&self.var(*to)) }
            }
            Kind::Split { body, from, to } => {
                let [outer, inner] = [to.0, to.1].map(|v| ident(&self.var(v)));
                ExprKind::Split { body: boxed(body), from: ident(&self.var(*from)), to: (outer, inner) }
            }
            Kind::Concat { parts, from, to } => ExprKind::Concat {
                parts: parts.iter().map(|part| self.expr(part)).collect(),
                from: self.vars(from),
                to: ident(&self.var(*to)),
            },
            Kind::Slice { body, from, to, start, end, step } => ExprKind::Slice {
                body: boxed(body),
                from: ident(&self.var(*from)),
                to: ident(&self.var(*to)),
                start: self.bound(start),
                end: end.as_ref().map_or_else(|| self.extent(body, *from), |end| self.bound(end)),
                step: (*step != 1).then_some(*step),
            },
        };
        syntax::Expr { kind, span: Span::default() }
    }

    /// Statements of a function, whose first locals are parameters.
    fn stmts(&self, stmts: &[Stmt], arity: usize) -> Vec<syntax::Stmt> {
        self.block(stmts, arity, &mut vec![])
    }

    fn block(&self, stmts: &[Stmt], arity: usize, seen: &mut Vec<LocalId>) -> Vec<syntax::Stmt> {
        let one = |stmt: &Stmt, seen: &mut Vec<LocalId>| match stmt {
            Stmt::Set(l, e) => {
                let (name, value) = (ident(&self.locals[l.index()]), self.expr(e));
                if l.index() < arity || seen.contains(l) {
                    return syntax::Stmt::Set(name, value);
                }
                seen.push(*l);
                syntax::Stmt::Let(name, value)
            }
            Stmt::While(c, body) => syntax::Stmt::While(self.expr(c), self.block(body, arity, seen)),
            Stmt::If(c, yes, no) => {
                syntax::Stmt::If(self.expr(c), self.block(yes, arity, seen), self.block(no, arity, seen))
            }
        };
        stmts.iter().map(|stmt| one(stmt, seen)).collect()
    }

    fn call(&self, fun: Fun, args: &[Expr]) -> ExprKind {
        let made = |n: usize| Box::new(self.expr(&args[n]));
        let Fun::Op(op) = fun else { return self.called(self.fold(fun), args) };
        match (op, args.len()) {
            (Op::Neg, 1) => ExprKind::Unary(UnaryOp::Neg, made(0)),
            (Op::Not, 1) => ExprKind::Unary(UnaryOp::Not, made(0)),
            (Op::Convert(ty), 1) => {
                let args = vec![Argument::Expr(self.expr(&args[0])), Argument::Type(ty, Span::default())];
                ExprKind::Call(ident(op.name()), args)
            }
            (_, 2) => match BinaryOp::ALL.into_iter().find(|b| b.operation() == op) {
                Some(b) => ExprKind::Binary(b, made(0), made(1)),
                None => self.called(ident(op.name()), args),
            },
            _ => self.called(ident(op.name()), args),
        }
    }

    fn called(&self, name: Ident, args: &[Expr]) -> ExprKind {
        ExprKind::Call(name, args.iter().map(|a| Argument::Expr(self.expr(a))).collect())
    }

    fn fold(&self, fun: Fun) -> Ident {
        match fun {
            Fun::Op(op) => {
                let named = Op::reductions().find(|(_, known)| *known == op).map(|(name, _)| name);
                ident(named.unwrap_or(op.name()))
            }
            Fun::User(f) => ident(&self.program.functions[f.index()].name),
        }
    }
}

/// A literal as it is written.
pub fn literal(value: Value) -> Literal {
    match value.as_i128() {
        _ if value.ty() == crate::algebra::Type::Bool => Literal::Bool(value.is_true()),
        Some(n) if value.ty().is_integer() => Literal::Int(n),
        _ => Literal::Float(Float(value.as_f64())),
    }
}

fn ident(name: &str) -> Ident {
    Ident { name: name.to_string(), span: Span::default() }
}
