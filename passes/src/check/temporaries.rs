//! Commands about what a statement reads: temporaries that it makes first, how they are stored, and copies of operands.
//!
//! ```text
//!  stage(sum(k: B[j,k] * x[k]), t[j])        t is a tensor of the schedule, with a mode for each variable that is free in its value
//!  precompute(B[j,k] * x[k], k -> kw, W)     the same of what need not be a sum
//!  store(t, {compressed})                    t's format
//!  copy(B, {dense, compressed} order(1, 0))  B is read from a copy
//! ```

use super::schedules::Commands;
use super::{Check, Scope, formats};
use crate::schedule::stage::{Staged, filled, refused};
use fiberloom_core::algebra::Mode;
use fiberloom_core::format::Format;
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::free::free_names;
use fiberloom_core::notation::syntax::{self, Access, Ident};
use fiberloom_core::notation::typed::{
    self, Expr, Kind, Role, SizeId, Stage, Statement, TensorCommand, TensorId, VarId,
};

/// What the commands of a schedule have made so far.
pub(super) struct Made {
    /// The statement's left side and right side, with what is staged.
    statement: Statement,
    staged: Staged,
    /// Its temporaries.
    tensors: Vec<TensorId>,
    copies: Vec<(TensorId, Format)>,
}

impl Made {
    /// Of a statement, nothing.
    pub fn of(statement: &Statement) -> Made {
        let (statement, staged) = (statement.clone(), Staged::new(&statement.rhs, Mode::Algebraic));
        Made { statement, staged, tensors: vec![], copies: vec![] }
    }
}

