//! Whole programs as trees that can be made smaller: several statements, every element type, every mode order and
//! mixture of dense and compressed levels up to rank 4, with their operands.
//!
//! ```text
//!  Case ─┬ sizes       an extent each, 0 to 5; size n is called `Sn`
//!        ├ tensors     operands A0, A1, …, with entries; results R0, R1, … of the statements, some given too
//!        └ statements  R[vars] = or += expression; a local one stands in the `where` of the next that is none
//! ```
//!
//! Index variable v runs over size v mod 3 wherever it stands, hence extents never contradict each other. Values are
//! small, so that answers in floats are exact.

use arbitrary::Unstructured;
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Format, LevelKind};
use std::collections::BTreeSet;
use std::fmt::{self, Display};

/// Sizes of a case.
pub const SIZES: usize = 3;
/// Names of index variables; the v-th is of size v mod [`SIZES`].
pub const VARS: [&str; 9] = ["i", "j", "k", "l", "m", "n", "p", "q", "r"];

/// Kinds of levels, the likelier the more often; a nonunique one may be followed by singletons.
pub const KINDS: &[LevelKind] = &[
    LevelKind::Compressed,
    LevelKind::Dense,
    LevelKind::Nonunique,
    LevelKind::Compressed,
    LevelKind::Dense,
    LevelKind::Hashed,
    LevelKind::Bytemap,
    LevelKind::Bitmap,
];

/// Every kind of level that a case can have, each once.
pub fn levels() -> BTreeSet<LevelKind> {
    KINDS.iter().copied().chain([LevelKind::Singleton]).collect()
}

/// A program and its operands.
#[derive(Clone, Debug)]
pub struct Case {
    /// The extent of each size, and whether the program says it.
    pub sizes: Vec<(u64, bool)>,
    /// Operands, then a result a statement or fewer.
    pub tensors: Vec<Tensor>,
    /// What runs.
    pub statements: Vec<Statement>,
}

/// A tensor of a case.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Element type.
    pub ty: Type,
    /// The size of each mode.
    pub sizes: Vec<usize>,
    /// A small integer.
    pub fill: i64,
    /// Where it is stored; `None`: a result that is not declared.
    pub format: Option<Format>,
    /// Whether positions and coordinates of what the caller gives are 64 bits wide.
    pub wide: (bool, bool),
    /// What the caller gives, coordinates and values: of an operand, and of a result that starts from something.
    pub entries: Option<Vec<(Vec<i64>, i64)>>,
}

/// A statement of a case.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The tensor that it defines.
    pub tensor: usize,
    /// Its index variables.
    pub vars: Vec<usize>,
    /// `+=` instead of `=`.
    pub adds: bool,
    /// Of a scatter: what stands on the left side, a place a mode; else the variables do.
    pub places: Vec<Place>,
    /// In the `where` block of the next statement that is not local.
    pub local: bool,
    /// The right side.
    pub rhs: Expr,
}

/// A place on the left side of a scatter, in a mode of a size that is not 0.
#[derive(Clone, Debug)]
pub enum Place {
    /// A variable of that size: it may repeat.
    Var(usize),
    /// `i/n` of a variable of that size.
    Quotient(usize, u64),
    /// `(i + n*j) % E` of any two variables, E being the extent.
    Mixed(usize, u64, usize, u64),
    /// A coordinate.
    Constant(u64),
}

impl Tensor {
    /// Whether statements only read it.
    pub fn is_operand(&self) -> bool {
        self.name.starts_with('A')
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            Place::Var(v) => f.write_str(VARS[v]),
            Place::Quotient(v, n) => write!(f, "{}/{n}", VARS[v]),
            Place::Mixed(v, n, w, extent) => write!(f, "({} + {n}*{}) % {extent}", VARS[v], VARS[w]),
            Place::Constant(at) => write!(f, "{at}"),
        }
    }
}

/// An expression of a case.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A literal of the statement's type.
    Literal(Value),
    /// An index variable's value, in the statement's type.
    Var(usize, Type),
    /// An element of a tensor; the second is the type that it is converted to.
    Access(usize, Option<Type>, Vec<usize>),
    /// `-e`
    Neg(Box<Expr>),
    /// `a * b`, `min(a, b)`
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// `sum(v: e)`
    Reduce(&'static str, usize, Box<Expr>),
}

