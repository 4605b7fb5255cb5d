//! What each command of a schedule changes: the loops without it and those before, and with it.

use crate::ask::Asked;
use fiberloom::show::{Stage, Stages, rescheduled};
use fiberloom::{Error, Program, syntax};
use serde::Serialize;

/// The answer: the loops under the first commands, one more in each step.
#[derive(Serialize)]
pub struct Steps {
    error: Option<()>,
    /// Whether the commands are the program's own; else the planner's.
    own: bool,
    steps: Vec<Step>,
}

/// The loops with a command, and all commands before it.
#[derive(Serialize)]
struct Step {
    /// None of the first step, in which no command is left.
    command: Option<String>,
    loops: Option<String>,
    /// Why there are no such loops: some commands go together.
    refused: Option<String>,
}

/// The loops behind each command. Of a program without commands they are the planner's, from the loops in the order of the meaning on.
///
/// # Errors
/// What is wrong with the program.
pub fn steps(asked: &Asked) -> Result<Steps, Error> {
    let program = asked.program()?;
    let text = rescheduled(asked.ask.program.clone(), asked.ask.schedule.as_deref(), asked.ask.no_schedule)?;
    let own: Vec<(usize, usize)> = commands(program.syntax(), &text);
    if own.is_empty() {
        return planned(asked, &program, &text);
    }
    let mut steps = Vec::new();
    for kept in 0..=own.len() {
        let command = kept.checked_sub(1).map(|n| text[own[n].0..own[n].1].trim_end_matches(';').to_string());
        steps.push(step(asked, command, &without(&text, &own[kept..])));
    }
    Ok(Steps { error: None, own: true, steps })
}

/// The same of what the planner decided for the last statement.
fn planned(asked: &Asked, program: &Program, text: &str) -> Result<Steps, Error> {
    let last = program.typed().statements.len().saturating_sub(1);
    let plan = program.plan(asked.mode())?;
    let commands: Vec<String> =
        plan.iter().filter(|planned| planned.statement == last).map(|planned| planned.command.to_string()).collect();
    let mut steps = vec![step(asked, Some("none".to_string()), &rescheduled(text.to_string(), Some("none"), false)?)];
    steps[0].command = None;
    for kept in 1..=commands.len() {
        let schedule = commands[..kept].join("; ");
        let text = rescheduled(text.to_string(), Some(&schedule), false)?;
        steps.push(step(asked, Some(commands[kept - 1].clone()), &text));
    }
    Ok(Steps { error: None, own: false, steps })
}

fn step(asked: &Asked, command: Option<String>, text: &str) -> Step {
    let loops = asked.program_of(text).and_then(|program| Stages::of(&program, asked.mode(), None).text(Stage::Loops));
    match loops {
        Ok(loops) => Step { command, loops: Some(loops), refused: None },
        Err(error) => Step { command, loops: None, refused: Some(error.to_string()) },
    }
}

/// Where each command stands, with its semicolon.
fn commands(program: &syntax::Program, text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    of_items(&program.items, &mut |schedule| {
        for command in &schedule.commands {
            let (from, to) = (command.span.start as usize, command.span.end as usize);
            let rest = text.get(to..).unwrap_or_default();
            let behind = rest.find(';').filter(|n| rest[..*n].trim().is_empty()).map_or(0, |n| n + 1);
            found.push((from, to + behind));
        }
    });
    found.sort_unstable();
    found
}

fn of_items(items: &[syntax::Item], each: &mut dyn FnMut(&syntax::Schedule)) {
    for item in items {
        match item {
            syntax::Item::Statement(statement) => of_statement(statement, each),
            syntax::Item::Repeat(block) => of_items(&block.body, each),
            syntax::Item::Schedule(alone) => each(alone),
            _ => {}
        }
    }
}

fn of_statement(statement: &syntax::Statement, each: &mut dyn FnMut(&syntax::Schedule)) {
    statement.locals.iter().for_each(|local| of_statement(local, each));
    statement.schedule.iter().for_each(each);
}

/// The text with blanks in the place of these stretches.
fn without(text: &str, stretches: &[(usize, usize)]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for (from, to) in stretches {
        bytes[*from..*to].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    String::from_utf8(bytes).expect("blanks in the place of whole commands")
}
