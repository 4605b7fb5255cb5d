//! What a GPU runs where no schedule says it: commands for statements that have none, of a few that are tried.
//!
//! ```text
//!  y[i]   = Σj A[i,j] x[j]          i: warps     j: the lanes of one, which join what they folded
//!  C[i,k] = Σj A[i,j] X[j,k]        i: warps     k: the lanes of one, side by side in X and C
//!  C[i,j] = A[i,j] + B[i,j]         i: warps     j: the lanes of one
//!  s      = Σij A[i,j] B[i,j]       i: warps     j: the lanes of one, which join what they folded
//! ```
//!
//! The first commands that are legal, and by which the statement's loops are dealt out as they say, are taken; where there are none, the loops
//! stay as they are: a thread an iteration.
//!
//! Data may ask for others ([`Rows`]). A warp that has a long row works while others have long ended: of operands with rows that are far
//! longer than others, warps have pieces of so many entries, wherever rows end, and fold into the rows' elements:
//!
//! ```text
//!  y[i]   = Σj A[i,j] x[j]          128 entries of A: warps     four of them: a lane
//!  C[i,k] = Σj A[i,j] X[j,k]        64 entries of A: warps      k: the lanes
//!  C[i,j] = A[i,j] Σk U[i,k] V[j,k]  64 entries of A: warps     k: the lanes, which join what they folded; C has the levels of A
//! ```
//!
//! Where most lanes of a warp would have none of a row's entries, it has several rows of the first, each in the lanes that the mean row fills;
//! of rows that are all short a thread has one.

use super::pieces::{is_named, on_one_thread};
use super::{Inner, Program};
use crate::error::Error;
use fiberloom_core::algebra::Mode;
use fiberloom_core::format::Tensor;
use fiberloom_core::notation::spell::{self, Planned};
use fiberloom_core::notation::syntax::{CommandKind, Ident, Race, Unit};
use fiberloom_core::notation::typed::{self, Expr, Fun, Kind, Statement, TensorId, VarId};
use fiberloom_loops::{self as loops, DeviceLoops, Kernel, Runner, Sound, device_loops};
use fiberloom_lower::give;
use fiberloom_semantics::ptx::{Shape, WARP};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most entries of rows that are short.
const SHORT: u64 = 8;

/// The most entries of a row that a lane has, where a warp has several rows.
const TURNS: u64 = 4;

/// What is to be known of the rows of a matrix.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Rows {
    /// Each has [`SHORT`] entries at most.
    Short,
    /// So many lanes, fewer than a warp has, have an entry each of the mean row, and at most [`TURNS`] of the longest.
    Several(u64),
    /// One holds more than two shares of the entries, if the warps that a launch has at most share them.
    Uneven,
}

/// A statement whose loops are dealt out by what is known of the rows of a matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByRow {
    /// The statement.
    pub(crate) statement: usize,
    /// The matrix, which is a csr one.
    pub(crate) matrix: TensorId,
    /// What takes a warp that has pieces of entries.
    pieces: Option<Pieces>,
}

impl ByRow {
    /// Whether warps may have pieces of the matrix's entries.
    pub(crate) fn has_pieces(&self) -> bool {
        self.pieces.is_some()
    }

    /// What is to be known of the rows of the matrix; `None` of usual ones.
    pub(crate) fn rows(&self, matrix: &Tensor) -> Option<Rows> {
        let lengths = matrix.lengths(1)?;
        let Shape { blocks, threads } = Shape::default();
        let warps = u64::from(blocks) * u64::from(threads / WARP);
        if lengths.longest <= SHORT {
            return Some(Rows::Short);
        }
        let pieces = self.pieces?;
        if lengths.are_uneven(warps, pieces.row) {
            return Some(Rows::Uneven);
        }
        let mean = lengths.all.div_ceil(matrix.level_extent(0).max(1));
        let lanes = mean.max(lengths.longest.div_ceil(TURNS)).next_power_of_two();
        (pieces.each.is_some() && lanes < u64::from(WARP)).then_some(Rows::Several(lanes))
    }
}

