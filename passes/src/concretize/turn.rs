//! Lists under computed coordinates: their entries are walked, and an inverse of the coordinate says where each is read.
//!
//! ```text
//!  R[i,j] = A[i, P[j]] * x[j]                    each j asks each row of A
//!    ─▶  inverse[P[j], j] any= true              per coordinate of A, where it is read
//!        R[i,j] = sum(k: select(inverse[k,j], A[i,k] * x[j], 0))
//!
//!  R[i] = v[9 - i]                               each i asks v
//!    ─▶  v_r[9 - k] += v[k];   R[i] = v_r[i]
//! ```
//!
//! Applies where loops visit their whole extents only because no list bounds them, and where the list's missing entries add nothing. A
//! term that such a sum adds is joined with the fold's initial value, which must be the identity. In strict mode 0 is no identity of sums
//! of floats.

use super::Concretize;
use super::draft::Draft;
use super::given::Given;
use super::mirror::is_arithmetic;
use super::out::Out;
use crate::schedule::order;
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::format::{Format, LevelKind};
use fiberloom_core::iteration::{Sequence, Simplify, background};
use fiberloom_core::map::ClassId;
use fiberloom_core::notation::concrete::{
    Access, AccessId, Assign, Computed, Expr, Index, Onto, Origin, Place, Program, Role, Tensor,
};
use fiberloom_core::notation::typed::Fun;

/// The surroundings of a nest's value: its loops, its fold, and the result's fill value.
struct Nested<'a> {
    loops: &'a [Index],
    fold: Option<Fun>,
    fill: Value,
}

/// A coordinate `base + factor * of`, where no loop moves `base`.
struct Line {
    base: Expr,
    factor: i64,
    of: Index,
}

/// The statement with lists walked that each iteration of a loop would search.
pub(super) fn turned(s: Draft, c: &mut Concretize) -> Draft {
    if !c.scheduled.is_bare() || !c.columns.is_empty() {
        return s;
    }
    let (loops, fill) = (s.loops(&c.out), c.out.tensors[s.place.0].fill);
    let rhs = turned_in(s.rhs, &Nested { loops: &loops, fold: s.assign.fold(), fill }, c);
    match rhs {
        Expr::Reduce(inner, more, rhs, _) if s.assign == Assign::Fold(inner) => {
            Draft { sums: [s.sums, more].concat(), rhs: *rhs, ..s }
        }
        rhs => Draft { rhs, ..s }.opened(),
    }
}

/// The program so far, with its extents and the algebra of its functions.
#[derive(Clone, Copy)]
pub(super) struct View<'s> {
    pub program: &'s Program,
    pub given: Given<'s>,
}

