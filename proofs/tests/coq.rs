//! Theorem 6.1 in Coq (`proofs/coq/`): `coqc` accepts the proofs and refuses wrong operators; the ledger says the axioms; and
//! the streams of Coq do what those of Rust do. Without a `coqc` on the PATH only names are checked.

use fiberloom_semantics::stream::{
    Attribute, Context, END, Expr, Level, Nested, Schema, Type, Typed, Variable, sparse,
};
use quickcheck::Gen;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::num::Wrapping;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// What the ledger says of a theorem that rests on no axiom, in Coq's words.
const NO_AXIOM: &str = "Closed under the global context";

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = here().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The files of the proof, in the order in which they depend on one another.
fn files() -> Vec<String> {
    let project = read("coq/_CoqProject");
    let mut lines = project.lines();
    assert_eq!(lines.next(), Some("-Q . Fiberloom"), "the only option");
    lines.map(str::to_string).collect()
}

/// A line on stderr also where a test passes.
fn say(line: &str) {
    writeln!(std::io::stderr(), "theorem 6.1: {line}").expect("stderr");
}

/// A folder of compiled proofs, and the only way to run `coqc`: one at a time.
struct Coq {
    folder: PathBuf,
}

impl Coq {
    /// Compiles all files of the proof; nothing without a `coqc`.
    fn compile() -> Option<Mutex<Coq>> {
        if Command::new("coqc").arg("--version").output().is_err() {
            say("not run: there is no `coqc` on the PATH");
            return None;
        }
        let coq = Coq { folder: Path::new(env!("CARGO_TARGET_TMPDIR")).join("coq") };
        let _ = std::fs::remove_dir_all(&coq.folder);
        std::fs::create_dir_all(&coq.folder).expect("a folder");
        for file in files() {
            let output = coq.run(&file, &read(Path::new("coq").join(&file)));
            assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Some(Mutex::new(coq))
    }

    /// Compiles one file beside those of the proof.
    fn run(&self, file: &str, text: &str) -> Output {
        std::fs::write(self.folder.join(file), text).expect("the folder can be written to");
        let mut coqc = Command::new("coqc");
        coqc.args(["-Q", ".", "Fiberloom", file]).current_dir(&self.folder);
        coqc.output().unwrap_or_else(|e| panic!("{coqc:?}: {e}"))
    }

    /// What is printed by a file that is accepted.
    fn printed(&self, file: &str, text: &str) -> String {
        let output = self.run(file, text);
        assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }
}

/// The compiled proofs, compiled by whoever asks first.
fn compiled() -> Option<&'static Mutex<Coq>> {
    static COQ: LazyLock<Option<Mutex<Coq>>> = LazyLock::new(Coq::compile);
    COQ.as_ref()
}

/// The compiler, until it is dropped; also after another test failed with it.
fn alone(coq: &Mutex<Coq>) -> MutexGuard<'_, Coq> {
    coq.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The cells of a table of the ledger, without backquotes.
fn table(header: &str) -> Vec<Vec<String>> {
    let ledger = read("README.md");
    let table = ledger.split_once(header).unwrap_or_else(|| panic!("the ledger has no table `{header}`")).1;
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| line.trim_matches('|').split('|').map(|c| c.trim().replace('`', "")).collect();
    rows.map(cells).collect()
}

#[test]
fn coqc_accepts_the_proof_and_the_ledger_says_its_axioms() {
    let Some(coq) = compiled() else { return };
    let theorems = table("| theorem in Coq | axioms |");
    assert!(theorems.iter().any(|row| row[0] == "theorem_6_1"));
    let mut text = String::from("From Fiberloom Require Import Stream Product Sum Homomorphism Tree Example.\n");
    theorems.iter().for_each(|row| text += &format!("Print Assumptions {}.\n", row[0]));
    let printed = alone(coq).printed("Assumptions.v", &text);
    let said: Vec<&str> = theorems.iter().map(|row| row[1].as_str()).collect();
    assert_eq!(printed.lines().collect::<Vec<_>>(), said, "left, what Coq prints; right, the ledger");
    assert!(said.iter().all(|axioms| *axioms == NO_AXIOM));
    say(&format!("proved: coqc accepts {} files", files().len()));
}

