//! Requests: a program, how it is compiled, and data.

use fiberloom::data::{self, Combine, Source};
use fiberloom::show::{Stage, rescheduled};
use fiberloom::{Error, Given, Mode, Program, Value};
use serde::Deserialize;
use std::path::Path;

/// The bytes that the data of one call may take: a page has less than a machine.
const MEMORY: u64 = 1 << 30;

/// What the page asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    pub ask: What,
    /// The text of the program.
    #[serde(default)]
    pub program: String,
    /// Formats in the place of those that it declares.
    #[serde(default)]
    pub formats: Vec<(String, String)>,
    /// Commands in the place of its last statement's.
    #[serde(default)]
    pub schedule: Option<String>,
    /// Whether its own commands are taken away.
    #[serde(default)]
    pub no_schedule: bool,
    #[serde(default)]
    pub strict: bool,
    #[serde(default)]
    pub data: Vec<Datum>,
    /// Results with labels by columns: `total:desc,place`.
    #[serde(default)]
    pub order: Vec<(String, String)>,
    /// The most rows of results with labels.
    #[serde(default)]
    pub limit: Vec<(String, usize)>,
    /// The stages that are wanted, by their names.
    #[serde(default)]
    pub stages: Vec<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    Facts,
    Look,
    Run,
    Grow,
    Steps,
}

/// What is given for a tensor, a size or a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Datum {
    pub name: String,
    /// As on the command line: `random:…`, a number, the name of a file.
    pub from: String,
    /// Where the file's bytes begin and end among those of all files.
    #[serde(default)]
    pub bytes: Option<(usize, usize)>,
    /// How entries at equal coordinates are combined.
    #[serde(default)]
    pub combine: Option<String>,
}

/// A request with the bytes of its files.
pub struct Asked<'a> {
    pub ask: Ask,
    files: &'a [u8],
}

impl<'a> Asked<'a> {
    /// Reads a request.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn of(request: &'a [u8]) -> Result<Asked<'a>, String> {
        let short = || format!("a request of {} bytes has no JSON", request.len());
        let (length, rest) = request.split_first_chunk::<4>().ok_or_else(short)?;
        let (json, files) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(short)?;
        let ask: Ask = serde_json::from_slice(json).map_err(|e| format!("a request that is none: {e}"))?;
        Ok(Asked { ask, files })
    }

    /// How floats are understood.
    pub fn mode(&self) -> Mode {
        if self.ask.strict { Mode::Strict } else { Mode::Algebraic }
    }

    /// The stages that are wanted.
    ///
    /// # Errors
    /// A name of none.
    pub fn stages(&self) -> Result<Vec<Stage>, Error> {
        self.ask.stages.iter().map(|name| name.parse().map_err(Error::Call)).collect()
    }

    /// How data are read.
    pub fn options(&self) -> data::Options<'static> {
        data::Options { limit: MEMORY, ..data::Options::default() }
    }

    /// How programs are run.
    pub fn running(&self) -> fiberloom::Options {
        let engine = fiberloom::Engine::Loops;
        fiberloom::Options { engine, mode: self.mode(), memory: MEMORY, verify: true, ..Default::default() }
    }

    /// The program under the formats and the schedule that are asked for; what it does not declare is as its data are.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn program(&self) -> Result<Program, Error> {
        let text = rescheduled(self.ask.program.clone(), self.ask.schedule.as_deref(), self.ask.no_schedule)?;
        self.program_of(&text)
    }

    /// The same of another text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn program_of(&self, text: &str) -> Result<Program, Error> {
        let formats: Vec<(&str, &str)> = self.ask.formats.iter().map(|(name, format)| (&**name, &**format)).collect();
        Program::given("program", text, &formats, &mut |name, rank| {
            let Some(datum) = self.ask.data.iter().find(|datum| datum.name == name) else { return Ok(None) };
            let described = self.source(datum)?.described(rank, &self.options())?;
            let format = described.format(rank).to_string();
            Ok(Some(Given { ty: described.ty, fill: Value::zero(described.ty), format }))
        })
    }

    /// Where a datum comes from.
    ///
    /// # Errors
    /// It names a file that the page does not have.
    pub fn source(&'a self, datum: &'a Datum) -> Result<Source<'a>, Error> {
        let named = Path::new(&datum.from);
        if datum.bytes.is_some() {
            return Ok(Source::Bytes(named, self.bytes(datum)?));
        }
        match Source::of(named)? {
            Source::File(_) => Err(no_file(datum)),
            source => Ok(source),
        }
    }

    /// The bytes of a datum's file.
    ///
    /// # Errors
    /// The page does not have it.
    pub fn bytes(&self, datum: &Datum) -> Result<&'a [u8], Error> {
        let (from, to) = datum.bytes.ok_or_else(|| no_file(datum))?;
        self.files.get(from..to).ok_or_else(|| no_file(datum))
    }

    /// The data that are tensors of the program, each with where it comes from and how it is read.
    ///
    /// # Errors
    /// As of [`Asked::source`]; a way to combine entries that is none.
    pub fn sources(&'a self, program: &Program) -> Result<Vec<(&'a str, Source<'a>, data::Options<'static>)>, Error> {
        let tensors = self.ask.data.iter().filter(|datum| program.table(&datum.name).is_none());
        tensors
            .map(|datum| {
                let combine = datum.combine.as_deref().map(str::parse::<Combine>).transpose().map_err(Error::Call)?;
                let duplicates = combine.map_or(self.options().duplicates, Combine::duplicates);
                // Of a list that says no extents, those of its largest coordinates.
                let largest: Option<data::Told> = Some(&|_: &[u64]| {});
                let options = data::Options { duplicates, largest, ..self.options() };
                Ok((datum.name.as_str(), self.source(datum)?, options))
            })
            .collect()
    }
}

fn no_file(datum: &Datum) -> Error {
    let Datum { name, from, .. } = datum;
    Error::Call(format!(
        "the page has no file `{from}` for `{name}`: drop it there, type it, or draw data, `random:40x40:0.1`"
    ))
}
