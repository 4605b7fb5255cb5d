//! What campaigns did, and where their time went.

use fiberloom_codegen::OptLevel;
use std::fmt::{self, Display};
use std::time::{Duration, Instant};

/// Parts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Text, syntax, types.
    Check,
    /// To loops, both notations read back.
    Lower,
    /// To machine code.
    Compile(OptLevel),
    /// Of interpreted loops or of machine code.
    Run,
    /// The pointwise evaluation.
    Meaning,
    /// Of results.
    Compare,
}

/// Each once, in the order of [`Work::took`].
const STAGES: [(Stage, &str); 7] = [
    (Stage::Check, "read and checked"),
    (Stage::Lower, "lowered"),
    (Stage::Compile(OptLevel::None), "compiled without optimization"),
    (Stage::Compile(OptLevel::Full), "compiled with optimization"),
    (Stage::Run, "run"),
    (Stage::Meaning, "evaluated"),
    (Stage::Compare, "compared"),
];

/// Machine code of one level.
#[derive(Clone, Copy, Debug, Default)]
pub struct Code {
    /// Kernels compiled.
    pub kernels: u64,
    /// How often they ran.
    pub executions: u64,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Kernels lowered.
    pub kernels: u64,
    /// Runs of interpreted loops.
    pub interpreted: u64,
    /// Their operations.
    pub ops: u64,
    /// Runs of kernels some of whose loops were launched on the machine for PTX.
    pub launched: u64,
    /// Kernels of which a loop has workspaces in the memory that a block shares.
    pub shared: u64,
    /// Kernels of which parts of a warp run iterations.
    pub parts: u64,
    /// Kernels of which loops that append count first, on a device.
    pub counting: u64,
    /// Machine code without optimization and with it.
    codes: [Code; 2],
    /// A time for each stage.
    took: [Duration; STAGES.len()],
}

impl Work {
    /// What `f` gives, its time noted.
    pub fn time<T>(&mut self, stage: Stage, f: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let made = f();
        let at = STAGES.iter().position(|(s, _)| *s == stage).expect("every stage is there");
        self.took[at] += begun.elapsed();
        made
    }

    /// What `f` gives, which notes what it did; its time is one of runs.
    pub fn time_of_run<T>(&mut self, f: impl FnOnce(&mut Work) -> T) -> T {
        let mut did = Work::default();
        let made = self.time(Stage::Run, || f(&mut did));
        self.join(&did);
        made
    }

    /// The machine code of a level.
    pub fn code(&mut self, level: OptLevel) -> &mut Code {
        &mut self.codes[(level == OptLevel::Full) as usize]
    }

    /// Runs of kernels, by whatever.
    pub fn executions(&self) -> u64 {
        self.interpreted + self.launched + self.codes.iter().map(|c| c.executions).sum::<u64>()
    }

    /// Adds what another did.
    pub fn join(&mut self, other: &Work) {
        self.kernels += other.kernels;
        self.interpreted += other.interpreted;
        self.ops += other.ops;
        self.launched += other.launched;
        self.shared += other.shared;
        self.parts += other.parts;
        self.counting += other.counting;
        for (a, b) in self.codes.iter_mut().zip(&other.codes) {
            a.kernels += b.kernels;
            a.executions += b.executions;
        }
        self.took.iter_mut().zip(&other.took).for_each(|(a, b)| *a += *b);
    }
}

impl Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "{} kernels, {} executions", self.kernels, self.executions())?;
        if self.interpreted > 0 {
            writeln!(f, "  interpreted: {} executions, {} operations", self.interpreted, self.ops)?;
        }
        if self.launched > 0 {
            writeln!(f, "  on the machine for PTX: {} executions", self.launched)?;
            writeln!(f, "  with workspaces in shared memory: {} kernels", self.shared)?;
            writeln!(f, "  with several iterations a warp: {} kernels", self.parts)?;
            writeln!(f, "  with loops that count before they append: {} kernels", self.counting)?;
        }
        for (code, how) in self.codes.iter().zip(["without", "with"]).filter(|(c, _)| c.kernels > 0) {
            writeln!(f, "  {how} optimization: {} kernels, {} executions", code.kernels, code.executions)?;
        }
        write!(f, "seconds")?;
        let all = STAGES.iter().zip(&self.took).filter(|(_, t)| !t.is_zero());
        all.clone().try_for_each(|((_, name), t)| write!(f, "  {name} {:.1}", t.as_secs_f64()))
    }
}
