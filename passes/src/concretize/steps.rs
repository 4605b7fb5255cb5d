//! Blocks: the steps that are under construction, and the place of each tensor's last change.
//!
//! ```text
//!  repeat 20 { x[i] = A[i,j] * x[j] }
//!    ─▶  forall i: x[i] = x_in[i]                     the version before the first iteration, unless the kernel has computed one
//!        forall …: A_t[i,j] = A[i,j]                  a copy of a tensor that the block does not change is filled before it
//!        repeat 20 {
//!          forall i: x_was[i] = sum(j: A_t[i,j] * x[j])
//!          next x = x_was
//!        }
//! ```

use super::Concretize;
use super::bare::Bare;
use super::draft::Draft;
use crate::schedule::loops::Loops;
use fiberloom_core::algebra::Value;
use fiberloom_core::format::Format;
use fiberloom_core::notation::concrete::{self, Carried, Expr, Index, Nest, Place, Role, Step, Tensor, Turns};
use fiberloom_core::notation::typed::{self, TensorId, VarId};
use rustc_hash::FxHashMap;

/// A statement of the program, and the format of its result.
#[derive(Clone, Copy)]
pub(super) struct Stated<'s> {
    pub s: &'s typed::Statement,
    /// Whether no later statement defines its tensor.
    pub last: bool,
    /// The levels of its result.
    pub format: &'s Format,
}

/// A place among the steps: the index of an open list, and the number of steps before it there.
type Moment = (usize, usize);

/// The steps so far: the program's, and those of each open block in it.
pub(super) struct Steps {
    open: Vec<Vec<Step>>,
    /// The place of each tensor's last change; the beginning, if none is recorded.
    since: FxHashMap<Place, Moment>,
}

impl Steps {
    pub fn new() -> Steps {
        Steps { open: vec![Vec::new()], since: FxHashMap::default() }
    }

    /// The steps of the whole program.
    pub fn finish(self) -> Vec<Step> {
        self.open.into_iter().next().unwrap_or_default()
    }

    /// The number of open blocks.
    pub fn depth(&self) -> usize {
        self.open.len() - 1
    }

    /// Emits a nest, and records the change of its tensor.
    pub fn nest(&mut self, nest: Nest) {
        self.changed(nest.target.tensor);
        self.push(Step::Nest(nest));
    }

    fn push(&mut self, step: Step) {
        self.open.last_mut().expect("the program itself is open").push(step);
    }

    /// Records that a tensor changes here.
    fn changed(&mut self, place: Place) {
        let last = self.depth();
        self.since.insert(place, (last, self.open[last].len()));
    }

    fn known_since(&self, place: Place) -> Moment {
        self.since.get(&place).copied().unwrap_or((0, 0))
    }

    /// The nests that have certainly run since a tensor's last change, each but once in an iteration.
    pub fn since(&self, place: Place) -> impl Iterator<Item = &Nest> {
        let (first, from) = self.known_since(place);
        let lists = self.open.iter().enumerate().skip(first);
        let steps = lists.flat_map(move |(l, steps)| steps.iter().skip(if l == first { from } else { 0 }));
        steps.filter_map(|step| match step {
            Step::Nest(nest) => Some(nest),
            Step::Repeat(_) => None,
        })
    }

    /// Whether the result of a nest has not changed since.
    pub fn stays(&self, nest: &Nest) -> bool {
        let (list, from) = self.known_since(nest.target.tensor);
        let steps = self.open.get(list).and_then(|steps| steps.get(from..)).unwrap_or_default();
        steps.iter().any(|step| matches!(step, Step::Nest(n) if n.target == nest.target))
    }

    /// Leaves the blocks that do not change a tensor, to emit something before them. Returns their steps.
    pub fn leave(&mut self, place: Place) -> Vec<Vec<Step>> {
        self.open.split_off((self.known_since(place).0 + 1).min(self.open.len()))
    }

    /// Leaves all blocks.
    pub fn leave_all(&mut self) -> Vec<Vec<Step>> {
        self.open.split_off(1)
    }

    /// Enters the blocks that were left again.
    pub fn enter_again(&mut self, inner: Vec<Vec<Step>>) {
        self.open.extend(inner);
    }

    fn begin(&mut self, carried: impl Iterator<Item = Place>) {
        self.open.push(Vec::new());
        carried.for_each(|place| self.changed(place));
    }

    fn end(&mut self, turns: Turns, carried: Vec<Carried>, changed: impl Iterator<Item = Place>) {
        let steps = self.open.pop().expect("a block is open");
        self.push(Step::Repeat(concrete::Repeat { turns, steps, carried }));
        changed.for_each(|place| self.changed(place));
    }
}

/// The statements of a program, which become nests one after the other.
pub(super) struct Statements<'a> {
    pub c: Concretize<'a>,
    /// The format of each statement's result.
    formats: Vec<Format>,
    /// The loops of each statement, under its schedule.
    loops: Vec<Loops>,
    /// The tensors that the caller gives.
    inputs: Vec<TensorId>,
}

