//! `stage(expr, W[i, …])`: a sum becomes a temporary, in a statement of its own before the one that has it.
//!
//! ```text
//!  y[i] = sum(j, k: A[i,j] * B[j,k] * x[k])
//!    ─▶  stage(sum(k: B[j,k] * x[k]), t[j])
//!  t[j] = sum(k: B[j,k] * x[k]);   y[i] = sum(j: A[i,j] * t[j])
//! ```
//!
//! A rewrite of typed programs: what is staged is a value ([`Stage`]), and `Staging` makes the statements. Which sums are staged is
//! chosen in [`eliminate`](super::eliminate).

use crate::algebra::{Type, Value};
use crate::notation::Span;
use crate::notation::typed::{Expr, Index, Kind, Map, Program, Role, SizeId, Statement, Step, Tensor, TensorId, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// A temporary that a statement needs before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The temporary.
    pub tensor: TensorId,
    /// Its index variables, of the statement that reads it.
    pub vars: Vec<VarId>,
    /// Its value under them.
    pub expr: Expr,
}

/// The stages of a program as commands. `staged` has their tensors, `program` the variables: those that the stages' own statements add
/// have the same names.
pub(crate) fn commands(program: &Program, staged: &Program, stages: &[Stage]) -> Vec<String> {
    if stages.is_empty() {
        return Vec::new();
    }
    let named = Program { vars: program.vars.clone(), ..staged.clone() };
    let command = |Stage { tensor, vars, expr }: &Stage| {
        format!("stage({}, {}[{}])", named.expr(expr), named.tensor_name(*tensor), named.vars(vars))
    };
    stages.iter().map(command).collect()
}

/// A program whose statements are being staged.
pub(super) struct Staging {
    /// The program, with the tensors so far.
    pub program: Program,
    names: FxHashSet<String>,
    /// The stages that stand before each statement.
    stages: Vec<Vec<Stage>>,
}

impl Staging {
    pub(super) fn new(program: &Program) -> Staging {
        let names = program.tensors.iter().map(|t| t.name.clone()).collect();
        Staging { program: program.clone(), names, stages: vec![vec![]; program.statements.len()] }
    }

    /// Makes a sum a temporary before a statement: the access that reads it. Its extents are those of `sizes`, a variable each.
    pub(super) fn stage(
        &mut self,
        statement: usize,
        (vars, sizes): (Vec<VarId>, Vec<SizeId>),
        expr: Expr,
        fill: Value,
    ) -> Expr {
        let (ty, span) = (expr.ty, expr.span);
        let tensor = self.temporary(sizes, (ty, fill), span);
        let indices = bare(&vars, span);
        self.stages[statement].push(Stage { tensor, vars, expr });
        Expr { kind: Kind::Access(tensor, indices), ty, span }
    }

    fn temporary(&mut self, sizes: Vec<SizeId>, (ty, fill): (Type, Value), span: Span) -> TensorId {
        let named = (1..).map(|n| if n == 1 { "t".to_string() } else { format!("t_{n}") });
        let name = named.into_iter().find(|name| !self.names.contains(name)).expect("there are names enough");
        self.names.insert(name.clone());
        self.program.tensors.push(Tensor { name, ty, sizes, fill: Some(fill), format: None, role: Role::Local, span });
        TensorId(self.program.tensors.len() as u32 - 1)
    }

    /// The program with a statement for each stage, and the stages.
    pub(super) fn finish(mut self) -> (Program, Vec<Stage>) {
        let stages = std::mem::take(&mut self.stages);
        let all: Vec<Stage> = stages.iter().flatten().cloned().collect();
        let mut places = Vec::new();
        let statements = std::mem::take(&mut self.program.statements);
        for (statement, stages) in statements.into_iter().zip(stages) {
            let first = self.program.statements.len();
            for stage in stages {
                let made = self.statement(stage);
                self.program.statements.push(made);
            }
            self.program.statements.push(statement);
            places.push(first..self.program.statements.len());
        }
        reordered(&mut self.program.order, &places);
        (self.program, all)
    }

    fn statement(&mut self, stage: Stage) -> Statement {
        let Stage { tensor, vars, expr } = stage;
        let span = expr.span;
        let own: Vec<VarId> = vars.iter().map(|v| self.twin(*v)).collect();
        let renamed = expr.renamed(&vars.iter().copied().zip(own.iter().copied()).collect());
        let indices = bare(&own, span);
        Statement {
            tensor,
            indices,
            cuts: vec![],
            fold: None,
            rhs: renamed,
            vars: own,
            folded: vec![],
            schedule: None,
            commands: vec![],
            span,
        }
    }

    /// Another variable of the same name and extent.
    fn twin(&mut self, v: VarId) -> VarId {
        self.program.vars.push(self.program.vars[v.index()].clone());
        VarId(self.program.vars.len() as u32 - 1)
    }
}

/// These variables as bare indices.
fn bare(vars: &[VarId], span: Span) -> Vec<Index> {
    vars.iter().map(|v| Index { permit: false, map: Map::Var(*v), span }).collect()
}

