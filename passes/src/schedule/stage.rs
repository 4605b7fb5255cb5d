//! `stage(expr, W[i, …])`: a sum becomes a temporary, in a statement of its own before the one that contains it.
//!
//! ```text
//!  y[i] = sum(j, k: A[i,j] * B[j,k] * x[k])
//!    ─▶  stage(sum(k: B[j,k] * x[k]), t[j])
//!  t[j] = sum(k: B[j,k] * x[k]);   y[i] = sum(j: A[i,j] * t[j])
//! ```
//!
//! A rewrite of typed programs: each staged value is a [`Stage`], and `Staging` creates the statements. [`eliminate`](super::eliminate)
//! chooses which sums to stage.

use super::eliminate::may_fail;
use super::occurs::{Bound, Pattern};
use super::quotient::divided_last;
use fiberloom_core::algebra::{Mode, Type, Value, identity};
use fiberloom_core::iteration::Thin;
use fiberloom_core::notation::syntax::{self, Schedule};
use fiberloom_core::notation::typed::{
    Command, CommandKind, Expr, Fun, Index, Kind, Map, Program, Role, SizeId, Stage, Statement, Step, Tensor,
    TensorCommand, TensorId, Var, VarId,
};
use fiberloom_core::notation::{Diagnostic, Span};
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// An access to a stage's temporary, under the variables that match those of its value.
fn read(stage: &Stage, bound: &Bound) -> Expr {
    let under: Vec<VarId> = stage.vars.iter().map(|v| bound.get(v).copied().unwrap_or(*v)).collect();
    let Expr { ty, span, .. } = stage.expr;
    Expr { kind: Kind::Access(stage.tensor, bare(&under, span)), ty, span }
}

/// The right side of a statement, and its stages so far.
pub struct Staged {
    /// The right side.
    pub rhs: Expr,
    stages: Vec<Stage>,
    /// Variables whose extents are 0.
    empty: BTreeSet<VarId>,
}

impl Staged {
    /// A right side without stages.
    pub fn new(rhs: &Expr, mode: Mode) -> Staged {
        Staged { rhs: divided_last(rhs, mode), stages: vec![], empty: BTreeSet::new() }
    }

    /// Replaces occurrences of a stage's value by reads of its temporary, in earlier stages too; `vars` has the names of variables.
    /// Returns the stage in the statement's variables; `None` if its value occurs nowhere.
    pub fn stage(&mut self, stage: Stage, vars: &[Var], mode: Mode) -> Option<Stage> {
        let expr = &stage.expr;
        let first = RefCell::new(None);
        let read = |bound: &Bound| {
            first.borrow_mut().get_or_insert_with(|| bound.clone());
            read(&stage, bound)
        };
        let pattern = Pattern::new(expr, vars, mode).without(&self.empty);
        let replace = |e: &mut Expr| match pattern.replaced(e, &read) {
            Some(made) => {
                *e = made;
                true
            }
            None => false,
        };
        replace(&mut self.rhs);
        // A temporary that another one reads goes before it.
        let readers: Vec<bool> = self.stages.iter_mut().map(|earlier| replace(&mut earlier.expr)).collect();
        let place = readers.iter().position(|reads| *reads).unwrap_or(self.stages.len());
        let bound = first.into_inner()?;
        let of = |v: VarId| bound.get(&v).copied().unwrap_or(v);
        let vars = stage.vars.iter().map(|v| of(*v)).collect();
        let loops = stage.loops.iter().map(|(own, v)| (*own, of(*v))).collect();
        let stage = Stage { tensor: stage.tensor, vars, loops, expr: expr.rebound(&bound) };
        self.stages.insert(place, stage.clone());
        Some(stage)
    }

    /// Whether a value occurs in the right side or a stage; `vars` has the names of variables.
    pub fn has(&self, value: &Expr, vars: &[Var], mode: Mode) -> bool {
        let pattern = Pattern::new(value, vars, mode).without(&self.empty);
        // The replacement must not contain the value.
        let other = Expr { kind: Kind::Literal(Value::zero(value.ty)), ..value.clone() };
        self.parts().any(|e| pattern.replaced(e, &|_| other.clone()).is_some())
    }

