//! `fiberloom show` and `fiberloom build`: the stages of a program, and its kernel ahead of time.

use super::args::{Build, Check, Show, Stage};
use super::{print, source};
use fiberloom::{Error, Mode, Program};

/// Prints a stage, each by its own printer.
pub fn show(args: &Show) -> Result<(), Error> {
    let program = source::program(&args.program)?;
    print::out(&stage(args.stage, args.svg, &program, args.program.mode)?)
}

fn stage(stage: Stage, svg: bool, program: &Program, mode: Mode) -> Result<String, Error> {
    Ok(match stage {
        Stage::Syntax => program.syntax().to_string(),
        Stage::Notation => program.typed().to_string(),
        Stage::Schedule => schedule(program, mode)?,
        Stage::Concrete => program.lowered(mode)?.concrete.to_string(),
        Stage::Plan => program.lowered(mode)?.show_plan(),
        Stage::Lattice if svg => program.lowered(mode)?.draw_lattice(),
        Stage::Lattice => program.spaces(mode)? + &program.lowered(mode)?.show_lattice(),
        Stage::Looplets => program.lowered(mode)?.show_looplets(),
        Stage::Loops => program.lowered(mode)?.kernel.to_string(),
        Stage::Llvm => program.llvm_ir(mode)?,
        Stage::Asm => program.assembly(mode)?,
    })
}

/// What the planner decided, as commands. Where the program has several statements, the left side of each stands before its commands.
fn schedule(program: &Program, mode: Mode) -> Result<String, Error> {
    let (mut text, mut last) = (String::new(), None);
    let typed = program.typed();
    for planned in &program.plan(mode)? {
        if typed.statements.len() > 1 && last != Some(planned.statement) {
            last = Some(planned.statement);
            let statement = &typed.statements[planned.statement];
            text += &format!("# {}\n", typed.tensors[statement.tensor.index()].name);
        }
        text += &format!("{};\n", planned.command);
    }
    Ok(text)
}

/// Checks a program, and says what is doubtful in it.
pub fn check(args: &Check) -> Result<(), Error> {
    print::warnings(&source::program(&args.program)?, &[]);
    Ok(())
}

/// Writes the object file, and the header if it is asked for: both, or neither.
pub fn build(args: &Build) -> Result<(), Error> {
    let program = source::program(&args.program)?;
    print::warnings(&program, &[]);
    let (object, header) = program.object(args.program.mode, &args.name)?;
    let mut files = vec![(args.object.as_path(), &object[..])];
    files.extend(args.header.as_deref().map(|path| (path, header.as_bytes())));
    Ok(fiberloom::data::write_bytes(&files)?)
}
