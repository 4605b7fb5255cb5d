//! Concrete notation: statements as loops over index variables, before anything is known of how fibers are walked.
//!
//! ```text
//!  S ::= forall i: S                                        Nest, its loops outermost first
//!      | T[…] = e | T[…] += e                               Assign::Once, Assign::Fold
//!      | T[m = place, …] += e from T_in                     Assign::Scatter
//!      | (forall …: T[…] = w[…]) where kind (S)             Body::Where: S assigns to w, which is then drained
//!      | T[i] = e also T[j] += e                            Body::Also
//! ```
//!
//! Invariants, held by [`Program::check`]: tensors and extents have names, each its own; every index variable of an
//! access is bound by a loop around it, once, and no other of its name is (but a scatter's target: its coordinates are
//! functions of the loops' variables, and stand in `places`); accesses have as many variables as their tensor has modes;
//! every list of an access is *concordant*: its variable is bound no earlier than those of the levels above it. A `sum`
//! that is left in an expression is a loop nest of its own, run where all the loops around its statement are bound.
//!
//! What index variables are made of is their [`Provenance`]. Under shape operators a variable is not a loop's but *mapped*: a
//! function of those that are, its *roots*, and bound when the last of them is; one without roots is a coordinate, and always bound. A target's mapped variable ascends with
//! the loops over its roots, in the order of their numbers, and is another at each of their turns. A `concat` has its
//! variable of each part by itself, so that what is inside can be moved to
//! loops over that part alone.
//!
//! Where no loop can follow an index (it falls, is divided, or is read from a tensor), its variable is *computed* once all
//! that it is made of is bound. Levels under it, and under what it is made of, are asked for their coordinate.
//!
//! Functions are those of the checked program, and what they compute is emitted where they are called.
//!
//! A temporary that is made inside of loops is an expression ([`Where`]): what it is made of is bound before the loops that read it.
//!
//! Printed by `Display` (`concrete/print.rs`), read by [`read`]. `forall` and `where` are those of the schedules paper
//! (section 2); a nested `sum` stands for `where` with a scalar.

mod check;
mod cut;
mod function;
mod number;
mod print;
mod provenance;
mod read;
mod taken;

use super::syntax::Protocol;
use super::typed::{Fun, Function, TensorId};
use crate::algebra::{Op, Type, Value, identity, result_type};
use crate::format::Format;
use crate::map::{ClassId, Map, Size};
use crate::text::is_name;
pub use cut::{Claim, Counted, Cut, Deal, Hints, Length, Limit, Terms, Within};
pub use function::{Extent, plain};
use print::Shown;
pub use provenance::{ALWAYS, Computed, Origin, Provenance, Var};
pub use read::read;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};

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
///
/// Tensors whose arrays move ([`Carried`]) have arrays of their own: those of an operand belong to the caller.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Program {
    /// What the extents are called, each differently.
    pub extents: BTreeMap<ClassId, String>,
    /// The user's functions: each calls only those before it.
    pub functions: Vec<Function>,
    /// Tensors, each defined by one nest at most (a later version of a tensor is another place).
    pub tensors: Vec<Tensor>,
    /// Index variables, what they are made of, and accesses. A program is read as these, too: `program.vars`.
    pub graph: Provenance,
    /// What runs, in order.
    pub steps: Vec<Step>,
    /// What cuts loops into pieces.
    pub cuts: Vec<Cut>,
}

impl Deref for Program {
    type Target = Provenance;

    fn deref(&self) -> &Provenance {
        &self.graph
    }
}

impl DerefMut for Program {
    fn deref_mut(&mut self) -> &mut Provenance {
        &mut self.graph
    }
}

/// A step of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A statement.
    Nest(Nest),
    /// Steps that run turn after turn.
    Repeat(Repeat),
}

/// Steps that run in order, turn after turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeat {
    /// How many turns.
    pub turns: Turns,
    /// What runs in each.
    pub steps: Vec<Step>,
    /// What a turn leaves to the next one, and the last turn to what follows.
    pub carried: Vec<Carried>,
}

/// How many turns are taken.
#[derive(Clone, Debug, PartialEq)]
pub enum Turns {
    /// So many.
    Count(u64),
    /// As many as an extent.
    Extent(ClassId),
    /// As long as this holds before the turn: a `bool`, of scalars.
    While(Expr),
}

