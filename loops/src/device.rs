//! Parallel loops as kernels of a device, in which each thread runs every so many iterations.
//!
//! ```text
//!   parallel for i in lo..hi with w          next = first + thread
//!     w[j] = …                               while next < last
//!     y[i] = w[j]                    ──▶       let i = next
//!                                              w[j * threads + thread] = …
//!                                              y[i] = w[j * threads + thread]
//!                                              next = next + threads
//! ```
//!
//! The caller evaluates the loop's bounds, and says how many threads there are. Of a workspace of which each thread has a copy, the copies
//! lie interleaved in one array, so that threads which read the same element of theirs read neighbours.
//!
//! A kernel keeps the variables and buffers of the kernel that it was part of, under their numbers. Buffers that the loop does not write are
//! operands of it. An iteration that fails ends its thread, if no other shares it; the first of those that failed says why.
//!
//! Where a block runs an iteration, workspaces lie in its shared memory instead, one for all of its threads.

mod around;
mod barriers;
mod failures;
mod grid;
mod handed;
mod lanes;
mod parts;
mod rooms;
mod shared;
mod slice;
mod sorts;
mod twice;

pub use around::for_device;
pub use grid::Runner;
pub use handed::Hand;
pub use lanes::{Join, Shuffles, WARP};
pub use shared::{SHARED_BYTES, Workspace};

use super::arith::{binary, int, times};
use super::ir::map_exprs;
use super::names::Vars;
use super::{
    Buffer, BufferId, Deal, Entry, Expr, Failure, How, Kernel, Role, Stmt, Var, array_in_pieces, fold_in_pieces,
    folded_values, map_blocks,
};
use barriers::{Barriers, Way};
use fiberloom_core::algebra::{Op, Type, Value};
use shared::Held;
use std::collections::{BTreeMap, BTreeSet};

/// A generation of GPUs, as compilers name it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Gpu {
    /// Volta, and all later ones.
    #[default]
    Sm70,
    /// Ampere.
    Sm80,
    /// Hopper.
    Sm90,
}

impl Gpu {
    /// All of them.
    pub const ALL: [Gpu; 3] = [Gpu::Sm70, Gpu::Sm80, Gpu::Sm90];

    /// The least compute capability that runs its code, major number and minor.
    pub fn capability(self) -> (i32, i32) {
        match self {
            Gpu::Sm70 => (7, 0),
            Gpu::Sm80 => (8, 0),
            Gpu::Sm90 => (9, 0),
        }
    }

    /// The name that compilers have for it.
    pub fn name(self) -> &'static str {
        match self {
            Gpu::Sm70 => "sm_70",
            Gpu::Sm80 => "sm_80",
            Gpu::Sm90 => "sm_90",
        }
    }
}

/// A parallel loop as a kernel of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceLoop {
    /// The loop's variable, which tells it from other loops.
    pub var: Var,
    /// What one thread runs.
    pub kernel: Kernel,
    /// The loop's first iteration, and the one past the last.
    pub bounds: [Var; 2],
    /// The number of the thread, and how many there are.
    pub thread: [Var; 2],
    /// The number of the thread's block, and how many there are; its number in the block, and how many threads that has.
    pub grid: [Var; 4],
    /// The variable that holds the iteration that runs.
    pub next: Var,
    /// The variables, and params of the whole kernel, that iterations read.
    pub values: Vec<Var>,
    /// The arrays that iterations read or write, in order.
    pub buffers: Vec<BufferId>,
    /// The arrays whose lengths iterations read.
    pub lengths: Vec<BufferId>,
    /// The workspaces of which each thread has a copy, each with the variable that holds the length of a copy.
    pub own: Vec<(BufferId, Var)>,
    /// Whether an iteration may end the kernel.
    pub fails: bool,
    /// What runs each iteration.
    pub runner: Runner,
    /// What the lanes of a warp hand to one another.
    pub shuffles: Shuffles,
    /// The workspaces in the memory that a block shares.
    pub shared: Vec<Workspace>,
    /// The variable that is set where all threads of a block wait for one another.
    pub meet: Var,
    /// The arrays into whose elements threads fold at once, with the functions: each such fold is an atomic read-modify-write.
    pub atomics: Vec<Folded>,
    /// The variables into which all iterations fold, each with the array of one element that has it in the device's memory.
    pub folds: Vec<(Var, BufferId)>,
}

