//! Dims and tensors.

use super::{Check, formats, statements};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::counted;
use fiberloom_core::format::Format;
use fiberloom_core::notation::diagnostic::{Diagnostic, Span};
use fiberloom_core::notation::syntax::{self, Item, Size};
use fiberloom_core::notation::typed::{self, Role, SizeId, TensorId};
use std::collections::{HashMap, HashSet};

/// The most modes of a tensor. The time to choose an order of loops grows with the fourth power of their number.
const MODES: usize = 128;

/// What declarations are read with.
struct Declarations<'c> {
    c: &'c mut Check,
    /// Where a statement that is no local defines a tensor first.
    results: HashMap<String, Span>,
    /// Names that `where` blocks define; where they are declared, too, that says of each block's own what it is like.
    locals: HashSet<String>,
}

/// Notes what is declared, wherever it stands. Returns where a statement that is no local defines a tensor first.
pub(super) fn declarations(items: &[Item], c: &mut Check) -> HashMap<String, Span> {
    let mut declarations = Declarations { c, results: HashMap::new(), locals: HashSet::new() };
    declarations.all(items);
    declarations.results
}

impl Declarations<'_> {
    fn all(&mut self, items: &[Item]) {
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
                self.is_alone(dim);
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
        if let Some(value) = dim.value.filter(|value| *value >= 1 << 63) {
            return self.c.say(span, format!("dim `{}` is {value}: an extent is below 2⁶³", dim.name));
        }
        if let Some((_, first)) = self.c.dims.insert(dim.name.name.clone(), (dim.value, span)) {
            let d = Diagnostic::new(span, format!("dim `{}` is declared twice", dim.name)).label(first, "first here");
            self.c.error(d);
        }
    }

    /// Refuses a size that calls say under the name of a tensor.
    fn is_alone(&mut self, dim: &syntax::Dim) {
        let name = &dim.name.name;
        if dim.value.is_none() && (self.c.tensors.contains_key(name) || self.results.contains_key(name)) {
            let message = format!("calls say the size `{name}` by its name, and a tensor has it");
            self.c.error(Diagnostic::new(dim.name.span, message).help("call one of them otherwise"));
        }
    }

    fn size(&mut self, size: &Size) -> SizeId {
        match size {
            Size::Int(n, span) => {
                if *n >= 1 << 63 {
                    self.c.say(*span, format!("{n} is no extent: extents are below 2⁶³"));
                }
                self.c.fresh_size(None, Some(*n), *span)
            }
            Size::Name(name) => {
                if let Some(&known) = self.c.sizes.get(&name.name) {
                    return known;
                }
                let value = self.c.dims.get(&name.name).and_then(|(value, _)| *value);
                let size = self.c.fresh_size(Some(name.name.clone()), value, name.span);
                self.c.sizes.insert(name.name.clone(), size);
                size
            }
        }
    }

    fn tensor(&mut self, t: &syntax::Tensor) {
        if let Some(first) = self.c.tensors.get(&t.name.name) {
            let first = self.c.out.tensors[first.index()].span;
            let d = Diagnostic::new(t.name.span, format!("tensor `{}` is declared twice", t.name));
            return self.c.error(d.label(first, "first here"));
        }
        let sizes: Vec<SizeId> = t.sizes.iter().map(|s| self.size(s)).collect();
        let ty = t.sort.stored();
        let fill = match &t.fill {
            None => Some(Value::zero(ty)),
            Some((literal, span)) => self.c.literal(literal, ty, *span),
        };
        let format = match &t.format {
            // A declared tensor without a format is dense.
            None => Some(Format::dense(sizes.len())),
            Some(format) => formats::format(format, &sizes, &t.name.name, self.c),
        };
        let role = match &t.name.name {
            name if self.results.contains_key(name) => Role::Result,
            name if self.locals.contains(name) => Role::Local,
            _ => Role::Input,
        };
        if let (Role::Result | Role::Local, Some(format)) = (role, &format) {
            formats::takes_entries(format, &t.name, self.c);
        }
        let tensor = typed::Tensor { name: t.name.name.clone(), ty, sizes, fill, format, role, span: t.name.span };
        self.c.add_tensor(tensor);
    }
}

/// Tensors that a function gives: those all of whose levels are `function`, and whose name a declared one has.
pub(super) fn computed(c: &mut Check) {
    for n in 0..c.out.tensors.len() {
        let t = &c.out.tensors[n];
        let all = |f: &Format| f.rank() > 0 && f.levels.iter().all(|k| k.is_called());
        let Some(&f) = c.functions.get(&t.name).filter(|_| t.format.as_ref().is_some_and(all)) else { continue };
        let function = &c.out.functions[f.index()];
        if t.role != Role::Input {
            continue;
        }
        let rank = t.sizes.len();
        if !function.takes(&vec![Type::I64; rank]) || function.result != t.ty {
            let message = format!("`{0}` is not given by the function `{0}`: its types are others", t.name);
            let params = counted(rank, "coordinate", "coordinates");
            let help = format!("one that takes {params} of type i64 and gives a value of type {} gives it", t.ty);
            let d = Diagnostic::new(function.span, message).label(t.span, "declared here").help(help);
            c.error(d);
            continue;
        }
        c.out.tensors[n].role = Role::Computed(f);
    }
}

impl Check {
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
}
