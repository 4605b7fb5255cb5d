//! Programs whose operations grow as what they are given and what they give does.
//!
//! ```text
//!  bytes ─┬ a statement that lists cover (growth/statement.rs), so that some way to compute it takes time that entries take
//!         └ a format for each operand, and for the result, or none
//!  ─▶ run on the interpreter at an extent, at twice, and if that is suspicious at four times it, with a few entries a row
//!  ─▶ a finding, if operations grow faster than the extent to the power of 1.3, and entries do not
//!         or if there are over 20 times as many as with other formats; or if answers differ
//! ```
//!
//! Operations are counted, not timed, so that a finding is one on every machine.

mod draw;
mod statement;

use super::engines::{self, Engine, Finding, Outcome, Stop};
use super::long::data::Random;
use super::subject::{Operands, Subject};
use super::work::{Stage, Work};
use arbitrary::Unstructured;
use fiberloom::{Error, Format, Kernel, Mode, Program, Tensor, Type, Value};
use fiberloom_core::notation::typed;
use fiberloom_loops::Options;
use statement::Statement;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// The least extent at which a program runs.
const LEAST: u64 = 128;

/// The greatest exponent of operations in the extent: a little above that of a sort.
const EXPONENT: f64 = 1.3;

/// The greatest exponent of what is stored of a program that is held to this: others give a square.
const LINEAR: f64 = 1.15;

/// How often as many operations as with other formats are too many.
const CLIFF: f64 = 20.0;

/// Steps of one run: far more than a square takes.
const STEPS: u64 = 12_000_000;

/// The coordinates of the short variable.
const SHORT: u64 = 8;

/// Sparse tensors by name: how many modes, and which formats they may have.
const SPARSE: [(&str, usize, &[&str]); 6] = [
    ("A", 2, &draw::MATRICES),
    ("B", 2, &draw::MATRICES),
    ("C", 2, &draw::MATRICES),
    ("T", 3, &draw::TREES),
    ("S", 3, &draw::TREES),
    ("v", 1, &draw::VECTORS),
];

/// Dense ones: their type and sizes.
const DENSE: [(&str, &str); 6] =
    [("x", "f64[N]"), ("z", "f64[N]"), ("p", "i64[N]"), ("q", "i64[N]"), ("g", "i64[N]"), ("U", "f64[N,M]")];

/// A program, and what its data are drawn from.
#[derive(Clone, Debug)]
pub struct Grown {
    statement: Statement,
    formats: BTreeMap<&'static str, &'static str>,
    /// The result's format, if it is declared.
    result: Option<&'static str>,
    data: Data,
}

/// What a run took and gave.
struct Run {
    operations: f64,
    /// Elements of the arrays of operands and results.
    stored: f64,
    result: Tensor<'static>,
}

/// A program as text, and what its data are drawn from.
struct Counted<'t> {
    text: &'t str,
    data: &'t Data,
}

/// What data are drawn from.
#[derive(Clone, Debug, Default)]
struct Data {
    seed: u64,
    /// The matrices whose entries are near the diagonal.
    near: Vec<&'static str>,
}

/// Holds a program over tensors of the names that this walk has to the growth of what it stores.
///
/// # Errors
/// The finding: a square, or a refusal.
pub fn hold(text: &str) -> Result<Outcome, Finding> {
    engines::guarded(&mut |_| {
        let mut work = Work::default();
        Counted { text, data: &Data::default() }.grows(&mut work)?;
        Ok(work)
    })
}

