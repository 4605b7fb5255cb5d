//! The checker of kernels. A kernel that passes is [`Sound`]; nothing runs or compiles any other.
//!
//! ```text
//!  tables     names, parameters, which buffer is which array of which tensor        (here)
//!  typing     every expression has a type, and the one that its place needs         (check/typing.rs)
//!  flow       on every path: variables set before read, buffers allocated before    (check/flow.rs)
//!             use, results finished at the end; loops whose iterations are independent
//!  shared     a result whose levels are an operand's has a value for each entry     (check/shared.rs)
//! ```
//!
//! A kernel that passes may still access out of bounds or read what was never written: that is checked where it runs.
//! Neither this nor any later stage recurses deeper than [`NESTING`] blocks and [`DEPTH`] levels of an expression.
mod flow;
mod shared;
mod typing;

use super::print::role_name;
use super::{Argument, BufferId, Expr, Holds, Kernel, LevelBuffers, Role, Stmt, Var};
use fiberloom_core::algebra::Type;
use fiberloom_core::counted;
use fiberloom_core::text::{DEPTH, LITERALS, is_name};
use rustc_hash::FxHashSet;

pub use flow::private;
pub(super) use shared::shown_by_form;

/// The greatest depth of nested blocks.
pub const NESTING: usize = 256;

/// A kernel that passed the checker: it need not be checked again.
#[derive(Clone, Debug, PartialEq)]
pub struct Sound(Kernel);

impl Sound {
    /// The kernel, if it holds the invariants of this module's page.
    ///
    /// # Errors
    /// As for [`check`].
    pub fn new(kernel: Kernel) -> Result<Sound, String> {
        check(&kernel).map(|()| Sound(kernel))
    }

    /// The same kernel under another name.
    ///
    /// # Errors
    /// If `name` is not a name.
    pub fn named(self, name: &str) -> Result<Sound, String> {
        Sound::new(Kernel { name: name.to_string(), ..self.0 })
    }
}

impl std::ops::Deref for Sound {
    type Target = Kernel;

    fn deref(&self) -> &Kernel {
        &self.0
    }
}

impl std::fmt::Display for Sound {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Checks that the kernel holds the invariants of this module's page.
///
/// # Errors
/// The invariant that does not hold, with the statement or the name concerned.
pub fn check(kernel: &Kernel) -> Result<(), String> {
    names(kernel)?;
    parameters(kernel)?;
    arguments(kernel)?;
    solved(kernel)?;
    nesting(&kernel.body, NESTING)?;
    flow::check(kernel)?;
    shared::check(kernel)
}

/// Limits the nesting of blocks to `depth`, and of expressions to [`DEPTH`].
fn nesting(stmts: &[Stmt], depth: usize) -> Result<(), String> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(format!("blocks are nested more than {NESTING} deep"));
    };
    for stmt in stmts {
        if !stmt.exprs().all(|e| is_shallow(e, DEPTH)) {
            return Err(format!("an expression is nested more than {DEPTH} deep: define parts of it with `let`"));
        }
        stmt.blocks().try_for_each(|block| nesting(block, depth))?;
    }
    Ok(())
}

/// Whether an expression is at most `depth` levels deep.
pub(super) fn is_shallow(e: &Expr, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    match e {
        Expr::Load(_, at) => is_shallow(at, depth),
        Expr::Among(_, _, parts) => parts.iter().all(|a| is_shallow(a, depth)),
        Expr::Op(_, args) => args.iter().all(|a| is_shallow(a, depth)),
        Expr::Const(_) | Expr::Var(_) | Expr::Capacity(_) => true,
    }
}

fn names(kernel: &Kernel) -> Result<(), String> {
    let vars = kernel.vars.iter().map(|(name, _)| name);
    let buffers = kernel.buffers.iter().map(|b| &b.name);
    let tensors = kernel.arguments.iter().map(|a| &a.name);
    if let Some(bad) = vars.clone().chain(buffers.clone()).chain([&kernel.name]).chain(tensors).find(|n| !is_name(n)) {
        return Err(format!("`{bad}` is no name: it must be letters, digits and `_`, and none of {LITERALS:?}"));
    }
    let mut seen = FxHashSet::default();
    match vars.chain(buffers).find(|n| !seen.insert(n.as_str())) {
        Some(twice) => Err(format!("`{twice}` names two variables or buffers")),
        None => Ok(()),
    }
}

fn parameters(kernel: &Kernel) -> Result<(), String> {
    let mut seen = FxHashSet::default();
    for p in &kernel.params {
        let (name, ty) = variable(kernel, *p)?;
        if *ty != Type::I64 {
            return Err(format!("parameter `{name}` is {ty}, and parameters are i64"));
        }
        if !seen.insert(*p) {
            return Err(format!("`{name}` is a parameter twice"));
        }
    }
    Ok(())
}

