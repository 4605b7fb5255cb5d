//! The kernels: each a program, what it reads, and the same loops written by hand.
//!
//! ```text
//!  a matrix ──operands──▶ arrays ──┬──▶ declared ──▶ tensors ──▶ the program, compiled ──┐
//!                                  ├──▶ by_hand ─────────────────────────────────────────┼──▶ the same values? ──▶ measure
//!                                  └──▶ peers ───────────────────────────────────────────┘
//! ```
//!
//! Loops by hand over structured tensors take the tensors that the program takes, in its formats and types.

mod functions;
mod graphs;
mod shape;
mod structures;
mod trees;

use crate::arrays::{Arrays, made};
use crate::bandwidth::{self, Reading};
use crate::by_hand;
use crate::formats::{self, declared};
use crate::generate::{KINDS, Kind, dense, partner, sparse, third_mode, vectors};
use crate::measure::{Measured, measure};
use crate::memory::{self, peak};
use crate::peer::Peers;
use fiberloom::{Call, Options, Outcome, Program, Tensor};
use std::hint::black_box;
use std::time::Duration;
use std::time::Instant;

/// A kernel.
pub struct Kernel {
    /// Its name on the command line, in reports and in `bench/peer.py`.
    pub name: &'static str,
    /// What Fiberloom compiles; words in capitals are numbers of the matrix, as `Kernel::text` has them.
    pub program: &'static str,
    /// The same in another way, with a name among the peers: `UNFUSED`, or in other formats.
    pub other: Option<(&'static str, &'static str)>,
    /// What it reads, made from a matrix and a seed.
    operands: fn(&Arrays, u64) -> Vec<(&'static str, Arrays)>,
    /// The same by hand; operands come in the order of `operands`.
    by_hand: ByHand,
}

/// What a kernel that makes what is between its operators first is called among the peers: what fusion is worth.
const UNFUSED: &str = "unfused";

/// Loops by hand.
enum ByHand {
    /// Over arrays, of matrices of [`KINDS`].
    Arrays(fn(&[&Arrays]) -> Arrays),
    /// Over tensors as the program declares them, of matrices of these kinds.
    Tensors(&'static [Kind], fn(&[&Tensor]) -> Tensor<'static>),
}

const MTTKRP: &str = "tensor X: f64[I, K, L] csf  tensor Y: f64[K, 32] dense  tensor Z: f64[L, 32] dense
                      tensor M: f64[I, 32] dense  M[i,r] = X[i,k,l] * Y[k,r] * Z[l,r]";

fn mttkrp(a: &Arrays, seed: u64) -> Vec<(&'static str, Arrays)> {
    vec![("X", third_mode(a, seed)), ("Y", dense(&[a.extents[1], 32], 3)), ("Z", dense(&[64, 32], 4))]
}

/// All kernels.
pub fn kernels() -> impl Iterator<Item = &'static Kernel> {
    let others = shape::KERNELS.iter().chain(functions::KERNELS).chain(graphs::KERNELS).chain(trees::KERNELS);
    KERNELS.iter().chain(others).chain(structures::KERNELS)
}