/// Steps whose statements have become several, at these places.
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

impl Expr {
    /// The same expression of other variables: those that are free in it.
    pub(super) fn renamed(&self, names: &FxHashMap<VarId, VarId>) -> Expr {
        self.mapped(names, &mut |part| part.renamed(names))
    }

    /// The same expression of other parts.
    pub(super) fn rebuilt(&self, part: &mut dyn FnMut(&Expr) -> Expr) -> Expr {
        self.mapped(&FxHashMap::default(), part)
    }

    /// The same expression of other parts; the variables that it names itself, but for those that it binds, have other names.
    fn mapped(&self, names: &FxHashMap<VarId, VarId>, part: &mut dyn FnMut(&Expr) -> Expr) -> Expr {
        let var = |v: &VarId| names.get(v).copied().unwrap_or(*v);
        let kind = match &self.kind {
            Kind::Literal(_) | Kind::Size(_) | Kind::Local(_) => self.kind.clone(),
            Kind::Index(v) => Kind::Index(var(v)),
            Kind::Access(t, indices) => Kind::Access(*t, indices.iter().map(|i| i.renamed(names)).collect()),
            Kind::Call(fun, args) => Kind::Call(*fun, args.iter().map(part).collect()),
            Kind::Reduce { fun, vars, body, start } => Kind::Reduce {
                fun: *fun,
                vars: vars.clone(),
                body: Box::new(part(body)),
                start: start.as_deref().map(|s| Box::new(part(s))),
            },
            Kind::Collapse { body, from, to } => {
                Kind::Collapse { body: Box::new(part(body)), from: from.clone(), to: var(to) }
            }
            Kind::Split { body, from, to } => {
                Kind::Split { body: Box::new(part(body)), from: *from, to: (var(&to.0), var(&to.1)) }
            }
            Kind::Concat { parts, from, to } => {
                Kind::Concat { parts: parts.iter().map(part).collect(), from: from.clone(), to: var(to) }
            }
            Kind::Slice { body, from, to, start, end, step } => Kind::Slice {
                body: Box::new(part(body)),
                from: *from,
                to: var(to),
                start: start.clone(),
                end: end.clone(),
                step: *step,
            },
        };
        Expr { kind, ..self.clone() }
    }

    /// The index variables that are free in it.
    pub(super) fn free(&self) -> FxHashSet<VarId> {
        let mut free = FxHashSet::default();
        match &self.kind {
            Kind::Literal(_) | Kind::Size(_) | Kind::Local(_) => {}
            Kind::Index(v) => drop(free.insert(*v)),
            Kind::Access(_, indices) => indices.iter().for_each(|i| i.map.free(&mut free)),
            _ => self.children().for_each(|part| free.extend(part.free())),
        }
        match &self.kind {
            Kind::Reduce { vars, .. } => free.retain(|v| !vars.contains(v)),
            Kind::Collapse { from, to, .. } | Kind::Concat { from, to, .. } => {
                free.retain(|v| !from.contains(v));
                free.insert(*to);
            }
            Kind::Split { from, to, .. } => {
                free.remove(from);
                free.extend([to.0, to.1]);
            }
            Kind::Slice { from, to, .. } => {
                free.remove(from);
                free.insert(*to);
            }
            _ => {}
        }
        free
    }
}

impl Index {
    fn renamed(&self, names: &FxHashMap<VarId, VarId>) -> Index {
        Index { map: self.map.renamed(names), ..self.clone() }
    }
}

impl Map {
    fn renamed(&self, names: &FxHashMap<VarId, VarId>) -> Map {
        let boxed = |m: &Map| Box::new(m.renamed(names));
        match self {
            Map::Var(v) => Map::Var(names.get(v).copied().unwrap_or(*v)),
            Map::Const(_) | Map::Bound(_) => self.clone(),
            Map::Add(a, b) => Map::Add(boxed(a), boxed(b)),
            Map::Mul(n, a) => Map::Mul(*n, boxed(a)),
            Map::Div(a, n) => Map::Div(boxed(a), *n),
            Map::Mod(a, n) => Map::Mod(boxed(a), *n),
            Map::Gather(t, indices) => Map::Gather(*t, indices.iter().map(|i| i.renamed(names)).collect()),
            Map::Computed(e) => Map::Computed(Box::new(e.renamed(names))),
        }
    }

    fn free(&self, free: &mut FxHashSet<VarId>) {
        match self {
            Map::Var(v) => drop(free.insert(*v)),
            Map::Const(_) | Map::Bound(_) => {}
            Map::Add(a, b) => {
                a.free(free);
                b.free(free);
            }
            Map::Mul(_, a) | Map::Div(a, _) | Map::Mod(a, _) => a.free(free),
            Map::Gather(_, indices) => indices.iter().for_each(|i| i.map.free(free)),
            Map::Computed(e) => free.extend(e.free()),
        }
    }
}