/// At the end of a turn `tensor` becomes what `last` is, without a copy; nothing reads `last` from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// A tensor that was made before the block.
    pub tensor: Place,
    /// What the turn has made of it: of the same format and type, over the same extents.
    pub last: Place,
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
    /// How modes are iterated, where the program says so, or it was chosen.
    pub protocols: BTreeMap<usize, Iterated>,
}

/// How a mode of an access is iterated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Iterated {
    /// As the program says.
    As(Protocol),
    /// It is a list, and asked: its positions are written to where its coordinates say, once for each turn of the loops that move it.
    Spread,
}

impl Iterated {
    /// All of them.
    pub const ALL: [Iterated; 4] = [
        Iterated::As(Protocol::Walk),
        Iterated::As(Protocol::Gallop),
        Iterated::As(Protocol::Locate),
        Iterated::Spread,
    ];
}

impl std::fmt::Display for Iterated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Iterated::As(protocol) => write!(f, "{protocol}"),
            Iterated::Spread => write!(f, "spread"),
        }
    }
}

impl Access {
    /// The access `tensor[vars]`, iterated as is thought best.
    pub fn of(tensor: Place, vars: Vec<Index>) -> Access {
        Access { tensor, vars, protocols: BTreeMap::new() }
    }
}

/// A statement: loops around an assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct Nest {
    /// The loops around all of it, outermost first: of the target's variables and of sums that could not be left inside.
    pub loops: Vec<Index>,
    /// The assignment inside of them, with its workspace if it has one.
    pub body: Body,
    /// What is defined, under distinct variables.
    pub target: Access,
    /// The value.
    pub rhs: Expr,
}

/// The innermost part of a statement: an assignment, alone, through a workspace, or to two places.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// `T[…] += e`
    Assign(Assign),
    /// `(forall …: T[…] = w[…]) where kind (forall …: w[…] += e)`: coordinates arrive out of order. The workspace has the target's
    /// variables that no loop around binds, and is drained in the order of the target's levels.
    Where(Workspace, Assign),
    /// `T[i] = e also T[j] += e`
    Also(Also),
}

/// How an assignment stores values at their places.
#[derive(Clone, Debug, PartialEq)]
pub enum Assign {
    /// Each place is written once.
    Once,
    /// Values that meet are folded with a function whose folds may begin with its identity.
    Fold(Fun),
    /// `T[m = place, …] += e from T_in`: for each mode the coordinate that is written, a function of the loops' variables, of which none
    /// binds the target's own.
    Scatter(Vec<Expr>, Onto),
}

/// The values that a scatter finds at its places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onto {
    /// The target's fill: they are folded with any function, in the order of the loops.
    Fill(Fun),
    /// What was there, under the target's own variables: they are folded into it, or each is written over it, to a place of its own.
    Before(AccessId, Option<Fun>),
}

/// Of a sum that stands in a nest over a vector: at each of its turns this is folded in at another place of the vector, which has
/// been written before. What is read is read in the nest's value, too.
#[derive(Clone, Debug, PartialEq)]
pub struct Also {
    /// The place: a variable of the sum.
    pub at: Index,
    /// What joins it with what is there: in any order.
    pub fun: Fun,
    /// The value.
    pub rhs: Expr,
}

/// A temporary of assembly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// How it is stored.
    pub kind: WorkspaceKind,
    /// The loops that fill it, outermost first.
    pub loops: Vec<Index>,
}

impl Nest {
    /// All loops, outermost first.
    pub fn order(&self) -> Vec<Index> {
        let filling = self.workspace().map_or(&[][..], |w| &w.loops);
        [&self.loops, filling].concat()
    }

    /// The loops that fill its workspace: all of them, if it has none.
    pub fn filling(&self) -> &[Index] {
        self.workspace().map_or(&self.loops, |w| &w.loops)
    }

    /// Its workspace.
    pub fn workspace(&self) -> Option<&Workspace> {
        if let Body::Where(workspace, _) = &self.body { Some(workspace) } else { None }
    }

    /// What is folded in at a second place.
    pub fn also(&self) -> Option<&Also> {
        if let Body::Also(also) = &self.body { Some(also) } else { None }
    }

