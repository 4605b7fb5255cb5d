//! Layouts of sparse arrays: from their members to entries, a column of coordinates a mode.
//!
//! ```text
//!  csr   indptr 0 1 3   indices 1 0 2         gcxs of three modes, compressed_axes 0:   row i, column j · K + k
//!  bsr   indptr, indices of blocks            a block of data at each: element (r, c) stands at (row · R + r, column · C + c)
//!  dia   offsets 0 -1   data 1 2 3            element (d, j) stands at (j - offset of d, j), if that is within
//!                            4 5 6
//! ```

use super::{Archive, Grid, named};
use crate::{Fault, Place};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::counted;
use fiberloom_core::format::{Array, room};
use std::io::{Read, Seek};

/// Entries, and where in `data` each stands.
pub(super) struct Laid {
    /// A column a mode, which may be of the wrong length or out of bounds.
    pub(super) coordinates: Vec<Vec<i64>>,
    pub(super) values: Array<'static>,
    /// Of each entry the element of `data`; `None` if its own.
    pub(super) of: Option<Vec<usize>>,
}

impl Laid {
    /// Entry `e` is element `e`.
    fn one_each(coordinates: Vec<Vec<i64>>, data: Grid) -> Laid {
        Laid { coordinates, values: data.values, of: None }
    }

    /// Entries of a matrix that stand somewhere in `data`.
    fn picked([rows, columns]: [Vec<i64>; 2], data: &Grid, of: Vec<usize>) -> Result<Laid, Fault> {
        Ok(Laid { coordinates: vec![rows, columns], values: data.picked(&of)?, of: Some(of) })
    }
}

impl<R: Read + Seek> Archive<R> {
    /// The entries of an array of these extents in such a layout.
    pub(super) fn laid(&mut self, format: &str, extents: &[u64], fill: Value) -> Result<Laid, Fault> {
        match (format, extents) {
            ("coo", _) => self.coo(extents.len()),
            ("gcxs", _) => self.gcxs(extents),
            ("csr", [rows, _]) => self.compressed(*rows, false),
            ("csc", [_, columns]) => self.compressed(*columns, true),
            ("bsr", [rows, columns]) => self.bsr([*rows, *columns], fill),
            ("dia", [rows, columns]) => self.dia([*rows, *columns], fill),
            ("csr" | "csc" | "bsr" | "dia", _) => Err(Fault::whole(format!(
                "in `shape`: {}, a `{format}` array has two",
                counted(extents.len(), "extent", "extents")
            ))),
            _ => {
                let what = format!("an array in the layout `{}`", format.escape_debug());
                Err(Fault::whole(format!("{what}: csr, csc, coo, bsr, dia and gcxs are read")))
            }
        }
    }

    fn coo(&mut self, modes: usize) -> Result<Laid, Fault> {
        let coordinates = match self.has("coords") {
            true => {
                let coords = self.grid("coords", 2, Type::I64)?;
                if coords.extents[0] != modes as u64 {
                    let what = format!(
                        "coordinates of {} for an array of {modes}",
                        counted(coords.extents[0], "mode", "modes")
                    );
                    return named("coords", Err(Fault::whole(what)));
                }
                columns(coords)?
            }
            false if modes == 2 => vec![self.indices("row")?, self.indices("col")?],
            false => return Err(Fault::whole("no member `coords.npy`")),
        };
        Ok(Laid::one_each(coordinates, self.grid("data", 1, self.ty)?))
    }

    fn compressed(&mut self, extent: u64, columns: bool) -> Result<Laid, Fault> {
        let inner = self.indices("indices")?;
        let outer = self.outer(extent as u128, inner.len())?;
        let coordinates = if columns { vec![inner, outer] } else { vec![outer, inner] };
        Ok(Laid::one_each(coordinates, self.grid("data", 1, self.ty)?))
    }

    /// Rows are some of the modes, columns the others, each taken together in the order of rows.
    fn gcxs(&mut self, extents: &[u64]) -> Result<Laid, Fault> {
        let outer_modes = self.compressed_axes(extents.len())?;
        let inner_modes: Vec<usize> = (0..extents.len()).filter(|m| !outer_modes.contains(m)).collect();
        let size = |modes: &[usize]| modes.iter().fold(1u128, |n, m| n.saturating_mul(extents[*m] as u128));
        let inner = self.indices("indices")?;
        let outer = self.outer(size(&outer_modes), inner.len())?;
        let mut coordinates = vec![Vec::new(); extents.len()];
        for (of, modes, member) in [(outer, outer_modes, "indptr"), (inner, inner_modes, "indices")] {
            check_below(&of, size(&modes), member)?;
            // The last of the modes runs fastest.
            let mut rest = of;
            for m in modes.into_iter().rev() {
                let extent = extents[m] as i64;
                coordinates[m] = room::collected(rest.iter().map(|c| c % extent))?;
                rest.iter_mut().for_each(|c| *c /= extent);
            }
        }
        Ok(Laid::one_each(coordinates, self.grid("data", 1, self.ty)?))
    }

    /// The modes that make the rows of a `gcxs` array; of one mode none does.
    fn compressed_axes(&mut self, rank: usize) -> Result<Vec<usize>, Fault> {
        let axes = self.indices("compressed_axes")?;
        let mut modes: Vec<usize> = Vec::new();
        for (e, &axis) in axes.iter().enumerate() {
            match usize::try_from(axis).ok().filter(|m| *m < rank && !modes.contains(m)) {
                Some(m) => modes.push(m),
                None => {
                    let what = format!("{axis} is no mode of {rank}, or stands twice");
                    return named("compressed_axes", Err(Fault::new(Place::Element(e), what)));
                }
            }
        }
        Ok(modes)
    }

