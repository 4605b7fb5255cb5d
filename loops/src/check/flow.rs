//! Checks what has to hold on every path: variables are set before they are read, buffers are allocated before they are used, results are
//! finished at the end.
//!
//! A state is three sets of facts that hold at a place. Where paths meet, they are intersected; behind `fail` there is no path, hence no
//! state. An iteration of a loop begins with the state before the loop, without the variables that are private to iterations of vector
//! and parallel loops inside of it, and without the facts that do not hold at the iteration's end. Where an iteration invalidates facts,
//! the body is visited again to find the facts that this invalidates.

use super::{buffer, variable};
use crate::arith::linear;
use crate::folds::{accumulates, array_in_pieces, fold_in_pieces};
use crate::print::{expression, headline, role_name};
use crate::{BufferId, Entry, Expr, How, Joined, Kernel, Role, Stmt, Var};
use fiberloom_core::algebra::Type;

/// The facts that hold at a place of the kernel.
#[derive(Clone, PartialEq)]
struct State {
    set: Vec<bool>,
    allocated: Vec<bool>,
    finished: Vec<bool>,
}

/// `None`: no path leads here.
type Reached = Option<State>;

/// The way in which a variable gets its values, throughout a kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Parameter,
    Let,
    Set,
    Loop,
}

struct Flow<'k> {
    kernel: &'k Kernel,
    kinds: Vec<Option<Kind>>,
    /// The most restricted way in which an enclosing loop runs. A parallel loop's own workspaces are those of all parallel loops around.
    how: How,
}

/// Checks types and paths of the whole body.
pub(super) fn check(kernel: &Kernel) -> Result<(), String> {
    let mut kinds = vec![None; kernel.vars.len()];
    let mut set = vec![false; kernel.vars.len()];
    for p in &kernel.params {
        kinds[p.0 as usize] = Some(Kind::Parameter);
        set[p.0 as usize] = true;
    }
    let allocated = kernel.buffers.iter().map(|b| b.role == Role::Operand).collect();
    let finished = vec![false; kernel.buffers.len()];
    let mut flow = Flow { kernel, kinds, how: How::Serial };
    let end = flow.block(&kernel.body, Some(State { set, allocated, finished }))?;
    let unfinished =
        |s: State| (0..s.finished.len()).find(|b| !s.finished[*b] && kernel.buffers[*b].role == Role::Result);
    match end.and_then(unfinished) {
        Some(b) => Err(format!("result `{}` is not finished on every path", kernel.buffers[b].name)),
        None => Ok(()),
    }
}

fn meet(a: Reached, b: Reached) -> Reached {
    let (mut a, b) = match (a, b) {
        (Some(a), Some(b)) => (a, b),
        (a, b) => return a.or(b),
    };
    let and = |x: &mut Vec<bool>, y: Vec<bool>| x.iter_mut().zip(y).for_each(|(x, y)| *x &= y);
    and(&mut a.set, b.set);
    and(&mut a.allocated, b.allocated);
    and(&mut a.finished, b.finished);
    Some(a)
}

