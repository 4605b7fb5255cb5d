//! Plans of loops as text: what is read from a print is the plan, under it a program has the same loops, and no text makes a panic.

mod common;

use common::typed;
use fiberloom_core::loops::plan::Plan;
use fiberloom_core::notation::typed;
use fiberloom_core::{Lowered, Options, lower, lower_under};

fn lowered(program: &typed::Program) -> Option<Lowered> {
    lower(program, &Options::default()).ok()
}

#[test]
fn programs_have_the_same_loops_under_their_plans() {
    let mut plans = 0;
    for (path, text) in common::texts() {
        let Some(program) = typed(&text) else { continue };
        let Some(free) = lowered(&program) else { continue };
        plans += 1;
        let plan = free.show_plan();
        assert_eq!(Plan::read(&plan, &free.concrete), Ok(free.plan), "{}\n{plan}", path.display());
        let under = lower_under(&program, &Options::default(), &plan).expect("its own plan");
        assert_eq!(under.kernel.to_string(), free.kernel.to_string(), "{}\n{plan}", path.display());
    }
    assert!(plans > 50, "only {plans} programs lower");
}

/// Lists that meet, unite, gallop and stay; windows, bands, runs; a workspace; a search; several ranges.
const PROGRAMS: [&str; 6] = [
    "tensor A: f64[I, J] csr\ntensor B: f64[J, K] csr\ntensor C: f64[I, K] csr\nC[i,k] = A[i,j] * B[j,k]",
    "tensor a: f64[N] sparse\ntensor b: f64[N] sparse\ntensor c: f64[N] dense\ns[] = a[i] * b[i] * c[i]\nr[i] = a[i] + b[i]",
    "tensor B: f64[I, J] { dense, band }\ntensor x: f64[J] sparse\ny[i] = B[i,j] * x[j]",
    "tensor r: f64[N] { runs }\ntensor x: f64[N] sparse\ns[] = r[i] * x[i] + r[i]",
    "tensor v: f64[N] sparse\ntensor y: f64[N] dense\ny[i] = coalesce(v[~(i-1)], 0) + coalesce(v[~(i+1)], 0)",
    "tensor A: f64[I, J] csr\nt[] = A[i,j] * A[j,k] * A[i,k]",
];

/// Every plan with a line dropped, doubled or exchanged for the next one, or moved further in or out. Under those that are taken the
/// kernel is sound: `lower_under` checks it.
#[test]
fn damaged_plans_are_refused_or_followed() {
    let (mut refused, mut followed) = (0, 0);
    for text in PROGRAMS {
        let program = typed(text).unwrap_or_else(|| panic!("{text}"));
        let plan = lowered(&program).unwrap_or_else(|| panic!("{text}")).show_plan();
        let lines: Vec<&str> = plan.lines().collect();
        for at in 0..lines.len() {
            let (before, behind) = (lines[..at].join("\n"), lines[(at + 2).min(lines.len())..].join("\n"));
            let (one, two) = (lines[at], lines.get(at + 1).copied().unwrap_or(""));
            let damages = [
                two.to_string(),
                format!("{one}\n{one}\n{two}"),
                format!("{two}\n{one}"),
                format!("  {one}\n{two}"),
                format!("{}\n{two}", one.trim_start()),
                format!("{}\n{two}", one.trim_end_matches(|c: char| !c.is_whitespace())),
            ];
            for damage in damages.iter().filter(|d| **d != format!("{one}\n{two}")) {
                let damaged = format!("{before}\n{damage}\n{behind}");
                match lower_under(&program, &Options::default(), &damaged) {
                    Ok(_) => followed += 1,
                    Err(why) => {
                        refused += 1;
                        assert!(why[0].message.starts_with("the plan: "), "{}\n{damaged}", why[0].message);
                    }
                }
            }
        }
    }
    assert!(refused > 100 && followed > 0, "{refused} are refused, {followed} followed");
}

/// A plan in which a list is searched that could be asked of its table, and a plan in which a union is a loop of its own.
#[test]
fn other_ways_make_other_loops() {
    let program = typed("tensor a: f64[N] sparse\ntensor b: f64[N] sparse\nr[i] = a[i] + b[i]").expect("a program");
    let free = lowered(&program).expect("it lowers");
    let plan = free.show_plan();
    let other = plan.replace("walk 0 flattree", "walk 0 tree");
    assert_ne!(plan, other);
    let branches = "      walk 0 tree\n";
    assert!(other.contains(branches), "{other}");
    let arms = "      walk 0 tree\n        arm a[i] b[i]\n        arm a[i]\n        arm b[i]\n";
    let other = other.replace(branches, arms);
    let under =
        lower_under(&program, &Options::default(), &other).unwrap_or_else(|e| panic!("{}\n{other}", e[0].message));
    assert_ne!(under.kernel.to_string(), free.kernel.to_string());
}
