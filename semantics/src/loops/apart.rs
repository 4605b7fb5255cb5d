//! Loops whose iterations run apart: in an order that is drawn, as threads might run them, and each with its own part of the arrays to
//! which iterations append. A variable into which they fold begins anew in each, and is folded behind the loop.
//!
//! ```text
//!   drawn order   2       0     1              counters go on from iteration to iteration
//!   made         |c c c  |a    |b b            an iteration touches nothing before its part
//!   joined       |a    |b b    |c c c          in the order of iterations; elements that hold a counter are shifted like its parts
//! ```

use super::code::{Folded, For, Joined};
use super::execute::{Halt, Machine};
use super::turns::{Part, Turns, order};
use fiberloom_core::algebra::{Value, apply};
use fiberloom_loops::Failure;

/// An iteration that ran, with the counters' values before and behind it.
struct Ran {
    turn: i64,
    before: Vec<i64>,
    behind: Vec<i64>,
    /// What variables into which iterations fold have behind it.
    folded: Vec<u64>,
    /// What elements of arrays into which iterations fold have behind it: which array, where, what.
    elements: Vec<(usize, i64, u64)>,
}

/// What an iteration's parts are of.
struct Parts<'f> {
    joined: &'f [Joined],
    /// The counters, by the numbers of their variables.
    counters: Vec<usize>,
    /// For each array whose parts the loop's variable determines: the first index at its value 0, and the length of a part.
    rows: Vec<(i64, i64)>,
}

impl Parts<'_> {
    /// The place of a counter among the counters.
    fn place(&self, v: usize) -> usize {
        self.counters.iter().position(|c| *c == v).unwrap_or(0)
    }

    /// The part of an array that an iteration makes: where it begins and ends.
    fn part(&self, n: usize, Ran { turn, before, behind, .. }: &Ran) -> (i64, i64) {
        match self.joined[n].counter {
            Some((v, more)) => (before[self.place(v)] + more, behind[self.place(v)] + more),
            None => {
                let (first, length) = self.rows[n];
                let begin = first.wrapping_add(turn.wrapping_mul(length));
                (begin, begin.wrapping_add(length))
            }
        }
    }
}

