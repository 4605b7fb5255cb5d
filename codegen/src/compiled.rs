//! Compiled kernels, and calls of them.

use crate::abi::{self, Buffer};
use crate::jit::Code;
use crate::runtime::fence::Fence;
use crate::runtime::memory::{Heap, Memory};
use crate::runtime::{Block, Interrupt, NEVER, Pieces, Session, lent};
use fiberloom_core::algebra::Type;
use fiberloom_core::format::Array;
use fiberloom_loops::{BufferId, Failure, Kernel, Role};
use std::alloc::Layout;
use std::sync::atomic::AtomicUsize;

/// The limits of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of all results and workspaces at any moment.
    pub memory: usize,
    /// How parallel loops are cut into pieces.
    pub pieces: Pieces,
}

/// No limit except the machine's memory.
impl Default for Limits {
    fn default() -> Limits {
        Limits { memory: usize::MAX, pieces: Pieces::Usual }
    }
}

/// A kernel in executable memory. It may be called any number of times, from any number of threads at once, on any arrays of its
/// operands' types.
pub struct Compiled {
    code: Code,
    buffers: Vec<(Type, Role)>,
    params: usize,
}

/// A kernel's operands and params, bound for repeated calls on the same arrays.
pub struct Prepared<'a> {
    params: Vec<i64>,
    /// The description of each buffer before a call.
    buffers: Vec<Buffer>,
    /// Keeps the described arrays alive.
    _operands: Vec<Option<Array<'a>>>,
}

// SAFETY: the buffers are of arrays that are held beside them, and that nobody writes to.
#[allow(unsafe_code)]
unsafe impl Send for Prepared<'_> {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Prepared<'_> {}

/// Takes a result's array.
pub type Take<'t> = &'t mut dyn FnMut(BufferId) -> Array<'static>;

/// The kernel's function, as [`crate::header`] declares it.
type Entry = unsafe extern "C" fn(*mut Session, *mut Buffer, *const i64) -> i32;

impl Compiled {
    pub(crate) fn new(kernel: &Kernel, code: Code) -> Compiled {
        let buffers = kernel.buffers.iter().map(|b| (b.ty, b.role)).collect();
        Compiled { code, buffers, params: kernel.params.len() }
    }

