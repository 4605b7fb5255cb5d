//! The C header of a kernel's object: self-contained, with a runtime that a program may use or replace.
//!
//! ```text
//!   once, however many kernels are included     fl_buffer, fl_runtime (from `abi::Slot`), codes, the default runtime
//!   for each kernel                             the meaning of its parameters and buffers, names for them, its prototype,
//!                                               and a function with a struct for each tensor
//! ```

mod contract;
mod typed;

use crate::abi::{Slot, code};
use fiberloom_core::algebra::Type;
use fiberloom_loops::{Argument, BufferId, Failure, Kernel, Role};
use std::fmt::Write;

pub use contract::Contract;

/// Names that a kernel may not have: the reserved words of C and C++, and the declarations of the headers that ours includes.
const TAKEN: &str = "auto break case char const continue default do double else enum extern float for goto if inline int \
    long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while \
    bool true false class delete friend new operator private protected public template this throw try using virtual \
    namespace alignas alignof and and_eq asm bitand bitor catch co_await co_return co_yield compl concept const_cast \
    consteval constexpr constinit decltype dynamic_cast explicit export mutable noexcept not not_eq nullptr or or_eq \
    reinterpret_cast requires static_assert static_cast thread_local typeid typename typeof typeof_unqual xor xor_eq std \
    main abort abs atexit atof atoi atol bsearch calloc div exit free getenv labs ldiv llabs lldiv malloc \
    mblen qsort rand random realloc srand strtod strtol system memchr memcmp memcpy memmove memset strcat strchr strcmp \
    strcpy strlen strncmp strncpy strstr strtok index rindex acos acosh asin asinh atan atan2 atanh cbrt ceil copysign \
    cos cosh erf erfc exp exp2 exp10 expm1 fabs fdim floor fma fmax fmin fmod frexp gamma hypot ilogb j0 j1 jn ldexp \
    lgamma log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter pow remainder remquo rint round \
    roundeven scalb scalbn signgam significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn drem finite isinf \
    isnan select NULL NAN INFINITY MAXFLOAT RAND_MAX BIG_ENDIAN LITTLE_ENDIAN PDP_ENDIAN BYTE_ORDER NFDBITS alloca be16toh \
    be32toh be64toh fpclassify htobe16 htobe32 htobe64 htole16 htole32 htole64 isfinite isgreater isgreaterequal isless \
    islessequal islessgreater isnormal issubnormal isunordered le16toh le32toh le64toh linux unix math_errhandling \
    offsetof signbit";

/// The prefixes of macros in those headers, and `FL_`, the prefix of ours.
const MACROS: &str = "FL_ FP_ M_ MB_ SNAN HUGE_ EXIT_ MATH_ INT UINT SIZE_ PTRDIFF_ SIG_ATOMIC_ WCHAR_ WINT_ WIF WEX WNO WST WCONTINUED WTERMSIG WUNTRACED FD_";

/// Functions on numbers that the C library lacks.
const OWN: [Slot; 6] =
    [Slot::Gcd, Slot::PowInt, Slot::FloorDivF64, Slot::FloorDivF32, Slot::FloorRemF64, Slot::FloorRemF32];

/// The name of a kernel's function in its object: the kernel's name, with the prefix `kernel_` if C uses the name for something else.
pub fn symbol(kernel: &Kernel) -> String {
    if is_taken(&kernel.name) { format!("kernel_{}", kernel.name) } else { kernel.name.clone() }
}

/// Whether a name is a word of C or C++, or a header that ours includes may declare it.
fn is_taken(name: &str) -> bool {
    // The functions of `float` and `long double` have one letter more.
    let short = name.strip_suffix(['f', 'l']).unwrap_or(name);
    let taken = TAKEN.split_whitespace().any(|word| word == name || word == short);
    let is_macro = MACROS.split_whitespace().any(|start| name.starts_with(start));
    let is_type = name.ends_with("_t");
    taken || is_macro || is_type || name.starts_with("fl_") || name.starts_with('_')
}

