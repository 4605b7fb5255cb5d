//! The checked program: names resolved, types explicit, sums explicit, sugar gone.
//!
//! ```text
//!  Program ─┬ sizes      extents with a name or a number; equal names are one size
//!           ├ vars       index variables, each bound once in the whole program
//!           ├ tensors    inputs, results, and locals of `where` blocks
//!           ├ functions  the user's
//!           ├ statements `T[κ…] f= e`, where-statements flattened before their consumer
//!           └ order      what runs: statements, and blocks of them that run turn after turn
//! ```
//!
//! What `check` has made true:
//! 1. every expression has its type; literals are values of it; there is no implicit conversion;
//! 2. the einsum short form is spelled out as `Reduce`; an index variable is bound by the left side or by one
//!    reduction or shape operator, but for the sums of the short form, whose terms share a variable that is absent on
//!    the left: it has one extent in its statement, and no binding encloses another of the same variable;
//! 3. a slice in place has become the slice operator; `+=` names its function;
//! 4. `missing` can arise only inside `coalesce`;
//! 5. a `Set` statement has distinct bare index variables on its left, or is a part: of a tensor that is there before, under
//!    distinct index variables with positive factors, and coordinates;
//! 6. statements stand in order of execution; what is read before a statement defines it is declared, and no local;
//! 7. `order` holds each statement once, in that order; what is assigned in a block is declared, is a local, or is defined
//!    by that one statement alone, an `=`; conditions of blocks are of scalars.
//!
//! Extents are *not* solved here: what is known without data has been checked, the rest waits for the data.

mod extents;
mod schedule;
mod vars;

pub use super::command::Parts;
pub use extents::Extents;
pub use schedule::{Command, CommandKind, Stage, TensorCommand};

use super::Span;
use super::syntax;
use crate::algebra::{self, Op, Type, Value};
use crate::format::Format;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// As a place in its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(/** A tensor of the program. */ TensorId);
id!(/** A size of the program. */ SizeId);
id!(/** An index variable. */ VarId);
id!(/** A function that the user declared. */ FnId);
id!(/** A parameter or local of a function; parameters come first. */ LocalId);

/// How many turns the loops of one call of a function may take, with those of all that it calls, and how many all blocks of a
/// program together: more is an error, so that nothing runs for ever.
pub const TURNS: u64 = 1 << 22;

/// A checked program.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Program {
    /// Extents that declarations name.
    pub sizes: Vec<Size>,
    /// Index variables.
    pub vars: Vec<Var>,
    /// Tensors, in order of first appearance.
    pub tensors: Vec<Tensor>,
    /// The user's functions.
    pub functions: Vec<Function>,
    /// Its statements, as they stand in the text.
    pub statements: Vec<Statement>,
    /// What runs, in order.
    pub order: Vec<Step>,
    /// The table of each operand that belongs to one, by the operand's name: operands of one table have one structure.
    pub tables: BTreeMap<String, usize>,
    /// Index variables that staging has left without a place: what they stood in is read from a temporary.
    pub unbound: FxHashSet<VarId>,
}

/// A step of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A statement, by its place in [`Program::statements`].
    Statement(usize),
    /// A block.
    Repeat(Repeat),
}

/// Steps that run in order, turn after turn. What a turn leaves is what the next one reads; with no turns every tensor is as
/// it was before, and one that was not there holds its fill, or 0 if it is not declared.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeat {
    /// How many turns.
    pub turns: Turns,
    /// What runs in each.
    pub body: Vec<Step>,
    /// Where it begins.
    pub span: Span,
}

/// How many turns a block takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Turns {
    /// So many.
    Count(u64),
    /// As many as the extent of a size, which no declaration says; the variable has that extent, and is bound nowhere.
    Extent(SizeId, VarId),
    /// As long as this holds before the turn: a `bool`, of scalars.
    While(Expr),
}

impl Step {
    /// The statement, if it is one.
    fn statement(&self) -> Option<usize> {
        match self {
            Step::Statement(n) => Some(*n),
            Step::Repeat(_) => None,
        }
    }
}

