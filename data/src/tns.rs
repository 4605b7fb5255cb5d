//! FROSTT's `.tns` files.
//!
//! ```text
//!  # extents 3 4 2            a comment to other programs; here it says the extents
//!  1 2 2 5.0                  an entry a line: a coordinate a mode, from 1, in any order, and a value
//!  3 1 1 7.0
//! ```
//!
//! Most such files say no extents; then the program or other operands have to, or they are those of the largest coordinates, if the
//! caller chooses that ([`Options::largest`]). Some begin with a line of the number of
//! modes, which may be followed by the number of entries, and a line of extents: they are understood.

use super::import::{Contents, import};
use super::number::{Number, Plain, expected, natural};
use super::text::{self, Line, Listed, Text};
use super::{Cause, Declared, Fault, Options, Place};
use fiberloom_core::algebra::Value;
use fiberloom_core::counted;
use fiberloom_core::format::{Entries, Tensor};
use std::io::{Read, Write};

/// The word of a comment that says extents.
const EXTENTS: &[u8] = b"extents";

/// A word that outlives the buffer, and where it stood.
struct Kept {
    line: usize,
    column: usize,
    bytes: Vec<u8>,
}

/// The words of a line.
type Words = Vec<Kept>;

/// The tensor that a `.tns` file holds.
pub(super) fn read(input: impl Read + Send, declared: &Declared, options: &Options) -> Result<Tensor<'static>, Fault> {
    let rank = declared.rank();
    let mut frostt = Frostt { text: Text::new(input, b'#')?, rank };
    let said = frostt.comments()?;
    let (header, entries) = frostt.head()?;
    let (extents, count) = match header {
        Some((extents, count)) => (Some(extents), count),
        None => (None, None),
    };
    if said.as_ref().zip(extents.as_ref()).is_some_and(|(said, extents)| said != extents) {
        return Err(Fault::new(frostt.text.here(), "the extents before this are not those of the comment"));
    }
    let (extents, open) = match extents.or(said) {
        Some(extents) => (extents, vec![]),
        None => (
            declared_extents(declared, options.largest.is_some())?,
            declared.extents.iter().map(Option::is_none).collect(),
        ),
    };
    let mut listed = Listed::new(rank, options.limit);
    for line in &entries {
        frostt.kept_entry(line, &extents, &mut listed, declared)?;
    }
    frostt.entries(&extents, count, &mut listed, declared)?;
    let largest = |column: &Vec<i64>| column.iter().max().map_or(0, |c| *c as u64 + 1);
    let is_open = |m: usize| open.get(m) == Some(&true);
    let extents = extents.into_iter().zip(&listed.coordinates).enumerate();
    let extents = extents.map(|(m, (extent, column))| if is_open(m) { largest(column) } else { extent });
    let extents: Vec<u64> = extents.collect();
    if let Some(told) = options.largest.filter(|_| open.contains(&true)) {
        told(&extents);
    }
    let (entries, place) = listed.entries(declared.ty)?;
    import(Contents::Sparse { extents, entries }, declared, options, &place)
}

/// The extents, of a file that does not say them. Those that nothing says are without bound, if the `largest` coordinates say them.
fn declared_extents(declared: &Declared, largest: bool) -> Result<Vec<u64>, Fault> {
    let unknown = |m: usize| {
        let message = format!(
            "the extent of mode {m} is unknown: neither this file nor the program nor another operand says it; declare \
             it (`dim N = …`), or begin the file with the line `# extents {}`",
            vec!["…"; declared.rank()].join(" ")
        );
        Fault { cause: Cause::Extents, ..Fault::new(Place::Whole, message) }
    };
    let extent = |(m, e): (usize, &Option<u64>)| e.or(largest.then_some(i64::MAX as u64)).ok_or_else(|| unknown(m));
    declared.extents.iter().enumerate().map(extent).collect()
}

struct Frostt<R> {
    text: Text<R>,
    rank: usize,
}

