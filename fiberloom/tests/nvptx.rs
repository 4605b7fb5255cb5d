//! The engine `nvptx` with a driver whose GPU is the machine for PTX (`fuzz/driver`): what is uploaded, launched and brought back, and what
//! is refused.

use fiberloom::{Engine, Kernel, Operand, Options, Program, Tensor, operands};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Entries of a matrix and a vector, by files.
const A: &str = "# extents 4 5\n1 1 2\n1 4 3\n3 2 5\n4 5 7\n";
const X: &str = "# extents 5\n1 1\n2 10\n3 100\n4 1000\n5 10000\n";

/// Two statements that read the same matrix: each is a launch.
const TWICE: &str = "tensor A: f64[I, J] csr\ntensor x: f64[J]\ntensor y: f64[I]\ntensor z: f64[I]\n\
                     y[i] = A[i,j] * x[j]\nz[i] = sum(j: A[i,j]) * y[i]\n";

/// A folder with a program, its data, and a driver.
struct Made {
    folder: PathBuf,
}

impl Drop for Made {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// What a run came to: the exit status, what it printed, and the driver's log.
struct Ran {
    status: i32,
    printed: String,
    said: String,
    log: Vec<String>,
}

impl Ran {
    /// How many calls of a function there were.
    fn calls(&self, function: &str) -> usize {
        self.log.iter().filter(|line| line.starts_with(&format!("{function} "))).count()
    }
}

impl Made {
    fn new(name: &str, program: &str) -> Made {
        let folder = std::env::temp_dir().join(format!("fiberloom-nvptx-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let made = Made { folder };
        for (file, text) in [("p.loom", program), ("A.tns", A), ("x.tns", X)] {
            std::fs::write(made.folder.join(file), text).unwrap();
        }
        // The driver stands beside this program, where Cargo has built it.
        let built = std::env::current_exe().unwrap().with_file_name("libfiberloom_driver.so");
        std::os::unix::fs::symlink(&built, made.folder.join("libcuda.so")).unwrap();
        assert!(made.folder.join("libcuda.so").exists(), "{} is not there", built.display());
        made
    }

    fn run(&self, settings: &[(&str, &str)], args: &[&str]) -> Ran {
        let log = self.folder.join("log");
        let _ = std::fs::remove_file(&log);
        let mut command = Command::new(env!("CARGO_BIN_EXE_fiberloom"));
        command.current_dir(&self.folder).args(["run", "p.loom", "--in", "A=A.tns", "--in", "x=x.tns"]);
        command.args(args).env("LD_LIBRARY_PATH", self.libraries()).env("FIBERLOOM_DRIVER_LOG", &log);
        command.envs(settings.iter().map(|(name, value)| (format!("FIBERLOOM_DRIVER_{name}"), value)));
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let log = std::fs::read_to_string(log).unwrap_or_default();
        Ran {
            status: output.status.code().expect("it ends by itself"),
            printed: text(&output.stdout),
            said: text(&output.stderr),
            log: log.lines().map(str::to_string).collect(),
        }
    }

    /// Where libraries are looked for: here first.
    fn libraries(&self) -> std::ffi::OsString {
        let before = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        std::env::join_paths(std::iter::once(self.folder.clone()).chain(std::env::split_paths(&before))).unwrap()
    }
}

/// Runs the body of a test in a process of its own, which finds our driver. It is given what counts the driver's calls of a function so
/// far, by the bytes that each is about.
fn with_driver(test: &str, settings: &[(&str, &str)], body: impl FnOnce(&dyn Fn(&str) -> Vec<usize>)) {
    const LOG: &str = "FIBERLOOM_DRIVER_LOG";
    if let Some(log) = std::env::var_os(LOG) {
        return body(&|function| {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            let calls = text.lines().filter_map(|line| line.strip_prefix(function)?.strip_prefix(' '));
            calls.map(|bytes| bytes.parse().unwrap()).collect()
        });
    }
    let made = Made::new(test, TWICE);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("nvptx::{test}"), "--exact"]).env("LD_LIBRARY_PATH", made.libraries());
    command.env(LOG, made.folder.join("log"));
    command.envs(settings.iter().map(|(name, value)| (format!("FIBERLOOM_DRIVER_{name}"), value)));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// A program of one statement for a GPU.
fn kernel(text: &str) -> Kernel {
    Program::parse(text).unwrap().compile(&Options { engine: Engine::Nvptx, ..Options::default() }).unwrap()
}

const PRODUCT: &str = "tensor A: f64[I, J] csr  tensor x: f64[J] dense  y[i] = A[i,j] * x[j]";

/// [2 0 3; 0 5 0]: 12 bytes of positions, 12 of coordinates, 24 of values.
fn matrix() -> Tensor<'static> {
    Tensor::csr(2, 3, vec![0i32, 2, 3], vec![0i32, 2, 1], vec![2.0, 3.0, 5.0]).unwrap()
}

/// Operands are uploaded by the first run of a call alone, and freed with it.
#[test]
fn operands_stay_between_runs() {
    with_driver("operands_stay_between_runs", &[], |calls| {
        let (kernel, a, x) = (kernel(PRODUCT), matrix(), [1.0, 10.0, 100.0]);
        let mut call = kernel.bind(&operands! { A: &a, x: &x }).unwrap();
        let mut uploaded = vec![];
        for n in 0..3 {
            assert_eq!(call.run().unwrap().dense::<f64>("y").unwrap(), [302.0, 50.0]);
            let all = calls("cuMemcpyHtoD");
            let mut now = all[uploaded.len()..].to_vec();
            now.sort_unstable();
            // The result's 16 bytes go there with each launch, as it may be written in part.
            assert_eq!(now, if n == 0 { vec![12, 12, 16, 24, 24] } else { vec![16] });
            uploaded = all;
        }
        // Another call has operands of its own.
        let other = kernel.run(&operands! { A: &a, x: &[1.0, 0.0, 0.0] }).unwrap();
        assert_eq!(other.dense::<f64>("y").unwrap(), [2.0, 0.0]);
        assert_eq!(call.run().unwrap().dense::<f64>("y").unwrap(), [302.0, 50.0]);
        assert_eq!(calls("cuMemAlloc").len(), calls("cuMemFree").len() + 4, "four operands stay");
        drop(call);
        assert_eq!(calls("cuMemAlloc").len(), calls("cuMemFree").len());
    });
}

/// Values that others may write to are uploaded by each run, once, and nothing of them stays.
#[test]
fn values_that_may_change_are_uploaded_by_each_run() {
    with_driver("values_that_may_change_are_uploaded_by_each_run", &[], |calls| {
        // Two launches read x.
        let kernel = kernel(&format!("{PRODUCT}\nz[i] = A[i,j] * (x[j] + y[i])"));
        let (a, x) = (matrix(), [1.0, 10.0, 100.0]);
        let mut call = kernel.bind(&operands! { A: &a, x: Operand::from(&x).changing() }).unwrap();
        for n in 1..4 {
            let outcome = call.run().unwrap();
            assert_eq!(outcome.dense::<f64>("z").unwrap(), [302.0 + 5.0 * 302.0, 50.0 + 5.0 * 50.0]);
            let of_24 = calls("cuMemcpyHtoD").iter().filter(|bytes| **bytes == 24).count();
            assert_eq!(of_24, 1 + n, "the matrix's values once, the vector's by each run");
            let kept = calls("cuMemAlloc").len() - calls("cuMemFree").len();
            assert_eq!(kept, 3, "the matrix");
        }
    });
}

/// What calls keep between their runs is given up where another needs the memory, and is uploaded again; what does not fit alone is refused.
#[test]
fn memory_that_is_kept_is_given_up() {
    // The engine leaves 64 MiB free.
    let memory = (64 << 20) + 100_000;
    with_driver("memory_that_is_kept_is_given_up", &[("MEMORY", &memory.to_string())], |calls| {
        let kernel = kernel("tensor x: i64[N] dense  z[] = sum(i: x[i])");
        let (ones, twos, long) = (vec![1i64; 8000], vec![2i64; 8000], vec![3i64; 16000]);
        let mut first = kernel.bind(&operands! { x: &ones }).unwrap();
        let mut second = kernel.bind(&operands! { x: &twos }).unwrap();
        for _ in 0..2 {
            assert_eq!(first.run().unwrap().dense::<i64>("z").unwrap(), [8000]);
            assert_eq!(second.run().unwrap().dense::<i64>("z").unwrap(), [16000]);
        }
        let of_vectors = calls("cuMemcpyHtoD").iter().filter(|bytes| **bytes == 64_000).count();
        assert_eq!(of_vectors, 4, "each run has pushed the other's operand out");
        let refused = kernel.run(&operands! { x: &long }).unwrap_err();
        assert_eq!(refused.exit(), 5, "{refused}");
        assert_eq!(second.run().unwrap().dense::<i64>("z").unwrap(), [16000]);
        drop((first, second));
        assert_eq!(calls("cuMemAlloc").len(), calls("cuMemFree").len());
    });
}

/// What programs mean is what launches make; operands go to the GPU once, results come back, and all memory is freed.
#[test]
fn launches_make_what_programs_mean() {
    let made = Made::new("means", TWICE);
    let ran = made.run(&[], &["--engine", "nvptx", "--check", "--json"]);
    assert_eq!(ran.status, 0, "{}", ran.said);
    assert_eq!(ran.calls("cuLaunchKernel"), 2, "{:?}", ran.log);
    assert!(ran.printed.contains("\"gpu_nanoseconds\": 500000"), "{}", ran.printed);
    // Rows of two entries at most: a thread has one.
    assert!(ran.printed.contains("\"schedule\": []"), "{}", ran.printed);
    // The positions of rows, of which both launches have need.
    assert_eq!(ran.log.iter().filter(|line| *line == "cuMemcpyHtoD 20").count(), 1, "{:?}", ran.log);
    assert_eq!(ran.calls("cuMemAlloc"), ran.calls("cuMemFree"), "{:?}", ran.log);
    let often = made.run(&[], &["--engine", "nvptx", "--check", "--repeat", "3", "--json"]);
    assert_eq!((often.status, often.calls("cuLaunchKernel")), (0, 6), "{}", often.said);
    assert_eq!(often.log.iter().filter(|line| *line == "cuMemcpyHtoD 20").count(), 1, "{:?}", often.log);
    assert_eq!(often.calls("cuMemAlloc"), often.calls("cuMemFree"), "{:?}", often.log);
    let by_machine = made.run(&[], &["--engine", "ptx", "--check"]);
    let plain = made.run(&[], &["--engine", "nvptx", "--check"]);
    assert_eq!(plain.printed, by_machine.printed);
    assert!(by_machine.log.is_empty(), "the machine asks no driver: {:?}", by_machine.log);
}

/// Threads that fold into one place, lanes that share an iteration, sums over a whole loop, and what blocks make of shared memory come back,
/// too.
#[test]
fn folds_and_lanes_come_back() {
    let programs = [
        ("folded", "y[i] = A[i,j] * x[j]\nz[] = sum(i: y[i])\n"),
        (
            "scattered",
            "y[i] = A[i,j] * x[j]\nz[j] += A[i,j] * y[i] schedule { parallelize(i, gpu_thread, atomics); }\n",
        ),
        ("lanes", "y[i] = A[i,j] * x[j] schedule { parallelize(j, gpu_thread, parallel_reduction); }\n"),
        // Counted by one launch, written by another.
        ("appended", "tensor y: f64[I, J] csr\ny[i,j] = A[i,j] * x[j] + A[i, J - 1 - j]\n"),
        // A row is spread over its coordinates in the memory that a block shares.
        (
            "shared",
            "tensor y: f64[I, J]\ny[i,k] = A[i,j] * x[j] * x[k] schedule { precompute(A[i,j], j -> jw, W); store(W, dense); bound(j, 5);
             reorder(i, k, j); parallelize(i, gpu_block, no_races); parallelize(k, gpu_thread, no_races); }\n",
        ),
    ];
    for (name, statements) in programs {
        let made = Made::new(name, &format!("tensor A: f64[I, J] csr\ntensor x: f64[J]\n{statements}"));
        let ran = made.run(&[], &["--engine", "nvptx", "--check"]);
        assert_eq!(ran.status, 0, "{name}: {}", ran.said);
        assert!(ran.calls("cuLaunchKernel") > 0, "{name}: {:?}", ran.log);
        assert_eq!(ran.printed, made.run(&[], &["--engine", "loops", "--check"]).printed, "{name}");
    }
}

