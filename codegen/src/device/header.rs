//! The C header of PTX: what each entry is launched with, and what the host does around the launches.

use super::Ptx;
use crate::symbol;
use fiberloom_loops::{
    BufferId, DeviceArgument, DeviceEntry, Entry, Expr, Kernel, Role, Runner, Stmt, Var, expression,
};
use std::collections::BTreeSet;

impl Ptx {
    /// The C header by which a program launches the entries: a program that knows NVIDIA's driver needs nothing else.
    pub fn header(&self, kernel: &Kernel) -> String {
        let name = symbol(kernel);
        let mut text = format!("/* {}, for GPUs, compiled by Fiberloom. */\n", kernel.name);
        text += &format!("#ifndef FL_DEVICE_{name}\n#define FL_DEVICE_{name}\n");
        text += &self.use_of(kernel);
        for entry in &self.entries {
            text += &launch(kernel, entry);
        }
        text + "\n#endif\n"
    }

    /// How entries are launched in general, and what the host does.
    fn use_of(&self, kernel: &Kernel) -> String {
        let name = self.entries.first().map_or("", |entry| &entry.name);
        let mut lines = vec![
            "An entry is launched by NVIDIA's driver (cuda.h), when its module is loaded from the text of the PTX, with a 0 behind it:".to_string(),
            String::new(),
            "  cuModuleLoadData(&module, text);".to_string(),
            format!("  cuModuleGetFunction(&function, module, \"{name}\");"),
            format!("  uint64_t arguments[{name}_arguments_];           each at its place, which a name below says"),
            format!("  void *pointers[{name}_arguments_];               the addresses of these, in order"),
            "  cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, pointers, 0);".to_string(),
            String::new(),
            "The bits of an argument that is narrower than 64 are the lowest. What the host does: it brings arrays to the GPU's memory, launches".to_string(),
            "where a line says so, and has results when these lines are done. `in` and `out` say which array is which of a tensor's levels, in".to_string(),
            "their order, and the values last; results are to be allocated, and set, as `alloc` says before they are brought there.".to_string(),
            String::new(),
        ];
        lines.extend(self.host(kernel).to_string().lines().map(|line| format!("  {line}").trim_end().to_string()));
        if !self.remarks().is_empty() {
            lines.push(String::new());
            lines.extend(self.remarks());
        }
        let lines = lines.iter().map(|line| format!(" * {line}").trim_end().to_string() + "\n");
        format!("\n/*\n{} */\n", lines.collect::<String>())
    }

    /// The kernel with a remark in the place of each loop that is launched, and without workspaces that launched loops alone have.
    fn host(&self, kernel: &Kernel) -> Kernel {
        let mut host = Kernel { body: self.launched(kernel, &kernel.body), ..kernel.clone() };
        let given = |b: &BufferId| {
            let has =
                |of: &DeviceArgument| matches!(of, DeviceArgument::Data(of) | DeviceArgument::Copies(of) if of == b);
            self.entries.iter().any(|entry| entry.arguments.iter().any(has))
        };
        let touched = touched(&host.body);
        let is_left = |b: &BufferId| {
            let is_workspace = kernel.buffers[b.0 as usize].role == Role::Workspace;
            is_workspace && !given(b) && !touched.contains(b)
        };
        host.body.retain(|stmt| !matches!(stmt, Stmt::Call(Entry::Alloc { buffer, .. }) if is_left(buffer)));
        host
    }

    fn launched(&self, kernel: &Kernel, block: &[Stmt]) -> Vec<Stmt> {
        let each = |stmt: &Stmt| match stmt {
            Stmt::For { var, lo, hi, how, body } => match self.entries.iter().find(|entry| entry.var == *var) {
                Some(entry) => {
                    let [lo, hi] = [lo, hi].map(|e| expression(kernel, e));
                    Stmt::Comment(format!("launch {}, with first = {lo} and last = {hi}", entry.name))
                }
                None => {
                    let body = self.launched(kernel, body);
                    Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), how: how.clone(), body }
                }
            },
            Stmt::If(c, yes, no) => Stmt::If(c.clone(), self.launched(kernel, yes), self.launched(kernel, no)),
            Stmt::While(c, body) => Stmt::While(c.clone(), self.launched(kernel, body)),
            other => other.clone(),
        };
        block.iter().map(each).collect()
    }
}

