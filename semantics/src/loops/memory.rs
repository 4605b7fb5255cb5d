//! The buffers of a run: what they hold, and which of it was ever set.

use super::Rule;
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::Array;
use fiberloom_core::loops::{Failure, Kernel, Role};

/// A buffer.
pub(super) enum Buffer<'a> {
    /// The caller's.
    Operand(&'a Array<'a>),
    /// Made by the kernel, or about to be.
    Made(Made),
}

/// What a kernel made.
pub(super) struct Made {
    ty: Type,
    role: Role,
    allocated: bool,
    /// Each element's bits; as many as there is room for.
    elements: Vec<u64>,
    /// A bit an element: whether it was set.
    set: Vec<u64>,
    /// Length as a result.
    finished: Option<usize>,
}

/// Why an access fails: the rule, and the element.
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

    /// Number of elements for which there is room.
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

    /// Bits of an element.
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

    pub fn made(&mut self) -> Result<&mut Made, Refused> {
        match self {
            Buffer::Operand(_) => Err((Rule::ReadOnly, 0)),
            Buffer::Made(made) => Ok(made),
        }
    }

    /// The first `len` elements as integers, all of them set; none if `len <= 0`.
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

    /// Sets elements from `first` on.
    pub fn set_integers(&mut self, first: i64, integers: &[i64]) -> Result<(), Refused> {
        let ty = self.made()?.ty;
        integers.iter().zip(first..).try_for_each(|(x, at)| self.store(at, Value::from_i128(ty, *x as i128).bits()))
    }
}

impl Made {
    fn is_set(&self, i: usize) -> bool {
        self.set[i / 64] >> (i % 64) & 1 == 1
    }

    /// Bytes of so many elements, if they can be counted.
    fn bytes(&self, len: usize) -> Result<u64, Failure> {
        (len as u64).checked_mul(self.ty.bytes() as u64).ok_or(Failure::Memory)
    }

    /// The buffer anew, with `len` elements. `left` is the memory that may be taken.
    pub fn alloc(&mut self, len: usize, fill: Option<Value>, left: &mut u64) -> Result<(), Failure> {
        *left += self.bytes(self.elements.len())?;
        (self.elements, self.set) = (vec![], vec![]);
        *left = left.checked_sub(self.bytes(len)?).ok_or(Failure::Memory)?;
        resize(&mut self.elements, len, fill.map_or(0, Value::bits))?;
        resize(&mut self.set, len.div_ceil(64), if fill.is_some() { u64::MAX } else { 0 })?;
        (self.allocated, self.finished) = (true, None);
        Ok(())
    }

    /// Room for `len` elements at least, and for twice as many as before if there is less.
    pub fn reserve(&mut self, len: usize, left: &mut u64) -> Result<(), Failure> {
        let old = self.elements.len();
        self.finished = None;
        if len <= old {
            return Ok(());
        }
        let len = len.max(old.saturating_mul(2));
        let more = self.bytes(len)? - self.bytes(old)?;
        *left = left.checked_sub(more).ok_or(Failure::Memory)?;
        // The last word of `set` may claim elements that were not there.
        if let (Some(last), true) = (self.set.last_mut(), !old.is_multiple_of(64)) {
            *last &= (1 << (old % 64)) - 1;
        }
        resize(&mut self.elements, len, 0)?;
        resize(&mut self.set, len.div_ceil(64), 0)
    }

    /// What another buffer has, which is then as if it had not been allocated; what was here is its memory to be.
    pub fn take(&mut self, from: &mut Made) {
        std::mem::swap(&mut self.elements, &mut from.elements);
        std::mem::swap(&mut self.set, &mut from.set);
        (self.allocated, self.finished) = (true, from.finished);
        (from.allocated, from.finished) = (false, None);
    }

    /// Number of elements for which there is room.
    pub fn room(&self) -> usize {
        self.elements.len()
    }

    pub fn is_allocated(&self) -> bool {
        self.allocated
    }

    /// The result's length, up to which all is set.
    pub fn finish(&mut self, len: i64) -> Result<(), Refused> {
        let n = usize::try_from(len).ok().filter(|n| *n <= self.elements.len()).ok_or((Rule::Finished, len))?;
        if let Some(i) = (0..n).find(|i| !self.is_set(*i)) {
            return Err((Rule::ElementSet, i as i64));
        }
        self.finished = Some(n);
        Ok(())
    }

    /// The array, of a result; `None` of a workspace.
    pub fn result(&self) -> Result<Option<Array<'static>>, Refused> {
        if self.role != Role::Result {
            return Ok(None);
        }
        let n = self.finished.ok_or((Rule::Finished, -1))?;
        let values = self.elements[..n].iter().map(|bits| Value::from_bits(self.ty, *bits));
        Ok(Some(Array::from_values(self.ty, values)))
    }
}

/// Makes the vector `len` long, or says that memory does not suffice.
fn resize(v: &mut Vec<u64>, len: usize, fill: u64) -> Result<(), Failure> {
    v.try_reserve_exact(len.saturating_sub(v.len())).map_err(|_| Failure::Memory)?;
    v.resize(len, fill);
    Ok(())
}
