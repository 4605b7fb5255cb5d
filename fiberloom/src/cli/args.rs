//! The table of commands and options. Parsing, each command's `--help`, the man pages and the completions are made of it.
//!
//! ```text
//!  Command ─┬ Run ──────┐
//!           ├ Show ─────┼─ Program ── Source: a file, `-`, or `-e TEXT`
//!           ├ Check ────┤     └ formats, mode, schedule
//!           ├ Build, Pack ┘
//!           ├ Fmt ── Source
//!           ├ Grad, Jvp ── Gradient ── Source
//!           └ Man, Completions, Version
//! ```
//!
//! The first paragraph above a field is its line of help; the whole comment is what `--help` and the man page say.

use super::parse;
use crate::data::Combine;
use crate::show::Stage;
use crate::{Engine, Gpu, Mode};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

/// What `fiberloom --help` and the man pages say below the options.
const BELOW: &str = "\
Data files: .mtx, .ttx (Matrix Market), .tns (FROSTT), .npy (NumPy), .npz (SciPy sparse matrices), each
perhaps with .gz behind it. Tables: .csv, .csv.gz, .parquet.

Results, stages and reports go to standard output, messages to standard error. Messages about a program begin with
FILE:LINE:COL:. Where the reader of standard output goes away (`| head`), the rest is not printed, and the exit status
is what it is otherwise.

Exit status:
  0  done
  1  a wrong answer under `run --check`; a program that `fmt --check` finds in another form
  2  the program, a schedule, or the command line is rejected
  3  data are rejected
  4  a file cannot be read or written
  5  stopped by a limit on memory, size or steps";

/// A compiler for sparse and structured arrays
#[derive(Parser, Debug)]
#[command(name = "fiberloom", version, after_help = BELOW)]
pub struct Arguments {
    /// What is asked for.
    #[command(subcommand)]
    pub command: Command,
}

/// What is asked for.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run a program on data, and print or write its results
    Run(Run),
    /// Print a stage between a program's text and machine code
    Show(Show),
    /// Check a program's types, extents and properties; no data are needed
    Check(Check),
    /// Compile ahead of time to an object file and a C header
    Build(Build),
    /// Keep what a program's tables become, for the next run
    Pack(Pack),
    /// Print a program as it is parsed, comments kept
    Fmt(Fmt),
    /// Print the program that computes a gradient
    Grad(Gradient),
    /// Print the program that computes how a result moves if operands do
    Jvp(Gradient),
    /// Print a man page: of `fiberloom`, or of one of its commands
    Man {
        /// The command
        command: Option<String>,
    },
    /// Print a script that completes commands, options and files in a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the version
    Version,
}

/// Shells whose completions are made.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Where a program's text is.
#[derive(Args, Debug)]
pub struct Source {
    /// The program's file; `-` is standard input
    #[arg(value_name = "PROG.loom", required_unless_present = "text", conflicts_with = "text")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub path: Option<PathBuf>,
    /// The program itself, in the place of a file
    #[arg(short = 'e', id = "text", value_name = "TEXT", allow_hyphen_values = true)]
    pub text: Option<String>,
}

/// A program, and what changes how it is understood.
#[derive(Args, Debug)]
pub struct Program {
    #[command(flatten)]
    pub source: Source,
    /// A format for a tensor, in the place of the declared one: csr, "{dense, compressed} order(1, 0)"
    #[arg(long = "format", value_name = "NAME=FORMAT", value_parser = parse::format())]
    pub formats: Vec<(String, String)>,
    /// How floats are understood: sums and products in any order, or as IEEE 754 says, one after the other
    #[arg(long, value_parser = parse::mode(), default_value = "algebraic", hide_default_value = false)]
    pub mode: Mode,
    /// Commands for the last statement, in the place of those that it has
    ///
    /// What each does, and when it may, docs/schedule.md says; one that may not is refused. A loop for a GPU
    /// that another engine runs has a warning.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "no_schedule")]
    pub schedule: Option<String>,
    /// Take the program's own schedules away
    #[arg(long)]
    pub no_schedule: bool,
    /// The plan of the loops, as `show plan` prints it, in the place of the planner's
    ///
    /// Its loops run under `--engine loops`, which checks every access; docs/loops.md has the language.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub plan: Option<PathBuf>,
}

