//! Where the checker places sums, against the rule of the language as `semantics` reads it.
//!
//! ```text
//!  syntax ──check──────────────────────▶ typed, sums placed by core ──outline──▶ ╮
//!     ╰──semantics: sums written out──▶ syntax ───────────────────outline──▶ ╯ the same
//! ```
//!
//! An outline has the folds of an expression with their variables, what stands in each, and names, by which variables are
//! compared. It leaves out functions, literals and types. What `f=` folds over has no written form, and is compared by name.

use fiberloom::relation::relate;
use fiberloom_core::algebra::{COUNT, Op};
use fiberloom_core::notation::syntax::{self, Argument, Assign, ExprKind, Factor, Ident, Item};
use fiberloom_core::notation::typed::{Expr, Fun, Index, Kind, Map, Program, SizeId, Statement, TensorId, VarId};
use fiberloom_semantics::notation::einsum;
use std::collections::{BTreeMap, BTreeSet};

/// Compares the sums of a checked program with those of the rule, statement by statement. Words for the short forms that
/// stand in it.
///
/// # Errors
/// The first statement whose sums are others.
pub fn by_the_rule(syntax: &syntax::Program, typed: &Program) -> Result<BTreeSet<&'static str>, String> {
    // Sums stand where they stand over labels.
    let related = relate(syntax, &Default::default())
        .map_err(|wrong| wrong.iter().map(|d| d.message.clone()).collect::<Vec<_>>().join("\n"))?;
    let syntax = related.as_ref().map_or(syntax, |(plain, _)| plain);
    let (written, sizes) = (einsum::explicit(syntax), einsum::sizes(syntax));
    let (short, long) = (statements(&syntax.items), statements(&written.items));
    if typed.statements.len() != short.len() {
        return Err(format!("{} statements are {}", short.len(), typed.statements.len()));
    }
    for ((short, long), own) in short.iter().zip(&long).zip(&typed.statements) {
        let own = &without_rest(short, &sizes, own);
        let (rule, placed) = (of_syntax(&long.rhs), Typed(typed).expr(&own.rhs));
        let sums = if rule == placed { Ok(()) } else { Err(format!("sums are in {placed}, by the rule in {rule}")) };
        let said =
            sums.and_then(|()| over(short, &sizes, (own, typed))).and_then(|()| shared(short, &sizes, (own, typed)));
        said.map_err(|what| format!("{what}\n{syntax}\nchecked:\n{typed}"))?;
    }
    Ok(short.iter().flat_map(|s| words(s, &sizes)).collect())
}

/// A statement as its text has it: `R[i,i] = e` is checked as `R[i,j] = if i == j then e else R[i,j]`.
fn without_rest(s: &syntax::Statement, sizes: &BTreeSet<String>, typed: &Statement) -> Statement {
    let (mut own, left) = (typed.clone(), einsum::left(s, sizes).len());
    while own.vars.len() > left {
        own.vars.pop();
        if let Kind::Call(Fun::Op(Op::Select), parts) = own.rhs.kind {
            own.rhs = parts.into_iter().nth(1).expect("a condition and two values");
        }
    }
    own
}

/// The statements of these items in the order of their types: those of a `where` block before theirs.
fn statements(items: &[Item]) -> Vec<&syntax::Statement> {
    fn of(s: &syntax::Statement) -> Vec<&syntax::Statement> {
        s.locals.iter().flat_map(of).chain([s]).collect()
    }
    let all = items.iter().map(|item| match item {
        Item::Statement(s) => of(s),
        Item::Repeat(block) => statements(&block.body),
        Item::Dim(_) | Item::Domain(_) | Item::Table(_) | Item::Tensor(_) => vec![],
        Item::Function(_) | Item::Schedule(_) => vec![],
    });
    all.flatten().collect()
}

/// The variables of a statement are those of its left side, and folded are those that are absent there.
fn over(
    s: &syntax::Statement,
    sizes: &BTreeSet<String>,
    (typed, program): (&Statement, &Program),
) -> Result<(), String> {
    let absent = match s.op {
        Assign::Set | Assign::Add => vec![],
        Assign::Fold(_) => einsum::absent(s, sizes),
    };
    for (rule, own, what) in [(einsum::left(s, sizes), &typed.vars, "left side"), (absent, &typed.folded, "fold")] {
        let rule: Vec<&str> = rule.into_iter().map(|name| &*name.name).collect();
        let own: Vec<&str> = own.iter().map(|v| Typed(program).var(v)).collect();
        if rule != own {
            return Err(format!("its {what} is over {own:?}, by the rule over {rule:?}"));
        }
    }
    Ok(())
}