/// Warps that have pieces of entries.
#[derive(Clone, Copy, Debug)]
struct Pieces {
    /// The entries of a piece, and those that each lane has of them, if lanes have some.
    entries: u64,
    each: Option<u64>,
    /// The entries of a row that a warp runs in about the instructions that it needs for a piece of short rows, some of them empty.
    row: u64,
}

/// A product with a vector: each lane searches for the row of its first entry.
const OF_LANES: Pieces = Pieces { entries: 128, each: Some(4), row: 2048 };

/// A product with a matrix, of whose rows each lane has elements: a warp searches once a piece.
const OF_WARPS: Pieces = Pieces { entries: 64, each: None, row: 128 };

/// A value for each entry, which lanes fold.
const OF_SAMPLES: Pieces = Pieces { entries: 64, each: None, row: 128 };

impl Program {
    /// The same program, with commands for a GPU at each statement that has none, where some are found. A program by a plan, and one whose
    /// tables were fitted to data, is as it was.
    #[must_use]
    pub fn for_gpu(&self, mode: Mode) -> Program {
        self.inner.for_gpu[mode as usize].get_or_init(|| self.for_gpu_on(mode, &BTreeMap::new())).clone()
    }

    /// The statements without a schedule that are dealt out by what is known of the rows of a matrix.
    pub(crate) fn by_row(&self) -> Vec<ByRow> {
        let typed = &self.inner.typed;
        let of = |(statement, s): (usize, &Statement)| {
            let walked = Walked::of(typed, s).filter(|_| s.schedule.is_none())?;
            let matrix = walked.matrix.or(walked.sampled)?.tensor;
            Some(ByRow { statement, matrix, pieces: walked.pieces(typed, s) })
        };
        typed.statements.iter().enumerate().filter_map(of).collect()
    }

    /// As [`Program::for_gpu`], where this is known of the rows of statements' matrices.
    pub(crate) fn for_gpu_on(&self, mode: Mode, rows: &BTreeMap<usize, Rows>) -> Program {
        if self.inner.plan.is_some() || !self.inner.typed.tables.is_empty() {
            return self.clone();
        }
        let mut best = self.on_device();
        let Some(mut known) = best.dealt(mode) else { return best };
        for (n, s) in self.inner.typed.statements.iter().enumerate() {
            if s.schedule.is_some() {
                continue;
            }
            let all = candidates(&self.inner.typed, s, rows.get(&n).copied());
            let others = at_once(&self.inner.typed, s, &known.on_host).into_iter().chain(alone(&self.inner.typed, s));
            for commands in all.into_iter().chain(others) {
                let planned: Vec<Planned> =
                    commands.into_iter().map(|command| Planned { statement: n, command }).collect();
                let Some(told) = best.with_commands(&planned) else { continue };
                let Some(loops) = told.dealt(mode).filter(|loops| loops.is_better_than(&known)) else { continue };
                (best, known) = (told, loops);
                break;
            }
        }
        best
    }

    /// The same program with these commands more, if it has no fault then.
    pub(super) fn with_commands(&self, planned: &[Planned]) -> Option<Program> {
        let mut syntax = self.inner.syntax.clone();
        give(&mut syntax, planned);
        let mut told = Program::checked(&self.inner.file, &self.inner.text, syntax).ok()?;
        let all = self.inner.told.iter().chain(planned).cloned().collect();
        let inner = Arc::make_mut(&mut told.inner);
        (inner.told, inner.on_device) = (all, self.inner.on_device);
        Some(told)
    }

    /// The same program, lowered for a GPU.
    #[must_use]
    pub(crate) fn on_device(&self) -> Program {
        let (lowers, for_gpu) = Default::default();
        Program { inner: Arc::new(Inner { on_device: true, lowers, for_gpu, ..(*self.inner).clone() }) }
    }

    /// Its loops for a GPU, if it is lowered.
    fn dealt(&self, mode: Mode) -> Option<Dealt> {
        let lowered = self.lowered(mode).ok()?;
        let kernel = loops::for_device(&lowered.kernel);
        let DeviceLoops { kernels, refused, not_dealt } = device_loops(&kernel);
        self.was_lowered(mode, lowered);
        let shared = kernels.iter().filter(|each| each.runner != Runner::Thread).count();
        // Where lists are merged on the host, what is left behind is no work for a launch.
        let launched = if on_one_thread(&kernel) == 0 { kernels.len() } else { 0 };
        let on_host = refused.iter().map(|(v, _)| kernel.vars[v.0 as usize].0.clone()).collect();
        Some(Dealt { launched, shared, on_host, not_dealt: not_dealt.len() })
    }
}

