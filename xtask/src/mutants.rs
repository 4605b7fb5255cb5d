//! `cargo xtask mutants`: mistakes on purpose, and who notices them.
//!
//! ```text
//!  proofs/mutants/*.txt ──read──▶ mistakes ─┬ weave ─▶ target/mutants/copy: the tracked files, in which each mistaken
//!                                           │          text stands beside the right one behind a switch
//!                                           │            │ one build
//!                                           │            ▼
//!                                           └ attack ─▶ each attacker with no mistake switched on: all as before;
//!                                                       then for each mistake, until one notices
//! ```
//!
//! One build has all mistakes; which one is made is read from the environment when a program starts. So a hundred mistakes cost one
//! build, and sources hold no switches. What attacks come to is kept as they end: with `--resume`, a run goes on where another was ended.
//! Whoever attacks is a process of its own: a crash and a hang are noticed too.
//!
//! *Prints are no evidence*: who rewrites a print that a mistake has changed accepts the mistake. File tests attack without their prints,
//! these attack what nobody else has noticed, and a mistake that only they notice counts as not noticed. Tests of `core` that compare
//! printed loops attack apart from its other tests, next to last, and are named in the tables.

mod attack;
mod before;
mod known;
mod list;
mod reached;
mod report;
mod weave;

use attack::{Attacker, Outcome};
use before::Before;
use known::Known;
use list::Mistake;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Where mistakes are listed, a file a stage.
const LISTS: &str = "proofs/mutants";

/// Attacks that run at once.
const WORKERS: usize = 2;

/// Of a hundred mistakes, how many must be noticed.
const WANTED: usize = 98;

/// What is asked for.
#[derive(Default)]
struct Asked<'a> {
    /// Mistakes whose names have one of these in them, or whose stages are one; all if empty.
    only: Vec<&'a str>,
    /// Attackers of these names and no others, each to its end; all, until one notices, if empty.
    by: Vec<&'a str>,
    /// Only these attackers are built, and attack until one notices; all if empty.
    among: Vec<&'a str>,
    /// Nothing is run: what is woven is built and that is all.
    build: bool,
    /// What the run before came to is taken as known, except attacks in vain on another copy.
    resume: bool,
}

impl Asked<'_> {
    fn names(&self, mistake: &Mistake) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| mistake.is_called(word))
    }
}

/// The command.
///
/// # Errors
/// If too few mistakes are noticed, one goes unnoticed that nothing is said of, or one is noticed of which it is said that it cannot be.
pub fn command(args: &[&str]) -> Result<(), String> {
    let asked = asked(args)?;
    let all = list::read(Path::new(LISTS))?;
    let switched = weave::copy(&all)?;
    eprintln!("{} mistakes woven into {}", all.len(), weave::COPY);
    let attackers = attack::build(&asked.among)?;
    if asked.build {
        return Ok(());
    }
    let wanted = |a: &Attacker| if asked.by.is_empty() { !a.is_protocol() } else { asked.by.contains(&a.name) };
    let attackers = attackers.into_iter().filter(wanted).collect();
    let attackers = attack::sound(attackers)?;
    let chosen: Vec<(u32, &Mistake)> = switched.into_iter().filter(|(_, m)| asked.names(m)).collect();
    let known = Known::open(&asked.by, asked.resume)?;
    let before = Before::open(&all);
    let (begun, done) = (Instant::now(), AtomicUsize::new(0));
    let seen = |mistake: &Mistake, outcome: &Outcome| {
        let (minutes, done) = (begun.elapsed().as_secs_f64() / 60.0, done.fetch_add(1, Ordering::Relaxed) + 1);
        if let Err(wrong) = before.note(mistake, outcome) {
            eprintln!("{wrong}");
        }
        eprintln!("{minutes:5.1} min {done:3}/{} {}: {}: {outcome}", chosen.len(), mistake.stage, mistake.name);
    };
    let outcomes = match asked.by.is_empty() {
        true => attack::until_noticed(&attackers, &chosen, &known, &before, seen),
        false => each(&chosen, |(n, mistake)| {
            let outcome = attack::by_each(&attackers, *n, mistake, &known);
            seen(mistake, &outcome);
            outcome
        }),
    };
    report::print(&chosen, &outcomes, &attackers);
    if asked.by.is_empty() { report::verdict(&chosen, &outcomes) } else { Ok(()) }
}

fn asked<'a>(args: &[&'a str]) -> Result<Asked<'a>, String> {
    let mut asked = Asked::default();
    let mut rest = args;
    while !rest.is_empty() {
        rest = match rest {
            ["--only", names, rest @ ..] => {
                asked.only = names.split(',').collect();
                rest
            }
            ["--by", names, rest @ ..] => {
                asked.by = names.split(',').collect();
                rest
            }
            ["--among", names, rest @ ..] => {
                asked.among = names.split(',').collect();
                rest
            }
            ["--build", rest @ ..] => {
                asked.build = true;
                rest
            }
            ["--resume", rest @ ..] => {
                asked.resume = true;
                rest
            }
            _ => {
                return Err(
                    "usage: cargo xtask mutants [--only NAME,…] [--by ATTACKER,… | --among ATTACKER,…] [--build] [--resume]"
                        .to_string(),
                );
            }
        };
    }
    Ok(asked)
}

/// What `f` makes of each, in their order; some run at once.
fn each<T: Sync, R: Send>(all: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, made) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(one) = all.get(place) else { return };
            let result = f(one);
            made.lock().expect("nobody panics with it").push((place, result));
        }
    };
    std::thread::scope(|scope| (0..WORKERS).for_each(|_| drop(scope.spawn(work))));
    let mut made = made.into_inner().expect("nobody panics with it");
    made.sort_by_key(|(place, _)| *place);
    made.into_iter().map(|(_, result)| result).collect()
}
