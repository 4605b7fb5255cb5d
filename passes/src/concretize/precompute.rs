//! Moves temporaries into the loops that read them: those of `precompute`, where all variables that they do not range over are bound, and
//! sums that can be computed one row at a time.
//!
//! ```text
//!  precompute(T[i,j,l] * F[l,k], k -> kw, W)
//!
//!  forall i: forall j: forall l: forall kw: W[i,j,l,kw] = T[i,j,l] * F[l,kw]
//!  forall i: forall j: forall l: forall k: M[i,k] += E[j,k] * W[i,j,l,k]
//!    ─▶  forall i: forall j: forall l: forall k:
//!          M[i,k] += E[j,k] * W[k] where (forall kw: W[kw] = T[i,j,l] * F[l,kw])
//! ```
//!
//! ```text
//!  forall i: forall k: forall j: sum[i,j] += A[i,k] * B[k,j]            the loops from k, the first that is summed over, are the sum's
//!  forall i: forall j: C[i,j] = max(sum[i,j], 0)
//!    ─▶  forall i: forall j: C[i,j] = max(sum[j] where (forall k: forall jw: sum[jw] += A[i,k] * B[k,jw]), 0)
//! ```
//!
//! A temporary stays in a statement of its own where a loop that it ranges over stands around one that it does not, where several
//! accesses read it, or where its nest needs a workspace.

use super::distinct;
use super::given::Given;
use super::out::Out;
use super::rename::Renaming;
use fiberloom_core::format::{Format, LevelKind};
use fiberloom_core::iteration::{Sequence, background};
use fiberloom_core::notation::concrete::{
    self, ALWAYS, AccessId, Body, Expr, Index, Iterated, Nest, Origin, Place, Program, Step, Where, WorkspaceKind,
};
use fiberloom_core::notation::syntax;
use fiberloom_core::notation::typed::{Command, CommandKind, Statement, TensorCommand, TensorId};

/// A temporary that is made inside of loops.
struct Precomputed {
    /// The temporary.
    place: Place,
    /// The modes that the temporary has inside of the loops; the loops bind the others.
    own: Vec<usize>,
    /// Whether a command says how it is stored.
    stored: bool,
    /// Whether the planner chose it: no command asks for it.
    planned: bool,
}

/// Moves the temporaries of `precompute` commands, and the rows of `sums`, into the loops that read them.
pub(super) fn precomputed(out: &mut Out, given: Given, sums: &[Place]) {
    let asked: Vec<Precomputed> = given.typed.statements.iter().flat_map(|s| asked_of(s, out)).collect();
    let rows: Vec<Precomputed> = sums.iter().filter_map(|place| row_of(*place, out)).collect();
    for asked in asked.into_iter().chain(rows) {
        let mut steps = std::mem::take(&mut out.steps);
        if reads(out, &steps, asked.place) == 1 {
            move_inside(&mut steps, &asked, out, given);
        }
        out.steps = steps;
    }
}

/// The sum as a temporary of one row, if it has loops around the first that is summed over, and modes inside of those.
fn row_of(place: Place, out: &Out) -> Option<Precomputed> {
    let maker = out.nests().find(|nest| nest.target.tensor == place)?;
    let vars = &maker.target.vars;
    let order = maker.order();
    let around = order.iter().take_while(|v| vars.contains(v)).count();
    let own: Vec<usize> = (0..vars.len()).filter(|m| !order[..around].contains(&vars[*m])).collect();
    (around > 0 && !own.is_empty()).then_some(Precomputed { place, own, stored: false, planned: true })
}

