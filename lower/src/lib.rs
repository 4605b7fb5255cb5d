//! The passes in a row: a typed program becomes a kernel.
//!
//! ```text
//!  typed ──concretize──▶ concrete ──check──▶ lower ──▶ loops ──REWRITES──▶ loops ──check──▶ Lowered
//! ```
//!
//! The loops are checked as they are emitted and after each rewrite. [`plan()`] says what the planner decides as commands (`plan.rs`).
#![forbid(unsafe_code)]

use fiberloom_core::iteration::{Lattice, draw};
use fiberloom_core::notation::concrete::{self, AccessId};
use fiberloom_core::notation::typed::{Stage, VarId};
use fiberloom_core::notation::{Diagnostic, Span, typed};
use fiberloom_core::shape::Classes;
use fiberloom_core::stack::with_room;
use fiberloom_loops::lower::Options;
use fiberloom_loops::plan::{Fiber, Loop, Plan, Refused};
use fiberloom_loops::{Kernel, REWRITES, Rewrite, Sound};
use fiberloom_passes::concretize::{Chosen, concretize};
use fiberloom_passes::schedule::divide::divided;
use fiberloom_passes::schedule::eliminate::eliminate;
use fiberloom_passes::schedule::stage::{given, summed};
use fiberloom_passes::schedule::storage::{Asked, Sizes};
use std::collections::BTreeSet;
use std::fmt::Write;

mod plan;

pub use plan::{give, plan};

/// A program at every stage below the typed one.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// Loops over index variables.
    pub concrete: concrete::Program,
    /// What is decided of them.
    pub plan: Plan,
    /// What engines run.
    pub kernel: Sound,
    /// What of extents decided, where the program does not say them.
    pub asked: Asked,
}

/// Lowers a checked program.
///
/// # Errors
/// What the language has and lowering does not take yet, by name and place. A violated invariant between passes is an
/// error too: it says that the compiler has a defect, and which.
pub fn lower(program: &typed::Program, options: &Options) -> Result<Lowered, Vec<Diagnostic>> {
    lower_by(program, options, &mut |_, _| {})
}

