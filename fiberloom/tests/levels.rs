//! Every kind of level below every other, in operands and in results, under every operation.
//!
//! ```text
//!  A: 42 formats  ─┐   sum, product, difference, transposed copy    ┌─▶ R: 37 formats
//!  B, by turns    ─┼▶  rows of A times x, row sums, column sums    ─┴─▶ y: 6 formats
//!  x:  6 formats  ─┘                 the definition: loops over arrays, written here
//! ```
//!
//! All pairs of formats of A and of the result, of A and B, and of B and the result are met, each of them in both orders
//! of storage; the vectors' formats with every one of A's. The data has empty rows and columns, full rows, and entries
//! that cancel. The interpreter of loops answers every program; machine code answers those that meet each format of A
//! and each of the result under each operation.

use fiberloom::{Assembly, Engine, Entries, Format, LevelKind, Options, Program, Tensor, Type, Value};

/// The levels that are lowered.
const KINDS: [LevelKind; 7] = [
    LevelKind::Dense,
    LevelKind::Compressed,
    LevelKind::Nonunique,
    LevelKind::Singleton,
    LevelKind::Hashed,
    LevelKind::Bytemap,
    LevelKind::Bitmap,
];
const ROWS: usize = 4;
const COLUMNS: usize = 5;
type Matrix = [[i64; COLUMNS]; ROWS];

/// An empty row, an empty column, and with B entries that cancel in a sum and in a difference.
const A: Matrix = [[1, 0, 2, 0, 0], [0, 0, 0, 0, 0], [3, -4, 5, 0, 7], [0, 0, 0, 0, -2]];
/// A full row, an empty one.
const B: Matrix = [[1, 0, -2, 0, 3], [0, 0, 0, 8, 0], [3, 4, 5, -6, 7], [0, 0, 0, 0, 0]];
/// One entry a row and a column at most: what a singleton below anything but `nonunique` can hold.
const A_SINGLE: Matrix = [[0, 0, 2, 0, 0], [0, 0, 0, 0, 0], [3, 0, 0, 0, 0], [0, 0, 0, 0, -2]];
const B_SINGLE: Matrix = [[0, 0, -2, 0, 0], [0, 0, 0, 8, 0], [3, 0, 0, 0, 0], [0, 0, 0, 0, 0]];
/// The first row of A times it is 0.
const X: [i64; COLUMNS] = [2, 0, -1, 3, 1];

/// A result as the definition says it: extents, and every element in the order of rows.
type Defined = (Vec<u64>, Vec<i64>);

/// An operation: how a program says it, and what it is.
struct Operation {
    statement: &'static str,
    definition: fn(&Matrix, &Matrix) -> Defined,
}

const SUM: Operation = Operation {
    statement: "R[i,j] = A[i,j] + B[i,j]",
    definition: |a, b| (vec![4, 5], elements(|i, j| a[i][j] + b[i][j])),
};
const PRODUCT: Operation = Operation {
    statement: "R[i,j] = A[i,j] * B[i,j]",
    definition: |a, b| (vec![4, 5], elements(|i, j| a[i][j] * b[i][j])),
};
const DIFFERENCE: Operation = Operation {
    statement: "R[i,j] = A[i,j] - B[i,j]",
    definition: |a, b| (vec![4, 5], elements(|i, j| a[i][j] - b[i][j])),
};
const TRANSPOSED: Operation = Operation {
    statement: "R[j,i] = A[i,j]",
    definition: |a, _| (vec![5, 4], (0..COLUMNS).flat_map(|j| (0..ROWS).map(move |i| a[i][j])).collect()),
};
const TIMES_VECTOR: Operation = Operation {
    statement: "y[i] = A[i,j] * x[j]",
    definition: |a, _| (vec![4], a.iter().map(|row| (0..COLUMNS).map(|j| row[j] * X[j]).sum()).collect()),
};
const ROW_SUMS: Operation = Operation {
    statement: "y[i] = A[i,j]",
    definition: |a, _| (vec![4], a.iter().map(|row| row.iter().sum()).collect()),
};
const COLUMN_SUMS: Operation = Operation {
    statement: "y[j] = A[i,j]",
    definition: |a, _| (vec![5], (0..COLUMNS).map(|j| a.iter().map(|row| row[j]).sum()).collect()),
};

fn elements(at: impl Fn(usize, usize) -> i64) -> Vec<i64> {
    (0..ROWS).flat_map(|i| (0..COLUMNS).map(|j| at(i, j)).collect::<Vec<_>>()).collect()
}

