//! Packs: what tables became, kept in a file for the next run.
//!
//! ```text
//!  pack.txt     fiberloom pack 1
//!               declares table lineitem ["l_orderkey": ORDER, row] {…} {dense, ragged}
//!               source lineitem 231672087 1764106121.5 /data/lineitem.parquet
//!               labels range 1 6000000   |   labels numbers 3   |   labels texts 4 5       a line a domain
//!               tensor l_tax 6000000,7 0 1                                                 extents; arrays of levels, then of values
//!  0.npy …      arrays of one mode, each once; integers of 64 bits in the narrowest type that holds them
//! ```
//!
//! It is a zip archive whose members are not packed. A pack is of the tables and domains that a program declares: another program that
//! declares the same ones reads it, whatever it computes. What a program asks of labels is asked when the pack is read. A pack is
//! believed as far as any file is: its members have sums, its structure is checked, and other tensors than are declared are refused.

use super::bind::{Declared, asked, tensors};
use super::{Bound, Dictionary, Holds, Labels, Over, Relations, Table, Texts, What};
use crate::relate::Column as TableColumn;
use fiberloom_core::algebra::Type;
use fiberloom_core::format::{Array, Level, Tensor, room};
use fiberloom_core::notation::typed::Program;
use fiberloom_data::error::Error;
use fiberloom_data::npy::{Npy, element, write_array};
use fiberloom_data::write::{Output, write_together};
use fiberloom_data::{Cause, Fault, whole};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufReader, Read, Seek, Write};
use std::path::Path;
use std::time::UNIX_EPOCH;
use zip::{CompressionMethod, ZipArchive, ZipWriter, result::ZipError, write::SimpleFileOptions};

/// What the first line of `pack.txt` is.
const HEAD: &str = "fiberloom pack 1";

/// What says what the arrays are.
const TEXT: &str = "pack.txt";

/// The most bytes of it.
const MOST_TEXT: u64 = 1 << 24;

/// Whether a file of this name is a pack.
pub fn is_pack(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "pack")
}

/// Whether a pack can be written to a file of this name.
///
/// # Errors
/// It ends in something else than `.pack`.
pub fn holds_pack(path: &Path) -> Result<(), fiberloom_data::Error> {
    let fault = || Fault { cause: Cause::Extension, ..Fault::whole("the name of a pack's file ends in .pack") };
    if is_pack(path) { Ok(()) } else { Err(fault().within(path)) }
}

/// Writes what tables became, and of which files they are read, each with its table: all of it, or nothing.
///
/// # Errors
/// The name ends in something else than `.pack`; the file cannot be written.
pub fn write_pack(
    path: &Path,
    (relations, program): (&Relations, &Program),
    bound: &Bound,
    sources: &[(&str, &Path)],
) -> Result<(), fiberloom_data::Error> {
    holds_pack(path)?;
    let sources: Vec<String> = sources.iter().filter_map(|(table, path)| source(table, path)).collect();
    let content = |out: &mut dyn Output| write(out, (relations, program), bound, &sources);
    write_together(&[], &[(path, &content)], 0)
}

/// What tables became that a program declares, and what it asks of their labels. All arrays together may take `limit` bytes.
///
/// # Errors
/// [`Error::Data`]: the file is not there or damaged; it is of other tables, or of files that have changed; memory over the limit.
pub fn read_pack(path: &Path, (relations, program): (&Relations, &Program), limit: u64) -> Result<Bound, Error> {
    let within = |fault: Fault| Error::Data(fault.within(path));
    let file = File::open(path).map_err(|e| within(Fault::io(e)))?;
    read(BufReader::with_capacity(1 << 16, file), path, (relations, program), limit)
}

fn read(
    input: impl Read + Seek,
    path: &Path,
    (relations, program): (&Relations, &Program),
    limit: u64,
) -> Result<Bound, Error> {
    let within = |fault: Fault| Error::Data(fault.within(path));
    let mut bound =
        Reading::of(input, limit).and_then(|mut reading| reading.bound(relations, program)).map_err(within)?;
    bound.operands.extend(asked(relations, program, &bound.labels, limit)?);
    Ok(bound)
}

/// The line that says of which file a table is; none of a name that no line holds, or of a file whose time nobody knows.
fn source(table: &str, path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let (length, time) = state(&path)?;
    let path = path.to_str().filter(|path| !path.contains(['\n', '\r']))?;
    Some(format!("source {table} {length} {time} {path}"))
}

