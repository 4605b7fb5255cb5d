//! Programs whose rewrites are validated: file tests and generated ones.

use fiberloom::data;
use fiberloom_check::notation::case::{case, chain, directed, nested, products};
use fiberloom_check::notation::fitted::fitted;
use fiberloom_check::notation::language::Written;
use fiberloom_check::notation::product;
use fiberloom_check::notation::subject::Subject;
use fiberloom_core::algebra::{Mode, Value};
use fiberloom_core::format::Tensor;
use fiberloom_core::notation::typed;
use fiberloom_core::shape;
use fiberloom_loops::{self as loops, Bound, Kernel, Tiles};
use fiberloom_loops::{Options, Widths};
use fiberloom_lower::lower_by;
use fiberloom_tests::directive::{self, Directive};
use fiberloom_tests::file::Folder;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A program and its data.
pub struct Program {
    /// Its file, or its seed and its text.
    pub name: String,
    typed: typed::Program,
    options: Options,
    operands: BTreeMap<String, Tensor<'static>>,
}

/// Bytes that a generated program is made of.
const BYTES: usize = 3000;

impl Program {
    /// The program of a seed: in turn of each of the campaigns' walks. `None`: it is none, or has no data.
    pub fn generated(seed: u64) -> Option<Program> {
        let bytes = fiberloom_check::bytes(seed, BYTES);
        let u = &mut arbitrary::Unstructured::new(&bytes);
        match seed % 5 {
            0 => Program::of(seed, &case(u)),
            1 => Program::of(seed, &directed(u, &product::nth(seed))),
            2 => Program::of(seed, &products(u)),
            3 => Program::of(seed, &nested(u, &chain(seed))),
            _ => Program::of(seed, &Written::lowered(u)),
        }
    }

    fn of(seed: u64, subject: &impl Subject) -> Option<Program> {
        let text = subject.to_string();
        let typed = fiberloom::Program::parse(&text).ok()?.typed().clone();
        let options = Options { mode: subject.mode(), ..subject.options(&typed) };
        let operands = subject.operands(&typed)?;
        Some(Program { name: format!("seed {seed}\n{text}"), typed, options, operands })
    }

    /// The program of a file test.
    ///
    /// # Errors
    /// Why it has none that runs.
    pub fn of_file(path: &Path) -> Result<Program, &'static str> {
        let text = std::fs::read_to_string(path).map_err(|_| "no file")?;
        let directives = directive::read(&text).map_err(|_| "no file test")?;
        let program = fiberloom::Program::parse(&text).map_err(|_| "a refused program")?;
        let typed = program.typed().clone();
        let folder = Folder::new(path).map_err(|_| "no folder")?;
        let mut files: Vec<(&str, PathBuf)> = vec![];
        let mut mode = Mode::Algebraic;
        for directive in &directives {
            match directive {
                Directive::In(name, array) => {
                    let file = folder.path.join(format!("{name}.npy"));
                    let ty = typed.tensors.iter().find(|t| t.name == *name).ok_or("an operand of no name")?.ty;
                    array.write(&file, ty.name()).map_err(|_| "no file")?;
                    files.push((name, file));
                }
                Directive::InFile(name, file) => files.push((name, path.with_file_name(file))),
                Directive::Strict => mode = Mode::Strict,
                _ => {}
            }
        }
        let paths: Vec<(&str, &Path)> = files.iter().map(|(name, file)| (*name, file.as_path())).collect();
        let operands = program.read(&paths, &data::Options::default()).map_err(|_| "refused data")?;
        let mut operands = operands.into_iter().map(|(name, tensor)| (name.to_string(), tensor)).collect();
        draw(&typed, &mut operands)?;
        let options = options(&typed, mode, &operands);
        Ok(Program { name: path.display().to_string(), typed, options, operands })
    }

    /// The kernel as it is emitted and after each rewrite, and as it is in strips of two, as rows of few entries want it: each
    /// with the rewrite's name and the kernel before it.
    ///
    /// # Errors
    /// Why there is none.
    pub fn pairs(&self) -> Result<Vec<Pair>, &'static str> {
        let mut stages: Vec<(&'static str, Kernel)> = vec![];
        let seen = &mut |name, kernel: &Kernel| stages.push((name, kernel.clone()));
        lower_by(&self.typed, &self.options, seen).map_err(|_| "a refused program")?;
        let mut pairs: Vec<Pair> = vec![];
        for two in stages.windows(2) {
            let ((_, before), (rewrite, after)) = (&two[0], &two[1]);
            pairs.push(Pair { rewrite, before: before.clone(), after: after.clone() });
        }
        let (_, emitted) = stages.first().ok_or("no kernel")?;
        let mut short = emitted.clone();
        loops::strip_mine_by(&mut short, 2);
        pairs.push(Pair { rewrite: "strips of two", before: emitted.clone(), after: short });
        let mut small = emitted.clone();
        loops::tiles_of(&mut small, &Tiles::LEAST);
        pairs.push(Pair { rewrite: "least tiles", before: emitted.clone(), after: small });
        Ok(pairs)
    }

    /// What its kernels are called with.
    ///
    /// # Errors
    /// Why they cannot be called.
    pub fn bound(&self, kernel: &Kernel) -> Result<Bound<'_>, &'static str> {
        let named = self.typed.tensors.iter().zip(0..);
        let given =
            named.filter_map(|(t, id)| Some((typed::TensorId(id), self.operands.get(&t.name)?.extents.clone())));
        let extents = shape::solve(&self.typed, &given.collect::<Vec<_>>()).map_err(|_| "unknown extents")?;
        let of =
            |t: typed::TensorId| self.typed.tensors[t.index()].sizes.iter().map(|s| extents.sizes[s.index()]).collect();
        let tensors: Vec<(&str, &Tensor)> = self.operands.iter().map(|(n, t)| (n.as_str(), t)).collect();
        loops::bind(kernel, &tensors, &of, &extents).map_err(|_| "data of other formats")
    }
}

