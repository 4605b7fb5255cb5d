//! The levels of a table's tensors, and which row stands at which position.
//!
//! ```text
//!  dense            coordinates 2 0 3      positions 0 1 2 3    rows 1 – 0 2
//!  dense, ragged    coordinates 1 0 1      pos 0 1 3            rows 1 0 2     rows of one key one behind the other, as numbered
//!  any other        row numbers are assembled as values are
//! ```

use crate::relate::NONE;
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Array, Error as Unassembled, Format, Level, LevelKind, Permutation, Tensor, room};
use fiberloom_data::Fault;

/// A table's levels, and which row stands at which position.
pub(super) struct Levels {
    /// Without values.
    tensor: Tensor<'static>,
    positions: usize,
    rows: Standing,
}

/// Which row stands at a position.
enum Standing {
    /// Row `n` at position `n`, at all of them.
    InOrder,
    /// Of each position its row, or [`NONE`].
    At(Vec<i64>),
    /// Of each row its position, at all of them.
    Moved(Permutation),
}

impl Levels {
    /// Those of a tensor of row numbers, which is [`NONE`] elsewhere.
    pub(super) fn of(numbers: Tensor<'static>) -> Result<Levels, Fault> {
        let rows = numbers.values.as_slice::<i64>().expect("row numbers");
        let in_order = rows.iter().enumerate().all(|(n, row)| n as i64 == *row);
        let rows = if in_order { Standing::InOrder } else { Standing::At(room::copied(rows)?) };
        Ok(Levels { positions: numbers.values.len(), rows, tensor: Tensor { values: no_values(), ..numbers } })
    }

    /// The same where the last mode numbers rows, whatever its column holds; none in formats that store more.
    pub(super) fn numbered(
        coordinates: &[Vec<i64>],
        rows: usize,
        extents: &[u64],
        (format, limit): (&Format, u64),
    ) -> Result<Option<Levels>, Fault> {
        let (levels, standing) = match (&format.levels[..], coordinates) {
            ([LevelKind::Dense], [_]) if extents[0] == rows as u64 => (vec![Level::Dense], Standing::InOrder),
            ([LevelKind::Dense, LevelKind::Ragged], [keys, _])
                if *format.order == [0, 1]
                    && extents[0].max(rows as u64) <= limit / 8
                    && u32::try_from(rows).is_ok() =>
            {
                let Some(mut next) = begins(keys, extents[0] as usize)? else { return Ok(None) };
                let level = ragged(&next, rows)?;
                let standing = if keys.is_sorted() { Standing::InOrder } else { counted(keys, &mut next)? };
                (vec![Level::Dense, level], standing)
            }
            _ => return Ok(None),
        };
        Ok(Some(Levels::stored(levels, (extents, format), rows, standing)))
    }

    fn stored(
        levels: Vec<Level<'static>>,
        (extents, format): (&[u64], &Format),
        positions: usize,
        rows: Standing,
    ) -> Levels {
        let (extents, format) = (extents.to_vec(), format.clone());
        let tensor = Tensor { extents, format, levels, values: no_values(), fill: Value::i64(NONE) };
        Levels { tensor, positions, rows }
    }

    /// The same of a dense mode; none in other formats, and where two rows are at one position, a coordinate is out of bounds, or memory is
    /// over the limit.
    pub(super) fn placed(
        coordinates: &[Vec<i64>],
        extents: &[u64],
        (format, limit): (&Format, u64),
    ) -> Result<Option<Levels>, Fault> {
        let ([LevelKind::Dense], [column]) = (&format.levels[..], coordinates) else { return Ok(None) };
        if extents[0] > limit / 8 {
            return Ok(None);
        }
        let rows = at(column, extents[0] as usize)?;
        Ok(rows.map(|rows| Levels::stored(vec![Level::Dense], (extents, format), extents[0] as usize, rows)))
    }

    pub(super) fn format(&self) -> &Format {
        &self.tensor.format
    }

