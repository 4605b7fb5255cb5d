//! What a GPU runs where no schedule says it: commands for statements that have none, of a few that are tried.
//!
//! ```text
//!  y[i]   = Σj A[i,j] x[j]          i: warps     j: the lanes of one, which join what they folded
//!  C[i,k] = Σj A[i,j] X[j,k]        i: warps     k: the lanes of one, side by side in X and C
//!  C[i,j] = A[i,j] + B[i,j]         i: warps     j: the lanes of one
//! ```
//!
//! The first commands that are legal, and by which the statement's loops are dealt out as they say, are taken; where there are none, the loops
//! stay as they are: a thread an iteration.

use super::Program;
use fiberloom_core::algebra::Mode;
use fiberloom_core::notation::spell::{self, Planned};
use fiberloom_core::notation::syntax::{CommandKind, Ident, Race, Unit};
use fiberloom_core::notation::typed::{self, Expr, Fun, Kind, Statement, VarId};
use fiberloom_loops::{DeviceLoops, Runner, device_loops};
use fiberloom_lower::give;

impl Program {
    /// The same program, with commands for a GPU at each statement that has none, where some are found. A program by a plan, and one whose
    /// tables were fitted to data, is as it was.
    #[must_use]
    pub fn for_gpu(&self, mode: Mode) -> Program {
        let mut best = self.clone();
        if self.inner.plan.is_some() || !self.inner.typed.tables.is_empty() {
            return best;
        }
        let Some(mut known) = best.dealt(mode) else { return best };
        for (n, s) in self.inner.typed.statements.iter().enumerate() {
            if s.schedule.is_some() {
                continue;
            }
            for commands in candidates(&self.inner.typed, s) {
                let planned: Vec<Planned> =
                    commands.into_iter().map(|command| Planned { statement: n, command }).collect();
                let mut syntax = best.inner.syntax.clone();
                give(&mut syntax, &planned);
                let Ok(told) = Program::checked(&self.inner.file, &self.inner.text, syntax) else { continue };
                let Some(loops) = told.dealt(mode).filter(|loops| is_better(loops, &known)) else { continue };
                (best, known) = (told, loops);
                break;
            }
        }
        best
    }

    /// Its loops for a GPU, if it is lowered.
    fn dealt(&self, mode: Mode) -> Option<DeviceLoops> {
        self.lowered(mode).ok().map(|lowered| device_loops(&lowered.kernel))
    }
}

/// Whether more loops are shared by warps than before, none is dealt out otherwise than commands say, and none more stays on the host.
fn is_better(now: &DeviceLoops, before: &DeviceLoops) -> bool {
    let shared = |of: &DeviceLoops| of.kernels.iter().filter(|each| each.runner != Runner::Thread).count();
    let not_dealt = now.not_dealt.len() > before.not_dealt.len();
    !not_dealt && now.refused.len() <= before.refused.len() && shared(now) > shared(before)
}

/// Commands that are tried, in order.
fn candidates(program: &typed::Program, s: &Statement) -> Vec<Vec<CommandKind>> {
    let left: Option<Vec<VarId>> = s.indices.iter().map(typed::Index::bare).collect();
    let (Some(left), Some(folded)) = (left, folded(&s.rhs)) else { return vec![] };
    let Some(first) = left.first().copied() else { return vec![] };
    let ident = |v: VarId| Ident { name: program.vars[v.index()].name.clone(), span: s.span };
    let warps = || CommandKind::Parallelize(ident(first), Unit::GpuWarp, Race::NoRaces);
    let lanes = |v: VarId, race: Race| CommandKind::Parallelize(ident(v), Unit::GpuThread, race);
    let mut all = vec![];
    let last = left.last().copied().filter(|last| *last != first);
    if let Some(last) = last.filter(|v| folded.is_empty() || is_side_by_side(program, s, *v)) {
        let names: Vec<String> = left.iter().chain(&folded).map(|v| ident(*v).name).collect();
        let order = (!folded.is_empty()).then(|| spell::reorder(names.iter().map(String::as_str)));
        all.push(order.into_iter().chain([warps(), lanes(last, Race::NoRaces)]).collect());
    }
    if let Some(inner) = folded.last() {
        all.push(vec![warps(), lanes(*inner, Race::ParallelReduction)]);
    }
    all.extend(last.map(|last| vec![warps(), lanes(last, Race::NoRaces)]));
    all
}

/// The variables of the fold that a right side is; `None` of one in which a fold stands elsewhere.
fn folded(rhs: &Expr) -> Option<Vec<VarId>> {
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