const KERNELS: &[Kernel] = &[
    Kernel {
        name: "spmv",
        program: "tensor A: f64[I, J] csr  tensor x: f64[J] dense  tensor y: f64[I] dense  y[i] = A[i,j] * x[j]",
        operands: |a, _| vec![("A", a.clone()), ("x", dense(&a.extents[1..], 2))],
        other: None,
        by_hand: ByHand::Arrays(by_hand::spmv),
    },
    Kernel {
        name: "spmv-coo",
        program: "tensor A: f64[I, J] coo  tensor x: f64[J] dense  tensor y: f64[I] dense  y[i] = A[i,j] * x[j]",
        operands: |a, _| vec![("A", a.as_list()), ("x", dense(&a.extents[1..], 2))],
        other: None,
        by_hand: ByHand::Arrays(by_hand::spmv_coo),
    },
    Kernel {
        name: "spmm",
        program: "tensor A: f64[I, K] csr  tensor B: f64[K, 32] dense  tensor C: f64[I, 32] dense
                  C[i,j] = A[i,k] * B[k,j]",
        operands: |a, _| vec![("A", a.clone()), ("B", dense(&[a.extents[1], 32], 2))],
        other: None,
        by_hand: ByHand::Arrays(by_hand::spmm::<32>),
    },
    Kernel {
        // How many columns there are is known when it runs.
        name: "spmm-any",
        program: "tensor A: f64[I, K] csr  tensor B: f64[K, J] dense  tensor C: f64[I, J] dense
                  C[i,j] = A[i,k] * B[k,j]",
        operands: |a, _| vec![("A", a.clone()), ("B", dense(&[a.extents[1], 32], 2))],
        other: None,
        by_hand: ByHand::Arrays(by_hand::spmm::<32>),
    },
    Kernel {
        name: "spmm-128",
        program: "tensor A: f64[I, K] csr  tensor B: f64[K, 128] dense  tensor C: f64[I, 128] dense
                  C[i,j] = A[i,k] * B[k,j]",
        operands: |a, _| vec![("A", a.clone()), ("B", dense(&[a.extents[1], 128], 2))],
        other: None,
        by_hand: ByHand::Arrays(by_hand::spmm::<128>),
    },
    Kernel {
        name: "sddmm",
        program: "tensor S: f64[I, J] csr  tensor A: f64[I, 128] dense  tensor B: f64[J, 128] dense
                  tensor C: f64[I, J] csr  C[i,j] = S[i,j] * A[i,k] * B[j,k]",
        operands: |s, _| {
            let [rows, columns] = [s.extents[0], s.extents[1]];
            vec![("S", s.clone()), ("A", dense(&[rows, 128], 2)), ("B", dense(&[columns, 128], 3))]
        },
        other: None,
        by_hand: ByHand::Arrays(by_hand::sddmm::<128>),
    },
    Kernel {
        name: "spadd",
        program: "tensor A: f64[I, J] csr  tensor B: f64[I, J] csr  tensor C: f64[I, J] csr
                  C[i,j] = A[i,j] + B[i,j]",
        operands: |a, seed| vec![("A", a.clone()), ("B", partner(a, seed))],
        other: None,
        by_hand: ByHand::Arrays(by_hand::spadd),
    },
    Kernel {
        name: "sum3",
        program: "tensor A: f64[I, J] csr  tensor B: f64[I, J] csr  tensor D: f64[I, J] csr  tensor E: f64[I, J] csr
                  E[i,j] = A[i,j] + B[i,j] + D[i,j]",
        operands: |a, seed| vec![("A", a.clone()), ("B", partner(a, seed)), ("D", partner(a, seed + 1000))],
        other: None,
        by_hand: ByHand::Arrays(by_hand::sum3),
    },
    Kernel {
        name: "multiply",
        program: "tensor A: f64[I, J] csr  tensor B: f64[I, J] csr  tensor C: f64[I, J] csr
                  C[i,j] = A[i,j] * B[i,j]",
        operands: |a, seed| vec![("A", a.clone()), ("B", partner(a, seed))],
        other: None,
        by_hand: ByHand::Arrays(by_hand::multiply),
    },
    Kernel {
        name: "dot",
        program: "tensor x: f64[I] sparse  tensor y: f64[I] sparse  tensor s: f64[]  s[] = x[i] * y[i]",
        operands: |a, seed| {
            let [x, y] = vectors(a, seed);
            vec![("x", x), ("y", y)]
        },
        other: None,
        by_hand: ByHand::Arrays(by_hand::dot),
    },
    Kernel {
        name: "spgemm",
        program: "tensor A: f64[I, K] csr  tensor B: f64[K, J] csr  tensor C: f64[I, J] csr
                  C[i,j] = A[i,k] * B[k,j]",
        operands: |a, _| vec![("A", a.clone()), ("B", a.clone())],
        other: None,
        by_hand: ByHand::Arrays(by_hand::spgemm),
    },
    Kernel {
        name: "spmspv",
        program: "tensor A: f64[I, J] csc  tensor x: f64[J] sparse  tensor y: f64[I] dense  y[i] = A[i,j] * x[j]",
        operands: |a, seed| vec![("A", a.clone().as_columns()), ("x", sparse(a.extents[0], 10, seed))],
        other: None,
        by_hand: ByHand::Arrays(by_hand::spmspv),
    },
    Kernel {
        name: "spmspv-rows",
        program: "tensor A: f64[I, J] csr  tensor x: f64[J] sparse  tensor y: f64[I] dense  y[i] = A[i,j] * x[j]",
        operands: |a, seed| vec![("A", a.clone()), ("x", sparse(a.extents[1], 10, seed))],
        other: None,
        by_hand: ByHand::Arrays(by_hand::spmspv_rows),
    },
    Kernel {
        name: "ttv",
        program: "tensor X: f64[I, J, K] csf  tensor c: f64[K] dense  tensor A: f64[I, J] dcsr
                  A[i,j] = X[i,j,k] * c[k]",
        operands: |a, seed| vec![("X", third_mode(a, seed)), ("c", dense(&[64], 3))],
        other: None,
        by_hand: ByHand::Arrays(by_hand::ttv),
    },
    Kernel {
        name: "mttkrp",
        program: MTTKRP,
        operands: mttkrp,
        other: None,
        by_hand: ByHand::Arrays(by_hand::mttkrp::<32>),
    },
    // The same program against loops that take fewer multiplications: what factoring out a row would win.
    Kernel {
        name: "mttkrp-factored",
        program: MTTKRP,
        operands: mttkrp,
        other: None,
        by_hand: ByHand::Arrays(by_hand::mttkrp_factored::<32>),
    },
    Kernel {
        name: "transpose",
        program: "tensor A: f64[I, J] csr  tensor T: f64[J, I] csr  T[j,i] = A[i,j]",
        operands: |a, _| vec![("A", a.clone())],
        other: None,
        by_hand: ByHand::Arrays(by_hand::transpose),
    },
    Kernel {
        name: "convert",
        program: "tensor A: f64[I, J] csr  tensor T: f64[I, J] csc  T[i,j] = A[i,j]",
        operands: |a, _| vec![("A", a.clone())],
        other: None,
        by_hand: ByHand::Arrays(|operands| by_hand::transpose(operands).as_columns()),
    },
];