impl Repeat {
    /// The statements in it and in its blocks, in order.
    pub fn statements(&self) -> Vec<usize> {
        statements(&self.body)
    }
}

/// The statements of some steps and of their blocks, in order.
fn statements(steps: &[Step]) -> Vec<usize> {
    let of = |step: &Step| match step {
        Step::Statement(n) => vec![*n],
        Step::Repeat(block) => block.statements(),
    };
    steps.iter().flat_map(of).collect()
}

impl Program {
    /// What folding values of type `ty` with `fun` over an empty extent gives; `None` if it has no identity.
    pub fn identity(&self, fun: Fun, ty: Type) -> Option<Value> {
        match fun {
            Fun::Op(op) => algebra::identity(op, ty),
            Fun::User(id) => self.functions[id.index()].identity(),
        }
    }

    /// The sizes that the caller must say.
    pub fn given_sizes(&self) -> impl Iterator<Item = SizeId> + '_ {
        (0..self.sizes.len() as u32).map(SizeId).filter(|size| self.sizes[size.index()].given)
    }

    /// The same program with values of sizes that the caller says.
    #[must_use]
    pub fn with_sizes(&self, values: &[(SizeId, u64)]) -> Program {
        let mut program = self.clone();
        for (size, value) in values {
            program.sizes[size.index()].value = Some(*value);
        }
        program
    }

    /// The tensors that the caller must bring: those read before or in the statement that first defines them, in the order of the
    /// text. A block's condition is read before its statements.
    pub fn inputs(&self) -> Vec<TensorId> {
        let (mut read, mut defined) = (vec![false; self.tensors.len()], vec![false; self.tensors.len()]);
        self.each_step(&mut |step| match step {
            Step::Statement(n) => {
                let statement = &self.statements[*n];
                let part = statement.is_part();
                statement.accesses(&mut |t, _, written| read[t.index()] |= (!written || part) && !defined[t.index()]);
                defined[statement.tensor.index()] = true;
            }
            Step::Repeat(Repeat { turns: Turns::While(condition), .. }) => {
                condition.reads(&mut |t| read[t.index()] |= !defined[t.index()]);
            }
            Step::Repeat(_) => {}
        });
        let brought = |id: &TensorId| matches!(self.tensors[id.index()].role, Role::Input | Role::Result);
        self.ids().filter(|id| read[id.index()] && brought(id)).collect()
    }

    /// The results that start from the caller's tensor where one is given, else as their fill: those declared ones whose
    /// first statement accumulates into them, or stands in a block, which may take no turn.
    pub fn starts(&self) -> Vec<TensorId> {
        let once: FxHashSet<usize> = self.order.iter().filter_map(Step::statement).collect();
        let starts = |id: &TensorId| {
            let first = self.statements.iter().position(|s| s.tensor == *id);
            let tensor = &self.tensors[id.index()];
            let perhaps = first.is_some_and(|n| self.statements[n].fold.is_some() || !once.contains(&n));
            tensor.role == Role::Result && tensor.fill.is_some() && perhaps
        };
        self.ids().filter(starts).collect()
    }

    /// The declared tensors that nothing reads or defines: where the caller gives them, they say extents.
    pub fn unread(&self) -> Vec<TensorId> {
        let inputs = self.inputs();
        let is_unread = |id: &TensorId| self.tensors[id.index()].role == Role::Input && !inputs.contains(id);
        self.ids().filter(is_unread).collect()
    }

    /// The tensors that a block takes from one turn to the next: those that it assigns, but for locals, which each turn
    /// makes anew.
    pub fn carried(&self, block: &Repeat) -> Vec<TensorId> {
        let assigned: FxHashSet<TensorId> = block.statements().into_iter().map(|n| self.statements[n].tensor).collect();
        self.ids().filter(|id| assigned.contains(id) && self.tensors[id.index()].role != Role::Local).collect()
    }

    /// Whether turns of a block exchange versions of a tensor.
    pub fn moves(&self, id: TensorId) -> bool {
        let mut moves = false;
        self.each_step(&mut |step| moves |= matches!(step, Step::Repeat(block) if self.carried(block).contains(&id)));
        moves
    }

    /// Gives `each` every step in the order of the text, blocks before what is in them.
    pub fn each_step<'p>(&'p self, each: &mut impl FnMut(&'p Step)) {
        let mut open: Vec<&Step> = self.order.iter().rev().collect();
        while let Some(step) = open.pop() {
            each(step);
            if let Step::Repeat(block) = step {
                open.extend(block.body.iter().rev());
            }
        }
    }

    /// The tensors that the program gives back: those that statements define, locals apart. One may be an input too.
    pub fn results(&self) -> Vec<TensorId> {
        let defined = |id: &TensorId| self.statements.iter().any(|s| s.tensor == *id);
        self.ids().filter(|id| self.tensors[id.index()].role != Role::Local).filter(defined).collect()
    }

    /// All tensors.
    pub fn ids(&self) -> impl Iterator<Item = TensorId> {
        (0..self.tensors.len() as u32).map(TensorId)
    }
}

