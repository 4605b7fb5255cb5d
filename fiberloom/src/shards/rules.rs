//! What may be split, and what is refused by name.
//!
//! ```text
//!  of each split and tensor:   cut      every access has the variable as a bare index in the same modes
//!                              whole    no access has it: each box holds the same
//!                              folded   one statement makes it, whose outermost fold is over the variable; nothing reads it
//! ```
//!
//! `docs/shards.md` says why these three suffice. Each rule that a program breaks is one [`Diagnostic`], which names the
//! index variable, what is wrong and what to change.

mod fold;

use fiberloom_core::algebra::{Mode, Value};
use fiberloom_core::notation::typed::{Expr, Fun, Index, Kind, Map, Program, Role, Statement, Step, TensorId, VarId};
use fiberloom_core::notation::{Diagnostic, Span};
use std::collections::BTreeSet;

/// What becomes of a tensor where index variables are split: it is whole in each box unless something here says otherwise.
#[derive(Clone, Debug, Default)]
pub(super) struct Share {
    /// The modes that are cut, each with the number of the split that cuts it.
    pub(super) cuts: Vec<(usize, usize)>,
    /// How boxes are folded.
    pub(super) fold: Option<Fold>,
}

/// That a tensor is the fold of what boxes make of it.
#[derive(Clone, Debug)]
pub(super) struct Fold {
    /// With which function.
    pub(super) fun: Fun,
    /// What nothing folds to: what each box begins with.
    pub(super) identity: Value,
    /// The numbers of the splits.
    pub(super) along: Vec<usize>,
    /// Whether the statement accumulates into what the tensor held, which is folded in once, before all boxes.
    pub(super) accumulates: bool,
}

/// What is known of a split while its rules are applied.
struct Rules<'p> {
    program: &'p Program,
    mode: Mode,
    /// Whether sums of a tensor may take any order whatever the mode is.
    about: &'p dyn Fn(TensorId) -> bool,
    /// Whether data are given for a tensor.
    given: &'p dyn Fn(TensorId) -> bool,
    name: &'p str,
    /// All index variables that it stands for.
    vars: BTreeSet<VarId>,
}

/// What is split: a name for messages, and the index variables that have one extent.
pub(super) type Over<'n> = (&'n str, BTreeSet<VarId>);

/// The share of each tensor where these index variables are split. `about` are tensors whose sums may take any order in every mode.
///
/// # Errors
/// The first rule that is broken.
pub(super) fn shares(
    program: &Program,
    splits: &[Over],
    (mode, about): (Mode, &dyn Fn(TensorId) -> bool),
    given: &dyn Fn(TensorId) -> bool,
) -> Result<Vec<Share>, Diagnostic> {
    let mut shares = vec![Share::default(); program.tensors.len()];
    let all: Vec<Rules> =
        splits.iter().map(|(name, vars)| Rules { program, mode, about, given, name, vars: vars.clone() }).collect();
    for (split, rules) in all.iter().enumerate() {
        rules.blocks()?;
        rules.cut(split, &mut shares)?;
        rules.fold(split, &mut shares)?;
        rules.reads(split, &shares)?;
    }
    for (split, rules) in all.iter().enumerate() {
        rules.is_said(split, &shares)?;
    }
    Ok(shares)
}

/// The index variables of a name.
pub(super) fn variables(program: &Program, name: &str) -> impl Iterator<Item = VarId> {
    let all = program.vars.iter().enumerate().filter(move |(_, v)| v.name == name);
    all.map(|(at, _)| VarId(at as u32))
}

/// The tensor of a declaration, and its share: where several locals have it, theirs are one.
pub(super) fn shares_of<'s>(program: &Program, shares: &'s [Share], name: &str) -> Option<(TensorId, &'s Share)> {
    let id = program.ids().find(|id| program.tensors[id.index()].name == name)?;
    Some((id, &shares[id.index()]))
}

impl<'p> Rules<'p> {
    fn has(&self, v: &VarId) -> bool {
        self.vars.contains(v)
    }