impl Kernel {
    /// The kinds of matrix that it is for.
    pub fn kinds(&self) -> &'static [Kind] {
        match self.by_hand {
            ByHand::Arrays(_) => &KINDS,
            ByHand::Tensors(kinds, _) => kinds,
        }
    }

    /// A program of a matrix: `ROWS` stands for the number of rows, `HALF` for half of it, `QUARTER` and `THREE_QUARTERS`
    /// for parts of the columns.
    fn text(program: &str, matrix: &Arrays) -> String {
        let [rows, columns] = [matrix.extents[0], matrix.extents[1]];
        let quarter = columns / 4;
        let words = [("ROWS", rows), ("HALF", rows / 2), ("THREE_QUARTERS", 3 * quarter), ("QUARTER", quarter)];
        words.iter().fold(program.to_string(), |text, (word, number)| text.replace(word, &number.to_string()))
    }
}

/// What was found out about a kernel on a matrix.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Times.
    pub times: Measured,
    /// Bytes that a call of the kernel had allocated at most: results and workspaces.
    pub kernel_bytes: usize,
    /// The same of the loops by hand.
    pub by_hand_bytes: usize,
    /// What reading all of it took, of a kernel that is bound by memory.
    pub reading: Option<Reading>,
}

/// Compares the values of all sides, then times them. Each call reads the next of the matrices: what a machine learns of
/// the branches on one small matrix, which is read again and again, would flatter whoever branches. On several threads the kernel is timed
/// beside itself on one, in the place of the loops by hand.
///
/// # Errors
/// If a side cannot compute it, or computes something else.
///
/// # Panics
/// If there is no matrix.
pub fn compare(
    kernel: &Kernel,
    matrices: &[Arrays],
    mut peers: Option<&mut Peers>,
    threads: usize,
) -> Result<Compared, String> {
    let sets: Vec<Set> = (2..).zip(matrices).map(|(seed, matrix)| (kernel.operands)(matrix, seed)).collect();
    let arrays: Vec<Vec<&Arrays>> = sets.iter().map(|set| set.iter().map(|(_, a)| a).collect()).collect();
    let program = Callable::of(&Kernel::text(kernel.program, &matrices[0]), &sets)?;
    let other = kernel.other.map(|(_, text)| Callable::of(&Kernel::text(text, &matrices[0]), &sets)).transpose()?;
    let tensors: Vec<Vec<&Tensor>> = program.sets.iter().map(|set| set.iter().map(|(_, t)| t).collect()).collect();
    let hand = |n: usize| match kernel.by_hand {
        ByHand::Arrays(f) => Made::Arrays(f(black_box(&arrays[n]))),
        ByHand::Tensors(_, f) => Made::Tensor(f(black_box(&tensors[n]))),
    };
    let mut calls = program.calls()?;
    let mut alone = if threads > 1 { program.calls()? } else { vec![] };
    let mut others = other.as_ref().map_or(Ok(vec![]), Callable::calls)?;

    // The first call finds out how wide indices must be.
    for call in calls.iter_mut().chain(&mut alone).chain(&mut others) {
        call.run().map_err(|e| e.to_string())?;
    }
    let (outcome, kernel_bytes) = peak(|| calls[0].run());
    let (made, by_hand_bytes) = peak(|| hand(0));
    let outcome = outcome.map_err(|e| e.to_string())?;
    made.agrees("fiberloom", &outcome)?;
    drop(outcome);
    let name = kernel.other.map_or(UNFUSED, |(name, _)| name);
    if let Some(call) = others.first_mut() {
        made.agrees(name, &call.run().map_err(|e| e.to_string())?)?;
    }
    let expected = made.arrays()?;
    let mut libraries = match &mut peers {
        Some(peers) => peers.load(kernel.name, &sets[0])?,
        None => vec![],
    };
    for library in &libraries {
        let peers = peers.as_mut().expect("they have told their libraries");
        // Whether a nothing that was computed is stored is each library's own choice.
        agree(library, &peers.result(library, &expected)?.without_zeros(), &expected.without_zeros())?;
    }
    libraries.extend(other.is_some().then(|| name.to_string()));
    let all: Vec<&Arrays> = arrays[0].iter().copied().chain([&expected]).collect();
    libraries.extend(bandwidth::BOUND.contains(&kernel.name).then(|| READING.to_string()));

    memory::collapse();
    // What a side made is dropped outside its time.
    let matrices = sets.len();
    let run = |n: usize| timed(&mut calls[n % matrices]);
    let by_hand = |n: usize| {
        if let Some(alone) = alone.get_mut(n % matrices) {
            fiberloom::set_threads(1);
            let time = timed(alone);
            fiberloom::set_threads(threads);
            return time;
        }
        made::at();
        let begin = Instant::now();
        let result = black_box(hand(n % matrices));
        let time = made::at() - begin;
        drop(result);
        Ok(time)
    };
    let peer = |library: &str, calls| match &mut peers {
        _ if library == name => {
            timed(&mut others[0])?;
            (0..calls).map(|_| timed(&mut others[0])).collect()
        }
        _ if library == READING => {
            bandwidth::read(black_box(&all));
            Ok((0..calls).map(|_| reading(&all)).collect())
        }
        Some(peers) => peers.time(library, calls),
        None => Ok(vec![]),
    };
    let mut times = measure(run, by_hand, &libraries, peer)?;
    let place = times.peers.iter().position(|p| p.name == READING);
    let written = bandwidth::bytes(&[&expected]);
    let reading = place.map(|p| Reading { bytes: bandwidth::bytes(&all), written, time: times.peers.remove(p).time });
    Ok(Compared { times, kernel_bytes, by_hand_bytes, reading })
}

