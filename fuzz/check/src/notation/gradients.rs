//! Gradients and tangents, as programs, against the meaning over dual numbers.
//!
//! ```text
//!  bytes ─┬ whole: a case, a program of the whole language, a contraction, functions around folds, shape operators, blocks of floats
//!         └ one of its results of floats, and some of its operands, a direction u of them, a weight v of the result
//!  ─▶ grad ─▶ refused, by the name of a rule, or ⟨v, J u⟩ = ⟨Jᵀ v, u⟩      J u: dual numbers; Jᵀ v: the printed program
//!  ─▶ jvp  ─▶ refused, or J u, value by value
//! ```
//!
//! Both printed programs run on the engine, too, against their own meaning. Both sides carry error bounds: a difference is one beyond them.

use super::engines::{self, Engine, Finding, Outcome, Stop};
use super::subject::{Operands, Subject};
use super::work::{Stage, Work};
use arbitrary::Unstructured;
use fiberloom_core::algebra::{Mode, Op, Type, Value};
use fiberloom_core::format::{Assembly, Format, Tensor};
use fiberloom_core::notation::{Diagnostic, syntax, typed};
use fiberloom_loops::Options;
use fiberloom_passes::check::check;
use fiberloom_passes::gradient::{Ask, grad, jvp, keeps_entries};
use fiberloom_semantics::algebra::{self, Number};
use fiberloom_semantics::meaning::{self, Function, Limits, Refusal};
use fiberloom_semantics::notation::dual::{self, Visiting};
use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// What is said of each rule that refuses a gradient or a tangent, and what that is called here.
pub const RULES: [(&str, &str); 13] = [
    ("drops what its program needs", "refused: an extent that only a dropped term says"),
    ("the gradient of a block", "refused: a block that runs as often as data say"),
    ("has no derivative: sums", "refused: a fold of another function"),
    ("has no derivative", "refused: a function without derivative"),
    ("which `", "refused: a function that calls one without derivative"),
    ("a scatter has a derivative", "refused: a scatter that does not add"),
    ("a slice of this shape operator", "refused: a slice of a shape operator"),
    ("says how far it goes", "refused: an extent that nothing says"),
    ("no declaration names", "refused: an extent without name"),
    ("under `~` needs", "refused: a window without variable"),
    ("does not move with", "refused: nothing moves"),
    ("that is divided stands as a value", "refused: a value of a divided index"),
    ("tables have no gradients", "refused: tables"),
];

/// A program, and the numbers that directions are drawn from.
#[derive(Clone, Debug)]
pub struct Moved<S> {
    whole: S,
    seed: u64,
}

impl<S: Subject> Moved<S> {
    /// A program that `make` draws.
    pub fn any<'b>(u: &mut Unstructured<'b>, make: impl FnOnce(&mut Unstructured<'b>) -> S) -> Moved<S> {
        let seed = u.arbitrary().unwrap_or(0);
        Moved { whole: make(u), seed }
    }
}

impl<S: Subject> Display for Moved<S> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "# directions are drawn from {}", self.seed)?;
        write!(f, "{}", self.whole)
    }
}

impl<S: Subject + Clone> Subject for Moved<S> {
    /// Derivatives are equal up to rounding.
    fn mode(&self) -> Mode {
        Mode::Algebraic
    }

    fn options(&self, typed: &typed::Program) -> Options {
        self.whole.options(typed)
    }

    fn limits(&self) -> Limits {
        self.whole.limits()
    }

    fn operands(&self, typed: &typed::Program) -> Option<Operands> {
        self.whole.operands(typed)
    }

    fn sizes(&self, typed: &typed::Program) -> Vec<(typed::SizeId, u64)> {
        self.whole.sizes(typed)
    }

    fn shortened(&self, _extent: u64) -> Option<Self> {
        None
    }

    fn redrawn(&self, u: &mut Unstructured) -> Self {
        Moved { whole: self.whole.redrawn(u), ..self.clone() }
    }