    /// The right side, and the stages' values.
    pub fn parts(&self) -> impl Iterator<Item = &Expr> {
        [&self.rhs].into_iter().chain(self.stages.iter().map(|stage| &stage.expr))
    }
}

/// The reason why an expression may not be evaluated before the statement, if there is one.
pub fn refused(e: &Expr) -> Option<Diagnostic> {
    let why = if e.may_miss().is_some() {
        "may be missing"
    } else if may_fail(e) {
        "may fail: it reads under an index that is read itself, or calls a declared function"
    } else {
        return None;
    };
    let message = format!("a temporary is computed at coordinates at which the statement may not look, and this {why}");
    Some(Diagnostic::new(e.span, message).help("stage a part that cannot fail"))
}

/// The variables that temporaries of floats sum over, in the mode that lets factors move out of these sums.
pub fn summed<'s>(stages: impl Iterator<Item = &'s Stage>, mode: Mode) -> BTreeSet<VarId> {
    let mut all = BTreeSet::new();
    for Stage { expr, .. } in stages.filter(|s| s.expr.ty.is_float() && mode == Mode::Algebraic) {
        if let Kind::Reduce { .. } = expr.kind {
            expr.walk(&mut |e| all.extend(e.bound()));
        }
    }
    all
}

/// A program with a statement for each temporary, and the temporaries, each with the statement that reads it.
type Given = (Program, Vec<(usize, Stage)>);