impl Machine<'_> {
    /// Runs an iteration of a loop whose iterations may run in parallel. Behind it, elements of the thread's own workspaces that it has
    /// changed are not set: the next iteration may run on another thread.
    pub(super) fn iteration_apart(&mut self, each: &For, i: i64) -> Result<(), Halt> {
        self.elements_of(each, i).map(drop)
    }

    /// The same; what it folded into elements of arrays, which are the function's identity again.
    fn elements_of(&mut self, each: &For, i: i64) -> Result<Vec<(usize, i64, u64)>, Halt> {
        let mut elements = vec![];
        if let Some(turns) = self.turns.last_mut() {
            turns.now = i;
        }
        self.iteration(each, i)?;
        let written = self.turns.last_mut().map(Turns::end).unwrap_or_default();
        for ((b, at), before) in written {
            if let Some(f) = each.arrays.iter().find(|f| f.into == b) {
                elements.extend(self.buffers[b].load(at).ok().map(|bits| (b, at, bits)));
                let _ = self.buffers[b].store(at, f.begins.bits());
            } else if before.is_none() || self.buffers[b].load(at).ok() != before {
                self.buffers[b].unset(at);
            }
        }
        Ok(elements)
    }

    /// Runs the iterations of a parallel loop in some order. If several end the kernel, the first of them in the loop's order does.
    pub(super) fn in_any_order(&mut self, each: &For, (lo, hi): (i64, i64)) -> Result<(), Halt> {
        let (mut ended, around): (Option<(i64, Failure)>, usize) = (None, self.turns.len());
        let parts = self.parts(each)?;
        let (begin, first) = (self.counted(&parts), self.values(&each.folded));
        let before: Vec<_> = each.arrays.iter().map(|f| self.cleared(f)).collect();
        let mut all = vec![];
        for i in order(lo, hi, self.steps) {
            if ended.is_some_and(|(first, _)| first < i) {
                continue;
            }
            let before = self.counted(&parts);
            match self.with_parts(each, &parts, i) {
                Ok(ran) => all.push(ran),
                Err(Halt::Stopped(failure)) if failure != Failure::Steps => {
                    ended = Some((i, failure));
                    self.turns.truncate(around);
                    parts.counters.iter().zip(before).for_each(|(v, was)| self.set_var(*v, was as u64));
                }
                Err(halt) => return Err(halt),
            }
        }
        match ended {
            Some((_, failure)) => Err(Halt::Stopped(failure)),
            None => {
                all.sort_by_key(|ran| ran.turn);
                self.join(&parts, &begin, &all);
                self.fold(&each.folded, first, &all);
                self.fold_arrays(&each.arrays, before, &all);
                Ok(())
            }
        }
    }

    fn parts<'f>(&mut self, each: &'f For) -> Result<Parts<'f>, Halt> {
        let joined = &each.joined;
        let mut counters: Vec<usize> =
            joined.iter().flat_map(|j| j.counter.map(|(v, _)| v).into_iter().chain(j.holds)).collect();
        counters.sort_unstable();
        counters.dedup();
        let ops = self.ops.clone();
        let mut rows = vec![];
        for j in joined {
            let at = |machine: &mut Self, i: u64| {
                machine.set_var(each.var, i);
                if j.counter.is_none() { machine.value(&j.from) } else { Ok(0) }
            };
            let (first, second) = (at(self, 0)? as i64, at(self, 1)? as i64);
            rows.push((first, second.wrapping_sub(first)));
        }
        self.set[each.var] = false;
        self.ops = ops;
        Ok(Parts { joined, counters, rows })
    }

    /// The values of counters.
    fn counted(&self, parts: &Parts) -> Vec<i64> {
        parts.counters.iter().map(|v| self.vars[*v] as i64).collect()
    }

    /// The values of variables into which iterations fold.
    fn values(&self, folded: &[Folded]) -> Vec<u64> {
        folded.iter().map(|f| self.vars[f.into]).collect()
    }

    /// Folds what iterations have folded, in their order, into what variables were before the loop.
    fn fold(&mut self, folded: &[Folded], first: Vec<u64>, all: &[Ran]) {
        for (n, (f, first)) in folded.iter().zip(first).enumerate() {
            let value = |bits| Value::from_bits(f.begins.ty(), bits);
            let parts = all.iter().map(|ran| value(ran.folded[n]));
            let whole = parts.fold(value(first), |so_far, part| apply(f.op, &[so_far, part]).unwrap_or(so_far));
            self.set_var(f.into, whole.bits());
        }
    }

    /// Sets all elements of an array to the function's identity, and gives what they were.
    fn cleared(&mut self, f: &Folded) -> Vec<Option<u64>> {
        let array = &mut self.buffers[f.into];
        let was = (0..array.room() as i64).map(|at| array.load(at).ok()).collect();
        (0..array.room() as i64).for_each(|at| _ = array.store(at, f.begins.bits()));
        was
    }

    /// Folds what iterations have folded into elements, in their order, into what these were before the loop.
    fn fold_arrays(&mut self, arrays: &[Folded], before: Vec<Vec<Option<u64>>>, all: &[Ran]) {
        for (f, mut now) in arrays.iter().zip(before) {
            let value = |bits| Value::from_bits(f.begins.ty(), bits);
            for (_, at, bits) in all.iter().flat_map(|ran| &ran.elements).filter(|(b, ..)| *b == f.into) {
                if let Some(now) = now.get_mut(*at as usize) {
                    *now = now.and_then(|so_far| apply(f.op, &[value(so_far), value(*bits)])).map(Value::bits);
                }
            }
            for (at, now) in (0..).zip(now) {
                match now {
                    Some(bits) => drop(self.buffers[f.into].store(at, bits)),
                    None => self.buffers[f.into].unset(at),
                }
            }
        }
    }

    /// Runs an iteration. What it writes behind its parts, none sees.
    fn with_parts(&mut self, each: &For, parts: &Parts, i: i64) -> Result<Ran, Halt> {
        let before = self.counted(parts);
        let mut ran = Ran { turn: i, before, behind: vec![], folded: vec![], elements: vec![] };
        each.folded.iter().for_each(|f| self.set_var(f.into, f.begins.bits()));
        ran.behind = ran.before.clone();
        let mut begun = vec![];
        for (n, j) in parts.joined.iter().enumerate() {
            let (begin, end) = parts.part(n, &ran);
            if j.counter.is_none() {
                (begin..end).for_each(|at| self.buffers[j.array].unset(at));
            }
            begun.push(Part::new(j.array, begin, j.counter.is_none().then_some(end)));
        }
        if let Some(turns) = self.turns.last_mut() {
            turns.parts = begun;
        }
        ran.elements = self.elements_of(each, i)?;
        (ran.behind, ran.folded) = (self.counted(parts), self.values(&each.folded));
        let made = self.turns.last_mut().map(|turns| std::mem::take(&mut turns.parts)).unwrap_or_default();
        for (n, part) in made.into_iter().enumerate() {
            let (_, end) = parts.part(n, &ran);
            part.written.into_iter().filter(|at| *at >= end).for_each(|at| self.buffers[part.array].unset(at));
        }
        Ok(ran)
    }

    /// Puts the parts that iterations have made in the order of iterations.
    fn join(&mut self, parts: &Parts, begin: &[i64], all: &[Ran]) {
        for (n, j) in parts.joined.iter().enumerate() {
            let ty = self.kernel.buffers[j.array].ty;
            let (mut to, mut made) = (j.counter.map(|(v, more)| begin[parts.place(v)] + more), vec![]);
            let mut held = j.holds.map(|v| (parts.place(v), begin[parts.place(v)]));
            for ran in all {
                let (first, end) = parts.part(n, ran);
                let by = held.map_or(0, |(place, now)| now - ran.before[place]);
                for at in first..end {
                    let bits = self.buffers[j.array].load(at).ok();
                    let moved = |bits| match Value::from_bits(ty, bits).as_i64() {
                        Some(x) if j.holds.is_some() => Value::from_i128(ty, i128::from(x) + i128::from(by)).bits(),
                        _ => bits,
                    };
                    made.push((to.unwrap_or(at), bits.map(moved)));
                    to = to.map(|at| at + 1);
                }
                held = held.map(|(place, now)| (place, now + ran.behind[place] - ran.before[place]));
            }
            for (at, bits) in made {
                match bits {
                    Some(bits) => drop(self.buffers[j.array].store(at, bits)),
                    None => self.buffers[j.array].unset(at),
                }
            }
        }
    }
}
