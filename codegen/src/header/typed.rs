//! A function for each kernel with the types of its tensors: it takes and returns C structs, and computes the numbers of elements.
//!
//! ```text
//!  struct spmv_A { const int32_t *A1_pos, *A1_crd; const double *A_vals; }      an operand: the caller's arrays
//!  struct spmv_y { double *y_vals; int64_t y_vals_len; }                        a result: spmv_free_y frees it
//!
//!  int32_t spmv_call(int64_t n_I, int64_t n_J, struct spmv_A A, struct spmv_x x, struct spmv_y *y)
//! ```
//!
//! The number of elements in an operand's array follows from the extents and the arrays before it; only the length of a hash table does
//! not, and is a field. An array that a result shares with an operand is a pointer to the operand's.

use super::{Contract, c_type, is_taken};
use fiberloom_core::format::Step;
use fiberloom_loops::{Argument, BufferId, Kernel, LevelBuffers, Role};
use std::collections::BTreeSet;
use std::fmt::{Result, Write};

/// Writes the structs, the function, and a function that frees each result.
pub(super) fn write(kernel: &Kernel, contract: &Contract, symbol: &str, out: &mut String) -> Result {
    let typed = Typed { kernel, contract, symbol, tensors: tensors(kernel) };
    writeln!(out, "\n/* The same with an argument for each extent, operand and result, in the default runtime. */\n")?;
    typed.tensors.iter().try_for_each(|(a, name)| typed.structure(a, name, out))?;
    typed.function(out)?;
    typed.tensors.iter().filter(|(a, _)| !a.operand).try_for_each(|(a, name)| typed.free(a, name, out))
}

/// Operands, then results, each with a name distinct from parameters, words of C and other tensors.
fn tensors(kernel: &Kernel) -> Vec<(&Argument, String)> {
    let params = kernel.params.iter().map(|v| kernel.vars[v.0 as usize].0.clone());
    let mut used: BTreeSet<String> =
        params.chain(["buffers", "params", "code", "positions"].map(str::to_string)).collect();
    let mut free = |a: &Argument| {
        let mut name = if is_taken(&a.name) { format!("tensor_{}", a.name) } else { a.name.clone() };
        while !used.insert(name.clone()) {
            name.push('_');
        }
        name
    };
    let (operands, results): (Vec<&Argument>, Vec<&Argument>) = kernel.arguments.iter().partition(|a| a.operand);
    operands.into_iter().chain(results).map(|a| (a, free(a))).collect()
}

struct Typed<'a> {
    kernel: &'a Kernel,
    contract: &'a Contract,
    symbol: &'a str,
    /// The arguments and their names.
    tensors: Vec<(&'a Argument, String)>,
}

