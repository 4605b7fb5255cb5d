//! What threads run where rows are no shares of the work: pieces of tensors' entries, or of coordinates, where data ask for it.
//!
//! ```text
//!  one row of A holds more than two shares of its entries
//!    y[i]   = Σj A[i,j] x[j]                 4096 entries of A: a piece    (i, j)     where pieces meet in a row, its sums are joined
//!    C[i,k] = Σj A[i,j] X[j,k]               1024 entries of A: a piece    (i, j) k
//!    y[i]   = Σj max(A[i,j], B[i,j])         16384 entries of A and B
//!  lists are merged by the outermost loop, and long
//!    s      = Σi a[i] b[i]                   256 pieces of a and b         i
//! ```
//!
//! A piece of rows is never less than one row: whoever has the long one works on when the others have ended. A loop that goes on in lists where
//! it left them has no pieces. The commands are those of a schedule (`collapse`, `pos`, `weigh`, `split`, `parallelize`), for statements that have
//! none, and are taken where they are legal and the pieces run on threads. Pieces of lists have equal numbers of entries where the lists say how many
//! they have, else of coordinates. Data alone decide: neither the commands nor what a piece folds depend on
//! the number of threads.
//!
//! A GPU's threads have smaller pieces, where the rows of one matrix do not say what warps have (`gpu.rs`): of lists that are merged, which the host
//! would run, and of rows that are uneven.

use super::Program;
use super::gpu::{Read, folded, free_name, read};
use crate::kernel::Operand;
use fiberloom_core::algebra::Mode;
use fiberloom_core::format::{Holds, Tensor};
use fiberloom_core::notation::spell::{self, Planned};
use fiberloom_core::notation::syntax::{CommandKind, Ident, Parts, Race, Unit};
use fiberloom_core::notation::typed::{self, Statement, TensorId, VarId};
use fiberloom_loops::{DeviceLoop, Kernel, Outermost, Role, device_loops, for_device, outermost_loops};
use std::collections::BTreeMap;

/// What runs pieces, and how many entries these have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    unit: Unit,
    /// How pieces that meet in a row join its sums.
    folds: Race,
    /// How many are to have equal shares.
    workers: u64,
    /// The entries of a piece: where an entry is a few instructions, where a loop stands inside of the entries', and where tensors are merged.
    entries: u64,
    with_loops: u64,
    merged: u64,
    /// A row takes as long as a piece if it has so many times the entries of one.
    by_rows: u64,
    /// The pieces of coordinates, and the entries from which they pay: a piece searches for its first entry in each list.
    pieces: u64,
    long: u64,
}

impl Shares {
    /// Of threads. The edges of a piece cost about as much as 200 entries, and where each is searched in several tensors as 1,000.
    pub(crate) const THREADS: Shares = Shares {
        unit: Unit::CpuThread,
        folds: Race::Temporary,
        workers: 64,
        entries: 4096,
        with_loops: 1024,
        merged: 16_384,
        by_rows: 1,
        pieces: 256,
        long: 1 << 18,
    };

    /// Of a GPU's threads: those of a warp wait for the one that has most, and for one another wherever their rows end. What is not in pieces runs on
    /// the host.
    pub(crate) const GPU: Shares = Shares {
        unit: Unit::GpuThread,
        folds: Race::Atomics,
        workers: 4096,
        entries: 256,
        with_loops: 64,
        merged: 64,
        by_rows: 16,
        pieces: 4096,
        long: 1 << 10,
    };
}

/// The entries that a row has on average, at least: the two ends of each row in a piece are asked for, which takes a third of the time of three
/// entries.
const SHORT: u64 = 8;

/// A statement without a schedule that may run in other pieces, if data ask for it.
#[derive(Clone, Debug)]
pub(crate) struct ByPieces {
    /// The statement.
    pub(crate) statement: usize,
    /// The variable of its outermost loop.
    first: VarId,
    cut: Cut,
    shares: Shares,
}

/// What is cut.
#[derive(Clone, Debug)]
enum Cut {
    /// The entries of a tensor of dense levels and lists, which is read once under these variables, from its first level on, and of those `beside` it
    /// that are read so, too; `order` has all variables, these first.
    Entries { tensor: TensorId, beside: Vec<TensorId>, levels: Vec<VarId>, order: Vec<VarId> },
    /// The coordinates of the outermost loop, along whose lists these tensors are walked.
    Coordinates(Vec<TensorId>),
}

impl ByPieces {
    /// The entries of a piece.
    fn entries(&self) -> u64 {
        let Shares { entries, with_loops, merged, .. } = self.shares;
        match &self.cut {
            Cut::Entries { beside, .. } if !beside.is_empty() => merged,
            Cut::Entries { levels, order, .. } if order.len() > levels.len() => with_loops,
            _ => entries,
        }
    }