    fn tensor(&self, id: TensorId) -> &'p str {
        &self.program.tensors[id.index()].name
    }

    fn refuse(&self, span: Span, what: impl std::fmt::Display, help: impl Into<String>) -> Diagnostic {
        Diagnostic::new(span, format!("index variable `{}` is not split: {what}", self.name)).help(help)
    }

    /// No statement is in a block.
    fn blocks(&self) -> Result<(), Diagnostic> {
        let block = self.program.order.iter().find_map(|step| match step {
            Step::Repeat(block) => Some(block.span),
            Step::Statement(_) => None,
        });
        let what = "a block takes tensors from turn to turn, and boxes would have to meet after each";
        let help = "split the block's statements as a program of their own, and put the loop around its runs";
        block.map_or(Ok(()), |span| Err(self.refuse(span, what, help)))
    }

    /// Finds the modes that are cut.
    fn cut(&self, split: usize, shares: &mut [Share]) -> Result<(), Diagnostic> {
        let mut seen: Vec<Option<(Vec<usize>, Span)>> = vec![None; shares.len()];
        for s in &self.program.statements {
            self.bare(s)?;
            let mut wrong = None;
            s.accesses(&mut |id, indices, _| {
                let modes = self.modes(indices);
                let span = indices.first().map_or(s.span, |first| first.span.to(indices[indices.len() - 1].span));
                match &seen[id.index()] {
                    None => seen[id.index()] = Some((modes, span)),
                    Some((before, other)) if *before != modes => {
                        wrong.get_or_insert_with(|| self.crosses(id, (before, *other), (&modes, span)));
                    }
                    Some(_) => {}
                }
            });
            wrong.map_or(Ok(()), Err)?;
        }
        for (share, seen) in shares.iter_mut().zip(&seen) {
            share.cuts.extend(seen.iter().flat_map(|(modes, _)| modes).map(|mode| (*mode, split)));
        }
        self.namesakes(shares)
    }

    /// The modes that are under the variable.
    fn modes(&self, indices: &[Index]) -> Vec<usize> {
        let bare = |index: &Index| index.bare().is_some_and(|v| self.has(&v));
        (0..indices.len()).filter(|mode| bare(&indices[*mode])).collect()
    }

    /// The variable stands nowhere in a statement but as a bare index and where a fold binds it.
    fn bare(&self, s: &Statement) -> Result<(), Diagnostic> {
        if let Some(cut) = s.cuts.iter().find(|cut| self.has(&cut.var)) {
            let help = "define all of the mode, or split another variable";
            return Err(self.refuse(cut.span, "it goes as far as a slice on the left side", help));
        }
        let mut wrong = None;
        s.accesses(&mut |id, indices, _| {
            let name = self.tensor(id);
            let mixed = indices.iter().find(|i| i.bare().is_none() && self.is_in(&i.map));
            if let Some(index) = mixed {
                let what = format!("it stands in an index of `{name}` as more than itself");
                let help = format!("read `{name}` at a bare `{}`: another coordinate may be in another box", self.name);
                wrong.get_or_insert_with(|| self.refuse(index.span, what, help));
            }
            if let (Role::Computed(_), [mode, ..]) =
                (self.program.tensors[id.index()].role, self.modes(indices).as_slice())
            {
                let what = format!("`{name}` is a function of its value, and a box counts from 0");
                let help = format!("store `{name}`, or split another variable");
                wrong.get_or_insert_with(|| self.refuse(indices[*mode].span, what, help));
            }
        });
        if let [_, again, ..] = self.modes(&s.indices)[..] {
            let what = format!("it is two indices of `{}` on the left side", self.tensor(s.tensor));
            let help = "define a vector with it, and the diagonal in a program behind";
            wrong.get_or_insert_with(|| self.refuse(s.indices[again].span, what, help));
        }
        s.rhs.walk(&mut |e| {
            if let Some(refused) = self.shaped(e) {
                wrong.get_or_insert(refused);
            }
        });
        wrong.map_or(Ok(()), Err)
    }

    /// That an expression reads the variable's value, or is a shape operator on it.
    fn shaped(&self, e: &Expr) -> Option<Diagnostic> {
        let operator = match &e.kind {
            Kind::Index(v) if self.has(v) => {
                let help = format!("read the values from a vector, at a bare `{}`", self.name);
                return Some(self.refuse(e.span, "its value is read, and a box counts from 0", help));
            }
            Kind::Collapse { from, to, .. } if self.has(to) || from.iter().any(|v| self.has(v)) => "collapse",
            Kind::Concat { from, to, .. } if self.has(to) || from.iter().any(|v| self.has(v)) => "concat",
            Kind::Split { from, to, .. } if [from, &to.0, &to.1].into_iter().any(|v| self.has(v)) => "split",
            Kind::Slice { from, to, .. } if self.has(from) || self.has(to) => "slice",
            _ => return None,
        };
        let help = "define what the operator makes in a program before, or split another variable";
        Some(self.refuse(e.span, format!("`{operator}` takes its coordinates to others"), help))
    }

    /// Whether a coordinate is computed from the variable, apart from what is read for it.
    fn is_in(&self, map: &Map) -> bool {
        match map {
            Map::Var(v) => self.has(v),
            Map::Add(a, b) => self.is_in(a) || self.is_in(b),
            Map::Mul(_, a) | Map::Div(a, _) | Map::Mod(a, _) => self.is_in(a),
            Map::Const(_) | Map::Bound(_) | Map::Gather(..) => false,
            Map::Computed(e) => e.has_value_of(&|v| self.has(&v)),
        }
    }

    /// That two accesses of a tensor have the variable in different modes.
    fn crosses(&self, id: TensorId, before: (&[usize], Span), here: (&[usize], Span)) -> Diagnostic {
        let (name, variable) = (self.tensor(id), self.name);
        let under = |modes: &[usize]| match modes {
            [] => format!("not at `{variable}`"),
            [mode] => format!("at `{variable}` in mode {mode}"),
            _ => format!("at `{variable}` in several modes"),
        };
        let is_operand = self.program.tensors[id.index()].role == Role::Input;
        let (what, help) = match is_operand {
            true => (
                format!("`{name}` would be cut for one access and not for the other"),
                format!("give one of the two accesses a tensor of its own, with the data of `{name}`"),
            ),
            false => (
                format!("boxes would read one another's part of `{name}`"),
                format!("split the statements that make `{name}` and those that read it otherwise as two programs"),
            ),
        };
        let refused = self.refuse(here.1, what, help).label(here.1, under(here.0));
        refused.label(before.1, under(before.0))
    }

    /// Tensors of one name are cut alike: they have one declaration.
    fn namesakes(&self, shares: &[Share]) -> Result<(), Diagnostic> {
        let tensors = &self.program.tensors;
        for (n, tensor) in tensors.iter().enumerate() {
            let other = (0..n).find(|m| tensors[*m].name == tensor.name && shares[*m].cuts != shares[n].cuts);
            if other.is_some() {
                let what = format!("two locals called `{}` are cut in different modes", tensor.name);
                return Err(self.refuse(tensor.span, what, "give one of them another name"));
            }
        }
        Ok(())
    }

    /// Nothing reads what is folded along the split.
    fn reads(&self, split: usize, shares: &[Share]) -> Result<(), Diagnostic> {
        let is_folded = |id: TensorId| shares[id.index()].fold.as_ref().is_some_and(|f| f.along.contains(&split));
        let mut wrong = None;
        for s in &self.program.statements {
            s.accesses(&mut |id, indices, written| {
                if !written && is_folded(id) {
                    let span = indices.first().map_or(s.span, |index| index.span);
                    let what =
                        format!("`{}`, which is folded over it, is read before all boxes are done", self.tensor(id));
                    let help = format!("read `{}` in a program behind", self.tensor(id));
                    wrong.get_or_insert_with(|| self.refuse(span, what, help));
                }
            });
        }
        wrong.map_or(Ok(()), Err)
    }

    /// Data that are given say how long a box is.
    fn is_said(&self, split: usize, shares: &[Share]) -> Result<(), Diagnostic> {
        let says = |share: &Share| share.fold.is_none() && share.cuts.iter().any(|(_, own)| *own == split);
        if self.program.ids().any(|id| (self.given)(id) && says(&shares[id.index()])) {
            return Ok(());
        }
        let span = self.vars.first().map_or(Span::default(), |v| self.program.vars[v.index()].span);
        let what = "no tensor that is given has it as an index, so that nothing says how long a box is";
        Err(self.refuse(span, what, format!("read some operand at `{}`, or split another variable", self.name)))
    }

    /// What messages call a function.
    fn called(&self, fun: Fun) -> &'p str {
        match fun {
            Fun::Op(op) => op.name(),
            Fun::User(id) => &self.program.functions[id.index()].name,
        }
    }
}