/// What it takes to read everything once.
fn reading(all: &[&Arrays]) -> Duration {
    let begin = Instant::now();
    black_box(bandwidth::read(black_box(all)));
    begin.elapsed()
}

/// What reading operands and result is called while it is measured as the peers are.
const READING: &str = "reading";

/// What a kernel reads.
type Set = Vec<(&'static str, Arrays)>;

/// A program, compiled, and the operands that it is called on.
struct Callable<'a> {
    kernel: fiberloom::Kernel,
    sets: Vec<Vec<(&'static str, Tensor<'a>)>>,
}

impl<'a> Callable<'a> {
    fn of(text: &str, sets: &'a [Set]) -> Result<Callable<'a>, String> {
        let program = Program::parse(text).map_err(|e| e.to_string())?;
        let of_set = |set: &'a Set| set.iter().map(|(name, a)| Ok((*name, declared(&program, name, a)?))).collect();
        let sets = sets.iter().map(of_set).collect::<Result<_, String>>()?;
        Ok(Callable { kernel: program.compile(&Options::default()).map_err(|e| e.to_string())?, sets })
    }

    /// A call on each set of operands.
    fn calls(&self) -> Result<Vec<Call<'_>>, String> {
        self.sets.iter().map(|set| self.call(set).map_err(|e| e.to_string())).collect()
    }