/// `fiberloom run`
#[derive(Args, Debug)]
#[command(override_usage = "fiberloom run [OPTIONS] <PROG.loom | -e TEXT>")]
pub struct Run {
    /// A tensor's data
    ///
    /// Give it once for each tensor that the program reads. What the file has to be, its name's ending says. A table's rows may stand
    /// in several files: give it several times, or a pattern (`part-*.parquet`), or a folder; `-` is a .csv file on standard input. In the place
    /// of a file, `random:1000x1000:0.01:7` draws data: extents, the share of them that holds something, a seed; a
    /// number (`0.5`, `-inf`, `true`) is a scalar, or the value of a size that the program leaves to its calls: `dim N`; and
    /// `pattern:A` is true at each entry of the tensor `A`, which is given, too.
    #[arg(long = "in", value_name = "NAME=FILE", value_parser = parse::file("--in"))]
    pub inputs: Vec<(String, PathBuf)>,
    /// Fold entries of a tensor's file at equal coordinates into one: sum, min, max or last
    ///
    /// Without it they are refused.
    #[arg(long, value_name = "NAME=HOW", value_parser = parse::combine())]
    pub combine: Vec<(String, Combine)>,
    /// How a table's files are read: separator=;, separator=tab, header=no, null=NA, null-keys=drop
    ///
    /// Once for each thing that is so. Without a header the columns' names are 1, 2 and so on; rows whose keys are null are refused
    /// unless they are dropped.
    #[arg(long = "table", value_name = "NAME=SETTING", value_parser = parse::setting())]
    pub settings: Vec<(String, String)>,
    /// Order the rows of a result that has labels: NAME=COLUMN, NAME=COLUMN:desc, COLUMN,COLUMN:desc for several
    ///
    /// Rows are in the order of labels without. Rows that are equal in these columns stay in it, and nulls are last.
    #[arg(long, value_name = "NAME=COLUMNS", value_parser = parse::order())]
    pub order: Vec<(String, String)>,
    /// Keep the first N rows of a result that has labels, of those that are ordered
    #[arg(long, value_name = "NAME=N", value_parser = parse::most())]
    pub limit: Vec<(String, usize)>,
    /// The bytes that data may take: 500000000, 500M, 2G
    ///
    /// What the machine has left, unless it is given. Where tables in .parquet files take more, the largest one is read in batches of
    /// its row groups, if it is walked row by row; docs/shards.md says when.
    #[arg(long, value_name = "SIZE", value_parser = parse::bytes())]
    pub memory: Option<u64>,
    /// Write a result to a file, or with NAME=- all of it to standard output; others are printed, shortened
    ///
    /// Of several results all are written, or none. Standard output has one, alone, an entry a line: coordinates from 1 and the value, as a
    /// .tns file has them behind its line `# extents`; a result whose fill value is not 0 as a .ttx file, one with labels as a .csv file.
    #[arg(long = "out", value_name = "NAME=FILE", value_parser = parse::file("--out"))]
    pub outputs: Vec<(String, PathBuf)>,
    /// What evaluates the program: machine code, checked interpreters of loops and of a GPU's code, a GPU, or the reference semantics
    ///
    /// `loops` checks every access and counts operations; `ptx` does so, too, and runs parallel loops as a GPU's code, on a machine that
    /// finds races; `nvptx` runs that code on an NVIDIA GPU, and the rest as `loops` does; `meaning` is right by definition, and slow.
    #[arg(long, value_parser = parse::engine(), default_value = "llvm")]
    pub engine: Engine,
    /// How many threads to use: as many as there are processors, or as FIBERLOOM_THREADS says, unless it is given
    ///
    /// Results are the same bits for every N. `fiberloom show loops` says which loops run on threads, where they are long enough; the
    /// report of `--json` says how many threads there were.
    #[arg(long, value_name = "N", value_parser = parse::positive("--threads"))]
    #[arg(allow_negative_numbers = true)]
    pub threads: Option<usize>,
    /// Call the kernel so often, and report the least and the median time
    #[arg(long, value_name = "N", value_parser = parse::positive("--repeat"), default_value = "1")]
    #[arg(allow_negative_numbers = true)]
    pub repeat: usize,
    /// Evaluate the reference semantics, too, and compare
    ///
    /// Says how many values were compared, and about how many the language promises nothing, and why: those are not.
    #[arg(long)]
    pub check: bool,
    /// Print one JSON object in the place of the results
    ///
    /// An error is one, too, and has the exit status and the message on standard error that it has without it.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub program: Program,
}

/// `fiberloom show`
#[derive(Args, Debug)]
#[command(override_usage = "fiberloom show [OPTIONS] <STAGE> <PROG.loom | -e TEXT>")]
pub struct Show {
    /// What to print, from the text to machine code
    #[arg(value_name = "STAGE", value_parser = parse::stage())]
    pub stage: Stage,
    #[command(flatten)]
    pub program: Program,
    /// A tensor's data, as for `run`: what is planned for it is shown
    ///
    /// All that the program reads, or nothing.
    #[arg(long = "in", value_name = "NAME=FILE", value_parser = parse::file("--in"))]
    pub inputs: Vec<(String, PathBuf)>,
    /// Fold entries of a tensor's file at equal coordinates into one: sum, min, max or last
    #[arg(long, value_name = "NAME=HOW", value_parser = parse::combine())]
    pub combine: Vec<(String, Combine)>,
    /// How a table's files are read, as for `run`
    #[arg(long = "table", value_name = "NAME=SETTING", value_parser = parse::setting())]
    pub settings: Vec<(String, String)>,
    /// Draw the lattice as a picture
    #[arg(long)]
    pub svg: bool,
    /// Show what is planned for a GPU: sm_70, sm_80 or sm_90, and those that came after it
    ///
    /// `show ptx` is for sm_70 without it; other stages are what the engines `ptx` and `nvptx` run.
    #[arg(long, value_name = "NAME", value_parser = parse::gpu())]
    pub gpu: Option<Gpu>,
}

