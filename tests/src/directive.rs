//! The directives of a file test: comments of the program that begin with `#!`, and the prints under them, with `#|`.
//!
//! ```text
//!  tensor a: f64[N] sparse
//!  tensor b: f64[N] sparse
//!  s[] = sum(i: a[i] * b[i])
//!  #! in a = 1 0 2                 an operand; also `in a = @FILE`, a file beside the test, and `in p = @pattern:a`
//!  #! in b = 3 4 0
//!  #! table sales                  the data of a table, as a .csv file has them, on the lines below
//!  #| city,amount
//!  #| Rome,7.25
//!  #! rows total                   a result with labels, as a .csv file has it, on every engine
//!  #| CITY,total
//!  #| Rome,7.25
//!  #! number a = 0.5               a scalar, or a size that calls say: `--in a=0.5`
//!  #! out s = 3                    the result, on every engine
//!  #! stored s = 1                 the number of entries that a result stores, on every engine that compiles
//!  #! plan                         the plan of the loops, on the lines below: `loops` and `meaning` answer, and stages show what it makes
//!  #| result s _0 _1: own …
//!  #! ops loads <= 20              at most so many of an operation under `--engine loops`
//!  #! derive grad --of y --by A    what is printed of a gradient or a tangent; all else is of that program then
//!  #| tensor A_bar: …
//!  #! show loops                   what is printed of a stage; `cargo xtask bless` rewrites it; `show loops --gpu sm_80`: with an option
//!  #| kernel …
//! ```
//!
//! In place of results: `#! error 3:9 TEXT`, a message at a line and column, of the plan if
//! there is one; `#! rejected TEXT`, data that is refused; `#! stopped TEXT`, a limit that
//! every engine reaches;
//! `#! unlowered TEXT` beside results, what compiling engines refuse and with which word. `#! mode strict` runs and shows the program in that mode,
//! and expects the signs of zeros.

use crate::array::Dense;
use crate::data;

/// One directive.
#[derive(Debug)]
pub enum Directive {
    /// An operand and its elements.
    In(String, Dense),
    /// An operand and the name of a file beside the test.
    InFile(String, String),
    /// A table, and the lines of its .csv file.
    Table(String, Vec<String>),
    /// A result, and the lines of the .csv file that it is written to.
    Rows(String, Vec<String>),
    /// A scalar or a size, and the number that the command line gives for it.
    Number(String, String),
    /// A result and its elements.
    Out(String, Dense),
    /// An operation's name and its largest count.
    Ops(String, u64),
    /// A result's name and the number of its stored entries.
    Stored(String, u64),
    /// A stage, the line of the directive (from 0), and what is printed.
    Show {
        /// Name of the stage.
        stage: String,
        /// Lines below the directive, without their marks.
        expected: Vec<String>,
        /// The directive's line in the file, from 0.
        line: usize,
    },
    /// A program that is printed, and takes the place of the file's.
    Derive {
        /// The command and its options.
        args: Vec<String>,
        /// Lines below the directive, without their marks.
        expected: Vec<String>,
        /// The directive's line in the file, from 0.
        line: usize,
    },
    /// The lines of a plan.
    Plan(Vec<String>),
    /// The program runs in strict mode.
    Strict,
    /// A message: its place, as `LINE:COL`, and a part of its text.
    Error(String, String),
    /// Data is refused, with a message that contains this.
    Rejected(String),
    /// Every engine stops at a limit, with a message that contains this.
    Stopped(String),
    /// Compiling engines refuse the program, with a message that contains this.
    Unlowered(String),
}

/// Mark of a line of a print, or of a table.
pub const PRINT: &str = "#|";

/// Reads the directives of a file.
///
/// # Errors
/// The first line that is none, and why.
pub fn read(text: &str) -> Result<Vec<Directive>, String> {
    let mut directives: Vec<Directive> = Vec::new();
    for (line, content) in text.lines().enumerate() {
        if let Some(print) = content.strip_prefix(PRINT) {
            match directives.last_mut() {
                Some(
                    Directive::Show { expected: lines, .. }
                    | Directive::Derive { expected: lines, .. }
                    | Directive::Table(_, lines)
                    | Directive::Plan(lines)
                    | Directive::Rows(_, lines),
                ) => lines.push(print.strip_prefix(' ').unwrap_or(print).into()),
                _ => {
                    let what = "lines stand under their `#! show`, `#! derive`, `#! plan`, `#! table` or `#! rows`";
                    return Err(format!("line {}: {what}", line + 1));
                }
            }
        } else if let Some(directive) = content.strip_prefix("#!") {
            directives.push(one(directive.trim(), line).map_err(|e| format!("line {}: {e}", line + 1))?);
        }
    }
    Ok(directives)
}

fn one(text: &str, line: usize) -> Result<Directive, String> {
    let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
    let rest = rest.trim().to_string();
    let named = || rest.split_once('=').map(|(n, d)| (n.trim().to_string(), d.trim())).ok_or("`NAME = DATA` expected");
    Ok(match verb {
        "in" => match named()? {
            (name, file) if file.starts_with('@') => Directive::InFile(name, file[1..].to_string()),
            (name, elements) => Directive::In(name, data::read(elements)?),
        },
        "table" => Directive::Table(rest, Vec::new()),
        "rows" => Directive::Rows(rest, Vec::new()),
        "plan" => Directive::Plan(Vec::new()),
        "number" => {
            let (name, number) = named()?;
            Directive::Number(name, number.to_string())
        }
        "out" => {
            let (name, elements) = named()?;
            Directive::Out(name, data::read(elements)?)
        }
        "ops" => {
            let (name, most) = rest.split_once("<=").ok_or("`OPERATION <= NUMBER` expected")?;
            Directive::Ops(name.trim().to_string(), most.trim().parse().map_err(|_| format!("`{most}` is no number"))?)
        }
        "stored" => {
            let (name, entries) = named()?;
            Directive::Stored(name, entries.parse().map_err(|_| format!("`{entries}` is no number"))?)
        }
        "derive" => {
            let args = rest.split_whitespace().map(str::to_string).collect();
            Directive::Derive { args, expected: Vec::new(), line }
        }
        "show" => Directive::Show { stage: rest, expected: Vec::new(), line },
        "error" => {
            let (place, text) =
                rest.split_once(' ').ok_or("`LINE:COL TEXT` expected: a place and a part of the text")?;
            Directive::Error(place.to_string(), text.trim().to_string())
        }
        "mode" if rest == "strict" => Directive::Strict,
        "rejected" => Directive::Rejected(rest),
        "stopped" => Directive::Stopped(rest),
        "unlowered" => Directive::Unlowered(rest),
        _ => return Err(format!("`{verb}` is no directive")),
    })
}