/// Lowers a checked program; `seen` is shown the loops as they were emitted, and after each of [`REWRITES`] by its
/// name.
///
/// # Errors
/// As for [`lower()`].
pub fn lower_by(
    program: &typed::Program,
    options: &Options,
    seen: &mut dyn FnMut(&'static str, &Kernel),
) -> Result<Lowered, Vec<Diagnostic>> {
    with_room(|| lower_here(program, options, None, seen)).map_err(|wrong| match wrong {
        Unplanned::Program(diagnostics) => diagnostics,
        Unplanned::Plan(Diagnostic { message, .. }) | Unplanned::Loops(message) => defect(message),
    })
}

/// Why a program is not lowered by a plan that is given.
#[derive(Clone, Debug)]
pub enum Unplanned {
    /// The program is refused: places are in its text.
    Program(Vec<Diagnostic>),
    /// The plan is: the place is in the plan's text.
    Plan(Diagnostic),
    /// The plan makes loops that are not well-formed, as this says: the checker of plans is to find that first.
    Loops(String),
}

impl From<Vec<Diagnostic>> for Unplanned {
    fn from(diagnostics: Vec<Diagnostic>) -> Unplanned {
        Unplanned::Program(diagnostics)
    }
}

/// Lowers a checked program by this plan, as [`Lowered::show_plan`] prints plans.
///
/// # Errors
/// As for [`lower()`]; and what is wrong with the plan.
pub fn lower_planned(program: &typed::Program, options: &Options, plan: &str) -> Result<Lowered, Unplanned> {
    with_room(|| lower_here(program, options, Some(plan), &mut |_, _| {}))
}

fn lower_here(
    program: &typed::Program,
    options: &Options,
    plan: Option<&str>,
    seen: &mut dyn FnMut(&'static str, &Kernel),
) -> Result<Lowered, Unplanned> {
    let refused = |Refused { line, what }| {
        let span = plan.filter(|_| line > 0).map_or(Span::default(), |text| line_of(text, line));
        Unplanned::Plan(Diagnostic::new(span, what))
    };
    decide(program, options, |decided| {
        let Decided { program, classes, sizes, concrete, summed, .. } = decided;
        let (kernel, plan) = fiberloom_loops::planned(&concrete, classes, options, plan).map_err(refused)?;
        let kernel = rewritten(kernel, &REWRITES, seen).map_err(Unplanned::Loops)?;
        Ok(Lowered { concrete, plan, kernel, asked: Asked { summed, ..sizes.asked(program) } })
    })
}

/// What stands on a line of a text, from 1.
fn line_of(text: &str, line: usize) -> Span {
    let begin: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let line = text[begin..].lines().next().unwrap_or_default();
    Span::new(begin + line.len() - line.trim_start().len(), begin + line.len())
}

/// What is decided of a program before loops are emitted.
pub(crate) struct Decided<'a> {
    /// With a statement for each temporary.
    pub(crate) program: &'a typed::Program,
    classes: &'a Classes,
    sizes: &'a Sizes<'a>,
    /// The temporaries, each with the statement that reads it, of those that there were before.
    pub(crate) stages: Vec<(usize, Stage)>,
    /// As [`Asked::summed`].
    summed: BTreeSet<VarId>,
    /// What is decided of statements while loops are made of them.
    pub(crate) chosen: Chosen,
    /// Loops.
    pub(crate) concrete: concrete::Program,
}

/// Everything that is decided of a checked program.
///
/// # Errors
/// As for [`lower()`].
pub(crate) fn decide<T, E: From<Vec<Diagnostic>>>(
    program: &typed::Program,
    options: &Options,
    then: impl FnOnce(Decided) -> Result<T, E>,
) -> Result<T, E> {
    let program = &program.decided(&options.thin);
    let given = given(program, options.mode, (&options.thin, &options.empty))?;
    let (program, made) = given.as_ref().map_or((program, &[][..]), |(program, made)| (program, made));
    let classes = Classes::of(program)?;
    let (staged, stages) = eliminate(program, &classes, options.mode, (&options.thin, &options.empty));
    let summed = summed(made.iter().chain(&stages).map(|(_, stage)| stage), options.mode);
    // A kernel for given extents has those of the program's variables alone.
    let divided = if options.extents.is_none() { divided(&staged, options.mode) } else { None };
    let as_it_was = stages.is_empty() && divided.is_none();
    let program = divided.as_ref().unwrap_or(&staged);
    let classes = if as_it_was { classes } else { Classes::of(program)? };
    let sizes = Sizes::new(&classes, &options.sizes, options.extents.as_ref()).in_lists(options.lists);
    let (concrete, chosen) =
        concretize(program, (&classes, &sizes), options.mode, (&options.initial, &options.thin), options.held)?;
    concrete.check().map_err(defect)?;
    then(Decided { program, classes: &classes, sizes: &sizes, stages, summed, chosen, concrete })
}

/// The kernel after all rewrites, checked. `seen` is shown it as it is given, and after each rewrite.
///
/// # Errors
/// What the checker says, and after which rewrite.
fn rewritten(
    mut kernel: Kernel,
    rewrites: &[Rewrite],
    seen: &mut dyn FnMut(&'static str, &Kernel),
) -> Result<Sound, String> {
    let mut last = "emitted";
    seen(last, &kernel);
    for (name, rewrite) in rewrites {
        fiberloom_loops::check(&kernel).map_err(|e| format!("{last}: {e}"))?;
        rewrite(&mut kernel);
        last = name;
        seen(last, &kernel);
    }
    // Of loops that rewrites have taken away nothing is asked.
    let loops = kernel.loops();
    kernel.hints.retain(|var, _| loops.contains(var));
    Sound::new(kernel).map_err(|e| format!("{last}: {e}"))
}

fn defect(what: String) -> Vec<Diagnostic> {
    let message = format!("a defect of the compiler, not of this program: {what}");
    vec![Diagnostic::new(Span::default(), message).help("please report it, with the program")]
}

impl Lowered {
    fn access(&self, a: AccessId) -> String {
        let access = &self.concrete.accesses[a.0];
        let vars: Vec<&str> = access.vars.iter().map(|v| self.concrete.vars[v.0].name.as_str()).collect();
        format!("{}[{}]", self.concrete.tensor(a).name, vars.join(","))
    }

    fn forall(&self, vars: &[concrete::Index]) -> String {
        let vars: Vec<&str> = vars.iter().map(|v| self.concrete.vars[v.0].name.as_str()).collect();
        format!("forall {}", vars.join(" "))
    }

    /// What is decided of the loops, as text.
    pub fn show_plan(&self) -> String {
        self.plan.show(&self.concrete)
    }

    /// Each loop with what every access looks like along it.
    pub fn show_looplets(&self) -> String {
        let mut text = String::new();
        for Loop { vars, fibers, .. } in self.plan.loops() {
            writeln!(text, "{}", self.forall(vars)).expect("strings take everything");
            for Fiber { level: (a, level), looplet } in fibers {
                writeln!(text, "  {} level {level}: {looplet}", self.access(*a)).expect("strings take everything");
            }
        }
        text
    }

    /// Each loop with its lattice: points with their sequence expressions and loop shapes, edges with what is
    /// exhausted.
    pub fn show_lattice(&self) -> String {
        let mut text = String::new();
        for Loop { vars, points, .. } in self.plan.loops() {
            writeln!(text, "{}", self.forall(vars)).expect("strings take everything");
            for (n, p) in points.iter().enumerate() {
                let sequence = p.sequence.show(&|a| self.access(a));
                let edges: Vec<String> =
                    p.edges.iter().map(|(a, to)| format!(", {} exhausted → {to}", self.access(*a))).collect();
                let shape = format!("{:?}", p.shape).to_lowercase();
                writeln!(text, "  {n}: {sequence}  ({shape}){}", edges.concat()).expect("strings take everything");
            }
        }
        text
    }

    /// The same as a picture, in SVG.
    pub fn draw_lattice(&self) -> String {
        let mut top = 0;
        let mut groups = Vec::new();
        let mut columns = 0;
        for Loop { vars, points, .. } in self.plan.loops() {
            let lattice = Lattice { points: points.iter().cloned().map(Into::into).collect() };
            let (svg, height) = draw::group(&lattice, &self.forall(vars), &|a| self.access(a), top);
            top += height;
            columns = columns.max(draw::columns(&lattice));
            groups.push((svg, height));
        }
        draw::picture(&groups, columns)
    }
}

#[cfg(test)]
mod tests {
    use super::{Rewrite, rewritten};

    /// Two rewrites, of which the second mends what the first breaks: the first is named.
    #[test]
    fn a_rewrite_that_breaks_a_kernel_is_named() {
        let text = "kernel k(n)\n  result y: f64\n\n  alloc y[n] = 0.0\n  finish y[n]\n";
        let kernel = fiberloom_loops::read(text).expect("the text is a kernel's");
        let swapped: Rewrite = ("swapped", |kernel| kernel.body.swap(0, 1));
        let again: Rewrite = ("again", |kernel| kernel.body.swap(0, 1));
        let mut names = vec![];
        let refused = rewritten(kernel.clone(), &[swapped, again], &mut |name, _| names.push(name));
        let message = refused.expect_err("`finish` stands before `alloc`");
        assert!(message.starts_with("swapped: "), "{message}");
        assert_eq!(names, ["emitted", "swapped"]);
        let unchanged = rewritten(kernel.clone(), &[], &mut |_, _| {}).expect("it is sound");
        assert_eq!(*unchanged, kernel);
    }
}
