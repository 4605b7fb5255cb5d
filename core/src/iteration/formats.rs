//! The formats of results that are not declared.
//!
//! ```text
//!  R[i,j] = 2 * A[i,j]               A csr            csr: its columns are a list
//!  R[i,j] = A[i,k] * X[k,j]          A csr, X dense   {dense, dense}: each row may have any column
//!  y[i] = sum(j: A[i,j])             A csr            {dense}
//!  R[i,j] = 2 * A[i,j]               A dcsr           {compressed, compressed}: a list leads the rows
//!  s[j] = sum(i: A[i,j])             A csr            {dense}, or {compressed} where there are over 16 columns an entry
//! ```
//!
//! A statement without a sparse operand defines a dense tensor. The levels of any other are in the order in which its operands store
//! their modes, where all operands agree, else in that of the left side. A level is compressed where lists alone decide that there is a
//! value at its coordinates (presence.rs), and dense where any coordinate may have one. The outermost level is dense unless an outermost
//! list leads it.
//!
//! A dense level that may have no value at some of its coordinates is *spare*. In a *thin* tensor the innermost spare levels are
//! compressed: as many as it takes for the rest to have at most [`THIN`] coordinates for each entry that the statement reads.

use super::along::mentions;
use super::presence::{Presence, Presences, lists};
use crate::algebra::Value;
use crate::format::{Format, LevelKind};
use crate::notation::typed::{Extents, Program, SizeId, Statement, TensorId, VarId};
use crate::stack::with_room;
use std::collections::{BTreeMap, BTreeSet};

/// The most coordinates of spare levels per entry that is read; beyond that they are compressed.
const THIN: u64 = 16;

/// The number of spare levels that each thin result keeps, from the outermost. Other results keep all of theirs.
pub type Thin = BTreeMap<TensorId, usize>;

/// The part of the decision which results are thin that the program alone determines.
#[derive(Clone, Debug, Default)]
pub struct Spares {
    statements: Vec<Made>,
}

/// The result of a statement if no result is thin.
#[derive(Clone, Debug)]
struct Made {
    tensor: TensorId,
    /// The tensors that the statement reads.
    read: BTreeSet<TensorId>,
    format: Format,
    /// The modes of its spare levels, from the outermost.
    spare: Vec<usize>,
    /// The sizes of its modes.
    sizes: Vec<SizeId>,
}

impl Program {
    /// The format of each statement's result: the declared one, else by the rules of this file.
    pub fn formats(&self, thin: &Thin) -> Vec<Format> {
        self.made(thin).into_iter().map(|made| made.format).collect()
    }

    /// The final format of each tensor: the declared one, else that of its last statement's result.
    pub fn stored(&self, thin: &Thin) -> Vec<Format> {
        let made = self.formats(thin);
        let last = |id: TensorId| self.statements.iter().rposition(|s| s.tensor == id);
        let format = |id: TensorId| last(id).map(|n| made[n].clone());
        let dense = |id: TensorId| Format::dense(self.tensors[id.index()].sizes.len());
        self.ids()
            .map(|id| self.tensors[id.index()].format.clone().or(format(id)).unwrap_or_else(|| dense(id)))
            .collect()
    }

    /// The program with the format of each statement's result fixed: later passes keep it.
    pub fn decided(&self, thin: &Thin) -> Program {
        let mut decided = self.clone();
        for (statement, format) in decided.statements.iter_mut().zip(self.formats(thin)) {
            statement.format = Some(format);
        }
        decided
    }

    /// The part of the decision which results are thin that the program alone determines.
    pub fn spares(&self) -> Spares {
        let undeclared = |made: &Made| self.tensors[made.tensor.index()].format.is_none();
        let mut statements = self.made(&Thin::new());
        statements.iter_mut().filter(|made| !undeclared(made)).for_each(|made| made.spare.clear());
        Spares { statements }
    }

