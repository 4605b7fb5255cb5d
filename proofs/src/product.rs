//! Laws of products and projections, as nested loops walk them: two levels as one list of coordinates `L·i + j`, × in the shape
//! paper, and one list as two levels, its π₀ and π₁.
//!
//! ```text
//!   levels   i      0   2            × a loop over i, and in it one over j: L = 3    1 6 8
//!            j      1   0 2
//!   list     k      1 2     7        π₀ in blocks: 0 and 2, each the positions that it holds    π₁ in a block: 1 2, then 1
//! ```
//!
//! × has no iterator of its own: a nest of loops has no coordinate to compare that a flat one would have, and its seek is the outer
//! list's by the quotient, then the inner one's by the rest. What lowering nests is nested here, of the same iterators.
//!
//! Source: the product and projection iterators of the shape paper, section 7. What the laws are of is [`View::blocks`].

use crate::choose::Choose;
use crate::stream::{Broken, Fiber};
use fiberloom_loops::BufferId;
use fiberloom_loops::stream::{
    Arith, Compare, Concrete, Domain, Entry, List, ListFiber, Shift, Side, View, bounds, each, intersect, unite_two,
};
use std::cell::RefCell;
use std::ops::Range;

/// Turns that any loop may take.
const FUEL: u32 = 200;

/// Stored coordinates are below this.
pub const EXTENT: usize = 6;

/// Blocks `c + L·i .. c + L·(i + 1)` for `i` in `lo..hi`.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    c: i64,
    length: i64,
    lo: i64,
    hi: i64,
}

impl Blocks {
    /// Any of which some coordinates are below the extent; where they begin below 0, a range is of those that do not.
    pub fn choose(c: &mut impl Choose) -> Blocks {
        let (shift, length) = (c.upto(2) as i64 - 1, 1 + c.upto(3) as i64);
        let lo = (shift < 0) as i64 * c.upto(1) as i64 + c.upto(1) as i64;
        Blocks { c: shift, length, lo, hi: lo + c.upto(3) as i64 }
    }

    /// Where a stored coordinate is: its block, and how far behind where that begins.
    fn of(&self, stored: i64) -> Option<(i64, i64)> {
        let far = stored - self.c;
        let (i, j) = (far.div_euclid(self.length), far.rem_euclid(self.length));
        (self.lo <= i && i < self.hi).then_some((i, j))
    }
}

/// The view of blocks; the compiler's, or a wrong one.
pub type Viewing = fn(Blocks) -> View<i64>;

/// What the compiler makes.
pub const BLOCKS: Viewing = |b| {
    let (start, stop) = (b.c + b.length * b.lo, b.c + b.length * b.hi);
    View {
        shift: (b.c != 0).then_some(if b.c > 0 { Shift::Up(b.c) } else { Shift::Down(-b.c) }),
        blocks: Some(b.length),
        extent: (stop > EXTENT as i64).then_some(EXTENT as i64),
        start: (start > 0).then_some(start),
        stop: (stop < EXTENT as i64).then_some(stop),
        ..View::default()
    }
};

/// A block, by its coordinate, and the positions of its entries.
type Block = (i64, Range<i64>);

fn resting(list: &List<i64>, d: &mut Concrete) -> Option<Block> {
    let Entry { position, run } = list.entry(d);
    let end = run.expect("blocks are runs").end(d);
    list.valid(d).then(|| (list.index(d), position..end))
}

/// How a list in blocks comes to the first at or after a coordinate.
pub type Seeking = fn(&List<i64>, &mut Concrete, i64);

/// The compiler's ways.
pub const SEEKING: [Seeking; 4] =
    [|l, d, i| l.seek(d, &i), |l, d, i| l.gallop(d, &i), |l, d, i| l.catch_up(d, &i), |l, d, i| l.come_near(d, &i)];

