//! Lowering: concrete notation to loops.
//!
//! ```text
//!  extent    extents: parameters, numbers, and what follows from them                            (extent.rs)
//!  statement what is prepared, the loops, the result                                        (statement.rs)
//!  nest      loop by loop: sequence expression, lattice, one loop shape a point               (nest.rs)
//!  range     the parts of concatenations as ranges of a loop; what of a fiber a range sees         (range.rs)
//!  compare   comparisons of index variables as ends of ranges                                  (compare.rs)
//!  call      declared functions, written out where they are called                              (call.rs)
//!  fibers    where each access stands; located levels; loads                                  (fiber.rs)
//!  output    levels of the result, assembled in order: appended, or located                   (output.rs)
//!  last      what appends to the result's last level: list.rs, runs.rs, interval.rs, blocks.rs  (last.rs)
//!  notes     what the loops emitted so far show of the result                                 (notes.rs)
//!  workspace results whose coordinates arrive out of order: scatter, put in order, drain      (workspace.rs)
//!  keyed     workspaces whose size does not depend on extents: lists and hash tables           (keyed.rs)
//!  set       sets of coordinates, read in ascending order                                     (set.rs)
//!  repeat    blocks: loops around nests, at whose end arrays move                             (repeat.rs)
//!  counting  copies into rows whose entries arrive column by column: counted, then placed     (counting.rs)
//!  made      temporaries that are made inside of loops                                       (made.rs)
//!  book      what is decided: written into a plan, or read from it                            (book.rs)
//! ```
//!
//! Loops over lists are emitted on the `Symbolic` domain by the iterators whose laws are checked on `Concrete`. Workspaces, runs
//! and the assembly of results emit statements of `Symbolic` directly, outside of these laws.
mod blocks;
mod book;
mod budget;
mod builtin;
mod call;
mod choice;
mod compare;
mod counting;
mod cut;
mod directory;
mod extent;
mod few;
mod fiber;
mod interval;
mod keyed;
mod last;
mod list;
mod made;
mod nest;
mod notes;
mod output;
mod quotient;
mod range;
mod repeat;
mod runs;
mod set;
mod shared;
mod sieve;
mod spread;
mod statement;
mod structure;
mod window;
mod workspace;

use super::{
    Argument, Buffer, BufferId, Entry, Expr, Failure, Holds, Kernel, LevelBuffers, Role as BufferRole, Stmt, Var,
};
use crate::algebra::{Mode, Op, Type, Value};
use crate::iteration::Simplify;
use crate::loops::plan::Plan;
use crate::loops::{Symbolic, Term};
use crate::map::{ClassId, Size};
use crate::notation::concrete::{AccessId, Both, Place, Program, Role, Tensor};
use crate::notation::typed::Extents;
use crate::notation::typed::{SizeId, TensorId, VarId};
use crate::schedule::storage::Magnitude;
use crate::shape::Classes;
use crate::stream::Directory;
use book::Book;
use rustc_hash::FxHashSet;
use shared::Kept;
use std::collections::{BTreeMap, BTreeSet};

/// Element types of positions and coordinates, each `I32` or `I64`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Widths {
    /// Of positions.
    pub pos: Type,
    /// Of coordinates.
    pub crd: Type,
}

impl Widths {
    /// 32 bits each.
    pub const NARROW: Widths = Widths { pos: Type::I32, crd: Type::I32 };
    /// 64 bits each.
    pub const WIDE: Widths = Widths { pos: Type::I64, crd: Type::I64 };
}

/// What a kernel is compiled for, besides its program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Options {
    /// How floats are understood.
    pub mode: Mode,
    /// Index widths of operands, by tensor and level; `made` where there is no entry.
    pub operands: BTreeMap<TensorId, Vec<Widths>>,
    /// Results that start from the caller's tensor, among [`Program::starts`]: operands too. The others start as their
    /// fill.
    ///
    /// [`Program::starts`]: crate::notation::typed::Program::starts
    pub initial: BTreeSet<TensorId>,
    /// Index widths of everything that the kernel makes.
    pub made: Widths,
    /// Magnitudes of sizes, as far as they are known. They choose how temporaries are stored. Affects speed and memory,
    /// never results.
    pub sizes: BTreeMap<SizeId, Magnitude>,
    /// Most values of a row whose coordinates are sorted in the place of read from a set: [`Entry::FEW`] at most; 0 sorts none. Affects
    /// speed, never results.
    pub few: i64,
    /// Expected searches per directory slot. Affects speed, never results. [`SOUGHT`] pays.
    ///
    /// [`SOUGHT`]: Options::SOUGHT
    pub sought: u32,
    /// Undeclared results whose first level is compressed, among [`Program::may_be_thin`].
    ///
    /// [`Program::may_be_thin`]: crate::notation::typed::Program::may_be_thin
    pub thin: BTreeSet<TensorId>,
    /// Whether every value of a result is taken to have a place in its format: a kernel fails with [`Failure::Unheld`] where one has none.
    /// Else results whose formats have no place for some values are made as lists, and converted after the call, which names the value.
    pub held: bool,
    /// All extents, if the fill value of an undeclared result depends on them: the kernel is right for these alone.
    pub extents: Option<Extents>,
    /// Index variables whose extents are 0, of those that [`Asked::summed`](crate::schedule::storage::Asked::summed) names: no sum over
    /// one of them is taken out of a product.
    pub empty: BTreeSet<VarId>,
}