    fn made(&self, thin: &Thin) -> Vec<Made> {
        with_room(|| {
            let mut formats: Vec<Option<Format>> = self.tensors.iter().map(|t| t.format.clone()).collect();
            let mut fills: Vec<Option<Value>> = self.tensors.iter().map(|t| t.fill).collect();
            let mut all = vec![];
            for s in &self.statements {
                let (made, fill) = self.makes(s, (&formats, &fills), thin);
                formats[s.tensor.index()] = Some(made.format.clone());
                fills[s.tensor.index()] = fill;
                all.push(made);
            }
            all
        })
    }

    /// The result of a statement, and its fill value, if that is known.
    fn makes(
        &self,
        s: &Statement,
        (formats, fills): (&[Option<Format>], &[Option<Value>]),
        thin: &Thin,
    ) -> (Made, Option<Value>) {
        let tensor = &self.tensors[s.tensor.index()];
        let mut read = BTreeSet::new();
        s.accesses(&mut |t, _, written| {
            if !written || s.fold.is_some() {
                read.insert(t);
            }
        });
        let was = formats[s.tensor.index()].as_ref();
        let part = was.filter(|_| s.is_part()).cloned();
        let known = tensor.format.clone().or(s.format.clone()).or(part);
        let made =
            |format, spare| Made { tensor: s.tensor, read: read.clone(), format, spare, sizes: tensor.sizes.clone() };
        let presences = Presences::of(self, s, formats, fills);
        // Defining a part, and folding into a tensor, keep the fill value.
        let kept = fills[s.tensor.index()].filter(|_| s.fold.is_some() || s.is_part());
        let fill = tensor.fill.or(kept).or_else(|| presences.elsewhere());
        if let Some(format) = known {
            return (made(format, vec![]), fill);
        }
        let kept = thin.get(&s.tensor).copied().unwrap_or(usize::MAX);
        let (format, spare) = self.undeclared(s, &presences, was, kept);
        (made(format, spare), fill)
    }

    /// The format of a statement's undeclared result, of which `kept` spare levels are kept, and the modes of all spare levels. A tensor
    /// that is accumulated into is an operand; so is one that an index reads.
    fn undeclared(
        &self,
        s: &Statement,
        presences: &Presences,
        was: Option<&Format>,
        kept: usize,
    ) -> (Format, Vec<usize>) {
        let rank = s.indices.len();
        let was = was.filter(|_| s.fold.is_some());
        if !was.is_some_and(is_sparse) && !presences.read(is_sparse) {
            return (Format::dense(rank), vec![]);
        }
        let order = presences.order();
        let modes = stored_modes(s, &order);
        let presence = |m: &usize| {
            let before = was.map_or(Presence::Nowhere, |was| before(was, *m));
            before.max(self.presence(s, presences, *m, &order))
        };
        let all: Vec<Presence> = modes.iter().map(presence).collect();
        let dense =
            |(l, presence): (usize, &Presence)| l == 0 && *presence != Presence::Led || *presence > Presence::Listed;
        let is_spare = |(l, presence): &(usize, &Presence)| dense((*l, presence)) && **presence != Presence::All;
        let spare: Vec<usize> = all.iter().enumerate().filter(is_spare).map(|(l, _)| l).collect();
        let mut full: Vec<bool> = all.iter().enumerate().map(dense).collect();
        let is_full = full.iter().all(|full| *full);
        for l in spare.iter().skip(kept) {
            // An outermost dense level of the operands has a position for each coordinate.
            full[*l] = *l == 0 && all[0] == Presence::Spare;
        }
        if is_full && kept < spare.len() && full[0] {
            full[1..].fill(false);
        }
        let spare = spare.into_iter().map(|l| modes[l]).collect();
        if full.iter().all(|full| *full) {
            return (Format::dense(rank), spare);
        }
        let level = |full: bool| if full { LevelKind::Dense } else { LevelKind::Compressed };
        (Format { levels: full.into_iter().map(level).collect(), order: modes.into() }, spare)
    }

