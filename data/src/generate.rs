//! Data that are drawn, in the place of a file: `random:1000x1000:0.01:7`.
//!
//! ```text
//!  extents, share, seed ──▶ places, each set of so many as likely as any other ──▶ coordinates, values ──▶ Tensor
//! ```
//!
//! The same text draws the same tensor on every machine: the generator and what is made of its words stand here, and no
//! function of the platform is used.

use super::import::{Contents, import};
use super::{Cause, Declared, Error, Fault, Options, Place};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::counted;
use fiberloom_core::format::triangle::Triangle;
use fiberloom_core::format::{Array, Entries, Format, Tensor, room};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Random {
    /// An extent a mode; what else is known of them if `None`.
    pub extents: Option<Vec<u64>>,
    /// The share of the coordinates that hold something, from 0 to 1.
    pub share: f64,
    /// Where the generator begins.
    pub seed: u64,
}

/// What the text of one begins with.
const NAME: &str = "random";

impl Random {
    /// Whether a text is one of what is drawn, not the name of a file: `random`, or what begins with `random:`.
    pub fn is_meant(text: &str) -> bool {
        text.strip_prefix(NAME).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    }
}

impl FromStr for Random {
    type Err = String;

    /// `random`, then each behind a colon and each of them optional: extents with an `x` between them, the share, the seed.
    fn from_str(text: &str) -> Result<Random, String> {
        let expected = |what: &str, part: &str| {
            Err(format!("`{part}` in `{text}`: {what} expected, as in `random:1000x1000:0.01:7`: extents, share, seed"))
        };
        let mut parts = text.split(':');
        if parts.next() != Some(NAME) {
            return expected("`random`", text);
        }
        let [extents, share, seed] = std::array::from_fn(|_| parts.next().unwrap_or(""));
        if let Some(more) = parts.next() {
            return expected("the end", more);
        }
        let mut random = Random { extents: None, share: 1.0, seed: 0 };
        if !extents.is_empty() {
            let extent = |e: &str| e.parse().ok().filter(|e| *e <= i64::MAX as u64);
            match extents.split('x').map(extent).collect() {
                Some(all) => random.extents = Some(all),
                None => return expected("extents, below 2^63 and with an `x` between them,", extents),
            }
        }
        if !share.is_empty() {
            match share.parse().ok().filter(|s| (0.0..=1.0).contains(s)) {
                Some(s) => random.share = s,
                None => return expected("a share from 0 to 1", share),
            }
        }
        match seed {
            "" => Ok(random),
            seed => match seed.parse() {
                Ok(seed) => Ok(Random { seed, ..random }),
                Err(_) => expected("a seed, a whole number below 2^64,", seed),
            },
        }
    }
}

/// As [`Random::from_str`] reads it.
impl fmt::Display for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extents: Vec<String> = self.extents.iter().flatten().map(u64::to_string).collect();
        write!(f, "{NAME}:{}:{}:{}", extents.join("x"), self.share, self.seed)
    }
}

/// Draws a tensor as declared. What a triangle or a singleton has no place for is left out, and what a symmetric level
/// holds is mirrored: there the share is not kept.
///
/// # Errors
/// Extents that are not as many as modes, or that nothing says; more than the limit or than memory.
pub fn generate(random: &Random, declared: &Declared, options: &Options) -> Result<Tensor<'static>, Error> {
    drawn(random, declared, options).map_err(|fault| fault.within(random.to_string().as_ref()))
}

fn drawn(random: &Random, declared: &Declared, options: &Options) -> Result<Tensor<'static>, Fault> {
    let extents = extents(random, declared)?;
    let all = extents.iter().try_fold(1u64, |n, e| n.checked_mul(*e).filter(|n| *n < 1 << 63));
    let all =
        all.ok_or_else(|| Fault::whole(format!("{} coordinates or more: fewer than 2^63 are drawn from", 1u64 << 63)))?;
    let count = ((all as f64 * random.share).round() as u64).min(all);
    let bytes = count as u128 * 8 * (extents.len() as u128 + 1);
    if bytes > options.limit as u128 {
        let limit = options.limit;
        let message = format!("{count} entries take more than the limit of {limit} bytes: say a smaller share");
        return Err(Fault { cause: Cause::Limit, ..Fault::whole(message) });
    }
    let mut words = Xoshiro256PlusPlus::seed_from_u64(random.seed);
    let format = declared.format.stored();
    let everything_fits = (0..format.rank()).all(|l| !format.levels[l].is_triangle() && !format.is_single(l));
    let whole = |_| Place::Whole;
    if count == all && everything_fits {
        let values = values(&mut words, declared.ty, count)?;
        return import(Contents::Dense { extents, first_fastest: false, values }, declared, options, &whole);
    }
    let places = places(&mut words, all, count)?;
    let values = values(&mut words, declared.ty, count)?;
    let mut entries = Entries { coordinates: coordinates(&places, &extents)?, values };
    for l in 0..format.rank() {
        entries = fitting(entries, &format, l)?;
    }
    import(Contents::Sparse { extents, entries }, declared, options, &whole)
}

