//! The text of kernels, as a person would write the loops.
//!
//! ```text
//!  kernel spmv(n_i, n_j) reassociate               # name, parameters
//!    operand A1_pos: i32, A1_crd: i32, A_vals: f64, x_vals: f64
//!    result y_vals: f64
//!    in A@0: f64[n_i, n_j] {dense, compressed} at dense, compressed(A1_pos, A1_crd), A_vals
//!    in x@1: f64[n_j] {dense} at dense, x_vals
//!    out y@2: f64[n_i] {dense} at dense, y_vals
//!                                                    # `solved n_k@3`: a parameter, the extent of index variable 3
//!                                                    # `given n_N@2`: a parameter, size 2, which the caller says
//!
//!    alloc y_vals[n_i] = 0.0
//!    for i in 0..n_i {
//!      t = 0.0
//!      for p in A1_pos[i]..A1_pos[i + 1] {
//!        t = t + A_vals[p] * x_vals[A1_crd[p]]
//!      }
//!      y_vals[i] = t
//!    }
//! ```
//!
//! Rules that keep the text short and unambiguous:
//! 1. a literal determines its type: `1` is an `i64`, `1.0` an `f64`, any other carries its type: `1u8`, `1.0f32`, `inff32`;
//! 2. a variable has the type of the first value that it is set to;
//! 3. a load from an `i32` buffer is widened to `i64` where an `i64` is needed (an index, a bound, an `i64` variable or
//!    element), where another argument of the same function is an `i64`, and where it is the first value of a variable,
//!    unless an annotation says otherwise: `let c: i32 = A1_crd[p]`. Any other widening is written `i64(…)`.
//!
//! Variables are not declared: reading numbers them in order of appearance, parameters first. So printing a kernel that was read gives
//! the same text, and reading a print gives the same kernel, up to the numbers of its variables.

use super::{Argument, BufferId, Claim, Entry, Expr, Failure, How, Kernel, Role, Sought, Stmt, Var};
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::stack::with_room;
use fiberloom_core::text::{DEPTH, Printing, literal};
use std::fmt::{self, Write};

/// The widest line of the header.
const WIDTH: usize = 110;

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_room(|| self.print(f))
    }
}

impl Kernel {
    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let params: Vec<_> = self.params.iter().map(|v| var_name(self, *v)).collect();
        let mode = if self.reassociate { " reassociate" } else { "" };
        writeln!(f, "kernel {}({}){mode}", self.name, params.join(", "))?;
        buffers(self, f)?;
        self.arguments.iter().try_for_each(|a| argument(self, a, f))?;
        if !self.solved.is_empty() {
            let solved = self.solved.iter().map(|(v, of)| format!("{}@{}", var_name(self, *v), of.0));
            writeln!(f, "  solved {}", solved.collect::<Vec<_>>().join(", "))?;
        }
        if !self.given.is_empty() {
            let given = self.given.iter().map(|(v, of)| format!("{}@{}", var_name(self, *v), of.0));
            writeln!(f, "  given {}", given.collect::<Vec<_>>().join(", "))?;
        }
        writeln!(f)?;
        let mut seen = vec![false; self.vars.len()];
        self.params.iter().for_each(|v| seen[v.0 as usize] = true);
        Printer { kernel: self, seen, depth: DEPTH, out: f }.block(&self.body, 1)
    }
}

/// A statement in one line, without its blocks, for messages.
pub fn headline(kernel: &Kernel, stmt: &Stmt) -> String {
    let mut out = String::new();
    let mut printer = Printer { kernel, seen: vec![true; kernel.vars.len()], depth: DEPTH, out: &mut out };
    printer.head(stmt).expect("writing to a string");
    out
}

/// An expression in one line, for messages.
pub fn expression(kernel: &Kernel, expr: &Expr) -> String {
    let mut out = String::new();
    Printer { kernel, seen: Vec::new(), depth: DEPTH, out: &mut out }.expr(expr, 0).expect("writing to a string");
    out
}

/// The arguments that share a type: all, those behind a condition, or none.
pub(super) fn alike(op: Op, count: usize) -> std::ops::Range<usize> {
    match op {
        Op::Select | Op::Mask => 1..count,
        Op::Ldexp | Op::Convert(_) => 0..0,
        _ => 0..count,
    }
}

