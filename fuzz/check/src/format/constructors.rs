//! Tensors of whatever a caller may give: every public constructor and every conversion refuses what [`Tensor::check`] would,
//! with an error and not with a panic, and what it gives instead is well-formed.
//!
//! ```text
//!  extents, order, kinds, arrays,   ──constructor──▶ refused, or a tensor ──check──┬▶ well-formed: conversions give well-formed ones
//!  entries, types: each may be                                                    ╰▶ malformed: each conversion, file and call
//!  wrong                                                                             refuses it
//! ```
//!
//! An extent is small, or so large that no machine has the memory for it.

use arbitrary::Unstructured;
use fiberloom::data::{self, Kind};
use fiberloom::{
    Array, Assembly, AssemblyError, Duplicates, Engine, Entries, Format, Level, LevelKind, Options, Program, Tensor,
    Type, Value, added,
};
use std::convert::Infallible;
use std::path::Path;

/// The most bytes of a result.
const LIMIT: u64 = 1 << 20;

/// What became of what was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fate {
    /// The constructor refused it.
    Refused,
    /// It made a malformed tensor, of which everything else is refused.
    Malformed,
    /// It made a well-formed one.
    Made,
}

/// Constructors by their names.
pub const CONSTRUCTORS: [&str; 13] = [
    "csr",
    "csc",
    "coo",
    "matrix",
    "vector",
    "from_levels",
    "a literal",
    "a damaged literal",
    "from_entries",
    "assemble",
    "from_dense",
    "dense",
    "scalar",
];

/// The first of them that gives no malformed tensor: those before look at lengths and types alone.
const CHECKED: usize = 8;

/// Calls a constructor on what these bytes say: its number in [`CONSTRUCTORS`], and what became of it.
///
/// # Panics
/// If a constructor or a conversion does, if one that checks gives a malformed tensor, or takes one: that is the finding.
pub fn construct(bytes: &[u8]) -> (usize, Fate) {
    let u = &mut Unstructured::new(bytes);
    let which = below(u, CONSTRUCTORS.len());
    let Some(tensor) = made(u, which) else { return (which, Fate::Refused) };
    let checked = tensor.check();
    assert!(checked.is_ok() || which < CHECKED, "{} gave {tensor:?}: {checked:?}", CONSTRUCTORS[which]);
    let tensor = match below(u, 3) {
        0 => tensor.clone().with_fill(value(u, 8)).unwrap_or(tensor),
        _ => tensor,
    };
    let sound = tensor.check().is_ok();
    converted(u, &tensor, sound);
    written(u, &tensor, sound);
    if below(u, 8) == 0 {
        called(&tensor, sound);
    }
    (which, if sound { Fate::Made } else { Fate::Malformed })
}