impl Flow<'_> {
    fn block(&mut self, stmts: &[Stmt], mut state: Reached) -> Result<Reached, String> {
        for stmt in stmts {
            state = self.stmt(stmt, state)?;
        }
        for stmt in stmts {
            if let (Stmt::Let(v, _), Some(state)) = (stmt, &mut state) {
                state.set[v.0 as usize] = false;
            }
        }
        Ok(state)
    }

    fn stmt(&mut self, stmt: &Stmt, mut state: Reached) -> Result<Reached, String> {
        let at = |e: String| format!("in `{}`: {e}", headline(self.kernel, stmt));
        if let Stmt::While(_, body) | Stmt::For { body, .. } = stmt {
            let mut undone = vec![];
            undoes(self.kernel, body, &mut undone);
            forget(&mut state, &undone);
        }
        if let Stmt::While(_, body) = stmt {
            return settled(state, |mut head| {
                self.straight(stmt, &mut head).map_err(at)?;
                self.block(body, head)
            });
        }
        self.straight(stmt, &mut state).map_err(at)?;
        match stmt {
            Stmt::If(_, yes, no) => {
                let yes = self.block(yes, state.clone())?;
                let no = self.block(no, state)?;
                Ok(meet(yes, no))
            }
            Stmt::For { var, how, body, .. } => self.each(*var, how, body, state),
            Stmt::Call(Entry::Fail(_)) => Ok(None),
            _ => Ok(state),
        }
    }

    /// Checks a counted loop whose bounds are checked.
    fn each(&mut self, var: Var, how: &How, body: &[Stmt], mut before: Reached) -> Result<Reached, String> {
        let (v, outer) = (var.0 as usize, self.how.clone());
        let private = private(self.kernel, (var, how), body);
        match (&mut self.how, how) {
            (_, How::Serial) => {}
            (How::Parallel { own: around, joined: outside, .. }, How::Parallel { own, joined, .. }) => {
                around.retain(|b| own.contains(b));
                outside.retain(|j| joined.contains(j));
            }
            (around, how) => *around = how.clone(),
        }
        forget(&mut before, &private);
        let after = settled(before, |head| {
            let start = head.map(|mut s| {
                s.set[v] = true;
                s
            });
            let mut end = self.block(body, start)?;
            forget(&mut end, &private);
            forget(&mut end, &[var]);
            Ok(end)
        })?;
        self.how = outer;
        Ok(after)
    }

    /// Applies the effect of a statement's own expressions, before its blocks.
    fn straight(&mut self, stmt: &Stmt, state: &mut Reached) -> Result<(), String> {
        match stmt {
            Stmt::Let(v, e) => {
                let ty = variable(self.kernel, *v)?.1;
                self.needs(e, ty, state)?;
                self.kind(*v, Kind::Let)?;
                self.fresh(*v, state)
            }
            Stmt::Set(v, e) => {
                let ty = variable(self.kernel, *v)?.1;
                self.needs(e, ty, state)?;
                self.kind(*v, Kind::Set)?;
                if let Some(state) = state {
                    state.set[v.0 as usize] = true;
                }
                Ok(())
            }
            Stmt::Store(b, at, e) => {
                self.changes(*b)?;
                self.needs(at, Type::I64, state)?;
                self.needs(e, buffer(self.kernel, *b)?.ty, state)?;
                self.allocated(*b, state)
            }
            Stmt::If(c, _, _) | Stmt::While(c, _) => self.needs(c, Type::Bool, state),
            Stmt::For { var, lo, hi, how, body } => {
                self.needs(lo, Type::I64, state)?;
                self.needs(hi, Type::I64, state)?;
                if variable(self.kernel, *var)?.1 != Type::I64 {
                    return Err("a loop's variable is i64".into());
                }
                if let How::Parallel { own, joined, folded, arrays } = how {
                    if self.how == How::Vector {
                        return Err("a parallel loop cannot stand in a vector loop".into());
                    }
                    own.iter().try_for_each(|b| self.is_copied(*b, state))?;
                    joined.iter().try_for_each(|j| self.is_joined(*var, j, state))?;
                    folded.iter().try_for_each(|v| self.is_folded(*v, body, state))?;
                    arrays.iter().try_for_each(|b| self.has_folds(*b, (body, joined), state))?;
                }
                self.kind(*var, Kind::Loop)?;
                self.is_fresh(*var, state)
            }
            Stmt::Call(entry) => self.entry(entry, state),
            Stmt::Comment(text) if text.contains(|c: char| c.is_control()) => {
                Err("a comment is one line without control characters".into())
            }
            Stmt::Comment(_) => Ok(()),
        }
    }

    fn entry(&self, entry: &Entry, state: &mut Reached) -> Result<(), String> {
        match (&self.how, entry) {
            (How::Serial, _) | (How::Parallel { .. }, Entry::Fail(_) | Entry::Sort { .. } | Entry::SortInto { .. }) => {
            }
            (How::Parallel { own, .. }, Entry::Alloc { buffer, .. }) if own.contains(buffer) => {}
            (How::Parallel { own, joined, .. }, Entry::Reserve { buffer, .. })
                if own.contains(buffer) || joined.iter().any(|j| j.array == *buffer) => {}
            (How::Parallel { .. }, _) => return Err("not in a parallel loop".into()),
            (How::Vector, _) => return Err("not in a vector loop".into()),
        }
        match entry {
            Entry::Alloc { buffer: b, len, fill } => {
                self.changes(*b)?;
                self.needs(len, Type::I64, state)?;
                if let Some(x) = fill.filter(|x| x.ty() != self.kernel.buffers[b.0 as usize].ty) {
                    return Err(format!("{} elements cannot be filled with the {} {x}", self.element(*b), x.ty()));
                }
                self.mark(*b, state, true, false);
                Ok(())
            }
            Entry::Reserve { buffer, len } => {
                self.changes(*buffer)?;
                self.needs(len, Type::I64, state)?;
                self.allocated(*buffer, state)?;
                self.mark(*buffer, state, true, false);
                Ok(())
            }
            Entry::Finish { buffer: b, len } => {
                self.changes(*b)?;
                self.needs(len, Type::I64, state)?;
                self.allocated(*b, state)?;
                self.mark(*b, state, true, true);
                Ok(())
            }
            Entry::Move { to, from } => {
                self.changes(*to)?;
                self.changes(*from)?;
                self.allocated(*from, state)?;
                if to == from || self.element(*to) != self.element(*from) {
                    return Err("what is moved is another buffer of the same type".into());
                }
                let finished = state.as_ref().is_some_and(|state| state.finished[from.0 as usize]);
                self.mark(*to, state, true, finished);
                self.mark(*from, state, false, false);
                Ok(())
            }
            Entry::Sort { keys, order, len } => {
                self.needs(len, Type::I64, state)?;
                self.sorts(*keys, state)?;
                self.sorts(*order, state)?;
                if keys == order { Err("the keys and their order are one buffer".into()) } else { Ok(()) }
            }
            Entry::SortInto { keys, into, at, len } => {
                self.needs(at, Type::I64, state)?;
                self.needs(len, Type::I64, state)?;
                for b in [*keys, *into] {
                    self.changes(b)?;
                    self.allocated(b, state)?;
                }
                match (self.element(*keys), self.element(*into)) {
                    _ if keys == into => Err("keys are not sorted into themselves".into()),
                    (Type::I32, Type::I32) | (Type::I64, Type::I64) => Ok(()),
                    (from, to) => Err(format!("{from} are not sorted into {to}: only i32 into i32 and i64 into i64")),
                }
            }
            Entry::Fail(_) => Ok(()),
        }
    }

    /// Checks that threads may have copies of a buffer.
    fn is_copied(&self, b: BufferId, state: &Reached) -> Result<(), String> {
        match buffer(self.kernel, b)? {
            b if b.role == Role::Workspace => {}
            b => return Err(format!("threads have copies of workspaces alone, and `{}` is none", b.name)),
        }
        self.allocated(b, state)
    }

    /// Checks that iterations may append to an array.
    fn is_joined(&self, index: Var, joined: &Joined, state: &Reached) -> Result<(), String> {
        let name = &buffer(self.kernel, joined.array)?.name;
        self.changes(joined.array)?;
        self.allocated(joined.array, state)?;
        let inside = state.clone().map(|mut state| {
            state.set.get_mut(index.0 as usize).into_iter().for_each(|set| *set = true);
            state
        });
        self.needs(&joined.from, Type::I64, &inside)?;
        if let Some(v) = joined.holds {
            self.needs(&Expr::Var(v), Type::I64, state)?;
            if !matches!(self.element(joined.array), Type::I32 | Type::I64) {
                return Err(format!("`{name}` cannot hold a counter: its elements are neither i32 nor i64"));
            }
        }
        if joined.counter(index).is_some() {
            return Ok(());
        }
        if joined.holds.is_none() {
            return Err(format!("`{name}` needs no joining: it has a place for each iteration"));
        }
        let is_linear = linear(&joined.from, index).is_some();
        let what = || format!("where an iteration's part of `{name}` begins is not linear in the loop's variable");
        is_linear.then_some(()).ok_or_else(what)
    }

    /// Checks that iterations fold into a variable, and do nothing else with it.
    fn is_folded(&self, v: Var, body: &[Stmt], state: &Reached) -> Result<(), String> {
        let (name, ty) = variable(self.kernel, v)?;
        self.needs(&Expr::Var(v), *ty, state)?;
        match fold_in_pieces(self.kernel, body, v) {
            Some(_) => Ok(()),
            None => {
                Err(format!("iterations do not only fold into `{name}` with a function that pieces can be folded with"))
            }
        }
    }

    /// Checks that iterations fold into the elements of an array, and do nothing else with it.
    fn has_folds(&self, b: BufferId, (body, joined): (&[Stmt], &[Joined]), state: &Reached) -> Result<(), String> {
        self.changes(b)?;
        self.allocated(b, state)?;
        let name = &buffer(self.kernel, b)?.name;
        if !joined.is_empty() {
            return Err(format!("iterations that append do not fold into elements of `{name}`, too"));
        }
        match array_in_pieces(self.kernel, body, b) {
            Some(_) => Ok(()),
            None => Err(format!(
                "iterations do not only fold into elements of `{name}` with a function that pieces can be folded with"
            )),
        }
    }

    fn sorts(&self, b: BufferId, state: &Reached) -> Result<(), String> {
        self.changes(b)?;
        self.allocated(b, state)?;
        match self.element(b) {
            Type::I64 => Ok(()),
            ty => Err(format!("elements of type {ty} are not sorted, only i64")),
        }
    }

    fn element(&self, b: BufferId) -> Type {
        self.kernel.buffers[b.0 as usize].ty
    }

    fn mark(&self, b: BufferId, state: &mut Reached, allocated: bool, finished: bool) {
        if let Some(state) = state {
            state.allocated[b.0 as usize] = allocated;
            state.finished[b.0 as usize] = finished;
        }
    }

    /// Checks that the kernel may change the buffer.
    fn changes(&self, b: BufferId) -> Result<(), String> {
        match buffer(self.kernel, b)? {
            b if b.role == Role::Operand => Err(format!("{} `{}` is read only", role_name(b.role), b.name)),
            _ => Ok(()),
        }
    }

    fn allocated(&self, b: BufferId, state: &Reached) -> Result<(), String> {
        let name = &buffer(self.kernel, b)?.name;
        match state {
            Some(state) if !state.allocated[b.0 as usize] => Err(format!("`{name}` may not be allocated here")),
            _ => Ok(()),
        }
    }

    fn kind(&mut self, v: Var, kind: Kind) -> Result<(), String> {
        let place = &mut self.kinds[v.0 as usize];
        match *place.get_or_insert(kind) {
            k if k == kind => Ok(()),
            k => {
                Err(format!("`{}` is a {k:?} variable elsewhere, not a {kind:?} one", self.kernel.vars[v.0 as usize].0))
            }
        }
    }

    /// Defines a variable, which must not be defined yet.
    fn fresh(&self, v: Var, state: &mut Reached) -> Result<(), String> {
        self.is_fresh(v, state)?;
        state.iter_mut().for_each(|state| state.set[v.0 as usize] = true);
        Ok(())
    }

    fn is_fresh(&self, v: Var, state: &Reached) -> Result<(), String> {
        match state {
            Some(state) if state.set[v.0 as usize] => {
                Err(format!("`{}` is defined already", self.kernel.vars[v.0 as usize].0))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the expression has this type and can be evaluated here.
    fn needs(&self, e: &Expr, ty: Type, state: &Reached) -> Result<(), String> {
        let has = self.kernel.type_of(e)?;
        if has != ty {
            return Err(format!("`{}` is {has}, and {ty} is needed", expression(self.kernel, e)));
        }
        state.as_ref().map_or(Ok(()), |state| self.reads(e, state))
    }

    fn reads(&self, e: &Expr, state: &State) -> Result<(), String> {
        match e {
            Expr::Const(_) => Ok(()),
            Expr::Var(v) if state.set[v.0 as usize] => Ok(()),
            Expr::Var(v) => Err(format!("`{}` may not be set here", self.kernel.vars[v.0 as usize].0)),
            Expr::Op(_, args) => args.iter().try_for_each(|a| self.reads(a, state)),
            Expr::Load(b, at) => {
                self.reads(at, state)?;
                self.available(*b, state)
            }
            Expr::Among(_, b, parts) => {
                parts.iter().try_for_each(|part| self.reads(part, state))?;
                self.available(*b, state)
            }
            Expr::Capacity(b) => self.available(*b, state),
        }
    }

    fn available(&self, b: BufferId, state: &State) -> Result<(), String> {
        match state.allocated[b.0 as usize] {
            true => Ok(()),
            false => Err(format!("`{}` may not be allocated here", self.kernel.buffers[b.0 as usize].name)),
        }
    }
}

/// The state at the beginning of every iteration of a loop, and behind the loop: the facts that hold before it and at the end of each
/// iteration. A fact that an iteration invalidates and restores holds.
fn settled(mut head: Reached, mut turn: impl FnMut(Reached) -> Result<Reached, String>) -> Result<Reached, String> {
    loop {
        let end = turn(head.clone())?;
        let met = meet(head.clone(), end);
        if met == head {
            return Ok(head);
        }
        head = met;
    }
}

fn forget(state: &mut Reached, vars: &[Var]) {
    if let Some(state) = state {
        for v in vars {
            // A variable that does not exist is refused later.
            state.set.get_mut(v.0 as usize).into_iter().for_each(|set| *set = false);
        }
    }
}

/// The variables that are private to iterations of loops inside these statements.
fn undoes(kernel: &Kernel, stmts: &[Stmt], out: &mut Vec<Var>) {
    for stmt in stmts {
        if let Stmt::For { var, how, body, .. } = stmt {
            out.extend(private(kernel, (*var, how), body));
        }
        stmt.blocks().for_each(|block| undoes(kernel, block, out));
    }
}

/// The variables that are private to each iteration of a loop: those that the body of a vector or parallel loop sets, except those into
/// which a vector loop's body only accumulates, and those that count what a parallel loop's iterations append, or into which they fold.
pub fn private(kernel: &Kernel, (index, how): (Var, &How), body: &[Stmt]) -> Vec<Var> {
    let mut vars = vec![];
    if *how != How::Serial {
        body.iter().for_each(|stmt| stmt.each_set(&mut |v, _| vars.push(v)));
        vars.sort();
        vars.dedup();
        let counters = how.counters(index);
        let stays = |v: &Var| counters.contains(v) || how.folded().contains(v);
        vars.retain(|v| !stays(v) && (*how != How::Vector || accumulates(kernel, body, *v).is_none()));
    }
    vars
}