/// How long a file is, and when it was written.
fn state(path: &Path) -> Option<(u64, String)> {
    let metadata = std::fs::metadata(path).ok()?;
    let time = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((metadata.len(), format!("{}.{:09}", time.as_secs(), time.subsec_nanos())))
}

/// What a program declares of what is packed: what it is called, and what it is.
fn declarations(relations: &Relations, program: &Program) -> Vec<(String, String)> {
    let domain = |d: usize| relations.domains[d].name.as_str();
    let labels = |labels: Labels| format!("{labels:?}");
    let domains = relations.domains.iter().map(|domain| (format!("dim {}", domain.name), labels(domain.labels)));
    let holds = |holds: Holds| match holds {
        Holds::Domain(d) => domain(d).to_string(),
        holds => format!("{holds:?}"),
    };
    let over = |over: Over| match over {
        Over::Domain(d) => domain(d).to_string(),
        over => format!("{over:?}"),
    };
    let table = |table: &Table| {
        let modes: Vec<_> = table.modes.iter().map(|mode| format!("{:?}: {}", mode.source, over(mode.over))).collect();
        let column = |c: &TableColumn| format!("{} = {:?}: {} {:?}", c.name, c.source, holds(c.holds), c.null);
        let columns: Vec<_> = table.columns.iter().map(column).collect();
        let format = program.tensors.iter().find(|t| t.name == table.name).and_then(|t| t.format.as_ref());
        let format = format.map_or_else(String::new, ToString::to_string);
        (format!("table {}", table.name), format!("[{}] {{{}}} {format}", modes.join(", "), columns.join(", ")))
    };
    let tables = relations.tables.iter().filter(|table| !table.made).map(table);
    let tests = relations.asked.iter().filter_map(|asked| match &asked.what {
        What::Column { table, column, test } => {
            let (table, column) = (&relations.tables[*table].name, *column);
            Some((format!("test {}", asked.tensor), format!("{table} {column} {test:?}")))
        }
        What::Mapped(from, image, to) => {
            Some((format!("labels {}", asked.tensor), format!("{} {image:?} {}", domain(*from), domain(*to))))
        }
        _ => None,
    });
    domains.chain(tables).chain(tests).collect()
}

/// An archive that is written.
struct Writing<'o> {
    zip: ZipWriter<&'o mut dyn Output>,
    /// The number of each array that is written, by its address.
    known: HashMap<(*const u8, usize, Type), usize>,
    count: usize,
    text: String,
}

fn write(
    out: &mut dyn Output,
    (relations, program): (&Relations, &Program),
    bound: &Bound,
    sources: &[String],
) -> Result<(), Fault> {
    let mut to = Writing { zip: ZipWriter::new(out), known: HashMap::new(), count: 0, text: format!("{HEAD}\n") };
    for (name, what) in declarations(relations, program) {
        to.line(&format!("declares {name} {what}"));
    }
    sources.iter().for_each(|source| to.line(source));
    for labels in &bound.labels {
        to.labels(labels).map_err(Fault::io)?;
    }
    let tables = relations.tables.iter().enumerate().filter(|(_, table)| !table.made);
    for declared in tables.flat_map(|(number, _)| tensors(relations, program, number)) {
        let operand = bound.operands.iter().find(|(name, _)| name == declared.name);
        let (name, tensor) = operand.ok_or_else(|| Fault::whole(format!("no operand `{}`", declared.name)))?;
        to.tensor(name, tensor).map_err(Fault::io)?;
    }
    to.end().map_err(Fault::io)
}