impl Typed<'_> {
    /// The name, the C type and the role of a buffer.
    fn buffer(&self, b: BufferId) -> (&str, &'static str, Role) {
        let buffer = &self.kernel.buffers[b.0 as usize];
        (&buffer.name, c_type(buffer.ty), buffer.role)
    }

    fn structure(&self, a: &Argument, name: &str, out: &mut String) -> Result {
        let extents: Vec<&str> = a.extents.iter().map(|v| self.kernel.vars[v.0 as usize].0.as_str()).collect();
        let role = if a.operand { "operand" } else { "result" };
        let (extents, declared) = (extents.join(", "), self.contract.declared.get(&a.name).filter(|_| !a.operand));
        let declared = declared.map_or(String::new(), |format| format!(", declared {format}"));
        writeln!(out, "/* {role} {}: {}[{extents}] {}{declared} */", a.name, a.ty, a.format)?;
        writeln!(out, "struct {}_{name} {{", self.symbol)?;
        for (b, _) in a.buffers() {
            let (field, ty, role) = self.buffer(b);
            let constant = if role == Role::Operand { "const " } else { "" };
            writeln!(out, "    {constant}{ty} *{field};")?;
            if !a.operand || a.levels.iter().any(|level| table(level) == Some(b)) {
                writeln!(out, "    int64_t {field}_len;")?;
            }
        }
        writeln!(out, "}};\n")
    }

    fn function(&self, out: &mut String) -> Result {
        let Typed { kernel, symbol, tensors, .. } = self;
        let extents = kernel.params.iter().map(|v| format!("int64_t {}", kernel.vars[v.0 as usize].0));
        let tensor = |(a, name): &(&Argument, String)| {
            format!("struct {symbol}_{name} {}{name}", if a.operand { "" } else { "*" })
        };
        let arguments: Vec<String> = extents.chain(tensors.iter().map(tensor)).collect();
        let arguments = if arguments.is_empty() { "void".to_string() } else { arguments.join(", ") };
        writeln!(out, "static inline int32_t {symbol}_call({arguments})\n{{")?;
        writeln!(out, "    fl_buffer buffers[{symbol}_buffers_ + 1] = {{{{NULL, 0, 0}}}};")?;
        let params: Vec<&str> = kernel.params.iter().map(|v| kernel.vars[v.0 as usize].0.as_str()).collect();
        writeln!(out, "    const int64_t params[] = {{{}}};", [&params[..], &["0"]].concat().join(", "))?;
        writeln!(out, "    int64_t positions = 1;\n    int32_t code;")?;
        tensors.iter().filter(|(a, _)| a.operand).try_for_each(|(a, name)| self.lend(a, name, out))?;
        writeln!(out, "    (void)positions;\n    code = {symbol}(fl_default_runtime(), buffers, params);")?;
        writeln!(out, "    if (code != 0) {symbol}_free(buffers);")?;
        tensors.iter().filter(|(a, _)| !a.operand).try_for_each(|(a, name)| self.take(a, name, out))?;
        for (place, _) in kernel.buffers.iter().enumerate().filter(|(_, b)| b.role == Role::Workspace) {
            writeln!(out, "    fl_free(&buffers[{place}]);")?;
        }
        writeln!(out, "    return code;\n}}")
    }

    /// Writes code that describes an operand's arrays as buffers, with the lengths that the levels above determine.
    fn lend(&self, a: &Argument, name: &str, out: &mut String) -> Result {
        writeln!(out, "    positions = 1;")?;
        for (l, level) in a.levels.iter().enumerate() {
            let extent = &self.kernel.vars[a.extents[a.format.order[l]].0 as usize].0;
            self.level(level, name, extent, out)?;
        }
        self.set(a.values, name, "positions", out)
    }

    fn level(&self, level: &LevelBuffers, name: &str, extent: &str, out: &mut String) -> Result {
        for step in level.kind().steps() {
            match *step {
                Step::Spread => writeln!(out, "    positions *= {extent};")?,
                Step::Times(each) => writeln!(out, "    positions *= {each};")?,
                Step::Each(array) => self.set(*level.named(array), name, "positions", out)?,
                Step::Bits(array) => self.set(*level.named(array), name, "(positions + 63) / 64", out)?,
                Step::Fibers(array) => self.fibers(*level.named(array), name, out)?,
                Step::Any(array) => {
                    let array = *level.named(array);
                    self.set(array, name, &format!("{name}.{}_len", self.buffer(array).0), out)?;
                }
                Step::Triangles => writeln!(
                    out,
                    "    if ({extent} != 0) positions = positions / {extent} * ({extent} * ({extent} + 1) / 2);"
                )?,
            }
        }
        Ok(())
    }

    /// Writes code for an array of positions: it is one longer than the number of positions above, and its last element is the number
    /// below.
    fn fibers(&self, pos: BufferId, name: &str, out: &mut String) -> Result {
        self.set(pos, name, "positions + 1", out)?;
        writeln!(out, "    positions = {name}.{}[positions];", self.buffer(pos).0)
    }

    fn set(&self, b: BufferId, name: &str, len: &str, out: &mut String) -> Result {
        writeln!(out, "    fl_lend(&buffers[{}], {name}.{}, {len});", b.0, self.buffer(b).0)
    }

    /// Writes code that sets a result's fields; null pointers if the kernel failed.
    fn take(&self, a: &Argument, name: &str, out: &mut String) -> Result {
        for (b, _) in a.buffers() {
            let (field, ty, role) = self.buffer(b);
            let constant = if role == Role::Operand { "const " } else { "" };
            writeln!(out, "    {name}->{field} = ({constant}{ty} *)(code == 0 ? buffers[{}].data : NULL);", b.0)?;
            writeln!(out, "    {name}->{field}_len = code == 0 ? buffers[{}].len : 0;", b.0)?;
        }
        Ok(())
    }

    fn free(&self, a: &Argument, name: &str, out: &mut String) -> Result {
        let symbol = self.symbol;
        writeln!(out, "\nstatic inline void {symbol}_free_{name}(struct {symbol}_{name} *{name})\n{{")?;
        for (b, _) in a.buffers() {
            let (field, _, role) = self.buffer(b);
            if role == Role::Result {
                writeln!(out, "    free({name}->{field});")?;
            }
            writeln!(out, "    {name}->{field} = NULL;\n    {name}->{field}_len = 0;")?;
        }
        writeln!(out, "}}")
    }
}

/// The array of a level whose length has to be a field.
fn table(level: &LevelBuffers) -> Option<BufferId> {
    level.kind().steps().iter().find_map(|step| match step {
        Step::Any(array) => Some(*level.named(array)),
        _ => None,
    })
}
