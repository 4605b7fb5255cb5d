//! Chooses the sums to stage: variables are eliminated one at a time, each where that costs least.
//!
//! ```text
//!  sum(j, k: A[i,j] * B[j,k] * x[k])          visits n·d²
//!    k: B[j,k] * x[k]           ─▶ t[j]              n·d
//!    j: A[i,j] * t[j]                                n·d
//! ```
//!
//! A sum of products over several variables is one loop nest, or several. The factors that mention a variable, and those whose variables
//! all occur in these, are multiplied and summed over it into a temporary, which is a factor from then on. A factor that is a sum itself
//! is distributed where its terms are cheaper apart. After Kanakagiri and Solomonik, *Minimum cost loop nests for contraction of a sparse
//! tensor with a tensor network*, SPAA 2024, and variable elimination in databases (Abo Khamis, Ngo, Rudra, *FAQ: questions asked
//! frequently*, PODS 2016).
//!
//! Costs are estimated visits, in a few scenarios of extents and entries per fiber: a plan is taken if it is better in each scenario.

use super::occurs::{distributed, terms};
use super::quotient::divided_last;
use super::stage::Staging;
use fiberloom_core::algebra::{Mode, Op, Type, Value, identity};
use fiberloom_core::format::Format;
use fiberloom_core::iteration::Thin;
use fiberloom_core::notation::typed::{Expr, Fun, Kind, Program, SizeId, Stage, TensorId, VarId};
use fiberloom_core::shape::Classes;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// Data by which plans are compared: an extent for those that the program does not say, and the entries per fiber of a list.
struct Scenario {
    extent: f64,
    entries: f64,
}

/// Usual rows; many rows of few entries; few rows that are nearly full.
const SCENARIOS: [Scenario; 3] = [
    Scenario { extent: 1e3, entries: 10.0 },
    Scenario { extent: 1e5, entries: 3.0 },
    Scenario { extent: 100.0, entries: 30.0 },
];

/// A number for each scenario.
type Estimate = [f64; SCENARIOS.len()];

/// The most that a plan may cost, as a share of the single nest's cost.
const BETTER: f64 = 0.7;

/// The most factors of a sum that is planned. A nest with more stays as it is.
const FACTORS: usize = 16;

/// The most modes of a temporary.
const MODES: usize = 4;

/// The program with sums staged where that pays, and the stages, each with the statement that reads it. `thin` are the undeclared results
/// that are thin, `empty` the variables whose extents are 0.
pub fn eliminate(
    program: &Program,
    classes: &Classes,
    mode: Mode,
    (thin, empty): (&Thin, &BTreeSet<VarId>),
) -> (Program, Vec<(usize, Stage)>) {
    let mut staging = Staging::new(program);
    let mut formats: Vec<Option<Format>> = program.tensors.iter().map(|t| t.format.clone()).collect();
    for (n, (statement, format)) in program.statements.iter().zip(program.formats(thin)).enumerate() {
        let mut eliminate = Eliminate { classes, mode, empty, formats: &formats, staging: &mut staging, statement: n };
        // A statement with a schedule of its own stays as written.
        if statement.schedule.is_none() {
            let rhs = eliminate.expr(&divided_last(&statement.rhs, mode));
            let rhs = staging.everywhere(n, rhs, mode);
            staging.program.statements[n].rhs = rhs;
        }
        formats[statement.tensor.index()] = Some(format);
    }
    staging.finish(thin)
}

struct Eliminate<'a> {
    classes: &'a Classes,
    mode: Mode,
    /// Variables whose extents are 0, besides those whose extents the program says.
    empty: &'a BTreeSet<VarId>,
    /// The format of each tensor before the statement.
    formats: &'a [Option<Format>],
    staging: &'a mut Staging,
    statement: usize,
}

/// A factor of a product.
#[derive(Clone)]
struct Factor {
    vars: FxHashSet<VarId>,
    /// The estimated share of coordinates under its variables at which it has an entry.
    share: Estimate,
}

