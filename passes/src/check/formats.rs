//! Formats: names and levels in them, and what levels ask of the tensor that they store.

use super::Check;
use fiberloom_core::counted;
use fiberloom_core::format::{Format, LevelKind, NAMES};
use fiberloom_core::notation::diagnostic::{Diagnostic, Span};
use fiberloom_core::notation::syntax;
use fiberloom_core::notation::typed::SizeId;

/// What SciPy calls formats of matrices, and what stores the same here.
const ELSEWHERE: [(&str, &str); 4] =
    [("lil", "csr"), ("dok", "csr"), ("bsr", "{dense, blocked}"), ("dia", "{dense, band}")];

/// The format of a tensor whose modes have these sizes.
pub(super) fn format(format: &syntax::Format, sizes: &[SizeId], tensor: &str, c: &mut Check) -> Option<Format> {
    let rank = sizes.len();
    let modes = counted(rank, "mode", "modes");
    match format {
        syntax::Format::Name { name, order, span } => {
            let known = Format::named(&name.name, rank);
            if known.is_none() && NAMES.contains(&name.name.as_str()) {
                let help = "csr, csc, dcsr, dcsc take 2 modes, sparse 1, coo and csf at least 1";
                let message = format!("format `{name}` does not fit `{tensor}`, which has {modes}");
                c.error(Diagnostic::new(name.span, message).help(help));
            } else if known.is_none() {
                c.unknown("format", name, NAMES.into_iter());
                if let Some((_, own)) = ELSEWHERE.iter().find(|(other, _)| *other == name.name) {
                    c.errors.last_mut().expect("it is unknown").help = Some(format!("there is `{own}`"));
                }
                if LevelKind::from_name(&name.name).is_some() {
                    let said = c.errors.last_mut().expect("it is unknown");
                    let levels: Vec<&str> = (1..rank).map(|_| "dense").chain([name.name.as_str()]).collect();
                    said.help =
                        Some(format!("`{name}` is a level: a format has one a mode, {{{}}}", levels.join(", ")));
                }
            }
            let known = known?;
            if rank == 1 {
                fits_levels(&known, sizes, *span, c)?;
            }
            match order {
                None => Some(known),
                Some(_) if !known.order.is_sorted() => {
                    let message = format!("format `{name}` says its order, and another one stands behind it");
                    let help = format!("leave one out: `{name}` is `{known}`");
                    c.error(Diagnostic::new(*span, message).help(help));
                    None
                }
                Some(_) => Some(Format { order: storage_order(order.as_deref(), rank, *span, c)?.into(), ..known }),
            }
        }
        syntax::Format::Levels { levels, order, span } => {
            let kinds: Option<Vec<LevelKind>> = levels.iter().map(|l| level(l, c)).collect();
            if levels.len() != rank {
                let message = format!("{} levels for `{tensor}`, which has {modes}", levels.len());
                c.error(Diagnostic::new(*span, message).help("a format has one level a mode"));
                return None;
            }
            let order = storage_order(order.as_deref(), rank, *span, c)?;
            let format = Format { levels: kinds?.into(), order: order.into() };
            fits_levels(&format, sizes, *span, c)?;
            Some(format)
        }
    }
}

fn level(name: &syntax::Ident, c: &mut Check) -> Option<LevelKind> {
    let kind = LevelKind::from_name(&name.name);
    if kind.is_none() {
        c.unknown("level", name, LevelKind::ALL.into_iter().map(LevelKind::name));
    }
    kind
}

fn storage_order(order: Option<&[u64]>, rank: usize, span: Span, c: &mut Check) -> Option<Vec<usize>> {
    let Some(order) = order else { return Some((0..rank).collect()) };
    let order: Vec<usize> = order.iter().map(|m| usize::try_from(*m).unwrap_or(usize::MAX)).collect();
    let permutes = order.len() == rank && (0..rank).all(|m| order.contains(&m));
    if !permutes {
        let help = format!("storage level l holds mode order[l]: each of 0 to {} once", rank.saturating_sub(1));
        let message = format!("the order is no permutation of {}", counted(rank, "mode", "modes"));
        c.error(Diagnostic::new(span, message).help(help));
    }
    permutes.then_some(order)
}

/// A result may have any entries; a singleton in no chain takes one a parent position, and a function none.
pub(super) fn takes_entries(format: &Format, name: &syntax::Ident, c: &mut Check) {
    if let Some(called) = format.levels.iter().find(|kind| kind.is_called()) {
        let message = format!("`{name}` is computed by a statement, and its level `{}` stores nothing", called.name());
        let help = "what statements define has levels that store: dense, compressed, …";
        c.error(Diagnostic::new(name.span, message).help(help));
    }
    if (0..format.rank()).any(|l| format.is_single(l)) {
        let message = format!("`{name}` is computed, and its level `singleton` holds one entry a parent position");
        let help = "a result's singletons stand in a chain that begins with `nonunique`: {nonunique, singleton}";
        c.error(Diagnostic::new(name.span, message).help(help));
    }
}

/// Triangles stand below a dense level of an equal extent; a singleton below another level.
fn fits_levels(format: &Format, sizes: &[SizeId], span: Span, c: &mut Check) -> Option<()> {
    for (l, kind) in format.levels.iter().enumerate() {
        let triangular = kind.is_triangle();
        let above = l.checked_sub(1).map(|l| format.levels[l]);
        if triangular && above.is_none_or(|above| !above.is_full()) {
            c.say(span, format!("level `{}` stands directly below a dense level", kind.name()));
            return None;
        }
        if kind.continues_chain() && above.is_none() {
            c.say(span, format!("level `{}` stands below another level", kind.name()));
            return None;
        }
        let size = |l: usize| sizes[format.order[l]];
        if triangular && size(l) != size(l - 1) {
            let (a, b) = (c.out.sizes[size(l - 1).index()].value, c.out.sizes[size(l).index()].value);
            if a.is_none() || a != b {
                let message = format!("level `{}` needs two modes of equal extent", kind.name());
                c.error(Diagnostic::new(span, message).help("declare both with the same size"));
                return None;
            }
        }
    }
    Some(())
}
