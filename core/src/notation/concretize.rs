//! Concretizing: typed statements to nests of loops in which every access can be followed.
//!
//! ```text
//!  C[i,j] = A[i,j] + sum(k: B[i,k] * D[k,j])        all CSR, D given as CSC
//!    ─▶  temporary D_t: {dense, compressed}           D cannot be followed in the order i, k, j
//!        forall j: forall k: D_t[k,j] = D[k,j]        (through a workspace)
//!        temporary sum: {dense, compressed}           the sum's k must run outside of j
//!        forall i: … sum[i,j] += B[i,k] * D_t[k,j]
//!        forall i: forall j: C[i,j] = A[i,j] + sum[i,j]
//! ```
//!
//! Never fails on what it takes: located levels and lists under bare index variables (where an accumulation writes, under
//! any index map that neither gathers nor is permitted to leave), built-in functions, folds that have an identity.
//! Everything else of the language is refused by [`refuse`], with a message that names it.
//!
//! A list that some outer loop does not move, intersected with one that all of them move, is *spread*: copied
//! once into a level that is asked for a coordinate instead of being walked anew each time.
//!
//! Each statement defines a new version of its tensor, so that the right side reads it as it was before. The version
//! before the first statement is the caller's: an operand `T_in`, where the program reads it or `initial` has it.

use super::concrete::{self, AccessId, Expr, Index, Nest, Place, Program, Role, Tensor, Workspace, WorkspaceKind};
use super::typed::{self, Fun, Kind, Map, TensorId, VarId};
use super::{Diagnostic, Span};
use crate::algebra::{Mode, Op, Type, Value, identity};
use crate::format::{Format, LevelKind};
use crate::iteration::{Simplify, background};
use crate::schedule::order::{Assembly, Question, Target, assembly, choose};
use crate::shape::{ClassId, Classes};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The longest row that is added up in registers: all of them, of the widest kind, with values of eight bytes.
const LONGEST_ROW: u64 = 256;

/// The concrete program of a typed one whose results among `initial` start from what the caller gives.
///
/// # Errors
/// What is not lowered yet, each with the construct's name and place.
pub fn concretize(
    program: &typed::Program,
    classes: &Classes,
    mode: Mode,
    initial: &BTreeSet<TensorId>,
) -> Result<Program, Vec<Diagnostic>> {
    let refused = refuse(program, mode);
    if !refused.is_empty() {
        return Err(refused);
    }
    let current = vec![None; program.tensors.len()];
    let mut c = Concretize {
        typed: program,
        classes,
        simplify: Simplify { mode },
        initial,
        out: Program::default(),
        current,
        vars: HashMap::new(),
    };
    for (n, statement) in program.statements.iter().enumerate() {
        let last = !program.statements[n + 1..].iter().any(|later| later.tensor == statement.tensor);
        c.statement(statement, last);
    }
    Ok(c.named().numbered())
}

struct Concretize<'a> {
    typed: &'a typed::Program,
    classes: &'a Classes,
    simplify: Simplify,
    /// Results that the caller gives initial values of.
    initial: &'a BTreeSet<TensorId>,
    out: Program,
    /// The version of each tensor that a statement reads: at first, once it is read, the caller's.
    current: Vec<Option<Place>>,
    vars: HashMap<VarId, Index>,
}

