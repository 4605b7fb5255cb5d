//! The whole's results from those of its boxes.
//!
//! ```text
//!  whole     every box has it: the first one's
//!  cut       one part behind the other, each at its coordinates
//!  folded    T ⊕ part₀ ⊕ part₁ ⊕ …, in ascending order: each step a kernel, `T[i…] = f(P[i…], Q[i…])`
//!  both      folded first, for each part that is then put behind the others
//! ```

use super::program::fresh;
use super::restrict::indices;
use super::rules::Fold;
use crate::error::Error;
use crate::kernel::{Kernel, Options, unheld};
use crate::program::Program;
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::format::{self, Array, Assembly, Entries, Format, Holds, Level, LevelKind, Tensor};
use fiberloom_core::notation::syntax::{self, Item};
use fiberloom_core::notation::typed::{self, Fun};
use fiberloom_semantics::algebra::Agreement;

/// A part of a result, and where in it each mode of it begins.
pub(super) type Part = (Vec<u64>, Tensor<'static>);

/// The tensor of these extents in which parts stand that cover it: these modes are cut.
///
/// # Errors
/// Values that the format has no place for; memory. [`Error::Defect`] if parts have different fill values.
pub(super) fn placed(
    name: &str,
    (parts, cut): (Vec<Part>, &[usize]),
    extents: &[u64],
    format: &Format,
    how: &Assembly,
) -> Result<Tensor<'static>, Error> {
    let Some(fill) = parts.first().map(|(_, part)| part.fill) else {
        return Err(Error::Defect(format!("no box has a part of `{name}`")));
    };
    if parts.iter().any(|(_, part)| part.fill != fill) {
        return Err(Error::Defect(format!("parts of `{name}` have different fill values")));
    }
    if let [(_, one)] = &parts[..]
        && one.format == *format
    {
        return Ok(one.clone());
    }
    let made = match stacked(&parts, cut, extents, format) {
        Some(stacked) => stacked,
        None => gathered(&parts, extents, format, fill, how),
    };
    made.map_err(|error| unheld(name, error))
}

/// Parts of any formats: their entries, at their coordinates.
fn gathered(
    parts: &[Part],
    extents: &[u64],
    format: &Format,
    fill: Value,
    how: &Assembly,
) -> Result<Tensor<'static>, format::Error> {
    let mut coordinates = vec![Vec::new(); extents.len()];
    let mut values = Vec::new();
    let listed: Vec<Entries> = parts.iter().map(|(_, part)| part.stored_entries()).collect::<Result<_, _>>()?;
    for ((begin, _), entries) in parts.iter().zip(&listed) {
        for (mode, column) in coordinates.iter_mut().enumerate() {
            format::room::more(column, entries.len())?;
            column.extend(entries.coordinates[mode].iter().map(|c| c + begin[mode] as i64));
        }
        values.push(entries.values.borrow());
    }
    let values = Array::joined(fill.ty(), &values)?;
    Entries { coordinates, values }.assemble(extents, format, fill, how)
}

/// Parts that are cut at the outermost level, which is dense: arrays one behind the other. `None` if they are others.
fn stacked(
    parts: &[Part],
    cut: &[usize],
    extents: &[u64],
    format: &Format,
) -> Option<Result<Tensor<'static>, format::Error>> {
    let is_plain = |kind: &LevelKind| kind.is_full() || kind.is_list() && !kind.has_table();
    let is_outer = cut.len() == 1 && cut[0] == format.order[0] && format.levels[0].is_full();
    if !is_outer || !format.levels.iter().all(is_plain) || parts.iter().any(|(_, part)| part.format != *format) {
        return None;
    }
    let made = || {
        let level = |l: usize| -> Result<Level<'static>, format::Error> {
            let levels: Vec<&Level> = parts.iter().map(|(_, part)| &part.levels[l]).collect();
            let made = Level::of(format.levels[l], |_, holds| match holds {
                Holds::Positions => positions(&levels),
                _ => coordinates(&levels),
            });
            Ok(made?.expect("lists and dense levels have arrays of data"))
        };
        let values: Vec<Array> = parts.iter().map(|(_, part)| part.values.borrow()).collect();
        let fill = parts[0].1.fill;
        let levels = (0..format.rank()).map(level).collect::<Result<_, _>>()?;
        let values = Array::joined(fill.ty(), &values)?;
        Ok(Tensor { extents: extents.to_vec(), format: format.clone(), levels, values, fill })
    };
    Some(made())
}

