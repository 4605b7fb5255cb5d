//! Lists in position maps: by value or by position, and the entries that may be left out.

use crate::choose::{Effect, Facts, condition, scope::Scope, symbol::Sym};
use crate::plan;
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::notation::concrete::{self, AccessId, Iterated, Nest};

/// The tables for the position maps of a nest.
pub fn spread_in(cx: &Facts, nest: &Nest) -> Vec<plan::Table> {
    let of = |a: AccessId| {
        let tensor = cx.program.tensor(a);
        let plain = move |l: &usize| {
            let spread = cx.program.protocol(a, *l) == Some(Iterated::Spread);
            spread && tensor.format.levels[*l].is_plain()
        };
        // Columns beside it need its positions.
        let alone = !nest.rhs.has_columns_of(a);
        let table = move |l: usize| {
            let last = alone && l + 1 == tensor.format.rank();
            let by_value = last && !tensor.fill.is_nan() && only_in_sums(&nest.rhs, a);
            plan::Table { list: (a, l), by_value, flagged: last && !by_value && is_condition(&nest.rhs, a) }
        };
        (0..tensor.format.rank()).filter(plain).map(table).collect::<Vec<_>>()
    };
    nest.rhs.accesses().into_iter().flat_map(of).collect()
}

/// Conditions on an entry of an access's last level, decided by loops around, without which a body has no effect at the entry's
/// coordinate, provided that it has none without the entry. An entry that violates one may be left out of the position map.
pub fn needed_of(cx: &Facts, scope: &Scope, a: AccessId, body: &concrete::Expr, effect: Effect) -> Vec<concrete::Expr> {
    let without = cx.simplify.replace(body, &|x| (x == a).then(|| cx.fill(x)));
    let last = scope.fiber(a).depth + 1 == cx.program.tensor(a).format.rank();
    if !last || !cx.is_nothing(effect, &without) {
        return vec![];
    }
    let mut open = scope.clone();
    open.descend(a, (Sym::ZERO, None), vec![]);
    let (conditions, _) = condition::all_needed(cx, &open, body, &|e| cx.is_nothing(effect, e));
    conditions.into_iter().filter(|c| c.accesses().contains(&a)).collect()
}

/// Whether a body reads an access only in conditions that read nothing else.
fn is_condition(e: &concrete::Expr, a: AccessId) -> bool {
    let of_it = |e: &concrete::Expr| e.ty() == Type::Bool && e.accesses() == [a];
    e.accesses().contains(&a) && !e.clone().settled(&|e| of_it(e).then(|| Value::bool(true))).accesses().contains(&a)
}

/// Whether an access is read only inside of sums, which need its value and not whether it has an entry.
fn only_in_sums(e: &concrete::Expr, a: AccessId) -> bool {
    match e {
        concrete::Expr::Access(b, _) => *b != a,
        concrete::Expr::Call(_, args, _) => args.iter().all(|e| only_in_sums(e, a)),
        concrete::Expr::Reduce(..) => true,
        other => !other.accesses().contains(&a),
    }
}
