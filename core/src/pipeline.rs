//! The passes in a row: a typed program becomes a kernel.
//!
//! ```text
//!  typed ──concretize──▶ concrete ──check──▶ lower ──▶ loops ──REWRITES──▶ loops ──check──▶ Lowered
//! ```
//!
//! Where debug assertions are on, the loops are checked as they are emitted and after each rewrite, too.

use crate::concretize::{Copied, concretize};
use crate::iteration::draw;
use crate::loops::lower::{self, Forall, Options};
use crate::loops::{self, Kernel, Sound};
use crate::notation::concrete::{self, AccessId};
use crate::notation::syntax::{Command, CommandKind};
use crate::notation::typed::Stage;
use crate::notation::{Diagnostic, Span, typed};
use crate::schedule::eliminate::eliminate;
use crate::schedule::spell::{self, Planned};
use crate::schedule::stage::{Staged, given};
use crate::schedule::storage::{Asked, Sizes};
use crate::shape::Classes;
use crate::stack::with_room;
use std::fmt::Write;

/// A program at every stage below the typed one.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// Loops over index variables.
    pub concrete: concrete::Program,
    /// Each loop with its looplets and its lattice.
    pub foralls: Vec<Forall>,
    /// What engines run.
    pub kernel: Sound,
    /// What of extents decided, where the program does not say them.
    pub asked: Asked,
}

/// What is done to loops once they are emitted, in order. None changes what they compute.
pub const REWRITES: [Rewrite; 9] = [
    ("sweep", loops::sweep),
    ("flatten", loops::flatten),
    ("blocks", loops::blocks),
    ("inline", loops::inline),
    ("exits", loops::exits),
    ("partials", loops::partials),
    ("copies", loops::copies),
    ("strips", loops::strips),
    ("jam", loops::jam),
];

/// A rewrite of loops, with its name.
pub type Rewrite = (&'static str, fn(&mut Kernel));

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
    with_room(|| lower_here(program, options, seen))
}

fn lower_here(
    program: &typed::Program,
    options: &Options,
    seen: &mut dyn FnMut(&'static str, &Kernel),
) -> Result<Lowered, Vec<Diagnostic>> {
    decide(program, options, |decided| {
        let Decided { program, classes, sizes, concrete, .. } = decided;
        let (kernel, foralls) = lower::lower("kernel", &concrete, classes, options);
        let kernel = rewritten(kernel, &REWRITES, seen).map_err(defect)?;
        Ok(Lowered { concrete, foralls, kernel, asked: sizes.asked(program) })
    })
}

/// What is decided of a program before loops are emitted.
struct Decided<'a> {
    /// Before sums were staged.
    whole: &'a typed::Program,
    /// With a statement for each temporary.
    program: &'a typed::Program,
    classes: &'a Classes,
    sizes: &'a Sizes<'a>,
    stages: Vec<(usize, Stage)>,
    copied: Vec<Copied>,
    concrete: concrete::Program,
}

fn decide<T>(
    program: &typed::Program,
    options: &Options,
    then: impl FnOnce(Decided) -> Result<T, Vec<Diagnostic>>,
) -> Result<T, Vec<Diagnostic>> {
    let given = given(program, options.mode, &options.thin)?;
    let whole = given.as_ref().unwrap_or(program);
    let program = whole;
    let classes = Classes::of(program)?;
    let (staged, stages) = eliminate(program, &classes, options.mode, &options.thin);
    let program = &staged;
    let classes = if stages.is_empty() { classes } else { Classes::of(program)? };
    let sizes = Sizes::new(&classes, &options.sizes, options.extents.as_ref());
    let (concrete, copied) = concretize(program, (&classes, &sizes), options.mode, (&options.initial, &options.thin))?;
    concrete.check().map_err(defect)?;
    then(Decided { whole, program, classes: &classes, sizes: &sizes, stages, copied, concrete })
}

/// What the planner decides of a checked program, as commands, each with its statement: given to the program, they make the same
/// loops.
///
/// # Errors
/// As for [`lower()`].
pub fn plan(program: &typed::Program, options: &Options) -> Result<Vec<Planned>, Vec<Diagnostic>> {
    with_room(|| decide(program, options, |decided| Ok(said_of(program, options, decided))))
}