/// A step of a plan: these factors are multiplied and summed over these variables into a new factor.
struct Step {
    vars: Vec<VarId>,
    factors: Vec<usize>,
    /// The variables of the new factor.
    under: FxHashSet<VarId>,
}

impl Eliminate<'_> {
    /// The expression with its sums planned, outermost first.
    fn expr(&mut self, e: &Expr) -> Expr {
        match &e.kind {
            Kind::Reduce { fun: Fun::Op(op), vars, body, start: None } => {
                let planned = times(*op, e.ty, self.mode).and_then(|times| self.sum(e, (*op, times), vars, body));
                planned.unwrap_or_else(|| self.inside(e))
            }
            _ => self.inside(e),
        }
    }

    fn inside(&mut self, e: &Expr) -> Expr {
        e.rebuilt(&mut |part| self.expr(part))
    }

    /// A sum of a product as several sums, where that pays.
    fn sum(&mut self, e: &Expr, (plus, times): (Op, Op), vars: &[VarId], body: &Expr) -> Option<Expr> {
        if body.may_miss().is_some() || may_fail(body) {
            return None;
        }
        let mut all = vars.to_vec();
        let mut factors = Vec::new();
        flatten(body, (plus, times), &mut all, &mut factors);
        // No sum is taken out where an extent is 0: an infinite factor would be multiplied with the sum's 0, which gives NaN.
        if e.ty.is_float() && all.iter().any(|v| self.is_empty(*v)) {
            return None;
        }
        if let Some(apart) = self.distributed(e, (plus, times), (&all, &factors)) {
            return Some(apart);
        }
        self.staged(e, (plus, times), &all, factors)
    }

    /// Whether the extent of a variable is known to be 0.
    fn is_empty(&self, v: VarId) -> bool {
        self.empty.contains(&v) || self.classes.value(self.classes.class_of_var(v)) == Some(0)
    }

    /// The sum with its product distributed over the one factor that is a sum, if the terms are cheaper apart.
    fn distributed(&mut self, e: &Expr, (plus, times): (Op, Op), (vars, factors): (&[VarId], &[Expr])) -> Option<Expr> {
        let apart = terms(factors).filter(|_| plus == Op::Add)?;
        let cost = |factors: &[Expr]| {
            let factors: Vec<Factor> = factors.iter().map(|f| self.factor(f)).collect();
            // Visits count the factors' own variables only: a sum that does not depend on an outer loop is hoisted out of it.
            let own: FxHashSet<VarId> = factors.iter().flat_map(|f| f.vars.iter().copied()).collect();
            self.visits(&factors, &own)
        };
        let (whole, parts) = (cost(factors), apart.1.iter().map(|f| cost(f)).fold([0.0; SCENARIOS.len()], sum));
        if !better(&parts, &whole) {
            return None;
        }
        let (made, free) = (distributed(e, times, vars, &apart)?, e.free());
        Some(made.rebuilt(&mut |sum| {
            let planned = self.expr(sum);
            if planned.free() == free { planned } else { self.once(planned) }
        }))
    }

    /// A sum that depends on fewer loops than the expression around it, as a temporary.
    fn once(&mut self, e: Expr) -> Expr {
        let Kind::Reduce { fun: Fun::Op(plus), start: None, .. } = e.kind else { return e };
        let (under, sizes) = (self.ordered(std::slice::from_ref(&e), &e.free()), self.sizes(&e));
        let size = |v: &VarId| sizes.iter().find(|(known, _)| known == v).map(|(_, size)| *size);
        match under.iter().map(size).collect::<Option<Vec<SizeId>>>().filter(|modes| modes.len() <= MODES) {
            Some(modes) => {
                let fill = identity(plus, e.ty).expect("it is folded");
                self.staging.stage(self.statement, (under, modes), e, fill)
            }
            None => e,
        }
    }

    fn staged(&mut self, e: &Expr, (plus, times): (Op, Op), vars: &[VarId], mut factors: Vec<Expr>) -> Option<Expr> {
        if factors.len() < 2 || factors.len() > FACTORS {
            return None;
        }
        let of: Vec<Factor> = factors.iter().map(|f| self.factor(f)).collect();
        let steps = self.plan(vars, of)?;
        let mut sizes: Vec<(VarId, SizeId)> = factors.iter().flat_map(|f| self.sizes(f)).collect();
        let left = &self.staging.program.statements[self.statement];
        let modes = self.staging.program.tensors[left.tensor.index()].sizes.iter();
        sizes.extend(left.indices.iter().zip(modes).filter_map(|(index, size)| Some((index.bare()?, *size))));
        let size = |v: &VarId| sizes.iter().find(|(known, _)| known == v).map(|(_, size)| *size);
        if steps.iter().any(|s| s.under.len() > MODES || s.under.iter().any(|v| size(v).is_none())) {
            return None;
        }
        let mut left: Vec<VarId> = vars.to_vec();
        let mut gone = FxHashSet::default();
        for step in steps {
            left.retain(|v| !step.vars.contains(v));
            gone.extend(step.factors.iter().copied());
            let of: Vec<Expr> = step.factors.iter().map(|n| factors[*n].clone()).collect();
            let under = self.ordered(&of, &step.under);
            let body = product(times, e, of);
            let reduced = Kind::Reduce { fun: Fun::Op(plus), vars: step.vars, body: Box::new(body), start: None };
            let made = Expr { kind: reduced, ..e.clone() };
            let fill = identity(plus, e.ty).expect("it is folded");
            let modes = under.iter().map(|v| size(v).expect("each has one")).collect();
            factors.push(self.staging.stage(self.statement, (under, modes), made, fill));
        }
        let rest = factors.into_iter().enumerate().filter(|(n, _)| !gone.contains(n)).map(|(_, f)| f).collect();
        let body = product(times, e, rest);
        if left.is_empty() {
            return Some(body);
        }
        let kind = Kind::Reduce { fun: Fun::Op(plus), vars: left, body: Box::new(body), start: None };
        Some(Expr { kind, ..e.clone() })
    }

    /// The steps of the plan, if it pays. Each step's new factor gets the next number.
    fn plan(&self, vars: &[VarId], mut factors: Vec<Factor>) -> Option<Vec<Step>> {
        let scope: FxHashSet<VarId> =
            factors.iter().flat_map(|f| f.vars.iter().copied()).chain(vars.iter().copied()).collect();
        let whole = self.visits(&factors, &scope);
        let mut open: Vec<usize> = (0..factors.len()).collect();
        let mut left: Vec<VarId> = vars.to_vec();
        let (mut steps, mut spent) = (Vec::new(), [0.0; SCENARIOS.len()]);
        let mut best: Option<(Estimate, usize)> = None;
        while open.len() > 1 {
            let Some((step, cost)) = self.cheapest(&left, &open, &factors) else { break };
            spent = sum(spent, cost);
            left.retain(|v| !step.vars.contains(v));
            open.retain(|n| !step.factors.contains(n));
            open.push(factors.len());
            let all = self.extents(&step.under);
            let share = std::array::from_fn(|s| (cost[s] / all[s]).min(1.0));
            factors.push(Factor { vars: step.under.clone(), share });
            steps.push(step);
            let rest: Vec<Factor> = open.iter().map(|n| factors[*n].clone()).collect();
            let under = rest.iter().flat_map(|f| f.vars.iter().copied()).chain(left.iter().copied()).collect();
            let total = sum(spent, self.visits(&rest, &under));
            if best.as_ref().is_none_or(|(least, _)| total[0] < least[0]) {
                best = Some((total, steps.len()));
            }
        }
        let (_, count) = best.filter(|(total, _)| better(total, &whole))?;
        steps.truncate(count);
        Some(steps)
    }

    /// The variable whose factors cost the least to multiply and sum in the first scenario. A step may not take all of the factors.
    fn cheapest(&self, left: &[VarId], open: &[usize], factors: &[Factor]) -> Option<(Step, Estimate)> {
        let candidates = left.iter().flat_map(|v| {
            let mention: Vec<usize> = open.iter().copied().filter(|n| factors[*n].vars.contains(v)).collect();
            let scope: FxHashSet<VarId> = mention.iter().flat_map(|n| factors[*n].vars.iter().copied()).collect();
            let within = |n: &usize| !factors[*n].vars.is_empty() && factors[*n].vars.is_subset(&scope);
            let absorbed: Vec<usize> = open.iter().copied().filter(within).collect();
            [mention, absorbed].map(|chosen| (chosen, scope.clone()))
        });
        let steps = candidates.filter(|(chosen, _)| !chosen.is_empty() && chosen.len() < open.len());
        let steps = steps.map(|(chosen, scope)| {
            let only = |v: &&VarId| !open.iter().any(|n| !chosen.contains(n) && factors[*n].vars.contains(v));
            let vars: Vec<VarId> = left.iter().filter(|v| scope.contains(v)).filter(only).copied().collect();
            let under: FxHashSet<VarId> = scope.iter().copied().filter(|v| !vars.contains(v)).collect();
            let of: Vec<Factor> = chosen.iter().map(|n| factors[*n].clone()).collect();
            let cost = self.visits(&of, &scope);
            (Step { vars, factors: chosen, under }, cost)
        });
        steps.filter(|(step, _)| !step.vars.is_empty()).min_by(|(_, a), (_, b)| a[0].total_cmp(&b[0]))
    }

    /// The estimated visits of a nest over these variables.
    fn visits(&self, factors: &[Factor], vars: &FxHashSet<VarId>) -> Estimate {
        let all = self.extents(vars);
        std::array::from_fn(|s| factors.iter().fold(all[s], |visits, f| visits * f.share[s]).max(1.0))
    }

    /// The estimated number of coordinates under these variables.
    fn extents(&self, vars: &FxHashSet<VarId>) -> Estimate {
        let known = |v: &VarId| self.classes.value(self.classes.class_of_var(*v)).map(|n| (n as f64).max(1.0));
        std::array::from_fn(|s| vars.iter().map(|v| known(v).unwrap_or(SCENARIOS[s].extent)).product())
    }

    fn factor(&self, e: &Expr) -> Factor {
        Factor { vars: e.free(), share: self.share(e) }
    }

    /// The estimated share of coordinates at which an expression has an entry.
    fn share(&self, e: &Expr) -> Estimate {
        let all = [1.0; SCENARIOS.len()];
        match &e.kind {
            Kind::Access(tensor, _) => self.stored(*tensor),
            Kind::Call(Fun::Op(Op::Mul | Op::And | Op::AndAlso), args) => {
                args.iter().map(|a| self.share(a)).fold(all, |p, q| std::array::from_fn(|s| p[s] * q[s]))
            }
            Kind::Call(Fun::Op(Op::Add | Op::Sub | Op::Or | Op::OrElse), args) => {
                let union = args.iter().map(|a| self.share(a)).fold([0.0; SCENARIOS.len()], sum);
                std::array::from_fn(|s| union[s].min(1.0))
            }
            Kind::Call(Fun::Op(Op::Neg | Op::Abs | Op::Convert(_)), args) => self.share(&args[0]),
            Kind::Call(Fun::Op(Op::Div), args) => self.share(&args[0]),
            Kind::Reduce { body, .. } => self.share(body),
            _ => all,
        }
    }

    /// The share of a tensor's coordinates that are stored.
    fn stored(&self, tensor: TensorId) -> Estimate {
        let Some(format) = &self.formats[tensor.index()] else { return [1.0; SCENARIOS.len()] };
        let sparse =
            format.levels.iter().enumerate().filter(|(l, kind)| *l > 0 && (kind.is_list() || kind.is_interval()));
        // An outermost list is taken to have entries at most coordinates.
        let first = format.levels.first().is_some_and(|kind| kind.is_list());
        let fibers = sparse.count() + usize::from(first && format.rank() == 1);
        std::array::from_fn(|s| (SCENARIOS[s].entries / SCENARIOS[s].extent).powi(fibers as i32))
    }

    /// The size of each variable that is a bare index.
    fn sizes(&self, e: &Expr) -> Vec<(VarId, SizeId)> {
        let mut all = Vec::new();
        e.walk(&mut |e| {
            if let Kind::Access(tensor, indices) = &e.kind {
                let sizes = &self.staging.program.tensors[tensor.index()].sizes;
                all.extend(indices.iter().zip(sizes).filter_map(|(index, size)| Some((index.bare()?, *size))));
            }
        });
        all
    }

    /// The variables in the order in which a list among the factors has them; the others in the order of the factors.
    fn ordered(&self, factors: &[Expr], vars: &FxHashSet<VarId>) -> Vec<VarId> {
        let mut order = Vec::new();
        for lists in [true, false] {
            for factor in factors {
                factor.walk(&mut |e| {
                    let Kind::Access(tensor, indices) = &e.kind else { return };
                    let format = self.formats.get(tensor.index()).and_then(Option::as_ref);
                    let is_list = format.is_some_and(|f| !f.is_dense());
                    if is_list != lists {
                        return;
                    }
                    let modes = format.map_or_else(|| (0..indices.len()).collect(), |f| f.order.clone());
                    let left = |v: VarId| if vars.contains(&v) { v } else { compared(factors, v, vars).unwrap_or(v) };
                    order.extend(modes.iter().filter_map(|m| indices[*m].bare()).map(left));
                });
            }
        }
        let mut seen = FxHashSet::default();
        order.retain(|v| vars.contains(v) && seen.insert(*v));
        let mut rest: Vec<VarId> = vars.iter().copied().filter(|v| !order.contains(v)).collect();
        rest.sort();
        order.extend(rest);
        order
    }
}

