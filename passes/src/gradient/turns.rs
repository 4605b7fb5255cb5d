//! A block that stays one: on the way forth each turn keeps what the way back needs, which goes through the turns from the last to the first.
//!
//! ```text
//!  x[i] = …                        x_2[i] = x[i]     turn[] = 0
//!  repeat 30 {                     repeat 30 {  x_kept[turn[],i] = x_2[i]     the body, of x_2     turn[] = turn[] + 1  }
//!    …                             x_2_bar[i] = …        the gradient behind the block
//!  }                               repeat 30 {  turn[] = turn[] - 1     x_3[i] = x_kept[turn[],i]
//!                                               the body of one turn, of x_3, as far as its gradients need it, and these; then
//!                                               W_bar_sum[k] += …     of what the block reads and does not define
//!                                               x_2_bar[i] = …        before the turn }
//! ```

use super::draft::Draft;
use super::expr::{bare, integer, made, read};
use super::forward::Written;
use super::pull::{moves, set};
use super::versions::{self, Order, Piece, refused};
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::format::Format;
use fiberloom_core::notation::typed::{
    Fun, Index, Kind, Map, Repeat, Role, Size, SizeId, Statement, Step, TensorId, Turns,
};
use fiberloom_core::notation::{Diagnostic, Span, syntax};
use rustc_hash::FxHashSet;

/// A block, forth and back.
pub(super) struct Loop<'s> {
    /// How many turns, as it is written.
    pub(super) turns: syntax::Turns,
    /// What it defines, apart from locals.
    pub(super) carried: Vec<Carried>,
    /// Before it: what it begins with.
    pub(super) begin: Vec<Statement>,
    /// Its body, which keeps what each turn begins with.
    pub(super) body: Vec<Written>,
    /// One turn on the way back, where each statement defines a version of its own.
    pub(super) turn: Vec<Piece<'s>>,
    /// Before that: what was kept.
    pub(super) back: Vec<Statement>,
    /// The number of the turn, which is the block's alone.
    pub(super) counter: TensorId,
    /// After it: gradients.
    pub(super) made: Vec<Made>,
}

/// A tensor that a block defines.
pub(super) struct Carried {
    /// The original's.
    of: TensorId,
    /// The version that the block begins with, if it begins with one.
    pub(super) before: Option<TensorId>,
    /// The block's.
    pub(super) own: TensorId,
    /// That at the beginning of a turn, on the way back, if the turn reads it.
    pub(super) first: Option<TensorId>,
    /// That at its end.
    pub(super) last: TensorId,
}

/// What gradients take.
pub(super) enum Made {
    /// A statement.
    One(Box<Statement>),
    /// The way back through the block with this counter.
    Back(TensorId),
}

/// A statement that gradients take.
pub(super) fn one(s: Statement) -> Made {
    Made::One(Box::new(s))
}

