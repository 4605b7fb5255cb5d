//! Lowering: concrete notation to loops.
//!
//! ```text
//!  extent    extents: parameters, numbers, and what follows from them                            (extent.rs)
//!  statement what is prepared, the loops, the result                                        (statement.rs)
//!  nest      loop by loop: sequence expression, lattice, one loop shape a point               (nest.rs)
//!  range     the parts of concatenations as ranges of a loop; what of a fiber a range sees         (range.rs)
//!  compare   comparisons of index variables as ends of ranges                                  (compare.rs)
//!  call      declared functions, written out where they are called                              (call.rs)
//!  symbols   what the names stand for that choices know
//!  coordinate  index variables, lines and sizes as expressions                               (coordinate.rs)
//!  fibers    where each access stands; located levels; loads                                  (fiber.rs)
//!  output    levels of the result, assembled in order: appended, or located                   (output.rs)
//!  last      what appends to the result's last level: list.rs, runs.rs (pieces.rs), interval.rs, blocks.rs  (last.rs)
//!  mirror    symmetric results: what is behind the diagonal, compared at the end               (mirror.rs)
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
//! What functions here decide, those of `choose` say; the book asks them where no plan does.
//! A function takes the `Context`, the sink `d`, or both; one that takes `Facts` knows nothing of what is emitted.
//!
//! Loops over lists, and sets of coordinates, are emitted on the `Symbolic` domain by what laws are checked on `Concrete`. Values of
//! workspaces and the assembly of results emit statements of `Symbolic` directly, outside of these laws.
mod blocks;
mod book;
mod builtin;
mod call;
mod choice;
mod compare;
mod coordinate;
mod counting;
mod cut;
mod directory;
mod extent;
mod few;
mod fiber;
mod form;
mod interval;
mod keyed;
mod last;
mod list;
mod made;
mod mirror;
mod nest;
mod notes;
mod output;
mod pieces;
mod quotient;
mod range;
mod repeat;
mod runs;
mod set;
mod shared;
mod spread;
mod statement;
mod structure;
mod symbols;
mod window;
mod workspace;

use super::arith::{ahead, binary, compared, held, int, minus, plus, times};
use super::choose::{Facts, symbol::Symbols};
use super::{
    Argument, Buffer, BufferId, Entry, Expr, Failure, Holds, Kernel, LevelBuffers, Role as BufferRole, Stmt, Var,
};
use crate::algebra::{Mode, Op, Type, Value};
use crate::iteration::{Simplify, Thin};
use crate::loops::plan::Plan;
use crate::loops::{Symbolic, Term};
use crate::map::ClassId;
use crate::notation::concrete::{AccessId, Both, Place, Program, Role, Tensor};
use crate::notation::typed;
use crate::notation::typed::{SizeId, TensorId, VarId};
use crate::schedule::storage::Magnitude;
use crate::shape::Classes;
use crate::stream::Directory;
use book::Book;
use extent::Lengths;
use shared::Kept;
use spread::Laid;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use symbols::Names;

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
    /// Undeclared results whose operands are few beside their extents.
    pub thin: Thin,
    /// Whether every value of a result is taken to have a place in its format: a kernel fails with [`Failure::Unheld`] where one has none.
    /// Else results whose formats have no place for some values are made as lists, and converted after the call, which names the value.
    pub held: bool,
    /// All extents, if the fill value of an undeclared result depends on them: the kernel is right for these alone.
    pub extents: Option<typed::Extents>,
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
            thin: Thin::new(),
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
    facts: Facts<'a>,
    /// What symbols stand for that are made of nothing.
    names: Names,
    /// Index widths of what the kernel makes.
    made: Widths,
    /// As [`Options::few`].
    few: i64,
    /// As [`Options::sought`].
    sought: u32,
    /// Tensors that go on in the arrays of an earlier version.
    taken: BTreeMap<Place, Place>,
    /// The arrays of each tensor; `None` of one that no statement has made yet.
    arrays: Vec<Option<Arrays>>,
    /// The number of turns that blocks have taken, if there are blocks.
    turns: Option<Var>,
    /// Extents whose coordinates are known to fit their type.
    guarded: BTreeSet<ClassId>,
    /// The second place, if any, into which the current statement's sum is folded (`also`).
    both: Option<(&'a Both, BufferId)>,
    /// What is prepared for the current statement.
    prepared: Prepared,
    /// What is decided.
    book: Book<'a>,
}

impl<'a> Deref for Context<'a> {
    type Target = Facts<'a>;

    fn deref(&self) -> &Facts<'a> {
        &self.facts
    }
}