/// An extent.
#[derive(Clone, Debug, PartialEq)]
pub struct Size {
    /// Its name, if a declaration gave one.
    pub name: Option<String>,
    /// Its value, if the program says it.
    pub value: Option<u64>,
    /// Whether the caller says it: `dim N`.
    pub given: bool,
    /// Where it first stands.
    pub span: Span,
}

/// An index variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Var {
    /// As written. Two variables may share a name in different scopes.
    pub name: String,
    /// Where it is bound.
    pub span: Span,
}

/// What a tensor is to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Defined by no statement: the caller brings it, if it is read.
    Input,
    /// Defined by a statement, and given back. The caller brings it too where it is one of [`Program::inputs`], and may
    /// where it is one of [`Program::starts`].
    Result,
    /// Defined in a `where` block.
    Local,
    /// Given by a function of the program, whose value at some coordinates is the tensor's there: its levels are all
    /// `function`, nothing is stored, and no data can be given for it.
    Computed(FnId),
}

/// A tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Element type.
    pub ty: Type,
    /// A size a mode. An undeclared result has fresh unnamed ones.
    pub sizes: Vec<SizeId>,
    /// The fill value. `None` only of an undeclared result: its expression's value where nothing is stored.
    pub fill: Option<Value>,
    /// The format. `None` only of an undeclared result.
    pub format: Option<Format>,
    /// What it is to the program.
    pub role: Role,
    /// Where it is declared, or first stands.
    pub span: Span,
}

/// A function that can be applied or folded with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fun {
    /// A built-in.
    Op(Op),
    /// A declared one.
    User(FnId),
}

/// `T[κ…] = e` or `T[κ…] f= e`.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// What is defined.
    pub tensor: TensorId,
    /// Where in it; under `Set`, distinct bare variables, or those of a part ([`Index::line`]).
    pub indices: Vec<Index>,
    /// Slices of its modes, which say how far their variables go.
    pub cuts: Vec<Cut>,
    /// `None` for `=`, else the function that accumulates.
    pub fold: Option<Fun>,
    /// The right side.
    pub rhs: Expr,
    /// Index variables of the left side, each once, in order of appearance.
    pub vars: Vec<VarId>,
    /// Further variables that `T f= e` folds over: free on the right, absent on the left. Empty under `Set` and under
    /// `+=`, where the right side has its sums spelled out.
    pub folded: Vec<VarId>,
    /// Its schedule, if the program has one.
    pub schedule: Option<syntax::Schedule>,
    /// The commands of it that are about loops.
    pub commands: Vec<Command>,
    /// The format of what it defines, once it is [decided](Program::decided).
    pub format: Option<Format>,
    /// Where.
    pub span: Span,
}

impl Statement {
    /// Whether it defines a part of its tensor, the rest of which stays as it was.
    pub fn is_part(&self) -> bool {
        self.fold.is_none() && self.indices.iter().any(|i| i.bare().is_none())
    }

