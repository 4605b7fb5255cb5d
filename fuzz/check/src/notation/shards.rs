//! Programs in boxes, merged, against the meaning of the whole.
//!
//! ```text
//!  bytes ─┬ whole: a case, a program of the whole language, or one on long data
//!         └ over:  one to three of its index variables, each cut at up to three coordinates, some twice or at an end
//!  ─▶ Shards::plan ─▶ refused, by the name of a rule, or run and merged = ⟦whole⟧
//! ```
//!
//! The expected side is the reference semantics of the whole program, which knows nothing of boxes.

use super::case::case;
use super::engines::{self, Engine, Finding, Outcome, Stop};
use super::shrink::shrink;
use super::subject::{Operands, Subject};
use super::work::{Stage, Work};
use arbitrary::Unstructured;
use fiberloom::shards::{Cuts, Serial, Shards, Threads};
use fiberloom::{Error, Program, Tensor, Value};
use fiberloom_core::algebra::Mode;
use fiberloom_core::format::{Assembly, Entries};
use fiberloom_core::notation::typed::{self, SizeId};
use fiberloom_core::shape::Extents;
use fiberloom_loops::Options;
use fiberloom_semantics::meaning::{self, Function, Limits, Refusal};
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::num::NonZeroUsize;

/// What is said of each rule that refuses a split, and what the rule is called here.
pub const RULES: [(&str, &str); 24] = [
    ("a block takes tensors", "refused: a block"),
    ("as more than itself", "refused: an index that is not bare"),
    ("is a function of its value", "refused: a tensor that a function gives"),
    ("two indices of", "refused: a diagonal on the left side"),
    ("a slice on the left side", "refused: a slice on the left side"),
    ("its value is read", "refused: a value"),
    ("takes its coordinates to others", "refused: a shape operator"),
    ("would be cut for one access", "refused: an operand that is cut for one access only"),
    ("would read one another's part", "refused: boxes that read one another"),
    ("are cut in different modes", "refused: locals of one name"),
    ("is read before all boxes", "refused: a fold that is read"),
    ("nothing says how long a box is", "refused: nothing says how long a box is"),
    ("another statement defines", "refused: a fold and another statement"),
    ("ends with its box", "refused: a local fold"),
    ("a part of", "refused: a part that is folded"),
    ("this is not folded over it", "refused: a term beside a fold"),
    ("has a start", "refused: a fold with a start"),
    ("stands below", "refused: a fold below something"),
    ("in order", "refused: an ordered fold"),
    ("is not associative", "refused: not associative"),
    ("has no identity", "refused: no identity"),
    ("is not commutative", "refused: not commutative"),
    ("is not what it held", "refused: an identity that changes a value"),
    ("there are two, of extents", "refused: two variables of one name"),
];

/// Index variables by name, and where each is cut: beyond its extent means at it.
type Over = Vec<(String, Vec<u64>)>;

/// A program, its data, and how it is split.
#[derive(Clone, Debug)]
pub struct Sharded<S> {
    /// What is split.
    whole: S,
    /// Along what it is split.
    over: Over,
    /// How many threads run boxes; 0: none but this one.
    threads: usize,
    /// Words for what its splits are like.
    words: Vec<String>,
}

/// The program of these bytes in boxes.
///
/// # Panics
/// If they do not give the meaning's answer: with the program, shrunk.
pub fn attack(bytes: &[u8], engine: Engine) {
    let sharded = Sharded::any(&mut Unstructured::new(bytes), case);
    if let Err(finding) = sharded.run_on(engine, &[]) {
        let (sharded, finding) = shrink(sharded, finding, engine);
        panic!("{}: {}\n{sharded}\n{}", finding.kind, finding.what, sharded.data())
    }
}

/// Numbers from a seed.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 32) * n.max(1)) >> 32
    }
}

impl<S: Subject> Sharded<S> {
    /// A program that `make` draws, with splits of its own.
    pub fn any<'b>(u: &mut Unstructured<'b>, make: impl FnOnce(&mut Unstructured<'b>) -> S) -> Sharded<S> {
        let mut draws = Draws(u.arbitrary().unwrap_or(0));
        let whole = make(u);
        let (over, words) = over(&whole, &mut draws).unwrap_or_default();
        Sharded { whole, over, threads: [0, 0, 2][draws.below(3) as usize], words }
    }

    /// The splits as a plan takes them.
    fn cuts(&self, typed: &typed::Program, extents: &Extents) -> Vec<(&str, Cuts)> {
        let split = |(name, at): &'_ (String, Vec<u64>)| {
            let extent = extent(typed, extents, name);
            Cuts::At(at.iter().map(|c| (*c).min(extent)).collect())
        };
        self.over.iter().map(|of| (of.0.as_str(), split(of))).collect()
    }
}