impl Commands<'_> {
    /// Ends the schedule: its temporaries have names in it alone.
    pub fn end(self) {
        for tensor in self.made.tensors {
            let name = &self.c.out.tensors[tensor.index()].name;
            self.c.tensors.remove(name);
            self.c.open.remove(name);
        }
    }

    /// `stage(expr, into)`
    pub fn stage(&mut self, expr: &syntax::Expr, into: &Access) -> Option<TensorCommand> {
        let (vars, value) = (self.c.out.vars.len(), self.value(expr)?);
        if !matches!(value.kind, Kind::Reduce { .. }) {
            let d = Diagnostic::new(expr.span, "`stage` makes a sum a temporary, and this is none");
            self.c.error(d.help("write precompute(…, i -> iw, W) for what is no sum"));
            return None;
        }
        let free = value.free();
        let under: Option<Vec<VarId>> = into.indices.iter().map(|index| self.under(index, &free, into)).collect();
        let under = under?;
        if under.iter().enumerate().any(|(n, v)| under[..n].contains(v)) {
            self.c.say(into.span, format!("a mode of `{}` for each variable, and one stands twice", into.tensor));
            return None;
        }
        if let Some(v) = free.iter().filter(|v| !under.contains(v)).min() {
            let name = &self.c.out.vars[v.index()].name;
            let message = format!("`{into}` has no mode for `{name}`, which is free in its value");
            let all: Vec<&str> = under.iter().chain([v]).map(|v| self.c.out.vars[v.index()].name.as_str()).collect();
            let help = format!("write {}[{}]", into.tensor, all.join(","));
            self.c.error(Diagnostic::new(into.span, message).help(help));
            return None;
        }
        self.temporary(&into.tensor, (under, vec![]), value, vars)
    }

    /// `precompute(expr, from -> to, workspace)`; `loops` has the variables of `to`.
    pub fn precompute(
        &mut self,
        (expr, from, loops): (&syntax::Expr, &[Ident], Vec<VarId>),
        workspace: &Ident,
    ) -> Option<TensorCommand> {
        let (vars, value) = (self.c.out.vars.len(), self.value(expr)?);
        let free = value.free();
        if from.len() != loops.len() {
            self.c.say(workspace.span, format!("{} variables become {}", from.len(), loops.len()));
            return None;
        }
        let mut inner = vec![];
        for name in from {
            let named = |v: &&VarId| self.c.out.vars[v.index()].name == name.name;
            let Some(v) = free.iter().find(named) else {
                let d = Diagnostic::new(name.span, format!("`{name}` is not free in what is precomputed"));
                self.c.error(d.help("name index variables that stand in the expression, and that no sum in it binds"));
                return None;
            };
            inner.push(*v);
        }
        let mut under: Vec<VarId> = free.into_iter().filter(|v| !inner.contains(v)).collect();
        under.sort();
        under.extend(&inner);
        self.temporary(workspace, (under, loops.into_iter().zip(inner).collect()), value, vars)
    }

    /// The value of a temporary, in the statement's variables.
    fn value(&mut self, expr: &syntax::Expr) -> Option<Expr> {
        let mut scope = Scope::default();
        for free in free_names(expr) {
            let name = &free.name.name;
            let known = self.own.clone().find(|v| self.c.out.vars[*v].name == *name);
            scope.vars.extend(known.map(|v| (name.clone(), VarId(v as u32))));
        }
        let value = self.c.expr(&scope, expr, None)?;
        let value = self.as_it_occurs(&scope, expr, value);
        self.c.nesting(&value, 0)?;
        if let Some(d) = refused(&value) {
            self.c.error(d);
            return None;
        }
        Some(value)
    }

    /// A value with its literals in the type in which it occurs: where nothing but literals says a type, what stands around says it.
    fn as_it_occurs(&mut self, scope: &Scope, expr: &syntax::Expr, value: Expr) -> Expr {
        let mut types = vec![];
        self.made.staged.parts().for_each(|e| e.walk(&mut |e| types.push(e.ty)));
        types.sort();
        types.dedup();
        let occurs = |c: &Check, made: &Made, e: &Expr| made.staged.has(e, &c.out.vars, Mode::Algebraic);
        if occurs(self.c, &self.made, &value) {
            return value;
        }
        for ty in types.into_iter().filter(|ty| *ty != value.ty) {
            let (errors, vars, sizes) = (self.c.errors.len(), self.c.out.vars.len(), self.c.out.sizes.len());
            let other = self.c.expr(scope, expr, Some(ty)).filter(|e| occurs(self.c, &self.made, e));
            self.c.errors.truncate(errors);
            if let Some(other) = other {
                return other;
            }
            self.c.out.vars.truncate(vars);
            self.c.out.sizes.truncate(sizes);
        }
        value
    }

    /// A mode of a temporary: one of the variables that are free in its value.
    fn under(&mut self, index: &syntax::Index, free: &rustc_hash::FxHashSet<VarId>, into: &Access) -> Option<VarId> {
        let name = index.variable();
        let named = |v: &&VarId| name.is_some_and(|name| self.c.out.vars[v.index()].name == name.name);
        let found = free.iter().find(named).copied();
        if found.is_none() {
            let message = match name {
                Some(name) => format!("`{name}` is not free in the value of `{}`", into.tensor),
                None => format!("a mode of `{}` is an index variable, and `{index}` is none", into.tensor),
            };
            let mut names: Vec<&str> = free.iter().map(|v| self.c.out.vars[v.index()].name.as_str()).collect();
            names.sort();
            let help = format!("write {}[{}]: one variable for each that is free", into.tensor, names.join(","));
            self.c.error(Diagnostic::new(name.map_or(into.span, |name| name.span), message).help(help));
        }
        found
    }

    /// A new temporary of that value; variables from `vars` on are the value's own.
    fn temporary(
        &mut self,
        name: &Ident,
        (vars, loops): (Vec<VarId>, Vec<(VarId, VarId)>),
        expr: Expr,
        own: usize,
    ) -> Option<TensorCommand> {
        let taken = self.c.tensors.contains_key(&name.name)
            || self.c.sizes.contains_key(&name.name)
            || self.c.functions.contains_key(&name.name);
        if taken {
            let d = Diagnostic::new(name.span, format!("`{name}` exists already: a temporary has a name of its own"));
            self.c.error(d.help("choose a new name"));
            return None;
        }
        let (ty, fill) = (expr.ty, filled(&expr));
        let (span, at) = (name.span, expr.span);
        let tensor = self.c.add_tensor(typed::Tensor {
            name: name.name.clone(),
            ty,
            sizes: vec![],
            fill,
            format: None,
            role: Role::Local,
            span,
        });
        self.c.open.insert(name.name.clone());
        self.c.defined.insert(tensor);
        let names = std::mem::take(&mut self.c.out.vars);
        self.made.tensors.push(tensor);
        let staged = self.made.staged.stage(Stage { tensor, vars, loops, expr }, &names, Mode::Algebraic);
        self.c.out.vars = names;
        let Some(stage) = staged else {
            let d = Diagnostic::new(at, format!("the value of `{name}` does not occur in the statement"));
            let help = "it is a part of the right side: a sum over some factors of a product, or factors, in any order";
            self.c.error(d.help(help));
            return None;
        };
        self.c.out.vars.truncate(own);
        let sizes = stage.vars.iter().map(|v| self.extent(&stage.expr, *v, name));
        self.c.out.tensors[tensor.index()].sizes = sizes.collect::<Option<Vec<SizeId>>>()?;
        Some(TensorCommand::Stage(stage))
    }

    /// The size of a mode that an index variable alone stands in: in a value, or in its statement.
    fn extent(&mut self, value: &Expr, v: VarId, name: &Ident) -> Option<SizeId> {
        let tensors = &self.c.out.tensors;
        let mut found = None;
        let mut look = |t: TensorId, indices: &[typed::Index]| {
            let mode = indices.iter().position(|index| index.bare() == Some(v));
            found = found.or(mode.and_then(|m| tensors[t.index()].sizes.get(m).copied()));
        };
        let made = &self.made;
        [value].into_iter().chain(made.staged.parts()).for_each(|e| {
            e.walk(&mut |e| {
                if let Kind::Access(t, indices) = &e.kind {
                    look(*t, indices);
                }
            });
        });
        look(made.statement.tensor, &made.statement.indices);
        if found.is_none() {
            let var = &self.c.out.vars[v.index()].name;
            let message =
                format!("`{name}` has a mode for `{var}`, and `{var}` stands alone in no index of the statement");
            let d = Diagnostic::new(name.span, message);
            self.c.error(d.help("the extent of a temporary's mode is that of a tensor's: stage a part without it"));
        }
        found
    }

    /// `store(temporary, format)`
    pub fn store(&mut self, name: &Ident, format: &syntax::Format) {
        let made = &self.made.tensors;
        let named = |t: &&TensorId| self.c.out.tensors[t.index()].name == name.name;
        let Some(&tensor) = made.iter().find(named) else {
            let d = Diagnostic::new(name.span, format!("`{name}` is no temporary of this schedule"));
            let names: Vec<String> = made.iter().map(|t| format!("`{}`", self.c.out.tensors[t.index()].name)).collect();
            self.c.error(d.help(match names.is_empty() {
                true => "make one first: stage(sum(…), W[i])".to_string(),
                false => format!("there is {}", names.join(", ")),
            }));
            return;
        };
        if self.c.out.tensors[tensor.index()].format.is_some() {
            self.c.say(name.span, format!("`{name}` has a format already"));
            return;
        }
        self.c.out.tensors[tensor.index()].format = self.kept(name, tensor, format);
    }

    /// `copy(tensor, format)`
    pub fn copy(&mut self, name: &Ident, format: &syntax::Format) -> Option<TensorCommand> {
        let tensor = self.known_tensor(name)?;
        let format = self.kept(name, tensor, format)?;
        let mut read = false;
        let made = &self.made;
        made.staged.parts().for_each(|e| e.reads(&mut |t| read |= t == tensor));
        if !read {
            let d = Diagnostic::new(name.span, format!("`{name}` is not read in this statement: nothing is copied"));
            self.c.error(d.help("name a tensor of the right side"));
            return None;
        }
        if matches!(self.c.out.tensors[tensor.index()].role, Role::Computed(_)) {
            let d =
                Diagnostic::new(name.span, format!("`{name}` is given by a function: nothing is stored to be copied"));
            self.c.error(d.help("assign it to a tensor in a statement before"));
            return None;
        }
        let copies = &mut self.made.copies;
        match copies.iter().find(|(other, _)| *other == tensor) {
            Some((_, other)) if *other != format => {
                let message = format!("`{name}` is copied twice, as `{other}` and as `{format}`");
                self.c.error(Diagnostic::new(name.span, message).help("a statement reads one copy: leave one out"));
                None
            }
            Some(_) => None,
            None => {
                copies.push((tensor, format.clone()));
                Some(TensorCommand::Copy(tensor, format))
            }
        }
    }

    /// A format in which what is computed can be kept.
    fn kept(&mut self, name: &Ident, tensor: TensorId, format: &syntax::Format) -> Option<Format> {
        let sizes = self.c.out.tensors[tensor.index()].sizes.clone();
        let (errors, format) = (self.c.errors.len(), formats::format(format, &sizes, &name.name, self.c)?);
        formats::takes_entries(&format, name, self.c);
        (self.c.errors.len() == errors).then_some(format)
    }
}
