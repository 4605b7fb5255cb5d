//! The schedule of the command line, in the place of the program's own.
//!
//! ```text
//!  --schedule "protocol(b[i], gallop)"     the last statement's, instead of what it has
//!  --no-schedule                           no statement has one
//! ```
//!
//! What is taken away becomes blanks, so that messages about the rest name its places; what is given stands behind the program,
//! and messages about it draw it there.

use super::args::Scheduled;
use fiberloom_core::notation::Span;
use fiberloom_core::notation::syntax::{Item, Statement};

/// The program's text under a schedule. One that cannot be parsed stays as it is.
pub fn applied(text: String, schedule: &Scheduled) -> String {
    let (last, given) = match schedule {
        Scheduled::AsWritten => return text,
        Scheduled::Not => (false, ""),
        Scheduled::Text(given) => (true, given.as_str()),
    };
    let (parsed, wrong) = fiberloom_front::parse(&text);
    let Some(program) = parsed.filter(|_| wrong.is_empty()) else { return text };
    let mut spans: Vec<Vec<Span>> = Vec::new();
    for item in &program.items {
        match item {
            Item::Statement(s) => spans.push(schedules(s, !last)),
            Item::Schedule(alone) => spans.last_mut().into_iter().for_each(|of| of.push(alone.span)),
            _ => {}
        }
    }
    let without = if last { spans.pop().unwrap_or_default() } else { spans.concat() };
    let mut bytes = text.into_bytes();
    for span in without {
        bytes[span.start as usize..span.end as usize].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
    }
    let mut text = String::from_utf8(bytes).expect("blanks in the place of whole tokens");
    if last {
        text += &match given.trim_start().starts_with("schedule") {
            true => format!("\n{given}\n"),
            false => format!("\nschedule {{ {} }}\n", ended(given)),
        };
    }
    text
}

/// Where a statement has schedules, with those of its `where` block if `locals`.
fn schedules(s: &Statement, locals: bool) -> Vec<Span> {
    let inner = s.locals.iter().filter(|_| locals).flat_map(|l| schedules(l, true));
    inner.chain(s.schedule.iter().map(|schedule| schedule.span)).collect()
}

/// Commands with a semicolon behind the last.
fn ended(commands: &str) -> String {
    let commands = commands.trim();
    if commands.is_empty() || commands.ends_with(';') { commands.to_string() } else { format!("{commands};") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_takes_the_place_of_the_last_statement_s() {
        let given = |text: &str| applied(text.to_string(), &Scheduled::Text("none".to_string()));
        assert_eq!(given("y[i] = x[i]\n"), "y[i] = x[i]\n\nschedule { none; }\n");
        assert_eq!(
            given("y[i] = x[i] schedule { unroll(i, 2); }"),
            format!("y[i] = x[i] {}\nschedule {{ none; }}\n", " ".repeat(26))
        );
        assert_eq!(given("y[i] ="), "y[i] =");
        let none = |text: &str| applied(text.to_string(), &Scheduled::Not);
        assert_eq!(none("y[i] = x[i]\nschedule {\n}\n"), "y[i] = x[i]\n          \n \n");
    }
}
