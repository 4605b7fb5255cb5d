//! Functions of numbers that generated code calls: the same library as every other engine.

use crate::abi::Slot;
use fiberloom_core::algebra;

/// The address of a function of numbers; `None` of an entry that needs the session.
pub(crate) fn address(slot: Slot) -> Option<*const ()> {
    Some(match slot {
        Slot::Gcd => gcd as *const (),
        Slot::PowInt => pow_int as *const (),
        Slot::PowF64 => pow(),
        Slot::RemF64 => fmod as *const (),
        Slot::RemF32 => fmodf as *const (),
        Slot::FloorDivF64 => floor_div as *const (),
        Slot::FloorDivF32 => floor_divf as *const (),
        Slot::FloorRemF64 => floor_rem as *const (),
        Slot::FloorRemF32 => floor_remf as *const (),
        Slot::AcoshF64 => acosh as *const (),
        Slot::AcoshF32 => acoshf as *const (),
        slot => return of_library(slot),
    })
}

macro_rules! from_libm {
    ($($slot:ident $name:ident ($($x:ident: $ty:ty),*) -> $result:ty;)*) => {
        $(extern "C" fn $name($($x: $ty),*) -> $result { libm::$name($($x),*) })*

        /// The address of a function that is the library's as it stands.
        fn of_library(slot: Slot) -> Option<*const ()> {
            Some(match slot {
                $(Slot::$slot => $name as *const (),)*
                _ => return None,
            })
        }
    };
}

from_libm! {
    PowF32 powf(x: f32, y: f32) -> f32;
    LdexpF64 ldexp(x: f64, n: i32) -> f64;
    LdexpF32 ldexpf(x: f32, n: i32) -> f32;
    ExpF64 exp(x: f64) -> f64;
    ExpF32 expf(x: f32) -> f32;
    LogF64 log(x: f64) -> f64;
    LogF32 logf(x: f32) -> f32;
    SinF64 sin(x: f64) -> f64;
    SinF32 sinf(x: f32) -> f32;
    CosF64 cos(x: f64) -> f64;
    CosF32 cosf(x: f32) -> f32;
    TanhF64 tanh(x: f64) -> f64;
    TanhF32 tanhf(x: f32) -> f32;
    TanF64 tan(x: f64) -> f64;
    TanF32 tanf(x: f32) -> f32;
    AsinF64 asin(x: f64) -> f64;
    AsinF32 asinf(x: f32) -> f32;
    AcosF64 acos(x: f64) -> f64;
    AcosF32 acosf(x: f32) -> f32;
    AtanF64 atan(x: f64) -> f64;
    AtanF32 atanf(x: f32) -> f32;
    SinhF64 sinh(x: f64) -> f64;
    SinhF32 sinhf(x: f32) -> f32;
    CoshF64 cosh(x: f64) -> f64;
    CoshF32 coshf(x: f32) -> f32;
    AsinhF64 asinh(x: f64) -> f64;
    AsinhF32 asinhf(x: f32) -> f32;
    AtanhF64 atanh(x: f64) -> f64;
    AtanhF32 atanhf(x: f32) -> f32;
    Expm1F64 expm1(x: f64) -> f64;
    Expm1F32 expm1f(x: f32) -> f32;
    Log1pF64 log1p(x: f64) -> f64;
    Log1pF32 log1pf(x: f32) -> f32;
    Log2F64 log2(x: f64) -> f64;
    Log2F32 log2f(x: f32) -> f32;
    Log10F64 log10(x: f64) -> f64;
    Log10F32 log10f(x: f32) -> f32;
    Atan2F64 atan2(y: f64, x: f64) -> f64;
    Atan2F32 atan2f(y: f32, x: f32) -> f32;
    HypotF64 hypot(x: f64, y: f64) -> f64;
    HypotF32 hypotf(x: f32, y: f32) -> f32;
    NextAfterF64 nextafter(x: f64, y: f64) -> f64;
    NextAfterF32 nextafterf(x: f32, y: f32) -> f32;
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

extern "C" fn acosh(x: f64) -> f64 {
    algebra::acosh(x)
}

extern "C" fn acoshf(x: f32) -> f32 {
    algebra::acoshf(x)
}

/// `pow`, as fast as this machine has it: fused multiplications change no result.
fn pow() -> *const () {
    extern "C" fn anywhere(x: f64, y: f64) -> f64 {
        algebra::pow(x, y)
    }

    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "fma")]
        extern "C" fn fused(x: f64, y: f64) -> f64 {
            algebra::pow(x, y)
        }

        if std::arch::is_x86_feature_detected!("fma") {
            return fused as unsafe extern "C" fn(f64, f64) -> f64 as *const ();
        }
    }
    anywhere as *const ()
}

// The remainder is exact, so that all libraries agree; Rust's operator is C's `fmod`.

extern "C" fn fmod(x: f64, y: f64) -> f64 {
    x % y
}

extern "C" fn fmodf(x: f32, y: f32) -> f32 {
    x % y
}

/// The greatest common divisor; of 0 and x it is x.
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
