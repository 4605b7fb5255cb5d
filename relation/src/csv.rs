//! Comma-separated values, as RFC 4180 says.
//!
//! ```text
//!  name,born,"of, or from"      the header: names of columns
//!  Ada,1815-12-10,"London"      a row a line; a field in quotes may hold commas and lines, and "" for a quote
//!  ,,""                         null, null, and the empty text
//! ```
//!
//! Fields that nobody wants are read past. A file is read through a buffer, a row at a time.

use super::cell::{Collector, written};
use super::{Cell, Column, DAY, Frame, Reading, Wanted, named, timestamp_written};
use crate::relate::{Holds, date, days};
use fiberloom_core::counted;
use fiberloom_core::format::room;
use fiberloom_data::number::Plain;
use fiberloom_data::{Fault, Options, Place};
use std::io::{Read, Write};

/// The wanted columns, and how many rows there are.
pub(super) fn read(
    input: impl Read,
    wanted: &[Wanted],
    reading: &Reading,
    options: &Options,
) -> Result<(usize, Vec<Column<'static>>), Fault> {
    Rows::of(input, reading, options.limit)?.take(wanted, usize::MAX, options.limit)
}

/// The rows of a file, some at a time.
pub(super) struct Rows<R> {
    lines: Lines<R>,
    record: Record,
    names: Vec<String>,
    reading: Reading,
    /// Whether the record is a row already: the first, of a file without a header.
    pending: bool,
    /// How many rows were read.
    pub(super) got: usize,
}

impl<R: Read> Rows<R> {
    /// Those of a file, past its header. No row may take more than `limit` bytes.
    pub(super) fn of(input: R, reading: &Reading, limit: u64) -> Result<Rows<R>, Fault> {
        let mut lines = Lines::new(input, reading.separator, limit)?;
        let mut record = Record::default();
        if !lines.record(&mut record)? && reading.header {
            return Err(Fault::new(Place::Line(1, 1), "an empty file: a header of the columns' names expected"));
        }
        let names = names(&record, reading.header)?;
        // Without a header the first row is read already.
        let pending = !reading.header && record.len() > 0;
        Ok(Rows { lines, record, names, reading: reading.clone(), pending, got: 0 })
    }

    /// Where each of these columns stands in a row.
    fn places(&self, wanted: &[Wanted]) -> Result<Vec<usize>, Fault> {
        named(wanted, self.names.iter().map(String::as_str)).map_err(|fault| separated(fault, &self.names))?;
        let place = |wanted: &Wanted| self.names.iter().position(|name| *name == wanted.source).unwrap_or(0);
        Ok(wanted.iter().map(place).collect())
    }

    /// Reads the next row; none at the end of the file.
    fn next(&mut self) -> Result<bool, Fault> {
        while std::mem::take(&mut self.pending) || self.lines.record(&mut self.record)? {
            if self.record.is_blank() && self.names.len() > 1 {
                continue;
            }
            if self.record.len() != self.names.len() {
                return Err(uneven(&self.record, self.names.len(), &self.reading));
            }
            self.got += 1;
            return Ok(true);
        }
        Ok(false)
    }

    /// The wanted columns of the next rows, `most` of them or as many as there are, and how many these are. The columns may take `limit`
    /// bytes.
    pub(super) fn take(
        &mut self,
        wanted: &[Wanted],
        most: usize,
        limit: u64,
    ) -> Result<(usize, Vec<Column<'static>>), Fault> {
        let places = self.places(wanted)?;
        let mut columns: Vec<Collector> = wanted.iter().map(|wanted| Collector::new(wanted.holds)).collect();
        let mut rows = 0;
        while rows < most && self.next()? {
            rows += 1;
            for ((column, wanted), place) in columns.iter_mut().zip(wanted).zip(&places) {
                let cell = || Place::Cell { row: self.got, column: wanted.source.clone() };
                field(column, (wanted.holds, &self.reading), &self.record, *place).map_err(|fault| fault.at(cell))?;
            }
            if columns.iter().fold(0u64, |bytes, column| bytes.saturating_add(column.bytes)) > limit {
                return Err(Fault::over(limit));
            }
        }
        let columns = columns.into_iter().zip(wanted).map(|(column, wanted)| column.column(&wanted.source));
        Ok((rows, columns.collect::<Result<_, _>>()?))
    }