    fn left_out(&self, kind: &str, words: &str) -> Option<&'static str> {
        self.whole.left_out(kind, words)
    }

    fn smaller(&self) -> Vec<Self> {
        self.whole.smaller().into_iter().map(|whole| Moved { whole, seed: self.seed }).collect()
    }

    fn constructs(&self) -> Vec<String> {
        self.whole.constructs()
    }

    fn data(&self) -> String {
        self.whole.data()
    }

    fn run_on(&self, engine: Engine, _others: &[u64]) -> Result<Outcome, Finding> {
        engines::guarded(&mut |_| {
            let mut work = Work::default();
            moved(self, engine, &mut work)?;
            Ok(work)
        })
    }
}

/// Numbers from a seed.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 32) * n.max(1)) >> 32
    }

    /// A tensor with small values at these coordinates.
    fn tensor(&mut self, extents: &[u64], format: &Format, ty: Type, at: Vec<Vec<i64>>) -> Option<Tensor<'static>> {
        let entries = at.into_iter().map(|at| (at, Value::from_f64(ty, (self.below(9) as f64 - 4.0) / 2.0)));
        let entries: Vec<_> = entries.collect();
        let (fill, wide) = (Value::zero(ty), Type::I64);
        Tensor::from_entries(extents.to_vec(), format.clone(), fill, wide, wide, entries).ok()
    }
}

/// All coordinates within extents; `None` if there are very many.
fn everywhere(extents: &[u64]) -> Option<Vec<Vec<i64>>> {
    let count = extents.iter().try_fold(1u64, |n, e| n.checked_mul(*e)).filter(|n| *n <= 1 << 16)?;
    let mut all = vec![vec![]];
    for extent in extents {
        let further = |at: &Vec<i64>| (0..*extent as i64).map(|c| [&at[..], &[c]].concat()).collect::<Vec<_>>();
        all = all.iter().flat_map(further).collect();
    }
    (count as usize == all.len()).then_some(all)
}

/// A program with its directions.
struct Case {
    typed: typed::Program,
    extents: typed::Extents,
    operands: Operands,
    ask: Ask,
    /// The direction of each operand that moves.
    directions: Operands,
}

impl Case {
    /// The operands, with those that a derivative reads and the program need not be given: they begin as their fill.
    fn brought(&self) -> Operands {
        let mut operands = self.operands.clone();
        for t in self.typed.starts() {
            let tensor = &self.typed.tensors[t.index()];
            let (Some(format), Some(fill)) = (&tensor.format, tensor.fill) else { continue };
            let extents: Option<Vec<u64>> =
                tensor.sizes.iter().map(|s| self.extents.sizes.get(s.index()).copied()).collect();
            let made = extents.map(|e| Tensor::from_entries(e, format.clone(), fill, Type::I32, Type::I32, []));
            if let Some(Ok(made)) = made {
                operands.entry(tensor.name.clone()).or_insert(made);
            }
        }
        operands
    }
}

/// What is asked of a program: a result of floats, and one to three operands of floats.
fn case<S: Subject>(subject: &S, draws: &mut Draws) -> Result<Case, Stop> {
    if subject.mode() == Mode::Strict {
        // Derivatives are compared in algebraic mode, and these data are infinite, where sums of products may be taken apart.
        return Err(Stop::Left("data of strict mode"));
    }
    let typed = engines::checked(subject, false)?;
    let Some(operands) = subject.operands(&typed) else { return Err(Stop::Left("no data")) };
    let typed = typed.with_sizes(&subject.sizes(&typed));
    let extents = engines::solved(&typed, &operands);
    let extents = extents.map_err(|words| engines::refused(subject, "extents", words))?;
    let float = |t: &typed::TensorId| typed.tensors[t.index()].ty.is_float();
    let results: Vec<typed::TensorId> = typed.results().into_iter().filter(float).collect();
    let mut inputs: Vec<typed::TensorId> = typed.inputs().into_iter().filter(float).collect();
    inputs.retain(|t| operands.contains_key(&typed.tensors[t.index()].name));
    if results.is_empty() || inputs.is_empty() {
        return Err(Stop::Left("no floats"));
    }
    let name = |t: typed::TensorId| typed.tensors[t.index()].name.clone();
    let of = name(results[draws.below(results.len() as u64) as usize]);
    let count = 1 + draws.below(3) as usize;
    while inputs.len() > count {
        inputs.remove(draws.below(inputs.len() as u64) as usize);
    }
    let by: Vec<String> = inputs.iter().map(|t| name(*t)).collect();
    let dense: Vec<String> = by.iter().filter(|_| draws.below(4) == 0).cloned().collect();
    let mut directions = BTreeMap::new();
    for name in &by {
        let tensor = &operands[name];
        let own = keeps_entries(&tensor.format) && !dense.contains(name);
        let at = match own {
            true => Some(tensor.pattern().entries().map(|(at, _)| at).collect()),
            false => everywhere(&tensor.extents),
        };
        let Some(at) = at else { return Err(Stop::Left("large extents")) };
        let format = Format::dense(tensor.extents.len());
        let Some(u) = draws.tensor(&tensor.extents, &format, tensor.fill.ty(), at) else {
            return Err(Stop::Left("large extents"));
        };
        directions.insert(name.clone(), u);
    }
    Ok(Case { typed, extents, operands, ask: Ask { of, by, dense, ..Ask::default() }, directions })
}

