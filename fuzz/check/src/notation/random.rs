//! Programs of tensor algebra from bytes: random expressions over random formats, fill values and types, with folds,
//! broadcasts, repeated and transposed indices, and operands for them.

use arbitrary::Unstructured;
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{LevelKind, Tensor};
use fiberloom_core::loops::{Argument, Kernel};
use std::collections::BTreeMap;

const VECTOR: [&str; 2] = ["dense", "sparse"];
const MATRIX: [&str; 8] = [
    "dense",
    "csr",
    "csc",
    "dcsr",
    "dcsc",
    "{compressed, dense}",
    "{dense, compressed} order(1, 0)",
    "{compressed, dense} order(1, 0)",
];
const CUBE: [&str; 7] = [
    "dense",
    "csf",
    "{dense, compressed, compressed}",
    "{compressed, dense, compressed}",
    "{dense, dense, compressed} order(2, 0, 1)",
    "{compressed, compressed, compressed} order(1, 0, 2)",
    "{compressed, compressed, dense}",
];

/// Names and ranks of the operands; of all modes the extent is `N`.
const OPERANDS: [(&str, usize); 6] = [("A", 2), ("B", 2), ("x", 1), ("z", 1), ("T", 3), ("s", 0)];
const VARS: [&str; 5] = ["i", "j", "k", "l", "m"];

fn one<'t>(u: &mut Unstructured, of: &[&'t str]) -> &'t str {
    u.choose(of).map_or(of[0], |x| x)
}

fn below(u: &mut Unstructured, n: usize) -> usize {
    u.choose_index(n).unwrap_or(0)
}

/// A program of one statement, all of whose tensors are declared.
pub fn program(u: &mut Unstructured) -> String {
    let ty = one(u, &["i64", "i8", "u8", "f64"]);
    let rank = below(u, 4);
    // A scalar is a fold of everything.
    let mut maker = Maker { u, vars: VARS[..rank.max(1)].to_vec(), exact: ty == "f64" };
    let mut e = maker.expr(3);
    if rank == 0 {
        e = format!("sum(i: {e})");
    }
    let mut text = String::new();
    for (name, rank) in OPERANDS.into_iter().filter(|(name, _)| e.contains(&format!("{name}["))) {
        text += &tensor(u, name, ty, rank);
    }
    text += &tensor(u, "R", ty, rank);
    format!("{text}R[{}] = {e}\n", VARS[..rank].join(", "))
}

fn tensor(u: &mut Unstructured, name: &str, ty: &str, rank: usize) -> String {
    let formats = [&VECTOR[..1], &VECTOR[..], &MATRIX[..], &CUBE[..]][rank];
    let fill = if below(u, 8) == 7 { " fill 3" } else { "" };
    format!("tensor {name}: {ty}[{}]{fill} {}\n", ["N"; 3][..rank].join(", "), one(u, formats))
}

struct Maker<'u, 'b> {
    u: &'u mut Unstructured<'b>,
    /// Index variables that may be used.
    vars: Vec<&'static str>,
    /// Only functions that keep small integers exact in floats.
    exact: bool,
}

impl Maker<'_, '_> {
    fn below(&mut self, n: usize) -> usize {
        below(self.u, n)
    }

    fn expr(&mut self, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1).filter(|_| self.below(5) < 4) else { return self.leaf() };
        let kind = self.below(if self.exact { 11 } else { 12 });
        if kind == 8 {
            return self.fold(depth);
        }
        let a = self.expr(depth);
        if kind == 7 {
            return format!("-{a}");
        }
        let b = self.expr(depth);
        match kind {
            0..=3 => format!("({a} * {b})"),
            4 | 5 => format!("({a} + {b})"),
            6 => format!("({a} - {b})"),
            9 => format!("min({a}, {b})"),
            10 => format!("max({a}, {b})"),
            _ => format!("({a} {} {b})", one(self.u, &["/", "%"])),
        }
    }

    fn leaf(&mut self) -> String {
        let vars = self.vars.clone();
        let mut var = || one(self.u, &vars);
        let (a, b, c) = (var(), var(), var());
        match self.below(10) {
            0 | 1 => format!("A[{a}, {b}]"),
            2 => format!("A[{a}, {a}]"),
            3 | 4 => format!("B[{a}, {b}]"),
            5 => format!("x[{a}]"),
            6 => format!("z[{a}]"),
            7 => format!("T[{a}, {b}, {c}]"),
            8 => "s[]".into(),
            _ => "2".into(),
        }
    }

    fn fold(&mut self, depth: usize) -> String {
        let Some(v) = VARS.into_iter().find(|v| !self.vars.contains(v)) else { return self.leaf() };
        self.vars.push(v);
        let e = self.expr(depth);
        self.vars.pop();
        match self.below(3) {
            0 => format!("{}({v}: {e})", one(self.u, if self.exact { &["sum"] } else { &["min", "max", "prod"] })),
            1 => format!("sum({v}: {e})"),
            _ => format!("sum({v}: {e} * x[{v}])"),
        }
    }
}

/// Data for each operand of the kernel: extents all `extent`, about a third of the values of sparse ones stored.
pub fn operands(u: &mut Unstructured, kernel: &Kernel, extent: u64) -> BTreeMap<String, Tensor<'static>> {
    let operands = kernel.arguments.iter().filter(|a| a.operand);
    operands.map(|a| (a.name.clone(), operand(u, a, extent))).collect()
}

fn operand(u: &mut Unstructured, a: &Argument, extent: u64) -> Tensor<'static> {
    let (rank, n) = (a.extents.len() as u32, extent as usize);
    let full = a.format.levels.iter().all(|l| *l == LevelKind::Dense);
    let mut entries = vec![];
    for cell in 0..n.pow(rank) {
        if full || below(u, 3) == 2 {
            let at = (0..rank).map(|mode| (cell / n.pow(mode) % n) as i64).collect();
            entries.push((at, Value::from_i128(a.ty, below(u, 7) as i128 - 3)));
        }
    }
    Tensor::from_entries(vec![extent; rank as usize], a.format.clone(), a.fill, Type::I32, Type::I32, entries)
        .expect("entries within small extents")
}
