//! Syntax as text: what the parser reads back as the same tree.
//!
//! Parentheses stand only where the grammar needs them. A literal keeps its sign; the negation of a literal is
//! written `-(5)`.

use super::Span;
use super::syntax::*;
use crate::algebra::Op;
use crate::stack::with_room;
use std::fmt::{self, Display, Formatter, Result};

/// Items joined by a text.
fn joined<T: Display>(f: &mut Formatter, items: impl IntoIterator<Item = T>, between: &str) -> Result {
    for (n, item) in items.into_iter().enumerate() {
        write!(f, "{}{item}", if n == 0 { "" } else { between })?;
    }
    Ok(())
}

/// Something printed by a closure.
struct By<F>(F);

impl<F: Fn(&mut Formatter) -> Result> Display for By<F> {
    fn fmt(&self, f: &mut Formatter) -> Result {
        (self.0)(f)
    }
}

fn list<T: Display>(items: &[T]) -> impl Display + '_ {
    By(move |f: &mut Formatter| joined(f, items, ", "))
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter) -> Result {
        with_room(|| self.items.iter().try_for_each(|item| writeln!(f, "{item}")))
    }
}

impl Display for Ident {
    fn fmt(&self, f: &mut Formatter) -> Result {
        f.write_str(&self.name)
    }
}

impl Display for Item {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Item::Dim(Dim { name, value: Some(value) }) => write!(f, "dim {name} = {value}"),
            Item::Dim(d) => write!(f, "dim {}", d.name),
            Item::Domain(d) => write!(f, "dim {}: {}", d.name, d.labels),
            Item::Table(t) => t.fmt(f),
            Item::Tensor(t) => t.fmt(f),
            Item::Function(function) => function.fmt(f),
            Item::Statement(s) => s.fmt(f),
            Item::Repeat(block) => block.fmt(f),
            Item::Schedule(s) => s.fmt(f),
        }
    }
}

impl Display for Repeat {
    fn fmt(&self, f: &mut Formatter) -> Result {
        writeln!(f, "{} {{", self.turns)?;
        for item in &self.body {
            writeln!(f, "  {}", item.to_string().replace('\n', "\n  "))?;
        }
        f.write_str("}")
    }
}

impl Display for Turns {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Turns::Times(size) => write!(f, "repeat {size}"),
            Turns::While(condition) => write!(f, "while {condition}"),
        }
    }
}

impl Display for Size {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Size::Name(name) => name.fmt(f),
            Size::Int(n, _) => n.fmt(f),
        }
    }
}

impl Display for Tensor {
    fn fmt(&self, f: &mut Formatter) -> Result {
        write!(f, "tensor {}: {}[{}]", self.name, self.sort, list(&self.sizes))?;
        write!(f, "{}{}", fill(&self.fill), behind(&self.format))
    }
}

/// ` fill 0`, if it is written.
fn fill(fill: &Option<(Literal, Span)>) -> String {
    fill.as_ref().map_or(String::new(), |(fill, _)| format!(" fill {fill}"))
}

/// What is behind a blank, if it is written.
fn behind<T: Display>(written: &Option<T>) -> String {
    written.as_ref().map_or(String::new(), |it| format!(" {it}"))
}

impl Display for Sort {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Sort::Plain(ty) => ty.fmt(f),
            Sort::Text => f.write_str("string"),
            Sort::Date => f.write_str("date"),
            Sort::Timestamp => f.write_str("timestamp"),
            Sort::Decimal(digits) => write!(f, "dec({digits})"),
            Sort::Domain(name) => name.fmt(f),
        }
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter) -> Result {
        write!(f, "table {}[{}] {{", self.name, list(&self.modes))?;
        if !self.columns.is_empty() {
            write!(f, " {} ", list(&self.columns))?;
        }
        write!(f, "}}{}", behind(&self.format))
    }
}

impl Display for Mode {
    fn fmt(&self, f: &mut Formatter) -> Result {
        write!(f, "{}: {}", self.name, self.size)
    }
}

impl Display for Column {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let source = self.source.as_ref().map_or(String::new(), |s| format!(" = {}", Literal::Text(s.clone())));
        write!(f, "{}{source}: {}{}", self.name, self.sort, fill(&self.fill))
    }
}