/// Compares gradients and tangents of a program with its meaning over dual numbers.
fn moved<S: Subject + Clone>(subject: &Moved<S>, engine: Engine, work: &mut Work) -> Result<(), Stop> {
    let mut draws = Draws(subject.seed);
    let case = work.time(Stage::Check, || case(&subject.whole, &mut draws))?;
    let limits = Limits { steps: 1 << 22 };
    let duals =
        |visiting| dual::evaluate(&case.typed, &case.operands, &case.directions, (subject.mode(), visiting), &limits);
    let meant = match work.time(Stage::Meaning, || duals(Visiting::Everywhere)) {
        Err(Refusal::Turns | Refusal::Steps) => return Err(Stop::Left("too many turns")),
        meant => meant.map_err(|e| engines::refused(&subject.whole, "meaning", format!("{e:?}")))?,
    };
    let stored =
        duals(Visiting::Stored).map_err(|e| Finding::new("dual numbers over what is stored", format!("{e:?}")))?;
    let Some(tangent) = meant.get(&case.ask.of).map(Function::tangent) else { return Err(Stop::Left("no result")) };
    let other = stored[&case.ask.of].tangent();
    algebra::same(&tangent, &other, subject.mode()).map_err(|e| Finding::new("dual numbers over what is stored", e))?;
    let text = subject.whole.to_string();
    if has_infinity(&text) {
        // Algebraic mode may divide by several numbers in any order: of x / ∞ / 0 one order gives 0, another NaN.
        return Err(Stop::Left("an infinite literal"));
    }
    let Some(source) = fiberloom_front::parse(&text).0 else { return Err(Stop::Left("no program")) };
    let forward = tangents(subject, &case, (&source, &tangent), engine, work);
    let backward = gradients(subject, &case, (&source, &tangent), (engine, &mut draws), work);
    match (forward, backward) {
        (Err(Stop::Finding(f)), _) | (_, Err(Stop::Finding(f))) => Err(Stop::Finding(f)),
        (Err(_), Err(stop)) => Err(stop),
        _ => Ok(()),
    }
}

/// Whether a program has an infinite literal.
fn has_infinity(text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| matches!(word, "inf" | "inff32"))
}