/// A header for the kernel of an object, with everything that a C or C++ program needs to call it: the types of the ABI, the meaning of
/// each argument in order, the caller's obligations, and a default runtime. The object has to be linked with `-lm`.
pub fn header(kernel: &Kernel, contract: &Contract) -> String {
    let mut out = String::new();
    write_header(kernel, contract, &mut out).expect("writing to a string");
    out
}

fn write_header(kernel: &Kernel, contract: &Contract, out: &mut String) -> std::fmt::Result {
    let name = symbol(kernel);
    writeln!(out, "/* {}, compiled by Fiberloom. */", kernel.name)?;
    writeln!(out, "#ifndef FL_KERNEL_{name}\n#define FL_KERNEL_{name}\n")?;
    shared(out)?;
    writeln!(out, "/*\n * Returns 0, or a code FL_… for why it stopped; the buffers are then as far as it came.\n *")?;
    for (place, var) in kernel.params.iter().enumerate() {
        let name = &kernel.vars[var.0 as usize].0;
        let solved = kernel.solved.iter().any(|(v, _)| v == var);
        let given = kernel.given.iter().any(|(v, _)| v == var);
        let of = match (solved, given) {
            (true, _) => ", that of no tensor: the equations of the shape operators say it",
            (_, true) => ", which the caller chooses",
            _ => "",
        };
        writeln!(out, " * params[{place}]: {name}, an extent{of}")?;
    }
    owed(contract, out)?;
    kernel.arguments.iter().try_for_each(|a| argument(kernel, a, contract, out))?;
    writeln!(out, " *")?;
    writeln!(out, " * Of an operand set data, len and capacity (both its number of elements); leave all others zero.")?;
    writeln!(out, " * Results and workspaces come from the runtime: `{name}_free` frees those of the default one.")?;
    writeln!(out, " */")?;
    writeln!(out, "enum {{")?;
    for (place, buffer) in kernel.buffers.iter().enumerate() {
        let role = match buffer.role {
            Role::Operand => "operand",
            Role::Result => "result",
            Role::Workspace => "workspace",
        };
        writeln!(
            out,
            "    {name}_{} = {place}, /* {role}, {}{} */",
            buffer.name,
            c_type(buffer.ty),
            if buffer.ty == Type::Bool { ", 0 or 1" } else { "" }
        )?;
    }
    writeln!(out, "    {name}_buffers_ = {}\n}};\n", kernel.buffers.len())?;
    writeln!(out, "#ifdef __cplusplus\nextern \"C\"\n#endif")?;
    writeln!(out, "int32_t {name}(fl_runtime *rt, fl_buffer *buffers, const int64_t *params);\n")?;
    writeln!(out, "static inline void {name}_free(fl_buffer *buffers)\n{{")?;
    writeln!(out, "    (void)buffers;")?;
    for (place, _) in kernel.buffers.iter().enumerate().filter(|(_, b)| b.role != Role::Operand) {
        writeln!(out, "    fl_free(&buffers[{place}]);")?;
    }
    writeln!(out, "}}")?;
    typed::write(kernel, contract, &name, out)?;
    writeln!(out, "\n#endif")
}

