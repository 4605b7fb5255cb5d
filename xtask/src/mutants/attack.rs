//! Who attacks: campaigns, laws, unit tests and file tests of the copy, each a process of its own.

use super::before::Before;
use super::known::Known;
use super::list::Mistake;
use super::reached::{NOTES, Reached};
use super::weave::{COPY, SWITCH};
use crate::cargo;
use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Where cargo builds the copy.
const BUILT: &str = "target/mutants/target";

/// Only what changed is built anew when a list grows; whoever builds something while attacking builds it so too.
const INCREMENTAL: [(&str, &str); 1] = [("CARGO_PROFILE_RELEASE_INCREMENTAL", "true")];

/// Who found nothing where nothing is mistaken, with how long that took: known until what they read of the copy changes.
const SOUND: &str = "target/mutants/sound";

/// Kibibytes that an attacker may use: a mistake may ask for all there is.
const MEMORY: u64 = 12 << 20;

/// The signal that ends who took more than its processor time: SIGKILL.
const OUT_OF_TIME: i32 = 9;

/// How it is said that an attacker was ended, or ended by itself.
const HANGS: &str = "hangs";
const DIES: &str = "dies";

/// How often it is looked whether a test has failed.
const LOOK: Duration = Duration::from_millis(300);

/// A program that may notice a mistake.
#[derive(Clone)]
pub struct Attacker {
    /// What it is called.
    pub name: &'static str,
    program: PathBuf,
    args: Vec<String>,
    folder: PathBuf,
    /// How long it takes where nothing is mistaken.
    took: Duration,
    /// The mistakes that it comes to; `None`: that is not known.
    reached: Option<Arc<Reached>>,
    /// Whether it is asked one test alone, the one that noticed a mistake last.
    narrowed: bool,
}

/// How an attacker noticed.
#[derive(Clone, Debug)]
pub struct Noticed {
    /// Which.
    pub by: &'static str,
    /// What it said last, or how it died.
    pub how: String,
    /// From the beginning of the first attack on.
    pub after: Duration,
}

impl Noticed {
    /// The test that failed, if a test program noticed and one of its tests was named.
    pub fn test(&self) -> Option<&str> {
        let named = TESTS.iter().any(|t| t.name == self.by) && self.how != HANGS && !self.how.starts_with(DIES);
        named.then_some(self.how.as_str())
    }
}

/// What became of a mistake.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// By whom it was noticed: of several that were asked, by each that did. Who compares prints is not among them.
    pub noticed: Vec<Noticed>,
    /// The print that is another.
    pub printed: Option<Noticed>,
    /// How long all attacks took.
    pub took: Duration,
}

impl Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.noticed.is_empty() {
            let print = self.printed.as_ref().map(|n| format!(", but {} prints another thing", n.how));
            return write!(f, "NOT NOTICED in {:.1} s{}", self.took.as_secs_f64(), print.unwrap_or_default());
        }
        let one = |n: &Noticed| format!("{} ({}) {:.1} s", n.by, n.how, n.after.as_secs_f64());
        write!(f, "{}", self.noticed.iter().map(one).collect::<Vec<_>>().join(", "))
    }
}

/// Campaigns: a name and what is asked of them. One of anything and one of every combination find different things first. Most that is
/// found is found by the first programs: few of them attack first, and the others only what those leave.
const CAMPAIGNS: &[(&str, &str)] = &[
    ("few loops", "--programs 400 --engine loops --walk random --seed 1000"),
    ("few directed loops", "--programs 800 --engine loops --seed 200000"),
    ("loops", "--programs 2000 --engine loops --walk random --seed 1000"),
    ("directed loops", "--programs 5000 --engine loops --seed 200000"),
    ("machine code", "--programs 300 --engine llvm --walk random --seed 5000"),
    ("directed machine code", "--programs 1000 --engine llvm --seed 700000"),
    ("long loops", "--programs 400 --data 2 --engine loops --walk long --seed 4000"),
    ("long machine code", "--programs 60 --engine llvm --walk long --seed 6000"),
    ("boxes", "--programs 1000 --engine loops --walk shards --seed 8000"),
    ("loops under commands", "--programs 500 --engine loops --walk loops --seed 9000"),
    ("commands", "--programs 1000 --engine loops --walk schedules --seed 9000"),
    ("tables", "--programs 1000 --engine loops --walk tables --seed 10000"),
    ("gradients", "--programs 400 --engine meaning --walk gradients --seed 11000"),
    ("units of a GPU", "--programs 400 --engine ptx --walk units --seed 12000"),
    ("blocks of a GPU", "--programs 200 --engine ptx --walk blocks --seed 13000"),
    ("loops of a GPU", "--programs 200 --engine ptx --walk loops --seed 14000"),
];