/// The extent of the first index variable of a name.
fn extent(typed: &typed::Program, extents: &Extents, name: &str) -> u64 {
    typed.vars.iter().position(|v| v.name == name).map_or(0, |v| extents.vars[v])
}

/// Which index variables are split, and where, and words for that; `None` of a program that has no meaning.
fn over(whole: &impl Subject, draws: &mut Draws) -> Option<(Over, Vec<String>)> {
    let typed = engines::checked(whole, false).ok()?;
    let operands = whole.operands(&typed)?;
    let typed = typed.with_sizes(&whole.sizes(&typed));
    let extents = engines::solved(&typed, &operands).ok()?;
    let mut names: Vec<&str> = typed.vars.iter().map(|v| v.name.as_str()).collect();
    names.sort();
    names.dedup();
    // Most others are refused.
    let likely: Vec<&str> = names.iter().copied().filter(|name| is_likely(&typed, &extents, &operands, name)).collect();
    if !likely.is_empty() && draws.below(8) > 0 {
        names = likely;
    }
    let (mut over, mut words) = (vec![], vec![format!("{:?}", whole.mode())]);
    for _ in 0..[1, 1, 2, 3][draws.below(4) as usize] {
        if names.is_empty() {
            break;
        }
        let name = names.remove(draws.below(names.len() as u64) as usize);
        let extent = extent(&typed, &extents, name);
        let count = [1, 2, 1, 3, 0][draws.below(5) as usize];
        let mut at: Vec<u64> = (0..count).map(|_| cut(extent, &operands, draws)).collect();
        at.sort();
        words.extend(described(&typed, name, &at, extent));
        over.push((name.to_string(), at));
    }
    words.push(format!("splits {}", over.len()));
    Some((over, words))
}

/// Whether the variables of a name have one extent, are bare indices of operands, and their values are not read.
fn is_likely(typed: &typed::Program, extents: &Extents, operands: &Operands, name: &str) -> bool {
    let is = |v: &typed::VarId| typed.vars[v.index()].name == name;
    let alone = |v: usize| typed.vars[v].name != name || extents.vars[v] == extent(typed, extents, name);
    let (mut given, mut read) = (false, false);
    for s in &typed.statements {
        s.accesses(&mut |t, indices, _| {
            let bare = indices.iter().filter_map(typed::Index::bare).any(|v| is(&v));
            given |= bare && operands.contains_key(&typed.tensors[t.index()].name);
        });
        s.rhs.walk(&mut |e| read |= matches!(&e.kind, typed::Kind::Index(v) if is(v)));
    }
    given && !read && (0..typed.vars.len()).all(alone)
}

/// A coordinate to cut at: any, or beside one that some operand has an entry at.
fn cut(extent: u64, operands: &Operands, draws: &mut Draws) -> u64 {
    if extent < 64 {
        return draws.below(extent + 1);
    }
    let stored: Vec<u64> = operands
        .values()
        .filter_map(|tensor| tensor.stored_entries().ok())
        .flat_map(|entries| entries.coordinates.into_iter().flat_map(|column| column.into_iter().step_by(7)))
        .map(|c| c as u64)
        .filter(|c| *c < extent)
        .collect();
    match draws.below(4) {
        0 => [0, extent, extent - 1, extent.min(1 << 32)][draws.below(4) as usize],
        1 | 2 if !stored.is_empty() => stored[draws.below(stored.len() as u64) as usize] + draws.below(2),
        _ => draws.below(extent.min(u32::MAX.into())) * (extent >> 32).max(1),
    }
}

impl<S: Subject> Display for Sharded<S> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.over.iter().try_for_each(|(name, at)| writeln!(f, "# {name} is cut at {at:?}"))?;
        write!(f, "{}", self.whole)
    }
}

impl<S: Subject + Clone> Subject for Sharded<S> {
    fn mode(&self) -> Mode {
        self.whole.mode()
    }

    fn options(&self, typed: &typed::Program) -> Options {
        self.whole.options(typed)
    }

    fn limits(&self) -> Limits {
        self.whole.limits()
    }

    fn is_long(&self) -> bool {
        self.whole.is_long()
    }

    fn operands(&self, typed: &typed::Program) -> Option<Operands> {
        self.whole.operands(typed)
    }

    fn shortened(&self, _extent: u64) -> Option<Self> {
        None
    }

