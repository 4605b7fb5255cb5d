//! Read-modify-writes, and what accesses of memory are allowed.

use super::alu;
use super::execute::{Here, Machine};
use super::ir::{Address, Atomic, Binary, Kind, Reg, Source, Space, Ty};
use super::race::Way;
use super::step::Spot;
use super::warp::Lanes;
use super::{Fault, Rule};

/// What an atomic instruction has.
type Parts = (Atomic, Space, Ty, Option<Reg>, Address, [Source; 2]);

impl Machine<'_> {
    pub fn atomic(
        &mut self,
        here: Here,
        lanes: Lanes,
        (f, space, ty, into, address, of): Parts,
        line: u32,
    ) -> Result<(), Fault> {
        self.are_set(here, lanes, address.base, line)?;
        of.iter().try_for_each(|source| self.are_set(here, lanes, *source, line))?;
        let len = ty.bytes();
        let spots = self.spots(here, lanes, (space, address), (len, Way::Atomic, line))?;
        for (lane, spot) in spots {
            self.counts.atomics += 1;
            let [a, b] = of.map(|source| self.warp(here).read(source, lane) & ty.mask());
            let (area, byte) = self.area(here, lane, spot);
            if !area.is_set(byte, len) {
                let what = format!("{} reads {}, which was never set", self.name(here, lane), self.spell(spot));
                return Err(Fault { line, rule: Rule::Set, what });
            }
            let old = area.load(byte, len);
            let flushes = f == Atomic::Add && matches!(spot, Spot::Global(..));
            let new = if flushes { flushed_sum(ty, old, a) } else { changed(f, ty, old, [a, b]) };
            area.store(byte, len, new);
            if let Some(into) = into {
                let warp = self.warp_mut(here);
                warp.write(into, lane, old);
                warp.wrote(into, 1 << lane, 0);
            }
        }
        Ok(())
    }

    /// That an access is within bounds and aligned, changes nothing that stays, and races with none before it.
    pub fn allowed(
        &mut self,
        here: Here,
        lane: usize,
        spot: Spot,
        (len, way, line): (u64, Way, u32),
    ) -> Result<(), Fault> {
        let (byte, room) = match spot {
            Spot::Global(buffer, byte) => (byte, self.global.buffers[buffer].area.bytes.len() as u64),
            Spot::Shared(byte) => (byte, self.function.shared),
            Spot::Local(byte) => (byte, self.function.local),
        };
        if byte.checked_add(len).is_none_or(|end| end > room) || byte % len != 0 {
            let (thread, place) = (self.name(here, lane), self.spell(spot));
            let how = if byte % len == 0 { "out of bounds" } else { "not aligned" };
            let what = format!("{thread} accesses {len} bytes at {place}, which is {how}: there are {room} bytes");
            return Err(Fault { line, rule: Rule::Bounds, what });
        }
        if let (Spot::Global(buffer, _), true) = (spot, way != Way::Read) {
            if !self.global.buffers[buffer].writable {
                let what = format!("{} writes {}, which is an operand", self.name(here, lane), self.spell(spot));
                return Err(Fault { line, rule: Rule::Constant, what });
            }
            self.written[buffer].get_or_insert(line);
            self.stays(buffer, line)?;
        }
        self.alone(here, lane, spot, (len, way, line))
    }

    /// That a buffer is not both loaded as constant and written.
    pub fn stays(&self, buffer: usize, line: u32) -> Result<(), Fault> {
        let (Some(loaded), Some(written)) = (self.constant[buffer], self.written[buffer]) else { return Ok(()) };
        let name = &self.global.buffers[buffer].name;
        let what = format!("`{name}` is loaded as constant in line {loaded}, and written in line {written}");
        Err(Fault { line, rule: Rule::Constant, what })
    }

    /// That an access races with none before it.
    fn alone(&mut self, here: Here, lane: usize, spot: Spot, (len, way, line): (u64, Way, u32)) -> Result<(), Fault> {
        let now = self.warp(here).stamp(lane, self.blocks[here.block].barriers, line);
        let other = match spot {
            Spot::Local(_) => None,
            Spot::Global(buffer, _) if !self.global.buffers[buffer].writable => None,
            Spot::Global(buffer, byte) => {
                let element = self.global.buffers[buffer].element;
                let mut elements = byte / element..=(byte + len - 1) / element;
                elements.find_map(|at| self.touched.entry((buffer, at)).or_default().note(way, now))
            }
            Spot::Shared(byte) => {
                let touched = &mut self.blocks[here.block].touched;
                (byte..byte + len).find_map(|at| touched.entry(at).or_default().note(way, now))
            }
        };
        let Some(other) = other else { return Ok(()) };
        let (thread, place) = (self.name(here, lane), self.spell(spot));
        let threads = self.warp(here).place.threads.max(1);
        let (of, block) = (other.thread % threads, other.thread / threads);
        let what = format!("{thread} and thread {of} of block {block}, in line {}, race at {place}", other.line);
        Err(Fault { line, rule: Rule::Race, what })
    }

    /// A place, for messages.
    pub fn spell(&self, spot: Spot) -> String {
        match spot {
            Spot::Global(buffer, byte) => {
                let buffer = &self.global.buffers[buffer];
                format!("`{}[{}]`", buffer.name, byte as i64 / buffer.element as i64)
            }
            Spot::Shared(byte) => format!("byte {byte} of shared memory"),
            Spot::Local(byte) => format!("byte {byte} of its local memory"),
        }
    }
}

/// What an element becomes.
fn changed(f: Atomic, ty: Ty, old: u64, [a, b]: [u64; 2]) -> u64 {
    let of = |op| alu::binary(op, ty, old, a).unwrap_or(old);
    match f {
        Atomic::Add => of(Binary::Add),
        Atomic::Min => of(Binary::Min),
        Atomic::Max => of(Binary::Max),
        Atomic::And => old & a,
        Atomic::Or => old | a,
        Atomic::Xor => old ^ a,
        Atomic::Exchange => a,
        Atomic::Cas => {
            if old == a {
                b
            } else {
                old
            }
        }
    }
}

/// What an element of global memory becomes by an addition: of `f32`, what is added and the sum are 0 with their sign where they are
/// subnormal (*PTX ISA*, `atom`). In shared memory they stay.
fn flushed_sum(ty: Ty, old: u64, a: u64) -> u64 {
    let flushed = |x: u64| {
        let subnormal = ty == Ty::new(Kind::Float, 32) && f32::from_bits(x as u32).is_subnormal();
        if subnormal { x & 1 << 31 } else { x }
    };
    flushed(changed(Atomic::Add, ty, flushed(old), [flushed(a), 0]))
}
