//! Apache Parquet, through the crate of that name, without Arrow.
//!
//! ```text
//!  file     row group 0     l_orderkey  ▓▓▓▓ pages     l_shipdate  ▓▓ pages     …
//!           row group 1     l_orderkey  ▓▓▓▓           l_shipdate  ▓▓
//!           metadata        which columns there are, what they hold, where their pages stand
//! ```
//!
//! Columns that nobody wants are not read. Wanted ones are read at once, as far as there are threads (`fiberloom_core::parallel`); of each,
//! row groups one by one, their pages one at a time. What is read does not depend on how many threads there are; of several faults
//! one that is reported may, if memory over the limit is among them. The crate reads metadata, page headers, and unpacks pages;
//! `chunk` decodes them, or the crate where they have an encoding that `chunk` does not know (`each`).
//!
//! Nothing is asked for that the file cannot hold, but for a page's unpacked bytes: those are as many as its header says, less than 2³¹.

mod chunk;
mod each;
mod form;
mod hybrid;
mod write;

pub(super) use write::write;

use super::cell::Collector;
use super::groups::{Held as Texts, Taken};
use super::{Column, Wanted, named};
use bytes::{Buf, Bytes};
use chunk::Chunk;
use fiberloom_core::parallel;
use fiberloom_data::{Cause, Fault, Options, Place};
use form::Form;
pub use hybrid::Hybrid;
use parquet::basic::Compression;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result as Read};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::SchemaDescriptor;
use std::fs::File;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

/// The wanted columns of a file, and how many rows there are.
pub(super) fn read(file: File, wanted: &[Wanted], options: &Options) -> Result<(usize, Vec<Column<'static>>), Fault> {
    caught(|| columns(Bounded(file), wanted, None, options))
}

/// The same of some of its row groups.
pub(super) fn read_groups(
    file: File,
    wanted: &[Wanted],
    groups: Range<usize>,
    options: &Options,
) -> Result<(usize, Vec<Column<'static>>), Fault> {
    caught(|| columns(Bounded(file), wanted, Some(groups), options))
}

/// The row groups of a file: the rows of each, and the bytes that its wanted columns take.
pub(super) fn groups(file: File, wanted: &[Taken]) -> Result<Vec<(usize, u64)>, Fault> {
    caught(|| {
        let input = Bounded(file);
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&input).map_err(damaged)?;
        let schema = metadata.file_metadata().schema_descr();
        let columns: Vec<Wanted> = wanted.iter().map(|taken| taken.wanted.clone()).collect();
        named(&columns, schema.root_schema().get_fields().iter().map(|field| field.name()))?;
        let leaves = columns.iter().map(|wanted| leaf(schema, &wanted.source)).collect::<Result<Vec<_>, _>>()?;
        let group = |group: &RowGroupMetaData| {
            let rows = number_of_rows(group)?;
            let columns = || wanted.iter().zip(&leaves).map(|(taken, (leaf, _))| (taken, group.column(*leaf)));
            let taken = columns().map(|(taken, column)| taken.bytes(rows as u64, &held(column, rows as u64)));
            // One column's pages are packed while they are read, and a truth value says that a row stands.
            let packed = columns().map(|(_, column)| size(column.compressed_size())).max().unwrap_or(0);
            Ok((rows, taken.fold(packed.saturating_add(rows as u64), u64::saturating_add)))
        };
        metadata.row_groups().iter().map(group).collect()
    })
}

fn size(bytes: i64) -> u64 {
    u64::try_from(bytes).unwrap_or(0)
}

/// About how many texts are held of a column of a row group, by what is said of its pages: those of its dictionary, if its other pages have no
/// more bytes than places of so many rows, else one a row.
fn held(column: &ColumnChunkMetaData, rows: u64) -> Texts {
    let [packed, unpacked] = [column.compressed_size(), column.uncompressed_size()].map(size);
    let dictionary = column.dictionary_page_offset().map_or(0, |at| size(column.data_page_offset() - at));
    let dictionary = dictionary.min(packed);
    let unpacked_dictionary = (dictionary as u128 * unpacked as u128 / packed.max(1) as u128) as u64;
    /// The bytes of a text that say how long it is.
    const LENGTH: u64 = 4;
    // A place takes up to four bytes, and levels a few.
    let (texts, bytes) = match dictionary > 0 && unpacked - unpacked_dictionary <= rows.saturating_mul(LENGTH) {
        true => ((unpacked_dictionary / LENGTH).min(rows), unpacked_dictionary),
        false => (rows, unpacked),
    };
    Texts { texts, bytes, labels: texts, label_bytes: bytes }
}