/// Protocols that are compared with each other, for the same time, where they are asked for by name.
const PROTOCOLS: &[(&str, &str)] = &[
    ("products", "--programs 1000000 --seconds 2 --engine loops --walk products --seed 3000000"),
    ("whole", "--programs 1000000 --seconds 2 --engine loops --walk directed --seed 3000000"),
    ("language", "--programs 1000000 --seconds 2 --engine loops --walk language --seed 3000000"),
];

/// Test programs of the copy, or some of their tests.
struct Tests {
    name: &'static str,
    package: &'static str,
    /// Which of its package's test programs it is.
    target: &'static str,
    /// The modules whose tests they are; of all if there are none.
    only: &'static [&'static str],
    /// Modules whose tests they are not.
    skip: &'static [&'static str],
}

/// All tests of a program.
const fn all(name: &'static str, package: &'static str, target: &'static str) -> Tests {
    Tests { name, package, target, only: &[], skip: &[] }
}

/// The tests of these modules.
const fn only(
    name: &'static str,
    (package, target): (&'static str, &'static str),
    only: &'static [&'static str],
) -> Tests {
    Tests { name, package, target, only, skip: &[] }
}

const CODEGEN: (&str, &str) = ("fiberloom-codegen", "codegen");
const FIBERLOOM: (&str, &str) = ("fiberloom", "fiberloom");
const PASSES: (&str, &str) = ("fiberloom-passes", "passes");
const LOWER: (&str, &str) = ("fiberloom-lower", "lower");
const PROOFS: (&str, &str) = ("fiberloom-proofs", "fiberloom_proofs");
const LOOPS: (&str, &str) = ("fiberloom-loops", "loops");

impl Tests {
    /// Whether they stand in the sources of a library, by whose name cargo calls them.
    fn is_of_sources(&self) -> bool {
        self.target.starts_with("fiberloom_")
    }
}

const TESTS: &[Tests] = &[
    Tests { skip: &[NESTS], ..all("laws", PROOFS.0, PROOFS.1) },
    only(NESTS, PROOFS, &[NESTS]),
    all("core's tests", "fiberloom-core", "core"),
    all("passes' tests", PASSES.0, PASSES.1),
    only("checker's tests", PASSES, &["check::"]),
    only("properties' tests", PASSES, &["properties::"]),
    only("warnings' tests", PASSES, &["warnings::"]),
    Tests { skip: PRINTED, ..all("loops' tests", LOOPS.0, LOOPS.1) },
    only(LOOPS_PRINTS, LOOPS, PRINTED),
    only("notation's tests", LOWER, &["concrete::"]),
    only("plans", LOWER, &["plans::"]),
    all("runtime's tests", CODEGEN.0, "fiberloom_codegen"),
    all(THREADS, "fiberloom-threads", "threads"),
    only("kernels' tests", CODEGEN, &["run::"]),
    only("operators' tests", CODEGEN, &["operations::"]),
    only("lanes' tests", CODEGEN, &["among::"]),
    only("scattered lanes' tests", CODEGEN, &["scatter::"]),
    only("sorted lanes' tests", CODEGEN, &["few::"]),
    only("prefetches' tests", CODEGEN, &["prefetch::"]),
    all("rewrites' tests", "fiberloom-check", "rewrites"),
    all("readers' tests", "fiberloom-data", "readers"),
    all("table readers' tests", "fiberloom-relation", "tables"),
    only("library's tests", FIBERLOOM, &["library::"]),
    only("levels' tests", FIBERLOOM, &["levels::"]),
    only("boxes' tests", FIBERLOOM, &["shards::"]),
    only("batches' tests", FIBERLOOM, &["batches::"]),
    only("tests of keys", FIBERLOOM, &["batches_of_keys::"]),
    only("quotients' tests", FIBERLOOM, &["quotients::"]),
    only("pieces' tests", FIBERLOOM, &["pieces::"]),
    only("workspaces' tests", FIBERLOOM, &["workspaces::"]),
    only("gathers' tests", FIBERLOOM, &["gathers::"]),
    only("relations' tests", FIBERLOOM, &["relations::"]),
    only("table files' tests", FIBERLOOM, &["table_files::"]),
    only("queries' tests", FIBERLOOM, &["tpch::"]),
    only("scalars' tests", FIBERLOOM, &["scalars::"]),
    only("command's tests", FIBERLOOM, &["command_line::"]),
    only("assembled results' tests", FIBERLOOM, &["assembled::"]),
    only("undeclared results' tests", FIBERLOOM, &["undeclared::"]),
    only("builder's tests", FIBERLOOM, &["builder::"]),
    only("devices' tests", FIBERLOOM, &["device::", "device_loops::"]),
    only("tests of the machine for PTX", ("fiberloom-semantics", "semantics"), &["ptx::"]),
    only(DRAWN_FILES, ("fiberloom-check", "fiberloom_check"), &["format::"]),
    all(FILES, "fiberloom-tests", "files"),
    all(PRINTS, "fiberloom-tests", "files"),
];