impl Writing<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn member(&mut self, name: &str) -> std::io::Result<()> {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
        self.zip.start_file(name, options).map_err(std::io::Error::from)
    }

    /// The number of an array, which is written unless it is there already, of values or labels as narrow as they are.
    fn array(&mut self, array: &Array, narrow: bool) -> std::io::Result<usize> {
        let key = (array.as_ptr(), array.len(), array.ty());
        if let Some(number) = self.known.get(&key) {
            return Ok(*number);
        }
        let number = self.count;
        self.count += 1;
        self.member(&format!("{number}.npy"))?;
        let narrow = if narrow { narrowed(array).map_err(std::io::Error::other)? } else { None };
        write_array(narrow.as_ref().unwrap_or(array), &[array.len() as u64], &mut self.zip)?;
        // Nothing says that an empty array is where no other is.
        if !array.is_empty() {
            self.known.insert(key, number);
        }
        Ok(number)
    }

    fn labels(&mut self, labels: &Dictionary) -> std::io::Result<()> {
        let line = match labels {
            Dictionary::Range { first, len } => format!("labels range {first} {len}"),
            Dictionary::Numbers(numbers) => format!("labels numbers {}", self.array(&Array::from(&numbers[..]), true)?),
            Dictionary::Texts(texts) => {
                let bytes: Vec<u8> = texts.iter().flat_map(str::bytes).collect();
                let ends = texts.iter().scan(0, |end, text| {
                    *end += text.len() as i64;
                    Some(*end)
                });
                let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
                // These arrays are gone when the next one is written: their addresses say nothing.
                let text = self.array(&Array::from(bytes), false)?;
                let offsets = self.array(&Array::from(offsets), true)?;
                self.known.clear();
                format!("labels texts {text} {offsets}")
            }
        };
        self.line(&line);
        Ok(())
    }

    fn tensor(&mut self, name: &str, tensor: &Tensor) -> std::io::Result<()> {
        let extents: Vec<String> = tensor.extents.iter().map(u64::to_string).collect();
        let mut line = format!("tensor {name} {}", extents.join(","));
        let levels = tensor.levels.iter().flat_map(Level::arrays).map(|array| (array, false));
        for (array, narrow) in levels.chain([(&tensor.values, true)]) {
            let number = self.array(array, narrow)?;
            let _ = write!(line, " {number}");
        }
        self.line(&line);
        Ok(())
    }

    fn end(mut self) -> std::io::Result<()> {
        self.member(TEXT)?;
        self.zip.write_all(self.text.as_bytes())?;
        self.zip.finish().map_err(std::io::Error::from)?;
        Ok(())
    }
}

/// An array of `i64` in the narrowest type that holds it, if that is another.
fn narrowed(array: &Array) -> Result<Option<Array<'static>>, fiberloom_core::format::Error> {
    let Array::I64(all) = array else { return Ok(None) };
    let (least, most) = all.iter().fold((0, 0), |(least, most), x| (*x.min(&least), *x.max(&most)));
    let fits = |least_most: (i64, i64)| least_most.0 <= least && most <= least_most.1;
    Ok(if fits((i8::MIN.into(), i8::MAX.into())) {
        Some(Array::from(room::collected(all.iter().map(|x| *x as i8))?))
    } else if fits((i16::MIN.into(), i16::MAX.into())) {
        Some(Array::from(room::collected(all.iter().map(|x| *x as i16))?))
    } else if fits((i32::MIN.into(), i32::MAX.into())) {
        Some(Array::from(room::collected(all.iter().map(|x| *x as i32))?))
    } else {
        None
    })
}

fn damaged(what: impl std::fmt::Display) -> Fault {
    Fault::whole(format!("damaged: {what}"))
}

/// An archive that is read.
struct Reading<R> {
    zip: ZipArchive<R>,
    text: String,
    /// Arrays that more than one tensor may have, by their numbers.
    known: BTreeMap<u64, Array<'static>>,
    /// How many bytes arrays may still take.
    left: u64,
    limit: u64,
}

impl<R: Read + Seek> Reading<R> {
    fn of(input: R, limit: u64) -> Result<Reading<R>, Fault> {
        let mut zip = ZipArchive::new(input).map_err(unzipped)?;
        if zip.has_duplicate_names() {
            return Err(damaged("two members have one name"));
        }
        let mut member = zip.by_name(TEXT).map_err(|_| Fault::whole(format!("no pack: it has no `{TEXT}`")))?;
        let bytes = whole(&mut member, limit.min(MOST_TEXT))?;
        drop(member);
        let text = String::from_utf8(bytes).map_err(|_| damaged(format!("`{TEXT}` is not UTF-8")))?;
        if text.lines().next() != Some(HEAD) {
            return Err(Fault::whole(format!("another version of packs: `{HEAD}` is read: pack the tables anew")));
        }
        Ok(Reading { zip, text, known: BTreeMap::new(), left: limit, limit })
    }