/// A text without comments, which nest.
fn without_comments(text: &str) -> String {
    let (mut depth, mut kept, mut rest) = (0, String::new(), text);
    while let Some(c) = rest.chars().next() {
        let step = match &rest.get(..2) {
            Some("(*") => (2, 1),
            Some("*)") => (2, -1),
            _ => (c.len_utf8(), 0),
        };
        if depth == 0 && step.1 == 0 {
            kept.push(c);
        }
        depth += step.1;
        rest = &rest[step.0..];
    }
    kept
}

#[test]
fn nothing_is_admitted_or_assumed() {
    const WORDS: [&str; 10] = [
        "Admitted",
        "admit",
        "give_up",
        "Axiom",
        "Axioms",
        "Parameter",
        "Parameters",
        "Conjecture",
        "Unset",
        "bypass_check",
    ];
    for file in files() {
        let text = without_comments(&read(Path::new("coq").join(&file)));
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        let found: Vec<&str> = words.filter(|word| WORDS.contains(word)).collect();
        assert!(found.is_empty(), "{file}: {found:?}");
    }
    let there = std::fs::read_dir(here().join("coq")).expect("the proof").flatten();
    let names = there.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let there: BTreeSet<String> = names.filter(|name| name.ends_with(".v")).collect();
    assert_eq!(there, files().into_iter().collect(), "left, the folder; right, its `_CoqProject`");
}

/// A definition in Coq, and that in Rust which its comment names.
type Twins = (String, String);

/// The twins of a file: a comment that begins with a name in brackets, before a definition or a field of one.
fn twins(text: &str) -> Vec<Twins> {
    let words = ["Definition", "Fixpoint", "Inductive", "Record", "Class", "Example", "Lemma"];
    let named = text.split("(** [").skip(1).map(|comment| {
        let (name, rest) = comment.split_once(']').expect("a name ends");
        let after = rest.split_once("*)").expect("a comment ends").1;
        let defined = after.split_whitespace().find(|word| !words.contains(word)).expect("a definition");
        (defined.trim_end_matches(':').to_string(), name.to_string())
    });
    named.collect()
}

/// The Rust files that the header of a file of the proof names.
fn rust_files(text: &str) -> Vec<String> {
    let header = text.split_once("*)").expect("a header").0;
    let names = header.split_once("Rust: ").map_or("", |(_, names)| names);
    names.split(['[', ']']).filter(|name| name.ends_with(".rs")).map(str::to_string).collect()
}

/// Whether a text of Rust defines a name: as an item, or as a variant or field on a line of its own.
fn defines(rust: &str, name: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    rust.lines().map(str::trim).any(|line| {
        let line = line.trim_start_matches("pub(super) ").trim_start_matches("pub ");
        let item = ["fn ", "struct ", "enum ", "trait ", "const ", "type "].iter().find_map(|w| line.strip_prefix(w));
        let variant = line.ends_with(',') && line.strip_prefix(name).is_some_and(|rest| rest.starts_with([',', '(']));
        item.and_then(|item| item.strip_prefix(name)).is_some_and(ends) || variant
    })
}

#[test]
fn each_twin_exists_and_the_ledger_names_it() {
    let mut all = vec![];
    for file in files() {
        let text = read(Path::new("coq").join(&file));
        let rust: String = rust_files(&text).iter().map(|path| read(Path::new("..").join(path))).collect();
        for (defined, name) in twins(&text) {
            let missing: Vec<&str> = name.split("::").filter(|part| !defines(&rust, part)).collect();
            assert!(
                missing.is_empty(),
                "{file}: the twin {name} of {defined}: no {missing:?} in {:?}",
                rust_files(&text)
            );
            all.push(vec![file.clone(), defined, name]);
        }
    }
    assert_eq!(table("| file | in Coq | in Rust |"), all, "left, the ledger; right, the comments");
}