/// The kernel as an engine for GPUs runs it.
///
/// # Errors
/// A defect: the kernel is not well-formed.
pub(crate) fn for_device(kernel: &Kernel) -> Result<Sound, Error> {
    Sound::new(loops::for_device(kernel)).map_err(Error::Defect)
}

/// How the loops of a program are dealt out.
struct Dealt {
    /// How many are launched, if no loop that takes time runs on one thread.
    launched: usize,
    /// How many launched loops warps or blocks share.
    shared: usize,
    /// The loops that stay on the host, by name.
    on_host: Vec<String>,
    /// How many are dealt out otherwise than commands say.
    not_dealt: usize,
}

impl Dealt {
    /// Whether fewer loops stay on the host, or as many, and warps share more, or as many, and more are launched; and no more are dealt out otherwise
    /// than commands say.
    fn is_better_than(&self, before: &Dealt) -> bool {
        let rank = |of: &Dealt| (Reverse(of.on_host.len()), of.shared, of.launched);
        self.not_dealt <= before.not_dealt && rank(self) > rank(before)
    }
}

/// What a statement without a schedule visits.
struct Walked {
    /// The variables of the left side, in order.
    left: Vec<VarId>,
    /// Those that are folded.
    folded: Vec<VarId>,
    /// The matrix whose entries it folds, row by row, if there is one.
    matrix: Option<Matrix>,
    /// The matrix of which it makes a value for each entry, if there is one.
    sampled: Option<Matrix>,
}

/// A matrix by rows, which lists the entries of each, and is read once.
#[derive(Clone, Copy)]
struct Matrix {
    tensor: TensorId,
    row: VarId,
    column: VarId,
}

impl Walked {
    /// `None` of a left side with other indices than variables, and of a right side in which a fold stands inside.
    fn of(program: &typed::Program, s: &Statement) -> Option<Walked> {
        let left: Vec<VarId> = s.indices.iter().map(typed::Index::bare).collect::<Option<_>>()?;
        let folded = folded(&s.rhs)?;
        let read = read(s);
        let matrix = |(t, under): &Read| {
            let format = program.tensors[t.index()].format.as_ref()?;
            let is_csr = format.rank() == 2 && format.levels[0].is_full() && format.levels[1].is_list();
            let [row, column] = [0, 1].map(|level| under.get(*format.order.get(level)?).copied().flatten());
            let once = read.iter().filter(|(other, _)| other == t).count() == 1;
            (is_csr && once).then_some(Matrix { tensor: *t, row: row?, column: column? })
        };
        let only = |fits: &dyn Fn(&Matrix) -> bool| {
            let mut all = read.iter().filter_map(matrix).filter(fits);
            all.next().filter(|_| all.next().is_none())
        };
        let sampled = only(&|of| left == [of.row, of.column]);
        let matrix = only(&|of| left.first() == Some(&of.row) && folded.contains(&of.column));
        Some(Walked { left, folded, matrix, sampled })
    }

    /// How warps have pieces of the matrix's entries: where the statement is its product with a vector, or with a matrix whose rows lie side
    /// by side, or makes a sum for each entry.
    fn pieces(&self, program: &typed::Program, s: &Statement) -> Option<Pieces> {
        match (&self.left[..], &self.folded[..]) {
            (_, [_]) if self.sampled.is_some() => Some(OF_SAMPLES),
            ([_], [_]) => Some(OF_LANES),
            ([_, k], [_]) if is_side_by_side(program, s, *k) => Some(OF_WARPS),
            _ => None,
        }
    }