    /// Goes past the next rows, `most` of them or as many as there are: how many these are. `each` sees the fields of these columns, with
    /// the columns' places among them.
    pub(super) fn pass(
        &mut self,
        columns: &[Wanted],
        most: usize,
        each: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<usize, Fault> {
        let places = self.places(columns)?;
        let mut rows = 0;
        while rows < most && self.next()? {
            rows += 1;
            places.iter().enumerate().for_each(|(column, n)| each(column, self.record.field(*n).0));
        }
        Ok(rows)
    }
}

/// The names of columns: of the first row, or numbers.
fn names(record: &Record, header: bool) -> Result<Vec<String>, Fault> {
    if !header {
        return Ok((1..=record.len()).map(|n| n.to_string()).collect());
    }
    let names = (0..record.len()).map(|n| record.text(n).map(str::to_string)).collect::<Result<_, _>>();
    names.map_err(|()| Fault::new(Place::Line(1, 1), "a name in the header is not UTF-8"))
}

/// What is wrong with the names of columns, and what perhaps separates them.
fn separated(mut fault: Fault, names: &[String]) -> Fault {
    if let [name] = names
        && let Some(c) = name.chars().find(|c| matches!(c, ';' | '\t' | '|'))
    {
        let c = if c == '\t' { "tab".to_string() } else { c.to_string() };
        fault.message += &format!("; fields are separated by commas here: `--table NAME=separator={c}` reads others");
    }
    fault
}

/// A row that has other fields than there are columns. Perhaps something else separates them.
fn uneven(record: &Record, columns: usize, reading: &Reading) -> Fault {
    let (fields, header) = (counted(record.len(), "field", "fields"), counted(columns, "column", "columns"));
    let first = if reading.header { "the header" } else { "the first" };
    Fault::new(Place::Line(record.line, 1), format!("{fields} in a row, and {header} in {first}"))
}

/// Puts a field into a column.
fn field(column: &mut Collector, (holds, reading): (Holds, &Reading), record: &Record, n: usize) -> Result<(), Fault> {
    let (bytes, quoted) = record.field(n);
    if !quoted && reading.null.as_ref().is_some_and(|null| null.as_bytes() == bytes) {
        return column.null();
    }
    if bytes.is_empty() && !(quoted && holds == Holds::Text) {
        return column.null();
    }
    let text = record.text(n).map_err(|()| {
        let begin: String = String::from_utf8_lossy(bytes).chars().take(40).collect();
        Fault::whole(format!("`{begin}` is not UTF-8: write the file in it"))
    })?;
    column.push(Cell::Text(text))
}

/// The fields of a row.
#[derive(Default)]
struct Record {
    bytes: Vec<u8>,
    /// Where each field ends, and whether it stood in quotes.
    fields: Vec<(usize, bool)>,
    /// In which line it begins.
    line: usize,
}

impl Record {
    fn len(&self) -> usize {
        self.fields.len()
    }

    fn field(&self, n: usize) -> (&[u8], bool) {
        let begin = if n == 0 { 0 } else { self.fields[n - 1].0 };
        let (end, quoted) = self.fields[n];
        (&self.bytes[begin..end], quoted)
    }

    fn text(&self, n: usize) -> Result<&str, ()> {
        std::str::from_utf8(self.field(n).0).map_err(|_| ())
    }

    /// Whether it is a line with nothing in it.
    fn is_blank(&self) -> bool {
        self.fields.len() == 1 && self.field(0) == (&[], false)
    }

