//! Tangents: how results move if operands do, statement by statement, in blocks too.
//!
//! ```text
//!  T[κ…] = e, += e     Ṫ[κ…] = ė, += ė      before the statement itself, which may overwrite what e reads
//!  ė of T[κ…]          Ṫ[κ…]                                  of f(a, b)      ∂f/∂a · ȧ + ∂f/∂b · ḃ
//!    of sum(j: a)      sum(j: ȧ)                              of prod(j: a)   sum(j: ȧ · prod(k: if k == j then 1 else a))
//!    of min(j: a)      ȧ at the first j at which a is least   of shape(a)     shape(ȧ)
//! ```

use super::change::rebound;
use super::draft::Draft;
use super::expr::{
    add, add_kept, call, call_of, compare, counted, distinct, index, integer, is_zero, made, mask, mul, nothing_of,
    number, read, sum,
};
use super::function::{self, written};
use super::pull::{anchor, may_say, moves, says, set};
use fiberloom_core::algebra::{Derivative, Op};
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::typed::{Expr, Fun, Kind, Repeat, Statement, Step, TensorId, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// A step of what is written.
pub(super) enum Written {
    /// A statement of the original, by its place.
    Original(usize),
    /// One of tangents.
    Made(Statement),
    /// A block of the original.
    Block(Repeat, Vec<Written>),
}

/// The tangents of a program's tensors.
pub(super) struct Forward<'d> {
    draft: &'d mut Draft,
    moving: FxHashSet<TensorId>,
    /// The tangent of each tensor that moves.
    pub(super) dots: FxHashMap<TensorId, TensorId>,
}

