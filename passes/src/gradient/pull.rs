//! What a gradient of an expression's value is to the tensors that it reads: it is pulled down to each access, one rule a construct.
//!
//! ```text
//!  w: the gradient of the value of e, at each coordinate of the variables in scope
//!  e = T[κ…]      T̄[κ…] += Σ w                    over the variables in scope that are not in κ
//!  e = f(a, b)    a: w · ∂f/∂a      b: w · ∂f/∂b   calls.rs, by the table of built-ins
//!  e = ⊕(j: a)    a: w, j in scope too            folds.rs
//!  e = shape(a)   a: w under the inverse map      shape.rs
//! ```

mod calls;
mod folds;
mod shape;
mod window;

use super::change::{Change, binds, rebound};
use super::draft::Draft;
use super::expr::{self, bare, call, counted, distinct, made, mul, number, read};
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::notation::typed::{Expr, Fun, Index, Kind, Map, Statement, TensorId, VarId};
use fiberloom_core::notation::{Diagnostic, Span};
use rustc_hash::FxHashSet;

/// What one access contributes to the gradient of its tensor.
pub(super) struct Found {
    /// The tensor that is read.
    pub(super) tensor: TensorId,
    /// Under which indices.
    pub(super) indices: Vec<Index>,
    /// What is added there: summed over all other variables.
    pub(super) value: Expr,
}

/// The descent into the right side of one statement.
pub(super) struct Pull<'d> {
    pub(super) draft: &'d mut Draft,
    /// Tensors that move if those move by which gradients are asked.
    pub(super) moving: &'d FxHashSet<TensorId>,
    /// Variables of slices that are passed, as maps of those in scope.
    now: Change,
    /// Variables that the gradient is a function of, at this place.
    scope: Vec<VarId>,
    /// What says how far variables of folds go.
    anchors: Vec<(VarId, Expr)>,
    /// The whole right side, or what a mask at its top is of, and an access to what the statement defines, which has its value.
    whole: Option<(*const Expr, Expr)>,
    /// What accesses contribute.
    pub(super) found: Vec<Found>,
    /// Statements of values that contributions read.
    pub(super) before: Vec<Statement>,
    /// Parts of the right side that have names now.
    pub(super) parts: Vec<Part>,
}

/// A part of a right side, as a tensor of its own.
#[derive(Clone)]
pub(super) struct Part {
    /// The part.
    pub(super) of: Expr,
    /// An access that has its value.
    pub(super) known: Expr,
    /// The statement that defines it.
    pub(super) statement: Statement,
}

/// A result of a rule: a construct without derivative is refused by name.
type Done = Result<(), Diagnostic>;

