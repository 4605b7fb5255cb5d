//! Laws of what is no list alone, over any domain that takes claims: intervals, pieces, hashed levels, tables that lists
//! are laid on, and bucket indices.

use crate::claims::{Claims, Given, Law, Order, Place};
use crate::seeks::Seek;
use fiberloom_loops::stream::{
    Arith, BucketIndex, Interval, Kind, List, ListFiber, Pieces, Places, PositionMap, TABLE, Table, View, slot,
};
use std::marker::PhantomData;

/// Claims that two truths are one.
fn same<D: Claims>(d: &mut D, what: &'static str, a: D::B, b: D::B) {
    let (a, b) = (d.to_int(&a), d.to_int(&b));
    let same = d.eq(&a, &b);
    d.claim(what, same);
}

/// *An interval has its coordinates*, a position each, and no other: that of a fiber of a band, or of a ragged level.
pub struct Holds<const BAND: bool>;

impl<const BAND: bool> Law for Holds<BAND> {
    const NAME: &'static str = "an interval";
    const ARRAYS: &'static [Order] = if BAND { &[Order::Repeating, Order::None] } else { &[Order::Repeating] };
    const NUMBERS: usize = 2;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let (pos, [parent, at]) = (&given.places[0], [0, 1].map(|n| given.numbers[n].clone()));
        let next = assume_parent(d, pos, &parent);
        let (begin, end) = (pos.at(d, &parent), pos.at(d, &next));
        let length = d.arith(Arith::Sub, &end, &begin);
        let mut first = d.int(0);
        if BAND {
            given.places[1].assume_inside(d, &parent);
            first = given.places[1].at(d, &parent);
        }
        let most = d.int(i64::MAX);
        let room = d.arith(Arith::Sub, &most, &first);
        let legal = d.le(&length, &room);
        d.assume(legal);
        let zero = d.int(0);
        d.assume_within(&zero, &at, &most);
        let firsts = BAND.then(|| given.places[1].array);
        let Interval { start, stop, base } = Interval::open(d, "B", (pos.array, firsts), &parent, None);
        let from = d.le(&start, &at);
        let said = d.and(from, &|d| d.lt(&at, &stop));
        let behind = d.arith(Arith::Add, &first, &length);
        let from = d.le(&first, &at);
        let there = d.and(from, &|d| d.lt(&at, &behind));
        same(d, "an interval has other coordinates", said, there.clone());
        d.claim_where(there, "a coordinate of an interval stands elsewhere", &|d| {
            let own = d.arith(Arith::Add, &base, &at);
            let far = d.arith(Arith::Sub, &at, &first);
            let wanted = d.arith(Arith::Add, &begin, &far);
            d.eq(&own, &wanted)
        });
    }
}

/// Assumes that a number is a parent position of an array of bounds, and returns the next.
fn assume_parent<D: Claims>(d: &mut D, pos: &Place<D::I>, parent: &D::I) -> D::I {
    pos.assume_inside(d, parent);
    let next = d.plus(parent, 1);
    pos.assume_inside(d, &next);
    next
}

/// *What is asked of runs is found*: the piece that a coordinate is in.
pub struct FindsRun;

impl Law for FindsRun {
    const NAME: &'static str = "runs";
    const ARRAYS: &'static [Order] = &[Order::Ascending];
    const NUMBERS: usize = 2;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let (crd, [at, piece]) = (&given.places[0], [0, 1].map(|n| given.numbers[n].clone()));
        let zero = d.int(0);
        let from = d.le(&zero, &at);
        d.assume(from);
        assume_piece(d, crd, &piece, &at);
        let pieces = open(d, Kind::Runs, crd, &at);
        let (found, position) = pieces.find(d, "p", &at);
        assert!(found.is_none(), "runs hold everything");
        let there = d.eq(&position, &piece);
        d.claim("a coordinate is found elsewhere", there);
    }
}

/// Opens pieces at a coordinate.
fn open<D: Claims>(d: &mut D, kind: Kind, crd: &Place<D::I>, at: &D::I) -> Pieces<D::I> {
    let view = View { start: Some(at.clone()), ..View::default() };
    let extent = d.int(i64::MAX);
    Pieces::open(d, "p", kind, ListFiber { view, ..crd.fiber() }, extent)
}

