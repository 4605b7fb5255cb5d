//! The buffers of a run: their contents, and which elements were set.

use super::Rule;
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::Array;
use fiberloom_loops::{Failure, Kernel, Role};

/// A buffer.
pub(super) enum Buffer<'a> {
    /// A buffer of the caller.
    Operand(&'a Array<'a>),
    /// A buffer that the kernel allocates.
    Made(Made),
}

/// A buffer that the kernel allocates.
pub(super) struct Made {
    ty: Type,
    role: Role,
    allocated: bool,
    /// The bits of each element; as many as there is room for.
    elements: Vec<u64>,
    /// A bit per element: whether it was set.
    set: Vec<u64>,
    /// The length as a result, once it is finished.
    finished: Option<usize>,
}

/// The rule that an access breaks, and the element.
pub(super) type Refused = (Rule, i64);

impl<'a> Buffer<'a> {
    pub fn all(kernel: &Kernel, operands: &[Option<&'a Array<'a>>]) -> Vec<Buffer<'a>> {
        let buffers = kernel.buffers.iter().zip(operands);
        buffers
            .map(|(b, array)| match array {
                Some(array) => Buffer::Operand(array),
                None => Buffer::Made(Made {
                    ty: b.ty,
                    role: b.role,
                    allocated: false,
                    elements: vec![],
                    set: vec![],
                    finished: None,
                }),
            })
            .collect()
    }

    /// The number of elements for which there is room.
    pub fn room(&self) -> usize {
        match self {
            Buffer::Operand(array) => array.len(),
            Buffer::Made(made) => made.elements.len(),
        }
    }

    fn allocated(&self) -> Result<(), Refused> {
        match self {
            Buffer::Made(made) if !made.allocated => Err((Rule::Allocated, 0)),
            _ => Ok(()),
        }
    }

    pub fn capacity(&self) -> Result<usize, Refused> {
        self.allocated().map(|()| self.room())
    }

    fn place(&self, at: i64) -> Result<usize, Refused> {
        match usize::try_from(at) {
            Ok(i) if i < self.room() => Ok(i),
            _ => Err(self.allocated().err().unwrap_or((Rule::InBounds, at))),
        }
    }

    /// The bits of an element.
    pub fn load(&self, at: i64) -> Result<u64, Refused> {
        let i = self.place(at)?;
        match self {
            Buffer::Operand(array) => Ok(array.get(i).bits()),
            Buffer::Made(made) if made.is_set(i) => Ok(made.elements[i]),
            Buffer::Made(_) => Err((Rule::ElementSet, at)),
        }
    }

    /// Sets an element.
    pub fn store(&mut self, at: i64, bits: u64) -> Result<(), Refused> {
        let i = self.place(at)?;
        let made = self.made()?;
        made.elements[i] = bits;
        made.set[i / 64] |= 1 << (i % 64);
        Ok(())
    }

    /// Makes an element unset.
    pub fn unset(&mut self, at: i64) {
        if let (Ok(i), Buffer::Made(made)) = (self.place(at), self) {
            made.set[i / 64] &= !(1 << (i % 64));
        }
    }

    pub fn made(&mut self) -> Result<&mut Made, Refused> {
        match self {
            Buffer::Operand(_) => Err((Rule::ReadOnly, 0)),
            Buffer::Made(made) => Ok(made),
        }
    }

    /// The first `len` elements as integers, which all have to be set; none if `len <= 0`.
    pub fn integers(&self, len: i64) -> Result<Vec<i64>, Refused> {
        self.allocated()?;
        if len <= 0 {
            return Ok(vec![]);
        }
        self.place(len - 1)?;
        let ty = match self {
            Buffer::Operand(array) => array.ty(),
            Buffer::Made(made) => made.ty,
        };
        (0..len).map(|at| self.load(at).map(|bits| Value::from_bits(ty, bits).as_i64().unwrap_or(0))).collect()
    }

    /// Sets consecutive elements from `first` on.
    pub fn set_integers(&mut self, first: i64, integers: &[i64]) -> Result<(), Refused> {
        let ty = self.made()?.ty;
        integers.iter().zip(first..).try_for_each(|(x, at)| self.store(at, Value::from_i128(ty, *x as i128).bits()))
    }
}