/// The arrays of coordinates of levels, one behind the other.
fn coordinates(levels: &[&Level]) -> Result<Array<'static>, format::Error> {
    let parts: Vec<&Array> = levels.iter().filter_map(|level| level.arrays().last()).collect();
    let wide = parts.iter().any(|part| matches!(part, Array::I64(_)));
    counted_on(wide, parts.into_iter().map(|part| (part, 0, 0)))
}

/// The arrays of positions of levels, one behind the other, counted on.
fn positions(levels: &[&Level]) -> Result<Array<'static>, format::Error> {
    let parts: Vec<&Array> = levels.iter().filter_map(|level| level.arrays().next()).collect();
    let mut begins = vec![];
    let all = parts.iter().fold(0, |begin, part| {
        begins.push(begin);
        begin + part.index(part.len() - 1)
    });
    let wide = all > i32::MAX as i64 || parts.iter().any(|part| matches!(part, Array::I64(_)));
    // The first position of each part is the last of the one before.
    counted_on(
        wide,
        parts.into_iter().zip(begins).enumerate().map(|(n, (part, begin))| (part, (n > 0) as usize, begin)),
    )
}

/// The elements of arrays of indices from a place on, each with a number added.
fn counted_on<'a>(
    wide: bool,
    parts: impl Iterator<Item = (&'a Array<'a>, usize, i64)>,
) -> Result<Array<'static>, format::Error> {
    let mut all: Vec<i64> = vec![];
    for (part, from, plus) in parts {
        format::room::more(&mut all, part.len())?;
        all.extend((from..part.len()).map(|n| part.index(n) + plus));
    }
    indices(if wide { Type::I64 } else { Type::I32 }, all)
}

/// Folds parts of a result with one another.
pub(super) struct Folding<'p> {
    whole: &'p Program,
    options: Options,
    /// The kernel of the last step, by its program's text: most steps have the same.
    last: Option<(String, Kernel)>,
    /// What comparing steps with the reference semantics gave, if that is asked for.
    pub(super) compared: Option<Agreement>,
}

impl<'p> Folding<'p> {
    pub(super) fn new(whole: &'p Program, options: &Options, compares: bool) -> Folding<'p> {
        Folding { whole, options: *options, last: None, compared: compares.then(Agreement::default) }
    }

    /// `f(before, next)` at every coordinate.
    ///
    /// # Errors
    /// As of a call of a kernel.
    pub(super) fn step(
        &mut self,
        result: &typed::Tensor,
        fold: &Fold,
        before: &Tensor,
        next: &Tensor,
    ) -> Result<Tensor<'static>, Error> {
        let [p, q, t, i, n] =
            ["before", "next", "folded", "at", "size"].map(|name| fresh(self.whole.canonical(), name));
        let rank = result.sizes.len();
        let list = |name: &str| (0..rank).map(|m| format!("{name}{m}")).collect::<Vec<_>>().join(", ");
        let (sizes, at, ty) = (list(&n), list(&i), result.ty);
        let declared =
            |name: &str, fill: Value, format: &Format| format!("tensor {name}: {ty}[{sizes}] fill {fill} {format}\n");
        let mut text = self.functions();
        text += &declared(&p, before.fill, &before.format);
        text += &declared(&q, next.fill, &next.format);
        if let Some(fill) = result.fill {
            text += &declared(&t, fill, &next.format);
        }
        let (a, b) = (format!("{p}[{at}]"), format!("{q}[{at}]"));
        text += &format!("{t}[{at}] = {}\n", self.applied(fold.fun, &a, &b));
        let kernel = match self.last.take().filter(|(known, _)| *known == text) {
            Some((_, kernel)) => kernel,
            None => Program::parse(&text)?.compile(&self.options)?,
        };
        let mut call = kernel.bind(&[(p.as_str(), before), (q.as_str(), next)])?;
        let mut outcome = call.run()?;
        if let Some(compared) = &mut self.compared {
            *compared += call.agrees(&outcome)?;
        }
        let folded = outcome.take(&t);
        self.last = Some((text, kernel));
        folded.ok_or_else(|| Error::Defect("a fold of two boxes has no result".to_string()))
    }

    /// The functions that the program declares.
    fn functions(&self) -> String {
        let items = self.whole.syntax().items.iter().filter(|item| matches!(item, Item::Function(_)));
        syntax::Program { items: items.cloned().collect() }.to_string()
    }

    /// A function of two arguments, applied.
    fn applied(&self, fun: Fun, a: &str, b: &str) -> String {
        let name = match fun {
            Fun::Op(op) => op.name(),
            Fun::User(id) => &self.whole.typed().functions[id.index()].name,
        };
        match fun {
            Fun::Op(op) if Op::from_name(name) != Some(op) => format!("{a} {name} {b}"),
            _ => format!("{name}({a}, {b})"),
        }
    }
}