impl Display for Format {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Format::Name { name, .. } => name.fmt(f)?,
            Format::Levels { levels, .. } => write!(f, "{{{}}}", list(levels))?,
        }
        let (Format::Name { order, .. } | Format::Levels { order, .. }) = self;
        order.as_ref().map_or(Ok(()), |order| write!(f, " order({})", list(order)))
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Literal::Int(n) => n.fmt(f),
            Literal::Bool(b) => b.fmt(f),
            Literal::Text(text) => write!(f, "\"{}\"", text.replace('"', "\"\"")),
            Literal::Float(Float(x)) if x.is_nan() => f.write_str("nan"),
            Literal::Float(Float(x)) if x.is_infinite() => f.write_str(if *x > 0.0 { "inf" } else { "-inf" }),
            Literal::Float(Float(x)) => write!(f, "{x:?}"),
        }
    }
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter) -> Result {
        write!(f, "{} {} {}", self.lhs, self.op, self.rhs)?;
        if !self.locals.is_empty() {
            writeln!(f, " where {{")?;
            for local in &self.locals {
                writeln!(f, "  {}", local.to_string().replace('\n', "\n  "))?;
            }
            write!(f, "}}")?;
        }
        self.schedule.as_ref().map_or(Ok(()), |s| write!(f, " {s}"))
    }
}

impl Display for Assign {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Assign::Set => f.write_str("="),
            Assign::Add => f.write_str("+="),
            Assign::Fold(name) => write!(f, "{name}="),
        }
    }
}

impl Display for Access {
    fn fmt(&self, f: &mut Formatter) -> Result {
        write!(f, "{}[", self.tensor)?;
        joined(f, &self.indices, ",")?;
        f.write_str("]")
    }
}

impl Display for Index {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Index::Affine { permit, map, .. } => write!(f, "{}{map}", if *permit { "~" } else { "" }),
            Index::Access(access) => access.fmt(f),
            Index::Computed { permit, of } => write!(f, "{}{of}", if *permit { "~" } else { "" }),
            Index::Slice { var, start, end, step, .. } => {
                let bound = |n: &Option<Affine>| n.as_ref().map_or(String::new(), Affine::to_string);
                write!(f, "{var}({}:{}", bound(start), bound(end))?;
                step.map_or(Ok(()), |n| write!(f, ":{n}"))?;
                f.write_str(")")
            }
        }
    }
}

impl Display for Affine {
    fn fmt(&self, f: &mut Formatter) -> Result {
        for (n, (minus, term)) in self.terms.iter().enumerate() {
            match (n, minus) {
                (0, _) => write!(f, "{term}")?,
                (_, true) => write!(f, "-{term}")?,
                (_, false) => write!(f, "+{term}")?,
            }
        }
        Ok(())
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter) -> Result {
        if let Some(c) = self.coefficient {
            write!(f, "{c}*")?;
        }
        match &self.factor {
            Factor::Var(v) => write!(f, "{v}")?,
            Factor::Int(n) => write!(f, "{n}")?,
            Factor::Group(a) => write!(f, "({a})")?,
        }
        self.divisions.iter().try_for_each(|(rest, n)| write!(f, "{}{n}", if *rest { "%" } else { "/" }))
    }
}

impl UnaryOp {
    /// Its sign.
    pub fn sign(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Not => "!",
        }
    }
}

impl BinaryOp {
    /// Its sign.
    pub fn sign(self) -> &'static str {
        ["*", "/", "%", "+", "-", "<<", ">>", "&", "^", "|", "<", "<=", ">", ">=", "==", "!=", "&&", "||"]
            [self as usize]
    }

    /// The function that it applies.
    pub fn operation(self) -> Op {
        use BinaryOp as B;
        match self {
            B::Mul => Op::Mul,
            B::Div => Op::Div,
            B::Rem => Op::Rem,
            B::Add => Op::Add,
            B::Sub => Op::Sub,
            B::Shl => Op::Shl,
            B::Shr => Op::Shr,
            B::And => Op::And,
            B::Xor => Op::Xor,
            B::Or => Op::Or,
            B::Lt => Op::Lt,
            B::Le => Op::Le,
            B::Gt => Op::Gt,
            B::Ge => Op::Ge,
            B::Eq => Op::Eq,
            B::Ne => Op::Ne,
            B::AndAlso => Op::AndAlso,
            B::OrElse => Op::OrElse,
        }
    }

    /// How loosely it binds: 0 is tightest.
    pub fn level(self) -> u8 {
        use BinaryOp::*;
        match self {
            Mul | Div | Rem => 0,
            Add | Sub => 1,
            Shl | Shr => 2,
            And => 3,
            Xor => 4,
            Or => 5,
            Lt | Le | Gt | Ge | Eq | Ne => COMPARISON,
            AndAlso => 7,
            OrElse => 8,
        }
    }
}