/// Sums over one name are over one variable, which has one extent in the statement.
fn shared(
    s: &syntax::Statement,
    sizes: &BTreeSet<String>,
    (typed, program): (&Statement, &Program),
) -> Result<(), String> {
    let absent = einsum::absent(s, sizes);
    let mut known: BTreeMap<&str, VarId> = BTreeMap::new();
    let mut apart = None;
    typed.rhs.walk(&mut |e| {
        let Kind::Reduce { vars, .. } = &e.kind else { return };
        for v in vars {
            let name = Typed(program).var(v);
            let is_absent = absent.iter().any(|a| a.name == name);
            if is_absent && *known.entry(name).or_insert(*v) != *v {
                apart = Some(name);
            }
        }
    });
    apart.map_or(Ok(()), |name| Err(format!("sums over `{name}` are over two variables")))
}

/// The outline of an expression.
fn of_syntax(e: &syntax::Expr) -> String {
    let all = || parts(e).into_iter().map(of_syntax).collect::<Vec<_>>();
    match &e.kind {
        ExprKind::Literal(_) => "0".to_string(),
        ExprKind::Name(name) => name.to_string(),
        ExprKind::Access(a) => {
            let sliced = |index: &syntax::Index| match index {
                syntax::Index::Slice { var, .. } => Some(var.to_string()),
                syntax::Index::Affine { .. } | syntax::Index::Access(_) | syntax::Index::Computed { .. } => None,
            };
            a.indices.iter().filter_map(sliced).fold(access(a), |body, var| shape(&[&var], &[&var], &[body]))
        }
        // Conditions that are counted and coordinates that are computed become numbers of 64 bits.
        ExprKind::Call(name, _) if name.name == "convert" => all().concat(),
        ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::If(..) | ExprKind::Call(..) => call(&all()),
        ExprKind::Reduce { function, vars, .. } => {
            let sums = function.name == COUNT || function.name == "sum";
            fold(if sums { "sum" } else { "fold" }, &strs(vars), &all())
        }
        ExprKind::Collapse { from, to, .. } => shape(&strs(from), &[&to.name], &all()),
        ExprKind::Split { from, to, .. } => shape(&[&from.name], &[&to.0.name, &to.1.name], &all()),
        ExprKind::Concat { from, to, .. } => shape(&strs(from), &[&to.name], &all()),
        ExprKind::Slice { from, to, .. } => shape(&[&from.name], &[&to.name], &all()),
    }
}

/// The expressions directly inside.
fn parts(e: &syntax::Expr) -> Vec<&syntax::Expr> {
    let in_argument = |a| match a {
        &Argument::Type(..) => None,
        Argument::Expr(e) => Some(e),
    };
    match &e.kind {
        ExprKind::Literal(_) | ExprKind::Name(_) | ExprKind::Access(_) => vec![],
        ExprKind::Unary(_, a) => vec![a],
        ExprKind::Binary(_, a, b) => vec![a, b],
        ExprKind::If(c, a, b) => vec![c, a, b],
        ExprKind::Call(_, args) => args.iter().filter_map(in_argument).collect(),
        ExprKind::Reduce { body, start, .. } => [body].into_iter().chain(start).map(|e| &**e).collect(),
        ExprKind::Collapse { body, .. } | ExprKind::Split { body, .. } | ExprKind::Slice { body, .. } => vec![body],
        ExprKind::Concat { parts, .. } => parts.iter().collect(),
    }
}

fn strs(names: &[Ident]) -> Vec<&str> {
    names.iter().map(|name| &*name.name).collect()
}

fn access(a: &syntax::Access) -> String {
    fn affine(map: &syntax::Affine) -> Vec<String> {
        let factor = |factor: &Factor| match factor {
            Factor::Int(_) => vec![],
            Factor::Var(name) => vec![name.to_string()],
            Factor::Group(inner) => affine(inner),
        };
        map.terms.iter().flat_map(|(_, term)| factor(&term.factor)).collect()
    }
    let index = |index: &syntax::Index| match index {
        syntax::Index::Affine { map, .. } => affine(map).join(" "),
        syntax::Index::Slice { var, .. } => var.to_string(),
        syntax::Index::Access(read) => access(read),
        syntax::Index::Computed { of, .. } => of_syntax(of),
    };
    element(&a.tensor.name, a.indices.iter().map(index).collect())
}

fn element(tensor: &str, indices: Vec<String>) -> String {
    format!("{tensor}[{}]", indices.join(", "))
}

fn call(args: &[String]) -> String {
    format!("({})", args.join(", "))
}

fn fold(function: &str, vars: &[&str], parts: &[String]) -> String {
    format!("{function}({}: {})", vars.join(", "), parts.join(" start "))
}

fn shape(from: &[&str], to: &[&str], parts: &[String]) -> String {
    format!("shape({}, {} -> {})", parts.join(", "), from.join(", "), to.join(", "))
}