    /// How values come to the target's places, or to the workspace's.
    pub fn assign(&self) -> &Assign {
        match &self.body {
            Body::Assign(assign) | Body::Where(_, assign) => assign,
            Body::Also(_) => &Assign::Once,
        }
    }

    /// The coordinates that a scatter writes, a mode each; of any other statement none.
    pub fn places(&self) -> &[Expr] {
        if let Assign::Scatter(places, _) = self.assign() { places } else { &[] }
    }
}

impl Assign {
    /// The function that joins values at one place, if there can be several.
    pub fn fold(&self) -> Option<Fun> {
        match self {
            Assign::Once => None,
            Assign::Fold(fun) | Assign::Scatter(_, Onto::Fill(fun)) => Some(*fun),
            Assign::Scatter(_, Onto::Before(_, fun)) => *fun,
        }
    }

    /// Whether places are computed.
    pub fn scatters(&self) -> bool {
        matches!(self, Assign::Scatter(..))
    }

    /// What was there, if values meet it.
    pub fn before(&self) -> Option<AccessId> {
        if let Assign::Scatter(_, Onto::Before(a, _)) = self { Some(*a) } else { None }
    }
}

/// How a workspace is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceKind {
    /// Over one variable: a place for each coordinate, and a set of those that were touched.
    Dense,
    /// Over any: a value for each coordinate that is touched, found by hashing, sorted before they are drained.
    Hashed(Keys),
    /// Over any: values in order of arrival, sorted before they are drained; those that meet are folded in that order.
    List(Keys),
    /// Over two, of a copy: how many entries each row gets; the loops run once to count and once to place.
    Counts,
    /// Over one of few values, which the program says: an array that is all drained, so short that it stays in registers.
    Row,
}

/// The contents of a key of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// One number for all coordinates.
    Together,
    /// A word for each variable: one number does not fit 63 bits.
    Apart,
}

impl WorkspaceKind {
    /// All kinds.
    pub const ALL: [WorkspaceKind; 7] = [
        WorkspaceKind::Dense,
        WorkspaceKind::Hashed(Keys::Together),
        WorkspaceKind::Hashed(Keys::Apart),
        WorkspaceKind::List(Keys::Together),
        WorkspaceKind::List(Keys::Apart),
        WorkspaceKind::Counts,
        WorkspaceKind::Row,
    ];

    /// The word for it in prints.
    pub fn name(self) -> &'static str {
        match self {
            WorkspaceKind::Dense => "dense",
            WorkspaceKind::Hashed(_) => "hashed",
            WorkspaceKind::List(_) => "list",
            WorkspaceKind::Counts => "counts",
            WorkspaceKind::Row => "row",
        }
    }

    /// What its keys hold, if it has keys.
    pub fn keys(self) -> Option<Keys> {
        match self {
            WorkspaceKind::Hashed(keys) | WorkspaceKind::List(keys) => Some(keys),
            WorkspaceKind::Dense | WorkspaceKind::Counts | WorkspaceKind::Row => None,
        }
    }

    /// Whether it may range over so many variables, and values come to it so.
    fn fits(self, vars: usize, assign: &Assign) -> bool {
        let keyed = vars > (self.keys() == Some(Keys::Apart)) as usize;
        match self {
            WorkspaceKind::Dense => vars == 1,
            WorkspaceKind::Hashed(_) => keyed && assign.fold().is_some(),
            WorkspaceKind::List(_) => keyed,
            WorkspaceKind::Counts => vars == 2 && *assign == Assign::Once,
            WorkspaceKind::Row => vars == 1 && matches!(assign, Assign::Fold(_)),
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
    /// The value of a tensor of one structure with the tensor of an access, where that stands.
    Column(Box<Column>),
    /// A function, declared or built in.
    Call(Fun, Vec<Expr>, Type),
    /// A fold with a function that has an identity, and for which no order is wrong; loops in this order.
    Reduce(Fun, Vec<Index>, Box<Expr>, Type),
    /// A fold with any function, in the order of the coordinates.
    Fold(Box<Fold>, Type),
    /// Expressions one behind the other.
    Concat(Box<Concat>, Type),
    /// A temporary's value, which is made inside of the loops around.
    Where(Box<Where>, Type),
}

/// A value that is read from a temporary, which is made anew where all is bound that its own loops do not bind, before the loops that
/// read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Where {
    /// What reads it, under variables of loops inside.
    pub read: AccessId,
    /// What makes it.
    pub nest: Nest,
}