const COMPARISON: u8 = 6;
/// A conditional reaches as far right as it can.
const LOOSEST: u8 = 9;

impl ExprKind {
    /// How loosely it binds on the outside; `None` of what needs no parentheses anywhere.
    fn level(&self) -> Option<u8> {
        match self {
            ExprKind::Binary(op, ..) => Some(op.level()),
            ExprKind::If(..) => Some(LOOSEST),
            _ => None,
        }
    }
}

/// An operand, in parentheses if it binds as loosely as `limit` or more.
fn operand<'a>(e: &'a Expr, limit: u8) -> impl Display + 'a {
    By(move |f: &mut Formatter| match e.kind.level() {
        Some(level) if level >= limit => write!(f, "({e})"),
        _ => write!(f, "{e}"),
    })
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match &self.kind {
            ExprKind::Literal(l) => l.fmt(f),
            ExprKind::Name(name) => name.fmt(f),
            ExprKind::Access(a) => a.fmt(f),
            ExprKind::Unary(UnaryOp::Neg, x) if matches!(x.kind, ExprKind::Literal(_)) => write!(f, "-({x})"),
            ExprKind::Unary(op, x) => write!(f, "{}{}", op.sign(), operand(x, 0)),
            ExprKind::Binary(op, a, b) => {
                // Left-associative; comparisons do not chain on either side.
                let left = if op.level() == COMPARISON { COMPARISON } else { op.level() + 1 };
                write!(f, "{} {} {}", operand(a, left), op.sign(), operand(b, op.level()))
            }
            ExprKind::Call(name, args) => write!(f, "{name}({})", list(args)),
            ExprKind::If(c, t, e) => write!(f, "if {c} then {t} else {e}"),
            ExprKind::Reduce { function, vars, body, start } => {
                write!(f, "{function}({}: {body}", list(vars))?;
                start.as_ref().map_or(Ok(()), |s| write!(f, " start {s}"))?;
                f.write_str(")")
            }
            ExprKind::Collapse { body, from, to } => write!(f, "collapse({body}, ({}) -> {to})", list(from)),
            ExprKind::Split { body, from, to } => write!(f, "split({body}, {from} -> ({}, {}))", to.0, to.1),
            ExprKind::Concat { parts, from, to } => write!(f, "concat(({}), ({}) -> {to})", list(parts), list(from)),
            ExprKind::Slice { body, from, to, start, end, step } => {
                write!(f, "slice({body}, {from} -> {to}, {start}:{end}")?;
                step.map_or(Ok(()), |n| write!(f, ":{n}"))?;
                f.write_str(")")
            }
        }
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Argument::Expr(e) => e.fmt(f),
            Argument::Type(t, _) => t.fmt(f),
        }
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let params = By(|f: &mut Formatter| joined(f, self.params.iter().map(|(n, t)| format!("{n}: {t}")), ", "));
        write!(
            f,
            "fn {}({params}) -> {} {{\n{}  {}\n}}",
            self.name,
            self.result,
            Body(&self.body.stmts, 1),
            self.body.value
        )?;
        if !self.properties.is_empty() {
            write!(f, " where ")?;
            joined(f, self.properties.iter().map(|(p, _)| p), ", ")?;
        }
        Ok(())
    }
}

/// Statements of a function, indented.
struct Body<'a>(&'a [Stmt], usize);

