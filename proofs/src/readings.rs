//! One definition, two readings: what `Symbolic` emits does what `Concrete` does.
//!
//! ```text
//!            ┌ Concrete: run on slices ─────────────────────────────▶ what it recorded ┐
//!  Program ──┤                                                                         ├ equal, on every data
//!            └ Symbolic: emitted once ──check──▶ the checked interpreter of loops ─────▶┘
//! ```
//!
//! The interpreter also sees that no emitted load leaves its array or reads what was never set. Bounds: two lists of
//! up to 3 positions below 4 (below 3 where coordinates repeat, but in blocks) and every target, three lists of up to 2 below 3; two
//! levels of 2 and 3 coordinates and a list of 6; pieces and intervals of 5 coordinates, from each; both widths of indices.

use crate::choose::{Choose, every};
use crate::pieces::{EXTENT, Fiber, Level};
use crate::product::{LENGTH, Operands, Seeks, WALKS, Walk, walk};
use crate::stream::positions;
use fiberloom_core::algebra::Type;
use fiberloom_core::format::Array;
use fiberloom_loops::stream::{
    Arith, Compare, Concrete, Domain, Interval, Kind, List, ListFiber, Pieces, Shift, Side, View, bounds, intersect,
    leap, meet_lanes, unite_flat, unite_two, wide,
};
use fiberloom_loops::{self as loops, BufferId, Entry, Expr, Kernel, Role, Stmt, Symbolic, Term, Var};
use fiberloom_semantics::machine;

/// What an iterator can be asked to do, each thing by itself.
#[derive(Clone, Copy, Debug)]
enum Program {
    /// Every entry of the first list, by `next`.
    Next,
    /// The same by the counted loop.
    Each,
    /// The positions of every entry of the first list, if they are several.
    Runs,
    /// Where the first list is after a seek, and whether it found its target.
    Seek,
    /// The same one by one.
    CatchUp,
    /// The same, for the next few without a branch.
    ComeNear,
    /// The same by leaps.
    Gallop,
    /// The coordinates of all lists.
    Intersect,
    /// The coordinates of the first list, with whether the second is there, and the entries of both.
    MeetLanes,
    /// The same, all but the first galloping.
    Leap,
    /// The coordinates of two lists with their sides, then both tails.
    Unite,
    /// The same, by few branches.
    UniteFlat,
    /// The coordinates of any list, with who is there.
    Wide,
    /// The same while the first list lasts.
    WideWhileFirst,
}

const PROGRAMS: [Program; 13] = [
    Program::Next,
    Program::Each,
    Program::Runs,
    Program::Seek,
    Program::CatchUp,
    Program::ComeNear,
    Program::Gallop,
    Program::Intersect,
    Program::Leap,
    Program::Unite,
    Program::UniteFlat,
    Program::Wide,
    Program::WideWhileFirst,
];

/// How many lists there are, with how many positions at most, and coordinates below what.
#[derive(Clone, Copy, Debug)]
struct Data {
    lists: usize,
    entries: usize,
    extent: i64,
    repeats: bool,
    view: Option<Seen>,
}

/// How the first list is seen.
#[derive(Clone, Copy, Debug)]
struct Seen {
    shift: i64,
    stride: Option<i64>,
    blocks: Option<i64>,
    start: i64,
    stop: i64,
}

/// Takes down a number.
type Record<'r, D> = &'r dyn Fn(&mut D, &<D as Domain>::I);