/// The blocks that have an entry, by the definition.
fn wanted(fiber: &Fiber, blocks: Blocks) -> Vec<Block> {
    let mut wanted: Vec<Block> = vec![];
    for (stored, run) in fiber.entries() {
        let Some((i, _)) = blocks.of(stored) else { continue };
        match wanted.last_mut().filter(|(last, _)| *last == i) {
            Some((_, positions)) => positions.end = run.end as i64,
            None => wanted.push((i, run.start as i64..run.end as i64)),
        }
    }
    wanted
}

/// *Blocks are those of the entries*: `next`, `next_if` and `each` come to every block that has an entry and to no other, in order, with
/// all of its positions; every seek, from the first block or the second, to the first at or after its target; in each block a shifted
/// view sees its entries where the rests are.
pub fn blocks_are_seen(
    fiber: &Fiber,
    (blocks, target): (Blocks, i64),
    view: Viewing,
    seeking: &[Seeking],
) -> Result<(), Broken> {
    let wanted = wanted(fiber, blocks);
    let arrays: [&[i64]; 1] = [fiber.array()];
    let seen = ListFiber { view: view(blocks), ..fiber.from(1) };
    let opened = |walk: &dyn Fn(&mut Concrete, &List<i64>) -> Vec<Block>| {
        let mut d = Concrete::new(&arrays, FUEL);
        let list = List::open(&mut d, "p", seen.clone());
        let came = walk(&mut d, &list);
        d.fault().map_or(Ok(came), Err)
    };
    let next = opened(&|d, list| {
        let mut all = vec![];
        while let Some(block) = resting(list, d).filter(|_| all.len() < EXTENT) {
            list.next_if(d, &false);
            all.push(block);
            if all.len() % 2 == 0 { list.next(d) } else { list.next_if(d, &true) }
        }
        all
    })?;
    let mut d = Concrete::new(&arrays, FUEL);
    let mut all = vec![];
    each(&mut d, "p", &seen, &mut |d, entry, at| {
        all.push((at, entry.position..entry.run.expect("blocks are runs").end(d)));
    });
    d.fault().map_or(Ok(()), Err)?;
    if next != wanted || all != wanted {
        return Err("a block is not where its entries are");
    }
    for (seek, steps) in seeking.iter().flat_map(|seek| [(seek, 0), (seek, 1)]) {
        let steps = steps.min(wanted.len());
        let landed = opened(&|d, list| {
            (0..steps).for_each(|_| list.next(d));
            seek(list, d, target);
            resting(list, d).into_iter().collect()
        })?;
        let first = wanted[steps..].iter().find(|(i, _)| *i >= target);
        if landed.first() != first {
            return Err("a seek does not land on the first block at or after its target");
        }
    }
    wanted.into_iter().try_for_each(|block| rests_are_seen(fiber, blocks, block))
}

/// In a block the entries are seen where the rests are.
fn rests_are_seen(fiber: &Fiber, blocks: Blocks, (at, Range { start: begin, end }): Block) -> Result<(), Broken> {
    let from = blocks.c + blocks.length * at;
    let shift = if from < 0 { Shift::Down(-from) } else { Shift::Up(from) };
    let view = View { shift: Some(shift), ..View::default() };
    let arrays: [&[i64]; 1] = [fiber.array()];
    let (mut d, mut seen) = (Concrete::new(&arrays, FUEL), vec![]);
    each(&mut d, "p", &ListFiber { begin, end, view, ..fiber.from(1) }, &mut |_, entry, j| {
        seen.push((j, entry.position))
    });
    let of = |(stored, run): (i64, Range<usize>)| blocks.of(stored).map(|(i, j)| (i, j, run.start as i64));
    let wanted = fiber.entries().filter_map(of).filter(|(i, ..)| *i == at).map(|(_, j, p)| (j, p));
    match d.fault() {
        Some(fault) => Err(fault),
        None if !wanted.eq(seen) => Err("a block is not where its entries are"),
        None => Ok(()),
    }
}

/// The law of blocks on one choice of data. A target before the range is one that no loop has.
pub fn block_laws(c: &mut impl Choose) {
    let (fiber, blocks) = (Fiber::within(c, 3, EXTENT), Blocks::choose(c));
    let target = blocks.lo + c.upto(3) as i64;
    assert_eq!(blocks_are_seen(&fiber, (blocks, target), BLOCKS, &SEEKING), Ok(()), "{fiber:?} {blocks:?} {target}");
}