    /// Whether it folds into other places than those of distinct bare index variables.
    pub fn scatters(&self) -> bool {
        if self.fold.is_none() {
            return false;
        }
        let bare: Vec<Option<VarId>> = self.indices.iter().map(Index::bare).collect();
        bare.iter().enumerate().any(|(m, v)| v.is_none() || bare[..m].contains(v))
    }

    /// Gives `each` every access: its tensor, its indices, and whether it is the left side. Gathers count as reads.
    pub fn accesses<'a>(&'a self, each: &mut impl FnMut(TensorId, &'a [Index], bool)) {
        each(self.tensor, &self.indices, true);
        gathers(&self.indices, each);
        read_in(&self.rhs, each);
    }
}

/// Gives `each` every read of an expression, at its indices too.
fn read_in<'a>(e: &'a Expr, each: &mut impl FnMut(TensorId, &'a [Index], bool)) {
    e.walk(&mut |e| {
        if let Kind::Access(tensor, indices) = &e.kind {
            each(*tensor, indices, false);
            gathers(indices, each);
        }
    });
}

fn gathers<'a>(indices: &'a [Index], each: &mut impl FnMut(TensorId, &'a [Index], bool)) {
    for index in indices {
        match &index.map {
            Map::Gather(tensor, inner) => {
                each(*tensor, inner, false);
                gathers(inner, each);
            }
            Map::Computed(e) => read_in(e, each),
            _ => {}
        }
    }
}

/// `i(start:end:step)` on a left side: as far as the slice goes, `i` does.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// The mode.
    pub mode: usize,
    /// The index variable.
    pub var: VarId,
    /// First coordinate.
    pub start: Bound,
    /// One past the last; the mode's extent if absent.
    pub end: Option<Bound>,
    /// At least 1.
    pub step: u64,
    /// Where.
    pub span: Span,
}

/// `start + factor · var`, the factor above 0; without a variable, a coordinate.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The index variable, if there is one.
    pub var: Option<(VarId, i64)>,
    /// The coordinate where it is 0.
    pub start: Bound,
}

/// One index of an access.
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    /// Under `~`: may leave the array.
    pub permit: bool,
    /// The coordinate.
    pub map: Map,
    /// Where.
    pub span: Span,
}

impl Index {
    /// The index variable, if this is a bare one.
    pub fn bare(&self) -> Option<VarId> {
        match self.map {
            Map::Var(v) if !self.permit => Some(v),
            _ => None,
        }
    }

    /// The map as a line, if it is one.
    pub fn line(&self) -> Option<Line> {
        fn of(map: &Map) -> Option<Line> {
            Some(match map {
                Map::Var(v) => Line { var: Some((*v, 1)), start: Bound::default() },
                Map::Const(c) => Line { var: None, start: Bound::number(*c) },
                Map::Bound(bound) => Line { var: None, start: bound.clone() },
                Map::Add(a, b) => {
                    let (a, b) = (of(a)?, of(b)?);
                    let var = if a.var.is_some() && b.var.is_some() { return None } else { a.var.or(b.var) };
                    let constant = a.start.constant.checked_add(b.start.constant)?;
                    Line { var, start: Bound { constant, terms: [a.start.terms, b.start.terms].concat() } }
                }
                Map::Mul(n, a) => {
                    let Line { var, start } = of(a)?;
                    let var = match var {
                        Some((v, factor)) => Some((v, factor.checked_mul(*n)?)),
                        None => None,
                    };
                    Line { var, start: start.times(*n)? }
                }
                Map::Div(..) | Map::Mod(..) | Map::Gather(..) | Map::Computed(_) => return None,
            })
        }
        of(&self.map).filter(|line| !self.permit && line.var.is_none_or(|(_, factor)| factor > 0))
    }

