//! Runs a launch: blocks, warps in any order, barriers.

use super::ir::{Function, Op};
use super::memory::{Area, Global};
use super::race::Element;
use super::warp::{Frame, Lanes, Place, Warp, each};
use super::{Counts, Fault, Launch, Limits, Rule, Traffic, WARP};
use crate::loops::xorshift;
use rustc_hash::FxHashMap;

/// The most blocks that are resident at once.
const RESIDENT: usize = 16;

/// The most instructions that a warp runs before another is drawn.
const STRETCH: u64 = 8;

/// A block that is resident.
pub(super) struct Block {
    /// The barriers that all of its threads have passed.
    pub barriers: u32,
    pub shared: Area,
    pub touched: FxHashMap<u64, Element>,
    pub warps: Vec<Warp>,
}

/// The state of a launch.
pub(super) struct Machine<'m> {
    pub function: &'m Function,
    pub arguments: &'m [u64],
    pub global: &'m mut Global,
    pub blocks: Vec<Block>,
    /// The accesses of elements of buffers that kernels may write.
    pub touched: FxHashMap<(usize, u64), Element>,
    /// For each buffer, the lines of a load as constant, and of a store.
    pub constant: Vec<Option<u32>>,
    pub written: Vec<Option<u32>>,
    pub counts: Counts,
    random: Random,
}

/// The warp that runs: its block's place among those that are resident, and its own in it.
#[derive(Clone, Copy)]
pub(super) struct Here {
    pub block: usize,
    pub warp: usize,
}

pub(super) fn run(function: &Function, launch: &Launch, global: &mut Global, limits: &Limits) -> Result<Counts, Fault> {
    let buffers = global.buffers.len();
    let counts = Counts { traffic: vec![Traffic::default(); buffers], ..Counts::default() };
    let mut machine = Machine {
        function,
        arguments: launch.arguments,
        global,
        blocks: vec![],
        touched: FxHashMap::default(),
        constant: vec![None; buffers],
        written: vec![None; buffers],
        counts,
        random: Random(limits.seed.wrapping_mul(2).wrapping_add(1)),
    };
    let mut pending: Vec<u32> = (0..launch.blocks).collect();
    let mut left = limits.steps;
    loop {
        while machine.blocks.len() < RESIDENT && !pending.is_empty() {
            let drawn = machine.random.below(pending.len());
            let block = machine.block(pending.swap_remove(drawn), launch);
            machine.blocks.push(block);
        }
        if machine.blocks.is_empty() {
            return Ok(machine.counts);
        }
        let block = machine.random.below(machine.blocks.len());
        machine.some_steps(block, &mut left)?;
        if machine.blocks[block].warps.iter().all(|warp| warp.live == 0) {
            machine.blocks.swap_remove(block);
        }
    }
}

