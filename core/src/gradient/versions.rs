//! Statements one after the other, each of which defines a tensor of its own: a tensor that is defined again has another version.
//!
//! ```text
//!  x[i] = 2*x[i]            x_2[i] = 2*x[i]                reads are of the version before
//!  repeat 3 { … }           its statements three times, each turn's of its own versions
//!  y[i] += A[i,j]*x[j]      y_2 begins as y, and is accumulated into
//! ```

use super::change::{Change, binds};
use super::draft::Draft;
use super::pull::Part;
use crate::notation::Diagnostic;
use crate::notation::syntax::{self, Item};
use crate::notation::typed::{Repeat, Role, Statement, Step, TensorId, Turns, VarId};
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

/// The most statements of a program whose blocks are written out.
const MOST: usize = 256;

/// The statements of a program in order, those of a block as often as it runs, and the last version of each of its tensors.
///
/// # Errors
/// A block that runs as often as data say, or very often.
pub(super) fn versions<'s>(
    draft: &mut Draft,
    source: &'s syntax::Program,
) -> Result<(Vec<Version<'s>>, Change), Diagnostic> {
    let steps = draft.program.order.clone();
    let brought = draft.program.inputs().into_iter().chain(draft.program.starts()).collect();
    let mut made =
        Unrolled { draft, source, there: brought, used: FxHashSet::default(), now: Change::default(), all: vec![] };
    made.steps(&steps, false)?;
    Ok((made.all, made.now))
}

/// Statements so far.
struct Unrolled<'d, 's> {
    draft: &'d mut Draft,
    source: &'s syntax::Program,
    /// Tensors that have a value.
    there: FxHashSet<TensorId>,
    /// Tensors that some statement has defined.
    used: FxHashSet<TensorId>,
    /// The last version of each tensor that has several.
    now: Change,
    all: Vec<Version<'s>>,
}

impl Unrolled<'_, '_> {
    /// Steps in order; `again` if they are those of a block.
    fn steps(&mut self, steps: &[Step], again: bool) -> Result<(), Diagnostic> {
        for step in steps {
            match step {
                Step::Statement(n) => self.statement(*n, again)?,
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
            let of = self.draft.program.tensors[s.tensor.index()].clone();
            let id = self.draft.like(&of.name, s.tensor, of.ty, of.format.clone());
            self.draft.program.tensors[id.index()].fill = of.fill;
            self.now.tensors.insert(s.tensor, id);
        }
        statement.tensor = self.now.tensor(s.tensor);
        let written = find(&self.source.items, &s).filter(|w| w.locals.is_empty());
        self.all.push(Version { statement, before, parts: vec![], original: n, written });
        Ok(())
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

fn refused(block: &Repeat) -> Diagnostic {
    let message =
        "the gradient of a block needs to know how often it runs, and few turns: `while`, and many turns, have none";
    Diagnostic::new(block.span, message).help(format!(
        "say `repeat` and a number, of at most {MOST} statements in all; `fiberloom jvp` takes every block"
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
