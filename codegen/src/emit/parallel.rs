//! Parallel loops: a function that runs some of the iterations, and a call of the runtime, which runs it on threads.
//!
//! ```text
//!   parallel for i in lo..hi with w          rt->parallel(rt, buffers, params, frame, {kernel_part_0, own, 1, lo, hi, work})
//!     …                               ──▶      kernel_part_0(rt', buffers', params, frame, 0, 128)      on one thread
//!                                              kernel_part_0(rt″, buffers″, params, frame, 128, 256)    on another
//! ```
//!
//! The loop is described in the frame's last words. Parts only read the frame, but for the counters of a loop whose iterations append, and
//! variables into which they fold: threads of such a loop have frames of their own. Each thread has a session of its own, and a copy of the
//! table of buffers, in which `own` are copies, too.
//!
//! A part that folds begins with the functions' identities and leaves its own values in the frame, whatever was there. A second function,
//! `kernel_fold_0(frame, frame of a later piece)`, folds those into the frame's; the kernel folds what the runtime leaves into what the
//! variables were before. Of arrays into which iterations fold, the runtime makes each piece one of its own, and a third function,
//! `kernel_fold_arrays_0(buffers, buffers of a piece)`, folds their elements.

use super::parts::Home;
use super::{Emitter, Place, Typed, Unit, parts};
use crate::Error;
use crate::abi::Slot;
use fiberloom_core::algebra::Op;
use fiberloom_loops::{BufferId, Expr, How, Kernel, Stmt, Var, array_in_pieces, fold_in_pieces, linear, weights, work};
use inkwell::IntPredicate;
use inkwell::module::Linkage;
use inkwell::types::BasicMetadataTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, PointerValue};
use std::collections::BTreeSet;

/// The words that describe a loop, and then each of the arrays to which its iterations append, those into which they fold, and the
/// positions that say how its work is spread.
const WORDS: [u64; 4] = [16, 6, 3, 3];

/// The words that describe a loop, by what they describe.
fn words(kernel: &Kernel, stmt: &Stmt) -> [u64; 4] {
    let Stmt::For { var, how, body, .. } = stmt else { return [0; 4] };
    let numbers = [1, how.joined().len(), how.arrays().len(), weights(kernel, *var, body).len()];
    std::array::from_fn(|n| WORDS[n] * numbers[n] as u64)
}

/// The number of words that describe a loop.
pub(super) fn all_words(kernel: &Kernel, stmt: &Stmt) -> u64 {
    words(kernel, stmt).iter().sum()
}