    /// Runs the kernel. `params` are in the order of `Kernel::params`. `operands` has an entry per buffer, an array for each operand and
    /// `None` for the others, as `loops::bind` returns them. Returns an array for each result, without copying.
    ///
    /// # Errors
    /// The kernel's failure, or [`Failure::Memory`] if the limit or the machine's memory does not suffice.
    ///
    /// # Panics
    /// If the number of params or operands, or their types, do not fit the kernel, if the entries are not exactly its operands, or if a
    /// param is negative: the caller has bound them.
    ///
    /// # Safety
    /// The code checks no access. On these operands and params the kernel must stay inside its buffers, as a kernel of
    /// `fiberloom_lower::lower` does that `loops::bind` bound to well-formed tensors (`format::Checked`). For any other kernel the caller
    /// has to know this, for example from the interpreter of loops.
    #[allow(unsafe_code)]
    pub unsafe fn run(
        &self,
        params: &[i64],
        operands: &[Option<&Array>],
        limits: &Limits,
    ) -> Result<Vec<Option<Array<'static>>>, Failure> {
        let owned: Vec<Option<Array>> = operands.iter().map(|o| o.map(Array::borrow)).collect();
        // SAFETY: by this function's contract.
        unsafe { self.run_prepared(&self.prepare(params, &owned), limits, |take| self.results(take)) }
    }

    /// Does the checks of [`Compiled::run`], once for any number of calls of [`Compiled::run_prepared`].
    ///
    /// # Panics
    /// As for [`Compiled::run`].
    pub fn prepare<'a>(&self, params: &[i64], operands: &[Option<Array<'a>>]) -> Prepared<'a> {
        self.validate(params, operands.iter().map(Option::as_ref));
        let buffer = |o: &Option<Array>| o.as_ref().map_or(Buffer::EMPTY, |a| describe(a.as_ptr(), a.len()));
        let buffers = operands.iter().map(buffer).collect();
        Prepared { params: params.to_vec(), buffers, _operands: operands.to_vec() }
    }

    /// [`Compiled::run`] on arguments that this kernel has prepared; `results` takes the arrays of results, each once.
    ///
    /// # Errors
    /// As for [`Compiled::run`].
    ///
    /// # Safety
    /// As for [`Compiled::run`]; and this kernel has prepared `prepared`.
    #[allow(unsafe_code)]
    pub unsafe fn run_prepared<R>(
        &self,
        prepared: &Prepared,
        limits: &Limits,
        results: impl FnOnce(Take) -> R,
    ) -> Result<R, Failure> {
        // SAFETY: by this function's contract.
        let ran = unsafe { self.run_until(prepared, limits, None, results) };
        ran.map(|results| results.expect("nobody asks it to end"))
    }

    /// [`Compiled::run_prepared`] with an optional interrupt; `None` if it ended the call. A kernel that was compiled `interruptible`
    /// tests the interrupt at iterations of its outer loops.
    ///
    /// # Errors
    /// As for [`Compiled::run`].
    ///
    /// # Safety
    /// As for [`Compiled::run_prepared`].
    #[allow(unsafe_code)]
    pub unsafe fn run_until<R>(
        &self,
        prepared: &Prepared,
        limits: &Limits,
        interrupt: Option<&Interrupt>,
        results: impl FnOnce(Take) -> R,
    ) -> Result<Option<R>, Failure> {
        let interrupt = interrupt.unwrap_or(&NEVER);
        // SAFETY: by this function's contract.
        unsafe { self.call(&prepared.params, &prepared.buffers, (limits, interrupt), &Heap, results) }
    }

    /// [`Compiled::run`] with every operand, result and workspace in fenced memory: an access past an array's end is a segmentation
    /// fault. For tests; operands and results are copied.
    ///
    /// # Errors
    /// As for [`Compiled::run`].
    ///
    /// # Panics
    /// As for [`Compiled::run`].
    ///
    /// # Safety
    /// As for [`Compiled::run`]: fences catch accesses near an array, not far ones.
    #[allow(unsafe_code)]
    pub unsafe fn run_fenced(
        &self,
        params: &[i64],
        operands: &[Option<&Array>],
        limits: &Limits,
    ) -> Result<Vec<Option<Array<'static>>>, Failure> {
        self.validate(params, operands.iter().copied());
        let copies = operands.iter().map(|o| o.map(Copy::of).transpose()).collect::<Result<Vec<_>, _>>()?;
        let buffers: Vec<Buffer> = copies.iter().map(|c| c.as_ref().map_or(Buffer::EMPTY, |c| c.buffer)).collect();
        // SAFETY: by this function's contract.
        let ran = unsafe { self.call(params, &buffers, (limits, &NEVER), &Fence, |take| self.results(take)) };
        ran.map(|results| results.expect("nobody asks it to end"))
    }

    fn validate<'o>(&self, params: &[i64], operands: impl ExactSizeIterator<Item = Option<&'o Array<'o>>>) {
        assert_eq!(params.len(), self.params, "params of the kernel");
        assert!(params.iter().all(|p| *p >= 0), "params are extents: {params:?}");
        assert_eq!(operands.len(), self.buffers.len(), "one entry a buffer");
        for (place, (operand, (ty, role))) in operands.zip(&self.buffers).enumerate() {
            let wanted = (*role == Role::Operand).then_some(*ty);
            assert_eq!(operand.map(|a| a.ty()), wanted, "element type of buffer {place}");
        }
    }

    /// # Safety
    /// The buffers are operands of the kernel's types, on which it stays inside them.
    #[allow(unsafe_code)]
    unsafe fn call<R>(
        &self,
        params: &[i64],
        before: &[Buffer],
        limits: (&Limits, &Interrupt),
        memory: &dyn Memory,
        results: impl FnOnce(Take) -> R,
    ) -> Result<Option<R>, Failure> {
        lent(before.len(), Buffer::EMPTY, |buffers| {
            buffers.copy_from_slice(before);
            // SAFETY: by this function's contract.
            lent(before.len(), None, |blocks| unsafe { self.enter((params, buffers), blocks, limits, memory, results) })
        })
    }

    /// # Safety
    /// As for `call`; the blocks are none.
    #[allow(unsafe_code)]
    unsafe fn enter<R>(
        &self,
        (params, buffers): (&[i64], &mut [Buffer]),
        blocks: &mut [Option<Block>],
        (limits, interrupt): (&Limits, &Interrupt),
        memory: &dyn Memory,
        results: impl FnOnce(Take) -> R,
    ) -> Result<Option<R>, Failure> {
        let left = AtomicUsize::new(limits.memory);
        let of = (&left, interrupt, limits.pieces);
        // SAFETY: `buffers` outlives the session, and is left alone until the kernel has ended.
        let mut session = unsafe { Session::new(memory, buffers.as_mut_ptr(), blocks, of) };
        // SAFETY: the code was made for this signature, and lives in `self`. The arguments are what it was compiled for:
        // as many params and buffers, operands of its types on which it stays inside them, a session with its table.
        let returned = unsafe {
            let entry: Entry = std::mem::transmute::<*const (), Entry>(self.code.entry());
            entry(&raw mut session, buffers.as_mut_ptr(), params.as_ptr())
        };
        match abi::failure(returned) {
            Some(failure) => Err(failure),
            None if returned == abi::INTERRUPTED => Ok(None),
            None => Ok(Some(results(&mut |b| session.give(b, self.buffers[b.0 as usize].0)))),
        }
    }

    /// Takes the arrays of all results.
    fn results(&self, take: Take) -> Vec<Option<Array<'static>>> {
        let result =
            |(place, (_, role)): (usize, &(Type, Role))| (*role == Role::Result).then(|| take(BufferId(place as u32)));
        self.buffers.iter().enumerate().map(result).collect()
    }
}

fn describe(data: *const u8, len: usize) -> Buffer {
    Buffer { data: data.cast_mut(), len: len as i64, capacity: len as i64 }
}

/// A copy of an operand in fenced memory.
struct Copy {
    buffer: Buffer,
    block: Option<(std::ptr::NonNull<u8>, Layout)>,
}

impl Copy {
    #[allow(unsafe_code)]
    fn of(array: &Array) -> Result<Copy, Failure> {
        let size = array.len() * array.ty().bytes();
        if size == 0 {
            return Ok(Copy { buffer: describe(std::ptr::null(), 0), block: None });
        }
        let layout = Layout::from_size_align(size, array.ty().bytes()).map_err(|_| Failure::Memory)?;
        let block = Fence.allocate(layout, false).ok_or(Failure::Memory)?;
        // SAFETY: both have `size` bytes, and the block is new.
        unsafe { block.as_ptr().copy_from_nonoverlapping(array.as_ptr(), size) };
        Ok(Copy { buffer: describe(block.as_ptr(), array.len()), block: Some((block, layout)) })
    }
}

impl Drop for Copy {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if let Some((block, layout)) = self.block {
            // SAFETY: the block is this copy's, from this memory with this layout.
            unsafe { Fence.free(block, layout) }
        }
    }
}
