//! Objects and headers, as a C program uses them.

use crate::common::*;
use fiberloom_codegen::{Contract, Cpu, Options, assembly, header, llvm_ir, object, symbol};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory of this test's own.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Compiles `main` with the kernels' headers and objects, runs it, and gives what it prints; `None` without a compiler.
fn run_in_c(name: &str, kernels: &[&str], main: &str) -> Option<String> {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("skipped: there is no C compiler called `cc`");
        return None;
    }
    let dir = directory(name);
    let options = Options { cpu: Cpu::Baseline, ..Options::default() };
    let mut command = Command::new("cc");
    command.current_dir(&dir).args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-o", "program", "main.c"]);
    for text in kernels {
        let kernel = kernel(text);
        std::fs::write(dir.join(format!("{}.h", kernel.name)), header(&kernel, &Contract::default())).unwrap();
        std::fs::write(dir.join(format!("{}.o", kernel.name)), object(&kernel, &options).unwrap()).unwrap();
        command.arg(format!("{}.o", kernel.name));
    }
    std::fs::write(dir.join("main.c"), main).unwrap();
    let made = command.arg("-lm").output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let ran = Command::new(dir.join("program")).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    Some(String::from_utf8(ran.stdout).unwrap())
}

#[test]
fn a_c_program_calls_two_kernels() {
    let main = r#"
        #include "spadd.h"
        #include "spmv.h"
        #include <stdio.h>
        static int32_t pos[] = {0, 2, 2, 3}, crd[] = {0, 2, 1};
        static double vals[] = {1, 2, 3}, x[] = {1, 10, 100};
        static fl_buffer of(void *data, int64_t len) { fl_buffer b = {data, len, len}; return b; }
        int main(void) {
            int64_t extents[] = {3, 3};
            fl_buffer b[spmv_buffers_] = {of(pos, 4), of(crd, 3), of(vals, 3), of(x, 3)};
            if (spmv(fl_default_runtime(), b, extents)) return 1;
            double *y = b[spmv_y_vals].data;
            for (int i = 0; i < b[spmv_y_vals].len; i++) printf("%g ", y[i]);
            spmv_free(b);
            fl_buffer s[spadd_buffers_] = {of(pos, 4), of(crd, 3), of(vals, 3), of(pos, 4), of(crd, 3), of(vals, 3)};
            if (spadd(fl_default_runtime(), s, extents)) return 2;
            for (int p = 0; p < s[spadd_C_vals].len; p++)
                printf("%d:%g ", ((int32_t *)s[spadd_C_crd].data)[p], ((double *)s[spadd_C_vals].data)[p]);
            spadd_free(s);
            return 0;
        }"#;
    if let Some(printed) = run_in_c("two", &[SPMV, SPADD], main) {
        assert_eq!(printed, "201 0 30 0:2 2:4 1:6 ");
    }
}

#[test]
fn the_default_runtime_sorts_fills_and_calls_the_library() {
    let main = r#"
        #include "sorted.h"
        #include <stdio.h>
        int main(void) {
            int64_t keys[] = {5, -3, 5, 0, 9, -3}, n[] = {6};
            fl_buffer b[sorted_buffers_] = {{keys, 6, 6}};
            if (sorted(fl_default_runtime(), b, n)) return 1;
            for (int k = 0; k < 6; k++)
                printf("%d,%d,%g ", (int)((int64_t *)b[sorted_s_vals].data)[k],
                       (int)((int64_t *)b[sorted_o_vals].data)[k], ((double *)b[sorted_e_vals].data)[k]);
            sorted_free(b);
            return 0;
        }"#;
    if let Some(printed) = run_in_c("sorted", &[SORTED], main) {
        assert_eq!(printed, "-3,1,8 -3,5,8 0,3,8 5,0,8 5,2,8 9,4,8 ");
    }
}

/// A block whose turns make a vector anew, in the memory of the one before.
const TURNS: &str = "\
kernel turns(n)
  operand x_vals: f64
  result y_vals: f64
  workspace z: f64
  in x@0: f64[n] {dense} at dense, x_vals
  out y@1: f64[n] {dense} at dense, y_vals

  alloc y_vals[n]
  for i in 0..n {
    y_vals[i] = x_vals[i]
  }
  finish y_vals[n]
  for turn in 0..3 {
    alloc z[n]
    for j in 0..n {
      z[j] = y_vals[j] * 2.0 + y_vals[0]
    }
    finish z[n]
    move y_vals from z
  }
";

#[test]
fn a_c_program_calls_a_kernel_with_a_block() {
    let main = r#"
        #include "turns.h"
        #include <stdio.h>
        int main(void) {
            double x[] = {1, 2, 3};
            int64_t n[] = {3};
            fl_buffer b[turns_buffers_] = {{x, 3, 3}};
            if (turns(fl_default_runtime(), b, n)) return 1;
            for (int i = 0; i < b[turns_y_vals].len; i++) printf("%g ", ((double *)b[turns_y_vals].data)[i]);
            turns_free(b);
            return 0;
        }"#;
    if let Some(printed) = run_in_c("turns", &[TURNS], main) {
        assert_eq!(printed, "27 35 43 ");
    }
}