    fn redrawn(&self, u: &mut Unstructured) -> Self {
        Sharded { whole: self.whole.redrawn(u), ..self.clone() }
    }

    fn left_out(&self, kind: &str, words: &str) -> Option<&'static str> {
        self.whole.left_out(kind, words)
    }

    fn smaller(&self) -> Vec<Self> {
        let mut all: Vec<Self> = vec![];
        for n in 0..self.over.len() {
            let mut fewer = self.clone();
            fewer.over.remove(n);
            all.extend((!fewer.over.is_empty()).then_some(fewer));
            for k in 0..self.over[n].1.len() {
                let mut fewer = self.clone();
                fewer.over[n].1.remove(k);
                all.push(fewer);
            }
        }
        if self.threads > 0 {
            all.push(Sharded { threads: 0, ..self.clone() });
        }
        all.extend(self.whole.smaller().into_iter().map(|whole| Sharded { whole, ..self.clone() }));
        all
    }

    fn constructs(&self) -> Vec<String> {
        let mut all: Vec<String> = self.whole.constructs();
        all.extend(self.words.iter().cloned());
        all
    }

    fn data(&self) -> String {
        self.whole.data()
    }

    fn run_on(&self, engine: Engine, others: &[u64]) -> Result<Outcome, Finding> {
        engines::guarded(&mut |draw| {
            let mut work = Work::default();
            in_boxes(self, engine, &mut work)?;
            for seed in others {
                *draw += 1;
                match in_boxes(&engines::on_other_data(self, *seed), engine, &mut work) {
                    Ok(()) | Err(Stop::Left(_)) => {}
                    Err(stop) => return Err(stop),
                }
            }
            Ok(work)
        })
    }
}

/// Words for what a split is like.
fn described(typed: &typed::Program, name: &str, at: &[u64], extent: u64) -> Vec<String> {
    let ends = [&[0], at, &[extent]].concat();
    let lengths: Vec<u64> = ends.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    let is = |v: &typed::VarId| typed.vars[v.index()].name == name;
    let is_free = |s: &typed::Statement| s.indices.iter().filter_map(typed::Index::bare).any(|v| is(&v));
    let is_folded = |s: &typed::Statement| {
        let mut found = !is_free(s) && s.vars.iter().chain(&s.folded).any(is);
        s.rhs.walk(&mut |e| found |= matches!(&e.kind, typed::Kind::Reduce { vars, .. } if vars.iter().any(is)));
        found
    };
    let words = [
        (typed.statements.iter().any(is_free), "a split that is free"),
        (typed.statements.iter().any(is_folded), "a split that is folded"),
        (lengths.contains(&0), "a box that is empty"),
        (lengths.contains(&1), "a box of one"),
        (extent > 1 << 32, "an extent beyond 32 bits"),
    ];
    let held = words.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word.to_string());
    held.chain([format!("boxes along a split {}", lengths.len())]).collect()
}

/// Runs a program in boxes on its data, and compares.
fn in_boxes<S: Subject>(sharded: &Sharded<S>, engine: Engine, work: &mut Work) -> Result<(), Stop> {
    let subject = &sharded.whole;
    let typed = work.time(Stage::Check, || engines::checked(subject, false))?;
    let Some(operands) = subject.operands(&typed) else { return Err(Stop::Left("no data")) };
    let sizes = subject.sizes(&typed);
    let typed = typed.with_sizes(&sizes);
    let extents = engines::solved(&typed, &operands).map_err(|words| engines::refused(subject, "extents", words))?;
    if sharded.over.is_empty() {
        return Err(Stop::Left("no index variable"));
    }
    let (mode, limits) = (subject.mode(), subject.limits());
    let evaluate = if subject.is_long() { meaning::evaluate_stored } else { meaning::evaluate };
    let meant = match work.time(Stage::Meaning, || evaluate(&typed, &operands, mode, &limits)) {
        Err(Refusal::Turns) => return Err(Stop::Left("too many turns")),
        meant => meant.map_err(|e| engines::refused(subject, "meaning", format!("{e:?}")))?,
    };
    let options = options(subject, engine);
    let program = Program::parse(&subject.to_string()).map_err(|e| Finding::new("library", e))?;
    let said = |(size, value): &(SizeId, u64)| {
        let name = typed.sizes[size.index()].name.clone().unwrap_or_default();
        (name, Tensor::scalar(Value::i64(*value as i64)))
    };
    let said: Vec<(String, Tensor)> = sizes.iter().map(said).collect();
    let given = operands.iter().chain(said.iter().map(|(name, tensor)| (name, tensor)));
    let given: Vec<_> = given.map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let cuts = sharded.cuts(&typed, &extents);
    let planned = work.time(Stage::Lower, || Shards::plan(&program, &options, &given, &cuts));
    let shards = planned.map_err(|error| not_planned(subject, &error))?;
    work.kernels += 1;
    let ran = work.time(Stage::Run, || match NonZeroUsize::new(sharded.threads) {
        None => shards.run(&Serial),
        Some(threads) => shards.run(&Threads(threads)),
    });
    match engine {
        Engine::Llvm(levels) => work.code(levels[0]).executions += shards.boxes().len() as u64,
        _ => work.interpreted += shards.boxes().len() as u64,
    }
    match ran {
        Ok(outcome) => work.time(Stage::Compare, || agrees(&typed, &outcome.results, &meant, mode)),
        Err(error) => not_run(subject, &typed, &meant, error),
    }
}

