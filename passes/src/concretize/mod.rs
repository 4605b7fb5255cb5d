//! Concretizing: typed statements to nests of loops in which every access can be followed.
//!
//! ```text
//!  C[i,j] = A[i,j] + sum(k: B[i,k] * D[k,j])        all CSR, D given as CSC
//!    ─▶  temporary D_t: {dense, compressed}           D cannot be followed in the order i, k, j
//!        forall j: forall k: D_t[k,j] = D[k,j]        (through a workspace)
//!        temporary sum: {dense, compressed}           the sum's k must run outside of j
//!        forall i: … sum[i,j] += B[i,k] * D_t[k,j]
//!        forall i: forall j: C[i,j] = A[i,j] + sum[i,j]
//! ```
//!
//! Never fails on what it takes: levels under any index map, functions, folds, scatters.
//! Everything else of the language is refused by [`refuse`], with a message that names it.
//!
//! A statement becomes a nest by one decision after the other (`Concretize::define`). Each is a function that takes the statement as
//! it stands, a `Draft`, with the part of the state that it reads or changes, and returns it changed:
//!
//! ```text
//!  statement, part, bare, shape     the statement as it is written; windows and conditions where something may be missing
//!  elements                         a statement that changes some elements of a computed tensor writes only those
//!  mirror                           an entry of a symmetric matrix is read once for its two places
//!  hoist::taken_in                  a sum under a condition becomes a sum of its body under the condition
//!  turn                             lists under computed coordinates are walked through an inverse of the coordinate
//!  join                             values that have to be equal are looked up by value
//!  hoist::hoisted, temporary        sums that cannot run inside are materialized before the statement        stage
//!  order                            the loops' order; the innermost sums move inside the value               reorder
//!  store                            the workspace, or the tensor, in which values wait                       store
//!  follow                           copies of operands that loops cannot follow or would walk repeatedly     copy
//!  columns                          tensors of one structure are walked as one
//!  steps                            the nest is emitted behind everything that it reads
//! ```
//!
//! A decision that adds statements before its own takes all of `Concretize`: those are defined at once.
//!
//! A list that some outer loop does not move, intersected with one that all of them move, is copied once into a level that is asked for a
//! coordinate, instead of being walked again each time.
//!
//! Each statement defines a new version of its tensor, so that the right side reads it as it was before. The version
//! before the first statement is the caller's: an operand `T_in`, where the program reads it or `initial` has it. In a block the
//! last version of an iteration is the one with which the next begins (`steps.rs`).

mod apart;
mod bare;
mod columns;
mod draft;
mod elements;
mod follow;
mod free;
mod given;
mod ground;
mod hoist;
mod join;
mod mirror;
mod order;
mod out;
mod part;
mod precompute;
mod refuse;
mod rename;
mod schedule;
mod shape;
mod statement;
mod steps;
mod store;
mod temporary;
mod turn;

use crate::schedule::loops::Loops;
use crate::schedule::storage::Sizes;
use columns::Columns;
pub use columns::structures;
use draft::Draft;
use fiberloom_core::algebra::Mode;
use fiberloom_core::iteration::{Simplify, Thin};
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::concrete::{self, Nest, Place, Program};
use fiberloom_core::notation::typed::{self, CommandKind, TensorId, VarId};
use fiberloom_core::shape::Classes;
use follow::{Copies, Follow};
use given::Given;
use out::Out;
pub use refuse::refuse;
use schedule::Scheduled;
use std::collections::BTreeSet;
use steps::{Statements, Steps};
use temporary::Sums;

/// What the planner decides of statements, each by its place in the program.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Copies of operands and orders of loops, as commands.
    pub commands: Vec<(usize, CommandKind)>,
    /// Folds that are materialized, in the order in which they are computed.
    pub folds: Vec<(usize, Materialized)>,
}

/// A fold of a statement that is computed before it, or inside of its loops.
#[derive(Clone, Debug)]
pub struct Materialized {
    /// The temporary.
    pub place: Place,
    /// The variables that are free in the fold, in the order of the temporary's modes.
    pub free: Vec<VarId>,
    /// The variables of the fold's loops.
    pub folded: Vec<VarId>,
}