impl Program {
    fn run<D: Domain>(self, d: &mut D, lists: &[List<D::I>], target: &D::I, record: Record<D>) {
        let (first, all) = (&lists[0], lists.iter().collect::<Vec<_>>());
        match self {
            Program::Next => d.repeat(&|d| first.valid(d), &mut |d| {
                let at = first.index(d);
                record(d, &at);
                first.next(d);
            }),
            Program::Each => tail(d, first, record),
            Program::Runs => positions(d, first, &mut |d, position| record(d, &position)),
            Program::Seek => {
                first.seek(d, target);
                rests(d, first, target, record);
            }
            Program::ComeNear => {
                first.come_near(d, target);
                rests(d, first, target, record);
            }
            Program::CatchUp => {
                first.catch_up(d, target);
                rests(d, first, target, record);
            }
            Program::Gallop => {
                first.gallop(d, target);
                rests(d, first, target, record);
            }
            Program::Intersect => intersect(d, &all, &mut |d, at| record(d, at)),
            Program::MeetLanes => meet_lanes(d, first, &lists[1], &mut |d, at, entries, met| {
                record(d, at);
                let met = d.to_int(met);
                record(d, &met);
                entries.iter().for_each(|entry| record(d, &entry.position));
            }),
            Program::Leap => {
                let with: Vec<(&List<D::I>, bool)> = all.iter().enumerate().map(|(n, list)| (*list, n > 0)).collect();
                leap(d, &with, &mut |d, at| record(d, at));
            }
            Program::Unite => {
                unite_two(d, first, &lists[1], &mut |d, side, at| {
                    record(d, at);
                    let side =
                        d.int([Side::Both, Side::First, Side::Second].iter().position(|s| *s == side).unwrap() as i64);
                    record(d, &side);
                });
                lists[..2].iter().for_each(|list| tail(d, list, record));
            }
            Program::UniteFlat => {
                unite_flat(d, first, &lists[1], 2, &mut |d, at, present| {
                    record(d, at);
                    let flags = present.map_or([1, 1].map(|n| d.int(n)), |flags| flags.map(|flag| d.to_int(flag)));
                    flags.iter().for_each(|flag| record(d, flag));
                });
                lists[..2].iter().for_each(|list| tail(d, list, record));
            }
            Program::Wide => wide_while(d, &all, &|d, v| v.iter().cloned().reduce(|a, b| d.or(a, b)).unwrap(), record),
            Program::WideWhileFirst => wide_while(d, &all, &|_, v| v[0].clone(), record),
        }
    }
}

fn tail<D: Domain>(d: &mut D, list: &List<D::I>, record: Record<D>) {
    list.each(d, "p", &mut |d, entry| {
        let at = list.coordinate(d, &entry);
        record(d, &at);
    });
}

fn rests<D: Domain>(d: &mut D, list: &List<D::I>, target: &D::I, record: Record<D>) {
    let entry = list.entry(d);
    record(d, &entry.position);
    if let Some(run) = entry.run {
        let end = run.end(d);
        record(d, &end);
    }
    let far = d.int(99);
    let index = list.index_or(d, far);
    record(d, &index);
    let found = list.found(d, target);
    let found = d.to_int(&found);
    record(d, &found);
}

fn wide_while<D: Domain>(d: &mut D, lists: &[&List<D::I>], live: &impl Fn(&mut D, &[D::B]) -> D::B, record: Record<D>) {
    wide(d, lists, live, &mut |d, at, here| {
        record(d, at);
        for h in here {
            let h = d.to_int(h);
            record(d, &h);
        }
    });
}

/// Fibers in arrays of their own, with a strange entry before and behind each: `pos = [1, 1 + length]`.
fn choose(c: &mut impl Choose, data: Data) -> Vec<Vec<i64>> {
    let Data { lists, entries, extent, repeats, .. } = data;
    let fiber = |_| {
        let mut crd = vec![extent - 1];
        (0..extent).for_each(|i| {
            while crd.len() <= entries && c.flag() {
                crd.push(i);
                if !repeats {
                    break;
                }
            }
        });
        let pos = vec![1, crd.len() as i64];
        crd.push(0);
        [pos, crd]
    };
    (0..lists).flat_map(fiber).collect()
}

fn open<D: Domain>(d: &mut D, data: Data) -> Vec<List<D::I>> {
    let open = |n: usize| {
        let (pos, crd) = (BufferId(2 * n as u32), BufferId(2 * n as u32 + 1));
        let root = d.int(0);
        let (begin, end) = bounds(d, pos, &root);
        let (begin, end) = (d.snapshot("begin", begin), d.snapshot("end", end));
        let view =
            data.view.filter(|_| n == 0).map_or_else(View::default, |Seen { shift, stride, blocks, start, stop }| {
                let [stride, blocks] = [stride, blocks].map(|factor| factor.map(|r| d.int(r)));
                let [shift, start, stop] = [shift, start, stop].map(|x| Some(d.int(x)));
                View {
                    shift: shift.map(Shift::Up),
                    stride,
                    blocks,
                    extent: None,
                    start,
                    stop,
                    finger: None,
                    mark: None,
                }
            });
        List::open(d, "p", ListFiber { repeats: data.repeats, view, ..ListFiber::unique(crd, begin, end) })
    };
    (0..data.lists).map(open).collect()
}