    /// The tensor that is true where rows stand.
    pub(super) fn standing(&self, fill: Value, limit: u64) -> Result<Tensor<'static>, Fault> {
        if self.positions as u64 > limit {
            return Err(Fault::over(limit));
        }
        let stands = match &self.rows {
            Standing::InOrder | Standing::Moved(_) => room::repeated(1u8, self.positions)?,
            Standing::At(rows) => {
                let none = u8::from(fill.is_true());
                room::collected(rows.iter().map(|row| if *row == NONE { none } else { 1 }))?
            }
        };
        Ok(Tensor { values: Array::Bool(stands.into()), fill, ..self.tensor.clone() })
    }

    /// The tensor of these values of the rows, of which some are null.
    pub(super) fn holding(
        &self,
        (values, nulls, null): (Array, &[bool], Value),
        fill: Value,
        limit: u64,
    ) -> Result<Tensor<'static>, Fault> {
        let bytes = self.positions as u128 * values.ty().bytes() as u128;
        if bytes > limit.into() {
            return Err(Fault::over(limit));
        }
        let memory = || Fault::from(Unassembled::Memory { bytes });
        let mut array = match &self.rows {
            Standing::InOrder => values.share(),
            Standing::At(rows) => values.gather_or(rows, fill),
            Standing::Moved(places) => values.moved(places),
        }
        .ok_or_else(memory)?;
        let mut put = |position: usize| array.set(position, null);
        let rows_of_nulls = || nulls.iter().enumerate().filter(|(_, null)| **null).map(|(row, _)| row);
        match &self.rows {
            Standing::InOrder => rows_of_nulls().for_each(put),
            Standing::Moved(places) => rows_of_nulls().for_each(|row| put(places.places()[row] as usize)),
            Standing::At(rows) => {
                let is_null = |row: i64| row != NONE && nulls.get(row as usize) == Some(&true);
                let at = rows.iter().enumerate().filter(|(_, row)| is_null(**row));
                at.for_each(|(position, _)| put(position));
            }
        }
        Ok(Tensor { values: array, fill, ..self.tensor.clone() })
    }
}

fn no_values() -> Array<'static> {
    Array::from(Vec::<i64>::new())
}

/// The level of rows one behind the other below each key.
fn ragged(pos: &[i64], rows: usize) -> Result<Level<'static>, Fault> {
    let ty = if rows <= i32::MAX as usize { Type::I32 } else { Type::I64 };
    Ok(Level::Ragged { pos: Array::from_indices(ty, pos)? })
}

/// Which row stands at which of so many positions, `places` being those of the rows in their order; none if two are at one.
fn at(places: &[i64], positions: usize) -> Result<Option<Standing>, Fault> {
    if places.len() == positions && places.iter().enumerate().all(|(n, place)| n as i64 == *place) {
        return Ok(Some(Standing::InOrder));
    }
    let mut at = room::repeated(NONE, positions)?;
    for (row, place) in places.iter().enumerate() {
        match usize::try_from(*place).ok().and_then(|place| at.get_mut(place)) {
            Some(at) if *at == NONE => *at = row as i64,
            _ => return Ok(None),
        }
    }
    Ok(Some(Standing::At(at)))
}

/// The rows in the order of their keys, those of one key in their own; `next` has the place of the first row of each key, and there are less
/// than 2³² rows.
fn counted(keys: &[i64], next: &mut [i64]) -> Result<Standing, Fault> {
    let mut places: Vec<u32> = room::room(keys.len())?;
    places.extend(keys.iter().map(|key| {
        let next = &mut next[*key as usize];
        *next += 1;
        (*next - 1) as u32
    }));
    Ok(Standing::Moved(Permutation::of(places)?))
}

/// The place of the first row of each key, and behind the last one how many rows there are; none if a key is out of bounds.
fn begins(keys: &[i64], extent: usize) -> Result<Option<Vec<i64>>, Fault> {
    let mut pos = room::repeated(0i64, extent + 1)?;
    for key in keys {
        match usize::try_from(*key).ok().and_then(|key| pos.get_mut(key + 1)) {
            Some(count) => *count += 1,
            None => return Ok(None),
        }
    }
    let mut sum = 0;
    pos.iter_mut().for_each(|count| {
        sum += *count;
        *count = sum;
    });
    Ok(Some(pos))
}