    /// How much data ask for it, those of other pieces of the same statement beside it; `None` if they do not.
    pub(crate) fn asked(&self, operands: &BTreeMap<TensorId, Operand>) -> Option<u64> {
        match &self.cut {
            Cut::Entries { tensor, .. } => {
                let operand = operands.get(tensor)?;
                let (rows, count) = (operand.lengths_of_rows()?, rows(operand.tensor()));
                let pays = rows.all >= count.saturating_mul(SHORT)
                    && rows.are_uneven(self.shares.workers, self.entries() * self.shares.by_rows);
                pays.then_some(rows.longest)
            }
            Cut::Coordinates(tensors) => {
                let entries = |t: &TensorId| operands.get(t).map_or(0, |operand| operand.tensor().values.len() as u64);
                let all: u64 = tensors.iter().map(entries).sum();
                (all >= self.shares.long).then_some(0)
            }
        }
    }

    /// The pieces in which a statement may run.
    fn of(program: &typed::Program, (statement, s): (usize, &Statement), shares: Shares) -> Vec<ByPieces> {
        let left = s.indices.iter().map(typed::Index::bare).collect::<Option<Vec<VarId>>>();
        let (Some(left), Some(folded), None) = (left, folded(&s.rhs), &s.schedule) else { return vec![] };
        let Some(first) = left.iter().chain(&folded).copied().next() else { return vec![] };
        let read = read(s);
        let under = |(tensor, under): &Read| {
            let format = program.tensors[tensor.index()].format.as_ref()?;
            let levels = format.order.iter().map(|mode| under.get(*mode).copied().flatten());
            Some((format, levels.collect::<Option<Vec<VarId>>>()?))
        };
        let entries = |of: &Read| {
            let (format, levels) = under(of)?;
            let has_rows = format.has_rows() && format.levels.iter().skip(1).any(|kind| kind.is_list());
            let once = read.iter().filter(|(other, _)| *other == of.0).count() == 1;
            let apart = (1..levels.len()).all(|l| !levels[..l].contains(&levels[l]));
            let others = left.iter().chain(&folded).copied().filter(|v| !levels.contains(v));
            let order: Vec<VarId> = levels.iter().copied().chain(others).collect();
            let fits = has_rows && once && apart && left.first() == levels.first();
            let like = |other: &&Read| {
                under(other).is_some_and(|(format, others)| {
                    other.0 != of.0 && others == levels && format.weighed(0, levels.len()).is_some()
                })
            };
            let beside = read.iter().filter(like).map(|(t, _)| *t).collect();
            let cut = Cut::Entries { tensor: of.0, beside, levels, order };
            fits.then_some(ByPieces { statement, first, cut, shares })
        };
        let is_walked = |of: &&Read| {
            under(of).is_some_and(|(format, levels)| levels.first() == Some(&first) && !format.levels[0].is_full())
        };
        let walked: Vec<TensorId> = read.iter().filter(is_walked).map(|(t, _)| *t).collect();
        let cut = (!walked.is_empty()).then_some(Cut::Coordinates(walked));
        let merged = cut.map(|cut| ByPieces { statement, first, cut, shares });
        read.iter().filter_map(entries).chain(merged).collect()
    }

    /// The commands by which threads have the pieces, the best first, and the name of the loop over pieces.
    fn commands(&self, program: &typed::Program, s: &Statement) -> (Vec<Vec<CommandKind>>, String) {
        let ident = |name: &str| Ident { name: name.to_string(), span: s.span };
        let name = |v: &VarId| program.vars[v.index()].name.as_str();
        let named = |t: &TensorId| ident(&program.tensors[t.index()].name);
        let weigh = |loops: &str, tensors: &mut dyn Iterator<Item = &TensorId>| CommandKind::Weigh {
            var: ident(loops),
            tensors: tensors.map(named).collect(),
        };
        let [entry, piece, within] = ["entry", "piece", "within"].map(|wanted| free_name(program, wanted));
        let is_left = |v: &VarId| s.indices.iter().any(|index| index.bare() == Some(*v));
        let deal = |loops: &[VarId]| {
            let race = if loops.iter().all(is_left) { Race::NoRaces } else { self.shares.folds };
            CommandKind::Parallelize(ident(&piece), self.shares.unit, race)
        };
        let (tensor, beside, levels, order) = match &self.cut {
            Cut::Entries { tensor, beside, levels, order } => (tensor, beside, levels, order),
            Cut::Coordinates(tensors) => {
                let [from, outer, inner] = [name(&self.first), &piece, &within].map(ident);
                let split = CommandKind::Split { from, to: (outer, inner), parts: Parts::Into(self.shares.pieces) };
                let of_coordinates = vec![split, deal(&[self.first])];
                let weigh = weigh(name(&self.first), &mut tensors.iter());
                return (vec![[vec![weigh], of_coordinates.clone()].concat(), of_coordinates], piece);
            }
        };
        let mut all = vec![];
        if order.len() > 2 {
            all.push(spell::reorder(order.iter().map(name)));
        }
        let mut whole = name(&levels[0]).to_string();
        for (l, v) in levels.iter().enumerate().skip(1) {
            let wanted = if l + 1 == levels.len() { "all".to_string() } else { format!("outer{l}") };
            let to = free_name(program, &wanted);
            all.push(CommandKind::Collapse { from: (ident(&whole), ident(name(v))), to: ident(&to) });
            whole = to;
        }
        if beside.is_empty() {
            all.push(CommandKind::Pos { from: ident(&whole), to: ident(&entry), tensor: named(tensor) });
            whole = entry;
        } else {
            all.push(weigh(&whole, &mut [tensor].into_iter().chain(beside)));
        }
        all.push(spell::split(&whole, (&piece, &within), self.entries()));
        all.push(deal(levels));
        (vec![all], piece)
    }
}

