//! Parallel loops of an interpreted kernel as launches: on the machine for PTX, or on a GPU.
//!
//! ```text
//!   interpreter ──parallel for──▶ Host: buffers to global memory ──▶ Launcher ──▶ what was written, back
//! ```

use super::{Buffer, Counts, Global, Launch, Limits, Module};
use crate::loops::{Device, Ended, Parallel};
use fiberloom_loops::{BufferId, DeviceArgument, DeviceEntry, Failure, Kernel, Runner, Var};
use std::cell::RefCell;

/// What runs launches of the entries of a module.
pub trait Launcher {
    /// Runs one; what of memory kernels may write is there behind it.
    ///
    /// # Errors
    /// What ended it.
    fn launch(&self, entry: &DeviceEntry, launch: &Launch, global: &mut Global) -> Result<Counts, Ended>;

    /// Whether it has an operand from a launch before: then it is not asked for again.
    fn holds(&self, _operand: BufferId) -> bool {
        false
    }

    /// The most bytes of the copies of a workspace, of which each thread has one. Where a single copy has more, one thread runs all iterations.
    fn copies(&self) -> u64 {
        1 << 24
    }

    /// What all launches did, whose counts are these together, by name.
    fn did(&self, counts: &Counts) -> Vec<(&'static str, u64)>;
}

/// The machine for PTX, with a module.
pub struct Simulated<'m> {
    module: &'m Module,
    limits: Limits,
}

impl<'m> Simulated<'m> {
    /// The machine that runs entries of a module within limits.
    pub fn new(module: &'m Module, limits: Limits) -> Simulated<'m> {
        Simulated { module, limits }
    }
}

impl Launcher for Simulated<'_> {
    fn launch(&self, _: &DeviceEntry, launch: &Launch, global: &mut Global) -> Result<Counts, Ended> {
        self.module.run(launch, global, &self.limits).map_err(|fault| match fault.rule {
            super::Rule::Steps => Ended::Failed(Failure::Steps),
            _ => Ended::Broken(fault.to_string()),
        })
    }

    fn did(&self, counts: &Counts) -> Vec<(&'static str, u64)> {
        vec![
            ("warp_instructions", counts.instructions),
            ("longest_warp", counts.longest),
            ("segments", counts.segments()),
            ("divergent", counts.divergent),
            ("atomics", counts.atomics),
            ("bank_conflicts", counts.conflicts),
            ("barriers", counts.barriers),
            ("shuffles", counts.shuffles),
        ]
    }
}

/// Entries of a module as the device of a kernel.
pub struct Host<'k> {
    kernel: &'k Kernel,
    launcher: &'k dyn Launcher,
    entries: &'k [DeviceEntry],
    shape: Shape,
    counts: RefCell<Counts>,
}

/// The threads of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The most blocks: there are as many as give each iteration a thread, if these suffice.
    pub blocks: u32,
    /// The threads of a block.
    pub threads: u32,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { blocks: 1 << 10, threads: 128 }
    }
}

/// A launch that is prepared: memory, arguments, and the buffers that are read back, each with its place in memory.
struct Prepared {
    global: Global,
    arguments: Vec<u64>,
    written: Vec<(BufferId, usize)>,
    folded: Vec<(Var, usize)>,
    status: Option<usize>,
}

