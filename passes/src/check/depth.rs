//! How deep a program nests, found without recursion: later passes recurse, and must not run out of stack.
//!
//! Every operator, bracket, block and term of an index counts one. The parser refuses deeper texts by itself; the
//! builder makes trees of any depth.

use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::syntax::*;

/// The deepest nesting that is accepted.
pub(super) const DEEPEST: usize = 600;

/// A part of a program that may hold others.
#[derive(Clone, Copy)]
pub(super) enum Node<'a> {
    Repeat(&'a Repeat),
    Statement(&'a Statement),
    Expr(&'a Expr),
    Access(&'a Access),
    Affine(&'a Affine),
    Stmt(&'a Stmt),
    Set(&'a SetExpr),
}

/// Refuses a program that nests deeper than [`DEEPEST`].
pub(super) fn check(program: &Program) -> Result<(), Diagnostic> {
    let mut open = Vec::new();
    for item in &program.items {
        match item {
            Item::Statement(s) => open.push((Node::Statement(s), 1)),
            Item::Function(f) => {
                open.extend(f.body.stmts.iter().map(|s| (Node::Stmt(s), 1)));
                open.push((Node::Expr(&f.body.value), 1));
                for (property, _) in &f.properties {
                    match property {
                        Property::Iterate(set) => open.push((Node::Set(set), 1)),
                        Property::Case(_, e) | Property::Derivative(_, e) => open.push((Node::Expr(e), 1)),
                        _ => {}
                    }
                }
            }
            Item::Repeat(block) => open.push((Node::Repeat(block), 1)),
            Item::Schedule(s) => open.extend(expressions(s).map(|e| (e, 1))),
            Item::Dim(_) | Item::Domain(_) | Item::Table(_) | Item::Tensor(_) => {}
        }
    }
    let mut place = fiberloom_core::notation::Span::default();
    while let Some((node, depth)) = open.pop() {
        if let Node::Statement(s) = node {
            place = s.span;
        }
        if let Node::Repeat(block) = node {
            place = block.span;
        }
        if let Node::Expr(e) = node {
            place = e.span;
        }
        if depth > DEEPEST {
            let message = format!("the program nests deeper than {DEEPEST} here");
            return Err(Diagnostic::new(place, message).help("give a part of it a name: a tensor, a `where`, a local"));
        }
        children(node, &mut |child, more| open.push((child, depth + more)));
    }
    Ok(())
}

/// Gives `each` the accesses that `node` holds, each before those in its indices.
pub(super) fn accesses<'a>(node: Node<'a>, each: &mut impl FnMut(&'a Access)) {
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        if let Node::Access(a) = node {
            each(a);
        }
        let first = open.len();
        children(node, &mut |child, _| open.push(child));
        open[first..].reverse();
    }
}

fn expressions(s: &Schedule) -> impl Iterator<Item = Node<'_>> {
    s.commands.iter().filter_map(|c| match &c.kind {
        CommandKind::Tensor(TensorCommand::Precompute { expr, .. })
        | CommandKind::Tensor(TensorCommand::Stage { expr, .. }) => Some(Node::Expr(expr)),
        _ => None,
    })
}

/// Gives `each` what `node` holds, and how much deeper that is.
fn children<'a>(node: Node<'a>, each: &mut impl FnMut(Node<'a>, usize)) {
    match node {
        Node::Repeat(Repeat { turns, body, .. }) => {
            if let Turns::While(condition) = turns {
                each(Node::Expr(condition), 1);
            }
            for item in body {
                match item {
                    Item::Statement(s) => each(Node::Statement(s), 1),
                    Item::Repeat(block) => each(Node::Repeat(block), 1),
                    Item::Schedule(s) => expressions(s).for_each(|e| each(e, 1)),
                    Item::Dim(_) | Item::Domain(_) | Item::Table(_) | Item::Tensor(_) | Item::Function(_) => {}
                }
            }
        }
        Node::Statement(s) => {
            each(Node::Access(&s.lhs), 1);
            each(Node::Expr(&s.rhs), 1);
            s.locals.iter().for_each(|l| each(Node::Statement(l), 1));
            s.schedule.iter().flat_map(expressions).for_each(|e| each(e, 1));
        }
        Node::Expr(e) => parts(e, &mut |part| each(part, 1)),
        Node::Access(a) => {
            // A slice in place becomes an operator around the access.
            let more = 1 + a.indices.iter().filter(|i| matches!(i, Index::Slice { .. })).count();
            for index in &a.indices {
                match index {
                    Index::Affine { map, .. } => each(Node::Affine(map), more),
                    Index::Access(a) => each(Node::Access(a), more),
                    Index::Computed { of, .. } => each(Node::Expr(of), more),
                    Index::Slice { .. } => each(Node::Affine(&NOTHING), more),
                }
            }
        }
        Node::Affine(a) => {
            for (_, term) in &a.terms {
                if let Factor::Group(inner) = &term.factor {
                    each(Node::Affine(inner), a.terms.len() + term.divisions.len());
                } else {
                    each(Node::Affine(&NOTHING), a.terms.len() + term.divisions.len());
                }
            }
        }
        Node::Stmt(Stmt::Let(_, e) | Stmt::Set(_, e)) => each(Node::Expr(e), 1),
        Node::Stmt(Stmt::While(e, body)) => {
            each(Node::Expr(e), 1);
            body.iter().for_each(|s| each(Node::Stmt(s), 1));
        }
        Node::Stmt(Stmt::If(e, a, b)) => {
            each(Node::Expr(e), 1);
            a.iter().chain(b).for_each(|s| each(Node::Stmt(s), 1));
        }
        Node::Set(SetExpr::Not(a)) => each(Node::Set(a), 1),
        Node::Set(SetExpr::And(a, b) | SetExpr::Or(a, b)) => {
            each(Node::Set(a), 1);
            each(Node::Set(b), 1);
        }
        Node::Set(_) => {}
    }
}

/// A leaf that only carries a depth.
static NOTHING: Affine = Affine { terms: Vec::new() };

/// The expressions and the access that an expression holds.
fn parts<'a>(e: &'a Expr, each: &mut impl FnMut(Node<'a>)) {
    match &e.kind {
        ExprKind::Literal(_) | ExprKind::Name(_) => {}
        ExprKind::Access(a) => each(Node::Access(a)),
        ExprKind::Unary(_, a) => each(Node::Expr(a)),
        ExprKind::Binary(_, a, b) => {
            each(Node::Expr(a));
            each(Node::Expr(b));
        }
        ExprKind::Call(_, args) => {
            for arg in args {
                if let Argument::Expr(e) = arg {
                    each(Node::Expr(e));
                }
            }
        }
        ExprKind::If(c, a, b) => [c, a, b].into_iter().for_each(|e| each(Node::Expr(e))),
        ExprKind::Reduce { body, start, .. } => {
            each(Node::Expr(body));
            start.iter().for_each(|s| each(Node::Expr(s)));
        }
        ExprKind::Collapse { body, .. } | ExprKind::Split { body, .. } | ExprKind::Slice { body, .. } => {
            each(Node::Expr(body));
        }
        ExprKind::Concat { parts, .. } => parts.iter().for_each(|p| each(Node::Expr(p))),
    }
}
