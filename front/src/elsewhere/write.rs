//! Lines of other languages in this one: whole arrays become elements under index variables.
//!
//! ```text
//!  y = A @ x + b            y[i] = A[i,j] * x[j] + b[i]
//!  y = maximum(A @ x, 0)    y[i] = max(sum(j: A[i,j] * x[j]), 0)
//!  s = A.sum()              s[] = sum(i, j: A[i,j])
//!  b = A[:,0]               b[i] = A[i,0]
//! ```
//!
//! An expression is written under the index variables of its modes. How many it has is its rank: a declaration says it, other
//! accesses do, or the name, as people choose names.

use super::read::{Line, Part, Sub};
use super::{Names, call};
use fiberloom_core::notation::Span;
use fiberloom_core::notation::syntax::{
    Access, Affine, Assign, BinaryOp, Expr, ExprKind, Factor, Float, Ident, Index, Literal, Statement, Term, UnaryOp,
};

/// The statement that a line is here.
pub fn statement(line: &Line, names: &Names) -> Option<Statement> {
    let mut writer = Writer { names, taken: vec![] };
    let (tensor, indices) = writer.left(&line.left, &line.right)?;
    let free: Vec<String> = indices.iter().filter_map(Index::variable).map(|v| v.name.clone()).collect();
    let whole = matches!(line.left, Part::Name(_));
    let rank = names.rank(&line.right)?;
    let under = if rank == 0 && !whole { &[][..] } else { &free };
    if rank > under.len() {
        return None;
    }
    let lhs = Access { tensor: ident(&tensor), indices, span: Span::default() };
    let (op, rhs) = match line.op {
        "=" => (Assign::Set, writer.expr(&line.right, under, true)?),
        "+=" => (Assign::Add, writer.expr(&line.right, under, true)?),
        op => {
            let changed = writer.expr(&line.right, under, op == "-=")?;
            let op = match op {
                "-=" => BinaryOp::Sub,
                "*=" => BinaryOp::Mul,
                _ => BinaryOp::Div,
            };
            // What scatters accumulates.
            if lhs.indices.iter().any(|i| matches!(i, Index::Access(_))) {
                (op == BinaryOp::Sub).then_some(())?;
                (Assign::Add, unary(UnaryOp::Neg, changed))
            } else {
                (Assign::Set, binary(op, expr(ExprKind::Access(lhs.clone())), changed))
            }
        }
    };
    Some(Statement { lhs, op, rhs, locals: vec![], schedule: None, span: Span::default() })
}

pub(super) struct Writer<'n> {
    pub names: &'n Names,
    /// Index variables that this line has.
    taken: Vec<String>,
}

/// Names of index variables, in the order in which they are taken.
const VARIABLES: [&str; 10] = ["i", "j", "k", "l", "m", "n", "p", "q", "r", "s"];