/// A singleton stands below another level; a result's, directly below `nonunique`.
fn is_format_of_operand(levels: &[LevelKind]) -> bool {
    levels[0] != LevelKind::Singleton
}

fn is_format_of_result(levels: &[LevelKind]) -> bool {
    is_format_of_operand(levels) && (levels.last() != Some(&LevelKind::Singleton) || levels[0] == LevelKind::Nonunique)
}

fn holds_one_entry_a_row(format: &Format) -> bool {
    !is_format_of_result(&format.levels)
}

/// All formats of matrices of which this holds, by rows.
fn matrices(holds: fn(&[LevelKind]) -> bool) -> Vec<Format> {
    let all = KINDS.into_iter().flat_map(|outer| KINDS.map(|inner| vec![outer, inner]));
    all.filter(|levels| holds(levels)).map(Format::of).collect()
}

fn vectors() -> Vec<Format> {
    KINDS.into_iter().map(|kind| vec![kind]).filter(|levels| is_format_of_operand(levels)).map(Format::of).collect()
}

/// The format by columns if the number is odd.
fn ordered(format: &Format, number: usize) -> Format {
    let order = if number % 2 == 1 { vec![1, 0] } else { vec![0, 1] };
    Format { order: order.into(), ..format.clone() }
}

fn stored(extents: &[u64], elements: &[i64], format: &Format) -> Tensor<'static> {
    let at = |mut place: usize| {
        let mut at: Vec<i64> =
            extents.iter().rev().map(|e| (place % *e as usize, place /= *e as usize).0 as i64).collect();
        at.reverse();
        at
    };
    let entries = elements.iter().enumerate().filter(|(_, x)| **x != 0).map(|(place, x)| (at(place), Value::i64(*x)));
    let entries = Entries::of(extents.len(), Type::I64, entries).unwrap();
    entries.assemble(extents, format, Value::i64(0), &Assembly::default()).unwrap()
}

/// One program with its data, and what its result is.
struct Case {
    program: Program,
    text: String,
    operands: Vec<(&'static str, Tensor<'static>)>,
    defined: Defined,
}

impl Case {
    /// `formats`: of A, of the other operand if there is one, of the result.
    fn new(operation: &Operation, a: &Format, other: Option<&Format>, result: &Format) -> Case {
        let flat = |m: &Matrix| m.concat();
        let a_values = if holds_one_entry_a_row(a) { A_SINGLE } else { A };
        let mut b_values = B;
        let mut operands = vec![("A", stored(&[4, 5], &flat(&a_values), a))];
        let mut text = format!("tensor A: i64[I, J] {a}\n");
        match other {
            Some(x) if x.rank() == 1 => {
                operands.push(("x", stored(&[5], &X, x)));
                text += &format!("tensor x: i64[J] {x}\n");
            }
            Some(b) => {
                b_values = if holds_one_entry_a_row(b) { B_SINGLE } else { B };
                operands.push(("B", stored(&[4, 5], &flat(&b_values), b)));
                text += &format!("tensor B: i64[I, J] {b}\n");
            }
            None => {}
        }
        let name = &operation.statement[..1];
        let sizes = operation.statement[2..].split(']').next().expect("an access").to_uppercase();
        text += &format!("tensor {name}: i64[{sizes}] {result}\n{}", operation.statement);
        let program = Program::parse(&text).unwrap_or_else(|e| panic!("{text}\n{e}"));
        Case { program, text, operands, defined: (operation.definition)(&a_values, &b_values) }
    }

    /// What the engine says, if that is not the definition.
    fn wrong(&self, engine: Engine) -> Option<String> {
        let operands: Vec<(&str, &Tensor)> = self.operands.iter().map(|(name, t)| (*name, t)).collect();
        let kernel = self.program.compile(&Options { engine, steps: 1 << 16, verify: true, ..Options::default() });
        let outcome = match kernel.and_then(|kernel| kernel.run(&operands)) {
            Ok(outcome) => outcome,
            Err(error) => return Some(format!("{engine:?}: {error}\n{}\n", self.text)),
        };
        let (_, result) = outcome.results.first().expect("a result");
        let (extents, expected) = &self.defined;
        let place = |at: &[i64]| at.iter().zip(extents).fold(0, |place, (c, e)| place * *e as usize + *c as usize);
        let mut made = vec![0; expected.len()];
        result.entries().for_each(|(at, value)| made[place(&at)] += value.as_i64().expect("an integer"));
        let right = &result.extents == extents && &made == expected;
        (!right).then(|| format!("{engine:?}: {made:?}, defined as {expected:?}\n{}\n", self.text))
    }
}

