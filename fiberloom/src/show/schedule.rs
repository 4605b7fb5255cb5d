//! A schedule in the place of the program's own, as `--schedule` of the command line gives it.
//!
//! ```text
//!  --schedule "protocol(b[i], gallop)"     the last statement's, instead of what it has
//!  --no-schedule                           no statement has one
//! ```
//!
//! What is taken away becomes blanks, so that messages about the rest name its places; what is given stands behind the program,
//! and messages about it draw it there.

use crate::error::Error;
use fiberloom_core::notation::Span;
use fiberloom_core::notation::syntax::{Item, Statement};

/// The program's text with this schedule for its last statement, or with none at all. One that cannot be parsed stays as it is.
///
/// # Errors
/// What is given is more than a schedule.
pub fn applied(text: String, schedule: Option<&str>, none: bool) -> Result<String, Error> {
    if schedule.is_none() && !none {
        return Ok(text);
    }
    let given = schedule.map(block).transpose()?;
    let last = given.is_some();
    let (parsed, wrong) = fiberloom_front::parse(&text);
    let Some(program) = parsed.filter(|_| wrong.is_empty()) else { return Ok(text) };
    let mut spans: Vec<Vec<Span>> = Vec::new();
    of_items(&program.items, !last, &mut spans);
    let without = if last { spans.pop().unwrap_or_default() } else { spans.concat() };
    let mut bytes = text.into_bytes();
    for span in without {
        bytes[span.start as usize..span.end as usize].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
    }
    let text = String::from_utf8(bytes).expect("blanks in the place of whole tokens");
    Ok(text + &given.unwrap_or_default())
}

/// The schedule of these commands, if they are no more than that; one that cannot be read is refused where it will stand.
fn block(given: &str) -> Result<String, Error> {
    let block = match given.trim_start().starts_with("schedule") {
        true => format!("\n{given}\n"),
        false => format!("\nschedule {{ {} }}\n", ended(given)),
    };
    match fiberloom_front::parse(&block) {
        (Some(read), wrong) if wrong.is_empty() && !matches!(read.items[..], [Item::Schedule(_)]) => {
            Err(Error::Call(format!("--schedule takes the commands of one schedule, and no more: `{given}`")))
        }
        _ => Ok(block),
    }
}

/// Where each statement has schedules, those of blocks too; with those of its `where` block if `locals`.
fn of_items(items: &[Item], locals: bool, spans: &mut Vec<Vec<Span>>) {
    for item in items {
        match item {
            Item::Statement(s) => spans.push(schedules(s, locals)),
            Item::Repeat(block) => of_items(&block.body, locals, spans),
            Item::Schedule(alone) => spans.last_mut().into_iter().for_each(|of| of.push(alone.span)),
            Item::Dim(_) | Item::Domain(_) | Item::Table(_) | Item::Tensor(_) | Item::Function(_) => {}
        }
    }
}

/// Where a statement has schedules, with those of its `where` block if `locals`.
fn schedules(s: &Statement, locals: bool) -> Vec<Span> {
    let inner = s.locals.iter().filter(|_| locals).flat_map(|l| schedules(l, true));
    inner.chain(s.schedule.iter().map(|schedule| schedule.span)).collect()
}

/// Commands with a semicolon behind the last, and behind a comment.
fn ended(commands: &str) -> String {
    let commands = commands.trim();
    let line = if commands.contains('#') { "\n" } else { "" };
    let semicolon = if commands.is_empty() || commands.ends_with(';') { "" } else { ";" };
    format!("{commands}{line}{semicolon}")
}
