//! Functions of labels as arrays: `tensor season: i64[DATE] {function}`, given by `fn season(d: i64) -> i64`.

use super::declare::{Known, Relate, stored};
use super::expression::{Made, Of, binary, call, int};
use super::scope::Scope;
use super::{Holds, calendar};
use fiberloom_core::algebra::Type;
use fiberloom_core::counted;
use fiberloom_core::format::LevelKind;
use fiberloom_core::notation::syntax::{self, Access, BinaryOp, Expr, ExprKind, Format, Ident, Index};

impl Relate {
    /// Whether a tensor is what a function gives of labels: all of its levels are `function`, a declared function or a part of a date has
    /// its name, and a mode of it has a domain.
    pub(super) fn is_given(&mut self, t: &syntax::Tensor, known: &Known) -> bool {
        let name = &t.name.name;
        let levels = match &t.format {
            Some(Format::Levels { levels, .. }) => levels.as_slice(),
            _ => return false,
        };
        let part = calendar::PARTS.iter().any(|(word, _)| word == name);
        let all = levels.iter().all(|l| LevelKind::from_name(&l.name).is_some_and(LevelKind::is_called));
        let labelled = known.modes.iter().any(Option::is_some);
        if !all || !labelled || self.is_result(name) || !(part || self.functions.contains_key(name)) {
            return false;
        }
        let rank = if part { 1 } else { known.modes.len() };
        let types = (vec![Type::I64; rank], known.holds.map_or(Type::I64, stored));
        let has = self.functions.get(name).cloned().unwrap_or((vec![Type::I64], Type::I64));
        if has != types || known.modes.len() != rank {
            let help = "a function of labels takes an i64 for each mode, and gives the tensor's type";
            let message = format!("`{name}` is not given by the function `{name}`: its types are others");
            self.say(t.name.span, message, help);
        }
        true
    }

    /// A read of what a function gives of labels: its fill where one of them is none.
    pub(super) fn given(&mut self, scope: &Scope, a: &Access, known: &Known) -> Option<Made> {
        let span = a.span;
        if a.indices.len() != known.modes.len() {
            let modes = counted(known.modes.len(), "mode", "modes");
            let given = counted(a.indices.len(), "index", "indices");
            self.say(span, format!("`{}` has {modes}, and {given} stand here", a.tensor), "give an index for each");
            return None;
        }
        let (mut labels, mut stands) = (Vec::new(), Vec::new());
        for (index, over) in a.indices.iter().zip(&known.modes) {
            let (index, at) = (self.coordinate_of(index, &a.tensor)?, index.span());
            let made = self.expr(scope, &index)?;
            match (&made.of, over) {
                (Of::Holds(Holds::Domain(d)), Some(over)) if d == over => {}
                (Of::Holds(Holds::Domain(d)), over) => {
                    self.foreign(Some(*d), *over, a, at);
                    return None;
                }
                (_, Some(over)) => {
                    self.foreign(None, Some(*over), a, at);
                    return None;
                }
                (_, None) => {}
            }
            if made.none {
                stands.push(binary(BinaryOp::Ge, made.expr.clone(), int(0, at)));
            }
            labels.push(self.number(made, at)?);
        }
        let name = &a.tensor;
        let value = match calendar::PARTS.iter().position(|(word, _)| *word == name.name) {
            Some(part) if !self.functions.contains_key(&name.name) => self.part_of_date(part, name, labels, span)?.expr,
            _ => call(&name.name, labels.into_iter().map(|l| l.expr).collect(), span),
        };
        let all = stands.into_iter().reduce(|a, b| binary(BinaryOp::AndAlso, a, b));
        let kind = match all {
            Some(all) => {
                let fill = Expr { kind: ExprKind::Literal(known.fill.clone()), span };
                ExprKind::If(Box::new(all), Box::new(value), Box::new(fill))
            }
            None => value.kind,
        };
        let holds = known.holds.unwrap_or(Holds::Plain(Type::I64));
        Some(Made { expr: Expr { kind, span }, of: Of::Holds(holds), none: false })
    }

    /// What an index that is neither a slice nor a sum is, as an expression.
    fn coordinate_of(&mut self, index: &Index, of: &Ident) -> Option<Expr> {
        let span = index.span();
        let kind = match (index.variable(), index) {
            (Some(v), _) => ExprKind::Name(v.clone()),
            (None, Index::Access(a)) => ExprKind::Access(a.clone()),
            (None, Index::Computed { of, .. }) => of.kind.clone(),
            _ => {
                let help = "an index variable, a column, or what a function computes";
                self.say(span, format!("`{of}` is a function of labels, and `{index}` is none"), help);
                return None;
            }
        };
        Some(Expr { kind, span })
    }
}
