//! The program that every box runs: the whole's, in which cut modes have sizes of their own.
//!
//! ```text
//!  tensor A: f64[N, N] csr                       tensor A: f64[box_i, N] csr
//!  tensor x: f64[N] dense           i split      tensor x: f64[N] dense
//!  y[i] = A[i,j] * x[j]            ────────▶     y[i] = A[i,j] * x[j]
//! ```
//!
//! Sizes are names, so that boxes of any extents run one kernel. A size that only cut modes said keeps its name and the whole's
//! extent, where it stands elsewhere: it means what it meant. A level that cannot be cut (a triangle; a singleton outside of
//! chains), or that a fold of one box may not fit, is compressed, and a tensor that boxes fold begins with the function's identity.

use super::rules::{Share, shares_of};
use crate::error::Error;
use crate::program::{Program, literal, reformat};
use fiberloom_core::format::{Format, LevelKind};
use fiberloom_core::notation::syntax::{Dim, Ident, Item, Size};
use fiberloom_core::notation::typed::{self, TensorId};
use fiberloom_core::shape::Extents;
use std::collections::BTreeSet;

/// The program of the boxes.
///
/// # Errors
/// [`Error::Program`] where the checker finds that its extents are not known.
pub(super) fn of_boxes(whole: &Program, names: &[&str], shares: &[Share], extents: &Extents) -> Result<Program, Error> {
    let typed = whole.typed();
    let sizes: Vec<String> = names.iter().map(|name| fresh(whole.canonical(), &format!("box_{name}"))).collect();
    let mut syntax = whole.syntax().clone();
    let mut formats = vec![];
    for item in &mut syntax.items {
        if let Item::Dim(dim) = item
            && let Some(size) = whole.given_size(&dim.name.name)
        {
            dim.value = Some(extents.size(size));
        }
        let Item::Tensor(declared) = item else { continue };
        let Some((id, share)) = shares_of(typed, shares, &declared.name.name) else { continue };
        for (mode, split) in &share.cuts {
            let span = match &declared.sizes[*mode] {
                Size::Name(name) => name.span,
                Size::Int(_, span) => *span,
            };
            declared.sizes[*mode] = Size::Name(Ident { name: sizes[*split].clone(), span });
        }
        if let Some(fold) = share.fold.as_ref().filter(|fold| fold.accumulates) {
            let span = declared.fill.as_ref().map_or(declared.name.span, |(_, span)| *span);
            declared.fill = Some((literal(fold.identity), span));
        }
        let cut: Vec<usize> = share.cuts.iter().map(|(mode, _)| *mode).collect();
        let format = typed.tensors[id.index()].format.as_ref();
        let other = format.and_then(|format| cuttable(format, &cut, share.fold.is_some()));
        formats.extend(other.map(|format| (declared.name.name.clone(), format.to_string())));
    }
    formats.iter().try_for_each(|(name, format)| reformat(&mut syntax, name, format))?;
    let kept = kept(typed, shares, &syntax.to_string());
    for size in kept {
        let (name, span) = (typed.sizes[size].name.clone().unwrap_or_default(), typed.sizes[size].span);
        let dim = Dim { name: Ident { name, span }, value: Some(extents.sizes[size]) };
        syntax.items.insert(0, Item::Dim(dim));
    }
    let (file, text) = whole.source();
    Program::checked(file, text, syntax).map_err(|diagnostics| whole.refused(diagnostics))
}

/// A name like this one that does not stand in a text.
pub(super) fn fresh(text: &str, like: &str) -> String {
    let mut name = like.to_string();
    while text.contains(&name) {
        name.push('_');
    }
    name
}

/// The format in which parts of a tensor are kept whose modes are cut, if it is another. What boxes fold need not have a place in a
/// triangle, or be mirrored, though the whole is.
fn cuttable(format: &Format, cut: &[usize], is_folded: bool) -> Option<Format> {
    let is_cut = |l: usize| cut.contains(&format.order[l]);
    let cannot = |l: &usize| match format.levels[*l] {
        kind if kind.is_triangle() => is_folded || is_cut(*l) || is_cut(*l - 1),
        _ => format.is_single(*l) && is_cut(*l),
    };
    let levels: Vec<usize> = (0..format.rank()).filter(cannot).collect();
    let mut other = format.clone();
    levels.iter().for_each(|l| other.levels_mut()[*l] = LevelKind::Compressed);
    (!levels.is_empty()).then_some(other)
}

/// The named sizes that stand in the boxes' text and that no operand's modes say any more: those of cut modes, and of what is
/// folded, which no box is given.
fn kept(typed: &typed::Program, shares: &[Share], text: &str) -> Vec<usize> {
    let of = |id: TensorId, is_left: &dyn Fn(usize) -> bool| -> Vec<usize> {
        let sizes = typed.tensors[id.index()].sizes.iter().enumerate();
        sizes.filter(|(mode, _)| is_left(*mode)).map(|(_, size)| size.index()).collect()
    };
    let is_cut = |id: TensorId, mode: usize| shares[id.index()].cuts.iter().any(|(own, _)| *own == mode);
    let gone = |id: TensorId| of(id, &|mode| shares[id.index()].fold.is_some() || is_cut(id, mode));
    let left = |id: TensorId| of(id, &|mode| !is_cut(id, mode));
    let gone: BTreeSet<usize> = typed.ids().flat_map(gone).collect();
    let said: BTreeSet<usize> = typed.inputs().into_iter().flat_map(left).collect();
    let stands = |name: &str| text.split(|c: char| c != '_' && !c.is_alphanumeric()).any(|word| word == name);
    let is_kept = |size: &usize| {
        let typed::Size { name, value, given, .. } = &typed.sizes[*size];
        value.is_none() && !given && name.as_deref().is_some_and(stands)
    };
    gone.difference(&said).copied().filter(is_kept).collect()
}