/// The attacker that asks one test of another: the one that was written for the mistake.
pub const OWN: &str = "its own test";

/// File tests, without their prints.
pub const FILES: &str = "files";

/// The prints of file tests: what they notice counts as not noticed.
pub const PRINTS: &str = "prints";

/// The environment variable that names the command which file tests run.
const COMMAND: &str = "FIBERLOOM_BIN";

/// The environment variable that says whether file tests run `without` their prints, or they `alone`.
const COMPARED: &str = "FIBERLOOM_PRINTS";

/// Tests of rewrites that compare printed loops with loops that are written down, and the modules that have them.
pub const LOOPS_PRINTS: &str = "loops' prints";
const PRINTED: &[&str] = &[
    "rewrites::early_exit::",
    "rewrites::privatize::",
    "rewrites::blocks::",
    "rewrites::collapse::",
    "rewrites::strip_mine::",
    "rewrites::distribute::",
    "rewrites::unroll_and_jam::",
];

/// Whole nests take minutes, other laws seconds: they are attackers of their own.
const NESTS: &str = "nests";

/// The runtime's threads, in turns that a scheduler chooses.
const THREADS: &str = "threads' tests";

/// Files of every kind, drawn: the part of the generators' own tests that no campaign is.
const DRAWN_FILES: &str = "drawn files";

/// In which order they attack, the cheapest first; where a stage is named, what is made for it comes before.
const ORDER: &[(&str, &[&str])] = &[
    ("algebra", &["few loops", "core's tests", "operators' tests"]),
    (
        "codegen",
        &[
            "machine code",
            "lanes' tests",
            "scattered lanes' tests",
            "sorted lanes' tests",
            "prefetches' tests",
            "kernels' tests",
            FILES,
            "operators' tests",
            "long machine code",
            "directed machine code",
        ],
    ),
    ("runtime", &["runtime's tests", THREADS, "machine code", FILES, "long machine code", "directed machine code"]),
    ("shards", &["boxes' tests", "tests of keys", "batches' tests", "boxes"]),
    ("gradients", &[FILES, "gradients", "passes' tests"]),
    (
        "relations",
        &[
            "relations' tests",
            "table readers' tests",
            "table files' tests",
            "core's tests",
            FILES,
            "tables",
            DRAWN_FILES,
        ],
    ),
    ("readers", &["readers' tests", DRAWN_FILES, "scalars' tests", "command's tests"]),
    ("schedule", &[FILES, "loops under commands", "commands"]),
    (
        "device",
        &[
            "devices' tests",
            "tests of the machine for PTX",
            FILES,
            "units of a GPU",
            "blocks of a GPU",
            "loops of a GPU",
        ],
    ),
    ("format", &["few loops", "core's tests", "readers' tests"]),
    ("stream", &["few loops", "few directed loops", "loops' tests", FILES, "long loops", "laws"]),
    ("workspaces", &["few loops", "few directed loops", FILES, "long loops", "directed loops"]),
    ("lowering", &["few loops", "few directed loops", FILES, "long loops", "directed loops"]),
    ("rewrites", &["rewrites' tests", "few loops", "few directed loops", "loops' tests"]),
    (
        "",
        &[
            "few loops",
            "runtime's tests",
            "readers' tests",
            "checker's tests",
            "warnings' tests",
            "kernels' tests",
            "few directed loops",
        ],
    ),
    (
        "",
        &[
            "notation's tests",
            "core's tests",
            "passes' tests",
            "loops' tests",
            "library's tests",
            FILES,
            "quotients' tests",
            "machine code",
            "loops",
            NESTS,
        ],
    ),
    (
        "",
        &[
            "directed loops",
            "long loops",
            "operators' tests",
            "laws",
            "plans",
            "properties' tests",
            "pieces' tests",
            "workspaces' tests",
            "gathers' tests",
            "relations' tests",
            "table readers' tests",
            "table files' tests",
            "scalars' tests",
            "assembled results' tests",
            "undeclared results' tests",
            "boxes' tests",
            "batches' tests",
            "tests of keys",
            "long machine code",
            "directed machine code",
        ],
    ),
    (
        "",
        &[
            "lanes' tests",
            "scattered lanes' tests",
            "sorted lanes' tests",
            "prefetches' tests",
            "tables",
            "gradients",
            "boxes",
            "loops under commands",
            "commands",
            THREADS,
            DRAWN_FILES,
            "queries' tests",
            "command's tests",
            "devices' tests",
            "tests of the machine for PTX",
            "units of a GPU",
            "blocks of a GPU",
            "loops of a GPU",
        ],
    ),
    ("", &["builder's tests", "levels' tests", "rewrites' tests", LOOPS_PRINTS, PRINTS]),
];

