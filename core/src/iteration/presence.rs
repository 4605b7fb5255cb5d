//! Presence: whether lists or every coordinate of an index variable determine where an expression has a value.
//!
//! ```text
//!  A csr, B csr, X and b dense       i        j
//!  2 * A[i,j]                        Spare    Listed    a row may have no entry; its columns are a list
//!  sum(k: A[i,k] * B[k,j])           Spare    Listed
//!  sum(k: A[i,k] * X[k,j])           Spare    All       each row that has an entry is full
//!  A[i,j] + b[j]                     All      All
//! ```
//!
//! The sequence expression of a statement's right side along one variable (sequence.rs), over the levels that the variable moves. A union
//! takes the greater of two presences, an intersection the smaller.

use super::along::mentions;
use super::{Sequence, Simplify, background, literal};
use crate::algebra::{Mode, Op, Value};
use crate::format::{Format, LevelKind};
use crate::notation::concrete::{self, AccessId};
use crate::notation::typed::{self, Fun, Index, Kind, Program, Role, Statement, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Where along a variable there is a value, in ascending order of presence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Presence {
    /// At no coordinate.
    Nowhere,
    /// At the entries of a list that is its operand's outermost level.
    Led,
    /// At the entries of a list below other levels.
    Listed,
    /// At each coordinate, in runs: there are fewer values than coordinates.
    Runs,
    /// At coordinates of a level with a place for each, where lists below it may have no entry.
    Spare,
    /// At each coordinate.
    All,
}

/// An access of a right side.
struct Read<'a> {
    indices: &'a [Index],
    /// The format before the statement; `None` for computed tensors and those that no list stores.
    format: Option<&'a Format>,
    fill: Option<Value>,
    /// Lists that a sum intersects with one of the lists of this access.
    met: Vec<AccessId>,
}

/// A statement's right side, and its reads.
pub(super) struct Presences<'a> {
    program: &'a Program,
    statement: &'a Statement,
    reads: Vec<Read<'a>>,
    /// Variables that shape operators bind, each with the variables that the operator leaves.
    left: Vec<(VarId, VarId)>,
}

