//! The C ABI of compiled kernels: their arguments, and the table of functions that they call.
//!
//! ```text
//!  int32_t NAME(fl_runtime *rt, fl_buffer *buffers, const int64_t *params)      0, or the code of a failure
//!
//!  rt ──▶ ┌────────┬─────────┬────────┬──────┬─────┬─────┬── ─ ─    buffers ──▶ ┌──────┬─────┬──────────┐
//!         │ alloc  │ reserve │ finish │ sort │ …   │ gcd │ …        [BufferId]   │ data │ len │ capacity │
//!         └────────┴─────────┴────────┴──────┴─────┴─────┴── ─ ─                 └──────┴─────┴──────────┘
//! ```
//!
//! A kernel reaches every function that it calls through the table, so its object needs no symbol of ours, whether it is linked in
//! process or by a C linker. [`Slot`] is the one definition of the table: the emitter's types, the header's declarations and the
//! runtime's addresses derive from it.

use fiberloom_core::algebra::{Op, Type};
use fiberloom_loops::Failure;

/// One buffer of a kernel, as generated code and C see it.
///
/// For an operand, the caller sets all three fields; `len` and `capacity` are its number of elements. For a result or workspace, all
/// three start as zero, and the runtime's functions set them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    /// The first element, aligned as its type requires; any pointer if the capacity is 0.
    pub data: *mut u8,
    /// The number of elements that hold values: of an operand at the call, of a result at the end.
    pub len: i64,
    /// The number of elements for which there is room.
    pub capacity: i64,
}

impl Buffer {
    /// A result or workspace before it is allocated.
    pub const EMPTY: Buffer = Buffer { data: std::ptr::null_mut(), len: 0, capacity: 0 };
}

/// The code that a kernel returns for a failure; 0 means success.
pub fn code(failure: Failure) -> i32 {
    match failure {
        Failure::Memory => 1,
        Failure::Overflow => 2,
        Failure::Positions => 3,
        Failure::Steps => 4,
        Failure::Outside => 5,
        Failure::Entries => 6,
        Failure::Turns => 7,
        Failure::Unheld => 8,
    }
}

/// The code that a kernel returns after an interrupt: all bits of the interrupt's byte.
pub const INTERRUPTED: i32 = -1;

/// The failure with this code; `None` for 0 and for codes that no kernel returns.
pub fn failure(returned: i32) -> Option<Failure> {
    Failure::ALL.into_iter().find(|f| code(*f) == returned)
}

/// The type of an argument or result of a function in the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `fl_runtime *`, the table itself.
    Runtime,
    /// `fl_buffer *`.
    Buffer,
    /// `const int64_t *`, the params.
    Params,
    /// `int64_t *`, the variables that a kernel's functions share.
    Frame,
    /// `const fl_loop *`, a loop whose iterations are independent.
    Loop,
    /// `int32_t`.
    I32,
    /// `int64_t`.
    I64,
    /// `uint64_t`.
    U64,
    /// `float`.
    F32,
    /// `double`.
    F64,
}

impl Kind {
    /// The type in C, with the space or `*` that separates it from a name.
    pub fn c(self) -> &'static str {
        match self {
            Kind::Runtime => "fl_runtime *",
            Kind::Buffer => "fl_buffer *",
            Kind::Params => "const int64_t *",
            Kind::Frame => "int64_t *",
            Kind::Loop => "const fl_loop *",
            Kind::I32 => "int32_t ",
            Kind::I64 => "int64_t ",
            Kind::U64 => "uint64_t ",
            Kind::F32 => "float ",
            Kind::F64 => "double ",
        }
    }
}

/// Declares the table: each function with its name in C, its arguments and its result.
macro_rules! slots {
    ($($slot:ident $name:literal ($($arg:ident: $kind:ident),*) -> $result:ident;)*) => {
        /// A function of the table. Its discriminant is its index there.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs)]
        pub enum Slot {
            $($slot,)*
        }

        impl Slot {
            /// The whole table, in order.
            pub const ALL: [Slot; [$($name),*].len()] = [$(Slot::$slot),*];

            /// The function's name as a field of C's `struct fl_runtime`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Slot::$slot => $name,)*
                }
            }

            /// The types and names of the arguments, and the type of the result.
            pub fn signature(self) -> (&'static [(Kind, &'static str)], Kind) {
                match self {
                    $(Slot::$slot => (&[$((Kind::$kind, stringify!($arg))),*], Kind::$result),)*
                }
            }
        }
    };
}