/// Builds them: all, or those of these names.
///
/// # Errors
/// If the copy does not build, or nobody has such a name.
pub fn build(among: &[&str]) -> Result<Vec<Attacker>, String> {
    let there = |name: &str| CAMPAIGNS.iter().any(|c| c.0 == name) || TESTS.iter().any(|t| t.name == name);
    if let Some(other) = among.iter().find(|name| !there(name)) {
        return Err(format!("nobody is called {other}"));
    }
    let asked = |name: &str| among.is_empty() || among.contains(&name);
    let mut command = cargo::cargo()?;
    let root = std::env::current_dir().map_err(|e| e.to_string())?;
    command.args([
        "build",
        "--release",
        "--quiet",
        "--package",
        "fiberloom-check",
        "--bin",
        "campaign",
        "--package",
        "fiberloom",
        "--bin",
        "fiberloom",
    ]);
    cargo::run(in_copy(&mut command, &root))?;
    let mut command = cargo::cargo()?;
    command.args(["test", "--release", "--no-run", "--message-format", "json", "--quiet"]);
    let tests: Vec<_> = TESTS.iter().filter(|t| asked(t.name)).collect();
    let packages: BTreeSet<&str> = tests.iter().map(|t| t.package).collect();
    command.args(packages.into_iter().flat_map(|package| ["--package", package]));
    if !among.is_empty() {
        let targets: BTreeSet<&str> = tests.iter().map(|t| t.target).collect();
        let (units, others): (Vec<&str>, Vec<&str>) =
            targets.into_iter().partition(|target| tests.iter().any(|t| t.target == *target && t.is_of_sources()));
        command.args(units.first().map(|_| "--lib"));
        command.args(others.into_iter().flat_map(|target| ["--test", target]));
    }
    let output = in_copy(&mut command, &root).stderr(Stdio::inherit()).output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(format!("`{}` failed in {COPY}", cargo::text(&command)));
    }
    let built = String::from_utf8_lossy(&output.stdout);
    let campaign = |(name, args): &(&'static str, &str)| Attacker {
        name,
        program: root.join(BUILT).join("release/campaign"),
        args: args.split(' ').chain(["--until", "finding"]).map(str::to_string).collect(),
        folder: root.join(COPY),
        took: Duration::ZERO,
        reached: None,
        narrowed: false,
    };
    let test = |tests: &Tests| {
        let Tests { name, package, target, only, skip } = tests;
        let program = built.lines().find_map(|line| executable(line, package, target));
        let folder = root.join(COPY);
        let program = program.ok_or_else(|| format!("cargo made no test `{target}` of {package}"))?;
        let args = only.iter().copied().chain(skip.iter().flat_map(|module| ["--skip", module]));
        let args = args.map(str::to_string).collect();
        Ok(Attacker { name, program, args, folder, took: Duration::ZERO, reached: None, narrowed: false })
    };
    let campaigns = CAMPAIGNS.iter().filter(|(name, _)| asked(name));
    let protocols = PROTOCOLS.iter().filter(|_| among.is_empty());
    campaigns.chain(protocols).map(campaign).map(Ok).chain(tests.into_iter().map(test)).collect()
}

/// Test programs of a crate whose modules stand beside each other in its folder `tests`.
const ONE: [&str; 4] = [CODEGEN.1, FIBERLOOM.1, PASSES.1, LOWER.1];