/// What a constructor makes of arguments that are drawn; `None` if it refuses them.
fn made(u: &mut Unstructured, which: usize) -> Option<Tensor<'static>> {
    let ty = one(u, &Type::ALL);
    let [rows, columns] = [extent(u), extent(u)];
    match CONSTRUCTORS[which] {
        "csr" | "csc" => {
            let fibers = if CONSTRUCTORS[which] == "csr" { rows } else { columns };
            let (pos, crd) = list(u, fibers);
            let values = values_of(u, ty, crd.len());
            match CONSTRUCTORS[which] {
                "csr" => Tensor::csr(rows, columns, pos, crd, values).ok(),
                _ => Tensor::csc(rows, columns, pos, crd, values).ok(),
            }
        }
        "coo" => {
            let extents = extents(u);
            let n = extents.len() + below(u, 8) / 7;
            let columns: Vec<Array> = (0..n).map(|_| indices(u)).collect();
            let values = values_of(u, ty, columns.first().map_or(0, Array::len));
            Tensor::coo(extents, columns, values).ok()
        }
        "matrix" => Tensor::matrix(rows, columns, values(u, ty)).ok(),
        "vector" => Some(Tensor::vector(values(u, ty))),
        "from_levels" => {
            let (extents, order) = shape(u);
            let levels = order.iter().map(|_| level(u)).collect();
            Tensor::from_levels(extents, order, levels, values(u, ty)).ok()
        }
        "a literal" => {
            let (extents, format) = shape_and_format(u);
            let levels = (0..extents.len() + below(u, 16) / 15).map(|_| level(u)).collect();
            Some(Tensor { extents, format, levels, values: values(u, ty), fill: value(u, 16) })
        }
        "a damaged literal" => {
            // What a kind of level has no place for, another has.
            let sound = (0..4).find_map(|_| assembled(u, ty)).unwrap_or(Tensor::scalar(Value::one(ty)));
            Some(damaged(u, sound))
        }
        "from_entries" => {
            let (extents, format) = shape_and_format(u);
            let fill = Value::zero(ty);
            let n = below(u, 5);
            let entries: Vec<(Vec<i64>, Value)> = (0..n).map(|_| (coordinates(u, &extents), of_type(u, ty))).collect();
            Tensor::from_entries(extents, format, fill, index_type(u), index_type(u), entries).ok()
        }
        "assemble" => assembled(u, ty),
        "from_dense" => {
            let (extents, format) = shape_and_format(u);
            let values = filling(u, ty, &extents);
            Tensor::from_dense(extents, format, of_type(u, ty), index_type(u), index_type(u), values).ok()
        }
        "dense" => {
            let extents = extents(u);
            let values = filling(u, ty, &extents);
            Tensor::dense(extents, of_type(u, ty), values).ok()
        }
        _ => Some(Tensor::scalar(of_type(u, ty))),
    }
}

fn assembled(u: &mut Unstructured, ty: Type) -> Option<Tensor<'static>> {
    let (extents, format) = shape_and_format(u);
    let n = below(u, 5);
    let mut columns: Vec<Vec<i64>> = vec![vec![]; extents.len()];
    for _ in 0..n {
        columns.iter_mut().zip(coordinates(u, &extents)).for_each(|(column, c)| column.push(c));
    }
    if below(u, 8) == 7 {
        columns.pop();
    }
    let values = values_of(u, ty, n);
    let values = if below(u, 12) == 11 { changed(u, values) } else { values };
    let entries = Entries { coordinates: columns, values };
    let other = one(u, &Type::ALL);
    let odd = move |_: Value, _: Value| Value::one(other);
    let duplicates = match below(u, 4) {
        0 => Duplicates::Reject,
        3 => Duplicates::Combine(&odd),
        _ => Duplicates::Combine(&added),
    };
    let types = [index_type(u), index_type(u)].map(|ty| (below(u, 2) == 1).then_some(ty));
    let how = Assembly { pos: types[0], crd: types[1], duplicates, limit: LIMIT, rounded: below(u, 2) == 1 };
    entries.assemble(&extents, &format, of_type(u, ty), &how).ok()
}

/// Each conversion refuses a malformed tensor, and gives well-formed ones.
fn converted(u: &mut Unstructured, tensor: &Tensor, sound: bool) {
    let takes = |what: &str, result: Option<AssemblyError>| {
        // A well-formed one may still be too large, or hold what the other format has no place for.
        assert!(sound || result.is_some(), "{what} of {tensor:?}");
    };
    assert_eq!(tensor.clone().checked().is_ok(), sound);
    takes("listed", tensor.listed().err());
    takes("stored_entries", tensor.stored_entries().err());
    takes("to_dense", tensor.to_dense(LIMIT).err());
    let formats = [tensor.format.clone(), shape_and_format(u).1, Format::csf(tensor.extents.len())];
    for format in formats {
        let how = Assembly { limit: LIMIT, duplicates: Duplicates::Reject, ..Assembly::default() };
        let other = tensor.clone().convert(&format, &how);
        if let Ok(other) = &other {
            assert_eq!(other.check(), Ok(()), "{format} of {tensor:?}: {other:?}");
            assert_eq!(other.fill, tensor.fill);
        }
        takes("convert", other.err());
    }
    // What asks nothing of a tensor takes any.
    assert_eq!(tensor.borrow().into_owned().check().is_ok(), sound);
    if sound && tensor.extents.iter().all(|e| *e < 10) {
        assert_eq!(tensor.entries().count(), tensor.listed().map_or(0, |entries| entries.len()));
        assert!(tensor.first_entries(2).count() <= 2 && tensor.stored() <= tensor.values.len());
    }
}