/// Writes the part that all kernels' headers share.
fn shared(out: &mut String) -> std::fmt::Result {
    writeln!(out, "#ifndef FL_ABI\n#define FL_ABI\n")?;
    for file in ["math", "stddef", "stdint", "stdlib"] {
        writeln!(out, "#include <{file}.h>")?;
    }
    writeln!(out, "\n/* An array: its first element, how many hold values, for how many there is room. */")?;
    writeln!(
        out,
        "typedef struct fl_buffer {{\n    void *data;\n    int64_t len;\n    int64_t capacity;\n}} fl_buffer;\n"
    )?;
    writeln!(out, "/* What kernels call. A program may fill in functions of its own. */")?;
    writeln!(out, "typedef struct fl_runtime fl_runtime;")?;
    writeln!(out, "/* Runs the iterations of a loop from `first` up to `past`. */")?;
    writeln!(
        out,
        "typedef int32_t (*fl_turns)(fl_runtime *rt, fl_buffer *buffers, const int64_t *params, int64_t *frame,"
    )?;
    writeln!(out, "                            int64_t first, int64_t past);")?;
    writeln!(
        out,
        "/* An array to which iterations append, from element `plus + times * n` on, where n is the word `counter` of the frame, or the\n \
         * iteration if that is -1. Its elements have values of the word `holds`, unless that is -1. */"
    )?;
    writeln!(
        out,
        "typedef struct fl_joined {{\n    int64_t buffer, bytes, counter, times, plus, holds;\n}} fl_joined;"
    )?;
    writeln!(
        out,
        "/* An array into whose elements iterations fold; the bits with which its elements begin in a piece. */"
    )?;
    writeln!(out, "typedef struct fl_folded {{\n    int64_t buffer, bytes, begins;\n}} fl_folded;")?;
    writeln!(
        out,
        "/* An array of positions, of which one element counts: the iteration's or, if `at` is not -1, that which the weight `at` is. */"
    )?;
    writeln!(out, "typedef struct fl_weight {{\n    int64_t buffer, bytes, at;\n}} fl_weight;")?;
    writeln!(
        out,
        "/* A loop whose iterations are independent. Threads need copies of the buffers whose numbers are `own`, and, if there are joined\n \
         * arrays, or `fold` is not null, of the `words` words of the frame. It may run again after it failed if `again` is not 0. If `fold` is\n \
         * not null, `turns` sets words of the frame to what its iterations fold, whatever was there, and `fold` folds those of a later\n \
         * frame into an earlier one. Threads need arrays of their own of those in `folded`, of which `fold_arrays` folds a later table's\n \
         * into an earlier one's; one thread, which runs all iterations at once, does not. The work before an iteration grows as its number\n \
         * and the elements of the arrays in `weights` together. */"
    )?;
    writeln!(
        out,
        "typedef struct fl_loop {{\n    fl_turns turns;\n    const int32_t *own;\n    int64_t owns, lo, hi, work;\n    const fl_joined *joined;\n    int64_t joins, words, again;\n    void (*fold)(int64_t *frame, const int64_t *later);\n    void (*fold_arrays)(fl_buffer *buffers, const fl_buffer *later);\n    const fl_folded *folded;\n    int64_t folds;\n    const fl_weight *weights;\n    int64_t weighs;\n}} fl_loop;"
    )?;
    writeln!(out, "struct fl_runtime {{")?;
    for slot in Slot::ALL {
        writeln!(out, "    {}", slot.c_field())?;
    }
    writeln!(out, "}};\n\nenum {{")?;
    for (failure, name, why) in [
        (Failure::Memory, "MEMORY", "not enough memory"),
        (Failure::Overflow, "OVERFLOW", "a number of elements does not fit its type"),
        (Failure::Positions, "POSITIONS", "a position does not fit 32 bits"),
        (Failure::Steps, "STEPS", "a limit of steps"),
        (Failure::Outside, "OUTSIDE", "a coordinate that was read leaves its tensor"),
        (Failure::Entries, "ENTRIES", "a defect of the compiler"),
        (Failure::Turns, "TURNS", "a limit of turns"),
        (Failure::Unheld, "UNHELD", "a value stands where its result's format has no place"),
    ] {
        writeln!(out, "    FL_{name} = {}, /* {why} */", code(failure))?;
    }
    writeln!(out, "}};\n\n{}", include_str!("runtime.h"))?;
    writeln!(out, "static inline fl_runtime *fl_default_runtime(void)\n{{")?;
    writeln!(out, "    static fl_runtime rt = {{")?;
    for slot in Slot::ALL {
        // The C library has the functions of floats under the names in the table.
        let standard = slot.is_pure() && !OWN.contains(&slot);
        writeln!(out, "        {}{},", if standard { "" } else { "fl_default_" }, slot.name())?;
    }
    writeln!(out, "    }};\n    return &rt;\n}}\n")?;
    writeln!(out, "/* Frees what the default runtime made. */")?;
    writeln!(out, "static inline void fl_free(fl_buffer *b)\n{{\n    free(b->data);\n    b->data = NULL;")?;
    writeln!(out, "    b->len = b->capacity = 0;\n}}\n")?;
    writeln!(out, "/* An operand's elements, which kernels only read. */")?;
    writeln!(out, "static inline void fl_lend(fl_buffer *b, const void *data, int64_t len)\n{{")?;
    writeln!(out, "    b->data = (void *)data;\n    b->len = b->capacity = len;\n}}\n\n#endif\n")
}

