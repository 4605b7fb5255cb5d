//! Lowering: a program's plan to loops.
//!
//! ```text
//!  extent    extents: parameters, numbers, and extents computed from them                       (extent.rs)
//!  statement a statement's preparations, its loops, its result                                (statement.rs)
//!  operation the operations of a plan, one after the other                                    (operation.rs)
//!  symbols   what the names and symbols of a plan stand for                                     (symbols.rs)
//!  fiber     fibers of operands, in their views; levels opened at a coordinate                    (fiber.rs)
//!  walks     loops over lists                                                                     (walks.rs)
//!  pieces    loops over the pieces of levels: pieces_of.rs; the edges of cuts: cut.rs
//!  call      declared functions, inlined where they are called                                     (call.rs)
//!  output    levels of the result, assembled in order: appended, or located                    (output.rs, results.rs)
//!  insertion the position in a result that loops have reached; room.rs: how its arrays are made and grow
//!  last      assemblers of the result's last level: list.rs, runs.rs (pieces.rs), interval.rs, blocks.rs  (assembler.rs, last.rs)
//!  mirror    symmetric results: values behind the diagonal are compared at the end             (mirror.rs)
//!  workspace results whose coordinates arrive out of order: scatter, put in order, drain      (scratch.rs, workspace.rs)
//!  keyed     workspaces whose size does not depend on extents: lists and hash tables           (keyed.rs)
//!  set       sets of coordinates, read in ascending order                                     (set.rs)
//!  repeat    blocks: loops around nests, at whose end arrays move                             (repeat.rs)
//!  counting  copies into rows whose entries arrive column by column: counted, then placed     (counting.rs)
//!  made      materialized temporaries that are computed inside of loops                      (made.rs)
//! ```
//!
//! The planner (`loops/src/planner/`) decides; each operation of its plan is emitted by one function.
//!
//! Loops over lists, and sets of coordinates, are emitted on the `Symbolic` domain by the same code whose laws are checked on `Concrete`.
//! Values of workspaces and the assembly of results emit statements of `Symbolic` directly, and are not covered by these laws.

mod assembler;
mod blocks;
mod bucket_index;
mod builtin;
mod call;
mod counting;
mod cut;
mod extent;
mod few;
mod fiber;
mod form;
mod insertion;
mod interval;
mod keyed;
mod last;
mod list;
mod made;
mod mirror;
mod operation;
mod output;
mod pieces;
mod pieces_of;
mod position_map;
mod quotient;
mod repeat;
mod results;
mod room;
mod runs;
mod scratch;
mod search;
mod set;
mod shared;
mod statement;
mod stored;
mod symbols;
mod triangle;
mod walks;
mod weight;
mod window;
mod workspace;

use super::arith::{binary, compared, held, int, minus, plus, times};
use super::choose::{
    Costs, Facts,
    symbol::{Meaning, Sym, Symbols},
};
use super::{
    Argument, Buffer, BufferId, Entry, Expr, Failure, Holds, Kernel, LevelBuffers, Role as BufferRole, Stmt, Var,
};
use crate::plan::{self, Block, Plan};
use crate::stream::BucketIndex;
use crate::{Symbolic, Term};
use extent::Lengths;
use fiberloom_core::algebra::{Mode, Op, Type, Value};
use fiberloom_core::iteration::{Simplify, Thin};
use fiberloom_core::map::ClassId;
use fiberloom_core::notation::concrete::{AccessId, Place, Program, Role, Tensor};
use fiberloom_core::notation::typed;
use fiberloom_core::notation::typed::{SizeId, TensorId, VarId};
use fiberloom_core::shape::Classes;
use fiberloom_core::shape::Magnitude;
use position_map::Laid;
use shared::Kept;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use symbols::Names;

/// Element types of positions and coordinates, each `I32` or `I64`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Widths {
    /// The type of positions.
    pub pos: Type,
    /// The type of coordinates.
    pub crd: Type,
}

impl Widths {
    /// Positions and coordinates of 32 bits.
    pub const NARROW: Widths = Widths { pos: Type::I32, crd: Type::I32 };
    /// Positions and coordinates of 64 bits.
    pub const WIDE: Widths = Widths { pos: Type::I64, crd: Type::I64 };
}

