//! The machine that runs [`Code`].

use super::code::{Block, Code, For, Kind, Step};
use super::device::{Device, Ended, Parallel};
use super::memory::{Buffer, Refused};
use super::turns::Turns;
use super::{Breach, Fault, Limits, Ops, Outcome, Rule};
use fiberloom_core::algebra::{Op, Type, Value, apply};
use fiberloom_core::format::Array;
use fiberloom_core::stack::with_room;
use fiberloom_loops::{Entry, Failure, How, Kernel, Sought, Var, headline};

/// Runs a kernel whose expressions have types and whose operands are given; nothing else is assumed.
pub(super) fn execute(
    (kernel, body): (&Kernel, &Block),
    device: Option<&dyn Device>,
    params: &[i64],
    operands: &[Option<&Array>],
    limits: &Limits,
) -> Result<Outcome, Fault> {
    let mut machine = Machine {
        kernel,
        device,
        vars: vec![0; kernel.vars.len()],
        set: vec![false; kernel.vars.len()],
        buffers: Buffer::all(kernel, operands),
        turns: vec![],
        memory: limits.memory,
        steps: limits.steps,
        ops: Ops { loads_of: vec![0; kernel.buffers.len()], ..Ops::default() },
    };
    for (p, value) in kernel.params.iter().zip(params) {
        machine.set_var(p.0 as usize, *value as u64);
    }
    match with_room(|| machine.block(body)) {
        Err(Halt::Stopped(failure)) => Err(Fault::Stopped(failure)),
        Err(Halt::Broken(breach)) => Err(Fault::Broken(breach)),
        Err(Halt::Device(what)) => Err(Fault::Device(what)),
        Ok(()) => machine.outcome(),
    }
}

pub(super) struct Machine<'a> {
    pub kernel: &'a Kernel,
    /// What runs parallel loops, if it is not this machine.
    device: Option<&'a dyn Device>,
    /// The bits of each variable.
    pub vars: Vec<u64>,
    /// Whether each variable has a value.
    pub set: Vec<bool>,
    pub buffers: Vec<Buffer<'a>>,
    /// The running loops whose iterations may run in parallel, outermost first.
    pub turns: Vec<Turns>,
    /// The bytes that may still be allocated.
    memory: u64,
    /// The steps that may still be taken.
    pub steps: u64,
    pub ops: Ops,
}

/// The reason why a run ends early.
pub(super) enum Halt {
    Stopped(Failure),
    /// A broken rule. The innermost statement on the way out is recorded in it.
    Broken(Box<Breach>),
    /// What a device found.
    Device(String),
}

fn broken(rule: Rule, name: String, index: i64, len: u64) -> Halt {
    Halt::Broken(Box::new(Breach { rule, name, index, len, statement: String::new() }))
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Halt {
        Halt::Stopped(failure)
    }
}

