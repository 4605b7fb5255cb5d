//! The lines of entries that end a text, read in pieces by several threads.
//!
//! ```text
//!  text ──cut at line ends──▶ pieces ──▶ entries of each piece, at once ──joined in order──▶ Listed
//!                                        while the next pieces are read
//! ```
//!
//! The pieces depend on the text alone. Invariant: what comes out is what reading line by line gives, faults too: the first one of the
//! text is reported, whichever piece it stands in.

use super::text::{Line, Lines, Listed, Text};
use super::{Fault, Place};
use fiberloom_core::format::room;
use fiberloom_core::parallel::{both, each, threads};
use std::io::{Empty, Read};

/// The pieces per thread that are read before they are joined.
const EACH: usize = 4;

/// A part of the text, and what it lists.
struct Piece {
    /// What is not read yet.
    text: Option<Text<Empty>>,
    listed: Listed,
    /// The entries that begin in it: the last one may be wrong.
    begun: usize,
    /// What is wrong behind the entries that are listed.
    end: Result<(), Fault>,
}

/// Pieces that follow one another, and what is wrong behind them.
struct Batch {
    pieces: Vec<Piece>,
    end: Result<(), Fault>,
}

impl Piece {
    /// Lists the next entries of a text, at most so many.
    fn read<R: Read>(&mut self, text: &mut Text<R>, line: &Line, most: usize) -> Result<(), Fault> {
        loop {
            self.begun += self.listed.plain_entries(text, line, most - self.begun)?;
            if self.begun == most || !text.next_line()? {
                return Ok(());
            }
            self.begun += 1;
            self.listed.entry(text, line)?;
        }
    }

    /// Lists what is not read yet.
    fn parse(&mut self, line: &Line) {
        if let Some(mut text) = self.text.take() {
            self.end = self.read(&mut text, line, usize::MAX);
        }
    }
}

impl Batch {
    /// The next pieces of a text; none at its end.
    fn next<R: Read>(text: &mut Text<R>, line: &Line, like: &Listed) -> Batch {
        let many = if threads() > 1 { EACH * threads() } else { 1 };
        let mut batch = Batch { pieces: Vec::new(), end: Ok(()) };
        while batch.pieces.len() < many && batch.end.is_ok() {
            match batch.push(text, line, like) {
                Ok(true) => {}
                Ok(false) => break,
                Err(fault) => batch.end = Err(fault),
            }
        }
        batch
    }

    /// Takes a piece more; false at the end of the text.
    fn push<R: Read>(&mut self, text: &mut Text<R>, line: &Line, like: &Listed) -> Result<bool, Fault> {
        let mut piece = Piece { text: None, listed: like.empty(), begun: 0, end: Ok(()) };
        match text.lines()? {
            Lines::None => return Ok(false),
            Lines::Whole(lines) => piece.text = Some(lines),
            Lines::Long => piece.end = piece.read(text, line, 1),
        }
        room::push(&mut self.pieces, piece)?;
        Ok(true)
    }
}

impl Listed {
    /// Reads entries up to the end of the text, which is to have `count` in all. The place of a line behind these, if there is one;
    /// the caller counts whether they are fewer.
    pub(super) fn rest<R: Read + Send>(
        &mut self,
        text: &mut Text<R>,
        line: &Line,
        count: Option<u128>,
    ) -> Result<Option<Place>, Fault> {
        let like = self.empty();
        let mut batch = Batch::next(text, line, &like);
        while !batch.pieces.is_empty() {
            let ((), next) =
                both(|| each(&mut batch.pieces, &|piece| piece.parse(line)), || Batch::next(text, line, &like));
            for piece in batch.pieces {
                if let Some(behind) = self.join(piece, count)? {
                    return Ok(Some(behind));
                }
            }
            batch.end?;
            batch = next;
        }
        batch.end.map(|()| None)
    }

    /// Appends what a piece lists. The place of the entry behind `count`, if it begins there.
    fn join(&mut self, piece: Piece, count: Option<u128>) -> Result<Option<Place>, Fault> {
        let begun = self.len() as u128 + piece.begun as u128;
        let (most, over) = self.most();
        match count {
            Some(count) if count < begun && count <= most as u128 => {
                return Ok(Some(piece.listed.place((count - self.len() as u128) as usize)));
            }
            _ if (most as u128) < begun => return Err(over),
            _ => piece.end?,
        }
        self.append(&piece.listed)?;
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