#[test]
fn each_operator_has_a_twin() {
    let named: BTreeSet<String> = table("| file | in Coq | in Rust |").into_iter().map(|row| row[2].clone()).collect();
    let operators = read("../semantics/src/stream/operators.rs");
    let expressions = read("../semantics/src/stream/expression.rs");
    let mut within = String::new();
    for line in operators.lines().chain(expressions.lines()) {
        if let Some(implemented) = line.strip_prefix("impl") {
            // Behind parameters, and behind a trait: `<K: Semiring, I: Index> Stream<K, I> for Sum<K, I> {`.
            let behind = implemented.split_once("> ").map_or(implemented, |(_, behind)| behind);
            within = behind.rsplit(" for ").next().expect("a type").trim_start().to_string();
        }
        let item = line.trim_start().trim_start_matches("pub ");
        let Some(item) = ["fn ", "struct ", "enum "].iter().find_map(|word| item.strip_prefix(word)) else { continue };
        let name = item.split(['(', '<', ' ', ';']).next().expect("a name");
        let within = within.split(['<', ' ']).next().expect("a name");
        let name = if line.starts_with(' ') { format!("{within}::{name}") } else { name.to_string() };
        // Methods of the trait Stream are fields of a record in Coq; the others check or print.
        let field = ["state", "index", "ready", "value", "skip"].iter().any(|f| name.ends_with(&format!("::{f}")));
        let other = ["IllTyped", "expect", "Expr::fmt", "Typed::same_shape"].contains(&&*name);
        assert!(field || other || named.contains(&name), "{name} has no twin in Coq");
    }
}

/// Mistakes of `proofs/src/mistakes.rs`, which data show there to be mistakes, made in the text of a proof's definitions.
const MISTAKES: [(&str, &str, &str, &str); 9] = [
    ("ProductAnywhere", "Product.v", "ready y t && (index x s =? index y t)", "ready y t"),
    (
        "ProductSkipsPast",
        "Product.v",
        "(skip x s to, skip y t to)",
        "(skip x s (fst to, true), skip y t (fst to, true))",
    ),
    ("ProductLeavesOneBehind", "Product.v", "(skip x s to, skip y t to)", "(skip x s to, t)"),
    ("SumByIndex", "Sum.v", "if key b <=? key c then", "if fst b <=? fst c then"),
    ("SumOfOne", "Sum.v", "Eq => of (value x s) (value y t)", "Eq => value x s"),
    ("ContractSkipsPast", "Contract.v", "(index x s, snd to)", "(index x s, true)"),
    ("SkipUndersteps", "Vector.v", "key to <? key (entry_order e)", "key (fst to, false) <? key (entry_order e)"),
    ("SkipOversteps", "Vector.v", "pos + position", "S pos + position"),
    ("ExpansionGoesBack", "Vector.v", "Nat.max pos (Nat.min n (i + Nat.b2n past))", "Nat.min n (i + Nat.b2n past)"),
];

#[test]
fn coqc_refuses_wrong_operators() {
    let known = read("src/mistakes.rs");
    let Some(coq) = compiled() else { return };
    for (mistake, file, right, wrong) in MISTAKES {
        assert!(defines(&known, mistake), "{mistake} is no known mistake");
        let text = read(Path::new("coq").join(file));
        assert_eq!(text.matches(right).count(), 1, "{mistake}: `{right}` stands once in {file}");
        // The changed file has a name of its own: those of the proof stay compiled as they are.
        let output = alone(coq).run("Mistake.v", &text.replace(right, wrong));
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{mistake}: coqc accepts it");
        let line = message.split("line ").nth(1).and_then(|rest| rest.split(',').next()).and_then(|n| n.parse().ok());
        let refused: usize = line.unwrap_or_else(|| panic!("{mistake}: {message}"));
        let changed = text.split(right).next().expect("it stands there").lines().count();
        let proof = text.lines().take(refused).skip(changed).any(|line| line.trim_start().starts_with("Proof."));
        assert!(proof, "{mistake}: a proof is refused, not a definition: {message}");
    }
    say(&format!("coqc refuses {} wrong operators", MISTAKES.len()));
}

/// Random data and expressions over three attributes of extent 3, as Rust's types and as Coq's text.
mod random {
    use super::*;

    const ATTRIBUTES: [Attribute; 3] = ['i', 'j', 'k'];
    const EXTENT: usize = 3;

    pub fn upto(g: &mut Gen, most: usize) -> usize {
        let choices: Vec<usize> = (0..=most).collect();
        *g.choose(&choices).expect("a choice")
    }

