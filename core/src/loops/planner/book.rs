//! The record of decisions: a walk over the loops writes decisions into a plan, or reads them from one.
//!
//! ```text
//!   plan    the walk makes each decision where it comes to it, and records it
//!   emit    the same walk reads each decision, in the same order, and makes none
//! ```

use crate::loops::plan::{Decision, Node, Plan, Step};
use std::cell::RefCell;

/// An open node: the walk is inside of it.
pub(super) struct Frame<'p> {
    step: Step,
    written: Vec<Node>,
    /// The recorded nodes inside of this one that are still to be read.
    given: &'p [Node],
}

/// The part of a plan that is written so far, and the part of a given plan that is still to be read.
struct State<'p> {
    /// The open nodes, innermost last, below the plan itself.
    open: Vec<Frame<'p>>,
    written: Vec<Node>,
    given: &'p [Node],
    reads: bool,
    /// The first place where the given plan does not fit the program. Nothing is read from there on.
    differs: Option<String>,
}

impl<'p> State<'p> {
    fn rest(&mut self) -> &mut &'p [Node] {
        self.open.last_mut().map_or(&mut self.given, |frame| &mut frame.given)
    }

    fn nodes(&mut self) -> &mut Vec<Node> {
        self.open.last_mut().map_or(&mut self.written, |frame| &mut frame.written)
    }

    /// The next node of the given plan, if it is of this kind and fits.
    fn read<T: Decision>(&mut self, fits: impl FnOnce(&T) -> bool) -> Option<(T, &'p [Node])> {
        let (node, left) = self.rest().split_first()?;
        let step = T::of(&node.step).filter(|step| fits(step))?.clone();
        *self.rest() = left;
        Some((step, &node.inside))
    }

    /// Records a mismatch: the walk has come to this step, and the given plan has another one.
    fn wants(&mut self, step: &Step) {
        if self.reads {
            let found = self.rest().first().map_or("nothing".to_string(), |node| format!("{:?}", node.step));
            self.differs = Some(format!("the plan has {found} where the program has {step:?}"));
            self.reads = false;
        }
    }

    /// Records a mismatch if the given plan has nodes that the walk has not read.
    fn ends(&mut self, left: &[Node]) {
        if let Some(node) = left.first().filter(|_| self.reads) {
            self.differs = Some(format!("the plan has {:?}, to which the program does not come", node.step));
            self.reads = false;
        }
    }
}

/// The decisions of a plan, in the order of the walk.
pub(super) struct Book<'p> {
    state: RefCell<State<'p>>,
}

impl<'p> Book<'p> {
    /// Follows the given plan; without one, writes one.
    pub fn new(given: Option<&'p Plan>) -> Book<'p> {
        let steps = given.map_or(&[][..], |plan| &plan.steps);
        let state = State { open: vec![], written: vec![], given: steps, reads: given.is_some(), differs: None };
        Book { state: RefCell::new(state) }
    }

    /// The plan that was written. If a plan was followed, the result is empty.
    ///
    /// # Errors
    /// If the given plan does not fit the program.
    pub fn close(self) -> Result<Plan, String> {
        let mut state = self.state.into_inner();
        state.ends(state.given);
        state.differs.map_or(Ok(Plan { steps: state.written }), Err)
    }

    /// Whether the walk follows a plan, so that it decides nothing.
    pub fn follows_plan(&self) -> bool {
        self.state.borrow().reads
    }

    /// Begins a step; decisions up to [`Book::leave`] are inside of it. `choose` makes the step where no plan is followed.
    pub fn enter<T: Decision>(&self, choose: impl FnOnce() -> T) -> T {
        self.enter_if(|_| true, choose)
    }

    /// As [`Book::enter`]. If the given plan's step does not satisfy `fits`, the plan does not fit the program.
    pub fn enter_if<T: Decision>(&self, fits: impl FnOnce(&T) -> bool, choose: impl FnOnce() -> T) -> T {
        let found = self.follows_plan().then(|| self.state.borrow_mut().read::<T>(fits)).flatten();
        let (step, given) = found.unwrap_or_else(|| {
            let step = choose();
            self.state.borrow_mut().wants(&step.clone().step());
            (step, &[])
        });
        let frame = Frame { step: step.clone().step(), written: vec![], given };
        self.state.borrow_mut().open.push(frame);
        step
    }

    /// Ends the step that began last.
    pub fn leave(&self) {
        let frame = self.pause();
        self.end(frame);
    }

    /// Ends the step that began last and replaces it by `step`, of the same kind: decisions inside of it have determined the final step.
    pub fn leave_as<T: Decision>(&self, step: T) {
        let frame = self.pause();
        self.end(Frame { step: step.step(), ..frame });
    }

    /// Ends a step that was left by [`Book::pause`].
    pub fn end(&self, frame: Frame<'p>) {
        let mut state = self.state.borrow_mut();
        state.ends(frame.given);
        if !state.reads {
            let node = Node { step: frame.step, inside: frame.written };
            state.nodes().push(node);
        }
    }

    /// Suspends the step that began last; [`Book::resume`] continues it.
    pub fn pause(&self) -> Frame<'p> {
        self.state.borrow_mut().open.pop().expect("a step was begun")
    }

