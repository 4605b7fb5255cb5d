//! The syntax tree of `docs/language.md`: what the parser reads, the builder makes, and the printer prints.
//!
//! ```text
//!  Program ─ Item* ─┬ Dim
//!                   ├ Domain ─ what its labels are
//!                   ├ Table ─ modes, columns, format
//!                   ├ Tensor ─ sizes, fill, format
//!                   ├ Function ─ parameters, block, properties
//!                   ├ Statement ─ Access op Expr, where-statements, schedule
//!                   ├ Repeat ─ turns, Item*
//!                   └ Schedule (the statement before it)
//! ```
//!
//! Nothing is resolved here: names are text, literals keep how they were written, `a < b < c` has been refused by the
//! parser. Trees compare equal when they differ in [`Span`]s alone, so `read(print(p)) == p`.

pub use super::command::{Parts, Race, Unit};

use super::Span;
use super::command;
use crate::algebra::Type;

/// A whole program.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Program {
    /// Its items in the order of the text.
    pub items: Vec<Item>,
}

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ident {
    /// The name.
    pub name: String,
    /// Where.
    pub span: Span,
}

/// One item of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// `dim I = 4`
    Dim(Dim),
    /// `dim NATION: string`
    Domain(Domain),
    /// `table orders[o_orderkey: ORDER] { o_custkey: CUST, o_orderdate: date }`
    Table(Table),
    /// `tensor A: f64[I, J] csr`
    Tensor(Tensor),
    /// `fn f(x: i64) -> i64 { x } where idempotent`
    Function(Function),
    /// `y[i] = A[i,j] * x[j]`
    Statement(Statement),
    /// `repeat 20 { x[i] = y[i] }`
    Repeat(Repeat),
    /// A schedule that stands alone belongs to the statement before it.
    Schedule(Schedule),
}

/// A block: statements that run in order, turn after turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeat {
    /// How many turns.
    pub turns: Turns,
    /// What runs in each: statements, blocks and schedules. Declarations stand outside of blocks.
    pub body: Vec<Item>,
    /// Where it begins: from its word to what says how many turns.
    pub span: Span,
}

/// How many turns a block takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Turns {
    /// `repeat 20`, `repeat N`: so many.
    Times(Size),
    /// `while e[] > 1e-6`: as long as this holds before the turn.
    While(Expr),
}

/// `dim I = 4`: an extent with a name; `dim I`: one that the caller says.
#[derive(Clone, Debug, PartialEq)]
pub struct Dim {
    /// Its name.
    pub name: Ident,
    /// Its value; the caller's if `None`.
    pub value: Option<u64>,
}

/// `dim D: string`: coordinates that have labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// Its name.
    pub name: Ident,
    /// What its labels are.
    pub labels: Sort,
}

impl Program {
    /// What only programs over labels declare: domains, tables, tensors whose values are more than they are stored as.
    pub fn labelled(&self) -> impl Iterator<Item = &Ident> {
        self.items.iter().filter_map(|item| match item {
            Item::Domain(Domain { name, .. }) | Item::Table(Table { name, .. }) => Some(name),
            Item::Tensor(t) if !matches!(t.sort, Sort::Plain(_)) => Some(&t.name),
            _ => None,
        })
    }
}

/// The most digits behind the point of a decimal: so many an `i64` holds.
pub const MOST_DIGITS: u8 = 18;

/// What values are beyond how they are stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Sort {
    /// Themselves.
    Plain(Type),
    /// `string`
    Text,
    /// `date`: days from 1970-01-01 on.
    Date,
    /// `timestamp`: microseconds from 1970-01-01 00:00 on.
    Timestamp,
    /// `dec(2)`: integers, of which this power of ten is one.
    Decimal(u8),
    /// `NATION`: coordinates of a domain, by its name.
    Domain(Ident),
}

impl Sort {
    /// How a value is stored. A coordinate may be none, and is negative then; of a text only what is asked is stored.
    pub fn stored(&self) -> Type {
        match self {
            Sort::Plain(ty) => *ty,
            Sort::Text => Type::Bool,
            Sort::Date | Sort::Timestamp | Sort::Decimal(_) | Sort::Domain(_) => Type::I64,
        }
    }
}