/// A variable of `vars` that a condition among the factors compares with `v`. A sum over `v` up to it depends on it instead of on `v`.
fn compared(factors: &[Expr], v: VarId, vars: &FxHashSet<VarId>) -> Option<VarId> {
    let mut found = None;
    factors.iter().for_each(|factor| {
        factor.walk(&mut |e| {
            let Kind::Call(Fun::Op(Op::Lt | Op::Le | Op::Gt | Op::Ge), sides) = &e.kind else { return };
            let of = e.free();
            if of.contains(&v) && sides.len() == 2 {
                let mut others: Vec<VarId> = of.into_iter().filter(|w| vars.contains(w)).collect();
                others.sort();
                found = found.or(others.first().copied());
            }
        });
    });
    found
}

/// Whether evaluating the expression at a coordinate that the meaning skips may end the program: a read index may leave its tensor, and a
/// declared function may exceed its limit of iterations.
pub(super) fn may_fail(e: &Expr) -> bool {
    let mut may = false;
    e.walk(&mut |e| {
        may |= match &e.kind {
            Kind::Access(_, indices) => indices.iter().any(|i| i.map.gathers()),
            Kind::Call(Fun::User(_), _) => true,
            _ => false,
        };
    });
    may
}

/// The function that distributes over a fold with `plus`, exactly, or in the mode as far as the mode promises.
pub(super) fn times(plus: Op, ty: Type, mode: Mode) -> Option<Op> {
    let exact = ty.is_integer() || mode == Mode::Algebraic;
    match plus {
        Op::Add if exact => Some(Op::Mul),
        Op::Min | Op::Max if ty.is_float() && mode == Mode::Algebraic => Some(Op::Add),
        _ => None,
    }
}

