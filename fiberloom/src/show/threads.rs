//! Which loops of a kernel run on threads, as comments behind its schedule.

use fiberloom_loops::{How, Kernel, Stmt};
use std::fmt::Write;

/// A line for each outermost parallel loop: its variable, and how what its iterations make becomes one.
pub fn lines(kernel: &Kernel) -> String {
    let mut text = String::new();
    kernel.body.iter().for_each(|stmt| note(kernel, stmt, &mut text));
    text
}

fn note(kernel: &Kernel, stmt: &Stmt, text: &mut String) {
    let Stmt::For { var, how: how @ How::Parallel { .. }, .. } = stmt else {
        return stmt.blocks().flatten().for_each(|inner| note(kernel, inner, text));
    };
    let buffer = |b: &fiberloom_loops::BufferId| &kernel.buffers[b.0 as usize].name[..];
    let joined: Vec<&str> = how.joined().iter().map(|j| buffer(&j.array)).collect();
    let variables = how.folded().iter().map(|v| &kernel.vars[v.0 as usize].0[..]);
    let folded: Vec<&str> = variables.chain(how.arrays().iter().map(buffer)).collect();
    let name = &kernel.vars[var.0 as usize].0;
    let parts = [("joining", joined), ("folding", folded)].into_iter().filter(|(_, names)| !names.is_empty());
    let parts: String = parts.map(|(what, names)| format!(", {what} {}", names.join(", "))).collect();
    writeln!(text, "# {name} runs on threads{parts}").expect("strings take everything");
}