impl<'a> Presences<'a> {
    /// The right side of a statement before which tensors have these formats and fill values.
    pub fn of(
        program: &'a Program,
        statement: &'a Statement,
        formats: &'a [Option<Format>],
        fills: &[Option<Value>],
    ) -> Presences<'a> {
        let (mut reads, mut left) = (vec![], vec![]);
        statement.rhs.walk(&mut |e| match &e.kind {
            Kind::Access(tensor, indices) => {
                let of = &program.tensors[tensor.index()];
                let computed = matches!(of.role, Role::Computed(_));
                let format = formats[tensor.index()].as_ref().filter(|_| !computed);
                let fill = fills[tensor.index()].filter(|_| format.is_some());
                reads.push(Read { indices, format, fill, met: vec![] });
            }
            Kind::Slice { from, to, .. } => left.push((*from, *to)),
            Kind::Split { from, to, .. } => left.extend([(*from, to.0), (*from, to.1)]),
            Kind::Collapse { from, to, .. } | Kind::Concat { from, to, .. } => {
                left.extend(from.iter().map(|v| (*v, *to)))
            }
            _ => {}
        });
        let mut presences = Presences { program, statement, reads, left };
        presences.meet();
        presences
    }

    /// Records the lists that sums intersect.
    fn meet(&mut self) {
        let mut summed = vec![];
        let mut first = 0;
        self.statement.rhs.walk(&mut |e| match &e.kind {
            Kind::Access(..) => first += 1,
            Kind::Reduce { vars, body, .. } => summed.extend(vars.iter().map(|v| (*v, &**body, first))),
            _ => {}
        });
        for (v, body, first) in summed {
            let along = Along { of: self, vars: self.within(v), places: &FxHashMap::default() };
            let is_list =
                |a: &AccessId| along.read(&self.reads[a.0]).is_some_and(|decides| decides <= Presence::Listed);
            let mut met = along.sequence(body, first).0.intersections();
            met.iter_mut().for_each(|lists| lists.retain(is_list));
            for lists in met {
                for a in &lists {
                    let others = lists.iter().filter(|b| *b != a);
                    self.reads[a.0].met.extend(others);
                }
            }
        }
    }

    /// A variable, and the variables that shape operators bind to it.
    fn within(&self, v: VarId) -> FxHashSet<VarId> {
        let mut all = FxHashSet::from_iter([v]);
        // A variable that an operator binds comes after those that the operator leaves.
        for _ in 0..self.left.len() {
            let more: Vec<VarId> = self.left.iter().filter(|(_, to)| all.contains(to)).map(|(from, _)| *from).collect();
            if more.iter().filter(|from| all.insert(**from)).count() == 0 {
                break;
            }
        }
        all
    }

    /// The place in an order of the left side's variable that an operand's variable becomes.
    fn place(&self, v: VarId, order: &[VarId]) -> Option<usize> {
        order.iter().position(|to| *to == v || self.within(*to).contains(&v))
    }

    /// The statement's variables in the order in which the operands store them, if all agree; else in the order of the left side.
    pub fn order(&self) -> Vec<VarId> {
        let vars = &self.statement.vars;
        let mut before: FxHashSet<(VarId, VarId)> = FxHashSet::default();
        for Read { indices, format, .. } in &self.reads {
            let Some(format) = format.filter(|f| !f.is_dense()) else { continue };
            let levels = format.order.iter().filter_map(|m| self.mover(&indices[*m]));
            let levels: Vec<VarId> = levels.map(|v| self.place(v, vars).map_or(v, |n| vars[n])).collect();
            before.extend(levels.windows(2).filter(|pair| pair[0] != pair[1]).map(|pair| (pair[0], pair[1])));
        }
        loop {
            let through = |(a, b): &(VarId, VarId)| {
                let (a, b) = (*a, *b);
                before.iter().filter(move |(from, _)| *from == b).map(move |(_, to)| (a, *to))
            };
            let more: Vec<_> = before.iter().flat_map(through).filter(|pair| !before.contains(pair)).collect();
            if more.is_empty() {
                break;
            }
            before.extend(more);
        }
        if vars.iter().any(|v| before.contains(&(*v, *v))) {
            return vars.clone();
        }
        let (mut order, mut rest) = (vec![], vars.clone());
        while !rest.is_empty() {
            let first = rest.iter().position(|v| !rest.iter().any(|u| before.contains(&(*u, *v))));
            order.push(rest.remove(first.unwrap_or(0)));
        }
        order
    }

    /// The variable that alone moves an index: that of a line, or of the left side the only one that is mentioned.
    fn mover(&self, index: &Index) -> Option<VarId> {
        let line = index.line().and_then(|line| line.var).map(|(v, _)| v);
        let mut mentioned = self.statement.vars.iter().copied().filter(|v| mentions(index, *v));
        line.or_else(|| mentioned.next().filter(|_| mentioned.next().is_none()))
    }

    /// Whether the right side reads a tensor whose format satisfies `such`.
    pub fn read(&self, such: impl Fn(&Format) -> bool) -> bool {
        self.reads.iter().filter_map(|read| read.format).any(such)
    }

    /// The value of the right side where nothing is stored, if it is known.
    pub fn elsewhere(&self) -> Option<Value> {
        let mut values = self.statement.vars.iter().map(|v| self.along(*v, &self.statement.vars).1);
        let first = values.next()??;
        values.all(|value| value == Some(first)).then_some(first)
    }

    /// The presence along a variable of the left side, where the result stores its variables in this order; and the value elsewhere, if
    /// it is a constant.
    pub fn along(&self, v: VarId, order: &[VarId]) -> (Presence, Option<Value>) {
        let placed = |(from, _): &(VarId, VarId)| Some((*from, self.place(*from, order)?));
        let places = order.iter().copied().enumerate().map(|(n, v)| (v, n)).chain(self.left.iter().filter_map(placed));
        let along = Along { of: self, vars: self.within(v), places: &places.collect() };
        let body = along.body(&self.statement.rhs, &mut 0);
        let apart = along.apart(&body);
        let at_some = if apart == body { Presence::Nowhere } else { Presence::Spare };
        let (sequence, elsewhere) = along.background(&apart);
        if is_moved(&elsewhere) {
            return (Presence::All, None);
        }
        let is = |every: bool| if every { Presence::All } else { Presence::Nowhere };
        let here = &mut |a: AccessId| along.read(&self.reads[a.0]).unwrap_or(Presence::All);
        let presence = sequence.fold(here, &is, &mut Presence::min, &mut Presence::max).max(at_some);
        // The inner part of a split begins again in each outer part.
        let inner = |e: &typed::Expr| matches!(&e.kind, Kind::Split { to, .. } if along.vars.contains(&to.1));
        let mut is_inner = false;
        self.statement.rhs.walk(&mut |e| is_inner |= inner(e));
        let presence = if presence == Presence::Led && is_inner { Presence::Listed } else { presence };
        (presence, literal(&elsewhere))
    }
}

