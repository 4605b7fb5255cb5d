//! Concrete notation: statements as loops over index variables, before anything is known of how fibers are walked.
//!
//! ```text
//!  forall i                                  Nest { order: [i], inner: Through …}
//!    where(forall j: C[i,j] = w[j],          drain
//!          forall k: forall j:               [k, j]
//!            w[j] += A[i,k] * D[k,j])
//! ```
//!
//! Invariants, held by [`Program::check`]: every index variable of an access is bound by a loop around it, once
//! (but a scatter's target: its coordinates are functions of the loops' variables, and stand in `places`);
//! accesses have as many variables as their tensor has modes; every list of an access is *concordant*: its
//! variable is bound no earlier than those of the levels above it. A `sum` that is left in an expression is a loop
//! nest of its own, run where all the loops around its statement are bound.
//!
//! Printed by `Display`. `forall` and `where` are those of the schedules paper (section 2); a nested `sum` stands for
//! `where` with a scalar.

use super::typed::TensorId;
use crate::algebra::{Op, Type, Value};
use crate::format::Format;
use crate::shape::ClassId;
use std::fmt;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(pub usize);
    )*};
}

ids! {
    /** A tensor of a concrete program. */ Place;
    /** An access of a concrete program: a tensor under index variables. */ AccessId;
    /** An index variable of a concrete program. */ Index;
}

/// Statements with their tensors.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Program {
    /// Tensors, each defined at most once (a later version of a tensor is another place).
    pub tensors: Vec<Tensor>,
    /// Index variables.
    pub vars: Vec<Var>,
    /// Accesses.
    pub accesses: Vec<Access>,
    /// What runs, in order.
    pub nests: Vec<Nest>,
}

/// An index variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Var {
    /// For people.
    pub name: String,
    /// The extent that it runs over.
    pub extent: ClassId,
}

/// Where a tensor's arrays come from and go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The caller's.
    Operand(TensorId),
    /// The last version of a result of the program.
    Result(TensorId),
    /// Made and dropped by the kernel: an earlier version, a hoisted sum, a transposed copy.
    Temporary,
}

/// A tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// For people.
    pub name: String,
    /// Element type.
    pub ty: Type,
    /// Extents, in the order of the modes.
    pub extents: Vec<ClassId>,
    /// Its levels.
    pub format: Format,
    /// Value of what is not stored.
    pub fill: Value,
    /// Whose it is.
    pub role: Role,
}

/// A tensor under index variables, one a mode; a variable may repeat.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The tensor.
    pub tensor: Place,
    /// Its index variables, in the order of the modes.
    pub vars: Vec<Index>,
}

/// One statement: loops around an assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct Nest {
    /// What is defined, under distinct variables.
    pub target: Access,
    /// Loops, outermost first: of the target's variables and of sums that could not be left inside.
    pub order: Vec<Index>,
    /// How values that meet are joined; `None` where each is written once.
    pub fold: Option<Op>,
    /// The value.
    pub rhs: Expr,
    /// Of a scatter: for each mode the coordinate that is written, as a function of the loops' variables; the target's
    /// own variables are bound by none of the loops.
    pub places: Option<Vec<Expr>>,
    /// If coordinates arrive out of order: the first `prefix` loops are around a workspace over the target's other
    /// variables, which the rest of the loops fill and which is then drained in order.
    pub workspace: Option<Workspace>,
}

/// A temporary of assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Number of loops around it.
    pub prefix: usize,
    /// How it is stored.
    pub kind: WorkspaceKind,
}

/// How a workspace is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceKind {
    /// Over one variable: a dense array, an occupancy array, and the list of what was touched.
    Dense,
    /// Over several: a list of linearized coordinates with values, sorted before it is drained.
    List,
    /// Over two, of a copy: how many entries each row gets; the loops run once to count and once to place.
    Counts,
}

impl WorkspaceKind {
    /// In prints.
    pub fn name(self) -> &'static str {
        match self {
            WorkspaceKind::Dense => "dense",
            WorkspaceKind::List => "list",
            WorkspaceKind::Counts => "counts",
        }
    }
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant.
    Literal(Value),
    /// An index variable's value, an `i64`.
    Index(Index),
    /// A tensor's value.
    Access(AccessId, Type),
    /// A built-in function.
    Call(Op, Vec<Expr>, Type),
    /// A fold with a function that has an identity; loops in this order.
    Reduce(Op, Vec<Index>, Box<Expr>, Type),
}