/// The attackers of which a file is a test program, and no other reads it.
pub fn made_of(path: &Path) -> Vec<&'static str> {
    let crates = [
        ("passes", "fiberloom-passes"),
        ("loops", "fiberloom-loops"),
        ("lower", "fiberloom-lower"),
        ("codegen", "fiberloom-codegen"),
        ("fuzz/check", "fiberloom-check"),
        ("proofs/threads", "fiberloom-threads"),
        ("fiberloom", "fiberloom"),
        ("semantics", "fiberloom-semantics"),
    ];
    let of = |tests: &&Tests| {
        let (folder, _) = crates.iter().find(|(_, package)| *package == tests.package)?;
        let file = path.strip_prefix(Path::new(folder).join("tests")).ok()?.with_extension("");
        // A program is made of a file, or of a folder of its name; or of files beside each other, the modules of `main.rs`.
        let inside = file.strip_prefix(tests.target).ok();
        let is_module = ["common", "main"].iter().all(|other| !file.starts_with(other));
        let module = inside.unwrap_or(&file).to_str()?.replace('/', "::") + "::";
        let is_one = |only: &&str| module.starts_with(*only);
        let is_whole = inside.is_some() || is_module && ONE.contains(&tests.target);
        (if tests.only.is_empty() { is_whole } else { tests.only.iter().any(is_one) }).then_some(())
    };
    TESTS.iter().filter(|tests| of(tests).is_some()).map(|t| t.name).collect()
}

fn in_copy<'a>(command: &'a mut Command, root: &Path) -> &'a mut Command {
    command.env("CARGO_TARGET_DIR", root.join(BUILT)).envs(INCREMENTAL);
    command.current_dir(root.join(COPY))
}

/// The program that a line of cargo's messages names, if it is the test of this package and target.
fn executable(line: &str, package: &str, target: &str) -> Option<PathBuf> {
    let after = |key: &str| line.split_once(key).and_then(|(_, rest)| rest.split('"').next());
    let id = after("\"package_id\":\"")?;
    let folder = id.split(['#', '@']).next()?.rsplit('/').next()?;
    let of = id.contains(&format!("#{package}@"))
        || folder == package.trim_start_matches("fiberloom-")
        || id.contains(&format!("{package}#"));
    // A package's command may be named as its library is.
    let named = line.contains(&format!("\"name\":\"{target}\"")) && line.contains("\"test\":true");
    let named = named && !line.contains("\"kind\":[\"bin\"]");
    let test = line.contains("\"profile\":{")
        && line.split_once("\"profile\":{")?.1.split('}').next()?.contains("\"test\":true");
    (of && named && test).then(|| after("\"executable\":\"").map(PathBuf::from))?
}

/// Those attackers, each of which found nothing where nothing is mistaken, with how long that took; who is sound is noted as it ends.
///
/// # Errors
/// If one found something.
pub fn sound(attackers: Vec<Attacker>) -> Result<Vec<Attacker>, String> {
    let known = std::fs::read_to_string(SOUND).unwrap_or_default();
    let wrong = |e: std::io::Error| format!("{SOUND}: {e}");
    let root = std::env::current_dir().map_err(wrong)?;
    let notes = OpenOptions::new().create(true).append(true).open(SOUND).map(Mutex::new).map_err(wrong)?;
    let before = |attacker: &Attacker| -> Option<f64> {
        known.lines().find_map(|line| line.strip_prefix(attacker.name)?.strip_prefix('\t')?.parse().ok())
    };
    let sound = |attacker: &Attacker| {
        let known =
            |took| Ok(Attacker { took, reached: Reached::read(attacker.name).map(Arc::new), ..attacker.clone() });
        if let Some(seconds) = before(attacker) {
            return known(Duration::from_secs_f64(seconds));
        }
        let notes_of_reached = Reached::begin(&root, attacker.name)?;
        let begun = Instant::now();
        let found = attacker.attack(0, Duration::from_secs(900), Some(&notes_of_reached));
        let took = begun.elapsed();
        eprintln!("{}: {:.1} s with no mistake made", attacker.name, took.as_secs_f64());
        if let Some(how) = found {
            return Err(format!("{} fails with no mistake made: {how}", attacker.name));
        }
        let mut notes = notes.lock().expect("nobody panics with it");
        writeln!(notes, "{}\t{:.1}", attacker.name, took.as_secs_f64()).map_err(wrong)?;
        known(took)
    };
    super::each(&attackers, sound).into_iter().collect()
}

/// Forgets that these attackers, or all, are sound.
pub fn forget_sound(these: Option<&[&str]>) {
    let known = std::fs::read_to_string(SOUND).unwrap_or_default();
    let stays =
        |line: &&str| these.is_some_and(|these| !these.iter().any(|name| line.split('\t').next() == Some(name)));
    let _ = std::fs::write(SOUND, known.lines().filter(stays).map(|line| format!("{line}\n")).collect::<String>());
}

