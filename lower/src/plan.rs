//! The planner's decisions as commands: given to their statements, they make the same loops.
//!
//! ```text
//!  syntax ──check──▶ typed ──decide──▶ splits, stages, copies, orders ──spell──▶ commands
//!     └─ with commands ──check──▶ typed ──decide──▶ concrete notation, the same?
//! ```
//!
//! A command is said only where it reads back: what is decided of the program that has it is what was decided without.

use crate::{Decided, decide};
use fiberloom_core::algebra::Mode;
use fiberloom_core::format::Format;
use fiberloom_core::notation::spell::{self, Planned};
use fiberloom_core::notation::syntax::{self, Command, Item, Schedule};
use fiberloom_core::notation::typed::{self, CommandKind, Parts, Stage, VarId};
use fiberloom_core::notation::{Diagnostic, Span, concrete};
use fiberloom_core::stack::with_room;
use fiberloom_loops::lower::Options;
use fiberloom_passes::check::Checker;
use fiberloom_passes::concretize::Copied;
use fiberloom_passes::schedule::loops::Loops;

/// What the planner decides of a program, which `check` checks, as commands, each with its statement: those that read back. `options` are those of a checked
/// program: one that has commands numbers its tensors otherwise.
///
/// # Errors
/// What is wrong with the program, and those of [`lower`](crate::lower()).
pub fn plan(
    program: &syntax::Program,
    check: Checker,
    options: &dyn Fn(&typed::Program) -> Options,
) -> Result<Vec<Planned>, Vec<Diagnostic>> {
    with_room(|| {
        let typed = check(program)?;
        let own = options(&typed);
        let (decided, concrete) = decide(&typed, &own, |decided| {
            let commands = Decisions::of(&typed, &decided, own.mode);
            Ok::<_, Vec<Diagnostic>>((commands, decided.concrete))
        })?;
        let reads_back = |said: &[Planned]| {
            let mut told = program.clone();
            give(&mut told, said);
            let same = |again: Decided| Ok(alike(&again.concrete, &concrete));
            check(&told).and_then(|typed| decide(&typed, &options(&typed), same)) == Ok(true)
        };
        Ok(decided.said(reads_back))
    })
}

/// Gives each statement the commands that are planned for it.
pub fn give(program: &mut syntax::Program, planned: &[Planned]) {
    let mut count = 0;
    each(&mut program.items, &mut |s| {
        let own = planned.iter().filter(|p| p.statement == count);
        let commands: Vec<Command> = own.map(|p| Command { kind: p.command.clone(), span: s.span }).collect();
        count += 1;
        if !commands.is_empty() {
            let empty = || Schedule { commands: vec![], span: Span::default() };
            s.schedule.get_or_insert_with(empty).commands.extend(commands);
        }
    });
}

/// Statements as the checker counts them: those of a `where` block before the one that has it.
fn each(items: &mut [Item], seen: &mut dyn FnMut(&mut syntax::Statement)) {
    fn whole(s: &mut syntax::Statement, seen: &mut dyn FnMut(&mut syntax::Statement)) {
        s.locals.iter_mut().for_each(|local| whole(local, seen));
        seen(s);
    }
    for item in items {
        match item {
            Item::Statement(s) => whole(s, seen),
            Item::Repeat(block) => each(&mut block.body, seen),
            _ => {}
        }
    }
}

/// What was decided, spelled.
struct Decisions {
    /// Loops in parts.
    splits: Vec<Planned>,
    /// Sums that became temporaries, and how these are stored.
    stages: Vec<Planned>,
    /// Sums that cannot run where they stand, and are made before.
    sums: Vec<Planned>,
    /// Operands in another order or format.
    copies: Vec<Planned>,
    /// Loops in another order than the meaning's.
    orders: Vec<Planned>,
}

