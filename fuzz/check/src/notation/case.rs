//! Whole programs as trees that can be made smaller: several statements, every element type, every mode order and
//! mixture of dense and compressed levels up to rank 4, with their operands.
//!
//! ```text
//!  Case ─┬ sizes       an extent each, 0 to 5; size n is called `Sn`
//!        ├ tensors     operands A0, A1, …, with entries; results R0, R1, … of the statements, some given too
//!        └ statements  R[vars] = or += expression; a local one stands in the `where` of the next that is none
//! ```
//!
//! An index variable runs over one size wherever it stands, hence extents never contradict each other; shape operators add
//! the sizes and variables that fit. Values are small, so that answers in floats are exact.

mod at;
mod commands;
mod compared;
mod constructs;
mod contractions;
mod directed;
mod make;
mod nested;
mod plain;
mod pointwise;
mod products;
mod protocol;
mod shape;
mod subject;
mod symmetric;

pub use at::At;
pub use commands::scheduled;
pub use compared::compared;
pub use contractions::contraction;
pub use directed::directed;
pub use make::{case, redrawn};
pub use nested::{Operator, chain, chains, nested};
pub use plain::plain;
pub use pointwise::pointwise;
pub use products::products;
pub use protocol::Iterated;
pub use shape::Shape;
pub use symmetric::symmetric;

use super::legal::applied;
use fiberloom_core::algebra::{Mode, Op, Type, Value, result_type, subject};
use fiberloom_core::format::{Format, LevelKind};
use fiberloom_core::notation::typed::{self, SizeId};
use fiberloom_core::shape::Magnitude;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// Sizes that a case begins with.
pub const SIZES: usize = 3;
/// Names of the index variables that a case begins with; the v-th is of size v mod [`SIZES`].
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

/// Kinds of operands' levels besides; the last three stand below a dense level of the same size.
pub const STRUCTURED: &[LevelKind] = &[
    LevelKind::Band,
    LevelKind::Runs,
    LevelKind::Vbl,
    LevelKind::Blocked,
    LevelKind::Packbits,
    LevelKind::Ragged,
    LevelKind::Lower,
    LevelKind::Upper,
    LevelKind::Symmetric,
];

/// A program and its operands.
#[derive(Clone, Debug)]
pub struct Case {
    /// The extent of each size, and whether the program says it.
    pub sizes: Vec<(u64, bool)>,
    /// How large each size is taken for when the program is lowered: rightly or not, it changes no answer.
    pub taken_for: Vec<Option<Magnitude>>,
    /// How many coordinates of a row are few when the program is lowered: it changes no answer.
    pub few: i64,
    /// For how many that are sought a directory has a place: it changes no answer, either.
    pub sought: u32,
    /// Whether undeclared results are taken to be thin.
    pub thin: bool,
    /// The size of each index variable.
    pub vars: Vec<usize>,
    /// Operands, then a result a statement or fewer.
    pub tensors: Vec<Tensor>,
    /// What runs.
    pub statements: Vec<Statement>,
    /// How floats are understood. In strict mode numbers stand for values whose sums show their order.
    pub mode: Mode,
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
    /// What the caller gives, coordinates and values: of an operand, and of a result that starts from something. An operand
    /// without is given by a function of the program.
    pub entries: Option<Vec<(Vec<i64>, i64)>>,
}

/// A statement of a case.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The tensor that it defines.
    pub tensor: usize,
    /// Its index variables.
    pub vars: Vec<usize>,
    /// What stands before `=`: of an accumulating assignment the function.
    pub fold: Option<&'static str>,
    /// Of a scatter: what stands on the left side, a place a mode; else the variables do.
    pub places: Vec<Place>,
    /// In the `where` block of the next statement that is not local.
    pub local: bool,
    /// The right side.
    pub rhs: Expr,
    /// How its operands are iterated, where that is legal.
    pub protocols: Vec<Iterated>,
    /// Further commands of its schedule.
    pub told: Vec<commands::Told>,
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

impl Statement {
    /// The index variables on its left side.
    pub fn on_the_left(&self) -> Vec<usize> {
        let of_place = |place: &Place| match place {
            Place::Var(v) | Place::Quotient(v, _) => vec![*v],
            Place::Mixed(v, _, w, _) => vec![*v, *w],
            Place::Constant(_) => vec![],
        };
        if self.places.is_empty() { self.vars.clone() } else { self.places.iter().flat_map(of_place).collect() }
    }
}

impl Tensor {
    /// Whether statements only read it.
    pub fn is_operand(&self) -> bool {
        self.name.starts_with('A')
    }