/// Two levels of lists below `rows` and `length`, and a list below their product: `pos` and `crd` of each, with a stranger's entry before
/// and behind.
#[derive(Clone, Debug)]
pub struct Operands {
    /// Of the outer level, the inner level, the list.
    pub arrays: [(Vec<i64>, Vec<i64>); 3],
    /// How many coordinates the inner level has.
    pub length: i64,
}

/// Coordinates of the outer level.
const ROWS: i64 = 2;

/// Coordinates of the inner level.
pub const LENGTH: i64 = 3;

impl Operands {
    /// Any: each coordinate is there or not; a row that is there may be empty.
    pub fn choose(c: &mut impl Choose, length: i64) -> Operands {
        let mut some = |of: i64| -> Vec<i64> { (0..of).filter(|_| c.flag()).collect() };
        let outer = some(ROWS);
        let inner: Vec<Vec<i64>> = outer.iter().map(|_| some(length)).collect();
        let list = some(ROWS * length);
        let fenced = |crd: &[i64]| [&[length][..], crd, &[0]].concat();
        let mut pos = vec![0, 1];
        inner.iter().for_each(|row| pos.push(pos[pos.len() - 1] + row.len() as i64));
        let one = |crd: &[i64]| (vec![1, 1 + crd.len() as i64], fenced(crd));
        Operands { arrays: [one(&outer), (pos, fenced(&inner.concat())), one(&list)], length }
    }

    /// The entries of the levels, as coordinates `L·i + j` and positions; and those of the list.
    fn entries(&self) -> [Vec<(i64, i64)>; 2] {
        let [(outer_pos, outer), (pos, inner), (list_pos, list)] = &self.arrays;
        let rows = outer_pos[0]..outer_pos[1];
        let row = |p: i64| (pos[p as usize]..pos[p as usize + 1]).map(move |q| (p, q));
        let at = |(p, q): (i64, i64)| (self.length * outer[p as usize] + inner[q as usize], q);
        let levels = rows.flat_map(row).map(at).collect();
        [levels, (list_pos[0]..list_pos[1]).map(|p| (list[p as usize], p)).collect()]
    }
}

/// How a product is walked, alone or beside a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// Every entry of the levels.
    Alone,
    /// From the first at or after a coordinate.
    From,
    /// Where both have an entry, the list's row by row from where a finger stays.
    MeetByFinger,
    /// The same, rows and blocks intersected.
    Meet,
    /// Where either has one, rows and blocks united.
    Unite,
}

/// Every way.
pub const WALKS: [Walk; 5] = [Walk::Alone, Walk::From, Walk::MeetByFinger, Walk::Meet, Walk::Unite];

/// Takes down a coordinate, and the positions in the levels and in the list, 0 where there is none.
pub type Record<'r, D> = &'r dyn Fn(&mut D, [&<D as Domain>::I; 3]);

/// The lists that nests open.
struct Nest<D: Domain> {
    length: i64,
    target: D::I,
}

impl<D: Domain> Nest<D> {
    fn fiber(d: &mut D, n: u32, parent: &D::I) -> ListFiber<D::I> {
        let (begin, end) = bounds(d, BufferId(2 * n), parent);
        let (begin, end) = (d.snapshot("begin", begin), d.snapshot("end", end));
        ListFiber::unique(BufferId(2 * n + 1), begin, end)
    }

    fn row(d: &mut D, rows: &List<D::I>) -> ListFiber<D::I> {
        let entry = rows.entry(d);
        Nest::fiber(d, 1, &entry.position)
    }

    fn begins(&self, d: &mut D, i: &D::I) -> D::I {
        let length = d.int(self.length);
        let begin = d.arith(Arith::Mul, i, &length);
        d.snapshot("begins", begin)
    }

