//! The meaning of loops: an interpreter that trusts nothing, and counts operations.
//!
//! ```text
//!  Kernel ──check, compile──▶ Code ──execute──▶ Outcome: results, operations
//!                                      │
//!                                      └──────▶ Fault: ended itself · not a kernel · broke a rule
//! ```
//!
//! Each access is in bounds of an allocated buffer; only elements that were written are read; operands are not written; results end with
//! a length up to which all elements are written; iterations of a loop that may run in parallel touch no element that another iteration
//! writes. Breaking one of these [`Rule`]s ends the run, and the fault names the statement.
//!
//! Iterations of `vector` and `parallel` loops run here one after the other, those of a few `parallel` ones in an order that is drawn. Two
//! iterations *conflict* when both access one element and one of them writes it. Of a workspace of which each thread has a copy, elements
//! that an iteration has changed are unset behind it. If iterations end the kernel, the first in the loop's order does. A variable that such a body sets is *private* ([`loops::private`]): each iteration has its own, which neither
//! the next iteration nor code after the loop may read. But a variable into which the body of a `vector` loop only accumulates
//! ([`loops::accumulates`]) is carried on, because its fold may be regrouped.
//!
//! A run takes steps: one for each statement, iteration, and element sorted, and one for 64 elements that are allocated or finished.
//! [`Limits::steps`] ends it.
mod apart;
mod code;
mod device;
mod execute;
mod memory;
mod turns;

pub(crate) use turns::xorshift;

pub use device::{Device, Ended, Parallel};

use fiberloom_core::format::Array;
use fiberloom_loops::{self as loops, Entry, Failure, Kernel, Role, Sound};
use std::fmt;

/// The limits on a run's memory and steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum of the bytes of all results and workspaces at any moment, counted as arrays of their element types. (The interpreter
    /// itself uses more: eight bytes and a bit per element.)
    pub memory: u64,
    /// The maximum number of steps.
    pub steps: u64,
}

/// A gigabyte and a thousand million steps.
impl Default for Limits {
    fn default() -> Limits {
        Limits { memory: 1 << 30, steps: 1 << 30 }
    }
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// An array for each result of [`Kernel::buffers`].
    pub buffers: Vec<Option<Array<'static>>>,
    /// The numbers of operations.
    pub ops: Ops,
}

/// The numbers of operations of a run. Constants, variables, comments, and the widening of a loaded `i32` are free.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Ops {
    /// Elements read by expressions.
    pub loads: u64,
    /// Elements stored by statements.
    pub stores: u64,
    /// Functions applied, except comparisons, `&&` and `||`; and one per iteration of a counted loop.
    pub arithmetic: u64,
    /// Comparisons; and one for each test of a counted loop's end.
    pub comparisons: u64,
    /// Decisions of `if`, loops, `&&` and `||`.
    pub branches: u64,
    /// Calls of runtime entry points.
    pub calls: u64,
    /// The loads from each buffer, in the order of [`Kernel::buffers`].
    pub loads_of: Vec<u64>,
}

impl Ops {
    /// The sum of all operations.
    pub fn total(&self) -> u64 {
        self.loads + self.stores + self.arithmetic + self.comparisons + self.branches + self.calls
    }
}

/// The reason why a run has no outcome.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The kernel ended itself, or reached a limit.
    Stopped(Failure),
    /// The kernel does not pass its checker, or the arguments are not its own.
    Rejected(String),
    /// The kernel broke a rule: its producer has a defect, or its operands violate their invariants.
    Broken(Box<Breach>),
    /// A device that ran a loop found something wrong.
    Device(String),
}

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Breach {
    /// The rule that is broken.
    pub rule: Rule,
    /// The buffer, variable or function.
    pub name: String,
    /// The number of the element, or another number with which the rule is concerned.
    pub index: i64,
    /// The number of elements for which the buffer has room.
    pub len: u64,
    /// The innermost statement, in one line; `the end` at the end of the kernel.
    pub statement: String,
}

