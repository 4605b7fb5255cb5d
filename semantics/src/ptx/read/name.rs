//! Instructions' names: the function, its modifiers, its types.

use super::super::Refused;
use super::super::ir::{Binary, Kind, Special, Ternary, Ty, Unary};

/// An instruction's name in parts: `ld`, `global`, `nc`, `f64`.
pub(super) struct Name<'t> {
    whole: &'t str,
    pub parts: Vec<&'t str>,
    line: u32,
}

impl<'t> Name<'t> {
    pub fn of(whole: &'t str, line: u32) -> Name<'t> {
        Name { whole, parts: whole.split('.').collect(), line }
    }

    pub fn unknown(&self) -> Refused {
        Refused { line: self.line, what: format!("`{}` is no instruction that is known", self.whole) }
    }

    /// The type, which is the last part.
    pub fn ty(&self) -> Result<Ty, Refused> {
        self.parts.last().and_then(|part| Ty::named(part)).ok_or_else(|| self.unknown())
    }

    /// The parts between the first and the types.
    pub fn modifiers(&self, types: usize) -> &[&'t str] {
        &self.parts[1..self.parts.len().saturating_sub(types).max(1)]
    }
}

/// That all modifiers are known.
pub(super) fn only(name: &Name, modifiers: &[&str], known: &[&str]) -> Result<(), Refused> {
    if modifiers.iter().all(|part| known.contains(part)) { Ok(()) } else { Err(name.unknown()) }
}

/// The special register with this name.
pub(super) fn special(word: &str) -> Option<Special> {
    Some(match word {
        "%tid.x" => Special::Thread,
        "%ntid.x" => Special::Threads,
        "%ctaid.x" => Special::Block,
        "%nctaid.x" => Special::Blocks,
        "%laneid" => Special::Lane,
        "%tid.y" | "%tid.z" | "%ctaid.y" | "%ctaid.z" => Special::Zero,
        "%ntid.y" | "%ntid.z" | "%nctaid.y" | "%nctaid.z" => Special::One,
        _ => return None,
    })
}

/// The function of one value with this name.
pub(super) fn unary(name: &Name, ty: Ty) -> Option<Unary> {
    let float = ty.kind == Kind::Float;
    Some(match (name.parts[0], name.modifiers(1)) {
        ("not", []) if !float => Unary::Not,
        ("neg", []) => Unary::Neg,
        ("abs", []) => Unary::Abs,
        ("sqrt", ["rn"]) if float => Unary::Sqrt,
        ("rcp", ["rn"]) if float => Unary::Reciprocal,
        ("popc", []) if !float => Unary::Ones,
        ("clz", []) if !float => Unary::LeadingZeros,
        ("brev", []) if !float => Unary::Reversed,
        _ => return None,
    })
}

/// The function of two values with this name.
pub(super) fn binary(name: &Name, ty: Ty) -> Option<Binary> {
    let float = ty.kind == Kind::Float;
    Some(match (name.parts[0], name.modifiers(1)) {
        ("add", [] | ["rn"]) => Binary::Add,
        ("sub", [] | ["rn"]) => Binary::Sub,
        ("mul", [] | ["rn"]) if float => Binary::Mul,
        ("mul", ["lo"]) if !float => Binary::Mul,
        ("mul", ["hi"]) if !float => Binary::MulHigh,
        ("mul", ["wide"]) if !float && ty.bits <= 32 => Binary::MulWide,
        ("div", ["rn"]) if float => Binary::Div,
        ("div", []) if !float => Binary::Div,
        ("rem", []) if !float => Binary::Rem,
        ("min", []) => Binary::Min,
        ("max", []) => Binary::Max,
        ("min", ["NaN"]) if float => Binary::MinNan,
        ("max", ["NaN"]) if float => Binary::MaxNan,
        ("and", []) if !float => Binary::And,
        ("or", []) if !float => Binary::Or,
        ("xor", []) if !float => Binary::Xor,
        ("shl", []) if !float => Binary::Left,
        ("shr", []) if !float => Binary::Right,
        _ => return None,
    })
}

/// The function of three values with this name.
pub(super) fn ternary(name: &Name, ty: Ty) -> Option<Ternary> {
    let float = ty.kind == Kind::Float;
    Some(match (name.parts[0], name.modifiers(1)) {
        ("fma", ["rn"]) if float => Ternary::Fused,
        ("mad", ["lo"]) if !float => Ternary::Fused,
        ("mad", ["wide"]) if !float && ty.bits <= 32 => Ternary::FusedWide,
        ("bfe", []) if !float => Ternary::Field,
        ("shf", ["l", how @ ("wrap" | "clamp")]) => Ternary::FunnelLeft { clamps: *how == "clamp" },
        ("shf", ["r", how @ ("wrap" | "clamp")]) => Ternary::FunnelRight { clamps: *how == "clamp" },
        _ => return None,
    })
}