/// What is prepared before a statement's loops.
#[derive(Default)]
struct Prepared {
    /// Marks of windows, by access and level.
    marks: BTreeMap<(AccessId, usize), window::Marks>,
    /// Directories of loop-invariant lists, by access.
    directories: BTreeMap<AccessId, Directory<Term>>,
    /// Tables of the lists that are spread, by access and level.
    tables: BTreeMap<(AccessId, usize), Laid>,
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
    let (symbols, names) = (Symbols::default(), Names::default());
    let mut lengths = extent::extents(&mut d, program, classes);
    let facts = Facts {
        program,
        simplify: Simplify { mode: options.mode, functions: &program.functions },
        extents: lengths.named(&|e| names.of(&symbols, e)),
        symbols,
        moving: program.moving(),
    };
    let operand = |t: &Tensor| match t.role {
        Role::Operand(id) => {
            let given = options.operands.get(&id);
            Some(arrays(&mut d, t, &|l| given.and_then(|w| w.get(l).copied()).unwrap_or(options.made), None))
        }
        Role::Result(_) | Role::Temporary => None,
    };
    let arrays = program.tensors.iter().map(operand).collect();
    let mut cx = Context {
        facts,
        names,
        made: options.made,
        few: options.few.min(Entry::FEW),
        sought: options.sought.max(1),
        taken: program.taken().into_iter().collect(),
        arrays,
        turns: None,
        guarded: BTreeSet::new(),
        both: None,
        prepared: Prepared::default(),
        book: Book::new(given),
    };
    repeat::in_order(&mut cx, &mut d, &program.steps);
    let arguments = (0..program.tensors.len()).filter_map(|p| argument(&cx, &lengths, Place(p))).collect();
    let Lengths { params, solved, given, .. } = lengths;
    let params = params.into_values().collect();
    let asked = std::mem::take(&mut d.asked);
    let (vars, buffers, body) = d.finish();
    let reassociate = options.mode == Mode::Algebraic;
    let name = name.to_string();
    let kernel = Kernel { name, vars, params, buffers, body, arguments, solved, given, reassociate, asked };
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

/// The arrays of a tensor that is an operand or made already.
fn arrays_of<'c>(cx: &'c Context, place: Place) -> &'c Arrays {
    cx.arrays[place.0].as_ref().expect("tensors are made before they are read")
}

/// Makes the arrays of a nest's target; with `along`, its levels are that access's. Those that are kept are there.
fn make(cx: &mut Context, d: &mut Symbolic, place: Place, along: Option<AccessId>, kept: Option<&Kept>) {
    let t = &cx.program.tensors[place.0];
    let made = match along {
        Some(a) => Arrays { levels: fiber::levels(cx, a)[..t.format.rank()].to_vec(), values: values(d, t) },
        None => arrays(d, t, &|_| cx.made, kept),
    };
    cx.arrays[place.0] = Some(made);
}

/// Emits a test that the coordinates of a tensor that the kernel makes fit their type.
fn fits(cx: &mut Context, d: &mut Symbolic, place: Place) {
    if cx.made.crd == Type::I64 {
        return;
    }
    let t = &cx.program.tensors[place.0];
    let lists = (0..t.format.rank()).filter(|l| t.format.levels[*l].is_appended());
    for class in lists.map(|l| t.extents[t.format.order[l]]) {
        if cx.guarded.insert(class) && cx.extents.constants.get(&class).is_none_or(|n| *n > 1 << 31) {
            let most = Expr::Const(Value::i64(1 << 31));
            let fail = Stmt::Call(Entry::Fail(Failure::Positions));
            d.when(binary(Op::Gt, cx.extent(class), most), |d| d.emit(fail), |_| {});
        }
    }
}

/// How a tensor of the program is passed; `None` for temporaries.
fn argument(cx: &Context, lengths: &Lengths, place: Place) -> Option<Argument> {
    let (t, arrays) = (&cx.program.tensors[place.0], arrays_of(cx, place));
    let (tensor, operand) = match t.role {
        Role::Operand(id) => (id, true),
        Role::Result(id) => (id, false),
        Role::Temporary => return None,
    };
    // The caller's version of a result goes by the result's name.
    let result = cx.program.tensors.iter().find(|r| r.role == Role::Result(tensor));
    Some(Argument {
        tensor,
        name: result.unwrap_or(t).name.clone(),
        ty: t.ty,
        format: t.format.clone(),
        fill: t.fill,
        extents: t.extents.iter().map(|c| lengths.params[c]).collect(),
        levels: arrays.levels.clone(),
        values: arrays.values,
        operand,
    })
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
