//! Statements one after the other, each of which defines a tensor of its own: a tensor that is defined again has another version.
//!
//! ```text
//!  x[i] = 2*x[i]            x_2[i] = 2*x[i]                reads are of the version before
//!  repeat 30 { … }          a block still, over versions of its own (turns.rs); or its statements as often as it runs
//!  y[i] += A[i,j]*x[j]      y_2 begins as y, and is accumulated into
//! ```

use super::change::{Change, binds};
use super::draft::Draft;
use super::pull::Part;
use super::turns::Loop;
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::syntax::{self, Item};
use fiberloom_core::notation::typed::{Repeat, Role, Statement, Step, TensorId, Turns, VarId};
use rustc_hash::FxHashSet;

/// A statement, and what it begins with.
pub(super) struct Version<'s> {
    /// It defines its tensor once in the whole program.
    pub(super) statement: Statement,
    /// The version that it leaves where it defines nothing, or accumulates into.
    pub(super) before: Option<TensorId>,
    /// Parts of its right side that have names now, and are defined before it.
    pub(super) parts: Vec<Part>,
    /// Its place in the original.
    pub(super) original: usize,
    /// As the user wrote it.
    pub(super) written: Option<&'s syntax::Statement>,
}

/// A statement, or a block that stays one.
pub(super) enum Piece<'s> {
    /// A statement.
    One(Box<Version<'s>>),
    /// A block.
    Loop(Box<Loop<'s>>),
}

/// Gives `each` the versions of pieces, those of turns too, in order.
pub(super) fn all<'p, 's>(pieces: &'p [Piece<'s>], each: &mut impl FnMut(&'p Version<'s>)) {
    for piece in pieces {
        match piece {
            Piece::One(version) => each(version),
            Piece::Loop(block) => all(&block.turn, each),
        }
    }
}

/// The most statements of a program whose blocks are written out.
const MOST: usize = 256;

/// The statements and blocks of a program in order, and the last version of each of its tensors. Without `blocks` the statements of a block
/// are written out, as often as it runs. The caller gives the tensors `by` which gradients are asked.
///
/// # Errors
/// A block that runs as often as data say, or, written out, very often.
pub(super) fn versions<'s>(
    draft: &mut Draft,
    source: &'s syntax::Program,
    (blocks, by): (bool, &[TensorId]),
) -> Result<(Vec<Piece<'s>>, Change), Diagnostic> {
    let steps = draft.program.order.clone();
    let (mut given, starts) = (draft.program.inputs(), draft.program.starts());
    let there = given.iter().chain(&starts).copied().collect();
    given.extend(starts.into_iter().filter(|t| by.contains(t)));
    let (used, now) = (FxHashSet::default(), Change::default());
    let mut made = Order { draft, source, blocks, given, there, used, now, all: vec![] };
    made.steps(&steps, false)?;
    Ok((made.all, made.now))
}

/// Statements and blocks so far.
pub(super) struct Order<'d, 's> {
    pub(super) draft: &'d mut Draft,
    pub(super) source: &'s syntax::Program,
    /// Whether blocks stay blocks.
    blocks: bool,
    /// Tensors that have to be given.
    pub(super) given: Vec<TensorId>,
    /// Tensors that have a value.
    pub(super) there: FxHashSet<TensorId>,
    /// Tensors that some statement has defined.
    pub(super) used: FxHashSet<TensorId>,
    /// The last version of each tensor that has several.
    pub(super) now: Change,
    pub(super) all: Vec<Piece<'s>>,
}