impl<'a> Statements<'a> {
    /// The statements of a program, none of them translated yet.
    pub fn of(c: Concretize<'a>, formats: Vec<Format>, loops: Vec<Loops>) -> Statements<'a> {
        Statements { inputs: c.given.typed.inputs(), c, formats, loops }
    }

    /// The loops of a variable of the statement at hand.
    pub fn loops_of(&mut self, v: VarId, body: &typed::Expr) -> Vec<Index> {
        self.c.scheduled.loops_of(v, body, &mut self.c.out)
    }

    /// Translates the steps of the program, or of a block.
    pub fn steps(&mut self, steps: &[typed::Step]) {
        for (n, step) in steps.iter().enumerate() {
            match step {
                typed::Step::Statement(s) => {
                    let (number, s) = (*s, &self.c.given.typed.statements[*s]);
                    let last = self.c.steps.depth() == 0 && !self.defined_anew(&steps[n + 1..], s.tensor);
                    self.c.begin(number, s, self.loops[number].clone());
                    let format = self.formats[number].clone();
                    self.statement(Stated { s, last, format: &format });
                    self.c.make_all_copies();
                }
                typed::Step::Repeat(block) => {
                    let rest = if self.c.steps.depth() == 0 { Some(&steps[n + 1..]) } else { None };
                    self.repeat(block, rest);
                }
            }
        }
    }

    /// Whether one of these steps is a statement, outside of any block, that defines a tensor: a block goes on with the version before
    /// it.
    fn defined_anew(&self, steps: &[typed::Step], tensor: TensorId) -> bool {
        let defines = |step: &typed::Step| match step {
            typed::Step::Statement(s) => self.c.given.typed.statements[*s].tensor == tensor,
            typed::Step::Repeat(_) => false,
        };
        steps.iter().any(defines)
    }

    /// Translates a block. `rest` are the program's steps behind it, if it stands in no other block.
    fn repeat(&mut self, block: &typed::Repeat, rest: Option<&[typed::Step]>) {
        let typed = self.c.given.typed;
        let assigned = typed.carried(block);
        for t in &assigned {
            // An undeclared tensor is not read before its one statement has defined it.
            if typed.tensors[t.index()].format.is_some() {
                let last = rest.is_some_and(|rest| !self.defined_anew(rest, *t));
                let first = self.first_version(*t, last);
                self.c.out.defined(*t, first);
            }
        }
        let before: Vec<(TensorId, Option<Place>)> = assigned.iter().map(|t| (*t, self.c.out.current(*t))).collect();
        self.c.steps.begin(before.iter().filter_map(|(_, place)| *place));
        let turns = match &block.turns {
            typed::Turns::Count(n) => Turns::Count(*n),
            typed::Turns::Extent(_, var) => Turns::Extent(self.c.given.classes.class_of_var(*var)),
            typed::Turns::While(condition) => {
                self.c.copies.none();
                Turns::While(Bare::of(&mut self.c, vec![]).simplified(condition))
            }
        };
        self.steps(&block.body);
        let mut carried = Vec::new();
        for (t, was) in before {
            let Some(last) = self.c.out.current(t) else { continue };
            let tensor = match was {
                Some(tensor) => tensor,
                None if self.c.out.tensors[last.0].role == Role::Temporary => self.zeros(t, last),
                // A block inside of this one carries the tensor itself.
                None => continue,
            };
            self.c.out.defined(t, tensor);
            if tensor != last {
                carried.push(Carried { tensor, last });
            }
        }
        // A tensor that an inner block carries changes behind this block, too.
        let changed = assigned.iter().filter_map(|t| self.c.out.current(*t));
        self.c.steps.end(turns, carried, changed);
    }

    /// The version of a declared tensor before a block's first iteration: the current one if the kernel has computed it, else a copy of
    /// the caller's, or its fill.
    fn first_version(&mut self, t: TensorId, last: bool) -> Place {
        let typed::Tensor { name, ty, fill, format, .. } = &self.c.given.typed.tensors[t.index()];
        let made = |p: Place| !matches!(self.c.out.tensors[p.0].role, Role::Operand(_));
        let current = self.c.out.current(t);
        if let Some(place) = current.filter(|p| made(*p)) {
            return place;
        }
        let given = self.inputs.contains(&t) || self.c.given.initial.contains(&t);
        let (ty, fill) = (*ty, fill.unwrap_or(Value::zero(*ty)));
        let out = &mut self.c.out;
        let extents = self.c.given.extents(t);
        let target = out.modes(&extents);
        let rhs = match given || current.is_some() {
            true => {
                let operand = out.reading(t);
                out.read(operand, target.clone())
            }
            false => Expr::Literal(fill),
        };
        let format = format.as_ref().expect("it is declared").assembled();
        let role = if last { Role::Result(t) } else { Role::Temporary };
        let name = if last { name.clone() } else { format!("{name}_was") };
        let place = out.place(Tensor { name, ty, extents, format, fill, role });
        self.c.define(Draft::new(place, target, rhs));
        place
    }

    /// The version before all blocks of a tensor that only one statement in blocks defines: 0 everywhere.
    fn zeros(&mut self, t: TensorId, last: Place) -> Place {
        let made = self.c.out.tensors[last.0].clone();
        let (name, zero) = (self.c.given.typed.tensors[t.index()].name.clone(), Expr::Literal(Value::zero(made.ty)));
        let target = self.c.out.modes(&made.extents);
        let place = self.c.out.place(Tensor { name, role: Role::Result(t), ..made });
        let inner = self.c.steps.leave_all();
        self.c.define(Draft::new(place, target, zero));
        self.c.steps.enter_again(inner);
        place
    }
}