/// What is run and emitted: of arrays of indices, asked for a target.
trait Reading: std::fmt::Debug {
    fn read<D: Domain>(&self, d: &mut D, target: &D::I, record: Record<D>);
}

impl Reading for (Program, Data) {
    fn read<D: Domain>(&self, d: &mut D, target: &D::I, record: Record<D>) {
        let opened = open(d, self.1);
        self.0.run(d, &opened, target, record);
    }
}

/// Two levels, and a list, as nested loops walk them.
impl Reading for Walk {
    fn read<D: Domain>(&self, d: &mut D, target: &D::I, record: Record<D>) {
        walk(d, *self, LENGTH, (target, Seeks::OneRow), &|d, all| all.iter().for_each(|x| record(d, x)));
    }
}

/// Pieces of a level from the target on, each with its end, and the positions that it says.
impl Reading for Level {
    fn read<D: Domain>(&self, d: &mut D, target: &D::I, record: Record<D>) {
        let (begin, kind) = (d.int(1), self.kind());
        let (one, array) = (d.int(1), BufferId(2));
        let end = d.load(array, &one);
        let end = d.snapshot("end", end);
        let view = View { start: Some(target.clone()), ..View::default() };
        let list = ListFiber { view, ..ListFiber::unique(BufferId(0), begin, end) };
        let extent = d.int(EXTENT as i64);
        let again = list.clone();
        let pieces = Pieces::open(d, "p", kind, list, extent.clone());
        let (found, position) = pieces.find(d, "p", target);
        let always = d.compare(Compare::Eq, target, target);
        let found = d.to_int(&found.unwrap_or(always));
        // Where something is not found its position is nobody's.
        let asked = d.arith(Arith::Mul, &found, &position);
        record(d, &found);
        record(d, &asked);
        let from = d.state("from", target.clone());
        let left = |d: &mut D| {
            let from = d.get(from);
            d.compare(Compare::Lt, &from, &extent)
        };
        d.repeat(&left, &mut |d| {
            let end = pieces.end(d);
            let end = d.snapshot("end", end);
            record(d, &end);
            match kind {
                Kind::Runs => {
                    let number = pieces.number(d, "p");
                    record(d, &number);
                }
                Kind::Blocks(_) => {
                    let Interval { start, stop, base } = pieces.block(d, "p");
                    [start, stop, base].iter().for_each(|x| record(d, x));
                }
                Kind::Packed(_) => {
                    let (lookup, base, begin) = pieces.packed(d, "p");
                    let lookup = d.to_int(&lookup);
                    [lookup, base, begin].iter().for_each(|x| record(d, x));
                }
            }
            let always = d.compare(Compare::Le, &end, &end);
            pieces.leave_if(d, &always);
            d.set(from, end);
        });
        if let Kind::Blocks(_) = kind {
            let pieces = Pieces::open(d, "b", kind, again, extent);
            block_by_block(d, &pieces, record);
        }
    }
}

fn block_by_block<D: Domain>(d: &mut D, pieces: &Pieces<D::I>, record: Record<D>) {
    let left = pieces.left(d);
    record(d, &left);
    d.repeat(&|d| pieces.valid(d), &mut |d| {
        let Interval { start, stop, base } = pieces.certain_block(d, "b");
        [start, stop, base].iter().for_each(|x| record(d, x));
        pieces.leave(d);
    });
}

/// The interval of the second of three fibers: of a band, or of a ragged level; there, or absent.
#[derive(Debug)]
struct Opened {
    band: bool,
    present: Option<bool>,
}

impl Reading for Opened {
    fn read<D: Domain>(&self, d: &mut D, _: &D::I, record: Record<D>) {
        let (zero, one) = (d.int(0), d.int(1));
        let present = self.present.map(|present| d.compare(Compare::Lt, &zero, if present { &one } else { &zero }));
        let arrays = (BufferId(0), self.band.then_some(BufferId(1)));
        let Interval { start, stop, base } = Interval::open(d, "B", arrays, &one, present.as_ref());
        [start, stop, base].iter().for_each(|x| record(d, x));
    }
}

fn run(reading: &impl Reading, arrays: &[Vec<i64>], target: i64) -> Vec<i64> {
    let slices: Vec<&[i64]> = arrays.iter().map(|a| &a[..]).collect();
    let mut d = Concrete::new(&slices, 200);
    let seen = std::cell::RefCell::new(vec![]);
    reading.read(&mut d, &target, &|_, x| seen.borrow_mut().push(*x));
    assert_eq!(d.fault(), None, "{reading:?} {arrays:?}");
    seen.into_inner()
}