/// No file is written of a malformed tensor.
fn written(u: &mut Unstructured, tensor: &Tensor, sound: bool) {
    let kind = one(u, &Kind::ALL);
    let file = data::to_bytes(Path::new("constructed"), kind, tensor, LIMIT);
    assert!(sound || file.is_err(), "{kind:?} of {tensor:?}");
}

/// No call runs on a malformed tensor, by either way to say what it is like.
fn called(tensor: &Tensor, sound: bool) {
    let vars: Vec<String> = (0..tensor.extents.len()).map(|m| format!("i{m}")).collect();
    let text = format!("n[] = count({}: A[{}] != A[{}])", vars.join(", "), vars.join(", "), vars.join(", "));
    let text = if vars.is_empty() { "n[] = A[]".to_string() } else { text };
    let Ok(program) = Program::parse_given(&text, &[("A", tensor)]) else { return };
    for engine in [Engine::Loops, Engine::Meaning] {
        let options = Options { engine, memory: LIMIT, steps: 10_000, ..Options::default() };
        let Ok(kernel) = program.compile(&options) else { continue };
        let ran = kernel.run(&[("A", tensor)]);
        assert!(sound || ran.is_err(), "{tensor:?}");
    }
}

/// Below `n`, which is not 0.
fn below(u: &mut Unstructured, n: usize) -> usize {
    u.choose_index(n).unwrap_or(0)
}

fn one<T: Copy>(u: &mut Unstructured, of: &[T]) -> T {
    of[below(u, of.len())]
}

fn extent(u: &mut Unstructured) -> u64 {
    one(u, &[3, 2, 3, 1, 4, 2, 3, 0, 2, 3, 1 << 55, i64::MAX as u64, 1 << 63, u64::MAX])
}

fn extents(u: &mut Unstructured) -> Vec<u64> {
    (0..one(u, &[2, 1, 2, 3, 0, 2])).map(|_| extent(u)).collect()
}

/// Extents and an order of as many modes, unless one in eight times.
fn shape(u: &mut Unstructured) -> (Vec<u64>, Vec<usize>) {
    let extents = extents(u);
    let rank = extents.len();
    let mut order: Vec<usize> = (0..rank).collect();
    if below(u, 2) == 1 {
        order.reverse();
    }
    match below(u, 16) {
        12 => order.push(rank),
        13 => drop(order.pop()),
        14 if rank > 0 => order[0] = one(u, &[7, usize::MAX, rank - 1]),
        15 if rank > 1 => order[1] = order[0],
        _ => {}
    }
    (extents, order)
}

fn shape_and_format(u: &mut Unstructured) -> (Vec<u64>, Format) {
    let (extents, order) = shape(u);
    let kinds = extents.len() + below(u, 24) / 23;
    let levels: Vec<LevelKind> = (0..kinds).map(|_| one(u, &LevelKind::ALL)).collect();
    (extents, Format { levels: levels.into(), order: order.into() })
}

/// A type of positions or coordinates, unless one in eight times.
fn index_type(u: &mut Unstructured) -> Type {
    one(u, &[Type::I32, Type::I64, Type::I32, Type::I64, Type::I32, Type::I64, Type::I32, Type::F64])
}