impl Concretize<'_> {
    fn statement(&mut self, s: &typed::Statement, last: bool) {
        if s.scatters() {
            return self.scattering(s, last);
        }
        let target: Vec<Index> = s.indices.iter().map(|i| self.var(i.bare().expect("refused otherwise"))).collect();
        let mut rhs = self.expr(&s.rhs);
        let tensor = &self.typed.tensors[s.tensor.index()];
        if let Some(fun) = s.fold {
            let op = builtin(fun);
            let folded: Vec<Index> = s.folded.iter().map(|v| self.var(*v)).collect();
            if !folded.is_empty() {
                rhs = Expr::Reduce(op, folded, Box::new(rhs), tensor.ty);
            }
            let before = self.before(s, op, &target);
            rhs = self.simplify.call(op, vec![before, rhs], tensor.ty);
        }
        let rhs = self.simplify.simplify(&rhs);
        let place = self.version(s, &target, &rhs, last);
        self.define(place, target, rhs, None);
        self.current[s.tensor.index()] = Some(place);
    }

    /// `T[places] op= e`: what falls on each place is gathered from the identity on, then joined with what was there.
    fn scattering(&mut self, s: &typed::Statement, last: bool) {
        let op = builtin(s.fold.expect("what is not under distinct variables accumulates: checked"));
        let loops: Vec<Index> = s.vars.iter().chain(&s.folded).map(|v| self.var(*v)).collect();
        let places: Vec<Expr> = s.indices.iter().map(|i| self.place_of(&i.map)).collect();
        let rhs = self.expr(&s.rhs);
        let rhs = self.simplify.simplify(&rhs);
        let tensor = &self.typed.tensors[s.tensor.index()];
        let (ty, name) = (tensor.ty, tensor.name.clone());
        let fill = identity(op, ty).expect("folds have an identity: refused otherwise");
        let format = tensor.format.clone().unwrap_or_else(|| Format::dense(tensor.sizes.len()));
        let extents: Vec<ClassId> = tensor.sizes.iter().map(|s| self.classes.class_of_size(*s)).collect();
        let target: Vec<Index> = extents.iter().enumerate().map(|(m, e)| self.fresh(format!("m{m}"), *e)).collect();
        let before = self.before(s, op, &target);
        let is_identity = |v: Value| self.simplify.same(v, fill);
        let nothing = matches!(&before, Expr::Literal(v) if is_identity(*v)) && tensor.fill.is_some_and(is_identity);
        let place = if nothing && tensor.format.is_some() {
            let place = self.version(s, &target, &before, last);
            self.scatter(place, (op, places), &loops, rhs);
            place
        } else {
            let name = format!("{name}_{}", concrete::reduction_name(op));
            let made = self.place(Tensor { name, ty, extents, format, fill, role: Role::Temporary });
            self.scatter(made, (op, places), &loops, rhs);
            let fallen = Expr::Access(self.out.access(made, target.clone()), ty);
            let rhs = self.simplify.call(op, vec![before, fallen], ty);
            let place = self.version(s, &target, &rhs, last);
            self.define(place, target, rhs, None);
            place
        };
        self.current[s.tensor.index()] = Some(place);
    }

    /// The value of a statement's tensor before it, under these variables.
    fn before(&mut self, s: &typed::Statement, op: Op, target: &[Index]) -> Expr {
        let tensor = &self.typed.tensors[s.tensor.index()];
        if self.current[s.tensor.index()].is_some() || self.initial.contains(&s.tensor) {
            let place = self.reading(s.tensor);
            return Expr::Access(self.out.access(place, target.to_vec()), tensor.ty);
        }
        // What is not declared begins with the function's identity.
        let begin = tensor.fill.or_else(|| identity(op, tensor.ty));
        Expr::Literal(begin.expect("folds have an identity: checked before lowering"))
    }

    /// A new version of a statement's tensor; the last one is the result.
    fn version(&mut self, s: &typed::Statement, target: &[Index], rhs: &Expr, last: bool) -> Place {
        let tensor = &self.typed.tensors[s.tensor.index()];
        let role = match tensor.role {
            typed::Role::Result if last => Role::Result(s.tensor),
            _ => Role::Temporary,
        };
        let format = tensor.format.clone().unwrap_or_else(|| self.undeclared(target.len(), rhs));
        // Where the value of what is not stored is not one value, or only known with extents, every value that differs
        // from zero is stored.
        let fill = tensor.fill.or_else(|| self.background(rhs)).unwrap_or(Value::zero(tensor.ty));
        let extents = target.iter().map(|v| self.out.vars[v.0].extent).collect();
        let name = if role == Role::Temporary { format!("{}_was", tensor.name) } else { tensor.name.clone() };
        self.place(Tensor { name, ty: tensor.ty, extents, format, fill, role })
    }

    /// The format of an undeclared result: dense if it has no sparse operand, else compressed.
    fn undeclared(&self, rank: usize, rhs: &Expr) -> Format {
        let sparse = |a: AccessId| self.out.tensor(a).format.levels.iter().any(|k| *k != LevelKind::Dense);
        if rhs.accesses().into_iter().any(sparse) { Format::csf(rank) } else { Format::dense(rank) }
    }

    /// The value where nothing is stored, if it is one value.
    fn background(&self, rhs: &Expr) -> Option<Value> {
        match self.simplify.replace(rhs, &|a| Some(self.out.tensor(a).fill)) {
            Expr::Literal(v) => Some(v),
            _ => None,
        }
    }

    /// The program with a name for each extent: the one that people gave it, if it is a name and no other has it.
    fn named(self) -> Program {
        let mut out = self.out;
        let of_tensors = out.tensors.iter().flat_map(|t| t.extents.iter().copied());
        let all: BTreeSet<ClassId> = of_tensors.chain(out.vars.iter().map(|v| v.extent)).collect();
        let mut taken = HashSet::new();
        for class in all {
            let given = self.classes.name(class);
            // A number is a name as it is, and with nothing behind it.
            let number = given.starts_with(|c: char| c.is_ascii_digit());
            let given = if number && taken.contains(&given) { format!("e{}", class.0) } else { given };
            let name = distinct(&given, |name| taken.contains(name));
            taken.insert(name.clone());
            out.extents.insert(class, name);
        }
        out
    }

    /// A new place; a name that is not the program's own for this tensor is made its own.
    fn place(&mut self, mut tensor: Tensor) -> Place {
        let given = match tensor.role {
            Role::Operand(id) | Role::Result(id) => self.typed.tensors[id.index()].name == tensor.name,
            Role::Temporary => false,
        };
        if !given {
            let given = self.typed.tensors.iter().map(|t| &t.name);
            let taken: HashSet<&String> = given.chain(self.out.tensors.iter().map(|t| &t.name)).collect();
            tensor.name = distinct(&tensor.name, |name| taken.contains(name));
        }
        self.out.tensors.push(tensor);
        Place(self.out.tensors.len() - 1)
    }

    fn var(&mut self, v: VarId) -> Index {
        if let Some(&known) = self.vars.get(&v) {
            return known;
        }
        let extent = self.classes.class_of_var(v);
        let made = self.fresh(self.typed.vars[v.index()].name.clone(), extent);
        self.vars.insert(v, made);
        made
    }

    fn fresh(&mut self, name: String, extent: ClassId) -> Index {
        self.out.var(name, extent)
    }

    /// The place that reading a tensor reads: its current version, or the operand.
    fn reading(&mut self, id: TensorId) -> Place {
        if let Some(place) = self.current[id.index()] {
            return place;
        }
        let t = &self.typed.tensors[id.index()];
        let place = self.place(Tensor {
            name: if t.role == typed::Role::Result { format!("{}_in", t.name) } else { t.name.clone() },
            ty: t.ty,
            extents: t.sizes.iter().map(|s| self.classes.class_of_size(*s)).collect(),
            format: t.format.clone().unwrap_or_else(|| Format::dense(t.sizes.len())),
            fill: t.fill.unwrap_or(Value::zero(t.ty)),
            role: Role::Operand(id),
        });
        self.current[id.index()] = Some(place);
        place
    }

    fn expr(&mut self, e: &typed::Expr) -> Expr {
        match &e.kind {
            Kind::Literal(v) => Expr::Literal(*v),
            Kind::Index(v) => Expr::Index(self.var(*v)),
            Kind::Access(t, indices) => {
                let vars = indices.iter().map(|i| self.var(i.bare().expect("refused otherwise"))).collect();
                let place = self.reading(*t);
                Expr::Access(self.out.access(place, vars), e.ty)
            }
            Kind::Call(fun, args) => {
                let args = args.iter().map(|a| self.expr(a)).collect();
                Expr::Call(builtin(*fun), args, e.ty)
            }
            Kind::Reduce { fun, vars, body, .. } => {
                let vars = vars.iter().map(|v| self.var(*v)).collect();
                let body = self.expr(body);
                // A fold of a fold with the same function is one fold.
                match (builtin(*fun), body) {
                    (op, Expr::Reduce(inner, more, body, ty)) if inner == op && !self.ordered(ty) => {
                        Expr::Reduce(op, [vars, more].concat(), body, ty)
                    }
                    (op, body) => Expr::Reduce(op, vars, Box::new(body), e.ty),
                }
            }
            Kind::Local(_) | Kind::Collapse { .. } | Kind::Split { .. } | Kind::Concat { .. } | Kind::Slice { .. } => {
                unreachable!("refused otherwise")
            }
        }
    }

    /// Whether folds must run in the order of the meaning.
    fn ordered(&self, ty: Type) -> bool {
        self.simplify.mode == Mode::Strict && ty.is_float()
    }

    /// Emits `place[target] = rhs`, with what must come before it.
    fn define(&mut self, place: Place, target: Vec<Index>, rhs: Expr, order: Option<Vec<Index>>) {
        let (fold, sums, body) = match rhs {
            Expr::Reduce(op, vars, body, _) => (Some(op), vars, *body),
            other => (None, Vec::new(), other),
        };
        let outer: Vec<Index> = target.iter().chain(&sums).copied().collect();
        let body = self.hoist(body, &outer);
        let copied = fold.is_none().then(|| self.counted(place, &target, &body)).flatten();
        let order = order.or_else(|| copied.clone()).unwrap_or_else(|| {
            let tensor = &self.out.tensors[place.0];
            self.order(Target { format: &tensor.format, fill: tensor.fill, vars: &target }, &sums, &body)
        });
        let tensor = &self.out.tensors[place.0];
        let how = assembly(Target { format: &tensor.format, fill: tensor.fill, vars: &target }, &order);
        if let (Some(op), true) = (fold, how != Assembly::Append)
            && !self.starts_as_identity(tensor, op)
        {
            return self.define_through(place, target, Expr::Reduce(op, sums, Box::new(body.clone()), body.ty()));
        }
        let trailing = order.iter().rev().take_while(|v| sums.contains(v)).count();
        let (order, inner) = order.split_at(order.len() - trailing);
        let order = order.to_vec();
        let mut rhs = body;
        if let (Some(op), false) = (fold, inner.is_empty()) {
            let ty = rhs.ty();
            rhs = Expr::Reduce(op, inner.to_vec(), Box::new(rhs), ty);
        }
        let fold = fold.filter(|_| order.iter().any(|v| sums.contains(v)));
        let workspace = match how {
            Assembly::Workspace { prefix, vars } => {
                let kind = match vars {
                    1 => WorkspaceKind::Dense,
                    _ if copied.as_ref() == Some(&order) => WorkspaceKind::Counts,
                    _ => WorkspaceKind::List,
                };
                Some(Workspace { prefix, kind })
            }
            Assembly::InPlace => self.row(place, &target, &order, &rhs),
            Assembly::Append => None,
        };
        let target = concrete::Access { tensor: place, vars: target };
        self.emit(Nest { target, order, fold, rhs, workspace, places: None });
    }

    /// The cheapest order of loops.
    fn order(&self, target: Target, sums: &[Index], body: &Expr) -> Vec<Index> {
        choose(&Question {
            program: &self.out,
            target,
            sums,
            body,
            keep_sums: self.ordered(body.ty()),
            simplify: self.simplify,
        })
    }

    /// A nest whose accesses are made such that its loops can follow them.
    fn emit(&mut self, mut nest: Nest) {
        let rhs = self.follow(nest.rhs, &mut nest.order);
        let rhs = self.spread(rhs, &mut nest.order);
        nest.rhs = self.simplify.simplify(&rhs);
        self.out.nests.push(nest);
    }

    /// Emits a scatter: `place[places] op= rhs`, the places being functions of `loops`. The tensor's fill is the
    /// identity of `op`.
    fn scatter(&mut self, place: Place, (op, places): (Op, Vec<Expr>), loops: &[Index], rhs: Expr) {
        let body = self.hoist(rhs, loops);
        let tensor = self.out.tensors[place.0].clone();
        let nowhere = Target { format: &Format::dense(0), fill: tensor.fill, vars: &[] };
        let order = self.order(nowhere, loops, &body);
        let located = tensor.format.levels.iter().all(|k| k.is_located());
        let kind = if places.len() == 1 { WorkspaceKind::Dense } else { WorkspaceKind::List };
        let workspace = (!located).then_some(Workspace { prefix: 0, kind });
        let vars = tensor.extents.iter().enumerate().map(|(m, e)| self.fresh(format!("m{m}"), *e)).collect();
        let target = concrete::Access { tensor: place, vars };
        self.emit(Nest { target, order, fold: Some(op), rhs: body, workspace, places: Some(places) });
    }

    /// An index map as an expression.
    fn place_of(&mut self, map: &Map) -> Expr {
        let int = |x: i64| Expr::Literal(Value::i64(x));
        let call = |op, a, b| Expr::Call(op, vec![a, b], Type::I64);
        match map {
            Map::Var(v) => Expr::Index(self.var(*v)),
            Map::Const(c) => int(*c),
            Map::Add(a, b) => call(Op::Add, self.place_of(a), self.place_of(b)),
            Map::Mul(c, a) => call(Op::Mul, int(*c), self.place_of(a)),
            Map::Div(a, c) => call(Op::FloorDiv, self.place_of(a), int(*c)),
            Map::Mod(a, c) => call(Op::FloorRem, self.place_of(a), int(*c)),
            Map::Gather(..) => unreachable!("refused otherwise"),
        }
    }

    /// The loops of a nest that copies a matrix, column by column of the result, into `{dense, compressed}`: each of its
    /// entries comes once, and those of a row in the order of the row. `None` of any other nest.
    fn counted(&self, place: Place, target: &[Index], rhs: &Expr) -> Option<Vec<Index>> {
        let Expr::Access(a, _) = rhs else { return None };
        let (to, from) = (&self.out.tensors[place.0], self.out.tensor(*a));
        let levels = |format: &Format, vars: &[Index]| format.order.iter().map(|&m| vars[m]).collect::<Vec<_>>();
        let mut columns = levels(&to.format, target);
        columns.reverse();
        let copies = to.format.levels == [LevelKind::Dense, LevelKind::Compressed]
            && self.simplify.same(to.fill, from.fill)
            && levels(&from.format, &self.out.accesses[a.0].vars) == columns
            && from.format.levels[1].is_list();
        copies.then_some(columns)
    }

    /// The workspace of sums that run around the innermost loop, over a row of the result that is short, dense, and
    /// visited at once: added up in registers, it is written once.
    fn row(&self, place: Place, target: &[Index], order: &[Index], rhs: &Expr) -> Option<Workspace> {
        let tensor = &self.out.tensors[place.0];
        let levels: Vec<Index> = tensor.format.order.iter().map(|&m| target[m]).collect();
        let (row, rows) = levels.split_last()?;
        let short = self.classes.value(self.out.vars[row.0].extent).is_some_and(|n| n <= LONGEST_ROW);
        let dense = tensor.format.levels.iter().all(|k| *k == LevelKind::Dense);
        let together = order.starts_with(rows) && order.last() == Some(row);
        let located = |a: &AccessId| {
            let access = &self.out.accesses[a.0];
            let format = &self.out.tensor(*a).format;
            (0..format.rank()).all(|l| self.out.level_var(access, l) != *row || format.levels[l].is_located())
        };
        let always = rhs.accesses().iter().all(located);
        (short && dense && together && always).then_some(Workspace { prefix: rows.len(), kind: WorkspaceKind::Row })
    }

    /// Whether what a fold has not reached is what the tensor holds there.
    fn starts_as_identity(&self, tensor: &Tensor, op: Op) -> bool {
        let dense = tensor.format.levels.iter().all(|k| *k == LevelKind::Dense);
        dense || identity(op, tensor.ty).is_some_and(|i| self.simplify.same(i, tensor.fill))
    }

    /// A fold whose identity is not the fill: made with the identity as fill, then copied.
    fn define_through(&mut self, place: Place, target: Vec<Index>, rhs: Expr) {
        let tensor = self.out.tensors[place.0].clone();
        let Expr::Reduce(op, ..) = rhs else { unreachable!("only folds have an identity") };
        let fill = identity(op, tensor.ty).expect("folds have an identity: checked before lowering");
        let name = format!("{}_fold", tensor.name);
        let made = self.place(Tensor { name, fill, role: Role::Temporary, ..tensor });
        self.define(made, target.clone(), rhs, None);
        let ty = self.out.tensors[made.0].ty;
        let copy = Expr::Access(self.out.access(made, target.clone()), ty);
        self.define(place, target, copy, None);
    }

    /// Sums inside a body that cannot run where the loops around it are bound become temporaries.
    fn hoist(&mut self, e: Expr, outer: &[Index]) -> Expr {
        match e {
            Expr::Call(op, args, ty) => {
                let args = args.into_iter().map(|a| self.hoist(a, outer)).collect();
                Expr::Call(op, args, ty)
            }
            Expr::Reduce(op, vars, body, ty) => {
                let body = self.hoist(*body, &[outer, &vars].concat());
                let free = self.free(&body, &vars);
                let inner = self.inner_order(&vars, &body, outer);
                if self.stays(&body, outer, &free) && self.follows(&body, outer, &inner) {
                    return Expr::Reduce(op, inner, Box::new(body), ty);
                }
                self.temporary(op, vars, body, ty, free)
            }
            other => other,
        }
    }

    /// Whether a sum may run inside the loops around it without doing work again or everywhere: it depends on all of
    /// their variables, and so does each of its sparse operands.
    fn stays(&self, body: &Expr, outer: &[Index], free: &[Index]) -> bool {
        let moved = |a: AccessId| outer.iter().all(|v| self.out.accesses[a.0].vars.contains(v));
        let sparse = |a: &AccessId| self.out.tensor(*a).format.levels.iter().any(|k| k.is_list());
        outer.iter().all(|v| free.contains(v)) && body.accesses().into_iter().filter(sparse).all(moved)
    }

    /// The variables of a body that are not bound inside it, in order of appearance.
    fn free(&self, body: &Expr, bound: &[Index]) -> Vec<Index> {
        fn visit(program: &Program, e: &Expr, bound: &mut Vec<Index>, free: &mut Vec<Index>) {
            let mut seen = |v: Index| {
                if !bound.contains(&v) && !free.contains(&v) {
                    free.push(v);
                }
            };
            match e {
                Expr::Literal(_) => {}
                Expr::Index(v) => seen(*v),
                Expr::Access(a, _) => program.accesses[a.0].vars.iter().for_each(|v| seen(*v)),
                Expr::Call(_, args, _) => args.iter().for_each(|a| visit(program, a, bound, free)),
                Expr::Reduce(_, vars, body, _) => {
                    let outer = bound.len();
                    bound.extend(vars);
                    visit(program, body, bound, free);
                    bound.truncate(outer);
                }
            }
        }
        let mut free = Vec::new();
        visit(&self.out, body, &mut bound.to_vec(), &mut free);
        free
    }

    /// Whether every list of a body can be followed when `outer` is bound first, in whatever order, then `inner`.
    fn follows(&self, body: &Expr, outer: &[Index], inner: &[Index]) -> bool {
        body.accesses().into_iter().all(|a| {
            let access = &self.out.accesses[a.0];
            let time = |v: &Index| match inner.iter().position(|w| w == v) {
                Some(n) => n + 1,
                None if outer.contains(v) => 0,
                None => inner.len() + 1,
            };
            let times: Vec<usize> = access.vars.iter().map(time).collect();
            self.out.concordant(&self.out.tensor(a).format, &times)
        })
    }

    /// The order of a sum's own loops: as the lists below ask for, if they agree.
    fn inner_order(&self, vars: &[Index], body: &Expr, outer: &[Index]) -> Vec<Index> {
        if vars.len() < 2 || self.ordered(body.ty()) {
            return vars.to_vec();
        }
        let mut best = vars.to_vec();
        for a in body.accesses() {
            let access = &self.out.accesses[a.0];
            let format = &self.out.tensor(a).format;
            let mut wanted: Vec<Index> =
                format.order.iter().map(|&m| access.vars[m]).filter(|v| vars.contains(v)).collect();
            wanted.dedup();
            wanted.extend(vars.iter().filter(|v| !wanted.contains(v)).copied().collect::<Vec<_>>());
            if wanted.len() == vars.len() && self.follows(body, outer, &wanted) {
                best = wanted;
                break;
            }
        }
        best
    }

    fn temporary(&mut self, op: Op, vars: Vec<Index>, body: Expr, ty: Type, free: Vec<Index>) -> Expr {
        let fill = identity(op, ty).expect("folds have an identity: checked before lowering");
        let lists = body.accesses();
        let (_, rest) = background(&body, &lists, &|a| self.out.tensor(a).fill, self.simplify);
        let quiet = matches!(rest, Expr::Literal(v) if self.simplify.neutral(op, v));
        let format = if quiet { self.sparse_format(&free, &lists) } else { Format::dense(free.len()) };
        let extents = free.iter().map(|v| self.out.vars[v.0].extent).collect();
        let name = concrete::reduction_name(op).to_string();
        let place = self.place(Tensor { name, ty, extents, format, fill, role: Role::Temporary });
        // The temporary's loops have variables of their own.
        let fresh: HashMap<Index, Index> = free
            .iter()
            .map(|&v| {
                let var = self.out.vars[v.0].clone();
                (v, self.fresh(var.name, var.extent))
            })
            .collect();
        let body = self.rename(&body, &fresh);
        let target = free.iter().map(|v| fresh[v]).collect();
        self.define(place, target, Expr::Reduce(op, vars, Box::new(body), ty), None);
        Expr::Access(self.out.access(place, free), ty)
    }

    /// Levels for a temporary that is not everywhere: the outermost is dense if all
    /// operands store it so.
    fn sparse_format(&self, vars: &[Index], accesses: &[AccessId]) -> Format {
        let densely = |v: &Index| {
            accesses.iter().all(|&a| {
                let (access, format) = (&self.out.accesses[a.0], &self.out.tensor(a).format);
                (0..format.rank()).all(|l| access.vars[format.order[l]] != *v || format.levels[l].is_located())
            })
        };
        let outermost = vars.first().is_some_and(densely);
        let kind = |m: usize| if m == 0 && outermost { LevelKind::Dense } else { LevelKind::Compressed };
        Format::of((0..vars.len()).map(kind).collect())
    }

    fn rename(&mut self, e: &Expr, fresh: &HashMap<Index, Index>) -> Expr {
        let of = |v: &Index| fresh.get(v).copied().unwrap_or(*v);
        match e {
            Expr::Literal(_) => e.clone(),
            Expr::Index(v) => Expr::Index(of(v)),
            Expr::Access(a, ty) => {
                let access = self.out.accesses[a.0].clone();
                Expr::Access(self.out.access(access.tensor, access.vars.iter().map(of).collect()), *ty)
            }
            Expr::Call(op, args, ty) => Expr::Call(*op, args.iter().map(|a| self.rename(a, fresh)).collect(), *ty),
            Expr::Reduce(op, vars, body, ty) => {
                Expr::Reduce(*op, vars.clone(), Box::new(self.rename(body, fresh)), *ty)
            }
        }
    }

    /// The expression with every access that cannot be followed replaced by one of a transposed copy.
    fn follow(&mut self, e: Expr, bound: &mut Vec<Index>) -> Expr {
        match e {
            Expr::Access(a, ty) => {
                let access = self.out.accesses[a.0].clone();
                let time = |v: &Index| bound.iter().position(|b| b == v).expect("every variable is bound");
                let times: Vec<usize> = access.vars.iter().map(time).collect();
                let tensor = &self.out.tensors[access.tensor.0];
                if self.out.concordant(&tensor.format, &times) {
                    return Expr::Access(a, ty);
                }
                let copy = self.transposed(access.tensor, &times);
                Expr::Access(self.out.access(copy, access.vars), ty)
            }
            Expr::Call(op, args, ty) => {
                let args = args.into_iter().map(|x| self.follow(x, bound)).collect();
                Expr::Call(op, args, ty)
            }
            Expr::Reduce(op, vars, body, ty) => {
                let outer = bound.len();
                bound.extend(&vars);
                let body = self.follow(*body, bound);
                bound.truncate(outer);
                Expr::Reduce(op, vars, Box::new(body), ty)
            }
            other => other,
        }
    }

    /// The expression with every list that would be intersected anew in each turn of an outer loop that does not move
    /// it replaced by one that is asked: of a copy, made once, whose level is located or hashed.
    ///
    /// `y[i] = sum(j: A[i,j] * x[j])` with A by rows and x sparse costs |A| instead of rows · |x| + |A|.
    fn spread(&mut self, e: Expr, bound: &mut Vec<Index>) -> Expr {
        let mut e = e;
        for n in 1..bound.len() {
            for (a, level) in self.unmoved(&e, &bound[..n], bound[n]) {
                let access = self.out.accesses[a.0].clone();
                let ty = self.out.tensors[access.tensor.0].ty;
                let copy = self.asked(access.tensor, level);
                let copied = Expr::Access(self.out.access(copy, access.vars), ty);
                e = e.map_accesses(&mut |b, ty| if b == a { copied.clone() } else { Expr::Access(b, ty) });
            }
        }
        match e {
            Expr::Call(op, args, ty) => {
                let args = args.into_iter().map(|x| self.spread(x, bound)).collect();
                Expr::Call(op, args, ty)
            }
            Expr::Reduce(op, vars, body, ty) => {
                let outer = bound.len();
                bound.extend(&vars);
                let body = self.spread(*body, bound);
                bound.truncate(outer);
                Expr::Reduce(op, vars, Box::new(body), ty)
            }
            other => other,
        }
    }

    /// The accesses, each with its level, whose lists over `v` are intersected with one that every loop of `outer`
    /// moves, and are not moved themselves.
    fn unmoved(&self, e: &Expr, outer: &[Index], v: Index) -> Vec<(AccessId, usize)> {
        let mut level: HashMap<AccessId, usize> = HashMap::new();
        for a in e.accesses() {
            let (access, format) = (&self.out.accesses[a.0], &self.out.tensor(a).format);
            let first = (0..format.rank()).find(|&l| access.vars[format.order[l]] == v);
            level.extend(first.filter(|&l| format.levels[l].is_list()).map(|l| (a, l)));
        }
        let names: Vec<AccessId> = e.accesses().into_iter().filter(|a| level.contains_key(a)).collect();
        let (sequence, _) = background(e, &names, &|a| self.out.tensor(a).fill, self.simplify);
        let moved = |a: &AccessId| self.out.moved(*a, outer, v);
        let hashed = |a: &AccessId| self.out.tensor(*a).format.levels[level[a]] == LevelKind::Hashed;
        let parts = sequence.intersections().into_iter().filter(|part| part.iter().any(moved));
        let mut unmoved: Vec<AccessId> = parts.flatten().filter(|a| !moved(a) && !hashed(a)).collect();
        unmoved.sort();
        unmoved.dedup();
        unmoved.into_iter().map(|a| (a, level[&a])).collect()
    }

    /// A copy of a tensor in the same order of levels, of which level `l` can be asked for a coordinate at no cost.
    fn asked(&mut self, place: Place, l: usize) -> Place {
        let tensor = &self.out.tensors[place.0];
        let mut levels: Vec<LevelKind> = tensor.format.levels.clone();
        for kind in &mut levels {
            *kind = if kind.is_list() { LevelKind::Compressed } else { LevelKind::Dense };
        }
        // An outermost level has a flag a coordinate; below, that would be one for each entry and coordinate.
        levels[l] = if l == 0 { LevelKind::Bytemap } else { LevelKind::Hashed };
        let format = Format { levels, order: tensor.format.order.clone() };
        self.copied(place, format, "w")
    }

    /// A copy of a tensor whose levels are in the order of these times, made once.
    fn transposed(&mut self, place: Place, times: &[usize]) -> Place {
        let tensor = &self.out.tensors[place.0];
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by_key(|&m| times[m]);
        let mut levels = vec![LevelKind::Compressed; times.len()];
        if tensor.format.levels.iter().any(|k| k.is_located()) {
            levels[0] = LevelKind::Dense;
        }
        self.copied(place, Format { levels, order }, "t")
    }

    /// A copy of a tensor in another format, made once.
    fn copied(&mut self, place: Place, format: Format, suffix: &str) -> Place {
        let tensor = self.out.tensors[place.0].clone();
        let name = format!("{}_{suffix}", tensor.name);
        let made = self.out.nests.iter().find(|n| {
            let t = &self.out.tensors[n.target.tensor.0];
            let copies = matches!(&n.rhs, Expr::Access(a, _) if self.out.accesses[a.0] == concrete::Access { tensor: place, vars: n.target.vars.clone() });
            t.role == Role::Temporary && t.format == format && copies
        });
        if let Some(nest) = made {
            return nest.target.tensor;
        }
        let copy = self.place(Tensor { name, format, role: Role::Temporary, ..tensor.clone() });
        let vars: Vec<Index> =
            tensor.extents.iter().enumerate().map(|(m, e)| self.fresh(format!("m{m}"), *e)).collect();
        let rhs = Expr::Access(self.out.access(place, vars.clone()), tensor.ty);
        let order = tensor.format.order.iter().map(|&m| vars[m]).collect();
        self.define(copy, vars, rhs, Some(order));
        copy
    }
}