/// Attacks each mistake by the test that was written for it or by who noticed it last, then in the order that suits its stage, until one
/// attacker notices. Who does not come to a mistake is not asked. All mistakes are attacked by their first attacker before any is by its second: what is cheap to notice is known first. `seen` is told of
/// each as it is noticed.
pub fn until_noticed(
    attackers: &[Attacker],
    chosen: &[(u32, &Mistake)],
    known: &Known,
    before: &Before,
    seen: impl Fn(&Mistake, &Outcome) + Sync,
) -> Vec<Outcome> {
    let asked = |(n, mistake): &(u32, &Mistake)| -> Vec<Attacker> {
        order(attackers, mistake, before).into_iter().filter_map(|attacker| attacker.against(*n)).collect()
    };
    let orders: Vec<Vec<Attacker>> = chosen.iter().map(asked).collect();
    let mut outcomes = vec![Outcome::default(); chosen.len()];
    for round in 0..orders.iter().map(Vec::len).max().unwrap_or(0) {
        let open: Vec<usize> = (0..chosen.len()).filter(|m| outcomes[*m].noticed.is_empty()).collect();
        eprintln!("round {}: {} mistakes are left", round + 1, open.len());
        let attacked = super::each(&open, |m| {
            let (n, mistake) = chosen[*m];
            let mut outcome = outcomes[*m].clone();
            if let Some(attacker) = orders[*m].get(round) {
                outcome.add(attacker, n, mistake, known);
            }
            if !outcome.noticed.is_empty() {
                seen(mistake, &outcome);
            }
            outcome
        });
        open.into_iter().zip(attacked).for_each(|(m, outcome)| outcomes[m] = outcome);
    }
    let unnoticed = chosen.iter().zip(&outcomes).filter(|(_, outcome)| outcome.noticed.is_empty());
    unnoticed.for_each(|((_, mistake), outcome)| seen(mistake, outcome));
    outcomes
}

/// The attackers in the order that suits a mistake: its own test, who noticed it last, and then all.
fn order(attackers: &[Attacker], mistake: &Mistake, before: &Before) -> Vec<Attacker> {
    // A printed loop is no answer, though it was written for the mistake: it is compared when all others have attacked.
    let own = mistake.test.iter().filter(|(by, _)| by != LOOPS_PRINTS).filter_map(|(by, test)| {
        let whose = attackers.iter().find(|a| a.name == by)?;
        Some(Attacker { name: OWN, args: vec![test.clone()], reached: None, ..whose.clone() })
    });
    let last = before.who(mistake).and_then(|(by, test)| {
        let whose = attackers.iter().find(|a| a.name == by)?;
        Some(whose.clone().narrowed(test.as_deref()))
    });
    let steps = ORDER.iter().filter(|(of, _)| of.is_empty() || *of == mistake.stage);
    let mut order: Vec<Attacker> = own.chain(last).collect();
    for name in steps.flat_map(|(_, names)| *names) {
        let next = attackers.iter().find(|a| a.name == *name && !order.iter().any(|b| b.name == a.name && !b.narrowed));
        order.extend(next.cloned());
    }
    order
}

/// Each attacker on its own.
pub fn by_each(attackers: &[Attacker], n: u32, mistake: &Mistake, known: &Known) -> Outcome {
    let alone = attackers.iter().filter_map(|attacker| attacker.clone().against(n)).flat_map(|attacker| {
        let mut outcome = Outcome::default();
        outcome.add(&attacker, n, mistake, known);
        outcome.noticed
    });
    Outcome { noticed: alone.collect(), ..Outcome::default() }
}

impl Outcome {
    /// What an attacker notices, after all the time so far.
    fn add(&mut self, attacker: &Attacker, n: u32, mistake: &Mistake, known: &Known) {
        let (took, how) = known.or_attack(mistake, attacker.name, attacker.narrowed, || {
            let begun = Instant::now();
            let how = attacker.attack(n, attacker.patience(), None);
            (begun.elapsed(), how)
        });
        self.took += took;
        let noticed = how.map(|how| Noticed { by: attacker.name, how, after: self.took });
        match attacker.name {
            PRINTS => self.printed = noticed,
            _ => self.noticed.extend(noticed),
        }
    }
}

impl Attacker {
    /// Whether it is one of those that are compared with each other.
    pub fn is_protocol(&self) -> bool {
        PROTOCOLS.iter().any(|(name, _)| *name == self.name)
    }