/// The rules that the interpreter checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Elements that are loaded, stored or sorted are within their buffer.
    InBounds,
    /// Elements that are loaded, sorted, or in a finished result have been set.
    ElementSet,
    /// Variables that are read have been set.
    VariableSet,
    /// Operands are not changed.
    ReadOnly,
    /// A buffer is allocated before it is used.
    Allocated,
    /// Two iterations of a loop, with these numbers, do not conflict.
    NoRace(i64, i64),
    /// Elements that an iteration touches of an array to which iterations append are in the iteration's part, which begins there.
    InPart(i64),
    /// A result is finished, with a length for which it has room.
    Finished,
    /// Functions that sort a few elements get at most as many as they can sort.
    Few,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Stopped(failure) => write!(f, "the kernel ended with `{}`", failure.name()),
            Fault::Rejected(why) | Fault::Device(why) => f.write_str(why),
            Fault::Broken(breach) => breach.fmt(f),
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Breach { rule, name, index, len, statement } = self;
        match rule {
            Rule::InBounds => write!(f, "`{name}[{index}]` is out of bounds, there is room for {len}")?,
            Rule::ElementSet => write!(f, "`{name}[{index}]` is read and was never set")?,
            Rule::VariableSet => write!(f, "`{name}` is read and is not set")?,
            Rule::ReadOnly => write!(f, "`{name}` is an operand and is changed")?,
            Rule::Allocated => write!(f, "`{name}` is used and not allocated")?,
            Rule::NoRace(a, b) => write!(f, "turns {a} and {b} conflict at `{name}[{index}]`")?,
            Rule::InPart(begin) => {
                write!(f, "`{name}[{index}]` is outside of the iteration's part, which begins at {begin}")?
            }
            Rule::Few => write!(f, "`{name}` has {index} elements to be sorted at once, {} are the most", Entry::FEW)?,
            Rule::Finished if *index < 0 => write!(f, "`{name}` is finished with no length")?,
            Rule::Finished => write!(f, "`{name}` is finished with length {index}, there is room for {len}")?,
        }
        write!(f, ", in `{statement}`")
    }
}

/// Runs a kernel. [`loops::bind`] makes `params` and `operands`.
///
/// # Errors
/// See [`Fault`]. No kernel and no arguments cause a panic, or a run beyond the limits.
pub fn run(kernel: &Kernel, params: &[i64], operands: &[Option<&Array>], limits: &Limits) -> Result<Outcome, Fault> {
    Prepared::new(kernel)?.run(params, operands, limits)
}

/// A kernel that is checked and prepared once, to be run often.
pub struct Prepared<'k> {
    kernel: &'k Kernel,
    body: code::Block<'k>,
}

impl<'k> Prepared<'k> {
    /// Checks a kernel, and prepares it for execution.
    ///
    /// # Errors
    /// If the kernel breaks a rule of loops.
    pub fn new(kernel: &'k Kernel) -> Result<Prepared<'k>, Fault> {
        loops::check(kernel).map_err(Fault::Rejected)?;
        Prepared::unchecked(kernel)
    }

    /// Prepares a kernel that has been checked already.
    ///
    /// # Errors
    /// As for [`Prepared::new`].
    pub fn of(kernel: &'k Sound) -> Result<Prepared<'k>, Fault> {
        Prepared::unchecked(kernel)
    }

    /// Prepares a kernel that its checker may refuse: what it breaks ends its run.
    ///
    /// # Errors
    /// If an expression has no type.
    pub fn unchecked(kernel: &'k Kernel) -> Result<Prepared<'k>, Fault> {
        Ok(Prepared { kernel, body: code::compile(kernel).map_err(Fault::Rejected)? })
    }

    /// Runs the kernel.
    ///
    /// # Errors
    /// As for [`run`].
    pub fn run(&self, params: &[i64], operands: &[Option<&Array>], limits: &Limits) -> Result<Outcome, Fault> {
        self.run_on(None, params, operands, limits)
    }

    /// Runs the kernel; a device, if there is one, runs those parallel loops that are its own.
    ///
    /// # Errors
    /// As for [`run`].
    pub fn run_on(
        &self,
        device: Option<&dyn Device>,
        params: &[i64],
        operands: &[Option<&Array>],
        limits: &Limits,
    ) -> Result<Outcome, Fault> {
        arguments(self.kernel, params, operands).map_err(Fault::Rejected)?;
        execute::execute((self.kernel, &self.body), device, params, operands, limits)
    }
}

fn arguments(kernel: &Kernel, params: &[i64], operands: &[Option<&Array>]) -> Result<(), String> {
    if params.len() != kernel.params.len() || operands.len() != kernel.buffers.len() {
        let (p, b) = (kernel.params.len(), kernel.buffers.len());
        return Err(format!("{p} parameters and {b} buffers are needed, not {} and {}", params.len(), operands.len()));
    }
    if let Some(negative) = params.iter().find(|p| **p < 0) {
        return Err(format!("a parameter is {negative}, and parameters are not negative"));
    }
    for (b, array) in kernel.buffers.iter().zip(operands) {
        match (b.role, array) {
            (Role::Operand, Some(array)) if array.ty() == b.ty => {}
            (Role::Operand, Some(array)) => return Err(format!("`{}` is {}, not {}", b.name, b.ty, array.ty())),
            (Role::Operand, None) => return Err(format!("operand `{}` is missing", b.name)),
            (_, Some(_)) => return Err(format!("`{}` is no operand", b.name)),
            (_, None) => {}
        }
    }
    Ok(())
}