/// An array into whose elements threads fold at once, and the function.
pub type Folded = (BufferId, Op);

/// Whether a value that is stored at an index is a fold into what is there, which threads do at once.
pub fn folds_at_once(atomics: &[Folded], (b, at): (BufferId, &Expr), e: &Expr) -> bool {
    folded_values(e, (b, at)).is_some_and(|(op, _)| atomics.contains(&(b, op)))
}

/// An argument of an entry. All are 64 bits wide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceArgument {
    /// The address of a buffer's first element.
    Data(BufferId),
    /// The address of every thread's copy of a workspace, interleaved: element `e` of thread `t` of `n` is at `e · n + t`.
    Copies(BufferId),
    /// The number of elements of a buffer, or of one copy of a workspace.
    Length(BufferId),
    /// The bits of a variable, extended by zeros; of an extent its value.
    Value(Var),
    /// The loop's first iteration.
    First,
    /// One past the loop's last iteration.
    Last,
    /// The address of a variable's value, as wide as its type: what it was before the loop, into which threads fold what they make.
    Fold(Var),
    /// The address of a `u64` that begins with all bits set. Where iteration `i` fails, it becomes the least of what it was and
    /// [`DeviceEntry::report`].
    Status,
}

impl DeviceArgument {
    /// Whether it is the address of something in the device's memory.
    pub fn is_address(self) -> bool {
        use DeviceArgument::{Copies, Data, Fold, Status};
        matches!(self, Data(_) | Copies(_) | Fold(_) | Status)
    }
}

/// An entry of a device's code, which runs the iterations of one loop on any number of threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceEntry {
    /// The entry's name.
    pub name: String,
    /// The loop's variable, which tells it from other loops of the kernel.
    pub var: Var,
    /// The entry's arguments, in order.
    pub arguments: Vec<DeviceArgument>,
    /// The buffers that iterations write.
    pub writes: Vec<BufferId>,
    /// What runs each iteration.
    pub runner: Runner,
    /// The bytes of a block's shared memory that it has workspaces in.
    pub shared: u64,
}

/// The bits of a status that hold a failure's code.
const CODES: u32 = 4;

impl DeviceEntry {
    /// What the failure of an iteration reports, so many iterations behind the first.
    pub fn report(behind: u64, failure: Failure) -> u64 {
        behind << CODES | u64::from(DeviceEntry::code(failure))
    }

    /// The failure that a status reports; `None` if no iteration failed.
    pub fn reported(status: u64) -> Option<Failure> {
        let code = (status & ((1 << CODES) - 1)) as u32;
        Failure::ALL.into_iter().find(|failure| status != u64::MAX && DeviceEntry::code(*failure) == code)
    }

    /// A failure's code, from 1.
    fn code(failure: Failure) -> u32 {
        Failure::ALL.into_iter().zip(1..).find(|(known, _)| *known == failure).map_or(0, |(_, code)| code)
    }
}

impl DeviceLoop {
    /// The loop's entry, of this name.
    pub fn entry(&self, name: String) -> DeviceEntry {
        let is_own = |b: &BufferId| self.own.iter().any(|(own, _)| own == b);
        let data = |b: &BufferId| if is_own(b) { DeviceArgument::Copies(*b) } else { DeviceArgument::Data(*b) };
        let own = self.own.iter().map(|(b, _)| *b);
        let arguments = self.buffers.iter().map(data);
        let arguments = arguments.chain(self.lengths.iter().copied().chain(own).map(DeviceArgument::Length));
        let arguments = arguments.chain(self.values.iter().map(|v| DeviceArgument::Value(*v)));
        let arguments = arguments.chain(self.folds.iter().map(|(v, _)| DeviceArgument::Fold(*v)));
        let status = self.fails.then_some(DeviceArgument::Status);
        let arguments = arguments.chain([DeviceArgument::First, DeviceArgument::Last]).chain(status).collect();
        let written = |b: &&BufferId| self.kernel.buffers[b.0 as usize].role != Role::Operand;
        let writes = self.buffers.iter().filter(written).copied().collect();
        let bytes = |of: &Workspace| of.len * self.kernel.buffers[of.buffer.0 as usize].ty.bytes() as u64;
        let shared = self.shared.iter().map(bytes).sum();
        DeviceEntry { name, var: self.var, arguments, writes, runner: self.runner, shared }
    }