    /// Where it can be missing, if it can: it, or an index under which it is read.
    fn may_miss(&self) -> Option<Span> {
        fn within(map: &Map) -> Option<Span> {
            match map {
                Map::Var(_) | Map::Const(_) | Map::Bound(_) => None,
                Map::Add(a, b) => within(a).or_else(|| within(b)),
                Map::Mul(_, a) | Map::Div(a, _) | Map::Mod(a, _) => within(a),
                Map::Gather(_, indices) => indices.iter().find_map(Index::may_miss),
                Map::Computed(e) => e.may_miss(),
            }
        }
        if self.permit { Some(self.span) } else { within(&self.map) }
    }
}

/// An index map `κ`: a coordinate as a function of index variables (design, section 2). Divisions round down and
/// their divisors are positive. All are 64-bit in meaning; one that overflows is rejected.
#[derive(Clone, Debug, PartialEq)]
pub enum Map {
    /// An index variable's value.
    Var(VarId),
    /// An integer.
    Const(i64),
    /// Where a slice on a left side begins, if sizes say it.
    Bound(Bound),
    /// A sum.
    Add(Box<Map>, Box<Map>),
    /// A multiple (−1 for subtraction).
    Mul(i64, Box<Map>),
    /// Quotient, rounded down.
    Div(Box<Map>, i64),
    /// Remainder, not negative.
    Mod(Box<Map>, i64),
    /// Read from a tensor of integers: gather, scatter.
    Gather(TensorId, Vec<Index>),
    /// Any integer that is computed.
    Computed(Box<Expr>),
}

impl Map {
    /// Whether it is a function of one of these variables, apart from what is read for it.
    pub(super) fn mentions(&self, vars: &FxHashSet<VarId>) -> bool {
        match self {
            Map::Var(v) => vars.contains(v),
            Map::Add(a, b) => a.mentions(vars) || b.mentions(vars),
            Map::Mul(_, a) | Map::Div(a, _) | Map::Mod(a, _) => a.mentions(vars),
            Map::Const(_) | Map::Bound(_) | Map::Gather(..) => false,
            Map::Computed(e) => e.has_value_of(&|v| vars.contains(&v)),
        }
    }

    /// The indices under which a tensor is read for it, if it is read.
    pub(super) fn gathered(&self) -> Option<&[Index]> {
        match self {
            Map::Gather(_, indices) => Some(indices),
            _ => None,
        }
    }

    /// Whether a tensor is read for it.
    pub fn gathers(&self) -> bool {
        match self {
            Map::Var(_) | Map::Const(_) | Map::Bound(_) => false,
            Map::Add(a, b) => a.gathers() || b.gathers(),
            Map::Mul(_, a) | Map::Div(a, _) | Map::Mod(a, _) => a.gathers(),
            Map::Gather(..) | Map::Computed(_) => true,
        }
    }
}

/// A bound of a slice, `constant + Σ factor · size`: a coordinate, or one past the last.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Bound {
    /// What is added.
    pub constant: i64,
    /// Sizes, each with its factor.
    pub terms: Vec<(i64, SizeId)>,
}

impl Bound {
    /// A number.
    pub fn number(constant: i64) -> Bound {
        Bound { constant, terms: Vec::new() }
    }

    /// A multiple of it, if 64 bits hold that.
    pub fn times(&self, n: i64) -> Option<Bound> {
        let term = |(factor, size): &(i64, SizeId)| Some((factor.checked_mul(n)?, *size));
        let terms = self.terms.iter().map(term).collect::<Option<_>>()?;
        Some(Bound { constant: self.constant.checked_mul(n)?, terms })
    }

    /// Its value where sizes have these extents; `None` where one that it needs has none.
    pub fn value(&self, extent: impl Fn(SizeId) -> Option<u64>) -> Option<i128> {
        let term = |(factor, size): &(i64, SizeId)| Some(*factor as i128 * extent(*size)? as i128);
        self.terms.iter().try_fold(self.constant as i128, |sum, t| sum.checked_add(term(t)?))
    }
}

/// A typed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: Kind,
    /// Its type.
    pub ty: Type,
    /// Where.
    pub span: Span,
}