impl View<'_> {
    /// A view of the program so far.
    pub fn of<'s>(c: &'s Concretize) -> View<'s> {
        View { program: &c.out, given: c.given }
    }

    /// The accesses whose lists, under a computed coordinate of loops over whole extents, can be walked instead of searched, if that
    /// pays.
    fn turns(self, body: &Expr, w: Index, nested: &Nested) -> Option<Vec<AccessId>> {
        let of = self.program.made_of(w);
        let loops = !of.is_empty() && of.iter().all(|v| nested.loops.contains(v));
        let under: Vec<AccessId> = body.accesses().into_iter().filter(|a| self.is_short_under(*a, w)).collect();
        if !loops || under.is_empty() || !under.iter().all(|a| self.may_turn(*a, w, &of)) {
            return None;
        }
        // Inverts an index that every row reads. One that is read once is inverted only if no list has to be built.
        let above = under.iter().any(|a| self.is_in_rows(*a, w)) && !self.are_few(&of);
        let pays = above || self.line(w).is_some() && self.are_vectors(&under);
        // A read index may end the program where it leaves its tensor: then every iteration has to read it.
        let always = || is_arithmetic(body) && body.accesses().iter().all(|a| under.contains(a) || self.is_located(*a));
        let worth = pays && (!self.may_end(w) || always()) && of.iter().all(|v| self.visits_all(body, *v));
        (worth && self.joined(body, &under, nested).is_some()).then_some(under)
    }

    /// Whether a coordinate ends the program where it leaves its tensor.
    fn may_end(self, w: Index) -> bool {
        self.program.computed(w).is_some_and(|c| c.is_read() && !c.permit)
    }

    /// Whether a fiber of the access's level under a coordinate is short, so that it is walked rather than asked.
    fn is_short_under(self, a: AccessId, w: Index) -> bool {
        let (access, format) = (&self.program.accesses[a.0], &self.program.tensor(a).format);
        (0..format.rank()).any(|l| self.program.level_var(access, l) == w && format.levels[l].is_short())
    }

    /// Whether an access can be walked instead of searched: its levels are short or located, and no other coordinate depends on the same
    /// loops.
    fn may_turn(self, a: AccessId, w: Index, of: &[Index]) -> bool {
        let (access, format) = (&self.program.accesses[a.0], &self.program.tensor(a).format);
        let once = access.vars.iter().filter(|v| **v == w).count() == 1;
        let apart = |v: &Index| *v == w || of.iter().all(|u| !self.program.follows(*v, *u));
        let plain = format.levels.iter().all(|kind| kind.is_short() || kind.is_located());
        once && plain && access.protocols.is_empty() && access.vars.iter().all(apart)
    }

    /// Whether a loop moves a level above the coordinate's.
    fn is_in_rows(self, a: AccessId, w: Index) -> bool {
        let access = &self.program.accesses[a.0];
        let levels = (0..access.vars.len()).map(|l| self.program.level_var(access, l));
        levels.take_while(|v| *v != w).any(|v| !self.program.roots(v).is_empty())
    }

    /// Whether these are vectors that a scatter can fill: a function joins its values with the fill.
    fn are_vectors(self, under: &[AccessId]) -> bool {
        let mut tensors = under.iter().map(|a| self.program.tensor(*a));
        tensors.all(|t| t.format.rank() == 1 && self.given.joins(t.fill).is_some())
    }

    fn is_located(self, a: AccessId) -> bool {
        self.program.tensor(a).format.levels.iter().all(|kind| kind.is_located())
    }

    /// Whether loops have few iterations together, as far as the program says: that many searches of a row cost less than walking it.
    pub fn are_few(self, loops: &[Index]) -> bool {
        order::are_few(self.program, self.given.classes, loops)
    }

    /// Whether a loop visits its whole extent: the lists over it do not bound it.
    pub fn visits_all(self, body: &Expr, v: Index) -> bool {
        let along = |a: &AccessId| {
            let (access, format) = (&self.program.accesses[a.0], &self.program.tensor(*a).format);
            let over = |l: usize| self.program.binds(v, self.program.level_var(access, l), |_| true);
            (0..format.rank()).any(|l| format.levels[l].is_short() && over(l))
        };
        let lists: Vec<AccessId> = body.accesses().into_iter().filter(along).collect();
        let (sequence, rest) = background(body, &lists, &|a| self.program.tensor(a).fill, self.given.simplify);
        sequence == Sequence::Full || !matches!(rest, Expr::Literal(_))
    }

    /// The value where these accesses have no entry, and a function whose identity it is; `None` if it adds something to the result.
    fn joined(self, body: &Expr, under: &[AccessId], nested: &Nested) -> Option<(Value, Fun)> {
        let fill = |a: AccessId| under.contains(&a).then(|| self.program.tensor(a).fill);
        let Expr::Literal(nothing) = self.given.simplify.replace(body, &fill) else { return None };
        match nested.fold {
            Some(fun) => self.given.begins_with(fun, nothing).then_some((nothing, fun)),
            None => {
                let fun = self.given.joins(nothing)?;
                self.given.simplify.same(nothing, nested.fill).then_some((nothing, fun))
            }
        }
    }

    /// A computed coordinate as a line over one loop, if it is one.
    fn line(self, w: Index) -> Option<Line> {
        let (base, moved) = self.linear(&self.program.computed(w)?.of)?;
        let (of, factor) =
            moved.filter(|(of, factor)| *factor != 0 && self.program.vars[of.0].origin == Origin::Loop)?;
        Some(Line { base, factor, of })
    }

    /// An expression as a part that no loop moves, and a multiple of an index variable.
    fn linear(self, e: &Expr) -> Option<(Expr, Option<(Index, i64)>)> {
        let zero = || Expr::Literal(Value::i64(0));
        let call = |op, a, b| self.given.simplify.simplify(&Expr::Call(Fun::Op(op), vec![a, b], Type::I64));
        match e {
            Expr::Literal(_) => Some((e.clone(), None)),
            Expr::Index(v) if self.program.roots(*v).is_empty() => Some((e.clone(), None)),
            Expr::Index(v) => Some((zero(), Some((*v, 1)))),
            Expr::Call(Fun::Op(Op::Add), args, _) => {
                let ((a, i), (b, j)) = (self.linear(&args[0])?, self.linear(&args[1])?);
                (i.is_none() || j.is_none()).then(|| (call(Op::Add, a, b), i.or(j)))
            }
            Expr::Call(Fun::Op(Op::Mul), args, _) => {
                let Expr::Literal(n) = &args[0] else { return None };
                let (base, moved) = self.linear(&args[1])?;
                let by = i64::try_from(n.as_i128()?).ok()?;
                let moved = match moved {
                    Some((v, factor)) => Some((v, factor.checked_mul(by)?)),
                    None => None,
                };
                Some((call(Op::Mul, args[0].clone(), base), moved))
            }
            _ => None,
        }
    }
}

