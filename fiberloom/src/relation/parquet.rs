//! Apache Parquet, through the crate of that name, without Arrow.
//!
//! ```text
//!  file     row group 0     l_orderkey  ▓▓▓▓ pages     l_shipdate  ▓▓ pages     …
//!           row group 1     l_orderkey  ▓▓▓▓           l_shipdate  ▓▓
//!           metadata        which columns there are, what they hold, where their pages stand
//! ```
//!
//! Columns that nobody wants are not read. Row groups are read one by one, of each column one page at a time. Nothing is asked for that
//! the file cannot hold, but for a page's unpacked bytes: those are as many as its header says, less than 2³¹.

mod form;
mod write;

pub(super) use write::write;

use super::cell::Collector;
use super::{Cell, Column, Wanted, missing};
use crate::data::{Fault, Options, Place};
use bytes::Bytes;
use fiberloom_core::algebra::Value;
use form::Form;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
};
use parquet::errors::{ParquetError, Result as Read};
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The wanted columns of a file, and how many rows there are.
pub(super) fn read(file: File, wanted: &[Wanted], options: &Options) -> Result<(usize, Vec<Column<'static>>), Fault> {
    caught(|| columns(Bounded(file), wanted, options))
}

/// The same of the bytes of a file.
pub(super) fn read_bytes(
    bytes: &[u8],
    wanted: &[Wanted],
    options: &Options,
) -> Result<(usize, Vec<Column<'static>>), Fault> {
    caught(|| columns(Bounded(Bytes::copy_from_slice(bytes)), wanted, options))
}

/// What is read; where the crate panics at damaged bytes, as some do, a fault. What a panic prints is printed.
fn caught<T>(read: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let what = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
        let what: String = what.unwrap_or("what it says contradicts itself").chars().take(200).collect();
        Err(Fault::whole(format!("damaged: {what}")))
    })
}

/// Pages whose levels are in the page: the crate takes that for granted.
struct Pages(Box<dyn PageReader>);

impl Iterator for Pages {
    type Item = Read<Page>;

    fn next(&mut self) -> Option<Read<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Read<Option<Page>> {
        let page = self.0.get_next_page()?;
        if let Some(Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. }) = &page {
            let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
            if levels > buf.len() as u64 {
                return Err(ParquetError::EOF(format!("levels of {levels} bytes in a page of {}", buf.len())));
            }
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Read<Option<PageMetadata>> {
        self.0.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Read<()> {
        self.0.skip_next_page()
    }
}

/// What is in a file, of which no more is asked for than it has.
struct Bounded<R>(R);

impl<R: Length> Length for Bounded<R> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<R: ChunkReader> ChunkReader for Bounded<R> {
    type T = R::T;

    fn get_read(&self, start: u64) -> Read<R::T> {
        self.0.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Read<Bytes> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.len());
        let what = || ParquetError::EOF(format!("{length} bytes at {start} of a file of {} bytes", self.len()));
        end.ok_or_else(what)?;
        self.0.get_bytes(start, length)
    }
}

/// What the crate says of a file: the system's failures are the system's.
fn damaged(error: ParquetError) -> Fault {
    match error {
        ParquetError::External(error) => match error.downcast::<std::io::Error>() {
            Ok(error) => Fault::input(*error),
            Err(error) => Fault::whole(format!("damaged: {error}")),
        },
        ParquetError::General(what) | ParquetError::EOF(what) => Fault::whole(format!("damaged: {what}")),
        error => Fault::whole(format!("damaged: {error}")),
    }
}

fn columns<R: ChunkReader + 'static>(
    input: R,
    wanted: &[Wanted],
    options: &Options,
) -> Result<(usize, Vec<Column<'static>>), Fault> {
    let file = SerializedFileReader::new(input).map_err(damaged)?;
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let fields = schema.root_schema().get_fields();
    missing(wanted, fields.iter().map(|field| field.name()))?;
    let leaves = wanted.iter().map(|wanted| leaf(&schema, &wanted.source)).collect::<Result<Vec<_>, _>>()?;
    let mut collectors: Vec<Collector> = wanted.iter().map(|wanted| Collector::new(wanted.holds)).collect();
    let mut rows = 0usize;
    for group in 0..file.num_row_groups() {
        let reader = file.get_row_group(group).map_err(damaged)?;
        let many = usize::try_from(reader.metadata().num_rows())
            .map_err(|_| Fault::whole("damaged: a number of rows below 0"))?;
        for (n, (leaf, form)) in leaves.iter().enumerate() {
            let column = reader.metadata().column(*leaf);
            let offsets =
                [Some(column.data_page_offset()), column.dictionary_page_offset(), Some(column.compressed_size())];
            if offsets.into_iter().flatten().any(|offset| offset < 0) {
                return Err(Fault::whole("damaged: an offset of a column is below 0"));
            }
            let others = collectors.iter().fold(0u64, |bytes, column| bytes.saturating_add(column.bytes));
            let within = Chunk {
                source: &wanted[n].source,
                rows,
                many,
                levels: schema.column(*leaf).max_def_level(),
                others: others - collectors[n].bytes,
                limit: options.limit,
            };
            let pages = Pages(reader.get_column_page_reader(*leaf).map_err(damaged)?);
            let column = get_column_reader(schema.column(*leaf), Box::new(pages));
            within.read(column, *form, &mut collectors[n])?;
        }
        rows = rows.checked_add(many).ok_or_else(|| Fault::over(options.limit))?;
    }
    let columns = collectors.into_iter().zip(wanted).map(|(column, wanted)| column.column(&wanted.source));
    Ok((rows, columns.collect::<Result<_, _>>()?))
}