/// The number of a tensor's rows.
fn rows(tensor: &Tensor) -> u64 {
    let listed = tensor.levels.first().and_then(|level| level.first(Holds::Coordinates));
    listed.map_or_else(|| tensor.level_extent(0), |coordinates| coordinates.len() as u64)
}

impl Program {
    /// The pieces in which statements without a schedule may run.
    pub(crate) fn by_pieces(&self, shares: Shares) -> Vec<ByPieces> {
        let typed = &self.inner.typed;
        if self.inner.plan.is_some() || !typed.tables.is_empty() {
            return vec![];
        }
        typed.statements.iter().enumerate().flat_map(|of| ByPieces::of(typed, of, shares)).collect()
    }

    /// The same program, with commands for statements that data ask to run in these pieces, where they do on threads.
    pub(crate) fn by_pieces_on<'p>(&self, mode: Mode, asked: impl Iterator<Item = &'p ByPieces>) -> Program {
        let mut best = self.clone();
        for by in asked {
            let typed = &self.inner.typed;
            let (choices, piece) = by.commands(typed, &typed.statements[by.statement]);
            let told = |commands: Vec<CommandKind>| {
                let planned = |command| Planned { statement: by.statement, command };
                best.with_commands(&commands.into_iter().map(planned).collect::<Vec<_>>())
            };
            let first = &typed.vars[by.first.index()].name;
            let (Ok(before), Some(told)) = (best.lowered(mode), choices.into_iter().find_map(told)) else { continue };
            let is_better = |now: &Kernel| {
                if by.shares.unit == Unit::GpuThread {
                    return is_better_on_gpu(now, &before.kernel, &piece);
                }
                let rows = |kernel: &Kernel| loops(kernel, first).len();
                let fewer = match by.cut {
                    Cut::Entries { .. } => rows(now) < rows(&before.kernel),
                    Cut::Coordinates(_) => on_one_thread(now) < on_one_thread(&before.kernel),
                };
                fewer
                    && keeps_workspaces(&before.kernel, now)
                    && on_one_thread(now) <= on_one_thread(&before.kernel)
                    && loops(now, &piece) == [true]
            };
            if told.lowered(mode).is_ok_and(|lowered| is_better(&lowered.kernel)) {
                best = told;
            }
        }
        best
    }
}

/// Whether a GPU runs the loop over pieces, and no more loops than before stay on the host.
fn is_better_on_gpu(now: &Kernel, before: &Kernel, piece: &str) -> bool {
    let [now, before] = [now, before].map(for_device);
    let launched = device_loops(&now);
    let runs = |each: &DeviceLoop| is_named(&now.vars[each.var.0 as usize].0, piece);
    launched.kernels.iter().any(runs) && launched.refused.len() <= device_loops(&before).refused.len()
}

/// Whether it is this name, or that with a number.
pub(super) fn is_named(own: &str, name: &str) -> bool {
    let number = own.strip_prefix(name).map(|rest| rest.strip_prefix('_').unwrap_or(rest));
    number.is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
}

/// Of each outermost loop over a variable of this name: whether it runs on threads, and no piece needs an array of its own.
fn loops(kernel: &Kernel, name: &str) -> Vec<bool> {
    let of = |runs: Outermost| match runs {
        Outermost::Threads(v, how) => is_named(&kernel.vars[v.0 as usize].0, name).then(|| how.arrays().is_empty()),
        Outermost::OneThread(one) => is_named(&one.name, name).then_some(false),
    };
    outermost_loops(kernel).into_iter().filter_map(of).collect()
}

/// Whether each workspace of a kernel is there in another: a row that is added up in registers is not lost.
fn keeps_workspaces(before: &Kernel, now: &Kernel) -> bool {
    let workspaces = before.buffers.iter().filter(|b| b.role == Role::Workspace);
    workspaces.map(|b| &b.name).all(|name| now.buffers.iter().any(|b| b.name == *name))
}

/// How many outermost loops run on one thread.
pub(super) fn on_one_thread(kernel: &Kernel) -> usize {
    outermost_loops(kernel).iter().filter(|runs| matches!(runs, Outermost::OneThread(_))).count()
}