/// Each GPU from Volta on has its code; an older one is refused.
#[test]
fn a_gpu_has_its_own_code() {
    let made = Made::new("capability", TWICE);
    for capability in ["7.0", "7.5", "8.6", "9.0", "12.0"] {
        assert_eq!(
            made.run(&[("CAPABILITY", capability)], &["--engine", "nvptx", "--check"]).status,
            0,
            "{capability}"
        );
    }
    let old = made.run(&[("CAPABILITY", "6.1")], &["--engine", "nvptx"]);
    assert_eq!(old.status, 4, "{}", old.said);
    assert!(old.said.contains("compute capability 6.1, and 7.0 is the least"), "{}", old.said);
}

/// What the driver refuses is said with its words: status 4; what memory does not hold has status 5, before anything is launched.
#[test]
fn what_the_driver_refuses_is_said() {
    let made = Made::new("refused", TWICE);
    let cases = [
        ("cuInit", 4, "no NVIDIA GPU answers: no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE)"),
        ("cuModuleLoadData", 4, "the driver does not load the program: a PTX JIT compilation failed"),
        ("cuLaunchKernel", 4, "the GPU: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)"),
        ("cuMemAlloc", 5, "memory"),
    ];
    for (function, status, says) in cases {
        let ran = made.run(&[("FAILS", function)], &["--engine", "nvptx"]);
        assert_eq!(ran.status, status, "{function}: {}", ran.said);
        assert!(ran.said.contains(says), "{function}: {}", ran.said);
    }
    let small = made.run(&[("MEMORY", "1000")], &["--engine", "nvptx"]);
    assert_eq!((small.status, small.calls("cuLaunchKernel")), (5, 0), "{}", small.said);
}