impl Made {
    fn is_set(&self, i: usize) -> bool {
        self.set[i / 64] >> (i % 64) & 1 == 1
    }

    /// The bytes of this many elements, unless they overflow.
    fn bytes(&self, len: usize) -> Result<u64, Failure> {
        (len as u64).checked_mul(self.ty.bytes() as u64).ok_or(Failure::Memory)
    }

    /// Allocates the buffer again, with `len` elements. `left` is the memory that may still be allocated.
    pub fn alloc(&mut self, len: usize, fill: Option<Value>, left: &mut u64) -> Result<(), Failure> {
        *left += self.bytes(self.elements.len())?;
        (self.elements, self.set) = (vec![], vec![]);
        *left = left.checked_sub(self.bytes(len)?).ok_or(Failure::Memory)?;
        resize(&mut self.elements, len, fill.map_or(0, Value::bits))?;
        resize(&mut self.set, len.div_ceil(64), if fill.is_some() { u64::MAX } else { 0 })?;
        (self.allocated, self.finished) = (true, None);
        Ok(())
    }

    /// Makes room for at least `len` elements, and for twice as many as before if it has to grow.
    pub fn reserve(&mut self, len: usize, left: &mut u64) -> Result<(), Failure> {
        let old = self.elements.len();
        self.finished = None;
        if len <= old {
            return Ok(());
        }
        let len = len.max(old.saturating_mul(2));
        let more = self.bytes(len)? - self.bytes(old)?;
        *left = left.checked_sub(more).ok_or(Failure::Memory)?;
        // The last word of `set` may have bits for elements that did not exist.
        if let (Some(last), true) = (self.set.last_mut(), !old.is_multiple_of(64)) {
            *last &= (1 << (old % 64)) - 1;
        }
        resize(&mut self.elements, len, 0)?;
        resize(&mut self.set, len.div_ceil(64), 0)
    }

    /// Takes another buffer's contents; that buffer becomes unallocated, and keeps the memory of this one for later use.
    pub fn take(&mut self, from: &mut Made) {
        std::mem::swap(&mut self.elements, &mut from.elements);
        std::mem::swap(&mut self.set, &mut from.set);
        (self.allocated, self.finished) = (true, from.finished);
        (from.allocated, from.finished) = (false, None);
    }

    /// The number of elements for which there is room.
    pub fn room(&self) -> usize {
        self.elements.len()
    }

    pub fn is_allocated(&self) -> bool {
        self.allocated
    }

    /// Sets the result's length; all elements up to it have to be set.
    pub fn finish(&mut self, len: i64) -> Result<(), Refused> {
        let n = usize::try_from(len).ok().filter(|n| *n <= self.elements.len()).ok_or((Rule::Finished, len))?;
        if let Some(i) = (0..n).find(|i| !self.is_set(*i)) {
            return Err((Rule::ElementSet, i as i64));
        }
        self.finished = Some(n);
        Ok(())
    }

    /// The array of a result; `None` for a workspace.
    pub fn result(&self) -> Result<Option<Array<'static>>, Refused> {
        if self.role != Role::Result {
            return Ok(None);
        }
        let n = self.finished.ok_or((Rule::Finished, -1))?;
        let values = self.elements[..n].iter().map(|bits| Value::from_bits(self.ty, *bits));
        Ok(Some(Array::from_values(self.ty, values)))
    }
}

/// Resizes the vector, or fails if memory does not suffice.
fn resize(v: &mut Vec<u64>, len: usize, fill: u64) -> Result<(), Failure> {
    v.try_reserve_exact(len.saturating_sub(v.len())).map_err(|_| Failure::Memory)?;
    v.resize(len, fill);
    Ok(())
}