impl Machine<'_> {
    fn outcome(self) -> Result<Outcome, Fault> {
        let mut buffers = vec![];
        for b in 0..self.buffers.len() {
            buffers.push(match &self.buffers[b] {
                Buffer::Operand(_) => None,
                Buffer::Made(made) => made.result().map_err(|(rule, index)| {
                    let (name, len) = (self.kernel.buffers[b].name.clone(), made.room() as u64);
                    Fault::Broken(Box::new(Breach { rule, name, index, len, statement: "the end".into() }))
                })?,
            });
        }
        Ok(Outcome { buffers, ops: self.ops })
    }

    #[cold]
    fn breach(&self, buffer: usize, (rule, index): Refused) -> Halt {
        let name = self.kernel.buffers[buffer].name.clone();
        let len = self.buffers[buffer].room() as u64;
        broken(rule, name, index, len)
    }

    #[cold]
    fn unset(&self, v: usize) -> Halt {
        broken(Rule::VariableSet, self.kernel.vars[v].0.clone(), 0, 0)
    }

    pub(super) fn set_var(&mut self, v: usize, bits: u64) {
        self.vars[v] = bits;
        self.set[v] = true;
    }

    fn step(&mut self, n: u64) -> Result<(), Halt> {
        self.steps = self.steps.checked_sub(n).ok_or(Failure::Steps)?;
        Ok(())
    }

    fn block(&mut self, block: &Block) -> Result<(), Halt> {
        for step in &block.steps {
            self.step(1)?;
            self.statement(step).map_err(|halt| self.place(halt, step))?;
        }
        block.lets.iter().for_each(|v| self.set[*v] = false);
        Ok(())
    }

    /// Records the statement in which a rule was broken, unless one is recorded already.
    #[cold]
    fn place(&self, mut halt: Halt, step: &Step) -> Halt {
        if let Halt::Broken(breach) = &mut halt
            && breach.statement.is_empty()
        {
            breach.statement = headline(self.kernel, step.source);
        }
        halt
    }

    fn statement(&mut self, step: &Step) -> Result<(), Halt> {
        match &step.kind {
            Kind::Set(v, e) => {
                let bits = self.value(e)?;
                self.set_var(*v, bits);
                Ok(())
            }
            Kind::Store(b, at, e) => {
                let at = self.value(at)? as i64;
                let bits = self.value(e)?;
                self.ops.stores += 1;
                self.writes(*b, at)?;
                self.buffers[*b].store(at, bits).map_err(|refused| self.breach(*b, refused))
            }
            Kind::If(c, yes, no) => {
                self.ops.branches += 1;
                let block = if self.value(c)? != 0 { yes } else { no };
                self.block(block)
            }
            Kind::While(c, body) => self.repeat(c, body),
            Kind::For(each) => self.each(each),
            _ => {
                self.ops.calls += 1;
                self.call(&step.kind)
            }
        }
    }

    fn repeat(&mut self, c: &Code, body: &Block) -> Result<(), Halt> {
        loop {
            self.ops.branches += 1;
            if self.value(c)? == 0 {
                return Ok(());
            }
            self.step(1)?;
            self.block(body)?;
        }
    }

    fn each(&mut self, each: &For) -> Result<(), Halt> {
        let (lo, hi) = (self.value(&each.lo)? as i64, self.value(&each.hi)? as i64);
        self.ops.comparisons += 1;
        self.ops.branches += 1;
        if each.how == How::Serial {
            (lo..hi).try_for_each(|i| self.iteration(each, i))?;
        } else {
            self.turns.push(Turns::new(&each.own));
            match each.how {
                How::Parallel { .. } if self.launched(each, (lo, hi))? => {}
                How::Parallel { .. } => self.in_any_order(each, (lo, hi))?,
                _ => (lo..hi).try_for_each(|i| self.iteration_apart(each, i))?,
            }
            self.turns.pop();
        }
        each.private.iter().for_each(|v| self.set[*v] = false);
        self.set[each.var] = false;
        Ok(())
    }

    /// Whether a device has run the iterations of a loop.
    fn launched(&mut self, each: &For, bounds: (i64, i64)) -> Result<bool, Halt> {
        let Some(device) = self.device else { return Ok(false) };
        let Machine { vars, set, buffers, .. } = self;
        let mut parallel = Parallel { var: Var(each.var as u32), bounds, vars, set, buffers };
        device.run(&mut parallel).map_err(|ended| match ended {
            Ended::Failed(failure) => Halt::Stopped(failure),
            Ended::Broken(what) => Halt::Device(what),
        })
    }

    pub(super) fn iteration(&mut self, each: &For, i: i64) -> Result<(), Halt> {
        self.step(1)?;
        each.private.iter().for_each(|v| self.set[*v] = false);
        self.set_var(each.var, i as u64);
        self.block(&each.body)?;
        self.ops.arithmetic += 1;
        self.ops.comparisons += 1;
        self.ops.branches += 1;
        Ok(())
    }

    fn call(&mut self, kind: &Kind) -> Result<(), Halt> {
        match kind {
            Kind::Alloc(b, len, fill) => {
                let len = self.count(len)?;
                let made = self.buffers[*b].made();
                let made = made.map_err(|refused| (*b, refused));
                match made {
                    Ok(made) => made.alloc(len, *fill, &mut self.memory)?,
                    Err((b, refused)) => return Err(self.breach(b, refused)),
                }
                self.step(len as u64 / 64)
            }
            Kind::Reserve(b, len) => {
                let len = self.count(len)?;
                match self.buffers[*b].made() {
                    Ok(made) if made.is_allocated() => made.reserve(len, &mut self.memory)?,
                    Ok(_) => return Err(self.breach(*b, (Rule::Allocated, 0))),
                    Err(refused) => return Err(self.breach(*b, refused)),
                }
                self.step(self.buffers[*b].room() as u64 / 64)
            }
            Kind::Finish(b, len) => {
                let len = self.value(len)? as i64;
                self.step(len.max(0) as u64 / 64)?;
                let finished = self.buffers[*b].made().and_then(|made| match made.is_allocated() {
                    true => made.finish(len),
                    false => Err((Rule::Allocated, 0)),
                });
                finished.map_err(|refused| self.breach(*b, refused))
            }
            Kind::Move(to, from) => {
                if *to == *from || !self.buffers[*from].made().is_ok_and(|made| made.is_allocated()) {
                    return Err(self.breach(*from, (Rule::Allocated, 0)));
                }
                let [to, from] = self.buffers.get_disjoint_mut([*to, *from]).expect("two buffers of the kernel");
                if let (Ok(to), Ok(from)) = (to.made(), from.made()) {
                    to.take(from);
                }
                self.step(1)
            }
            Kind::Sort(keys, order, len) => {
                let len = self.value(len)? as i64;
                let integers = self.sorted(*keys, len)?;
                let mut places: Vec<i64> = (0..integers.len() as i64).collect();
                places.sort_by_key(|i| integers[*i as usize]);
                let integers: Vec<i64> = places.iter().map(|i| integers[*i as usize]).collect();
                self.write_all(*keys, 0, &integers)?;
                self.write_all(*order, 0, &places)
            }
            Kind::SortInto { keys, into, at, len } => {
                let (at, len) = (self.value(at)? as i64, self.value(len)? as i64);
                if len > Entry::FEW {
                    return Err(self.breach(*keys, (Rule::Few, len)));
                }
                let mut integers = self.sorted(*keys, len)?;
                integers.sort_unstable();
                self.write_all(*into, at, &integers)
            }
            Kind::Fail(failure) => Err(Halt::Stopped(*failure)),
            _ => Ok(()),
        }
    }

    /// A number of elements; 0 if the value is negative.
    fn count(&mut self, len: &Code) -> Result<usize, Halt> {
        let len = self.value(len)? as i64;
        // The least integer has no negation.
        if len == i64::MIN {
            return Err(Failure::Memory.into());
        }
        usize::try_from(len.max(0)).map_err(|_| Failure::Memory.into())
    }

    /// The elements that are to be sorted.
    fn sorted(&mut self, b: usize, len: i64) -> Result<Vec<i64>, Halt> {
        let integers = self.buffers[b].integers(len).map_err(|refused| self.breach(b, refused))?;
        self.step(integers.len() as u64)?;
        Ok(integers)
    }

    fn write_all(&mut self, b: usize, first: i64, integers: &[i64]) -> Result<(), Halt> {
        for at in (first..).take(integers.len()) {
            self.writes(b, at)?;
        }
        self.buffers[b].set_integers(first, integers).map_err(|refused| self.breach(b, refused))
    }

    fn writes(&mut self, b: usize, at: i64) -> Result<(), Halt> {
        let buffer = &self.buffers[b];
        self.turns
            .iter_mut()
            .filter(|turns| turns.has_own(b))
            .for_each(|turns| turns.keep(b, at, || buffer.load(at).ok()));
        let apart = self.turns.iter_mut().find_map(|turns| turns.in_part(b, at, true).err());
        let clash = apart.or_else(|| self.shared(b).find_map(|turns| turns.write(b, at).err()));
        clash.map_or(Ok(()), |rule| Err(self.breach(b, (rule, at))))
    }

    /// The loops whose threads share a buffer: those outside of the loop whose threads have copies of it see the copies' elements written
    /// by the iteration that runs there.
    fn shared(&mut self, b: usize) -> impl Iterator<Item = &mut Turns> {
        let copied = self.turns.iter().rposition(|turns| turns.has_own(b) || turns.has_part(b));
        let copied = copied.map_or(0, |last| last + 1);
        self.turns.iter_mut().skip(copied)
    }

    fn load(&mut self, b: usize, at: i64) -> Result<u64, Halt> {
        self.ops.loads += 1;
        self.ops.loads_of[b] += 1;
        if !self.turns.is_empty() && matches!(self.buffers[b], Buffer::Made(_)) {
            let apart = self.turns.iter_mut().find_map(|turns| turns.in_part(b, at, false).err());
            let clash = apart.or_else(|| self.shared(b).find_map(|turns| turns.read(b, at).err()));
            clash.map_or(Ok(()), |rule| Err(self.breach(b, (rule, at))))?;
        }
        self.buffers[b].load(at).map_err(|refused| self.breach(b, refused))
    }

    /// The bits of the value of an expression.
    pub(super) fn value(&mut self, code: &Code) -> Result<u64, Halt> {
        match code {
            Code::Const(bits) => Ok(*bits),
            Code::Var(v) if self.set[*v] => Ok(self.vars[*v]),
            Code::Var(v) => Err(self.unset(*v)),
            Code::Load { buffer, at, widen } => {
                let at = self.value(at)? as i64;
                let bits = self.load(*buffer, at)?;
                Ok(if *widen { bits as i32 as i64 as u64 } else { bits })
            }
            Code::Among(sought, b, narrow, parts) => self.among(*sought, (*b, *narrow), parts),
            Code::Capacity(b) => {
                let capacity = self.buffers[*b].capacity();
                capacity.map(|n| n as u64).map_err(|refused| self.breach(*b, refused))
            }
            Code::Fast(f, args) => {
                let (a, b) = (self.value(&args[0])?, self.value(&args[1])?);
                let counter = if f.compares() { &mut self.ops.comparisons } else { &mut self.ops.arithmetic };
                *counter += 1;
                Ok(f.apply(a, b))
            }
            Code::AndAlso(args) => {
                self.ops.branches += 1;
                if self.value(&args[0])? == 0 { Ok(0) } else { self.value(&args[1]) }
            }
            Code::OrElse(args) => {
                self.ops.branches += 1;
                if self.value(&args[0])? != 0 { Ok(1) } else { self.value(&args[1]) }
            }
            Code::Select(args) => {
                self.ops.arithmetic += 1;
                let chosen = if self.value(&args[0])? != 0 { 1 } else { 2 };
                self.value(&args[chosen])
            }
            Code::Apply(op, args) => self.apply(*op, args),
        }
    }

    fn among(&mut self, sought: Sought, (b, narrow): (usize, bool), parts: &[Code; 3]) -> Result<u64, Halt> {
        let (begin, end) = (self.value(&parts[0])? as i64, self.value(&parts[1])? as i64);
        let target = self.value(&parts[2])? as i64;
        self.ops.comparisons += 1;
        let load = |at| self.load(b, at).map(|bits| if narrow { bits as i32 as i64 } else { bits as i64 });
        sought.of([begin, end, target], load).map(|lane| lane as u64)
    }

    fn apply(&mut self, op: Op, args: &[(Type, Code)]) -> Result<u64, Halt> {
        let counter = if op.is_comparison() { &mut self.ops.comparisons } else { &mut self.ops.arithmetic };
        *counter += 1;
        let mut values = [Value::bool(false); 2];
        for (value, (ty, code)) in values.iter_mut().zip(args) {
            *value = Value::from_bits(*ty, self.value(code)?);
        }
        let value = apply(op, &values[..args.len().min(2)]);
        Ok(value.map_or(0, Value::bits)) // Its type was found when it was compiled.
    }
}
