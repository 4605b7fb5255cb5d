//! Statements: left sides, the einsum short form, where-blocks.
//!
//! ```text
//!   y[i] = A[i,j] * x[j] + b[i]      ─▶      y[i] = sum(j: A[i,j] * x[j]) + b[i]
//! ```
//!
//! The right side is a tree of `+` and `-` over terms; a variable that is absent on the left is summed over each term
//! in which it is free. The sums of one statement share their variables: `j` has one extent wherever it stands.

use super::Scope;
use super::schedules::commands;
use super::steps::Statements;
use fiberloom_core::algebra::{COUNT, Op, Type};
use fiberloom_core::notation::diagnostic::{Diagnostic, Span};
use fiberloom_core::notation::free::{free_names, index_variables};
use fiberloom_core::notation::syntax::{self, Assign, BinaryOp, ExprKind, Ident};
use fiberloom_core::notation::typed::{self, Cut, Expr, FnId, Fun, Kind, Line, LocalId, Map, Role, TensorId, VarId};

impl Statements<'_> {
    /// A statement, after those of its where-block. Whether it is right.
    pub(super) fn statement(&mut self, s: &syntax::Statement, local: bool) -> bool {
        let hidden = self.open_block(&s.locals);
        for inner in &s.locals {
            self.statement(inner, true);
        }
        let first = self.c.out.vars.len();
        let mut made = self.define(s, local);
        self.own = first..self.c.out.vars.len();
        if let (Some(schedule), Some(made)) = (&s.schedule, &mut made) {
            made.commands = commands(schedule, made, self.own.clone(), self.c);
        }
        for (name, before) in hidden {
            self.c.open.remove(&name);
            match before {
                Some(before) => self.c.tensors.insert(name, before),
                None => self.c.tensors.remove(&name),
            };
        }
        if let Some(made) = made {
            self.c.defined.insert(made.tensor);
            self.c.out.statements.push(made);
            return true;
        }
        // It is complained of already; those that read it are not.
        match self.c.tensors.get(&s.lhs.tensor.name) {
            Some(&tensor) => drop(self.c.defined.insert(tensor)),
            None => drop(self.c.unmade.insert(s.lhs.tensor.name.clone())),
        }
        false
    }

    /// The tensors of a `where` block, which are its own: names that are declared mean a tensor like that, others one that
    /// its first statement makes. Returns what the names meant before.
    fn open_block(&mut self, block: &[syntax::Statement]) -> Vec<(String, Option<TensorId>)> {
        let mut hidden = Vec::new();
        for Ident { name, span } in block.iter().map(|inner| &inner.lhs.tensor) {
            if hidden.iter().any(|(own, _)| own == name) {
                continue;
            }
            if let Some(&first) = self.results.get(name) {
                let message = format!("`{name}` is a result of the program, and a local of this `where` block");
                let d = Diagnostic::new(*span, message).label(first, "defined here");
                self.c.error(d.help("give one of the two another name"));
                continue;
            }
            if !self.c.open.insert(name.clone()) {
                let message = format!("`{name}` is a local of a `where` block around this one");
                self.c.error(Diagnostic::new(*span, message).help("give one of the two another name"));
                continue;
            }
            let declared = self.c.tensors.get(name).copied();
            // The declared one itself is the first block's.
            if let Some(like) = declared.filter(|like| self.c.defined.contains(like)) {
                let tensor = self.c.out.tensors[like.index()].clone();
                self.c.add_tensor(tensor);
            }
            hidden.push((name.clone(), declared));
        }
        hidden
    }

    fn define(&mut self, s: &syntax::Statement, local: bool) -> Option<typed::Statement> {
        if let Assign::Fold(name) = &s.op
            && name.name == COUNT
        {
            let d = Diagnostic::new(name.span, "`count` is no function that folds values");
            self.c.error(d.help("it stands in expressions: write `+= count(i: …)`"));
            return None;
        }
        let mut scope = Scope::default();
        let mut vars = Vec::new();
        let (left, absent) = index_variables(s, |name| self.c.sizes.contains_key(name));
        for name in left {
            let var = self.c.fresh_var(name);
            scope.vars.insert(name.name.clone(), var);
            vars.push(var);
        }
        let declared = self.c.tensors.get(&s.lhs.tensor.name).copied();
        let want = declared.map(|t| self.c.out.tensors[t.index()].ty);
        let (rhs, folded) = self.right(s, absent, &mut scope, want);
        let rhs = rhs?;
        self.c.nesting(&rhs, 0)?;
        if let Some(at) = rhs.may_miss() {
            let d =
                Diagnostic::new(at, "an index under `~` may leave the array, and what is missing there has no value");
            self.c.error(d.help("replace it: coalesce(…, 0)"));
            return None;
        }
        let tensor = declared.unwrap_or_else(|| self.undeclared(&s.lhs, rhs.ty, local));
        self.c.rank(tensor, &s.lhs)?;
        let mut cuts = Vec::new();
        let indices = s.lhs.indices.iter().enumerate().map(|(mode, i)| self.left(&scope, mode, i, &mut cuts));
        let mut indices = indices.collect::<Option<Vec<_>>>()?;
        let mut rhs = rhs;
        let sets_element = s.op == Assign::Set && is_element(&indices);
        if s.op == Assign::Set && !sets_element {
            rhs = self.off_diagonal(tensor, &mut indices, &mut vars, rhs);
            self.part(tensor, &indices, s)?;
        }
        if let Some(i) = indices.iter().find(|i| i.permit && !matches!(i.map, Map::Computed(_))) {
            self.c.say(i.span, "`~` on a left side: a result has no place outside its extent");
            return None;
        }
        let fold = match &s.op {
            Assign::Set if sets_element => Some(self.latest(rhs.ty, s.lhs.span)),
            Assign::Set => None,
            Assign::Add => Some(Fun::Op(self.added(rhs.ty, s.span)?)),
            Assign::Fold(name) => Some(self.c.fold(name, rhs.ty, false)?),
        };
        if let Some(fun) = fold {
            self.begins(tensor, fun, &s.lhs)?;
        }
        let (schedule, span) = (s.schedule.clone(), s.span);
        Some(typed::Statement {
            tensor,
            indices,
            cuts,
            fold,
            rhs,
            vars,
            folded,
            schedule,
            commands: vec![],
            format: None,
            span,
        })
    }

    /// What accumulates has something to begin with: a declared fill, an earlier statement's values, or the function's identity.
    fn begins(&mut self, tensor: TensorId, fun: Fun, lhs: &syntax::Access) -> Option<()> {
        let typed::Tensor { name, ty, fill, .. } = &self.c.out.tensors[tensor.index()];
        let begins = fill.is_some() || self.c.defined.contains(&tensor) || self.c.out.identity(fun, *ty).is_some();
        if begins {
            return Some(());
        }
        let message =
            format!("nothing says what `{name}` begins with: the function that it accumulates with has no identity");
        let help = format!("declare `{name}`: it begins with its fill");
        self.c.error(Diagnostic::new(lhs.span, message).help(help));
        None
    }

    fn added(&mut self, ty: Type, span: Span) -> Option<Op> {
        let fits = Op::Add.takes(ty);
        if !fits {
            self.c.say(span, format!("`+=` does not add values of type {ty}"));
        }
        fits.then_some(Op::Add)
    }

    /// An index of a left side; a slice is where its variable is, and says how far that goes.
    fn left(&mut self, scope: &Scope, mode: usize, index: &syntax::Index, cuts: &mut Vec<Cut>) -> Option<typed::Index> {
        let syntax::Index::Slice { var, start, end, step, span } = index else { return self.c.index(scope, index) };
        let (start, end, step) = self.c.bounds(scope, (start.as_ref(), end.as_ref(), *step), *span)?;
        let var = *scope.vars.get(&var.name)?;
        let begin = if start.terms.is_empty() { Map::Const(start.constant) } else { Map::Bound(start.clone()) };
        let along = if step == 1 { Map::Var(var) } else { Map::Mul(step as i64, Box::new(Map::Var(var))) };
        cuts.push(Cut { mode, var, start, end, step, span: *span });
        Some(typed::Index { permit: false, map: Map::Add(Box::new(along), Box::new(begin)), span: *span })
    }

    /// `R[i,i] = e` is a part, the diagonal: it becomes `R[i,j] = if i == j then e else R[i,j]`, where both modes have one
    /// size.
    fn off_diagonal(
        &mut self,
        tensor: TensorId,
        indices: &mut [typed::Index],
        vars: &mut Vec<VarId>,
        mut rhs: Expr,
    ) -> Expr {
        let all = indices.iter().map(typed::Index::bare).collect::<Option<Vec<VarId>>>();
        let Some(all) = all.filter(|all| (1..all.len()).any(|n| all[..n].contains(&all[n]))) else { return rhs };
        let sizes = self.c.out.tensors[tensor.index()].sizes.clone();
        let first = |n: usize| all.iter().position(|v| *v == all[n]).unwrap_or(n);
        let one_size = |a: usize, b: usize| {
            let value = |n: usize| self.c.out.sizes[sizes[n].index()].value;
            sizes[a] == sizes[b] || value(a).is_some() && value(a) == value(b)
        };
        if !(0..all.len()).all(|n| one_size(n, first(n))) {
            return rhs;
        }
        let (ty, span) = (rhs.ty, rhs.span);
        let mut same = vec![];
        for n in (0..all.len()).filter(|n| first(*n) < *n) {
            let name = self.c.out.vars[all[n].index()].clone();
            let other = self.c.fresh_var(&Ident { name: format!("{}_{n}", name.name), span: name.span });
            vars.push(other);
            indices[n].map = Map::Var(other);
            let [a, b] = [all[n], other].map(|v| Expr { kind: Kind::Index(v), ty: Type::I64, span });
            same.push(Expr { kind: Kind::Call(Fun::Op(Op::Eq), vec![a, b]), ty: Type::Bool, span });
        }
        let was = Expr { kind: Kind::Access(tensor, indices.to_vec()), ty, span };
        for condition in same.into_iter().rev() {
            rhs = Expr { kind: Kind::Call(Fun::Op(Op::Select), vec![condition, rhs, was.clone()]), ty, span };
        }
        rhs
    }

    /// The function whose value is the second of its arguments: what one element is set with.
    fn latest(&mut self, ty: Type, span: Span) -> Fun {
        let (mut name, functions) = (format!("latest_{ty}"), &self.c.out.functions);
        let known = |name: &str| functions.iter().position(|f| f.name == name);
        while known(&name).is_some_and(|n| self.c.functions.contains_key(&functions[n].name)) {
            name.push('_');
        }
        if let Some(n) = known(&name) {
            return Fun::User(FnId(n as u32));
        }
        let locals = ["before", "value"].map(|name| (name.to_string(), ty)).to_vec();
        let value = Expr { kind: Kind::Local(LocalId(1)), ty, span };
        let properties = vec![(typed::Property::Associative, span)];
        let function = typed::Function { name, locals, arity: 2, result: ty, stmts: vec![], value, properties, span };
        self.c.out.functions.push(function);
        self.c.nesting.push(1);
        Fun::User(FnId(self.c.out.functions.len() as u32 - 1))
    }

    /// A left side of `=`: the whole of a tensor, each of its elements once, or a part of one that is there before.
    fn part(&mut self, tensor: TensorId, indices: &[typed::Index], s: &syntax::Statement) -> Option<()> {
        let lhs = &s.lhs;
        let mut seen = Vec::new();
        for index in indices {
            let line = index.line().filter(|line| line.var.is_none_or(|(v, _)| !seen.contains(&v)));
            let Some(Line { var, .. }) = line else {
                let message = format!("`=` defines each element of `{}` once, and this names some again", lhs.tensor);
                let d = Diagnostic::new(index.span, message).label(lhs.span, "here");
                let what = "distinct index variables define the whole, `i + 2`, `2*i`, `i(2:4)` and coordinates a part";
                let meant = format!("{lhs} += {}", s.rhs);
                let meant = if meant.len() > 80 { format!("{lhs} += …") } else { meant };
                self.c.error(
                    d.help(format!("{what}; where several values meet, say how they are joined: `{meant}`, `max=`")),
                );
                return None;
            };
            seen.extend(var.map(|(v, _)| v));
        }
        let declared = self.c.out.tensors[tensor.index()].fill.is_some();
        let local = self.c.out.tensors[tensor.index()].role == Role::Local;
        let there = self.c.defined.contains(&tensor) || declared && !local;
        if indices.iter().all(|i| i.bare().is_some()) || there {
            return Some(());
        }
        let message = format!("a part of `{}` is defined, and nothing says what the rest is", lhs.tensor);
        let help = match local {
            true => format!("define the whole before: `{}[…] = 0`", lhs.tensor),
            false => format!("define the whole before, or declare `{}`: then it is given", lhs.tensor),
        };
        self.c.error(Diagnostic::new(lhs.span, message).help(help));
        None
    }

    fn undeclared(&mut self, lhs: &syntax::Access, ty: Type, local: bool) -> TensorId {
        let sizes = lhs.indices.iter().map(|_| self.c.fresh_size(None, None, lhs.span)).collect();
        let role = if local { Role::Local } else { Role::Result };
        let name = lhs.tensor.name.clone();
        self.c.add_tensor(typed::Tensor { name, ty, sizes, fill: None, format: None, role, span: lhs.tensor.span })
    }

    /// The right side, in which these index variables stand, with its sums, and the variables that an accumulating assignment
    /// folds over.
    fn right(
        &mut self,
        s: &syntax::Statement,
        indexing: Vec<&Ident>,
        scope: &mut Scope,
        want: Option<Type>,
    ) -> (Option<Expr>, Vec<VarId>) {
        let absent: Vec<&Ident> = indexing.into_iter().filter(|n| !scope.vars.contains_key(&n.name)).collect();
        let mut inner = scope.clone();
        let mut made: Vec<(String, VarId)> = Vec::new();
        for name in absent {
            let var = self.c.fresh_var(name);
            inner.vars.insert(name.name.clone(), var);
            made.push((name.name.clone(), var));
        }
        match &s.op {
            Assign::Fold(_) => {
                let rhs = self.c.expr(&inner, &s.rhs, want);
                *scope = inner;
                (rhs, made.into_iter().map(|(_, v)| v).collect())
            }
            _ => (self.terms(&inner, &s.rhs, &made, want), Vec::new()),
        }
    }

    fn terms(
        &mut self,
        scope: &Scope,
        e: &syntax::Expr,
        absent: &[(String, VarId)],
        want: Option<Type>,
    ) -> Option<Expr> {
        let sums = matches!(&e.kind, ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, ..)) && !absent.is_empty();
        // Types first, as if there were no sums: a literal term takes the other's type.
        let want = if sums { Some(self.type_of(scope, e, want)?) } else { want };
        self.term(scope, e, absent, want)
    }

    /// A tree of terms, all of them of the wanted type if it has more than one.
    fn term(
        &mut self,
        scope: &Scope,
        e: &syntax::Expr,
        absent: &[(String, VarId)],
        want: Option<Type>,
    ) -> Option<Expr> {
        if let (ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b), false) = (&e.kind, absent.is_empty()) {
            let (a, b) = (self.term(scope, a, absent, want), self.term(scope, b, absent, want));
            let op = if *op == BinaryOp::Add { Op::Add } else { Op::Sub };
            return self.c.apply(Fun::Op(op), vec![a?, b?], e.span);
        }
        let free: Vec<String> = free_names(e).into_iter().map(|n| n.name.name.clone()).collect();
        let own: Vec<VarId> = absent.iter().filter(|(n, _)| free.contains(n)).map(|(_, v)| *v).collect();
        let body = self.c.expr(scope, e, want)?;
        if own.is_empty() {
            return Some(body);
        }
        let ty = body.ty;
        if !Op::Add.takes(ty) {
            self.c.say(e.span, format!("values of type {ty} are not summed"));
            return None;
        }
        let kind = Kind::Reduce { fun: Fun::Op(Op::Add), vars: own, body: Box::new(body), start: None };
        Some(Expr { kind, ty, span: e.span })
    }

    /// The type of an expression, its errors reported once.
    fn type_of(&mut self, scope: &Scope, e: &syntax::Expr, want: Option<Type>) -> Option<Type> {
        let (errors, vars, sizes) = (self.c.errors.len(), self.c.out.vars.len(), self.c.out.sizes.len());
        let ty = self.c.expr(scope, e, want).map(|e| e.ty);
        self.c.out.vars.truncate(vars);
        self.c.out.sizes.truncate(sizes);
        if ty.is_some() {
            self.c.errors.truncate(errors);
        }
        ty
    }
}

/// Whether each place of a left side is one, at a coordinate that is read, beside distinct index variables: `x[k[]]`, `A[k[], j]`.
fn is_element(indices: &[typed::Index]) -> bool {
    let reads = |index: &&typed::Index| match &index.map {
        Map::Gather(_, inner) => inner.iter().all(|i| matches!(i.map, Map::Const(_))),
        Map::Computed(e) => {
            let mut fixed = true;
            e.walk(&mut |e| {
                fixed &= match &e.kind {
                    Kind::Index(_) => false,
                    Kind::Access(_, inner) => inner.iter().all(|i| matches!(i.map, Map::Const(_))),
                    _ => true,
                }
            });
            fixed
        }
        _ => false,
    };
    let others: Vec<Option<VarId>> = indices.iter().filter(|i| !reads(i)).map(typed::Index::bare).collect();
    others.len() < indices.len() && others.iter().enumerate().all(|(n, v)| v.is_some() && !others[..n].contains(v))
}