    /// Whether a function of the program gives it.
    pub fn is_computed(&self) -> bool {
        self.is_operand() && self.entries.is_none()
    }

    /// The function that gives it, of small values: 0 is among them.
    fn function(&self) -> String {
        let params: Vec<String> = (0..self.sizes.len()).map(|m| format!("x{m}: i64")).collect();
        let terms: Vec<String> = (0..self.sizes.len()).map(|m| format!("{} * x{m}", 2 * m + 3)).collect();
        let (name, ty) = (&self.name, self.ty);
        let body = format!("convert(({} + {}) % 4, {ty})", terms.join(" + "), self.name.len() + self.sizes.len());
        format!("fn {name}({}) -> {ty} {{ {body} }}", params.join(", "))
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            Place::Var(v) => f.write_str(&name(v)),
            Place::Quotient(v, n) => write!(f, "{}/{n}", name(v)),
            Place::Mixed(v, n, w, extent) => write!(f, "({} + {n}*{}) % {extent}", name(v), name(w)),
            Place::Constant(at) => write!(f, "{at}"),
        }
    }
}

/// An expression of a case.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A literal of its type.
    Literal(Value),
    /// An index variable's value, in this type.
    Var(usize, Type),
    /// An element of a tensor, an index a mode.
    Access(usize, Vec<At>),
    /// `-a`, `a * b`, `min(a, b)`, `convert(a, u8)`
    Apply(Op, Vec<Expr>),
    /// `sum(v: e)`
    Reduce(&'static str, usize, Box<Expr>),
    /// `slice(e, v -> w, 1:5:2)`, `concat((e, f), (v, w) -> x)`: from which variables, and to which.
    Shape(Shape, Vec<usize>, Vec<usize>, Vec<Expr>),
}

impl Expr {
    /// An element of a tensor under variables.
    pub fn access(t: usize, vars: impl IntoIterator<Item = usize>) -> Expr {
        Expr::Access(t, vars.into_iter().map(At::Var).collect())
    }

    /// All its nodes, itself first.
    pub fn walk<'a>(&'a self, seen: &mut dyn FnMut(&'a Expr)) {
        seen(self);
        match self {
            Expr::Reduce(_, _, a) => a.walk(seen),
            Expr::Apply(_, args) | Expr::Shape(.., args) => args.iter().for_each(|a| a.walk(seen)),
            Expr::Literal(_) | Expr::Var(..) | Expr::Access(..) => {}
        }
    }

    /// Whether tensor `t` is read.
    pub fn reads(&self, t: usize) -> bool {
        let mut found = false;
        self.walk(&mut |e| found |= matches!(e, Expr::Access(of, ..) if *of == t));
        found
    }

    /// Whether something in it says its type, so that literals beside it have it too.
    fn says_type(&self) -> bool {
        match self {
            Expr::Literal(_) => false,
            Expr::Var(..) | Expr::Access(..) => true,
            Expr::Apply(op, args) => {
                let says = |args: &[Expr]| args.iter().any(Expr::says_type);
                matches!(op, Op::Convert(_)) || op.is_comparison() || says(&args[subject(*op)..])
            }
            Expr::Reduce(_, _, body) => body.says_type(),
            Expr::Shape(.., parts) => parts.iter().any(Expr::says_type),
        }
    }

    /// Whether a reduction or a shape operator binds variable `v`.
    fn binds(&self, v: usize) -> bool {
        let mut found = false;
        self.walk(&mut |e| {
            found |= match e {
                Expr::Reduce(_, of, _) => *of == v,
                Expr::Shape(_, from, ..) => from.contains(&v),
                _ => false,
            }
        });
        found
    }

    /// Whether variable `v` is an index of an access, or what a shape operator makes, so that its extent is said.
    fn uses(&self, v: usize) -> bool {
        let mut found = false;
        self.walk(&mut |e| {
            found |= match e {
                Expr::Access(_, at) => at.iter().any(|at| at.says() == Some(v)),
                Expr::Shape(_, _, to, _) => to.contains(&v),
                _ => false,
            }
        });
        found
    }
}

/// The name of an index variable.
fn name(v: usize) -> String {
    VARS.get(v).map_or_else(|| format!("v{v}"), |name| name.to_string())
}

fn names(vars: &[usize]) -> String {
    vars.iter().map(|v| name(*v)).collect::<Vec<_>>().join(", ")
}

impl Case {
    /// The extent of an index variable.
    pub fn extent(&self, v: usize) -> u64 {
        self.sizes[self.vars[v]].0
    }