slots! {
    Alloc "alloc" (rt: Runtime, b: Buffer, len: I64, bytes: I32, filled: I32, fill: U64) -> I32;
    Reserve "reserve" (rt: Runtime, b: Buffer, len: I64, bytes: I32) -> I32;
    Finish "finish" (rt: Runtime, b: Buffer, len: I64, bytes: I32) -> I32;
    Sort "sort" (rt: Runtime, keys: Buffer, order: Buffer, len: I64) -> I32;
    Move "move" (rt: Runtime, to: Buffer, from: Buffer) -> I32;
    Parallel "parallel" (rt: Runtime, buffers: Buffer, params: Params, frame: Frame, loop: Loop) -> I32;
    Gcd "gcd" (a: U64, b: U64) -> U64;
    PowInt "pow_int" (base: U64, exponent: U64) -> U64;
    PowF64 "pow" (x: F64, y: F64) -> F64;
    PowF32 "powf" (x: F32, y: F32) -> F32;
    RemF64 "fmod" (x: F64, y: F64) -> F64;
    RemF32 "fmodf" (x: F32, y: F32) -> F32;
    LdexpF64 "ldexp" (x: F64, n: I32) -> F64;
    LdexpF32 "ldexpf" (x: F32, n: I32) -> F32;
    ExpF64 "exp" (x: F64) -> F64;
    ExpF32 "expf" (x: F32) -> F32;
    LogF64 "log" (x: F64) -> F64;
    LogF32 "logf" (x: F32) -> F32;
    SinF64 "sin" (x: F64) -> F64;
    SinF32 "sinf" (x: F32) -> F32;
    CosF64 "cos" (x: F64) -> F64;
    CosF32 "cosf" (x: F32) -> F32;
    TanhF64 "tanh" (x: F64) -> F64;
    TanhF32 "tanhf" (x: F32) -> F32;
    TanF64 "tan" (x: F64) -> F64;
    TanF32 "tanf" (x: F32) -> F32;
    AsinF64 "asin" (x: F64) -> F64;
    AsinF32 "asinf" (x: F32) -> F32;
    AcosF64 "acos" (x: F64) -> F64;
    AcosF32 "acosf" (x: F32) -> F32;
    AtanF64 "atan" (x: F64) -> F64;
    AtanF32 "atanf" (x: F32) -> F32;
    SinhF64 "sinh" (x: F64) -> F64;
    SinhF32 "sinhf" (x: F32) -> F32;
    CoshF64 "cosh" (x: F64) -> F64;
    CoshF32 "coshf" (x: F32) -> F32;
    AsinhF64 "asinh" (x: F64) -> F64;
    AsinhF32 "asinhf" (x: F32) -> F32;
    AcoshF64 "acosh" (x: F64) -> F64;
    AcoshF32 "acoshf" (x: F32) -> F32;
    AtanhF64 "atanh" (x: F64) -> F64;
    AtanhF32 "atanhf" (x: F32) -> F32;
    Expm1F64 "expm1" (x: F64) -> F64;
    Expm1F32 "expm1f" (x: F32) -> F32;
    Log1pF64 "log1p" (x: F64) -> F64;
    Log1pF32 "log1pf" (x: F32) -> F32;
    Log2F64 "log2" (x: F64) -> F64;
    Log2F32 "log2f" (x: F32) -> F32;
    Log10F64 "log10" (x: F64) -> F64;
    Log10F32 "log10f" (x: F32) -> F32;
    Atan2F64 "atan2" (y: F64, x: F64) -> F64;
    Atan2F32 "atan2f" (y: F32, x: F32) -> F32;
    HypotF64 "hypot" (x: F64, y: F64) -> F64;
    HypotF32 "hypotf" (x: F32, y: F32) -> F32;
    NextAfterF64 "nextafter" (x: F64, y: F64) -> F64;
    NextAfterF32 "nextafterf" (x: F32, y: F32) -> F32;
    FloorDivF64 "floordiv" (x: F64, y: F64) -> F64;
    FloorDivF32 "floordivf" (x: F32, y: F32) -> F32;
    FloorRemF64 "floormod" (x: F64, y: F64) -> F64;
    FloorRemF32 "floormodf" (x: F32, y: F32) -> F32;
}

impl Slot {
    /// The table's function for `op` on floats of type `ty`, if it has one.
    pub fn of(op: Op, ty: Type) -> Option<Slot> {
        let ending = if ty == Type::F32 { "f" } else { "" };
        Slot::ALL.into_iter().find(|slot| slot.name().strip_suffix(ending) == Some(op.name()))
    }

    /// Whether the function is pure: it reads and writes no memory.
    pub fn is_pure(self) -> bool {
        self.signature().0.iter().all(|(kind, _)| !matches!(kind, Kind::Runtime | Kind::Buffer))
    }

    /// The function's declaration as a field of C's `struct fl_runtime`.
    pub fn c_field(self) -> String {
        let (args, result) = self.signature();
        let args: Vec<String> = args.iter().map(|(kind, name)| format!("{}{name}", kind.c())).collect();
        format!("{}(*{})({});", result.c(), self.name(), args.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        for (place, slot) in Slot::ALL.into_iter().enumerate() {
            assert_eq!(slot as usize, place, "{}", slot.name());
        }
    }

    #[test]
    fn codes_are_told_apart() {
        for f in Failure::ALL {
            assert_eq!(failure(code(f)), Some(f));
        }
        assert_eq!(failure(0), None);
    }

    #[test]
    fn a_field_reads_as_c() {
        assert_eq!(
            Slot::Reserve.c_field(),
            "int32_t (*reserve)(fl_runtime *rt, fl_buffer *b, int64_t len, int32_t bytes);"
        );
    }
}
