//! Splits loops whose coordinate is divided by a number: what is read under the quotient is then walked instead of searched in each
//! iteration.
//!
//! ```text
//!  R[i] = v[i/2]        ─▶  split(i -> i0, i1, 2)        R[2*i0 + i1] = v[i0]
//! ```
//!
//! Applies where nothing else is read under the loop's variable, and the statement has no schedule.

use super::loops::Loops;
use fiberloom_core::algebra::Mode;
use fiberloom_core::notation::typed::{
    Command, CommandKind, Index, Kind, Map, Parts, Program, Statement, TensorId, Var, VarId,
};

/// The program with the splits that pay, if there are any.
pub fn divided(program: &Program, mode: Mode) -> Option<Program> {
    let statements = program.statements.iter().enumerate();
    let of = |(n, s): (usize, &Statement)| divisors(program, s, mode).into_iter().map(move |(v, by)| (n, v, by));
    let found: Vec<(usize, VarId, u64)> = statements.flat_map(of).collect();
    if found.is_empty() {
        return None;
    }
    let mut split = program.clone();
    for (n, v, by) in found {
        let Var { name, span } = program.vars[v.index()].clone();
        let [outer, inner] = ["0", "1"].map(|part| {
            let names = (0..).map(|more| format!("{name}{}{part}", "_".repeat(more)));
            let taken = |name: &String| split.vars.iter().any(|v| v.name == *name);
            let name = names.into_iter().find(|name| !taken(name) && !names_other(program, name));
            split.vars.push(Var { name: name.expect("there are more names than are taken"), span });
            VarId(split.vars.len() as u32 - 1)
        });
        let kind = CommandKind::Split { from: v, to: (outer, inner), parts: Parts::Of(by) };
        let statement = &mut split.statements[n];
        statement.commands.push(Command { kind, span: statement.span });
    }
    Some(split)
}

/// Whether a tensor or a size has this name.
fn names_other(program: &Program, name: &str) -> bool {
    let size = |size: &fiberloom_core::notation::typed::Size| size.name.as_deref() == Some(name);
    program.tensors.iter().any(|t| t.name == name) || program.sizes.iter().any(size)
}

/// The loops of a statement that pay to split, each with the divisor of its coordinate.
fn divisors(program: &Program, statement: &Statement, mode: Mode) -> Vec<(VarId, u64)> {
    let free = statement.schedule.is_none() && statement.commands.is_empty();
    if !free || statement.scatters() || statement.is_part() || has_shapes(statement) {
        return vec![];
    }
    let Ok(loops) = Loops::of(program, statement, mode) else { return vec![] };
    loops.order.iter().filter_map(|v| Some((*v, divisor(program, statement, *v)?))).collect()
}

/// Whether a shape operator stands in a statement: it binds index variables by itself.
fn has_shapes(statement: &Statement) -> bool {
    let mut found = false;
    statement.rhs.walk(&mut |e| {
        found |=
            matches!(e.kind, Kind::Collapse { .. } | Kind::Split { .. } | Kind::Concat { .. } | Kind::Slice { .. });
    });
    found
}

/// The number that divides a coordinate wherever something is read under it, if a tensor with a list is read under the quotient: the list
/// itself is over the quotient, or a copy's in another order may be.
fn divisor(program: &Program, statement: &Statement, v: VarId) -> Option<u64> {
    let (mut by, mut list, mut other) = (None, false, false);
    let mut each = |t: TensorId, indices: &[Index], written: bool| {
        for index in indices.iter().filter(|_| !written) {
            match (&index.map, index.permit) {
                (Map::Div(of, n) | Map::Mod(of, n), false) if **of == Map::Var(v) => {
                    other |= by.is_some_and(|by| by != *n);
                    by = Some(*n);
                    list |= matches!(index.map, Map::Div(..)) && has_list(program, t);
                }
                (map, _) => other |= may_mention(map, v),
            }
        }
    };
    statement.accesses(&mut each);
    by.filter(|_| list && !other).and_then(|by| u64::try_from(by).ok()).filter(|by| *by > 1)
}

/// Whether a level of a tensor is a list.
fn has_list(program: &Program, t: TensorId) -> bool {
    let format = program.tensors[t.index()].format.as_ref();
    format.is_some_and(|f| f.levels.iter().any(|kind| kind.is_list()))
}

/// Whether an index may depend on a variable.
fn may_mention(map: &Map, v: VarId) -> bool {
    match map {
        Map::Var(u) => *u == v,
        Map::Add(a, b) => may_mention(a, v) || may_mention(b, v),
        Map::Mul(_, a) | Map::Div(a, _) | Map::Mod(a, _) => may_mention(a, v),
        Map::Const(_) | Map::Bound(_) => false,
        // The tensor that a gather reads is an access of its own.
        Map::Gather(..) => false,
        Map::Computed(_) => true,
    }
}