    /// The attacker, if it comes to a mistake: of a test program, the tests that do. All of it where that is not known.
    fn against(mut self, n: u32) -> Option<Self> {
        let Some(reached) = self.reached.as_ref().filter(|_| !self.narrowed) else { return Some(self) };
        let who = reached.by(n)?;
        if self.is_test() && !who.others {
            let exactly = (self.name != FILES && self.name != PRINTS).then(|| "--exact".to_string());
            self.args = exactly.into_iter().chain(who.tests.iter().cloned()).collect();
        }
        Some(self)
    }

    /// The attacker with one of its tests alone, if one is named.
    fn narrowed(mut self, test: Option<&str>) -> Self {
        if let Some(test) = test.filter(|_| self.is_test()) {
            self.args = vec![test.to_string()];
        }
        Self { narrowed: true, ..self }
    }

    fn is_test(&self) -> bool {
        TESTS.iter().any(|t| t.name == self.name)
    }

    /// How much of a processor's time it may take before it counts as hanging: others may work on the machine, and threads count each.
    fn patience(&self) -> Duration {
        Duration::from_secs(20) + 5 * self.took
    }

    /// Runs with this mistake made; what was noticed. Who waits for nothing hangs too, after a time by the clock that is longer. Where no
    /// mistake is made, it is noted which are come to.
    fn attack(&self, n: u32, patience: Duration, notes: Option<&Path>) -> Option<String> {
        let said = std::env::temp_dir().join(format!(
            "fiberloom-mutant-{}-{n}-{}",
            std::process::id(),
            self.name.replace(' ', "-")
        ));
        let file = File::create(&said).expect("there is room for what an attacker says");
        let mut command = Command::new("sh");
        let seconds = patience.as_secs();
        let limits = format!("ulimit -c 0; ulimit -v {MEMORY}; ulimit -t {seconds}; exec \"$0\" \"$@\"");
        command.arg("-c").arg(limits).arg(&self.program).args(&self.args).current_dir(&self.folder);
        command.env(SWITCH, n.to_string()).env("RUST_TEST_THREADS", "1").envs(INCREMENTAL);
        command.envs(notes.map(|notes| (NOTES, notes)));
        // As a process of its own, whose arguments say which file test it is.
        command.env(COMMAND, Path::new(BUILT).canonicalize().unwrap_or_default().join("release/fiberloom"));
        command.env(COMPARED, if self.name == PRINTS { "alone" } else { "without" });
        command.stdin(Stdio::null()).stdout(file).stderr(Stdio::null());
        let mut child = command.spawn().expect("an attacker starts");
        let (begun, mut looked) = (Instant::now(), Instant::now());
        let read =
            || std::fs::read(&said).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child can be waited for") {
                break Some(status);
            }
            // One test that fails is enough; the others are not waited for.
            let failed = looked.elapsed() > LOOK && finding(&read()).is_some();
            if failed || begun.elapsed() > 6 * patience {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
            looked = if looked.elapsed() > LOOK { Instant::now() } else { looked };
            std::thread::sleep(Duration::from_millis(5));
        };
        let text = read();
        let _ = std::fs::remove_file(&said);
        match status {
            Some(status) if status.success() => None,
            Some(status) if status.signal() == Some(OUT_OF_TIME) => Some(HANGS.to_string()),
            None => Some(finding(&text).unwrap_or_else(|| HANGS.to_string())),
            Some(status) => Some(finding(&text).unwrap_or_else(|| format!("{DIES}: {status}"))),
        }
    }
}

