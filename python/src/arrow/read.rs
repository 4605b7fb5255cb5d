//! A stream becomes columns, each when it is wanted.
//!
//! | | one chunk | several, or as said |
//! |---|---|---|
//! | integers, floats | borrowed | copied; if they are not aligned, too |
//! | texts with offsets | borrowed, if they begin at offset 0 and are UTF-8 throughout | copied |
//! | truth values, dates, decimals, views, dictionaries | copied: they are kept otherwise here | |

use super::abi::{self, Array, Schema, Stream};
use super::form::{Field, Form};
use super::part::Part;
use super::text;
use fiberloom::data;
use fiberloom::relation::{Column, Texts, Values};
use fiberloom::{Elements, Type, Value};
use fiberloom_core::format::{Array as Elems, room};
use std::ffi::c_int;

/// What is wrong with a table: in which row, if in one, counted from 0.
pub struct Wrong {
    row: Option<usize>,
    what: String,
    cause: data::Cause,
}

impl Wrong {
    /// Something in a row, counted from 0.
    pub fn at(row: usize, what: impl Into<String>) -> Wrong {
        Wrong { row: Some(row), ..Wrong::from(what.into()) }
    }

    /// The same of a column of a table of this name.
    pub fn within(self, table: &str, column: &str) -> data::Error {
        let (place, message) = match self.row {
            Some(row) => (data::Place::Cell { row: row + 1, column: column.to_string() }, self.what),
            None if column.is_empty() => (data::Place::Whole, self.what),
            None => (data::Place::Whole, format!("column {column}: {}", self.what)),
        };
        data::Error { file: table.to_string(), place, message, cause: self.cause }
    }
}

impl From<String> for Wrong {
    fn from(what: String) -> Wrong {
        Wrong { row: None, what, cause: data::Cause::Rejected }
    }
}

impl From<fiberloom_core::format::Error> for Wrong {
    fn from(error: fiberloom_core::format::Error) -> Wrong {
        Wrong { row: None, what: error.to_string(), cause: data::Cause::Limit }
    }
}

/// What a stream gave.
pub struct Batches {
    pub fields: Vec<Field>,
    pub rows: usize,
    /// Each has a child a field.
    chunks: Vec<Array>,
}

impl Batches {
    /// All of a stream.
    ///
    /// # Errors
    /// The producer's, or that what it gives is no table.
    pub fn of(mut stream: Stream) -> Result<Batches, Wrong> {
        if stream.release.is_none() {
            return Err("the stream was read before: a stream gives its rows once".to_string().into());
        }
        let (Some(get_schema), Some(get_next)) = (stream.get_schema, stream.get_next) else {
            return Err("a stream without the functions that give its schema and its arrays".to_string().into());
        };
        let mut schema = Schema::none();
        // SAFETY: the stream was not released, and the place for the schema is one.
        let status = unsafe { get_schema(&mut stream, &mut schema) };
        given(&mut stream, status)?;
        if schema.release.is_none() {
            return Err("the stream gives a schema that was released".to_string().into());
        }
        let mut all = Batches { fields: fields(&schema)?, rows: 0, chunks: Vec::new() };
        loop {
            let mut chunk = Array::none();
            // SAFETY: as above.
            let status = unsafe { get_next(&mut stream, &mut chunk) };
            given(&mut stream, status)?;
            if chunk.release.is_none() {
                return Ok(all);
            }
            all.put(chunk)?;
        }
    }

    /// Puts a chunk behind the others.
    fn put(&mut self, chunk: Array) -> Result<(), Wrong> {
        let rows = usize::try_from(chunk.length).map_err(|_| format!("a chunk of {} rows", chunk.length))?;
        let total = self.rows.checked_add(rows).filter(|rows| *rows <= isize::MAX as usize / 32);
        self.rows = total.ok_or_else(|| format!("{} + {rows} rows, more than memory has", self.rows))?;
        if usize::try_from(chunk.n_children) != Ok(self.fields.len()) {
            return Err(format!("a chunk of {} columns, {} expected", chunk.n_children, self.fields.len()).into());
        }
        if usize::try_from(chunk.offset).is_err() {
            return Err(format!("a chunk of offset {}", chunk.offset).into());
        }
        let whole = Part::of(&chunk, Form::Null, (0, rows))?;
        let null = (0..rows).find(|row| whole.is_null(*row));
        if let Some(row) = null.or((chunk.null_count > 0).then_some(0)) {
            return Err(format!("row {} of a chunk is null itself, and not a value of it", row + 1).into());
        }
        children(&chunk)?;
        Ok(room::push(&mut self.chunks, chunk)?)
    }