/// The kinds of buffers: their role, whether they are private, and their word.
pub(super) const KINDS: [(Role, bool, &str); 4] = [
    (Role::Operand, false, "operand"),
    (Role::Result, false, "result"),
    (Role::Workspace, false, "workspace"),
    (Role::Workspace, true, "private"),
];

pub(super) fn role_name(role: Role) -> &'static str {
    KINDS.into_iter().find(|(r, ..)| *r == role).map_or("", |(.., name)| name)
}

impl Failure {
    /// The failure's word in the text of kernels.
    pub fn name(self) -> &'static str {
        match self {
            Failure::Memory => "memory",
            Failure::Overflow => "overflow",
            Failure::Positions => "positions",
            Failure::Steps => "steps",
            Failure::Outside => "outside",
            Failure::Entries => "entries",
            Failure::Turns => "turns",
            Failure::Unheld => "unheld",
        }
    }
}

fn var_name(kernel: &Kernel, v: Var) -> String {
    kernel.vars.get(v.0 as usize).map_or_else(|| format!("var{}?", v.0), |(name, _)| name.clone())
}

fn buffer_name(kernel: &Kernel, b: BufferId) -> String {
    kernel.buffers.get(b.0 as usize).map_or_else(|| format!("buffer{}?", b.0), |b| b.name.clone())
}

/// Consecutive buffers of one role in a line, as far as the width allows.
fn buffers(kernel: &Kernel, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut line = String::new();
    let mut before = "";
    for b in &kernel.buffers {
        let kind = KINDS.into_iter().find(|(role, private, _)| (*role, *private) == (b.role, b.private));
        let (word, item) = (kind.map_or("", |(.., word)| word), format!("{}: {}", b.name, b.ty));
        if word == before && line.len() + item.len() + 2 <= WIDTH {
            write!(line, ", {item}")?;
            continue;
        }
        if !line.is_empty() {
            writeln!(f, "{line}")?;
        }
        before = word;
        line = format!("  {word} {item}");
    }
    if line.is_empty() { Ok(()) } else { writeln!(f, "{line}") }
}

fn argument(kernel: &Kernel, a: &Argument, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let extents: Vec<_> = a.extents.iter().map(|v| var_name(kernel, *v)).collect();
    let way = if a.operand { "in" } else { "out" };
    write!(f, "  {way} {}@{}: {}[{}]", a.name, a.tensor.0, a.ty, extents.join(", "))?;
    if a.fill != Value::zero(a.ty) {
        write!(f, " fill {}", literal(a.fill))?;
    }
    write!(f, " {} at ", a.format)?;
    for level in &a.levels {
        let buffers: Vec<_> = level.buffers().map(|(b, _)| buffer_name(kernel, b)).collect();
        let arrays = if buffers.is_empty() { String::new() } else { format!("({})", buffers.join(", ")) };
        write!(f, "{}{arrays}, ", level.kind().name())?;
    }
    writeln!(f, "{}", buffer_name(kernel, a.values))
}

/// Writes statements.
struct Printer<'a, W> {
    kernel: &'a Kernel,
    /// The variables that have been set so far in the text.
    seen: Vec<bool>,
    /// The remaining depth of an expression: one that is too deep for the checker is cut off in messages.
    depth: usize,
    out: &'a mut W,
}

