//! What programs may be made of: asked of the compiler, so that nothing here goes stale.
//!
//! ```text
//!  every Op × Type ──────┐  the smallest program with it   ┌─ taken: calls, folds, levels of operands and of results
//!  every reduction × Type├──────── check, lower ──────────▶┤
//!  every LevelKind ──────┘                                 └─ refused: with the compiler's own words
//! ```

use fiberloom_core::algebra::{Op, Type, result_type, subject};
use fiberloom_core::format::LevelKind;
use fiberloom_core::notation;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A function on arguments of its types.
#[derive(Clone, Debug)]
pub struct Call {
    /// The function.
    pub op: Op,
    /// The type that it is asked for: see [`subject`].
    pub ty: Type,
    /// The arguments' types.
    pub args: Vec<Type>,
    /// The type of what it gives.
    pub result: Type,
}

/// What is legal, and why the rest is not.
#[derive(Debug, Default)]
pub struct Legal {
    /// Functions with the types that they take.
    pub calls: Vec<Call>,
    /// Reductions with the types that they fold.
    pub folds: Vec<(&'static str, Type)>,
    /// Levels of operands.
    pub operands: Vec<LevelKind>,
    /// Levels of results.
    pub results: Vec<LevelKind>,
    /// What is refused: what it is, for which types, and the first message.
    pub refused: BTreeMap<String, (Vec<&'static str>, String)>,
}

/// Computed once.
pub static LEGAL: LazyLock<Legal> = LazyLock::new(Legal::new);

impl Legal {
    fn new() -> Legal {
        let mut legal = Legal::default();
        for op in Op::all() {
            Type::ALL.into_iter().for_each(|ty| legal.call(op, ty));
        }
        let further = Op::callable().filter(|(_, op)| op.arity() == Some(2)).map(|(name, _)| name);
        let mut names: Vec<&str> = Op::reductions().map(|(name, _)| name).collect();
        names.extend(further.filter(|n| Op::reductions().all(|(name, _)| name != *n)));
        for name in names {
            Type::ALL.into_iter().for_each(|ty| legal.fold(name, ty));
        }
        for kind in LevelKind::ALL {
            if let Some(kind) = legal.level("operand", kind, "A") {
                legal.operands.push(kind);
            }
            if let Some(kind) = legal.level("result", kind, "R") {
                legal.results.push(kind);
            }
        }
        legal
    }

    /// The call of `op` for `ty`.
    pub fn of(&self, op: Op, ty: Type) -> Option<&Call> {
        self.calls.iter().find(|c| c.op == op && c.ty == ty)
    }

    fn refuse(&mut self, what: String, ty: Option<Type>, why: String) {
        let (types, _) = self.refused.entry(what).or_insert((vec![], why));
        types.extend(ty.map(Type::name));
    }

    fn call(&mut self, op: Op, ty: Type) {
        let typed = arguments(op, ty).and_then(|args| Some((result_type(op, &args)?, args)));
        // Of what no types fit the checker says why, on arguments of one type.
        let (result, args) = typed.unwrap_or_else(|| (ty, vec![ty; op.arity().unwrap_or(2)]));
        let mut text = String::new();
        for (n, ty) in args.iter().enumerate() {
            text += &format!("tensor A{n}: {ty}[2] dense\n");
        }
        let shown: Vec<String> = (0..args.len()).map(|n| format!("A{n}[i]")).collect();
        text += &format!("tensor R: {result}[2] dense\nR[i] = {}\n", applied(op, &shown));
        match taken(&text) {
            Ok(()) => self.calls.push(Call { op, ty, args, result }),
            Err(why) => self.refuse(format!("operator {}", named(op)), Some(ty), why),
        }
    }

    fn fold(&mut self, name: &'static str, ty: Type) {
        match taken(&format!("tensor A: {ty}[2] dense\ntensor R: {ty}[]\nR[] = {name}(i: A[i])\n")) {
            Ok(()) => self.folds.push((name, ty)),
            Err(why) => self.refuse(format!("reduction {name}"), Some(ty), why),
        }
    }

    /// A level stands somewhere: alone, or below one of another kind. The last refusal is the telling one.
    fn level(&mut self, of: &str, kind: LevelKind, tensor: &str) -> Option<LevelKind> {
        let mut why = String::new();
        for above in ["", "dense, ", "nonunique, "] {
            let (modes, vars) = if above.is_empty() { ("N", "i") } else { ("N, N", "i, j") };
            let format = |name: &str| match name == tensor {
                true => format!("{{{above}{}}}", kind.name()),
                false => "dense".to_string(),
            };
            let declared = ["A", "R"].map(|name| format!("tensor {name}: f64[{modes}] {}\n", format(name)));
            match taken(&format!("dim N = 2\n{}R[{vars}] = A[{vars}]\n", declared.concat())) {
                Ok(()) => return Some(kind),
                Err(said) => why = said,
            }
        }
        self.refuse(format!("{of} level {}", kind.name()), None, why);
        None
    }
}

/// Whether the compiler takes a program; else what it says first.
fn taken(text: &str) -> Result<(), String> {
    let first = |wrong: Vec<notation::Diagnostic>| wrong.into_iter().next().map_or(String::new(), |d| d.message);
    let (syntax, wrong) = fiberloom_front::parse(text);
    let syntax = syntax.filter(|_| wrong.is_empty()).ok_or_else(|| first(wrong))?;
    let typed = fiberloom_passes::check::check(&syntax).map_err(first)?;
    fiberloom_lower::lower(&typed, &Default::default()).map(drop).map_err(first)
}

/// Arguments of a function that is asked for `ty`: all of it, but for a condition before it or a number behind it.
fn arguments(op: Op, ty: Type) -> Option<Vec<Type>> {
    let same = vec![ty; op.arity()?];
    let (mut condition, mut exponent) = (same.clone(), same.clone());
    condition[0] = Type::Bool;
    *exponent.last_mut().expect("functions have arguments") = Type::I32;
    let all = if subject(op) > 0 { [condition.clone(), same, condition] } else { [same, condition, exponent] };
    let of = |args: &Vec<Type>| args[subject(op)] == ty && result_type(op, args).is_some();
    all.into_iter().find(of)
}

/// A function applied to arguments, as programs write it.
pub fn applied(op: Op, args: &[String]) -> String {
    match (op, args) {
        (Op::Convert(to), [a]) => format!("convert({a}, {to})"),
        (Op::Neg, [a]) => format!("-({a})"),
        (Op::Not, [a]) => format!("!({a})"),
        (Op::Xor, [a, b]) => format!("({a} ^ {b})"),
        (_, [a, b]) if !op.name().starts_with(|c: char| c.is_ascii_alphabetic()) => format!("({a} {} {b})", op.name()),
        _ => format!("{}({})", op.name(), args.join(", ")),
    }
}

/// A function's name, conversions told apart.
pub fn named(op: Op) -> String {
    match op {
        Op::Convert(to) => format!("convert {to}"),
        _ => op.name().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::case::{KINDS, STRUCTURED};

    /// Against what the language's pages say of a few, and the weights by which random formats are drawn.
    #[test]
    fn what_is_legal_is_what_the_pages_say() {
        let takes = |op, ty| LEGAL.of(op, ty).is_some();
        assert!(takes(Op::Add, Type::Bool) && takes(Op::Shl, Type::U8) && takes(Op::Pow, Type::F32));
        assert!(!takes(Op::And, Type::F64) && !takes(Op::Sub, Type::Bool) && !takes(Op::Sqrt, Type::I32));
        assert_eq!(LEGAL.of(Op::Lt, Type::U16).expect("numbers compare").result, Type::Bool);
        assert_eq!(LEGAL.of(Op::Mask, Type::F64).expect("masks").args, [Type::Bool, Type::F64]);
        assert_eq!(LEGAL.of(Op::Ldexp, Type::F32).expect("scales").args, [Type::F32, Type::I32]);
        assert!(LEGAL.folds.contains(&("max", Type::F32)) && !LEGAL.folds.contains(&("pow", Type::I64)));
        assert_eq!(LEGAL.refused["operator &"].0, ["f32", "f64"]);
        let mut drawn: Vec<LevelKind> = KINDS.iter().copied().chain([LevelKind::Singleton]).collect();
        let sorted = |mut kinds: Vec<LevelKind>| {
            kinds.sort();
            kinds.dedup();
            kinds
        };
        drawn.extend(STRUCTURED);
        assert_eq!(LEGAL.results, sorted(drawn.clone()), "case::STRUCTURED lacks a level, or has one too many");
        drawn.push(LevelKind::Function);
        assert_eq!(LEGAL.operands, sorted(drawn), "case::STRUCTURED lacks a level, or has one too many");
    }
}
