//! What is shown of programs, results and errors: the same words on the command line and on the page of `play/`.
//!
//! ```text
//!  Program, Call ──Stages──▶ text       Tensor ──tensor──▶ text, shortened        Agreement ──checked──▶ a sentence
//!  text ──rescheduled──▶ the same program under another schedule                 Error ──report::Failure──▶ JSON
//! ```
#[cfg(feature = "json")]
pub mod report;
mod schedule;
mod threads;

pub use schedule::applied as rescheduled;

use crate::{Agreement, Call, Diagnostic, Error, Gpu, Lowered, Mode, Planned, Program, Tensor};
use std::cell::OnceCell;
use std::fmt::Write;
use std::str::FromStr;

/// How many entries of a result are printed.
pub const SHOWN: usize = 12;

/// What can be shown, in the order in which it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The program as it is parsed, printed.
    Syntax,
    /// With types, sums and extents.
    Notation,
    /// What the planner decided, as commands.
    Schedule,
    /// Loops over index variables.
    Concrete,
    /// The plan of the loops.
    Plan,
    /// The lattice of each loop.
    Lattice,
    /// The looplets of each access.
    Looplets,
    /// The kernel.
    Loops,
    /// LLVM's intermediate form of it.
    Llvm,
    /// Its machine code, as assembly.
    Asm,
    /// Its parallel loops for a GPU.
    Ptx,
}

impl Stage {
    /// Every stage.
    pub const ALL: [Stage; 11] = [
        Stage::Syntax,
        Stage::Notation,
        Stage::Schedule,
        Stage::Concrete,
        Stage::Plan,
        Stage::Lattice,
        Stage::Looplets,
        Stage::Loops,
        Stage::Llvm,
        Stage::Asm,
        Stage::Ptx,
    ];

    /// Their names on the command line, in the same order.
    pub const NAMES: [&str; 11] =
        ["syntax", "notation", "schedule", "concrete", "plan", "lattice", "looplets", "loops", "llvm", "asm", "ptx"];
}

impl FromStr for Stage {
    type Err = String;

    fn from_str(name: &str) -> Result<Stage, String> {
        match Stage::NAMES.iter().position(|known| *known == name) {
            Some(n) => Ok(Stage::ALL[n]),
            None => Err(format!("`{name}` is no stage: one of {} expected", Stage::NAMES.join(", "))),
        }
    }
}

/// The stages of a program, each by its own printer; of a call, what is made for its operands. It is lowered once, when a stage asks.
pub struct Stages<'a, 'o> {
    program: &'a Program,
    mode: Mode,
    call: Option<&'a Call<'o>>,
    gpu: Option<Gpu>,
    lowered: OnceCell<Result<Lowered, Error>>,
}

impl<'a, 'o> Stages<'a, 'o> {
    /// Those of a program; of a call of it, if there is one.
    pub fn of(program: &'a Program, mode: Mode, call: Option<&'a Call<'o>>) -> Stages<'a, 'o> {
        Stages { program, mode, call, gpu: None, lowered: OnceCell::new() }
    }

    /// The same, with loops as GPUs run them, and the stage `ptx` for this one.
    pub fn for_gpu(self, gpu: Gpu) -> Stages<'a, 'o> {
        Stages { gpu: Some(gpu), ..self }
    }

