//! Where values are stored: patterns of operands, and where an expression can be other than 0.
//!
//! ```text
//!  pattern(A)          a `bool` operand with the levels of A, true at each entry that A stores
//!  guard(a · b)        guard(a) && guard(b)          guard(mask(c, a))  c && guard(a)
//!  guard(A[κ…])        pattern(A)[κ…] if A moves, else A[κ…] != 0, of lists with fill 0
//! ```
//!
//! Outside of its guard an expression is 0, whatever the stored values are, and moves by nothing: a gradient of it is not needed there.

use super::change::{Change, uses};
use super::draft::Draft;
use super::expr::{and, bare, compare, distinct, made, mask, nodes, or, read};
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::format::Format;
use fiberloom_core::notation::typed::{Expr, FnId, Fun, Index, Kind, Statement, TensorId, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// How large an expression may be that says where a value can be other than 0: of larger ones that is anywhere.
const LARGE: usize = 48;

/// The patterns of a program's operands.
#[derive(Default)]
pub(super) struct Patterns {
    /// Operands whose gradients have their own entries.
    own: FxHashSet<TensorId>,
    /// Their patterns, so far as they are used.
    pub(super) made: FxHashMap<TensorId, TensorId>,
    /// What defines each tensor.
    defined: FxHashMap<TensorId, Statement>,
    /// Gradients that have just the entries of an operand, with that operand.
    pub(super) full: FxHashMap<TensorId, TensorId>,
    /// Where tensors can be other than 0, in the variables of what defines them, so far as that was asked.
    guards: FxHashMap<TensorId, Option<Expr>>,
    /// The functions that store a value at each entry, by the value's type.
    stored: FxHashMap<Type, FnId>,
}

/// Whether a format stores entries, each a value of one coordinate, and leaves others out: then a gradient by a tensor of this format has
/// the tensor's own entries.
pub fn keeps_entries(format: &Format) -> bool {
    !format.is_dense() && format.levels.iter().all(|kind| !kind.shares() && !kind.is_called())
}

impl Patterns {
    /// Of a program whose tensors are defined so, in which these operands' gradients have their own entries.
    pub(super) fn new(own: FxHashSet<TensorId>, defined: FxHashMap<TensorId, Statement>) -> Patterns {
        Patterns { own, defined, ..Patterns::default() }
    }

    /// Whether an operand's gradient has the operand's entries.
    pub(super) fn keeps(&self, t: TensorId) -> bool {
        self.own.contains(&t)
    }

    /// Notes what defines a gradient.
    pub(super) fn defines(&mut self, s: Statement) {
        self.defined.insert(s.tensor, s);
    }

    /// Forgets what defines a tensor that turns of a block change.
    pub(super) fn forget(&mut self, t: TensorId) {
        self.defined.remove(&t);
    }

    /// The pattern of an operand.
    pub(super) fn of(&mut self, draft: &mut Draft, t: TensorId) -> TensorId {
        if let Some(made) = self.made.get(&t) {
            return *made;
        }
        let tensor = &draft.program.tensors[t.index()];
        let (name, format) = (format!("{}_pattern", tensor.name), tensor.format.clone());
        let made = draft.like(&name, t, Type::Bool, format);
        self.made.insert(t, made);
        made
    }

    /// A value at each entry of an operand, also where the value is 0 for what others do not store: `mask(pattern[…], value)` where others
    /// store everything, else a function that is computed at each entry, whatever its value is.
    pub(super) fn stored(&mut self, draft: &mut Draft, t: TensorId, vars: &[VarId], value: Expr) -> Expr {
        let pattern = self.of(draft, t);
        let entry = made(Kind::Access(pattern, bare(vars)), Type::Bool);
        let others = self.listed(draft, t, vars, &value);
        if !vars.iter().any(|v| others.contains(v)) {
            return mask(entry, value);
        }
        let ty = value.ty;
        let stored = *self.stored.entry(ty).or_insert_with(|| draft.stored(ty));
        made(Kind::Call(Fun::User(stored), vec![entry, value]), ty)
    }

    /// The variables whose coordinates lists decide in an expression: those of other tensors than an operand, and those with its entries, under
    /// its own variables.
    pub(super) fn listed(&self, draft: &Draft, own: TensorId, vars: &[VarId], e: &Expr) -> FxHashSet<VarId> {
        let is_own = |t: TensorId| {
            let same = t == own || self.full.get(&t) == Some(&own) || self.made.get(&own) == Some(&t);
            same || self.has_entries(draft, t, own)
        };
        self.listed_apart(draft, (&is_own, vars), e)
    }

    /// Whether what defines a tensor, without a format or with an operand's, gives it a value at each entry of the operand: a product of it
    /// with what is stored everywhere.
    fn has_entries(&self, draft: &Draft, t: TensorId, own: TensorId) -> bool {
        let Some(s) = self.defined.get(&t).filter(|s| s.fold.is_none() && !s.is_part()) else { return false };
        let formats = [t, own].map(|t| draft.program.tensors[t.index()].format.as_ref());
        let alike = formats[0].is_none() || formats[0] == formats[1];
        let Some(under) = distinct(&s.indices).filter(|_| alike) else { return false };
        let entry = read(own, &under, draft.program.tensors[own.index()].ty);
        let others = self.listed_apart(draft, (&|t| t == own, &under), &s.rhs);
        has_factor(&s.rhs, &entry) && is_computed(&s.rhs) && !under.iter().any(|v| others.contains(v))
    }

    /// The variables whose coordinates lists decide in an expression, apart from what these tensors store under these variables.
    fn listed_apart(
        &self,
        draft: &Draft,
        (is_own, vars): (&dyn Fn(TensorId) -> bool, &[VarId]),
        e: &Expr,
    ) -> FxHashSet<VarId> {
        let (mut found, mut known) = (FxHashSet::default(), FxHashMap::default());
        e.walk(&mut |e| {
            let Kind::Access(t, indices) = &e.kind else { return };
            if *indices == bare(vars) && is_own(*t) {
                return;
            }
            let modes = self.list_modes(draft, *t, &mut known);
            found.extend(modes.into_iter().filter_map(|m| indices.get(m)).flat_map(|i| uses(&i.map)));
        });
        found
    }

    /// The modes of a tensor whose coordinates lists decide: by its format, or, without one, by what defines it.
    fn list_modes(&self, draft: &Draft, t: TensorId, known: &mut FxHashMap<TensorId, Vec<usize>>) -> Vec<usize> {
        if let Some(modes) = known.get(&t) {
            return modes.clone();
        }
        let tensor = &draft.program.tensors[t.index()];
        if let Some(format) = &tensor.format {
            let lists = format.levels.iter().zip(&*format.order).filter(|(kind, _)| !kind.is_full());
            return lists.map(|(_, mode)| *mode).collect();
        }
        let all: Vec<usize> = (0..tensor.sizes.len()).collect();
        // What is computed of itself may have any: until it is known, that is what stands for it.
        known.insert(t, all.clone());
        let Some(s) = self.defined.get(&t) else { return all };
        let mut found = FxHashSet::default();
        s.rhs.walk(&mut |e| {
            let Kind::Access(t, indices) = &e.kind else { return };
            let modes = self.list_modes(draft, *t, known);
            found.extend(modes.into_iter().filter_map(|m| indices.get(m)).flat_map(|i| uses(&i.map)));
        });
        let is_listed = |m: &usize| s.indices[*m].bare().is_none_or(|v| found.contains(&v));
        let modes: Vec<usize> = (0..tensor.sizes.len()).filter(is_listed).collect();
        known.insert(t, modes.clone());
        modes
    }

    /// Where an expression can be other than 0; none if that may be anywhere.
    pub(super) fn guard(&mut self, draft: &mut Draft, moving: &FxHashSet<TensorId>, e: &Expr) -> Option<Expr> {
        let mut of = |e: &Expr| self.guard(draft, moving, e);
        match &e.kind {
            Kind::Access(t, indices) => self.entry(draft, moving, (*t, indices), e),
            Kind::Call(Fun::Op(op), args) => match (op, &args[..]) {
                (Op::Mul, [a, b]) => and(of(a), of(b)),
                (Op::Mask, [c, a]) => and(Some(c.clone()), of(a)),
                (Op::Add | Op::Sub, [a, b]) => or(of(a), of(b)),
                (Op::Div, [a, _]) => of(a),
                (Op::Neg | Op::Abs | Op::Sqrt | Op::Sin | Op::Tan | Op::Tanh | Op::Expm1 | Op::Log1p, [a]) => of(a),
                (Op::Asin | Op::Atan | Op::Sinh | Op::Asinh | Op::Atanh | Op::Convert(_), [a]) => of(a),
                _ => None,
            },
            _ => None,
        }
    }

    fn entry(
        &mut self,
        draft: &mut Draft,
        moving: &FxHashSet<TensorId>,
        (t, indices): (TensorId, &[Index]),
        e: &Expr,
    ) -> Option<Expr> {
        if indices.iter().any(|i| i.permit) {
            return None;
        }
        let tensor = &draft.program.tensors[t.index()];
        let fill = tensor.fill.is_some_and(|fill| !fill.is_true());
        if self.own.contains(&t) && fill {
            let kind = Kind::Access(self.of(draft, t), indices.to_vec());
            return Some(Expr { kind, ty: Type::Bool, span: e.span });
        }
        if let Some(s) = self.defined.get(&t).filter(|s| s.fold.is_none() && !s.is_part()).cloned() {
            let (under, at) = (distinct(&s.indices)?, distinct(indices)?);
            let guard = match self.guards.get(&t) {
                Some(known) => known.clone(),
                None => {
                    let made = self.guard(draft, moving, &s.rhs).filter(|guard| nodes(guard) <= LARGE);
                    self.guards.insert(t, made.clone());
                    made
                }
            };
            return Change::vars(under.into_iter().zip(at)).expr(&guard?).ok();
        }
        let is_list = tensor.format.as_ref().is_some_and(keeps_entries);
        let nothing = || made(Kind::Literal(Value::zero(e.ty)), e.ty);
        (fill && is_list && !moving.contains(&t)).then(|| compare(Op::Ne, e.clone(), nothing()))
    }
}

/// Whether an expression is a product with this factor.
fn has_factor(e: &Expr, factor: &Expr) -> bool {
    match &e.kind {
        Kind::Call(Fun::Op(Op::Mul), args) => args.iter().any(|arg| has_factor(arg, factor)),
        _ => e == factor,
    }
}

/// Whether an expression has a value wherever its parts have one: no condition takes it away, and no shape operator moves it. A fold has one
/// everywhere.
fn is_computed(e: &Expr) -> bool {
    match &e.kind {
        Kind::Call(Fun::Op(Op::Mask | Op::Select | Op::Coalesce | Op::AndAlso | Op::OrElse) | Fun::User(_), _) => false,
        Kind::Call(_, args) => args.iter().all(is_computed),
        Kind::Access(..) | Kind::Literal(_) | Kind::Index(_) | Kind::Size(_) | Kind::Local(_) | Kind::Reduce { .. } => {
            true
        }
        Kind::Collapse { .. } | Kind::Split { .. } | Kind::Concat { .. } | Kind::Slice { .. } => false,
    }
}