impl Options {
    /// Filling one slot costs about one galloping search.
    pub const SOUGHT: u32 = 8;
}

impl Default for Options {
    fn default() -> Options {
        Options {
            mode: Mode::Algebraic,
            operands: BTreeMap::new(),
            initial: BTreeSet::new(),
            made: Widths::NARROW,
            sizes: BTreeMap::new(),
            few: Entry::FEW,
            sought: Options::SOUGHT,
            thin: BTreeSet::new(),
            held: true,
            extents: None,
            empty: BTreeSet::new(),
        }
    }
}

/// The arrays of a tensor.
#[derive(Clone, Debug)]
struct Arrays {
    levels: Vec<LevelBuffers>,
    values: BufferId,
}

/// The state that all of lowering shares.
struct Context<'a> {
    program: &'a Program,
    simplify: Simplify<'a>,
    made: Widths,
    /// As [`Options::few`].
    few: i64,
    /// As [`Options::sought`].
    sought: u32,
    params: BTreeMap<ClassId, Var>,
    /// Parameters that are extents of no tensor of the caller.
    solved: Vec<(Var, VarId)>,
    /// Extents that follow from the parameters.
    derived: BTreeMap<ClassId, Expr>,
    /// Extents that are made of other extents, in terms of these.
    sizes: BTreeMap<ClassId, Size>,
    /// Extents that the program states as numbers.
    constants: BTreeMap<ClassId, i64>,
    /// The arrays of each tensor; `None` of one that no statement has made yet.
    arrays: Vec<Option<Arrays>>,
    /// The number of turns that blocks have taken, if there are blocks.
    turns: Option<Var>,
    /// Tensors whose arrays move.
    moving: FxHashSet<Place>,
    /// Extents whose coordinates are known to fit their type.
    guarded: BTreeSet<ClassId>,
    /// The second place, if any, into which the current statement's sum is folded (`also`).
    both: Option<(&'a Both, BufferId)>,
    /// Marks of the current statement's windows, by access and level.
    marks: BTreeMap<(AccessId, usize), window::Marks>,
    /// Directories of the current statement's loop-invariant lists, by access.
    directories: BTreeMap<AccessId, Directory<Term>>,
    /// Tables of the lists that the current statement spreads, by access and level.
    tables: BTreeMap<(AccessId, usize), spread::Laid>,
    /// Most lines that the current statement's loops may have.
    most: u64,
    /// What is decided.
    book: Book<'a>,
}

/// What is decided of a concrete program's loops.
pub fn plan(program: &Program, classes: &Classes, options: &Options) -> Plan {
    let (_, plan) = walk("kernel", program, classes, options, None);
    plan.unwrap_or_default()
}

/// The kernel of a concrete program under its plan.
///
/// # Errors
/// Where the plan's steps are not the program's: which one the plan has, and which the program comes to.
pub fn emit(
    name: &str,
    program: &Program,
    classes: &Classes,
    options: &Options,
    plan: &Plan,
) -> Result<Kernel, String> {
    let (kernel, followed) = walk(name, program, classes, options, Some(plan));
    followed.map(|_| kernel)
}

