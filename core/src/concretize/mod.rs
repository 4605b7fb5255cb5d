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
//! Never fails on what it takes: levels under any index map, functions, folds, scatters.
//! Everything else of the language is refused by [`refuse`], with a message that names it.
//!
//! A list that some outer loop does not move, intersected with one that all of them move, is *spread*: copied
//! once into a level that is asked for a coordinate instead of being walked anew each time.
//!
//! Each statement defines a new version of its tensor, so that the right side reads it as it was before. The version
//! before the first statement is the caller's: an operand `T_in`, where the program reads it or `initial` has it. In a block the
//! last version of a turn is the one with which the next begins (`steps.rs`).

mod columns;
mod follow;
mod ground;
mod hoist;
mod join;
mod mirror;
mod part;
mod precompute;
mod refuse;
mod schedule;
mod shape;
mod steps;
mod turn;

use crate::algebra::{Mode, Op, Type, Value, properties};
use crate::format::Format;
use crate::iteration::Simplify;
use crate::map::ClassId;
use crate::notation::Diagnostic;
use crate::notation::concrete::{
    self, AccessId, Expr, Fold, Index, Iterated, Nest, Origin, Place, Program, Role, Tensor, Workspace, WorkspaceKind,
};
use crate::notation::syntax::Protocol;
use crate::notation::typed::{self, Fun, Kind, Map, TensorId, VarId};
use crate::schedule::loops::Loops;
use crate::schedule::order::{Assembly, Question, Target, assembly, choose};
use crate::schedule::protocol;
use crate::schedule::storage::Sizes;
use crate::shape::Classes;
pub use columns::structures;
pub use follow::Copied;
use join::Around;
pub use refuse::refuse;
use rustc_hash::{FxHashMap, FxHashSet};
use schedule::Scheduled;
use std::collections::{BTreeMap, BTreeSet};
use steps::Steps;

/// The longest row that is added up in registers: all of them, of the widest kind, with values of eight bytes.
const LONGEST_ROW: u64 = 256;

/// The concrete program of a typed one, and the copies that its statements read in the place of tensors. Results among `initial`
/// start from what the caller gives; those among `thin` are [thin](typed::Program::thin). Whether they are `held` is as in
/// [`Options::held`](crate::Options::held).
///
/// # Errors
/// What is not lowered yet, each with the construct's name and place.
pub fn concretize(
    program: &typed::Program,
    (classes, sizes): (&Classes, &Sizes),
    mode: Mode,
    (initial, thin): (&BTreeSet<TensorId>, &BTreeSet<TensorId>),
    held: bool,
) -> Result<(Program, Vec<Copied>), Vec<Diagnostic>> {
    let refused = refuse(program);
    if !refused.is_empty() {
        return Err(refused);
    }
    let loops = schedule::loops(program, mode)?;
    let current = vec![None; program.tensors.len()];
    let functions = concrete::plain(&program.functions);
    let mut c = Concretize {
        typed: program,
        classes,
        sizes,
        simplify: Simplify { mode, functions: &functions },
        initial,
        held,
        out: Program { functions: functions.clone(), ..Program::default() },
        current,
        vars: FxHashMap::default(),
        windows: vec![],
        caught: false,
        apart: false,
        missing: vec![],
        asked: vec![],
        copies: follow::Copies::default(),
        formats: program.formats(thin),
        inputs: program.inputs(),
        steps: Steps::new(),
        format: Format::dense(0),
        structures: columns::structures(program),
        walked: FxHashMap::default(),
        scheduled: Scheduled::default(),
        loops,
    };
    c.steps(&program.order);
    c.out.steps = std::mem::replace(&mut c.steps, Steps::new()).finish();
    c.precomputed();
    let copied = c.copied_whole();
    Ok((c.named().numbered(), copied))
}

