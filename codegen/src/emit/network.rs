//! Sorts few integers by a bitonic network (K. E. Batcher, *Sorting networks and their applications*, 1968): in vector registers, without
//! branches on elements.
//!
//! ```text
//!   blocks of 2, 4, 8, … elements, each with two sorted halves:
//!
//!     1 4 7 9 │ 0 2 3 8      the k-th is exchanged with the k-th last if that is less
//!     1 3 2 0 │ 9 7 4 8      then both halves are bitonic:
//!     1 0 │ 2 3 …            in halves, quarters, … of them the k-th is exchanged with the k-th of the other half
//!     0 │ 1 │ 2 │ 3 …
//!
//!   element e is in lane e % 16 of register e / 16 (of 8 lanes, if integers have 64 bits)
//! ```
//!
//! Lanes behind the last element are masked in loads, hold the greatest integer, stay last, and are masked in stores.
//! One or two registers are sorted in straight code. More are kept in memory, and loops sort one or exchange two of
//! them at a time, which compiles in a fraction of the time.

use super::Emitter;
use super::few::Ends;
use crate::Error;
use fiberloom_loops::Entry;
use inkwell::IntPredicate;
use inkwell::types::{IntType, VectorType};
use inkwell::values::{BasicMetadataValueEnum, IntValue, PointerValue, VectorValue};

/// The bits of a register.
const REGISTER: u32 = 512;

/// The most registers that are sorted in straight code.
const STRAIGHT: u32 = 2;

/// The distance of compared elements: the bits in which their numbers differ.
#[derive(Clone, Copy)]
struct Apart(u32);

/// Registers in memory: their type, their array, and their number.
struct Network<'c> {
    of: VectorType<'c>,
    row: PointerValue<'c>,
    count: IntValue<'c>,
}

