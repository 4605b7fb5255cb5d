//! A symbolic run of loops, statement by statement as the machine of `fiberloom_semantics` runs them.
//!
//! ```text
//!  if, while, for    an open condition is decided, one way a path
//!  if of few stores  both blocks run, and what they set is chosen by the condition
//!  &&, ||, select    the part that may not be evaluated is, under its condition: a rule that it breaks is broken where that holds
//! ```
//!
//! Every rule of the machine is watched: bounds, elements and variables that were not set, buffers not allocated, operands
//! that are written, turns that conflict, results without a length. Limits on memory and steps are not the kernel's.

use super::functions::apply;
use super::memory::{Buffer, Cell};
use super::path::{Gave, Path};
use super::scalar::Scalar;
use super::truth::Truth;
use super::turns::{Access, Turns};
use fiberloom_core::algebra::{Op, Type};
use fiberloom_loops::{Entry, Expr, Failure, How, Kernel, LANES, Role, Sought, Stmt, Var, private};
use fiberloom_semantics::machine::Rule;

/// Elements that a buffer may have.
const ROOM: usize = 8_192;

/// What a kernel is called with.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// The value of each of its parameters.
    pub params: Vec<i64>,
    /// For each of its buffers that is an operand, the elements.
    pub operands: Vec<Option<Vec<Scalar>>>,
}

/// Why a run ends early.
#[derive(Clone, Debug, PartialEq)]
pub enum Halt {
    /// The kernel ended itself.
    Stopped(Failure),
    /// A rule was broken.
    Broken(Rule),
    /// Nothing is known.
    Gave(Gave),
}

impl From<Gave> for Halt {
    fn from(gave: Gave) -> Halt {
        Halt::Gave(gave)
    }
}

/// What becomes of a rule that need not hold on all data of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Data that break it are on another path.
    Watched,
    /// That it holds is a claim.
    Claimed,
}

/// The end of a run.
#[derive(Clone, Debug)]
pub struct End {
    /// All buffers, or why there is no end.
    pub buffers: Result<Vec<Buffer>, Halt>,
    /// Whether every rule that was claimed holds.
    pub claims: Truth,
}

/// Runs a kernel that passed its checker along a path.
pub fn run(kernel: &Kernel, given: &Arguments, rules: Rules, path: &mut Path) -> End {
    // A rewrite may add buffers.
    let buffers = kernel.buffers.iter().enumerate().map(|(i, b)| match given.operands.get(i) {
        Some(Some(elements)) => Buffer::operand(b.ty, elements),
        _ => Buffer::made(b.ty, b.role),
    });
    let mut machine = Machine {
        kernel,
        vars: kernel.vars.iter().map(|(_, ty)| Cell::unset(*ty)).collect(),
        buffers: buffers.collect(),
        guard: Truth::YES,
        turns: vec![],
        steps: path.steps(),
        rules,
        claims: Truth::YES,
        path,
    };
    for (p, value) in kernel.params.iter().zip(&given.params) {
        machine.vars[p.0 as usize] = Cell::of(Scalar::int(*value));
    }
    let ended = machine.block(&kernel.body);
    let unfinished = |b: &Buffer| b.role == Role::Result && b.finished.is_none();
    let buffers = match ended {
        Ok(()) if machine.buffers.iter().any(unfinished) => Err(Halt::Broken(Rule::Finished)),
        Ok(()) => Ok(machine.buffers),
        Err(halt) => Err(halt),
    };
    End { buffers, claims: machine.claims }
}

struct Machine<'a> {
    kernel: &'a Kernel,
    vars: Vec<Cell>,
    buffers: Vec<Buffer>,
    /// Under which condition what runs now runs, beside the path's.
    guard: Truth,
    /// The loops that are running and whose turns may run at once.
    turns: Vec<Turns>,
    steps: u64,
    rules: Rules,
    claims: Truth,
    path: &'a mut Path,
}

type Done<T> = Result<T, Halt>;