    fn end_field(&mut self, quoted: bool) -> Result<(), Fault> {
        Ok(room::push(&mut self.fields, (self.bytes.len(), quoted))?)
    }
}

/// What was read of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing.
    Begin,
    /// It has no quotes.
    Plain,
    /// It is in quotes.
    Quoted,
    /// It was in quotes, and the last one was perhaps the end.
    Closed,
}

/// A file, row by row.
struct Lines<R> {
    input: R,
    separator: u8,
    buffer: Vec<u8>,
    at: usize,
    line: usize,
    /// Bytes of this line before the buffer; the line begins at `begin` of the buffer, which may be before it.
    begin: i64,
    limit: u64,
}

/// The bytes that are read at once.
const CHUNK: usize = 1 << 16;

impl<R: Read> Lines<R> {
    /// A file, past the mark of UTF-8 if it begins with it.
    fn new(input: R, separator: u8, limit: u64) -> Result<Lines<R>, Fault> {
        let mut lines = Lines { input, separator, buffer: room::room(CHUNK)?, at: 0, line: 1, begin: 0, limit };
        const MARK: &[u8] = "\u{feff}".as_bytes();
        lines.fill()?;
        if lines.buffer.starts_with(MARK) {
            (lines.at, lines.begin) = (MARK.len(), MARK.len() as i64);
        }
        Ok(lines)
    }

    /// Reads on, if there is more.
    fn fill(&mut self) -> Result<bool, Fault> {
        self.begin -= self.buffer.len() as i64;
        self.buffer.clear();
        self.at = 0;
        self.input.by_ref().take(CHUNK as u64).read_to_end(&mut self.buffer).map_err(Fault::input)?;
        Ok(!self.buffer.is_empty())
    }

    /// Reads a row; none at the end of the file.
    fn record(&mut self, record: &mut Record) -> Result<bool, Fault> {
        record.bytes.clear();
        record.fields.clear();
        record.line = self.line;
        let (mut state, separator) = (State::Begin, self.separator);
        loop {
            if self.at == self.buffer.len() && !self.fill()? {
                return self.last(record, state);
            }
            let byte = self.buffer[self.at];
            match (state, byte) {
                (State::Plain, _) if byte != separator && !matches!(byte, b'\n' | b'\r') => {
                    self.run(record, |b| b == separator || matches!(b, b'\n' | b'\r'))?;
                    continue;
                }
                (State::Quoted, _) if byte != b'"' => {
                    self.run(record, |b| b == b'"')?;
                    continue;
                }
                (State::Begin, b'"') => state = State::Quoted,
                (State::Quoted, _) => state = State::Closed,
                (State::Closed, b'"') => {
                    room::push(&mut record.bytes, b'"')?;
                    state = State::Quoted;
                }
                (_, _) if byte == separator => {
                    record.end_field(state == State::Closed)?;
                    state = State::Begin;
                }
                (_, b'\n') => {
                    self.next_line(1);
                    record.end_field(state == State::Closed)?;
                    self.at += 1;
                    return Ok(true);
                }
                // A line ends with one, or with a line feed behind it.
                (_, b'\r') => {
                    record.end_field(state == State::Closed)?;
                    self.at += 1;
                    self.past_line_feed()?;
                    return Ok(true);
                }
                (State::Closed, _) => {
                    let what =
                        "a comma or the end of the line expected behind a field in quotes: a quote within one is two";
                    return Err(Fault::new(self.here(), what));
                }
                (State::Begin | State::Plain, _) => {
                    state = State::Plain;
                    continue;
                }
            }
            self.at += 1;
            self.bounded(record)?;
        }
    }

    /// The row that ends with the file.
    fn last(&self, record: &mut Record, state: State) -> Result<bool, Fault> {
        if state == State::Quoted {
            let what =
                format!("the file ends within a field in quotes, of the row that begins in line {}", record.line);
            return Err(Fault::new(self.here(), what));
        }
        if state == State::Begin && record.fields.is_empty() {
            return Ok(false);
        }
        record.end_field(state == State::Closed)?;
        Ok(true)
    }

