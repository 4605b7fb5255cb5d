//! Arithmetic, as *PTX ISA* (NVIDIA, version 8.5) defines it.
//!
//! Values are bits; those above a type's width are 0. Integers wrap. What depends on the machine (a division of integers by zero) is
//! no value.

use super::ir::{Binary, Compare, Kind, Round, Ternary, Ty, Unary};

/// The float of these bits.
fn float(ty: Ty, x: u64) -> f64 {
    if ty.bits == 32 { f64::from(f32::from_bits(x as u32)) } else { f64::from_bits(x) }
}

/// A result that is exact, or rounded once, in `f64`: for `f32`, one function of two `f32`s, which `f64` computes exactly enough (Figueroa,
/// *When is double rounding innocuous?*, SIGNUM 1995).
fn bits(ty: Ty, x: f64) -> u64 {
    match (ty.bits, x.is_nan()) {
        (32, true) => 0x7fff_ffff,
        (32, false) => u64::from((x as f32).to_bits()),
        (_, true) => f64::NAN.to_bits(),
        (_, false) => x.to_bits(),
    }
}

pub(super) fn unary(op: Unary, ty: Ty, x: u64) -> u64 {
    if ty.kind == Kind::Float {
        let f = float(ty, x);
        let sign = 1 << (ty.bits - 1);
        return match op {
            Unary::Neg => x ^ sign,
            Unary::Abs => x & !sign & ty.mask(),
            Unary::Sqrt => bits(ty, f.sqrt()),
            _ => bits(ty, 1.0 / f),
        };
    }
    let value = match op {
        Unary::Not if ty.kind == Kind::Predicate => x ^ 1,
        Unary::Not => !x,
        Unary::Neg => x.wrapping_neg(),
        Unary::Abs => ty.signed(x).wrapping_abs() as u64,
        Unary::Ones => u64::from((x & ty.mask()).count_ones()),
        Unary::LeadingZeros => u64::from((x & ty.mask()).leading_zeros() - (64 - ty.bits)),
        Unary::Reversed => x.reverse_bits() >> (64 - ty.bits),
        // These are functions of floats only, as the reader says.
        Unary::Sqrt | Unary::Reciprocal => x,
    };
    value & ty.mask()
}

/// The value; `None` for a division by zero.
pub(super) fn binary(op: Binary, ty: Ty, a: u64, b: u64) -> Option<u64> {
    if ty.kind == Kind::Float {
        return Some(of_floats(op, ty, a, b));
    }
    let signed = ty.kind == Kind::Signed;
    let (i, j) = (ty.signed(a), ty.signed(b));
    let (u, v) = (a & ty.mask(), b & ty.mask());
    let product = || if signed { (i128::from(i) * i128::from(j)) as u128 } else { u128::from(u) * u128::from(v) };
    let value = match op {
        Binary::Add => u.wrapping_add(v),
        Binary::Sub => u.wrapping_sub(v),
        Binary::Mul => product() as u64,
        Binary::MulHigh => (product() >> ty.bits) as u64,
        Binary::MulWide => return Some(product() as u64 & Ty::new(ty.kind, 2 * ty.bits).mask()),
        Binary::Div | Binary::Rem if v == 0 => return None,
        Binary::Div if signed => i.wrapping_div(j) as u64,
        Binary::Div => u / v,
        Binary::Rem if signed => i.wrapping_rem(j) as u64,
        Binary::Rem => u % v,
        Binary::Min | Binary::MinNan if signed => i.min(j) as u64,
        Binary::Min | Binary::MinNan => u.min(v),
        Binary::Max | Binary::MaxNan if signed => i.max(j) as u64,
        Binary::Max | Binary::MaxNan => u.max(v),
        Binary::And => u & v,
        Binary::Or => u | v,
        Binary::Xor => u ^ v,
        // The distance is 32 bits wide; one beyond the width shifts everything out.
        Binary::Left => u.checked_shl(b as u32).filter(|_| (b as u32) < ty.bits).unwrap_or(0),
        Binary::Right if signed => (i >> (b as u32).min(ty.bits - 1)) as u64,
        Binary::Right => u.checked_shr(b as u32).unwrap_or(0),
    };
    Some(value & ty.mask())
}

fn of_floats(op: Binary, ty: Ty, a: u64, b: u64) -> u64 {
    let (x, y) = (float(ty, a), float(ty, b));
    // −0 is less than 0.
    let (least, most) = if x.is_sign_negative() { (x, y) } else { (y, x) };
    let value = match op {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x * y,
        Binary::Div => x / y,
        Binary::MinNan | Binary::MaxNan if x.is_nan() || y.is_nan() => f64::NAN,
        Binary::Min | Binary::MinNan if x == y => least,
        Binary::Max | Binary::MaxNan if x == y => most,
        Binary::Min | Binary::MinNan => x.min(y),
        _ => x.max(y),
    };
    bits(ty, value)
}