/// Writes the caller's obligations.
fn owed(contract: &Contract, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        " *\n * The caller owes the following, of which the kernel checks nothing: where it does not hold, memory is read"
    )?;
    writeln!(out, " * and written outside of the buffers.")?;
    writeln!(out, " * - Params are the tensors' extents, and no negative numbers.")?;
    if !contract.equations.is_empty() {
        writeln!(out, " * - Between extents holds (those that are no params follow from the others):")?;
        contract.equations.iter().try_for_each(|equation| writeln!(out, " *     {equation}"))?;
    }
    writeln!(
        out,
        " * - Indices that the program computes of index variables, as in A[i + 1], are in their extents unless marked `~`."
    )?;
    writeln!(
        out,
        " * - Operands are well-formed: pos begins with 0, never falls, and ends with the number of coordinates or values;"
    )?;
    writeln!(
        out,
        " *   a fiber's coordinates ascend, each once, from 0 to below the extent of their mode; there is one value for"
    )?;
    writeln!(out, " *   each position of the last level. The other levels' rules are in docs/format.md.")?;
    writeln!(out, " *")
}

/// Writes the description of a tensor, and its buffers.
fn argument(kernel: &Kernel, a: &Argument, contract: &Contract, out: &mut String) -> std::fmt::Result {
    let extents: Vec<&str> = a.extents.iter().map(|v| kernel.vars[v.0 as usize].0.as_str()).collect();
    let role = if a.operand { "operand" } else { "result" };
    writeln!(out, " * {role} {}: {}[{}] {}, fill {}", a.name, a.ty, extents.join(", "), a.format, a.fill)?;
    if let Some(declared) = contract.declared.get(&a.name).filter(|_| !a.operand) {
        writeln!(out, " *   declared {declared}, which the library makes of it: a kernel returns what is said here")?;
    }
    let place = |b: BufferId| format!("buffers[{}] ({})", b.0, kernel.buffers[b.0 as usize].name);
    for (level, buffers) in a.levels.iter().enumerate() {
        let arrays: Vec<String> =
            buffers.buffers().map(|(b, holds)| format!("{} {}", holds.name(), place(b))).collect();
        let stored = if arrays.is_empty() { "dense, nothing stored".to_string() } else { arrays.join(", ") };
        writeln!(out, " *   level {level}: {stored}")?;
    }
    writeln!(out, " *   values {}", place(a.values))
}

/// The element type in C.
fn c_type(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "uint8_t",
        Type::I8 => "int8_t",
        Type::I16 => "int16_t",
        Type::I32 => "int32_t",
        Type::I64 => "int64_t",
        Type::U8 => "uint8_t",
        Type::U16 => "uint16_t",
        Type::U32 => "uint32_t",
        Type::U64 => "uint64_t",
        Type::F32 => "float",
        Type::F64 => "double",
    }
}
