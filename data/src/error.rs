//! Everything that can go wrong between a program's text and its results.

use crate::Cause;
use fiberloom_core::format::Malformed;
use fiberloom_core::notation::Diagnostic;
use std::fmt;

/// Why there are no results. [`Error::exit`] is the exit status that the command line gives it.
#[derive(Clone, Debug)]
pub enum Error {
    /// The program is rejected. Printed, each message begins with `FILE:LINE:COL:`.
    Program {
        /// The file's name, for messages.
        file: String,
        /// Its text.
        text: String,
        /// What is wrong with it, one or more.
        diagnostics: Vec<Diagnostic>,
    },
    /// A call asks for what the program or this build does not have: an unknown tensor or engine, an operand left out.
    Call(String),
    /// The program reads operands that the call was not given. Printed as [`Error::Program`] is; the help of each
    /// diagnostic says how a call of the library gives it.
    Missing {
        /// The file's name, for messages.
        file: String,
        /// Its text.
        text: String,
        /// The tensors' names, one or more, each with its declaration's place.
        tensors: Vec<(String, Diagnostic)>,
    },
    /// A file is not read or written.
    Data(crate::Error),
    /// Operands contradict the program's extents or each other. Printed as [`Error::Program`] is.
    Mismatch {
        /// The program's file, for messages.
        file: String,
        /// Its text.
        text: String,
        /// What is wrong, one or more.
        diagnostics: Vec<Diagnostic>,
    },
    /// An operand does not fit its declaration, or its format's invariants.
    Operand {
        /// The tensor's name.
        tensor: String,
        /// What is wrong and what was expected.
        what: String,
        /// The place in its arrays, if an invariant of its format is broken there: the error's source.
        malformed: Option<Malformed>,
    },
    /// A limit on memory, size or steps was reached.
    Stopped(String),
    /// A GPU that a call asks for is not there, or its driver refuses what it is given.
    Device(String),
    /// The answer is not the reference semantics'.
    Wrong(String),
    /// A stage of the compiler broke an invariant of the next: a defect of Fiberloom, not of the program.
    Defect(String),
}

impl Error {
    /// 1: a wrong answer; 2: the program or the call is rejected; 3: data are rejected; 4: an I/O failure, or no GPU;
    /// 5: stopped by a limit.
    pub fn exit(&self) -> u8 {
        match self {
            Error::Wrong(_) | Error::Defect(_) => 1,
            Error::Program { .. } | Error::Missing { .. } | Error::Call(_) => 2,
            Error::Operand { .. } | Error::Mismatch { .. } => 3,
            Error::Data(e) => match e.cause {
                Cause::Extension => 2,
                Cause::Rejected | Cause::Extents | Cause::Twice => 3,
                Cause::Io => 4,
                Cause::Limit => 5,
            },
            Error::Stopped(_) => 5,
            Error::Device(_) => 4,
        }
    }

    /// That an operand of this name is not as it should be.
    pub fn operand(tensor: &str, what: impl fmt::Display) -> Error {
        Error::Operand { tensor: tensor.to_string(), what: what.to_string(), malformed: None }
    }

    /// The same of one that breaks an invariant of its format.
    pub fn malformed(tensor: &str, malformed: Malformed) -> Error {
        Error::Operand { tensor: tensor.to_string(), what: malformed.to_string(), malformed: Some(malformed) }
    }
}

impl From<crate::Error> for Error {
    fn from(e: crate::Error) -> Error {
        Error::Data(e)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Program { file, text, diagnostics } | Error::Mismatch { file, text, diagnostics } => {
                let rendered = fiberloom_front::render(file, text, diagnostics, false);
                f.write_str(rendered.trim_end())
            }
            Error::Missing { file, text, tensors } => {
                let diagnostics: Vec<Diagnostic> = tensors.iter().map(|(_, diagnostic)| diagnostic.clone()).collect();
                f.write_str(fiberloom_front::render(file, text, &diagnostics, false).trim_end())
            }
            Error::Call(what) | Error::Stopped(what) | Error::Device(what) | Error::Wrong(what) => f.write_str(what),
            Error::Data(e) => write!(f, "{e}"),
            Error::Operand { tensor, what, .. } => write!(f, "tensor `{tensor}`: {what}"),
            Error::Defect(what) => write!(f, "a defect of Fiberloom, please report it: {what}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Data(e) => Some(e),
            Error::Operand { malformed: Some(malformed), .. } => Some(malformed),
            _ => None,
        }
    }
}