/// Assumes that a coordinate is not behind a piece's last one, nor in the piece before.
fn assume_piece<D: Claims>(d: &mut D, crd: &Place<D::I>, piece: &D::I, at: &D::I) {
    crd.assume_inside(d, piece);
    let last = crd.at(d, piece);
    let not_behind = d.le(at, &last);
    d.assume(not_behind);
    let later = d.lt(&crd.begin, piece);
    let before = d.and(later, &|d| {
        let before = d.plus(piece, -1);
        let before = crd.at(d, &before);
        d.le(at, &before)
    });
    let not_before = d.not(before);
    d.assume(not_before);
}

/// Assumes that positions of pieces are there for each: as many as pieces, and where the last ends.
fn assume_offsets<D: Claims>(d: &mut D, crd: &Place<D::I>, ofs: &Place<D::I>) {
    let first = d.eq(&crd.begin, &ofs.begin);
    d.assume(first);
    let behind = d.plus(&crd.end, 1);
    let last = d.eq(&behind, &ofs.end);
    d.assume(last);
}

/// A piece by the definition of its format: its first coordinate if it has a position for each, and how many it has.
/// Assumes that it is well-formed.
fn piece<D: Claims>(d: &mut D, given: &Given<D::I>, p: &D::I, packed: bool) -> (D::I, D::I) {
    let (crd, ofs, zero) = (&given.places[0], &given.places[1], d.int(0));
    let next = d.plus(p, 1);
    let (last, begin, end) = (crd.at(d, p), ofs.at(d, p), ofs.at(d, &next));
    let length = d.arith(Arith::Sub, &end, &begin);
    let behind = d.plus(&last, 1);
    let fits = d.le(&length, &behind);
    d.assume(fits);
    let first = d.arith(Arith::Sub, &behind, &length);
    let later = d.lt(&crd.begin, p);
    let before = d.select(
        &later,
        &|d| {
            let before = d.plus(p, -1);
            let before = crd.at(d, &before);
            d.plus(&before, 1)
        },
        zero,
    );
    if packed {
        // One position, or one for each coordinate behind the piece before.
        let one = d.int(1);
        let (single, all) = (d.eq(&length, &one), d.eq(&first, &before));
        let formed = d.or(single, all);
        d.assume(formed);
    } else {
        let apart = d.le(&before, &first);
        d.assume(apart);
    }
    (first, length)
}

/// *What is asked of blocks is found*, with its position, and nothing else. The witness is a block that the coordinate is in.
pub struct FindsBlock;

impl Law for FindsBlock {
    const NAME: &'static str = "blocks";
    const ARRAYS: &'static [Order] = &[Order::Ascending, Order::Ascending];
    const NUMBERS: usize = 2;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let (crd, ofs, [at, witness]) = (&given.places[0], &given.places[1], [0, 1].map(|n| given.numbers[n].clone()));
        assume_offsets(d, crd, ofs);
        let (zero, most) = (d.int(0), d.int(i64::MAX));
        d.assume_within(&zero, &at, &most);
        assume_piece(d, crd, &witness, &at);
        let (first, _) = piece(d, given, &witness, false);
        let pieces = open(d, Kind::Blocks(Places::Listed(ofs.array)), crd, &at);
        let (found, position) = pieces.find(d, "p", &at);
        let there = d.le(&first, &at);
        let found = found.expect("blocks do not hold everything");
        same(d, "a coordinate is found where it is not, or not where it is", found, there.clone());
        d.claim_where(there, "a coordinate is found elsewhere", &|d| {
            let (begin, far) = (ofs.at(d, &witness), d.arith(Arith::Sub, &at, &first));
            let wanted = d.arith(Arith::Add, &begin, &far);
            d.eq(&position, &wanted)
        });
    }
}

/// *What is asked of packed pieces is found*. The witness is the piece that the coordinate is in.
pub struct FindsPacked;