    fn call<'c>(&'c self, set: &'c [(&'static str, Tensor<'a>)]) -> Result<Call<'c>, fiberloom::Error> {
        let tensors: Vec<(&str, &Tensor)> = set.iter().map(|(name, t)| (*name, t)).collect();
        let mut call = self.kernel.bind(&tensors)?;
        call.compile()?;
        Ok(call)
    }
}

/// What loops by hand make.
enum Made {
    Arrays(Arrays),
    Tensor(Tensor<'static>),
}

impl Made {
    /// Whether a kernel's only result is the same.
    fn agrees(&self, side: &str, outcome: &Outcome) -> Result<(), String> {
        let (_, result) = outcome.results.first().ok_or("no result")?;
        match self {
            Made::Arrays(expected) => agree(side, &Arrays::of(result, expected.format)?, expected),
            Made::Tensor(expected) => {
                let stored = [result, expected].map(|t| t.values.len());
                if result.format == expected.format && stored[0] != stored[1] {
                    return Err(format!("{side} stores {} values, the loops by hand {}", stored[0], stored[1]));
                }
                agree(side, &formats::dense(result)?, &self.arrays()?)
            }
        }
    }

    /// What a peer's result is compared with.
    fn arrays(&self) -> Result<Arrays, String> {
        match self {
            Made::Arrays(arrays) => Ok(arrays.clone()),
            Made::Tensor(tensor) => formats::dense(tensor),
        }
    }
}

/// What a call takes; what it made is dropped outside of that.
fn timed(call: &mut Call) -> Result<Duration, String> {
    call.run().map(|outcome| black_box(outcome).time).map_err(|e| e.to_string())
}

fn agree(side: &str, got: &Arrays, by_hand: &Arrays) -> Result<(), String> {
    got.agrees(by_hand).map_err(|difference| format!("{side} and the loops by hand disagree: {difference}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Peers take part where there are any; not each of them is installed everywhere.
    #[test]
    fn all_sides_compute_the_same() {
        let mut peers = Peers::start("python3", 1).ok();
        let mut took_part = false;
        for kernel in kernels() {
            for kind in kernel.kinds() {
                let Ok(matrices) = (1..=2).map(|seed| kind.matrix(2_000, seed)).collect::<Result<Vec<_>, _>>() else {
                    continue; // Photographs that are not installed.
                };
                let compared = compare(kernel, &matrices, peers.as_mut(), 1);
                let compared = compared.unwrap_or_else(|e| panic!("{} {}: {e}", kernel.name, kind.name()));
                let others = compared.times.peers.len();
                assert!(others >= usize::from(kernel.other.is_some()), "{}", kernel.name);
                took_part |= others > usize::from(kernel.other.is_some());
            }
        }
        assert_eq!(took_part, peers.is_some());
    }
}