/// What a rewrite gives as a program that is read again, on these operands; what it refuses is left out by the name of its rule.
fn rewritten<'s, S: Subject>(
    subject: &'s Moved<S>,
    made: Result<syntax::Program, Vec<Diagnostic>>,
    operands: Operands,
) -> Result<(typed::Program, Made<'s, S>), Stop> {
    let made = made.map_err(|wrong| {
        let words = wrong.first().map_or("", |d| &d.message);
        let rule = RULES.iter().find(|(said, _)| words.contains(said));
        rule.map_or_else(|| Finding::new("gradient refused", words).into(), |(_, name)| Stop::Left(name))
    })?;
    let text = made.to_string();
    let (again, wrong) = fiberloom_front::parse(&text);
    if again.as_ref() != Some(&made) {
        let words = wrong.first().map_or("it reads as another program", |d| &d.message);
        return Err(Finding::new("gradient round trip", format!("{words}\n{text}")).into());
    }
    let typed =
        check(&made).map_err(|wrong| Finding::new("gradient rejected", format!("{}\n{text}", wrong[0].message)))?;
    let named = |name: &String| typed.tensors.iter().any(|t| t.name == *name);
    // Kernels are made for narrow indices.
    let narrow = |tensor: Tensor<'static>| {
        let format = tensor.format.clone();
        let how = Assembly { pos: Some(Type::I32), crd: Some(Type::I32), ..Assembly::default() };
        tensor.convert(&format, &how).map_err(|e| Finding::new("indices", e))
    };
    let operands = operands.into_iter().filter(|(name, _)| named(name));
    let operands = operands.map(|(name, tensor)| Ok((name, narrow(tensor)?))).collect::<Result<_, Finding>>()?;
    Ok((typed, Made { of: &subject.whole, text, operands }))
}

/// The printed tangent's values are those of dual numbers.
fn tangents<S: Subject + Clone>(
    subject: &Moved<S>,
    case: &Case,
    (source, tangent): (&syntax::Program, &Function),
    engine: Engine,
    work: &mut Work,
) -> Result<(), Stop> {
    let mut operands = case.brought();
    for (name, u) in &case.directions {
        // The direction of an operand has the operand's format, where that takes it.
        let of = &case.operands[name];
        let entries: Vec<_> = u.entries().collect();
        let fill = Value::zero(u.fill.ty());
        let like = Tensor::from_entries(u.extents.clone(), of.format.clone(), fill, Type::I64, Type::I64, entries);
        let Ok(like) = like else { return Err(Stop::Left("a direction that its format does not take")) };
        operands.insert(format!("{name}_dot"), like);
    }
    let (typed, made) = rewritten(subject, jvp(source, &check, &case.ask), operands)?;
    let got = made.meaning(&typed, subject.mode())?;
    let got = &got[&format!("{}_dot", case.ask.of)];
    for at in everywhere(&tangent.extents).unwrap_or_default() {
        near(tangent.at(&at), got.at(&at), &made.text, || format!("the tangent at {at:?}\n{made}"))?;
    }
    made.runs(engine, work)
}

/// The printed gradient is the transposed of dual numbers.
fn gradients<S: Subject + Clone>(
    subject: &Moved<S>,
    case: &Case,
    (source, tangent): (&syntax::Program, &Function),
    (engine, draws): (Engine, &mut Draws),
    work: &mut Work,
) -> Result<(), Stop> {
    let Some(at) = everywhere(&tangent.extents) else { return Err(Stop::Left("large extents")) };
    let mut operands = case.brought();
    for name in &case.ask.by {
        operands.insert(format!("{name}_pattern"), case.operands[name].pattern().into_owned());
    }
    let format = case.typed.tensors.iter().find(|t| t.name == case.ask.of).and_then(|t| t.format.clone());
    let format = format.unwrap_or(Format::dense(tangent.extents.len()));
    let Some(v) = draws.tensor(&tangent.extents, &format, tangent.ty, at.clone()) else {
        return Err(Stop::Left("a weight that its format does not take"));
    };
    let seed = if case.ask.by.contains(&case.ask.of) { "seed" } else { "bar" };
    operands.insert(format!("{}_{seed}", case.ask.of), v.clone());
    let (typed, made) = rewritten(subject, grad(source, &check, &case.ask), operands)?;
    let got = made.meaning(&typed, subject.mode())?;
    let forward = if at == [Vec::<i64>::new()] { tangent.at(&[0_i64; 0]) } else { inner(tangent, &v, tangent.ty) };
    let mut backward = Number::given(Value::zero(tangent.ty));
    for (name, u) in &case.directions {
        let part = inner(&got[&format!("{name}_bar")], u, tangent.ty);
        backward = applied(Op::Add, &[backward, part]);
    }
    near(forward, backward, &made.text, || format!("⟨v, J u⟩ and ⟨Jᵀ v, u⟩ differ\n{made}"))?;
    made.runs(engine, work)
}