impl<'k> Host<'k> {
    /// The entries of a module for a kernel's loops, and what launches them.
    pub fn new(kernel: &'k Kernel, launcher: &'k dyn Launcher, entries: &'k [DeviceEntry], shape: Shape) -> Host<'k> {
        Host { kernel, launcher, entries, shape, counts: RefCell::default() }
    }

    /// What launches have done so far, by name.
    pub fn did(&self) -> Vec<(&'static str, u64)> {
        self.launcher.did(&self.counts.borrow())
    }

    /// What launches have done so far, on each buffer of the kernel.
    pub fn counts(&self) -> Counts {
        self.counts.borrow().clone()
    }

    fn prepared(&self, entry: &DeviceEntry, each: &Parallel, threads: u64) -> Result<Prepared, Ended> {
        let (mut global, mut arguments, mut written, mut status) = (Global::default(), vec![], vec![], None);
        let mut folded = vec![];
        for argument in &entry.arguments {
            arguments.push(match argument {
                DeviceArgument::Data(b) if entry.writes.contains(b) => {
                    written.push((*b, global.buffers().len()));
                    global.add(self.buffer(each, *b).writable())
                }
                DeviceArgument::Data(b) => global.add(self.buffer(each, *b)),
                DeviceArgument::Copies(b) => global.add(self.copies(each, *b, threads)),
                DeviceArgument::Length(b) => each.len(*b),
                DeviceArgument::Value(var) => self.value(each, *var, entry)?,
                DeviceArgument::Fold(var) => {
                    let (name, ty) = &self.kernel.vars[var.0 as usize];
                    folded.push((*var, global.buffers().len()));
                    let mut made = Buffer::unset(name, ty.bytes() as u64, 1).writable();
                    made.set(0, self.value(each, *var, entry)?);
                    global.add(made)
                }
                DeviceArgument::First => each.bounds.0 as u64,
                DeviceArgument::Last => each.bounds.1 as u64,
                DeviceArgument::Status => {
                    status = Some(global.buffers().len());
                    global.add(Buffer::of("status", 8, vec![u8::MAX; 8]).writable())
                }
            });
        }
        Ok(Prepared { global, arguments, written, folded, status })
    }

    /// The value of a variable that is an argument.
    fn value(&self, each: &Parallel, var: Var, entry: &DeviceEntry) -> Result<u64, Ended> {
        each.value(var).ok_or_else(|| {
            let name = &self.kernel.vars[var.0 as usize].0;
            Ended::Broken(format!("`{name}` is an argument of `{}`, and is not set", entry.name))
        })
    }

    /// A buffer as it is; of an operand that the launcher holds, its name.
    fn buffer(&self, each: &Parallel, b: BufferId) -> Buffer {
        let declared = &self.kernel.buffers[b.0 as usize];
        let operand = if self.launcher.holds(b) { Some(vec![]) } else { each.operand(b) };
        if let Some(bytes) = operand {
            return Buffer::of(&declared.name, declared.ty.bytes() as u64, bytes);
        }
        let mut made = Buffer::unset(&declared.name, declared.ty.bytes() as u64, each.len(b));
        made.writable = false;
        (0..each.len(b)).for_each(|at| {
            if let Some(bits) = each.get(b, at) {
                made.set(at, bits);
            }
        });
        made
    }

    /// A copy of a workspace for each thread, interleaved.
    fn copies(&self, each: &Parallel, b: BufferId, threads: u64) -> Buffer {
        let declared = &self.kernel.buffers[b.0 as usize];
        let mut made = Buffer::unset(&declared.name, declared.ty.bytes() as u64, each.len(b) * threads);
        (0..each.len(b)).for_each(|at| {
            if let Some(bits) = each.get(b, at) {
                (0..threads).for_each(|thread| made.set(at * threads + thread, bits));
            }
        });
        made
    }

    /// The blocks of a launch, and the threads of one, which are whole warps where these run iterations: fewer where threads have copies of
    /// long workspaces.
    fn grid(&self, entry: &DeviceEntry, each: &Parallel) -> (u32, u32) {
        let iterations = each.bounds.1.saturating_sub(each.bounds.0).max(0) as u64;
        let Shape { blocks, threads } = self.shape;
        let warps = threads.next_multiple_of(super::WARP);
        let (each_block, threads) = match entry.runner {
            Runner::Thread => (threads, threads),
            Runner::Warp => (warps / super::WARP, warps),
            Runner::Block => (1, warps),
        };
        let blocks = iterations.div_ceil(u64::from(each_block)).clamp(1, u64::from(blocks.max(1)));
        let longest = entry.arguments.iter().filter_map(|argument| match argument {
            DeviceArgument::Copies(b) => Some(each.len(*b) * self.kernel.buffers[b.0 as usize].ty.bytes() as u64),
            _ => None,
        });
        let room = longest.max().map_or(u64::MAX, |bytes| (self.launcher.copies() / bytes.max(1)).max(1));
        let threads = u64::from(threads).min(room);
        (blocks.min(room / threads) as u32, threads as u32)
    }

    /// Adds what a launch counted, by the kernel's buffers.
    fn note(&self, entry: &DeviceEntry, counts: &Counts) {
        let mut sum = self.counts.borrow_mut();
        let mut by_buffer = Counts { traffic: vec![Default::default(); self.kernel.buffers.len()], ..counts.clone() };
        let in_memory = entry.arguments.iter().filter(|argument| argument.is_address());
        for (argument, traffic) in in_memory.zip(&counts.traffic) {
            if let DeviceArgument::Data(b) | DeviceArgument::Copies(b) = argument {
                by_buffer.traffic[b.0 as usize] = *traffic;
            }
        }
        sum.add(&by_buffer);
    }
}

impl Device for Host<'_> {
    fn run(&self, each: &mut Parallel) -> Result<bool, Ended> {
        let Some(entry) = self.entries.iter().find(|entry| entry.var == each.var) else { return Ok(false) };
        let (blocks, threads) = self.grid(entry, each);
        let mut prepared = self.prepared(entry, each, u64::from(blocks) * u64::from(threads))?;
        let launch = Launch { entry: &entry.name, blocks, threads, arguments: &prepared.arguments };
        let counts = self.launcher.launch(entry, &launch, &mut prepared.global)?;
        self.note(entry, &counts);
        let buffers = prepared.global.buffers();
        let status = prepared.status.and_then(|place| buffers[place].get(0)).unwrap_or(u64::MAX);
        if let Some(failure) = DeviceEntry::reported(status) {
            return Err(Ended::Failed(failure));
        }
        for (var, place) in &prepared.folded {
            each.set_value(*var, buffers[*place].get(0).unwrap_or(0));
        }
        for (b, place) in &prepared.written {
            let buffer = &buffers[*place];
            (0..buffer.len()).for_each(|at| {
                if let Some(bits) = buffer.get(at) {
                    each.set(*b, at, bits);
                }
            });
        }
        Ok(true)
    }
}