    fn bsr(&mut self, extents: [u64; 2], fill: Value) -> Result<Laid, Fault> {
        let data = self.grid("data", 3, self.ty)?;
        let block = [data.extents[1], data.extents[2]];
        let fits = |m: usize| block[m] > 0 && extents[m].is_multiple_of(block[m]);
        if !(fits(0) && fits(1)) {
            let ([rows, columns], [r, c]) = (extents, block);
            return named(
                "data",
                Err(Fault::whole(format!("blocks of {r} by {c} in a matrix of {rows} by {columns}"))),
            );
        }
        let columns = self.indices("indices")?;
        if columns.len() != data.extent(0) {
            return Err(Fault::whole(format!(
                "{} for {}",
                counted(columns.len(), "coordinate", "coordinates"),
                counted(data.extent(0), "block", "blocks")
            )));
        }
        check_below(&columns, (extents[1] / block[1]) as u128, "indices")?;
        let rows = self.outer((extents[0] / block[0]) as u128, columns.len())?;
        let (mut at, mut of) = ([Vec::new(), Vec::new()], Vec::new());
        for b in 0..columns.len() {
            for r in 0..data.extent(1) {
                for c in 0..data.extent(2) {
                    let stands = [rows[b] * block[0] as i64 + r as i64, columns[b] * block[1] as i64 + c as i64];
                    keep(&mut at, &mut of, stands, (&data, data.element(&[b, r, c]), fill))?;
                }
            }
        }
        Laid::picked(at, &data, of)
    }

    fn dia(&mut self, [rows, columns]: [u64; 2], fill: Value) -> Result<Laid, Fault> {
        let data = self.grid("data", 2, self.ty)?;
        let offsets = self.indices("offsets")?;
        if offsets.len() != data.extent(0) {
            return Err(Fault::whole(format!(
                "{} for {}",
                counted(offsets.len(), "offset", "offsets"),
                counted(data.extent(0), "diagonal", "diagonals")
            )));
        }
        let (mut at, mut of) = ([Vec::new(), Vec::new()], Vec::new());
        for (d, &offset) in offsets.iter().enumerate() {
            let end = (rows as i128 + offset as i128).min(columns as i128).min(data.extent(1) as i128);
            for j in offset.max(0)..end.max(0) as i64 {
                keep(&mut at, &mut of, [j - offset, j], (&data, data.element(&[d, j as usize]), fill))?;
            }
        }
        Laid::picked(at, &data, of)
    }

    /// The outer coordinate of each of `stored` entries, of which `indptr` says where each coordinate's begin.
    fn outer(&mut self, extent: u128, stored: usize) -> Result<Vec<i64>, Fault> {
        let indptr = self.indices("indptr")?;
        named("indptr", expand(&indptr, extent, stored))
    }
}

/// The element as an entry that stands there, unless it is the fill value.
fn keep(
    [rows, columns]: &mut [Vec<i64>; 2],
    of: &mut Vec<usize>,
    [i, j]: [i64; 2],
    (data, element, fill): (&Grid, usize, Value),
) -> Result<(), Fault> {
    if data.values.get(element) != fill {
        room::push(rows, i)?;
        room::push(columns, j)?;
        room::push(of, element)?;
    }
    Ok(())
}

/// The rows of a member of two modes.
fn columns(coords: Grid) -> Result<Vec<Vec<i64>>, Fault> {
    let (modes, n, first_fastest) = (coords.extent(0), coords.extent(1), coords.first_fastest);
    let all = coords.indices("coords")?;
    let column = |m: usize| match first_fastest {
        true => room::collected((0..n).map(|e| all[e * modes + m])),
        false => room::copied(&all[m * n..(m + 1) * n]),
    };
    Ok((0..modes).map(column).collect::<Result<_, _>>()?)
}

/// Coordinates that are taken apart are below an extent, or what is made of them means nothing.
fn check_below(coordinates: &[i64], extent: u128, member: &str) -> Result<(), Fault> {
    match coordinates.iter().position(|c| *c < 0 || *c as u128 >= extent) {
        Some(e) => {
            let what = format!("coordinate {} is not in 0..{extent}", coordinates[e]);
            named(member, Err(Fault::new(Place::Element(e), what)))
        }
        None => Ok(()),
    }
}

fn expand(indptr: &[i64], extent: u128, stored: usize) -> Result<Vec<i64>, Fault> {
    if indptr.len() as u128 != extent.saturating_add(1) {
        return Err(Fault::whole(format!("{}, expected {extent} + 1", counted(indptr.len(), "element", "elements"))));
    }
    let mut outer = room::room(stored)?;
    for (i, w) in indptr.windows(2).enumerate() {
        if i == 0 && w[0] != 0 || w[1] < w[0] || w[1] > stored as i64 {
            let what = format!("{} behind {}: it begins with 0, never falls, and ends with {stored}", w[1], w[0]);
            return Err(Fault::new(Place::Element(i + 1), what));
        }
        outer.resize(w[1] as usize, i as i64);
    }
    if outer.len() != stored {
        return Err(Fault::whole(format!("it ends with {} of {}", outer.len(), counted(stored, "entry", "entries"))));
    }
    Ok(outer)
}
