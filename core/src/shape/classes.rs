//! Classes of equal extents.

use crate::notation::typed::{self, Expr, Index, Kind, SizeId, VarId};

/// Sizes and index variables that have one extent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ClassId(pub u32);

/// Which are equal, by bare accesses.
#[derive(Clone, Debug)]
pub struct Classes {
    parent: Vec<usize>,
    sizes: usize,
    names: Vec<String>,
}

impl Classes {
    /// The classes of a program.
    pub fn of(program: &typed::Program) -> Result<Classes, Vec<crate::notation::Diagnostic>> {
        let sizes = program.sizes.len();
        let mut names: Vec<String> =
            program.sizes.iter().enumerate().map(|(i, s)| s.name.clone().unwrap_or(format!("{i}"))).collect();
        names.extend(program.vars.iter().map(|v| v.name.clone()));
        let mut c = Classes { parent: (0..names.len()).collect(), sizes, names };
        for s in &program.statements {
            c.access(program, s.tensor, &s.indices);
            c.expr(program, &s.rhs);
        }
        Ok(c)
    }
    fn find(&self, mut x: usize) -> usize {
        while self.parent[x] != x {
            x = self.parent[x];
        }
        x
    }
    fn access(&mut self, program: &typed::Program, t: typed::TensorId, indices: &[Index]) {
        for (m, i) in indices.iter().enumerate() {
            if let Some(v) = i.bare() {
                let (a, b) =
                    (self.find(program.tensors[t.index()].sizes[m].index()), self.find(self.sizes + v.index()));
                self.parent[a.max(b)] = a.min(b);
            }
        }
    }
    fn expr(&mut self, program: &typed::Program, e: &Expr) {
        match &e.kind {
            Kind::Access(t, i) => self.access(program, *t, i),
            Kind::Call(_, args) => args.iter().for_each(|a| self.expr(program, a)),
            Kind::Reduce { body, .. } => self.expr(program, body),
            _ => {}
        }
    }
    /// Of a size.
    pub fn class_of_size(&self, s: SizeId) -> ClassId {
        ClassId(self.find(s.index()) as u32)
    }
    /// Of an index variable.
    pub fn class_of_var(&self, v: VarId) -> Option<ClassId> {
        Some(ClassId(self.find(self.sizes + v.index()) as u32))
    }
    /// For people.
    pub fn name(&self, c: ClassId) -> String {
        self.names[c.0 as usize].clone()
    }
}