fn turned_in(body: Expr, nested: &Nested, c: &mut Concretize) -> Expr {
    let view = View::of(c);
    let all = body.accesses().into_iter().flat_map(|a| view.program.accesses[a.0].vars.clone());
    let mut coordinates: Vec<Index> =
        all.filter(|w| view.program.computed(*w).is_some_and(|c| !c.caught && !body.has_loops())).collect();
    coordinates.sort();
    coordinates.dedup();
    let turned = coordinates.into_iter().find_map(|w| Some((w, view.turns(&body, w, nested)?)));
    match turned {
        Some((w, under)) => match view.line(w).filter(|_| view.are_vectors(&under)) {
            Some(line) => under.into_iter().fold(body, |body, a| reversed(body, a, &line, c)),
            None => inverted(body, (w, &under), nested, c),
        },
        None => body,
    }
}

/// The body with a vector replaced by a copy whose entries are at the loop's own coordinates.
fn reversed(body: Expr, a: AccessId, line: &Line, c: &mut Concretize) -> Expr {
    let Access { tensor: from, .. } = c.out.accesses[a.0].clone();
    let tensor = c.out.tensors[from.0].clone();
    let extent = c.out.vars[line.of.0].extent;
    let (name, format) = (format!("{}_r", tensor.name), Format::of(vec![LevelKind::Compressed]));
    let made = Tensor { name, extents: vec![extent], format, role: Role::Temporary, ..tensor.clone() };
    let (made, own, target) = (c.out.place(made), c.out.modes(&tensor.extents), c.out.modes(&[extent]));
    let at = where_it_is_read(line, own[0], extent, &mut c.out, c.given.simplify);
    let rhs = c.out.read(from, own.clone());
    // Like every copy it is filled before the blocks that do not change its source.
    let inner = c.steps.leave(from);
    let join = c.given.joins(tensor.fill).expect("looked at before");
    let to = (vec![Expr::Index(at)], Onto::Fill(join));
    c.scatter(Draft::scatter(made, target, own, to, rhs));
    c.steps.enter_again(inner);
    let read = c.out.read(made, vec![line.of]);
    body.map_accesses(&mut |b, ty| if b == a { read.clone() } else { Expr::Access(b, ty) })
}