/// The options of a compilation, besides the program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Options {
    /// The semantics of floats.
    pub mode: Mode,
    /// Index widths of operands, by tensor and level; a level without an entry has the widths `made`.
    pub operands: BTreeMap<TensorId, Vec<Widths>>,
    /// Results that start from the caller's tensor, among [`Program::starts`]: they are operands too. Other results start as their fill
    /// value.
    ///
    /// [`Program::starts`]: fiberloom_core::notation::typed::Program::starts
    pub initial: BTreeSet<TensorId>,
    /// Index widths of all tensors that the kernel produces.
    pub made: Widths,
    /// Magnitudes of sizes, as far as they are known. They determine how temporaries are stored. They affect speed and memory, never
    /// results.
    pub sizes: BTreeMap<SizeId, Magnitude>,
    /// Whether what is added up is a list of what is added, and no long array or hash table: for a GPU, whose threads have one each. Affects speed
    /// and memory, never results.
    pub lists: bool,
    /// The maximum number of values in a row whose coordinates are sorted instead of read from a set: [`Entry::FEW`] at most; with 0 none
    /// are sorted. Affects speed, never results.
    pub few: i64,
    /// Expected searches per slot of a bucket index. Affects speed, never results. [`SOUGHT`] is the break-even point.
    ///
    /// [`SOUGHT`]: Options::SOUGHT
    pub sought: u32,
    /// How to store undeclared results that have few entries compared with their extents.
    pub thin: Thin,
    /// Whether every value of a result must have a place in its format: a kernel fails with [`Failure::Unheld`] where a value has none.
    /// If false, results whose formats have no place for some values are computed as lists, and converted after the call, which names the
    /// value.
    pub held: bool,
    /// All extents, if the fill value of an undeclared result depends on them: the kernel is correct for these extents only.
    pub extents: Option<typed::Extents>,
    /// Those index variables named by `schedule::storage::Asked::summed` in `fiberloom-passes` whose extents are 0: no sum over one of
    /// them is moved out of a product.
    pub empty: BTreeSet<VarId>,
}

impl Options {
    /// Filling one slot costs about as much as one exponential search.
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
            lists: false,
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
    facts: &'a Facts<'a>,
    /// Emits an operation: loops emit the operations inside of them by it.
    emit: fn(&Context, &mut Symbolic, &plan::Op),
    /// What names and symbols stand for.
    names: RefCell<Names>,
    /// Index widths of the tensors that the kernel produces.
    made: Widths,
    /// As [`Options::few`].
    few: i64,
    /// The arrays of each tensor; `None` for a tensor that no statement has computed yet.
    arrays: Vec<Option<Arrays>>,
    /// The number of iterations that blocks have run, if there are blocks.
    turns: Option<Var>,
    /// Extents whose coordinates are known to fit their type.
    guarded: BTreeSet<ClassId>,
    /// The arrays prepared for the current statement.
    prepared: Prepared,
}

impl<'a> Deref for Context<'a> {
    type Target = Facts<'a>;

    fn deref(&self) -> &Facts<'a> {
        self.facts
    }
}

impl Context<'_> {
    /// Emits the operations of a block.
    fn block(&self, d: &mut Symbolic, Block(ops): &Block) {
        ops.iter().for_each(|op| (self.emit)(self, d, op));
    }
}

/// Arrays that are prepared before a statement's loops.
#[derive(Default)]
struct Prepared {
    /// The tables of the marks of windows, by access and level.
    marks: BTreeMap<(AccessId, usize), BufferId>,
    /// The bucket indices of loop-invariant lists, by access.
    bucket_indices: BTreeMap<AccessId, BucketIndex<Term>>,
    /// The position maps of lists, by access and level.
    tables: BTreeMap<(AccessId, usize), Laid>,
}