    /// The presence along a mode of a statement's left side.
    fn presence(&self, s: &Statement, presences: &Presences, mode: usize, order: &[VarId]) -> Presence {
        let fill = self.tensors[s.tensor.index()].fill;
        let along = |v: VarId| match presences.along(v, order) {
            // A value that differs from the tensor's fill is stored.
            (_, elsewhere) if fill.is_some() && s.fold.is_none() && elsewhere != fill => Presence::All,
            (presence, _) => presence,
        };
        match s.indices[mode].bare() {
            Some(v) => along(v),
            // Computed coordinates arrive in any order: no list leads them.
            None => {
                let moved = s.vars.iter().chain(&s.folded).filter(|v| mentions(&s.indices[mode], **v));
                moved.map(|v| along(*v)).fold(Presence::Listed, Presence::max)
            }
        }
    }
}

/// A result's modes in the order of its variables, if each mode has one.
fn stored_modes(s: &Statement, order: &[VarId]) -> Vec<usize> {
    let place = |m: usize| s.indices[m].bare().and_then(|v| order.iter().position(|u| *u == v));
    let mut modes: Vec<usize> = (0..s.indices.len()).collect();
    if modes.iter().all(|m| place(*m).is_some()) {
        modes.sort_by_key(|m| place(*m));
    }
    modes
}

/// The presence along a mode of a tensor before something is folded into it.
fn before(was: &Format, mode: usize) -> Presence {
    let l = was.order.iter().position(|m| *m == mode).expect("each mode has a level");
    match was.is_dense() {
        true => Presence::All,
        false if lists(was.levels[l]) => {
            if l == 0 {
                Presence::Led
            } else {
                Presence::Listed
            }
        }
        false => Presence::Spare,
    }
}

/// Whether a format has fewer positions than coordinates.
fn is_sparse(format: &Format) -> bool {
    format.levels.iter().any(|kind| lists(*kind) || kind.shares())
}

impl Spares {
    /// Whether no data can make a result thin.
    pub fn is_empty(&self) -> bool {
        self.statements.iter().all(|made| made.spare.is_empty())
    }

    /// Every result that data may make thin, with no spare level kept.
    pub fn thinnest(&self) -> Thin {
        self.statements.iter().filter(|made| !made.spare.is_empty()).map(|made| (made.tensor, 0)).collect()
    }

    /// The thin results under these extents and numbers of operands' entries.
    pub fn thin(&self, extents: &Extents, entries: &dyn Fn(TensorId) -> u64) -> Thin {
        let mut computed: BTreeMap<TensorId, u64> = BTreeMap::new();
        let mut thin = Thin::new();
        for Made { tensor, read, format, spare, sizes } in &self.statements {
            let extent = |m: usize| extents.sizes[sizes[m].index()];
            let entries = |t: &TensorId| computed.get(t).copied().unwrap_or_else(|| entries(*t));
            let sum = read.iter().map(entries).fold(0, u64::saturating_add);
            let most = sum.saturating_mul(THIN);
            // Lists around a level have at most as many coordinates together as there are entries to compute them from.
            let listed = |m: usize| {
                let around = format.order.iter().zip(&*format.levels).take_while(|(o, _)| **o != m);
                let lists = around.filter(|(_, kind)| lists(**kind)).map(|(o, _)| extent(*o));
                lists.fold(1, u64::saturating_mul).min(sum.max(1))
            };
            let coordinates = spare.iter().scan(1, |all: &mut u64, m| {
                *all = all.saturating_mul(extent(*m));
                Some(all.saturating_mul(listed(*m)))
            });
            let kept = coordinates.take_while(|all| *all <= most).count();
            if kept < spare.len() {
                thin.entry(*tensor).and_modify(|least| *least = kept.min(*least)).or_insert(kept);
            }
            let is_dense = format.is_dense() && kept == spare.len();
            let all = || (0..sizes.len()).map(extent).fold(1, u64::saturating_mul);
            computed.insert(*tensor, if is_dense { all() } else { sum });
        }
        thin
    }
}