impl Expr {
    /// All its nodes, itself first.
    pub fn walk<'a>(&'a self, seen: &mut dyn FnMut(&'a Expr)) {
        seen(self);
        match self {
            Expr::Neg(a) | Expr::Reduce(_, _, a) => a.walk(seen),
            Expr::Binary(_, a, b) => {
                a.walk(seen);
                b.walk(seen);
            }
            _ => {}
        }
    }

    /// Whether tensor `t` is read.
    pub fn reads(&self, t: usize) -> bool {
        let mut found = false;
        self.walk(&mut |e| found |= matches!(e, Expr::Access(of, ..) if *of == t));
        found
    }

    /// Whether variable `v` is an index of an access.
    fn uses(&self, v: usize) -> bool {
        let mut found = false;
        self.walk(&mut |e| found |= matches!(e, Expr::Access(_, _, vars) if vars.contains(&v)));
        found
    }
}

/// The binary functions whose answers on small values of a type are exact.
pub fn operators(ty: Type) -> &'static [&'static str] {
    match ty {
        Type::Bool => &["*", "+", "&", "|", "^", "&&", "||"],
        t if t.is_float() => &["*", "+", "-", "min", "max"],
        _ => &["*", "+", "-", "min", "max", "/", "%", "&", "|", "^", "<<", ">>", "gcd", "pow"],
    }
}

/// The reductions whose answers on small values of a type are exact.
pub fn reductions(ty: Type) -> &'static [&'static str] {
    match ty {
        Type::Bool => &["sum", "any", "all"],
        t if t.is_float() => &["sum", "min", "max"],
        _ => &["sum", "min", "max", "prod"],
    }
}

/// Whether an operator is written as a call.
fn called(op: &str) -> bool {
    op.starts_with(|c: char| c.is_ascii_alphabetic())
}

fn names(vars: &[usize]) -> String {
    vars.iter().map(|v| VARS[*v]).collect::<Vec<_>>().join(", ")
}

impl Case {
    fn write_expr(&self, f: &mut fmt::Formatter, e: &Expr) -> fmt::Result {
        let show = |e| Shown(self, e);
        match e {
            Expr::Literal(v) => write!(f, "{v}"),
            Expr::Var(v, Type::I64) => write!(f, "{}", VARS[*v]),
            Expr::Var(v, ty) => write!(f, "convert({}, {ty})", VARS[*v]),
            Expr::Access(t, None, vars) => write!(f, "{}[{}]", self.tensors[*t].name, names(vars)),
            Expr::Access(t, Some(ty), vars) => write!(f, "convert({}[{}], {ty})", self.tensors[*t].name, names(vars)),
            Expr::Neg(a) => write!(f, "-({})", show(a)),
            Expr::Binary(op, a, b) if called(op) => write!(f, "{op}({}, {})", show(a), show(b)),
            Expr::Binary(op, a, b) => write!(f, "({} {op} {})", show(a), show(b)),
            Expr::Reduce(op, v, a) => write!(f, "{op}({}: {})", VARS[*v], show(a)),
        }
    }

    fn write_statement(&self, f: &mut fmt::Formatter, s: &Statement) -> fmt::Result {
        let op = if s.adds { "+=" } else { "=" };
        let places: Vec<String> = s.places.iter().map(Place::to_string).collect();
        let left = if places.is_empty() { names(&s.vars) } else { places.join(", ") };
        write!(f, "{}[{left}] {op} {}", self.tensors[s.tensor].name, Shown(self, &s.rhs))
    }

    /// Whether tensor `t` stands in the program.
    pub fn mentions(&self, t: usize) -> bool {
        self.statements.iter().any(|s| s.tensor == t || s.rhs.reads(t))
    }

    /// Whether the program says the extent of size `n`; else an operand does.
    pub fn says(&self, n: usize) -> bool {
        let mut operands = self.tensors.iter().enumerate().filter(|(t, a)| a.entries.is_some() && self.mentions(*t));
        self.sizes[n].1 || !operands.any(|(_, a)| a.sizes.contains(&n))
    }