impl Law for FindsPacked {
    const NAME: &'static str = "packed";
    const ARRAYS: &'static [Order] = &[Order::Ascending, Order::Ascending];
    const NUMBERS: usize = 2;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let (crd, ofs, [at, witness]) = (&given.places[0], &given.places[1], [0, 1].map(|n| given.numbers[n].clone()));
        assume_offsets(d, crd, ofs);
        let (zero, most, one) = (d.int(0), d.int(i64::MAX), d.int(1));
        d.assume_within(&zero, &at, &most);
        assume_piece(d, crd, &witness, &at);
        let (first, length) = piece(d, given, &witness, true);
        let pieces = open(d, Kind::Packed(ofs.array), crd, &at);
        let (_, position) = pieces.find(d, "p", &at);
        let begin = ofs.at(d, &witness);
        let each = d.lt(&one, &length);
        let wanted = d.select(
            &each,
            &|d| {
                let far = d.arith(Arith::Sub, &at, &first);
                d.arith(Arith::Add, &begin, &far)
            },
            begin.clone(),
        );
        let there = d.eq(&position, &wanted);
        d.claim("a coordinate is found elsewhere", there);
    }
}

/// *Runs cover*: from a coordinate on, up to the last piece's end, each piece ends behind where it is come to, wherever
/// the loop stops between; the witness, a coordinate with its piece, is come to in that piece, once.
pub struct Cover;

impl Law for Cover {
    const NAME: &'static str = "pieces cover";
    const ARRAYS: &'static [Order] = &[Order::Ascending];
    const NUMBERS: usize = 4;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let (crd, [start, stop, at, witness]) = (&given.places[0], [0, 1, 2, 3].map(|n| given.numbers[n].clone()));
        let zero = d.int(0);
        let (legal, later) = (d.le(&zero, &start), d.le(&start, &at));
        d.assume(legal);
        d.assume(later);
        assume_piece(d, crd, &witness, &at);
        let pieces = open(d, Kind::Runs, crd, &start);
        let (from, met) = (d.state("from", start), d.state("met", zero));
        d.repeat(&|d| pieces.valid(d), &mut |d| {
            let (here, end) = (d.get(from), pieces.end(d));
            let (behind, before) = (d.lt(&here, &stop), d.lt(&stop, &end));
            let stops = d.and(behind, &|_| before.clone());
            let to = d.select(&stops, &|_| stop.clone(), end.clone());
            let to = d.snapshot("to", to);
            let further = d.lt(&here, &to);
            d.claim("a piece ends before it is come to", further);
            let (not_before, not_behind) = (d.le(&here, &at), d.lt(&at, &to));
            let inside = d.and(not_before, &|_| not_behind.clone());
            let number = pieces.number(d, "p");
            d.claim_where(inside.clone(), "a coordinate of a piece stands elsewhere", &|d| d.eq(&number, &witness));
            let one = d.to_int(&inside);
            d.advance(met, one);
            d.set(from, to.clone());
            let done = d.le(&end, &to);
            pieces.leave_if(d, &done);
        });
        let (met, one) = (d.get(met), d.int(1));
        let once = d.eq(&met, &one);
        d.claim("a coordinate is in no piece, or in two", once);
    }
}

/// *A list that is laid on a table is asked as it would be scanned*, and taken up leaves the table as it was.
pub struct Laid;

impl Law for Laid {
    const NAME: &'static str = "a laid list";
    const ARRAYS: &'static [Order] = &[Order::Ascending];
    const NUMBERS: usize = 2;
    const TABLE: bool = true;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let (place, [at, witness]) = (&given.places[0], [0, 1].map(|n| given.numbers[n].clone()));
        place.assume_below(d, &given.table);
        let zero = d.int(0);
        d.assume_within(&zero, &at, &given.table);
        let list = PositionMap::open(d, place.fiber(), TABLE);
        list.lay(d);
        let (found, position) = PositionMap::ask(d, TABLE, &at);
        d.claim_where(found.clone(), "what is not laid is there", &|d| {
            let (from, to) = (d.le(&place.begin, &position), d.lt(&position, &place.end));
            let inside = d.and(from, &|_| to.clone());
            d.and(inside, &|d| {
                let stored = place.at(d, &position);
                d.eq(&stored, &at)
            })
        });
        let (from, to) = (d.le(&place.begin, &witness), d.lt(&witness, &place.end));
        let inside = d.and(from, &|_| to.clone());
        let its = d.and(inside, &|d| {
            let stored = place.at(d, &witness);
            d.eq(&stored, &at)
        });
        d.claim_where(its, "what is laid is not asked where it is", &|d| {
            let there = d.eq(&position, &witness);
            d.and(found.clone(), &|_| there.clone())
        });
        list.clear_map(d);
        let left = d.load(TABLE, &at);
        let none = d.eq(&left, &zero);
        d.claim("something is left on a table", none);
    }
}