    /// Whether the threads of a block wait for one another.
    pub fn has_barriers(&self) -> bool {
        barriers::has_barrier(&self.kernel.body, self.meet)
    }
}

/// The parallel loops of a kernel: those that a device can run, and the others with the reason.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceLoops {
    /// Those that a device can run.
    pub kernels: Vec<DeviceLoop>,
    /// Those that stay where they are: the loop's variable, and what is in it that a device has not.
    pub refused: Vec<(Var, String)>,
    /// Loops of kernels that a schedule deals out to units that do not run their iterations: the loop's variable, the units, what runs the
    /// iterations, and why.
    pub not_dealt: Vec<(Var, Deal, String)>,
}

/// The parallel loops of a kernel, as kernels of a device.
pub fn device_loops(kernel: &Kernel) -> DeviceLoops {
    let mut all = DeviceLoops::default();
    kernel.body.iter().for_each(|stmt| find(kernel, stmt, &mut all));
    all.without_twins()
}

impl DeviceLoops {
    /// What is left where a loop is told from others by its variable: of several loops over one, none is launched.
    fn without_twins(mut self) -> DeviceLoops {
        let vars: Vec<Var> = self.kernels.iter().map(|each| each.var).collect();
        let twins: BTreeSet<Var> =
            vars.iter().filter(|v| vars.iter().filter(|w| w == v).count() > 1).copied().collect();
        self.kernels.retain(|each| !twins.contains(&each.var));
        self.refused.extend(twins.into_iter().map(|v| (v, "another loop has its variable".to_string())));
        self
    }
}

fn find(kernel: &Kernel, stmt: &Stmt, all: &mut DeviceLoops) {
    let Stmt::For { var, how: how @ How::Parallel { own, joined, .. }, body, .. } = stmt else {
        if let Stmt::For { var, .. } = stmt
            && let Some(deal) = marked(kernel, *var)
        {
            let why = format!("its iterations, dealt out to {}s, are not shown to be independent", deal.name());
            all.refused.push((*var, why));
        }
        return stmt.blocks().flatten().for_each(|inner| find(kernel, inner, all));
    };
    let shared = !joined.is_empty() || how.folded().iter().any(|v| !parts::at_once(kernel, *var, (body, *v)));
    let in_no_form = if shared { around::obstacle(kernel, stmt) } else { None };
    let appends = (!joined.is_empty()).then(|| "its iterations append to lists".to_string());
    let arrays = how.arrays().iter().map(|b| {
        let Buffer { name, ty, .. } = &kernel.buffers[b.0 as usize];
        (format!("elements of `{name}`"), *ty, array_in_pieces(kernel, body, *b))
    });
    let variables = how.folded().iter().map(|v| {
        let (name, ty) = &kernel.vars[v.0 as usize];
        (format!("`{name}`"), *ty, fold_in_pieces(kernel, body, *v))
    });
    let races = kernel.hints.get(var).is_some_and(|hints| hints.claim.races());
    let atomic = || arrays.chain(variables).find_map(|(what, ty, fold)| no_atomic((what, ty), fold?.0, races));
    match in_no_form.or(appends).or_else(atomic).or_else(|| obstacle(own, body)) {
        Some(what) => all.refused.push((*var, what)),
        None => {
            let (each, why) = taken(kernel, *var, how, body);
            all.not_dealt.extend(grid::not_dealt(kernel, &each, why));
            all.kernels.push(each);
        }
    }
}

/// What a device has not, of what iterations do.
fn obstacle(own: &[BufferId], body: &[Stmt]) -> Option<String> {
    body.iter().find_map(|stmt| {
        let here = match stmt {
            Stmt::Call(Entry::Fail(_)) => None,
            Stmt::Call(Entry::Sort { .. } | Entry::SortInto { .. }) => Some("it sorts".to_string()),
            Stmt::Call(_) => Some("it allocates".to_string()),
            Stmt::For { how: how @ How::Parallel { .. }, .. } if !how.is_apart() => {
                Some("it has a parallel loop in it".to_string())
            }
            _ => None,
        };
        let searches = stmt.exprs().any(|e| searches(own, e));
        let here = here.or_else(|| searches.then(|| "it searches in a workspace of its own".to_string()));
        here.or_else(|| stmt.blocks().find_map(|block| obstacle(own, block)))
    })
}