impl Counted<'_> {
    /// Counts at twice the least extent, or at four times if operations grew faster than what is stored until then: the extent, and the run.
    fn grows(&self, work: &mut Work) -> Result<(u64, Run), Stop> {
        let kernel = self.kernel(work)?;
        let mut runs = vec![self.run(&kernel, LEAST, work)?];
        if elements(&runs[0].result) as u64 > LEAST * LEAST / 4 {
            return Err(Stop::Left("a result that is full"));
        }
        for n in [2 * LEAST, 4 * LEAST] {
            let run = self.run(&kernel, n, work)?;
            let is_suspicious = runs.last().is_some_and(|before| before.is_outgrown(&run));
            runs.push(run);
            if !is_suspicious {
                return Ok((n, runs.pop().expect("it ran")));
            }
        }
        let counts: Vec<f64> = runs.iter().map(|run| run.operations).collect();
        let stored = runs.last().map_or(0.0, |run| run.stored);
        Err(Finding::new("square", format!("{counts:?} operations, {stored} elements stored")).into())
    }

    fn kernel(&self, work: &mut Work) -> Result<Kernel, Stop> {
        let options = fiberloom::Options { engine: fiberloom::Engine::Loops, steps: STEPS, ..Default::default() };
        work.kernels += 1;
        let made = work.time(Stage::Lower, || Program::parse(self.text).and_then(|p| p.compile(&options)));
        made.map_err(refused)
    }

    /// Runs it at an extent.
    fn run(&self, kernel: &Kernel, n: u64, work: &mut Work) -> Result<Run, Stop> {
        let given = self.data.given(kernel.program(), n);
        let operands: Vec<(&str, &Tensor)> = given.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        let mut outcome = work.time(Stage::Run, || kernel.run(&operands)).map_err(refused)?;
        let total = outcome.ops.iter().flatten().find(|(name, _)| *name == "total").expect("operations are counted").1;
        work.interpreted += 1;
        work.ops += total;
        let result = outcome.take("R").expect("it is the result");
        let stored = given.values().chain([&result]).map(elements).sum::<usize>() as f64;
        Ok(Run { operations: total as f64, stored, result })
    }
}

impl Run {
    /// Whether operations grew faster to another run, at twice the extent, than what is stored.
    fn is_outgrown(&self, other: &Run) -> bool {
        let operations = (other.operations / self.operations).log2();
        operations > EXPONENT && (other.stored / self.stored).log2() < LINEAR
    }
}

/// What a program is refused for. One is left out in which a condition alone has some variable: it has no extent.
fn refused(error: Error) -> Stop {
    let words = error.to_string();
    if words.contains("the extent of index variable") || words.contains("unknown name") {
        return Stop::Left("a variable without an extent");
    }
    Finding::new(if words.contains("steps") { "steps" } else { "refusal" }, words).into()
}

impl Grown {
    /// The program of these bytes.
    pub fn any(u: &mut Unstructured) -> Grown {
        let mut random = Random::new(u.arbitrary().unwrap_or(0));
        let declared = random.below(3) > 0;
        let statement = draw::statement(&mut random, declared);
        let formats: BTreeMap<_, _> = SPARSE.iter().map(|(name, _, formats)| (*name, random.one(formats))).collect();
        let is_near = |format: &str| ["band", "runs", "packbits"].iter().any(|level| format.contains(level));
        let near = formats.iter().filter(|(_, format)| is_near(format)).map(|(name, _)| *name).collect();
        let result = declared.then(|| match statement.left.len() {
            0 => "",
            1 => random.one(&["dense", "dense", "sparse"]),
            2 if statement.left.contains(&statement::SHORT) => "dense",
            2 => random.one(&draw::RESULTS),
            _ => random.one(&["csf", "coo", "{dense, compressed, compressed}", "csf order(2, 1, 0)"]),
        });
        Grown { statement, formats, result, data: Data { seed: random.below(1 << 32), near } }
    }

    /// The same with everything in one format, and the result in that or what its declaration says.
    fn plain(&self, matrix: &'static str, tree: &'static str) -> Grown {
        let formats = SPARSE.iter().map(|(name, rank, _)| (*name, ["sparse", matrix, tree][rank - 1]));
        let result = self.result.map(|own| match self.statement.left.len() {
            2 if own != "dense" => matrix,
            _ => own,
        });
        Grown { formats: formats.collect(), result, ..self.clone() }
    }

