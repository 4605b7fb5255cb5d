//! A law of plans: what the planner says that it decided, given as commands, makes the same loops.
//!
//! ```text
//!  program ──lower──▶ loops, commands
//!  program with the commands in its schedules ──lower──▶ the same loops
//! ```

use super::engines::{Finding, Stop};
use super::subject::Subject;
use fiberloom_core::notation::{self, typed};
use fiberloom_core::{Lowered, Options};

/// Holds a program to the law.
///
/// # Errors
/// Commands that are refused, or that make other loops.
pub(super) fn reads_back(subject: &impl Subject, lowered: &Lowered) -> Result<(), Stop> {
    let (syntax, _) = fiberloom_front::parse(&subject.to_string());
    let mut told = syntax.expect("it has been parsed before");
    let options = |typed: &typed::Program| Options { mode: subject.mode(), ..subject.options(typed) };
    let planned = fiberloom_core::plan(&told, &options).expect("it has been lowered before");
    if planned.is_empty() {
        return Ok(());
    }
    fiberloom_core::give(&mut told, &planned);
    let refused = |wrong: Vec<notation::Diagnostic>| {
        let message = wrong.first().map_or("", |d| &d.message);
        Finding::new("plan refused", format!("{message}\n{told}"))
    };
    // Commands are read, not only made.
    let text = told.to_string();
    let (syntax, wrong) = fiberloom_front::parse(&text);
    let syntax = syntax.filter(|_| wrong.is_empty()).ok_or_else(|| refused(wrong))?;
    let typed = fiberloom_core::check::check(&syntax).map_err(refused)?;
    let again = fiberloom_core::lower(&typed, &options(&typed)).map_err(refused)?;
    let [loops, other] = [&lowered.kernel, &again.kernel].map(|kernel| unnumbered(&kernel.to_string()));
    if loops != other {
        let apart = loops.lines().zip(other.lines()).find(|(one, other)| one != other);
        let what = format!("{told}\n{}\nwithout commands\n{}\n{apart:#?}", again.concrete, lowered.concrete);
        return Err(Finding::new("plan read back", what).into());
    }
    Ok(())
}

/// The text of a kernel whatever its tensors are numbered, and whichever is named first: a temporary that is asked for stands elsewhere
/// than one that is planned.
fn unnumbered(text: &str) -> String {
    let mut parts = text.split('@');
    let first = parts.next().unwrap_or_default().to_string();
    let text = parts.fold(first, |text, part| text + part.trim_start_matches(|c: char| c.is_ascii_digit()));
    let (head, body) = text.split_once("\n\n").unwrap_or((&text, ""));
    let names = |line: &str| match line.trim_start().split_once(' ') {
        Some((kind @ ("operand" | "result" | "workspace"), names)) => {
            names.split(", ").map(|name| format!("{kind} {name}")).collect()
        }
        _ => vec![line.to_string()],
    };
    let mut head: Vec<String> = head.lines().flat_map(names).collect();
    head.sort();
    format!("{}\n\n{body}", head.join("\n"))
}