/// Why threads of a device do not fold into one place at once, if they do not.
fn no_atomic((what, ty): (String, Type), op: Op, races: bool) -> Option<String> {
    let is_known = match op {
        Op::Add => ty.bits() >= 32,
        Op::Min | Op::Max | Op::And | Op::Or | Op::Xor => !ty.is_float() && ty.bits() >= 32,
        _ => false,
    };
    match is_known {
        false => Some(format!("its iterations fold into {what} with `{}`, of type {ty}", op.name())),
        true if ty.is_float() && !races => {
            Some(format!("its iterations fold into {what}, in an order that no command leaves open"))
        }
        true => None,
    }
}

/// The units of a GPU to which a schedule deals a loop's iterations out.
fn marked(kernel: &Kernel, var: Var) -> Option<Deal> {
    kernel.hints.get(&var).and_then(|hints| hints.deal)
}

/// Whether an expression searches in one of these arrays.
fn searches(own: &[BufferId], e: &Expr) -> bool {
    let mut found = false;
    e.each(&mut |e| found |= matches!(e, Expr::Among(_, b, _) if own.contains(b)));
    found
}

/// The kernel of a loop, and why a block does not run its iterations, where a schedule wants that.
fn taken(whole: &Kernel, var: Var, how: &How, body: &[Stmt]) -> (DeviceLoop, Option<String>) {
    let mut kernel = Kernel { body: vec![], arguments: vec![], solved: vec![], given: vec![], ..whole.clone() };
    let mut vars = Vars::of(&mut kernel.vars);
    let [bounds, thread] = [["first", "last"], ["thread", "threads"]].map(|names| names.map(|name| vars.index(name)));
    let grid = ["block", "blocks", "place", "size"].map(|name| vars.index(name));
    let [next, meet] = ["next", "meet"].map(|name| vars.index(name));
    let used = Used::of(body);
    let launched = Launched { whole, how, body, used: &used, atomics: folded_arrays(whole, how, body) };
    let (run, why) = match grid::shared(whole, (var, body), how, &launched.atomics) {
        Ok(held) => (launched.by_blocks(held, (grid, meet), &mut vars), None),
        Err(why) => (launched.by_threads(thread, &mut vars), why),
    };
    let Run { begin, statements, turn: [number, count], runner, shuffles, own, shared, mut atomics } = run;
    let mut each = vec![Stmt::Let(var, Expr::Var(next))];
    each.extend(grid::serial(statements));
    each.push(Stmt::Set(next, binary(Op::Add, Expr::Var(next), count)));
    kernel.body = begin;
    kernel.body.push(Stmt::Set(next, binary(Op::Add, Expr::Var(bounds[0]), number)));
    kernel.body.push(Stmt::While(binary(Op::Lt, Expr::Var(next), Expr::Var(bounds[1])), each));
    let folds = how.folded().iter().filter_map(|v| Some((*v, fold_in_pieces(whole, body, *v)?)));
    let folds: Vec<(Var, BufferId)> = folds.map(|(v, fold)| (v, folded(&mut kernel, v, fold, &mut atomics))).collect();
    for (place, buffer) in kernel.buffers.iter_mut().enumerate() {
        let b = BufferId(place as u32);
        let written = used.written.contains(&b) || atomics.iter().any(|(of, _)| *of == b);
        buffer.role = if written { Role::Result } else { Role::Operand };
    }
    let values = used.read.iter().filter(|v| !used.defined.contains(v) && **v != var).copied().collect();
    let is_held = |b: &BufferId| shared.iter().any(|of: &Workspace| of.buffer == *b);
    let is_own = |b: &BufferId| is_held(b) || own.iter().any(|(copied, _)| copied == b);
    let lengths = used.lengths.iter().filter(|b| !is_own(b)).copied().collect();
    let buffers = used.buffers.iter().filter(|b| !is_held(b)).copied().collect();
    let fails = used.fails;
    let made = DeviceLoop {
        var,
        kernel,
        bounds,
        thread,
        grid,
        next,
        values,
        buffers,
        lengths,
        own,
        fails,
        runner,
        shuffles,
        shared,
        meet,
        atomics,
        folds,
    };
    (made, why)
}