    /// The block that the list rests on, as seen inside.
    fn block(&self, d: &mut D, blocks: &List<D::I>, i: &D::I) -> ListFiber<D::I> {
        let (from, entry) = (self.begins(d, i), blocks.entry(d));
        let view = View { shift: Some(Shift::Up(from)), ..View::default() };
        let end = entry.run.expect("blocks are runs").end(d);
        ListFiber { view, ..ListFiber::unique(blocks.coordinates(), entry.position, end) }
    }

    fn record(&self, d: &mut D, (i, j): (&D::I, &D::I), [p, q]: [Option<&List<D::I>>; 2], record: Record<D>) {
        let begin = self.begins(d, i);
        let at = d.arith(Arith::Add, &begin, j);
        let position = |d: &mut D, list: Option<&List<D::I>>| match list {
            Some(list) => list.entry(d).position,
            None => d.int(0),
        };
        let (p, q) = (position(d, p), position(d, q));
        record(d, [&at, &p, &q]);
    }

    /// What is left of a row, or of a block.
    fn tail(&self, d: &mut D, i: &D::I, list: &List<D::I>, side: Side, to: Record<D>) {
        list.each(d, "p", &mut |d, entry| {
            let j = list.coordinate(d, &entry);
            let (zero, begin) = (d.int(0), self.begins(d, i));
            let at = d.arith(Arith::Add, &begin, &j);
            match side {
                Side::First => to(d, [&at, &entry.position, &zero]),
                _ => to(d, [&at, &zero, &entry.position]),
            }
        });
    }

    /// What is left of rows, or of blocks.
    fn tails(&self, d: &mut D, rows: &List<D::I>, side: Side, to: Record<D>) {
        rows.each(d, "o", &mut |d, entry| {
            let i = rows.coordinate(d, &entry);
            let i = d.snapshot("i", i);
            let inner = match side {
                Side::First => Nest::fiber(d, 1, &entry.position),
                _ => self.block(d, rows, &i),
            };
            let inner = List::open(d, "p", inner);
            self.tail(d, &i, &inner, side, to);
        });
    }

    fn both(&self, d: &mut D, i: &D::I, [row, block]: [ListFiber<D::I>; 2], to: Record<D>) {
        let (row, block) = (List::open(d, "p", row), List::open(d, "q", block));
        intersect(d, &[&row, &block], &mut |d, j| self.record(d, (i, j), [Some(&row), Some(&block)], to));
    }

    fn either(&self, d: &mut D, i: &D::I, [row, block]: [ListFiber<D::I>; 2], to: Record<D>) {
        let (row, block) = (List::open(d, "p", row), List::open(d, "q", block));
        unite_two(d, &row, &block, &mut |d, side, j| {
            let present = match side {
                Side::Both => [Some(&row), Some(&block)],
                Side::First => [Some(&row), None],
                Side::Second => [None, Some(&block)],
            };
            self.record(d, (i, j), present, to);
        });
        self.tail(d, i, &row, Side::First, to);
        self.tail(d, i, &block, Side::Second, to);
    }

    /// The first row at or after the target's, and in it, if it is the target's, the first entry at or after the rest.
    fn from(&self, d: &mut D, rows: &List<D::I>, seeks: Seeks, to: Record<D>) {
        let length = d.int(self.length);
        let (row, rest) = (d.arith(Arith::Div, &self.target, &length), d.arith(Arith::Rem, &self.target, &length));
        let (row, rest) = (d.snapshot("row", row), d.snapshot("rest", rest));
        rows.seek(d, &row);
        rows.each(d, "o", &mut |d, entry| {
            let i = rows.coordinate(d, &entry);
            let i = d.snapshot("i", i);
            let inner = Nest::fiber(d, 1, &entry.position);
            let inner = List::open(d, "p", inner);
            let here = match seeks {
                Seeks::OneRow => d.compare(Compare::Eq, &i, &row),
                Seeks::EveryRow => d.compare(Compare::Eq, &i, &i),
            };
            d.branch(here, &mut |d| inner.seek(d, &rest), &mut |_| {});
            self.tail(d, &i, &inner, Side::First, to);
        });
    }
}