    /// Takes bytes up to one that ends them, or to the end of the buffer.
    fn run(&mut self, record: &mut Record, ends: impl Fn(u8) -> bool) -> Result<(), Fault> {
        let rest = &self.buffer[self.at..];
        let length = rest.iter().position(|b| ends(*b)).unwrap_or(rest.len());
        let run = &rest[..length];
        room::more(&mut record.bytes, length)?;
        record.bytes.extend_from_slice(run);
        for (n, _) in run.iter().enumerate().filter(|(_, b)| **b == b'\n') {
            self.line += 1;
            self.begin = (self.at + n + 1) as i64;
        }
        self.at += length;
        self.bounded(record)
    }

    /// A row is not longer than all may be.
    fn bounded(&self, record: &Record) -> Result<(), Fault> {
        let bytes = record.bytes.len() + size_of::<(usize, bool)>() * record.fields.len();
        if bytes as u64 > self.limit { Err(Fault::over(self.limit)) } else { Ok(()) }
    }

    /// Goes past the line feed of a carriage return.
    fn past_line_feed(&mut self) -> Result<(), Fault> {
        let there = self.at < self.buffer.len() || self.fill()?;
        let feed = there && self.buffer[self.at] == b'\n';
        self.at += usize::from(feed);
        self.next_line(0);
        Ok(())
    }

    /// The next line begins so many bytes ahead.
    fn next_line(&mut self, ahead: usize) {
        self.line += 1;
        self.begin = (self.at + ahead) as i64;
    }

    fn here(&self) -> Place {
        Place::Line(self.line, (self.at as i64 - self.begin + 1) as usize)
    }
}

/// Writes a header and a row a line.
pub(super) fn write(frame: &Frame, out: &mut dyn Write) -> Result<(), Fault> {
    let mut line = String::new();
    for (n, column) in frame.columns.iter().enumerate() {
        separate(&mut line, n);
        quoted(&mut line, &column.name);
    }
    line.push('\n');
    out.write_all(line.as_bytes()).map_err(Fault::io)?;
    for row in 0..frame.rows {
        line.clear();
        for (n, column) in frame.columns.iter().enumerate() {
            separate(&mut line, n);
            if let Some(cell) = column.cell(row) {
                let place = || Place::Cell { row: row + 1, column: column.name.clone() };
                printed(&mut line, cell).map_err(|what| Fault::new(place(), what))?;
            }
        }
        line.push('\n');
        out.write_all(line.as_bytes()).map_err(Fault::io)?;
    }
    Ok(())
}

fn separate(line: &mut String, n: usize) {
    if n > 0 {
        line.push(',');
    }
}

/// Writes a value into a line.
fn printed(line: &mut String, cell: Cell) -> Result<(), String> {
    match cell {
        Cell::Plain(value) => line.push_str(&Plain(value).to_string()),
        Cell::Date(days) => line.push_str(&calendar(days)?),
        Cell::Timestamp(micros) => {
            calendar(micros.div_euclid(DAY))?;
            line.push_str(&timestamp_written(micros));
        }
        Cell::Decimal(x, digits) => line.push_str(&written(x, digits)),
        Cell::Text(text) => quoted(line, text),
    }
    Ok(())
}

/// A date as it is read again.
fn calendar(day: i64) -> Result<String, String> {
    let (first, last) = (days("0000-01-01"), days("9999-12-31"));
    match Some(day) >= first && Some(day) <= last {
        true => Ok(date(day)),
        false => Err(format!("the date {day} days from 1970-01-01 is in no year from 0 to 9999")),
    }
}

/// A text as a field: in quotes, if it would be read as something else without.
fn quoted(line: &mut String, text: &str) {
    let bare = !text.is_empty() && !text.contains([',', '"', '\n', '\r']) && !text.starts_with('\u{feff}');
    if bare {
        return line.push_str(text);
    }
    line.push('"');
    line.push_str(&text.replace('"', "\"\""));
    line.push('"');
}