    /// The operands that are tables', and the labels.
    fn bound(&mut self, relations: &Relations, program: &Program) -> Result<Bound, Fault> {
        let text = std::mem::take(&mut self.text);
        let of = |what: &str| -> Vec<&str> {
            text.lines().skip(1).filter_map(|line| line.strip_prefix(what)?.strip_prefix(' ')).collect()
        };
        same(&of("declares"), &declarations(relations, program))?;
        of("source").into_iter().try_for_each(unchanged)?;
        let labels = of("labels");
        if labels.len() != relations.domains.len() {
            return Err(damaged(format!("labels of {} domains of {}", labels.len(), relations.domains.len())));
        }
        let labels = labels.into_iter().map(|line| self.labels(line)).collect::<Result<Vec<_>, _>>()?;
        for (domain, labels) in relations.domains.iter().zip(&labels) {
            if (domain.labels == Labels::Text) != matches!(labels, Dictionary::Texts(_)) {
                return Err(damaged(format!("the labels of `{}` are of another kind", domain.name)));
            }
        }
        let lines = of("tensor");
        let mut operands = Vec::new();
        for (number, table) in relations.tables.iter().enumerate().filter(|(_, table)| !table.made) {
            for declared in tensors(relations, program, number) {
                let line = lines.iter().find_map(|line| line.strip_prefix(declared.name)?.strip_prefix(' '));
                let what = || Fault::whole(format!("it has no `{}`: pack the tables anew", declared.name));
                let tensor = self.tensor(line.ok_or_else(what)?, &declared)?;
                for (mode, extent) in table.modes.iter().zip(&tensor.extents) {
                    let Over::Domain(d) = mode.over else { continue };
                    if *extent != labels[d].len() as u64 {
                        return Err(damaged(format!("`{}` has not as many rows as labels", declared.name)));
                    }
                }
                operands.push((declared.name.to_string(), tensor));
            }
        }
        Ok(Bound { operands, labels })
    }

    fn labels(&mut self, line: &str) -> Result<Dictionary, Fault> {
        let words: Vec<&str> = line.split(' ').collect();
        let other = || damaged(format!("labels `{}`", line.chars().take(40).collect::<String>()));
        let dictionary = match words[..] {
            ["range", first, len] => {
                let (first, len): (i64, usize) =
                    (first.parse().map_err(|_| other())?, len.parse().map_err(|_| other())?);
                let fits = i64::try_from(len).ok().and_then(|len| first.checked_add(len));
                fits.ok_or_else(other)?;
                return Ok(Dictionary::Range { first, len });
            }
            ["numbers", numbers] => match self.array(number(numbers)?, Some(Type::I64))? {
                Array::I64(numbers) => Dictionary::Numbers(numbers.into_vec()),
                _ => return Err(other()),
            },
            ["texts", text, offsets] => {
                let Array::U8(bytes) = self.array(number(text)?, Some(Type::U8))? else { return Err(other()) };
                let text = String::from_utf8(bytes.into_vec()).map_err(|_| damaged("labels that are not UTF-8"))?;
                let offsets = self.array(number(offsets)?, Some(Type::I64))?;
                Dictionary::Texts(Texts::new(text, offsets).map_err(damaged)?)
            }
            _ => return Err(other()),
        };
        let ascends = match &dictionary {
            Dictionary::Texts(texts) => (1..texts.len()).all(|n| texts.get(n - 1) < texts.get(n)),
            Dictionary::Numbers(numbers) => numbers.is_sorted_by(|a, b| a < b),
            Dictionary::Range { .. } => true,
        };
        if ascends { Ok(dictionary) } else { Err(damaged("labels that do not ascend")) }
    }