/// In which rows the rest of a target is sought.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Seeks {
    /// In the target's.
    OneRow,
    /// In every one: wrong.
    EveryRow,
}

/// A product walked as lowering walks it.
pub fn walk<D: Domain>(d: &mut D, walk: Walk, length: i64, (target, seeks): (&D::I, Seeks), to: Record<D>) {
    let nest = Nest::<D> { length, target: target.clone() };
    let root = d.int(0);
    let rows = Nest::fiber(d, 0, &root);
    let list = Nest::fiber(d, 2, &root);
    let view = View { blocks: Some(d.int(length)), ..View::default() };
    let in_blocks = ListFiber { view, ..list.clone() };
    match walk {
        Walk::Alone => {
            let rows = List::open(d, "o", rows);
            nest.tails(d, &rows, Side::First, to);
        }
        Walk::From => {
            let rows = List::open(d, "o", rows);
            nest.from(d, &rows, seeks, to);
        }
        Walk::MeetByFinger => {
            let finger = Some(d.state("f", list.begin.clone()));
            each(d, "o", &rows, &mut |d, entry, i| {
                let i = d.snapshot("i", i);
                let (row, start) = (Nest::fiber(d, 1, &entry.position), nest.begins(d, &i));
                let stop = d.int(length);
                let stop = d.arith(Arith::Add, &start, &stop);
                let stop = Some(d.snapshot("stop", stop));
                let view =
                    View { shift: Some(Shift::Up(start.clone())), start: Some(start), stop, finger, ..View::default() };
                nest.both(d, &i, [row, ListFiber { view, ..list.clone() }], to);
            });
        }
        Walk::Meet => {
            let (rows, blocks) = (List::open(d, "o", rows), List::open(d, "b", in_blocks));
            intersect(d, &[&rows, &blocks], &mut |d, i| {
                let inner = [Nest::row(d, &rows), nest.block(d, &blocks, i)];
                nest.both(d, i, inner, to);
            });
        }
        Walk::Unite => {
            let (rows, blocks) = (List::open(d, "o", rows), List::open(d, "b", in_blocks));
            unite_two(d, &rows, &blocks, &mut |d, side, i| match side {
                Side::Both => {
                    let inner = [Nest::row(d, &rows), nest.block(d, &blocks, i)];
                    nest.either(d, i, inner, to);
                }
                Side::First => {
                    let row = Nest::row(d, &rows);
                    let row = List::open(d, "p", row);
                    nest.tail(d, i, &row, Side::First, to);
                }
                Side::Second => {
                    let block = nest.block(d, &blocks, i);
                    let block = List::open(d, "p", block);
                    nest.tail(d, i, &block, Side::Second, to);
                }
            });
            nest.tails(d, &rows, Side::First, to);
            nest.tails(d, &blocks, Side::Second, to);
        }
    }
}

/// *A product is one list*: however it is walked, its coordinates ascend, and it comes to those that are asked for, with their
/// positions.
pub fn products_are_lists(of: &Operands, how: Walk, length: i64, target: i64, seeks: Seeks) -> Result<(), Broken> {
    let [levels, list] = of.entries();
    let position = |of: &[(i64, i64)], at: i64| of.iter().find(|(k, _)| *k == at).map_or(0, |(_, p)| *p);
    let all = (0..ROWS * of.length).map(|k| [k, position(&levels, k), position(&list, k)]);
    let wanted = all.filter(|[k, p, q]| match how {
        Walk::Alone => *p > 0,
        Walk::From => *p > 0 && *k >= target,
        Walk::MeetByFinger | Walk::Meet => *p > 0 && *q > 0,
        Walk::Unite => *p > 0 || *q > 0,
    });
    let alone = matches!(how, Walk::Alone | Walk::From);
    let wanted: Vec<[i64; 3]> = wanted.map(|[k, p, q]| [k, p, if alone { 0 } else { q }]).collect();
    let arrays: Vec<&[i64]> = of.arrays.iter().flat_map(|(pos, crd)| [&pos[..], &crd[..]]).collect();
    let mut d = Concrete::new(&arrays, FUEL);
    let seen = RefCell::new(vec![]);
    walk(&mut d, how, length, (&target, seeks), &|_, [k, p, q]| seen.borrow_mut().push([*k, *p, *q]));
    match d.fault() {
        Some(fault) => Err(fault),
        None if seen.into_inner() != wanted => Err("a product comes to other coordinates"),
        None => Ok(()),
    }
}