/// A kernel before and after a rewrite.
pub struct Pair {
    /// The rewrite's name.
    pub rewrite: &'static str,
    /// The kernel before it.
    pub before: Kernel,
    /// And after it.
    pub after: Kernel,
}

/// How a program is lowered for operands.
fn options(typed: &typed::Program, mode: Mode, operands: &BTreeMap<String, Tensor>) -> Options {
    let ids = || (0..typed.tensors.len() as u32).map(typed::TensorId);
    let given = |id: typed::TensorId| operands.get(&typed.tensors[id.index()].name);
    let narrow = Widths::NARROW;
    let widths = |tensor: &Tensor| {
        let types = tensor.levels.iter().map(|level| level.index_types());
        types.map(|(pos, crd)| Widths { pos: pos.unwrap_or(narrow.pos), crd: crd.unwrap_or(narrow.crd) }).collect()
    };
    Options {
        mode,
        operands: ids().filter_map(|id| Some((id, widths(given(id)?)))).collect(),
        initial: typed.starts().into_iter().filter(|id| given(*id).is_some()).collect(),
        ..Options::default()
    }
}

/// Adds an operand for each that a program needs and nobody gives: of extents that the program and the others say, else 3, with a
/// value at half of all coordinates.
fn draw(typed: &typed::Program, operands: &mut BTreeMap<String, Tensor<'static>>) -> Result<(), &'static str> {
    let mut bytes = fiberloom_check::bytes(0, BYTES).into_iter();
    for id in typed.inputs() {
        let tensor = &typed.tensors[id.index()];
        let (None, Some(format)) = (operands.get(&tensor.name), &tensor.format) else { continue };
        let ids = (0..typed.tensors.len() as u32).map(typed::TensorId);
        let extents = |id: typed::TensorId| Some((id, operands.get(&typed.tensors[id.index()].name)?.extents.clone()));
        let given: Vec<_> = ids.filter_map(extents).collect();
        let extents = shape::known(typed, &given, id).map_err(|_| "extents that contradict each other")?;
        let extents: Vec<u64> = extents.into_iter().map(|n| n.unwrap_or(3)).collect();
        let all: u64 = extents.iter().fold(1, |all, n| all.saturating_mul(*n));
        if all > BYTES as u64 / 2 {
            return Err("extents that are large");
        }
        let at = |place: u64| {
            let coordinate = |(rest, mut at): (u64, Vec<i64>), n: &u64| {
                at.push((rest % n) as i64);
                (rest / n, at)
            };
            extents.iter().fold((place, vec![]), coordinate).1
        };
        let half = (0..all).filter(|_| bytes.next().is_some_and(|byte| byte % 2 == 0));
        let entries = half.map(|place| (at(place), Value::from_i128(tensor.ty, 1 + place as i128 % 3))).collect();
        let (format, fill) = (format.stored(), tensor.fill.unwrap_or(Value::zero(tensor.ty)));
        let entries = fitted(&format, entries);
        let (pos, crd) = (Widths::NARROW.pos, Widths::NARROW.crd);
        let made = Tensor::from_entries(extents, format, fill, pos, crd, entries);
        operands.insert(tensor.name.clone(), made.map_err(|_| "a format that does not hold what is drawn")?);
    }
    Ok(())
}
