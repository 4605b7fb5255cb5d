//! What became of all mistakes.

use super::WANTED;
use super::attack::{Attacker, LOOPS_PRINTS, OWN, Outcome};
use super::list::Mistake;
use std::collections::BTreeMap;
use std::time::Duration;

/// Prints tables: by stage, by who noticed, by the kind of public issue; then what nobody noticed.
pub fn print(chosen: &[(u32, &Mistake)], outcomes: &[Outcome], attackers: &[Attacker]) {
    let all: Vec<(&Mistake, &Outcome)> = chosen.iter().map(|(_, m)| *m).zip(outcomes).collect();
    println!("\n| stage | mistakes | noticed | median s | worst s |\n|---|---|---|---|---|");
    let mut stages: Vec<&str> = all.iter().map(|(m, _)| m.stage.as_str()).collect();
    stages.dedup();
    for stage in stages {
        row(stage, all.iter().filter(|(m, _)| m.stage == stage).map(|(_, o)| *o));
    }
    row("all", outcomes.iter());
    println!("\n| by | noticed | median s | worst s |\n|---|---|---|---|");
    for by in attackers.iter().map(|a| a.name).chain([OWN]) {
        let found = outcomes.iter().flat_map(|o| &o.noticed).filter(|n| n.by == by);
        let times: Vec<Duration> = found.map(|n| n.after).collect();
        if !times.is_empty() {
            println!("| {by} | {} | {} |", times.len(), median_and_worst(times.clone()));
        }
    }
    let mut like: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for (mistake, outcome) in &all {
        if let Some(n) = mistake.like {
            let (there, noticed) = like.entry(n).or_default();
            *there += 1;
            *noticed += !outcome.noticed.is_empty() as usize;
        }
    }
    let each: Vec<String> = like.iter().map(|(n, (there, noticed))| format!("{n}: {noticed}/{there}")).collect();
    println!("\nlike public issue (noticed/made): {}", each.join(", "));
    for (mistake, _) in all.iter().filter(|(_, o)| o.noticed.iter().any(|n| n.by == LOOPS_PRINTS)) {
        println!("\nonly {LOOPS_PRINTS} notice: {} ({})", mistake.name, mistake.stage);
    }
    for (mistake, outcome) in all.iter().filter(|(_, o)| o.noticed.is_empty()) {
        let why = mistake.survives.as_deref().unwrap_or("nothing is said of it");
        let print = outcome.printed.as_ref().map(|n| format!(" (only {} prints another thing)", n.how));
        println!("\nnot noticed: {} ({}){}: {why}", mistake.name, mistake.stage, print.unwrap_or_default());
    }
}

fn row<'a>(name: &str, outcomes: impl Iterator<Item = &'a Outcome> + Clone) {
    let there = outcomes.clone().count();
    let times: Vec<Duration> = outcomes.filter_map(|o| o.noticed.first().map(|n| n.after)).collect();
    println!("| {name} | {there} | {} | {} |", times.len(), median_and_worst(times));
}

/// In seconds.
fn median_and_worst(mut times: Vec<Duration>) -> String {
    times.sort();
    let seconds = |t: Option<&Duration>| t.map_or("–".to_string(), |t| format!("{:.1}", t.as_secs_f64()));
    format!("{} | {}", seconds(times.get(times.len() / 2)), seconds(times.last()))
}

/// Whether enough was noticed, and what is said of the others is true.
///
/// # Errors
/// If not: what is wrong.
pub fn verdict(chosen: &[(u32, &Mistake)], outcomes: &[Outcome]) -> Result<(), String> {
    let all = || chosen.iter().map(|(_, m)| *m).zip(outcomes);
    let named = |wrong: Vec<&Mistake>| wrong.iter().map(|m| format!("\n  {}", m.name)).collect::<String>();
    let unsaid = all().filter(|(m, o)| o.noticed.is_empty() && m.survives.is_none()).map(|(m, _)| m).collect();
    let untrue = all().filter(|(m, o)| !o.noticed.is_empty() && m.survives.is_some()).map(|(m, _)| m).collect();
    let (unsaid, untrue) = (named(unsaid), named(untrue));
    let noticed = outcomes.iter().filter(|o| !o.noticed.is_empty()).count();
    let mut wrong = String::new();
    if 100 * noticed < WANTED * chosen.len() {
        wrong += &format!("{noticed} of {} were noticed, fewer than {WANTED} %\n", chosen.len());
    }
    if !unsaid.is_empty() {
        wrong += &format!("not noticed, and the list does not say why:{unsaid}\n");
    }
    if !untrue.is_empty() {
        wrong += &format!("noticed, though the list says that nobody can:{untrue}\n");
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}
