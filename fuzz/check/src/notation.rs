//! Programs: what lowering makes of them computes their meaning, and no text and no tree makes any stage panic.
//!
//! ```text
//!  bytes ─┬ case ──────▶ programs of what is lowered, with operands ──engines──▶ meaning = loops = machine code
//!         │   ╰ directed: of a combination that is wanted (legal ──▶ product), counted in the statistics
//!         ├ language ──▶ programs of the whole language, half of them of what is lowered ──withstand──▶ checked, evaluated,
//!         │              lowered or refused
//!         └ text ──────▶ programs with their text damaged ──reads_back──▶ read, or refused at places in the text
//! ```
//!
//! Values of a case are chosen so that equality is exact wherever functions keep small numbers so: integers, and small
//! integers as floats. Where they round, the meaning says by how much (`semantics/src/algebra/number.rs`).
pub mod campaign;
pub mod case;
pub mod engines;
pub mod extents;
pub mod fitted;
pub mod language;
pub mod legal;
pub mod product;
pub mod shrink;
pub mod statistics;
pub mod text;
pub mod work;

use arbitrary::Unstructured;
use fiberloom_core::algebra::Mode;
use fiberloom_core::format::Tensor;
use fiberloom_core::notation::{self, Diagnostic, syntax, typed};
use fiberloom_core::{Options, loops, shape};
use fiberloom_semantics::{agree, machine, meaning};
use std::collections::BTreeMap;

/// The case of these bytes on an engine.
///
/// # Panics
/// If it does not give the meaning's answer: with the case, shrunk.
pub fn attack(bytes: &[u8], engine: engines::Engine) {
    let case = case::case(&mut Unstructured::new(bytes));
    if let Err(finding) = engines::run(&case, engine) {
        let (case, finding) = shrink::shrink(case, finding, engine);
        let kernel = finding.kernel.map_or(String::new(), |k| k.to_string());
        panic!("{}: {}\n{case}\n{kernel}", finding.kind, finding.what)
    }
}

/// How far a text went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// It is a program.
    pub reads: bool,
    /// A well-typed one.
    pub checks: bool,
    /// What is wrong with it, if it is neither.
    pub errors: usize,
}

/// Reads a text, checks it if it reads, and reads its print.
///
/// # Panics
/// If the print reads as another program, or an error stands outside of the text: that is the finding, as is any panic
/// of parser, printer or checker.
pub fn reads_back(text: &str) -> Read {
    let (program, wrong) = fiberloom_front::parse(text);
    assert!(program.is_some() || !wrong.is_empty(), "nothing is read, and nothing wrong");
    let Some(program) = program.filter(|_| wrong.is_empty()) else {
        stand_in(text, &wrong);
        return Read { reads: false, checks: false, errors: wrong.len() };
    };
    let printed = program.to_string();
    let (again, wrong) = fiberloom_front::parse(&printed);
    assert!(wrong.is_empty(), "its print does not read: {wrong:?}\n{printed}");
    assert_eq!(again.as_ref(), Some(&program), "its print reads as another program\n{printed}");
    let wrong = notation::check(&program).err().unwrap_or_default();
    stand_in(text, &wrong);
    Read { reads: true, checks: wrong.is_empty(), errors: wrong.len() }
}

/// Errors are about places in the text, and can be shown.
fn stand_in(text: &str, wrong: &[Diagnostic]) {
    for d in wrong {
        for span in d.labels.iter().map(|(span, _)| span).chain([&d.span]) {
            let (start, end) = (span.start as usize, span.end as usize);
            let inside = start <= end && end <= text.len();
            assert!(inside && text.is_char_boundary(start) && text.is_char_boundary(end), "{span:?}: {}", d.message);
        }
        assert!(!d.message.is_empty(), "an error says nothing");
    }
    let shown = fiberloom_front::render("generated", text, wrong, false);
    assert!(wrong.iter().all(|d| shown.contains(d.message.lines().next().unwrap_or_default())), "{shown}");
}

/// What became of a program of the whole language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is not well-typed.
    Rejected(String),
    /// It is well-typed, and lowering names what it does not take.
    NotLowered(String),
    /// It is lowered; whether its loops were compared with its meaning, in exact numbers.
    Lowered(bool),
}

impl Fate {
    /// In a word or two.
    pub fn word(&self) -> &'static str {
        match self {
            Fate::Rejected(_) => "rejected",
            Fate::NotLowered(_) => "not lowered",
            Fate::Lowered(false) => "lowered",
            Fate::Lowered(true) => "lowered and compared",
        }
    }
}