/// Adds the factors of a product, and the variables of the sums in it that become the product's: sums whose variables are not bound
/// already.
pub(super) fn flatten(e: &Expr, (plus, times): (Op, Op), vars: &mut Vec<VarId>, factors: &mut Vec<Expr>) {
    match &e.kind {
        Kind::Call(Fun::Op(op), args) if *op == times => {
            args.iter().for_each(|a| flatten(a, (plus, times), vars, factors))
        }
        Kind::Reduce { fun: Fun::Op(op), vars: own, body, start: None }
            if *op == plus && own.iter().all(|v| !vars.contains(v)) =>
        {
            vars.extend(own);
            flatten(body, (plus, times), vars, factors);
        }
        Kind::Call(Fun::Op(op), args) if is_conditional(*op, args, plus) => {
            let mut own = Some(Vec::new());
            conditions(&args[0], &mut |c| {
                own = own.take().zip(indicator(c, e, (plus, times))).map(|(own, c)| [own, vec![c]].concat());
            });
            match own {
                Some(own) => {
                    factors.extend(own);
                    flatten(&args[1], (plus, times), vars, factors);
                }
                None => factors.push(e.clone()),
            }
        }
        _ => factors.push(e.clone()),
    }
}

/// Whether a call has a value where a condition on coordinates holds, and elsewhere the identity of `plus`.
fn is_conditional(op: Op, args: &[Expr], plus: Op) -> bool {
    let nothing = |e: &Expr| matches!(&e.kind, Kind::Literal(v) if identity(plus, e.ty) == Some(*v));
    let asks = op == Op::Select && nothing(&args[2]) || op == Op::Mask && plus == Op::Add;
    asks && is_of_indices(&args[0])
}