impl<'c> Emitter<'c, '_> {
    /// Emits the loop over the iterations that are this function's arguments.
    pub(super) fn some_turns(&mut self, stmt: &Stmt) -> Result<(), Error> {
        let Stmt::For { var, lo, hi, body, how } = stmt else { return Ok(()) };
        let [first, past] = [4, 5].map(|n| self.function.get_nth_param(n).map(|at| at.into_int_value()));
        let range = (first.expect("the first iteration"), past.expect("one past the last"));
        for v in how.folded() {
            if let (Some((_, begins)), Place::Slot(slot)) =
                (fold_in_pieces(self.kernel, body, *v), self.vars[v.0 as usize])
            {
                self.builder.build_store(slot, self.constant(begins).value)?;
            }
        }
        self.count(*var, ([lo, hi], range), &How::Serial, body)?;
        self.leave(&how.counters(*var).iter().chain(how.folded()).copied().collect())
    }

    /// The value of a variable in a frame.
    fn in_frame(&self, v: Var, frame: PointerValue<'c>) -> Result<(PointerValue<'c>, Typed<'c>), Error> {
        let word = self.cuts.shared.get(&v).ok_or_else(|| Error::Llvm(format!("{} is not shared", self.name(v))))?;
        let word = self.element(self.context.i64_type().into(), frame, self.i64(*word as i64))?;
        let ty = self.type_of(v);
        Ok((word, Typed { value: self.builder.build_load(self.register(ty), word, self.name(v))?, ty }))
    }

    /// Folds a later value of a variable into an earlier one, in this word of a frame.
    fn fold_into(&self, word: PointerValue<'c>, op: Op, [earlier, later]: [Typed<'c>; 2]) -> Result<(), Error> {
        self.builder.build_store(word, self.apply(op, earlier.ty, &[earlier, later])?)?;
        Ok(())
    }

    /// Calls the runtime, which runs a parallel loop; the kernel ends if an iteration fails.
    pub(super) fn call_turns(&mut self, stmt: &Stmt) -> Result<(), Error> {
        let (Stmt::For { how: How::Parallel { own, joined, folded, .. }, body, .. }, Some(part)) =
            (stmt, self.cuts.part_of(stmt))
        else {
            return Ok(());
        };
        let [session, buffers, params] = [0, 1, 2].map(|n| self.function.get_nth_param(n).expect("three arguments"));
        let frame = self.frame.expect("a kernel that has parts has a frame");
        let before = folded.iter().map(|v| Ok(self.in_frame(*v, frame)?.1)).collect::<Result<Vec<_>, Error>>()?;
        let described = self.described(stmt, part)?;
        for (n, value) in described.into_iter().enumerate() {
            self.builder.build_store(self.loop_word(n as u64)?, value)?;
        }
        let args =
            [session, buffers, params, frame.into(), self.loop_word(0)?.into()].map(BasicMetadataValueEnum::from);
        let call = self.call_table(Slot::Parallel, &args)?;
        self.go_on_if_zero(call.try_as_basic_value().unwrap_basic().into_int_value())?;
        for (v, before) in folded.iter().zip(before) {
            let (word, made) = self.in_frame(*v, frame)?;
            let (op, _) = fold_in_pieces(self.kernel, body, *v).expect("checked");
            self.fold_into(word, op, [before, made])?;
        }
        let mentioned = &self.cuts.mentions(self.home).buffers;
        let changed = own.iter().copied().chain(joined.iter().map(|j| j.array));
        changed.filter(|b| mentioned.contains(b) && self.moves(*b)).try_for_each(|b| self.refresh(b))
    }

    /// A word of the frame behind the variables that functions share.
    fn loop_word(&self, n: u64) -> Result<PointerValue<'c>, Error> {
        let frame = self.frame.expect("a kernel that has parts has a frame");
        self.element(self.context.i64_type().into(), frame, self.i64((self.cuts.shared.len() as u64 + n) as i64))
    }

    /// The words that describe a loop, as the runtime reads them.
    fn described(&mut self, stmt: &Stmt, part: usize) -> Result<Vec<BasicValueEnum<'c>>, Error> {
        let Stmt::For { var, lo, hi, how: how @ How::Parallel { own, joined, .. }, body } = stmt else {
            return Ok(vec![]);
        };
        let function = self.module.get_function(&parts::name(self.symbol, part));
        let function = function.ok_or_else(|| Error::Llvm(format!("part {part} is not declared")))?;
        let work = self.index(&work(self.kernel, *var, (lo, hi), body))?;
        let [first, joins, folds, _] = words(self.kernel, stmt);
        let weights = weights(self.kernel, *var, body);
        let (lo, hi) = (self.index(lo)?, self.index(hi)?);
        let mut all: Vec<BasicValueEnum> = vec![
            function.as_global_value().as_pointer_value().into(),
            self.numbers(own, part).into(),
            self.i64(own.len() as i64).into(),
            lo.into(),
            hi.into(),
            work.into(),
            self.loop_word(first)?.into(),
            self.i64(joined.len() as i64).into(),
            self.i64(self.cuts.shared.len() as i64).into(),
            self.i64(is_repeatable(body, how).into()).into(),
            self.fold_function(part, FRAMES).into(),
            self.fold_function(part, ARRAYS).into(),
            self.loop_word(first + joins)?.into(),
            self.i64(how.arrays().len() as i64).into(),
            self.loop_word(first + joins + folds)?.into(),
            self.i64(weights.len() as i64).into(),
        ];
        for j in joined {
            let counted = |v: Var| self.cuts.shared.get(&v).map_or(-1, |word| *word as i64);
            let (at, times, more) = match j.counter(*var) {
                Some((v, more)) => (counted(v), self.i64(1), self.i64(more)),
                None => {
                    let (first, length) = linear(&j.from, *var).expect("checked");
                    (-1, self.index(&length)?, self.index(&first)?)
                }
            };
            let bytes = self.kernel.buffers[j.array.0 as usize].ty.bytes() as i64;
            let holds = j.holds.map_or(-1, counted);
            all.extend(
                [self.i64(j.array.0.into()), self.i64(bytes), self.i64(at), times, more, self.i64(holds)]
                    .map(BasicValueEnum::from),
            );
        }
        for b in how.arrays() {
            let bytes = self.kernel.buffers[b.0 as usize].ty.bytes() as i64;
            let (_, begins) = array_in_pieces(self.kernel, body, *b).expect("checked");
            let words = [self.i64(b.0.into()), self.i64(bytes), self.i64(begins.bits() as i64)];
            all.extend(words.map(BasicValueEnum::from));
        }
        for w in weights {
            let bytes = self.kernel.buffers[w.positions.0 as usize].ty.bytes() as i64;
            let words = [w.positions.0.into(), bytes, w.at.map_or(-1, |at| at as i64)];
            all.extend(words.map(|word| BasicValueEnum::from(self.i64(word))));
        }
        Ok(all)
    }

    /// The address of a function that folds pieces of a part, or null.
    fn fold_function(&self, part: usize, what: &str) -> PointerValue<'c> {
        match self.module.get_function(&fold_name(self.symbol, what, part)) {
            Some(fold) => fold.as_global_value().as_pointer_value(),
            None => self.context.ptr_type(Default::default()).const_null(),
        }
    }

    /// Folds each element of an array into the one of another, in which pieces before have folded: of two tables of buffers.
    fn fold_elements(&self, b: BufferId, op: Op, [table, later]: [PointerValue<'c>; 2]) -> Result<(), Error> {
        let (word, ty) = (self.context.i64_type(), self.kernel.buffers[b.0 as usize].ty);
        let field = |table, n| self.element(word.into(), table, self.i64(3 * i64::from(b.0) + n));
        let pointer = self.context.ptr_type(Default::default());
        let data = |table| Ok::<_, Error>(self.builder.build_load(pointer, field(table, 0)?, "")?.into_pointer_value());
        let (into, from) = (data(table)?, data(later)?);
        let room = self.builder.build_load(word, field(table, 2)?, "")?.into_int_value();
        let before = self.here();
        let [each, done] = ["each", "done"].map(|name| self.context.append_basic_block(self.function, name));
        let some = self.builder.build_int_compare(IntPredicate::SLT, self.i64(0), room, "")?;
        self.builder.build_conditional_branch(some, each, done)?;
        self.builder.position_at_end(each);
        let at = self.builder.build_phi(word, "k")?;
        let k = at.as_basic_value().into_int_value();
        let value = |data| {
            let element = self.element(self.register(ty), data, k)?;
            Ok::<_, Error>((element, Typed { value: self.builder.build_load(self.register(ty), element, "")?, ty }))
        };
        let ((place, earlier), (_, later)) = (value(into)?, value(from)?);
        self.fold_into(place, op, [earlier, later])?;
        let next = self.builder.build_int_nsw_add(k, self.i64(1), "")?;
        at.add_incoming(&[(&self.i64(0), before), (&next, self.here())]);
        let more = self.builder.build_int_compare(IntPredicate::SLT, next, room, "")?;
        self.builder.build_conditional_branch(more, each, done)?;
        self.builder.position_at_end(done);
        Ok(())
    }

    /// The numbers of buffers, as an array of constants.
    fn numbers(&self, own: &[BufferId], part: usize) -> PointerValue<'c> {
        if own.is_empty() {
            return self.context.ptr_type(Default::default()).const_null();
        }
        let number = self.context.i32_type();
        let numbers: Vec<_> = own.iter().map(|b| number.const_int(b.0.into(), false)).collect();
        let places = self.module.add_global(number.array_type(own.len() as u32), None, &format!("own_{part}"));
        places.set_initializer(&number.const_array(&numbers));
        places.set_constant(true);
        places.set_linkage(Linkage::Private);
        places.as_pointer_value()
    }
}

