//! The C ABI of compiled kernels: what a kernel is called with, and the table of functions that it calls.
//!
//! ```text
//!  int32_t NAME(fl_runtime *rt, fl_buffer *buffers, const int64_t *params)      0, or the code of a failure
//!
//!  rt ──▶ ┌────────┬─────────┬────────┬──────┬─────┬─────┬── ─ ─    buffers ──▶ ┌──────┬─────┬──────────┐
//!         │ alloc  │ reserve │ finish │ sort │ …   │ gcd │ …        [BufferId]   │ data │ len │ capacity │
//!         └────────┴─────────┴────────┴──────┴─────┴─────┴── ─ ─                 └──────┴─────┴──────────┘
//! ```
//!
//! Everything a kernel calls is reached through the table, so that its object needs no symbol of ours, whether it is
//! linked in process or by a C linker. [`Slot`] is the one definition of the table: the emitter's types, the header's
//! declarations and the runtime's addresses are all made from it.

use fiberloom_core::loops::Failure;

/// One buffer of a kernel, as generated code and C see it.
///
/// Of an operand the caller sets all three; `len` and `capacity` are its number of elements. Of a result or workspace
/// all three start as zero; the runtime's functions set them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    /// First element, aligned as its type asks; anything where the capacity is 0.
    pub data: *mut u8,
    /// Elements that hold values: of an operand at the call, of a result at the end.
    pub len: i64,
    /// Elements for which there is room.
    pub capacity: i64,
}

impl Buffer {
    /// Of a result or workspace before it is made.
    pub const EMPTY: Buffer = Buffer { data: std::ptr::null_mut(), len: 0, capacity: 0 };
}

/// What a kernel returns for a failure; 0 stands for none.
pub fn code(failure: Failure) -> i32 {
    match failure {
        Failure::Memory => 1,
        Failure::Overflow => 2,
        Failure::Positions => 3,
        Failure::Steps => 4,
        Failure::Outside => 5,
        Failure::Entries => 6,
        Failure::Turns => 7,
    }
}

/// The failure of a code; `None` of 0 and of codes that no kernel returns.
pub fn failure(returned: i32) -> Option<Failure> {
    Failure::ALL.into_iter().find(|f| code(*f) == returned)
}

/// The type of an argument or result of a function in the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `fl_runtime *`, the table itself.
    Runtime,
    /// `fl_buffer *`
    Buffer,
    /// `int32_t`
    I32,
    /// `int64_t`
    I64,
    /// `uint64_t`
    U64,
    /// `float`
    F32,
    /// `double`
    F64,
}

impl Kind {
    /// Its type in C, followed by what separates it from a name.
    pub fn c(self) -> &'static str {
        match self {
            Kind::Runtime => "fl_runtime *",
            Kind::Buffer => "fl_buffer *",
            Kind::I32 => "int32_t ",
            Kind::I64 => "int64_t ",
            Kind::U64 => "uint64_t ",
            Kind::F32 => "float ",
            Kind::F64 => "double ",
        }
    }
}

/// A function of the table; its place is its discriminant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Slot {
    Alloc,
    Reserve,
    Finish,
    Sort,
    Move,
    Gcd,
    PowInt,
    PowF64,
    PowF32,
    RemF64,
    RemF32,
    LdexpF64,
    LdexpF32,
    ExpF64,
    ExpF32,
    LogF64,
    LogF32,
    SinF64,
    SinF32,
    CosF64,
    CosF32,
    TanhF64,
    TanhF32,
}

impl Slot {
    /// The whole table, in order.
    pub const ALL: [Slot; 23] = [
        Slot::Alloc,
        Slot::Reserve,
        Slot::Finish,
        Slot::Sort,
        Slot::Move,
        Slot::Gcd,
        Slot::PowInt,
        Slot::PowF64,
        Slot::PowF32,
        Slot::RemF64,
        Slot::RemF32,
        Slot::LdexpF64,
        Slot::LdexpF32,
        Slot::ExpF64,
        Slot::ExpF32,
        Slot::LogF64,
        Slot::LogF32,
        Slot::SinF64,
        Slot::SinF32,
        Slot::CosF64,
        Slot::CosF32,
        Slot::TanhF64,
        Slot::TanhF32,
    ];

    /// Its name as a field of C's `struct fl_runtime`.
    pub fn name(self) -> &'static str {
        [
            "alloc", "reserve", "finish", "sort", "move", "gcd", "pow_int", "pow", "powf", "fmod", "fmodf", "ldexp",
            "ldexpf", "exp", "expf", "log", "logf", "sin", "sinf", "cos", "cosf", "tanh", "tanhf",
        ][self as usize]
    }

    /// Types and names of its arguments, and the type of its result.
    pub fn signature(self) -> (&'static [(Kind, &'static str)], Kind) {
        use Kind::*;
        match self {
            Slot::Alloc => {
                (&[(Runtime, "rt"), (Buffer, "b"), (I64, "len"), (I32, "bytes"), (I32, "filled"), (U64, "fill")], I32)
            }
            Slot::Reserve | Slot::Finish => (&[(Runtime, "rt"), (Buffer, "b"), (I64, "len"), (I32, "bytes")], I32),
            Slot::Sort => (&[(Runtime, "rt"), (Buffer, "keys"), (Buffer, "order"), (I64, "len")], I32),
            Slot::Move => (&[(Runtime, "rt"), (Buffer, "to"), (Buffer, "from")], I32),
            Slot::Gcd => (&[(U64, "a"), (U64, "b")], U64),
            Slot::PowInt => (&[(U64, "base"), (U64, "exponent")], U64),
            Slot::PowF64 | Slot::RemF64 => (&[(F64, "x"), (F64, "y")], F64),
            Slot::PowF32 | Slot::RemF32 => (&[(F32, "x"), (F32, "y")], F32),
            Slot::LdexpF64 => (&[(F64, "x"), (I32, "n")], F64),
            Slot::LdexpF32 => (&[(F32, "x"), (I32, "n")], F32),
            Slot::ExpF64 | Slot::LogF64 | Slot::SinF64 | Slot::CosF64 | Slot::TanhF64 => (&[(F64, "x")], F64),
            Slot::ExpF32 | Slot::LogF32 | Slot::SinF32 | Slot::CosF32 | Slot::TanhF32 => (&[(F32, "x")], F32),
        }
    }

    /// Whether it is a function in the mathematical sense: no memory is read or written.
    pub fn is_pure(self) -> bool {
        self.signature().0.iter().all(|(kind, _)| !matches!(kind, Kind::Runtime | Kind::Buffer))
    }

    /// Its declaration as a field of C's `struct fl_runtime`.
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