/// `table NAME[MODES] {COLUMNS} FORMAT`: where a row stands, and what stands in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: Ident,
    /// One or more.
    pub modes: Vec<Mode>,
    /// In the order of the text.
    pub columns: Vec<Column>,
    /// The format of its columns, if written.
    pub format: Option<Format>,
}

/// `o_orderkey: ORDER`, `row: L`
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// The column of the data that says the coordinate; [`ROW`] if rows are counted below the modes before it.
    pub name: Ident,
    /// What it runs over.
    pub size: Size,
}

/// The mode that counts rows.
pub const ROW: &str = "row";

/// `l_tax = "L_TAX": dec(2) fill 0`
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name: a tensor's.
    pub name: Ident,
    /// What the data call it, if otherwise.
    pub source: Option<String>,
    /// What stands in it.
    pub sort: Sort,
    /// What stands for a null, and where no row is.
    pub fill: Option<(Literal, Span)>,
}

/// The size of a mode in a declaration.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// Equal names are equal extents.
    Name(Ident),
    /// A number.
    Int(u64, Span),
}

/// `tensor NAME: TYPE[SIZES] fill LITERAL FORMAT`
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Its name.
    pub name: Ident,
    /// What its elements are.
    pub sort: Sort,
    /// A size a mode; none for a scalar.
    pub sizes: Vec<Size>,
    /// The fill value, if written.
    pub fill: Option<(Literal, Span)>,
    /// The format, if written.
    pub format: Option<Format>,
}

/// A format as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Format {
    /// `csr`, `coo order(1, 0)`: the levels of that name.
    Name {
        /// Its name.
        name: Ident,
        /// Mode of each level; as the name has it if absent.
        order: Option<Vec<u64>>,
        /// Where.
        span: Span,
    },
    /// `{dense, compressed} order(1, 0)`: storage level l holds mode `order[l]`.
    Levels {
        /// Level names, outermost first.
        levels: Vec<Ident>,
        /// Mode of each level; as declared if absent.
        order: Option<Vec<u64>>,
        /// Where.
        span: Span,
    },
}

impl Format {
    /// The format of this name, in the order that the name has.
    pub fn named(name: Ident) -> Format {
        let span = name.span;
        Format::Name { name, order: None, span }
    }

    /// The same as if it stood elsewhere: there messages about it are drawn.
    #[must_use]
    pub fn at(self, span: Span) -> Format {
        let moved = |level: Ident| Ident { span, ..level };
        match self {
            Format::Name { name, order, .. } => Format::Name { name: moved(name), order, span },
            Format::Levels { levels, order, .. } => {
                Format::Levels { levels: levels.into_iter().map(moved).collect(), order, span }
            }
        }
    }

    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Format::Name { span, .. } | Format::Levels { span, .. } => *span,
        }
    }
}

/// A literal as written; its type comes from its context.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// An integer with its sign: a minus directly before a number is part of the literal, in expressions too
    /// (`-(5)` is the negation of 5). At most 64 bits of magnitude.
    Int(i128),
    /// A float. `nan` is equal to itself here: compared by bits.
    Float(Float),
    /// `true` or `false`.
    Bool(bool),
    /// `"ASIA"`: a label, a date, a pattern.
    Text(String),
}

/// A float that compares by bits.
#[derive(Clone, Copy, Debug)]
pub struct Float(pub f64);

impl PartialEq for Float {
    fn eq(&self, other: &Float) -> bool {
        self.0.to_bits() == other.0.to_bits() || self.0.is_nan() && other.0.is_nan()
    }
}

/// `access op expr where { … } schedule { … }`
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The left side.
    pub lhs: Access,
    /// How the right side is joined to it.
    pub op: Assign,
    /// The right side.
    pub rhs: Expr,
    /// Statements that run first; what they define is local.
    pub locals: Vec<Statement>,
    /// The schedule written behind the statement.
    pub schedule: Option<Schedule>,
    /// Where.
    pub span: Span,
}

/// How a statement joins its right side to its left.
#[derive(Clone, Debug, PartialEq)]
pub enum Assign {
    /// `=`
    Set,
    /// `+=`
    Add,
    /// `min=`, or any function's name.
    Fold(Ident),
}

/// `T[i, ~(j+1), k(0:8:2), P[l]]`
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The tensor.
    pub tensor: Ident,
    /// An index a mode.
    pub indices: Vec<Index>,
    /// Where.
    pub span: Span,
}