    fn shape(bits: usize) -> Vec<Attribute> {
        ATTRIBUTES.into_iter().enumerate().filter(|(n, _)| bits >> n & 1 == 1).map(|(_, a)| a).collect()
    }

    fn number(a: Attribute) -> usize {
        ATTRIBUTES.iter().position(|b| *b == a).expect("an attribute")
    }

    /// A stream of so many levels, and the tree in Coq.
    fn tree(g: &mut Gen, levels: usize) -> (Nested<Wrapping<u64>>, String) {
        if levels == 0 {
            let value = upto(g, 6) as u64;
            return (Nested::Value(Wrapping(value)), format!("Entry {value}%N"));
        }
        let (mut entries, mut texts) = (vec![], vec![]);
        for i in 0..EXTENT {
            let kind = upto(g, 3);
            if kind >= 2 {
                entries.push((i as i64, None));
                texts.push(format!("({i}, None)"));
            }
            if kind % 2 == 1 {
                let (stream, text) = tree(g, levels - 1);
                entries.push((i as i64, Some(stream)));
                texts.push(format!("({i}, Some ({text}))"));
            }
        }
        (sparse(entries), format!("Level [{}]", texts.join("; ")))
    }

    /// A variable of each shape.
    pub fn variables(g: &mut Gen) -> (Context<Wrapping<u64>>, String) {
        let (mut variables, mut texts) = (vec![], vec![]);
        for shape in (0..8).map(shape) {
            let (stream, text) = tree(g, shape.len());
            let ty: Type = shape.iter().copied().map(Some).collect();
            let stream = Typed { ty, stream };
            variables.push(Variable { relation: stream.evaluate(), stream });
            let numbers: Vec<String> = shape.iter().map(|a| number(*a).to_string()).collect();
            texts.push(format!("([{}], {text})", numbers.join("; ")));
        }
        let schema: Schema = ATTRIBUTES.into_iter().map(|a| (a, EXTENT as i64)).collect();
        (Context { schema, variables }, format!("[{}]", texts.join(";\n  ")))
    }

    /// All tuples of three attributes, each of its indices at attributes that have these bits.
    pub fn tuples(bits: usize) -> impl Iterator<Item = BTreeMap<Attribute, i64>> {
        let indices = |n: usize| [n / 9, n / 3 % 3, n % 3];
        let all = move |n| ATTRIBUTES.into_iter().zip(indices(n)).map(|(a, i)| (a, i as i64));
        (0..EXTENT.pow(3)).map(move |n| all(n).filter(|(a, _)| bits >> number(*a) & 1 == 1).collect())
    }

    /// An expression of the shape that has these bits, of at most this depth.
    pub fn expression(g: &mut Gen, bits: usize, depth: usize) -> (Expr, String) {
        let bit = 1 << upto(g, 2);
        let of = |g: &mut Gen, bits| {
            let (e, text) = expression(g, bits, depth - 1);
            (Box::new(e), text)
        };
        let attribute = shape(bit)[0];
        match if depth == 0 { 0 } else { upto(g, 5) } {
            kind @ (1 | 2) => {
                let ((x, s), (y, t)) = (of(g, bits), of(g, bits));
                if kind == 1 {
                    (Expr::Add(x, y), format!("Add ({s}) ({t})"))
                } else {
                    (Expr::Mul(x, y), format!("Mul ({s}) ({t})"))
                }
            }
            3 | 4 if bits & bit == 0 => {
                let (e, text) = of(g, bits | bit);
                (Expr::Contract(attribute, e), format!("Contract {} ({text})", number(attribute)))
            }
            3 | 4 => {
                let (e, text) = of(g, bits & !bit);
                (Expr::Expand(attribute, e), format!("Expand {} ({text})", number(attribute)))
            }
            5 => renamed(g, bits, of),
            _ => (Expr::Var(bits), format!("Var {bits}")),
        }
    }