impl<'d> Pull<'d> {
    /// At the top of a right side; `known` is an access that has its value.
    pub(super) fn new(
        draft: &'d mut Draft,
        moving: &'d FxHashSet<TensorId>,
        (rhs, known): (&Expr, Option<Expr>),
        scope: Vec<VarId>,
    ) -> Pull<'d> {
        let whole = known.map(|known| (std::ptr::from_ref(rhs), known));
        let (anchors, found, before, parts) = (vec![], vec![], vec![], vec![]);
        Pull { draft, moving, now: Change::default(), scope, anchors, whole, found, before, parts }
    }

    /// Pulls the gradient `w` of the value of `e` down to what it reads.
    ///
    /// # Errors
    /// A construct without derivative, by name.
    pub(super) fn pull(&mut self, e: &Expr, w: Expr) -> Done {
        if !moves(self.moving, e) || expr::is_zero(&w) {
            return Ok(());
        }
        match &e.kind {
            Kind::Access(t, indices) => self.access(*t, indices, w, e.span),
            Kind::Call(Fun::Op(op), args) => self.built_in(e, *op, args, w),
            Kind::Call(Fun::User(f), args) => self.declared(e, *f, args, w),
            Kind::Reduce { .. } => self.fold(e, w),
            Kind::Collapse { body, from, to } => self.collapse(body, (from, *to), w),
            Kind::Split { body, from, to } => self.split(body, (*from, *to), w),
            Kind::Concat { parts, from, to } => self.concat(parts, (from, *to), w, e.span),
            Kind::Slice { body, from, to, start, step, .. } => self.slice(body, (*from, *to), (start, *step), w),
            Kind::Literal(_) | Kind::Index(_) | Kind::Size(_) | Kind::Local(_) => Ok(()),
        }
    }

    /// `T[κ…]`: `T̄[κ…] += Σ w`, over the variables in scope that are not in `κ`. What is missing in `w` contributes nothing.
    fn access(&mut self, tensor: TensorId, indices: &[Index], w: Expr, span: Span) -> Done {
        let indices = self.now.indices(indices)?;
        if indices.iter().any(|i| i.permit) {
            return self.window(tensor, indices, w, span);
        }
        let w = if w.may_miss().is_some() { call(Op::Coalesce, vec![w.clone(), number(0.0, w.ty)]) } else { w };
        let left = made(Kind::Access(tensor, indices.clone()), w.ty).free();
        let own = |v: VarId| if left.contains(&v) { &indices[..] } else { &[] };
        let is_uncounted =
            |pull: &Self, v| pull.count(v, w.ty, span).is_err() && pull.anchors.iter().any(|(of, _)| *of == v);
        let (mut value, said) = self.said((w.clone(), span), (&left, own), is_uncounted)?;
        let mut summed = vec![];
        for v in self.scope.clone() {
            match said.contains(&v) {
                true => summed.extend((!left.contains(&v)).then_some(v)),
                false => value = mul(self.count(v, value.ty, span)?, value),
            }
        }
        self.found.push(Found { tensor, indices, value: expr::sum(summed, value) });
        Ok(())
    }

    /// A value that says how far each variable in scope goes that it reads, or the left side, or what is read to say so, or that is `wanted`; and
    /// these variables.
    fn said<'i>(
        &mut self,
        (mut value, span): (Expr, Span),
        (left, own): (&FxHashSet<VarId>, impl Fn(VarId) -> &'i [Index]),
        wanted: impl Fn(&Self, VarId) -> bool,
    ) -> Result<(Expr, Vec<VarId>), Diagnostic> {
        let mut said = vec![];
        loop {
            let free = value.free();
            let is_next = |v: &VarId| !said.contains(v) && (left.contains(v) || free.contains(v) || wanted(self, *v));
            let Some(v) = self.scope.iter().copied().find(is_next) else { return Ok((value, said)) };
            value = self.anchored(v, own(v), value, span)?;
            said.push(v);
        }
    }

    /// A value that says how far a variable goes, unless the left side does: by a bare index of what is read, or a shape operator. To one that does
    /// not, something that does is added, times 0.
    fn anchored(&mut self, v: VarId, left: &[Index], value: Expr, span: Span) -> Result<Expr, Diagnostic> {
        if left.iter().any(|i| !i.permit && anchors(&i.map, v)) || says(&value, v) {
            return Ok(value);
        }
        if let Some((_, anchor)) = self.anchors.iter().find(|(of, _)| *of == v) {
            let anchor = self.here(&anchor.clone())?;
            // It may read variables that are not in scope here: it is a sum over those.
            let mut others: Vec<VarId> = anchor.free().into_iter().filter(|v| !self.scope.contains(v)).collect();
            others.sort();
            return Ok(expr::add_kept(expr::sum(others, expr::nothing_of(&anchor, value.ty)), value));
        }
        if may_say(&value, v) {
            return Ok(value);
        }
        let name = &self.draft.program.vars[v.index()].name;
        Err(Diagnostic::new(span, format!("nothing that the gradient reads under `{name}` says how far it goes"))
            .help(format!("read something else under a bare `{name}` here, such as a vector of ones")))
    }

    /// How many coordinates a variable has, as a number of type `ty`.
    fn count(&self, v: VarId, ty: Type, span: Span) -> Result<Expr, Diagnostic> {
        let size = counted(self.draft.extent(v, span)?);
        Ok(call(Op::Convert(ty), vec![size]))
    }

    /// What an expression of the right side is here. What it binds has other variables than those in scope.
    fn here(&mut self, e: &Expr) -> Result<Expr, Diagnostic> {
        let here = self.now.expr(e)?;
        let mut meets = false;
        here.walk(&mut |e| meets |= binds(e).iter().any(|v| self.scope.contains(v)));
        if meets { rebound(self.draft, &here) } else { Ok(here) }
    }

    /// The value of an expression of the right side: what the statement defines, if that is its value.
    fn value(&mut self, e: &Expr) -> Result<Expr, Diagnostic> {
        match &self.whole {
            Some((whole, known)) if std::ptr::eq(*whole, e) => Ok(known.clone()),
            _ => self.here(e),
        }
    }

    /// At a mask that is the whole right side, what it is of is the whole: nothing is passed on where it is not taken.
    fn masked(&mut self, e: &Expr, of: &Expr) {
        if let Some((whole, _)) = &mut self.whole
            && std::ptr::eq(*whole, e)
            && of.may_miss().is_none()
        {
            *whole = of;
        }
    }

    /// The value of an argument of a function: one that is a fold has a name, as derivatives read it in several places.
    fn argument(&mut self, e: &Expr) -> Result<Expr, Diagnostic> {
        if !expr::folds(e) {
            return self.here(e);
        }
        if let Some(part) = self.parts.iter().find(|part| part.of == *e) {
            return Ok(part.known.clone());
        }
        let here = self.here(e)?;
        let known = self.named("t", here)?;
        self.parts.extend(self.before.pop().map(|statement| Part { of: e.clone(), known: known.clone(), statement }));
        Ok(known)
    }

    /// A temporary that holds a value at each coordinate that it depends on, of which something says how far they go.
    fn named(&mut self, wanted: &str, value: Expr) -> Result<Expr, Diagnostic> {
        let span = value.span;
        let (value, said) = self.said((value, span), (&FxHashSet::default(), |_| &[]), |_, _| false)?;
        let vars: Vec<VarId> = self.scope.iter().copied().filter(|v| said.contains(v)).collect();
        let under = self.draft.vars(&vars);
        let renamed = Change::vars(vars.iter().copied().zip(under.iter().copied()));
        let ty = value.ty;
        let tensor = self.draft.temporary(wanted, ty, &vars);
        // Variables become variables, so that nothing is refused.
        let rhs = renamed.expr(&value).unwrap_or(value);
        self.before.push(set(tensor, &under, rhs, span));
        Ok(read(tensor, &vars, ty))
    }
}