/// The kernel that records the same numbers in its result.
fn emit(reading: &impl Reading, arrays: usize, index: Type) -> Kernel {
    let mut d = Symbolic::default();
    (0..arrays).for_each(|n| {
        d.buffer(&format!("a{n}"), index, Role::Operand);
    });
    let seen = d.buffer("seen", Type::I64, Role::Result);
    let target = d.fresh("target", Type::I64);
    let room = d.int(128);
    let len = d.place(&room);
    d.call(Entry::Alloc { buffer: seen, len, fill: None });
    let zero = d.int(0);
    let count = d.state("count", zero);
    reading.read(&mut d, &Term::fixed(Expr::Var(target)), &|d, x| {
        let at = d.get(count);
        let (at, x) = (d.place(&at), d.place(x));
        d.emit(Stmt::Store(seen, at, x));
        let one = d.int(1);
        d.advance(count, one);
    });
    d.call(Entry::Finish { buffer: seen, len: Expr::Var(Var(count.0)) });
    let (vars, buffers, body) = d.finish();
    let params = vec![target];
    Kernel {
        name: "reading".to_string(),
        vars,
        params,
        buffers,
        body,
        arguments: vec![],
        solved: vec![],
        given: vec![],
        reassociate: false,
        hints: Default::default(),
    }
}

fn interpret(kernel: &Kernel, arrays: &[Vec<i64>], target: i64) -> Vec<i64> {
    let index = kernel.buffers[0].ty;
    let arrays: Vec<Array> = arrays.iter().map(|a| Array::from_indices(index, a).unwrap()).collect();
    let operands: Vec<Option<&Array>> = arrays.iter().map(Some).chain([None]).collect();
    let outcome = machine::run(kernel, &[target], &operands, &machine::Limits::default());
    let outcome = outcome.unwrap_or_else(|e| panic!("{e}\n{arrays:?}\n{kernel}"));
    let seen = outcome.buffers.last().unwrap().as_ref().unwrap();
    (0..seen.len()).map(|i| seen.index(i)).collect()
}

/// On every choice of arrays and a target both readings record the same; how many choices there were.
fn both(
    reading: &impl Reading,
    count: usize,
    mut data: impl FnMut(&mut exhaustigen::Gen) -> (Vec<Vec<i64>>, i64),
) -> usize {
    let kernels = [Type::I32, Type::I64].map(|index| emit(reading, count, index));
    kernels.iter().for_each(|kernel| assert_eq!(loops::check(kernel), Ok(()), "{kernel}"));
    every(|c| {
        let (arrays, target) = data(c);
        let ran = run(reading, &arrays, target);
        for kernel in &kernels {
            assert_eq!(interpret(kernel, &arrays, target), ran, "{reading:?} {arrays:?} {target}\n{kernel}");
        }
    })
}

fn agree(data: Data, programs: &[Program]) {
    for program in programs {
        // Only these ask for a target.
        let targets = if matches!(program, Program::Seek | Program::CatchUp | Program::ComeNear | Program::Gallop) {
            data.extent
        } else {
            0
        };
        let runs = both(&(*program, data), 2 * data.lists, |c| (choose(c, data), c.upto(targets as usize) as i64));
        assert!(runs >= 30, "{program:?}: only {runs} data");
    }
}

#[test]
fn two_lists() {
    agree(Data { lists: 2, entries: 3, extent: 4, repeats: false, view: None }, &PROGRAMS);
}

#[test]
fn two_repeating_lists() {
    agree(Data { lists: 2, entries: 3, extent: 3, repeats: true, view: None }, &not_flat());
}

/// Flat unions take no list that repeats.
fn not_flat() -> Vec<Program> {
    PROGRAMS.into_iter().filter(|p| !matches!(p, Program::UniteFlat)).collect()
}

#[test]
fn a_list_under_a_view() {
    let strided = |shift, stride, start, stop| Seen { shift, stride: Some(stride), blocks: None, start, stop };
    for view in [strided(1, 1, 1, 3), strided(0, 2, 0, 4)] {
        agree(Data { lists: 2, entries: 3, extent: 4, repeats: false, view: Some(view) }, &PROGRAMS);
    }
    let view = Some(strided(1, 2, 1, 3));
    agree(Data { lists: 2, entries: 3, extent: 3, repeats: true, view }, &not_flat());
}