    /// Holds its operations to what is stored, and to those with other formats.
    fn compared(&self, work: &mut Work) -> Result<(), Stop> {
        let (n, own) = Counted { text: &self.to_string(), data: &self.data }.grows(work)?;
        for (matrix, tree) in [("csr", "csf"), ("csc", "csf"), ("coo", "coo")] {
            let other = self.plain(matrix, tree).to_string();
            let counted = Counted { text: &other, data: &self.data };
            let run = counted.run(&counted.kernel(work)?, n, work)?;
            let alike = work.time(Stage::Compare, || alike(&own.result, &run.result));
            alike.map_err(|at| Finding::new("answers differ", format!("{at} with\n{other}")))?;
            let often = own.operations / run.operations / (own.stored / run.stored).max(1.0);
            if often > CLIFF {
                let what = format!(
                    "{often:.0} times the operations, for what is stored: {}, and {} of\n{other}",
                    own.operations, run.operations
                );
                return Err(Finding::new("cliff", what).into());
            }
        }
        Ok(())
    }
}

impl Data {
    /// Operands of an extent, in the formats that a program says.
    fn given(&self, program: &Program, n: u64) -> Operands {
        let mut random = Random::new(self.seed);
        let mut all = Operands::new();
        let is_given = |name: &str| program.tensor(name).is_some();
        for (name, rank, _) in SPARSE.iter().filter(|(name, ..)| is_given(name)) {
            let at = if self.near.contains(name) { around(n) } else { scattered(*rank, n, &mut random) };
            let entries = at.into_iter().map(|at| (at, Value::from_f64(Type::F64, random.below(4) as f64 + 1.0)));
            all.insert(name.to_string(), made(program, name, vec![n; *rank], entries.collect()));
        }
        for (name, _) in DENSE.iter().filter(|(name, _)| is_given(name)) {
            let columns = (*name == "U").then_some(SHORT);
            let at = (0..n as i64).flat_map(|i| match columns {
                Some(m) => (0..m as i64).map(|j| vec![i, j]).collect(),
                None => vec![vec![i]],
            });
            let value = |at: &[i64]| match *name {
                "p" => Value::i64((at[0] * 7 + 3) % n as i64),
                "q" => Value::i64((n as i64 - 1 - at[0]) ^ 1),
                "g" => Value::i64(at[0] * 5 % (n as i64 / 8)),
                _ => Value::from_f64(Type::F64, (at.iter().sum::<i64>() % 4 + 1) as f64),
            };
            let entries = at.map(|at| (at.clone(), value(&at))).collect();
            all.insert(name.to_string(), made(program, name, [n].into_iter().chain(columns).collect(), entries));
        }
        all
    }
}

/// The format that a program declares.
fn format(program: &Program, name: &str) -> Format {
    program.tensor(name).and_then(|(_, declared)| declared.format.clone()).expect("it is declared")
}

/// A tensor in the format that the program declares.
fn made(program: &Program, name: &str, extents: Vec<u64>, entries: Vec<(Vec<i64>, Value)>) -> Tensor<'static> {
    let (_, declared) = program.tensor(name).expect("it is declared");
    let fill = Value::zero(declared.ty);
    let made = Tensor::from_entries(extents, format(program, name), fill, Type::I64, Type::I64, entries);
    made.expect("entries are within the extents")
}

/// Four coordinates for each of the first mode, at most.
fn scattered(rank: usize, n: u64, random: &mut Random) -> Vec<Vec<i64>> {
    let rows = (0..n).flat_map(|i| [i; 4]).filter(|i| rank > 1 || i % 5 == 0);
    let mut all: Vec<Vec<i64>> =
        rows.map(|i| [i].into_iter().chain((1..rank).map(|_| random.below(n))).map(|c| c as i64).collect()).collect();
    all.sort();
    all.dedup();
    all
}

/// Three coordinates a row around the diagonal.
fn around(n: u64) -> Vec<Vec<i64>> {
    let n = n as i64;
    (0..n).flat_map(|i| ((i - 1).max(0)..(i + 2).min(n)).map(move |j| vec![i, j])).collect()
}

/// Whether a statement reads a tensor.
fn reads(text: &str, name: &str) -> bool {
    text.contains(&format!("{name}["))
}

