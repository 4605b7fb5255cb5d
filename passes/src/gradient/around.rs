//! The way back through a block: its gradients go from turn to turn, as what it computes does.
//!
//! ```text
//!  of what the block carries       x_bar     begins with the gradient behind it; after each turn it is that before the turn
//!  of what it only reads           W_bar_sum     begins with the gradient behind it; each turn adds its own
//! ```

use super::backward::{Adjoint, Backward};
use super::draft::Draft;
use super::expr::{self, bare, number, read};
use super::pull::set;
use super::turns::{Carried, Loop, Made, one, statements};
use super::versions::Piece;
use fiberloom_core::algebra::Op;
use fiberloom_core::format::Format;
use fiberloom_core::notation::typed::{Expr, Fun, Kind, Statement, TensorId};
use fiberloom_core::notation::{Diagnostic, Span};
use rustc_hash::{FxHashMap, FxHashSet};

impl Backward<'_> {
    /// What a block defines passes its gradient on to what it begins with, and to what it reads.
    ///
    /// # Errors
    /// What has no derivative, by name and place.
    pub(super) fn block(&mut self, block: &mut Loop) -> Result<(), Diagnostic> {
        let reached = self.reached(block);
        let bars: Vec<TensorId> = reached.iter().map(|n| self.begun(block.carried[*n].own)).collect();
        if bars.is_empty() {
            return Ok(());
        }
        let (adjoints, made) = (std::mem::take(&mut self.adjoints), std::mem::take(&mut self.made));
        for (n, bar) in reached.iter().zip(&bars) {
            let adjoint = self.whole(*bar);
            self.adjoints.insert(block.carried[*n].last, adjoint);
        }
        self.depth += 1;
        self.pieces(&mut block.turn)?;
        self.depth -= 1;
        let found = std::mem::replace(&mut self.adjoints, adjoints);
        let mut turn = std::mem::replace(&mut self.made, made);
        let found = self.outside(block, &mut turn, found);
        let made = std::mem::replace(&mut self.made, turn);
        self.depth += 1;
        self.before(block, (&reached, &bars), found);
        self.depth -= 1;
        block.made = std::mem::replace(&mut self.made, made);
        self.made.push(Made::Back(block.counter));
        for (n, bar) in reached.iter().zip(&bars) {
            let before = block.carried[*n].before.filter(|t| self.moving.contains(t));
            let adjoint = self.whole(*bar);
            before.map_or(Ok(()), |t| self.contribute(t, &adjoint.vars, adjoint.sum))?;
        }
        Ok(())
    }

    /// A gradient that is a tensor, whole.
    fn whole(&mut self, bar: TensorId) -> Adjoint {
        let (vars, ty) = (self.draft.modes(bar), self.draft.program.tensors[bar.index()].ty);
        Adjoint { sum: read(bar, &vars, ty), vars, scattered: vec![] }
    }

    /// A tensor for the gradient of another that turns change, which begins with what is known of it so far.
    fn begun(&mut self, t: TensorId) -> TensorId {
        let adjoint = self.adjoint(t);
        let of = self.draft.program.tensors[t.index()].clone();
        let dense = Some(Format::dense(of.sizes.len()));
        let bar = self.draft.like(&format!("{}_bar_sum", of.name), t, of.ty, dense);
        self.written(bar, adjoint, Span::default());
        self.patterns.forget(bar);
        self.summed.insert(bar);
        bar
    }

    /// The places of what a block carries that passes a gradient on: it has one behind the block, or what has one is computed of it in a turn.
    fn reached(&self, block: &Loop) -> Vec<usize> {
        let is_known = |c: &Carried| self.moving.contains(&c.own) && self.adjoints.contains_key(&c.own);
        let mut all: FxHashSet<usize> = (0..block.carried.len()).filter(|n| is_known(&block.carried[*n])).collect();
        loop {
            let mut live: FxHashSet<TensorId> = all.iter().map(|n| block.carried[*n].last).collect();
            self.live(&block.turn, &mut live);
            let before = all.len();
            all.extend((0..block.carried.len()).filter(|n| block.carried[*n].first.is_some_and(|t| live.contains(&t))));
            if all.len() == before {
                break;
            }
        }
        let mut all: Vec<usize> = all.into_iter().collect();
        all.sort_unstable();
        all
    }

    /// Adds the tensors that pass a gradient on to these through pieces.
    fn live(&self, pieces: &[Piece], live: &mut FxHashSet<TensorId>) {
        let reads = |s: &Statement, live: &mut FxHashSet<TensorId>| {
            s.accesses(&mut |t, _, written| {
                if !written && self.moving.contains(&t) {
                    live.insert(t);
                }
            })
        };
        for piece in pieces.iter().rev() {
            match piece {
                Piece::One(version) if live.contains(&version.statement.tensor) => {
                    live.extend(version.before.filter(|t| self.moving.contains(t)));
                    reads(&version.statement, live);
                }
                Piece::One(_) => {}
                Piece::Loop(block) if block.carried.iter().any(|c| live.contains(&c.own)) => {
                    statements(&block.body).into_iter().chain(&block.begin).for_each(|s| reads(s, live));
                }
                Piece::Loop(_) => {}
            }
        }
    }

    /// Adds a turn's gradients by what the block reads and does not define to those of other turns, and gives the turn's others.
    fn outside(&mut self, block: &Loop, turn: &mut Vec<Made>, found: Adjoints) -> Adjoints {
        let inside = inside(block);
        let (left, outside): (Adjoints, Adjoints) = found.into_iter().partition(|(t, _)| inside.contains(t));
        let mut outside: Vec<(TensorId, Adjoint)> = outside.into_iter().collect();
        outside.sort_unstable_by_key(|(t, _)| *t);
        for (t, adjoint) in outside {
            let of = self.draft.program.tensors[t.index()].clone();
            let own = self.patterns.keeps(t);
            let format = if own { of.format } else { Some(Format::dense(of.sizes.len())) };
            let bar = self.draft.like(&format!("{}_bar_sum", of.name), t, of.ty, format);
            let behind = self.adjoint(t);
            let behind = self.stored(own, t, behind);
            self.written(bar, behind, Span::default());
            self.patterns.forget(bar);
            let adjoint = self.stored(own, t, adjoint);
            let add = |s: Statement| one(Statement { fold: Some(Fun::Op(Op::Add)), ..s });
            if !expr::is_zero(&adjoint.sum) {
                turn.push(add(set(bar, &adjoint.vars, adjoint.sum, Span::default())));
            }
            for (indices, value) in adjoint.scattered {
                turn.push(add(Statement { indices, vars: vec![], ..set(bar, &[], value, Span::default()) }));
            }
            if !own {
                self.summed.insert(bar);
            }
            let whole = self.whole(bar);
            self.adjoints.insert(t, whole);
        }
        left
    }

    /// A gradient where its operand stores entries, if it is to have them alone.
    fn stored(&mut self, own: bool, t: TensorId, adjoint: Adjoint) -> Adjoint {
        if !own || expr::is_zero(&adjoint.sum) {
            return adjoint;
        }
        let sum = self.patterns.stored(self.draft, t, &adjoint.vars, adjoint.sum);
        Adjoint { sum, ..adjoint }
    }

    /// At the end of a turn, gradients of what the block carries become those before it: all are computed of those behind it.
    fn before(&mut self, block: &Loop, (reached, bars): (&[usize], &[TensorId]), mut found: Adjoints) {
        let mut last = vec![];
        for (n, bar) in reached.iter().zip(bars) {
            let own = block.carried[*n].first.and_then(|t| found.remove(&t));
            let ty = self.draft.program.tensors[bar.index()].ty;
            let own = match own {
                Some(adjoint) => adjoint,
                None => Adjoint { vars: self.draft.modes(*bar), sum: number(0.0, ty), scattered: vec![] },
            };
            let others = |e: &Expr| matches!(&e.kind, Kind::Access(t, _) if t != bar && bars.contains(t));
            let mut reads_others = false;
            own.sum.walk(&mut |e| reads_others |= others(e));
            let own = match own.scattered.is_empty() && !reads_others {
                true => own,
                false => {
                    let name = format!("{}_next", self.draft.program.tensors[bar.index()].name);
                    let dense = Some(Format::dense(own.vars.len()));
                    let next = self.draft.like(&name, *bar, ty, dense);
                    self.written(next, own, Span::default())
                }
            };
            let same = matches!(&own.sum.kind, Kind::Access(t, indices) if t == bar && *indices == bare(&own.vars));
            if !same {
                last.push(one(set(*bar, &own.vars, own.sum, Span::default())));
            }
        }
        self.made.extend(last);
    }
}