fn said_of(original: &typed::Program, options: &Options, decided: Decided) -> Vec<Planned> {
    let Decided { whole, program, classes, mut stages, copied, concrete, .. } = decided;
    // Of a product that was distributed before the command would find its sum in the whole.
    let found: Vec<usize> =
        stages.iter().map(|(n, _)| *n).filter(|n| finds(whole, program, (*n, &stages), options)).collect();
    // A statement that has commands is not staged: where stages are not said, copies are not said either.
    let whole_plan = stages.iter().all(|(n, _)| found.contains(n));
    stages.retain(|(n, _)| found.contains(n));
    let again = |told: &typed::Program| {
        // What this asks of extents decides nothing.
        let sizes = Sizes::new(classes, &options.sizes, options.extents.as_ref());
        let made = concretize(told, (classes, &sizes), options.mode, (&options.initial, &options.thin));
        made.is_ok_and(|(made, _)| alike(&made, &concrete))
    };
    // Of a tensor whose lists the statement says how to iterate another copy would be iterated so. What scatters or has shape operators
    // makes temporaries of its own, which would read the copy, too.
    let free = |copy: &Copied| {
        let statement = &program.statements[copy.statement];
        let commands = statement.schedule.iter().flat_map(|schedule| &schedule.commands);
        let name = &program.tensors[copy.tensor.index()].name;
        let asks = |c: &Command| matches!(&c.kind, CommandKind::Protocol(a, _) if a.tensor.name == *name);
        !commands.into_iter().any(asks) && !statement.scatters() && !shaped(&statement.rhs)
    };
    let copied = if whole_plan && copied.iter().all(free) && said(program, &copied, again) { copied } else { vec![] };
    planned(original, program, &stages, &copied)
}

/// Whether a program whose statements are told of these copies is made as without: the choice of loops, too, sees what it is told.
fn said(program: &typed::Program, copied: &[Copied], same: impl Fn(&typed::Program) -> bool) -> bool {
    let mut told = program.clone();
    for Copied { statement, tensor, format } in copied {
        let statement = &mut told.statements[*statement];
        let kind = typed::CommandKind::Copy(*tensor, format.clone());
        statement.commands.push(typed::Command { kind, span: statement.span });
    }
    !copied.is_empty() && same(&told)
}

/// Whether a shape operator stands in an expression.
fn shaped(e: &typed::Expr) -> bool {
    use typed::Kind::{Collapse, Concat, Slice, Split};
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e.kind, Slice { .. } | Split { .. } | Collapse { .. } | Concat { .. }));
    found
}

/// Whether the stages of a statement, asked for by commands, leave of it what the planner has left.
fn finds(
    whole: &typed::Program,
    program: &typed::Program,
    (n, stages): (usize, &[(usize, Stage)]),
    options: &Options,
) -> bool {
    let statement = &whole.statements[n];
    // Shape operators bind variables by names that the statement may have given to others.
    if stages.iter().any(|(of, stage)| *of == n && shaped(&stage.expr)) {
        return false;
    }
    let mut staged = Staged::new(statement.rhs.clone());
    let own = stages.iter().filter(|(of, _)| *of == n);
    let all = own.map(|(_, stage)| staged.stage(stage.clone(), &program.vars, options.mode)).all(|made| made.is_some());
    let left = program.statements.iter().find(|s| (s.tensor, s.span) == (statement.tensor, statement.span));
    all && left.is_some_and(|left| program.expr(&left.rhs) == program.expr(&staged.rhs))
}

/// Whether two programs are the same but for the order in which their tensors are named.
fn alike(one: &concrete::Program, other: &concrete::Program) -> bool {
    let parts = |program: &concrete::Program| {
        let text = program.to_string();
        let (tensors, steps) = text.split_once("\n\n").unwrap_or((&text, ""));
        let mut tensors: Vec<String> = tensors.lines().map(str::to_string).collect();
        tensors.sort();
        (tensors, steps.to_string())
    };
    parts(one) == parts(other)
}