    fn tensor(&mut self, line: &str, declared: &Declared) -> Result<Tensor<'static>, Fault> {
        let name = declared.name;
        let wrong = |what: &str| damaged(format!("`{name}`: {what}"));
        let mut words = line.split(' ');
        let extents = words.next().unwrap_or_default();
        let extents: Vec<u64> = match extents {
            "" => Vec::new(),
            some => some.split(',').map(number).collect::<Result<_, _>>()?,
        };
        if extents.len() != declared.sizes.len() || extents.iter().any(|extent| *extent > i64::MAX as u64) {
            return Err(wrong("extents of another tensor"));
        }
        let mut numbers = words.map(number).collect::<Result<Vec<_>, _>>()?;
        let values = numbers.pop().ok_or_else(|| wrong("no arrays"))?;
        let values = self.array(values, Some(declared.ty))?;
        let arrays = numbers.into_iter().map(|number| self.array(number, None));
        let mut arrays = arrays.collect::<Result<Vec<_>, _>>()?.into_iter();
        let format = declared.format.clone();
        let mut levels = Vec::new();
        for kind in &*format.levels {
            let level = Level::of(*kind, |_, _| arrays.next().ok_or_else(|| wrong("arrays of another format")))?;
            levels.push(level.ok_or_else(|| wrong("arrays of another format"))?);
        }
        if arrays.next().is_some() {
            return Err(wrong("arrays of another format"));
        }
        let tensor = Tensor { extents, format, levels, values, fill: declared.fill };
        tensor.check().map_err(|malformed| wrong(&malformed.to_string()))?;
        Ok(tensor)
    }

    /// Array `number`, read once: as elements of a type, which may be as narrow as what they hold; else of the type that is stored.
    fn array(&mut self, number: u64, ty: Option<Type>) -> Result<Array<'static>, Fault> {
        let other = |is: Type, ty: Type| damaged(format!("in `{number}.npy`: elements of type {is}, {ty} expected"));
        if let Some(array) = self.known.get(&number) {
            let ty = ty.unwrap_or(array.ty());
            return if array.ty() == ty { Ok(array.clone()) } else { Err(other(array.ty(), ty)) };
        }
        let limit = self.limit;
        let named = |fault: Fault| Fault { message: format!("in `{number}.npy`: {}", fault.message), ..fault };
        let mut member = self.zip.by_name(&format!("{number}.npy")).map_err(unzipped)?;
        let mut npy = Npy::of(&mut member as &mut dyn Read).map_err(named)?;
        let (stored, _) = element(&npy.descr).ok_or_else(|| named(npy.other_elements()))?;
        if npy.shape.len() != 1 {
            return Err(damaged(format!("`{number}.npy` has {} modes, 1 is expected", npy.shape.len())));
        }
        let ty = ty.unwrap_or(stored);
        let narrow = ty == Type::I64 && matches!(stored, Type::I8 | Type::I16 | Type::I32);
        if stored != ty && !narrow {
            return Err(other(stored, ty));
        }
        let array = npy.array(ty, self.left).map_err(named)?;
        let bytes = array.len() as u64 * ty.bytes() as u64;
        self.left = self.left.checked_sub(bytes).ok_or_else(|| Fault::over(limit))?;
        self.known.insert(number, array.clone());
        Ok(array)
    }
}

fn number(word: &str) -> Result<u64, Fault> {
    word.parse().map_err(|_| damaged(format!("`{}`, a number expected", word.chars().take(40).collect::<String>())))
}

/// What the archive's own structure has to say.
fn unzipped(error: ZipError) -> Fault {
    match error {
        ZipError::Io(e) => Fault::input(e),
        e => damaged(e),
    }
}

/// That a pack is of what a program declares. What it asks of texts is among what was packed, which may be more.
fn same(packed: &[&str], declared: &[(String, String)]) -> Result<(), Fault> {
    let is_test = |line: &&&str| line.starts_with("test ");
    for (name, what) in declared {
        let there = packed.iter().find_map(|line| line.strip_prefix(name.as_str())?.strip_prefix(' '));
        let anew = "pack the tables of this program anew";
        match there {
            Some(there) if there == what => {}
            Some(_) => {
                return Err(Fault::whole(format!("it is of another program: `{name}` is declared otherwise: {anew}")));
            }
            None => return Err(Fault::whole(format!("it is of another program, without `{name}`: {anew}"))),
        }
    }
    let own = declared.iter().filter(|(name, _)| !name.starts_with("test ")).count();
    let others = packed.iter().filter(|line| !is_test(line)).count();
    match others == own {
        true => Ok(()),
        false => Err(Fault::whole(format!(
            "it is of another program: it has {others} tables and domains, and this one {own}"
        ))),
    }
}

/// That a file has not changed since it was packed, if it is still there.
fn unchanged(line: &str) -> Result<(), Fault> {
    let mut words = line.splitn(4, ' ');
    let (Some(table), Some(length), Some(time), Some(path)) = (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(damaged("a source without a file"));
    };
    match state(Path::new(path)) {
        Some((now, then)) if now.to_string() != length || then != time => Err(Fault::whole(format!(
            "it is stale: `{path}`, table `{table}`, has changed since: pack the tables anew"
        ))),
        _ => Ok(()),
    }
}
