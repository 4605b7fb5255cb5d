//! Functions of numbers that generated code calls: the same library as every other engine.

use crate::abi::Slot;
use fiberloom_core::algebra;

/// The address of a function of numbers; `None` of an entry that needs the session.
pub(crate) fn address(slot: Slot) -> Option<*const ()> {
    Some(match slot {
        Slot::Gcd => gcd as *const (),
        Slot::PowInt => pow_int as *const (),
        Slot::PowF64 => pow(),
        Slot::PowF32 => powf as *const (),
        Slot::RemF64 => fmod as *const (),
        Slot::RemF32 => fmodf as *const (),
        Slot::LdexpF64 => ldexp as *const (),
        Slot::LdexpF32 => ldexpf as *const (),
        Slot::ExpF64 => exp as *const (),
        Slot::ExpF32 => expf as *const (),
        Slot::LogF64 => log as *const (),
        Slot::LogF32 => logf as *const (),
        Slot::SinF64 => sin as *const (),
        Slot::SinF32 => sinf as *const (),
        Slot::CosF64 => cos as *const (),
        Slot::CosF32 => cosf as *const (),
        Slot::TanhF64 => tanh as *const (),
        Slot::TanhF32 => tanhf as *const (),
        _ => return None,
    })
}

macro_rules! from_libm {
    ($($name:ident ($($x:ident: $ty:ty),*) -> $result:ty;)*) => {
        $(extern "C" fn $name($($x: $ty),*) -> $result { libm::$name($($x),*) })*
    };
}

from_libm! {
    powf(x: f32, y: f32) -> f32;
    ldexp(x: f64, n: i32) -> f64;
    ldexpf(x: f32, n: i32) -> f32;
    exp(x: f64) -> f64;
    expf(x: f32) -> f32;
    log(x: f64) -> f64;
    logf(x: f32) -> f32;
    sin(x: f64) -> f64;
    sinf(x: f32) -> f32;
    cos(x: f64) -> f64;
    cosf(x: f32) -> f32;
    tanh(x: f64) -> f64;
    tanhf(x: f32) -> f32;
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
