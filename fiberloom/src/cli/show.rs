//! `fiberloom show` and `fiberloom build`: the stages of a program, and its kernel ahead of time.

use super::args::{Build, Show};
use super::print;
use fiberloom::{Error, Mode, Program};

/// The stages, in the order in which they are made.
const STAGES: [&str; 9] = ["syntax", "notation", "concrete", "lattice", "looplets", "loops", "llvm", "asm", "ptx"];

/// Prints a stage, each by its own printer.
pub fn show(args: &Show) -> Result<(), Error> {
    if args.svg && args.stage != "lattice" {
        return Err(Error::Call("--svg draws the lattice: fiberloom show lattice PROG.loom --svg".to_string()));
    }
    if args.stage == "ptx" {
        return Err(Error::Call("the stage `ptx` is not there yet: there is no engine for GPUs".to_string()));
    }
    if !STAGES.contains(&&*args.stage) {
        let stages = STAGES.join(", ");
        return Err(Error::Call(format!("`{}` is no stage: one of {stages} expected", args.stage)));
    }
    let program = super::program(&args.program)?;
    print::out(&stage(&args.stage, args.svg, &program, args.program.mode())?)
}

fn stage(name: &str, svg: bool, program: &Program, mode: Mode) -> Result<String, Error> {
    Ok(match name {
        "syntax" => program.syntax().to_string(),
        "notation" => program.typed().to_string(),
        "concrete" => program.lowered(mode)?.concrete.to_string(),
        "lattice" if svg => program.lowered(mode)?.draw_lattice(),
        "lattice" => program.spaces(mode)? + &program.lowered(mode)?.show_lattice(),
        "looplets" => program.lowered(mode)?.show_looplets(),
        "loops" => program.lowered(mode)?.kernel.to_string(),
        "llvm" => program.llvm_ir(mode)?,
        "asm" => program.assembly(mode)?,
        _ => unreachable!("`{name}` is among the stages"),
    })
}

/// Writes the object file, and the header if it is asked for: both, or neither.
pub fn build(args: &Build) -> Result<(), Error> {
    let program = super::program(&args.program)?;
    let (object, header) = program.object(args.program.mode(), args.name.as_deref().unwrap_or("kernel"))?;
    let mut files = vec![(args.object.as_path(), &object[..])];
    files.extend(args.header.as_deref().map(|path| (path, header.as_bytes())));
    Ok(fiberloom::data::write_bytes(&files)?)
}