/// Gradients of tensors, so far.
type Adjoints = FxHashMap<TensorId, Adjoint>;

/// The tensors that a turn of a block defines, or begins with.
pub(super) fn inside(block: &Loop) -> FxHashSet<TensorId> {
    let mut all: FxHashSet<TensorId> = block.carried.iter().filter_map(|c| c.first).collect();
    all.extend(block.carried.iter().map(|c| c.own));
    for piece in &block.turn {
        match piece {
            Piece::One(version) => {
                all.insert(version.statement.tensor);
            }
            Piece::Loop(inner) => all.extend(inside(inner)),
        }
    }
    all
}

/// Refuses gradients by what a block defines: each turn has others.
pub(super) fn outside(draft: &Draft, pieces: &[Piece], by: &[TensorId]) -> Result<(), Diagnostic> {
    for piece in pieces {
        let Piece::Loop(block) = piece else { continue };
        let inside = inside(block);
        if let Some(t) = by.iter().find(|t| inside.contains(t)) {
            let of = &draft.program.tensors[t.index()];
            let message = format!("each turn of a block defines `{}` anew: there is no one gradient by it", of.name);
            let help = "name what the block begins with, or what it reads";
            return Err(Diagnostic::new(of.span, message).help(help));
        }
    }
    Ok(())
}