impl<W: Write> Printer<'_, W> {
    fn block(&mut self, stmts: &[Stmt], depth: usize) -> fmt::Result {
        stmts.iter().try_for_each(|s| self.stmt(s, depth))
    }

    fn indent(&mut self, depth: usize) -> fmt::Result {
        write!(self.out, "{:1$}", "", 2 * depth)
    }

    fn stmt(&mut self, stmt: &Stmt, depth: usize) -> fmt::Result {
        self.indent(depth)?;
        self.head(stmt)?;
        match stmt {
            Stmt::If(_, yes, no) => {
                writeln!(self.out, " {{")?;
                self.block(yes, depth + 1)?;
                self.otherwise(no, depth)?;
            }
            Stmt::While(_, body) | Stmt::For { body, .. } => {
                writeln!(self.out, " {{")?;
                self.block(body, depth + 1)?;
            }
            _ => return writeln!(self.out),
        }
        self.indent(depth)?;
        writeln!(self.out, "}}")
    }

    /// The rest of an `if`, up to its last brace.
    fn otherwise(&mut self, mut no: &[Stmt], depth: usize) -> fmt::Result {
        while let [Stmt::If(_, yes, rest)] = no {
            self.indent(depth)?;
            write!(self.out, "}} else ")?;
            self.head(&no[0])?;
            writeln!(self.out, " {{")?;
            self.block(yes, depth + 1)?;
            no = rest;
        }
        if no.is_empty() {
            return Ok(());
        }
        self.indent(depth)?;
        writeln!(self.out, "}} else {{")?;
        self.block(no, depth + 1)
    }

    /// The statement without its blocks.
    fn head(&mut self, stmt: &Stmt) -> fmt::Result {
        match stmt {
            Stmt::Let(v, e) => {
                write!(self.out, "let ")?;
                self.set(*v, e)
            }
            Stmt::Set(v, e) => self.set(*v, e),
            Stmt::Store(b, at, e) => {
                self.place(*b, at)?;
                write!(self.out, " = ")?;
                match self.element(*b) {
                    Some(Type::I64) => self.index(e),
                    _ => self.expr(e, 0),
                }
            }
            Stmt::If(c, _, _) => {
                write!(self.out, "if ")?;
                self.expr(c, 0)
            }
            Stmt::While(c, _) => {
                write!(self.out, "while ")?;
                self.expr(c, 0)
            }
            Stmt::For { var, lo, hi, how, .. } => {
                let word = match how {
                    How::Serial => "",
                    How::Vector => "vector ",
                    How::Parallel { .. } => "parallel ",
                };
                let hints = self.kernel.hints.get(var).copied().unwrap_or_default();
                if hints.unroll > 0 {
                    write!(self.out, "unroll {} ", hints.unroll)?;
                }
                if let Some(deal) = hints.deal {
                    write!(self.out, "{} ", deal.name())?;
                }
                if hints.claim != Claim::Nothing {
                    write!(self.out, "{} ", hints.claim.name())?;
                }
                if hints.seamed {
                    write!(self.out, "seamed ")?;
                }
                let lanes = if hints.lanes { "lanes " } else { "" };
                self.first(*var);
                write!(self.out, "{lanes}{word}for {} in ", var_name(self.kernel, *var))?;
                self.extent(lo, hi)?;
                let How::Parallel { own, joined, folded, arrays } = how else { return Ok(()) };
                own.iter().enumerate().try_for_each(|(n, b)| {
                    write!(self.out, "{} {}", if n == 0 { " with" } else { "," }, buffer_name(self.kernel, *b))
                })?;
                joined.iter().enumerate().try_for_each(|(n, j)| {
                    write!(self.out, "{} ", if n == 0 { " joining" } else { "," })?;
                    self.place(j.array, &j.from)?;
                    j.holds.map_or(Ok(()), |v| write!(self.out, " = {}", var_name(self.kernel, v)))
                })?;
                let vars = folded.iter().map(|v| var_name(self.kernel, *v));
                vars.chain(arrays.iter().map(|b| buffer_name(self.kernel, *b)))
                    .enumerate()
                    .try_for_each(|(n, name)| write!(self.out, "{} {name}", if n == 0 { " folding" } else { "," }))
            }
            Stmt::Call(entry) => self.entry(entry),
            Stmt::Comment(text) if text.is_empty() => write!(self.out, "#"),
            Stmt::Comment(text) => write!(self.out, "# {text}"),
        }
    }

    fn entry(&mut self, entry: &Entry) -> fmt::Result {
        match entry {
            Entry::Alloc { buffer, len, fill } => {
                write!(self.out, "alloc ")?;
                self.place(*buffer, len)?;
                fill.map_or(Ok(()), |x| write!(self.out, " = {}", literal(x)))
            }
            Entry::Reserve { buffer, len } => {
                write!(self.out, "reserve ")?;
                self.place(*buffer, len)
            }
            Entry::Finish { buffer, len } => {
                write!(self.out, "finish ")?;
                self.place(*buffer, len)
            }
            Entry::Move { to, from } => {
                write!(self.out, "move {} from {}", buffer_name(self.kernel, *to), buffer_name(self.kernel, *from))
            }
            Entry::Sort { keys, order, len } => {
                write!(self.out, "sort {}[0..", buffer_name(self.kernel, *keys))?;
                self.index(len)?;
                write!(self.out, "] with {}", buffer_name(self.kernel, *order))
            }
            Entry::SortInto { keys, into, at, len } => {
                write!(self.out, "sort {}[0..", buffer_name(self.kernel, *keys))?;
                self.index(len)?;
                write!(self.out, "] into ")?;
                self.place(*into, at)
            }
            Entry::Fail(failure) => write!(self.out, "fail {}", failure.name()),
        }
    }

    fn first(&mut self, v: Var) -> bool {
        self.seen.get_mut(v.0 as usize).is_some_and(|seen| !std::mem::replace(seen, true))
    }

    /// `x = e`, with an annotation if `e` alone would give another type (rules 2 and 3 of the module).
    fn set(&mut self, v: Var, e: &Expr) -> fmt::Result {
        let ty = self.kernel.vars.get(v.0 as usize).map(|(_, ty)| *ty);
        write!(self.out, "{}", var_name(self.kernel, v))?;
        let narrow = matches!(e, Expr::Load(b, _) if self.element(*b) == Some(Type::I32));
        if self.first(v) && narrow && ty == Some(Type::I32) {
            write!(self.out, ": i32")?;
        }
        write!(self.out, " = ")?;
        if ty == Some(Type::I64) { self.index(e) } else { self.expr(e, 0) }
    }

    fn place(&mut self, b: BufferId, at: &Expr) -> fmt::Result {
        write!(self.out, "{}[", buffer_name(self.kernel, b))?;
        self.index(at)?;
        write!(self.out, "]")
    }

    fn extent(&mut self, lo: &Expr, hi: &Expr) -> fmt::Result {
        self.index(lo)?;
        write!(self.out, "..")?;
        self.index(hi)
    }

    fn element(&self, b: BufferId) -> Option<Type> {
        self.kernel.buffers.get(b.0 as usize).map(|b| b.ty)
    }

    /// The load, if `e` is one that is widened from `i32` to `i64`.
    fn widened<'e>(&self, e: &'e Expr) -> Option<&'e Expr> {
        match e {
            Expr::Op(Op::Convert(Type::I64), args) => match args.as_slice() {
                [load @ Expr::Load(b, _)] if self.element(*b) == Some(Type::I32) => Some(load),
                _ => None,
            },
            _ => None,
        }
    }

    /// An expression where an `i64` is needed: a widened load is printed as the bare load.
    fn index(&mut self, e: &Expr) -> fmt::Result {
        self.expr(self.widened(e).unwrap_or(e), 0)
    }

    fn open(&mut self, e: &Expr, least: u8) -> fmt::Result {
        match e {
            Expr::Const(x) => write!(self.out, "{}", literal(*x)),
            Expr::Var(v) => write!(self.out, "{}", var_name(self.kernel, *v)),
            Expr::Load(b, at) => self.place(*b, at),
            Expr::Capacity(b) => write!(self.out, "capacity({})", buffer_name(self.kernel, *b)),
            Expr::Among(sought, b, parts) => self.among(*sought, *b, parts),
            Expr::Op(op, args) => self.op(*op, args, least),
        }
    }

    fn among(&mut self, sought: Sought, b: BufferId, [begin, end, target]: &[Expr; 3]) -> fmt::Result {
        write!(self.out, "{}({}[", sought.name(), buffer_name(self.kernel, b))?;
        self.extent(begin, end)?;
        write!(self.out, "], ")?;
        self.index(target)?;
        write!(self.out, ")")
    }

    fn op(&mut self, op: Op, args: &[Expr], least: u8) -> fmt::Result {
        let alike = alike(op, args.len());
        let elide = args[alike.clone()].iter().any(|a| self.widened(a).is_none());
        let args: Vec<&Expr> = args
            .iter()
            .enumerate()
            .map(|(i, a)| if elide && alike.contains(&i) { self.widened(a).unwrap_or(a) } else { a })
            .collect();
        self.applied(op, &args, least)
    }
}

impl<W: Write> Printing for Printer<'_, W> {
    type Expr = Expr;

    fn out(&mut self) -> &mut dyn Write {
        self.out
    }

    fn is_literal(e: &Expr) -> bool {
        matches!(e, Expr::Const(_))
    }

    fn expr(&mut self, e: &Expr, least: u8) -> fmt::Result {
        let Some(depth) = self.depth.checked_sub(1) else { return write!(self.out, "…") };
        let depth = std::mem::replace(&mut self.depth, depth);
        self.open(e, least)?;
        self.depth = depth;
        Ok(())
    }
}