/// What the planner decided, as commands. `staged` is the program with a statement for each temporary, before the one that reads it.
fn planned(
    original: &typed::Program,
    staged: &typed::Program,
    stages: &[(usize, Stage)],
    copied: &[Copied],
) -> Vec<Planned> {
    let own = |s: &typed::Statement| s.tensor.index() < original.tensors.len() && !original.is_staged(s.tensor);
    let before = |n: usize| staged.statements[..n].iter().filter(|s| own(s)).count();
    let mut planned = vec![];
    for (_, stage) in stages {
        let made = staged.statements.iter().position(|s| s.tensor == stage.tensor).expect("it has a statement");
        planned.push(Planned { statement: before(made), command: spell::stage(staged, stage) });
    }
    for (n, copy) in copied.iter().enumerate() {
        let statement = before(copy.statement);
        let same = |other: &Copied| before(other.statement) == statement && other.tensor == copy.tensor;
        let all = staged.statements.iter().enumerate().filter(|(n, s)| {
            let mut read = false;
            s.rhs.reads(&mut |t| read |= t == copy.tensor);
            before(*n) == statement && read
        });
        // One command is about all statements that a statement has become.
        let alike = all.map(|(n, _)| n).all(|n| {
            copied
                .iter()
                .any(|other| other.statement == n && other.tensor == copy.tensor && other.format == copy.format)
        });
        let defines = |(n, s): (usize, &typed::Statement)| before(n) == statement && s.tensor == copy.tensor;
        let defined = staged.statements.iter().enumerate().any(defines);
        if alike && !defined && !copied[..n].iter().any(same) {
            let name = &staged.tensors[copy.tensor.index()].name;
            planned.push(Planned { statement, command: spell::copy(name, &copy.format) });
        }
    }
    planned
}

/// The kernel after all rewrites, checked. `seen` is shown it as it is given, and after each rewrite.
///
/// # Errors
/// What the checker says and, where debug assertions are on, after which rewrite.
fn rewritten(
    mut kernel: Kernel,
    rewrites: &[Rewrite],
    seen: &mut dyn FnMut(&'static str, &Kernel),
) -> Result<Sound, String> {
    let mut step = |name, kernel: &Kernel| {
        seen(name, kernel);
        if cfg!(debug_assertions) { loops::check(kernel).map_err(|e| format!("{name}: {e}")) } else { Ok(()) }
    };
    step("emitted", &kernel)?;
    for (name, rewrite) in rewrites {
        rewrite(&mut kernel);
        step(name, &kernel)?;
    }
    // Of loops that rewrites have taken away nothing is asked.
    let loops = kernel.loops();
    kernel.asked.retain(|var, _| loops.contains(var));
    Sound::new(kernel)
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

    fn forall(&self, f: &Forall) -> String {
        let vars: Vec<&str> = f.vars.iter().map(|v| self.concrete.vars[v.0].name.as_str()).collect();
        format!("forall {}", vars.join(" "))
    }

    /// Each loop with what every access looks like along it.
    pub fn show_looplets(&self) -> String {
        let mut text = String::new();
        for f in &self.foralls {
            writeln!(text, "{}", self.forall(f)).expect("strings take everything");
            for (a, level, looplet) in &f.looplets {
                writeln!(text, "  {} level {level}: {looplet}", self.access(*a)).expect("strings take everything");
            }
        }
        text
    }

    /// Each loop with its lattice: points with their sequence expressions and loop shapes, edges with what is
    /// exhausted.
    pub fn show_lattice(&self) -> String {
        let mut text = String::new();
        for f in &self.foralls {
            writeln!(text, "{}", self.forall(f)).expect("strings take everything");
            for (n, p) in f.lattice.points.iter().enumerate() {
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
        for f in &self.foralls {
            let (svg, height) = draw::group(&f.lattice, &self.forall(f), &|a| self.access(a), top);
            top += height;
            groups.push((svg, height));
        }
        let columns = self.foralls.iter().map(|f| draw::columns(&f.lattice)).max().unwrap_or(0);
        draw::picture(&groups, columns)
    }
}

#[cfg(test)]
mod tests {
    use super::{Rewrite, rewritten};

    /// Two rewrites, of which the second mends what the first breaks: the first is named.
    #[test]
    #[cfg(debug_assertions)]
    fn a_rewrite_that_breaks_a_kernel_is_named() {
        let text = "kernel k(n)\n  result y: f64\n\n  alloc y[n] = 0.0\n  finish y[n]\n";
        let kernel = crate::loops::read(text).expect("the text is a kernel's");
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