/// The name, or the first of `name_2`, `name_3`, … that is not taken.
fn distinct(name: &str, taken: impl Fn(&String) -> bool) -> String {
    let names = (2..).map(|n| format!("{name}_{n}"));
    std::iter::once(name.to_string()).chain(names).find(|name| !taken(name)).expect("there are names enough")
}

fn builtin(fun: Fun) -> Op {
    match fun {
        Fun::Op(op) => op,
        Fun::User(_) => unreachable!("refused otherwise"),
    }
}

/// Everything of a program that is not lowered yet.
pub fn refuse(program: &typed::Program, mode: Mode) -> Vec<Diagnostic> {
    let mut r = Refuse { program, mode, found: Vec::new() };
    for t in &program.tensors {
        let levels = t.format.iter().flat_map(|f| &f.levels);
        let foreign = |k: &&LevelKind| !(k.is_located() || k.is_list());
        if let Some(kind) = levels.into_iter().find(foreign) {
            r.say(t.span, format!("a level of kind `{}` (of tensor `{}`)", kind.name(), t.name));
        }
        if t.role == typed::Role::Input && t.format.is_none() {
            r.say(t.span, format!("an operand without a format (tensor `{}`)", t.name));
        }
    }
    for s in &program.statements {
        r.statement(s);
    }
    r.found
}