/// An array of whole numbers as positions and coordinates are, and of such as they are not.
fn indices(u: &mut Unstructured) -> Array<'static> {
    let far = [-1, i64::MAX, i64::MIN, i32::MAX as i64, 1 << 55];
    let n = below(u, 5);
    let odd = below(u, 6) == 5;
    let numbers: Vec<i64> = (0..n).map(|n| if odd { one(u, &far) } else { (n + below(u, 2)) as i64 }).collect();
    stored(u, numbers)
}

/// Positions of so many fibers, of one entry or two each, and their coordinates, unless one in eight times.
fn list(u: &mut Unstructured, fibers: u64) -> (Array<'static>, Array<'static>) {
    if fibers > 6 || below(u, 8) == 7 {
        return (indices(u), indices(u));
    }
    let (mut pos, mut crd) = (vec![0], vec![]);
    for _ in 0..fibers {
        crd.extend((0..below(u, 3)).map(|c| c as i64));
        pos.push(crd.len() as i64);
    }
    (stored(u, pos), stored(u, crd))
}

/// So many values, unless one in eight times.
fn values_of(u: &mut Unstructured, ty: Type, n: usize) -> Array<'static> {
    match below(u, 8) {
        7 => values(u, ty),
        _ => Array::from_values(ty, (0..n).map(|_| Value::from_i128(ty, below(u, 3) as i128))),
    }
}

/// A tensor of which one thing is changed.
fn damaged(u: &mut Unstructured, tensor: Tensor<'static>) -> Tensor<'static> {
    let Tensor { mut extents, mut format, mut levels, mut values, mut fill } = tensor;
    let rank = extents.len();
    match below(u, 10) {
        0 if rank > 0 => extents[below(u, rank)] = extent(u),
        1 if rank > 0 => format.order_mut()[below(u, rank)] = one(u, &[0, 1, 7]),
        2 if rank > 0 => format.levels_mut()[below(u, rank)] = one(u, &LevelKind::ALL),
        3 => fill = value(u, 2),
        4 => values = changed(u, values),
        5 if rank > 0 => drop(levels.swap_remove(below(u, rank))),
        _ if rank > 0 => {
            let l = below(u, rank);
            levels[l] = changed_level(u, levels[l].clone());
        }
        _ => extents.push(1),
    }
    Tensor { extents, format, levels, values, fill }
}

fn changed_level(u: &mut Unstructured, level: Level<'static>) -> Level<'static> {
    match (level.kind().arrays().len(), level) {
        (0, Level::Dense) => Level::Lower,
        (0, _) => Level::Dense,
        (arrays, level) => {
            let (which, mut n) = (below(u, arrays), 0);
            let changed = level.map_into(|array| {
                n += 1;
                Ok::<_, Infallible>(if n == which + 1 { changed(u, array) } else { array })
            });
            let Ok(level) = changed;
            level
        }
    }
}

/// An array of which an element is another, or is not there, or is there twice, or all are of another type.
fn changed(u: &mut Unstructured, array: Array<'static>) -> Array<'static> {
    let n = array.len();
    let mut all: Vec<Value> = array.iter().collect();
    let (at, ty) = (below(u, n.max(1)), array.ty());
    match below(u, 6) {
        0 if n > 0 => drop(all.remove(at)),
        1 if n > 0 => all.push(all[at]),
        2 => return if ty == Type::I32 { Array::from(vec![0i64; n]) } else { Array::from(vec![0i32; n]) },
        _ if ty == Type::Bool && n > 0 => {
            let mut bytes: Vec<u8> = all.iter().map(|v| v.is_true() as u8).collect();
            bytes[at] = 2;
            return Array::Bool(bytes.into());
        }
        _ if n > 0 => all[at] = Value::from_i128(ty, one(u, &[-1, 0, 1, 2, 5, i32::MAX as i128, i64::MAX as i128])),
        _ => {}
    }
    Array::from_values(ty, all)
}

fn stored(u: &mut Unstructured, numbers: Vec<i64>) -> Array<'static> {
    match below(u, 12) {
        0..5 => Array::from(numbers.into_iter().map(|n| n as i32).collect::<Vec<i32>>()),
        11 => Array::from(numbers.into_iter().map(|n| n as f64).collect::<Vec<f64>>()),
        10 => Array::from(numbers.into_iter().map(|n| n as u64).collect::<Vec<u64>>()),
        _ => Array::from(numbers),
    }
}

/// Some values of a type; of a `bool` bytes that are none, too.
fn values(u: &mut Unstructured, ty: Type) -> Array<'static> {
    let n = below(u, 7);
    if ty == Type::Bool && below(u, 3) == 2 {
        let bytes: Vec<u8> = (0..n).map(|_| one(u, &[0, 1, 2, 255])).collect();
        return Array::Bool(bytes.into());
    }
    Array::from_values(ty, (0..n).map(|_| Value::from_i128(ty, below(u, 3) as i128)))
}

/// As many values as a tensor of these extents has, mostly, where these are few.
fn filling(u: &mut Unstructured, ty: Type, extents: &[u64]) -> Array<'static> {
    match extents.iter().try_fold(1u64, |n, e| n.checked_mul(*e)) {
        Some(n) if n < 100 && below(u, 6) > 0 => {
            Array::from_values(ty, (0..n).map(|_| Value::from_i128(ty, below(u, 3) as i128)))
        }
        _ => values(u, ty),
    }
}

