//! Dims, tensors, formats.

use super::{Check, statements};
use crate::algebra::{Type, Value};
use crate::format::{Format, LevelKind, NAMES};
use crate::notation::diagnostic::{Diagnostic, Span};
use crate::notation::syntax::{self, Item, Size};
use crate::notation::typed::{self, Role, SizeId, TensorId};
use crate::words::counted;

/// The most modes of a tensor. The time to choose an order of loops grows with the fourth power of their number.
const MODES: usize = 128;

impl Check {
    /// Declarations count wherever they stand.
    pub(super) fn declarations(&mut self, items: &[Item]) {
        for item in items {
            if let Item::Dim(dim) = item {
                self.dim(dim);
            }
        }
        for s in statements(items) {
            self.results.entry(s.lhs.tensor.name.clone()).or_insert(s.lhs.tensor.span);
            self.note_locals(&s.locals);
        }
        for item in items {
            if let Item::Tensor(tensor) = item {
                self.tensor(tensor);
            }
        }
        // A dim that no tensor has is a value all the same.
        for item in items {
            if let Item::Dim(dim) = item {
                self.size(&Size::Name(dim.name.clone()));
            }
        }
    }

    fn note_locals(&mut self, locals: &[syntax::Statement]) {
        for s in locals {
            self.locals.insert(s.lhs.tensor.name.clone());
            self.note_locals(&s.locals);
        }
    }

    fn dim(&mut self, dim: &syntax::Dim) {
        let span = dim.name.span;
        if dim.value >= 1 << 63 {
            return self.say(span, format!("dim `{}` is {}: an extent is below 2⁶³", dim.name, dim.value));
        }
        if let Some((_, first)) = self.dims.insert(dim.name.name.clone(), (dim.value, span)) {
            let d = Diagnostic::new(span, format!("dim `{}` is declared twice", dim.name)).label(first, "first here");
            self.error(d);
        }
    }

    fn size(&mut self, size: &Size) -> SizeId {
        match size {
            Size::Int(n, span) => {
                if *n >= 1 << 63 {
                    self.say(*span, format!("{n} is no extent: extents are below 2⁶³"));
                }
                self.fresh_size(None, Some(*n), *span)
            }
            Size::Name(name) => {
                if let Some(&known) = self.sizes.get(&name.name) {
                    return known;
                }
                let value = self.dims.get(&name.name).map(|(v, _)| *v);
                let size = self.fresh_size(Some(name.name.clone()), value, name.span);
                self.sizes.insert(name.name.clone(), size);
                size
            }
        }
    }

    fn tensor(&mut self, t: &syntax::Tensor) {
        if let Some(first) = self.tensors.get(&t.name.name) {
            let first = self.out.tensors[first.index()].span;
            let d = Diagnostic::new(t.name.span, format!("tensor `{}` is declared twice", t.name));
            return self.error(d.label(first, "first here"));
        }
        let sizes: Vec<SizeId> = t.sizes.iter().map(|s| self.size(s)).collect();
        let ty = t.sort.stored();
        let fill = match &t.fill {
            None => Some(Value::zero(ty)),
            Some((literal, span)) => self.literal(literal, ty, *span),
        };
        let format = match &t.format {
            // A declared tensor without a format is dense.
            None => Some(Format::dense(sizes.len())),
            Some(format) => self.format(format, &sizes, &t.name.name),
        };
        let role = match &t.name.name {
            name if self.results.contains_key(name) => Role::Result,
            name if self.locals.contains(name) => Role::Local,
            _ => Role::Input,
        };
        if let (Role::Result | Role::Local, Some(format)) = (role, &format) {
            self.takes_entries(format, &t.name);
        }
        let tensor = typed::Tensor { name: t.name.name.clone(), ty, sizes, fill, format, role, span: t.name.span };
        self.add_tensor(tensor);
    }

    /// Tensors that a function gives: those all of whose levels are `function`, and whose name a declared one has.
    pub(super) fn computed(&mut self) {
        for n in 0..self.out.tensors.len() {
            let t = &self.out.tensors[n];
            let all = |f: &Format| f.rank() > 0 && f.levels.iter().all(|k| k.is_called());
            let Some(&f) = self.functions.get(&t.name).filter(|_| t.format.as_ref().is_some_and(all)) else { continue };
            let function = &self.out.functions[f.index()];
            if t.role != Role::Input {
                continue;
            }
            let rank = t.sizes.len();
            if !function.takes(&vec![Type::I64; rank]) || function.result != t.ty {
                let message = format!("`{0}` is not given by the function `{0}`: its types are others", t.name);
                let params = counted(rank, "coordinate", "coordinates");
                let help = format!("one that takes {params} of type i64 and gives a value of type {} gives it", t.ty);
                let d = Diagnostic::new(function.span, message).label(t.span, "declared here").help(help);
                self.error(d);
                continue;
            }
            self.out.tensors[n].role = Role::Computed(f);
        }
    }