/// `f(… f(f(start, e), e) …)` over all coordinates, lexicographically; without `start` it begins with the first of them, and is
/// the function's identity where there are none.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// The function.
    pub fun: Fun,
    /// The loops, outermost first.
    pub vars: Vec<Index>,
    /// What is folded.
    pub body: Expr,
    /// What it begins with, outside of the loops.
    pub start: Option<Expr>,
}

/// A choice among expressions by the range in which a coordinate lies.
#[derive(Clone, Debug, PartialEq)]
pub struct Concat {
    /// The coordinate.
    pub of: Map<Index>,
    /// Two or more, each with the variable that is the coordinate inside of it: its extent is the part's.
    pub parts: Vec<(Index, Expr)>,
    /// What is before the first part and behind the last; where there is nothing, coordinates lie in some part. With it, one
    /// part is enough: a window.
    pub outside: Option<Expr>,
}

/// A value beside an access's: its tensor has the levels of the access's, and other values.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// What is walked and searched.
    pub of: AccessId,
    /// The tensor whose value it is.
    pub tensor: Place,
    /// Its fill value.
    pub fill: Value,
}

impl Expr {
    /// Its type.
    pub fn ty(&self) -> Type {
        match self {
            Expr::Literal(v) => v.ty(),
            Expr::Index(_) => Type::I64,
            Expr::Access(_, ty) | Expr::Call(_, _, ty) | Expr::Reduce(_, _, _, ty) => *ty,
            Expr::Fold(_, ty) | Expr::Concat(_, ty) | Expr::Where(_, ty) => *ty,
            Expr::Column(column) => column.fill.ty(),
        }
    }

    /// Calls `f` on the expression and on all that it is made of, outer ones first, left to right.
    pub fn each(&self, f: &mut dyn FnMut(&Expr)) {
        f(self);
        match self {
            Expr::Call(_, args, _) => args.iter().for_each(|e| e.each(f)),
            Expr::Reduce(_, _, body, _) => body.each(f),
            Expr::Fold(fold, _) => fold.parts().for_each(|e| e.each(f)),
            Expr::Concat(c, _) => c.exprs().for_each(|e| e.each(f)),
            Expr::Where(made, _) => made.nest.rhs.each(f),
            Expr::Access(..) | Expr::Column(_) | Expr::Literal(_) | Expr::Index(_) => {}
        }
    }

    /// Calls `f` with each nest that makes a temporary in it.
    pub fn inside<'e>(&'e self, f: &mut dyn FnMut(&'e Nest)) {
        self.wheres(&mut |made| f(&made.nest));
    }

    /// Calls `f` with each temporary that is made in it.
    pub fn wheres<'e>(&'e self, f: &mut dyn FnMut(&'e Where)) {
        match self {
            Expr::Where(made, _) => f(made),
            Expr::Call(_, args, _) => args.iter().for_each(|e| e.wheres(f)),
            Expr::Reduce(_, _, body, _) => body.wheres(f),
            Expr::Fold(fold, _) => fold.parts().for_each(|e| e.wheres(f)),
            Expr::Concat(c, _) => c.exprs().for_each(|e| e.wheres(f)),
            Expr::Access(..) | Expr::Column(_) | Expr::Literal(_) | Expr::Index(_) => {}
        }
    }

    /// The access that it reads, if it reads one: its own, or that of which it is a column.
    pub fn access(&self) -> Option<AccessId> {
        match self {
            Expr::Access(a, _) => Some(*a),
            Expr::Column(column) => Some(column.of),
            _ => None,
        }
    }

    /// Whether a column beside this access is read in it.
    pub fn has_columns_of(&self, a: AccessId) -> bool {
        let mut found = false;
        self.each(&mut |e| found |= matches!(e, Expr::Column(column) if column.of == a));
        found
    }