#[test]
fn a_list_in_blocks() {
    let view = Some(Seen { shift: 1, stride: None, blocks: Some(2), start: 1, stop: 5 });
    for repeats in [false, true].into_iter().filter(|repeats| *repeats || crate::all_is_tried()) {
        agree(Data { lists: 2, entries: 3, extent: 4, repeats, view }, &not_flat());
    }
}

/// Bounds: two lists of up to 3 positions below 4, one of them under a view; and two of up to 10, in steps, which blocks of entries are
/// left of.
#[test]
fn lists_that_meet_by_lanes() {
    let window = Seen { shift: 1, stride: None, blocks: None, start: 1, stop: 3 };
    for view in [None, Some(window)] {
        agree(Data { lists: 2, entries: 3, extent: 4, repeats: false, view }, &[Program::MeetLanes]);
        let long = Data { lists: 2, entries: 10, extent: 64, repeats: false, view };
        let runs = both(&(Program::MeetLanes, long), 4, |c| {
            let mut list = || {
                let (length, from, step) = (c.upto(10) as i64, 3 * c.upto(2) as i64, 1 + c.upto(1) as i64);
                let crd = (-1..=length).map(|k| from + 1 + step * k).collect();
                [vec![1, 1 + length], crd]
            };
            ([list(), list()].concat(), 0)
        });
        assert_eq!(runs, 66 * 66);
    }
}

#[test]
fn nested_products() {
    for walk in WALKS {
        let targets = if walk == Walk::From { 2 * LENGTH } else { 0 };
        let data = |c: &mut exhaustigen::Gen| {
            let operands = Operands::choose(c, LENGTH);
            let arrays = operands.arrays.into_iter().flat_map(|(pos, crd)| [pos, crd]).collect();
            (arrays, c.upto(targets as usize) as i64)
        };
        assert!(both(&walk, 6, data) > 1_000);
    }
}

#[test]
fn pieces_of_levels() {
    for (level, least) in [(Level::Runs, 80), (Level::Blocks, 80), (Level::Packed, 80), (Level::Aligned, 40)] {
        let data = |c: &mut exhaustigen::Gen| {
            let fiber = Fiber::choose(c, level);
            let [crd, ofs] = fiber.arrays().map(<[i64]>::to_vec);
            let bounds = vec![1, crd.len() as i64 - 1];
            (vec![crd, ofs, bounds], c.upto(EXTENT - 1) as i64)
        };
        assert!(both(&level, 3, data) >= least);
    }
}

#[test]
fn intervals() {
    let all = [None, Some(true), Some(false)].into_iter().flat_map(|p| [(true, p), (false, p)]);
    for (band, present) in all {
        let runs = both(&Opened { band, present }, 2, |c| {
            let first = c.upto(EXTENT) as i64;
            let length = c.upto(EXTENT - first as usize) as i64;
            (vec![vec![0, 2, 2 + length, 4 + length], vec![3, first, 0]], 0)
        });
        assert_eq!(runs, 21);
    }
}

#[test]
fn three_lists() {
    let three = Data { lists: 3, entries: 2, extent: 3, repeats: false, view: None };
    agree(three, &[Program::Intersect, Program::Wide, Program::WideWhileFirst]);
}

/// The comparison notices a reading that does otherwise.
#[test]
#[should_panic(expected = "assertion `left == right` failed")]
fn a_wrong_emission_is_noticed() {
    let data = Data { lists: 2, entries: 3, extent: 4, repeats: false, view: None };
    let reading = (Program::Intersect, data);
    let mut kernel = emit(&reading, 4, Type::I64);
    let turns = kernel.body.iter_mut().find_map(|s| if let Stmt::While(_, body) = s { Some(body) } else { None });
    let body = turns.unwrap();
    let first = body.iter().position(|s| matches!(s, Stmt::If(..))).unwrap();
    let Stmt::If(condition, ..) = &mut body[first] else { unreachable!() };
    *condition = Expr::Const(fiberloom_core::algebra::Value::bool(true));
    every(|c| {
        let fibers = choose(c, data);
        assert_eq!(interpret(&kernel, &fibers, 0), run(&reading, &fibers, 0));
    });
}
