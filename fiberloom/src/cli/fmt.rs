//! `fiberloom fmt`: a program in the form that the printer gives it.

use super::args::Fmt;
use super::{print, source};
use crate::{Error, data};

/// Prints the program's form, writes it into the program's file, or says whether it is the program's own.
pub fn fmt(args: &Fmt) -> Result<u8, Error> {
    let source::Text { name, text } = source::read(&args.source)?;
    let formatted = match fiberloom_front::format(&text) {
        Ok(formatted) => formatted,
        Err(diagnostics) => return Err(Error::Program { file: name, text, diagnostics }),
    };
    match (&args.source.path, formatted == text) {
        (_, true) if args.check => {}
        (_, false) if args.check => {
            print::err(&format!("{name}: not in the form that `fiberloom fmt` prints"));
            return Ok(1);
        }
        (Some(_), true) if args.write => {}
        (Some(path), false) if args.write && path.as_os_str() != "-" => {
            data::write_bytes(&[(path, formatted.as_bytes())])?;
        }
        _ if formatted.is_empty() => {}
        _ => print::out(&formatted)?,
    }
    Ok(0)
}
