//! Texts of words and lines, read through a buffer: what Matrix Market and FROSTT files have in common.
//!
//! ```text
//!  % a comment, of any length                 from a comment's mark to the end of the line: skipped
//!  3 4 2                                      words, with blanks between them
//!                                             blank lines: skipped
//!
//!  input ──256 KiB at a time──▶ buffer ──▶ words, each with its line and column ──▶ Listed: entries, and where each stood
//! ```
//!
//! Where only entries are left, the text is taken apart into pieces of whole lines (`pieces.rs`).
//!
//! Invariants: no line longer than the buffer is ever held as a whole, a word is at most [`WORD`] bytes long, and what is held of the data is
//! what has been read of them, never what a header promises.

use super::number::{Number, expected, natural};
use super::{Cause, Fault, Place};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Array, Entries, room};
use std::io::{Empty, ErrorKind, Read};
use std::ops::Range;

/// The most bytes of a word: more than any number needs.
pub(super) const WORD: usize = 4096;

/// What some editors write before a text in UTF-8. It takes no column.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The bytes that are read at once.
const BUFFER: usize = 1 << 18;

/// A place in a text.
pub(super) struct Text<R> {
    input: R,
    /// What a line of comment begins with.
    comment: u8,
    buffer: Box<[u8]>,
    /// Where in the buffer the text goes on, and where what has been read ends.
    at: usize,
    end: usize,
    /// Whether the input has ended.
    ended: bool,
    /// Why no more could be read, if lines before that are still to be taken.
    failed: Option<std::io::Error>,
    /// The bytes of a piece of the text, but for the line in which they end.
    piece: usize,
    /// From 1.
    line: usize,
    /// Bytes of this line that stood before the buffer, less those of earlier lines that stand in it.
    shift: isize,
}

/// What comes next in a text.
pub(super) enum Lines {
    /// Whole lines, as a text of their own in which they stand where they stood.
    Whole(Text<Empty>),
    /// A line that is longer than the buffer: it has to be read word by word.
    Long,
    /// Nothing: the text is at its end.
    None,
}

/// A word in the buffer, until the next one is asked for; empty at the end of a line.
pub(super) type Word = Range<usize>;

impl<R: Read> Text<R> {
    /// The beginning of a text, behind the mark of UTF-8 if it has one.
    pub(super) fn new(input: R, comment: u8) -> Result<Text<R>, Fault> {
        Text::in_pieces(input, comment, BUFFER)
    }

    /// The same of a text whose [pieces](Text::lines) have so many bytes.
    pub(super) fn in_pieces(input: R, comment: u8, piece: usize) -> Result<Text<R>, Fault> {
        let buffer = room::repeated(0, BUFFER)?.into_boxed_slice();
        let (ended, failed) = (false, None);
        let mut text = Text { input, comment, buffer, at: 0, end: 0, ended, failed, piece, line: 1, shift: 0 };
        text.refill()?;
        if text.buffer[..text.end].starts_with(MARK) {
            (text.at, text.shift) = (MARK.len(), -(MARK.len() as isize));
        }
        Ok(text)
    }

    #[cold]
    fn refill(&mut self) -> Result<(), Fault> {
        self.fill().map_err(|e| self.unread(e))
    }