/// *Finding is scanning*, in a hashed level of so many places, more than there are entries, which are put where `free`
/// says: the witness is found at its position, and nothing else is found where it is not.
pub struct Finds<const PLACES: i64>;

impl<const PLACES: i64> Law for Finds<PLACES> {
    const NAME: &'static str = "a hashed level";
    const ARRAYS: &'static [Order] = &[Order::Ascending];
    const NUMBERS: usize = 3;
    const WRAPS: bool = true;
    const TABLE: bool = true;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let (place, [parent, at, witness]) = (&given.places[0], [0, 1, 2].map(|n| given.numbers[n].clone()));
        let (zero, two, size) = (d.int(0), d.int(2), d.int(PLACES));
        d.assume_within(&zero, &parent, &two);
        let fits = d.le(&size, &given.table);
        d.assume(fits);
        let entries = d.arith(Arith::Sub, &place.end, &place.begin);
        let some_free = d.lt(&entries, &size);
        d.assume(some_free);
        let table = Table { crd: place.array, table: TABLE, size: size.clone() };
        d.count("q", zero, size, &mut |d, q| {
            let free = d.int(-1);
            d.store(TABLE, &q, &free);
        });
        d.count("p", place.begin.clone(), place.end.clone(), &mut |d, p| {
            let stored = place.at(d, &p);
            let slot = table.free(d, &parent, &stored);
            d.store(TABLE, &slot, &p);
        });
        let (found, position) = table.find(d, "p", &parent, &place.fiber(), &at);
        d.claim_where(found.clone(), "an entry is found that is not there", &|d| {
            let stored = place.at(d, &position);
            d.eq(&stored, &at)
        });
        let (from, to) = (d.le(&place.begin, &witness), d.lt(&witness, &place.end));
        let inside = d.and(from, &|_| to.clone());
        let its = d.and(inside, &|d| {
            let stored = place.at(d, &witness);
            d.eq(&stored, &at)
        });
        d.claim_where(its, "an entry is not found where it is", &|d| {
            let there = d.eq(&position, &witness);
            d.and(found.clone(), &|_| there.clone())
        });
    }
}

/// *Finding is scanning, in any table of four places* with what the format promises: a place is free, and the witness
/// stands at a place up to which, from its slot on, none is free.
pub struct FindsInAny;

impl Law for FindsInAny {
    const NAME: &'static str = "a hashed level";
    const ARRAYS: &'static [Order] = &[Order::Ascending];
    const NUMBERS: usize = 8;
    const WRAPS: bool = true;
    const TABLE: bool = true;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let (crd, (held, others)) = (&given.places[0], given.numbers.split_at(4));
        let [parent, at, witness, place] = others else { unreachable!("as many as it says") };
        let (zero, two, size, none) = (d.int(0), d.int(2), d.int(4), d.int(-1));
        d.assume_within(&zero, parent, &two);
        let fits = d.le(&size, &given.table);
        d.assume(fits);
        // A place holds a position, of this fiber or of another; the number that says so is one more: 0 where it is free.
        let mut least = zero.clone();
        for (q, number) in held.iter().enumerate() {
            let (position, q) = (d.plus(number, -1), d.int(q as i64));
            d.assume_within(&none, &position, &crd.end);
            d.store(TABLE, &q, &position);
            least = d.arith(Arith::Min, &least, &position);
        }
        let free = d.eq(&least, &none);
        d.assume(free);
        crd.assume_inside(d, witness);
        d.assume_within(&zero, place, &size);
        let there = d.load(TABLE, place);
        let there = d.eq(&there, witness);
        d.assume(there);
        let its = crd.at(d, witness);
        let first = slot(d, (parent, &its), &size);
        let reached = d.state("slot", first);
        d.repeat(
            &|d| {
                let here = d.get(reached);
                let there = d.eq(&here, place);
                d.not(there)
            },
            &mut |d| {
                let here = d.get(reached);
                let position = d.load(TABLE, &here);
                let taken = d.le(&zero, &position);
                d.assume(taken);
                let (next, mask) = (d.plus(&here, 1), d.int(3));
                let next = d.arith(Arith::And, &next, &mask);
                d.set(reached, next);
            },
        );
        let table = Table { crd: crd.array, table: TABLE, size };
        let (found, position) = table.find(d, "p", parent, &crd.fiber(), at);
        d.claim_where(found.clone(), "an entry is found that is not there", &|d| {
            let stored = crd.at(d, &position);
            d.eq(&stored, at)
        });
        let own = d.eq(&its, at);
        d.claim_where(own, "an entry is not found where it is", &|d| {
            let there = d.eq(&position, witness);
            d.and(found.clone(), &|_| there.clone())
        });
    }
}