    /// A new tensor, which its name means from here on.
    pub(super) fn add_tensor(&mut self, tensor: typed::Tensor) -> TensorId {
        let rank = tensor.sizes.len();
        if rank > MODES {
            let message = format!("`{}` has {rank} modes, and a tensor has at most {MODES}", tensor.name);
            self.error(Diagnostic::new(tensor.span, message).help("collapse some of its modes into one"));
        }
        let id = TensorId(self.out.tensors.len() as u32);
        self.tensors.insert(tensor.name.clone(), id);
        self.out.tensors.push(tensor);
        id
    }

    pub(super) fn format(&mut self, format: &syntax::Format, sizes: &[SizeId], tensor: &str) -> Option<Format> {
        let rank = sizes.len();
        let modes = counted(rank, "mode", "modes");
        match format {
            syntax::Format::Name { name, order, span } => {
                let known = Format::named(&name.name, rank);
                if known.is_none() && NAMES.contains(&name.name.as_str()) {
                    let help = "csr, csc, dcsr, dcsc take 2 modes, sparse 1, coo and csf at least 1";
                    let message = format!("format `{name}` does not fit `{tensor}`, which has {modes}");
                    self.error(Diagnostic::new(name.span, message).help(help));
                } else if known.is_none() {
                    self.unknown("format", name, NAMES.into_iter());
                }
                let known = known?;
                match order {
                    None => Some(known),
                    Some(_) if !known.order.is_sorted() => {
                        let message = format!("format `{name}` says its order, and another one stands behind it");
                        let help = format!("leave one out: `{name}` is `{known}`");
                        self.error(Diagnostic::new(*span, message).help(help));
                        None
                    }
                    Some(_) => Some(Format { order: self.order(order.as_deref(), rank, *span)?.into(), ..known }),
                }
            }
            syntax::Format::Levels { levels, order, span } => {
                let kinds: Option<Vec<LevelKind>> = levels.iter().map(|l| self.level(l)).collect();
                if levels.len() != rank {
                    let message = format!("{} levels for `{tensor}`, which has {modes}", levels.len());
                    self.error(Diagnostic::new(*span, message).help("a format has one level a mode"));
                    return None;
                }
                let order = self.order(order.as_deref(), rank, *span)?;
                let format = Format { levels: kinds?.into(), order: order.into() };
                self.fits_levels(&format, sizes, *span)?;
                Some(format)
            }
        }
    }

    fn level(&mut self, name: &syntax::Ident) -> Option<LevelKind> {
        let kind = LevelKind::from_name(&name.name);
        if kind.is_none() {
            self.unknown("level", name, LevelKind::ALL.into_iter().map(LevelKind::name));
        }
        kind
    }

    fn order(&mut self, order: Option<&[u64]>, rank: usize, span: Span) -> Option<Vec<usize>> {
        let Some(order) = order else { return Some((0..rank).collect()) };
        let order: Vec<usize> = order.iter().map(|m| usize::try_from(*m).unwrap_or(usize::MAX)).collect();
        let permutes = order.len() == rank && (0..rank).all(|m| order.contains(&m));
        if !permutes {
            let help = format!("storage level l holds mode order[l]: each of 0 to {} once", rank.saturating_sub(1));
            let message = format!("the order is no permutation of {}", counted(rank, "mode", "modes"));
            self.error(Diagnostic::new(span, message).help(help));
        }
        permutes.then_some(order)
    }

    /// A result may have any entries; a singleton in no chain takes one a parent position, and a function none.
    pub(super) fn takes_entries(&mut self, format: &Format, name: &syntax::Ident) {
        if let Some(called) = format.levels.iter().find(|kind| kind.is_called()) {
            let message =
                format!("`{name}` is computed by a statement, and its level `{}` stores nothing", called.name());
            let help = "what statements define has levels that store: dense, compressed, …";
            self.error(Diagnostic::new(name.span, message).help(help));
        }
        if (0..format.rank()).any(|l| format.is_single(l)) {
            let message = format!("`{name}` is computed, and its level `singleton` holds one entry a parent position");
            let help = "a result's singletons stand in a chain that begins with `nonunique`: {nonunique, singleton}";
            self.error(Diagnostic::new(name.span, message).help(help));
        }
    }

    /// Triangles stand below a dense level of an equal extent; a singleton below another level.
    fn fits_levels(&mut self, format: &Format, sizes: &[SizeId], span: Span) -> Option<()> {
        for (l, kind) in format.levels.iter().enumerate() {
            let triangular = kind.is_triangle();
            let above = l.checked_sub(1).map(|l| format.levels[l]);
            if triangular && above.is_none_or(|above| !above.is_full()) {
                self.say(span, format!("level `{}` stands directly below a dense level", kind.name()));
                return None;
            }
            if kind.continues_chain() && above.is_none() {
                self.say(span, format!("level `{}` stands below another level", kind.name()));
                return None;
            }
            let size = |l: usize| sizes[format.order[l]];
            if triangular && size(l) != size(l - 1) {
                let (a, b) = (self.out.sizes[size(l - 1).index()].value, self.out.sizes[size(l).index()].value);
                if a.is_none() || a != b {
                    let message = format!("level `{}` needs two modes of equal extent", kind.name());
                    self.error(Diagnostic::new(span, message).help("declare both with the same size"));
                    return None;
                }
            }
        }
        Some(())
    }
}
