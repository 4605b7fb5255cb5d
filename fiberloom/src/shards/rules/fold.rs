//! Folds over a split variable: with which functions, and where they stand.

use super::{Fold, Rules, Share};
use fiberloom_core::algebra::{self, Mode, Type, Value};
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::typed::{Expr, Fun, Kind, Property, Role, Statement, VarId};

/// What may be assumed of a function that folds.
struct Known {
    associative: bool,
    commutative: bool,
    /// What nothing folds to.
    identity: Option<Value>,
    /// Whether that changes no value, on either side.
    is_neutral: bool,
}

impl Rules<'_> {
    /// Finds the tensors that are folded along a split.
    pub(super) fn fold(&self, split: usize, shares: &mut [Share]) -> Result<(), Diagnostic> {
        for s in &self.program.statements {
            let is_over = s.vars.iter().chain(&s.folded).any(|v| self.has(v)) && self.modes(&s.indices).is_empty();
            let reduced = self.reduction(&s.rhs);
            if !is_over && reduced.is_none() {
                continue;
            }
            let (fun, is_first) = self.outermost_of(s, is_over)?;
            let share = &mut shares[s.tensor.index()];
            let is_alone = share.fold.is_none();
            let identity = self.folds(s, fun, is_first && is_alone)?;
            let fold = share.fold.get_or_insert_with(|| Fold {
                fun,
                identity,
                along: vec![],
                accumulates: s.fold.is_some() && self.program.tensors[s.tensor.index()].fill.is_some(),
            });
            fold.along.push(split);
        }
        Ok(())
    }

    /// The function of a statement's outermost fold over the variable, and whether that is the first one it is over.
    fn outermost_of(&self, s: &Statement, is_over: bool) -> Result<(Fun, bool), Diagnostic> {
        if let Some(again) = self.program.statements.iter().find(|t| t.tensor == s.tensor && !std::ptr::eq(*t, s)) {
            let name = self.tensor(s.tensor);
            let what = format!("`{name}` is folded over it, and another statement defines `{name}` too");
            let help = format!("define `{name}` by one statement");
            return Err(self.refuse(s.span, what, help).label(again.span, "the other one"));
        }
        if self.program.tensors[s.tensor.index()].role == Role::Local {
            let what = format!("the local `{}` is folded over it, and ends with its box", self.tensor(s.tensor));
            return Err(self.refuse(s.span, what, "define it outside of `where`, and read it in a program behind"));
        }
        if s.is_part() || !self.modes(&s.indices).is_empty() {
            let what = format!("a part of `{}` is folded over it", self.tensor(s.tensor));
            return Err(self.refuse(
                s.span,
                what,
                "fold into a tensor of its own, and define the part in a program behind",
            ));
        }
        let Some(fun) = s.fold else { return self.outermost(&s.rhs, None) };
        let bare: Vec<VarId> = s.indices.iter().filter_map(|i| i.bare()).collect();
        let others: Vec<&VarId> = s.vars.iter().chain(&s.folded).filter(|v| !bare.contains(v)).collect();
        if self.reduction(&s.rhs).is_none() {
            return Ok((fun, others.first().is_some_and(|v| self.has(v))));
        }
        let (fun, is_first) = self.outermost(&s.rhs, Some(fun))?;
        Ok((fun, is_first && others.is_empty() && !is_over))
    }

    /// The function of the outermost fold of an expression, which is over the variable; it stands below calls and folds of the
    /// same function alone.
    fn outermost(&self, e: &Expr, within: Option<Fun>) -> Result<(Fun, bool), Diagnostic> {
        let Some(own) = self.reduction(e) else {
            let what = "this is not folded over it, and each box would fold it in again";
            return Err(self.refuse(
                e.span,
                what,
                "define it by a statement of its own, and fold both in a program behind",
            ));
        };
        let wanted = within.unwrap_or(own);
        match &e.kind {
            Kind::Reduce { vars, start: Some(start), .. } if vars.iter().any(|v| self.has(v)) => {
                let what = "the fold over it has a start, with which each box would begin";
                Err(self.refuse(start.span, what, "fold without it, and fold the start in in a program behind"))
            }
            Kind::Reduce { fun, vars, body, start: None } if *fun == wanted => {
                match vars.iter().position(|v| self.has(v)) {
                    Some(at) => Ok((*fun, at == 0)),
                    None => self.outermost(body, Some(wanted)).map(|(fun, _)| (fun, false)),
                }
            }
            Kind::Call(fun, args) if *fun == wanted => {
                args.iter().try_for_each(|part| self.outermost(part, Some(wanted)).map(|_| ()))?;
                Ok((wanted, false))
            }
            kind => {
                let above = match kind {
                    Kind::Reduce { start: Some(_), .. } => "a fold with a start".to_string(),
                    Kind::Reduce { fun, .. } if *fun == own => format!("`{}`", self.called(wanted)),
                    Kind::Call(fun, _) | Kind::Reduce { fun, .. } => format!("`{}`", self.called(*fun)),
                    _ => "a shape operator".to_string(),
                };
                let what = format!("the fold over it with `{}` stands below {above}", self.called(own));
                let help = "let the fold be the whole right side; what is applied to it belongs into a program behind";
                Err(self.refuse(e.span, what, help))
            }
        }
    }

    /// The function of the first fold over the variable in an expression.
    fn reduction(&self, e: &Expr) -> Option<Fun> {
        let mut found = None;
        e.walk(&mut |e| {
            if let Kind::Reduce { fun, vars, .. } = &e.kind
                && vars.iter().any(|v| self.has(v))
            {
                found.get_or_insert(*fun);
            }
        });
        found
    }

    /// Whether boxes of a statement may be folded with a function, in ascending order: what nothing folds to.
    fn folds(&self, s: &Statement, fun: Fun, is_first: bool) -> Result<Value, Diagnostic> {
        let tensor = &self.program.tensors[s.tensor.index()];
        let (name, ty) = (self.called(fun), tensor.ty);
        let mode = if (self.about)(s.tensor) { Mode::Algebraic } else { self.mode };
        let Known { associative, commutative, identity, is_neutral } = self.known(fun, ty, mode);
        let free = "split a variable that is not folded over";
        if !associative {
            let (why, help) = match mode {
                Mode::Strict if ty.is_float() => (
                    format!("in strict mode `{name}` folds `{ty}` in order"),
                    format!("{free}, or choose algebraic mode"),
                ),
                _ => (format!("`{name}` is not associative"), free.to_string()),
            };
            return Err(self.refuse(s.span, why, help));
        }
        let Some(identity) = identity else {
            let help = format!("declare one: `where identity(…)`; or {free}");
            return Err(self.refuse(s.span, format!("`{name}` has no identity, to which an empty box folds"), help));
        };
        if !is_first && !commutative {
            let what =
                format!("`{name}` is not commutative, and `{}` is not the first that it folds over alone", self.name);
            return Err(self.refuse(s.span, what, "fold over it first and split no other variable of that fold"));
        }
        let begins = s.fold.is_some() && tensor.fill.is_some_and(|fill| fill != identity || (self.given)(s.tensor));
        if begins && !is_neutral {
            let what = format!("`{name}` of {identity} and what `{}` held is not what it held", tensor.name);
            return Err(self.refuse(s.span, what, "fold into a tensor of its own, and both in a program behind"));
        }
        Ok(identity)
    }

    fn known(&self, fun: Fun, ty: Type, mode: Mode) -> Known {
        let identity = self.program.identity(fun, ty);
        let id = match fun {
            Fun::Op(op) => {
                let all = algebra::properties(op, ty, mode);
                let at = |n: usize| identity.is_some_and(|value| all.identities.contains(&(n, value)));
                let is_neutral = at(0) && at(1);
                return Known { associative: all.associative, commutative: all.commutative, identity, is_neutral };
            }
            Fun::User(id) => id,
        };
        let function = &self.program.functions[id.index()];
        // Declared properties hold of floats in algebraic mode alone.
        let holds = mode == Mode::Algebraic || !function.locals.iter().any(|(_, ty)| ty.is_float());
        let declared = |wanted: &Property| holds && function.properties.iter().any(|(p, _)| p == wanted);
        let commutative = declared(&Property::Commutative);
        let neutral = |at: Option<usize>| identity.is_some_and(|value| declared(&Property::Identity(value, at)));
        let [either, first, second] = [None, Some(0), Some(1)].map(neutral);
        let is_neutral = either || first && second || commutative && (first || second);
        let identity = identity.filter(|_| is_neutral);
        Known { associative: declared(&Property::Associative), commutative, identity, is_neutral }
    }
}