/// The concrete program of a typed one, and what was decided of its statements. Results among `initial` start from what the caller gives;
/// those among `thin` are [thin](Thin). Whether they are `held` the options of loops say.
///
/// # Errors
/// A diagnostic for each construct that is not lowered yet, with its name and place.
pub fn concretize(
    program: &typed::Program,
    (classes, sizes): (&Classes, &Sizes),
    mode: Mode,
    (initial, thin): (&BTreeSet<TensorId>, &Thin),
    held: bool,
) -> Result<(Program, Chosen), Vec<Diagnostic>> {
    let refused = refuse(program);
    if !refused.is_empty() {
        return Err(refused);
    }
    let loops = schedule::loops(program, mode)?;
    let functions = concrete::plain(&program.functions);
    let simplify = Simplify { mode, functions: &functions };
    let given = Given { typed: program, classes, sizes, simplify, initial, held };
    let mut statements = Statements::of(Concretize::new(given), program.formats(thin), loops);
    statements.steps(&program.order);
    let Concretize { mut out, steps, copies, sums, mut chosen, .. } = statements.c;
    out.steps = steps.finish();
    precompute::precomputed(&mut out, given, &sums.planned);
    chosen.commands.extend(copies.whole(&out));
    Ok((out.named().numbered(), chosen))
}

/// The concrete program under construction. Decisions that add statements before their own, which may add more, take all of it; others
/// take the part that they read or change.
struct Concretize<'a> {
    given: Given<'a>,
    /// Tensors, index variables, accesses.
    out: Out<'a>,
    /// The statements and blocks, in order of execution.
    steps: Steps,
    /// Copies of operands.
    copies: Copies,
    /// Tables, each walked once for all of its columns.
    columns: Columns,
    /// The schedule of the current statement, and the loops that it names.
    scheduled: Scheduled,
    /// Sums that are materialized before statements.
    sums: Sums,
    /// The statement at hand, by its place in the program.
    statement: usize,
    /// What is decided of statements.
    chosen: Chosen,
}

impl<'a> Concretize<'a> {
    fn new(given: Given<'a>) -> Concretize<'a> {
        Concretize {
            given,
            out: Out::new(given.typed, given.classes, given.simplify.functions),
            steps: Steps::new(),
            copies: Copies::default(),
            columns: Columns::of(given.typed),
            scheduled: Scheduled::default(),
            sums: Sums::default(),
            statement: 0,
            chosen: Chosen::default(),
        }
    }

    /// Begins a statement of the program, with the loops that its schedule makes.
    fn begin(&mut self, number: usize, s: &typed::Statement, loops: Loops) {
        self.statement = number;
        self.copies.begin(s);
        self.scheduled = Scheduled::of(loops);
        self.sums.begin();
    }

    /// Turns a statement into a nest, after the statements that it needs: one decision after the other.
    fn define(&mut self, s: Draft) {
        let given = self.given;
        let s = elements::changed(s, self);
        if s.assign.scatters() {
            return self.scatter(s);
        }
        if let Some(nest) = mirror::mirrored(&s, &mut self.out, given) {
            return self.emit(nest);
        }
        let s = hoist::taken_in(s, &mut self.scheduled, &mut self.out, given);
        let s = turn::turned(s, self);
        let s = join::looked_up(s, self);
        let s = hoist::hoisted(s, self);
        let s = order::ordered(s, &mut self.scheduled, &mut self.out, given);
        if store::begins_otherwise(&s, &self.out, given) {
            return self.define_through(s);
        }
        let s = order::applied(s, self);
        let s = order::inward(s);
        let s = store::stored(s, &self.out, given);
        self.emit(s.nest());
    }

    /// Turns a scatter into a nest: its loops are not over its result's coordinates.
    fn scatter(&mut self, s: Draft) {
        let given = self.given;
        let s = elements::read_before(s, self);
        let s = hoist::hoisted(s, self);
        let s = order::ordered(s, &mut self.scheduled, &mut self.out, given);
        let s = order::applied(s, self);
        let s = store::scattered(s, &self.out, given);
        self.emit(s.nest());
    }

    /// Emits a nest, with the copies that its loops need to follow its accesses.
    fn emit(&mut self, nest: Nest) {
        let nest = self.follow().followed(nest);
        let nest = self.follow().spread(nest);
        self.copies.note((self.statement, &nest), &self.out);
        self.make_copies(&nest);
        let nest = Nest { rhs: self.given.simplify.simplify(&nest.rhs), ..nest };
        let nest = self.columns.walked(nest, &mut self.out);
        self.steps.nest(nest);
    }

    /// The part of the state that replaces accesses by copies.
    fn follow(&mut self) -> Follow<'_, 'a> {
        let Concretize { given, out, steps, copies, .. } = self;
        Follow { given: *given, out, steps, copies }
    }
}
/// `name`, or the first of `name_2`, `name_3`, … that is not taken.
fn distinct(name: &str, taken: impl Fn(&String) -> bool) -> String {
    let names = (2..).map(|n| format!("{name}_{n}"));
    std::iter::once(name.to_string()).chain(names).find(|name| !taken(name)).expect("there are names enough")
}