/// Claims that a position is the first of a place whose element is a number or greater.
fn is_first<D: Claims>(d: &mut D, place: &Place<D::I>, p: &D::I, from: &D::I) {
    let (low, high) = (d.le(&place.begin, p), d.le(p, &place.end));
    d.claim("a position is before the list", low);
    d.claim("a position is behind the list", high);
    let here = d.lt(p, &place.end);
    d.claim_where(here, "it stops before its target", &|d| {
        let at = place.at(d, p);
        d.le(from, &at)
    });
    let later = d.lt(&place.begin, p);
    d.claim_where(later, "it passes over an entry", &|d| {
        let before = d.plus(p, -1);
        let before = place.at(d, &before);
        d.lt(&before, from)
    });
}

/// *Each stretch begins where its place says*: a bucket index of stretches of 2^SHIFT coordinates, for any extent that
/// comes to as many places as the table has.
pub struct Stretches<const SHIFT: i64>;

impl<const SHIFT: i64> Law for Stretches<SHIFT> {
    const NAME: &'static str = "a bucket index";
    const ARRAYS: &'static [Order] = &[Order::Ascending];
    const NUMBERS: usize = 2;
    const TABLE: bool = true;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let (place, [extent, stretch]) = (&given.places[0], [0, 1].map(|n| given.numbers[n].clone()));
        place.assume_below(d, &extent);
        let (zero, shift) = (d.int(0), d.int(SHIFT));
        let places = BucketIndex::places(d, &extent, &shift);
        let fits = d.le(&places, &given.table);
        d.assume(fits);
        d.assume_within(&zero, &stretch, &places);
        BucketIndex { table: TABLE, shift: shift.clone(), extent: None }.make(d, "p", place.fiber(), &extent);
        let (begin, here) = (d.arith(Arith::Shl, &stretch, &shift), d.load(TABLE, &stretch));
        is_first(d, place, &here, &begin);
    }
}

/// *A bucket index changes nothing*: a list with one lands where it does without, by every kind of seek. The bucket index is
/// the second array, and says of the target's stretch what it should. One that knows the extent may be asked for what is behind
/// it: it says of the extent's stretch what it should.
pub struct LandsByBucketIndex<S, const SHIFT: i64, const KNOWN: bool = false>(PhantomData<S>);