/// A walk over the loops of a program: it makes a plan, or follows the one that is given.
fn walk<'a>(
    name: &str,
    program: &'a Program,
    classes: &Classes,
    options: &Options,
    given: Option<&'a Plan>,
) -> (Kernel, Result<Plan, String>) {
    let mut d = Symbolic::default();
    let params = extent::parameters(&mut d, program, classes);
    let operand = |t: &Tensor| match t.role {
        Role::Operand(id) => {
            let given = options.operands.get(&id);
            Some(arrays(&mut d, t, &|l| given.and_then(|w| w.get(l).copied()).unwrap_or(options.made), None))
        }
        Role::Result(_) | Role::Temporary => None,
    };
    let arrays = program.tensors.iter().map(operand).collect();
    let simplify = Simplify { mode: options.mode, functions: &program.functions };
    let constants = params.keys().filter_map(|c| Some((*c, i64::try_from(classes.value(*c)?).ok()?))).collect();
    let (made, few, sought) = (options.made, options.few.min(Entry::FEW), options.sought.max(1));
    let (derived, guarded, sizes) = (BTreeMap::new(), BTreeSet::new(), classes.sizes());
    let book = Book::new(given);
    let (solved, both, marks, directories, tables) = (vec![], None, BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut cx = Context {
        program,
        simplify,
        made,
        few,
        sought,
        params,
        solved,
        derived,
        sizes,
        constants,
        arrays,
        turns: None,
        moving: program.moving(),
        guarded,
        both,
        marks,
        directories,
        tables,
        most: 0,
        book,
    };
    cx.derive(&mut d, classes);
    cx.in_order(&mut d, &program.steps);
    let arguments = (0..program.tensors.len()).filter_map(|p| cx.argument(Place(p))).collect();
    let (params, solved) = (cx.params.values().copied().collect(), cx.solved);
    let asked = std::mem::take(&mut d.asked);
    let (vars, buffers, body) = d.finish();
    let reassociate = options.mode == Mode::Algebraic;
    let kernel = Kernel { name: name.to_string(), vars, params, buffers, body, arguments, solved, reassociate, asked };
    (kernel, cx.book.close())
}

/// Makes buffers for a tensor: `A1_pos` and `A1_crd` are those of storage level 1. `widths` gives the index types of a level. Arrays in
/// `there` exist already.
fn arrays(d: &mut Symbolic, t: &Tensor, widths: &dyn Fn(usize) -> Widths, there: Option<&Kept>) -> Arrays {
    let mut level = |l: usize| {
        let made = LevelBuffers::of(t.format.levels[l], |name, holds| {
            if let Some(b) = there.and_then(|kept| kept.of(l, holds)) {
                return Ok(b);
            }
            let index = if holds == Holds::Coordinates { widths(l).crd } else { widths(l).pos };
            let name = format!("{}{l}_{name}", t.name);
            Ok::<_, std::convert::Infallible>(d.buffer(&name, holds.ty().unwrap_or(index), owner(t)))
        });
        made.unwrap_or(None).expect("kinds without loops are refused before lowering")
    };
    let levels = (0..t.format.rank()).map(&mut level).collect();
    Arrays { levels, values: there.map_or_else(|| values(d, t), |kept| kept.values) }
}

/// The buffer for a tensor's values.
fn values(d: &mut Symbolic, t: &Tensor) -> BufferId {
    d.buffer(&format!("{}_vals", t.name), t.ty, owner(t))
}

fn owner(t: &Tensor) -> BufferRole {
    match t.role {
        Role::Operand(_) => BufferRole::Operand,
        Role::Result(_) => BufferRole::Result,
        Role::Temporary => BufferRole::Workspace,
    }
}

impl Context<'_> {
    fn fill(&self, a: AccessId) -> Value {
        self.program.tensor(a).fill
    }

    /// The arrays of a tensor that is an operand or made already.
    fn arrays(&self, place: Place) -> &Arrays {
        self.arrays[place.0].as_ref().expect("tensors are made before they are read")
    }

    /// Makes the arrays of a nest's target; with `along`, its levels are that access's. Those that are kept are there.
    fn make(&mut self, d: &mut Symbolic, place: Place, along: Option<AccessId>, kept: Option<&Kept>) {
        let t = &self.program.tensors[place.0];
        let made = match along {
            Some(a) => Arrays { levels: self.levels(a)[..t.format.rank()].to_vec(), values: values(d, t) },
            None => arrays(d, t, &|_| self.made, kept),
        };
        self.arrays[place.0] = Some(made);
    }

    /// Emits a test that the coordinates of a tensor that the kernel makes fit their type.
    fn fits(&mut self, d: &mut Symbolic, place: Place) {
        if self.made.crd == Type::I64 {
            return;
        }
        let t = &self.program.tensors[place.0];
        let lists = (0..t.format.rank()).filter(|l| t.format.levels[*l].is_appended());
        for class in lists.map(|l| t.extents[t.format.order[l]]) {
            if self.guarded.insert(class) && self.constants.get(&class).is_none_or(|n| *n > 1 << 31) {
                let most = Expr::Const(Value::i64(1 << 31));
                let fail = Stmt::Call(Entry::Fail(Failure::Positions));
                d.when(binary(Op::Gt, self.extent(class), most), |d| d.emit(fail), |_| {});
            }
        }
    }

    /// How a tensor of the program is passed; `None` for temporaries.
    fn argument(&self, place: Place) -> Option<Argument> {
        let (t, arrays) = (&self.program.tensors[place.0], self.arrays(place));
        let (tensor, operand) = match t.role {
            Role::Operand(id) => (id, true),
            Role::Result(id) => (id, false),
            Role::Temporary => return None,
        };
        // The caller's version of a result goes by the result's name.
        let result = self.program.tensors.iter().find(|r| r.role == Role::Result(tensor));
        Some(Argument {
            tensor,
            name: result.unwrap_or(t).name.clone(),
            ty: t.ty,
            format: t.format.clone(),
            fill: t.fill,
            extents: t.extents.iter().map(|c| self.params[c]).collect(),
            levels: arrays.levels.clone(),
            values: arrays.values,
            operand,
        })
    }
}

