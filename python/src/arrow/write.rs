//! A frame becomes a stream of one chunk: numbers and texts where they are, the rest in buffers of its own.
//!
//! ```text
//!  Plain    c C s S i I l L f g    borrowed            Plain of bool   b        a bit each
//!  Texts    u U                    borrowed            Dates           tdD      days in 32 bits
//!                                                      Timestamps      tsu:UTC  microseconds in 64 bits
//!  nulls                           a bit each          Decimals        d:19,k   128 bits each
//! ```
//!
//! Invariant: what is borrowed is held by each array, and each child of one, until it is released, in whatever order.

use super::abi::{self, Array, Schema, Stream};
use fiberloom::Type;
use fiberloom::relation::{Column, Frame, Texts, Values};
use fiberloom_core::format::{Array as Elems, room};
use std::any::Any;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Arc;

/// Holds what a frame borrows from, and the frame.
pub type Holder = Arc<dyn Any + Send + Sync>;

/// The most digits of a decimal that 64 bits hold.
const DIGITS: usize = 19;

/// A stream of the rows of a frame, which `holder` holds.
///
/// # Safety
/// The columns stay where they are as long as `holder` is held.
///
/// # Errors
/// A date that 32 bits do not hold, a name with a zero byte, memory.
pub unsafe fn stream(frame: &Frame, holder: &Holder) -> Result<Stream, String> {
    let columns = frame.columns.iter().map(|column| array(column, frame.rows, holder)).collect::<Result<_, _>>()?;
    let chunk = of_buffers(frame.rows, vec![Buffer::Null], columns, holder);
    let state = Box::new(State { schema: schema(frame)?, chunk: Some(chunk) });
    Ok(Stream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(state).cast(),
    })
}

/// The schema of a frame.
///
/// # Errors
/// A name with a zero byte.
pub fn schema(frame: &Frame) -> Result<Schema, String> {
    let child = |column: &Column| {
        let name = column.name.as_str();
        let name = CString::new(name).map_err(|_| format!("the name of column {name:?} has a zero byte"))?;
        Ok(of_names(format(&column.values), name, Vec::new()))
    };
    let children = frame.columns.iter().map(child).collect::<Result<_, String>>()?;
    Ok(of_names(c"+s".to_owned(), CString::default(), children))
}

/// The format string of a column.
fn format(values: &Values) -> CString {
    let format = match values {
        Values::Plain(array) => match array.ty() {
            Type::Bool => c"b",
            Type::I8 => c"c",
            Type::I16 => c"s",
            Type::I32 => c"i",
            Type::I64 => c"l",
            Type::U8 => c"C",
            Type::U16 => c"S",
            Type::U32 => c"I",
            Type::U64 => c"L",
            Type::F32 => c"f",
            Type::F64 => c"g",
        },
        Values::Dates(_) => c"tdD",
        Values::Timestamps(_) => c"tsu:UTC",
        Values::Decimals(_, digits) => return CString::new(format!("d:{DIGITS},{digits}")).unwrap_or_default(),
        Values::Texts(texts) => {
            if texts.buffers().is_some_and(|(_, offsets)| offsets.ty() == Type::I32) {
                c"u"
            } else {
                c"U"
            }
        }
    };
    format.to_owned()
}

/// A buffer of an array.
enum Buffer {
    Null,
    /// Of what the holder holds.
    Borrowed(*const c_void),
    Bytes(Vec<u8>),
    Days(Vec<i32>),
    Times(Vec<i64>),
    Wide(Vec<i128>),
    Offsets(Vec<i64>),
}

impl Buffer {
    fn pointer(&self) -> *const c_void {
        match self {
            Buffer::Null => std::ptr::null(),
            Buffer::Borrowed(pointer) => *pointer,
            Buffer::Bytes(all) => all.as_ptr().cast(),
            Buffer::Days(all) => all.as_ptr().cast(),
            Buffer::Times(all) => all.as_ptr().cast(),
            Buffer::Wide(all) => all.as_ptr().cast(),
            Buffer::Offsets(all) => all.as_ptr().cast(),
        }
    }
}

/// The array of a column.
fn array(column: &Column, rows: usize, holder: &Holder) -> Result<Array, String> {
    let failed = |e: fiberloom_core::format::Error| e.to_string();
    let nulls = match column.nulls.is_empty() {
        true => Buffer::Null,
        false => Buffer::Bytes(bits(column.nulls.iter().map(|null| !null)).map_err(failed)?),
    };
    let integer = |array: &Elems, row| array.get(row).as_i128().unwrap_or_default();
    let buffers = match &column.values {
        Values::Plain(Elems::Bool(all)) => {
            vec![nulls, Buffer::Bytes(bits(all.iter().map(|b| *b != 0)).map_err(failed)?)]
        }
        Values::Plain(all) => vec![nulls, Buffer::Borrowed(all.as_ptr().cast())],
        Values::Dates(all) => {
            let mut days = room::room(rows).map_err(failed)?;
            for row in 0..rows {
                let day = if column.is_null(row) { Ok(0) } else { i32::try_from(integer(all, row)) };
                let wrong = |_| format!("column {}, row {}: a date that 32 bits do not hold", column.name, row + 1);
                days.push(day.map_err(wrong)?);
            }
            vec![nulls, Buffer::Days(days)]
        }
        Values::Timestamps(all) => {
            vec![nulls, Buffer::Times(room::collected((0..rows).map(|row| integer(all, row) as i64)).map_err(failed)?)]
        }
        Values::Decimals(all, _) => {
            vec![nulls, Buffer::Wide(room::collected((0..rows).map(|row| integer(all, row))).map_err(failed)?)]
        }
        Values::Texts(texts) => {
            let [offsets, text] = match texts.buffers() {
                Some((text, offsets)) => [offsets.as_ptr().cast(), text.as_ptr().cast()].map(Buffer::Borrowed),
                None => written(texts).map_err(failed)?,
            };
            vec![nulls, offsets, text]
        }
    };
    let mut made = of_buffers(rows, buffers, Vec::new(), holder);
    made.null_count = column.nulls.iter().filter(|null| **null).count() as i64;
    Ok(made)
}

