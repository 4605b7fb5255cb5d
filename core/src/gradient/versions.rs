//! Statements one after the other, each of which defines a tensor of its own: a tensor that is defined again has another version.
//!
//! ```text
//!  x[i] = 2*x[i]            x_2[i] = 2*x[i]                reads are of the version before
//!  y[i] += A[i,j]*x[j]      y_2 begins as y, and is accumulated into
//! ```

use super::change::Change;
use super::draft::Draft;
use super::pull::Part;
use crate::notation::Diagnostic;
use crate::notation::syntax::{self, Item};
use crate::notation::typed::{Repeat, Statement, Step, TensorId};
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

/// The statements of a program in order, and the last version of each of its tensors.
///
/// # Errors
/// A block.
pub(super) fn versions<'s>(
    draft: &mut Draft,
    source: &'s syntax::Program,
) -> Result<(Vec<Version<'s>>, Change), Diagnostic> {
    let steps = draft.program.order.clone();
    let brought: FxHashSet<TensorId> = draft.program.inputs().into_iter().chain(draft.program.starts()).collect();
    let (mut all, mut now, mut defined) = (vec![], Change::default(), FxHashSet::default());
    for step in steps {
        let n = match step {
            Step::Statement(n) => n,
            Step::Repeat(block) => return Err(refused(&block)),
        };
        let s = draft.program.statements[n].clone();
        let is_there = defined.contains(&s.tensor) || brought.contains(&s.tensor);
        let in_place = s.fold.is_some() || s.is_part();
        let before = (is_there && in_place).then(|| now.tensor(s.tensor));
        let mut statement = Statement { rhs: now.expr(&s.rhs)?, indices: now.indices(&s.indices)?, ..s.clone() };
        defined.insert(s.tensor);
        if is_there {
            let of = draft.program.tensors[s.tensor.index()].clone();
            let id = draft.like(&of.name, s.tensor, of.ty, of.format.clone());
            draft.program.tensors[id.index()].fill = of.fill;
            now.tensors.insert(s.tensor, id);
        }
        statement.tensor = now.tensor(s.tensor);
        let written = find(&source.items, &s).filter(|w| w.locals.is_empty());
        all.push(Version { statement, before, parts: vec![], original: n, written });
    }
    Ok((all, now))
}

fn refused(block: &Repeat) -> Diagnostic {
    Diagnostic::new(block.span, "the gradient of a block is not written yet")
        .help("write its statements as often as they run, or use `fiberloom jvp`, which takes blocks")
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