impl<'c> Emitter<'c, '_> {
    /// Emits the body of the sorting function: straight code for one or two registers, a call for more.
    pub(super) fn network(&mut self, element: IntType<'c>, ends: Ends<'c>) -> Result<(), Error> {
        let lanes = REGISTER / element.get_bit_width();
        for count in 1..=STRAIGHT {
            let [some, more] = ["some", "more"].map(|name| self.context.append_basic_block(self.function, name));
            let fits =
                self.builder.build_int_compare(IntPredicate::SLE, ends.2, self.i64((count * lanes).into()), "")?;
            self.builder.build_conditional_branch(fits, some, more)?;
            self.builder.position_at_end(some);
            let numbers: Vec<IntValue> = (0..count).map(|r| self.i64(r.into())).collect();
            let loaded = numbers.iter().map(|r| self.read(element, ends, *r));
            let mut registers = loaded.collect::<Result<Vec<_>, _>>()?;
            steps(count * lanes).try_for_each(|apart| self.exchange(&mut registers, apart))?;
            numbers.iter().zip(registers).try_for_each(|(r, register)| self.write(ends, *r, register))?;
            self.builder.build_return(None)?;
            self.builder.position_at_end(more);
        }
        let more = self.aside("sort_in_turns", element, Self::network_in_turns)?;
        self.builder.build_call(more, &[ends.0.into(), ends.1.into(), ends.2.into()], "")?;
        Ok(())
    }

    /// Sorts each register, then blocks of two, four, eight registers.
    fn network_in_turns(&mut self, element: IntType<'c>, ends: Ends<'c>) -> Result<(), Error> {
        let of = element.vec_type(REGISTER / element.get_bit_width());
        let row = self.builder.build_alloca(of.array_type(Entry::FEW as u32 / of.get_size()), "row")?;
        let made = row.as_instruction().expect("an alloca is an instruction");
        made.set_alignment(REGISTER / 8).expect("a power of two");
        let network = Network { of, row, count: self.registers(of.get_size(), ends.2)? };
        self.up_to(network.count, &|r| {
            let unsorted = self.read(element, ends, r)?;
            let sorted = steps(of.get_size()).try_fold(unsorted, |v, apart| self.exchange_within(v, apart))?;
            self.put(&network, r, sorted)
        })?;
        let next = |block| Ok(self.builder.build_left_shift(block, self.i64(1), "")?);
        self.each(self.i64(2), (IntPredicate::SLE, network.count), &next, &|block| self.merge(&network, block))?;
        self.up_to(network.count, &|r| self.write(ends, r, self.get(&network, r)?))
    }

    /// Loads register `r`, with the greatest integer in lanes behind the last element.
    fn read(&self, element: IntType<'c>, (from, _, len): Ends<'c>, r: IntValue<'c>) -> Result<VectorValue<'c>, Error> {
        let bits = element.get_bit_width();
        let of = element.vec_type(REGISTER / bits);
        let greatest = element.const_int((1 << (bits - 1)) - 1, false);
        let behind = VectorType::const_vector(&vec![greatest; of.get_size() as usize]);
        let (at, mask) = (self.element(of.into(), from, r)?, self.before(of, r, len)?);
        Ok(self.load_masked(at, mask, behind)?.into_vector_value())
    }

    fn write(&self, (_, to, len): Ends<'c>, r: IntValue<'c>, register: VectorValue<'c>) -> Result<(), Error> {
        let of = register.get_type();
        let (at, mask) = (self.element(of.into(), to, r)?, self.before(of, r, len)?);
        self.store_masked(at, mask, register)
    }

    /// Puts in order each pair of elements of these registers at this distance.
    fn exchange(&self, registers: &mut [VectorValue<'c>], Apart(bits): Apart) -> Result<(), Error> {
        let lanes = registers[0].get_type().get_size();
        let (across, within) = ((bits / lanes) as usize, bits % lanes);
        for first in 0..registers.len() {
            let second = first ^ across;
            if second == first {
                registers[first] = self.exchange_within(registers[first], Apart(within))?;
            } else if second > first {
                let (a, b) = (registers[first], self.turned(registers[second], within)?);
                registers[first] = self.one_of("llvm.smin", a, b)?;
                registers[second] = self.turned(self.one_of("llvm.smax", a, b)?, within)?;
            }
        }
        Ok(())
    }

    /// The number of registers that hold `len` elements, rounded up to a power of two.
    fn registers(&self, lanes: u32, len: IntValue<'c>) -> Result<IntValue<'c>, Error> {
        let (builder, word) = (&self.builder, self.context.i64_type());
        let most = [builder.build_int_nsw_sub(len, self.i64(1), "")?.into(), self.i64(0).into()];
        let last = self.call_intrinsic("llvm.smax", word.into(), &most)?.into_int_value();
        let last = builder.build_right_shift(last, self.i64(lanes.ilog2().into()), false, "")?;
        let defined = self.context.bool_type().const_zero();
        let zeros = self.call_intrinsic("llvm.ctlz", word.into(), &[last.into(), defined.into()])?.into_int_value();
        let bits = builder.build_int_nsw_sub(self.i64(64), zeros, "")?;
        Ok(builder.build_left_shift(self.i64(1), bits, "registers")?)
    }

    /// Sorts blocks of `block` registers whose halves are sorted.
    fn merge(&self, network: &Network<'c>, block: IntValue<'c>) -> Result<(), Error> {
        let builder = &self.builder;
        let half = |of| builder.build_right_shift(of, self.i64(1), false, "");
        let flip = builder.build_int_nsw_sub(block, self.i64(1), "")?;
        let whole = network.of.get_size() - 1;
        self.exchange_across(network, half(block)?, flip, whole)?;
        let less = |distance| Ok(half(distance)?);
        let quarter = half(half(block)?)?;
        let some = (IntPredicate::SGE, self.i64(1));
        self.each(quarter, some, &less, &|distance| self.exchange_across(network, distance, distance, 0))?;
        self.up_to(network.count, &|r| {
            let mut turns = bitonic(network.of.get_size());
            let sorted = turns.try_fold(self.get(network, r)?, |v, apart| self.exchange_within(v, apart))?;
            self.put(network, r, sorted)
        })
    }

    /// Puts in order each pair of lanes whose registers' numbers differ in `bits`, the highest of which is `upper`, and whose own numbers
    /// differ in `within`.
    fn exchange_across(
        &self,
        network: &Network<'c>,
        upper: IntValue<'c>,
        bits: IntValue<'c>,
        within: u32,
    ) -> Result<(), Error> {
        let builder = &self.builder;
        let below = builder.build_int_nsw_sub(upper, self.i64(1), "")?;
        let pairs = builder.build_right_shift(network.count, self.i64(1), false, "")?;
        self.up_to(pairs, &|pair| {
            // The pair's number with a zero bit inserted at `upper`.
            let low = builder.build_and(pair, below, "")?;
            let high = builder.build_int_nsw_sub(pair, low, "")?;
            let first = builder.build_or(low, builder.build_left_shift(high, self.i64(1), "")?, "")?;
            let second = builder.build_xor(first, bits, "")?;
            let (a, b) = (self.get(network, first)?, self.turned(self.get(network, second)?, within)?);
            self.put(network, first, self.one_of("llvm.smin", a, b)?)?;
            self.put(network, second, self.turned(self.one_of("llvm.smax", a, b)?, within)?)
        })
    }

    /// Puts in order each pair of lanes of a register at this distance.
    fn exchange_within(&self, register: VectorValue<'c>, Apart(bits): Apart) -> Result<VectorValue<'c>, Error> {
        let lanes = register.get_type().get_size();
        let turned = self.turned(register, bits)?;
        let (less, more) = (self.one_of("llvm.smin", register, turned)?, self.one_of("llvm.smax", register, turned)?);
        let each = (0..lanes).map(|k| if k & 1 << bits.ilog2() == 0 { k } else { lanes + k });
        Ok(self.builder.build_shuffle_vector(less, more, self.places(each), "")?)
    }

    fn get(&self, network: &Network<'c>, r: IntValue<'c>) -> Result<VectorValue<'c>, Error> {
        let at = self.element(network.of.into(), network.row, r)?;
        Ok(self.builder.build_load(network.of, at, "")?.into_vector_value())
    }

    fn put(&self, network: &Network<'c>, r: IntValue<'c>, register: VectorValue<'c>) -> Result<(), Error> {
        self.builder.build_store(self.element(network.of.into(), network.row, r)?, register)?;
        Ok(())
    }

    /// A loop from 0 up to `end`.
    pub(super) fn up_to(
        &self,
        end: IntValue<'c>,
        body: &dyn Fn(IntValue<'c>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let next = |n| Ok(self.builder.build_int_nsw_add(n, self.i64(1), "")?);
        self.each(self.i64(0), (IntPredicate::SLT, end), &next, body)
    }

    /// A loop from `first` on, while its variable satisfies the predicate with `end`.
    fn each(
        &self,
        first: IntValue<'c>,
        (predicate, end): (IntPredicate, IntValue<'c>),
        next: &dyn Fn(IntValue<'c>) -> Result<IntValue<'c>, Error>,
        body: &dyn Fn(IntValue<'c>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let [test, turn, after] =
            ["test", "turn", "after"].map(|name| self.context.append_basic_block(self.function, name));
        let before = self.here();
        self.builder.build_unconditional_branch(test)?;
        self.builder.position_at_end(test);
        let counter = self.builder.build_phi(self.context.i64_type(), "")?;
        let n = counter.as_basic_value().into_int_value();
        let more = self.builder.build_int_compare(predicate, n, end, "")?;
        self.builder.build_conditional_branch(more, turn, after)?;
        self.builder.position_at_end(turn);
        body(n)?;
        let following = next(n)?;
        counter.add_incoming(&[(&first, before), (&following, self.here())]);
        self.builder.build_unconditional_branch(test)?;
        self.builder.position_at_end(after);
        Ok(())
    }

    /// The mask of lanes of register `r` before the end.
    fn before(&self, of: VectorType<'c>, r: IntValue<'c>, len: IntValue<'c>) -> Result<VectorValue<'c>, Error> {
        let lanes = of.get_size();
        let first = self.builder.build_int_nsw_mul(r, self.i64(lanes.into()), "")?;
        let left = self.builder.build_int_nsw_sub(len, first, "")?;
        self.lanes_before(lanes, self.low_bits(left, of.get_element_type().into_int_type())?)
    }

    /// Moves each lane to the lane whose number differs from its own in the bits of `within`.
    fn turned(&self, register: VectorValue<'c>, within: u32) -> Result<VectorValue<'c>, Error> {
        let of = register.get_type();
        if within == 0 {
            return Ok(register);
        }
        let each = (0..of.get_size()).map(|k| k ^ within);
        Ok(self.builder.build_shuffle_vector(register, of.get_undef(), self.places(each), "")?)
    }

    fn places(&self, lanes: impl Iterator<Item = u32>) -> VectorValue<'c> {
        let lanes: Vec<_> = lanes.map(|k| self.context.i32_type().const_int(k.into(), false)).collect();
        VectorType::const_vector(&lanes)
    }

    fn one_of(&self, name: &str, a: VectorValue<'c>, b: VectorValue<'c>) -> Result<VectorValue<'c>, Error> {
        let args: [BasicMetadataValueEnum; 2] = [a.into(), b.into()];
        Ok(self.call_intrinsic(name, a.get_type().into(), &args)?.into_vector_value())
    }
}

/// The distances of the comparisons, in order, that sort `size` elements.
fn steps(size: u32) -> impl Iterator<Item = Apart> {
    (1..=size.ilog2()).map(|n| 1 << n).flat_map(|block| std::iter::once(Apart(block - 1)).chain(bitonic(block / 2)))
}

/// The distances of the comparisons, in order, that sort a bitonic sequence of `size` elements.
fn bitonic(size: u32) -> impl Iterator<Item = Apart> {
    (0..size.ilog2()).rev().map(|n| Apart(1 << n))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network sorts all inputs if it sorts all sequences of 0s and 1s (D. E. Knuth, *The Art of Computer Programming* 5.3.4). Up to 16
    /// elements all sequences are tested; for more, each cyclic run of 1s, of each length.
    #[test]
    fn steps_sort() {
        let sorted = |size: u32, mut bits: u128| {
            let ones = bits.count_ones();
            for Apart(apart) in steps(size) {
                for low in (0..size).filter(|e| e & (1 << apart.ilog2()) == 0) {
                    let high = low ^ apart;
                    if bits >> low & 1 == 1 && bits >> high & 1 == 0 {
                        bits ^= 1 << low | 1 << high;
                    }
                }
            }
            bits.count_ones() == ones && bits.checked_shr(size - ones).unwrap_or(0).count_ones() == ones
        };
        for size in [2, 4, 8, 16] {
            assert!((0..1 << size).all(|bits| sorted(size, bits)), "{size}");
        }
        for size in [32, 64, 128] {
            for ones in 1..size {
                let run = u128::MAX >> (128 - ones);
                let around = |by: u32| run << by | if by + ones > size { run >> (size - by) } else { 0 };
                let within = u128::MAX >> (128 - size);
                assert!((0..size).all(|by| sorted(size, around(by) & within)), "{size}, {ones}");
            }
        }
    }
}
