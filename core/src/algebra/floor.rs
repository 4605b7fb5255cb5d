//! Division of floats rounded down, and its rest: NumPy's `floor_divide` and `remainder`, which are Python's `//` and `%`.
//!
//! ```text
//!   7.5 floordiv 2 = 3     7.5 floormod 2 =  1.5         the rest has the divisor's sign
//!  −7.5 floordiv 2 = −4   −7.5 floormod 2 =  0.5         x / 0 by 0, whose rest is NaN
//! ```

macro_rules! floored {
    ($float:ty, $quotient:ident, $rest:ident) => {
        /// The quotient rounded down; by 0 what IEEE 754's quotient is.
        #[inline]
        pub fn $quotient(x: $float, y: $float) -> $float {
            if y == 0.0 {
                return x / y;
            }
            let rest = x % y;
            let lower = if rest != 0.0 && (rest < 0.0) != (y < 0.0) { 1.0 } else { 0.0 };
            // A whole number, up to the rounding of this line.
            let quotient = (x - rest) / y - lower;
            if quotient == 0.0 {
                return (0.0 as $float).copysign(x / y);
            }
            let below = quotient.floor();
            if quotient - below > 0.5 { below + 1.0 } else { below }
        }

        /// What the quotient rounded down leaves: between 0 and the divisor, with its sign; NaN of 0.
        #[inline]
        pub fn $rest(x: $float, y: $float) -> $float {
            let rest = x % y;
            match () {
                () if rest == 0.0 => (0.0 as $float).copysign(y),
                () if (rest < 0.0) != (y < 0.0) => rest + y,
                () => rest,
            }
        }
    };
}

floored!(f64, floor_div, floor_rem);
floored!(f32, floor_divf, floor_remf);