    /// Column `n`, or its first `most` rows, which borrows from what is held here.
    ///
    /// # Errors
    /// It holds what no program reads, contradicts itself, or memory does not suffice.
    pub fn column(&self, n: usize, most: usize) -> Result<Column<'_>, Wrong> {
        let field = &self.fields[n];
        let form = field.form.clone().map_err(unread)?;
        let (mut parts, mut left) = (Vec::new(), most);
        for chunk in &self.chunks {
            let rows = left.min(chunk.length as usize);
            left -= rows;
            parts.push(Part::of(children(chunk)?[n], form, (chunk.offset as usize, rows))?);
        }
        let (values, mut nulls) = match &field.dictionary {
            None => (values(form, &parts)?, nulls(form, &parts)?),
            Some(held) => gathered(form, held.clone().map_err(unread)?, &parts)?,
        };
        if !nulls.contains(&true) {
            nulls = Vec::new();
        }
        Ok(Column::new(&field.name, values).with_nulls(nulls))
    }
}

fn unread(what: String) -> Wrong {
    format!("it holds {what}, and no declaration of a column says so").into()
}

/// What a function of a stream says: 0, or the number of an error.
fn given(stream: &mut Stream, status: c_int) -> Result<(), Wrong> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: the stream was not released; its text stays until it is called again.
    let text = stream.get_last_error.and_then(|last| unsafe { abi::text(last(stream)) });
    let why = text.map_or(String::new(), |text| format!(": {}", text.to_string_lossy()));
    Err(format!("its producer failed with status {status}{why}").into())
}

/// The columns of a table's schema.
fn fields(schema: &Schema) -> Result<Vec<Field>, String> {
    // SAFETY: the schema was not released.
    let format = unsafe { abi::text(schema.format) }.ok_or("a schema without a format")?;
    if format != c"+s" {
        let format = format.to_string_lossy();
        return Err(format!("a stream of arrays of format `{format}`, and not of rows of a table (`+s`)"));
    }
    // SAFETY: as above.
    let children = unsafe { abi::members(schema.children, schema.n_children, "a schema")? };
    children.into_iter().map(Field::of).collect()
}

/// The columns of a chunk.
fn children(chunk: &Array) -> Result<Vec<&Array>, String> {
    // SAFETY: the chunk was not released.
    unsafe { abi::members(chunk.children, chunk.n_children, "a chunk") }
}

/// How many rows there are.
pub fn rows(parts: &[Part]) -> usize {
    parts.iter().map(|part| part.rows).sum()
}

/// Of each row whether it is null; empty where none can be.
fn nulls(form: Form, parts: &[Part]) -> Result<Vec<bool>, Wrong> {
    if form == Form::Null {
        return Ok(room::repeated(true, rows(parts))?);
    }
    if !parts.iter().any(Part::has_validity) {
        return Ok(Vec::new());
    }
    Ok(room::collected(parts.iter().flat_map(|part| (0..part.rows).map(|row| part.is_null(row))))?)
}

/// The values of all chunks, any where a row is null.
fn values(form: Form, parts: &[Part]) -> Result<Values<'static>, Wrong> {
    Ok(match form {
        Form::Plain(ty) => Values::Plain(plain(ty, parts)?),
        Form::Bits => {
            // SAFETY: buffer 1 has a bit for each value.
            let bits = parts.iter().flat_map(|part| (0..part.rows).map(|row| u8::from(unsafe { part.bit(1, row) })));
            Values::Plain(Elems::Bool(room::collected(bits)?.into()))
        }
        Form::Null => {
            let none = Elems::filled(Value::bool(false), rows(parts));
            Values::Plain(none.ok_or_else(|| "memory does not suffice".to_string())?)
        }
        // SAFETY: buffer 1 has an `i32` for each value.
        Form::Days => Values::Dates(each(parts, |part, row| Ok(i64::from(unsafe { part.value::<i32>(row) })))?),
        Form::Millis => Values::Dates(each(parts, |part, row| {
            // SAFETY: buffer 1 has an `i64` for each value.
            let time = unsafe { part.value::<i64>(row) };
            match time % 86_400_000 {
                0 => Ok(time / 86_400_000),
                _ => Err("a time of day stands where a date is expected: cast the column to timestamps".to_string()),
            }
        })?),
        Form::Time(per_second) => Values::Timestamps(each(parts, |part, row| {
            // SAFETY: buffer 1 has an `i64` for each value.
            micros(unsafe { part.value::<i64>(row) }, per_second)
        })?),
        Form::Decimal { bytes, digits } => decimals(parts, bytes, digits)?,
        Form::Text { wide } => Values::Texts(text::texts(parts, wide)?),
        Form::View => Values::Texts(text::views(parts)?),
    })
}

