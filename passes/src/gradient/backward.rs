//! Gradients, from the last statement to the first.
//!
//! ```text
//!  S: T[i…] = e       T̄ is known once all that reads T has contributed; then e gets w = T̄[i…]  (pull.rs)
//!  S: T[κ…] += e      e gets T̄[κ…], and what T was before gets T̄
//!  S: T[κ…] = e       of a part: e gets T̄[κ…], and what T was before gets T̄ with 0 at κ
//! ```
//!
//! The gradient of a value on the way is an expression in the place where it is used; it becomes a tensor of its own where that would repeat
//! work: where it is a fold, or large, or is scattered.

use super::change::Change;
use super::draft::Draft;
use super::expr::{self, add, bare, distinct, literal, made, mask, nodes, number, read};
use super::pattern::{Patterns, keeps_entries};
use super::pull::{Found, Part, Pull, moves, pulled, set};
use super::turns::{Made, one};
use super::versions::{self, Piece, Version};
use fiberloom_core::algebra::Op;
use fiberloom_core::format::Format;
use fiberloom_core::notation::typed::{Expr, Fun, Index, Kind, Map, Statement, TensorId, VarId};
use fiberloom_core::notation::{Diagnostic, Span};
use rustc_hash::{FxHashMap, FxHashSet};

/// How large an expression may be that stands wherever it is used.
const SMALL: usize = 12;

/// The gradient of a tensor, so far.
pub(super) struct Adjoint {
    /// Variables for its modes.
    pub(super) vars: Vec<VarId>,
    /// What is known at each coordinate.
    pub(super) sum: Expr,
    /// What is added at coordinates that are computed.
    pub(super) scattered: Vec<(Vec<Index>, Expr)>,
}

/// What is asked for.
pub(super) struct Asked {
    /// The tensor whose gradient is asked.
    pub(super) of: TensorId,
    /// Tensors by which.
    pub(super) by: Vec<TensorId>,
    /// Those among them whose gradients are wanted at each coordinate.
    pub(super) dense: FxHashSet<TensorId>,
    /// The gradient that is given, of `of`; 1 if there is none.
    pub(super) seed: Option<TensorId>,
}

/// The statements that gradients take.
pub(super) struct Backward<'d> {
    pub(super) draft: &'d mut Draft,
    asked: &'d Asked,
    pub(super) moving: FxHashSet<TensorId>,
    pub(super) adjoints: FxHashMap<TensorId, Adjoint>,
    pub(super) patterns: Patterns,
    /// Parts of the statement that is looked at, which have names.
    parts: Vec<Part>,
    /// In order.
    pub(super) made: Vec<Made>,
    /// Gradients that blocks carry from turn to turn: what is asked for may be one itself.
    pub(super) summed: FxHashSet<TensorId>,
    /// How many blocks are around: what a turn begins is not to go on in the next one.
    pub(super) depth: usize,
    /// Of each tensor by which a gradient is asked: that gradient.
    pub(super) gradients: FxHashMap<TensorId, TensorId>,
}