/// Whether an expression consists of index variables, sizes and numbers alone.
fn is_of_indices(e: &Expr) -> bool {
    let mut plain = true;
    e.walk(&mut |e| {
        plain &= matches!(&e.kind, Kind::Literal(_) | Kind::Index(_) | Kind::Size(_) | Kind::Call(Fun::Op(_), _))
    });
    plain
}

/// Calls `each` with every part of a conjunction.
fn conditions(e: &Expr, each: &mut dyn FnMut(&Expr)) {
    match &e.kind {
        Kind::Call(Fun::Op(Op::AndAlso), args) => args.iter().for_each(|a| conditions(a, each)),
        _ => each(e),
    }
}

/// A condition as a factor: the identity of `times` where it holds, else the identity of `plus`, which annihilates.
fn indicator(c: &Expr, like: &Expr, (plus, times): (Op, Op)) -> Option<Expr> {
    let literal = |op| Some(Expr { kind: Kind::Literal(identity(op, like.ty)?), ty: like.ty, span: c.span });
    let args = vec![c.clone(), literal(times)?, literal(plus)?];
    Some(Expr { kind: Kind::Call(Fun::Op(Op::Select), args), ty: like.ty, span: c.span })
}

/// The product of these factors, in their order. Conditions among them become a `select` around the other factors.
pub(super) fn product(times: Op, like: &Expr, factors: Vec<Expr>) -> Expr {
    let of = |a: Expr, b: Expr| {
        let span = a.span.to(b.span);
        Expr { kind: Kind::Call(Fun::Op(times), vec![a, b]), ty: like.ty, span }
    };
    let (asked, rest): (Vec<Expr>, Vec<Expr>) = factors.into_iter().partition(|f| condition(f, times).is_some());
    let Some(body) = rest.into_iter().reduce(of) else {
        return asked.into_iter().reduce(of).expect("there is a factor");
    };
    asked.into_iter().rev().fold(body, |body, factor| {
        let Kind::Call(select, args) = factor.kind else { unreachable!("it is a condition") };
        let [c, _, nothing] = <[Expr; 3]>::try_from(args).expect("a condition and two values");
        Expr { kind: Kind::Call(select, vec![c, body, nothing]), ..factor }
    })
}

/// The condition of a factor that is the identity of `times` where the condition holds, and annihilates elsewhere.
fn condition(e: &Expr, times: Op) -> Option<&Expr> {
    let Kind::Call(Fun::Op(Op::Select), args) = &e.kind else { return None };
    let [Kind::Literal(one), Kind::Literal(nothing)] = [&args[1].kind, &args[2].kind] else { return None };
    let annihilates = match times {
        Op::Mul => *nothing == Value::zero(e.ty),
        Op::Add => e.ty.is_float() && nothing.as_f64().is_infinite(),
        _ => false,
    };
    (annihilates && identity(times, e.ty) == Some(*one) && is_of_indices(&args[0])).then_some(&args[0])
}

fn sum(a: Estimate, b: Estimate) -> Estimate {
    std::array::from_fn(|s| a[s] + b[s])
}

/// Whether a cost is better than another in each scenario, by the factor [`BETTER`].
fn better(a: &Estimate, b: &Estimate) -> bool {
    a.iter().zip(b).all(|(a, b)| *a <= BETTER * b)
}