impl Machine<'_> {
    fn block(&self, number: u32, launch: &Launch) -> Block {
        let Function { registers, local, shared, code, .. } = self.function;
        let warp = |first: u32| {
            let place = Place { block: number, blocks: launch.blocks, first, threads: launch.threads };
            Warp::new(place, *registers, *local, code.len())
        };
        let warps = (0..launch.threads).step_by(WARP as usize).map(warp).collect();
        Block { barriers: 0, shared: Area::unset(*shared), touched: FxHashMap::default(), warps }
    }

    /// Runs some instructions of a warp of a block that can run.
    fn some_steps(&mut self, block: usize, left: &mut u64) -> Result<(), Fault> {
        let warps = &self.blocks[block].warps;
        let ready: Vec<usize> = (0..warps.len()).filter(|w| warps[*w].live != 0 && warps[*w].waits.is_none()).collect();
        // Where none is ready and some live, all of these wait, and were let go when the last of them came.
        let Some(warp) = ready.get(self.random.below(ready.len().max(1))).copied() else { return Ok(()) };
        let here = Here { block, warp };
        for _ in 0..=self.random.below(STRETCH as usize) {
            let state = self.warp(here);
            if state.live == 0 || state.waits.is_some() {
                break;
            }
            *left = left.checked_sub(1).ok_or_else(|| Fault {
                line: self.line(here),
                rule: Rule::Steps,
                what: "the limit on steps is reached".to_string(),
            })?;
            self.step(here)?;
        }
        Ok(())
    }

    pub fn warp(&self, here: Here) -> &Warp {
        &self.blocks[here.block].warps[here.warp]
    }

    pub fn warp_mut(&mut self, here: Here) -> &mut Warp {
        &mut self.blocks[here.block].warps[here.warp]
    }

    /// The line of the instruction that a warp runs next.
    fn line(&self, here: Here) -> u32 {
        let next = self.warp(here).stack.last().map_or(0, |frame| frame.next);
        self.function.code.get(next).or(self.function.code.last()).map_or(0, |instruction| instruction.line)
    }

    fn step(&mut self, here: Here) -> Result<(), Fault> {
        let function = self.function;
        let Some(frame) = self.warp(here).stack.last().copied() else { return Ok(()) };
        if frame.next >= function.code.len() {
            return self.end(here, frame.lanes);
        }
        if frame.next == frame.meet {
            self.warp_mut(here).stack.pop();
            return Ok(());
        }
        let instruction = &function.code[frame.next];
        self.counts.instructions += 1;
        let warp = self.warp_mut(here);
        warp.instructions += 1;
        let executed = warp.instructions;
        self.counts.longest = self.counts.longest.max(executed);
        let lanes = match instruction.guard {
            None => frame.lanes,
            Some((reg, holds)) => self.guarded(here, frame.lanes, (reg, holds), instruction.line)?,
        };
        match instruction.op {
            Op::Branch(to) => return self.branch(here, frame, lanes, to),
            Op::Return => {
                self.go_on(here);
                return self.end(here, lanes);
            }
            _ => self.go_on(here),
        }
        if lanes == 0 {
            return Ok(());
        }
        match &instruction.op {
            Op::Barrier => self.barrier(here, lanes, instruction.line),
            op => self.perform(here, lanes, op, instruction.line),
        }
    }

    fn go_on(&mut self, here: Here) {
        if let Some(frame) = self.warp_mut(here).stack.last_mut() {
            frame.next += 1;
        }
    }

    /// The lanes in which a predicate has a value.
    fn guarded(&self, here: Here, lanes: Lanes, (reg, holds): (usize, bool), line: u32) -> Result<Lanes, Fault> {
        let source = super::ir::Source::Register(reg);
        self.are_set(here, lanes, source, line)?;
        let warp = self.warp(here);
        Ok(each(lanes).filter(|lane| (warp.read(source, *lane) == 1) == holds).fold(0, |all, lane| all | 1 << lane))
    }

    /// Lanes of a frame go to an instruction, the others on.
    fn branch(&mut self, here: Here, frame: Frame, taken: Lanes, to: usize) -> Result<(), Fault> {
        let (rest, next) = (frame.lanes & !taken, frame.next + 1);
        let meet = self.function.meets[frame.next];
        if taken != 0 && rest != 0 {
            self.counts.divergent += 1;
        }
        let first = self.random.below(2) == 0;
        let stack = &mut self.warp_mut(here).stack;
        stack.pop();
        if taken == 0 || rest == 0 {
            stack.push(Frame { next: if rest == 0 { to } else { next }, ..frame });
            return Ok(());
        }
        if meet != frame.meet {
            stack.push(Frame { next: meet, ..frame });
        }
        let mut sides = [(to, taken), (next, rest)];
        if first {
            sides.reverse();
        }
        stack.extend(sides.into_iter().filter(|(at, _)| *at != meet).map(|(next, lanes)| Frame { next, meet, lanes }));
        Ok(())
    }

    /// Ends threads. A block whose other threads wait at a barrier waits for ever.
    fn end(&mut self, here: Here, lanes: Lanes) -> Result<(), Fault> {
        self.warp_mut(here).end(lanes);
        match self.blocks[here.block].warps.iter().find_map(|warp| warp.waits) {
            Some(line) if lanes != 0 => Err(self.never(here, lanes, line, "the barrier")),
            _ => Ok(()),
        }
    }

    /// A fault: a lane does not come to where others wait for it.
    pub fn never(&self, here: Here, lanes: Lanes, line: u32, what: &str) -> Fault {
        let lane = each(lanes).next().unwrap_or(0);
        let thread = self.name(here, lane);
        Fault { line, rule: Rule::Together, what: format!("{thread} does not come to {what} at which others wait") }
    }

    /// A thread, for messages.
    pub fn name(&self, here: Here, lane: usize) -> String {
        let Place { block, first, .. } = self.warp(here).place;
        format!("thread {} of block {block}", first as usize + lane)
    }

    fn barrier(&mut self, here: Here, lanes: Lanes, line: u32) -> Result<(), Fault> {
        let all = self.warp(here).all;
        if lanes != all {
            return Err(self.never(here, all & !lanes, line, "the barrier"));
        }
        let block = &self.blocks[here.block];
        if let Some(ended) = block.warps.iter().position(|warp| warp.live != warp.all) {
            let missing = block.warps[ended].all & !block.warps[ended].live;
            return Err(self.never(Here { warp: ended, ..here }, missing, line, "the barrier"));
        }
        self.warp_mut(here).waits = Some(line);
        let block = &mut self.blocks[here.block];
        if block.warps.iter().all(|warp| warp.waits.is_some()) {
            block.warps.iter_mut().for_each(|warp| warp.waits = None);
            block.barriers += 1;
            self.counts.barriers += 1;
        }
        Ok(())
    }

    /// That a source is set in all lanes.
    pub fn are_set(&self, here: Here, lanes: Lanes, source: super::ir::Source, line: u32) -> Result<(), Fault> {
        let unset = self.warp(here).unset(source) & lanes;
        let super::ir::Source::Register(reg) = source else { return Ok(()) };
        match each(unset).next() {
            None => Ok(()),
            Some(lane) => {
                let what = format!("{} uses `{}`, which is not set", self.name(here, lane), self.function.names[reg]);
                Err(Fault { line, rule: Rule::Set, what })
            }
        }
    }
}

/// Numbers that are drawn.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        (xorshift(&mut self.0) >> 16) as usize % n.max(1)
    }
}
