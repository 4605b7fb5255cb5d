//! The functions on numbers that generated code calls, with the same definitions as in every other engine.

use crate::abi::Slot;
use fiberloom_core::algebra;

/// The address of a function on numbers; `None` for an entry point that needs the session.
pub(crate) fn address(slot: Slot) -> Option<*const ()> {
    Some(match slot {
        Slot::Gcd => gcd as *const (),
        Slot::PowInt => pow_int as *const (),
        Slot::RemF64 => fmod as *const (),
        Slot::RemF32 => fmodf as *const (),
        Slot::FloorDivF64 => floor_div as *const (),
        Slot::FloorDivF32 => floor_divf as *const (),
        Slot::FloorRemF64 => floor_rem as *const (),
        Slot::FloorRemF32 => floor_remf as *const (),
        slot => return elementary(slot).or_else(|| of_library(slot)),
    })
}

macro_rules! from_libm {
    ($($slot:ident $name:ident ($($x:ident: $ty:ty),*) -> $result:ty;)*) => {
        $(extern "C" fn $name($($x: $ty),*) -> $result { libm::$name($($x),*) })*

        /// The address of a function that the library provides in this form.
        fn of_library(slot: Slot) -> Option<*const ()> {
            Some(match slot {
                $(Slot::$slot => $name as *const (),)*
                _ => return None,
            })
        }
    };
}

from_libm! {
    LdexpF64 ldexp(x: f64, n: i32) -> f64;
    LdexpF32 ldexpf(x: f32, n: i32) -> f32;
    NextAfterF64 nextafter(x: f64, y: f64) -> f64;
    NextAfterF32 nextafterf(x: f32, y: f32) -> f32;
}

/// The elementary functions of one argument, or of two, each for both float types.
macro_rules! elementary {
    ($($op:ident $wide:ident $narrow:ident $($x:ident)*: $first:ident $last:ident;)*) => {
        mod elementary {
            use fiberloom_core::algebra::{self, Op};
            $(
                pub extern "C" fn $wide($($x: f64),*) -> f64 {
                    algebra::elementary(Op::$op, $first, $last).expect("an elementary function")
                }

                pub extern "C" fn $narrow($($x: f32),*) -> f32 {
                    algebra::elementaryf(Op::$op, $first, $last).expect("an elementary function")
                }
            )*
        }

        /// The address of an elementary function.
        fn elementary(slot: Slot) -> Option<*const ()> {
            Some(match slot.name() {
                $(
                    stringify!($wide) => elementary::$wide as *const (),
                    stringify!($narrow) => elementary::$narrow as *const (),
                )*
                _ => return None,
            })
        }
    };
}

elementary! {
    Exp exp expf x: x x;
    Log log logf x: x x;
    Sin sin sinf x: x x;
    Cos cos cosf x: x x;
    Tanh tanh tanhf x: x x;
    Tan tan tanf x: x x;
    Asin asin asinf x: x x;
    Acos acos acosf x: x x;
    Atan atan atanf x: x x;
    Sinh sinh sinhf x: x x;
    Cosh cosh coshf x: x x;
    Asinh asinh asinhf x: x x;
    Acosh acosh acoshf x: x x;
    Atanh atanh atanhf x: x x;
    Expm1 expm1 expm1f x: x x;
    Log1p log1p log1pf x: x x;
    Log2 log2 log2f x: x x;
    Log10 log10 log10f x: x x;
    Pow pow powf x y: x y;
    Atan2 atan2 atan2f x y: x y;
    Hypot hypot hypotf x y: x y;
}

macro_rules! from_algebra {
    ($($name:ident $ty:ty;)*) => {
        $(extern "C" fn $name(x: $ty, y: $ty) -> $ty { algebra::$name(x, y) })*
    };
}

from_algebra! {
    floor_div f64;
    floor_divf f32;
    floor_rem f64;
    floor_remf f32;
}

// The remainder is exact, so that all libraries agree; Rust's operator is C's `fmod`.

extern "C" fn fmod(x: f64, y: f64) -> f64 {
    x % y
}

extern "C" fn fmodf(x: f32, y: f32) -> f32 {
    x % y
}

/// The greatest common divisor; that of 0 and x is x.
extern "C" fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A power modulo 2⁶⁴.
extern "C" fn pow_int(mut base: u64, mut exponent: u64) -> u64 {
    let mut power = 1u64;
    while exponent != 0 {
        if exponent & 1 == 1 {
            power = power.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    power
}