    /// A stage as text.
    ///
    /// # Errors
    /// A construct that is not lowered; machine code in a build without LLVM.
    pub fn text(&self, stage: Stage) -> Result<String, Error> {
        let Stages { program, mode, call, .. } = *self;
        Ok(match stage {
            Stage::Syntax => program.syntax().to_string(),
            Stage::Notation => program.typed().to_string(),
            Stage::Schedule => {
                let commands = schedule(program, &call.map_or_else(|| program.plan(mode), Call::planned)?);
                commands + &self.lowered().map_or_else(|_| String::new(), |lowered| threads::lines(&lowered.kernel))
            }
            Stage::Concrete => self.lowered()?.concrete.to_string(),
            Stage::Plan => self.lowered()?.show_plan(),
            Stage::Lattice => program.spaces(mode)? + &self.lowered()?.show_lattice(),
            Stage::Looplets => self.lowered()?.show_looplets(),
            Stage::Loops if self.gpu.is_some() => program.loops_for_gpu(self.lowered()?)?,
            Stage::Loops => self.lowered()?.kernel.to_string(),
            Stage::Llvm => program.llvm_ir_of(self.lowered()?)?,
            Stage::Asm => program.assembly_of(self.lowered()?)?,
            Stage::Ptx => program.ptx_of(self.lowered()?, self.gpu.unwrap_or_default())?,
        })
    }

    /// The lattice as a picture.
    ///
    /// # Errors
    /// A construct that is not lowered.
    pub fn picture(&self) -> Result<String, Error> {
        Ok(self.lowered()?.draw_lattice())
    }

    fn lowered(&self) -> Result<&Lowered, Error> {
        let lower = || self.call.map_or_else(|| self.program.lowered(self.mode), Call::lowered);
        self.lowered.get_or_init(lower).as_ref().map_err(Clone::clone)
    }
}

/// The commands by which the loops of a call are dealt out to a GPU, line by line, as the stage `schedule` shows them.
pub fn for_gpu(call: &Call) -> Vec<String> {
    schedule(call.kernel().program(), call.for_gpu()).lines().map(str::to_string).collect()
}

/// What the planner decided, as commands. Where the program has several statements, the left side of each stands before its commands.
fn schedule(program: &Program, plan: &[Planned]) -> String {
    let (mut text, mut last) = (String::new(), None);
    let typed = program.typed();
    for planned in plan {
        if typed.statements.len() > 1 && last != Some(planned.statement) {
            last = Some(planned.statement);
            let statement = &typed.statements[planned.statement];
            text += &format!("# {}\n", typed.tensors[statement.tensor.index()].name);
        }
        text += &format!("{};\n", planned.command);
    }
    text
}

/// What to say of operands that were not given.
pub fn asked_for(tensors: &[(String, Diagnostic)]) -> Vec<Diagnostic> {
    let what = |d: &Diagnostic| if d.message.contains("size `") { "100" } else { "FILE" };
    tensors.iter().map(|(name, d)| d.clone().help(format!("give it: --in {name}={}", what(d)))).collect()
}

/// A result, shortened.
pub fn tensor(name: &str, tensor: &Tensor) -> String {
    let extents: Vec<String> = tensor.extents.iter().map(u64::to_string).collect();
    let mut text = format!("{name}: {}[{}] {}", tensor.fill.ty(), extents.join(", "), tensor.format);
    write!(text, ", {} stored, fill {}", tensor.stored(), tensor.fill).expect("strings take everything");
    for (at, value) in tensor.first_entries(SHOWN) {
        let at: Vec<String> = at.iter().map(i64::to_string).collect();
        write!(text, "\n  {name}[{}] = {value}", at.join(", ")).expect("strings take everything");
    }
    if tensor.stored() > SHOWN {
        write!(text, "\n  … {} more", tensor.stored() - SHOWN).expect("strings take everything");
    }
    text
}

/// What `--check` compared, and what not.
pub fn checked(Agreement { values, unpromised }: &Agreement) -> String {
    let agree = match values - unpromised.total() {
        0 if *values > 0 => {
            let said = if *values == 1 { "the value".to_string() } else { format!("any of {values} values") };
            return format!("unchecked: nothing is promised of {said}: {unpromised}");
        }
        1 => "checked: 1 value agrees with the reference semantics".to_string(),
        n => format!("checked: {n} values agree with the reference semantics"),
    };
    match unpromised.total() {
        0 => agree,
        n => format!("{agree}; {n} unchecked, since nothing is promised: {unpromised}"),
    }
}