/// The functions that fold pieces: one folds the variables in frames, one the elements of arrays.
const FRAMES: &str = "fold";
const ARRAYS: &str = "fold_arrays";

/// The name of a function that folds the pieces of a part.
fn fold_name(symbol: &str, what: &str, part: usize) -> String {
    format!("{symbol}_{what}_{part}")
}

/// Defines the functions that fold what a later piece of a loop's iterations has folded into what the pieces before have: in frames, and in
/// arrays, of which tables of buffers have the addresses.
pub(super) fn define_folds(unit: Unit, part: usize, stmt: &Stmt) -> Result<(), Error> {
    let Stmt::For { how, body, .. } = stmt else { return Ok(()) };
    if !how.folded().is_empty() {
        let (emitter, [frame, later]) = begin_fold(unit, part, FRAMES)?;
        for v in how.folded() {
            let ((word, earlier), (_, later)) = (emitter.in_frame(*v, frame)?, emitter.in_frame(*v, later)?);
            let (op, _) = fold_in_pieces(unit.kernel, body, *v).expect("checked");
            emitter.fold_into(word, op, [earlier, later])?;
        }
        emitter.end_fold()?;
    }
    if !how.arrays().is_empty() {
        let (emitter, tables) = begin_fold(unit, part, ARRAYS)?;
        for b in how.arrays() {
            let (op, _) = array_in_pieces(unit.kernel, body, *b).expect("checked");
            emitter.fold_elements(*b, op, tables)?;
        }
        emitter.end_fold()?;
    }
    Ok(())
}