/// The extents that are asked for, else those that are known.
fn extents(random: &Random, declared: &Declared) -> Result<Vec<u64>, Fault> {
    let rank = declared.rank();
    match &random.extents {
        Some(extents) if extents.len() == rank => Ok(extents.clone()),
        Some(extents) => {
            let (extents, modes) = (counted(extents.len(), "extent", "extents"), counted(rank, "mode", "modes"));
            Err(Fault::whole(format!("{extents} for a tensor that the program declares with {modes}")))
        }
        None => {
            let unknown = |m: usize| {
                let say = vec!["…"; rank].join("x");
                let what = "neither the program nor another operand says it";
                let message = format!("the extent of mode {m} is unknown: {what}; say all of them, `random:{say}`");
                Fault { cause: Cause::Extents, ..Fault::whole(message) }
            };
            declared.extents.iter().enumerate().map(|(m, e)| e.ok_or_else(|| unknown(m))).collect()
        }
    }
}

/// `count` of `0..all`, ascending, each set as likely as any other: what is drawn twice is drawn again. Of more than half of
/// them, those that are left out are drawn.
fn places(words: &mut impl RngCore, all: u64, count: u64) -> Result<Vec<u64>, Fault> {
    if count > all / 2 {
        let out = places_of_few(words, all, all - count)?;
        let mut left_out = out.iter().peekable();
        return Ok(room::collected((0..all).filter(|p| left_out.next_if_eq(&p).is_none()))?);
    }
    places_of_few(words, all, count)
}

fn places_of_few(words: &mut impl RngCore, all: u64, count: u64) -> Result<Vec<u64>, Fault> {
    let mut places = room::room(count as usize)?;
    while (places.len() as u64) < count {
        let missing = count as usize - places.len();
        places.extend((0..missing).map(|_| below(words, all)));
        places.sort_unstable();
        places.dedup();
    }
    Ok(places)
}

/// A number below `n`, which is not 0, each as likely as any other.
fn below(words: &mut impl RngCore, n: u64) -> u64 {
    // Of the products with all words, as many lie in each block of 2⁶⁴ once the first few of a block are passed over.
    let few = n.wrapping_neg() % n;
    loop {
        let product = words.next_u64() as u128 * n as u128;
        if product as u64 >= few {
            return (product >> 64) as u64;
        }
    }
}

/// Values of a type: floats above 0 and up to 1, whole numbers from 1 to 100, `true`.
fn values(words: &mut impl RngCore, ty: Type, count: u64) -> Result<Array<'static>, Fault> {
    let value = |word: u64| match ty {
        Type::Bool => Value::one(ty),
        Type::F32 => Value::from_f64(ty, ((word >> 40) + 1) as f64 / (1u64 << 24) as f64),
        Type::F64 => Value::from_f64(ty, ((word >> 11) + 1) as f64 / (1u64 << 53) as f64),
        _ => Value::from_i128(ty, 1 + ((word as u128 * 100) >> 64) as i128),
    };
    Ok(Array::collected(ty, (0..count).map(|_| value(words.next_u64())))?)
}

/// A column a mode: the last mode runs fastest.
fn coordinates(places: &[u64], extents: &[u64]) -> Result<Vec<Vec<i64>>, Fault> {
    let mut inner = 1;
    let mut columns = Vec::new();
    for extent in extents.iter().rev() {
        columns.push(room::collected(places.iter().map(|p| (p / inner % extent) as i64))?);
        inner *= extent;
    }
    columns.reverse();
    Ok(columns)
}

/// The entries that level `l` has a place for, and what it mirrors.
fn fitting(entries: Entries<'static>, format: &Format, l: usize) -> Result<Entries<'static>, Fault> {
    let [outer, inner] = [l.saturating_sub(1), l].map(|l| format.order[l]);
    let (i, j) = (&entries.coordinates[outer], &entries.coordinates[inner]);
    let all = 0..entries.len();
    if let Some(triangle) = format.levels[l].triangle() {
        let upper = triangle == Triangle::Upper;
        let inside = all.filter(|&e| if upper { j[e] >= i[e] } else { j[e] <= i[e] });
        let half = only(&entries, &room::collected(inside)?)?;
        return if format.levels[l].is_mirrored() { mirrored(half, outer, inner) } else { Ok(half) };
    }
    if !format.is_single(l) {
        return Ok(entries);
    }
    let mut seen = HashSet::new();
    let mut kept = Vec::new();
    for e in all {
        let parent: Vec<i64> = format.order[..l].iter().map(|m| entries.coordinates[*m][e]).collect();
        seen.try_reserve(1).map_err(|_| fiberloom_core::format::Error::Memory { bytes: 0 })?;
        if seen.insert(parent) {
            room::push(&mut kept, e)?;
        }
    }
    only(&entries, &kept)
}

/// These of the entries.
fn only(entries: &Entries, kept: &[usize]) -> Result<Entries<'static>, Fault> {
    let column = |c: &Vec<i64>| room::collected(kept.iter().map(|&e| c[e]));
    let coordinates = entries.coordinates.iter().map(column).collect::<Result<_, _>>()?;
    let values = Array::collected(entries.values.ty(), kept.iter().map(|&e| entries.values.get(e)))?;
    Ok(Entries { coordinates, values })
}

/// The entries with those that a symmetric level mirrors behind them.
fn mirrored(half: Entries<'static>, outer: usize, inner: usize) -> Result<Entries<'static>, Fault> {
    let n = half.len();
    let below = (0..n).filter(|&e| half.coordinates[outer][e] != half.coordinates[inner][e]);
    let twice = room::collected((0..n).chain(below))?;
    let mut both = only(&half, &twice)?;
    for e in n..both.len() {
        let (i, j) = (both.coordinates[outer][e], both.coordinates[inner][e]);
        (both.coordinates[outer][e], both.coordinates[inner][e]) = (j, i);
    }
    Ok(both)
}
