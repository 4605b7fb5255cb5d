//! Laws of lists of any length: a loop is any turn of it, from a state of which its invariants are all that is known.
//!
//! ```text
//!   repeat c { body }      1. the invariants hold before it
//!                          2. where they and c hold, they hold after the body      (any turn)
//!                          3. behind it, they and ¬c are known
//!                          4. a sum of variables rises at each turn, and is bounded where c holds
//! ```
//!
//! Coordinates and positions are integers; that each sum, difference and product fits 64 bits is a claim of its own.
//!
//! Invariants are found by Houdini (Flanagan, Leino, 2001): all that `invariants` proposes is taken to hold, what fails
//! before a loop or after a turn is dropped, until nothing fails. What is left is inductive, however it was come by.

use crate::any_turn::{AnyTurn, Array, Duty, LOGIC, Num, What, int};
use crate::domain::{Answer, Reply, ask};
use fiberloom_loops::{BufferId, LANES};
use fiberloom_proofs::claims::{Given, Law, Place};
use std::collections::BTreeSet;
use z3::ast::{Bool, Int};

/// Passes after which no more invariants are sought.
const PASSES: usize = 60;

/// What comes of a law, for lists of any length. A law that is not proved may hold: then its invariants are not among
/// those that are proposed.
pub fn of_any_length<L: Law>() -> Answer {
    let (mut sites, mut questions, mut proposed) = (vec![], 0, false);
    for pass in 1..=PASSES {
        let mut d = AnyTurn::new::<L>(std::mem::take(&mut sites));
        let changes = |d: &AnyTurn| (d.sites.len(), d.sites.iter().map(|s| s.changes.len()).sum::<usize>());
        let before = changes(&d);
        run::<L>(&mut d);
        // What loops change is known first; then what may hold of that.
        let grew = changes(&d) != before;
        if !grew && proposed && !drop_what_fails(&mut d, &mut questions) {
            return match judge(&d, &mut questions) {
                Ok(()) => Answer::Proved { paths: pass, questions },
                Err(answer) => answer,
            };
        }
        if !grew && !proposed {
            d.propose();
            proposed = true;
        }
        sites = d.sites;
    }
    Answer::Unknown("invariants are not found".to_string())
}

fn run<L: Law>(d: &mut AnyTurn) {
    let place = |(n, a): (usize, &Array)| Place {
        array: BufferId(n as u32),
        begin: a.begin.clone().into(),
        end: a.end.clone().into(),
        order: a.order,
    };
    let places = d.arrays.iter().enumerate().map(place).collect();
    let numbers: Vec<Int> = (0..L::NUMBERS).map(|n| Int::new_const(format!("n{n}"))).collect();
    for number in &numbers {
        d.axioms.push(Bool::and(&[int(i64::MIN).le(number), number.le(int(i64::MAX))]));
    }
    numbers.iter().for_each(|number| d.anchor(number.clone()));
    let numbers = numbers.into_iter().map(Num::from).collect();
    L::text(d, &Given { places, numbers, table: int(0).into() });
}

/// The facts of a duty, with another.
fn facts<'d>(d: &'d AnyTurn, duty: &'d Duty, more: &'d Bool) -> impl Iterator<Item = &'d Bool> {
    d.axioms.iter().chain(&d.facts[..duty.known]).chain([&duty.guard, more])
}

/// Drops the candidates that fail before a loop or after a turn; whether there are any.
fn drop_what_fails(d: &mut AnyTurn, questions: &mut usize) -> bool {
    let mut failed: Vec<BTreeSet<usize>> = d.sites.iter().map(|_| BTreeSet::new()).collect();
    for duty in &d.duties {
        let What::Keep(site, values) = &duty.what else { continue };
        let candidates = &d.sites[*site].candidates;
        loop {
            let open: Vec<(usize, Bool)> = (0..candidates.len())
                .filter(|k| !failed[*site].contains(k))
                .map(|k| (k, (candidates[k].of)(values)))
                .collect();
            if open.is_empty() {
                break;
            }
            let broken = Bool::or(&open.iter().map(|(_, b)| b.not()).collect::<Vec<_>>());
            *questions += 1;
            match ask(LOGIC, facts(d, duty, &broken)) {
                Reply::Never => break,
                Reply::Unknown(_) => failed[*site].extend(open.iter().map(|(k, _)| *k)),
                Reply::Example(model) => {
                    let fails = |b: &Bool| model.eval(b, true).and_then(|b| b.as_bool()) == Some(false);
                    let seen: Vec<usize> = open.iter().filter(|(_, b)| fails(b)).map(|(k, _)| *k).collect();
                    if seen.is_empty() {
                        failed[*site].extend(open.iter().map(|(k, _)| *k));
                    }
                    failed[*site].extend(seen);
                }
            }
        }
    }
    for (site, failed) in d.sites.iter_mut().zip(&failed) {
        let mut k = 0..;
        site.candidates.retain(|_| !failed.contains(&k.next().expect("endless")));
    }
    failed.iter().any(|f| !f.is_empty())
}