/// A value of this type, unless one in so many times.
fn of_type(u: &mut Unstructured, ty: Type) -> Value {
    let ty = if below(u, 16) == 15 { one(u, &Type::ALL) } else { ty };
    Value::from_i128(ty, below(u, 2) as i128)
}

/// A value of any type; 0 of a float once in so many times.
fn value(u: &mut Unstructured, n: usize) -> Value {
    let ty = if below(u, n) == 0 { Type::F64 } else { one(u, &Type::ALL) };
    Value::from_i128(ty, below(u, 2) as i128)
}

/// Coordinates within these extents, unless one in sixteen times.
fn coordinates(u: &mut Unstructured, extents: &[u64]) -> Vec<i64> {
    let mut at: Vec<i64> = extents.iter().map(|e| below(u, (*e).clamp(1, 9) as usize) as i64).collect();
    match below(u, 16) {
        14 => at.push(0),
        15 => at.iter_mut().for_each(|c| *c = one(u, &[-1, i64::MAX, i64::MIN, 4])),
        _ => {}
    }
    at
}

/// The arrays of a level of any kind.
fn level(u: &mut Unstructured) -> Level<'static> {
    let kind = one(u, &[&LevelKind::ALL[..], &[LevelKind::Dense, LevelKind::Compressed]].concat());
    let made = Level::of(kind, |_, holds| {
        Ok::<_, Infallible>(match holds.ty() {
            None => indices(u),
            Some(Type::U64) => Array::from(vec![below(u, 16) as u64]),
            Some(ty) => values(u, ty),
        })
    });
    let Ok(made) = made;
    made.unwrap_or(Level::Dense)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn what_check_would_refuse_is_refused_with_an_error() {
        let mut seen: BTreeMap<(usize, Fate), usize> = BTreeMap::new();
        for seed in 0..30_000 {
            *seen.entry(construct(&crate::bytes(seed, 400))).or_default() += 1;
        }
        let least = |name: &str| if name == "a literal" { 1 } else { 20 };
        for (which, name) in CONSTRUCTORS.iter().enumerate() {
            let count = |fate| seen.get(&(which, fate)).copied().unwrap_or(0);
            println!(
                "{name}: {} refused, {} malformed, {} made",
                count(Fate::Refused),
                count(Fate::Malformed),
                count(Fate::Made)
            );
            let refuses = !["vector", "a literal", "a damaged literal", "scalar"].contains(name);
            assert!(count(Fate::Made) >= least(name) && (!refuses || count(Fate::Refused) > 100), "{name}: {seen:?}");
        }
    }
}