struct Concretize<'a> {
    typed: &'a typed::Program,
    classes: &'a Classes,
    sizes: &'a Sizes<'a>,
    simplify: Simplify<'a>,
    /// Results that the caller gives initial values of.
    initial: &'a BTreeSet<TensorId>,
    /// As [`Options::held`](crate::Options::held).
    held: bool,
    out: Program,
    /// The version of each tensor that a statement reads: at first, once it is read, the caller's.
    current: Vec<Option<Place>>,
    vars: FxHashMap<VarId, Index>,
    /// The permitted indices so far of the argument of `coalesce` at hand, each with the variable that is within its array.
    windows: Vec<(crate::map::Map<Index>, Index)>,
    /// Whether what is missing here is caught by a `coalesce`, with nothing around it that would have to be missing as well.
    caught: bool,
    /// Whether what is made here is a coordinate: its concatenations are made before it, and it has no windows.
    apart: bool,
    /// Where what has been made of an expression so far is missing, if no window says so.
    missing: Vec<Expr>,
    /// How the statement's schedule wants accesses iterated.
    asked: Vec<protocol::Asked>,
    /// Copies of operands.
    copies: follow::Copies,
    /// The format of what each statement of the program defines.
    formats: Vec<Format>,
    /// What the caller brings.
    inputs: Vec<TensorId>,
    /// What has been made so far.
    steps: Steps,
    /// The table of each operand that is a table's.
    structures: FxHashMap<TensorId, usize>,
    /// Of each table the operand that is walked for all of them.
    walked: FxHashMap<usize, Place>,
    /// The format of what the statement defines.
    format: Format,
    /// The loops of each statement of the program, under its schedule.
    loops: Vec<Loops>,
    /// What the statement's schedule says, and which loops are its.
    scheduled: Scheduled,
}