/// The arrays into whose elements all iterations of a loop fold, and the functions.
fn folded_arrays(kernel: &Kernel, how: &How, body: &[Stmt]) -> Vec<Folded> {
    how.arrays().iter().filter_map(|b| Some((*b, array_in_pieces(kernel, body, *b)?.0))).collect()
}

/// A loop that becomes a kernel.
struct Launched<'l> {
    whole: &'l Kernel,
    how: &'l How,
    body: &'l [Stmt],
    used: &'l Used,
    /// The arrays into whose elements all iterations fold.
    atomics: Vec<Folded>,
}

/// How iterations of a launched loop run.
struct Run {
    /// What stands before the first.
    begin: Vec<Stmt>,
    /// One of them.
    statements: Vec<Stmt>,
    /// The number of the unit that runs one, and how many there are.
    turn: [Expr; 2],
    runner: Runner,
    shuffles: Shuffles,
    own: Vec<(BufferId, Var)>,
    shared: Vec<Workspace>,
    atomics: Vec<Folded>,
}

impl Launched<'_> {
    /// A block runs an iteration; `meet` is set where a barrier stands.
    fn by_blocks(self, held: Held, (grid, meet): (grid::Grid, Var), vars: &mut Vars) -> Run {
        let (whole, atomics) = (self.whole, &held.atomics[..]);
        let body = failures::going_on(self.body);
        let barriers = Barriers { kernel: whole, written: &self.used.written, atomics, meet };
        let filled = held.filled().map(|(of, _)| (of.buffer, Way::Each)).collect();
        let buffers: Vec<BufferId> = held.workspaces.iter().map(|of| of.buffer).collect();
        let ordered = barriers.iteration(&body, filled, &buffers);
        let begin = held.begin(grid, vars);
        let (statements, shuffles) = grid::spread(whole, (&ordered, &body, atomics), grid, vars);
        let turn = [grid[0], grid[1]].map(Expr::Var);
        let (own, shared, atomics) = (vec![], held.workspaces, held.atomics);
        Run { begin, statements, turn, runner: Runner::Block, shuffles, own, shared, atomics }
    }

    /// A thread runs an iteration, with copies of workspaces of its own, or a warp does, whose lanes share loops.
    fn by_threads(self, thread: [Var; 2], vars: &mut Vars) -> Run {
        let Launched { whole, how, body, atomics, .. } = self;
        let own = if let How::Parallel { own, .. } = how { &own[..] } else { &[] };
        let name = |b: &BufferId| format!("{}_length", whole.buffers[b.0 as usize].name);
        let own: Vec<(BufferId, Var)> = own.iter().map(|b| (*b, vars.index(&name(b)))).collect();
        let alone = own.is_empty() && failures::obstacle(whole, body).is_none() && how.folded().is_empty();
        let together = failures::going_on(body);
        let lanes = if alone { lanes::shared(whole, (&together, &together), &atomics) } else { vec![] };
        let (turn, shared) = (thread.map(Expr::Var), vec![]);
        if lanes.is_empty() {
            let statements = Copies { of: own.iter().copied().collect(), thread }.block(body);
            let (begin, shuffles) = (vec![], Shuffles::default());
            return Run { begin, statements, turn, runner: Runner::Thread, shuffles, own, shared, atomics };
        }
        let lane = vars.index("lane");
        let (statements, shuffles) = lanes::spread(whole, (&together, &together), (&lanes, &atomics), lane, vars);
        let begin = vec![Stmt::Let(lane, binary(Op::And, Expr::Var(thread[0]), int(WARP - 1)))];
        let turn = turn.map(|threads| binary(Op::Div, threads, int(WARP)));
        Run { begin, statements, turn, runner: Runner::Warp, shuffles, own, shared, atomics }
    }
}