impl Expr {
    /// Its type.
    pub fn ty(&self) -> Type {
        match self {
            Expr::Literal(v) => v.ty(),
            Expr::Index(_) => Type::I64,
            Expr::Access(_, ty) | Expr::Call(_, _, ty) | Expr::Reduce(_, _, _, ty) => *ty,
        }
    }

    /// Calls `f` on every access, left to right.
    pub fn each_access(&self, f: &mut impl FnMut(AccessId)) {
        match self {
            Expr::Access(a, _) => f(*a),
            Expr::Call(_, args, _) => args.iter().for_each(|e| e.each_access(f)),
            Expr::Reduce(_, _, body, _) => body.each_access(f),
            Expr::Literal(_) | Expr::Index(_) => {}
        }
    }

    /// Its accesses, each once, in order of appearance.
    pub fn accesses(&self) -> Vec<AccessId> {
        let mut all = Vec::new();
        self.each_access(&mut |a| {
            if !all.contains(&a) {
                all.push(a);
            }
        });
        all
    }

    /// The expression with each access replaced.
    pub fn map_accesses(self, f: &mut impl FnMut(AccessId, Type) -> Expr) -> Expr {
        match self {
            Expr::Access(a, ty) => f(a, ty),
            Expr::Call(op, args, ty) => Expr::Call(op, args.into_iter().map(|e| e.map_accesses(f)).collect(), ty),
            Expr::Reduce(op, vars, body, ty) => Expr::Reduce(op, vars, Box::new(body.map_accesses(f)), ty),
            other => other,
        }
    }
}

impl Program {
    /// The access's tensor.
    pub fn tensor(&self, a: AccessId) -> &Tensor {
        &self.tensors[self.accesses[a.0].tensor.0]
    }

    /// The variable of storage level `l` of an access.
    pub fn level_var(&self, a: &Access, l: usize) -> Index {
        a.vars[self.tensors[a.tensor.0].format.order[l]]
    }

    /// The access `tensor[vars]`, as one with the same id wherever it is made.
    pub fn access(&mut self, tensor: Place, vars: Vec<Index>) -> AccessId {
        let access = Access { tensor, vars };
        AccessId(self.accesses.iter().position(|a| *a == access).unwrap_or_else(|| {
            self.accesses.push(access);
            self.accesses.len() - 1
        }))
    }

    /// Checks the invariants above.
    ///
    /// # Errors
    /// The first violation, as a sentence: always a defect of the compiler, never of the user's program.
    pub fn check(&self) -> Result<(), String> {
        self.nests.iter().try_for_each(|nest| {
            let mut bound = Vec::new();
            for &v in &nest.order {
                bind(&mut bound, v, self)?;
            }
            let rank = self.tensors[nest.target.tensor.0].extents.len();
            let distinct = (0..rank).all(|m| !nest.target.vars[..m].contains(&nest.target.vars[m]));
            let scatters = nest.places.is_some();
            let bad = |v: &Index| bound.contains(v) == scatters;
            if nest.target.vars.len() != rank || !distinct || nest.target.vars.iter().any(bad) {
                return Err(format!("the target of `{}` is not bound mode by mode", Shown(self, nest)));
            }
            if let Some(places) = &nest.places {
                if places.len() != rank || nest.fold.is_none() {
                    return Err(format!("the scatter `{}` has not a place a mode and a fold", Shown(self, nest)));
                }
                places.iter().try_for_each(|place| self.check_expr(place, &mut bound))?;
            }
            self.check_expr(&nest.rhs, &mut bound)
        })
    }

    fn check_expr(&self, e: &Expr, bound: &mut Vec<Index>) -> Result<(), String> {
        match e {
            Expr::Literal(_) => Ok(()),
            Expr::Index(v) if bound.contains(v) => Ok(()),
            Expr::Index(v) => Err(format!("index variable {} is not bound", self.vars[v.0].name)),
            Expr::Call(_, args, _) => args.iter().try_for_each(|a| self.check_expr(a, bound)),
            Expr::Reduce(_, vars, body, _) => {
                let outer = bound.len();
                for &v in vars {
                    bind(bound, v, self)?;
                }
                self.check_expr(body, bound)?;
                bound.truncate(outer);
                Ok(())
            }
            Expr::Access(a, _) => {
                let access = &self.accesses[a.0];
                let times: Option<Vec<usize>> = access.vars.iter().map(|v| bound.iter().position(|b| b == v)).collect();
                let name = &self.tensor(*a).name;
                let times = times.ok_or_else(|| format!("an index variable of {name} is not bound"))?;
                if times.len() != self.tensor(*a).extents.len() {
                    return Err(format!("{name} has another rank"));
                }
                match self.concordant(&self.tensor(*a).format, &times) {
                    true => Ok(()),
                    false => Err(format!("{name} cannot be followed in the order of its loops")),
                }
            }
        }
    }