impl Expr {
    /// The expressions directly inside, from left to right.
    pub fn children(&self) -> impl Iterator<Item = &Expr> {
        let (many, one, start): (&[Expr], _, _) = match &self.kind {
            Kind::Literal(_) | Kind::Index(_) | Kind::Size(_) | Kind::Local(_) | Kind::Access(..) => (&[], None, None),
            Kind::Call(_, parts) | Kind::Concat { parts, .. } => (parts, None, None),
            Kind::Reduce { body, start, .. } => (&[], Some(&**body), start.as_deref()),
            Kind::Collapse { body, .. } | Kind::Split { body, .. } | Kind::Slice { body, .. } => {
                (&[], Some(&**body), None)
            }
        };
        many.iter().chain(one).chain(start)
    }

    /// Where it can be missing, if it can: a permitted index that no `coalesce` catches.
    pub fn may_miss(&self) -> Option<Span> {
        match &self.kind {
            Kind::Access(_, indices) => indices.iter().find_map(Index::may_miss),
            Kind::Call(Fun::Op(Op::Coalesce), args) => {
                let all: Option<Vec<Span>> = args.iter().map(Expr::may_miss).collect();
                all.and_then(|spans| spans.first().copied())
            }
            _ => self.children().find_map(Expr::may_miss),
        }
    }

    /// Whether the value of one of these variables is read.
    pub fn has_value_of(&self, these: &dyn Fn(VarId) -> bool) -> bool {
        let mut found = false;
        self.walk(&mut |e| found |= matches!(e.kind, Kind::Index(v) if these(v)));
        found
    }

    /// Gives `each` every tensor that it reads, at its indices too.
    pub fn reads(&self, each: &mut impl FnMut(TensorId)) {
        read_in(self, &mut |tensor, _, _| each(tensor));
    }

    /// Gives `each` this expression and all inside it, outer ones first.
    pub fn walk<'a>(&'a self, each: &mut impl FnMut(&'a Expr)) {
        each(self);
        let mut open: Vec<&Expr> = self.children().collect();
        open.reverse();
        while let Some(e) = open.pop() {
            each(e);
            let from = open.len();
            open.extend(e.children());
            open[from..].reverse();
        }
    }
}

/// Kinds of typed expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A value of the expression's type.
    Literal(Value),
    /// An index variable's value, an `i64`.
    Index(VarId),
    /// A size's extent, an `i64`.
    Size(SizeId),
    /// A parameter or local, in function bodies and `case`s only.
    Local(LocalId),
    /// `T[κ…]`
    Access(TensorId, Vec<Index>),
    /// A function applied; built-in operators, `if`, `mask`, `convert` and `coalesce` are [`Op`]s.
    Call(Fun, Vec<Expr>),
    /// A fold over all of the variables' extents, lexicographic, ascending.
    Reduce {
        /// An associative function, or one with a start.
        fun: Fun,
        /// Outermost first.
        vars: Vec<VarId>,
        /// What is folded; its type is the expression's.
        body: Box<Expr>,
        /// What the fold begins with.
        start: Option<Box<Expr>>,
    },
    /// `to = (from₀·|from₁| + from₁)·|from₂| + …`
    Collapse {
        /// What is collapsed.
        body: Box<Expr>,
        /// Bound in the body.
        from: Vec<VarId>,
        /// Free outside.
        to: VarId,
    },
    /// `from = to₀·|to₁| + to₁`
    Split {
        /// What is split.
        body: Box<Expr>,
        /// Bound in the body.
        from: VarId,
        /// Free outside.
        to: (VarId, VarId),
    },
    /// `parts` one behind the other.
    Concat {
        /// Two or more.
        parts: Vec<Expr>,
        /// Part m binds `from[m]`.
        from: Vec<VarId>,
        /// Free outside.
        to: VarId,
    },
    /// `from = start + step·to`
    Slice {
        /// What is sliced.
        body: Box<Expr>,
        /// Bound in the body.
        from: VarId,
        /// Free outside.
        to: VarId,
        /// First coordinate.
        start: Bound,
        /// One past the last; the extent of `from` if absent.
        end: Option<Bound>,
        /// At least 1.
        step: u64,
    },
}