/// The `i` at which a line reaches a coordinate. The index is permitted, as there may be none.
fn where_it_is_read(line: &Line, coordinate: Index, extent: ClassId, out: &mut Out, simplify: Simplify) -> Index {
    let call = |op, a, b| Expr::Call(Fun::Op(op), vec![a, b], Type::I64);
    let number = |n: i64| Expr::Literal(Value::i64(n));
    let (base, coordinate) = (line.base.clone(), Expr::Index(coordinate));
    let distance = match line.factor < 0 {
        true => call(Op::Sub, base, coordinate),
        false => call(Op::Sub, coordinate, base),
    };
    let step = number(line.factor.saturating_abs());
    let of = if line.factor.unsigned_abs() == 1 {
        distance
    } else {
        let rest = call(Op::FloorRem, distance.clone(), step.clone());
        let there = Expr::Call(Fun::Op(Op::Eq), vec![rest, number(0)], Type::Bool);
        let whole = call(Op::FloorDiv, distance, step);
        Expr::Call(Fun::Op(Op::Select), vec![there, whole, number(-1)], Type::I64)
    };
    let of = simplify.simplify(&of);
    out.at(extent, Origin::Computed(Box::new(Computed { of, permit: true, caught: false })))
}

/// A sum over the coordinate's own values, under the inverse that says where each is read.
fn inverted(body: Expr, (w, under): (Index, &[AccessId]), nested: &Nested, c: &mut Concretize) -> Expr {
    let (nothing, join) = View::of(c).joined(&body, under, nested).expect("looked at before");
    let extent = c.out.vars[w.0].extent;
    let mut of = c.out.made_of(w);
    of.sort();
    of.dedup();
    let others = nested.loops.iter().filter(|v| !of.contains(v)).map(|v| c.out.vars[v.0].extent);
    let others: Vec<ClassId> = if View::of(c).may_end(w) { others.collect() } else { vec![] };
    let inverse = inverse(w, &of, &others, c);
    let name = c.out.unused("k");
    let k = c.out.fresh(name, extent);
    let body = body.map_accesses(&mut |a, ty| {
        let mut access = c.out.accesses[a.0].clone();
        if under.contains(&a) {
            access.vars.iter_mut().filter(|v| **v == w).for_each(|v| *v = k);
        }
        Expr::Access(c.out.accessed(access), ty)
    });
    let ty = body.ty();
    let read = c.out.read(inverse, [&[k][..], &of].concat());
    let value = Expr::Call(Fun::Op(Op::Select), vec![read, body, Expr::Literal(nothing)], ty);
    Expr::Reduce(join, vec![k], Box::new(value), ty)
}

/// Per value of a coordinate, the iterations of these loops that read it, provided that the loops `others` have any iteration.
pub(super) fn inverse(w: Index, loops: &[Index], others: &[ClassId], c: &mut Concretize) -> Place {
    let extent = c.out.vars[w.0].extent;
    let of = loops.iter().map(|v| c.out.vars[v.0].extent);
    let extents: Vec<ClassId> = [extent].into_iter().chain(of).collect();
    let mut levels = vec![LevelKind::Compressed; extents.len()];
    if !c.given.sizes.wide(extent) {
        levels[0] = LevelKind::Dense;
    }
    let (name, fill, format) = ("inverse".to_string(), Value::bool(false), Format::of(levels));
    let tensor = Tensor { name, ty: Type::Bool, extents: extents.clone(), format, fill, role: Role::Temporary };
    let place = c.out.place(tensor);
    c.out.inverses.insert(place);
    let mut fresh = c.scheduled.fresh_loops(loops, &mut c.out);
    let at = c.out.renamed(w, &mut fresh);
    let own: Vec<Index> = loops.iter().map(|v| fresh[v]).collect();
    let places = [at].iter().chain(&own).map(|v| Expr::Index(*v)).collect();
    let target = c.out.modes(&extents);
    let there = others
        .iter()
        .fold(Expr::Literal(Value::bool(true)), |there, class| where_some(*class, there, &mut c.out, c.given.simplify));
    let to = (places, Onto::Fill(Fun::Op(Op::OrElse)));
    c.scatter(Draft::scatter(place, target, own, to, there));
    place
}

/// A truth value where an extent is not 0, else false.
fn where_some(class: ClassId, there: Expr, out: &mut Out, simplify: Simplify) -> Expr {
    let extent = out.extent(class);
    let some = Expr::Call(Fun::Op(Op::Gt), vec![extent, Expr::Literal(Value::i64(0))], Type::Bool);
    let there = Expr::Call(Fun::Op(Op::Select), vec![some, there, Expr::Literal(Value::bool(false))], Type::Bool);
    simplify.simplify(&there)
}