/// Two numbers that are one real number, computed by other expressions; the text has those of one side.
fn near(meant: Number, got: Number, text: &str, what: impl Fn() -> String) -> Result<(), Stop> {
    let narrow = if text.contains(Type::F32.name()) { Type::F32 } else { meant.value.ty() };
    let (a, b) = (meant.value.as_f64(), got.value.as_f64());
    let bound = 1.001 * (meant.error() + got.error() + meant.rounding(narrow) + got.rounding(narrow));
    if bound == f64::INFINITY || (a - b).abs() <= bound || a == b || a.is_nan() && b.is_nan() {
        return Ok(());
    }
    Err(Finding::new("wrong derivative", format!("{a} meant, {b} computed, bound {bound:e}: {}", what())).into())
}

fn applied(op: Op, args: &[Number]) -> Number {
    algebra::apply(op, args, Mode::Algebraic).expect("numbers of one type are joined")
}

/// `Σ f · u`, in a type; `u` is 0 where it stores nothing.
fn inner(f: &Function, u: &Tensor, ty: Type) -> Number {
    let mut sum = Number::given(Value::zero(ty));
    for (at, value) in u.entries() {
        let product = applied(Op::Mul, &[f.at(&at), Number::given(value)]);
        let product = if product.value.ty() == ty { product } else { applied(Op::Convert(ty), &[product]) };
        sum = applied(Op::Add, &[sum, product]);
    }
    sum
}

/// A program that was printed, with its data.
#[derive(Clone)]
struct Made<'s, S> {
    of: &'s S,
    text: String,
    operands: Operands,
}

impl<S: Subject> Made<'_, S> {
    fn meaning(&self, typed: &typed::Program, mode: Mode) -> Result<BTreeMap<String, Function>, Stop> {
        let typed = typed.with_sizes(&self.of.sizes(typed));
        match meaning::evaluate(&typed, &self.operands, mode, &Limits { steps: 1 << 24 }) {
            Err(Refusal::Steps | Refusal::Turns) => Err(Stop::Left("too many turns")),
            other => other.map_err(|e| Finding::new("gradient without meaning", format!("{e:?}\n{self}")).into()),
        }
    }

    /// Runs it on an engine, against its own meaning.
    fn runs(&self, engine: Engine, work: &mut Work) -> Result<(), Stop>
    where
        S: Clone,
    {
        match engines::run(self, engine) {
            Ok(Outcome::Ran(more)) => work.join(&more),
            Ok(Outcome::Left(_)) => {}
            Err(f) => {
                let what = format!("{}\n{self}\n{:?}", f.what, self.operands);
                return Err(Finding { what, ..f }.into());
            }
        }
        Ok(())
    }
}

impl<S> Display for Made<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<S: Subject + Clone> Subject for Made<'_, S> {
    fn mode(&self) -> Mode {
        Mode::Algebraic
    }

    fn options(&self, typed: &typed::Program) -> Options {
        let given = |id: &typed::TensorId| self.operands.contains_key(&typed.tensors[id.index()].name);
        let initial = typed.starts().into_iter().filter(given).collect();
        Options { mode: self.mode(), initial, ..Options::default() }
    }

    fn operands(&self, _typed: &typed::Program) -> Option<Operands> {
        Some(self.operands.clone())
    }

    fn sizes(&self, typed: &typed::Program) -> Vec<(typed::SizeId, u64)> {
        self.of.sizes(typed)
    }

    fn shortened(&self, _extent: u64) -> Option<Self> {
        None
    }

    fn redrawn(&self, _u: &mut Unstructured) -> Self {
        self.clone()
    }

    fn left_out(&self, kind: &str, words: &str) -> Option<&'static str> {
        self.of.left_out(kind, words)
    }

    fn constructs(&self) -> Vec<String> {
        vec![]
    }

    fn data(&self) -> String {
        String::new()
    }
}