/// The temporaries that a statement's commands ask for, each with the modes that it ranges over itself.
fn asked_of(s: &Statement, out: &Out) -> Vec<Precomputed> {
    let stored = |id: TensorId| {
        let name = &out.typed.tensors[id.index()].name;
        let stores = |c: &syntax::Command| matches!(&c.kind, syntax::CommandKind::Tensor(syntax::TensorCommand::Store(t, _)) if t.name == *name);
        s.schedule.iter().any(|schedule| schedule.commands.iter().any(stores))
    };
    let of = |command: &Command| {
        let CommandKind::Tensor(TensorCommand::Stage(stage)) = &command.kind else { return None };
        let named = |m: &usize| stage.loops.iter().any(|(_, of)| *of == stage.vars[*m]);
        let own: Vec<usize> = (0..stage.vars.len()).filter(named).collect();
        let some = !own.is_empty() && own.len() < stage.vars.len();
        let place = out.current(stage.tensor).filter(|_| some)?;
        Some(Precomputed { place, own, stored: stored(stage.tensor), planned: false })
    };
    s.commands.iter().filter_map(of).collect()
}

fn move_inside(steps: &mut Vec<Step>, asked: &Precomputed, out: &mut Out, given: Given) {
    let makes = |step: &Step| matches!(step, Step::Nest(nest) if nest.target.tensor == asked.place);
    let Some(at) = steps.iter().position(makes) else {
        for step in steps {
            if let Step::Repeat(block) = step {
                move_inside(&mut block.steps, asked, out, given);
            }
        }
        return;
    };
    let Step::Nest(maker) = steps[at].clone() else { return };
    for step in &mut steps[at + 1..] {
        if let Step::Nest(reader) = step
            && let Some(rhs) = moved(&maker, reader, asked, out, given)
        {
            reader.rhs = rhs;
            steps.remove(at);
            return;
        }
    }
}

/// The reader's right side with the temporary computed inside of its loops; `None` if it does not read it, or the temporary stays.
fn moved(maker: &Nest, reader: &Nest, asked: &Precomputed, out: &mut Out, given: Given) -> Option<Expr> {
    let Precomputed { place, own, .. } = asked;
    let place = *place;
    let reads = |a: &AccessId| out.accesses[a.0].tensor == place;
    let a = reader.rhs.accesses().into_iter().find(reads)?;
    let access = out.accesses[a.0].clone();
    let concat = |e: &Expr| {
        let mut found = false;
        e.each(&mut |e| found |= matches!(e, Expr::Concat(..) | Expr::Where(..)));
        found
    };
    // A copy reads all of the temporary.
    let copies = matches!(reader.rhs, Expr::Access(..)) && reader.assign().fold().is_none();
    let loops = maker.target.vars.iter().all(|v| out.vars[v.0].origin == Origin::Loop);
    let plain = !maker.assign().scatters() && maker.also().is_none();
    if copies || !loops || !plain || waits(maker) || reader.also().is_some() || concat(&maker.rhs) {
        return None;
    }
    let is_own = |m: &usize| own.contains(m);
    let around = [reader.order(), reader.rhs.around(a)?].concat();
    let when = |m: usize| out.time(access.vars[m], &around);
    let outer: Vec<usize> = (0..access.vars.len()).filter(|m| !is_own(m)).collect();
    let bound: Vec<usize> = outer.iter().map(|m| when(*m)).collect::<Option<_>>()?;
    let bound = bound.into_iter().filter(|t| *t != ALWAYS).max();
    let first = own.iter().flat_map(|m| out.roots(access.vars[*m]));
    let first = first.map(|v| around.iter().position(|u| *u == v)).collect::<Option<Vec<_>>>()?.into_iter().min()?;
    if !access.protocols.is_empty() || bound.is_some_and(|bound| bound >= first) {
        return None;
    }
    if asked.planned && !is_once(reader, &around[..bound.map_or(0, |bound| bound + 1)], &outer, &access, out) {
        return None;
    }
    let mut order = maker.order();
    order.retain(|v| outer.iter().all(|m| maker.target.vars[*m] != *v));
    let format = own_format((maker, &order), &when, asked, out, given)?;
    let mut fresh: Renaming = outer.iter().map(|m| (maker.target.vars[*m], access.vars[*m])).collect();
    let rhs = out.rename(&maker.rhs, &mut fresh);
    let rhs = not_spread(rhs, out);
    let known = [&around[..first], &order].concat();
    let followed = |a: AccessId| {
        let sums = rhs.around(a)?;
        let order = [&known[..], &sums].concat();
        let times = out.accesses[a.0].vars.iter().map(|v| out.time(*v, &order)).collect::<Option<Vec<_>>>()?;
        out.concordant(a, &times).then_some(())
    };
    rhs.accesses().into_iter().try_for_each(followed)?;
    if asked.planned {
        for m in own {
            let own = maker.target.vars[*m];
            out.vars[own.0].name = out.unused(&format!("{}w", out.vars[access.vars[*m].0].name));
        }
    }
    names_apart(&order, &rhs, (&around, reader), out);
    let tensor = &mut out.tensors[place.0];
    tensor.extents = own.iter().map(|m| tensor.extents[*m]).collect();
    tensor.format = format;
    let target = concrete::Access::of(place, own.iter().map(|m| maker.target.vars[*m]).collect());
    let read = out.access(place, own.iter().map(|m| access.vars[*m]).collect());
    let read = Where { read, nest: Nest { target, loops: order, body: Body::Assign(maker.assign().clone()), rhs } };
    Some(reader.rhs.clone().map_accesses(&mut |b, ty| match b == a {
        true => Expr::Where(Box::new(read.clone()), ty),
        false => Expr::Access(b, ty),
    }))
}

