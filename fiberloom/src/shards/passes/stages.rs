//! Which statements run once, and which over batches, in which order.
//!
//! ```text
//!  n: rows of the table          stage 0    rate2[c] = 2 * rate[c]
//!                                stage 1    total[city[n]] += amount[n] * rate2[city[n]]       over n
//!                                stage 2    big[c] = if total[c] > 300 then total[c] else 0    reads a sum over n
//! ```
//!
//! Even stages run once, odd ones over batches. A statement is in the first stage in which all that it reads is there, and in none before one
//! that reads or defines what it defines.

use super::{Cut, refused};
use crate::error::Error;
use crate::program::{Program, literal, reformat};
use fiberloom_core::format::Tensor;
use fiberloom_core::notation::syntax::{self, Dim, Ident, Item, Size, Sort};
use fiberloom_core::notation::typed::{self, Repeat, Role, SizeId, Statement, Step, TensorId, Turns};
use fiberloom_core::notation::{Diagnostic, Span};
use fiberloom_core::shape::Classes;
use std::collections::{BTreeMap, BTreeSet};

/// Statements that run together.
#[derive(Debug)]
pub(super) struct Stage {
    /// Whether they run over batches.
    pub(super) is_batched: bool,
    /// Declarations, and these statements.
    items: Vec<Item>,
}

/// What became of a tensor.
#[derive(Clone, Copy)]
struct Known {
    /// The first stage that may read it.
    from: usize,
}

/// The stages of a program, of which `plain` is the text over coordinates.
///
/// # Errors
/// Rows that are read where no index variable is over them.
pub(super) fn stages(typed: &typed::Program, plain: &syntax::Program, cut: &Cut) -> Result<Vec<Stage>, Diagnostic> {
    let mut staging =
        Staging { typed, cut, known: BTreeMap::new(), used: BTreeMap::new(), steps: typed.order.iter().collect() };
    let (mut declared, mut placed, mut last) = (Vec::new(), Vec::<(usize, Item)>::new(), 0);
    for item in &plain.items {
        match item {
            Item::Statement(_) | Item::Repeat(_) => {
                last = staging.place(item)?;
                placed.push((last, item.clone()));
            }
            Item::Schedule(_) => placed.push((last, item.clone())),
            item => declared.push(item.clone()),
        }
    }
    let numbers: BTreeSet<usize> = placed.iter().map(|(stage, _)| *stage).collect();
    let stage = |number: usize| {
        let own = placed.iter().filter(|(stage, _)| *stage == number).map(|(_, item)| item.clone());
        Stage { is_batched: number % 2 == 1, items: declared.iter().cloned().chain(own).collect() }
    };
    Ok(numbers.into_iter().map(stage).collect())
}

struct Staging<'p> {
    typed: &'p typed::Program,
    cut: &'p Cut,
    known: BTreeMap<TensorId, Known>,
    /// The last stage that reads or defines a tensor.
    used: BTreeMap<TensorId, usize>,
    /// The steps that are not placed yet.
    steps: std::collections::VecDeque<&'p Step>,
}

impl<'p> Staging<'p> {
    /// The stage of a statement with its locals, or of a block.
    fn place(&mut self, item: &Item) -> Result<usize, Diagnostic> {
        let many = match item {
            Item::Statement(s) => count(s),
            _ => 1,
        };
        let steps: Vec<&Step> = self.steps.drain(..many.min(self.steps.len())).collect();
        let (mut statements, mut reads) = (Vec::new(), BTreeSet::new());
        steps.iter().for_each(|step| self.look(step, &mut statements, &mut reads));
        let (typed, cut) = (self.typed, self.cut);
        let (mut over, mut is_paired, mut defines) = (false, false, BTreeMap::new());
        for s in &statements {
            s.accesses(&mut |id, indices, written| {
                let at_rows = |index: &typed::Index| index.bare().is_some_and(|v| cut.is_over(&v));
                over |= indices.iter().any(at_rows);
                is_paired |= indices.iter().any(|index| index.bare().is_some_and(|v| cut.others.contains(&v)));
                if written {
                    let has_rows = indices.iter().any(at_rows);
                    *defines.entry(id).or_insert(false) |= has_rows;
                } else {
                    reads.insert(id);
                }
            });
            if s.fold.is_some() || s.is_part() {
                reads.insert(s.tensor);
            }
        }
        let from = reads.iter().filter_map(|id| self.known.get(id)).map(|known| known.from);
        let behind = defines.keys().filter_map(|id| self.used.get(id)).copied();
        let first = from.chain(behind).max().unwrap_or(0);
        let stage = if (first % 2 == 1) == over { first } else { first + 1 };
        let span = statements.last().map_or(Span::default(), |s| s.span);
        let read_whole = |id: &&TensorId| !over && cut.has(&typed.tensors[id.index()].name);
        if let Some(id) = reads.iter().find(read_whole) {
            let (name, table) = (&typed.tensors[id.index()].name, &cut.table);
            let what = format!("`{name}` is read at rows of `{table}` that may stand in any batch");
            let help = "read it at an index variable over all rows, or through a table of its own that fits";
            return Err(refused(span, what, help));
        }
        reads.iter().chain(defines.keys()).for_each(|id| {
            let used = self.used.entry(*id).or_default();
            *used = stage.max(*used);
        });
        for (id, has_rows) in defines.into_iter().filter(|(id, _)| typed.tensors[id.index()].role != Role::Local) {
            // A value a row is known in its box, unless the rows of another batch are folded for it.
            let from = if over && (!has_rows || is_paired) { stage + 1 } else { stage };
            self.known.insert(id, Known { from });
        }
        Ok(stage)
    }

