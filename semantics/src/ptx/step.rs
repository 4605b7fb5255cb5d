//! What one instruction does in the lanes that execute it.

use super::alu;
use super::execute::{Here, Machine};
use super::ir::{Address, Binary, Op, Reg, Shuffle, Source, Space, Ternary, Ty};
use super::memory::{Area, LOCAL, SHARED};
use super::race::Way;
use super::warp::{Lanes, each};
use super::{Fault, Rule, count};

/// A place in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spot {
    /// A buffer, and the byte in it.
    Global(usize, u64),
    Shared(u64),
    Local(u64),
}

impl Machine<'_> {
    /// Executes an instruction other than branches, returns and barriers of the block.
    pub fn perform(&mut self, here: Here, lanes: Lanes, op: &Op, line: u32) -> Result<(), Fault> {
        match op {
            Op::Move(into, of) => self.set(here, lanes, *into, &[*of], |[x]| x),
            Op::Pack(into, halves, bits) => {
                let low = Ty::new(super::ir::Kind::Bits, *bits).mask();
                self.set(here, lanes, *into, halves, |[a, b]: [u64; 2]| a & low | b << bits);
            }
            Op::Unpack([low, high], of, bits) => {
                let mask = Ty::new(super::ir::Kind::Bits, *bits).mask();
                let whole = self.values(here, lanes, *of);
                self.put(here, lanes, *low, self.warp(here).unset(*of), &mut |lane| whole[lane] & mask);
                self.put(here, lanes, *high, self.warp(here).unset(*of), &mut |lane| whole[lane] >> bits);
            }
            Op::Unary(f, ty, into, of) => self.set(here, lanes, *into, &[*of], |[x]| alu::unary(*f, *ty, x)),
            Op::Binary(f, ty, into, of) => self.binary(here, lanes, (*f, *ty, *into, *of)),
            Op::Ternary(f, ty, into, of) => {
                let (f, ty): (Ternary, Ty) = (*f, *ty);
                self.set(here, lanes, *into, of, |of: [u64; 3]| alu::ternary(f, ty, of));
            }
            Op::Set(how, unordered, ty, into, of) => {
                self.set(here, lanes, *into, of, |[a, b]: [u64; 2]| alu::compare(*how, *unordered, *ty, a, b).into());
            }
            Op::Select(into, [yes, no], which) => self.select(here, lanes, *into, ([*yes, *no], *which)),
            Op::Convert { to, from, round, into, of } => {
                let (reg, held) = *into;
                self.set(here, lanes, reg, &[*of], |[x]| to.within(held, alu::convert(*to, *from, *round, x)));
            }
            Op::Generic { space, back, into, of } => {
                let base = match space {
                    Space::Shared => SHARED,
                    Space::Local => LOCAL,
                    Space::Global | Space::Generic => 0,
                };
                self.set(
                    here,
                    lanes,
                    *into,
                    &[*of],
                    |[x]: [u64; 1]| {
                        if *back { x.wrapping_sub(base) } else { x.wrapping_add(base) }
                    },
                );
            }
            Op::Parameter(ty, into, place, offset) => {
                let inside = *offset >= 0 && *offset as u64 + ty.bytes() <= self.function.params[*place].bytes();
                if !inside {
                    let what = format!("byte {offset} of a parameter is read, which it has not");
                    return Err(Fault { line, rule: Rule::Bounds, what });
                }
                let bits = self.arguments[*place] >> (8 * *offset as u64) & ty.mask();
                self.put(here, lanes, *into, 0, &mut |_| bits);
            }
            Op::Load(space, constant, ty, into, address) => {
                self.load(here, lanes, (*space, *constant, *ty, into, *address), line)?;
            }
            Op::Store(space, ty, of, address) => self.store(here, lanes, (*space, *ty, of, *address), line)?,
            Op::Atomic(f, space, ty, into, address, of) => {
                self.atomic(here, lanes, (*f, *space, *ty, *into, *address, *of), line)?;
            }
            Op::WarpBarrier(mask) => {
                self.come_together(here, lanes, *mask, line, "the barrier")?;
                if lanes == self.warp(here).all {
                    self.warp_mut(here).barriers += 1;
                }
            }
            Op::Shuffle(how, into, found, of) => self.shuffle(here, lanes, (*how, *into, *found, *of), line)?,
            Op::Fence | Op::Branch(_) | Op::Return | Op::Barrier => {}
        }
        Ok(())
    }

    fn values(&self, here: Here, lanes: Lanes, source: Source) -> [u64; 32] {
        let mut all = [0; 32];
        each(lanes).for_each(|lane| all[lane] = self.warp(here).read(source, lane));
        all
    }

    fn put(&mut self, here: Here, lanes: Lanes, into: Reg, unset: Lanes, value: &mut dyn FnMut(usize) -> u64) {
        let warp = self.warp_mut(here);
        each(lanes).for_each(|lane| warp.write(into, lane, value(lane)));
        warp.wrote(into, lanes, unset);
    }

    /// Sets a register to a function of sources; it is not set where one of these is not.
    fn set<const N: usize>(
        &mut self,
        here: Here,
        lanes: Lanes,
        into: Reg,
        of: &[Source; N],
        f: impl Fn([u64; N]) -> u64,
    ) {
        let warp = self.warp_mut(here);
        let unset = of.iter().fold(0, |all, source| all | warp.unset(*source));
        for lane in each(lanes) {
            let value = f(of.map(|source| warp.read(source, lane)));
            warp.write(into, lane, value);
        }
        warp.wrote(into, lanes, unset);
    }

    /// A function of two sources. A quotient and a remainder by zero are what a machine likes (*PTX ISA*): as a register that was not set, they may
    /// be moved before the branch that decides whether they are needed, and nothing may depend on them.
    fn binary(&mut self, here: Here, lanes: Lanes, (f, ty, into, of): (Binary, Ty, Reg, [Source; 2])) {
        if !matches!(f, Binary::Div | Binary::Rem) {
            return self.set(here, lanes, into, &of, |[a, b]| alu::binary(f, ty, a, b).unwrap_or(0));
        }
        let warp = self.warp(here);
        let (mut values, mut unset) = ([0; 32], warp.unset(of[0]) | warp.unset(of[1]));
        for lane in each(lanes) {
            match alu::binary(f, ty, warp.read(of[0], lane), warp.read(of[1], lane)) {
                Some(value) => values[lane] = value,
                None => unset |= 1 << lane,
            }
        }
        self.put(here, lanes, into, unset, &mut |lane| values[lane]);
    }

    fn select(&mut self, here: Here, lanes: Lanes, into: Reg, (arms, which): ([Source; 2], Source)) {
        let warp = self.warp_mut(here);
        let mut unset = warp.unset(which);
        for lane in each(lanes) {
            let chosen = arms[usize::from(warp.read(which, lane) != 1)];
            unset |= warp.unset(chosen) & 1 << lane;
            let value = warp.read(chosen, lane);
            warp.write(into, lane, value);
        }
        warp.wrote(into, lanes, unset);
    }

    /// The place of an address in a lane.
    pub fn spot(&self, here: Here, lane: usize, (space, address): (Space, Address), line: u32) -> Result<Spot, Fault> {
        let at = self.warp(here).read(address.base, lane).wrapping_add(address.offset as u64);
        let global = || self.global.place(at).map(|(buffer, byte)| Spot::Global(buffer, byte));
        let found = match space {
            Space::Global => global(),
            Space::Shared => Some(Spot::Shared(at)),
            Space::Local => Some(Spot::Local(at)),
            Space::Generic if at >= LOCAL => Some(Spot::Local(at - LOCAL)),
            Space::Generic if at >= SHARED => Some(Spot::Shared(at - SHARED)),
            Space::Generic => global(),
        };
        found.ok_or_else(|| {
            let what = format!("{} accesses address {at:#x}, where there is nothing", self.name(here, lane));
            Fault { line, rule: Rule::Bounds, what }
        })
    }

    /// Memory that holds a place, and the byte in it.
    pub fn area(&mut self, here: Here, lane: usize, spot: Spot) -> (&mut Area, u64) {
        match spot {
            Spot::Global(buffer, byte) => (&mut self.global.buffers[buffer].area, byte),
            Spot::Shared(byte) => (&mut self.blocks[here.block].shared, byte),
            Spot::Local(byte) => (&mut self.blocks[here.block].warps[here.warp].local[lane], byte),
        }
    }

    fn load(
        &mut self,
        here: Here,
        lanes: Lanes,
        (space, constant, ty, into, address): (Space, bool, Ty, &[(Reg, Ty)], Address),
        line: u32,
    ) -> Result<(), Fault> {
        self.are_set(here, lanes, address.base, line)?;
        let len = ty.bytes() * into.len() as u64;
        let spots = self.spots(here, lanes, (space, address), (len, Way::Read, line))?;
        for (lane, spot) in &spots {
            if let (Spot::Global(buffer, _), true) = (spot, constant) {
                self.constant[*buffer].get_or_insert(line);
                self.stays(*buffer, line)?;
            }
            let (area, byte) = self.area(here, *lane, *spot);
            if !area.is_set(byte, len) {
                return Err(self.unset(here, *lane, *spot, line));
            }
            let loaded: Vec<u64> =
                (0..into.len() as u64).map(|k| area.load(byte + k * ty.bytes(), ty.bytes())).collect();
            let warp = self.warp_mut(here);
            for ((reg, held), bits) in into.iter().zip(loaded) {
                warp.write(*reg, *lane, ty.within(*held, bits));
            }
        }
        into.iter().for_each(|(reg, _)| self.warp_mut(here).wrote(*reg, lanes, 0));
        Ok(())
    }

    fn store(
        &mut self,
        here: Here,
        lanes: Lanes,
        (space, ty, of, address): (Space, Ty, &[Source], Address),
        line: u32,
    ) -> Result<(), Fault> {
        self.are_set(here, lanes, address.base, line)?;
        of.iter().try_for_each(|source| self.are_set(here, lanes, *source, line))?;
        let len = ty.bytes() * of.len() as u64;
        let spots = self.spots(here, lanes, (space, address), (len, Way::Write, line))?;
        for (lane, spot) in &spots {
            let values: Vec<u64> = of.iter().map(|source| self.warp(here).read(*source, *lane) & ty.mask()).collect();
            let (area, byte) = self.area(here, *lane, *spot);
            (0..).zip(values).for_each(|(k, bits)| area.store(byte + k * ty.bytes(), ty.bytes(), bits));
        }
        Ok(())
    }

    /// The places that lanes access, all of them checked and counted.
    pub fn spots(
        &mut self,
        here: Here,
        lanes: Lanes,
        at: (Space, Address),
        access: (u64, Way, u32),
    ) -> Result<Vec<(usize, Spot)>, Fault> {
        let (len, way, line) = access;
        let mut all = vec![];
        for lane in each(lanes) {
            let spot = self.spot(here, lane, at, line)?;
            self.allowed(here, lane, spot, access)?;
            all.push((lane, spot));
        }
        self.count(&all, len, way);
        Ok(all)
    }

    fn count(&mut self, spots: &[(usize, Spot)], len: u64, way: Way) {
        let mut shared = vec![];
        let mut global: Vec<(usize, Vec<(u64, u64)>)> = vec![];
        for (lane, spot) in spots {
            match spot {
                Spot::Shared(byte) => shared.push((*lane, *byte)),
                Spot::Local(_) => {}
                Spot::Global(buffer, byte) => {
                    let bytes = (*byte, byte + len - 1);
                    match global.iter_mut().find(|(other, _)| other == buffer) {
                        Some((_, all)) => all.push(bytes),
                        None => global.push((*buffer, vec![bytes])),
                    }
                }
            }
        }
        if !shared.is_empty() {
            self.counts.conflicts += count::conflicts(&shared, len);
        }
        for (buffer, bytes) in global {
            let (traffic, segments) = (&mut self.counts.traffic[buffer], count::segments(&bytes));
            if way == Way::Read {
                traffic.loads += 1;
                traffic.segments_loaded += segments;
            } else {
                traffic.stores += 1;
                traffic.segments_stored += segments;
            }
        }
    }

    /// That all lanes of a mask are here, and come with the same mask: several parts of a warp may come at once.
    fn come_together(&self, here: Here, lanes: Lanes, mask: Source, line: u32, what: &str) -> Result<(), Fault> {
        self.are_set(here, lanes, mask, line)?;
        let warp = self.warp(here);
        let named = |lane: usize| warp.read(mask, lane) as Lanes & warp.all;
        for lane in each(lanes) {
            let others = named(lane);
            let elsewhere =
                each(others & lanes).filter(|other| named(*other) != others).fold(0, |all, other| all | 1 << other);
            let missing = if others >> lane & 1 == 1 { others & !lanes | elsewhere } else { 1 << lane };
            if missing != 0 {
                return Err(self.never(here, missing, line, what));
            }
        }
        Ok(())
    }

    fn shuffle(
        &mut self,
        here: Here,
        lanes: Lanes,
        (how, into, found, [of, by, clamp, mask]): (Shuffle, Reg, Option<Reg>, [Source; 4]),
        line: u32,
    ) -> Result<(), Fault> {
        self.come_together(here, lanes, mask, line, "the shuffle")?;
        self.are_set(here, lanes, by, line)?;
        self.are_set(here, lanes, clamp, line)?;
        self.counts.shuffles += 1;
        let (values, unset) = (self.values(here, lanes, of), self.warp(here).unset(of));
        let mut taken = [(0, false, false); 32];
        for lane in each(lanes) {
            let warp = self.warp(here);
            let (from, inside) = source_lane(how, lane as u32, [warp.read(by, lane), warp.read(clamp, lane)]);
            if lanes & warp.read(mask, lane) as Lanes & 1 << from == 0 {
                return Err(self.never(here, 1 << from, line, "the shuffle"));
            }
            taken[lane] = (values[from as usize], inside, unset >> from & 1 == 1);
        }
        let unset = each(lanes).filter(|lane| taken[*lane].2).fold(0, |all, lane| all | 1 << lane);
        self.put(here, lanes, into, unset, &mut |lane| taken[lane].0);
        if let Some(found) = found {
            self.put(here, lanes, found, 0, &mut |lane| taken[lane].1.into());
        }
        Ok(())
    }

    fn unset(&self, here: Here, lane: usize, spot: Spot, line: u32) -> Fault {
        let what = format!("{} reads {}, which was never set", self.name(here, lane), self.spell(spot));
        Fault { line, rule: Rule::Set, what }
    }
}

/// The lane from which a lane reads, and whether it is within its part of the warp; outside it is the lane itself. (*PTX ISA*, `shfl.sync`.)
fn source_lane(how: Shuffle, lane: u32, [by, clamp]: [u64; 2]) -> (u32, bool) {
    let (by, part, clamp) = (by as u32 & 31, clamp as u32 >> 8 & 31, clamp as u32 & 31);
    let (least, most) = (lane & part, lane & part | clamp & !part);
    let (from, inside) = match how {
        Shuffle::Up => (lane.wrapping_sub(by), lane.checked_sub(by).is_some_and(|from| from >= most)),
        Shuffle::Down => (lane + by, lane + by <= most),
        Shuffle::Butterfly => (lane ^ by, lane ^ by <= most),
        Shuffle::Index => (least | by & !part, (least | by & !part) <= most),
    };
    if inside { (from, true) } else { (lane, false) }
}