/// An `i64` for each row, 0 where it is null.
fn each(parts: &[Part], of: impl Fn(&Part, usize) -> Result<i64, String>) -> Result<Elems<'static>, Wrong> {
    let mut all = room::room(rows(parts))?;
    for part in parts {
        for row in 0..part.rows {
            let value = if part.is_null(row) { Ok(0) } else { of(part, row) };
            all.push(value.map_err(|what| Wrong::at(all.len(), what))?);
        }
    }
    Ok(Elems::from(all))
}

/// Integers or floats: those of one chunk are borrowed.
fn plain(ty: Type, parts: &[Part]) -> Result<Elems<'static>, Wrong> {
    macro_rules! of {
        ($($variant:ident $rust:ty),*) => { match ty {
            $(Type::$variant => {
                if let [part] = parts
                    && part.rows > 0
                    && part.buffer::<$rust>(1).is_aligned()
                {
                    // SAFETY: buffer 1 has so many values, any bits are one, and nobody changes them before the array is released.
                    let all = unsafe { std::slice::from_raw_parts(part.buffer::<$rust>(1).add(part.start), part.rows) };
                    return Ok(Elems::$variant(Elements::Borrowed(all)));
                }
                let mut all: Vec<$rust> = room::room(rows(parts))?;
                for part in parts {
                    // SAFETY: as above.
                    all.extend((0..part.rows).map(|row| unsafe { part.value::<$rust>(row) }));
                }
                Ok(Elems::from(all))
            })*
            Type::Bool => unreachable!("truth values are bits"),
        } };
    }
    of!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64)
}

/// Decimals as integers of 64 bits. Where these do not suffice, digits behind the point that are 0 throughout are left away.
fn decimals(parts: &[Part], bytes: usize, digits: i32) -> Result<Values<'static>, Wrong> {
    let mut all: Vec<i128> = room::room(rows(parts))?;
    for part in parts {
        for row in 0..part.rows {
            // SAFETY: buffer 1 has so many bytes for each value.
            let value = if part.is_null(row) { Some(0) } else { unsafe { decimal(part, bytes, row) } };
            let value = value.and_then(|x| x.checked_mul(10i128.checked_pow((-digits).max(0) as u32)?));
            all.push(value.ok_or_else(|| Wrong::at(all.len(), "a decimal of more than 128 bits"))?);
        }
    }
    let mut digits = digits.max(0);
    let is_held = |x: &i128| i64::try_from(*x).is_ok();
    while digits > 0 && !(digits <= 18 && all.iter().all(is_held)) && all.iter().all(|x| x % 10 == 0) {
        all.iter_mut().for_each(|x| *x /= 10);
        digits -= 1;
    }
    if let Some(row) = all.iter().position(|x| !is_held(x)) {
        return Err(Wrong::at(row, format!("{} times 10^-{digits} is a decimal of more than 64 bits", all[row])));
    }
    let held = room::collected(all.into_iter().map(|x| x as i64))?;
    match u8::try_from(digits) {
        Ok(digits) if digits <= 18 => Ok(Values::Decimals(Elems::from(held), digits)),
        _ => Err(format!("decimals with {digits} digits behind the point: at most 18 are held").into()),
    }
}

/// The integer that a decimal of so many bytes is; none of one that needs more than 128 bits.
///
/// # Safety
/// Buffer 1 has so many bytes for each value.
unsafe fn decimal(part: &Part, bytes: usize, row: usize) -> Option<i128> {
    // SAFETY: the caller says so.
    unsafe {
        match bytes {
            4 => Some(part.value::<i32>(row).into()),
            8 => Some(part.value::<i64>(row).into()),
            16 => Some(part.value::<i128>(row)),
            _ => {
                let [low, high] = part.value::<[i128; 2]>(row);
                (high == low >> 127).then_some(low)
            }
        }
    }
}

