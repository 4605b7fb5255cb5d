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
//! Iterations of `vector` and `parallel` loops run here one after the other. Two iterations *conflict* when both access one element and
//! one of them writes it. A variable that such a body sets is *private* ([`loops::private`]): each iteration has its own, which neither
//! the next iteration nor code after the loop may read. But a variable into which the body of a `vector` loop only accumulates
//! ([`loops::accumulates`]) is carried on, because its fold may be regrouped.
//!
//! A run takes steps: one for each statement, iteration, and element sorted, and one for 64 elements that are allocated or finished.
//! [`Limits::steps`] ends it.
mod code;
mod execute;
mod memory;
mod turns;

#[cfg(test)]
mod tests;

use fiberloom_core::format::Array;
use fiberloom_core::loops::{self, Entry, Failure, Kernel, Role, Sound};
use std::fmt;

/// What a run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all results and workspaces at any moment, as arrays of their element types. (Here they take more:
    /// eight bytes and a bit an element.)
    pub memory: u64,
    /// Steps.
    pub steps: u64,
}

/// A gigabyte and a thousand million steps.
impl Default for Limits {
    fn default() -> Limits {
        Limits { memory: 1 << 30, steps: 1 << 30 }
    }
}

/// What a run was.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// An array for each result of [`Kernel::buffers`].
    pub buffers: Vec<Option<Array<'static>>>,
    /// What was done.
    pub ops: Ops,
}

/// How many operations were done. Constants, variables, comments, and the widening of a loaded `i32` are free.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Ops {
    /// Elements read by expressions.
    pub loads: u64,
    /// Elements stored by statements.
    pub stores: u64,
    /// Functions applied, but for comparisons, `&&` and `||`; and one a turn of a counted loop.
    pub arithmetic: u64,
    /// Comparisons; and one each time a counted loop asks whether it goes on.
    pub comparisons: u64,
    /// Each time that an `if`, a loop, `&&` or `||` decides.
    pub branches: u64,
    /// Calls of runtime entry points.
    pub calls: u64,
    /// The loads by the buffer they are from, as [`Kernel::buffers`] numbers them.
    pub loads_of: Vec<u64>,
}

impl Ops {
    /// All of them together.
    pub fn total(&self) -> u64 {
        self.loads + self.stores + self.arithmetic + self.comparisons + self.branches + self.calls
    }
}

/// Why a run has no outcome.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The kernel ended itself, or reached a limit.
    Stopped(Failure),
    /// The kernel does not pass its checker, or the arguments are not its own.
    Rejected(String),
    /// A rule was broken: whatever made the kernel has a defect, or its operands break their invariants.
    Broken(Box<Breach>),
}

/// Where a rule was broken.
#[derive(Clone, Debug, PartialEq)]
pub struct Breach {
    /// The rule.
    pub rule: Rule,
    /// The buffer, variable or function.
    pub name: String,
    /// The element; or the number that the rule is about.
    pub index: i64,
    /// How many elements the buffer has room for.
    pub len: u64,
    /// The innermost statement, in one line; `the end` of the kernel.
    pub statement: String,
}

/// What the machine watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// An element that is loaded, stored or sorted is there.
    InBounds,
    /// An element that is loaded, sorted or in a finished result was set.
    ElementSet,
    /// A variable that is read was set.
    VariableSet,
    /// Operands are not changed.
    ReadOnly,
    /// A buffer is allocated before it is used.
    Allocated,
    /// These two turns of a loop do not conflict.
    NoRace(i64, i64),
    /// A result is finished, with a length for which it has room.
    Finished,
    /// What sorts few elements is given few.
    Few,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Stopped(failure) => write!(f, "the kernel ended with `{}`", failure.name()),
            Fault::Rejected(why) => f.write_str(why),
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
            Rule::Few => write!(f, "`{name}` has {index} elements to be sorted at once, {} are the most", Entry::FEW)?,
            Rule::Finished if *index < 0 => write!(f, "`{name}` is finished with no length")?,
            Rule::Finished => write!(f, "`{name}` is finished with length {index}, there is room for {len}")?,
        }
        write!(f, ", in `{statement}`")
    }
}

/// Runs a kernel. `params` and `operands` are as [`loops::bind`] makes them.
///
/// # Errors
/// As [`Fault`] says. No kernel and no arguments make it panic, and none run longer than the limits allow.
pub fn run(kernel: &Kernel, params: &[i64], operands: &[Option<&Array>], limits: &Limits) -> Result<Outcome, Fault> {
    Prepared::new(kernel)?.run(params, operands, limits)
}

/// A kernel that was looked at once, to be run often.
pub struct Prepared<'k> {
    kernel: &'k Kernel,
    body: code::Block<'k>,
}

impl<'k> Prepared<'k> {
    /// Checks a kernel and makes what is executed.
    ///
    /// # Errors
    /// If it breaks a rule of loops.
    pub fn new(kernel: &'k Kernel) -> Result<Prepared<'k>, Fault> {
        loops::check(kernel).map_err(Fault::Rejected)?;
        Prepared::made(kernel)
    }

    /// Makes what is executed of a kernel that was checked.
    ///
    /// # Errors
    /// As for [`Prepared::new`].
    pub fn of(kernel: &'k Sound) -> Result<Prepared<'k>, Fault> {
        Prepared::made(kernel)
    }

    fn made(kernel: &'k Kernel) -> Result<Prepared<'k>, Fault> {
        Ok(Prepared { kernel, body: code::compile(kernel).map_err(Fault::Rejected)? })
    }

    /// Runs it.
    ///
    /// # Errors
    /// As for [`run`].
    pub fn run(&self, params: &[i64], operands: &[Option<&Array>], limits: &Limits) -> Result<Outcome, Fault> {
        arguments(self.kernel, params, operands).map_err(Fault::Rejected)?;
        execute::execute(self.kernel, &self.body, params, operands, limits)
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