/// The bench for GPUs runs every plan of its kernels on every family, and finds no wrong values; a peer's times stand beside.
#[test]
fn the_bench_for_gpus_runs() {
    let made = Made::new("bench", TWICE);
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/gpu.py");
    // What the script asks of CuPy.
    let cupy = "class A:\n  reshape = __matmul__ = __add__ = lambda self, *_: self\narray = lambda _: A()\nclass cuda:\n  \
                get_elapsed_time = lambda *_: 0.5\n  class Event:\n    record = synchronize = lambda _: None\n";
    let sparse = "from cupy import A\nclass sparse:\n  csr_matrix = lambda _, shape: A()\n";
    std::fs::create_dir_all(made.folder.join("cupyx/scipy")).unwrap();
    std::fs::write(made.folder.join("cupy.py"), cupy).unwrap();
    std::fs::write(made.folder.join("cupyx/scipy/__init__.py"), sparse).unwrap();
    let mut command = Command::new("python3");
    command.arg(bench).args([env!("CARGO_BIN_EXE_fiberloom"), "--entries", "60", "--repeat", "1", "--peers", "CuPy"]);
    let output = command
        .env("PYTHONPATH", &made.folder)
        .env("LD_LIBRARY_PATH", made.libraries())
        .output()
        .expect("Python is installed");
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{table}{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = table.lines().filter(|line| line.starts_with("| S")).collect();
    assert_eq!(lines.len(), (5 + 3 + 3 + 2 + 1 + 4) * 4, "{table}");
    let peer = lines.iter().filter(|line| line.contains("| CuPy | 0.5000 |")).count();
    assert_eq!((peer, table.matches("CuPy takes ").count()), (4 * 4, 4), "{table}");
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.contains("CuPy")).collect();
    // What appends is launched twice.
    let takes =
        |line: &str| if line.starts_with("| SpAdd") || line.starts_with("| SpG") { "| 0.5000 |" } else { "| 0.2500 |" };
    assert!(lines.iter().all(|line| line.contains(takes(line)) && line.ends_with("|  |")), "{table}");
}