/// Checks that each extent that is solved for or given is a parameter, and not the extent of a tensor.
fn solved(kernel: &Kernel) -> Result<(), String> {
    let solved = kernel.solved.iter().map(|(v, _)| (*v, "solved for"));
    let all: Vec<(Var, &str)> = solved.chain(kernel.given.iter().map(|(v, _)| (*v, "given"))).collect();
    for (v, how) in &all {
        let (name, _) = variable(kernel, *v)?;
        if !kernel.params.contains(v) {
            return Err(format!("`{name}` is {how}, and is no parameter"));
        }
        let others = all.iter().filter(|(u, _)| u == v).count() - 1;
        if others > 0 || kernel.arguments.iter().any(|a| a.extents.contains(v)) {
            return Err(format!("`{name}` is {how}, and known otherwise"));
        }
    }
    Ok(())
}

fn variable(kernel: &Kernel, v: Var) -> Result<&(String, Type), String> {
    kernel.vars.get(v.0 as usize).ok_or_else(|| format!("there is no variable number {}", v.0))
}

fn buffer(kernel: &Kernel, b: BufferId) -> Result<&super::Buffer, String> {
    kernel.buffers.get(b.0 as usize).ok_or_else(|| format!("there is no buffer number {}", b.0))
}

/// Checks that no buffer is two arrays of tensors, except those that results share with operands, and that each array is an operand or a
/// result of a type that the array can have.
fn arguments(kernel: &Kernel) -> Result<(), String> {
    let mut used = FxHashSet::default();
    for a in &kernel.arguments {
        shape(kernel, a).map_err(|e| format!("tensor `{}`: {e}", a.name))?;
        let shared = shared(kernel, a);
        for (b, holds) in a.buffers() {
            let owner = if a.operand || shared.contains(&b) { Role::Operand } else { Role::Result };
            array(kernel, a, (b, owner), holds).map_err(|e| format!("tensor `{}`: {e}", a.name))?;
            if !shared.contains(&b) && !used.insert(b) {
                return Err(format!("tensor `{}`: `{}` is already another array", a.name, buffer(kernel, b)?.name));
            }
        }
    }
    Ok(())
}

fn shape(kernel: &Kernel, a: &Argument) -> Result<(), String> {
    let rank = a.format.levels.len();
    if a.extents.len() != rank || a.levels.len() != rank {
        return Err(format!("{rank} levels, but {} extents and arrays of {} levels", a.extents.len(), a.levels.len()));
    }
    let mut order = a.format.order.to_vec();
    order.sort_unstable();
    if order.into_iter().ne(0..rank) {
        let modes = counted(rank, "mode", "modes");
        return Err(format!("its order {:?} is no permutation of its {modes}", a.format.order));
    }
    if let Some(l) = (0..rank).find(|&l| a.levels[l].kind() != a.format.levels[l]) {
        let (has, is) = (a.levels[l].kind().name(), a.format.levels[l].name());
        return Err(format!("level {l} is {is}, and has the arrays of a {has} level"));
    }
    if a.fill.ty() != a.ty {
        return Err(format!("its fill value is {}, its elements are {}", a.fill.ty(), a.ty));
    }
    for v in &a.extents {
        let (name, _) = variable(kernel, *v)?;
        if !kernel.params.contains(v) {
            return Err(format!("its extent `{name}` is no parameter"));
        }
    }
    Ok(())
}

/// The arrays that a result may share with an operand: those of its outermost levels as far as both have the same; if it has the
/// operand's values, also any of the operand's coordinates.
fn shared(kernel: &Kernel, a: &Argument) -> FxHashSet<BufferId> {
    let of = |operand: &Argument| -> Vec<BufferId> {
        let pairs = operand.levels.iter().zip(&a.levels);
        let levels = pairs.take_while(|(theirs, its)| theirs == its).flat_map(|(level, _)| level.buffers());
        let entries = (operand.values == a.values).then(|| {
            let last = operand.levels.iter().flat_map(LevelBuffers::buffers).filter(|(_, h)| *h == Holds::Coordinates);
            last.map(|(b, _)| b).chain([a.values])
        });
        levels.map(|(b, _)| b).chain(entries.into_iter().flatten()).collect()
    };
    kernel.arguments.iter().filter(|other| other.operand && !a.operand).flat_map(of).collect()
}

fn array(kernel: &Kernel, a: &Argument, (b, role): (BufferId, Role), holds: Holds) -> Result<(), String> {
    let b = buffer(kernel, b)?;
    if b.role != role {
        return Err(format!("`{}` is a {}, and should be a {}", b.name, role_name(b.role), role_name(role)));
    }
    let wanted = match holds {
        Holds::Positions | Holds::Coordinates if matches!(b.ty, Type::I32 | Type::I64) => return Ok(()),
        Holds::Positions | Holds::Coordinates => {
            return Err(format!("`{}` is {}; positions and coordinates are i32 or i64", b.name, b.ty));
        }
        Holds::Values => a.ty,
        Holds::Flags | Holds::Words => holds.ty().expect("of one type"),
    };
    if b.ty == wanted { Ok(()) } else { Err(format!("`{}` is {}, its elements are {wanted}", b.name, b.ty)) }
}

impl Argument {
    /// The tensor's buffers in storage order, the values last; each with its contents.
    pub fn buffers(&self) -> impl Iterator<Item = (BufferId, Holds)> + '_ {
        self.levels.iter().flat_map(LevelBuffers::buffers).chain([(self.values, Holds::Values)])
    }
}
