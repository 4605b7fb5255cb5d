//! A machine for PTX, the assembly language of NVIDIA's GPUs: it runs what is shipped, trusts nothing, and counts.
//!
//! ```text
//!  text ──read──▶ Module ──run: entry, blocks, threads, arguments, global memory──▶ Counts
//!         │                 │
//!         └▶ Refused: line  └▶ Fault: line, rule, what
//! ```
//!
//! The text is what LLVM prints; an instruction that is not known is refused by its line. Threads run in warps of 32, the warps of all
//! blocks interleaved in an order that is drawn from a seed. The lanes of a warp that part at a branch run one side after the other, in an
//! order that is drawn, up to where all ways from the branch meet (Fung, Sham, Yuan and Aamodt, *Dynamic Warp Formation and Scheduling*,
//! MICRO 2007, describe such a stack).
//!
//! Each access is within one named buffer, aligned, and reads only bytes that were set; operands are not written; what is loaded as constant
//! (`ld.global.nc`) is not written by the launch at all. Two threads *race* when both access one element, one of them writes, not both
//! atomically, and no barrier stands between: one of the block, of lanes of a warp, or none for threads of different blocks. All lanes that
//! are named come to a shuffle, and all threads of a block to a barrier. No branch, address or stored value depends on a register that was not
//! set. Breaking one of these [`Rule`]s ends the run.
//!
//! What the machine does not have: caches, and orders of memory weaker than one access after the other; races are found, so that programs
//! without them see no difference. Source: *PTX ISA*, NVIDIA, version 8.5.

mod alu;
mod atomic;
mod count;
mod execute;
mod flow;
mod host;
mod ir;
mod memory;
mod race;
mod read;
mod step;
mod token;
mod warp;

pub use count::{Counts, Traffic};
pub use host::{Host, Launcher, Shape, Simulated};
pub use memory::{Buffer, Global};

use std::fmt;

/// The threads of a warp.
pub const WARP: u32 = 32;

/// The kernels of a text.
#[derive(Clone, Debug)]
pub struct Module {
    functions: Vec<ir::Function>,
}

/// What of a text is not known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The line, from 1.
    pub line: u32,
    /// What stands there, and what is expected.
    pub what: String,
}

/// A launch of an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch<'a> {
    /// The entry's name.
    pub entry: &'a str,
    /// The number of blocks.
    pub blocks: u32,
    /// The threads of a block, at most 1024.
    pub threads: u32,
    /// The arguments' bits, in order.
    pub arguments: &'a [u64],
}

/// The limits on a run, and the seed of its order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The most instructions of warps.
    pub steps: u64,
    /// The seed of the order in which warps, and the sides of branches, run.
    pub seed: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 1 << 30, seed: 1 }
    }
}

/// The reason why a run ended early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The line of the instruction; 0 if the launch is wrong.
    pub line: u32,
    /// The rule that is broken.
    pub rule: Rule,
    /// What happened: the thread, the buffer, the element.
    pub what: String,
}

/// The rules of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// An entry is launched with as many arguments as it has, and no more threads than there may be.
    Launch,
    /// Accesses are within a buffer, and aligned.
    Bounds,
    /// What is read was set.
    Set,
    /// Operands, and what is loaded as constant, are not written.
    Constant,
    /// Threads do not race.
    Race,
    /// Lanes come to the shuffles, and threads to the barriers, at which others wait for them.
    Together,
    /// The limit on steps.
    Steps,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PTX, line {}: {}", self.line, self.what)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.what),
            line => write!(f, "PTX, line {line}: {}", self.what),
        }
    }
}

impl Module {
    /// Reads a module.
    ///
    /// # Errors
    /// The first line that is not understood.
    pub fn read(text: &str) -> Result<Module, Refused> {
        Ok(Module { functions: read::functions(text)? })
    }

    /// The entries' names.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.functions.iter().map(|function| &function.name[..])
    }

    /// How many arguments an entry takes, if it is there.
    pub fn arguments(&self, entry: &str) -> Option<usize> {
        self.functions.iter().find(|function| function.name == entry).map(|function| function.params.len())
    }

    /// Runs an entry on global memory.
    ///
    /// # Errors
    /// The first rule that is broken. Memory is then as it was at that moment.
    pub fn run(&self, launch: &Launch, global: &mut Global, limits: &Limits) -> Result<Counts, Fault> {
        let refused = |what: String| Err(Fault { line: 0, rule: Rule::Launch, what });
        let Some(function) = self.functions.iter().find(|function| function.name == launch.entry) else {
            return refused(format!("there is no entry `{}`", launch.entry));
        };
        let (given, wanted) = (launch.arguments.len(), function.params.len());
        if given != wanted {
            return refused(format!("`{}` takes {wanted} arguments, not {given}", launch.entry));
        }
        if !(1..=1024).contains(&launch.threads) || launch.blocks > 1 << 16 {
            return refused(format!(
                "{} blocks of {} threads: at most {} blocks of 1 to 1024 are run",
                launch.blocks,
                launch.threads,
                1 << 16
            ));
        }
        execute::run(function, launch, global, limits)
    }
}