/// Where there is no driver, a call says what to install.
#[test]
fn without_a_driver_a_call_says_what_to_install() {
    if Path::new("/dev/nvidiactl").exists() {
        return;
    }
    let made = Made::new("absent", TWICE);
    std::fs::remove_file(made.folder.join("libcuda.so")).unwrap();
    let ran = made.run(&[], &["--engine", "nvptx"]);
    assert_eq!(ran.status, 4, "{}", ran.said);
    assert!(ran.said.contains("install NVIDIA's driver") && ran.said.contains("`--engine ptx`"), "{}", ran.said);
    let json = made.run(&[], &["--engine", "nvptx", "--json"]);
    assert!(json.printed.contains("\"device\""), "{}", json.printed);
}

/// What `examples/c/gpu.c` needs of NVIDIA's `cuda.h`.
const CUDA_H: &str = "#include <stddef.h>
typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct context *CUcontext;
typedef struct module *CUmodule;
typedef struct function *CUfunction;
typedef struct stream *CUstream;
#define CUDA_SUCCESS 0
#define cuMemAlloc cuMemAlloc_v2
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2
#define cuMemcpyDtoHAsync cuMemcpyDtoHAsync_v2
CUresult cuInit(unsigned);
CUresult cuDeviceGet(CUdevice *, int);
CUresult cuDevicePrimaryCtxRetain(CUcontext *, CUdevice);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuModuleLoadData(CUmodule *, const void *);
CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void *, size_t, CUstream);
CUresult cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, CUstream);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **);
CUresult cuStreamSynchronize(CUstream);
";

