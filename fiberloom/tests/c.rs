//! Kernels in C and C++: the example of `docs/c.md`, and the header's structs on every kind of level.

use fiberloom::{Array, Assembly, Entries, Level, Mode, Program, Type, Value};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compilers that are asked: a name, and how it reads `main.c`.
const COMPILERS: [(&str, &[&str]); 2] = [("cc", &["-std=c99"]), ("c++", &["-std=c++11", "-x", "c++"])];

/// A directory of a test's own.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// What the program of a directory prints, by each compiler that there is.
fn printed(dir: &Path, main: &Path, objects: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    for (compiler, language) in COMPILERS {
        let mut command = Command::new(compiler);
        command.current_dir(dir).args(["-Wall", "-Wextra", "-Werror", "-I."]).args(language).arg(main);
        let made = command.args(["-x", "none"]).args(objects).args(["-lm", "-o", compiler]).output();
        let Ok(made) = made else {
            eprintln!("skipped: there is no compiler called `{compiler}`");
            continue;
        };
        assert!(made.status.success(), "{compiler}: {}", String::from_utf8_lossy(&made.stderr));
        let ran = Command::new(dir.join(compiler)).output().unwrap();
        assert!(ran.status.success(), "{compiler}: {ran:?}");
        all.push(String::from_utf8(ran.stdout).unwrap());
    }
    all
}

#[test]
fn the_example_of_the_documents_runs() {
    let dir = directory("c_example");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/c");
    let built = Command::new(env!("CARGO_BIN_EXE_fiberloom"))
        .current_dir(&dir)
        .arg("build")
        .arg(example.join("product.loom"))
        .args(["-o", "product.o", "--header", "product.h", "--name", "product"])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    for text in printed(&dir, &example.join("main.c").canonicalize().unwrap(), &["product.o".to_string()]) {
        let expected = "row 0: C[0,1] = 19 sum 19\nrow 1: sum 0\nrow 2: C[2,0] = 18 C[2,1] = 28 sum 46\n";
        assert_eq!(text, expected);
    }
}

/// An array as C declares and initializes it; of none, one element that nobody reads.
fn c_array(name: &str, array: &Array) -> String {
    let ty = match array.ty() {
        Type::Bool => "uint8_t",
        Type::I32 => "int32_t",
        Type::U64 => "uint64_t",
        Type::F64 => "double",
        other => panic!("no array of these tests has type {other}"),
    };
    let element = |v: Value| match v.ty() {
        Type::Bool => v.bits().to_string(),
        Type::U64 => format!("{v}u"),
        _ => v.to_string(),
    };
    let elements: Vec<String> = array.iter().map(element).collect();
    let elements = if elements.is_empty() { "0".to_string() } else { elements.join(", ") };
    format!("static const {ty} {name}[] = {{{elements}}};\n")
}

/// The sum of each row of a lower triangle of 3 rows, whatever the level that its rows are stored in: a call in C has to say
/// no length but that of a hash table.
#[test]
fn structs_take_every_kind_of_level() {
    let kinds = [
        "dense",
        "compressed",
        "hashed",
        "bitmap",
        "bytemap",
        "band",
        "ragged",
        "lower",
        "runs",
        "vbl",
        "blocked",
        "packbits",
        "nonunique",
    ];
    let entries = [([0, 0], 1.0), ([1, 0], 2.0), ([1, 1], 3.0), ([2, 0], 4.0), ([2, 1], 4.0), ([2, 2], 5.0)];
    let entries = Entries::of(2, Type::F64, entries.map(|(at, x)| (at.to_vec(), Value::from(x)))).unwrap();
    let dir = directory("c_levels");
    let (mut head, mut calls, mut objects) = ("#include <stdio.h>\n".to_string(), String::new(), Vec::new());
    for kind in kinds {
        let text = format!("tensor A: f64[I, I] {{dense, {kind}}}  tensor y: f64[I] dense  y[i] = A[i,j]");
        let program = Program::parse(&text).unwrap();
        let format = program.format(program.tensor("A").unwrap().0);
        let a = entries.assemble(&[3, 3], format, Value::from(0.0), &Assembly::default()).unwrap();
        let name = format!("of_{kind}");
        let (object, header) = program.object(Mode::Algebraic, &name).unwrap();
        std::fs::write(dir.join(format!("{name}.o")), object).unwrap();
        std::fs::write(dir.join(format!("{name}.h")), header).unwrap();
        objects.push(format!("{name}.o"));
        writeln!(head, "#include \"{name}.h\"").unwrap();
        let arrays: Vec<&Array> = a.levels.iter().flat_map(Level::arrays).chain([&a.values]).collect();
        let mut fields = Vec::new();
        for (place, array) in arrays.iter().enumerate() {
            head += &c_array(&format!("{name}_{place}"), array);
            fields.push(format!("{name}_{place}"));
            if matches!(&a.levels[1], Level::Hashed { table, .. } if std::ptr::eq(table, *array)) {
                fields.push(array.len().to_string());
            }
        }
        let fields = fields.join(", ");
        writeln!(
            calls,
            "{{ struct {name}_A A = {{{fields}}}; struct {name}_y y; if ({name}_call(3, A, &y)) return 1;
               printf(\"%g %g %g\\n\", y.y_vals[0], y.y_vals[1], y.y_vals[2]); {name}_free_y(&y); }}"
        )
        .unwrap();
    }
    let main = dir.join("main.c");
    std::fs::write(&main, format!("{head}int main(void) {{\n{calls}return 0; }}\n")).unwrap();
    for text in printed(&dir, &main, &objects) {
        assert_eq!(text, "1 5 13\n".repeat(kinds.len()));
    }
}

/// Names that C has for something else, results that are operands' arrays, and a kernel that stops: what is not made points nowhere.
#[test]
fn structs_of_awkward_programs() {
    let dir = directory("c_awkward");
    let text = "tensor int: f64[n] dense  tensor B: f64[n, n] csr  tensor C: f64[n, n] csr  tensor y: f64[n] dense
        C[i,j] = B[i,j]  y[i] = y[i] + int[i]";
    let (object, header) = Program::parse(text).unwrap().object(Mode::Algebraic, "class").unwrap();
    std::fs::write(dir.join("k.o"), object).unwrap();
    std::fs::write(dir.join("k.h"), header).unwrap();
    let main = r#"
        #include "k.h"
        #include <stdio.h>
        static const int32_t pos[] = {0, 1, 2}, crd[] = {1, 0};
        static const double values[] = {3, 4}, one[] = {1, 2}, other[] = {10, 20};
        int main(void) {
            struct kernel_class_tensor_int a = {one};
            struct kernel_class_B b = {pos, crd, values};
            struct kernel_class_y before = {other};
            struct kernel_class_C c;
            struct kernel_class_y_ after;
            if (kernel_class_call(2, b, before, a, &c, &after)) return 1;
            printf("%d %d %g %g\n", c.B1_pos == pos, (int)c.B_vals_len, after.y_vals[0], after.y_vals[1]);
            kernel_class_free_C(&c);
            kernel_class_free_y_(&after);
            return c.B_vals != NULL;
        }"#;
    std::fs::write(dir.join("main.c"), main).unwrap();
    for text in printed(&dir, &dir.join("main.c"), &["k.o".to_string()]) {
        assert_eq!(text, "1 2 11 22\n");
    }
}