impl<'d> Forward<'d> {
    /// Of the tensors that move if these do.
    pub(super) fn new(draft: &'d mut Draft, by: &[TensorId]) -> Forward<'d> {
        let mut moving: FxHashSet<TensorId> = by.iter().copied().collect();
        loop {
            let before = moving.len();
            for s in &draft.program.statements {
                if moves(&moving, &s.rhs) {
                    moving.insert(s.tensor);
                }
            }
            if moving.len() == before {
                break;
            }
        }
        let mut dots = FxHashMap::default();
        let ids: Vec<TensorId> = draft.program.ids().filter(|t| moving.contains(t)).collect();
        for t in ids {
            let of = draft.program.tensors[t.index()].clone();
            dots.insert(t, draft.like(&format!("{}_dot", of.name), t, of.ty, of.format));
        }
        Forward { draft, moving, dots }
    }

    /// Steps with the tangents that they take.
    ///
    /// # Errors
    /// What has no derivative, by name and place.
    pub(super) fn steps(&mut self, steps: &[Step]) -> Result<Vec<Written>, Diagnostic> {
        let mut all = vec![];
        for step in steps {
            match step {
                Step::Statement(n) => {
                    let s = self.draft.program.statements[*n].clone();
                    all.extend(self.statement(&s)?.into_iter().map(Written::Made));
                    all.push(Written::Original(*n));
                }
                Step::Repeat(block) => all.push(Written::Block(block.clone(), self.steps(&block.body)?)),
            }
        }
        Ok(all)
    }

    fn statement(&mut self, s: &Statement) -> Result<Vec<Statement>, Diagnostic> {
        let Some(dot) = self.dots.get(&s.tensor).copied() else { return Ok(vec![]) };
        let known = self.draft.program.tensors[dot.index()].format.is_some();
        // What the original reads says how far a tangent goes that nothing declares.
        let said = |rhs: &Expr, v: VarId| says(rhs, v) || may_say(rhs, v) && !says(&s.rhs, v);
        let whole = |rhs: Expr| match known || s.vars.iter().all(|v| said(&rhs, *v)) {
            true => rhs,
            false => add_kept(nothing_of(&s.rhs, rhs.ty), rhs),
        };
        let of = |rhs: Expr| Statement { tensor: dot, rhs: whole(rhs), schedule: None, ..s.clone() };
        if !moves(&self.moving, &s.rhs) && s.fold.is_none() {
            return Ok(vec![of(number(0.0, s.rhs.ty))]);
        }
        Ok(match s.fold {
            Some(Fun::Op(Op::Add)) if !moves(&self.moving, &s.rhs) => vec![],
            None | Some(Fun::Op(Op::Add)) => vec![of(self.tangent(&s.rhs)?)],
            Some(Fun::User(f)) if self.draft.program.functions[f.index()].is_latest() => {
                vec![of(self.tangent(&s.rhs)?)]
            }
            Some(fun) => {
                let under = distinct(&s.indices).ok_or_else(|| {
                    Diagnostic::new(s.span, "a scatter has a derivative if it adds: `+=`")
                        .help("fold into distinct index variables, and gather from the result")
                })?;
                let ty = s.rhs.ty;
                let before = self.begins(s).then(|| made(Kind::Access(s.tensor, s.indices.clone()), ty));
                let rhs = match (&s.folded[..], before) {
                    ([], None) => s.rhs.clone(),
                    ([], Some(before)) => call_of(fun, vec![before, s.rhs.clone()], ty),
                    (vars, before) => made_fold(fun, vars, s.rhs.clone(), before),
                };
                vec![set(dot, &under, self.tangent(&rhs)?, s.span)]
            }
        })
    }

    /// Whether a statement that accumulates begins with values of its tensor.
    fn begins(&self, s: &Statement) -> bool {
        let declared = self.draft.program.tensors[s.tensor.index()].fill.is_some();
        let first = self.draft.program.statements.iter().find(|other| other.tensor == s.tensor);
        declared || first.is_some_and(|first| first != s)
    }

    /// Statements that let tangents begin with 0: those of tensors that the caller brings, and that do not move at first.
    pub(super) fn begun(&mut self, by: &[TensorId]) -> Vec<Statement> {
        let program = &self.draft.program;
        let brought = [program.inputs(), program.starts()].concat();
        let mut still: Vec<TensorId> =
            brought.into_iter().filter(|t| self.moving.contains(t) && !by.contains(t)).collect();
        still.sort();
        still.dedup();
        let begun = still.into_iter().map(|t| {
            let vars = self.draft.modes(t);
            let ty = self.draft.program.tensors[t.index()].ty;
            set(self.dots[&t], &vars, number(0.0, ty), self.draft.program.tensors[t.index()].span)
        });
        begun.collect()
    }

    /// The statement that makes a tangent a result: that of a tensor which moves as the caller says, and which no step moves.
    pub(super) fn kept(&mut self, dot: TensorId, steps: &[Written]) -> Option<Statement> {
        let made = super::turns::statements(steps).into_iter().any(|s| s.tensor == dot);
        let (vars, of) = (self.draft.modes(dot), &self.draft.program.tensors[dot.index()]);
        (!made).then(|| set(dot, &vars, read(dot, &vars, of.ty), of.span))
    }

    /// How an expression moves.
    fn tangent(&mut self, e: &Expr) -> Result<Expr, Diagnostic> {
        if !moves(&self.moving, e) {
            return Ok(number(0.0, e.ty));
        }
        let again = |body: Expr, kind: &dyn Fn(Box<Expr>) -> Kind| made(kind(Box::new(body)), e.ty);
        Ok(match &e.kind {
            Kind::Access(t, indices) => made(Kind::Access(self.dots[t], indices.clone()), e.ty),
            Kind::Call(Fun::Op(op), args) => self.built_in(e, *op, args)?,
            Kind::Call(Fun::User(f), args) => {
                let mut all = number(0.0, e.ty);
                for (n, arg) in args.iter().enumerate().filter(|(_, a)| moves(&self.moving, a)).collect::<Vec<_>>() {
                    let along = self.tangent(arg)?;
                    let Some(slope) = function::slope(self.draft, *f, n, e.span)? else { continue };
                    let along = if along.ty == e.ty { along } else { call(Op::Convert(e.ty), vec![along]) };
                    all = add(all, mul(along, made(Kind::Call(Fun::User(slope), args.clone()), e.ty)));
                }
                all
            }
            Kind::Reduce { fun, vars, body, start } => self.fold(e, *fun, (vars, body, start.as_deref()))?,
            Kind::Collapse { body, from, to } => {
                let (from, to) = (from.clone(), *to);
                again(said(&from, self.tangent(body)?, body), &|body| Kind::Collapse { body, from: from.clone(), to })
            }
            Kind::Split { body, from, to } => {
                let (from, to) = (*from, *to);
                again(said(&[from], self.tangent(body)?, body), &|body| Kind::Split { body, from, to })
            }
            Kind::Slice { body, from, to, start, end, step } => {
                let (from, to, start, end, step) = (*from, *to, start, end, *step);
                again(said(&[from], self.tangent(body)?, body), &|body| Kind::Slice {
                    body,
                    from,
                    to,
                    start: start.clone(),
                    end: end.clone(),
                    step,
                })
            }
            Kind::Concat { parts, from, to } => {
                let parts = parts.iter().zip(from).map(|(part, v)| self.part(part, *v)).collect::<Result<_, _>>()?;
                made(Kind::Concat { parts, from: from.clone(), to: *to }, e.ty)
            }
            Kind::Literal(_) | Kind::Index(_) | Kind::Size(_) | Kind::Local(_) => number(0.0, e.ty),
        })
    }

    /// The tangent of a part of a concatenation, which still says how long the part is.
    fn part(&mut self, part: &Expr, v: VarId) -> Result<Expr, Diagnostic> {
        let tangent = self.tangent(part)?;
        Ok(if is_zero(&tangent) { nothing_of(part, part.ty) } else { said(&[v], tangent, part) })
    }

    fn built_in(&mut self, e: &Expr, op: Op, args: &[Expr]) -> Result<Expr, Diagnostic> {
        match (op, op.derivative()) {
            (Op::Select, _) => {
                let (yes, no) = (self.tangent(&args[1])?, self.tangent(&args[2])?);
                Ok(call(op, vec![args[0].clone(), yes, no]))
            }
            (Op::Convert(ty), _) => {
                let along = self.tangent(&args[0])?;
                Ok(if along.ty == ty { along } else { call(op, vec![along]) })
            }
            (Op::Coalesce, _) => {
                let mut parts = vec![];
                for arg in args {
                    let tangent = self.tangent(arg)?;
                    let misses = arg.may_miss().is_some() && !matches!(tangent.kind, Kind::Access(..));
                    parts.push(if misses { add_kept(nothing_of(arg, arg.ty), tangent) } else { tangent });
                }
                Ok(made(Kind::Call(Fun::Op(op), parts), e.ty))
            }
            (_, Derivative::Along(slopes)) => {
                let mut all = number(0.0, e.ty);
                for (arg, slope) in args.iter().zip(slopes) {
                    let Some(slope) = slope.filter(|_| moves(&self.moving, arg)) else { continue };
                    let along = self.tangent(arg)?;
                    all = add(all, written(&slope(), (e, args), &along));
                }
                Ok(all)
            }
            (_, Derivative::Missing) => {
                let message = format!("`{}` has no derivative", op.name());
                Err(Diagnostic::new(e.span, message).help("name no tensor by `--by` that it reads"))
            }
            _ => Ok(number(0.0, e.ty)),
        }
    }

    fn fold(
        &mut self,
        e: &Expr,
        fun: Fun,
        (vars, body, start): (&[VarId], &Expr, Option<&Expr>),
    ) -> Result<Expr, Diagnostic> {
        let inner = self.tangent(body)?;
        let begun = start.map_or(Ok(number(0.0, e.ty)), |start| self.tangent(start))?;
        match fun {
            Fun::Op(Op::Add) => Ok(add(summed(vars, inner, body), begun)),
            Fun::Op(Op::Mul) => {
                let whole = rebound(self.draft, &made_fold(fun, vars, body.clone(), None))?;
                let Kind::Reduce { vars: others, body: other, .. } = &whole.kind else { return Ok(inner) };
                let same = others.iter().zip(vars).map(|(k, j)| compare(Op::Eq, index(*k), index(*j)));
                let Some(same) = same.reduce(|a, b| call(Op::AndAlso, vec![a, b])) else { return Ok(inner) };
                let rest =
                    made_fold(fun, others, call(Op::Select, vec![same, number(1.0, e.ty), (**other).clone()]), None);
                let first = start.map_or(number(1.0, e.ty), Clone::clone);
                Ok(add(mul(first, summed(vars, mul(inner, rest), body)), mul(begun, whole)))
            }
            Fun::Op(Op::Min | Op::Max) => self.extreme(e, (vars, body, start), (inner, begun)),
            other => {
                let name = match other {
                    Fun::Op(op) => op.name(),
                    Fun::User(f) => &self.draft.program.functions[f.index()].name,
                };
                let message =
                    format!("a fold with `{name}` has no derivative: sums, products, `min` and `max` have one");
                Err(Diagnostic::new(e.span, message).help("write it as one of these"))
            }
        }
    }

    /// The tangent at the first coordinate at which a fold's body is its value.
    fn extreme(
        &mut self,
        e: &Expr,
        (vars, body, start): (&[VarId], &Expr, Option<&Expr>),
        (inner, begun): (Expr, Expr),
    ) -> Result<Expr, Diagnostic> {
        let mut place = index(vars[0]);
        for v in &vars[1..] {
            let size = counted(self.draft.extent(*v, e.span)?);
            place = call(Op::Add, vec![call(Op::Mul, vec![place, size]), index(*v)]);
        }
        let whole = rebound(self.draft, e)?;
        let attained = compare(Op::Eq, body.clone(), whole.clone());
        let places = call(Op::Select, vec![attained, place.clone(), integer(i64::MAX)]);
        let first = rebound(self.draft, &made_fold(Fun::Op(Op::Min), vars, places, None))?;
        let at = summed(vars, mask(compare(Op::Eq, place, first), inner), body);
        Ok(match start {
            None => at,
            Some(start) => call(Op::Select, vec![compare(Op::Eq, start.clone(), whole), begun, at]),
        })
    }
}

/// `sum(vars: e)`, in which something says how far each variable goes, as `body` does.
fn summed(vars: &[VarId], e: Expr, body: &Expr) -> Expr {
    if is_zero(&e) { e } else { sum(vars.to_vec(), said(vars, e, body)) }
}

/// A tangent of `body`, in which something says how far each of these variables goes, as `body` does.
fn said(vars: &[VarId], e: Expr, body: &Expr) -> Expr {
    let unsaid: Vec<Expr> = vars.iter().filter(|v| !says(&e, **v)).filter_map(|v| anchor(body, *v)).collect();
    let ty = e.ty;
    unsaid.iter().fold(e, |e, anchor| add_kept(nothing_of(anchor, ty), e))
}

fn made_fold(fun: Fun, vars: &[VarId], body: Expr, start: Option<Expr>) -> Expr {
    let ty = body.ty;
    made(Kind::Reduce { fun, vars: vars.to_vec(), body: Box::new(body), start: start.map(Box::new) }, ty)
}