/// The arrays of which statements load or store elements, or move.
fn touched(block: &[Stmt]) -> BTreeSet<BufferId> {
    let mut all = BTreeSet::new();
    for stmt in block {
        stmt.exprs().for_each(|e| {
            e.each(&mut |e| {
                if let Expr::Load(b, _) | Expr::Among(_, b, _) | Expr::Capacity(b) = e {
                    all.insert(*b);
                }
            });
        });
        match stmt {
            Stmt::Store(b, ..) => _ = all.insert(*b),
            Stmt::Call(Entry::Alloc { .. }) => {}
            Stmt::Call(entry) => all.extend(entry.buffers()),
            _ => {}
        }
        stmt.blocks().for_each(|inner| all.extend(touched(inner)));
    }
    all
}

/// How an entry is launched: in words, its name, and the places of its arguments.
fn launch(kernel: &Kernel, entry: &DeviceEntry) -> String {
    let DeviceEntry { name, arguments, writes, .. } = entry;
    let buffer = |b: &BufferId| &kernel.buffers[b.0 as usize];
    let var = |var: &Var| &kernel.vars[var.0 as usize].0;
    let mut text = format!(
        "\n/*\n * The loop over {}: `{name}`, with any number of blocks{} in one dimension, and 64-bit arguments:\n *\n",
        var(&entry.var),
        match entry.runner {
            Runner::Thread => " and threads",
            Runner::Warp => " of whole warps (32 threads; a warp runs an iteration)",
            Runner::Block => " of whole warps (32 threads; a block runs an iteration)",
        }
    );
    if entry.shared > 0 {
        text += &format!(
            " *   A block has {} bytes of shared memory, which the code itself reserves: none is asked for at the launch.\n *\n",
            entry.shared
        );
    }
    let mut places = String::new();
    for (place, argument) in arguments.iter().enumerate() {
        let (called, what) = match argument {
            DeviceArgument::Data(b) => {
                let how = if writes.contains(b) { "read and written" } else { "only read" };
                (
                    buffer(b).name.clone(),
                    format!("the address of its elements in the GPU's memory, {}, {how}", buffer(b).ty),
                )
            }
            DeviceArgument::Copies(b) => (
                buffer(b).name.clone(),
                format!(
                    "the address of a copy for each thread, {}: element e of thread t of n at e * n + t",
                    buffer(b).ty
                ),
            ),
            DeviceArgument::Length(b) => (format!("{}_length", buffer(b).name), "its number of elements".to_string()),
            DeviceArgument::Value(v) => (var(v).clone(), format!("{}, extended by zeros", kernel.vars[v.0 as usize].1)),
            DeviceArgument::Fold(v) => {
                let what = format!(
                    "the address of a {} that holds it, before and behind the loop",
                    kernel.vars[v.0 as usize].1
                );
                (var(v).clone(), what)
            }
            DeviceArgument::First => {
                ("first".to_string(), "the first iteration, which the host's part says".to_string())
            }
            DeviceArgument::Last => ("last".to_string(), "one past the last iteration".to_string()),
            DeviceArgument::Status => (
                "status".to_string(),
                "the address of a uint64_t, all bits set before; a failure sets it to (iteration - first) << 4 | code"
                    .to_string(),
            ),
        };
        text += &format!(" *   {place}  {called}: {what}\n");
        places += &format!("    {name}_{called}_ = {place},\n");
    }
    text + " */\nenum {\n" + &places + &format!("    {name}_arguments_ = {}\n}};\n", arguments.len())
}