fn number_of_rows(group: &RowGroupMetaData) -> Result<usize, Fault> {
    usize::try_from(group.num_rows()).map_err(|_| Fault::whole("damaged: a number of rows below 0"))
}

/// The same of the bytes of a file.
pub(super) fn read_bytes(
    bytes: &[u8],
    wanted: &[Wanted],
    options: &Options,
) -> Result<(usize, Vec<Column<'static>>), Fault> {
    caught(|| columns(Bounded(Bytes::copy_from_slice(bytes)), wanted, None, options))
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

/// The bytes of a file, of which no more is asked for than it has.
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

/// The bytes of a column of a row group, at their place in the file.
struct Held {
    start: u64,
    bytes: Bytes,
}

impl Held {
    /// The bytes from place `start` of the file on.
    fn from(&self, start: u64) -> Read<Bytes> {
        let at = start.checked_sub(self.start).filter(|at| *at <= self.bytes.len() as u64);
        let what = || ParquetError::EOF(format!("a page at {start}, out of its column"));
        Ok(self.bytes.slice(at.ok_or_else(what)? as usize..))
    }
}

impl Length for Held {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for Held {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Read<Self::T> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Read<Bytes> {
        let rest = self.from(start)?;
        let what = || ParquetError::EOF(format!("{length} bytes at {start}, of which {} are there", rest.len()));
        if length > rest.len() { Err(what()) } else { Ok(rest.slice(..length)) }
    }
}

fn columns<R: ChunkReader>(
    input: Bounded<R>,
    wanted: &[Wanted],
    some: Option<Range<usize>>,
    options: &Options,
) -> Result<(usize, Vec<Column<'static>>), Fault> {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&input).map_err(damaged)?;
    let schema = metadata.file_metadata().schema_descr();
    named(wanted, schema.root_schema().get_fields().iter().map(|field| field.name()))?;
    let mut groups = Vec::new();
    let mut rows = 0usize;
    for group in metadata.row_groups() {
        let many = number_of_rows(group)?;
        groups.push((rows, many));
        rows = rows.checked_add(many).ok_or_else(|| Fault::over(options.limit))?;
    }
    keep_freed();
    let some = some.unwrap_or(0..groups.len());
    let outside = || Fault::whole("it has fewer row groups than before: the file has changed meanwhile");
    let rows = groups.get(some.clone()).ok_or_else(outside)?.iter().map(|(_, many)| many).sum::<usize>();
    let leaves = wanted.iter().map(|wanted| leaf(schema, &wanted.source)).collect::<Result<Vec<_>, _>>()?;
    let likely = (rows as u64).min(input.len()).min(options.limit / 8) as usize;
    let file = Opened {
        likely,
        input: Mutex::new(input),
        metadata: &metadata,
        groups,
        some,
        taken: AtomicU64::new(0),
        limit: options.limit,
    };
    let columns = parallel::map(0..wanted.len(), &|n| file.column(&wanted[n], leaves[n]));
    Ok((rows, columns.into_iter().collect::<Result<_, _>>()?))
}

/// Frees a large block once, after which the allocator of the GNU C library keeps smaller ones when they are freed (its threshold for
/// blocks of their own is the largest of these so far, up to this size): pages are unpacked into the same memory again, in the place of new
/// memory from the system each time.
fn keep_freed() {
    const BLOCK: usize = 31 << 20;
    let mut block: Vec<u8> = Vec::new();
    // Without so much memory nothing is kept.
    let _ = block.try_reserve_exact(BLOCK);
    std::hint::black_box(&block);
}

/// A file whose columns are read.
struct Opened<'m, R> {
    /// One thread at a time reads: the place in a file is one for all who hold it.
    input: Mutex<Bounded<R>>,
    metadata: &'m ParquetMetaData,
    /// Of each row group how many rows stand before it, and how many it has.
    groups: Vec<(usize, usize)>,
    /// The row groups that are read.
    some: Range<usize>,
    /// How many rows room is made for before they are read: not more than the file has bytes.
    likely: usize,
    /// Bytes that all columns take.
    taken: AtomicU64,
    limit: u64,
}

impl<R: ChunkReader> Opened<'_, R> {
    fn column(&self, wanted: &Wanted, (leaf, form): (usize, Form)) -> Result<Column<'static>, Fault> {
        let mut to = Collector::new(wanted.holds);
        to.reserve(self.likely)?;
        for n in self.some.clone() {
            let read = caught(|| self.chunk(wanted, n, (leaf, form), &mut to));
            read.map_err(|fault| self.in_group(fault, &wanted.source, n))?;
        }
        to.column(&wanted.source)
    }

    /// Reads a column of row group `n`.
    fn chunk(&self, wanted: &Wanted, n: usize, (leaf, form): (usize, Form), to: &mut Collector) -> Result<(), Fault> {
        let (rows, many) = self.groups[n];
        let column = self.metadata.row_group(n).column(leaf);
        if form == Form::Nothing {
            return (0..many).try_for_each(|_| to.null());
        }
        let pages = self.pages(column, many)?;
        let counted = to.bytes;
        let mut chunk = Chunk {
            source: &wanted.source,
            rows,
            many,
            got: 0,
            column: column.column_descr_ptr(),
            form,
            holds: wanted.holds,
            to,
            taken: &self.taken,
            counted,
            limit: self.limit,
        };
        if column.encodings().all(chunk::knows) {
            chunk.read(pages)?
        } else {
            chunk.read_each(pages)?
        }
        chunk.ends()
    }

    /// What is wrong with data, with their column and row group.
    fn in_group(&self, mut fault: Fault, source: &str, n: usize) -> Fault {
        let column = format!("column `{source}`");
        let group = super::groups::called(n, self.groups.len());
        if let Some(what) = fault.message.strip_prefix("damaged: ") {
            let what = what.strip_prefix(&column).map_or(what, |rest| rest.trim_start_matches([':', ' ']));
            fault.message = format!("damaged: {column}, {group}: {what}");
        } else if fault.cause == Cause::Rejected {
            let is_named = matches!(fault.place, Place::Cell { .. }) || fault.message.contains(&column);
            let column = if is_named { String::new() } else { column + ": " };
            fault.message = format!("{column}{} ({group})", fault.message);
        }
        fault
    }

    /// The pages of a column of a row group.
    fn pages(&self, column: &ColumnChunkMetaData, rows: usize) -> Result<Pages, Fault> {
        let offsets =
            [Some(column.data_page_offset()), column.dictionary_page_offset(), Some(column.compressed_size())];
        if offsets.into_iter().flatten().any(|offset| offset < 0) {
            return Err(Fault::whole("damaged: an offset of a column is below 0"));
        }
        if !is_unpacked(column.compression()) {
            let name = column.compression().to_string();
            let name = name.split('(').next().unwrap_or_default();
            let what = format!("packed by {name}, which is not read: write Snappy, Zstandard, gzip or LZ4");
            return Err(Fault::whole(format!("column `{}` is {what}", column.column_path().string())));
        }
        let (start, length) = column.byte_range();
        if length > self.limit {
            return Err(Fault::over(self.limit));
        }
        let input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = input.get_bytes(start, length as usize).map_err(damaged)?;
        drop(input);
        let held = Arc::new(Held { start, bytes });
        Ok(Pages(Box::new(SerializedPageReader::new(held, column, rows, None).map_err(damaged)?)))
    }
}

/// Whether pages that are packed so can be read.
fn is_unpacked(how: Compression) -> bool {
    use Compression::{GZIP, LZ4, LZ4_RAW, SNAPPY, UNCOMPRESSED, ZSTD};
    matches!(how, UNCOMPRESSED | SNAPPY | GZIP(_) | ZSTD(_) | LZ4 | LZ4_RAW)
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