    /// Continues a suspended step.
    pub fn resume(&self, frame: Frame<'p>) {
        self.state.borrow_mut().open.push(frame);
    }

    /// Runs `f` inside of a step that satisfies `fits`.
    pub fn inside_if<T: Decision, R>(
        &self,
        fits: impl FnOnce(&T) -> bool,
        choose: impl FnOnce() -> T,
        f: impl FnOnce(T) -> R,
    ) -> R {
        let step = self.enter_if(fits, choose);
        let made = f(step);
        self.leave();
        made
    }

    /// Runs `f` inside of exactly this step.
    pub fn under<T: Decision, R>(&self, step: T, f: impl FnOnce() -> R) -> R {
        self.inside_if(|given| *given == step, || step.clone(), |_| f())
    }

    /// Decides a step that satisfies `fits` and has nothing inside.
    pub fn decide_if<T: Decision>(&self, fits: impl FnOnce(&T) -> bool, choose: impl FnOnce() -> T) -> T {
        self.inside_if(fits, choose, |step| step)
    }

    /// Decides a step that has nothing inside.
    pub fn decide<T: Decision>(&self, choose: impl FnOnce() -> T) -> T {
        self.decide_if(|_| true, choose)
    }

    /// Decides sibling steps of one kind: all that are possible or, if a plan is followed, those of them that the plan has.
    pub fn decide_all<T: Decision>(&self, can: impl FnOnce() -> Vec<T>) -> Vec<T> {
        let can = can();
        if !self.follows_plan() {
            return can.into_iter().map(|step| self.decide(|| step)).collect();
        }
        let next = || self.state.borrow_mut().read::<T>(|step| can.contains(step)).map(|(step, _)| step);
        std::iter::from_fn(next).collect()
    }

    /// As [`Book::decide_all`], for steps all of which a plan must have.
    pub fn all<T: Decision>(&self, must: impl FnOnce() -> Vec<T>) -> Vec<T> {
        let must = must();
        let has = self.decide_all(|| must.clone());
        if has != must {
            self.state.borrow_mut().wants(&must[0].clone().step());
        }
        must
    }

    /// Records a mismatch: the plan's decision is not possible here.
    pub fn differs(&self, what: &str) {
        let mut state = self.state.borrow_mut();
        if state.reads {
            (state.differs, state.reads) = (Some(what.to_string()), false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::plan::Forall;
    use crate::notation::concrete::Index;

    /// The result of checking a plan against a walk that comes to two loops, the second inside of the first.
    fn held_to(plan: &Plan, loops: [usize; 2]) -> Result<Plan, String> {
        let book = Book::new(Some(plan));
        let [outer, inner] = loops.map(|n| Forall(Index(n)));
        book.under(outer, || book.under(inner, || {}));
        book.close()
    }

    fn written(loops: [usize; 2]) -> Plan {
        let book = Book::new(None);
        let [outer, inner] = loops.map(|n| Forall(Index(n)));
        book.under(outer, || book.under(inner, || {}));
        book.close().expect("nothing was given")
    }

    #[test]
    fn a_plan_that_is_followed_is_read_to_its_end() {
        assert_eq!(held_to(&written([0, 1]), [0, 1]), Ok(Plan::default()));
    }

    /// The plan has a step that the walk does not come to, lacks one to which it comes, or has one too many, inside or behind.
    #[test]
    fn a_plan_of_other_loops_is_refused() {
        let plan = written([0, 1]);
        for loops in [[0, 2], [2, 1]] {
            let said = held_to(&plan, loops).expect_err("other loops");
            assert!(said.starts_with("the plan has Forall") && said.contains("where the program has Forall"), "{said}");
        }
        let mut fewer = plan.clone();
        fewer.steps[0].inside.clear();
        assert!(held_to(&fewer, [0, 1]).is_err_and(|said| said.contains("the plan has nothing")));
        let (mut behind, mut inside) = (plan.clone(), plan.clone());
        behind.steps.push(plan.steps[0].clone());
        inside.steps[0].inside.push(plan.steps[0].clone());
        for more in [behind, inside] {
            assert!(held_to(&more, [0, 1]).is_err_and(|said| said.contains("to which the program does not come")));
        }
    }
}