/// The first finding of a campaign, or failure of a test, that was printed.
fn finding(said: &str) -> Option<String> {
    said.lines().find_map(|line| {
        let found = line.strip_prefix("=== ").and_then(|found| found.split(':').next());
        let failed = line.strip_prefix("test ").and_then(|test| test.strip_suffix(" ... FAILED"));
        found.or(failed).map(str::to_string)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_read() {
        let campaign = "3 programs, 1 findings\n\n=== answer: 1 found, the first of seed 3\n`R0` …";
        assert_eq!(finding(campaign).as_deref(), Some("answer"));
        assert_eq!(finding("test a ... ok\ntest stream::b ... FAILED\n").as_deref(), Some("stream::b"));
        assert_eq!(finding("test a ... ok\n"), None);
    }

    fn attacker(name: &'static str, reached: &str) -> Attacker {
        let reached = Some(Arc::new(Reached::of(reached)));
        let args = vec!["all".to_string()];
        let (program, folder) = (PathBuf::new(), PathBuf::new());
        Attacker { name, program, args, folder, took: Duration::ZERO, reached, narrowed: false }
    }

    #[test]
    fn who_does_not_come_to_a_mistake_is_not_asked() {
        assert!(attacker("laws", "17\ta::b\n").against(5).is_none());
        assert_eq!(attacker("laws", "17\ta::b\n17\tc\n").against(17).unwrap().args, ["--exact", "a::b", "c"]);
        assert_eq!(attacker(FILES, "17\ttests/loops/a.loom\n").against(17).unwrap().args, ["tests/loops/a.loom"]);
        assert_eq!(attacker("laws", "17\ta::b\n17\t\n").against(17).unwrap().args, ["all"]);
        assert_eq!(attacker("loops", "17\tworker\n").against(17).unwrap().args, ["all"]);
    }

    #[test]
    fn who_noticed_last_is_asked_that_test_alone() {
        assert_eq!(attacker("laws", "").narrowed(Some("a::b")).args, ["a::b"]);
        assert_eq!(attacker("laws", "").narrowed(None).args, ["all"]);
        assert_eq!(attacker("loops", "").narrowed(Some("answer")).args, ["all"]);
    }

    #[test]
    fn test_programs_are_made_of_their_files() {
        assert_eq!(made_of(Path::new("codegen/tests/among.rs")), ["lanes' tests"]);
        assert_eq!(made_of(Path::new("fiberloom/tests/table_files.rs")), ["table files' tests"]);
        assert_eq!(made_of(Path::new("passes/tests/check.rs")), ["passes' tests", "checker's tests"]);
        assert_eq!(made_of(Path::new("fuzz/check/tests/rewrites.rs")), ["rewrites' tests"]);
        assert_eq!(made_of(Path::new("loops/tests/loops/stream/merge.rs")), ["loops' tests"]);
        assert_eq!(made_of(Path::new("loops/tests/loops/rewrites/blocks.rs")), ["loops' tests", LOOPS_PRINTS]);
        assert_eq!(made_of(Path::new("codegen/tests/common/mod.rs")), [""; 0]);
        assert_eq!(made_of(Path::new("core/src/lib.rs")), [""; 0]);
    }

    /// Whatever the stage of a mistake is, everybody is asked before it counts as not noticed.
    #[test]
    fn everybody_is_asked() {
        let there: BTreeSet<&str> =
            CAMPAIGNS.iter().map(|(name, _)| *name).chain(TESTS.iter().map(|t| t.name)).collect();
        let of_any = ORDER.iter().filter(|(stage, _)| stage.is_empty());
        let asked: BTreeSet<&str> = of_any.flat_map(|(_, names)| *names).copied().collect();
        assert_eq!(there.difference(&asked).collect::<Vec<_>>(), [&""; 0], "nobody asks them");
        let named: BTreeSet<&str> = ORDER.iter().flat_map(|(_, names)| *names).copied().collect();
        assert_eq!(named.difference(&there).collect::<Vec<_>>(), [&""; 0], "there is nobody of that name");
    }

    /// The test that is said to be for a mistake is one.
    #[test]
    fn tests_of_mistakes_are_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands in the repository");
        for mistake in super::super::list::read(&root.join(super::super::LISTS)).unwrap() {
            let Some((by, test)) = &mistake.test else { continue };
            assert!(TESTS.iter().any(|t| t.name == by), "{}: nobody is called {by}", mistake.name);
            let file = root.join(format!("tests/{test}.loom"));
            assert!(by != FILES || file.exists(), "{}: there is no {}", mistake.name, file.display());
        }
    }

    #[test]
    fn test_programs_are_found_in_cargos_messages() {
        let line = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/copy/proofs#fiberloom-proofs@0.1.0","target":{"name":"fiberloom_proofs","test":true},"profile":{"opt_level":"3","test":true},"executable":"/w/deps/p-1"}"#;
        let found = executable(line, "fiberloom-proofs", "fiberloom_proofs");
        assert_eq!(found, Some(PathBuf::from("/w/deps/p-1")));
        assert_eq!(executable(line, "fiberloom-core", "fiberloom_core"), None);
        let library = line.replace(r#""opt_level":"3","test":true"#, r#""opt_level":"3","test":false"#);
        assert_eq!(executable(&library, "fiberloom-proofs", "fiberloom_proofs"), None);
        let command = line.replace(r#""target":{"#, r#""target":{"kind":["bin"],"#);
        assert_eq!(executable(&command, "fiberloom-proofs", "fiberloom_proofs"), None);
    }
}