/// An integer constant.
pub(super) fn int(x: i64) -> Expr {
    Expr::Const(Value::i64(x))
}

/// A coordinate or position in a variable, unless it is one or a constant.
fn held(d: &mut Symbolic, name: &str, e: Expr) -> Expr {
    if matches!(e, Expr::Const(_) | Expr::Var(_)) { e } else { d.define(name, Type::I64, e) }
}

/// `a op b`
fn binary(op: Op, a: Expr, b: Expr) -> Expr {
    Expr::Op(op, vec![a, b])
}

/// `a == b` or `a != b`, of values of a type. In strict mode 0.0 and −0.0 differ: their inverses are compared too.
fn compared(mode: Mode, op: Op, a: Expr, (b, ty): (Expr, Type)) -> Expr {
    if mode == Mode::Algebraic || !ty.is_float() {
        return binary(op, a, b);
    }
    let inverse = |x: &Expr| binary(Op::Div, Expr::Const(Value::one(ty)), x.clone());
    let inverses = binary(op, inverse(&a), inverse(&b));
    binary(if op == Op::Eq { Op::AndAlso } else { Op::OrElse }, binary(op, a, b), inverses)
}

/// `a - b`, if it is a constant by the form of `a`.
fn ahead(a: &Expr, b: &Expr) -> Option<i64> {
    match a {
        _ if a == b => Some(0),
        Expr::Op(Op::Add, args) if args[0] == *b => match &args[1] {
            Expr::Const(k) => Some(k.bits() as i64),
            _ => None,
        },
        _ => None,
    }
}

/// `a + b`, constants gathered at the end.
pub(super) fn plus(a: Expr, b: Expr) -> Expr {
    match (a, b) {
        (Expr::Const(x), Expr::Const(y)) => int(x.bits().wrapping_add(y.bits()) as i64),
        (Expr::Const(z), e) | (e, Expr::Const(z)) if z.bits() == 0 => e,
        (Expr::Op(Op::Add, mut args), Expr::Const(y)) if matches!(args[1], Expr::Const(_)) => {
            let last = args.pop().expect("two arguments");
            plus(args.remove(0), plus(last, Expr::Const(y)))
        }
        (a, b) => binary(Op::Add, a, b),
    }
}

/// `a - b`
pub(super) fn minus(a: Expr, b: Expr) -> Expr {
    binary(Op::Sub, a, b)
}

/// `a · b`, without multiplying by 0 or 1.
pub(super) fn times(a: Expr, b: Expr) -> Expr {
    let is = |e: &Expr, x: i64| *e == int(x);
    if is(&a, 0) || is(&b, 0) {
        int(0)
    } else if is(&a, 1) {
        b
    } else if is(&b, 1) {
        a
    } else {
        binary(Op::Mul, a, b)
    }
}

/// An index as an element of a buffer: converted to its type.
fn stored(buffers: &[Buffer], b: BufferId, x: Expr) -> Expr {
    match buffers[b.0 as usize].ty {
        Type::I64 => x,
        ty => Expr::Op(Op::Convert(ty), vec![x]),
    }
}

/// Stores a position or coordinate in an index buffer of any width.
fn store_index(d: &mut Symbolic, b: BufferId, at: Expr, x: Expr) {
    let x = stored(&d.buffers, b, x);
    d.emit(Stmt::Store(b, at, x));
}

/// A product of extents that is checked to fit 63 bits.
fn checked_product(d: &mut Symbolic, factors: &[Expr]) -> Expr {
    factors.iter().cloned().fold(int(1), |product, n| {
        if product == int(1) {
            return n;
        }
        let most = binary(Op::Div, int(i64::MAX), n.clone());
        let over = binary(Op::Gt, product.clone(), most);
        let guarded = match &n {
            Expr::Const(n) if n.bits() as i64 > 0 => over,
            _ => binary(Op::AndAlso, binary(Op::Gt, n.clone(), int(0)), over),
        };
        d.when(guarded, |d| d.call(Entry::Fail(Failure::Overflow)), |_| {});
        d.define("size", Type::I64, times(product, n))
    })
}