pub(super) fn ternary(op: Ternary, ty: Ty, [a, b, c]: [u64; 3]) -> u64 {
    match op {
        Ternary::Fused if ty.kind == Kind::Float && ty.bits == 32 => {
            let [a, b, c] = [a, b, c].map(|x| f32::from_bits(x as u32));
            let fused = libm::fmaf(a, b, c);
            if fused.is_nan() { 0x7fff_ffff } else { u64::from(fused.to_bits()) }
        }
        Ternary::Fused if ty.kind == Kind::Float => {
            bits(ty, libm::fma(f64::from_bits(a), f64::from_bits(b), f64::from_bits(c)))
        }
        Ternary::Fused => binary(Binary::Mul, ty, a, b).unwrap_or(0).wrapping_add(c) & ty.mask(),
        Ternary::FusedWide => {
            let wide = Ty::new(ty.kind, 2 * ty.bits);
            binary(Binary::MulWide, ty, a, b).unwrap_or(0).wrapping_add(c) & wide.mask()
        }
        Ternary::Field => field(ty, a, (b & 0xff) as u32, (c & 0xff) as u32),
        Ternary::FunnelLeft { clamps } => {
            let by = if clamps { c.min(32) } else { c & 31 };
            (((b << 32 | a & 0xffff_ffff) << by) >> 32) & 0xffff_ffff
        }
        Ternary::FunnelRight { clamps } => {
            let by = if clamps { c.min(32) } else { c & 31 };
            ((b << 32 | a & 0xffff_ffff) >> by) & 0xffff_ffff
        }
    }
}

/// Bits of `x` from `from` on; signed ones are extended by the field's last bit, or by the last bit of all if it ends behind that.
fn field(ty: Ty, x: u64, from: u32, len: u32) -> u64 {
    if len == 0 {
        return 0;
    }
    let taken = (0..len.min(64)).filter(|k| from + k < ty.bits).map(|k| (x >> (from + k) & 1) << k);
    let value = taken.sum::<u64>();
    let last = x >> (from + len - 1).min(ty.bits - 1) & 1;
    let fills = ty.kind == Kind::Signed && last == 1;
    let kept = len.min(ty.bits.saturating_sub(from));
    let above = if kept >= 64 { 0 } else { u64::MAX << kept };
    (if fills { value | above } else { value }) & ty.mask()
}

pub(super) fn compare(op: Compare, unordered: bool, ty: Ty, a: u64, b: u64) -> bool {
    use std::cmp::Ordering;
    let order = match ty.kind {
        Kind::Float => float(ty, a).partial_cmp(&float(ty, b)),
        Kind::Signed => Some(ty.signed(a).cmp(&ty.signed(b))),
        _ => Some((a & ty.mask()).cmp(&(b & ty.mask()))),
    };
    let Some(order) = order else { return unordered || op == Compare::Unordered };
    match op {
        Compare::Eq => order == Ordering::Equal,
        Compare::Ne => order != Ordering::Equal,
        Compare::Lt => order == Ordering::Less,
        Compare::Le => order != Ordering::Greater,
        Compare::Gt => order == Ordering::Greater,
        Compare::Ge => order != Ordering::Less,
        Compare::Ordered => true,
        Compare::Unordered => false,
    }
}

/// The value of type `to` for one of type `from`.
pub(super) fn convert(to: Ty, from: Ty, round: Round, x: u64) -> u64 {
    match (from.kind == Kind::Float, to.kind == Kind::Float) {
        (false, false) if from.kind == Kind::Signed => from.signed(x) as u64 & to.mask(),
        (false, false) => x & from.mask() & to.mask(),
        (false, true) => {
            // Each integer is rounded once, to its own type of float.
            let signed = from.signed(x);
            match (to.bits, from.kind == Kind::Signed) {
                (32, true) => u64::from((signed as f32).to_bits()),
                (32, false) => u64::from(((x & from.mask()) as f32).to_bits()),
                (_, true) => (signed as f64).to_bits(),
                (_, false) => ((x & from.mask()) as f64).to_bits(),
            }
        }
        (true, true) => bits(to, rounded(round, float(from, x))),
        (true, false) => {
            let whole = rounded(round, float(from, x));
            // Saturates, and NaN is 0, as conversions of Rust do.
            let value = match (to.kind == Kind::Signed, to.bits) {
                (true, 64) => whole as i64 as u64,
                (true, 32) => whole as i32 as u64,
                (true, 16) => whole as i16 as u64,
                (true, _) => whole as i8 as u64,
                (false, 64) => whole as u64,
                (false, 32) => u64::from(whole as u32),
                (false, 16) => u64::from(whole as u16),
                (false, _) => u64::from(whole as u8),
            };
            value & to.mask()
        }
    }
}

fn rounded(round: Round, x: f64) -> f64 {
    match round {
        Round::Near => x,
        Round::Integer => libm::rint(x),
        Round::Zero => libm::trunc(x),
        Round::Down => libm::floor(x),
        Round::Up => libm::ceil(x),
    }
}