/// The law of products on one choice of data.
pub fn product_laws(c: &mut impl Choose) {
    let (of, how) = (Operands::choose(c, LENGTH), WALKS[c.upto(WALKS.len() - 1)]);
    let target = if how == Walk::From { c.upto((ROWS * LENGTH) as usize) as i64 } else { 0 };
    assert_eq!(products_are_lists(&of, how, LENGTH, target, Seeks::OneRow), Ok(()), "{of:?} {how:?} {target}");
}

/// Bounds: fibers of at most 3 positions below 6, repeating or not; blocks of up to 4 coordinates from −1 to 1 on, ranges of up to 3
/// blocks; targets up to 3 behind the range's begin; loops unwound 65 times.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(66)]
fn projection_laws() {
    block_laws(&mut crate::choose::Any);
}

/// Bounds: two levels of 2 and 3 coordinates, a list of 6, alone or beside one another, each coordinate there or not; every target; loops
/// unwound 65 times.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(66)]
fn nested_product_laws() {
    product_laws(&mut crate::choose::Any);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::choose::every;
    use crate::wrong::Wrong;

    /// Bounds: as stated on the harness; every choice is run.
    #[test]
    fn every_block() {
        let runs = every(block_laws);
        assert!(runs > 10_000, "only {runs} choices");
    }

    /// Bounds: as stated on the harness; every choice is run.
    #[test]
    fn every_product() {
        let runs = every(product_laws);
        assert!(runs > 10_000, "only {runs} choices");
    }

    /// Blocks and products that are wrong in one thing each.
    pub fn wrong() -> Vec<Wrong> {
        let views: [(&str, Viewing); 5] = [
            ("blocks do not stop", |b| View { stop: None, ..BLOCKS(b) }),
            ("blocks are not sought", |b| View { start: None, ..BLOCKS(b) }),
            ("blocks are one coordinate longer", |b| View { blocks: Some(b.length + 1), ..BLOCKS(b) }),
            ("blocks are not shifted", |b| View { shift: None, ..BLOCKS(b) }),
            ("blocks are those of the coordinate before", |b| View { shift: Some(Shift::Up(b.c + 1)), ..BLOCKS(b) }),
        ];
        let seen = |what: &str, view: Viewing, seeking: &[Seeking]| {
            Wrong::on_all("blocks", what, |c| {
                let (fiber, blocks) = (Fiber::within(c, 2, EXTENT), Blocks::choose(c));
                let target = (blocks, blocks.lo + c.upto(1) as i64);
                blocks_are_seen(&fiber, target, view, seeking).err().into_iter().collect::<Vec<_>>()
            })
        };
        let walks = |what: &str, how: Walk, length: i64, seeks: Seeks| {
            Wrong::on_all("a product", what, move |c| {
                let of = Operands::choose(c, 2);
                let target = if how == Walk::From { c.upto(4) as i64 } else { 0 };
                products_are_lists(&of, how, length, target, seeks).err().into_iter().collect::<Vec<_>>()
            })
        };
        let mut all: Vec<Wrong> = views.into_iter().map(|(what, view)| seen(what, view, &SEEKING)).collect();
        all.extend([
            seen("a seek falls short", BLOCKS, &[|l, d, i| l.seek(d, &(i - 1))]),
            walks("rows are one coordinate longer", Walk::Alone, 3, Seeks::OneRow),
            walks("its blocks are one coordinate longer", Walk::Unite, 3, Seeks::OneRow),
            walks("the rest is sought in every row", Walk::From, 2, Seeks::EveryRow),
        ]);
        all
    }
}