impl Writer<'_> {
    /// The tensor and the indices of a left side.
    fn left(&mut self, left: &Part, right: &Part) -> Option<(String, Vec<Index>)> {
        match left {
            Part::Name(name) => {
                let rank = self.names.rank(right)?.max(self.names.declared(name).map_or(0, |sizes| sizes.len()));
                let vars = (0..rank).map(|_| self.fresh()).collect::<Option<Vec<_>>>()?;
                Some((name.clone(), vars.iter().map(|v| variable(v)).collect()))
            }
            Part::Index(..) => {
                let (name, subs) = flat(left)?;
                let mut indices = vec![];
                for (n, sub) in subs.iter().enumerate() {
                    indices.push(match sub {
                        Sub::At(part) => self.index(part, (&name, n))?,
                        Sub::Along(..) => {
                            let var = self.fresh()?;
                            self.along(&var, sub)?
                        }
                    });
                }
                Some((name, indices))
            }
            _ => None,
        }
    }

    /// An index variable that the line does not have.
    pub fn fresh(&mut self) -> Option<String> {
        let free = |v: &&&str| !self.names.line.iter().chain(&self.taken).any(|name| name == **v);
        let name = VARIABLES.iter().find(free)?.to_string();
        self.taken.push(name.clone());
        Some(name)
    }

    pub fn fresh_many(&mut self, n: usize) -> Option<Vec<String>> {
        (0..n).map(|_| self.fresh()).collect()
    }

    /// `part` under index variables, one for each of its modes or more, of which it has the last. `term` says whether sums need
    /// not be written.
    pub fn expr(&mut self, part: &Part, under: &[String], term: bool) -> Option<Expr> {
        match part {
            Part::Number(text) => number(text),
            Part::Text(text) => Some(expr(ExprKind::Literal(Literal::Text(text.clone())))),
            Part::Name(name) => self.named(name, under),
            Part::Dot(base, name) => self.dot(base, name, under, term),
            Part::Index(..) => self.access(part, under),
            Part::Call(function, args) => call::call(self, function, args, under, term),
            Part::Fold(function, vars, body) => {
                let body = self.expr(body, &[], false)?;
                Some(fold(function, vars, body))
            }
            Part::Unary(sign, a) => {
                let op = if *sign == "-" { UnaryOp::Neg } else { UnaryOp::Not };
                Some(unary(op, self.expr(a, under, term && *sign == "-")?))
            }
            Part::If(c, a, b) => {
                let [c, a, b] = [c, a, b].map(|part| self.expr(part, under, false));
                Some(expr(ExprKind::If(Box::new(c?), Box::new(a?), Box::new(b?))))
            }
            Part::Binary(op, a, b) => self.binary(op, (a, b), under, term),
        }
    }

    fn binary(&mut self, op: &str, (a, b): (&Part, &Part), under: &[String], term: bool) -> Option<Expr> {
        if op == "@" {
            return self.product(a, b, under, term);
        }
        let terms = term && matches!(op, "+" | "-" | "*");
        let (a, b) = (self.expr(a, under, terms)?, self.expr(b, under, terms)?);
        let op = match op {
            "+" => BinaryOp::Add,
            "-" => BinaryOp::Sub,
            "*" | ".*" => BinaryOp::Mul,
            "/" | "./" => BinaryOp::Div,
            "%" => BinaryOp::Rem,
            "<<" => BinaryOp::Shl,
            ">>" => BinaryOp::Shr,
            "&" => BinaryOp::And,
            "|" => BinaryOp::Or,
            "^" => BinaryOp::Xor,
            "<" => BinaryOp::Lt,
            "<=" => BinaryOp::Le,
            ">" => BinaryOp::Gt,
            ">=" => BinaryOp::Ge,
            "==" => BinaryOp::Eq,
            "!=" => BinaryOp::Ne,
            "&&" | "and" => BinaryOp::AndAlso,
            "||" | "or" => BinaryOp::OrElse,
            "**" => return Some(called("pow", vec![a, b])),
            "//" => return Some(called("floordiv", vec![a, b])),
            _ => return None,
        };
        Some(binary(op, a, b))
    }

    /// `a @ b`
    pub fn product(&mut self, a: &Part, b: &Part, under: &[String], term: bool) -> Option<Expr> {
        let ranks = (self.names.rank(a)?, self.names.rank(b)?);
        let (rows, columns) = match (ranks, under) {
            ((1, 1), []) => (vec![], vec![]),
            ((2, 1), [i]) => (vec![i.clone()], vec![]),
            ((1, 2), [j]) => (vec![], vec![j.clone()]),
            ((2, 2), [i, j]) => (vec![i.clone()], vec![j.clone()]),
            _ => return None,
        };
        let k = self.fresh()?;
        let left = self.expr(a, &[rows, vec![k.clone()]].concat(), term)?;
        let right = self.expr(b, &[vec![k.clone()], columns].concat(), term)?;
        let body = binary(BinaryOp::Mul, left, right);
        Some(if term { body } else { fold("sum", &[k], body) })
    }

    fn named(&mut self, name: &str, under: &[String]) -> Option<Expr> {
        match name {
            "inf" => return Some(expr(ExprKind::Literal(Literal::Float(Float(f64::INFINITY))))),
            "nan" => return Some(expr(ExprKind::Literal(Literal::Float(Float(f64::NAN))))),
            "true" | "True" => return Some(expr(ExprKind::Literal(Literal::Bool(true)))),
            "false" | "False" => return Some(expr(ExprKind::Literal(Literal::Bool(false)))),
            "pi" => return number("3.141592653589793"),
            _ => {}
        }
        if self.names.is_value(name) {
            return Some(expr(ExprKind::Name(ident(name))));
        }
        let rank = self.names.rank_of(name);
        let from = under.len().checked_sub(rank)?;
        Some(read(name, under[from..].iter().map(|v| variable(v)).collect()))
    }

    fn dot(&mut self, base: &Part, name: &str, under: &[String], term: bool) -> Option<Expr> {
        match (base, name) {
            (Part::Name(module), _) if self.names.is_module(module) => match name {
                "pi" => number("3.141592653589793"),
                "e" => number("2.718281828459045"),
                "inf" | "nan" => self.named(name, under),
                _ => None,
            },
            (_, "T") if under.len() == self.names.rank(base)? => {
                let turned: Vec<String> = under.iter().rev().cloned().collect();
                self.expr(base, &turned, term)
            }
            _ => None,
        }
    }

    /// `A[i,j]`, `A[:,0]`, `C[i][j]`, `A.T[i,j]`
    fn access(&mut self, part: &Part, under: &[String]) -> Option<Expr> {
        if let Part::Index(base, subs) = part
            && let Part::Dot(of, transposed) = &**base
            && transposed == "T"
        {
            let turned = subs.iter().rev().cloned().collect();
            return self.access(&Part::Index(of.clone(), turned), under);
        }
        if let Part::Index(base, subs) = part
            && let [Sub::At(Part::Number(n))] = &subs[..]
            && let Part::Dot(of, shape) = &**base
            && shape == "shape"
        {
            return self.size(of, n.parse().ok()?);
        }
        let (name, subs) = flat(part)?;
        let rank = self.names.rank(part)?;
        let mut free = under[under.len().checked_sub(rank)?..].iter();
        let mut indices = vec![];
        for (n, sub) in subs.iter().enumerate() {
            indices.push(match sub {
                Sub::At(part) => self.index(part, (&name, n))?,
                Sub::Along(..) => self.along(free.next()?, sub)?,
            });
        }
        indices.extend(free.map(|v| variable(v)));
        Some(read(&name, indices))
    }

    /// The extent of a mode, by its size's name.
    pub fn size(&self, of: &Part, mode: usize) -> Option<Expr> {
        let Part::Name(name) = of else { return None };
        let size = self.names.declared(name)?.get(mode)?.clone();
        match size.parse() {
            Ok(n) => Some(expr(ExprKind::Literal(Literal::Int(n)))),
            Err(_) => Some(expr(ExprKind::Name(ident(&size)))),
        }
    }

    /// `a:b:c` of a mode under an index variable.
    fn along(&self, var: &str, sub: &Sub) -> Option<Index> {
        let Sub::Along(start, end, step) = sub else { return None };
        if (start, end, step) == (&None, &None, &None) {
            return Some(variable(var));
        }
        let bound = |part: &Option<Part>| part.as_ref().map(affine).map_or(Some(None), |a| a.map(Some));
        let step = match step {
            None => None,
            Some(Part::Number(n)) => Some(n.parse().ok()?),
            Some(_) => return None,
        };
        Some(Index::Slice { var: ident(var), start: bound(start)?, end: bound(end)?, step, span: Span::default() })
    }

    /// An index that is no slice, of a mode of a tensor.
    fn index(&mut self, part: &Part, (tensor, mode): (&str, usize)) -> Option<Index> {
        if let Part::Unary("-", n) = part
            && let Part::Number(n) = &**n
        {
            let size = self.names.declared(tensor)?.get(mode)?.clone();
            let term = |factor| Term { coefficient: None, factor, divisions: vec![] };
            let last = term(Factor::Int(n.parse().ok()?));
            let map = Affine { terms: vec![(false, term(Factor::Var(ident(&size)))), (true, last)] };
            return Some(Index::Affine { permit: false, map, span: Span::default() });
        }
        if let Some(map) = affine(part) {
            return Some(Index::Affine { permit: false, map, span: Span::default() });
        }
        let of = self.expr(part, &[], false)?;
        match of.kind {
            ExprKind::Access(access) => Some(Index::Access(access)),
            ExprKind::Call(..) => Some(Index::Computed { permit: false, of: Box::new(of) }),
            _ => None,
        }
    }
}