    /// The statements of a step, and what its conditions read.
    fn look(&self, step: &'p Step, statements: &mut Vec<&'p Statement>, reads: &mut BTreeSet<TensorId>) {
        match step {
            Step::Statement(n) => statements.push(&self.typed.statements[*n]),
            Step::Repeat(Repeat { turns, body, .. }) => {
                if let Turns::While(condition) = turns {
                    condition.reads(&mut |id| {
                        reads.insert(id);
                    });
                }
                body.iter().for_each(|step| self.look(step, statements, reads));
            }
        }
    }
}

/// How many statements one is with its locals.
fn count(s: &syntax::Statement) -> usize {
    1 + s.locals.iter().map(count).sum::<usize>()
}

impl Stage {
    /// The names of what its statements define.
    pub(super) fn defined(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter_map(defines)
    }

    /// The program of the stage, of a table of so many rows, whose sizes below the first are these. `before` are the results of stages before it.
    ///
    /// # Errors
    /// What the checker finds.
    pub(super) fn program(
        &self,
        whole: &Program,
        before: &[(String, Tensor<'static>)],
        (cut, rows, below): (&Cut, u64, &[(&str, u64)]),
    ) -> Result<Program, Error> {
        let mut syntax = syntax::Program { items: self.items.clone() };
        let is_declared = |name: &str| {
            let tensor = |item: &Item| matches!(item, Item::Tensor(t) if t.name.name == name);
            self.items.iter().any(tensor)
        };
        let defined: BTreeSet<&str> = self.defined().collect();
        let own = defined.iter().filter(|name| !is_declared(name)).count();
        let undeclared = whole.typed().results().into_iter().map(|id| &whole.typed().tensors[id.index()]);
        let undeclared = undeclared.filter(|t| !is_declared(&t.name)).collect::<Vec<_>>();
        let classes = Classes::of(whole.typed()).map_err(|diagnostics| whole.refused(diagnostics))?;
        let rows_of = |size: SizeId| cut.named(whole, &classes, size);
        let mut formats = Vec::new();
        for tensor in undeclared.iter().filter(|t| own == 0 || !defined.contains(t.name.as_str())) {
            let made = before.iter().find(|(name, _)| *name == tensor.name).map(|(_, made)| made);
            syntax.items.insert(0, Item::Tensor(declaration(tensor, made, &rows_of)));
            formats.extend(made.map(|made| (tensor.name.clone(), made.format.to_string())));
        }
        // What runs once reads no rows.
        syntax.items.retain(|item| match item {
            Item::Tensor(t) => self.is_batched || !cut.has(&t.name.name),
            _ => true,
        });
        if !self.is_batched {
            let below = below.iter().copied();
            cut.sizes().map(|size| (size, rows)).chain(below).for_each(|(size, n)| sized(&mut syntax, size, n));
        }
        formats.iter().try_for_each(|(name, format)| reformat(&mut syntax, name, format))?;
        whole.part(syntax)
    }
}

/// The name of what a statement defines.
fn defines(item: &Item) -> Option<&str> {
    match item {
        Item::Statement(s) => Some(&s.lhs.tensor.name),
        _ => None,
    }
}

/// A declaration of a result that is not declared, as it was made. `rows_of` is the name of a size that numbers rows.
fn declaration(
    tensor: &typed::Tensor,
    made: Option<&Tensor>,
    rows_of: &dyn Fn(SizeId) -> Option<String>,
) -> syntax::Tensor {
    let span = tensor.span;
    let size = |m: usize| {
        let name = rows_of(tensor.sizes[m]).unwrap_or_else(|| format!("{}_mode_{m}", tensor.name));
        Size::Name(Ident { name, span })
    };
    syntax::Tensor {
        name: Ident { name: tensor.name.clone(), span },
        sort: Sort::Plain(tensor.ty),
        sizes: (0..tensor.sizes.len()).map(size).collect(),
        fill: made.map(|made| (literal(made.fill), span)),
        format: None,
    }
}

/// The size `name` of this value, in front of a program's items.
pub(super) fn sized(syntax: &mut syntax::Program, name: &str, value: u64) {
    let is_there = syntax.items.iter().any(|item| matches!(item, Item::Dim(dim) if dim.name.name == name));
    if !is_there {
        let name = Ident { name: name.to_string(), span: Span::default() };
        syntax.items.insert(0, Item::Dim(Dim { name, value: Some(value) }));
    }
}
