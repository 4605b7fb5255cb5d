//! `bitmap`: as dense, with a bit per position. Where it is not set nothing is stored, and the levels below are empty, so that a reader
//! that ignores the bits reads the same function.
//!
//! ```text
//!  words   U64: position p has bit p mod 64 of word p div 64; bits behind the last position are 0
//! ```

use super::{At, Kind, Level, Step, Store, dense};
use crate::algebra::Type;
use crate::format::check::{Above, check_flags, list, malformed, spread};
use crate::format::{Array, Error, Malformed};
use crate::looplet::Looplet;

pub(super) struct Bitmap;

impl Kind for Bitmap {
    fn looplet(&self) -> Looplet {
        Looplet::VALUES
    }

    fn steps(&self) -> &'static [Step] {
        &[Step::Spread, Step::Bits("words")]
    }

    fn is_flagged(&self) -> bool {
        true
    }

    fn check<'t>(&self, at: At<'t>, above: Above<'t>) -> Result<Above<'t>, Malformed> {
        let ([words], positions) = (at.arrays(), spread(at.l, above.positions, at.extent())?);
        list::length_and_type(at.l, "words", words, positions.div_ceil(64), &[Type::U64])?;
        check_unused(at.l, words, positions)?;
        check_flags(at, positions, above)
    }

    fn assemble(&self, store: &mut Store, l: usize, extent: u64) -> Result<Level<'static>, Error> {
        store.spread(l, extent)?;
        let mut words: Vec<u64> = store.zeros(store.positions.div_ceil(64), 8)?;
        store.at.iter().for_each(|p| words[p / 64] |= 1 << (p % 64));
        Ok(Level::Bitmap { words: words.into() })
    }

    fn is_set(&self, at: At, p: usize) -> bool {
        let Level::Bitmap { words: Array::U64(words) } = at.level() else { return true };
        words[p / 64] >> (p % 64) & 1 == 1
    }

    fn parent(&self, at: At, position: usize) -> usize {
        dense::parent(at, position)
    }

    fn to_parents(&self, at: At, positions: &mut [usize]) -> Result<(), Error> {
        dense::to_parents(at, positions);
        Ok(())
    }

    fn column(&self, at: At, positions: &[usize]) -> Result<Vec<i64>, Error> {
        dense::column(at, positions)
    }
}

/// Checks that no bit is set behind the last position.
fn check_unused(l: usize, words: &Array, positions: u64) -> Result<(), Malformed> {
    let used = positions % 64;
    match words.len().checked_sub(1) {
        Some(w) if used > 0 && words.get(w).bits() >> used != 0 => {
            malformed(Some(l), w, format!("a bit is set behind position {}, the last", positions - 1))
        }
        _ => Ok(()),
    }
}