/// Extents, and the number of entries if the file says it.
type Header = (Vec<u64>, Option<u64>);

impl<R: Read> Frostt<R> {
    /// Goes past the comments that the file begins with; the extents that one of them says.
    fn comments(&mut self) -> Result<Option<Vec<u64>>, Fault> {
        let mut said = None;
        while self.text.any_line()? && self.text.peek()? == Some(b'#') {
            let place = self.text.here();
            let mark = self.text.word()?;
            let mut says = self.text.bytes(&mark) == b"#";
            says = says && {
                let word = self.text.word()?;
                self.text.bytes(&word) == EXTENTS
            };
            if says && said.is_none() {
                said = self.extents_of_comment(place)?;
            }
            self.text.skip_line()?;
        }
        Ok(said)
    }

    /// The rest of a comment as extents; `None` if something else stands in it.
    fn extents_of_comment(&mut self, place: Place) -> Result<Option<Vec<u64>>, Fault> {
        let mut extents = Vec::new();
        loop {
            let word = self.text.word()?;
            match self.text.bytes(&word) {
                b"" => break,
                bytes => match text::extent(bytes) {
                    Some(extent) if extents.len() <= self.rank => extents.push(extent),
                    Some(_) => {}
                    None => return Ok(None),
                },
            }
        }
        if extents.len() != self.rank {
            let modes = counted(self.rank, "mode", "modes");
            return Err(Fault::new(place, format!("extents for a tensor declared with {modes} expected")));
        }
        Ok(Some(extents))
    }

    /// The header, if there is one, and the entries that had to be read to know.
    fn head(&mut self) -> Result<(Option<Header>, Vec<Words>), Fault> {
        let Some(first) = self.line()? else { return Ok((None, vec![])) };
        let modes = natural(&first[0].bytes);
        let count = match first.get(1) {
            Some(word) => text::extent(&word.bytes),
            None => None,
        };
        match (self.rank, first.len()) {
            // A scalar has a value and nothing else.
            (0, _) => Ok((None, vec![first])),
            // An entry of one mode looks like a header, but is not followed by a line of one word.
            (1, 2) => {
                let second = self.line()?;
                match second {
                    Some(second) if second.len() == 1 && modes == Some(1) && count.is_some() => {
                        let extents = self.extents(&second)?;
                        Ok((Some((extents, count)), vec![]))
                    }
                    second => Ok((None, [Some(first), second].into_iter().flatten().collect())),
                }
            }
            (rank, 1 | 2) => {
                if modes != Some(rank as u64) || first.len() == 2 && count.is_none() {
                    let expected = format!(
                        "{rank} coordinates and a value, or {rank}, the number of modes that the program declares"
                    );
                    return Err(first[0].expected(&expected));
                }
                match self.line()? {
                    Some(second) => Ok((Some((self.extents(&second)?, count)), vec![])),
                    None => Err(Fault::new(self.text.here(), "the file ends before its extents")),
                }
            }
            _ => Ok((None, vec![first])),
        }
    }

    /// A header's line of extents.
    fn extents(&self, line: &Words) -> Result<Vec<u64>, Fault> {
        let mut extents = Vec::new();
        for (m, word) in line.iter().enumerate() {
            if m == self.rank {
                return Err(word.expected("the end of the line"));
            }
            let what = format!("the extent of mode {m}, below 2^63");
            extents.push(text::extent(&word.bytes).ok_or_else(|| word.expected(&what))?);
        }
        match line.last() {
            Some(word) if extents.len() < self.rank => {
                let what = format!("the extent of mode {} expected before the end of the line", extents.len());
                Err(Fault::new(Place::Line(word.line, word.column + word.bytes.len()), what))
            }
            _ => Ok(extents),
        }
    }