/// A right side along some variables.
struct Along<'a> {
    of: &'a Presences<'a>,
    vars: FxHashSet<VarId>,
    /// The place at which the result stores each variable, outermost first.
    places: &'a FxHashMap<VarId, usize>,
}

impl Along<'_> {
    /// Where an expression can differ from its background, and the background. The expression's first access has the number `first`.
    fn sequence(&self, e: &typed::Expr, mut first: usize) -> (Sequence, concrete::Expr) {
        self.background(&self.body(e, &mut first))
    }

    /// The expression where its variables have other values than an equality asks for: `x[i]` of `if i == j then 0 else x[i]`, along j. An
    /// equality of one of them with other variables of the left side holds at one coordinate at most.
    fn apart(&self, body: &concrete::Expr) -> concrete::Expr {
        let own = |v: &concrete::Index| self.vars.iter().any(|u| u.index() == v.0);
        let other = |v: &concrete::Index| self.of.statement.vars.iter().any(|u| u.index() == v.0);
        let holds_once = |e: &concrete::Expr| {
            let concrete::Expr::Call(Fun::Op(Op::Eq), sides, _) = e else { return false };
            let vars = line(&sides[0]).zip(line(&sides[1])).map(|(a, b)| [a, b].concat()).unwrap_or_default();
            vars.iter().filter(|v| own(v)).count() == 1 && vars.iter().all(|v| own(v) || other(v))
        };
        body.clone().settled(&|e| holds_once(e).then_some(Value::bool(false)))
    }

    /// Where a body with numbered accesses can differ from its background, and the background.
    fn background(&self, body: &concrete::Expr) -> (Sequence, concrete::Expr) {
        let simplify = Simplify { mode: Mode::Algebraic, functions: &self.of.program.functions };
        let is_list = |a: &AccessId| {
            let read = &self.of.reads[a.0];
            read.fill.is_some() && self.read(read).is_some()
        };
        let lists: Vec<AccessId> = (0..self.of.reads.len()).map(AccessId).filter(is_list).collect();
        let fill = |a: AccessId| self.of.reads[a.0].fill.expect("a list has a fill value");
        background(body, &lists, &fill, simplify)
    }

    /// The expression with its accesses numbered. Shape operators move no coordinate out of a list.
    fn body(&self, e: &typed::Expr, next: &mut usize) -> concrete::Expr {
        use concrete::Expr;
        let opaque = |v: VarId| Expr::Index(concrete::Index(v.index()));
        // One of several values; where they differ, it is unknown which.
        let either = |a: Expr, b: Expr| Expr::Call(Fun::Op(Op::Select), vec![Expr::Index(ANY), a, b], e.ty);
        match &e.kind {
            Kind::Literal(value) => Expr::Literal(*value),
            Kind::Index(v) => opaque(*v),
            Kind::Size(_) | Kind::Local(_) => Expr::Index(ANY),
            Kind::Access(..) => {
                *next += 1;
                Expr::Access(AccessId(*next - 1), e.ty)
            }
            Kind::Call(fun, args) => Expr::Call(*fun, args.iter().map(|a| self.body(a, next)).collect(), e.ty),
            Kind::Reduce { fun, vars, body, start } => {
                let vars = vars.iter().map(|v| concrete::Index(v.index())).collect();
                let sum = Expr::Reduce(*fun, vars, Box::new(self.body(body, next)), e.ty);
                match start {
                    Some(start) => either(sum, self.body(start, next)),
                    None => sum,
                }
            }
            Kind::Collapse { body, .. } | Kind::Split { body, .. } | Kind::Slice { body, .. } => self.body(body, next),
            Kind::Concat { parts, .. } => {
                let parts = parts.iter().map(|part| self.body(part, next)).collect::<Vec<_>>();
                parts.into_iter().reduce(either).expect("there are parts")
            }
        }
    }

    /// The presence of an access; `None` if the variables do not move it.
    fn read(&self, read: &Read) -> Option<Presence> {
        let format = read.format?;
        let levels = format.order.iter().enumerate().filter(|(_, m)| self.moves(&read.indices[**m]));
        levels.map(|(l, m)| self.level(read, format, l, &read.indices[*m])).min()
    }

    fn level(&self, read: &Read, format: &Format, l: usize, index: &Index) -> Presence {
        let kind = format.levels[l];
        if lists(kind) {
            let led = l == 0 && !kind.is_computed() && !index.map.gathers();
            return if led { Presence::Led } else { Presence::Listed };
        }
        if kind.shares() && !kind.is_mirrored() {
            return Presence::Runs;
        }
        let below = (l + 1..format.rank()).filter(|l| lists(format.levels[*l]));
        let below: Vec<&Index> = below.map(|l| &read.indices[format.order[l]]).collect();
        if below.is_empty() {
            return Presence::All;
        }
        // If the result stores a list's variable outside of this one, this one's coordinates become a list.
        let place = |index: &Index| self.places.get(&index.line()?.var?.0).copied();
        let own = place(index);
        let is_turned = below.iter().any(|index| own.is_some_and(|own| place(index).is_some_and(|outer| outer < own)));
        let is_met = read.met.iter().any(|a| !self.of.reads[a.0].indices.iter().any(|index| self.moves(index)));
        if is_turned || is_met { Presence::Listed } else { Presence::Spare }
    }

    /// Whether an index depends on one of the variables.
    fn moves(&self, index: &Index) -> bool {
        self.vars.iter().any(|v| mentions(index, *v))
    }
}

/// A placeholder for an unknown value.
const ANY: concrete::Index = concrete::Index(usize::MAX);

/// Whether a level stores the coordinates at which it has entries.
pub(super) fn lists(kind: LevelKind) -> bool {
    !kind.is_full() && !kind.shares() && !kind.is_called()
}

/// The variables of a sum or a difference of variables and numbers; `None` for any other expression.
fn line(e: &concrete::Expr) -> Option<Vec<concrete::Index>> {
    match e {
        concrete::Expr::Literal(_) => Some(vec![]),
        concrete::Expr::Index(v) => Some(vec![*v]),
        concrete::Expr::Call(Fun::Op(Op::Add | Op::Sub), args, _) => {
            args.iter().map(line).collect::<Option<Vec<_>>>().map(|vars| vars.concat())
        }
        _ => None,
    }
}

/// Whether an expression is not constant: it contains an access or a variable.
fn is_moved(e: &concrete::Expr) -> bool {
    match e {
        concrete::Expr::Literal(_) => false,
        concrete::Expr::Call(_, args, _) => args.iter().any(is_moved),
        concrete::Expr::Reduce(_, _, body, _) => is_moved(body),
        _ => true,
    }
}