/// One index of an access.
#[derive(Clone, Debug, PartialEq)]
pub enum Index {
    /// `2*i + k - 5`, with `~` if it may leave the array.
    Affine {
        /// Whether `~` stands before it.
        permit: bool,
        /// The expression.
        map: Affine,
        /// Where.
        span: Span,
    },
    /// `i(start:end:step)`: the slice operator on this mode.
    Slice {
        /// The index variable of the slice.
        var: Ident,
        /// First coordinate, of sizes; 0 if absent.
        start: Option<Affine>,
        /// One past the last, of sizes; the extent if absent.
        end: Option<Affine>,
        /// 1 if absent.
        step: Option<u64>,
        /// Where.
        span: Span,
    },
    /// `P[i]`: the coordinate is read from a tensor.
    Access(Access),
    /// `year(d[o])`: the coordinate is computed. The grammar has calls here, and no `~`.
    Computed {
        /// Whether it may leave the array.
        permit: bool,
        /// The coordinate.
        of: Box<Expr>,
    },
}

impl Index {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Index::Affine { span, .. } | Index::Slice { span, .. } => *span,
            Index::Access(a) => a.span,
            Index::Computed { of, .. } => of.span,
        }
    }

    /// The index variable, if it is one and nothing else.
    pub fn variable(&self) -> Option<&Ident> {
        match self {
            Index::Affine { permit: false, map, .. } => map.as_name(),
            _ => None,
        }
    }
}

/// A sum of terms; the first sign is written only if negative… which the grammar does not have: it is always `+`.
#[derive(Clone, Debug, PartialEq)]
pub struct Affine {
    /// (whether subtracted, term), at least one.
    pub terms: Vec<(bool, Term)>,
}

impl Affine {
    /// An integer.
    pub fn number(n: u64) -> Affine {
        let term = Term { coefficient: None, factor: Factor::Int(n), divisions: Vec::new() };
        Affine { terms: vec![(false, term)] }
    }

    /// The name that it is, if it is nothing else.
    pub fn as_name(&self) -> Option<&Ident> {
        match &self.terms[..] {
            [(false, Term { coefficient: None, factor: Factor::Var(name), divisions })] if divisions.is_empty() => {
                Some(name)
            }
            _ => None,
        }
    }
}

/// `c * factor / d % m …`
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The integer before `*`.
    pub coefficient: Option<u64>,
    /// What is multiplied.
    pub factor: Factor,
    /// Divisions (`false`) and remainders (`true`), left to right; both round down.
    pub divisions: Vec<(bool, u64)>,
}

/// A factor of a term.
#[derive(Clone, Debug, PartialEq)]
pub enum Factor {
    /// An index variable; in the bound of a slice, a size.
    Var(Ident),
    /// An integer.
    Int(u64),
    /// A parenthesis.
    Group(Box<Affine>),
}

/// An expression and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
}

/// Kinds of expressions. Parentheses leave no trace.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `2.5`
    Literal(Literal),
    /// An index variable's value, a parameter, a local, a size.
    Name(Ident),
    /// `A[i,j]`
    Access(Access),
    /// `-e`, `!e`
    Unary(UnaryOp, Box<Expr>),
    /// `a + b`
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `f(a, b)`
    Call(Ident, Vec<Argument>),
    /// `if c then a else b`
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `sum(i, j: e start s)`
    Reduce {
        /// `sum`, `min`, …, or a function's name.
        function: Ident,
        /// What is reduced over, outermost first.
        vars: Vec<Ident>,
        /// What is folded.
        body: Box<Expr>,
        /// What the fold begins with, if written.
        start: Option<Box<Expr>>,
    },
    /// `collapse(e, (i, j) -> k)`
    Collapse {
        /// What is collapsed.
        body: Box<Expr>,
        /// Bound in the body, two or more.
        from: Vec<Ident>,
        /// The result's index variable.
        to: Ident,
    },
    /// `split(e, j -> (k, l))`
    Split {
        /// What is split.
        body: Box<Expr>,
        /// Bound in the body.
        from: Ident,
        /// The result's index variables.
        to: (Ident, Ident),
    },
    /// `concat((e, f), (j, k) -> l)`
    Concat {
        /// What is concatenated, two or more.
        parts: Vec<Expr>,
        /// Part m binds `from[m]`; as many as parts.
        from: Vec<Ident>,
        /// The result's index variable.
        to: Ident,
    },
    /// `slice(e, j -> k, start:end:step)`
    Slice {
        /// What is sliced.
        body: Box<Expr>,
        /// Bound in the body.
        from: Ident,
        /// The result's index variable.
        to: Ident,
        /// First coordinate, of sizes.
        start: Affine,
        /// One past the last, of sizes.
        end: Affine,
        /// 1 if not written.
        step: Option<u64>,
    },
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// An expression.
    Expr(Expr),
    /// A type, for `convert`.
    Type(Type, Span),
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum UnaryOp {
    Neg,
    Not,
}

