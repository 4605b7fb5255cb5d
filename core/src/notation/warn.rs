//! What a program means and its author may not have meant: warnings, which reject nothing.
//!
//! ```text
//!  y[i] = A[i,j] * x[k]                            j and k occur once, and are summed
//!  y[] max= x[i]              y without a fill     begins with 0
//!  n[] = sum(i: x[i] > 0.0)                        a truth value, no number
//!  n[] = sqrt(x[i] * x[i])                         a sum of roots
//!  y[j] = w[j] where { w[i] = A[i,k] * A[k,j] }    another j, which is summed
//! ```
//!
//! A loop that a schedule wants on a GPU runs there under `--engine ptx` alone, and this says so.
//! A sum that is spelled out, `sum(j: …)`, and one of a term with one access, `y[i] = A[i,j]`, say what they mean.

use super::spell::spelled;
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
                    all.extend(of_values(program, e, vars, body).map(Warning::from));
                }
            }
        });
        all.extend(s.commands.iter().filter_map(|command| runs_elsewhere(program, command)).map(Warning::from));
    }
    all.extend(program.starts().into_iter().filter_map(|id| begins_elsewhere(program, id)));
    all.sort_by_key(|warning| warning.diagnostic.span.start);
    all
}

/// A loop that is to run on a GPU runs on the CPU, where another engine is asked.
fn runs_elsewhere(program: &Program, command: &Command) -> Option<Diagnostic> {
    let CommandKind::Parallelize(v, unit, _) = &command.kind else { return None };
    let name = &program.vars[v.index()].name;
    let message = match unit {
        Unit::CpuVector | Unit::CpuThread => return None,
        unit => {
            format!(
                "only `--engine nvptx` and `ptx` deal the loop over `{name}` out to `{unit}`: other engines run it on the CPU"
            )
        }
    };
    Some(Diagnostic::warning(command.span, message).help("what it computes is the same"))
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

/// A sum of the short form that adds a function's values, where the function of a sum may be meant:
///
/// ```text
///  sqrt(x[i] * x[i])        sum(i: sqrt(x[i] * x[i]))    or    sqrt(sum(i: x[i] * x[i]))
///  2.0 * x[i]               both are equal: nothing is said
///  exp(x[i]) * y[i]         no part of the product has all of `i`: nothing is said
/// ```
fn of_values(program: &Program, sum: &Expr, vars: &[VarId], body: &Expr) -> Option<Diagnostic> {
    let vars: FxHashSet<VarId> = vars.iter().copied().collect();
    let (mut part, mut around) = (body, Around::default());
    while let Kind::Call(fun, args) = &part.kind {
        let mut having = args.iter().enumerate().filter(|(_, arg)| has(arg, &vars));
        let (Some((n, inner)), None) = (having.next(), having.next()) else { break };
        around.note(*fun, n, args);
        part = inner;
    }
    let fun = around.function.filter(|_| !around.decides || contracts(part))?;
    if sum.ty == Type::Bool && truth_value(sum, body).is_some() {
        return None;
    }
    let name = match fun {
        Fun::Op(Op::Select) => "if".to_string(),
        Fun::Op(op) => op.name().to_string(),
        Fun::User(f) => program.functions[f.index()].name.clone(),
    };
    let inside = spelled(program, &with_sum_of(body, part, sum));
    let message = format!("the short form sums whole terms: this adds values of `{name}`");
    let help = format!("write `{}` if that is meant, `{inside}` if the sum is inside", spelled(program, sum));
    Some(Diagnostic::warning(body.span, message).help(help))
}

/// The functions around a part of a term.
#[derive(Default)]
struct Around {
    /// The outermost that sums do not pass through.
    function: Option<Fun>,
    /// Whether the part decides something: sums of what is chosen so are as often meant.
    decides: bool,
}

impl Around {
    /// One more, of whose arguments the part is in the `n`th.
    fn note(&mut self, fun: Fun, n: usize, args: &[Expr]) {
        let is_zero = |arg: &Expr| matches!(arg.kind, Kind::Literal(v) if v == Value::zero(v.ty()));
        let passes = match fun {
            Fun::Op(Op::Mul | Op::Neg) => true,
            Fun::Op(Op::Div) => n == 0 && args[0].ty.is_float(),
            Fun::Op(Op::Mask) => n == 1,
            Fun::Op(Op::Select) => n > 0 && is_zero(&args[3 - n]),
            Fun::Op(Op::Convert(ty)) => ty.is_float() || args[0].ty == Type::Bool,
            _ => false,
        };
        self.decides |= match fun {
            Fun::Op(Op::Select | Op::Mask) => n == 0,
            Fun::Op(op) => op.is_comparison(),
            Fun::User(_) => false,
        };
        self.function = self.function.or((!passes).then_some(fun));
    }
}

/// Whether several accesses stand in it.
fn contracts(e: &Expr) -> bool {
    let mut accesses = 0;
    e.walk(&mut |e| accesses += usize::from(matches!(e.kind, Kind::Access(..))));
    accesses > 1
}

/// Whether one of these variables stands in it.
fn has(e: &Expr, vars: &FxHashSet<VarId>) -> bool {
    let mut found = false;
    e.walk(&mut |e| {
        found |= match &e.kind {
            Kind::Access(_, indices) => indices.iter().any(|i| occurs_in(i, vars)),
            Kind::Index(v) => vars.contains(v),
            Kind::Slice { to, .. } | Kind::Concat { to, .. } | Kind::Collapse { to, .. } => vars.contains(to),
            Kind::Split { to, .. } => vars.contains(&to.0) || vars.contains(&to.1),
            _ => false,
        }
    });
    found
}

/// `e` with the sum `like` around its part `part` alone.
fn with_sum_of(e: &Expr, part: &Expr, like: &Expr) -> Expr {
    if std::ptr::eq(e, part) {
        let Kind::Reduce { fun, vars, .. } = &like.kind else { return e.clone() };
        let kind = Kind::Reduce { fun: *fun, vars: vars.clone(), body: Box::new(e.clone()), start: None };
        return Expr { kind, ..e.clone() };
    }
    let Kind::Call(fun, args) = &e.kind else { return e.clone() };
    let args = args.iter().map(|arg| with_sum_of(arg, part, like)).collect();
    Expr { kind: Kind::Call(*fun, args), ..e.clone() }
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