/// `fiberloom check`
#[derive(Args, Debug)]
#[command(override_usage = "fiberloom check [OPTIONS] <PROG.loom | -e TEXT>")]
pub struct Check {
    #[command(flatten)]
    pub program: Program,
}

/// `fiberloom build`
#[derive(Args, Debug)]
#[command(override_usage = "fiberloom build [OPTIONS] <PROG.loom | -e TEXT> <-o KERNEL.o | --ptx KERNEL.ptx>")]
pub struct Build {
    /// The object file to write, for any x86-64
    #[arg(short = 'o', value_name = "KERNEL.o", value_hint = ValueHint::FilePath)]
    #[arg(required_unless_present = "ptx", conflicts_with = "ptx")]
    pub object: Option<PathBuf>,
    /// The PTX to write in the place of an object: parallel loops, for an NVIDIA GPU
    ///
    /// The header then says what each entry is launched with.
    #[arg(long, value_name = "KERNEL.ptx", value_hint = ValueHint::FilePath)]
    pub ptx: Option<PathBuf>,
    /// The GPU of `--ptx`: sm_70, sm_80 or sm_90, and those that came after it
    #[arg(long, value_name = "NAME", value_parser = parse::gpu(), default_value = "sm_70")]
    pub gpu: Gpu,
    /// The C header to write, which declares the function
    #[arg(long, value_name = "KERNEL.h", value_hint = ValueHint::FilePath)]
    pub header: Option<PathBuf>,
    /// The function's name
    ///
    /// Objects that are linked together have names of their own.
    #[arg(long, value_name = "NAME", default_value = "kernel")]
    pub name: String,
    #[command(flatten)]
    pub program: Program,
}

/// `fiberloom pack`
#[derive(Args, Debug)]
#[command(override_usage = "fiberloom pack [OPTIONS] <PROG.loom | -e TEXT> -o <TABLES.pack>")]
pub struct Pack {
    /// A table's data
    ///
    /// Give it once for each table that the program reads, or several times: .csv or .parquet files, a pattern, a folder.
    #[arg(long = "in", value_name = "NAME=FILE", value_parser = parse::file("--in"))]
    pub inputs: Vec<(String, PathBuf)>,
    /// How a table's files are read, as for `run`
    #[arg(long = "table", value_name = "NAME=SETTING", value_parser = parse::setting())]
    pub settings: Vec<(String, String)>,
    /// The pack to write
    ///
    /// `run` takes it in the place of each table's file, under a program that declares the same tables and domains. It is
    /// refused once a file that it is of has changed.
    #[arg(short = 'o', value_name = "TABLES.pack", value_hint = ValueHint::FilePath)]
    pub pack: PathBuf,
    /// Print one JSON object: how long it took to read, to encode, and to write
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub program: Program,
}

/// `fiberloom fmt`
#[derive(Args, Debug)]
#[command(override_usage = "fiberloom fmt [OPTIONS] <PROG.loom | -e TEXT>")]
pub struct Fmt {
    /// Write what would be printed into the program's file, if that changes it
    #[arg(long, conflicts_with_all = ["check", "text"])]
    pub write: bool,
    /// Print nothing, and exit with 1 if the program is in another form
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub source: Source,
}

/// `fiberloom grad`, `fiberloom jvp`
#[derive(Args, Debug)]
#[command(override_usage = "fiberloom grad|jvp --of NAME --by NAMES [OPTIONS] <PROG.loom | -e TEXT>")]
pub struct Gradient {
    /// The tensor whose gradient, or tangent, is asked for
    #[arg(long, value_name = "NAME")]
    pub of: String,
    /// The tensors by which, with commas between: A,x
    ///
    /// `grad` gives each of them a gradient, `A_bar`; one with lists has that of its own entries, of which `A_pattern` says where they are:
    /// `run --in A_pattern=pattern:A`. `jvp` reads for each of them a tangent, `A_dot`.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required = true)]
    pub by: Vec<String>,
    /// The name of the operand of `grad` that is the gradient of the tensor of `--of`
    ///
    /// Without it that is the tensor's with `_bar` behind it, and 1 for a scalar.
    #[arg(long, value_name = "NAME")]
    pub seed_name: Option<String>,
    /// Tensors of `--by` whose gradients are wanted at each coordinate, not only where they store an entry
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub dense: Vec<String>,
    /// Compute the tensor of `--of`, too
    #[arg(long)]
    pub value: bool,
    #[command(flatten)]
    pub source: Source,
}