    /// Whether a tensor can be followed when mode m's variable is bound at time `times[m]`.
    pub fn concordant(&self, format: &Format, times: &[usize]) -> bool {
        let mut latest = 0;
        format.levels.iter().zip(&format.order).all(|(kind, &mode)| {
            let in_order = kind.is_located() || times[mode] >= latest;
            latest = latest.max(times[mode]);
            in_order
        })
    }
}

fn bind(bound: &mut Vec<Index>, v: Index, program: &Program) -> Result<(), String> {
    if bound.contains(&v) {
        return Err(format!("index variable {} is bound twice", program.vars[v.0].name));
    }
    bound.push(v);
    Ok(())
}

struct Shown<'a, T>(&'a Program, &'a T);

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

impl Program {
    fn names(&self, vars: &[Index]) -> String {
        list(vars.iter().map(|v| self.vars[v.0].name.clone()))
    }
}

impl fmt::Display for Shown<'_, Access> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.0.tensors[self.1.tensor.0].name, self.0.names(&self.1.vars))
    }
}

impl fmt::Display for Shown<'_, Expr> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(program, e) = *self;
        match e {
            Expr::Literal(v) => write!(f, "{v}"),
            Expr::Index(v) => f.write_str(&program.vars[v.0].name),
            Expr::Access(a, _) => Shown(program, &program.accesses[a.0]).fmt(f),
            Expr::Call(op, args, _) => match &args[..] {
                [a, b] if !op.name().starts_with(char::is_alphabetic) => {
                    write!(f, "({} {} {})", Shown(program, a), op.name(), Shown(program, b))
                }
                _ => write!(f, "{}({})", op.name(), list(args.iter().map(|a| Shown(program, a).to_string()))),
            },
            Expr::Reduce(op, vars, body, _) => {
                write!(f, "{}({}: {})", reduction_name(*op), program.names(vars), Shown(program, &**body))
            }
        }
    }
}

/// The name that programs use for folding with a built-in.
pub fn reduction_name(op: Op) -> &'static str {
    match op {
        Op::Add => "sum",
        Op::Mul => "prod",
        Op::AndAlso => "all",
        Op::OrElse => "any",
        op => op.name(),
    }
}

impl fmt::Display for Shown<'_, Nest> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(program, nest) = *self;
        let target = match &nest.places {
            None => Shown(program, &nest.target).to_string(),
            Some(places) => {
                let places = list(places.iter().map(|e| Shown(program, e).to_string()));
                format!("{}[{places}]", program.tensors[nest.target.tensor.0].name)
            }
        };
        let rhs = Shown(program, &nest.rhs);
        let foralls = |f: &mut fmt::Formatter<'_>, vars: &[Index]| {
            vars.iter().try_for_each(|v| write!(f, "forall {}: ", program.vars[v.0].name))
        };
        let assign = match nest.fold {
            None => "=".to_string(),
            Some(Op::Add) => "+=".to_string(),
            Some(op) => format!("{}=", reduction_name(op)),
        };
        let Some(Workspace { prefix, kind }) = nest.workspace else {
            foralls(f, &nest.order)?;
            return write!(f, "{target} {assign} {rhs}");
        };
        let (outer, inner) = nest.order.split_at(prefix);
        let mut drained = nest.target.vars.clone();
        let format = &program.tensors[nest.target.tensor.0].format;
        drained.sort_by_key(|v| format.order.iter().position(|&m| nest.target.vars[m] == *v));
        drained.retain(|v| !outer.contains(v));
        foralls(f, outer)?;
        let w = program.names(&drained);
        write!(f, "(")?;
        foralls(f, &drained)?;
        write!(f, "{} = w[{w}]) where (", Shown(program, &nest.target))?;
        foralls(f, inner)?;
        let w = match &nest.places {
            None => w,
            Some(places) => list(format.order.iter().map(|&m| Shown(program, &places[m]).to_string())),
        };
        let kind = kind.name();
        write!(f, "w[{w}] {assign} {rhs})   # w: {kind} workspace")
    }
}

/// As text: first the temporaries, then a line a statement.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for t in self.tensors.iter().filter(|t| t.role == Role::Temporary) {
            writeln!(f, "temporary {}: {} rank {} fill {} {}", t.name, t.ty, t.extents.len(), t.fill, t.format)?;
        }
        self.nests.iter().try_for_each(|nest| writeln!(f, "{}", Shown(self, nest)))
    }
}