/// The values of a column that says places in dictionaries, one a chunk; nulls of the column and of the dictionaries.
fn gathered(places: Form, held: Form, parts: &[Part]) -> Result<(Values<'static>, Vec<bool>), Wrong> {
    let Form::Plain(ty) = places else { return Err("places in a dictionary that are no integers".to_string().into()) };
    if !ty.is_integer() || matches!(held, Form::Decimal { .. }) {
        return Err("a dictionary of decimals, or places in one that are no integers: cast it to its values"
            .to_string()
            .into());
    }
    // Of each chunk the dictionary; of each row the place in it, none where the row is null.
    let (mut all, mut rows): (Vec<Column<'static>>, Vec<Option<(usize, usize)>>) = (Vec::new(), Vec::new());
    for (n, part) in parts.iter().enumerate() {
        // SAFETY: the array was not released.
        let array = unsafe { part.array.dictionary.as_ref() }.ok_or("a chunk without its dictionary".to_string())?;
        let count = usize::try_from(array.length).map_err(|_| format!("a dictionary of {} values", array.length))?;
        let whole = [Part::of(array, held, (0, count))?];
        let dictionary = Column::new("", values(held, &whole)?).with_nulls(nulls(held, &whole)?);
        let at = plain(ty, &[*part])?;
        for row in 0..part.rows {
            let place = at.get(row).as_i128().and_then(|place| usize::try_from(place).ok());
            let found = match (part.is_null(row), place.filter(|place| *place < count)) {
                (true, _) => None,
                (false, Some(place)) => (!dictionary.is_null(place)).then_some((n, place)),
                (false, None) => {
                    let what = format!("place {} of a dictionary of {count} values", at.get(row));
                    return Err(Wrong::at(rows.len(), what));
                }
            };
            room::push(&mut rows, found)?;
        }
        all.push(dictionary);
    }
    let is_null = room::collected(rows.iter().map(Option::is_none))?;
    Ok((picked(&all, &rows)?, is_null))
}

/// Values of columns of one kind, by column and row.
fn picked(columns: &[Column], rows: &[Option<(usize, usize)>]) -> Result<Values<'static>, Wrong> {
    Ok(match columns.first().map(|column| &column.values) {
        Some(Values::Texts(_)) => {
            let text = |at: &Option<(usize, usize)>| match at.map(|(n, place)| (&columns[n].values, place)) {
                Some((Values::Texts(texts), place)) => texts.get(place),
                _ => "",
            };
            Values::Texts(Texts::of(rows.iter().map(text))?)
        }
        Some(Values::Dates(_)) => Values::Dates(picked_numbers(columns, rows)?),
        Some(Values::Timestamps(_)) => Values::Timestamps(picked_numbers(columns, rows)?),
        _ => Values::Plain(picked_numbers(columns, rows)?),
    })
}

/// A time of so many a second as microseconds.
fn micros(time: i64, per_second: i64) -> Result<i64, String> {
    match per_second {
        1_000_000_000 if time % 1_000 == 0 => Ok(time / 1_000),
        1_000_000_000 => {
            let what = format!("a time of {time} nanoseconds from 1970-01-01 on is no whole microsecond");
            Err(format!("{what}, and timestamps hold these: round the column"))
        }
        n => time
            .checked_mul(1_000_000 / n)
            .ok_or_else(|| "a time is out of bounds: 64 bits of microseconds".to_string()),
    }
}

/// Numbers or dates of columns of one kind, by column and row.
fn picked_numbers(columns: &[Column], rows: &[Option<(usize, usize)>]) -> Result<Elems<'static>, Wrong> {
    let number = |column: &Column, place: usize| match &column.values {
        Values::Plain(array) | Values::Dates(array) | Values::Timestamps(array) | Values::Decimals(array, _) => {
            array.get(place)
        }
        Values::Texts(_) => unreachable!("all columns are of one kind"),
    };
    let ty = match columns.first().map(|column| &column.values) {
        Some(Values::Plain(array) | Values::Dates(array) | Values::Timestamps(array) | Values::Decimals(array, _)) => {
            array.ty()
        }
        _ => Type::I64,
    };
    let value = |at: &Option<(usize, usize)>| at.map_or(Value::zero(ty), |(n, place)| number(&columns[n], place));
    Ok(Elems::collected(ty, rows.iter().map(value))?)
}