    /// The same program on other data: each extent that operands say is `extent` at most.
    pub fn shortened(&self, extent: u64) -> Case {
        let mut case = self.clone();
        // What a scatter does to its variables depends on the extent that it scatters to.
        let scattered = self.statements.iter().filter(|s| !s.places.is_empty());
        let fixed: Vec<usize> = scattered.flat_map(|s| self.tensors[s.tensor].sizes.clone()).collect();
        for n in (0..SIZES).filter(|n| !self.says(*n) && !fixed.contains(n)) {
            case.sizes[n].0 = case.sizes[n].0.min(extent);
        }
        for a in &mut case.tensors {
            let inside = |at: &[i64]| at.iter().zip(&a.sizes).all(|(x, n)| (*x as u64) < case.sizes[*n].0);
            if let Some(entries) = &mut a.entries {
                entries.retain(|(at, _)| inside(at));
            }
        }
        case
    }
}

struct Shown<'a>(&'a Case, &'a Expr);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.write_expr(f, self.1)
    }
}

/// The program's text.
impl Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (n, (extent, _)) in self.sizes.iter().enumerate() {
            if self.says(n) {
                writeln!(f, "dim S{n} = {extent}")?;
            }
        }
        for (t, a) in self.tensors.iter().enumerate().filter(|(t, _)| self.mentions(*t)) {
            let Some(format) = &a.format else { continue };
            debug_assert!(t < self.tensors.len());
            let sizes: Vec<String> = a.sizes.iter().map(|n| format!("S{n}")).collect();
            let fill = Value::from_i128(a.ty, a.fill as i128);
            let fill = if a.fill == 0 { String::new() } else { format!(" fill {fill}") };
            writeln!(f, "tensor {}: {}[{}]{fill} {format}", a.name, a.ty, sizes.join(", "))?;
        }
        let mut locals = vec![];
        for s in &self.statements {
            if s.local {
                locals.push(s);
                continue;
            }
            self.write_statement(f, s)?;
            if !locals.is_empty() {
                writeln!(f, " where {{")?;
                for l in locals.drain(..) {
                    write!(f, "  ")?;
                    self.write_statement(f, l)?;
                    writeln!(f)?;
                }
                write!(f, "}}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// The case of these bytes. Where they end, choices are the first ones.
pub fn case(u: &mut Unstructured) -> Case {
    let mut m =
        Maker { u, case: Case { sizes: vec![], tensors: vec![], statements: vec![] }, ty: Type::I64, scope: vec![] };
    for _ in 0..SIZES {
        let size = (m.one(&[3, 4, 2, 5, 1, 0]), m.below(4) == 3);
        m.case.sizes.push(size);
    }
    m.ty = m.one(&[Type::I64, Type::I64, Type::F64, Type::Bool]);
    if m.below(3) == 2 {
        m.ty = m.one(&Type::ALL);
    }
    for n in 0..1 + m.below(4) {
        m.operand(n);
    }
    let (operands, mut hidden) = (m.case.tensors.len(), vec![]);
    let statements = m.one(&[1, 1, 2, 3]);
    for n in 0..statements {
        m.statement(n, n + 1 == statements, operands, &mut hidden);
    }
    m.case
}

struct Maker<'u, 'b> {
    u: &'u mut Unstructured<'b>,
    case: Case,
    ty: Type,
    /// Index variables that may be used.
    scope: Vec<usize>,
}

impl Maker<'_, '_> {
    fn below(&mut self, n: usize) -> usize {
        self.u.choose_index(n).unwrap_or(0)
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn format(&mut self, sizes: &[usize]) -> Format {
        let rank = sizes.len();
        let mut order: Vec<usize> = (0..rank).collect();
        for l in (1..rank).rev() {
            let with = l - self.below(l + 1);
            order.swap(l, with);
        }
        let mut levels = vec![];
        while levels.len() < rank {
            let kind = self.one(KINDS);
            levels.push(kind);
            let room = rank - levels.len();
            if kind == LevelKind::Nonunique && room > 0 {
                let singletons = self.below(room + 1);
                levels.extend(vec![LevelKind::Singleton; singletons]);
            }
        }
        Format { levels, order }
    }

    fn small(&mut self) -> i64 {
        self.one(&[1, 2, 3, 0, -1, -2])
    }

    fn operand(&mut self, n: usize) {
        let rank = self.one(&[2, 1, 2, 3, 1, 2, 4, 0]);
        let sizes: Vec<usize> = (0..rank).map(|_| self.below(SIZES)).collect();
        let ty = if self.below(10) == 9 { self.one(&Type::ALL) } else { self.ty };
        let fill = if self.below(8) == 7 { self.one(&[1, 3]) } else { 0 };
        let format = self.format(&sizes);
        let wide = (self.below(4) == 3, self.below(4) == 3);
        let entries = self.entries(&sizes, &format);
        let name = format!("A{n}");
        self.case.tensors.push(Tensor { name, ty, sizes, fill, format: Some(format), wide, entries: Some(entries) });
    }

    fn entries(&mut self, sizes: &[usize], format: &Format) -> Vec<(Vec<i64>, i64)> {
        let rank = sizes.len();
        let full = format.levels.iter().all(|l| *l == LevelKind::Dense);
        // One in so many cells is stored; 0: none; 99: the first alone.
        let sparsity = if full { 1 } else { self.one(&[3, 3, 2, 1, 0, 99]) };
        let extents: Vec<u64> = sizes.iter().map(|n| self.case.sizes[*n].0).collect();
        let mut entries = vec![];
        for cell in 0..extents.iter().product::<u64>() {
            if sparsity == 1
                || sparsity > 1 && (sparsity < 99 && self.below(sparsity) == 1 || sparsity == 99 && cell == 0)
            {
                let mut rest = cell;
                let mut at: Vec<i64> = vec![0; rank];
                for mode in (0..rank).rev() {
                    at[mode] = (rest % extents[mode]) as i64;
                    rest /= extents[mode];
                }
                entries.push((at, self.small()));
            }
        }
        entries
    }

    fn statement(&mut self, n: usize, last: bool, operands: usize, hidden: &mut Vec<usize>) {
        let rank = self.one(&[2, 1, 0, 3, 2, 4]);
        let mut vars: Vec<usize> = vec![];
        for _ in 0..rank {
            let v = self.below(VARS.len() - 3);
            if !vars.contains(&v) {
                vars.push(v);
            }
        }
        self.scope = vars.clone();
        // Others are summed by the short form.
        for _ in 0..self.below(3) {
            let v = self.below(VARS.len());
            if !self.scope.contains(&v) {
                self.scope.push(v);
            }
        }
        if self.scope.is_empty() {
            self.scope.push(0);
        }
        let visible: Vec<usize> = (0..self.case.tensors.len()).filter(|t| !hidden.contains(t)).collect();
        let rhs = self.expr(3, &visible);
        let sizes: Vec<usize> = vars.iter().map(|v| v % SIZES).collect();
        // An earlier result may be added to.
        let same = visible.iter().find(|t| **t >= operands && self.case.tensors[**t].sizes == sizes);
        let again =
            same.copied().filter(|t| !rhs.reads(*t) && !self.case.statements.iter().any(|s| s.local && s.tensor == *t));
        if let Some(tensor) = again.filter(|_| self.below(2) == 0) {
            self.case.statements.push(Statement { tensor, vars, adds: true, places: vec![], local: false, rhs });
        } else {
            // The type of literals alone is not the case's, unless a declaration says so.
            let mut typed = false;
            rhs.walk(&mut |e| typed |= matches!(e, Expr::Access(..) | Expr::Var(..)));
            let declared = !typed || !vars.iter().all(|v| rhs.uses(*v)) || self.below(3) > 0;
            let format = declared.then(|| self.format(&sizes));
            let fill = if declared && self.below(8) == 7 { 2 } else { 0 };
            let tensor = self.case.tensors.len();
            let name = format!("R{n}");
            let local = !last && !declared && self.below(2) == 0;
            let ty = self.ty;
            let mut adds = declared && self.below(6) == 5;
            let mut places = vec![];
            let room = vars.iter().all(|v| self.case.sizes[v % SIZES].0 > 0);
            if declared && room && !vars.is_empty() && self.below(5) == 4 {
                places = vars.iter().map(|v| self.place(v % SIZES)).collect();
                adds = true;
            }
            // Values that the caller gives: where it accumulates, or where it reads what it defines.
            let given = format.clone().filter(|_| self.below(3) == 0);
            let entries = given.map(|format| self.entries(&sizes, &format));
            let wide = (entries.is_some() && self.below(4) == 3, entries.is_some() && self.below(4) == 3);
            let before = (entries.is_some() && !adds).then(|| Box::new(Expr::Access(tensor, None, vars.clone())));
            self.case.tensors.push(Tensor { name, ty, sizes, fill, format, wide, entries });
            let rhs = match before {
                Some(before) => Expr::Binary(self.one(&["*", "+"]), before, Box::new(rhs)),
                None => rhs,
            };
            self.case.statements.push(Statement { tensor, vars, adds, places, local, rhs });
        }
        // What was local ends with the first statement that is not.
        if !self.case.statements.last().expect("just made").local {
            hidden.extend(self.case.statements.iter().filter(|s| s.local).map(|s| s.tensor));
        }
    }

    /// A place in a mode of a size; its variables are those in scope, or any of the right size.
    fn place(&mut self, size: usize) -> Place {
        let extent = self.case.sizes[size].0;
        let n = self.one(&[1, 2, 3]);
        let (any, other) = (self.one(&self.scope.clone()), self.one(&self.scope.clone()));
        let fitting: Vec<usize> = self.scope.iter().copied().filter(|v| v % SIZES == size).collect();
        match self.below(4) {
            0 | 1 if !fitting.is_empty() => Place::Var(self.one(&fitting)),
            2 if !fitting.is_empty() => Place::Quotient(self.one(&fitting), n),
            3 => Place::Constant(self.below(extent as usize) as u64),
            _ => Place::Mixed(any, n, other, extent),
        }
    }

    fn expr(&mut self, depth: usize, visible: &[usize]) -> Expr {
        let Some(depth) = depth.checked_sub(1).filter(|_| self.below(5) < 4) else { return self.leaf(visible) };
        let a = |m: &mut Self| Box::new(m.expr(depth, visible));
        match self.below(13) {
            0..=4 => Expr::Binary("*", a(self), a(self)),
            5 | 6 => Expr::Binary("+", a(self), a(self)),
            7 if self.ty != Type::Bool => Expr::Binary("-", a(self), a(self)),
            8 if self.ty != Type::Bool => Expr::Neg(a(self)),
            9 | 10 => {
                let op = self.one(operators(self.ty));
                Expr::Binary(op, a(self), a(self))
            }
            _ => self.reduce(depth, visible),
        }
    }

    fn reduce(&mut self, depth: usize, visible: &[usize]) -> Expr {
        let Some(v) = (0..VARS.len()).rev().find(|v| !self.scope.contains(v)) else { return self.leaf(visible) };
        self.scope.push(v);
        let body = self.expr(depth, visible);
        self.scope.pop();
        if !body.uses(v) {
            return body;
        }
        let op = self.one(reductions(self.ty));
        Expr::Reduce(op, v, Box::new(body))
    }

    fn leaf(&mut self, visible: &[usize]) -> Expr {
        if self.below(10) == 9 {
            let x = self.small();
            let x = if self.ty.is_signed() || self.ty.is_float() { x } else { x.abs() };
            return Expr::Literal(Value::from_i128(self.ty, x as i128));
        }
        if self.below(24) == 23 && self.ty != Type::Bool {
            return Expr::Var(self.one(&self.scope.clone()), self.ty);
        }
        let t = self.one(visible);
        let (ty, sizes) = (self.case.tensors[t].ty, self.case.tensors[t].sizes.clone());
        let mut vars = vec![];
        for n in sizes {
            let fit: Vec<usize> = self.scope.iter().copied().filter(|v| v % SIZES == n).collect();
            if fit.is_empty() {
                return Expr::Literal(Value::one(self.ty));
            }
            vars.push(self.one(&fit));
        }
        Expr::Access(t, (ty != self.ty).then_some(self.ty), vars)
    }
}