/// A checked program, for the names that outlines of its expressions have.
struct Typed<'p>(&'p Program);

impl<'p> Typed<'p> {
    fn var(&self, v: &VarId) -> &'p str {
        &self.0.vars[v.index()].name
    }

    fn vars(&self, vars: &[VarId]) -> Vec<&'p str> {
        vars.iter().map(|v| self.var(v)).collect()
    }

    /// The outline of an expression.
    fn expr(&self, e: &Expr) -> String {
        let all = || e.children().map(|part| self.expr(part)).collect::<Vec<_>>();
        match &e.kind {
            Kind::Literal(_) => "0".to_string(),
            Kind::Index(v) => self.var(v).to_string(),
            Kind::Size(size) => self.0.sizes[size.index()].name.clone().unwrap_or_default(),
            Kind::Local(local) => format!("local {}", local.index()),
            Kind::Access(t, indices) => self.element(*t, indices),
            Kind::Call(Fun::Op(Op::Convert(_)), _) => all().concat(),
            Kind::Call(..) => call(&all()),
            Kind::Reduce { fun, vars, .. } => {
                fold(if *fun == Fun::Op(Op::Add) { "sum" } else { "fold" }, &self.vars(vars), &all())
            }
            Kind::Collapse { from, to, .. } => shape(&self.vars(from), &[self.var(to)], &all()),
            Kind::Split { from, to, .. } => shape(&[self.var(from)], &[self.var(&to.0), self.var(&to.1)], &all()),
            Kind::Concat { from, to, .. } => shape(&self.vars(from), &[self.var(to)], &all()),
            Kind::Slice { from, to, .. } => shape(&[self.var(from)], &[self.var(to)], &all()),
        }
    }

    fn element(&self, t: TensorId, indices: &[Index]) -> String {
        let indices = indices.iter().map(|index| self.map(&index.map).join(" ")).collect();
        element(&self.0.tensors[t.index()].name, indices)
    }

    fn map(&self, map: &Map) -> Vec<String> {
        match map {
            Map::Var(v) => vec![self.var(v).to_string()],
            Map::Const(_) => vec![],
            Map::Bound(bound) => {
                let name = |(_, size): &(i64, SizeId)| self.0.sizes[size.index()].name.clone();
                bound.terms.iter().filter_map(name).collect()
            }
            Map::Add(a, b) => [a, b].into_iter().flat_map(|part| self.map(part)).collect(),
            Map::Mul(_, a) | Map::Div(a, _) | Map::Mod(a, _) => self.map(a),
            Map::Gather(t, indices) => vec![self.element(*t, indices)],
            Map::Computed(e) => vec![self.expr(e)],
        }
    }
}

/// Words for the sums that a statement leaves to the rule.
fn words(s: &syntax::Statement, sizes: &BTreeSet<String>) -> Vec<&'static str> {
    let absent = einsum::absent(s, sizes);
    if absent.is_empty() {
        return vec![];
    }
    let inside = |e: &syntax::Expr, wanted: &dyn Fn(&ExprKind) -> bool| {
        let mut open = vec![e];
        std::iter::from_fn(move || {
            let next = open.pop()?;
            open.extend(parts(next));
            Some(next)
        })
        .any(|e| wanted(&e.kind))
    };
    let folds = |kind: &ExprKind| matches!(kind, ExprKind::Reduce { .. });
    let counts = |kind: &ExprKind| matches!(kind, ExprKind::Reduce { function, .. } if function.name == "count");
    let shapes = |kind: &ExprKind| {
        use ExprKind::{Collapse, Concat, Slice, Split};
        matches!(kind, Collapse { .. } | Split { .. } | Concat { .. } | Slice { .. })
    };
    let sums = |kind: &ExprKind| matches!(kind, ExprKind::Binary(syntax::BinaryOp::Add | syntax::BinaryOp::Sub, ..));
    let bare = s.lhs.indices.iter().all(|index| index.variable().is_some());
    let all = [
        (matches!(s.op, Assign::Set), "="),
        (matches!(s.op, Assign::Add), "+="),
        (matches!(s.op, Assign::Fold(_)), "f="),
        (sums(&s.rhs.kind), "several terms"),
        (!sums(&s.rhs.kind) && inside(&s.rhs, &sums), "a sum within a term"),
        (absent.len() > 1, "several variables"),
        (inside(&s.rhs, &folds), "beside a fold"),
        (inside(&s.rhs, &counts), "beside a count"),
        (inside(&s.rhs, &shapes), "beside a shape operator"),
        (!s.locals.is_empty(), "above a block"),
        (!bare, "below other places"),
    ];
    all.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect()
}
