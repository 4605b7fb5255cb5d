//! Classes of equal extents.

use crate::notation::typed::{Expr, Index, Kind, Map, Program, SizeId, TensorId, VarId};
use crate::notation::{Diagnostic, Span};

/// Sizes and index variables that have one extent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ClassId(pub u32);

/// Which sizes and variables are equal because a bare variable stands at a mode.
#[derive(Clone, Debug)]
pub struct Classes {
    /// Sizes first, then variables; each leads towards its class's representative.
    parent: Vec<u32>,
    sizes: usize,
    names: Vec<Option<String>>,
    values: Vec<Option<(u64, Span)>>,
}

impl Classes {
    /// The classes of a program.
    ///
    /// # Errors
    /// Two sizes of one class with different values.
    pub fn of(program: &Program) -> Result<Classes, Vec<Diagnostic>> {
        let sizes = program.sizes.len();
        let mut names: Vec<Option<String>> = program.sizes.iter().map(|s| s.name.clone()).collect();
        names.extend(program.vars.iter().map(|v| Some(v.name.clone())));
        let mut values: Vec<Option<(u64, Span)>> = program.sizes.iter().map(|s| s.value.map(|v| (v, s.span))).collect();
        values.resize(names.len(), None);
        let parent = (0..names.len() as u32).collect();
        let mut c = Classes { parent, sizes, names, values };
        let mut errors = Vec::new();
        for s in &program.statements {
            c.access(program, s.tensor, &s.indices, &mut errors);
            c.expr(program, &s.rhs, &mut errors);
        }
        if errors.is_empty() { Ok(c) } else { Err(errors) }
    }

    fn find(&self, mut x: usize) -> usize {
        while self.parent[x] as usize != x {
            x = self.parent[x] as usize;
        }
        x
    }

    fn join(&mut self, size: SizeId, var: VarId, what: &str, span: Span, errors: &mut Vec<Diagnostic>) {
        let (a, b) = (self.find(size.index()), self.find(self.sizes + var.index()));
        if a == b {
            return;
        }
        let (keep, drop) = (a.min(b), a.max(b));
        if let (Some((x, _)), Some((y, first))) = (self.values[a], self.values[b])
            && x != y
        {
            let name = self.names[self.sizes + var.index()].clone().unwrap_or_default();
            let message = format!("index variable `{name}` has extent {y}, but that mode of `{what}` has extent {x}");
            errors.push(Diagnostic::new(span, message).label(first, format!("extent {y}")));
            return;
        }
        self.values[keep] = self.values[keep].or(self.values[drop]);
        if self.names[keep].is_none() {
            self.names[keep] = self.names[drop].clone();
        }
        self.parent[drop] = keep as u32;
    }

    fn access(&mut self, program: &Program, t: TensorId, indices: &[Index], errors: &mut Vec<Diagnostic>) {
        let tensor = &program.tensors[t.index()];
        for (index, size) in indices.iter().zip(&tensor.sizes) {
            match index.bare() {
                Some(v) => self.join(*size, v, &tensor.name, index.span, errors),
                None => self.map(program, &index.map, errors),
            }
        }
    }

    fn map(&mut self, program: &Program, map: &Map, errors: &mut Vec<Diagnostic>) {
        match map {
            Map::Var(_) | Map::Const(_) => {}
            Map::Add(a, b) => [a, b].into_iter().for_each(|m| self.map(program, m, errors)),
            Map::Mul(_, a) | Map::Div(a, _) | Map::Mod(a, _) => self.map(program, a, errors),
            Map::Gather(t, indices) => self.access(program, *t, indices, errors),
        }
    }

    fn expr(&mut self, program: &Program, e: &Expr, errors: &mut Vec<Diagnostic>) {
        match &e.kind {
            Kind::Literal(_) | Kind::Index(_) | Kind::Local(_) => {}
            Kind::Access(t, indices) => self.access(program, *t, indices, errors),
            Kind::Call(_, args) => args.iter().for_each(|a| self.expr(program, a, errors)),
            Kind::Reduce { body, start, .. } => {
                self.expr(program, body, errors);
                start.iter().for_each(|s| self.expr(program, s, errors));
            }
            Kind::Collapse { body, .. } | Kind::Split { body, .. } | Kind::Slice { body, .. } => {
                self.expr(program, body, errors);
            }
            Kind::Concat { parts, .. } => parts.iter().for_each(|p| self.expr(program, p, errors)),
        }
    }

    /// Number of nodes: every class is below it.
    pub(super) fn len(&self) -> usize {
        self.parent.len()
    }

    /// The class of a size.
    pub fn class_of_size(&self, s: SizeId) -> ClassId {
        ClassId(self.find(s.index()) as u32)
    }

    /// The class of an index variable, alone if no bare access binds it.
    pub fn class_of_var(&self, v: VarId) -> ClassId {
        ClassId(self.find(self.sizes + v.index()) as u32)
    }

    /// The extent of a class, if the program says it.
    pub fn value(&self, c: ClassId) -> Option<u64> {
        self.values[c.0 as usize].map(|(v, _)| v)
    }

    /// A name for people.
    pub fn name(&self, c: ClassId) -> String {
        match (&self.names[c.0 as usize], self.value(c)) {
            (Some(name), _) => name.clone(),
            (None, Some(value)) => value.to_string(),
            (None, None) => format!("e{}", c.0),
        }
    }
}