    /// The variables of the sums around an access, outermost first; `None` unless it occurs exactly once, and not in what a temporary
    /// is made of.
    pub fn around(&self, a: AccessId) -> Option<Vec<Index>> {
        let only = |parts: &mut dyn Iterator<Item = &Expr>| {
            let mut found = parts.filter(|part| part.accesses().contains(&a));
            let sums = found.next()?.around(a);
            sums.filter(|_| found.next().is_none())
        };
        match self {
            Expr::Access(b, _) => (a == *b).then(Vec::new),
            Expr::Column(column) => (a == column.of).then(Vec::new),
            Expr::Concat(c, _) => only(&mut c.exprs()),
            Expr::Call(_, args, _) => only(&mut args.iter()),
            Expr::Reduce(_, vars, body, _) => Some(vars.iter().copied().chain(body.around(a)?).collect()),
            Expr::Fold(fold, _) => {
                let within = |e: &Expr| e.accesses().contains(&a);
                match (within(&fold.body), fold.start.as_ref().filter(|start| within(start))) {
                    (true, None) => Some(fold.vars.iter().copied().chain(fold.body.around(a)?).collect()),
                    (false, Some(start)) => start.around(a),
                    _ => None,
                }
            }
            Expr::Literal(_) | Expr::Index(_) | Expr::Where(..) => None,
        }
    }

    /// The variables of the first sum in it.
    pub fn summed(&self) -> Vec<Index> {
        let mut found = None;
        self.each(&mut |e| {
            if let Expr::Reduce(_, vars, ..) = e {
                found.get_or_insert_with(|| vars.clone());
            }
        });
        found.unwrap_or_default()
    }

    /// The variables of its folds, in order of appearance.
    pub fn fold_vars(&self) -> Vec<Index> {
        let mut all = Vec::new();
        self.each(&mut |e| match e {
            Expr::Reduce(_, vars, ..) => all.extend(vars),
            Expr::Fold(fold, _) => all.extend(&fold.vars),
            _ => {}
        });
        all
    }

    /// Whether there is a fold in it, which runs in loops of its own.
    pub fn has_loops(&self) -> bool {
        let mut found = false;
        self.each(&mut |e| found |= matches!(e, Expr::Reduce(..) | Expr::Fold(..) | Expr::Where(..)));
        found
    }

    /// The expression with constants in the places of what is decided.
    pub fn settled(self, outcome: &dyn Fn(&Expr) -> Option<Value>) -> Expr {
        match outcome(&self) {
            Some(value) => Expr::Literal(value),
            None => self.map_parts(&mut vec![], &mut |part, _| part.settled(outcome)),
        }
    }

    /// Calls `f` on every access, left to right.
    pub fn each_access(&self, f: &mut impl FnMut(AccessId)) {
        self.each(&mut |e| e.access().into_iter().for_each(&mut *f));
    }

    /// Its accesses, each once, in order of appearance.
    pub fn accesses(&self) -> Vec<AccessId> {
        let mut all = Vec::new();
        self.each_access(&mut |a| once(&mut all, a));
        all
    }

    /// The expression with each access replaced.
    pub fn map_accesses(self, f: &mut impl FnMut(AccessId, Type) -> Expr) -> Expr {
        match self {
            Expr::Access(a, ty) => f(a, ty),
            other => other.map_parts(&mut vec![], &mut |e, _| e.map_accesses(f)),
        }
    }

    /// The expression with each of its parts as `f` makes it anew; `bound` grows by what a reduction binds while `f` is in
    /// its body.
    pub fn map_parts(self, bound: &mut Vec<Index>, f: &mut impl FnMut(Expr, &mut Vec<Index>) -> Expr) -> Expr {
        match self {
            Expr::Call(fun, args, ty) => Expr::Call(fun, args.into_iter().map(|e| f(e, bound)).collect(), ty),
            Expr::Reduce(op, vars, body, ty) => {
                let outer = bound.len();
                bound.extend(&vars);
                let body = f(*body, bound);
                bound.truncate(outer);
                Expr::Reduce(op, vars, Box::new(body), ty)
            }
            Expr::Fold(fold, ty) => {
                let Fold { fun, vars, body, start } = *fold;
                let start = start.map(|e| f(e, bound));
                let outer = bound.len();
                bound.extend(&vars);
                let body = f(body, bound);
                bound.truncate(outer);
                Expr::Fold(Box::new(Fold { fun, vars, body, start }), ty)
            }
            Expr::Concat(c, ty) => Expr::Concat(Box::new(c.map(|e| f(e, bound))), ty),
            Expr::Where(made, ty) => {
                let outer = bound.len();
                bound.extend(made.nest.order());
                let made = made.map(|e| f(e, bound));
                bound.truncate(outer);
                Expr::Where(Box::new(made), ty)
            }
            leaf @ (Expr::Access(..) | Expr::Column(_) | Expr::Literal(_) | Expr::Index(_)) => leaf,
        }
    }
}

