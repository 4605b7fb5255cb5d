//! The labels of a domain, and the coordinates that values become.
//!
//! ```text
//!  labels in the data   30 10 10 20 30                      "b" "a" "b"
//!  which there are      a bit each, where they are close    a table of hashes
//!                       sorted, else                        then sorted
//!  Dictionary           10 20 30                            "a" "b"
//!  coordinates           2  0  0  1  2                        1   0   1
//! ```
//!
//! Invariant: a coordinate is its label's rank. Integers that follow one another are not stored.

use super::Label;
use super::cell::written;
use super::frame::{Column, Texts, Values};
use crate::relate::NONE;
use fiberloom_core::format::{Array, Error as Unassembled, room};
use fiberloom_core::parallel;
use fiberloom_data::{Cause, Fault, Place};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// The labels of a domain, ascending; a coordinate is a place among them.
#[derive(Clone, Debug, PartialEq)]
pub enum Dictionary {
    /// The integers from `first` on, so many.
    Range {
        /// The label of coordinate 0.
        first: i64,
        /// How many labels there are.
        len: usize,
    },
    /// Integers, days of dates, or decimals times their power of ten.
    Numbers(Vec<i64>),
    /// Texts, in the order of their bytes.
    Texts(Texts<'static>),
}

impl Dictionary {
    /// How many labels there are.
    pub fn len(&self) -> usize {
        match self {
            Dictionary::Range { len, .. } => *len,
            Dictionary::Numbers(numbers) => numbers.len(),
            Dictionary::Texts(texts) => texts.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The label of a coordinate, if there is one.
    pub fn label(&self, coordinate: i64) -> Option<Label> {
        match self {
            Dictionary::Texts(_) => self.text(coordinate).map(|text| Label::Text(text.to_string())),
            _ => self.number(coordinate).map(Label::Number),
        }
    }

    /// The label of a coordinate, if there is one and it is a number.
    pub fn number(&self, coordinate: i64) -> Option<i64> {
        let place = usize::try_from(coordinate).ok()?;
        match self {
            Dictionary::Range { first, len } => (place < *len).then(|| first + coordinate),
            Dictionary::Numbers(numbers) => numbers.get(place).copied(),
            Dictionary::Texts(_) => None,
        }
    }

    /// The label of a coordinate, if there is one and it is a text.
    pub fn text(&self, coordinate: i64) -> Option<&str> {
        let place = usize::try_from(coordinate).ok()?;
        match self {
            Dictionary::Texts(texts) => (place < texts.len()).then(|| texts.get(place)),
            _ => None,
        }
    }

    /// The labels of both, which are of one kind.
    pub(super) fn merged(self, other: Dictionary) -> Result<Dictionary, Unassembled> {
        match (self, other) {
            (a, b) if b.is_empty() => Ok(a),
            (a, b) if a.is_empty() => Ok(b),
            (Dictionary::Texts(a), Dictionary::Texts(b)) => {
                let both = || ascending((0..a.len()).map(|n| a.get(n)), (0..b.len()).map(|n| b.get(n)));
                if both().count() == a.len() {
                    return Ok(Dictionary::Texts(a));
                }
                Ok(Dictionary::Texts(Texts::of(both())?))
            }
            (a, b) => {
                let of = |d: &Dictionary, n: usize| d.number(n as i64).unwrap_or_default();
                let both = || ascending((0..a.len()).map(|n| of(&a, n)), (0..b.len()).map(|n| of(&b, n)));
                let (first, last) = (of(&a, 0).min(of(&b, 0)), of(&a, a.len() - 1).max(of(&b, b.len() - 1)));
                match both().count() {
                    len if len == a.len() => Ok(a),
                    len if i128::from(last) - i128::from(first) + 1 == len as i128 => {
                        Ok(Dictionary::Range { first, len })
                    }
                    _ => Ok(Dictionary::Numbers(room::collected(both())?)),
                }
            }
        }
    }

    /// The coordinate of a label, or, if no data have it, how many labels are less. Numbers are less than texts.
    pub fn rank(&self, label: &Label) -> Result<usize, usize> {
        match (self, label) {
            (Dictionary::Range { first, len }, Label::Number(x)) => {
                // The difference of two `i64` needs one bit more.
                let (distance, len) = (i128::from(*x) - i128::from(*first), *len as i128);
                if (0..len).contains(&distance) { Ok(distance as usize) } else { Err(distance.clamp(0, len) as usize) }
            }
            (Dictionary::Numbers(numbers), Label::Number(x)) => numbers.binary_search(x),
            (Dictionary::Texts(texts), Label::Text(text)) => {
                let less = below(texts, text);
                if less < texts.len() && texts.get(less) == text { Ok(less) } else { Err(less) }
            }
            (_, Label::Text(_)) => Err(self.len()),
            (_, Label::Number(_)) => Err(0),
        }
    }
}

/// How many of these ascending texts are less.
fn below(texts: &Texts, text: &str) -> usize {
    let (mut least, mut most) = (0, texts.len());
    while least < most {
        let middle = least + (most - least) / 2;
        if texts.get(middle) < text { least = middle + 1 } else { most = middle }
    }
    least
}

/// The labels of all of these columns, all of them numbers or all of them texts, and of each its rows' coordinates. `within` is a fault
/// in a column.
pub(super) fn coded(
    columns: &[&Column],
    texts: bool,
    within: &dyn Fn(usize, Fault) -> fiberloom_data::error::Error,
) -> Result<(Dictionary, Vec<Vec<i64>>), fiberloom_data::error::Error> {
    let whole = |fault: Fault| within(0, fault);
    if texts {
        return of_texts(columns).map_err(whole);
    }
    let mut numbers = Vec::new();
    for (n, column) in columns.iter().enumerate() {
        in_bounds(column).map_err(|fault| within(n, fault))?;
        numbers.push((integers(column).map_err(|fault| within(n, fault))?, &*column.nulls));
    }
    of_numbers(&numbers).map_err(whole)
}

/// Two ascending sequences as one, each element once.
fn ascending<T: Ord + Copy>(a: impl Iterator<Item = T>, b: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
    let (mut a, mut b) = (a.peekable(), b.peekable());
    std::iter::from_fn(move || match (a.peek().copied(), b.peek().copied()) {
        (Some(x), Some(y)) => {
            if x <= y {
                a.next();
            }
            if y <= x {
                b.next();
            }
            Some(x.min(y))
        }
        (Some(_), None) => a.next(),
        (None, _) => b.next(),
    })
}

/// The coordinates of a column whose labels are known, none at nulls.
///
/// # Errors
/// A label that is not among them: its row, counted from 1, is named.
pub(super) fn placed(column: &Column, labels: &Dictionary) -> Result<Vec<i64>, Fault> {
    let unknown = |row: usize| {
        let what = "a label that the data did not have when their labels were read: the file has changed meanwhile";
        Fault::new(Place::Cell { row: row + 1, column: column.name.clone() }, what)
    };
    if let Values::Texts(texts) = &column.values {
        let mut codes = room::repeated(NONE, texts.held())?;
        for held in held_by_rows(column, texts)? {
            let rank = labels.rank(&Label::Text(texts.held_text(held).to_string()));
            codes[held] = rank.map_or(NONE, |rank| rank as i64);
        }
        let all = of_held(column, texts, &codes)?;
        let other = (0..all.len()).find(|row| all[*row] == NONE && !column.is_null(*row));
        return other.map_or(Ok(all), |row| Err(unknown(row)));
    }
    let numbers = integers(column)?;
    let mut all = room::repeated(NONE, numbers.len())?;
    parallel::stretches(&mut all, &|first, part| {
        // Where the label before stands: keys ascend, and a label often stands there again, or beside it.
        let mut near = 0;
        for (n, to) in part.iter_mut().enumerate().filter(|(n, _)| !column.is_null(first + n)) {
            let x = numbers[first + n];
            let is_at = |at: i64| labels.number(at) == Some(x);
            if !is_at(near) {
                let rank = || labels.rank(&Label::Number(x)).map_err(|_| unknown(first + n));
                near = if is_at(near + 1) { near + 1 } else { rank()? as i64 };
            }
            *to = near;
        }
        Ok::<(), Fault>(())
    })?;
    Ok(all)
}

/// That a column has no dates that no result could have again: days that 32 bits do not hold.
fn in_bounds(column: &Column) -> Result<(), Fault> {
    let Values::Dates(Array::I64(days)) = &column.values else { return Ok(()) };
    let wrong = (0..days.len()).find(|row| !column.is_null(*row) && i32::try_from(days[*row]).is_err());
    wrong.map_or(Ok(()), |row| {
        let place = Place::Cell { row: row + 1, column: column.name.clone() };
        let what = format!("a date {} days from 1970-01-01 is no label: 32 bits hold those of labels", days[row]);
        Err(Fault::new(place, what))
    })
}

/// The numbers of a column, anything at nulls.
pub(super) fn integers<'c>(column: &'c Column) -> Result<Cow<'c, [i64]>, Fault> {
    let (Values::Plain(array) | Values::Dates(array) | Values::Timestamps(array) | Values::Decimals(array, _)) =
        &column.values
    else {
        return Err(Fault::whole("texts where numbers are expected"));
    };
    if let Array::I64(numbers) = array {
        return Ok(Cow::Borrowed(numbers));
    }
    let mut numbers = room::room(array.len())?;
    for row in 0..array.len() {
        match array.get(row).as_i128().map(i64::try_from) {
            Some(Ok(x)) => numbers.push(x),
            _ if column.is_null(row) => numbers.push(0),
            _ => {
                let place = Place::Cell { row: row + 1, column: column.name.clone() };
                return Err(Fault::new(place, format!("{} is no label: labels are below 2^63", array.get(row))));
            }
        }
    }
    Ok(Cow::Owned(numbers))
}

/// Numbers of a column, and which of them are null, if some are.
type Numbers<'c> = (Cow<'c, [i64]>, &'c [bool]);

/// The ascending labels of these numbers, and of each its coordinate, none at nulls.
fn of_numbers(columns: &[Numbers]) -> Result<(Dictionary, Vec<Vec<i64>>), Fault> {
    let (mut least, mut most, mut count) = (i64::MAX, i64::MIN, 0u128);
    each(columns, |x| {
        (least, most) = (least.min(x), most.max(x));
        count += 1;
    });
    if count == 0 {
        return Ok((Dictionary::Range { first: 0, len: 0 }, coordinates(columns, |_| NONE)?));
    }
    let span = (i128::from(most) - i128::from(least)) as u128 + 1;
    match span <= count.saturating_mul(CLOSE).max(CLOSE * CLOSE) {
        true => close(columns, least, span as usize),
        false => apart(columns, count as usize),
    }
}

/// So many times as many integers as there are rows are marked by a bit each.
const CLOSE: u128 = 64;

/// Gives `f` each number that is not null.
fn each(columns: &[Numbers], mut f: impl FnMut(i64)) {
    for (numbers, nulls) in columns {
        match nulls.is_empty() {
            true => numbers.iter().for_each(|x| f(*x)),
            false => numbers.iter().zip(*nulls).filter(|(_, null)| !**null).for_each(|(x, _)| f(*x)),
        }
    }
}

/// What `code` makes of each number that is not null; none at nulls.
fn coordinates(columns: &[Numbers], code: impl Fn(i64) -> i64 + Sync) -> Result<Vec<Vec<i64>>, Fault> {
    let column = |(numbers, nulls): &Numbers| {
        let mut all = room::repeated(NONE, numbers.len())?;
        parallel::stretches(&mut all, &|first, part| {
            let numbers = &numbers[first..first + part.len()];
            match nulls.is_empty() {
                true => part.iter_mut().zip(numbers).for_each(|(to, x)| *to = code(*x)),
                false => {
                    let rows = part.iter_mut().zip(numbers).zip(&nulls[first..]);
                    rows.filter(|(_, null)| !**null).for_each(|((to, x), _)| *to = code(*x));
                }
            }
            Ok::<(), Fault>(())
        })?;
        Ok(all)
    };
    columns.iter().map(column).collect()
}

/// Of numbers among `span` integers from `least` on: a bit for each of these, and for each word how many bits are set before it.
fn close(columns: &[Numbers], least: i64, span: usize) -> Result<(Dictionary, Vec<Vec<i64>>), Fault> {
    let mut words = room::repeated(0u64, span.div_ceil(64))?;
    let place = |x: i64| x.wrapping_sub(least) as u64 as usize;
    each(columns, |x| words[place(x) / 64] |= 1 << (place(x) % 64));
    let mut before: Vec<usize> = room::room(words.len())?;
    let mut len = 0;
    for word in &words {
        before.push(len);
        len += word.count_ones() as usize;
    }
    if len == span {
        return Ok((Dictionary::Range { first: least, len }, coordinates(columns, |x| place(x) as i64)?));
    }
    let coordinates = coordinates(columns, |x| {
        let (word, bit) = (place(x) / 64, place(x) % 64);
        (before[word] + (words[word] & ((1 << bit) - 1)).count_ones() as usize) as i64
    })?;
    let mut labels = room::room(len)?;
    for (n, word) in words.iter().enumerate() {
        let set = (0..64).filter(|bit| word >> bit & 1 == 1);
        labels.extend(set.map(|bit| least.wrapping_add((64 * n + bit) as i64)));
    }
    Ok((Dictionary::Numbers(labels), coordinates))
}

/// Of numbers that are far apart: sorted, each once.
fn apart(columns: &[Numbers], count: usize) -> Result<(Dictionary, Vec<Vec<i64>>), Fault> {
    let mut labels = room::room(count)?;
    each(columns, |x| labels.push(x));
    labels.sort_unstable();
    labels.dedup();
    labels.shrink_to_fit();
    let rank = |x: i64| labels.binary_search(&x).unwrap_or_else(|_| unreachable!("it is among them")) as i64;
    let coordinates = coordinates(columns, rank)?;
    Ok((Dictionary::Numbers(labels), coordinates))
}

/// Memory does not suffice for so many texts.
fn no_room(texts: usize) -> Fault {
    Fault { cause: Cause::Limit, ..Fault::whole(format!("memory does not suffice for {texts} texts")) }
}

/// The ascending labels of these texts, and of each row its coordinate, none at nulls. A text that a column holds is looked up once.
fn of_texts(columns: &[&Column]) -> Result<(Dictionary, Vec<Vec<i64>>), Fault> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    let (mut distinct, mut codes) = (Vec::new(), Vec::new());
    for column in columns {
        let all = texts(column)?;
        let mut own: Vec<i64> = room::repeated(NONE, all.held())?;
        for held in held_by_rows(column, all)? {
            known.try_reserve(1).map_err(|_| no_room(distinct.len()))?;
            let place = *known.entry(all.held_text(held)).or_insert(distinct.len());
            if place == distinct.len() {
                room::push(&mut distinct, all.held_text(held))?;
            }
            own[held] = place as i64;
        }
        codes.push(own);
    }
    let mut order: Vec<usize> = room::collected(0..distinct.len())?;
    order.sort_unstable_by_key(|n| distinct[*n]);
    let mut ranks = room::repeated(0i64, order.len())?;
    order.iter().enumerate().for_each(|(rank, n)| ranks[*n] = rank as i64);
    codes.iter_mut().flatten().filter(|code| **code != NONE).for_each(|code| *code = ranks[*code as usize]);
    let coordinates = columns.iter().zip(codes).map(|(column, codes)| of_held(column, texts(column)?, &codes));
    let coordinates = coordinates.collect::<Result<_, Fault>>()?;
    Ok((Dictionary::Texts(Texts::of(order.iter().map(|n| distinct[*n]))?), coordinates))
}