/// A function of the user's.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Names and types of parameters, then of locals, in order of definition.
    pub locals: Vec<(String, Type)>,
    /// How many of them are parameters.
    pub arity: usize,
    /// Result type.
    pub result: Type,
    /// Statements.
    pub stmts: Vec<Stmt>,
    /// The value.
    pub value: Expr,
    /// Declared properties.
    pub properties: Vec<(Property, Span)>,
    /// Where.
    pub span: Span,
}

impl Function {
    /// Whether its parameters are of these types.
    pub fn takes(&self, types: &[Type]) -> bool {
        self.locals[..self.arity].iter().map(|(_, ty)| ty).eq(types)
    }

    /// What folding with it over an empty extent gives.
    pub fn identity(&self) -> Option<Value> {
        self.properties.iter().find_map(|(p, _)| match p {
            Property::Identity(value, _) if value.ty() == self.result => Some(*value),
            _ => None,
        })
    }

    /// Whether it is its second argument: so folds what sets one element, `x[k[]] = e`.
    pub fn is_latest(&self) -> bool {
        self.arity == 2 && self.stmts.is_empty() && self.value.kind == Kind::Local(LocalId(1))
    }

    /// Gives `each` the expressions of its statements.
    pub fn each_expr<'f>(&'f self, each: &mut impl FnMut(&'f Expr)) {
        let mut open: Vec<&Stmt> = self.stmts.iter().collect();
        while let Some(stmt) = open.pop() {
            match stmt {
                Stmt::Set(_, e) => each(e),
                Stmt::While(c, body) => {
                    each(c);
                    open.extend(body);
                }
                Stmt::If(c, yes, no) => {
                    each(c);
                    open.extend(yes.iter().chain(no));
                }
            }
        }
    }

    /// Its identity, if folds with it may begin with that and go in any order: it is declared to be associative and commutative.
    pub fn unordered(&self) -> Option<Value> {
        let declared = |wanted: &Property| self.properties.iter().any(|(p, _)| p == wanted);
        let any_order = declared(&Property::Associative) && declared(&Property::Commutative);
        self.identity().filter(|_| any_order)
    }
}

/// A statement inside a function.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// `let x = e;` and `x = e;`
    Set(LocalId, Expr),
    /// `while e { … }`
    While(Expr, Vec<Stmt>),
    /// `if e { … } else { … }`
    If(Expr, Vec<Stmt>, Vec<Stmt>),
}

/// A declared property, typed.
#[derive(Clone, Debug, PartialEq)]
pub enum Property {
    /// f(a, b) = f(b, a)
    Commutative,
    /// f(f(a, b), c) = f(a, f(b, c))
    Associative,
    /// f(a, a) = a
    Idempotent,
    /// A value and an argument position (from 0); every position if `None`.
    Identity(Value, Option<usize>),
    /// A value and an argument position (from 0); every position if `None`.
    Annihilator(Value, Option<usize>),
    /// Where the result can differ from its fill.
    Iterate(Set),
    /// f(pattern…) = e, the names of the pattern being the parameters at their positions.
    Case(Vec<Option<Value>>, Expr),
    /// The derivative by the parameter at a position is e.
    Derivative(usize, Expr),
}

/// A set of coordinates in terms of where parameters differ from their fill.
#[derive(Clone, Debug, PartialEq)]
pub enum Set {
    /// Where this parameter differs from its fill.
    Param(usize),
    /// Everywhere.
    All,
    /// Complement.
    Not(Box<Set>),
    /// Intersection.
    And(Box<Set>, Box<Set>),
    /// Union.
    Or(Box<Set>, Box<Set>),
}

impl Set {
    /// Whether something is taken away.
    pub fn has_complement(&self) -> bool {
        match self {
            Set::Param(_) | Set::All => false,
            Set::Not(_) => true,
            Set::And(a, b) | Set::Or(a, b) => a.has_complement() || b.has_complement(),
        }
    }
}