impl Where {
    /// The same with another value.
    pub fn map(self, f: impl FnOnce(Expr) -> Expr) -> Where {
        Where { nest: Nest { rhs: f(self.nest.rhs), ..self.nest }, ..self }
    }
}

impl Fold {
    /// Its expressions.
    pub fn parts(&self) -> impl Iterator<Item = &Expr> {
        [&self.body].into_iter().chain(&self.start)
    }

    /// The same with other expressions.
    pub fn map(self, mut f: impl FnMut(Expr) -> Expr) -> Fold {
        Fold { body: f(self.body), start: self.start.map(f), ..self }
    }
}

impl Concat {
    /// The same with other parts.
    pub fn map(self, mut f: impl FnMut(Expr) -> Expr) -> Concat {
        let parts = self.parts.into_iter().map(|(v, e)| (v, f(e))).collect();
        Concat { of: self.of, parts, outside: self.outside.map(f) }
    }

    /// Its expressions.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.parts.iter().map(|(_, e)| e).chain(&self.outside)
    }

    /// What it is in each of the ranges of its coordinate, ascending.
    pub fn choices(&self) -> impl Iterator<Item = &Expr> {
        self.outside.iter().chain(self.parts.iter().map(|(_, e)| e)).chain(&self.outside)
    }
}