impl Order<'_, '_> {
    /// Steps in order; `again` if they are those of a block.
    pub(super) fn steps(&mut self, steps: &[Step], again: bool) -> Result<(), Diagnostic> {
        for step in steps {
            match step {
                Step::Statement(n) => self.statement(*n, again)?,
                Step::Repeat(block) if self.blocks && self.turns(block).is_none_or(|n| n > 1) => self.block(block)?,
                Step::Repeat(block) => {
                    let count = self.turns(block).filter(|n| *n as usize * block.statements().len() <= MOST);
                    for _ in 0..count.ok_or_else(|| refused(block))? {
                        for n in block.statements() {
                            let t = self.draft.program.statements[n].tensor;
                            if self.draft.program.tensors[t.index()].role == Role::Local {
                                self.there.remove(&t);
                            }
                        }
                        self.steps(&block.body, true)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// How many turns a block takes, if the program says it.
    fn turns(&self, block: &Repeat) -> Option<u64> {
        match &block.turns {
            Turns::Count(n) => Some(*n),
            Turns::Extent(size, _) => self.draft.program.sizes[size.index()].value,
            Turns::While(_) => None,
        }
    }

    fn statement(&mut self, n: usize, again: bool) -> Result<(), Diagnostic> {
        let s = self.draft.program.statements[n].clone();
        let is_there = self.there.contains(&s.tensor);
        let in_place = s.fold.is_some() || s.is_part();
        let before = (is_there && in_place).then(|| self.now.tensor(s.tensor));
        let own = if again { self.fresh(&s)? } else { s.clone() };
        let mut statement =
            Statement { rhs: self.now.expr(&own.rhs)?, indices: self.now.indices(&own.indices)?, ..own };
        self.there.insert(s.tensor);
        if !self.used.insert(s.tensor) || is_there {
            self.version(s.tensor);
        }
        statement.tensor = self.now.tensor(s.tensor);
        let written = find(&self.source.items, &s).filter(|w| w.locals.is_empty());
        self.all.push(Piece::One(Box::new(Version { statement, before, parts: vec![], original: n, written })));
        Ok(())
    }

    /// Another version of a tensor, which is its last one.
    pub(super) fn version(&mut self, t: TensorId) -> TensorId {
        let of = self.draft.program.tensors[t.index()].clone();
        let id = self.draft.like(&of.name, t, of.ty, of.format.clone());
        self.draft.program.tensors[id.index()].fill = of.fill;
        self.now.tensors.insert(t, id);
        id
    }

    /// A statement of a block under variables of its own.
    fn fresh(&mut self, s: &Statement) -> Result<Statement, Diagnostic> {
        let mut vars: Vec<VarId> = s.vars.iter().chain(&s.folded).copied().collect();
        s.rhs.walk(&mut |e| vars.extend(binds(e)));
        let pairs: Vec<(VarId, VarId)> = vars.into_iter().map(|v| (v, self.draft.var(v))).collect();
        let change = Change::all(pairs.iter().copied());
        let to = |v: &VarId| pairs.iter().rfind(|(from, _)| from == v).map_or(*v, |(_, to)| *to);
        Ok(Statement {
            rhs: change.expr(&s.rhs)?,
            indices: change.indices(&s.indices)?,
            vars: s.vars.iter().map(to).collect(),
            folded: s.folded.iter().map(to).collect(),
            ..s.clone()
        })
    }
}

/// A block without a gradient.
pub(super) fn refused(block: &Repeat) -> Diagnostic {
    let message =
        "the gradient of a block needs to know how often it runs, and few turns: `while`, and many turns, have none";
    Diagnostic::new(block.span, message).help(format!(
        "say `repeat` and a number, of at most {MOST} statements in all, or declare what the block carries from turn to turn, with sizes \
         that have names; `fiberloom jvp` takes every block"
    ))
}

/// What says how many turns a block takes, as it is written.
pub(super) fn turns<'s>(items: &'s [Item], block: &Repeat) -> Option<&'s syntax::Turns> {
    items.iter().find_map(|item| match item {
        Item::Repeat(w) if (w.span.start, w.span.end) == (block.span.start, block.span.end) => Some(&w.turns),
        Item::Repeat(w) => turns(&w.body, block),
        _ => None,
    })
}

/// The statement as it is written.
pub(super) fn find<'s>(items: &'s [Item], s: &Statement) -> Option<&'s syntax::Statement> {
    items.iter().find_map(|item| match item {
        Item::Statement(w) if (w.span.start, w.span.end) == (s.span.start, s.span.end) => Some(w),
        Item::Repeat(block) => find(&block.body, s),
        _ => None,
    })
}