struct Refuse<'a> {
    program: &'a typed::Program,
    mode: Mode,
    found: Vec<Diagnostic>,
}

impl Refuse<'_> {
    fn say(&mut self, span: Span, what: String) {
        let help = "run it with --engine meaning, which evaluates the whole language";
        self.found.push(Diagnostic::new(span, format!("{what} is not lowered yet")).help(help));
    }

    fn statement(&mut self, s: &typed::Statement) {
        if let Some(i) = s.indices.iter().find(|i| i.permit || i.map.gathers()) {
            self.say(i.span, "a scatter through an index tensor or a permitted index `~`".to_string());
        }
        let commands = s.schedule.iter().flat_map(|c| &c.commands);
        if commands.into_iter().any(|c| c.kind != super::syntax::CommandKind::None) {
            self.say(s.span, "a schedule".to_string());
        }
        let ty = self.program.tensors[s.tensor.index()].ty;
        if self.mode == Mode::Strict && ty.is_float() {
            self.say(s.span, "mode `strict` on floats".to_string());
        }
        if let Some(fun) = s.fold {
            self.fold(fun, ty, false, s.span);
        }
        self.expr(&s.rhs);
    }

    fn fold(&mut self, fun: Fun, ty: Type, start: bool, span: Span) {
        match fun {
            Fun::User(f) => {
                let name = &self.program.functions[f.index()].name;
                self.say(span, format!("the declared function `{name}`"));
            }
            Fun::Op(op) if identity(op, ty).is_none() => {
                self.say(span, format!("a reduction with `{}`, which has no identity,", op.name()));
            }
            Fun::Op(_) if start => self.say(span, "a reduction with a start value".to_string()),
            Fun::Op(_) => {}
        }
    }

    fn expr(&mut self, e: &typed::Expr) {
        match &e.kind {
            Kind::Literal(_) | Kind::Index(_) | Kind::Local(_) => {}
            Kind::Access(_, indices) => {
                if let Some(i) = indices.iter().find(|i| i.bare().is_none()) {
                    let what =
                        if i.permit { "a permitted index `~`" } else { "an index other than a bare index variable" };
                    self.say(i.span, what.to_string());
                }
            }
            Kind::Call(fun, args) => {
                match fun {
                    Fun::Op(Op::Coalesce) => self.say(e.span, "`coalesce`".to_string()),
                    Fun::Op(_) => {}
                    Fun::User(f) => {
                        let name = &self.program.functions[f.index()].name;
                        self.say(e.span, format!("the declared function `{name}`"));
                    }
                }
                args.iter().for_each(|a| self.expr(a));
            }
            Kind::Reduce { fun, body, start, .. } => {
                self.fold(*fun, e.ty, start.is_some(), e.span);
                self.expr(body);
            }
            Kind::Collapse { .. } => self.say(e.span, "the shape operator `collapse`".to_string()),
            Kind::Split { .. } => self.say(e.span, "the shape operator `split`".to_string()),
            Kind::Concat { .. } => self.say(e.span, "the shape operator `concat`".to_string()),
            Kind::Slice { .. } => self.say(e.span, "the shape operator `slice`".to_string()),
        }
    }
}