impl Decisions {
    fn of(original: &typed::Program, decided: &Decided, mode: Mode) -> Decisions {
        let Decided { program, stages, copied, concrete, .. } = decided;
        let own = |s: &typed::Statement| s.tensor.index() < original.tensors.len() && !original.is_staged(s.tensor);
        let owner = |n: usize| program.statements[..n].iter().filter(|s| own(s)).count();
        let stage = |(_, stage): &(usize, Stage)| {
            let made = program.statements.iter().position(|s| s.tensor == stage.tensor).expect("it has a statement");
            let temporary = &program.tensors[stage.tensor.index()];
            let format = temporary.format.as_ref().filter(|format| format.rank() > 0);
            let stored = format.map(|format| spell::store(&temporary.name, format));
            let commands = [spell::stage(program, stage)].into_iter().chain(stored);
            commands.map(|command| Planned { statement: owner(made), command }).collect::<Vec<_>>()
        };
        let order = |(n, s): (usize, &typed::Statement)| {
            let loops = ordered(program, s, concrete, mode).filter(|_| own(s))?;
            let names = loops.iter().map(|v| program.vars[v.index()].name.as_str());
            Some(Planned { statement: owner(n), command: spell::reorder(names) })
        };
        let split = |(n, s): (usize, &typed::Statement)| {
            let asked = s.schedule.is_some() || !own(s);
            let command = |command: &typed::Command| match command.kind {
                CommandKind::Split { from, to: (outer, inner), parts: Parts::Of(by) } if !asked => {
                    let [from, outer, inner] = [from, outer, inner].map(|v| &program.vars[v.index()].name[..]);
                    Some(Planned { statement: owner(n), command: spell::split(from, (outer, inner), by) })
                }
                _ => None,
            };
            s.commands.iter().filter_map(command).collect::<Vec<_>>()
        };
        let statements = || program.statements.iter().enumerate();
        Decisions {
            splits: statements().flat_map(split).collect(),
            stages: stages.iter().flat_map(stage).collect(),
            sums: statements()
                .filter(|(_, s)| own(s))
                .flat_map(|(n, s)| sums(program, s, concrete, owner(n)))
                .collect(),
            copies: copies(program, copied, &owner),
            orders: statements().filter_map(order).collect(),
        }
    }

    /// Those that read back: all, else of each statement what does with what is said of those before it, by kinds.
    fn said(self, reads_back: impl Fn(&[Planned]) -> bool) -> Vec<Planned> {
        let Decisions { splits, stages, sums, copies, orders } = &self;
        let kinds = [stages, sums, copies, orders];
        let of = |n: Option<usize>, kinds: &[&Vec<Planned>]| -> Vec<Planned> {
            let all = kinds.iter().flat_map(|kind| kind.iter());
            all.filter(|p| n.is_none_or(|n| p.statement == n)).cloned().collect()
        };
        let whole = of(None, &[splits, stages, sums, copies, orders]);
        if whole.is_empty() || reads_back(&whole) {
            return whole;
        }
        let mut statements: Vec<usize> = whole.iter().map(|p| p.statement).collect();
        statements.sort_unstable();
        statements.dedup();
        // Every set of kinds, one before its parts.
        let some = |set: usize| (0..kinds.len()).filter(move |k| set >> (kinds.len() - 1 - k) & 1 == 1);
        let tried: Vec<Vec<&Vec<Planned>>> = (0..1 << kinds.len())
            .rev()
            .map(|set| [splits].into_iter().chain(some(set).map(|k| kinds[k])).collect())
            .collect();
        let mut said: Vec<Planned> = vec![];
        for n in statements {
            let more = tried.iter().map(|kinds| of(Some(n), kinds)).filter(|more| !more.is_empty());
            let with = |more: Vec<Planned>| said.iter().cloned().chain(more).collect::<Vec<_>>();
            said = more.map(with).find(|said| reads_back(said)).unwrap_or(said);
        }
        said
    }
}

/// The sums inside a statement's value that were made before it, each with how it is stored: those of the names that the temporaries have.
fn sums(
    program: &typed::Program,
    s: &typed::Statement,
    concrete: &concrete::Program,
    statement: usize,
) -> Vec<Planned> {
    let mut reduced = vec![];
    s.rhs.walk(&mut |e| {
        // A sum that is the whole value is the statement's own.
        let inside = matches!(e.kind, typed::Kind::Reduce { .. }) && !std::ptr::eq(e, &s.rhs);
        reduced.extend(inside.then_some(e));
    });
    let mut planned = vec![];
    for made in made_before(program, s, concrete) {
        let over: Vec<&String> = made.over.iter().map(|v| &concrete.vars[v.0].name).collect();
        let var = |e: &typed::Expr, name: &String| e.free().into_iter().find(|v| program.vars[v.index()].name == *name);
        let is_it = |e: &&typed::Expr| e.free().len() == over.len() && over.iter().all(|name| var(e, name).is_some());
        let names = |e: &typed::Expr| e.bound().iter().map(|v| &program.vars[v.index()].name).collect::<Vec<_>>();
        let folded: Vec<&String> = made.folded(concrete).iter().map(|v| &concrete.vars[v.0].name).collect();
        // Of several over the same variables, the one that sums over these.
        let alike = |e: &&typed::Expr| is_it(e) && names(e).iter().all(|name| folded.contains(name));
        let of = reduced.iter().position(alike).or_else(|| reduced.iter().position(is_it));
        let Some(n) = of else { continue };
        let (e, t) = (reduced.remove(n), &concrete.tensors[made.nest.target.tensor.0]);
        let vars: Vec<VarId> = over.iter().filter_map(|name| var(e, name)).collect();
        let name = |v: &concrete::Index| concrete.vars[v.0].name.clone();
        let (command, format) = match &made.loops[..] {
            [] => (spell::sum(program, e, (&t.name, &vars)), t.format.clone()),
            loops => {
                let loops: Vec<(String, String)> = loops.iter().map(|(from, to)| (name(from), name(to))).collect();
                (spell::precompute(program, e, (&t.name, &loops)), Format::dense(over.len()))
            }
        };
        let stored = (format.rank() > 0).then(|| spell::store(&t.name, &format));
        planned.extend([command].into_iter().chain(stored).map(|command| Planned { statement, command }));
    }
    planned
}

