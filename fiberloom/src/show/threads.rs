//! Which loops of a kernel run on threads, and what keeps others on one, as comments behind its schedule.

use fiberloom_loops::{How, Kernel, OneThread, Outermost, Var, outermost_loops};

/// A line for each outermost loop that takes time: of one that runs on threads how what its iterations make becomes
/// one, of any other why it does not.
pub fn lines(kernel: &Kernel) -> String {
    let line = |runs: Outermost| match runs {
        Outermost::Threads(var, how) => on_threads(kernel, var, &how),
        Outermost::OneThread(OneThread { name, why }) => format!("# {name} runs on one thread: {why}\n"),
    };
    outermost_loops(kernel).into_iter().map(line).collect()
}

fn on_threads(kernel: &Kernel, var: Var, how: &How) -> String {
    let buffer = |b: &fiberloom_loops::BufferId| &kernel.buffers[b.0 as usize].name[..];
    let joined: Vec<&str> = how.joined().iter().map(|j| buffer(&j.array)).collect();
    let variables = how.folded().iter().map(|v| &kernel.vars[v.0 as usize].0[..]);
    let folded: Vec<&str> = variables.chain(how.arrays().iter().map(buffer)).collect();
    let name = &kernel.vars[var.0 as usize].0;
    let parts = [("joining", joined), ("folding", folded)].into_iter().filter(|(_, names)| !names.is_empty());
    let parts: String = parts.map(|(what, names)| format!(", {what} {}", names.join(", "))).collect();
    format!("# {name} runs on threads{parts}\n")
}
