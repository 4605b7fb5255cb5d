//! Scatters that go on in the arrays of what was there: nothing reads that version any more, so that only what changes is written.
//!
//! ```text
//!  repeat N {
//!    x_was[k[]] latest= b[k[]] - t[] from x        x_was has the arrays of x, and one element is another
//!    next x = x_was                                x is what x_was is: between the two nobody reads it
//!  }
//! ```
//!
//! A version is *live* at a step if a step behind it, in this iteration or a later one, may read it, or if it is a result.

use super::{Carried, Nest, Place, Program, Repeat, Role, Step, Turns};
use rustc_hash::FxHashSet;

type Places = FxHashSet<Place>;

impl Program {
    /// Where the scatter that makes a tensor takes the arrays of what was there: an earlier version, of dense levels, that the kernel has
    /// made, and that is read by no step behind it and nowhere else in it.
    pub fn taken(&self) -> Vec<(Place, Place)> {
        let results = (0..self.tensors.len()).filter(|t| matches!(self.tensors[*t].role, Role::Result(_)));
        let (mut live, mut found) = (results.map(Place).collect(), Vec::new());
        self.backward(&self.steps, &mut live, &mut |nest, was| found.push((nest.target.tensor, was)));
        found
    }

    /// Goes through steps from the last, from what is live behind them to what is live before them.
    fn backward<'p>(&'p self, steps: &'p [Step], live: &mut Places, take: &mut dyn FnMut(&'p Nest, Place)) {
        for step in steps.iter().rev() {
            match step {
                Step::Nest(nest) => {
                    if let Some(was) = self.may_take(nest).filter(|was| !live.contains(was)) {
                        take(nest, was);
                    }
                    live.remove(&nest.target.tensor);
                    live.extend(self.places_of(nest));
                    live.extend(nest.assign().before().map(|a| self.accesses[a.0].tensor));
                }
                Step::Repeat(block) => self.around(block, live, take),
            }
        }
    }

    /// The same of a block: what is live where an iteration begins is also live where one ends.
    fn around<'p>(&'p self, block: &'p Repeat, live: &mut Places, take: &mut dyn FnMut(&'p Nest, Place)) {
        if let Turns::While(condition) = &block.turns {
            live.extend(self.reads(condition).iter().map(|a| self.accesses[a.0].tensor));
        }
        loop {
            let before = self.turn(block, live, &mut |_, _| {});
            if before.is_subset(live) {
                break;
            }
            live.extend(before);
        }
        self.turn(block, live, take);
    }

    /// What is live where an iteration begins, by what is live between iterations.
    fn turn<'p>(&'p self, block: &'p Repeat, between: &Places, take: &mut dyn FnMut(&'p Nest, Place)) -> Places {
        let mut live = between.clone();
        for Carried { tensor, last } in &block.carried {
            live.remove(tensor);
            live.insert(*last);
        }
        self.backward(&block.steps, &mut live, take);
        live
    }

    /// What was there, of a scatter that could go on in its arrays.
    fn may_take(&self, nest: &Nest) -> Option<Place> {
        let was = self.accesses[nest.assign().before()?.0].tensor;
        let (old, new) = (&self.tensors[was.0], &self.tensors[nest.target.tensor.0]);
        let made = !matches!(old.role, Role::Operand(_));
        let alike = old.format.is_dense() && (&old.format, old.ty) == (&new.format, new.ty);
        (made && alike && !self.places_of(nest).any(|read| read == was)).then_some(was)
    }

    /// The tensors that a nest reads, but for what was there.
    fn places_of<'p>(&'p self, nest: &'p Nest) -> impl Iterator<Item = Place> + 'p {
        let mut inside = Vec::new();
        nest.rhs.inside(&mut |nest| inside.extend(self.read_by(nest)));
        let also = nest.also().into_iter().flat_map(|also| self.reads(&also.rhs));
        let all = self.read_by(nest).chain(also).chain(inside);
        all.map(|a| self.accesses[a.0].tensor)
    }
}
