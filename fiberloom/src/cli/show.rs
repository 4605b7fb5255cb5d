//! `fiberloom show` and `fiberloom build`: the stages of a program, and its kernel ahead of time.

use super::args::{Build, Check, Show, Stage};
use super::{memory, print, run, source};
use fiberloom::{Call, Error, Lowered, Mode, Options, Planned, Program, Tensor};

/// Prints a stage, each by its own printer; where data are given, what is made for them.
pub fn show(args: &Show) -> Result<(), Error> {
    let mode = args.program.mode;
    if args.inputs.is_empty() {
        let program = source::program(&args.program)?;
        return print::out(&stage(args, &program, mode, None)?);
    }
    let program = source::program_on(&args.program, &args.inputs)?;
    let options = Options { mode, ..Options::default() };
    let kernel = program.compile(&options)?;
    let (combine, memory) = (&args.combine, memory::available(kernel.room()?)?);
    let data =
        run::Data { inputs: &args.inputs, combine, settings: &args.settings, memory, asked: false, check: false };
    let run::Read { program, operands, .. } = run::operands(&program, &kernel, &data)?;
    let kernel = program.compile(&options)?;
    let operands: Vec<(&str, &Tensor)> = operands.iter().map(|(name, t)| (name.as_str(), t)).collect();
    let call = kernel.bind(&operands)?;
    print::out(&stage(args, &program, mode, Some(&call))?)
}

fn stage(args: &Show, program: &Program, mode: Mode, call: Option<&Call>) -> Result<String, Error> {
    let lowered = || -> Result<Lowered, Error> { call.map_or_else(|| program.lowered(mode), Call::lowered) };
    Ok(match args.stage {
        Stage::Syntax => program.syntax().to_string(),
        Stage::Notation => program.typed().to_string(),
        Stage::Schedule => schedule(program, &call.map_or_else(|| program.plan(mode), Call::planned)?)?,
        Stage::Concrete => lowered()?.concrete.to_string(),
        Stage::Plan => lowered()?.show_plan(),
        Stage::Lattice if args.svg => lowered()?.draw_lattice(),
        Stage::Lattice => program.spaces(mode)? + &lowered()?.show_lattice(),
        Stage::Looplets => lowered()?.show_looplets(),
        Stage::Loops => lowered()?.kernel.to_string(),
        Stage::Llvm => program.llvm_ir_of(&lowered()?)?,
        Stage::Asm => program.assembly_of(&lowered()?)?,
        Stage::Ptx => program.ptx_of(&lowered()?, args.gpu)?,
    })
}

/// What the planner decided, as commands. Where the program has several statements, the left side of each stands before its commands.
fn schedule(program: &Program, plan: &[Planned]) -> Result<String, Error> {
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
    Ok(text)
}

/// Checks a program, and says what is doubtful in it.
pub fn check(args: &Check) -> Result<(), Error> {
    print::warnings(&source::program(&args.program)?, &[]);
    Ok(())
}

/// Writes the object file or the PTX, and the header if it is asked for: both, or neither.
pub fn build(args: &Build) -> Result<(), Error> {
    let program = source::program(&args.program)?;
    print::warnings(&program, &[]);
    let (made, header) = match args.ptx {
        Some(_) => program.device_code(args.program.mode, &args.name, args.gpu)?,
        None => program.object(args.program.mode, &args.name)?,
    };
    let path = args.ptx.as_deref().or(args.object.as_deref());
    let mut files: Vec<_> = path.map(|path| (path, &made[..])).into_iter().collect();
    files.extend(args.header.as_deref().map(|path| (path, header.as_bytes())));
    Ok(fiberloom::data::write_bytes(&files)?)
}