impl<'s> Order<'_, 's> {
    /// A block that stays one.
    ///
    /// # Errors
    /// One that runs as long as something holds, or whose turns go on with what is not there before the first.
    pub(super) fn block(&mut self, block: &Repeat) -> Result<(), Diagnostic> {
        let turns = versions::turns(&self.source.items, block).filter(|_| !matches!(block.turns, Turns::While(_)));
        let turns = turns.ok_or_else(|| refused(block))?.clone();
        let defined = self.draft.program.carried(block);
        let assigned = self.assigned(block);
        self.is_begun(block, &assigned)?;
        let before: Vec<Option<TensorId>> =
            defined.iter().map(|t| self.there.contains(t).then(|| self.now.tensor(*t))).collect();
        // Where perhaps no turn runs, what was there before stays.
        let stays = |t: &TensorId| matches!(block.turns, Turns::Extent(..)) && self.is_defined(*t);
        let stays: Vec<bool> = defined.iter().map(stays).collect();
        for t in &assigned {
            if !self.used.insert(*t) || self.there.contains(t) {
                self.version(*t);
            }
        }
        let own: Vec<TensorId> = defined.iter().map(|t| self.now.tensor(*t)).collect();
        let body = self.over(&block.body)?;
        let (turn, ends) = self.turn(block, (&defined, &assigned))?;
        let mut read = FxHashSet::default();
        reads(&turn, &mut read);
        let carried = ends.into_iter().enumerate().map(|(n, (first, last))| {
            // A turn whose statements are all in blocks that never run leaves a tensor as it is.
            let first = first.filter(|t| read.contains(t) || *t == last);
            Carried {
                of: defined[n],
                before: before[n].filter(|_| first.is_some() || stays[n]),
                own: own[n],
                first,
                last,
            }
        });
        let carried = carried.collect();
        self.there.extend(defined);
        let counter = self.draft.tensor("turn", Type::I64, vec![], Some(Format::dense(0)));
        let mut made = Loop { turns, carried, begin: vec![], body, turn, back: vec![], counter, made: vec![] };
        made.keeps(self.draft, &block.turns);
        self.all.push(Piece::Loop(Box::new(made)));
        Ok(())
    }

    /// Whether a tensor has a value that it does not only begin with if a caller gives one.
    fn is_defined(&self, t: TensorId) -> bool {
        self.there.contains(&t) && (self.used.contains(&t) || self.given.contains(&t))
    }

    /// Refuses a block whose turns go on with a tensor that is not there before the first of them, or that each makes anew.
    fn is_begun(&self, block: &Repeat, assigned: &[TensorId]) -> Result<(), Diagnostic> {
        let statements = &self.draft.program.statements;
        let in_place = |t: &TensorId| {
            let first = block.statements().into_iter().map(|n| &statements[n]).find(|s| s.tensor == *t);
            first.is_some_and(|s| s.fold.is_some() || s.is_part())
        };
        let is_local = |t: &TensorId| self.draft.program.tensors[t.index()].role == Role::Local;
        let missing = assigned.iter().any(|t| (is_local(t) || !self.there.contains(t)) && in_place(t));
        if missing { Err(refused(block)) } else { Ok(()) }
    }

    /// The tensors that the statements of a block define, each once.
    fn assigned(&self, block: &Repeat) -> Vec<TensorId> {
        let all = block.statements().into_iter().map(|n| self.draft.program.statements[n].tensor);
        let mut seen = FxHashSet::default();
        all.filter(|t| seen.insert(*t)).collect()
    }

    /// One turn under versions of its own; and of each tensor that it carries that at its beginning, if it is there, and that at its end.
    fn turn(
        &mut self,
        block: &Repeat,
        (carried, assigned): (&[TensorId], &[TensorId]),
    ) -> Result<Turn<'s>, Diagnostic> {
        let (there, used, now) = (self.there.clone(), self.used.clone(), self.now.clone());
        let before = std::mem::take(&mut self.all);
        let first: Vec<Option<TensorId>> =
            carried.iter().map(|t| self.there.contains(t).then(|| self.version(*t))).collect();
        self.used.extend(assigned);
        self.there.retain(|t| carried.contains(t) || !assigned.contains(t));
        let done = self.steps(&block.body, true);
        let ends = carried.iter().zip(first).map(|(t, first)| (first, self.now.tensor(*t))).collect();
        (self.there, self.used, self.now) = (there, used, now);
        let turn = std::mem::replace(&mut self.all, before);
        done.map(|()| (turn, ends))
    }

    /// The steps of a block over its own versions.
    fn over(&self, steps: &[Step]) -> Result<Vec<Written>, Diagnostic> {
        let over = |step: &Step| match step {
            Step::Statement(n) => {
                let s = self.draft.program.statements[*n].clone();
                let (rhs, indices) = (self.now.expr(&s.rhs)?, self.now.indices(&s.indices)?);
                Ok(Written::Made(Statement { tensor: self.now.tensor(s.tensor), rhs, indices, ..s }))
            }
            Step::Repeat(block) => Ok(Written::Block(block.clone(), self.over(&block.body)?)),
        };
        steps.iter().map(over).collect()
    }
}

/// The pieces of a turn, and of each tensor that is carried the versions at its beginning and its end.
type Turn<'s> = (Vec<Piece<'s>>, Vec<(Option<TensorId>, TensorId)>);

