//! Laws of plans: what the planner says that it decided, given as commands, makes the same loops; so does the plan that it made, given as
//! text. A damaged plan is refused, or makes loops that are well-formed.
//!
//! ```text
//!  program ──lower──▶ loops, commands, plan
//!  program with the commands in its schedules ──lower──▶ the same loops
//!  program ──lower by the plan's text──▶ the same loops, and the same text
//! ```

use super::engines::{Finding, Stop};
use super::subject::Subject;
use arbitrary::Unstructured;
use fiberloom_core::notation::{self, typed};
use fiberloom_loops::Options;
use fiberloom_lower::{Lowered, Unplanned};

/// Holds a program to the law.
///
/// # Errors
/// Commands that are refused, or that make other loops.
pub(super) fn reads_back(subject: &impl Subject, lowered: &Lowered) -> Result<(), Stop> {
    let (syntax, _) = fiberloom_front::parse(&subject.to_string());
    let mut told = syntax.expect("it has been parsed before");
    let options = |typed: &typed::Program| Options { mode: subject.mode(), ..subject.options(typed) };
    let planned =
        fiberloom_lower::plan(&told, &fiberloom::relation::check, &options).expect("it has been lowered before");
    if planned.is_empty() {
        return Ok(());
    }
    fiberloom_lower::give(&mut told, &planned);
    let refused = |wrong: Vec<notation::Diagnostic>| {
        let message = wrong.first().map_or("", |d| &d.message);
        Finding::new("plan refused", format!("{message}\n{told}"))
    };
    // Commands are read, not only made.
    let text = told.to_string();
    let (syntax, wrong) = fiberloom_front::parse(&text);
    let syntax = syntax.filter(|_| wrong.is_empty()).ok_or_else(|| refused(wrong))?;
    let typed = fiberloom::relation::check(&syntax).map_err(refused)?;
    let again = fiberloom_lower::lower(&typed, &options(&typed)).map_err(refused)?;
    let [loops, other] = [&lowered.kernel, &again.kernel].map(|kernel| unnumbered(&kernel.to_string()));
    if loops != other {
        let apart = loops.lines().zip(other.lines()).find(|(one, other)| one != other);
        let what = format!("{told}\n{}\nwithout commands\n{}\n{apart:#?}", again.concrete, lowered.concrete);
        return Err(Finding::new("plan read back", what).into());
    }
    Ok(())
}

/// Holds a program to the law of its plan's text.
///
/// # Errors
/// A plan that is refused, or that makes other loops.
pub(super) fn makes_its_loops(typed: &typed::Program, options: &Options, lowered: &Lowered) -> Result<(), Stop> {
    let plan = lowered.show_plan();
    let found = |what: String| Finding::new("plan's text", format!("{what}\n{plan}"));
    let again = fiberloom_lower::lower_planned(typed, options, &plan).map_err(|wrong| found(format!("{wrong:?}")))?;
    if again.kernel.to_string() != lowered.kernel.to_string() || again.show_plan() != plan {
        let texts = [&again, lowered].map(|lowered| format!("{}\n{}", lowered.show_plan(), lowered.kernel));
        let apart = texts[0].lines().zip(texts[1].lines()).find(|(one, other)| one != other);
        return Err(found(format!("{apart:#?}\n{}", texts[0])).into());
    }
    Ok(())
}

/// Lowers a program by a damaged plan; says whether the plan is taken.
///
/// # Errors
/// Loops that their checker refuses: the plan's is to be first.
pub fn takes_damaged(typed: &typed::Program, plan: &str) -> Result<bool, String> {
    match fiberloom_lower::lower_planned(typed, &Options::default(), plan) {
        Ok(_) => Ok(true),
        Err(Unplanned::Loops(what)) => Err(what),
        Err(_) => Ok(false),
    }
}

/// The plan with one damage, or two: a word in the place of another, a line in another's place, twice, or gone.
pub fn damaged(u: &mut Unstructured, plan: &str) -> String {
    let mut lines: Vec<String> = plan.lines().map(str::to_string).collect();
    for _ in 0..1 + u.choose_index(2).unwrap_or(0) {
        let mut below = |n: usize| u.choose_index(n).unwrap_or(0);
        let (at, from, kind) = (below(lines.len()), below(lines.len()), below(6));
        match kind {
            0 => lines.swap(at, from),
            1 => lines.insert(at, lines[from].clone()),
            2 if lines.len() > 1 => drop(lines.remove(at)),
            _ => {
                let other = lines[from].split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>();
                let other = other.get(below(other.len())).copied().unwrap_or_default().to_string();
                let mut words: Vec<&str> = lines[at].split(' ').collect();
                let place = below(words.len());
                words[place] = &other;
                lines[at] = words.join(" ");
            }
        }
    }
    lines.join("\n")
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