/// The program with the temporaries that its commands ask for, and those, each with the statement that reads it, if there are any. `thin`
/// are the undeclared results that are thin, `empty` the variables whose extents are 0.
///
/// # Errors
/// Values that occur only if sums and products are regrouped, which the mode does not allow.
pub fn given(
    program: &Program,
    mode: Mode,
    (thin, empty): (&Thin, &BTreeSet<VarId>),
) -> Result<Option<Given>, Vec<Diagnostic>> {
    let mut staging = Staging::new(program);
    let mut wrong = vec![];
    for (n, statement) in program.statements.iter().enumerate() {
        let mut staged = Staged { empty: empty.clone(), ..Staged::new(&statement.rhs, mode) };
        for Command { kind, span } in &statement.commands {
            let CommandKind::Tensor(TensorCommand::Stage(stage)) = kind else { continue };
            // A sum over nothing stays whole and contains no other temporary.
            if staged.stage(stage.clone(), &program.vars, mode).is_none() && empty.is_empty() {
                wrong.push(regrouped(*span));
            }
        }
        staging.program.statements[n].rhs = staged.rhs;
        staging.stages[n] = staged.stages;
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let any = staging.stages.iter().any(|stages| !stages.is_empty());
    Ok(any.then(|| staging.finish(thin)))
}

fn regrouped(span: Span) -> Diagnostic {
    let message =
        "what is staged occurs only if a sum of products is regrouped, and `strict` mode keeps the order of floats";
    Diagnostic::new(span, message).help("stage a whole sum of the statement, or use the mode `algebraic`")
}

/// The fill value of a fold's temporary: the fold's identity. `None` if the expression is no fold.
pub fn filled(e: &Expr) -> Option<Value> {
    match &e.kind {
        Kind::Reduce { fun: Fun::Op(op), start: None, .. } => identity(*op, e.ty),
        _ => None,
    }
}

/// A program whose statements are being staged.
pub(super) struct Staging {
    /// The program, with the tensors so far.
    pub program: Program,
    names: FxHashSet<String>,
    /// The stages before each statement.
    stages: Vec<Vec<Stage>>,
    /// The index variables that right sides had before any stage.
    before: FxHashSet<VarId>,
}

impl Staging {
    pub(super) fn new(program: &Program) -> Staging {
        let names = program.tensors.iter().map(|t| t.name.clone()).collect();
        let stages = vec![vec![]; program.statements.len()];
        let mut staging = Staging { program: program.clone(), names, stages, before: FxHashSet::default() };
        staging.before = staging.mentioned();
        staging
    }

    /// The index variables of statements and their right sides.
    fn mentioned(&self) -> FxHashSet<VarId> {
        let mut all = FxHashSet::default();
        for statement in &self.program.statements {
            all.extend(&statement.vars);
            all.extend(statement.rhs.free());
            statement.rhs.walk(&mut |e| all.extend(e.bound()));
        }
        all
    }

    /// Stages a sum before a statement, unless the statement has that stage already, and returns the access that reads it. `sizes` are
    /// the extents of `vars`.
    pub(super) fn stage(
        &mut self,
        statement: usize,
        (vars, sizes): (Vec<VarId>, Vec<SizeId>),
        expr: Expr,
        fill: Value,
    ) -> Expr {
        let (ty, span) = (expr.ty, expr.span);
        let has = |stage: &Stage| {
            let bound = Pattern::new(&stage.expr, &self.program.vars, Mode::Strict).is(&expr)?;
            let under: Vec<VarId> = stage.vars.iter().map(|v| bound.get(v).copied()).collect::<Option<_>>()?;
            Some((stage.tensor, under))
        };
        let (tensor, under) = self.stages[statement].iter().find_map(has).unwrap_or_else(|| {
            let tensor = self.temporary(sizes, (ty, fill), span);
            self.stages[statement].push(Stage { tensor, vars: vars.clone(), loops: vec![], expr });
            (tensor, vars)
        });
        Expr { kind: Kind::Access(tensor, bare(&under, span)), ty, span }
    }

    /// A statement's right side with its stages' values replaced wherever they occur, also outside of the sums that were planned.
    pub(super) fn everywhere(&self, statement: usize, rhs: Expr, mode: Mode) -> Expr {
        self.stages[statement].iter().fold(rhs, |rhs, stage| {
            let pattern = Pattern::new(&stage.expr, &self.program.vars, mode);
            pattern.replaced(&rhs, &|bound: &Bound| read(stage, bound)).unwrap_or(rhs)
        })
    }

    fn temporary(&mut self, sizes: Vec<SizeId>, (ty, fill): (Type, Value), span: Span) -> TensorId {
        let named = (1..).map(|n| if n == 1 { "t".to_string() } else { format!("t_{n}") });
        let name = named.into_iter().find(|name| !self.names.contains(name)).expect("there are names enough");
        self.names.insert(name.clone());
        self.program.tensors.push(Tensor { name, ty, sizes, fill: Some(fill), format: None, role: Role::Local, span });
        TensorId(self.program.tensors.len() as u32 - 1)
    }

    /// The program with a statement for each stage, and the stages, each with the statement that reads it.
    pub(super) fn finish(mut self, thin: &Thin) -> (Program, Vec<(usize, Stage)>) {
        let stages = std::mem::take(&mut self.stages);
        let before = std::mem::take(&mut self.before);
        let of = |(n, stages): (usize, &Vec<Stage>)| stages.iter().map(|s| (n, s.clone())).collect::<Vec<_>>();
        let all: Vec<(usize, Stage)> = stages.iter().enumerate().flat_map(of).collect();
        let mut places = Vec::new();
        let statements = std::mem::take(&mut self.program.statements);
        for (mut statement, stages) in statements.into_iter().zip(stages) {
            let first = self.program.statements.len();
            for stage in stages {
                let own = own_loops(&stage);
                let made = self.statement(stage, &statement);
                self.program.statements.push(made);
                statement.commands.retain(|command| !is_parallel(command, &own));
            }
            self.program.statements.push(statement);
            places.push(first..self.program.statements.len());
        }
        reordered(&mut self.program.order, &places);
        let mentioned = self.mentioned();
        self.program.unbound.extend(before.into_iter().filter(|v| !mentioned.contains(v)));
        self.formats(&all, thin);
        (self.program, all)
    }

    /// Gives the temporaries the formats of undeclared results.
    fn formats(&mut self, stages: &[(usize, Stage)], thin: &Thin) {
        if stages.is_empty() {
            return;
        }
        let formats = self.program.formats(thin);
        for (statement, format) in self.program.statements.iter().zip(formats) {
            if stages.iter().any(|(_, stage)| stage.tensor == statement.tensor) {
                self.program.tensors[statement.tensor.index()].format = Some(format);
            }
        }
    }

    /// The statement of a stage. It inherits the reader's commands about the tensors that it reads, and by which loops that it has to itself
    /// run in parallel.
    fn statement(&mut self, stage: Stage, reader: &Statement) -> Statement {
        let alone = own_loops(&stage);
        let Stage { tensor, vars, loops, expr } = stage;
        let span = expr.span;
        let named = |v: VarId| loops.iter().find(|(_, of)| *of == v).map(|(own, _)| *own);
        let own: Vec<VarId> = vars.iter().map(|v| named(*v).unwrap_or_else(|| self.twin(*v))).collect();
        let renamed = expr.renamed(&vars.iter().copied().zip(own.iter().copied()).collect());
        let indices = bare(&own, span);
        let (schedule, mut commands) = self.inherited(&renamed, reader);
        commands.extend(reader.commands.iter().filter(|command| is_parallel(command, &alone)).cloned());
        Statement {
            tensor,
            indices,
            cuts: vec![],
            fold: None,
            rhs: renamed,
            vars: own,
            folded: vec![],
            schedule: Some(schedule),
            commands,
            format: None,
            span,
        }
    }

    /// The commands of a statement that are about tensors that an expression reads.
    fn inherited(&self, e: &Expr, reader: &Statement) -> (Schedule, Vec<Command>) {
        let mut read = FxHashSet::default();
        e.reads(&mut |t| {
            read.insert(t);
        });
        let named = |name: &str| read.iter().any(|t| self.program.tensors[t.index()].name == name);
        let about = |c: &&syntax::Command| match &c.kind {
            syntax::CommandKind::Tensor(syntax::TensorCommand::Protocol(access, _)) => named(&access.tensor.name),
            _ => false,
        };
        let protocols = reader.schedule.iter().flat_map(|s| &s.commands).filter(about).cloned().collect();
        let copies =
            |c: &&Command| matches!(&c.kind, CommandKind::Tensor(TensorCommand::Copy(t, _)) if read.contains(t));
        let schedule = Schedule { commands: protocols, span: e.span };
        (schedule, reader.commands.iter().filter(copies).cloned().collect())
    }

    /// Another variable of the same name and extent.
    fn twin(&mut self, v: VarId) -> VarId {
        self.program.vars.push(self.program.vars[v.index()].clone());
        VarId(self.program.vars.len() as u32 - 1)
    }
}

/// The variables of loops that a stage has to itself: those that `precompute` names, and those that its value folds over.
fn own_loops(stage: &Stage) -> Vec<VarId> {
    let mut own: Vec<VarId> = stage.loops.iter().map(|(own, _)| *own).collect();
    stage.expr.walk(&mut |e| own.extend(e.bound()));
    own
}

/// Whether a command lets one of these loops run in parallel.
fn is_parallel(Command { kind, .. }: &Command, loops: &[VarId]) -> bool {
    matches!(kind, CommandKind::Parallelize(v, ..) if loops.contains(v))
}

/// These variables as bare indices.
fn bare(vars: &[VarId], span: Span) -> Vec<Index> {
    vars.iter().map(|v| Index { permit: false, map: Map::Var(*v), span }).collect()
}

/// Replaces each statement of these steps by the statements in its range.
fn reordered(steps: &mut Vec<Step>, places: &[std::ops::Range<usize>]) {
    let old = std::mem::take(steps);
    for step in old {
        match step {
            Step::Statement(n) => steps.extend(places[n].clone().map(Step::Statement)),
            Step::Repeat(mut block) => {
                reordered(&mut block.body, places);
                steps.push(Step::Repeat(block));
            }
        }
    }
}