/// The place of a column among those that are not groups, and what it holds.
fn leaf(schema: &SchemaDescriptor, name: &str) -> Result<(usize, Form), Fault> {
    let of_name = |leaf: &usize| schema.column(*leaf).path().parts().first().is_some_and(|part| part == name);
    let flat =
        |leaf: &usize| schema.column(*leaf).path().parts().len() == 1 && schema.column(*leaf).max_rep_level() == 0;
    let nested = || Fault::whole(format!("column `{name}` is nested: one value a row expected"));
    let leaf = (0..schema.num_columns()).find(of_name).filter(flat).ok_or_else(nested)?;
    let other = |what| Fault::whole(format!("column `{name}` holds {what}"));
    Ok((leaf, Form::of(&schema.column(leaf)).map_err(other)?))
}

/// A column of a row group.
struct Chunk<'w> {
    /// The column's name.
    source: &'w str,
    /// How many rows stand in groups before it.
    rows: usize,
    /// How many rows it has.
    many: usize,
    /// The level of definition of a value that is not null.
    levels: i16,
    /// Bytes of other columns.
    others: u64,
    limit: u64,
}

impl Chunk<'_> {
    fn read(&self, column: ColumnReader, form: Form, to: &mut Collector) -> Result<(), Fault> {
        use ColumnReader as Of;
        match &column {
            Of::BoolColumnReader(_) => self.values::<BoolType>(column, to, |x| Ok(Cell::Plain(Value::bool(*x)))),
            Of::Int32ColumnReader(_) => self.values::<Int32Type>(column, to, |x| form.integer((*x).into())),
            Of::Int64ColumnReader(_) => self.values::<Int64Type>(column, to, |x| form.integer(*x)),
            Of::FloatColumnReader(_) => self.values::<FloatType>(column, to, |x| Ok(Cell::Plain((*x).into()))),
            Of::DoubleColumnReader(_) => self.values::<DoubleType>(column, to, |x| Ok(Cell::Plain((*x).into()))),
            Of::ByteArrayColumnReader(_) => self.values::<ByteArrayType>(column, to, |x| form.bytes(x.data())),
            Of::FixedLenByteArrayColumnReader(_) => {
                self.values::<FixedLenByteArrayType>(column, to, |x| form.bytes(x.data()))
            }
            Of::Int96ColumnReader(_) => Err(Fault::whole("INT96 is not read")),
        }
    }

    /// Puts the values of a column into another.
    fn values<T: DataType>(
        &self,
        column: ColumnReader,
        to: &mut Collector,
        cell: impl for<'v> Fn(&'v T::T) -> Result<Cell<'v>, String>,
    ) -> Result<(), Fault> {
        /// Rows that are decoded at once.
        const BATCH: usize = 1 << 12;
        let Some(mut from) = T::get_column_reader(column) else {
            return Err(Fault::whole("damaged: a column of another type than it says"));
        };
        let (mut values, mut levels, mut got) = (Vec::new(), Vec::new(), 0);
        loop {
            values.clear();
            levels.clear();
            let (records, ..) = from.read_records(BATCH, Some(&mut levels), None, &mut values).map_err(damaged)?;
            if records == 0 {
                break;
            }
            let mut next = values.iter();
            for row in 0..records {
                let is_null = self.levels > 0 && levels.get(row).is_none_or(|level| *level < self.levels);
                let place = || Place::Cell { row: self.rows + got + row + 1, column: self.source.to_string() };
                let value = if is_null { None } else { next.next() };
                let pushed = match value {
                    None => to.null(),
                    Some(value) => cell(value).map_err(Fault::whole).and_then(|cell| to.push(cell)),
                };
                pushed.map_err(|fault| fault.at(place))?;
                if self.others.saturating_add(to.bytes) > self.limit {
                    return Err(Fault::over(self.limit));
                }
            }
            got += records;
        }
        if got == self.many {
            return Ok(());
        }
        Err(Fault::whole(format!("damaged: column `{}` has {got} rows of {} in a row group", self.source, self.many)))
    }
}
