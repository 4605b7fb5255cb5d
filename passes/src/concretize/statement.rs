//! Statements of the program as drafts: the version that each defines, and the version before that it reads.
//!
//! ```text
//!  y[i] = A[i,j] * x[j]             y[i] = sum(j: A[i,j] * x[j])
//!  y[i] += x[i]                     y[i] = y_was[i] + x[i]                  a version of its own
//!  h[p[i]] += x[i]                  h_sum[p[i]] += x[i];  h[m0] = h_was[m0] + h_sum[m0]
//! ```

use super::bare::Bare;
use super::draft::Draft;
use super::ground::Ground;
use super::steps::{Stated, Statements};
use super::temporary::folding;
use crate::schedule::protocol;
use fiberloom_core::algebra::Value;
use fiberloom_core::format::Format;
use fiberloom_core::map::ClassId;
use fiberloom_core::notation::concrete::{AccessId, Expr, Fold, Index, Onto, Place, Role, Tensor};
use fiberloom_core::notation::typed::{self, Fun};

impl<'a> Statements<'a> {
    /// Defines a statement of the program.
    pub fn statement(&mut self, of: Stated) {
        let made = match of.s {
            s if s.scatters() => self.scattered(of),
            s if s.is_part() => self.part(of),
            _ => self.assigned(of),
        };
        self.c.out.defined(of.s.tensor, made);
    }

    /// The translator of a statement's expressions.
    pub fn bare(&mut self, s: &typed::Statement) -> Bare<'_, 'a> {
        let asked = protocol::asked(self.c.given.typed, s);
        Bare::of(&mut self.c, asked)
    }

    /// Defines `T[i, j] = e` and `T[i, j] f= e`.
    fn assigned(&mut self, of: Stated) -> Place {
        let s = of.s;
        let target: Vec<typed::VarId> = s.indices.iter().map(|i| i.bare().expect("refused otherwise")).collect();
        target.iter().for_each(|v| drop(self.loops_of(*v, &s.rhs)));
        let target: Vec<Index> = target.into_iter().map(|v| self.c.out.of(v)).collect();
        // Reads under a variable depend on whether its loop is split.
        let folded: Vec<Index> = s.folded.iter().flat_map(|v| self.loops_of(*v, &s.rhs)).collect();
        let mut rhs = self.bare(s).expr(&s.rhs);
        let (given, tensor) = (self.c.given, &self.c.given.typed.tensors[s.tensor.index()]);
        if let Some(fun) = s.fold {
            let before = self.before(s, fun, &target);
            let there = !matches!(before, Expr::Literal(_));
            rhs = match given.gathered(fun, tensor.ty, there) {
                _ if folded.is_empty() => given.simplify.call(fun, vec![before, rhs], tensor.ty),
                Some(_) => {
                    let rhs = Expr::Reduce(fun, folded, Box::new(rhs), tensor.ty);
                    given.simplify.call(fun, vec![before, rhs], tensor.ty)
                }
                None => Expr::Fold(Box::new(Fold { fun, vars: folded, body: rhs, start: Some(before) }), tensor.ty),
            };
        }
        self.assign(of, target, rhs)
    }

    /// A new version of a statement's tensor, with this value.
    pub fn assign(&mut self, of: Stated, target: Vec<Index>, rhs: Expr) -> Place {
        let rhs = self.c.given.simplify.simplify(&rhs);
        let place = self.version(of, &target, &rhs);
        self.c.define(Draft::new(place, target, rhs).stated());
        place
    }