impl Program {
    /// Its nests, with those that make temporaries inside of them.
    pub fn all_nests(&self) -> Vec<&Nest> {
        fn visit<'p>(nest: &'p Nest, all: &mut Vec<&'p Nest>) {
            all.push(nest);
            nest.rhs.inside(&mut |nest| visit(nest, all));
        }
        let mut all = vec![];
        self.nests().for_each(|nest| visit(nest, &mut all));
        all
    }

    /// Its nests, those of blocks too, in order.
    pub fn nests(&self) -> impl Iterator<Item = &Nest> {
        let mut open: Vec<&Step> = self.steps.iter().rev().collect();
        std::iter::from_fn(move || {
            loop {
                match open.pop()? {
                    Step::Nest(nest) => return Some(nest),
                    Step::Repeat(block) => open.extend(block.steps.iter().rev()),
                }
            }
        })
    }

    /// What blocks ask before each turn, in order.
    pub fn conditions(&self) -> Vec<&Expr> {
        let mut all = vec![];
        let mut open: Vec<&Step> = self.steps.iter().rev().collect();
        while let Some(step) = open.pop() {
            if let Step::Repeat(block) = step {
                if let Turns::While(condition) = &block.turns {
                    all.push(condition);
                }
                open.extend(block.steps.iter().rev());
            }
        }
        all
    }

    /// The tensors whose arrays move: to the next turn of a block or from the one before, or to the version that goes on in them.
    pub fn moving(&self) -> FxHashSet<Place> {
        let mut moving: FxHashSet<Place> = self.taken().into_iter().flat_map(|(to, from)| [to, from]).collect();
        let mut open: Vec<&Step> = self.steps.iter().collect();
        while let Some(step) = open.pop() {
            if let Step::Repeat(block) = step {
                moving.extend(block.carried.iter().flat_map(|c| [c.tensor, c.last]));
                open.extend(&block.steps);
            }
        }
        moving
    }

    /// The extents that it has a use for: those of its tensors and variables, in index maps and limits, and of blocks.
    pub fn extents_used(&self) -> BTreeSet<ClassId> {
        let tensors = self.tensors.iter().flat_map(|t| t.extents.iter());
        let mut all: BTreeSet<ClassId> = self.vars.iter().map(|v| v.extent).chain(tensors.copied()).collect();
        all.extend(self.turns());
        for var in &self.vars {
            all.extend(var.limits.iter().filter_map(|limit| match limit {
                Limit::Below { extent, .. } => Some(*extent),
                _ => None,
            }));
            if let Origin::Mapped(map) | Origin::Part(map) = &var.origin {
                let sizes = map.factors.values().chain([&map.constant]);
                all.extend(sizes.flat_map(|size| size.terms().flat_map(|(_, extents)| extents.to_vec())));
            }
        }
        all
    }

    /// The extents that say how many turns blocks take.
    pub fn turns(&self) -> Vec<ClassId> {
        let (mut all, mut open) = (Vec::new(), self.steps.iter().collect::<Vec<_>>());
        while let Some(step) = open.pop() {
            if let Step::Repeat(block) = step {
                all.extend(if let Turns::Extent(class) = block.turns { Some(class) } else { None });
                open.extend(&block.steps);
            }
        }
        all
    }

    /// The access's tensor.
    pub fn tensor(&self, a: AccessId) -> &Tensor {
        &self.tensors[self.accesses[a.0].tensor.0]
    }

    /// How storage level `l` of an access is to be iterated, if that is said.
    pub fn protocol(&self, a: AccessId, l: usize) -> Option<Iterated> {
        self.accesses[a.0].protocols.get(&self.tensor(a).format.order[l]).copied()
    }

    /// The variable of storage level `l` of an access.
    pub fn level_var(&self, a: &Access, l: usize) -> Index {
        a.vars[self.tensors[a.tensor.0].format.order[l]]
    }

    /// How many loops of `outer` move the access's level over `v`: the variable of this level or one above it follows theirs.
    pub fn moved_by(&self, a: AccessId, outer: &[Index], v: Index) -> usize {
        let access = &self.accesses[a.0];
        let levels: Vec<Index> = (0..access.vars.len()).map(|l| self.level_var(access, l)).collect();
        let last = levels.iter().position(|w| self.follows(*w, v)).map_or(levels.len(), |l| l + 1);
        outer.iter().filter(|u| levels[..last].iter().any(|w| self.follows(*w, **u))).count()
    }

    /// Whether a list over `v` is to be asked, and not walked, where it meets one that `most` loops of `outer` move: it would be walked
    /// again in iterations that do not move it, and moves with none of them or the other with all.
    pub fn stays(&self, a: AccessId, most: usize, outer: &[Index], v: Index) -> bool {
        let own = self.moved_by(a, outer, v);
        own < most && (own == 0 || most == outer.len())
    }

    /// What folds of this type with a function begin with, if they may go in any order. (Of a built-in, what it begins with: who
    /// makes a fold knows whether its order is wrong.)
    pub fn unordered(&self, fun: Fun, ty: Type) -> Option<Value> {
        match fun {
            Fun::Op(op) => identity(op, ty),
            Fun::User(f) => self.functions[f.index()].unordered().filter(|v| v.ty() == ty),
        }
    }

    /// The variables over which a nest's workspace is drained, outermost first.
    pub fn drained(&self, nest: &Nest) -> Vec<Index> {
        let order = &self.tensors[nest.target.tensor.0].format.order;
        order.iter().map(|&m| nest.target.vars[m]).filter(|v| self.time(*v, &nest.loops).is_none()).collect()
    }

    /// The modes of a nest's target in the order in which its coordinates stand where it is written: a workspace's are
    /// those that it is drained over.
    fn written(&self, nest: &Nest) -> Vec<usize> {
        let vars = &nest.target.vars;
        match nest.body {
            Body::Assign(_) | Body::Also(_) => (0..vars.len()).collect(),
            Body::Where(..) => self.drained(nest).iter().filter_map(|v| vars.iter().position(|u| u == v)).collect(),
        }
    }

    /// Whether an access can be followed when mode m's variable is bound at time `times[m]`. What is always bound is opened
    /// as soon as the levels above it are, and so is what is computed.
    pub fn concordant(&self, a: AccessId, times: &[usize]) -> bool {
        let (vars, format) = (&self.accesses[a.0].vars, &self.tensor(a).format);
        let mut latest = 0;
        format.levels.iter().zip(&*format.order).filter(|(_, mode)| times[**mode] != ALWAYS).all(|(kind, &mode)| {
            let in_order = kind.is_computed() || self.computed(vars[mode]).is_some() || times[mode] >= latest;
            latest = latest.max(times[mode]);
            in_order
        })
    }
}

/// Adds what is not there.
fn once(all: &mut Vec<AccessId>, a: AccessId) {
    if !all.contains(&a) {
        all.push(a);
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