/// Asks the interpreter for every case, and machine code for those with this mark; of the others each fifth, unless
/// `FIBERLOOM_TESTS=long` asks for all.
fn all_are_right(cases: impl IntoIterator<Item = (Case, bool)>) {
    let (mut count, mut compiled, mut wrong) = (0, 0, Vec::new());
    let is_long = crate::all_is_tried();
    for (_, (case, is_compiled)) in
        cases.into_iter().enumerate().filter(|(n, (_, mark))| is_long || *mark || n % 5 == 0)
    {
        wrong.extend(case.wrong(Engine::Loops));
        wrong.extend(if is_compiled { case.wrong(Engine::Llvm) } else { None });
        count += 1;
        compiled += usize::from(is_compiled);
    }
    assert!(wrong.is_empty(), "{} wrong of {count}:\n{}", wrong.len(), wrong[..wrong.len().min(5)].join("\n"));
    assert!(count >= 42 * 2 && compiled >= 42, "{count} programs, {compiled} of them compiled");
}

/// A matrix of every format, another of each by turns, into a matrix of every format.
fn into_matrices(operation: &Operation) {
    let (operands, results) = (matrices(is_format_of_operand), matrices(is_format_of_result));
    assert_eq!((operands.len(), results.len()), (42, 37));
    let is_of_two = operation.statement.contains('B');
    all_are_right((0..operands.len()).flat_map(|a| {
        let (operands, results) = (&operands, &results);
        (0..operands.len()).map(move |r| {
            // Takes every value with each a and with each r: every pair with B is met. The orders change on the way.
            let turn = a + r;
            let b = is_of_two.then(|| ordered(&operands[turn % operands.len()], turn / 2));
            let case = Case::new(
                operation,
                &ordered(&operands[a], r),
                b.as_ref(),
                &ordered(&results[r % results.len()], a / 2),
            );
            (case, r == a)
        })
    }));
}

/// A matrix of every format, with a vector of every format if there is one, into a vector of every format.
fn into_vectors(operation: &Operation) {
    let (operands, vectors) = (matrices(is_format_of_operand), vectors());
    assert_eq!(vectors.len(), 6);
    let has_vector = operation.statement.contains('x');
    let turns = if has_vector { vectors.len() } else { 1 };
    all_are_right((0..operands.len() * 2).flat_map(|a| {
        let (operands, vectors) = (&operands, &vectors);
        (0..vectors.len() * turns).map(move |v| {
            let (x, y) = (v / vectors.len(), v % vectors.len());
            let other = has_vector.then(|| &vectors[x]);
            let case = Case::new(operation, &ordered(&operands[a / 2], a), other, &vectors[y]);
            (case, a % 2 == 0 && v == a / 2 % (vectors.len() * turns))
        })
    }));
}

#[test]
fn sums() {
    into_matrices(&SUM);
}

#[test]
fn products() {
    into_matrices(&PRODUCT);
}

#[test]
fn differences() {
    into_matrices(&DIFFERENCE);
}

#[test]
fn transposed_copies() {
    into_matrices(&TRANSPOSED);
}

#[test]
fn products_with_vectors() {
    into_vectors(&TIMES_VECTOR);
}

#[test]
fn row_sums() {
    into_vectors(&ROW_SUMS);
}

#[test]
fn column_sums() {
    into_vectors(&COLUMN_SUMS);
}

/// The formats that the tables leave out are refused, and for the reason that they are left out.
#[test]
fn other_formats_are_refused() {
    for outer in KINDS {
        for inner in KINDS {
            let levels = [outer, inner];
            let format = Format::of(levels.to_vec());
            let operand = Program::parse(&format!("tensor A: i64[I, J] {format}\nR[i,j] = A[i,j]"));
            assert_eq!(operand.is_ok(), is_format_of_operand(&levels), "{format}");
            let result =
                Program::parse(&format!("tensor A: i64[I, J] csr tensor R: i64[I, J] {format}\nR[i,j] = A[i,j]"));
            assert_eq!(result.is_ok(), is_format_of_result(&levels), "{format}");
            for error in [operand.err(), result.err()].into_iter().flatten() {
                assert!(error.exit() == 2 && error.to_string().contains("level `singleton`"), "{error}");
            }
        }
    }
}