impl Machine<'_> {
    /// A rule holds wherever this runs.
    fn require(&mut self, holds: &Truth, rule: Rule) -> Done<()> {
        let under = (!&self.guard).or(holds);
        match self.rules {
            _ if under.known() == Some(false) => Err(Halt::Broken(rule)),
            Rules::Watched if self.path.decide(&under)? => Ok(()),
            Rules::Watched => Err(Halt::Broken(rule)),
            Rules::Claimed => {
                self.claims = self.claims.and(&under);
                Ok(())
            }
        }
    }

    /// Does something under one more condition.
    fn under<T>(&mut self, condition: &Truth, mut act: impl FnMut(&mut Self) -> Done<T>) -> Done<T> {
        let outer = std::mem::replace(&mut self.guard, Truth::YES);
        self.guard = outer.and(condition);
        let done = act(self);
        self.guard = outer;
        done
    }

    fn step(&mut self) -> Done<()> {
        self.steps = self.steps.checked_sub(1).ok_or(Gave::Steps)?;
        if self.steps.is_multiple_of(64) { Ok(self.path.left().map(drop)?) } else { Ok(()) }
    }

    fn block(&mut self, block: &[Stmt]) -> Done<()> {
        for stmt in block {
            self.step()?;
            self.statement(stmt)?;
        }
        for stmt in block {
            if let Stmt::Let(v, _) = stmt {
                self.forget(*v);
            }
        }
        Ok(())
    }

    fn forget(&mut self, v: Var) {
        self.vars[v.0 as usize].set = Truth::NO;
    }

    fn statement(&mut self, stmt: &Stmt) -> Done<()> {
        match stmt {
            // Its block alone reads it, under no less than this condition.
            Stmt::Let(v, e) => self.vars[v.0 as usize] = Cell::of(self.value(e)?),
            Stmt::Set(v, e) => {
                let value = self.value(e)?;
                self.vars[v.0 as usize].put(&self.guard, &value);
            }
            Stmt::Store(b, at, e) => {
                let (at, value) = (self.value(at)?, self.value(e)?);
                self.store(b.0 as usize, &at, &value)?;
            }
            Stmt::If(c, yes, no) => self.branch(c, yes, no)?,
            Stmt::While(c, body) => {
                while self.holds(c)? {
                    self.step()?;
                    self.block(body)?;
                }
            }
            Stmt::For { var, lo, hi, how, body } => self.each(*var, (lo, hi), how, body)?,
            Stmt::Call(entry) => self.call(entry)?,
            Stmt::Comment(_) => {}
        }
        Ok(())
    }

    fn holds(&mut self, c: &Expr) -> Done<bool> {
        let condition = self.value(c)?.is_true();
        Ok(self.path.decide(&condition)?)
    }

    fn branch(&mut self, c: &Expr, yes: &[Stmt], no: &[Stmt]) -> Done<()> {
        let condition = self.value(c)?.is_true();
        let inside = self.guard.known().is_none();
        if condition.known().is_none() && (inside || self.merges(yes) && self.merges(no)) {
            self.under(&condition, |machine| machine.block(yes))?;
            return self.under(&!&condition, |machine| machine.block(no));
        }
        let taken = if self.path.decide(&condition)? { yes } else { no };
        self.block(taken)
    }

    /// Whether a block does no more than compute and store, and sets no counter.
    fn merges(&self, block: &[Stmt]) -> bool {
        block.iter().all(|stmt| match stmt {
            Stmt::Let(..) | Stmt::Store(..) | Stmt::Comment(_) => true,
            Stmt::Set(v, _) => self.kernel.vars[v.0 as usize].1 != Type::I64,
            Stmt::If(_, yes, no) => self.merges(yes) && self.merges(no),
            _ => false,
        })
    }

    fn each(&mut self, var: Var, (lo, hi): (&Expr, &Expr), how: &How, body: &[Stmt]) -> Done<()> {
        let (lo, hi) = (self.value(lo)?, self.value(hi)?);
        let own = private(self.kernel, (var, how), body);
        let apart = *how != How::Serial;
        if apart {
            let copied = if let How::Parallel { own, .. } = how { &own[..] } else { &[] };
            let own = copied.iter().map(|b| (b.0 as usize, self.buffers[b.0 as usize].clone())).collect();
            let joined = how.joined().iter().map(|j| j.array).chain(how.arrays().iter().copied());
            let joined = joined.map(|b| b.0 as usize).collect();
            self.turns.push(Turns::of(own, joined));
        }
        let mut turn = lo;
        while self.path.decide(&apply(Op::Lt, &[turn.clone(), hi.clone()], false).is_true())? {
            self.step()?;
            own.iter().for_each(|v| self.forget(*v));
            self.vars[var.0 as usize] = Cell::of(turn.clone());
            self.block(body)?;
            if let Some(turns) = self.turns.last_mut().filter(|_| apart) {
                turns.own.iter().for_each(|(b, before)| self.buffers[*b].drop_changes(before));
                turns.next();
            }
            turn = apply(Op::Add, &[turn, Scalar::int(1)], false);
        }
        own.iter().for_each(|v| self.forget(*v));
        self.forget(var);
        if apart {
            self.turns.pop();
        }
        Ok(())
    }

    fn call(&mut self, entry: &Entry) -> Done<()> {
        match entry {
            Entry::Alloc { buffer, len, fill } => {
                let len = self.count(len)?;
                self.made(buffer.0 as usize)?.alloc(len, *fill);
            }
            Entry::Reserve { buffer, len } => {
                let len = self.count(len)?;
                self.there(buffer.0 as usize)?.reserve(len);
            }
            Entry::Finish { buffer, len } => {
                let len = self.value(len)?;
                let (fits, all) = self.there(buffer.0 as usize)?.complete(&len);
                self.require(&fits, Rule::Finished)?;
                self.require(&all, Rule::ElementSet)?;
                self.buffers[buffer.0 as usize].finished = Some(len);
            }
            Entry::Move { to, from } => {
                self.there(from.0 as usize)?;
                self.made(to.0 as usize)?;
                let both = self.buffers.get_disjoint_mut([to.0 as usize, from.0 as usize]);
                let [to, from] = both.map_err(|_| Halt::Broken(Rule::Allocated))?;
                to.take(from);
            }
            Entry::Sort { keys, order, len } => {
                let sorted = self.sorted(keys.0 as usize, len)?;
                for (i, (key, place)) in sorted.iter().enumerate() {
                    self.store(keys.0 as usize, &Scalar::int(i as i64), key)?;
                    self.store(order.0 as usize, &Scalar::int(i as i64), place)?;
                }
            }
            Entry::SortInto { keys, into, at, len } => {
                let at = self.value(at)?;
                let sorted = self.sorted(keys.0 as usize, len)?;
                if sorted.len() as i64 > Entry::FEW {
                    return Err(Halt::Broken(Rule::Few));
                }
                for (i, (key, _)) in sorted.iter().enumerate() {
                    let at = apply(Op::Add, &[at.clone(), Scalar::int(i as i64)], false);
                    self.store(into.0 as usize, &at, key)?;
                }
            }
            Entry::Fail(failure) => return Err(Halt::Stopped(*failure)),
        }
        Ok(())
    }

    /// A number of elements: 0 if negative.
    fn count(&mut self, len: &Expr) -> Done<usize> {
        let len = self.value(len)?;
        let len = self.path.pick(&len)?.max(0) as usize;
        if len > ROOM { Err(Gave::Unasked("a large buffer").into()) } else { Ok(len) }
    }

    /// A buffer that the kernel makes.
    fn made(&mut self, b: usize) -> Done<&mut Buffer> {
        let buffer = &mut self.buffers[b];
        if buffer.role == Role::Operand { Err(Halt::Broken(Rule::ReadOnly)) } else { Ok(buffer) }
    }

    /// The same, allocated.
    fn there(&mut self, b: usize) -> Done<&mut Buffer> {
        let buffer = self.made(b)?;
        if buffer.allocated { Ok(buffer) } else { Err(Halt::Broken(Rule::Allocated)) }
    }

    /// The first elements in ascending order, each with where it was: by exchanges of neighbours, which keep equal ones in their
    /// order.
    fn sorted(&mut self, b: usize, len: &Expr) -> Done<Vec<(Scalar, Scalar)>> {
        let len = self.count(len)?;
        let mut keys = vec![];
        for i in 0..len as i64 {
            keys.push((self.load(b, &Scalar::int(i))?, Scalar::int(i)));
        }
        for end in (1..len).rev() {
            for i in 0..end {
                let ((a, from), (b, of)) = (keys[i].clone(), keys[i + 1].clone());
                let swap = apply(Op::Gt, &[a.clone(), b.clone()], false).is_true();
                keys[i] = (Scalar::choose(&swap, &b, &a), Scalar::choose(&swap, &of, &from));
                keys[i + 1] = (Scalar::choose(&swap, &a, &b), Scalar::choose(&swap, &from, &of));
            }
        }
        Ok(keys)
    }

    fn store(&mut self, b: usize, at: &Scalar, value: &Scalar) -> Done<()> {
        self.touch(b, at, true)?;
        self.in_bounds(b, at)?;
        let guard = self.guard.clone();
        self.made(b)?.store(at, &guard, value);
        Ok(())
    }

    fn in_bounds(&mut self, b: usize, at: &Scalar) -> Done<()> {
        let there = Truth::Known(self.buffers[b].allocated);
        self.require(&there, Rule::Allocated)?;
        let bounds = self.buffers[b].bounds(at);
        self.require(&bounds, Rule::InBounds)
    }

    fn load(&mut self, b: usize, at: &Scalar) -> Done<Scalar> {
        if self.buffers[b].role != Role::Operand {
            self.touch(b, at, false)?;
        }
        self.in_bounds(b, at)?;
        let Cell { set, value } = self.buffers[b].load(at);
        self.require(&set, Rule::ElementSet)?;
        Ok(value)
    }

    /// Turns that run at once do not conflict in this access.
    fn touch(&mut self, buffer: usize, at: &Scalar, writes: bool) -> Done<()> {
        let copied = self.turns.iter().rposition(|turns| turns.has_own(buffer)).map_or(0, |last| last + 1);
        for n in copied..self.turns.len() {
            let access = Access { buffer, at: at.clone(), guard: self.guard.clone(), writes };
            let clash = self.turns[n].clash(&access);
            self.require(&!&clash, Rule::NoRace(0, 0))?;
            self.turns[n].note(access);
        }
        Ok(())
    }

    fn value(&mut self, e: &Expr) -> Done<Scalar> {
        match e {
            Expr::Const(x) => Ok(Scalar::Known(*x)),
            Expr::Var(v) => {
                let Cell { set, value } = self.vars[v.0 as usize].clone();
                self.require(&set, Rule::VariableSet)?;
                Ok(value)
            }
            Expr::Load(b, at) => {
                let at = self.value(at)?;
                self.load(b.0 as usize, &at)
            }
            Expr::Among(sought, b, parts) => self.among(*sought, b.0 as usize, parts),
            Expr::Capacity(b) => {
                let buffer = &self.buffers[b.0 as usize];
                let (there, room) = (Truth::Known(buffer.allocated), buffer.cells.len());
                self.require(&there, Rule::Allocated)?;
                Ok(Scalar::int(room as i64))
            }
            Expr::Op(Op::AndAlso, args) => {
                let first = self.value(&args[0])?.is_true();
                if first.known() == Some(false) {
                    return Ok(Scalar::truth(first));
                }
                let second = self.under(&first, |machine| machine.value(&args[1]))?.is_true();
                Ok(Scalar::truth(first.and(&second)))
            }
            Expr::Op(Op::OrElse, args) => {
                let first = self.value(&args[0])?.is_true();
                if first.known() == Some(true) {
                    return Ok(Scalar::truth(first));
                }
                let second = self.under(&!&first, |machine| machine.value(&args[1]))?.is_true();
                Ok(Scalar::truth(first.or(&second)))
            }
            Expr::Op(Op::Select, args) => {
                let condition = self.value(&args[0])?.is_true();
                if let Some(chosen) = condition.known() {
                    return self.value(&args[if chosen { 1 } else { 2 }]);
                }
                let yes = self.under(&condition, |machine| machine.value(&args[1]))?;
                let no = self.under(&!&condition, |machine| machine.value(&args[2]))?;
                Ok(Scalar::choose(&condition, &yes, &no))
            }
            Expr::Op(op, args) => {
                let args = args.iter().map(|a| self.value(a)).collect::<Done<Vec<_>>>()?;
                Ok(apply(*op, &args, self.kernel.reassociate))
            }
        }
    }

    /// The first lane that is sought, as [`Sought::of`] says.
    fn among(&mut self, sought: Sought, b: usize, parts: &[Expr; 3]) -> Done<Scalar> {
        let [begin, end, target] = [self.value(&parts[0])?, self.value(&parts[1])?, self.value(&parts[2])?];
        let int = |op, a: &Scalar, b: &Scalar| apply(op, &[a.clone(), b.clone()], false);
        let lane = |k: i64| Scalar::int(k);
        let mut found = lane(LANES);
        if sought != Sought::Target {
            found = int(Op::Min, &int(Op::Max, &int(Op::Sub, &end, &begin), &lane(0)), &lane(LANES));
        }
        for k in (0..LANES).rev() {
            let at = int(Op::Add, &begin, &lane(k));
            let here = int(Op::Lt, &at, &end).is_true();
            if here.known() == Some(false) {
                continue;
            }
            let element = self.under(&here, |machine| machine.load(b, &at))?;
            let element = apply(Op::Convert(Type::I64), &[element], false);
            let op = match sought {
                Sought::Target => Op::Eq,
                Sought::NotBelow => Op::Ge,
                Sought::Other => Op::Ne,
            };
            let is_it = here.and(&int(op, &element, &target).is_true());
            found = Scalar::choose(&is_it, &lane(k), &found);
        }
        Ok(found)
    }
}