/// Whether all claims hold, and loops end; and something is as the law assumes.
fn judge(d: &AnyTurn, questions: &mut usize) -> Result<(), Answer> {
    let yes = Bool::from_bool(true);
    let end = Duty { known: d.facts.len(), guard: yes.clone(), what: What::Claim("", yes.clone()) };
    *questions += 1;
    match ask(LOGIC, facts(d, &end, &yes)) {
        Reply::Example(_) => {}
        Reply::Never => return Err(Answer::Void),
        Reply::Unknown(why) => return Err(Answer::Unknown(why)),
    }
    for together in d.duties.chunk_by(|a, b| a.known == b.known) {
        judge_claims(d, together, questions)?;
    }
    for duty in &d.duties {
        let What::Progress(from, to, ends) = &duty.what else { continue };
        *questions += 1;
        if matches!(ask(LOGIC, facts(d, duty, &yes)), Reply::Never) {
            return Err(Answer::Void);
        }
        if !progresses(d, duty, [from, to], ends, questions) {
            return Err(Answer::Refuted { said: "a loop does not end", of: None });
        }
    }
    Ok(())
}

/// Whether claims hold of which as much is known: asked of all at once, and of each where not all do.
fn judge_claims(d: &AnyTurn, duties: &[Duty], questions: &mut usize) -> Result<(), Answer> {
    let claim = |duty: &Duty| match &duty.what {
        What::Claim(what, b) => Some((*what, Bool::and(&[&duty.guard, &b.not()]))),
        _ => None,
    };
    let broken: Vec<(&str, Bool)> = duties.iter().filter_map(claim).collect();
    let (Some(first), false) = (duties.first(), broken.is_empty()) else { return Ok(()) };
    let known = || d.axioms.iter().chain(&d.facts[..first.known]);
    *questions += 1;
    let any = Bool::or(&broken.iter().map(|(_, b)| b).collect::<Vec<_>>());
    if matches!(ask(LOGIC, known().chain([&any])), Reply::Never) {
        return Ok(());
    }
    for (said, b) in &broken {
        *questions += 1;
        match ask(LOGIC, known().chain([b])) {
            Reply::Never => {}
            Reply::Unknown(why) => return Err(Answer::Unknown(format!("{said}: {why}"))),
            Reply::Example(_) => return Err(Answer::Refuted { said, of: None }),
        }
    }
    Ok(())
}

/// Whether a variable, or the sum of two, rises at each turn and is bounded by an anchor, or two, and a few; or a variable
/// falls and is not negative.
fn progresses(d: &AnyTurn, duty: &Duty, [from, to]: [&[Int]; 2], ends: &[Int], questions: &mut usize) -> bool {
    let changed: Vec<usize> = (0..from.len()).filter(|v| from[*v] != to[*v]).collect();
    let mut never = |b: Bool| {
        *questions += 1;
        matches!(ask(LOGIC, facts(d, duty, &b)), Reply::Never)
    };
    let most = int(i64::MAX);
    let near = |x: &Int| ends.iter().chain([&most]).map(|end| x.le(Int::add(&[end, &int(LANES)]))).collect::<Vec<_>>();
    let far = |x: &Int| Bool::or(&near(x));
    for &v in &changed {
        let (rises, falls) = (from[v].lt(&to[v]), Bool::and(&[to[v].lt(&from[v]), int(0).le(&from[v])]));
        if never(falls.not()) || never(Bool::and(&[rises, far(&from[v])]).not()) {
            return true;
        }
    }
    for (k, &v) in changed.iter().enumerate() {
        for &w in &changed[k + 1..] {
            let rises = Int::add(&[&from[v], &from[w]]).lt(Int::add(&[&to[v], &to[w]]));
            if never(Bool::and(&[rises, far(&from[v]), far(&from[w])]).not()) {
                return true;
            }
        }
    }
    false
}