    /// Reads until the buffer is full or the input ends. What stands before `self.at` is dropped.
    fn fill(&mut self) -> std::io::Result<()> {
        self.buffer.copy_within(self.at..self.end, 0);
        self.shift += self.at as isize;
        self.end -= self.at;
        self.at = 0;
        while self.end < self.buffer.len() && !self.ended {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// What could not be read: where the text goes on, if it is damaged.
    fn unread(&self, error: std::io::Error) -> Fault {
        match Fault::input(error) {
            fault if fault.cause == Cause::Rejected => Fault { place: self.here(), ..fault },
            fault => fault,
        }
    }

    /// Takes the lines that come next: as many whole ones as a piece has bytes for, and at least one. The text goes on behind them.
    ///
    /// # Errors
    /// What could not be read, where all lines before that are taken.
    pub(super) fn lines(&mut self) -> Result<Lines, Fault> {
        if self.end - self.at < self.piece && !self.ended && self.failed.is_none() {
            self.failed = self.fill().err();
        }
        let rest = &self.buffer[self.at..self.end];
        let Some(taken) = self.cut(rest) else {
            return self.failed.take().map_or(Ok(Lines::Long), |e| Err(self.unread(e)));
        };
        if taken == 0 {
            return Ok(Lines::None);
        }
        let buffer = room::copied(&rest[..taken])?.into_boxed_slice();
        let newlines = newlines(&buffer);
        let last = buffer.iter().rposition(|b| *b == b'\n');
        let piece = Text {
            input: std::io::empty(),
            comment: self.comment,
            buffer,
            at: 0,
            end: taken,
            ended: true,
            failed: None,
            piece: taken,
            line: self.line,
            shift: self.shift + self.at as isize,
        };
        self.line += newlines;
        self.shift = last.map_or(self.shift, |n| -((self.at + n + 1) as isize));
        self.at += taken;
        Ok(Lines::Whole(piece))
    }

    /// Where a piece ends of which `rest` is there: behind a line, or with the text; `None` if more of the line has to be read.
    fn cut(&self, rest: &[u8]) -> Option<usize> {
        let (within, behind) = rest.split_at(rest.len().min(self.piece));
        let newline = |b: &u8| *b == b'\n';
        match within.iter().rposition(newline) {
            _ if self.ended && behind.is_empty() => Some(rest.len()),
            Some(n) => Some(n + 1),
            None => match behind.iter().position(newline) {
                Some(n) => Some(within.len() + n + 1),
                None => self.ended.then_some(rest.len()),
            },
        }
    }

    /// The next byte, if there is one.
    #[inline]
    pub(super) fn peek(&mut self) -> Result<Option<u8>, Fault> {
        if self.at == self.end && !self.ended {
            self.refill()?;
        }
        Ok((self.at < self.end).then(|| self.buffer[self.at]))
    }

    #[inline]
    fn skip_blanks(&mut self) -> Result<Option<u8>, Fault> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                other => return Ok(other),
            }
        }
    }

    /// The next word of the line; empty at its end.
    #[inline]
    pub(super) fn word(&mut self) -> Result<Word, Fault> {
        self.skip_blanks()?;
        if self.end - self.at <= WORD && !self.ended {
            self.refill()?;
        }
        let rest = &self.buffer[self.at..self.end];
        let length = rest.iter().position(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n')).unwrap_or(rest.len());
        if length > WORD {
            return Err(self.fault(self.at, format!("a word of more than {WORD} bytes")));
        }
        let start = self.at;
        self.at += length;
        Ok(start..self.at)
    }

    pub(super) fn bytes(&self, word: &Word) -> &[u8] {
        &self.buffer[word.clone()]
    }

    /// Goes past the end of the line, on which nothing may stand any more.
    #[inline]
    pub(super) fn end_of_line(&mut self) -> Result<(), Fault> {
        match self.skip_blanks()? {
            Some(b'\n') => self.newline(),
            None => {}
            Some(_) => {
                let word = self.word()?;
                return Err(self.expected(&word, "the end of the line"));
            }
        }
        Ok(())
    }

    /// Goes past the end of the line, whatever stands on it.
    pub(super) fn skip_line(&mut self) -> Result<(), Fault> {
        while self.peek()?.is_some() {
            let rest = &self.buffer[self.at..self.end];
            match rest.iter().position(|b| *b == b'\n') {
                Some(n) => {
                    self.at += n;
                    self.newline();
                    return Ok(());
                }
                None => self.at = self.end,
            }
        }
        Ok(())
    }

    fn newline(&mut self) {
        self.at += 1;
        self.line += 1;
        self.shift = -(self.at as isize);
    }

    /// Goes to the next line that is not blank, comments among them; false at the end of the text.
    #[inline]
    pub(super) fn any_line(&mut self) -> Result<bool, Fault> {
        loop {
            match self.skip_blanks()? {
                None => return Ok(false),
                Some(b'\n') => self.newline(),
                Some(_) => return Ok(true),
            }
        }
    }

    /// Goes to the next line that has something to say; false at the end of the text.
    #[inline]
    pub(super) fn next_line(&mut self) -> Result<bool, Fault> {
        while self.any_line()? {
            match self.buffer[self.at] == self.comment {
                true => self.skip_line()?,
                false => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Line and column of a place in the buffer, on the line at hand.
    #[inline]
    pub(super) fn line_and_column(&self, at: usize) -> (usize, usize) {
        (self.line, (at as isize + self.shift + 1) as usize)
    }

    /// Where in the text the next word may begin.
    pub(super) fn here(&self) -> Place {
        self.place(self.at)
    }

    pub(super) fn place(&self, at: usize) -> Place {
        let (line, column) = self.line_and_column(at);
        Place::Line(line, column)
    }

    pub(super) fn fault(&self, at: usize, message: impl Into<String>) -> Fault {
        Fault::new(self.place(at), message)
    }

    /// What else a word should be.
    #[cold]
    pub(super) fn expected(&self, word: &Word, what: &str) -> Fault {
        self.fault(word.start, expected(self.bytes(word), what))
    }

    /// A number of a line of extents.
    pub(super) fn extent(&mut self, what: &str) -> Result<u64, Fault> {
        let word = self.word()?;
        let n = extent(self.bytes(&word));
        n.ok_or_else(|| self.expected(&word, &format!("{what}, below 2^63")))
    }

    /// A coordinate, from 1 in the file and from 0 here.
    #[inline]
    pub(super) fn coordinate(&mut self, extent: u64) -> Result<i64, Fault> {
        let word = self.word()?;
        coordinate(self.bytes(&word), extent).map_err(|what| self.fault(word.start, what))
    }

    /// A value of type `ty`.
    #[inline]
    pub(super) fn value(&mut self, number: Number, ty: Type) -> Result<Value, Fault> {
        let word = self.word()?;
        number.value(self.bytes(&word), ty).map_err(|what| self.fault(word.start, what))
    }
}

/// How many lines end in a text: so many bytes at once as a byte counts.
fn newlines(text: &[u8]) -> usize {
    let few = |bytes: &[u8]| bytes.iter().map(|b| u8::from(*b == b'\n')).sum::<u8>();
    text.chunks(u8::MAX.into()).map(|bytes| usize::from(few(bytes))).sum()
}

/// An extent: a natural number below 2⁶³.
pub(super) fn extent(word: &[u8]) -> Option<u64> {
    natural(word).filter(|n| *n <= i64::MAX as u64)
}

/// A coordinate of a mode, from 1 in the file and from 0 here.
#[inline]
pub(super) fn coordinate(word: &[u8], extent: u64) -> Result<i64, String> {
    match natural(word) {
        Some(c) if 1 <= c && c <= extent => Ok(c as i64 - 1),
        _ if extent == 0 => Err(expected(word, "no entry: an extent is 0")),
        _ => Err(expected(word, &format!("a coordinate from 1 to {extent}"))),
    }
}

/// What stands on an entry's line: a coordinate in each of these extents and a value.
pub(super) struct Line<'a> {
    pub(super) extents: &'a [u64],
    /// How the value is written; without it none is, and it is 1.
    pub(super) number: Option<Number>,
    /// The value's type.
    pub(super) ty: Type,
}

/// Entries as they are read, and where they stood.
pub(super) struct Listed {
    /// A column a mode.
    pub(super) coordinates: Vec<Vec<i64>>,
    /// The values' bits.
    pub(super) bits: Vec<u64>,
    /// The most entries that the limit on memory lets in.
    most: usize,
    limit: u64,
    /// Entry, line and column, where an entry does not stand on the next line in the same column.
    marks: Vec<(usize, usize, usize)>,
}

impl Listed {
    /// No entries yet, which may take `limit` bytes.
    pub(super) fn new(rank: usize, limit: u64) -> Listed {
        let most = usize::try_from(limit / (8 * (rank as u64 + 1))).unwrap_or(usize::MAX);
        Listed { coordinates: vec![Vec::new(); rank], bits: Vec::new(), most, limit, marks: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.bits.len()
    }

    /// Reads an entry, which takes the rest of the line.
    #[inline]
    pub(super) fn entry<R: Read>(&mut self, text: &mut Text<R>, line: &Line) -> Result<(), Fault> {
        text.skip_blanks()?;
        self.begin(text.line_and_column(text.at))?;
        for (column, extent) in self.coordinates.iter_mut().zip(line.extents) {
            column.push(text.coordinate(*extent)?);
        }
        let value = match line.number {
            Some(number) => text.value(number, line.ty)?,
            None => Value::one(line.ty),
        };
        self.bits.push(value.bits());
        text.end_of_line()
    }

    /// Reads the next entries as far as they stand in the form that most programs write, at most so many, and says how many these are:
    /// numbers with one blank between them, from the begin of a line to its end. Where more of the text has to be read, they end.
    pub(super) fn plain_entries<R: Read>(
        &mut self,
        text: &mut Text<R>,
        line: &Line,
        most: usize,
    ) -> Result<usize, Fault> {
        let before = self.len();
        let (first, column) = text.line_and_column(text.at);
        let rest = &text.buffer[text.at..text.end];
        let mut at = 0;
        // Whether there is room for an entry is asked again where one stands that is not plain.
        while column == 1 && self.len() - before < most && self.room(1).is_ok() {
            let Some((value, end)) = plain(&rest[at..], line, &mut self.coordinates) else {
                let len = self.len();
                self.coordinates.iter_mut().for_each(|column| column.truncate(len));
                break;
            };
            self.bits.push(value.bits());
            at += end;
        }
        let read = self.len() - before;
        if read > 0 {
            self.mark((before, first, 1))?;
            text.at += at;
            text.line += read;
            text.shift = -(text.at as isize);
        }
        Ok(read)
    }

    /// Makes room for an entry that stands at this line and column.
    #[inline]
    pub(super) fn begin(&mut self, (line, column): (usize, usize)) -> Result<(), Fault> {
        self.mark((self.len(), line, column))?;
        self.room(1)
    }

    /// Notes where an entry stands.
    #[inline]
    fn mark(&mut self, (e, line, column): (usize, usize, usize)) -> Result<(), Fault> {
        let follows = self.marks.last().is_some_and(|&(d, l, c)| line - l == e - d && column == c);
        if follows { Ok(()) } else { Ok(room::push(&mut self.marks, (e, line, column))?) }
    }

    /// Appends the entries of another list, which stood behind these.
    pub(super) fn append(&mut self, other: &Listed) -> Result<(), Fault> {
        let before = self.len();
        self.room(other.len())?;
        for (e, line, column) in &other.marks {
            self.mark((before + e, *line, *column))?;
        }
        self.bits.extend_from_slice(&other.bits);
        for (column, more) in self.coordinates.iter_mut().zip(&other.coordinates) {
            column.extend_from_slice(more);
        }
        Ok(())
    }

    /// A list without entries of as many modes, under the same limit.
    pub(super) fn empty(&self) -> Listed {
        Listed::new(self.coordinates.len(), self.limit)
    }

    /// The most entries that the limit on memory lets in, and the fault of more.
    pub(super) fn most(&self) -> (usize, Fault) {
        (self.most, Fault::over(self.limit))
    }

    /// Makes room for so many more entries, or refuses.
    #[inline]
    pub(super) fn room(&mut self, more: usize) -> Result<(), Fault> {
        if self.bits.capacity() - self.len() >= more && self.len() + more <= self.most {
            return Ok(());
        }
        if self.len() + more > self.most {
            return Err(Fault::over(self.limit));
        }
        room::more(&mut self.bits, more)?;
        for column in &mut self.coordinates {
            room::more(column, more)?;
        }
        Ok(())
    }

    /// Where entry `e` stood.
    pub(super) fn place(&self, e: usize) -> Place {
        place_of(&self.marks, e)
    }

    /// The entries, and where each stood.
    pub(super) fn entries(self, ty: Type) -> Result<(Entries<'static>, impl Fn(usize) -> Place), Fault> {
        let values = Array::collected(ty, self.bits.into_iter().map(|b| Value::from_bits(ty, b)))?;
        let marks = self.marks;
        Ok((Entries { coordinates: self.coordinates, values }, move |e| place_of(&marks, e)))
    }
}

/// The value of a plain entry, and where the next line begins; its coordinates are put behind others, also of what turns out to be none.
#[inline]
fn plain(text: &[u8], line: &Line, coordinates: &mut [Vec<i64>]) -> Option<(Value, usize)> {
    let mut at = 0;
    for (m, (column, extent)) in coordinates.iter_mut().zip(line.extents).enumerate() {
        let (c, digits) = short_natural(&text[at..]);
        if c == 0 || c > *extent {
            return None;
        }
        column.push(c as i64 - 1);
        at += digits;
        if line.number.is_some() || m + 1 < line.extents.len() {
            text.get(at).filter(|b| **b == b' ')?;
            at += 1;
        }
    }
    let end = at + text[at..].iter().position(|b| *b == b'\n')?;
    let word = std::str::from_utf8(&text[at..end]).ok()?;
    let word = word.strip_suffix('\r').unwrap_or(word);
    let value = match line.number {
        Some(number) => number.read(word, line.ty)?,
        None if word.is_empty() => Value::one(line.ty),
        None => return None,
    };
    Some((value, end + 1))
}

/// The number that digits at the beginning are, and how many they are: of more than 18 the first ones.
#[inline]
fn short_natural(text: &[u8]) -> (u64, usize) {
    let digits = text.iter().take(18).map(|b| b.wrapping_sub(b'0')).take_while(|digit| *digit < 10);
    digits.fold((0, 0), |(n, count), digit| (10 * n + u64::from(digit), count + 1))
}

fn place_of(marks: &[(usize, usize, usize)], e: usize) -> Place {
    match marks[..marks.partition_point(|m| m.0 <= e)].last() {
        Some((first, line, column)) => Place::Line(line + (e - first), *column),
        None => Place::Whole,
    }
}