/// Steps of the meaning of one program: some nest deeply.
const STEPS: u64 = 300_000;

/// The program of the whole language of these bytes, on every stage up to loops.
///
/// # Panics
/// If a stage panics, what is refused is not named, or loops do not give the meaning's answer.
pub fn withstand(bytes: &[u8]) -> Fate {
    let u = &mut Unstructured::new(bytes);
    let mode = [Mode::Algebraic, Mode::Strict][u.choose_index(2).unwrap_or(0)];
    let wild = [0, 0, 0, 20][u.choose_index(4).unwrap_or(0)];
    let made = match u.choose_index(2) {
        Ok(1) => language::lowered(u),
        _ => language::program(u, wild),
    };
    let text = made.program.to_string();
    let (program, wrong) = fiberloom_front::parse(&text);
    let program: syntax::Program = program.filter(|_| wrong.is_empty()).unwrap_or_else(|| panic!("{wrong:?}\n{text}"));
    assert_eq!(program, made.program, "{text}");
    let typed = match notation::check(&program) {
        Ok(typed) => typed,
        Err(wrong) => {
            stand_in(&text, &wrong);
            return Fate::Rejected(wrong[0].message.clone());
        }
    };
    let operands = made.operands(u, &typed);
    let known = typed.tensors.iter().all(|t| t.role != typed::Role::Input || operands.contains_key(&t.name));
    let meant = || meaning::evaluate(&typed, &operands, mode, &meaning::Limits { steps: STEPS });
    let meant = known.then(meant).and_then(Result::ok);
    match fiberloom_core::lower(&typed, &Options { mode, ..Options::default() }) {
        Ok(lowered) => {
            Fate::Lowered(meant.is_some_and(|m| compare(&text, &typed, &lowered.kernel, &operands, (&m, mode))))
        }
        Err(wrong) => {
            stand_in(&text, &wrong);
            let named = |d: &Diagnostic| d.message.contains("is not lowered yet") || d.message.contains("is unknown");
            assert!(wrong.iter().all(named), "{}\n{text}", wrong[0].message);
            Fate::NotLowered(wrong[0].message.clone())
        }
    }
}

/// Loops against the meaning, where numbers are exact, as all are in strict mode, and operands are stored as declared.
fn compare(
    text: &str,
    typed: &typed::Program,
    kernel: &loops::Kernel,
    operands: &BTreeMap<String, Tensor<'static>>,
    (meant, mode): (&BTreeMap<String, meaning::Function>, Mode),
) -> bool {
    let as_declared = |a: &loops::Argument| operands.get(&a.name).is_none_or(|t| t.format == a.format);
    let rounds = mode == Mode::Algebraic && ["f32", "f64", "."].iter().any(|float| text.contains(float));
    if rounds || !kernel.arguments.iter().all(as_declared) {
        return false;
    }
    let given = typed.tensors.iter().enumerate();
    let given = given.filter_map(|(t, a)| Some((typed::TensorId(t as u32), operands.get(&a.name)?.extents.clone())));
    let Ok(extents) = shape::solve(typed, &given.collect::<Vec<_>>()) else { return false };
    let tensors: Vec<(&str, &Tensor)> = operands.iter().map(|(n, t)| (n.as_str(), t)).collect();
    let of = |t: typed::TensorId| engines::extents_of(typed, &extents, t);
    let bound = loops::bind(kernel, &tensors, &of, &|v| extents.var(v)).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let ran = machine::run(kernel, &bound.params, &bound.operands, &Default::default());
    let ran = ran.unwrap_or_else(|e| panic!("{e}\n{text}\n{kernel}"));
    let results = loops::collect(kernel, &bound, ran.buffers).expect("memory");
    let settled =
        engines::settled(typed, kernel, results, (meant, mode)).unwrap_or_else(|e| panic!("{}\n{text}", e.what));
    for (name, tensor) in settled.into_iter().flatten() {
        tensor.check().unwrap_or_else(|e| panic!("`{name}` is malformed: {e}\n{text}\n{kernel}"));
        let agrees = agree(&meant[&name], &tensor, mode);
        agrees.unwrap_or_else(|e| panic!("`{name}`: {e}\n{text}\n{operands:#?}\n{kernel}"));
    }
    true
}
