//! Names that expressions of the syntax use and do not bind.

use super::syntax::{self, ExprKind, Ident};

/// Names that a statement's sides use and do not bind, each side's once: index variables, and perhaps sizes.
pub fn variables(lhs: &syntax::Access, rhs: &syntax::Expr) -> Vec<String> {
    left_names(lhs)
        .into_iter()
        .filter(|free| free.indexes)
        .chain(free_names(rhs))
        .map(|free| free.name.name.clone())
        .collect()
}

/// The index variables of a statement's left side, and those of its right side, each once: the names in indices that its sides use
/// and do not bind. The name of a size that stands alone in no index, and that no slice and no shape operator has, is that size:
/// `x[N-1]`.
pub fn index_variables<'s>(
    s: &'s syntax::Statement,
    is_size: impl Fn(&str) -> bool,
) -> (Vec<&'s Ident>, Vec<&'s Ident>) {
    let sides = [left_names(&s.lhs), free_names(&s.rhs)];
    let alone: Vec<&str> =
        sides.iter().flatten().filter(|free| free.alone).map(|free| free.name.name.as_str()).collect();
    let is_variable = |free: &&Free<'s>| {
        let name = free.name.name.as_str();
        free.indexes && (alone.contains(&name) || !is_size(name))
    };
    let [left, right] = sides.each_ref().map(|side| side.iter().filter(is_variable).map(|free| free.name).collect());
    (left, right)
}

/// Names of a left side, each once.
fn left_names(lhs: &syntax::Access) -> Vec<Free<'_>> {
    let mut names = Vec::new();
    access_names(lhs, &mut Vec::new(), &mut names);
    names
}

/// A name that an expression uses and does not bind.
pub struct Free<'e> {
    /// The name.
    pub name: &'e Ident,
    /// Whether it stands in an index, computed or not, or a shape operator leaves it: it is an index variable. As a value alone it may be
    /// a size.
    pub indexes: bool,
    /// Whether it stands alone in an index, or is what a slice or a shape operator is over.
    alone: bool,
}

/// How a name stands in an expression.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Stands {
    /// As a value.
    Value,
    /// Within an index.
    Within,
    /// As an index variable must: alone.
    Alone,
}

/// Names that an expression uses and does not bind, each once, in order of appearance.
pub fn free_names(e: &syntax::Expr) -> Vec<Free<'_>> {
    let mut names = Vec::new();
    expr_names(e, &mut Vec::new(), &mut names);
    names
}

fn see<'e>(name: &'e Ident, bound: &[&'e str], names: &mut Vec<Free<'e>>, stands: Stands) {
    if bound.contains(&name.name.as_str()) {
        return;
    }
    let (indexes, alone) = (stands >= Stands::Within, stands == Stands::Alone);
    match names.iter_mut().find(|free| free.name.name == name.name) {
        Some(free) => {
            free.indexes |= indexes;
            free.alone |= alone;
        }
        None => names.push(Free { name, indexes, alone }),
    }
}

fn access_names<'e>(a: &'e syntax::Access, bound: &mut Vec<&'e str>, names: &mut Vec<Free<'e>>) {
    for index in &a.indices {
        match index {
            syntax::Index::Affine { map, .. } => match map.as_name() {
                Some(name) => see(name, bound, names, Stands::Alone),
                None => affine_names(map, bound, names),
            },
            syntax::Index::Slice { var, .. } => see(var, bound, names, Stands::Alone),
            syntax::Index::Access(inner) => access_names(inner, bound, names),
            syntax::Index::Computed { of, .. } => {
                let mut within = Vec::new();
                expr_names(of, bound, &mut within);
                let stands = |free: &Free| if free.alone { Stands::Alone } else { Stands::Within };
                within.iter().for_each(|free| see(free.name, bound, names, stands(free)));
            }
        }
    }
}

fn affine_names<'e>(a: &'e syntax::Affine, bound: &[&'e str], names: &mut Vec<Free<'e>>) {
    for (_, term) in &a.terms {
        match &term.factor {
            syntax::Factor::Var(v) => see(v, bound, names, Stands::Within),
            syntax::Factor::Group(inner) => affine_names(inner, bound, names),
            syntax::Factor::Int(_) => {}
        }
    }
}

fn expr_names<'e>(e: &'e syntax::Expr, bound: &mut Vec<&'e str>, names: &mut Vec<Free<'e>>) {
    let depth = bound.len();
    match &e.kind {
        ExprKind::Literal(_) => {}
        ExprKind::Name(name) => see(name, bound, names, Stands::Value),
        ExprKind::Access(a) => access_names(a, bound, names),
        ExprKind::Unary(_, x) => expr_names(x, bound, names),
        ExprKind::Binary(_, a, b) => [a, b].into_iter().for_each(|x| expr_names(x, bound, names)),
        ExprKind::If(c, t, e) => [c, t, e].into_iter().for_each(|x| expr_names(x, bound, names)),
        ExprKind::Call(_, args) => {
            for a in args {
                if let syntax::Argument::Expr(x) = a {
                    expr_names(x, bound, names);
                }
            }
        }
        ExprKind::Reduce { vars, body, start, .. } => {
            start.iter().for_each(|s| expr_names(s, bound, names));
            bound.extend(vars.iter().map(|v| v.name.as_str()));
            expr_names(body, bound, names);
        }
        ExprKind::Collapse { body, from, to } => {
            see(to, bound, names, Stands::Alone);
            bound.extend(from.iter().map(|v| v.name.as_str()));
            expr_names(body, bound, names);
        }
        ExprKind::Split { body, from, to } => {
            see(&to.0, bound, names, Stands::Alone);
            see(&to.1, bound, names, Stands::Alone);
            bound.push(&from.name);
            expr_names(body, bound, names);
        }
        ExprKind::Concat { parts, from, to } => {
            see(to, bound, names, Stands::Alone);
            for (part, v) in parts.iter().zip(from) {
                bound.push(&v.name);
                expr_names(part, bound, names);
                bound.truncate(depth);
            }
        }
        ExprKind::Slice { body, from, to, .. } => {
            see(to, bound, names, Stands::Alone);
            bound.push(&from.name);
            expr_names(body, bound, names);
        }
    }
    bound.truncate(depth);
}