impl Loop<'_> {
    /// Has each turn keep what it begins with, by its number.
    fn keeps(&mut self, draft: &mut Draft, turns: &Turns) {
        let counter = || made(Kind::Access(self.counter, vec![]), Type::I64);
        let step = |op| {
            set(
                self.counter,
                &[],
                made(Kind::Call(Fun::Op(op), vec![counter(), integer(1)]), Type::I64),
                Span::default(),
            )
        };
        let size = rows(draft, turns);
        let (mut begin, mut keep, mut back) = (vec![], vec![], vec![step(Op::Sub)]);
        for c in &self.carried {
            let of = draft.program.tensors[c.own.index()].clone();
            if let Some(before) = c.before {
                let vars = draft.modes(c.own);
                begin.push(set(c.own, &vars, read(before, &vars, of.ty), Span::default()));
            }
            let Some(first) = c.first else { continue };
            let sizes = [vec![size], of.sizes.clone()].concat();
            let name = draft.program.tensors[c.of.index()].name.clone();
            let format = Format::dense(sizes.len());
            let kept = draft.tensor(&format!("{name}_kept"), of.ty, sizes, Some(format));
            let row = |vars| {
                let map = Map::Gather(self.counter, vec![]);
                [vec![Index { permit: false, map, span: Span::default() }], bare(vars)].concat()
            };
            let vars = draft.modes(c.own);
            let keeps = set(kept, &vars, read(c.own, &vars, of.ty), Span::default());
            keep.push(Statement { indices: row(&vars), ..keeps });
            let vars = draft.modes(c.own);
            let known = made(Kind::Access(kept, row(&vars)), of.ty);
            back.push(set(first, &vars, known, Span::default()));
        }
        begin.push(set(self.counter, &[], integer(0), Span::default()));
        let body = std::mem::take(&mut self.body);
        let next = step(Op::Add);
        self.body = keep.into_iter().map(Written::Made).chain(body).chain([Written::Made(next)]).collect();
        (self.begin, self.back) = (begin, back);
    }
}

/// A size that is as many as a block's turns.
fn rows(draft: &mut Draft, turns: &Turns) -> SizeId {
    let value = match turns {
        Turns::Extent(size, _) => return *size,
        Turns::Count(n) => Some(*n),
        Turns::While(_) => None,
    };
    draft.program.sizes.push(Size { name: None, value, given: false, span: Span::default() });
    SizeId(draft.program.sizes.len() as u32 - 1)
}

/// The tensors that pieces read, or go on with.
fn reads(pieces: &[Piece], found: &mut FxHashSet<TensorId>) {
    let mut of = |s: &Statement| {
        s.accesses(&mut |t, _, written| {
            if !written {
                found.insert(t);
            }
        })
    };
    for piece in pieces {
        match piece {
            Piece::One(version) => of(&version.statement),
            Piece::Loop(block) => statements(&block.body).into_iter().chain(&block.begin).for_each(&mut of),
        }
    }
    for piece in pieces {
        match piece {
            Piece::One(version) => found.extend(version.before),
            Piece::Loop(block) => reads(&block.turn, found),
        }
    }
}

/// Adds the tensors that move if these do.
pub(super) fn moving(known: &mut FxHashSet<TensorId>, pieces: &[Piece]) {
    for piece in pieces {
        match piece {
            Piece::One(version) => {
                let before = version.before.is_some_and(|t| known.contains(&t));
                if before || moves(known, &version.statement.rhs) {
                    known.insert(version.statement.tensor);
                }
            }
            Piece::Loop(block) => {
                let begun = block.carried.iter().filter(|c| c.before.is_some_and(|t| known.contains(&t)));
                let begun: Vec<TensorId> = begun.map(|c| c.own).collect();
                known.extend(begun);
                let mut before = 0;
                while before != known.len() {
                    before = known.len();
                    for s in statements(&block.body) {
                        if moves(known, &s.rhs) {
                            known.insert(s.tensor);
                        }
                    }
                }
                let first = block.carried.iter().filter(|c| known.contains(&c.own)).filter_map(|c| c.first);
                let first: Vec<TensorId> = first.collect();
                known.extend(first);
                moving(known, &block.turn);
            }
        }
    }
}

/// The statements of steps, those of blocks too.
pub(super) fn statements(steps: &[Written]) -> Vec<&Statement> {
    let mut all = vec![];
    for step in steps {
        match step {
            Written::Made(s) => all.push(s),
            Written::Block(_, inner) => all.extend(statements(inner)),
            Written::Original(_) => {}
        }
    }
    all
}