    /// Commands by which a warp has several of the matrix's rows, each in so many lanes: of its product with a vector.
    fn several_rows(&self, program: &typed::Program, s: &Statement, lanes: u64) -> Option<Vec<CommandKind>> {
        let Matrix { row, column, .. } = self.matrix?;
        let ident = |name: &str| Ident { name: name.to_string(), span: s.span };
        let name = |v: VarId| program.vars[v.index()].name.as_str();
        let [rows, own] = ["rows", "own"].map(|wanted| free_name(program, wanted));
        let deal = |name: &str, unit, race| CommandKind::Parallelize(ident(name), unit, race);
        Some(vec![
            spell::split(name(row), (&rows, &own), u64::from(WARP) / lanes),
            deal(&rows, Unit::GpuWarp, Race::NoRaces),
            deal(&own, Unit::GpuThread, Race::NoRaces),
            deal(name(column), Unit::GpuThread, Race::ParallelReduction),
        ])
    }

    /// Commands by which warps have pieces of the matrix's entries.
    fn by_entries(&self, program: &typed::Program, s: &Statement) -> Option<Vec<CommandKind>> {
        let (of, Pieces { entries, each, .. }) = (self.matrix.or(self.sampled)?, self.pieces(program, s)?);
        let Matrix { tensor, row, column } = of;
        let ident = |name: &str| Ident { name: name.to_string(), span: s.span };
        let name = |v: VarId| program.vars[v.index()].name.as_str();
        let [both, entry, piece, within, lane, inner] =
            ["all", "entry", "piece", "within", "lane", "own"].map(|wanted| free_name(program, wanted));
        let deal = |name: &str, unit, race| CommandKind::Parallelize(ident(name), unit, race);
        let order = |names: [&str; 3]| spell::reorder(names.into_iter());
        let tensor = ident(&program.tensors[tensor.index()].name);
        let mut all = vec![
            CommandKind::Collapse { from: (ident(name(row)), ident(name(column))), to: ident(&both) },
            CommandKind::Pos { from: ident(&both), to: ident(&entry), tensor },
            spell::split(&entry, (&piece, &within), entries),
        ];
        match (each, self.left.get(1)) {
            _ if self.sampled.is_some() => {
                all.push(deal(&piece, Unit::GpuWarp, Race::NoRaces));
                all.push(deal(name(*self.folded.last()?), Unit::GpuThread, Race::ParallelReduction));
            }
            (Some(each), _) => {
                all.push(spell::split(&within, (&lane, &inner), each));
                all.push(order([&piece, &lane, &inner]));
                all.push(deal(&piece, Unit::GpuWarp, Race::Atomics));
                all.push(deal(&lane, Unit::GpuThread, Race::Atomics));
            }
            (None, Some(k)) => {
                all.insert(0, order([row, column, *k].map(name)));
                all.push(order([&piece, name(*k), &within]));
                all.push(deal(&piece, Unit::GpuWarp, Race::Atomics));
                all.push(deal(name(*k), Unit::GpuThread, Race::NoRaces));
            }
            (None, None) => return None,
        }
        Some(all)
    }
}

/// Commands by which a thread runs an iteration of the outermost loop: of one that does too little for a processor's threads.
fn alone(program: &typed::Program, s: &Statement) -> Option<Vec<CommandKind>> {
    let first = s.vars.first()?;
    let ident = Ident { name: program.vars[first.index()].name.clone(), span: s.span };
    Some(vec![CommandKind::Parallelize(ident, Unit::GpuThread, Race::NoRaces)])
}

/// Commands that let threads fold into elements at once, of each loop that stays on the host: a schedule that leaves the order of sums open is all
/// that some need, where those of floats may come in any.
fn at_once(program: &typed::Program, s: &Statement, on_host: &[String]) -> Vec<Vec<CommandKind>> {
    let mut all: Vec<VarId> = s.vars.iter().chain(&s.folded).copied().collect();
    s.rhs.walk(&mut |e| all.extend(e.bound()));
    let name = |v: VarId| &program.vars[v.index()].name;
    let of = |own: &String| {
        let v = all.iter().find(|v| is_named(own, name(**v)))?;
        let ident = Ident { name: name(*v).clone(), span: s.span };
        Some(vec![CommandKind::Parallelize(ident, Unit::GpuThread, Race::Atomics)])
    };
    on_host.iter().filter_map(of).collect()
}