impl Display for Body<'_> {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let Body(stmts, depth) = *self;
        let pad = "  ".repeat(depth);
        stmts.iter().try_for_each(|s| match s {
            Stmt::Let(name, e) => writeln!(f, "{pad}let {name} = {e};"),
            Stmt::Set(name, e) => writeln!(f, "{pad}{name} = {e};"),
            Stmt::While(c, body) => writeln!(f, "{pad}while {c} {{\n{}{pad}}}", Body(body, depth + 1)),
            Stmt::If(c, t, e) if e.is_empty() => writeln!(f, "{pad}if {c} {{\n{}{pad}}}", Body(t, depth + 1)),
            Stmt::If(c, t, e) => {
                writeln!(f, "{pad}if {c} {{\n{}{pad}}} else {{\n{}{pad}}}", Body(t, depth + 1), Body(e, depth + 1))
            }
        })
    }
}

impl Display for Property {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let valued = |f: &mut Formatter, name: &str, v: &Literal, at: &Option<u64>| match at {
            Some(at) => write!(f, "{name}({v}, {at})"),
            None => write!(f, "{name}({v})"),
        };
        match self {
            Property::Commutative => f.write_str("commutative"),
            Property::Associative => f.write_str("associative"),
            Property::Idempotent => f.write_str("idempotent"),
            Property::Identity(v, at) => valued(f, "identity", v, at),
            Property::Annihilator(v, at) => valued(f, "annihilator", v, at),
            Property::Iterate(set) => write!(f, "iterate({set})"),
            Property::Case(patterns, e) => write!(f, "case({}) = {e}", list(patterns)),
            Property::Derivative(name, e) => write!(f, "derivative({name}) = {e}"),
        }
    }
}

impl SetExpr {
    fn level(&self) -> u8 {
        match self {
            SetExpr::Or(..) => 2,
            SetExpr::And(..) => 1,
            _ => 0,
        }
    }

    fn operand(&self, limit: u8) -> impl Display + '_ {
        By(move |f: &mut Formatter| if self.level() >= limit { write!(f, "({self})") } else { write!(f, "{self}") })
    }
}

impl Display for SetExpr {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            SetExpr::Param(name) => name.fmt(f),
            SetExpr::All => f.write_str("all"),
            SetExpr::Not(s) => write!(f, "!{}", s.operand(1)),
            SetExpr::And(a, b) => write!(f, "{} & {}", a.operand(2), b.operand(1)),
            SetExpr::Or(a, b) => write!(f, "{} | {}", a.operand(3), b.operand(2)),
        }
    }
}

impl Display for Pattern {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Pattern::Literal(l) => l.fmt(f),
            Pattern::Name(name) => name.fmt(f),
        }
    }
}

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter) -> Result {
        f.write_str("schedule {")?;
        self.commands.iter().try_for_each(|c| write!(f, " {};", c.kind))?;
        f.write_str(" }")
    }
}

impl Display for TensorCommand {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            TensorCommand::Precompute { expr, from, to, workspace } => {
                let vars = |v: &[Ident]| match v {
                    [one] => one.to_string(),
                    more => format!("({})", list(more)),
                };
                write!(f, "precompute({expr}, {} -> {}, {workspace})", vars(from), vars(to))
            }
            TensorCommand::Stage { expr, into } => write!(f, "stage({expr}, {into})"),
            TensorCommand::Store(tensor, format) => write!(f, "store({tensor}, {format})"),
            TensorCommand::Copy(tensor, format) => write!(f, "copy({tensor}, {format})"),
            TensorCommand::Protocol(access, p) => write!(f, "protocol({access}, {p})"),
        }
    }
}

/// Words of schedules, each as the language writes it.
macro_rules! words {
    ($($ty:ident { $($variant:ident $word:literal),* })*) => {$(
        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut Formatter) -> Result {
                f.write_str(match self { $($ty::$variant => $word,)* })
            }
        }
    )*};
}

words! {
    Unit {
        CpuThread "cpu_thread",
        CpuVector "cpu_vector",
        GpuBlock "gpu_block",
        GpuWarp "gpu_warp",
        GpuThread "gpu_thread"
    }
    Race {
        NoRaces "no_races",
        Atomics "atomics",
        Temporary "temporary",
        ParallelReduction "parallel_reduction"
    }
    Protocol { Walk "walk", Gallop "gallop", Locate "locate" }
}