/// A temporary that a statement reads.
struct Made<'c> {
    nest: &'c concrete::Nest,
    /// The variables for which it is made.
    over: Vec<concrete::Index>,
    /// Those that it ranges over itself, where it is made inside of loops, each with the loop that makes it.
    loops: Vec<(concrete::Index, concrete::Index)>,
}

impl Made<'_> {
    /// The loops that are summed over.
    fn folded(&self, program: &concrete::Program) -> Vec<concrete::Index> {
        let all = self.nest.order().into_iter().chain(self.nest.rhs.fold_vars());
        all.filter(|v| !self.nest.target.vars.iter().any(|w| program.follows(*w, *v))).collect()
    }
}

/// The temporaries of a statement, in the order in which they are made: before it, and inside of its loops.
fn made_before<'c>(program: &typed::Program, s: &typed::Statement, concrete: &'c concrete::Program) -> Vec<Made<'c>> {
    let is_own = |t: &concrete::Tensor| program.tensors.iter().any(|known| known.name == t.name);
    let target = &program.tensors[s.tensor.index()].name;
    let mut made = vec![];
    for nest in concrete.nests() {
        let t = &concrete.tensors[nest.target.tensor.0];
        let (is_target, is_temporary) = (t.name == *target, t.role == concrete::Role::Temporary);
        if is_own(t) && !is_target {
            made.clear();
            continue;
        }
        nest.rhs.wheres(&mut |inside| made.push(made_inside(concrete, inside)));
        if is_target {
            break;
        }
        made.extend(is_temporary.then(|| Made { nest, over: nest.target.vars.clone(), loops: vec![] }));
    }
    made
}

fn made_inside<'c>(concrete: &concrete::Program, concrete::Where { read, nest }: &'c concrete::Where) -> Made<'c> {
    let from = &concrete.accesses[read.0].vars;
    let own = [nest.order(), nest.rhs.fold_vars()].concat();
    let mut over: Vec<concrete::Index> =
        concrete.under(&nest.rhs).into_iter().flat_map(|v| concrete.roots(v)).filter(|v| !own.contains(v)).collect();
    over.sort();
    over.dedup();
    over.extend(from);
    Made { nest, over, loops: from.iter().copied().zip(nest.target.vars.iter().copied()).collect() }
}

/// Copies as commands, each once: a command is about all statements that a statement has become.
fn copies(program: &typed::Program, copied: &[Copied], owner: &dyn Fn(usize) -> usize) -> Vec<Planned> {
    let command = |copy: &Copied| {
        let name = &program.tensors[copy.tensor.index()].name;
        Planned { statement: owner(copy.statement), command: spell::copy(name, &copy.format) }
    };
    let mut planned: Vec<Planned> = vec![];
    for copy in copied.iter().map(command) {
        if !planned.contains(&copy) {
            planned.push(copy);
        }
    }
    planned
}

/// The loops of a statement that is one nest, outermost first, where their order is not the meaning's and no command is about them.
fn ordered(
    program: &typed::Program,
    s: &typed::Statement,
    concrete: &concrete::Program,
    mode: Mode,
) -> Option<Vec<VarId>> {
    let bare = Loops::of(program, s, mode).ok().filter(Loops::is_bare)?;
    let name = &program.tensors[s.tensor.index()].name;
    let mut nests = concrete.nests().filter(|nest| concrete.tensors[nest.target.tensor.0].name == *name);
    let nest = nests.next().filter(|_| nests.next().is_none())?;
    let loops = nest.order().into_iter().chain(nest.rhs.summed());
    let of_name = |v: concrete::Index| {
        let name = &concrete.vars[v.0].name;
        bare.order.iter().copied().find(|w| program.vars[w.index()].name == *name)
    };
    let loops: Vec<VarId> = loops.map(of_name).collect::<Option<_>>()?;
    (!bare.order.starts_with(&loops)).then_some(loops)
}

/// Whether two programs are the same but for the order in which their tensors are named.
fn alike(one: &concrete::Program, other: &concrete::Program) -> bool {
    let parts = |program: &concrete::Program| {
        let text = program.to_string();
        let (tensors, steps) = text.split_once("\n\n").unwrap_or((&text, ""));
        let mut tensors: Vec<String> = tensors.lines().map(str::to_string).collect();
        tensors.sort();
        (tensors, steps.to_string())
    };
    parts(one) == parts(other)
}