/// Whether a nest visits each coordinate at which a temporary is computed once, apart from loops that only the temporary needs: the loops
/// up to the last that binds one of these coordinates bind nothing else.
fn is_once(reader: &Nest, loops: &[Index], outer: &[usize], access: &concrete::Access, out: &Out) -> bool {
    let binds = |v: &Index| outer.iter().any(|m| out.follows(access.vars[*m], *v));
    !waits(reader) && !reader.assign().scatters() && loops.iter().all(binds)
}

/// Whether values wait in a workspace. Sums of a row in registers are the row itself: they need none.
fn waits(nest: &Nest) -> bool {
    nest.workspace().is_some_and(|w| w.kind != WorkspaceKind::Row)
}

/// The expression with lists walked instead of held in a position map: inside of loops there is none.
fn not_spread(e: Expr, program: &mut Program) -> Expr {
    e.map_accesses(&mut |a, ty| {
        let mut access = program.accesses[a.0].clone();
        access.protocols.retain(|_, how| *how != Iterated::Spread);
        Expr::Access(program.accessed(access), ty)
    })
}

/// The format of a temporary over these of its modes: the levels that a command asks for, else lists where only entries of lists have
/// values, else dense levels. `None` if they cannot be assembled in this order, nor be read in that of the loops around, which bind a
/// mode `when` it is said, or dense ones would be too long.
fn own_format(
    (maker, order): (&Nest, &[Index]),
    when: &dyn Fn(usize) -> Option<usize>,
    asked: &Precomputed,
    program: &Program,
    given: Given,
) -> Option<Format> {
    let Precomputed { place, own, stored: is_said, .. } = asked;
    let tensor = &program.tensors[place.0];
    let stored: Vec<(usize, LevelKind)> =
        tensor.format.order.iter().copied().zip(tensor.format.levels.iter().copied()).collect();
    let kept: Vec<(usize, LevelKind)> = stored.into_iter().filter(|(m, _)| own.contains(m)).collect();
    let modes = kept.iter().map(|(m, _)| own.iter().position(|o| o == m)).collect::<Option<Vec<usize>>>()?;
    let vars: Vec<Index> = kept.iter().map(|(m, _)| maker.target.vars[*m]).collect();
    let times = kept.iter().map(|(m, _)| when(*m)).collect::<Option<Vec<_>>>()?;
    let in_order = order == vars && times.is_sorted();
    let levels: Vec<LevelKind> = if *is_said {
        kept.iter().map(|(_, kind)| *kind).collect()
    } else {
        let over = |a: &AccessId| {
            let access = &program.accesses[a.0];
            let levels = &program.tensor(*a).format.levels;
            (0..levels.len())
                .any(|l| levels[l].is_list() && vars.iter().any(|v| program.follows(program.level_var(access, l), *v)))
        };
        let lists: Vec<AccessId> = maker.rhs.accesses().into_iter().filter(over).collect();
        let (set, rest) = background(&maker.rhs, &lists, &|a| program.tensor(a).fill, given.simplify);
        let listed = set != Sequence::Full
            && set != Sequence::Empty
            && matches!(rest, Expr::Literal(v) if given.simplify.same(v, tensor.fill));
        let kind = if listed && in_order && maker.assign().fold().is_none() {
            LevelKind::Compressed
        } else {
            LevelKind::Dense
        };
        vec![kind; kept.len()]
    };
    let extents: Vec<_> = own.iter().map(|m| tensor.extents[*m]).collect();
    let short = || given.sizes.workspace(&extents, true) == WorkspaceKind::Dense || extents.len() > 1;
    let dense = levels.iter().all(|kind| kind.is_full());
    let made = if dense {
        short()
    } else {
        in_order
            && maker.assign().fold().is_none()
            && levels.iter().all(|k| k.is_full() || k.is_plain() || k.is_flagged())
    };
    made.then(|| Format { levels: levels.into(), order: modes.into() })
}