/// Begins a function of two pointers.
fn begin_fold<'c, 'k>(
    unit: Unit<'c, 'k>,
    part: usize,
    what: &str,
) -> Result<(Emitter<'c, 'k>, [PointerValue<'c>; 2]), Error> {
    let pointer = BasicMetadataTypeEnum::from(unit.context.ptr_type(Default::default()));
    let ty = unit.context.void_type().fn_type(&[pointer; 2], false);
    let function = unit.module.add_function(&fold_name(unit.symbol, what, part), ty, Some(Linkage::Internal));
    let emitter = Emitter::open(unit, Home::Part(part), function)?;
    let arguments = [0, 1].map(|n| function.get_nth_param(n).expect("two pointers").into_pointer_value());
    Ok((emitter, arguments))
}

impl Emitter<'_, '_> {
    /// Ends such a function.
    fn end_fold(self) -> Result<(), Error> {
        self.builder.build_return(None)?;
        self.builder.position_at_end(self.stop.0);
        self.builder.build_unreachable()?;
        Ok(())
    }
}

/// Whether iterations may run again after some of them ran: they read nothing that they write, but for what each thread has for itself.
fn is_repeatable(body: &[Stmt], how: &How) -> bool {
    fn note(stmt: &Stmt, written: &mut BTreeSet<BufferId>, read: &mut BTreeSet<BufferId>) {
        match stmt {
            Stmt::Store(b, ..) => _ = written.insert(*b),
            Stmt::Call(entry) => written.extend(entry.buffers()),
            _ => {}
        }
        stmt.exprs().for_each(|e| {
            e.each(&mut |e| {
                if let Expr::Load(b, _) | Expr::Among(_, b, _) = e {
                    read.insert(*b);
                }
            });
        });
        stmt.blocks().flatten().for_each(|inner| note(inner, written, read));
    }
    let (mut written, mut read) = Default::default();
    body.iter().for_each(|stmt| note(stmt, &mut written, &mut read));
    let How::Parallel { own, joined, arrays, .. } = how else { return true };
    let apart = |b: &BufferId| own.contains(b) || arrays.contains(b) || joined.iter().any(|j| j.array == *b);
    written.intersection(&read).all(apart)
}