/// Lets a thread begin with a function's identity, and fold what it has made into the element of a further array, which is that of the
/// variable.
fn folded(kernel: &mut Kernel, v: Var, (op, identity): (Op, Value), atomics: &mut Vec<Folded>) -> BufferId {
    let (name, ty) = kernel.vars[v.0 as usize].clone();
    kernel.buffers.push(Buffer { name, ty, role: Role::Result, private: false });
    let b = BufferId(kernel.buffers.len() as u32 - 1);
    kernel.body.insert(0, Stmt::Set(v, Expr::Const(identity)));
    let held = Expr::Load(b, Box::new(int(0)));
    kernel.body.push(Stmt::Store(b, int(0), Expr::Op(op, vec![held, Expr::Var(v)])));
    atomics.push((b, op));
    b
}

/// What statements use.
#[derive(Default)]
struct Used {
    read: BTreeSet<Var>,
    defined: BTreeSet<Var>,
    buffers: BTreeSet<BufferId>,
    loaded: BTreeSet<BufferId>,
    written: BTreeSet<BufferId>,
    lengths: BTreeSet<BufferId>,
    fails: bool,
}

impl Used {
    fn of(block: &[Stmt]) -> Used {
        Used::apart(block, &[])
    }

    /// The same, where folds of threads at once read nothing.
    fn apart(block: &[Stmt], atomics: &[Folded]) -> Used {
        let mut used = Used::default();
        block.iter().for_each(|stmt| used.note(stmt, atomics));
        used
    }

    fn note(&mut self, stmt: &Stmt, atomics: &[Folded]) {
        self.note_here(stmt, atomics);
        stmt.blocks().flatten().for_each(|inner| self.note(inner, atomics));
    }

    /// Notes a statement without its blocks.
    fn note_here(&mut self, stmt: &Stmt, atomics: &[Folded]) {
        match stmt {
            Stmt::Let(var, _) | Stmt::Set(var, _) | Stmt::For { var, .. } => _ = self.defined.insert(*var),
            Stmt::Store(b, ..) => {
                self.buffers.insert(*b);
                self.written.insert(*b);
            }
            Stmt::Call(Entry::Fail(_)) => self.fails = true,
            _ => {}
        }
        match stmt {
            Stmt::Store(b, at, e) if folds_at_once(atomics, (*b, at), e) => {
                let values = folded_values(e, (*b, at)).into_iter().flat_map(|(_, values)| values);
                values.chain([at]).for_each(|e| self.note_reads(e));
            }
            _ => stmt.exprs().for_each(|e| self.note_reads(e)),
        }
    }

    fn note_reads(&mut self, e: &Expr) {
        e.each(&mut |e| match e {
            Expr::Var(var) => _ = self.read.insert(*var),
            Expr::Load(b, _) | Expr::Among(_, b, _) => {
                self.buffers.insert(*b);
                self.loaded.insert(*b);
            }
            Expr::Capacity(b) => _ = self.lengths.insert(*b),
            Expr::Const(_) | Expr::Op(..) => {}
        });
    }
}

/// The workspaces of which each thread has a copy.
struct Copies {
    of: BTreeMap<BufferId, Var>,
    thread: [Var; 2],
}

impl Copies {
    /// The statements on this thread's copies.
    fn block(&self, block: &[Stmt]) -> Vec<Stmt> {
        self.stores(map_exprs(block.to_vec(), &|e| self.expression(e)))
    }

    fn stores(&self, block: Vec<Stmt>) -> Vec<Stmt> {
        let each = |stmt| match stmt {
            Stmt::Store(b, at, value) => Stmt::Store(b, self.place(b, at), value),
            other => other,
        };
        map_blocks(block.into_iter().map(each).collect(), &mut |inner| self.stores(inner))
    }

    fn expression(&self, e: &Expr) -> Expr {
        e.with(&|e| match e {
            Expr::Load(b, at) => Some(Expr::Load(*b, Box::new(self.place(*b, self.expression(at))))),
            Expr::Capacity(b) => self.of.get(b).copied().map(Expr::Var),
            _ => None,
        })
    }

    /// The place of an element of this thread's copy.
    fn place(&self, b: BufferId, at: Expr) -> Expr {
        match self.of.contains_key(&b) {
            false => at,
            true if at == int(0) => Expr::Var(self.thread[0]),
            true => binary(Op::Add, times(at, Expr::Var(self.thread[1])), Expr::Var(self.thread[0])),
        }
    }
}