/// Emits the kernel of a concrete program, whose loops `plan` plans, given the symbols of extents. Returns the kernel and its plan.
///
/// # Errors
/// That of `plan`.
pub(super) fn lower(
    name: &str,
    program: &Program,
    classes: &Classes,
    options: &Options,
    plan: impl FnOnce(&Facts, Costs, &[Sym]) -> Result<Plan, plan::Refused>,
) -> Result<(Kernel, Plan), plan::Refused> {
    let mut d = Symbolic::default();
    let (symbols, mut extents) = (Symbols::default(), vec![]);
    let mut lengths = extent::extents(&mut d, program, classes);
    let names = lengths.named(&mut |e| name_extent(&d, &symbols, &mut extents, e));
    let facts = Facts {
        program,
        simplify: Simplify { mode: options.mode, functions: &program.functions },
        extents: names,
        symbols,
        moving: program.moving(),
        taken: program.taken().into_iter().collect(),
    };
    let few = options.few.min(Entry::FEW);
    let costs = Costs { few, sought: options.sought.max(1), narrow: options.made.crd == Type::I32 };
    let given: Vec<Sym> = extents.iter().map(|(s, _)| *s).collect();
    let plan = plan(&facts, costs, &given)?;
    let operand = |t: &Tensor| match t.role {
        Role::Operand(id) => {
            let given = options.operands.get(&id);
            Some(arrays(&mut d, t, &|l| given.and_then(|w| w.get(l).copied()).unwrap_or(options.made), None))
        }
        Role::Result(_) | Role::Temporary => None,
    };
    let arrays = program.tensors.iter().map(operand).collect();
    let mut cx = Context {
        facts: &facts,
        emit: operation::operation,
        names: RefCell::default(),
        made: options.made,
        few,
        arrays,
        turns: None,
        guarded: BTreeSet::new(),
        prepared: Prepared::default(),
    };
    extents.iter().for_each(|(s, e)| cx.say(*s, e.clone()));
    repeat::in_order(&mut cx, &mut d, &plan.steps);
    let arguments = (0..program.tensors.len()).filter_map(|p| argument(&cx, &lengths, Place(p))).collect();
    let Lengths { params, solved, given: sizes, .. } = lengths;
    let params = params.into_values().collect();
    let hints = std::mem::take(&mut d.hints);
    let (vars, buffers, body) = d.finish();
    let reassociate = options.mode == Mode::Algebraic;
    let name = name.to_string();
    let kernel = Kernel { name, vars, params, buffers, body, arguments, solved, given: sizes, reassociate, hints };
    Ok((kernel, Plan { symbols: facts.symbols, extents: given, ..plan }))
}

/// The symbol of an extent, which is a number or a variable.
fn name_extent(d: &Symbolic, symbols: &Symbols, extents: &mut Vec<(Sym, Expr)>, e: Expr) -> Sym {
    let name = match e {
        Expr::Const(x) => return symbols.of(Meaning::Constant(x)),
        Expr::Var(var) => &d.vars[var.0 as usize].0,
        _ => "extent",
    };
    if let Some((s, _)) = extents.iter().find(|(_, other)| *other == e) {
        return *s;
    }
    let s = symbols.held(name, Type::I64);
    extents.push((s, e));
    s
}

/// Declares the buffers of a tensor: `A1_pos` and `A1_crd` are those of storage level 1. `widths` gives the index types of a level.
/// Arrays in `there` exist already.
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

/// The arrays of a tensor that is an operand or has been computed already.
fn arrays_of<'c>(cx: &'c Context, place: Place) -> &'c Arrays {
    cx.arrays[place.0].as_ref().expect("tensors are made before they are read")
}

/// Declares the arrays of a nest's target. With `along`, its levels are those of that access; arrays in `kept` exist already.
fn make(cx: &mut Context, d: &mut Symbolic, place: Place, along: Option<AccessId>, kept: Option<&Kept>) {
    let t = &cx.program.tensors[place.0];
    let made = match along {
        Some(a) => Arrays { levels: fiber::levels(cx, a)[..t.format.rank()].to_vec(), values: values(d, t) },
        None => arrays(d, t, &|_| cx.made, kept),
    };
    cx.arrays[place.0] = Some(made);
}

/// Emits a test that the coordinates of a tensor that the kernel produces fit their type.
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
    let t = &cx.program.tensors[place.0];
    let (tensor, operand) = match t.role {
        Role::Operand(id) => (id, true),
        Role::Result(id) => (id, false),
        Role::Temporary => return None,
    };
    let arrays = arrays_of(cx, place);
    // The caller's version of a result has the result's name.
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

/// An index converted to the element type of a buffer.
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
