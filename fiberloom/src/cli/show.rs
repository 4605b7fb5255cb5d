//! `fiberloom show` and `fiberloom build`: the stages of a program, and its kernel ahead of time.

use super::args::{Build, Check, Show};
use super::{memory, print, run, source};
use crate::show::{Stage, Stages};
use crate::{Call, Engine, Error, Mode, Options, Program, Tensor};

/// Prints a stage, each by its own printer; where data are given, what is made for them.
pub fn show(args: &Show) -> Result<(), Error> {
    let mode = args.program.mode;
    let is_gpu = args.stage == Stage::Ptx || args.gpu.is_some();
    if args.inputs.is_empty() {
        let program = source::program(&args.program)?;
        let program = if is_gpu { program.for_gpu(mode) } else { program };
        return print::out(&shown(args, &program, mode, None)?);
    }
    let program = source::program_on(&args.program, &args.inputs)?;
    let engine = if is_gpu { Engine::Ptx } else { Engine::default() };
    let options = Options { mode, engine, ..Options::default() };
    let kernel = program.compile(&options)?;
    let (combine, memory) = (&args.combine, memory::available(kernel.room()?)?);
    let data =
        run::Data { inputs: &args.inputs, combine, settings: &args.settings, memory, asked: false, check: false };
    let run::Read { program, operands, .. } = run::operands(&program, &kernel, &data)?;
    let kernel = program.compile(&options)?;
    let operands: Vec<(&str, &Tensor)> = operands.iter().map(|(name, t)| (name.as_str(), t)).collect();
    let call = kernel.bind(&operands)?;
    print::out(&shown(args, &program, mode, Some(&call))?)
}

/// The stage as text, or the lattice as a picture.
fn shown(args: &Show, program: &Program, mode: Mode, call: Option<&Call>) -> Result<String, Error> {
    let stages = Stages::of(program, mode, call);
    let stages = if let Some(gpu) = args.gpu { stages.for_gpu(gpu) } else { stages };
    if args.svg { stages.picture() } else { stages.text(args.stage) }
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
    Ok(crate::data::write_bytes(&files)?)
}