/// How the library runs a program.
fn options(subject: &impl Subject, engine: Engine) -> fiberloom::Options {
    let engine = match engine {
        Engine::Llvm(_) => fiberloom::Engine::Llvm,
        Engine::Meaning => fiberloom::Engine::Meaning,
        Engine::Ptx => fiberloom::Engine::Ptx,
        Engine::Loops | Engine::Rewrites => fiberloom::Engine::Loops,
    };
    let limits = subject.machine_limits();
    let (memory, steps) = (limits.memory, limits.steps);
    fiberloom::Options { engine, mode: subject.mode(), verify: true, memory, steps }
}

/// Why there is no plan: a rule, or a finding.
fn not_planned(subject: &impl Subject, error: &Error) -> Stop {
    let words = error.to_string();
    if let Error::Program { diagnostics, .. } = error
        && let Some(refused) = diagnostics.iter().find(|d| d.message.contains("is not split: "))
    {
        let rule = RULES.iter().find(|(says, _)| refused.message.contains(says));
        let named = rule.filter(|_| refused.help.is_some()).map(|(_, name)| Stop::Left(name));
        return named.unwrap_or_else(|| Finding::new("a rule without a name", words).into());
    }
    engines::refused(subject, "plan", words)
}

/// Whether boxes may stop where the whole has a meaning: at a limit that it has too, or where a result has no place for it.
fn not_run(
    subject: &impl Subject,
    typed: &typed::Program,
    meant: &BTreeMap<String, Function>,
    error: Error,
) -> Result<(), Stop> {
    match &error {
        Error::Stopped(words) if subject.is_long() => {
            let why = ["step", "memory", "63 bits"].into_iter().any(|word| words.contains(word));
            if why { Err(Stop::Left("a limit is reached")) } else { Err(Finding::new("stopped", error).into()) }
        }
        Error::Operand { tensor, what, .. } if what.contains("do not fit its format") => {
            let declared = typed.tensors.iter().find(|t| t.name == *tensor).and_then(|t| t.format.as_ref());
            let (Some(format), Some(f)) = (declared, meant.get(tensor)) else {
                return Err(Finding::new("refused result", error).into());
            };
            let entries = f.entries.iter().map(|(at, number)| (at.clone(), number.value));
            let how = Assembly { rounded: subject.mode() == Mode::Algebraic, ..Assembly::default() };
            let entries = Entries::of(f.extents.len(), f.ty, entries).expect("a function's entries");
            let exact = f.entries.values().chain([&f.fill]).all(|n| n.error() == 0.0);
            match entries.assemble(&f.extents, format, f.fill.value, &how) {
                Ok(_) if exact || subject.mode() == Mode::Strict => Err(Finding::new("refused result", error).into()),
                _ => Err(Stop::Left("a result that its format has no place for")),
            }
        }
        _ => Err(Finding::new("boxes", error).into()),
    }
}

/// Whether all results are the meaning's, in the formats that are declared.
fn agrees(
    typed: &typed::Program,
    results: &engines::Results,
    meant: &BTreeMap<String, Function>,
    mode: Mode,
) -> Result<(), Stop> {
    if results.len() != meant.len() {
        return Err(Finding::new("results", format!("{} of {}", results.len(), meant.len())).into());
    }
    for (name, tensor) in results {
        engines::answers(name, tensor, meant, mode)?;
        let declared = typed.tensors.iter().find(|t| t.name == *name && t.role == typed::Role::Result);
        if let Some(format) = declared.and_then(|t| t.format.as_ref())
            && *format != tensor.format
        {
            return Err(Finding::new("format", format!("`{name}` is {}, declared as {format}", tensor.format)).into());
        }
    }
    Ok(())
}