/// The index variables that an expression reads, also in computed coordinates.
fn read(e: &Expr, program: &Program) -> Vec<Index> {
    let mut all = program.under(e);
    let computed = all.iter().filter_map(|v| program.computed(*v));
    let inside: Vec<Index> = computed.flat_map(|computed| read(&computed.of, program)).collect();
    all.extend(inside);
    all
}

/// Renames the variables of a temporary's nest that share a name with those around it.
fn names_apart(order: &[Index], rhs: &Expr, (around, reader): (&[Index], &Nest), program: &mut Program) {
    let others =
        [around, &reader.order(), &reader.rhs.fold_vars(), &reader.target.vars, &read(&reader.rhs, program)].concat();
    let mut own = [order, &rhs.fold_vars(), &read(rhs, program)].concat();
    own.retain(|v| !others.contains(v));
    let mut taken: Vec<String> = others.iter().map(|v| program.vars[v.0].name.clone()).collect();
    let first = |(n, v): &(usize, &Index)| !own[..*n].contains(v);
    for (_, v) in own.iter().enumerate().filter(first) {
        let name = distinct(&program.vars[v.0].name, |name| taken.contains(name));
        taken.push(name.clone());
        program.vars[v.0].name = name;
    }
}

/// The number of accesses in these steps that read a tensor.
fn reads(program: &Program, steps: &[Step], place: Place) -> usize {
    let of = |e: &Expr| {
        let mut found = 0;
        let own = |a: AccessId| program.accesses[a.0].tensor == place;
        e.each_access(&mut |a| found += own(a) as usize);
        // Includes accesses in computed coordinates.
        let all = program.reads(e).into_iter().filter(|a| own(*a)).count();
        found.max(all)
    };
    let step = |step: &Step| match step {
        Step::Repeat(block) => {
            let condition = if let concrete::Turns::While(e) = &block.turns { of(e) } else { 0 };
            let carried = block.carried.iter().filter(|c| c.tensor == place || c.last == place).count();
            reads(program, &block.steps, place) + condition + 2 * carried
        }
        Step::Nest(nest) => {
            let also = nest.also().map_or(0, |also| of(&also.rhs));
            let places = nest.places().iter().map(of).sum::<usize>();
            let before = nest.assign().before().is_some_and(|a| program.accesses[a.0].tensor == place);
            of(&nest.rhs) + also + 2 * places + 2 * before as usize
        }
    };
    steps.iter().map(step).sum()
}