impl<S: Seek, const SHIFT: i64, const KNOWN: bool> Law for LandsByBucketIndex<S, SHIFT, KNOWN> {
    const NAME: &'static str = S::NAME;
    const ARRAYS: &'static [Order] = &[Order::Ascending, Order::None];
    const NUMBERS: usize = 2;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let (place, table) = (&given.places[0], &given.places[1]);
        let (target, extent) = (&given.numbers[0], &given.numbers[1]);
        let (zero, shift) = (d.int(0), d.int(SHIFT));
        let legal = d.le(&zero, target);
        d.assume(legal);
        let mut reached = target.clone();
        if KNOWN {
            place.assume_below(d, extent);
            let legal = d.le(&zero, extent);
            d.assume(legal);
            reached = d.arith(Arith::Min, target, extent);
        }
        let stretch = d.arith(Arith::Shr, &reached, &shift);
        table.assume_inside(d, &stretch);
        let (here, begin) = (table.at(d, &stretch), d.arith(Arith::Shl, &stretch, &shift));
        assume_first(d, place, &here, &begin);
        let bucket_index = Some(BucketIndex { table: table.array, shift, extent: KNOWN.then(|| extent.clone()) });
        let list = List::open(d, "p", ListFiber { bucket_index, ..place.fiber() });
        if S::FROM_BEFORE {
            let valid = list.valid(d);
            let before = d.and(valid, &|d| {
                let at = list.index(d);
                d.lt(&at, target)
            });
            d.assume(before);
        }
        S::seek(&list, d, target);
        let p = list.entry(d).position;
        is_first(d, place, &p, target);
    }
}

/// Assumes that a position is in a place, and that what is before it is before a number.
fn assume_first<D: Claims>(d: &mut D, place: &Place<D::I>, p: &D::I, from: &D::I) {
    let (low, high) = (d.le(&place.begin, p), d.le(p, &place.end));
    d.assume(low);
    d.assume(high);
    let later = d.lt(&place.begin, p);
    let beyond = d.and(later, &|d| {
        let before = d.plus(p, -1);
        let before = place.at(d, &before);
        d.le(from, &before)
    });
    let first = d.not(beyond);
    d.assume(first);
}

/// Bounds: arrays of at most 3 elements below 4, every number up to that; loops unwound 65 times.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(66)]
fn places_are_found() {
    let c = &mut crate::choose::Any;
    assert!(crate::claims::holds::<Holds<true>>(c, [3, 4]).is_ok());
    assert!(crate::claims::holds::<FindsBlock>(c, [3, 4]).is_ok());
    assert!(crate::claims::holds::<FindsPacked>(c, [3, 4]).is_ok());
    assert!(crate::claims::holds::<Cover>(c, [2, 4]).is_ok());
    assert!(crate::claims::holds::<Laid>(c, [2, 4]).is_ok());
    assert!(crate::claims::holds::<Finds<4>>(c, [2, 4]).is_ok());
    assert!(crate::claims::holds::<Stretches<1>>(c, [2, 4]).is_ok());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::exhausts;
    use crate::seeks::{CatchUp, ComeNear, Gallop, Leap, Search};

    /// Bounds: arrays of at most 3 elements below 4 or 5; every number up to that.
    #[test]
    fn intervals_and_pieces() {
        exhausts::<Holds<true>>([3, 4]);
        exhausts::<Holds<false>>([3, 4]);
        exhausts::<FindsRun>([3, 5]);
        exhausts::<FindsBlock>([4, 6]);
        exhausts::<FindsPacked>([4, 6]);
        exhausts::<Cover>([3, 5]);
    }

    /// Bounds: lists of at most 3 entries below 5; a table of as many places, or 8.
    #[test]
    fn tables() {
        exhausts::<Laid>([3, 5]);
        exhausts::<Finds<4>>([3, 8]);
        exhausts::<Finds<8>>([3, 8]);
        exhausts::<FindsInAny>([2, 4]);
    }

    /// Bounds: lists of at most 3 entries below 6, stretches of 1 to 4 coordinates, bucket indices that say what they may.
    #[test]
    fn bucket_indices() {
        exhausts::<Stretches<0>>([3, 6]);
        exhausts::<Stretches<1>>([3, 6]);
        exhausts::<LandsByBucketIndex<Search, 1>>([3, 4]);
        exhausts::<LandsByBucketIndex<CatchUp, 1>>([3, 4]);
        exhausts::<LandsByBucketIndex<Gallop, 1>>([3, 4]);
        exhausts::<LandsByBucketIndex<Leap, 1>>([3, 4]);
        exhausts::<LandsByBucketIndex<ComeNear, 2>>([3, 4]);
        exhausts::<LandsByBucketIndex<Gallop, 1, true>>([3, 4]);
        exhausts::<LandsByBucketIndex<Search, 2, true>>([3, 4]);
    }
}