    fn write_expr(&self, f: &mut fmt::Formatter, e: &Expr) -> fmt::Result {
        match e {
            Expr::Literal(v) => write!(f, "{v}"),
            Expr::Var(v, Type::I64) => write!(f, "{}", name(*v)),
            Expr::Var(v, ty) => write!(f, "convert({}, {ty})", name(*v)),
            Expr::Access(t, at) => {
                let at: Vec<String> = at.iter().map(|at| self.written(at)).collect();
                write!(f, "{}[{}]", self.tensors[*t].name, at.join(", "))
            }
            Expr::Apply(op, args) => {
                let args: Vec<String> = args.iter().map(|a| Shown(self, a).to_string()).collect();
                f.write_str(&applied(*op, &args))
            }
            Expr::Reduce(op, v, a) => write!(f, "{op}({}: {})", name(*v), Shown(self, a)),
            Expr::Shape(shape, from, to, parts) => {
                let parts: Vec<String> = parts.iter().map(|e| Shown(self, e).to_string()).collect();
                self.write_shape(f, (*shape, from, to), &parts)
            }
        }
    }

    fn write_statement(&self, f: &mut fmt::Formatter, s: &Statement) -> fmt::Result {
        let op = s.fold.unwrap_or_default();
        let places: Vec<String> = s.places.iter().map(Place::to_string).collect();
        let left = if places.is_empty() { names(&s.vars) } else { places.join(", ") };
        write!(f, "{}[{left}] {op}= {}", self.tensors[s.tensor].name, Shown(self, &s.rhs))
    }

    /// The type of an expression; `None` if functions are given what they do not take.
    pub fn type_of(&self, e: &Expr) -> Option<Type> {
        match e {
            Expr::Literal(v) => Some(v.ty()),
            Expr::Var(_, ty) => Some(*ty),
            Expr::Access(t, _) => Some(self.tensors[*t].ty),
            Expr::Reduce(_, _, a) => self.type_of(a),
            Expr::Shape(.., parts) => self.type_of(parts.first()?),
            Expr::Apply(op, args) => {
                let types: Option<Vec<Type>> = args.iter().map(|a| self.type_of(a)).collect();
                result_type(*op, &types?)
            }
        }
    }

    /// The value that a small number stands for. Floats of strict mode are those on which its promises show: the sign of
    /// zero, sums that round and products that a contraction would round otherwise, infinity and NaN.
    pub fn value(&self, ty: Type, x: i64) -> Value {
        if !self.is_strict(ty) {
            return Value::from_i128(ty, x as i128);
        }
        let float = match x {
            -2 => -0.0,
            2 => 0.1,
            3 => 1e9,
            4 => f64::INFINITY,
            5 => f64::NAN,
            x => x as f64,
        };
        Value::from_f64(ty, float)
    }

    /// Whether values of a type are those of strict mode.
    pub fn is_strict(&self, ty: Type) -> bool {
        self.mode == Mode::Strict && ty.is_float()
    }

    /// How large the sizes of its program are taken for.
    pub fn magnitudes(&self, typed: &typed::Program) -> BTreeMap<SizeId, Magnitude> {
        let named = |name: &str| name.strip_prefix('S').and_then(|n| n.parse::<usize>().ok());
        let of = |(id, size): (usize, &typed::Size)| {
            let n = size.name.as_deref().and_then(named)?;
            Some((SizeId(id as u32), self.taken_for[n]?))
        };
        typed.sizes.iter().enumerate().filter_map(of).collect()
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
        if self.mode == Mode::Strict {
            writeln!(f, "# --mode strict")?;
        }
        for (n, (extent, _)) in self.sizes.iter().enumerate() {
            if self.says(n) {
                writeln!(f, "dim S{n} = {extent}")?;
            }
        }
        for (t, a) in self.tensors.iter().enumerate().filter(|(t, _)| self.mentions(*t)) {
            let Some(format) = &a.format else { continue };
            debug_assert!(t < self.tensors.len());
            let sizes: Vec<String> = a.sizes.iter().map(|n| format!("S{n}")).collect();
            let fill = self.value(a.ty, a.fill);
            let fill = if a.fill == 0 { String::new() } else { format!(" fill {fill}") };
            writeln!(f, "tensor {}: {}[{}]{fill} {format}", a.name, a.ty, sizes.join(", "))?;
            if a.is_computed() {
                writeln!(f, "{}", a.function())?;
            }
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
                    writeln!(f, "{}", self.schedule(l))?;
                }
                write!(f, "}}")?;
            }
            writeln!(f, "{}", self.schedule(s))?;
        }
        Ok(())
    }
}