/// Whether an expression says how far a variable goes: by a bare index of what is read, or a shape operator of variables of which that is
/// said. A split does not always say it: what it splits may be empty, and then each of the two may go any way, if the other does not go at
/// all.
pub(super) fn says(value: &Expr, v: VarId) -> bool {
    let mut found = false;
    value.walk(&mut |e| {
        found |= match &e.kind {
            Kind::Access(_, indices) => indices.iter().any(|i| !i.permit && anchors(&i.map, v)),
            Kind::Collapse { body, from, to } => *to == v && from.iter().all(|w| says(body, *w)),
            Kind::Concat { parts, from, to } => *to == v && parts.iter().zip(from).all(|(part, w)| says(part, *w)),
            Kind::Slice { body, from, to, end, .. } => *to == v && (end.is_some() || says(body, *from)),
            _ => false,
        }
    });
    found
}

/// Whether a split says how far a variable goes, unless the other one goes nowhere, or another shape operator, unless one of what it is of
/// is not known so.
pub(super) fn may_say(value: &Expr, v: VarId) -> bool {
    let mut found = false;
    value.walk(&mut |e| {
        found |= match &e.kind {
            Kind::Split { to, .. } => to.0 == v || to.1 == v,
            Kind::Collapse { to, .. } | Kind::Concat { to, .. } | Kind::Slice { to, .. } => *to == v,
            _ => false,
        }
    });
    found
}

/// A float that the body of a fold, or of a shape operator, reads under a bare variable, wherever the body stands, or a slice of one, or else a
/// shape operator's value: it says how far the variable goes. If all that is read has variables that are bound in the body, it is a sum over those.
pub(super) fn anchor(body: &Expr, v: VarId) -> Option<Expr> {
    let (mut bound, mut found, mut within) = (vec![], None, None);
    body.walk(&mut |e| bound.extend(binds(e).into_iter().filter(|bound| *bound != v)));
    body.walk(&mut |e| {
        // What is read, and whether the variables that it has are said by it, too.
        let read = match &e.kind {
            Kind::Access(_, indices) => {
                let is_there =
                    indices.iter().all(|i| i.bare().is_some()) && indices.iter().any(|i| i.bare() == Some(v));
                is_there.then(|| (e.clone(), true))
            }
            Kind::Slice { body, from, to, start, end, step } if *to == v => {
                let part = |read: Expr| {
                    let (from, to, start, end, step) = (*from, *to, start.clone(), end.clone(), *step);
                    let ty = read.ty;
                    expr::made(Kind::Slice { body: Box::new(read), from, to, start, end, step }, ty)
                };
                Some(anchor(body, *from).map_or_else(|| (e.clone(), false), |read| (part(read), true)))
            }
            Kind::Collapse { to, .. } | Kind::Concat { to, .. } if *to == v => Some((e.clone(), false)),
            _ => None,
        };
        let Some((read, says_all)) = read.filter(|(e, _)| e.ty.is_float()) else { return };
        let mut own: Vec<VarId> = read.free().into_iter().filter(|w| bound.contains(w)).collect();
        own.sort();
        match own.is_empty() {
            true => found = found.take().or(Some(read)),
            false if says_all => {
                within = within.take().or_else(|| Some(expr::sum(own, read)));
            }
            false => {}
        }
    });
    found.or(within)
}

/// Whether an index says how far a variable goes, itself or in what is read for it.
fn anchors(map: &Map, v: VarId) -> bool {
    match map {
        Map::Var(w) => *w == v,
        Map::Gather(_, indices) => indices.iter().any(|i| anchors(&i.map, v)),
        _ => false,
    }
}

/// The statement `T[vars] = rhs`.
pub(super) fn set(tensor: TensorId, vars: &[VarId], rhs: Expr, span: Span) -> Statement {
    Statement {
        tensor,
        indices: bare(vars),
        cuts: vec![],
        fold: None,
        rhs,
        vars: vars.to_vec(),
        folded: vec![],
        schedule: None,
        commands: vec![],
        format: None,
        span,
    }
}

/// Whether a value moves if these tensors do: it is a float, and reads one where it moves.
pub(super) fn moves(moving: &FxHashSet<TensorId>, e: &Expr) -> bool {
    if !e.ty.is_float() {
        return false;
    }
    match &e.kind {
        Kind::Access(t, _) => moving.contains(t),
        _ => e.children().any(|part| moves(moving, part)),
    }
}

/// The variables of indices that are bare and distinct; none where one is not.
pub(super) fn pulled(found: &Found) -> Option<Vec<VarId>> {
    distinct(&found.indices)
}