/// Offsets and bytes of texts, each where it stands.
fn written(texts: &Texts) -> Result<[Buffer; 2], fiberloom_core::format::Error> {
    let mut offsets = room::room(texts.len() + 1)?;
    let mut bytes = room::room(texts.iter().map(str::len).sum())?;
    offsets.push(0);
    for text in texts.iter() {
        bytes.extend_from_slice(text.as_bytes());
        offsets.push(bytes.len() as i64);
    }
    Ok([Buffer::Offsets(offsets), Buffer::Bytes(bytes)])
}

/// A bit for each of these, the first lowest.
fn bits(all: impl ExactSizeIterator<Item = bool>) -> Result<Vec<u8>, fiberloom_core::format::Error> {
    let mut bytes = room::repeated(0u8, all.len().div_ceil(8))?;
    all.enumerate().for_each(|(n, bit)| bytes[n / 8] |= u8::from(bit) << (n % 8));
    Ok(bytes)
}

/// What an array's `private_data` is.
struct Kept {
    /// What the pointers point to.
    _buffers: Vec<Buffer>,
    pointers: Vec<*const c_void>,
    children: Vec<*mut Array>,
    _holder: Holder,
}

fn of_buffers(rows: usize, buffers: Vec<Buffer>, children: Vec<Array>, holder: &Holder) -> Array {
    let pointers = buffers.iter().map(Buffer::pointer).collect();
    let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let mut kept = Box::new(Kept { _buffers: buffers, pointers, children, _holder: holder.clone() });
    Array {
        length: rows as i64,
        null_count: 0,
        offset: 0,
        n_buffers: kept.pointers.len() as i64,
        n_children: kept.children.len() as i64,
        buffers: kept.pointers.as_mut_ptr(),
        children: kept.children.as_mut_ptr(),
        dictionary: std::ptr::null_mut(),
        release: Some(release_array),
        private_data: Box::into_raw(kept).cast(),
    }
}

/// Releases an array, and its children that nobody moved away.
unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: the consumer gives an array that `of_buffers` made, once.
    unsafe {
        let kept = Box::from_raw((*array).private_data.cast::<Kept>());
        kept.children.iter().for_each(|child| drop(Box::from_raw(*child)));
        (*array).release = None;
    }
}

/// What a schema's `private_data` is.
struct Named {
    format: CString,
    name: CString,
    children: Vec<*mut Schema>,
}

fn of_names(format: CString, name: CString, children: Vec<Schema>) -> Schema {
    let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let mut kept = Box::new(Named { format, name, children });
    Schema {
        format: kept.format.as_ptr(),
        name: kept.name.as_ptr(),
        metadata: std::ptr::null(),
        flags: abi::NULLABLE,
        n_children: kept.children.len() as i64,
        children: kept.children.as_mut_ptr(),
        dictionary: std::ptr::null_mut(),
        release: Some(release_schema),
        private_data: Box::into_raw(kept).cast(),
    }
}

/// Releases a schema, and its children that nobody moved away.
unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: the consumer gives a schema that `of_names` made, once.
    unsafe {
        let kept = Box::from_raw((*schema).private_data.cast::<Named>());
        kept.children.iter().for_each(|child| drop(Box::from_raw(*child)));
        (*schema).release = None;
    }
}

/// What a stream's `private_data` is.
struct State {
    schema: Schema,
    /// None after it was given.
    chunk: Option<Array>,
}

/// A copy of a schema that `of_names` made.
///
/// # Safety
/// It is one, and was not released.
unsafe fn copied(schema: &Schema) -> Schema {
    // SAFETY: the caller says so; children that a consumer may have moved away are those of copies.
    unsafe {
        let kept = &*schema.private_data.cast::<Named>();
        let children = kept.children.iter().map(|child| copied(&**child)).collect();
        of_names(kept.format.clone(), kept.name.clone(), children)
    }
}

unsafe extern "C" fn get_schema(stream: *mut Stream, out: *mut Schema) -> c_int {
    // SAFETY: the consumer gives a stream that `stream` made and was not released, and a place for a schema.
    unsafe { out.write(copied(&(*(*stream).private_data.cast::<State>()).schema)) };
    0
}

unsafe extern "C" fn get_next(stream: *mut Stream, out: *mut Array) -> c_int {
    // SAFETY: as above, and a place for an array.
    unsafe { out.write((*(*stream).private_data.cast::<State>()).chunk.take().unwrap_or_else(Array::none)) };
    0
}

unsafe extern "C" fn get_last_error(_: *mut Stream) -> *const c_char {
    const NONE: &CStr = c"no call failed";
    NONE.as_ptr()
}

unsafe extern "C" fn release_stream(stream: *mut Stream) {
    // SAFETY: the consumer gives a stream that `stream` made, once.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<State>()));
        (*stream).release = None;
    }
}
