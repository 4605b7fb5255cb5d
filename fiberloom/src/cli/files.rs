//! Which files a table's rows stand in: a file, a pattern, a folder, standard input, or several of these.

use super::tables::Input;
use crate::Error;
use crate::relation::{self, Test};
use std::path::{Path, PathBuf};

/// The files of a table.
pub struct Files {
    /// The table.
    pub table: String,
    /// Its files, one or more, in the order of the arguments; those of a pattern or a folder in that of their names.
    pub paths: Vec<PathBuf>,
}

/// The files of each table.
///
/// # Errors
/// A pattern that no file matches, a folder without a table's file.
pub fn of(inputs: &[&Input]) -> Result<Vec<Files>, Error> {
    let mut all: Vec<Files> = Vec::new();
    for (name, path) in inputs {
        let paths = expanded(name, path)?;
        match all.iter_mut().find(|files| files.table == *name) {
            Some(files) => files.paths.extend(paths),
            None => all.push(Files { table: name.clone(), paths }),
        }
    }
    Ok(all)
}

/// Whether a file is a packed text, of which nothing is known before it is unpacked.
pub fn is_packed_text(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

fn expanded(name: &str, path: &Path) -> Result<Vec<PathBuf>, Error> {
    if path.is_dir() {
        let found = within(path, &|name| relation::Kind::of(Path::new(name)).is_some())?;
        return match found.is_empty() {
            true => Err(none(name, path, "the folder has no file whose name ends in .csv, .csv.gz or .parquet")),
            false => Ok(found),
        };
    }
    let pattern = path.file_name().and_then(|name| name.to_str()).filter(|name| name.contains(['*', '?']));
    let Some(pattern) = pattern.filter(|_| !path.exists()) else { return Ok(vec![path.to_path_buf()]) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if folder.to_str().is_some_and(|folder| folder.contains(['*', '?'])) {
        return Err(none(
            name,
            path,
            "a pattern stands for names in one folder: write `*` and `?` behind the last `/`",
        ));
    }
    let like = like(pattern);
    let found = within(folder, &|name| like.holds(name))?;
    match found.is_empty() {
        true => Err(none(name, path, "no file has such a name: `*` stands for any text, `?` for any one character")),
        false => Ok(found),
    }
}

/// A pattern of names as one of texts.
fn like(pattern: &str) -> Test {
    const ESCAPE: char = '\u{1}';
    let part = |c: char| match c {
        '*' => "%".to_string(),
        '?' => "_".to_string(),
        '%' | '_' | ESCAPE => format!("{ESCAPE}{c}"),
        c => c.to_string(),
    };
    Test::Like(pattern.chars().map(part).collect(), Some(ESCAPE))
}

/// The files of a folder whose names are so, in their order; not those that begin with `.` or `_`.
fn within(folder: &Path, is: &dyn Fn(&str) -> bool) -> Result<Vec<PathBuf>, Error> {
    let failed = |e| super::print::io(folder, e);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| !name.starts_with(['.', '_'])) else { continue };
        if is(name) && !entry.path().is_dir() {
            found.push(if folder == Path::new(".") { PathBuf::from(name) } else { entry.path() });
        }
    }
    found.sort();
    Ok(found)
}

fn none(name: &str, path: &Path, what: &str) -> Error {
    Error::Call(format!("--in {name}={}: {what}", path.display()))
}