/// Binary operators, tightest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    And,
    Xor,
    Or,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    AndAlso,
    OrElse,
}

impl BinaryOp {
    /// All of them.
    pub const ALL: [BinaryOp; 18] = {
        use BinaryOp::*;
        [Mul, Div, Rem, Add, Sub, Shl, Shr, And, Xor, Or, Lt, Le, Gt, Ge, Eq, Ne, AndAlso, OrElse]
    };
}

/// `fn f(x: T, …) -> R { … } where …`
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: Ident,
    /// Parameters with types, one or more.
    pub params: Vec<(Ident, Type)>,
    /// Result type.
    pub result: Type,
    /// Its body.
    pub body: Block,
    /// Declared properties.
    pub properties: Vec<(Property, Span)>,
}

/// `{ stmt* expr }`
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Statements.
    pub stmts: Vec<Stmt>,
    /// The value.
    pub value: Box<Expr>,
}

/// A statement inside a function.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// `let x = e;`
    Let(Ident, Expr),
    /// `x = e;`
    Set(Ident, Expr),
    /// `while e { … }`
    While(Expr, Vec<Stmt>),
    /// `if e { … } else { … }`; no `else` is an empty one.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
}

/// A declared property of a function.
#[derive(Clone, Debug, PartialEq)]
pub enum Property {
    /// f(a, b) = f(b, a)
    Commutative,
    /// f(f(a, b), c) = f(a, f(b, c))
    Associative,
    /// f(a, a) = a
    Idempotent,
    /// f(…, v at that position, …) = the other argument; every position if none is written.
    Identity(Literal, Option<u64>),
    /// f(…, v at that position, …) is the same for all other arguments; every position if none is written.
    Annihilator(Literal, Option<u64>),
    /// Where the result can differ from its fill.
    Iterate(SetExpr),
    /// f(pattern…) = e
    Case(Vec<Pattern>, Expr),
    /// The derivative by this parameter is e, which reads all of them.
    Derivative(Ident, Expr),
}

/// A set of coordinates in terms of where parameters differ from their fill.
#[derive(Clone, Debug, PartialEq)]
pub enum SetExpr {
    /// Where this parameter differs from its fill.
    Param(Ident),
    /// Everywhere.
    All,
    /// Complement.
    Not(Box<SetExpr>),
    /// Intersection.
    And(Box<SetExpr>, Box<SetExpr>),
    /// Union.
    Or(Box<SetExpr>, Box<SetExpr>),
}

/// A pattern of a `case`.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Matches this value.
    Literal(Literal),
    /// Matches anything, and names it.
    Name(Ident),
}

/// `schedule { command; … }`: see the `schedule` module for what each does.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Its commands in order.
    pub commands: Vec<Command>,
    /// Where.
    pub span: Span,
}

/// One command of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// What it does.
    pub kind: CommandKind,
    /// Where.
    pub span: Span,
}

/// A command, over names.
pub type CommandKind = command::Kind<Ident, Ident, TensorCommand>;

/// Commands that make, copy or read tensors.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum TensorCommand {
    /// `precompute(expr, i -> iw, W)`; several variables as `(i, j) -> (iw, jw)`
    Precompute { expr: Expr, from: Vec<Ident>, to: Vec<Ident>, workspace: Ident },
    /// `stage(expr, W[i, …])`
    Stage { expr: Expr, into: Access },
    /// `store(W, FORMAT)`
    Store(Ident, Format),
    /// `copy(T, FORMAT)`
    Copy(Ident, Format),
    /// `protocol(T[i], gallop)`
    Protocol(Access, Protocol),
}

/// How an access is iterated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Protocol {
    Walk,
    Gallop,
    Locate,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Protocol; 3] = [Protocol::Walk, Protocol::Gallop, Protocol::Locate];
}