    /// The renaming of an expression of another shape with as many attributes, or of the same.
    fn renamed(g: &mut Gen, bits: usize, of: impl Fn(&mut Gen, usize) -> (Box<Expr>, String)) -> (Expr, String) {
        let others: Vec<usize> = (0..8_usize).filter(|other| other.count_ones() == bits.count_ones()).collect();
        let other = others[upto(g, others.len() - 1)];
        let rho: BTreeMap<Attribute, Attribute> = shape(other).into_iter().zip(shape(bits)).collect();
        let arms: Vec<String> = rho.iter().map(|(a, b)| format!("{} => {} | ", number(*a), number(*b))).collect();
        let (e, text) = of(g, other);
        (Expr::Name(rho, e), format!("Name (fun a => match a with {}_ => a end) ({text})", arms.concat()))
    }
}

/// Numbers of a stream as `Trace.v` has them: of each state its order, where skips lead, and what its value does.
fn trace(q: &Nested<Wrapping<u64>>, numbers: &mut Vec<u64>) {
    /// END of `Example.v`.
    const LAST: i64 = 20;
    let order = |q: &Level<Wrapping<u64>>| 2 * q.index().min(LAST) as u64 + q.ready() as u64;
    let mut q = match q {
        Nested::Value(v) => return numbers.push(v.0),
        Nested::Stream(q) => q.clone(),
    };
    while q.index() != END {
        numbers.push(order(&q));
        numbers.extend((0..4).flat_map(|i| [(i, false), (i, true)]).map(|b| order(&q.skip(b))));
        if q.ready() {
            trace(&q.value(), numbers);
        }
        q = q.next();
    }
    numbers.push(2 * LAST as u64);
}

/// The link between Coq's definitions and Rust's is by eye; that they do the same is tested, on random expressions: types, states,
/// readiness, skips by every bound and values.
#[test]
fn streams_do_in_coq_what_they_do_in_rust() {
    const DATA: u64 = 40;
    const EXPRESSIONS: usize = 10;
    let Some(coq) = compiled() else { return };
    let mut text = String::from("From Coq Require Import List NArith.\n");
    text += "From Fiberloom Require Import Expression Tree Trace.\nImport ListNotations.\n";
    let mut wanted = vec![];
    for seed in 0..DATA {
        let g = &mut Gen::from_size_and_seed(1, 610 + seed);
        let (context, trees) = random::variables(g);
        text += &format!("Definition trees{seed} : list (shape * tree N) := {trees}.\n");
        for _ in 0..EXPRESSIONS {
            let bits = random::upto(g, 7);
            let (e, of_coq) = random::expression(g, bits, 3);
            let typed = e.stream(&context);
            let level = |level: &Option<Attribute>| level.map_or(0, |a| a as u64 - 'i' as u64 + 1);
            let mut numbers: Vec<u64> = typed.ty.iter().map(level).collect();
            trace(&typed.stream, &mut numbers);
            let relation = typed.evaluate();
            for t in random::tuples(bits) {
                let indices: Vec<i64> = t.values().copied().collect();
                numbers.extend([relation.at(&indices).0, e.at(&context, &t).0]);
            }
            text += &format!("Compute (trace_of trees{seed} ({of_coq})).\n");
            wanted.push((e, numbers));
        }
    }
    let printed = alone(coq).printed("Traces.v", &text);
    let computed: Vec<Vec<u64>> = printed.split("     = ").skip(1).map(list).collect();
    assert_eq!(computed.len(), wanted.len());
    for ((e, numbers), computed) in wanted.iter().zip(&computed) {
        assert_eq!(computed, numbers, "{e}: left, Coq's stream; right, Rust's");
    }
    let texts: Vec<String> = wanted.iter().map(|(e, _)| e.to_string()).collect();
    for operator in ["+", "·", "Σ", "⇑", "name"] {
        assert!(texts.iter().filter(|text| text.contains(operator)).count() > 10, "too few have a {operator}");
    }
    let numbers: usize = wanted.iter().map(|(_, numbers)| numbers.len()).sum();
    say(&format!("{} random streams do in Coq what they do in Rust, in {numbers} numbers", wanted.len()));
}

/// A list of numbers, as Coq prints it before its type.
fn list(printed: &str) -> Vec<u64> {
    let list = printed.split_once(": list N").expect("a list of numbers").0.replace("%N", "");
    list.split(|c: char| !c.is_ascii_digit()).filter(|n| !n.is_empty()).map(|n| n.parse().expect("a number")).collect()
}