/// NumPy's `floor_divide` and `remainder` of these.
#[test]
fn the_default_runtime_rounds_quotients_down() {
    let text = "kernel floors(n_I)
  operand a_vals: f64, b_vals: f64
  result q_vals: f64, r_vals: f64
  in a@0: f64[n_I] {dense} at dense, a_vals
  in b@1: f64[n_I] {dense} at dense, b_vals
  out q@2: f64[n_I] {dense} at dense, q_vals
  out r@3: f64[n_I] {dense} at dense, r_vals

  alloc q_vals[n_I]
  alloc r_vals[n_I]
  for i in 0..n_I {
    q_vals[i] = floordiv(a_vals[i], b_vals[i])
    r_vals[i] = floormod(a_vals[i], b_vals[i])
  }
  finish q_vals[n_I]
  finish r_vals[n_I]
";
    let main = r#"
        #include "floors.h"
        #include <stdio.h>
        int main(void) {
            double x[] = {7, -7, 7, -5.5, 6}, y[] = {2, 2, -2, -2, 3};
            int64_t n[] = {5};
            fl_buffer b[floors_buffers_] = {{x, 5, 5}, {y, 5, 5}};
            if (floors(fl_default_runtime(), b, n)) return 1;
            for (int k = 0; k < 5; k++)
                printf("%g,%g ", ((double *)b[floors_q_vals].data)[k], ((double *)b[floors_r_vals].data)[k]);
            floors_free(b);
            return 0;
        }"#;
    if let Some(printed) = run_in_c("floors", &[text], main) {
        assert_eq!(printed, "3,1 -4,1 -4,-1 2,-1.5 2,0 ");
    }
}

#[test]
fn names_that_c_has_taken_are_changed() {
    for (name, want) in [
        ("spmv", "spmv"),
        ("SPMV", "SPMV"),
        ("double", "kernel_double"),
        ("sinf", "kernel_sinf"),
        ("fl_x", "kernel_fl_x"),
        ("FL_MEMORY", "kernel_FL_MEMORY"),
        ("NULL", "kernel_NULL"),
        ("int32_t", "kernel_int32_t"),
        ("int", "kernel_int"),
        ("xor", "kernel_xor"),
    ] {
        let k = kernel(&SPMV.replace("spmv", name));
        assert_eq!(symbol(&k), want);
        assert!(header(&k, &Contract::default()).contains(&format!("int32_t {want}(fl_runtime *rt")));
    }
}

/// No kernel's function is called as a macro that its header defines or includes; the compiler here says which those are.
#[test]
fn no_kernel_is_called_as_a_macro() {
    let dir = directory("macros");
    std::fs::write(dir.join("spmv.h"), header(&kernel(SPMV), &Contract::default())).unwrap();
    for language in ["c", "c++"] {
        let listed = Command::new("cc").current_dir(&dir).args(["-dM", "-E", "-x", language, "spmv.h"]).output();
        let Ok(listed) = listed.map(|l| String::from_utf8(l.stdout).unwrap()) else { return };
        let macros = listed.lines().filter_map(|line| line.split([' ', '(']).nth(1));
        for name in macros.filter(|name| *name != "FL_KERNEL_spmv") {
            let symbol = symbol(&kernel(&SPMV.replace("spmv", name)));
            assert!(symbol.starts_with("kernel_"), "{name} is {symbol}");
        }
    }
}

/// A header compiles whose kernel is called as a code or a macro is.
#[test]
fn headers_of_kernels_with_taken_names_compile() {
    let named = |name: &str| SPMV.replace("spmv", name);
    let main = r#"
        #include "FL_MEMORY.h"
        #include "NULL.h"
        int main(void) { return kernel_FL_MEMORY == kernel_NULL || NULL != 0; }"#;
    run_in_c("taken", &[&named("FL_MEMORY"), &named("NULL")], main);
}

/// Whatever word C or C++ has, the header of a kernel that is called so is read by both compilers.
#[test]
fn headers_of_kernels_that_are_called_as_reserved_words_compile() {
    let words = "auto break case char const continue default do double else enum extern float for goto if inline int long \
        register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Bool \
        _Complex _Imaginary _Alignas _Atomic _Generic _Noreturn _Static_assert _Thread_local alignas alignof and and_eq asm \
        bitand bitor bool catch char8_t char16_t char32_t class co_await co_return co_yield compl concept consteval \
        constexpr constinit const_cast decltype delete dynamic_cast explicit export false friend mutable namespace new \
        noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast requires static_assert \
        static_cast template this thread_local throw true try typeid typename typeof typeof_unqual using virtual wchar_t \
        xor xor_eq main std";
    let dir = directory("words");
    let mut all = String::new();
    for word in words.split_whitespace() {
        all.push_str(&header(&kernel(&SPMV.replace("spmv", word)), &Contract::default()));
    }
    std::fs::write(dir.join("all.h"), all + "int main(void) { return 0; }\n").unwrap();
    for (compiler, language, standard) in
        [("cc", "c", "-std=c99"), ("cc", "c", "-std=gnu2x"), ("c++", "c++", "-std=c++11"), ("c++", "c++", "-std=c++20")]
    {
        let args = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", standard, "-x", language, "all.h"];
        let Ok(read) = Command::new(compiler).current_dir(&dir).args(args).output() else {
            eprintln!("skipped: there is no compiler called `{compiler}`");
            continue;
        };
        assert!(read.status.success(), "{standard}: {}", String::from_utf8_lossy(&read.stderr));
    }
}

#[test]
fn ir_and_assembly_are_the_kernels() {
    let spmm = kernel(SPMM);
    let ir = llvm_ir(&spmm, &Options::default()).unwrap();
    assert!(ir.contains("define i32 @spmm(") && ir.contains("!alias.scope"), "{ir}");
    let text = assembly(&spmm, &Options { cpu: Cpu::Baseline, ..Options::default() }).unwrap();
    assert!(text.contains("spmm:") && text.contains("mulpd"), "the inner loop is not vectorized:\n{text}");
    assert!(!text.contains('\0'));
}