/// The example of the documents, a C program that launches a kernel by what the header says, on the driver.
#[test]
fn a_c_program_launches_by_the_header() {
    let made = Made::new("c", TWICE);
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/c").canonicalize().unwrap();
    std::fs::write(made.folder.join("cuda.h"), CUDA_H).unwrap();
    let built = Command::new(env!("CARGO_BIN_EXE_fiberloom"))
        .current_dir(&made.folder)
        .arg("build")
        .arg(example.join("spmv.loom"))
        .args(["--ptx", "spmv.ptx", "--header", "spmv.h", "--name", "spmv"])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let header = std::fs::read_to_string(made.folder.join("spmv.h")).unwrap();
    assert!(header.contains("launch spmv_0, with first = 0 and last = n_I"), "{header}");
    let mut compiler = Command::new("cc");
    compiler.current_dir(&made.folder).args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-I.", "-L."]);
    let Ok(compiled) = compiler.arg(example.join("gpu.c")).args(["-lcuda", "-o", "spmv"]).output() else {
        eprintln!("skipped: there is no compiler called `cc`");
        return;
    };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let mut program = Command::new(made.folder.join("spmv"));
    let ran = program.current_dir(&made.folder).env("LD_LIBRARY_PATH", made.libraries()).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    // 1·1 + 2·100, nothing, 3·10 + 4·100.
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "y[0] = 201\ny[1] = 0\ny[2] = 430\n");
}