/// A name that nothing in a program has: the wanted one, or that with a number.
pub(super) fn free_name(program: &typed::Program, wanted: &str) -> String {
    let is_free =
        |name: &String| program.vars.iter().all(|v| v.name != *name) && program.tensors.iter().all(|t| t.name != *name);
    let numbered = (2..).map(|n| format!("{wanted}_{n}"));
    std::iter::once(wanted.to_string()).chain(numbered).find(is_free).unwrap_or_default()
}

/// Commands that are tried, in order.
fn candidates(program: &typed::Program, s: &Statement, rows: Option<Rows>) -> Vec<Vec<CommandKind>> {
    let Some(walked) = Walked::of(program, s) else { return vec![] };
    let Walked { left, folded, .. } = &walked;
    let ident = |v: VarId| Ident { name: program.vars[v.index()].name.clone(), span: s.span };
    let reduced = |v: VarId, unit| CommandKind::Parallelize(ident(v), unit, Race::ParallelReduction);
    let Some(first) = left.first().copied() else {
        let [rows, .., last] = folded[..] else { return vec![] };
        return vec![vec![reduced(rows, Unit::GpuWarp), reduced(last, Unit::GpuThread)]];
    };
    let warps = || CommandKind::Parallelize(ident(first), Unit::GpuWarp, Race::NoRaces);
    let lanes = |v: VarId, race: Race| CommandKind::Parallelize(ident(v), Unit::GpuThread, race);
    let mut all = vec![];
    match rows {
        Some(Rows::Short) if left.len() == 1 && folded.len() == 1 => return all,
        Some(Rows::Several(lanes)) => all.extend(walked.several_rows(program, s, lanes)),
        Some(Rows::Uneven) => all.extend(walked.by_entries(program, s)),
        _ => {}
    }
    let last = left.last().copied().filter(|last| *last != first);
    if let Some(last) = last.filter(|v| folded.is_empty() || is_side_by_side(program, s, *v)) {
        let names: Vec<String> = left.iter().chain(folded).map(|v| ident(*v).name).collect();
        let order = (!folded.is_empty()).then(|| spell::reorder(names.iter().map(String::as_str)));
        all.push(order.into_iter().chain([warps(), lanes(last, Race::NoRaces)]).collect());
    }
    if let Some(inner) = folded.last() {
        all.push(vec![warps(), reduced(*inner, Unit::GpuThread)]);
    }
    all.extend(last.map(|last| vec![warps(), lanes(last, Race::NoRaces)]));
    all
}

/// A read of a right side: the tensor, and the variable of each mode, of a mode whose index is one.
pub(super) type Read = (TensorId, Vec<Option<VarId>>);

/// The reads of a statement's right side.
pub(super) fn read(s: &Statement) -> Vec<Read> {
    let mut read = vec![];
    s.accesses(&mut |t, indices, is_left| {
        if !is_left {
            read.push((t, indices.iter().map(typed::Index::bare).collect()));
        }
    });
    read
}

/// The variables of the fold that a right side is; `None` of one in which a fold stands elsewhere.
pub(super) fn folded(rhs: &Expr) -> Option<Vec<VarId>> {
    let (vars, body) = match &rhs.kind {
        Kind::Reduce { fun: Fun::Op(_), vars, body, start: None } => (vars.clone(), &**body),
        _ => (vec![], rhs),
    };
    let mut others = false;
    body.walk(&mut |e| others |= matches!(e.kind, Kind::Reduce { .. }));
    (!others).then_some(vars)
}

/// Whether elements of neighbours along a variable stand side by side in every tensor that has it: its last level is that mode's, and dense.
fn is_side_by_side(program: &typed::Program, s: &Statement, v: VarId) -> bool {
    let mut all = true;
    s.accesses(&mut |t, indices, _| {
        let modes = indices.iter().enumerate().filter(|(_, i)| i.bare() == Some(v)).map(|(m, _)| m);
        let format = program.tensors[t.index()].format.as_ref();
        for mode in modes {
            let last = indices.len() - 1;
            all &= format.map_or(mode == last, |f| f.order.last() == Some(&mode) && f.levels[last].is_full());
        }
    });
    all
}
