//! One definition, two readings: what `Symbolic` emits does what `Concrete` does.
//!
//! ```text
//!            ┌ Concrete: run on slices ─────────────────────────────▶ what it recorded ┐
//!  Program ──┤                                                                         ├ equal, on every data
//!            └ Symbolic: emitted once ──check──▶ the checked interpreter of loops ─────▶┘
//! ```
//!
//! The interpreter also sees that no emitted load leaves its array or reads what was never set. Bounds: two lists of
//! up to 3 positions below 4 (below 3 where coordinates repeat) and every target, three lists of up to 2 below 3; both
//! widths of indices.

use crate::choose::{Choose, every};
use fiberloom_core::algebra::Type;
use fiberloom_core::format::Array;
use fiberloom_core::loops::{self, BufferId, Entry, Expr, Kernel, Role, Stmt, Var};
use fiberloom_core::stream::{
    Concrete, Domain, List, ListFiber, Shift, Side, Symbolic, Term, View, bounds, intersect, leap, unite_flat,
    unite_two, wide,
};
use fiberloom_semantics::machine;

/// What an iterator can be asked to do, each thing by itself.
#[derive(Clone, Copy, Debug)]
enum Program {
    /// Every entry of the first list, by `next`.
    Next,
    /// The same by the counted loop.
    Each,
    /// Where the first list is after a seek, and whether it found its target.
    Seek,
    /// The same one by one.
    CatchUp,
    /// The same by leaps.
    Gallop,
    /// The coordinates of all lists.
    Intersect,
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

const PROGRAMS: [Program; 11] = [
    Program::Next,
    Program::Each,
    Program::Seek,
    Program::CatchUp,
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
    /// How the first list is seen: shift, stride, start and stop.
    view: Option<[i64; 4]>,
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
            Program::Seek => {
                first.seek(d, target);
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
    if let Some(end) = entry.end {
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
fn choose(c: &mut impl Choose, data: Data) -> Vec<(Vec<i64>, Vec<i64>)> {
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
        (pos, crd)
    };
    (0..lists).map(fiber).collect()
}

fn open<D: Domain>(d: &mut D, data: Data) -> Vec<List<D::I>> {
    let open = |n: usize| {
        let (pos, crd) = (BufferId(2 * n as u32), BufferId(2 * n as u32 + 1));
        let root = d.int(0);
        let (begin, end) = bounds(d, pos, &root);
        let (begin, end) = (d.snapshot("begin", begin), d.snapshot("end", end));
        let view = data.view.filter(|_| n == 0).map_or_else(View::default, |view| {
            let [shift, stride, start, stop] = view.map(|x| Some(d.int(x)));
            View { shift: shift.map(Shift::Up), stride, start, stop, finger: None }
        });
        List::open(d, "p", ListFiber { crd, begin, end, repeats: data.repeats, view })
    };
    (0..data.lists).map(open).collect()
}

fn run(program: Program, data: Data, fibers: &[(Vec<i64>, Vec<i64>)], target: i64) -> Vec<i64> {
    let arrays: Vec<&[i64]> = fibers.iter().flat_map(|(pos, crd)| [&pos[..], &crd[..]]).collect();
    let mut d = Concrete::new(&arrays, 200);
    let lists = open(&mut d, data);
    let seen = std::cell::RefCell::new(vec![]);
    program.run(&mut d, &lists, &target, &|_, x| seen.borrow_mut().push(*x));
    assert_eq!(d.fault(), None, "{program:?} {fibers:?}");
    seen.into_inner()
}

/// The kernel that records the same numbers in its result.
fn emit(program: Program, data: Data, index: Type) -> Kernel {
    let mut d = Symbolic::default();
    for n in 0..data.lists {
        d.buffer(&format!("pos{n}"), index, Role::Operand);
        d.buffer(&format!("crd{n}"), index, Role::Operand);
    }
    let seen = d.buffer("seen", Type::I64, Role::Result);
    let target = d.fresh("target", Type::I64);
    let room = d.int(64);
    let len = d.place(&room);
    d.call(Entry::Alloc { buffer: seen, len, fill: None });
    let zero = d.int(0);
    let count = d.state("count", zero);
    let opened = open(&mut d, data);
    program.run(&mut d, &opened, &Term::fixed(Expr::Var(target)), &|d, x| {
        let at = d.get(count);
        let (at, x) = (d.place(&at), d.place(x));
        d.emit(Stmt::Store(seen, at, x));
        let one = d.int(1);
        d.advance(count, one);
    });
    d.call(Entry::Finish { buffer: seen, len: Expr::Var(Var(count.0)) });
    let (vars, buffers, body) = d.finish();
    let (name, params) = (format!("{program:?}"), vec![target]);
    Kernel { name, vars, params, buffers, body, arguments: vec![], reassociate: false }
}

fn interpret(kernel: &Kernel, fibers: &[(Vec<i64>, Vec<i64>)], target: i64) -> Vec<i64> {
    let array = |x: &[i64]| Array::from_indices(kernel.buffers[0].ty, x).unwrap();
    let arrays: Vec<Array> = fibers.iter().flat_map(|(pos, crd)| [array(pos), array(crd)]).collect();
    let operands: Vec<Option<&Array>> = arrays.iter().map(Some).chain([None]).collect();
    let outcome = machine::run(kernel, &[target], &operands, &machine::Limits::default());
    let outcome = outcome.unwrap_or_else(|e| panic!("{e}\n{fibers:?}\n{kernel}"));
    let seen = outcome.buffers.last().unwrap().as_ref().unwrap();
    (0..seen.len()).map(|i| seen.index(i)).collect()
}

fn agree(data: Data, programs: &[Program]) {
    for index in [Type::I32, Type::I64] {
        for program in programs {
            let kernel = emit(*program, data, index);
            assert_eq!(loops::check(&kernel), Ok(()), "{kernel}");
            // Only these ask for a target.
            let targets =
                if matches!(program, Program::Seek | Program::CatchUp | Program::Gallop) { data.extent } else { 0 };
            let runs = every(|c| {
                let fibers = choose(c, data);
                let target = c.upto(targets as usize) as i64;
                let ran = run(*program, data, &fibers, target);
                assert_eq!(interpret(&kernel, &fibers, target), ran, "{fibers:?}\n{kernel}");
            });
            assert!(runs >= 60, "{program:?}: only {runs} data");
        }
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
    for view in [[1, 1, 1, 3], [0, 2, 0, 4]] {
        agree(Data { lists: 2, entries: 3, extent: 4, repeats: false, view: Some(view) }, &PROGRAMS);
    }
    agree(Data { lists: 2, entries: 3, extent: 3, repeats: true, view: Some([1, 2, 1, 3]) }, &not_flat());
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
    let mut kernel = emit(Program::Intersect, data, Type::I64);
    let turns = kernel.body.iter_mut().find_map(|s| if let Stmt::While(_, body) = s { Some(body) } else { None });
    let body = turns.unwrap();
    let first = body.iter().position(|s| matches!(s, Stmt::If(..))).unwrap();
    let Stmt::If(condition, ..) = &mut body[first] else { unreachable!() };
    *condition = Expr::Const(fiberloom_core::algebra::Value::bool(true));
    every(|c| {
        let fibers = choose(c, data);
        assert_eq!(interpret(&kernel, &fibers, 0), run(Program::Intersect, data, &fibers, 0));
    });
}
