//! A warp: its threads' registers, and which of them run.

use super::WARP;
use super::ir::{Reg, Source, Special};
use super::memory::Area;
use super::race::Stamp;

/// A set of lanes, a bit each.
pub(super) type Lanes = u32;

/// Lanes that run together, from an instruction up to where they meet others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub next: usize,
    pub meet: usize,
    pub lanes: Lanes,
}

/// Where a warp is in its launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub block: u32,
    pub blocks: u32,
    /// The warp's first thread in its block.
    pub first: u32,
    pub threads: u32,
}

/// A warp.
pub(super) struct Warp {
    pub place: Place,
    /// The lanes that have a thread, and those whose thread has not ended.
    pub all: Lanes,
    pub live: Lanes,
    /// The innermost last.
    pub stack: Vec<Frame>,
    registers: Vec<[u64; WARP as usize]>,
    /// The lanes of each register that are not set.
    unset: Vec<Lanes>,
    /// The instructions that it has executed.
    pub instructions: u64,
    /// The barriers of this warp alone that it has passed.
    pub barriers: u32,
    /// The line of the block's barrier at which it waits.
    pub waits: Option<u32>,
    /// Each lane's own memory.
    pub local: Vec<Area>,
}

impl Warp {
    /// A warp at the beginning of a function with so many registers and bytes of local memory.
    pub fn new(place: Place, registers: usize, local: u64, end: usize) -> Warp {
        let lanes = (place.threads - place.first).min(WARP);
        let all = if lanes == WARP { Lanes::MAX } else { (1 << lanes) - 1 };
        Warp {
            place,
            all,
            live: all,
            stack: vec![Frame { next: 0, meet: end, lanes: all }],
            registers: vec![[0; WARP as usize]; registers],
            unset: vec![Lanes::MAX; registers],
            barriers: 0,
            waits: None,
            instructions: 0,
            local: (0..if local == 0 { 0 } else { lanes }).map(|_| Area::unset(local)).collect(),
        }
    }

    /// The number of a lane's thread in the launch.
    pub fn thread(&self, lane: usize) -> u32 {
        self.place.block * self.place.threads + self.place.first + lane as u32
    }

    /// A stamp of an access by a lane.
    pub fn stamp(&self, lane: usize, barriers: u32, line: u32) -> Stamp {
        let Place { block, first, threads, .. } = self.place;
        let warp = block * threads.div_ceil(WARP) + first / WARP;
        Stamp { thread: self.thread(lane), block, warp, barriers, warp_barriers: self.barriers, line }
    }

    /// What a source holds in a lane.
    pub fn read(&self, source: Source, lane: usize) -> u64 {
        let Place { block, blocks, first, threads } = self.place;
        match source {
            Source::Register(reg) => self.registers[reg][lane],
            Source::Number(x) => x,
            Source::Special(special) => match special {
                Special::Thread => u64::from(first) + lane as u64,
                Special::Threads => threads.into(),
                Special::Block => block.into(),
                Special::Blocks => blocks.into(),
                Special::Lane => lane as u64,
                Special::Zero => 0,
                Special::One => 1,
            },
        }
    }

    /// The lanes in which a source is not set.
    pub fn unset(&self, source: Source) -> Lanes {
        if let Source::Register(reg) = source { self.unset[reg] } else { 0 }
    }

    /// Sets a register in a lane.
    pub fn write(&mut self, reg: Reg, lane: usize, bits: u64) {
        self.registers[reg][lane] = bits;
    }

    /// Notes that lanes of a register were set, of values that were not set where `unset` says so.
    pub fn wrote(&mut self, reg: Reg, lanes: Lanes, unset: Lanes) {
        self.unset[reg] = self.unset[reg] & !lanes | unset & lanes;
    }

    /// Ends the threads of lanes; frames without lanes go.
    pub fn end(&mut self, lanes: Lanes) {
        self.live &= !lanes;
        self.stack.iter_mut().for_each(|frame| frame.lanes &= !lanes);
        self.stack.retain(|frame| frame.lanes != 0);
    }
}

/// The lanes of a set, ascending.
pub(super) fn each(lanes: Lanes) -> impl Iterator<Item = usize> {
    (0..WARP as usize).filter(move |lane| lanes >> lane & 1 == 1)
}
