//! Data files: whatever their bytes are, a reader refuses them with a place or makes of them a well-formed tensor, as
//! declared, which every writer that takes it writes so that it is read back as the same.
//!
//! ```text
//!  bytes ──▶ declaration, file ──read──┬▶ refused: a message, no failure of the system's
//!            │ any bytes               └▶ tensor ──check──▶ well-formed, as declared
//!            │ words of texts                       └─write, each kind──▶ file ──read──▶ the same tensor
//!            └ written files, damaged
//! ```
//!
//! What a reader may allocate is limited; the fuzzer watches that it does not allocate more.
pub mod constructors;
pub mod files;
pub mod tables;

use arbitrary::Unstructured;
use fiberloom::data::{self, Cause, Declared, Kind, Options};
use fiberloom::{Duplicates, Format, LevelKind, Tensor, Type, Value, added};
use std::collections::BTreeMap;
use std::path::Path;

/// The most bytes of a tensor: far more than the files here can hold, and far less than a header can promise.
const LIMIT: u64 = 1 << 20;

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imported<K = Kind> {
    /// It was refused.
    Refused(K, Cause),
    /// It was read, and read back from as many kinds of files.
    Read(K, usize),
}

/// Why a file of this name is refused: its data are what is wrong.
fn refused(name: &str, e: &data::Error) -> Cause {
    let text = e.to_string();
    assert!(text.starts_with(&format!("{name}:")) && !e.message.is_empty(), "{text}");
    assert!(e.cause != Cause::Io && e.cause != Cause::Extension, "nothing has failed but the data: {text}");
    e.cause
}

/// Reads the file of these bytes.
///
/// # Panics
/// If the tensor is malformed or not as declared, or if it is written and not read back: that is the finding, as is
/// any panic of a reader or a writer.
pub fn import(bytes: &[u8]) -> Imported {
    let u = &mut Unstructured::new(bytes);
    let kind = *u.choose(&Kind::ALL).unwrap_or(&Kind::Mtx);
    let (ty, format) = (*u.choose(&Type::ALL).unwrap_or(&Type::F64), any_format(u));
    let extents = (0..format.rank()).map(|_| u.ratio(1, 3).unwrap_or(false).then(|| below(u, 6) as u64)).collect();
    let declared = Declared { ty, extents, fill: any_fill(u, ty), format: &format };
    let duplicates = if u.arbitrary().unwrap_or(false) { Duplicates::Combine(&added) } else { Duplicates::Reject };
    let options = Options { duplicates, limit: LIMIT, largest: None };
    let file = files::file(u, kind, &declared);
    let (name, file) = match u.ratio(1, 6).unwrap_or(false) {
        true => ("fuzzed.gz", files::packed(u, &file)),
        false => ("fuzzed", file),
    };
    match data::read_bytes(Path::new(name), kind, &file, &declared, &options) {
        Err(e) => Imported::Refused(kind, refused(name, &e)),
        Ok(tensor) => {
            assert_eq!(tensor.check(), Ok(()), "{tensor:?}");
            assert_eq!(tensor.format, format.stored());
            assert_eq!((tensor.values.ty(), tensor.fill), (ty, declared.fill));
            Imported::Read(kind, Kind::ALL.into_iter().filter(|kind| is_read_back(&tensor, *kind, &declared)).count())
        }
    }
}

/// Whether this kind of file takes the tensor; then it gives it back.
fn is_read_back(tensor: &Tensor, kind: Kind, declared: &Declared) -> bool {
    let name = Path::new("written");
    let Ok(file) = data::to_bytes(name, kind, tensor, LIMIT) else { return false };
    let options = Options { limit: 1 << 26, ..Options::default() };
    let shown = || format!("{kind:?}\n{}\n{tensor:?}", String::from_utf8_lossy(&file[..file.len().min(4000)]));
    let again = data::read_bytes(name, kind, &file, declared, &options).unwrap_or_else(|e| panic!("{e}\n{}", shown()));
    assert_eq!(again.extents, tensor.extents, "{}", shown());
    assert_eq!(function(&again), function(tensor), "{}", shown());
    // A sparse file names what is stored, fill values among it.
    let sparse = tensor.format.levels.last() == Some(&LevelKind::Compressed) && !tensor.fill.is_true();
    let integers = !tensor.fill.ty().is_float();
    if sparse && integers && kind != Kind::Npy {
        assert_eq!(&again, tensor, "{}", shown());
    }
    true
}

/// What a tensor holds besides its fill value. All NaNs are one: a text does not tell them apart.
fn function(tensor: &Tensor) -> BTreeMap<Vec<i64>, Value> {
    let one = |value: Value| if value.is_nan() { Value::from_f64(value.ty(), f64::NAN) } else { value };
    let fill = one(tensor.fill);
    tensor.entries().map(|(at, value)| (at, one(value))).filter(|(_, value)| *value != fill).collect()
}

/// A format of up to four modes.
fn any_format(u: &mut Unstructured) -> Format {
    use LevelKind::{Bitmap, Bytemap, Compressed, Dense, Hashed};
    let rank = *u.choose(&[2, 2, 2, 1, 3, 3, 0, 4]).unwrap_or(&2);
    if let Some(named) = u.choose(&["", "coo", "csr", "dcsc", "csf"]).ok().and_then(|name| Format::named(name, rank)) {
        return named;
    }
    let levels = [Dense, Compressed, Compressed, Bitmap, Bytemap, Hashed];
    let mut format = Format::of((0..rank).map(|_| *u.choose(&levels).unwrap_or(&Dense)).collect());
    (1..rank).for_each(|l| format.order_mut().swap(l, below(u, l + 1)));
    format
}

fn any_fill(u: &mut Unstructured, ty: Type) -> Value {
    match below(u, 12) {
        0 => Value::one(ty),
        1 if ty.is_float() => Value::from_f64(ty, f64::INFINITY),
        2 if ty.is_float() => Value::from_f64(ty, f64::NAN),
        3 if ty.is_float() => Value::from_f64(ty, -0.0),
        _ => Value::zero(ty),
    }
}

/// Below `n`, which is not 0.
fn below(u: &mut Unstructured, n: usize) -> usize {
    u.choose_index(n).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::fmt::Debug;
    use std::hash::Hash;

    /// Of files of seeds more than so many of each kind are refused, and as many are read back.
    pub fn are_read_written_and_refused<K: Copy + Debug + Eq + Hash>(
        kinds: &[K],
        many: usize,
        import: fn(&[u8]) -> Imported<K>,
    ) {
        let mut seen: HashMap<K, [usize; 3]> = HashMap::new();
        for seed in 0..9000 {
            let (kind, what) = match import(&crate::bytes(seed, 50 + seed as usize % 400)) {
                Imported::Refused(kind, _) => (kind, 0),
                Imported::Read(kind, 0) => (kind, 1),
                Imported::Read(kind, _) => (kind, 2),
            };
            seen.entry(kind).or_default()[what] += 1;
        }
        for kind in kinds {
            let [refused, _, back] = seen[kind];
            assert!(refused > many && back > many, "{kind:?}: {seen:?}");
        }
    }

    #[test]
    fn every_kind_is_read_written_and_refused() {
        are_read_written_and_refused(&Kind::ALL, 100, import);
    }
}
