//! Loops: machine code does what the checked interpreter does, on kernels that no lowering would think of.
//!
//! ```text
//!  bytes ──random──▶ Kernel, operands ──┬ print, read: the same kernel
//!                                       ├ semantics::machine   no rule is broken
//!                                       └ codegen              unoptimized and optimized, buffers fenced: same results
//! ```
//!
//! The kernels are made so that they are well-formed, in bounds and deterministic, in strict mode, hence results are
//! compared bit for bit, all NaNs being one. What a run was is reported, so that a campaign can say what it tested.
pub mod random;

use arbitrary::Unstructured;
use fiberloom_codegen::{OptLevel, Options, compile};
use fiberloom_core::format::Array;
use fiberloom_loops::{self as loops, Failure, Kernel};
use fiberloom_semantics::machine::{self, Fault};

/// A kernel with what it is called with.
#[derive(Debug)]
pub struct Case {
    /// It passes the checker, and breaks no rule of the machine.
    pub kernel: Kernel,
    /// Values of its parameters.
    pub params: Vec<i64>,
    /// An array for each operand.
    pub operands: Vec<Option<Array<'static>>>,
}

/// How a case ended, on all engines alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With results.
    Done,
    /// By itself.
    Failed(Failure),
    /// By the machine's step limit: machine code was not asked.
    Stopped,
}

/// Runs the case of these bytes on every engine.
///
/// # Panics
/// If they disagree, or a rule is broken: that is the finding, with the kernel's text.
pub fn agree(bytes: &[u8], levels: &[OptLevel]) -> Ended {
    let case = random::case(&mut Unstructured::new(bytes));
    let kernel = &case.kernel;
    let text = kernel.to_string();
    assert_eq!(loops::read(&text).map(|k| k.to_string()), Ok(text.clone()), "the text reads as another kernel");
    let operands: Vec<Option<&Array>> = case.operands.iter().map(Option::as_ref).collect();
    let limits = machine::Limits { memory: 1 << 20, steps: 20_000 };
    let wanted = match machine::run(kernel, &case.params, &operands, &limits) {
        Ok(outcome) => Ok(outcome.buffers),
        Err(Fault::Stopped(Failure::Steps)) => return Ended::Stopped,
        Err(Fault::Stopped(failure)) => Err(failure),
        Err(fault) => panic!("{fault}\n{text}"),
    };
    for (level, long) in levels.iter().flat_map(|level| [Options::LONG, 1, 4].map(|long| (level, long))) {
        let options = Options { opt_level: *level, long, ..Options::default() };
        let compiled = compile(kernel, &options).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let limits = fiberloom_codegen::Limits { memory: 1 << 20, pieces: fiberloom_codegen::Pieces::Each(3) };
        // SAFETY: the interpreter has just found every access of this run inside its buffer.
        #[allow(unsafe_code)]
        let made = unsafe { compiled.run_fenced(&case.params, &operands, &limits) };
        assert_eq!(made.map(|b| same_nan(&b)), wanted.clone().map(|b| same_nan(&b)), "{level:?}\n{case:?}\n{text}");
    }
    wanted.map_or_else(Ended::Failed, |_| Ended::Done)
}

/// The elements, every NaN as `nan`.
fn same_nan(buffers: &[Option<Array>]) -> Vec<Option<Vec<String>>> {
    let element = |x: fiberloom_core::algebra::Value| if x.is_nan() { "nan".into() } else { format!("{x:?}") };
    buffers.iter().map(|b| b.as_ref().map(|b| b.iter().map(element).collect())).collect()
}