    /// The words of the next line; what is more than an entry takes is not told apart.
    fn line(&mut self) -> Result<Option<Words>, Fault> {
        if !self.text.next_line()? {
            return Ok(None);
        }
        let mut line = Vec::new();
        while line.len() < self.rank + 2 {
            let word = self.text.word()?;
            if word.is_empty() {
                break;
            }
            let (at, column) = self.text.line_and_column(word.start);
            line.push(Kept { line: at, column, bytes: self.text.bytes(&word).to_vec() });
        }
        self.text.skip_line()?;
        Ok(Some(line))
    }

    /// An entry that was read already.
    fn kept_entry(&self, line: &Words, extents: &[u64], listed: &mut Listed, declared: &Declared) -> Result<(), Fault> {
        let end = line.last().map_or((1, 1), |w| (w.line, w.column + w.bytes.len()));
        let none = Kept { line: end.0, column: end.1, bytes: vec![] };
        let word = |n: usize| line.get(n).unwrap_or(&none);
        listed.begin((word(0).line, word(0).column))?;
        for (m, (column, extent)) in listed.coordinates.iter_mut().zip(extents).enumerate() {
            let coordinate = text::coordinate(&word(m).bytes, *extent);
            column.push(coordinate.map_err(|what| word(m).fault(what))?);
        }
        let value = word(self.rank);
        let bits = Number::Real.value(&value.bytes, declared.ty).map_err(|what| value.fault(what))?;
        listed.bits.push(bits.bits());
        match line.get(self.rank + 1) {
            Some(word) => Err(word.expected("the end of the line")),
            None => Ok(()),
        }
    }
}

impl<R: Read + Send> Frostt<R> {
    /// The entries up to the end of the file, which are `count` if the file said so.
    fn entries(
        &mut self,
        extents: &[u64],
        count: Option<u64>,
        listed: &mut Listed,
        declared: &Declared,
    ) -> Result<(), Fault> {
        let line = Line { extents, number: Some(Number::Real), ty: declared.ty };
        // A scalar is one number, whatever the file says of entries.
        let most = if self.rank == 0 { Some(1) } else { count };
        if let Some(behind) = listed.rest(&mut self.text, &line, most.map(u128::from))? {
            let entries = counted(most.unwrap_or(0), "entry", "entries");
            return Err(Fault::new(behind, format!("expected the file to end after {entries}")));
        }
        match count {
            Some(n) if n != listed.len() as u64 => Err(Fault::new(
                self.text.here(),
                format!("the file ends after {} of {}", listed.len(), counted(n, "entry", "entries")),
            )),
            _ => Ok(()),
        }
    }
}

impl Kept {
    fn fault(&self, what: impl Into<String>) -> Fault {
        Fault::new(Place::Line(self.line, self.column), what)
    }

    fn expected(&self, what: &str) -> Fault {
        self.fault(expected(&self.bytes, what))
    }
}

/// Writes what is stored, after a comment that says the extents.
pub(super) fn write(tensor: &Tensor, out: &mut dyn Write) -> Result<(), Fault> {
    if tensor.fill != Value::zero(tensor.fill.ty()) {
        let what = format!("a .tns file cannot say that the fill value is {}: write .ttx or .npy", tensor.fill);
        return Err(Fault::new(Place::Whole, what));
    }
    let entries = tensor.stored_entries()?;
    let extents: String = tensor.extents.iter().map(|e| format!(" {e}")).collect();
    writeln!(out, "# extents{extents}").and_then(|()| write_entries(&entries, 0, out)).map_err(Fault::io)
}

/// Writes an entry a line: coordinates from 1, as many ones more, and the value.
pub(super) fn write_entries(entries: &Entries, ones: usize, out: &mut dyn Write) -> std::io::Result<()> {
    let ones = "1 ".repeat(ones);
    for e in 0..entries.len() {
        for column in &entries.coordinates {
            write!(out, "{} ", column[e] + 1)?;
        }
        writeln!(out, "{ones}{}", Plain(entries.values.get(e)))?;
    }
    Ok(())
}
