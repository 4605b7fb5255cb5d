//! `fiberloom pack`: what tables become, in a file for the next run.

use super::args::Pack;
use super::files::Files;
use super::progress::during;
use super::tables::{self, Encoded};
use super::{memory, print, report, source};
use crate::{Error, relation};
use fiberloom_core::counted;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Reads tables, encodes them, and writes their pack.
pub fn pack(args: &Pack) -> Result<(), Error> {
    relation::holds_pack(&args.pack)?;
    let program = source::program(&args.program)?;
    let (files, others) = tables::parted(&program, &args.inputs);
    if let Some((name, _)) = others.first() {
        return Err(Error::Call(format!("--in {name}: the program reads no table `{name}`: packs are of tables")));
    }
    if let Some((name, path)) = files.iter().find(|(_, path)| relation::is_pack(path)) {
        return Err(Error::Call(format!("--in {name}: {} is a pack already", path.display())));
    }
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    if program.operands_of_tables(&names)?.is_empty() {
        return Err(Error::Call("the program reads no tables: there is nothing to pack".to_string()));
    }
    let limit = memory::available(0)?;
    let inputs = (&files[..], &args.settings[..]);
    let (Encoded { bound, read, encode }, files) =
        during("reading tables", || tables::encoded(&program, inputs, &[], limit))?;
    let begin = Instant::now();
    let of = |files: &'_ Files| -> Vec<(String, PathBuf)> {
        files.paths.iter().map(|path| (files.table.clone(), path.clone())).collect()
    };
    let sources: Vec<(String, PathBuf)> = files.iter().flat_map(of).collect();
    let sources: Vec<(&str, &Path)> = sources.iter().map(|(name, path)| (name.as_str(), path.as_path())).collect();
    let declared = (program.relations(), program.typed());
    during("packing", || relation::write_pack(&args.pack, declared, &bound, &sources))?;
    if args.json {
        return print::out(&report::pack(&args.pack, [read, encode, begin.elapsed()]));
    }
    let (tables, path) = (counted(files.len(), "table", "tables"), args.pack.display());
    print::out(&format!("{tables} packed: {path}"))
}
