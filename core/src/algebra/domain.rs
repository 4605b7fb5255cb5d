//! Functions whose library gives numbers where there are none.
//!
//! The library's `acosh` takes the difference of two large numbers, which below −1 may round to any sign: NaN is what the function is
//! everywhere below 1.

/// The number of 1 or more whose hyperbolic cosine `x` is; below 1 NaN.
#[inline]
pub fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// The same of `f32`.
#[inline]
pub fn acoshf(x: f32) -> f32 {
    if x < 1.0 { f32::NAN } else { libm::acoshf(x) }
}