/// A tensor's name and all of its subscripts: `C[i][j]` has two.
pub(super) fn flat(part: &Part) -> Option<(String, Vec<Sub>)> {
    match part {
        Part::Name(name) => Some((name.clone(), vec![])),
        Part::Index(base, subs) => {
            let (name, mut all) = flat(base)?;
            let plain = all.iter().all(|sub| matches!(sub, Sub::At(_)));
            all.extend(subs.iter().cloned());
            plain.then_some((name, all))
        }
        _ => None,
    }
}

/// A sum of names and integers, each times an integer.
fn affine(part: &Part) -> Option<Affine> {
    let term = |coefficient, factor| Term { coefficient, factor, divisions: vec![] };
    let one = |term| Some(Affine { terms: vec![(false, term)] });
    match part {
        Part::Number(n) => one(term(None, Factor::Int(n.parse().ok()?))),
        Part::Name(name) => one(term(None, Factor::Var(ident(name)))),
        Part::Binary(op @ ("+" | "-"), a, b) => {
            let (a, b) = (affine(a)?, affine(b)?);
            let behind = match (&b.terms[..], *op) {
                ([(false, only)], op) => (op == "-", only.clone()),
                _ => (*op == "-", term(None, Factor::Group(Box::new(b)))),
            };
            Some(Affine { terms: a.terms.into_iter().chain([behind]).collect() })
        }
        Part::Binary("*", a, b) => match (&**a, &**b) {
            (Part::Number(n), other) | (other, Part::Number(n)) => {
                let inner = affine(other)?;
                let factor = match inner.as_name() {
                    Some(name) => Factor::Var(name.clone()),
                    None => Factor::Group(Box::new(inner)),
                };
                one(term(Some(n.parse().ok()?), factor))
            }
            _ => None,
        },
        Part::Binary(op @ ("/" | "//" | "%"), a, b) => {
            let Part::Number(n) = &**b else { return None };
            let inner = affine(a)?;
            let factor = match inner.as_name() {
                Some(name) => Factor::Var(name.clone()),
                None => Factor::Group(Box::new(inner)),
            };
            one(Term { coefficient: None, factor, divisions: vec![(*op == "%", n.parse().ok()?)] })
        }
        _ => None,
    }
}