/// The elements of a tensor's arrays.
fn elements(tensor: &Tensor) -> usize {
    let levels = tensor.levels.iter().flat_map(|level| level.arrays()).map(|array| array.len()).sum::<usize>();
    levels + tensor.values.len()
}

/// That two results hold the same, but for rounding.
fn alike(a: &Tensor, b: &Tensor) -> Result<(), String> {
    let entries = |t: &Tensor| t.entries().map(|(at, x)| (at, x.as_f64())).collect::<BTreeMap<Vec<i64>, f64>>();
    let (left, right) = (entries(a), entries(b));
    let far = |x: f64, y: f64| (x - y).abs() > 1e-9 * (1.0 + x.abs().max(y.abs()));
    for at in left.keys().chain(right.keys()) {
        let [x, y] = [(&left, a), (&right, b)].map(|(all, t)| all.get(at).copied().unwrap_or(t.fill.as_f64()));
        if x.is_finite() && y.is_finite() && far(x, y) {
            return Err(format!("{x} at {at:?}, {y}"));
        }
    }
    Ok(())
}

impl Display for Grown {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let text = self.statement.to_string();
        for (name, rank, _) in SPARSE.iter().filter(|(name, ..)| reads(&text, name)) {
            writeln!(f, "tensor {name}: f64[{}] {}", ["N"].repeat(*rank).join(","), self.formats[name])?;
        }
        for (name, sizes) in DENSE.iter().filter(|(name, _)| reads(&text, name)) {
            writeln!(f, "tensor {name}: {sizes} dense")?;
        }
        if let Some(format) = self.result {
            writeln!(f, "tensor R: f64[{}] {format}", self.statement.sizes().join(","))?;
        }
        writeln!(f, "{text}")
    }
}

impl Subject for Grown {
    fn mode(&self) -> Mode {
        Mode::Algebraic
    }

    fn options(&self, _typed: &typed::Program) -> Options {
        Options::default()
    }

    fn operands(&self, _typed: &typed::Program) -> Option<Operands> {
        Program::parse(&self.to_string()).ok().map(|program| self.data.given(&program, LEAST))
    }

    fn shortened(&self, _extent: u64) -> Option<Self> {
        None
    }

    fn redrawn(&self, u: &mut Unstructured) -> Self {
        Grown { data: Data { seed: u.arbitrary().unwrap_or(0), ..self.data.clone() }, ..self.clone() }
    }

    fn left_out(&self, _kind: &str, _words: &str) -> Option<&'static str> {
        None
    }

    fn run_on(&self, _engine: Engine, _others: &[u64]) -> Result<Outcome, Finding> {
        engines::guarded(&mut |_| {
            let mut work = Work::default();
            self.compared(&mut work)?;
            Ok(work)
        })
    }

    fn smaller(&self) -> Vec<Self> {
        let statements = self.statement.smaller().into_iter().map(|mut statement| {
            statement.extend(self.result.is_some());
            Grown { statement, ..self.clone() }
        });
        let mut all: Vec<Self> = statements.collect();
        let text = self.statement.to_string();
        for (name, rank, _) in SPARSE.iter().filter(|(name, ..)| reads(&text, name)) {
            let plain = ["sparse", "csr", "csf"][rank - 1];
            if self.formats[name] != plain {
                let mut plainer = self.clone();
                plainer.formats.insert(name, plain);
                all.push(plainer);
            }
        }
        if self.result.is_some_and(|format| format != "csr") && self.statement.left.len() == 2 {
            all.push(Grown { result: Some("csr"), ..self.clone() });
        }
        all
    }

    fn constructs(&self) -> Vec<String> {
        let text = self.statement.to_string();
        let read = SPARSE.iter().filter(|(name, ..)| reads(&text, name));
        let mut all: Vec<String> = read.map(|(name, ..)| format!("operand {}", self.formats[name])).collect();
        all.push(format!("result {}", self.result.unwrap_or("undeclared")));
        all.push(format!("rank {}", self.statement.left.len()));
        all.extend(self.statement.words());
        all.sort();
        all.dedup();
        all
    }

    fn data(&self) -> String {
        format!("{:?}\n", self.data)
    }
}