impl<'d> Backward<'d> {
    /// Before any statement: the gradient of what is asked for is the seed.
    pub(super) fn new(draft: &'d mut Draft, asked: &'d Asked, pieces: &[Piece]) -> Backward<'d> {
        let mut moving = asked.by.iter().copied().collect();
        super::turns::moving(&mut moving, pieces);
        let own = asked.by.iter().filter(|t| {
            let format = draft.program.tensors[t.index()].format.as_ref();
            format.is_some_and(keeps_entries) && !asked.dense.contains(t)
        });
        let mut defined = FxHashMap::default();
        versions::all(pieces, &mut |v| {
            defined.insert(v.statement.tensor, v.statement.clone());
        });
        let patterns = Patterns::new(own.copied().collect(), defined);
        let (adjoints, gradients) = (FxHashMap::default(), FxHashMap::default());
        let (parts, made, summed) = (vec![], vec![], FxHashSet::default());
        let mut backward =
            Backward { draft, asked, moving, adjoints, patterns, parts, made, summed, depth: 0, gradients };
        let vars = backward.draft.modes(asked.of);
        let ty = backward.draft.program.tensors[asked.of.index()].ty;
        let sum = asked.seed.map_or(number(1.0, ty), |seed| read(seed, &vars, ty));
        backward.adjoints.insert(asked.of, Adjoint { vars, sum, scattered: vec![] });
        backward
    }

    /// Goes through statements and blocks, last first.
    ///
    /// # Errors
    /// What has no derivative, by name and place.
    pub(super) fn pieces(&mut self, pieces: &mut [Piece]) -> Result<(), Diagnostic> {
        for piece in pieces.iter_mut().rev() {
            match piece {
                Piece::One(version) if self.moving.contains(&version.statement.tensor) => {
                    self.statement(version)?;
                    version.parts.append(&mut self.parts);
                }
                Piece::One(_) => {}
                Piece::Loop(block) => self.block(block)?,
            }
        }
        Ok(())
    }

    /// Goes through the program, and ends with the gradients that are asked for.
    ///
    /// # Errors
    /// What has no derivative, by name and place; a tensor of one turn that a gradient is asked by.
    pub(super) fn run(&mut self, pieces: &mut [Piece]) -> Result<(), Diagnostic> {
        self.pieces(pieces)?;
        for t in &self.asked.by {
            if !self.gradients.contains_key(t) {
                let adjoint = self.adjoint(*t);
                self.asked_for(*t, adjoint)?;
            }
        }
        Ok(())
    }

    /// The gradient of a tensor so far, which is nothing more than that from here on.
    pub(super) fn adjoint(&mut self, t: TensorId) -> Adjoint {
        let kept = self.adjoints.remove(&t);
        let ty = self.draft.program.tensors[t.index()].ty;
        kept.unwrap_or_else(|| Adjoint { vars: self.draft.modes(t), sum: number(0.0, ty), scattered: vec![] })
    }

    /// What a statement defines passes its gradient on to what it reads.
    fn statement(&mut self, version: &Version) -> Result<(), Diagnostic> {
        let s = &version.statement;
        if !self.adjoints.contains_key(&s.tensor) && !self.asked.by.contains(&s.tensor) {
            return Ok(());
        }
        let adjoint = self.adjoint(s.tensor);
        let adjoint = self.settled(s, adjoint)?;
        if expr::is_zero(&adjoint.sum) || !moves(&self.moving, &s.rhs) && version.before.is_none() {
            return Ok(());
        }
        match s.fold {
            None if !s.is_part() => self.defined(s, &s.rhs, &adjoint),
            None => self.part(version, adjoint),
            Some(Fun::Op(Op::Add)) => self.accumulated(version, adjoint),
            Some(Fun::User(f)) if self.draft.program.functions[f.index()].is_latest() => self.part(version, adjoint),
            Some(fun) => self.folded(version, fun, &adjoint),
        }
    }

    /// `T[i…] = e`: `e` gets `T̄[i…]`.
    fn defined(&mut self, s: &Statement, rhs: &Expr, adjoint: &Adjoint) -> Result<(), Diagnostic> {
        let under = distinct(&s.indices).unwrap_or_default();
        let w = Change::vars(adjoint.vars.iter().copied().zip(under.iter().copied())).expr(&adjoint.sum)?;
        let known = read(s.tensor, &under, rhs.ty);
        self.pull(s, (rhs, Some(known)), w)
    }

    /// `T[κ…] += e`: `e` gets `T̄[κ…]`, and what `T` was before gets `T̄`.
    fn accumulated(&mut self, version: &Version, adjoint: Adjoint) -> Result<(), Diagnostic> {
        let s = &version.statement;
        let adjoint = self.readable(s, adjoint);
        let w = at(&adjoint, &s.indices)?;
        if let Some(before) = version.before.filter(|t| self.moving.contains(t)) {
            self.contribute(before, &adjoint.vars, adjoint.sum.clone())?;
        }
        self.pull(s, (&s.rhs, None), w)
    }

    /// `T[κ…] = e` of a part: `e` gets `T̄[κ…]`, and what `T` was before gets `T̄` with 0 at `κ`.
    fn part(&mut self, version: &Version, adjoint: Adjoint) -> Result<(), Diagnostic> {
        let s = &version.statement;
        let adjoint = self.tensor(s, adjoint);
        let w = at(&adjoint, &s.indices)?;
        if let Some(before) = version.before.filter(|t| self.moving.contains(t)) {
            let of = &self.draft.program.tensors[s.tensor.index()];
            let (ty, name) = (of.ty, format!("{}_rest", of.name));
            let rest = self.draft.like(&name, s.tensor, ty, Some(Format::dense(s.indices.len())));
            self.made.push(one(set(rest, &adjoint.vars, adjoint.sum.clone(), s.span)));
            let nothing = Statement { tensor: rest, rhs: number(0.0, ty), schedule: None, ..s.clone() };
            self.made.push(one(Statement { fold: None, folded: vec![], ..nothing }));
            let vars = self.draft.vars(&adjoint.vars);
            let sum = read(rest, &vars, ty);
            self.contribute(before, &vars, sum)?;
        }
        self.pull(s, (&s.rhs, None), w)
    }

    /// `T[i…] f= e` is `T[i…] = f(T[i…], ⊕(e))`, of what `T` was before.
    fn folded(&mut self, version: &Version, fun: Fun, adjoint: &Adjoint) -> Result<(), Diagnostic> {
        let s = &version.statement;
        let ty = s.rhs.ty;
        if distinct(&s.indices).is_none() {
            let message = "a scatter has a derivative if it adds: `+=`";
            return Err(
                Diagnostic::new(s.span, message).help("fold into distinct index variables, and gather from the result")
            );
        }
        let start = version.before.map(|before| Box::new(made(Kind::Access(before, s.indices.clone()), ty)));
        let rhs = match &s.folded[..] {
            [] => match start {
                Some(start) => expr::call_of(fun, vec![*start, s.rhs.clone()], ty),
                None => s.rhs.clone(),
            },
            vars => made(Kind::Reduce { fun, vars: vars.to_vec(), body: Box::new(s.rhs.clone()), start }, ty),
        };
        self.defined(s, &rhs, adjoint)
    }

    /// Pulls a gradient down a right side, and takes what its accesses contribute.
    fn pull(&mut self, s: &Statement, (rhs, known): (&Expr, Option<Expr>), w: Expr) -> Result<(), Diagnostic> {
        let mut pull = Pull::new(self.draft, &self.moving, (rhs, known), s.vars.clone());
        pull.pull(rhs, w)?;
        let (found, before, parts) = (pull.found, pull.before, pull.parts);
        before.iter().chain(parts.iter().map(|part| &part.statement)).for_each(|s| self.patterns.defines(s.clone()));
        self.made.extend(before.into_iter().map(one));
        self.parts.extend(parts);
        found.into_iter().try_for_each(|found| self.take(found))
    }

    fn take(&mut self, found: Found) -> Result<(), Diagnostic> {
        match pulled(&found) {
            Some(vars) => self.contribute(found.tensor, &vars, found.value),
            None => {
                let mut adjoint = self.adjoint(found.tensor);
                match adjoint.scattered.iter_mut().find(|(indices, _)| *indices == found.indices) {
                    Some((_, sum)) => *sum = add(sum.clone(), found.value),
                    None => adjoint.scattered.push((found.indices, found.value)),
                }
                self.adjoints.insert(found.tensor, adjoint);
                Ok(())
            }
        }
    }

    /// Adds a value at each coordinate of these variables.
    pub(super) fn contribute(&mut self, t: TensorId, vars: &[VarId], value: Expr) -> Result<(), Diagnostic> {
        let mut adjoint = self.adjoint(t);
        let value = Change::vars(vars.iter().copied().zip(adjoint.vars.iter().copied())).expr(&value)?;
        adjoint.sum = add(adjoint.sum, value);
        self.adjoints.insert(t, adjoint);
        Ok(())
    }

    /// The gradient of what a statement defines, as an expression that may stand wherever it is used.
    fn settled(&mut self, s: &Statement, adjoint: Adjoint) -> Result<Adjoint, Diagnostic> {
        let asked = self.asked.by.contains(&s.tensor);
        if asked {
            return self.asked_for(s.tensor, adjoint);
        }
        let mut uses = 0;
        s.rhs.walk(&mut |e| uses += matches!(&e.kind, Kind::Access(t, _) if self.moving.contains(t)) as usize);
        let once = uses == 1 && !expr::folds(&s.rhs);
        let small = !expr::folds(&adjoint.sum) && nodes(&adjoint.sum) <= SMALL;
        let stays = adjoint.scattered.is_empty() && (once || small);
        if stays { Ok(adjoint) } else { Ok(self.tensor(s, adjoint)) }
    }

    /// A gradient that can be read at the statement's own indices: a tensor, unless these are variables.
    fn readable(&mut self, s: &Statement, adjoint: Adjoint) -> Adjoint {
        if distinct(&s.indices).is_some() || literal(&adjoint.sum).is_some() {
            adjoint
        } else {
            self.tensor(s, adjoint)
        }
    }

    /// A gradient as a tensor of its own, with values where what the statement defines can be other than 0.
    fn tensor(&mut self, s: &Statement, adjoint: Adjoint) -> Adjoint {
        if summed(&adjoint).is_some() {
            return adjoint;
        }
        let of = self.draft.program.tensors[s.tensor.index()].clone();
        let guard = self.guarded(s, &adjoint);
        let name = format!("{}_bar", of.name);
        let dense = (!adjoint.scattered.is_empty()).then(|| Format::dense(of.sizes.len()));
        let format = if guard.is_some() { of.format.clone().filter(|f| !f.is_dense()) } else { dense };
        let bar = self.draft.like(&name, s.tensor, of.ty, format);
        if let Some(own) = guard.as_ref().and_then(|guard| self.entries_of(guard, &adjoint)) {
            self.patterns.full.insert(bar, own);
        }
        let sum = guard.map_or(adjoint.sum.clone(), |guard| mask(guard, adjoint.sum.clone()));
        self.written(bar, Adjoint { sum, ..adjoint }, s.span)
    }

    /// The operand whose entries a guarded gradient has, all of them.
    fn entries_of(&self, guard: &Expr, adjoint: &Adjoint) -> Option<TensorId> {
        let Kind::Access(pattern, indices) = &guard.kind else { return None };
        let own = self.patterns.made.iter().find(|(_, made)| *made == pattern).map(|(own, _)| *own)?;
        let others = self.patterns.listed(self.draft, own, &adjoint.vars, &adjoint.sum);
        let whole = *indices == bare(&adjoint.vars) && !adjoint.vars.iter().any(|v| others.contains(v));
        whole.then_some(own)
    }

    /// Where what a statement defines can be other than 0, in the variables of its gradient.
    fn guarded(&mut self, s: &Statement, adjoint: &Adjoint) -> Option<Expr> {
        let under = distinct(&s.indices).filter(|_| s.fold.is_none() && adjoint.scattered.is_empty())?;
        let guard = self.patterns.guard(self.draft, &self.moving, &s.rhs)?;
        let inside = guard.free().iter().all(|v| under.contains(v));
        let renamed = Change::vars(under.iter().copied().zip(adjoint.vars.iter().copied()));
        if inside { renamed.expr(&guard).ok() } else { None }
    }

    /// Writes a gradient into a tensor: what is known at each coordinate, then what is scattered.
    pub(super) fn written(&mut self, bar: TensorId, adjoint: Adjoint, span: Span) -> Adjoint {
        let ty = adjoint.sum.ty;
        if !expr::is_zero(&adjoint.sum) || adjoint.scattered.is_empty() || self.depth > 0 {
            let defined = set(bar, &adjoint.vars, adjoint.sum, span);
            self.patterns.defines(defined.clone());
            self.made.push(one(defined));
        }
        for (indices, value) in adjoint.scattered {
            let add = Some(Fun::Op(Op::Add));
            self.made.push(one(Statement { indices, fold: add, vars: vec![], ..set(bar, &[], value, span) }));
        }
        let vars = self.draft.vars(&adjoint.vars);
        Adjoint { sum: read(bar, &vars, ty), vars, scattered: vec![] }
    }

    /// A gradient that is asked for: in the operand's own pattern, or at each coordinate.
    fn asked_for(&mut self, t: TensorId, adjoint: Adjoint) -> Result<Adjoint, Diagnostic> {
        let of = self.draft.program.tensors[t.index()].clone();
        let name = format!("{}_bar", of.name);
        let own = self.patterns.keeps(t);
        if let Some(bar) = summed(&adjoint).filter(|bar| !own && self.summed.remove(bar)) {
            self.draft.program.tensors[bar.index()].name = self.draft.name(&name);
            self.gradients.insert(t, bar);
            return Ok(adjoint);
        }
        let format = if own { of.format.clone() } else { Some(Format::dense(of.sizes.len())) };
        let mut adjoint = adjoint;
        let bar = self.draft.like(&name, t, of.ty, format.clone());
        self.gradients.insert(t, bar);
        if own {
            if !adjoint.scattered.is_empty() {
                let all = self.draft.like(&format!("{}_all", of.name), t, of.ty, format);
                adjoint = self.written(all, adjoint, of.span);
            }
            adjoint.sum = self.patterns.stored(self.draft, t, &adjoint.vars, adjoint.sum);
        }
        Ok(self.written(bar, adjoint, of.span))
    }
}

/// The tensor that a gradient is already, if it is one.
fn summed(adjoint: &Adjoint) -> Option<TensorId> {
    match &adjoint.sum.kind {
        Kind::Access(t, indices) if adjoint.scattered.is_empty() && *indices == bare(&adjoint.vars) => Some(*t),
        _ => None,
    }
}

/// A gradient at indices.
fn at(adjoint: &Adjoint, indices: &[Index]) -> Result<Expr, Diagnostic> {
    let maps: FxHashMap<VarId, Map> = adjoint.vars.iter().copied().zip(indices.iter().map(|i| i.map.clone())).collect();
    Change::of(maps).expr(&adjoint.sum)
}