pub(super) fn number(text: &str) -> Option<Expr> {
    let literal = match text.parse::<i128>() {
        Ok(n) => Literal::Int(n),
        Err(_) => Literal::Float(Float(text.parse().ok()?)),
    };
    Some(expr(ExprKind::Literal(literal)))
}

pub(super) fn ident(name: &str) -> Ident {
    Ident { name: name.to_string(), span: Span::default() }
}

pub(super) fn expr(kind: ExprKind) -> Expr {
    Expr { kind, span: Span::default() }
}

pub(super) fn unary(op: UnaryOp, a: Expr) -> Expr {
    expr(ExprKind::Unary(op, Box::new(a)))
}

pub(super) fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    expr(ExprKind::Binary(op, Box::new(a), Box::new(b)))
}

pub(super) fn called(name: &str, args: Vec<Expr>) -> Expr {
    use fiberloom_core::notation::syntax::Argument;
    expr(ExprKind::Call(ident(name), args.into_iter().map(Argument::Expr).collect()))
}

pub(super) fn fold(function: &str, vars: &[String], body: Expr) -> Expr {
    let vars = vars.iter().map(|v| ident(v)).collect();
    expr(ExprKind::Reduce { function: ident(function), vars, body: Box::new(body), start: None })
}

pub(super) fn read(tensor: &str, indices: Vec<Index>) -> Expr {
    expr(ExprKind::Access(Access { tensor: ident(tensor), indices, span: Span::default() }))
}

pub(super) fn variable(name: &str) -> Index {
    let term = Term { coefficient: None, factor: Factor::Var(ident(name)), divisions: vec![] };
    Index::Affine { permit: false, map: Affine { terms: vec![(false, term)] }, span: Span::default() }
}