/// Of each row what its text has, of those that a column holds; none at nulls.
fn of_held(column: &Column, texts: &Texts, codes: &[i64]) -> Result<Vec<i64>, Fault> {
    let mut all = room::repeated(NONE, texts.len())?;
    parallel::stretches(&mut all, &|first, part| {
        let rows = part.iter_mut().enumerate().filter(|(n, _)| !column.is_null(first + n));
        rows.for_each(|(n, to)| *to = codes[texts.place(first + n)]);
        Ok::<(), Fault>(())
    })?;
    Ok(all)
}

fn texts<'c>(column: &'c Column) -> Result<&'c Texts<'c>, Fault> {
    match &column.values {
        Values::Texts(all) => Ok(all),
        _ => Err(Fault::whole("numbers where texts are expected")),
    }
}

/// The places of those texts, of all that a column holds, that some row has.
fn held_by_rows(column: &Column, texts: &Texts) -> Result<Vec<usize>, Fault> {
    let held = room::collected((0..texts.held()).map(|_| AtomicBool::new(false)))?;
    parallel::map((0..texts.len()).step_by(parallel::STRETCH), &|first| {
        let rows = first..texts.len().min(first + parallel::STRETCH);
        for row in rows.filter(|row| !column.is_null(*row)) {
            let held = &held[texts.place(row)];
            // Most were seen before, and a load leaves them to all threads.
            if !held.load(Relaxed) {
                held.store(true, Relaxed);
            }
        }
    });
    Ok(room::collected((0..held.len()).filter(|n| held[*n].load(Relaxed)))?)
}

/// A label as it is read, for messages.
pub(super) fn shown(label: &Label, holds: super::Holds) -> String {
    match (label, holds) {
        (Label::Text(text), _) => format!("`{}`", text.chars().take(40).collect::<String>()),
        (Label::Number(x), super::Holds::Date) => crate::relate::date(*x),
        (Label::Number(x), super::Holds::Timestamp) => crate::relate::timestamp_written(*x),
        (Label::Number(x), super::Holds::Decimal(digits)) => written((*x).into(), digits),
        (Label::Number(x), _) => x.to_string(),
    }
}