    /// Defines `T[places] f= e`. If folds with the function may go in any order, the values at each place are gathered from the identity
    /// on, then joined with the version before. Otherwise they are folded into the version before, one after the other. The same happens
    /// if that version is dense and the kernel has computed it: its arrays are reused.
    fn scattered(&mut self, of: Stated) -> Place {
        let (s, given) = (of.s, self.c.given);
        let fun = s.fold.expect("what is not under distinct variables accumulates: checked");
        let loops: Vec<Index> = s.vars.iter().chain(&s.folded).flat_map(|v| self.loops_of(*v, &s.rhs)).collect();
        let tensor = &given.typed.tensors[s.tensor.index()];
        let (ty, extents) = (tensor.ty, given.extents(s.tensor));
        let (places, rhs) = self.places(s, &extents);
        let target = self.c.out.modes(&extents);
        let before = self.before(s, fun, &target);
        let there = !matches!(before, Expr::Literal(_));
        let own = before.accesses().first().is_some_and(|a| self.is_own(*a, of.format));
        let Some(fill) = given.gathered(fun, ty, there).filter(|_| !own) else {
            let place = self.version(of, &target, &before);
            let onto = before.accesses().first().map_or(Onto::Fill(fun), |a| Onto::Before(*a, Some(fun)));
            self.c.scatter(Draft::scatter(place, target, loops, (places, onto), rhs).stated());
            return place;
        };
        let to = (places, Onto::Fill(fun));
        let is_identity = |v: Value| given.simplify.same(v, fill);
        let nothing = matches!(&before, Expr::Literal(v) if is_identity(*v)) && tensor.fill.is_some_and(is_identity);
        if nothing && tensor.format.is_some() {
            let place = self.version(of, &target, &before);
            self.c.scatter(Draft::scatter(place, target, loops, to, rhs).stated());
            return place;
        }
        let (name, own) = (format!("{}_{}", tensor.name, folding(fun)), self.c.out.modes(&extents));
        let format = tensor.format.as_ref().map_or_else(|| Format::dense(extents.len()), Format::assembled);
        let made = self.c.out.place(Tensor { name, ty, extents, format, fill, role: Role::Temporary });
        self.c.scatter(Draft::scatter(made, own, loops, to, rhs));
        let fallen = self.c.out.read(made, target.clone());
        let rhs = given.simplify.call(fun, vec![before, fallen], ty);
        let place = self.version(of, &target, &rhs);
        self.c.define(Draft::new(place, target, rhs).stated());
        place
    }

    /// Whether an access reads a dense version that the kernel has computed, whose arrays another version of this format may reuse.
    fn is_own(&self, a: AccessId, format: &Format) -> bool {
        let was = &self.c.out.tensors[self.c.out.accesses[a.0].tensor.0];
        !matches!(was.role, Role::Operand(_)) && was.format.is_dense() && was.format == format.assembled()
    }

    /// The coordinates of a scatter's values, one a mode, and the value.
    fn places(&mut self, s: &typed::Statement, extents: &[ClassId]) -> (Vec<Expr>, Expr) {
        let mut bare = self.bare(s);
        let place = |(index, extent): (&typed::Index, &ClassId)| match index.map.gathers() {
            true => Expr::Index(bare.computed(index, *extent)),
            false => bare.place_of(&index.map),
        };
        // A value at a missing coordinate is not added.
        let places = s.indices.iter().zip(extents).map(place).collect();
        (places, bare.simplified(&s.rhs))
    }

    /// The value of a statement's tensor before it, under these variables.
    fn before(&mut self, s: &typed::Statement, fun: Fun, target: &[Index]) -> Expr {
        let (given, out) = (self.c.given, &mut self.c.out);
        if out.current(s.tensor).is_some() || given.initial.contains(&s.tensor) {
            let place = out.reading(s.tensor);
            return out.read(place, target.to_vec());
        }
        // An undeclared tensor begins with the function's identity.
        let tensor = &given.typed.tensors[s.tensor.index()];
        let begin = tensor.fill.or_else(|| given.typed.identity(fun, tensor.ty));
        Expr::Literal(begin.expect("folds have an identity: checked before lowering"))
    }

    /// A new version of a statement's tensor; the last one is the result.
    fn version(&mut self, of: Stated, target: &[Index], rhs: &Expr) -> Place {
        let (s, out) = (of.s, &mut self.c.out);
        let tensor = &self.c.given.typed.tensors[s.tensor.index()];
        let role = match tensor.role {
            typed::Role::Result if of.last => Role::Result(s.tensor),
            _ => Role::Temporary,
        };
        // Earlier versions may hold values that the declared format cannot; versions that a block swaps share one format.
        let made = matches!(role, Role::Result(_)) && of.format.is_made() && !self.c.given.typed.moves(s.tensor);
        let format = match made && (self.c.given.held || of.format.holds_all()) {
            true => of.format.clone(),
            false => of.format.assembled(),
        };
        // Where the expression has no single value for what is not stored, every value that differs from zero is stored.
        let was = || out.current(s.tensor).filter(|_| s.is_part()).map(|p| out.tensors[p.0].fill);
        let ground = Ground { program: out, given: self.c.given };
        let fill = tensor.fill.or_else(was).or_else(|| ground.background(rhs)).unwrap_or(Value::zero(tensor.ty));
        let extents = target.iter().map(|v| out.vars[v.0].extent).collect();
        let earlier = role == Role::Temporary && tensor.role == typed::Role::Result;
        let name = if earlier { format!("{}_was", tensor.name) } else { tensor.name.clone() };
        out.place(Tensor { name, ty: tensor.ty, extents, format, fill, role })
    }
}
