//! Words for what stands in a case: what statistics count, and what a test wants reachable.

use super::{Case, Expr};
use crate::notation::legal::named;
use crate::notation::statistics::shaped;
use fiberloom_core::format::Format;
use fiberloom_core::iteration::Thin;
use fiberloom_passes::check::check;
use std::collections::BTreeSet;

/// The formats of results that are not declared.
fn undeclared(case: &Case) -> Vec<String> {
    if case.tensors.iter().all(|t| t.format.is_some()) {
        return vec![];
    }
    let (syntax, _) = fiberloom_front::parse(&case.to_string());
    let Some(typed) = syntax.and_then(|syntax| check(&syntax).ok()) else { return vec![] };
    let made = |thin: &Thin| {
        let statements = typed.statements.iter().zip(typed.formats(thin));
        let undeclared = statements.filter(|(s, _)| typed.tensors[s.tensor.index()].format.is_none());
        undeclared.map(|(_, format)| format).collect::<Vec<Format>>()
    };
    let thin = typed.spares().thinnest();
    let other = made(&thin).into_iter().zip(made(&Thin::new())).any(|(thin, usual)| thin != usual);
    let words = made(&Thin::new()).into_iter().map(|format| format!("undeclared {format}"));
    words.chain(other.then(|| "undeclared thin".to_string())).collect()
}

/// The words of a case, each once.
pub fn constructs(case: &Case) -> Vec<String> {
    let mut all = BTreeSet::new();
    for s in &case.statements {
        let ty = case.tensors[s.tensor].ty;
        let schedule = case.schedule(s);
        let words = ["stage", "precompute", "store", "copy", "protocol"];
        let commands = words.iter().filter(|word| schedule.contains(&format!("{word}(")));
        all.extend(commands.map(|word| format!("command {word}")));
        all.insert(format!("type {ty}"));
        all.extend(case.is_strict(ty).then(|| format!("strict type {ty}")));
        all.insert(format!("result rank {}", s.vars.len()));
        let strict = if case.is_strict(ty) { "strict " } else { "" };
        let scatters = if s.places.is_empty() { "" } else { "scatter " };
        all.extend((!s.places.is_empty()).then(|| "scatter".to_string()));
        all.extend(s.fold.map(|function| format!("{strict}{scatters}{function}=")));
        all.extend(s.local.then(|| "where".to_string()));
        s.rhs.walk(&mut |e| {
            let strict = if case.type_of(e).is_some_and(|ty| case.is_strict(ty)) { "strict " } else { "" };
            let word = match e {
                Expr::Literal(_) => "literal".into(),
                Expr::Var(..) => "index value".into(),
                Expr::Access(t, at) => {
                    let repeats = (1..at.len()).any(|m| at[..m].contains(&at[m]));
                    all.extend(repeats.then(|| "repeated index".to_string()));
                    all.extend(at.iter().map(|at| format!("index {}", at.kind())));
                    let of = if case.tensors[*t].is_operand() { "operand" } else { "earlier result" };
                    format!("{of} rank {}", at.len())
                }
                Expr::Apply(op, args) => {
                    let compares = op.is_comparison() && args.iter().any(|a| matches!(a, Expr::Var(..)));
                    all.extend(compares.then(|| format!("index compared {}", named(*op))));
                    let read = op.is_comparison() && args.iter().all(|a| matches!(a, Expr::Access(..)));
                    all.extend(read.then(|| format!("values compared {}", named(*op))));
                    format!("{strict}operator {}", named(*op))
                }
                Expr::Reduce(op, ..) => format!("{strict}reduction {op}"),
                Expr::Shape(shape, ..) => format!("shape {}", shape.name()),
            };
            all.insert(word);
        });
    }
    all.extend(shaped(case));
    all.extend(undeclared(case));
    all.insert(format!("few {}", case.few));
    all.insert(format!("sought {}", case.sought));
    all.insert(if case.thin { "thin results" } else { "no thin results" }.to_string());
    for a in case.tensors.iter() {
        let of = if a.is_operand() { "operand" } else { "result" };
        all.extend((!a.is_operand() && a.entries.is_some()).then(|| "given result".to_string()));
        all.extend(a.is_computed().then(|| format!("operand computed rank {}", a.sizes.len())));
        all.extend((a.fill != 0).then(|| format!("{of} fill")));
        match &a.format {
            None => all.extend(["result undeclared".to_string()]),
            Some(f) => {
                all.extend(f.levels.iter().map(|l| format!("{of} level {}", l.name())));
                if f.rank() == 2 {
                    all.insert(format!(
                        "{of} {{{}}}",
                        f.levels.iter().map(|l| l.name()).collect::<Vec<_>>().join(", ")
                    ));
                }
                all.extend(f.order.iter().enumerate().any(|(l, m)| l != *m).then(|| format!("{of} order")));
            }
        }
        all.extend(a.wide.0.then(|| "64-bit positions".to_string()));
        all.extend(a.wide.1.then(|| "64-bit coordinates".to_string()));
    }
    all.into_iter().collect()
}
