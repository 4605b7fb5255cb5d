//! A law of plans: what the planner says that it decided, given as commands, makes the same loops.
//!
//! ```text
//!  program ──lower──▶ loops, commands
//!  program with the commands in its schedules ──lower──▶ the same loops
//! ```

use super::engines::{Finding, Stop};
use super::subject::Subject;
use fiberloom_core::notation::syntax::{Command, Item, Program, Schedule, Statement};
use fiberloom_core::notation::{self, Span};
use fiberloom_core::schedule::spell::Planned;
use fiberloom_core::{Lowered, Options};

/// Holds a program to the law.
///
/// # Errors
/// Commands that are refused, or that make other loops.
pub(super) fn reads_back(subject: &impl Subject, lowered: &Lowered) -> Result<(), Stop> {
    let (syntax, _) = fiberloom_front::parse(&subject.to_string());
    let mut told = syntax.expect("it has been parsed before");
    let typed = fiberloom_core::check::check(&told).expect("it has been checked before");
    let options = Options { mode: subject.mode(), ..subject.options(&typed) };
    let planned = fiberloom_core::plan(&typed, &options).expect("it has been lowered before");
    if planned.is_empty() {
        return Ok(());
    }
    give(&mut told, &planned);
    let refused = |wrong: Vec<notation::Diagnostic>| {
        let message = wrong.first().map_or("", |d| &d.message);
        Finding::new("plan refused", format!("{message}\n{told}"))
    };
    // Commands are read, not only made.
    let text = told.to_string();
    let (syntax, wrong) = fiberloom_front::parse(&text);
    let syntax = syntax.filter(|_| wrong.is_empty()).ok_or_else(|| refused(wrong))?;
    let typed = fiberloom_core::check::check(&syntax).map_err(refused)?;
    let options = Options { mode: subject.mode(), ..subject.options(&typed) };
    let again = fiberloom_core::lower(&typed, &options).map_err(refused)?;
    let [loops, other] = [&lowered.kernel, &again.kernel].map(|kernel| unnumbered(&kernel.to_string()));
    if loops != other {
        let what = format!("{told}\n{}\nwithout commands\n{}", again.concrete, lowered.concrete);
        return Err(Finding::new("plan read back", what).into());
    }
    Ok(())
}

/// The text of a kernel without the numbers of tensors: a temporary that is asked for has another than one that is planned.
fn unnumbered(text: &str) -> String {
    let mut parts = text.split('@');
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| text + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// Gives each statement the commands that are planned for it. Statements are counted as the checker does: those of a `where` block
/// before the one that has it.
fn give(program: &mut Program, planned: &[Planned]) {
    let mut count = 0;
    each(&mut program.items, &mut |s| {
        let own = planned.iter().filter(|p| p.statement == count);
        let commands: Vec<Command> = own.map(|p| Command { kind: p.command.clone(), span: Span::default() }).collect();
        count += 1;
        if !commands.is_empty() {
            let empty = || Schedule { commands: vec![], span: Span::default() };
            s.schedule.get_or_insert_with(empty).commands.extend(commands);
        }
    });
}

fn each(items: &mut [Item], seen: &mut dyn FnMut(&mut Statement)) {
    for item in items {
        match item {
            Item::Statement(s) => whole(s, seen),
            Item::Repeat(block) => each(&mut block.body, seen),
            _ => {}
        }
    }
}

fn whole(s: &mut Statement, seen: &mut dyn FnMut(&mut Statement)) {
    s.locals.iter_mut().for_each(|local| whole(local, seen));
    seen(s);
}
