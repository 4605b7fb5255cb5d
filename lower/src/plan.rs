//! The planner's decisions as commands: given to their statements, they make the same loops.
//!
//! ```text
//!  syntax ──check──▶ typed ──decide──▶ splits, stages, copies, orders ──spell──▶ commands
//!     └─ with commands ──check──▶ typed ──decide──▶ concrete notation, the same?
//! ```
//!
//! A command is said only where it reads back: what is decided of the program that has it is what was decided without.

use crate::{Decided, decide};
use fiberloom_core::format::Format;
use fiberloom_core::notation::spell::{self, Planned};
use fiberloom_core::notation::syntax::{self, Command, Item, Schedule};
use fiberloom_core::notation::typed::{self, CommandKind, Parts, Stage, TensorCommand};
use fiberloom_core::notation::{Diagnostic, Span, concrete};
use fiberloom_core::stack::with_room;
use fiberloom_loops::lower::Options;
use fiberloom_passes::check::Checker;
use fiberloom_passes::concretize::Materialized;

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
            let commands = Decisions::of(&typed, &decided);
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
    fn of(original: &typed::Program, decided: &Decided) -> Decisions {
        let Decided { program, stages, chosen, concrete, .. } = decided;
        let own = |s: &typed::Statement| s.tensor.index() < original.tensors.len() && !original.is_staged(s.tensor);
        let owner = |n: usize| program.statements[..n].iter().filter(|s| own(s)).count();
        let said = |n: usize, command: &CommandKind| Planned {
            statement: owner(n),
            command: spell::command(program, command),
        };
        let stage = |(_, stage): &(usize, Stage)| {
            let made = program.statements.iter().position(|s| s.tensor == stage.tensor).expect("it has a statement");
            let temporary = &program.tensors[stage.tensor.index()];
            let command = said(made, &CommandKind::Tensor(TensorCommand::Stage(stage.clone())));
            [command].into_iter().chain(stored(&temporary.name, temporary.format.as_ref(), owner(made)))
        };
        let split = |(n, s): (usize, &typed::Statement)| {
            let asked = s.schedule.is_some() || !own(s);
            let is_split = |c: &&typed::Command| matches!(c.kind, CommandKind::Split { parts: Parts::Of(_), .. });
            let splits = s.commands.iter().filter(|_| !asked).filter(is_split);
            splits.map(|command| said(n, &command.kind)).collect::<Vec<_>>()
        };
        let statements = || program.statements.iter().enumerate();
        let is_order = |command: &CommandKind| matches!(command, CommandKind::Reorder(_));
        let orders = chosen.commands.iter().filter(|(n, c)| is_order(c) && own(&program.statements[*n]));
        let mut copies: Vec<Planned> = vec![];
        for (n, copy) in chosen.commands.iter().filter(|(_, c)| !is_order(c)) {
            // A command is about all statements that a statement has become.
            let copy = said(*n, copy);
            copies.extend((!copies.contains(&copy)).then_some(copy));
        }
        let sums = |(n, s): (usize, &typed::Statement)| {
            let made = chosen.folds.iter().filter(|(of, _)| *of == n && own(s));
            sums((program, s), concrete, made.map(|(_, made)| made), owner(n))
        };
        Decisions {
            splits: statements().flat_map(split).collect(),
            stages: stages.iter().flat_map(stage).collect(),
            sums: statements().flat_map(sums).collect(),
            copies,
            orders: orders.map(|(n, order)| said(*n, order)).collect(),
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

/// How a temporary is stored, if it has levels.
fn stored(name: &str, format: Option<&Format>, statement: usize) -> Option<Planned> {
    let format = format.filter(|format| format.rank() > 0)?;
    Some(Planned { statement, command: syntax::CommandKind::Tensor(spell::store(name, format)) })
}

/// The folds inside of a statement's value that were `made`, each with how it is stored: before the statement, then inside of its loops.
fn sums<'m>(
    (program, s): (&typed::Program, &typed::Statement),
    concrete: &concrete::Program,
    made: impl Iterator<Item = &'m Materialized>,
    statement: usize,
) -> Vec<Planned> {
    let mut folds = vec![];
    s.rhs.walk(&mut |e| {
        // A sum that is the whole value is the statement's own.
        let inside = matches!(e.kind, typed::Kind::Reduce { .. }) && !std::ptr::eq(e, &s.rhs);
        folds.extend(inside.then_some(e));
    });
    let [mut before, mut within] = [vec![], vec![]];
    for Materialized { place, free, folded } in made {
        // Of several over the same variables, the one that sums over these.
        let is_it = |e: &&typed::Expr| {
            e.free() == free.iter().copied().collect() && e.bound().iter().all(|v| folded.contains(v))
        };
        let found = folds.iter().position(is_it);
        let Some(e) = found.map(|n| folds.remove(n)) else { continue };
        let t = &concrete.tensors[place.0];
        let (planned, command, format) = match inside(concrete, *place) {
            None => (&mut before, spell::sum(program, e, (&t.name, free)), t.format.clone()),
            Some(concrete::Where { read, nest }) => {
                let name = |v: &concrete::Index| &concrete.vars[v.0].name[..];
                let from = concrete.accesses[read.0].vars.iter().map(name);
                let loops: Vec<(&str, &str)> = from.zip(nest.target.vars.iter().map(name)).collect();
                (&mut within, spell::precompute(program, e, (&t.name, &loops)), Format::dense(free.len()))
            }
        };
        planned.push(Planned { statement, command: syntax::CommandKind::Tensor(command) });
        planned.extend(stored(&t.name, Some(&format), statement));
    }
    [before, within].concat()
}

/// Where a temporary is made inside of loops, if it is.
fn inside(concrete: &concrete::Program, place: concrete::Place) -> Option<&concrete::Where> {
    let mut found = None;
    for nest in concrete.nests() {
        nest.rhs.wheres(&mut |made| found = found.or((made.nest.target.tensor == place).then_some(made)));
    }
    found
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