impl Concretize<'_> {
    fn statement(&mut self, s: &typed::Statement, last: bool) {
        self.asked = protocol::asked(self.typed, s);
        self.copies.begin(s);
        if s.scatters() {
            return self.scattering(s, last);
        }
        if s.is_part() {
            return self.part(s, last);
        }
        let target = s.indices.iter().map(|i| i.bare().expect("refused otherwise"));
        let target: Vec<VarId> = target.inspect(|v| drop(self.loops(*v, &s.rhs))).collect();
        let target: Vec<Index> = target.into_iter().map(|v| self.var(v)).collect();
        // What is read under a variable needs to know whether its loop is split.
        let folded: Vec<Index> = s.folded.iter().flat_map(|v| self.loops(*v, &s.rhs)).collect();
        let mut rhs = self.expr(&s.rhs);
        let tensor = &self.typed.tensors[s.tensor.index()];
        if let Some(fun) = s.fold {
            let before = self.before(s, fun, &target);
            let there = !matches!(before, Expr::Literal(_));
            rhs = match self.gathered(fun, tensor.ty, there) {
                _ if folded.is_empty() => self.simplify.call(fun, vec![before, rhs], tensor.ty),
                Some(_) => {
                    let rhs = Expr::Reduce(fun, folded, Box::new(rhs), tensor.ty);
                    self.simplify.call(fun, vec![before, rhs], tensor.ty)
                }
                None => Expr::Fold(Box::new(Fold { fun, vars: folded, body: rhs, start: Some(before) }), tensor.ty),
            };
        }
        let rhs = self.simplify.simplify(&rhs);
        let place = self.version(s, &target, &rhs, last);
        self.define(place, target, rhs, None);
        self.current[s.tensor.index()] = Some(place);
    }

    /// `T[places] f= e`: with a function whose folds may go in any order, what falls on each place is gathered from the identity on,
    /// then joined with what was there; with any other it is folded into what was there, one value after the other.
    fn scattering(&mut self, s: &typed::Statement, last: bool) {
        let fun = s.fold.expect("what is not under distinct variables accumulates: checked");
        let loops: Vec<Index> = s.vars.iter().chain(&s.folded).flat_map(|v| self.loops(*v, &s.rhs)).collect();
        let tensor = &self.typed.tensors[s.tensor.index()];
        let extents: Vec<ClassId> = tensor.sizes.iter().map(|s| self.classes.class_of_size(*s)).collect();
        let place = |(index, extent): (&typed::Index, &ClassId)| match index.map.gathers() {
            true => Expr::Index(self.computed(index, *extent)),
            false => self.place_of(&index.map),
        };
        let places: Vec<Expr> = s.indices.iter().zip(&extents).map(place).collect();
        // Where a place is missing nothing is added.
        self.missing.clear();
        let rhs = self.expr(&s.rhs);
        let rhs = self.simplify.simplify(&rhs);
        let (ty, name) = (tensor.ty, tensor.name.clone());
        let format = tensor.format.as_ref().map_or_else(|| Format::dense(tensor.sizes.len()), Format::assembled);
        let target = self.modes(&extents);
        let before = self.before(s, fun, &target);
        let there = !matches!(before, Expr::Literal(_));
        let Some(fill) = self.gathered(fun, ty, there) else {
            let place = self.version(s, &target, &before, last);
            let before = before.accesses().first().copied();
            self.scatter((place, target), (fun, places, before), &loops, rhs);
            self.current[s.tensor.index()] = Some(place);
            return;
        };
        let is_identity = |v: Value| self.simplify.same(v, fill);
        let nothing = matches!(&before, Expr::Literal(v) if is_identity(*v)) && tensor.fill.is_some_and(is_identity);
        let place = if nothing && tensor.format.is_some() {
            let place = self.version(s, &target, &before, last);
            self.scatter((place, target), (fun, places, None), &loops, rhs);
            place
        } else {
            let name = format!("{name}_{}", folding(fun));
            let own = self.modes(&extents);
            let made = self.place(Tensor { name, ty, extents, format, fill, role: Role::Temporary });
            self.scatter((made, own), (fun, places, None), &loops, rhs);
            let fallen = Expr::Access(self.out.access(made, target.clone()), ty);
            let rhs = self.simplify.call(fun, vec![before, fallen], ty);
            let place = self.version(s, &target, &rhs, last);
            self.define(place, target, rhs, None);
            place
        };
        self.current[s.tensor.index()] = Some(place);
    }

    /// The value of a statement's tensor before it, under these variables.
    fn before(&mut self, s: &typed::Statement, fun: Fun, target: &[Index]) -> Expr {
        let tensor = &self.typed.tensors[s.tensor.index()];
        if self.current[s.tensor.index()].is_some() || self.initial.contains(&s.tensor) {
            let place = self.reading(s.tensor);
            return Expr::Access(self.out.access(place, target.to_vec()), tensor.ty);
        }
        // What is not declared begins with the function's identity.
        let begin = tensor.fill.or_else(|| self.typed.identity(fun, tensor.ty));
        Expr::Literal(begin.expect("folds have an identity: checked before lowering"))
    }

    /// A new version of a statement's tensor; the last one is the result.
    fn version(&mut self, s: &typed::Statement, target: &[Index], rhs: &Expr, last: bool) -> Place {
        let tensor = &self.typed.tensors[s.tensor.index()];
        let role = match tensor.role {
            typed::Role::Result if last => Role::Result(s.tensor),
            _ => Role::Temporary,
        };
        // What a version that is no result holds its format need have no place for, and turns of blocks exchange versions.
        let made = matches!(role, Role::Result(_)) && self.steps.depth() == 0 && self.format.is_made();
        let format = match made && (self.held || self.format.holds_all()) {
            true => self.format.clone(),
            false => self.format.assembled(),
        };
        // Where the value of what is not stored is not one value, every value that differs from zero is stored.
        let was = || self.current[s.tensor.index()].filter(|_| s.is_part()).map(|p| self.out.tensors[p.0].fill);
        let fill = tensor.fill.or_else(was).or_else(|| self.background(rhs)).unwrap_or(Value::zero(tensor.ty));
        let extents = target.iter().map(|v| self.out.vars[v.0].extent).collect();
        let earlier = role == Role::Temporary && tensor.role == typed::Role::Result;
        let name = if earlier { format!("{}_was", tensor.name) } else { tensor.name.clone() };
        self.place(Tensor { name, ty: tensor.ty, extents, format, fill, role })
    }

    /// The value where nothing is stored, if it is one value.
    fn background(&self, rhs: &Expr) -> Option<Value> {
        self.ground(&self.simplify.replace(rhs, &|a| Some(self.out.tensor(a).fill)))
    }

    /// The program with a name for each extent: the one that people gave it, if it is a name and no other has it.
    fn named(self) -> Program {
        let mut out = self.out;
        let of_tensors = out.tensors.iter().flat_map(|t| t.extents.iter().copied());
        let all: BTreeSet<ClassId> = of_tensors.chain(out.vars.iter().map(|v| v.extent)).collect();
        let mut taken = FxHashSet::default();
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
            // The first version of a local keeps the local's name.
            Role::Temporary => {
                let local = |t: &typed::Tensor| t.role == typed::Role::Local && t.name == tensor.name;
                self.typed.tensors.iter().any(local) && self.out.tensors.iter().all(|t| t.name != tensor.name)
            }
        };
        if !given {
            let given = self.typed.tensors.iter().map(|t| &t.name);
            let taken: FxHashSet<&String> = given.chain(self.out.tensors.iter().map(|t| &t.name)).collect();
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
        self.out.var(name, extent, Origin::Loop)
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
            format: t.format.as_ref().map_or_else(|| Format::dense(t.sizes.len()), Format::stored),
            fill: t.fill.unwrap_or(Value::zero(t.ty)),
            role: Role::Operand(id),
        });
        self.current[id.index()] = Some(place);
        place
    }

    /// A tensor's value under these indices: what a function gives is computed, at the coordinates that they are.
    fn read(&mut self, id: TensorId, indices: &[typed::Index], protocols: BTreeMap<usize, Protocol>) -> Expr {
        let typed = self.typed;
        let typed::Tensor { ty, role, sizes, .. } = &typed.tensors[id.index()];
        let extents = sizes.iter().map(|s| self.classes.class_of_size(*s));
        let under = |c: &mut Self| indices.iter().zip(extents).map(|(i, extent)| c.index(i, extent)).collect();
        if let typed::Role::Computed(f) = role {
            let at: Vec<Index> = under(self);
            return Expr::Call(Fun::User(*f), at.into_iter().map(Expr::Index).collect(), *ty);
        }
        let tensor = self.source(id);
        let vars = under(self);
        let protocols = protocols.into_iter().map(|(mode, protocol)| (mode, Iterated::As(protocol))).collect();
        Expr::Access(self.out.accessed(concrete::Access { tensor, vars, protocols }), *ty)
    }

    fn expr(&mut self, e: &typed::Expr) -> Expr {
        match &e.kind {
            Kind::Literal(v) => Expr::Literal(*v),
            Kind::Index(v) => Expr::Index(self.var(*v)),
            Kind::Size(size) => self.size(*size),
            Kind::Access(t, indices) => self.read(*t, indices, protocol::of(&self.asked, *t, indices)),
            Kind::Call(Fun::Op(Op::Coalesce), args) => self.coalesce(args, e.ty),
            Kind::Call(fun, args) => {
                let args = args.iter().map(|a| self.expr(a)).collect();
                Expr::Call(*fun, args, e.ty)
            }
            Kind::Reduce { fun, vars, body, start } => {
                let start = start.as_ref().map(|s| {
                    let (start, missing) = self.inside(s);
                    self.missing.extend(missing);
                    start
                });
                let vars: Vec<Index> = vars.iter().flat_map(|v| self.loops(*v, body)).collect();
                let (body, missing) = self.inside(body);
                let somewhere = |e| Expr::Reduce(Fun::Op(Op::OrElse), vars.clone(), Box::new(e), Type::Bool);
                self.missing.extend(missing.map(somewhere));
                if self.unordered(*fun, e.ty).is_none() {
                    return Expr::Fold(Box::new(Fold { fun: *fun, vars, body, start }), e.ty);
                }
                // A fold of a fold with the same function is one fold.
                let folded = match body {
                    Expr::Reduce(inner, more, body, ty) if inner == *fun => {
                        Expr::Reduce(inner, [vars, more].concat(), body, ty)
                    }
                    body => Expr::Reduce(*fun, vars, Box::new(body), e.ty),
                };
                match start {
                    Some(start) => Expr::Call(*fun, vec![start, folded], e.ty),
                    None => folded,
                }
            }
            Kind::Slice { body, from, to, start, step, .. } => self.slice((*from, *to), (start, *step), body),
            Kind::Split { body, from, to } => self.split(*from, *to, body),
            Kind::Concat { parts, from, to } => self.concat(parts, from, *to, e.ty),
            Kind::Collapse { body, from, to } => self.collapse(body, from, *to, e.ty),
            Kind::Local(_) => unreachable!("refused otherwise"),
        }
    }

    /// A function's identity, if folding with it may begin with that and go in any order: in strict mode no sum and no product
    /// of floats, and nothing of floats that a program declares.
    fn unordered(&self, fun: Fun, ty: Type) -> Option<Value> {
        let any_order = match fun {
            Fun::Op(op) => {
                let known = properties(op, ty, self.simplify.mode);
                known.commutative && known.associative
            }
            Fun::User(_) => self.simplify.mode == Mode::Algebraic || !ty.is_float(),
        };
        self.out.unordered(fun, ty).filter(|_| any_order)
    }

    /// A function's identity, if what it folds into something may be gathered from that on: it changes nothing. (A `gcd` with
    /// 0 is a magnitude.) A product of floats may overflow where 0 is `there` to be multiplied: it begins with that.
    fn gathered(&self, fun: Fun, ty: Type, there: bool) -> Option<Value> {
        let overflows = fun == Fun::Op(Op::Mul) && ty.is_float() && there;
        self.unordered(fun, ty).filter(|i| !overflows && self.simplify.neutral(fun, *i))
    }

    /// Emits `place[target] = rhs`, with what must come before it.
    fn define(&mut self, place: Place, target: Vec<Index>, rhs: Expr, order: Option<Vec<Index>>) {
        if let Some(nest) = self.mirrored(place, &target, &rhs) {
            return self.emit(nest);
        }
        let rhs = self.taken_in(rhs, &target);
        let rhs = self.turned(rhs, &target, self.out.tensors[place.0].fill);
        let (fold, sums, body) = match rhs {
            Expr::Reduce(fun, vars, body, _) => (Some(fun), vars, *body),
            other => (None, Vec::new(), other),
        };
        let outer: Vec<Index> = target.iter().flat_map(|v| self.out.roots(*v)).chain(sums.iter().copied()).collect();
        let around = fold.map_or(Around::Fill(self.out.tensors[place.0].fill), Around::Fold);
        let body = self.looked_up(body, &outer, around);
        let body = match body {
            // What the result is made of runs in its loops.
            Expr::Fold(fold, ty) => Expr::Fold(Box::new(self.hoist_parts(*fold, &outer)), ty),
            body => self.hoist(body, &outer),
        };
        let copied = fold.is_none().then(|| self.counted(place, &target, &body)).flatten();
        let order = order.or_else(|| self.said(&outer)).or_else(|| copied.clone()).unwrap_or_else(|| {
            let tensor = &self.out.tensors[place.0];
            let target = Target { program: &self.out, format: &tensor.format, fill: tensor.fill, vars: &target };
            self.order(target, &sums, &body)
        });
        let sums = [&sums[..], &self.pieces_of(&sums, &order)].concat();
        let tensor = &self.out.tensors[place.0];
        let how =
            assembly(Target { program: &self.out, format: &tensor.format, fill: tensor.fill, vars: &target }, &order);
        if let (Some(fun), true) = (fold, how != Assembly::Append)
            && !self.starts_as_identity(tensor, fun)
        {
            let sums = sums.into_iter().filter(|v| !self.is_piece(*v)).collect();
            return self.define_through(place, target, Expr::Reduce(fun, sums, Box::new(body.clone()), body.ty()));
        }
        let trailing = order.iter().rev().take_while(|v| sums.contains(v)).count();
        let (order, inner) = order.split_at(order.len() - trailing);
        let order = order.to_vec();
        let mut rhs = body;
        if let (Some(fun), false) = (fold, inner.is_empty()) {
            let ty = rhs.ty();
            rhs = Expr::Reduce(fun, inner.to_vec(), Box::new(rhs), ty);
        }
        let fold = fold.filter(|_| order.iter().any(|v| sums.contains(v)));
        let workspace = match how {
            Assembly::Workspace { .. } if copied.as_ref() == Some(&order) => Some(Workspace::COUNTS),
            Assembly::Workspace { prefix, vars } => {
                let levels = &tensor.format.order[tensor.format.rank() - vars..];
                let extents: Vec<ClassId> = levels.iter().map(|&m| tensor.extents[m]).collect();
                let (kind, apart) = self.sizes.workspace(&extents, fold.is_some());
                Some(Workspace { prefix, kind, apart })
            }
            Assembly::InPlace => self.row(place, &target, &order, &rhs),
            Assembly::Append => None,
        };
        let target = concrete::Access::of(place, target);
        self.emit(Nest { target, order, fold, rhs, workspace, places: None, before: None, both: None });
    }

    /// The cheapest order of loops; the parts of one that a command has split stand in its place.
    fn order(&self, target: Target, sums: &[Index], body: &Expr) -> Vec<Index> {
        let (program, classes, simplify) = (&self.out, self.classes, self.simplify);
        let question = Question { program, target, sums, body, classes, simplify };
        let Some((program, parts)) = self.unsplit() else { return choose(&question) };
        let whole = |v: &Index| parts.iter().find(|(_, parts)| parts.contains(v)).map_or(*v, |(whole, _)| *whole);
        let mut sums: Vec<Index> = sums.iter().map(whole).collect();
        sums.dedup();
        let target = Target { program: &program, ..target };
        let order = choose(&Question { program: &program, target, sums: &sums, ..question });
        let of = |v: &Index| parts.iter().find(|(whole, _)| whole == v).map_or(vec![*v], |(_, parts)| parts.clone());
        order.iter().flat_map(of).collect()
    }

    /// A nest whose accesses are made such that its loops can follow them.
    fn emit(&mut self, mut nest: Nest) {
        let rhs = self.follow(nest.rhs, &mut nest.order);
        let rhs = self.spread(rhs, &mut nest.order);
        self.note_reads(&rhs);
        self.make_copies(&rhs);
        let rhs = self.simplify.simplify(&rhs);
        // A copy is made of a tensor's own levels.
        nest.rhs = if matches!(rhs, Expr::Access(..)) { rhs } else { self.beside(rhs) };
        self.steps.nest(nest);
    }

    /// A variable for each mode of a scatter's target.
    fn modes(&mut self, extents: &[ClassId]) -> Vec<Index> {
        extents.iter().enumerate().map(|(m, e)| self.fresh(format!("m{m}"), *e)).collect()
    }

    /// Emits a scatter: `place[places] f= rhs`, the places being functions of `loops`, into what was there `before`: the tensor's
    /// fill where there was nothing. What is not gathered comes in the order of the loops as they are given.
    fn scatter(
        &mut self,
        (place, vars): (Place, Vec<Index>),
        (fun, places, before): (Fun, Vec<Expr>, Option<AccessId>),
        loops: &[Index],
        rhs: Expr,
    ) {
        let body = self.hoist(rhs, loops);
        let tensor = self.out.tensors[place.0].clone();
        let gathers = self.gathered(fun, tensor.ty, before.is_some()).is_some();
        let said = self.said(loops);
        let nowhere = Target { program: &self.out, format: &Format::dense(0), fill: tensor.fill, vars: &[] };
        let order = match said {
            Some(said) => said,
            None if gathers => self.order(nowhere, loops, &body),
            None => loops.to_vec(),
        };
        let located = tensor.format.levels.iter().all(|k| k.is_located());
        let workspace = (!located).then(|| {
            // What a hashed one gives up to find is folded in behind what came later.
            let (kind, apart) = self.sizes.workspace(&tensor.extents, gathers);
            Workspace { prefix: 0, kind, apart }
        });
        let target = concrete::Access::of(place, vars);
        self.emit(Nest {
            target,
            order,
            fold: Some(fun),
            rhs: body,
            workspace,
            places: Some(places),
            before,
            both: None,
        });
    }

    /// An index map as an expression.
    fn place_of(&mut self, map: &Map) -> Expr {
        let int = |x: i64| Expr::Literal(Value::i64(x));
        let call = |op, a, b| Expr::Call(Fun::Op(op), vec![a, b], Type::I64);
        match map {
            Map::Var(v) => Expr::Index(self.var(*v)),
            Map::Const(c) => int(*c),
            Map::Bound(bound) => self.bound(bound),
            Map::Add(a, b) => call(Op::Add, self.place_of(a), self.place_of(b)),
            Map::Mul(c, a) => call(Op::Mul, int(*c), self.place_of(a)),
            Map::Div(a, c) => call(Op::FloorDiv, self.place_of(a), int(*c)),
            Map::Mod(a, c) => call(Op::FloorRem, self.place_of(a), int(*c)),
            Map::Gather(t, indices) => integer(self.read(*t, indices, BTreeMap::new())),
            Map::Computed(e) => {
                // No window stands in a coordinate: what may be missing below it is tested.
                let around = std::mem::replace(&mut self.apart, true);
                let (value, missing) = self.inside(e);
                self.apart = around;
                debug_assert!(missing.is_none(), "what is missing in a computed index is caught: checked");
                integer(value)
            }
        }
    }

    /// The loops of a nest that copies what is stored column by column of the result, a matrix or a vector that is split into
    /// columns, into `{dense, compressed}`: each of its entries comes once, and those of a row in the order of the row. `None` of any
    /// other nest.
    fn counted(&self, place: Place, target: &[Index], rhs: &Expr) -> Option<Vec<Index>> {
        let Expr::Access(a, _) = rhs else { return None };
        let (to, from) = (&self.out.tensors[place.0], self.out.tensor(*a));
        let levels = |format: &Format, vars: &[Index]| format.order.iter().map(|&m| vars[m]).collect::<Vec<_>>();
        let mut columns = levels(&to.format, target);
        columns.reverse();
        let loops = |v: &Index| self.out.vars[v.0].origin == Origin::Loop;
        let read = levels(&from.format, &self.out.accesses[a.0].vars);
        let split = || matches!(read[..], [v] if self.is_split(v, &columns));
        let copies = columns.iter().all(loops)
            && matches!(to.format.levels[..], [rows, columns] if rows.is_full() && columns.is_plain())
            && self.simplify.same(to.fill, from.fill)
            && (read == columns || split())
            && from.format.levels.last().is_some_and(|kind| kind.is_list());
        copies.then_some(columns)
    }

    /// The workspace of sums that run around the innermost loop, over a row of the result that is short, dense, and
    /// visited at once: added up in registers, it is written once.
    fn row(&self, place: Place, target: &[Index], order: &[Index], rhs: &Expr) -> Option<Workspace> {
        let tensor = &self.out.tensors[place.0];
        let levels: Vec<Index> = tensor.format.order.iter().map(|&m| target[m]).collect();
        let (row, rows) = levels.split_last()?;
        let short = self.classes.value(self.out.vars[row.0].extent).is_some_and(|n| n <= LONGEST_ROW);
        let dense = tensor.format.is_dense();
        // Under a mapped variable no loops are together.
        let together = order.starts_with(rows) && order.last() == Some(row);
        let located = |a: &AccessId| {
            let access = &self.out.accesses[a.0];
            let format = &self.out.tensor(*a).format;
            let along = |l: usize| self.out.follows(self.out.level_var(access, l), *row);
            (0..format.rank()).all(|l| !along(l) || format.levels[l].is_located())
        };
        let always = rhs.accesses().iter().all(located);
        (short && dense && together && always).then_some(Workspace {
            prefix: rows.len(),
            kind: WorkspaceKind::Row,
            apart: false,
        })
    }

    /// Whether what a fold has not reached is what the tensor holds there.
    fn starts_as_identity(&self, tensor: &Tensor, fun: Fun) -> bool {
        tensor.format.is_dense()
            || self.simplify.begins(fun, tensor.ty).is_some_and(|i| self.simplify.same(i, tensor.fill))
    }

    /// A fold whose identity is not the fill: made with the identity as fill, then copied.
    fn define_through(&mut self, place: Place, target: Vec<Index>, rhs: Expr) {
        let tensor = self.out.tensors[place.0].clone();
        let Expr::Reduce(fun, ..) = rhs else { unreachable!("only folds have an identity") };
        let fill = self.simplify.begins(fun, tensor.ty).expect("folds have an identity: checked before lowering");
        let name = format!("{}_fold", tensor.name);
        let made = self.place(Tensor { name, fill, role: Role::Temporary, ..tensor });
        self.define(made, target.clone(), rhs, None);
        let ty = self.out.tensors[made.0].ty;
        // The copy needs no loops of which its variables are functions.
        let mapped = target.iter().any(|v| self.out.vars[v.0].origin != Origin::Loop);
        let own = |c: &mut Self, v: Index| {
            let concrete::Var { name, extent, .. } = c.out.vars[v.0].clone();
            c.fresh(name, extent)
        };
        let target = if mapped { target.into_iter().map(|v| own(self, v)).collect() } else { target };
        let copy = Expr::Access(self.out.access(made, target.clone()), ty);
        self.define(place, target, copy, None);
    }
}

/// An integer as an `i64`.
fn integer(e: Expr) -> Expr {
    match e.ty() {
        Type::I64 => e,
        _ => Expr::Call(Fun::Op(Op::Convert(Type::I64)), vec![e], Type::I64),
    }
}

/// What a temporary that a function folds is called for it.
fn folding(fun: Fun) -> &'static str {
    match fun {
        Fun::Op(op) => concrete::reduction_name(op),
        Fun::User(_) => "fold",
    }
}

/// The name, or the first of `name_2`, `name_3`, … that is not taken.
fn distinct(name: &str, taken: impl Fn(&String) -> bool) -> String {
    let names = (2..).map(|n| format!("{name}_{n}"));
    std::iter::once(name.to_string()).chain(names).find(|name| !taken(name)).expect("there are names enough")
}
