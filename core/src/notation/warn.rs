//! What a program means and its author may not have meant: warnings, which reject nothing.
//!
//! ```text
//!  y[i] = A[i,j] * x[k]                            j and k occur once, and are summed
//!  y[] max= x[i]              y without a fill     begins with 0
//!  n[] = sum(i: x[i] > 0.0)                        a truth value, no number
//!  y[j] = w[j] where { w[i] = A[i,k] * A[k,j] }    another j, which is summed
//! ```
//!
//! A loop that a schedule wants in parallel runs on one thread, and this says so.
//! A sum that is spelled out, `sum(j: …)`, and one of a term with one access, `y[i] = A[i,j]`, say what they mean.

use super::syntax::Unit;
use super::typed::{Command, CommandKind, Expr, Fun, Index, Kind, Program, Role, Statement, TensorId, VarId};
use super::{Diagnostic, Span};
use crate::algebra::{Op, Type, Value};
use crate::stack::with_room;
use rustc_hash::FxHashSet;

/// A warning.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    /// What is said, and where.
    pub diagnostic: Diagnostic,
    /// It does not hold of a call that gives this tensor.
    pub unless_given: Option<TensorId>,
}

impl From<Diagnostic> for Warning {
    fn from(diagnostic: Diagnostic) -> Warning {
        Warning { diagnostic, unless_given: None }
    }
}

/// What is doubtful in a checked program, in the order of the text.
pub fn warnings(program: &Program) -> Vec<Warning> {
    with_room(|| warnings_here(program))
}

fn warnings_here(program: &Program) -> Vec<Warning> {
    let mut all = Vec::new();
    for (n, s) in program.statements.iter().enumerate() {
        s.rhs.walk(&mut |e| {
            if let Kind::Reduce { fun: Fun::Op(Op::Add), vars, body, .. } = &e.kind {
                all.extend(truth_value(e, body).map(Warning::from));
                if is_implicit(e, body) {
                    all.extend(vars.iter().filter_map(|v| summed_alone(program, body, *v)).map(Warning::from));
                    all.extend(vars.iter().filter_map(|v| another(program, n, *v)).map(Warning::from));
                }
            }
        });
        all.extend(s.commands.iter().filter_map(|command| runs_serially(program, command)).map(Warning::from));
    }
    all.extend(program.starts().into_iter().filter_map(|id| begins_elsewhere(program, id)));
    all.sort_by_key(|warning| warning.diagnostic.span.start);
    all
}

/// A loop that is to run in parallel runs on one thread.
fn runs_serially(program: &Program, command: &Command) -> Option<Diagnostic> {
    let CommandKind::Parallelize(v, unit, _) = &command.kind else { return None };
    let name = &program.vars[v.index()].name;
    let message = format!("the loop over `{name}` runs on one thread: there is no `{unit}` yet");
    let help = "what it computes is the same";
    (*unit != Unit::CpuVector).then(|| Diagnostic::warning(command.span, message).help(help))
}

/// Whether a sum is that of the einsum short form: it stands where its term does.
fn is_implicit(sum: &Expr, body: &Expr) -> bool {
    (sum.span.start, sum.span.end) == (body.span.start, body.span.end)
}

/// A sum of comparisons is their disjunction.
fn truth_value(sum: &Expr, body: &Expr) -> Option<Diagnostic> {
    let compares = matches!(&body.kind, Kind::Call(Fun::Op(Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::Ne), _));
    (sum.ty == Type::Bool && compares).then(|| {
        Diagnostic::warning(sum.span, "a sum of truth values is one: whether any of them holds")
            .help("`count(i: …)` is how many hold, `any(i: …)` whether one does")
    })
}

/// A variable of the short form that occurs once in a product of several accesses: each sum of the others is multiplied with all of
/// its elements.
fn summed_alone(program: &Program, body: &Expr, v: VarId) -> Option<Diagnostic> {
    let only = FxHashSet::from_iter([v]);
    let (mut accesses, mut occurs) = (0, 0);
    body.walk(&mut |e| match &e.kind {
        Kind::Access(_, indices) => {
            accesses += 1;
            occurs += usize::from(indices.iter().any(|i| occurs_in(i, &only)));
        }
        Kind::Index(u) => occurs += usize::from(*u == v),
        Kind::Slice { to, .. } | Kind::Concat { to, .. } | Kind::Collapse { to, .. } => occurs += usize::from(*to == v),
        Kind::Split { to, .. } => occurs += usize::from(to.0 == v || to.1 == v),
        _ => {}
    });
    let typed = &program.vars[v.index()];
    (accesses > 1 && occurs == 1).then(|| {
        let message =
            format!("index variable `{}` occurs once in this term, and is summed over all of its extent", typed.name);
        Diagnostic::warning(typed.span, message).help(format!(
            "if that is meant, write it: sum({}: …); else give it the name of the index that it is",
            typed.name
        ))
    })
}

fn occurs_in(index: &Index, v: &FxHashSet<VarId>) -> bool {
    index.map.mentions(v) || index.map.gathered().is_some_and(|inner| inner.iter().any(|i| occurs_in(i, v)))
}

/// A variable that is summed in a `where` block, with the name of one of the statement that the block is for.
fn another(program: &Program, n: usize, v: VarId) -> Option<Diagnostic> {
    let s = &program.statements[n];
    if program.tensors[s.tensor.index()].role != Role::Local {
        return None;
    }
    let reads = |later: &&Statement| {
        let mut found = false;
        later.accesses(&mut |t, _, written| found |= !written && t == s.tensor);
        found
    };
    let reader = program.statements[n + 1..].iter().find(reads)?;
    let inner = &program.vars[v.index()];
    let outer = reader.vars.iter().map(|u| &program.vars[u.index()]).find(|u| u.name == inner.name)?;
    let name = &inner.name;
    let message =
        format!("`{name}` in this `where` block is another index variable than the one outside, and is summed");
    let d = Diagnostic::warning(inner.span, message).label(outer.span, "the one outside");
    Some(d.help(format!(
        "if that is meant, give it another name; else add `{name}` to the indices of `{}`",
        program.tensors[s.tensor.index()].name
    )))
}

/// A declared tensor that is accumulated into, and begins with a zero that is not the function's identity. Another fill is written,
/// and meant.
fn begins_elsewhere(program: &Program, id: TensorId) -> Option<Warning> {
    let tensor = &program.tensors[id.index()];
    let first = program.statements.iter().find(|s| s.tensor == id)?;
    let (fill, identity) = (tensor.fill?, program.identity(first.fold?, tensor.ty)?);
    (fill == Value::zero(tensor.ty) && fill != identity).then(|| {
        let name = &tensor.name;
        let message = format!("`{name}` begins with its fill, {fill}, which is a value like any other to the function that it accumulates with");
        let place = Span { start: first.span.start, end: first.span.start + name.len() as u32 };
        let help = format!("if that is not meant, declare it with `fill {identity}`, or do not declare it");
        Warning { diagnostic: Diagnostic::warning(place, message).help(help), unless_given: Some(id) }
    })
}
