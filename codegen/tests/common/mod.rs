//! Kernels written by hand, as lowering would emit them.
#![allow(dead_code)] // Each test program uses its part.

use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::format::Array;
use fiberloom_core::loops::{Buffer, BufferId, Entry, Expr, How, Kernel, Role, Stmt, Var};

/// A kernel in the making.
pub struct Builder {
    pub kernel: Kernel,
}

impl Builder {
    pub fn new(name: &str) -> Builder {
        Builder {
            kernel: Kernel {
                name: name.to_string(),
                vars: vec![],
                params: vec![],
                buffers: vec![],
                body: vec![],
                arguments: vec![],
                reassociate: true,
            },
        }
    }

    pub fn var(&mut self, name: &str, ty: Type) -> Var {
        self.kernel.vars.push((name.to_string(), ty));
        Var(self.kernel.vars.len() as u32 - 1)
    }

    pub fn param(&mut self, name: &str) -> Var {
        let var = self.var(name, Type::I64);
        self.kernel.params.push(var);
        var
    }

    pub fn buffer(&mut self, name: &str, ty: Type, role: Role) -> BufferId {
        self.kernel.buffers.push(Buffer { name: name.to_string(), ty, role });
        BufferId(self.kernel.buffers.len() as u32 - 1)
    }

    pub fn body(mut self, body: Vec<Stmt>) -> Kernel {
        self.kernel.body = body;
        self.kernel
    }
}

pub fn int(x: i64) -> Expr {
    Expr::Const(Value::i64(x))
}

pub fn get(v: Var) -> Expr {
    Expr::Var(v)
}

pub fn load(b: BufferId, index: Expr) -> Expr {
    Expr::Load(b, Box::new(index))
}

/// An element of an `i32` array of positions or coordinates.
pub fn load_index(b: BufferId, index: Expr) -> Expr {
    op(Op::Convert(Type::I64), [load(b, index)])
}

pub fn op<const N: usize>(op: Op, args: [Expr; N]) -> Expr {
    Expr::Op(op, args.to_vec())
}

pub fn add(a: Expr, b: Expr) -> Expr {
    op(Op::Add, [a, b])
}

pub fn mul(a: Expr, b: Expr) -> Expr {
    op(Op::Mul, [a, b])
}

pub fn range(var: Var, lo: Expr, hi: Expr, body: Vec<Stmt>) -> Stmt {
    Stmt::For { var, lo, hi, how: How::Serial, body }
}

pub fn alloc(buffer: BufferId, len: Expr, fill: Option<Value>) -> Stmt {
    Stmt::Call(Entry::Alloc { buffer, len, fill })
}

pub fn finish(buffer: BufferId, len: Expr) -> Stmt {
    Stmt::Call(Entry::Finish { buffer, len })
}

/// `y[i] = sum(j: A[i,j] * x[j])`, `A` in CSR.
pub fn spmv() -> Kernel {
    let mut b = Builder::new("spmv");
    let rows = b.param("I");
    let (i, p, sum) = (b.var("i", Type::I64), b.var("p", Type::I64), b.var("sum", Type::F64));
    let pos = b.buffer("A_pos", Type::I32, Role::Operand);
    let crd = b.buffer("A_crd", Type::I32, Role::Operand);
    let values = b.buffer("A", Type::F64, Role::Operand);
    let x = b.buffer("x", Type::F64, Role::Operand);
    let y = b.buffer("y", Type::F64, Role::Result);
    let product = mul(load(values, get(p)), load(x, load_index(crd, get(p))));
    let row = vec![
        Stmt::Set(sum, Expr::Const(Value::zero(Type::F64))),
        range(
            p,
            load_index(pos, get(i)),
            load_index(pos, add(get(i), int(1))),
            vec![Stmt::Set(sum, add(get(sum), product))],
        ),
        Stmt::Store(y, get(i), get(sum)),
    ];
    b.body(vec![alloc(y, get(rows), None), range(i, int(0), get(rows), row), finish(y, get(rows))])
}

/// The operands of [`spmv`].
pub struct Csr {
    pub pos: Vec<i32>,
    pub crd: Vec<i32>,
    pub values: Vec<f64>,
}

impl Csr {
    /// `rows` of about `per_row` entries at coordinates that a linear congruence picks.
    pub fn random(rows: usize, columns: usize, per_row: usize, mut seed: u64) -> Csr {
        let mut next = move || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize
        };
        let (mut pos, mut crd, mut values) = (vec![0], vec![], vec![]);
        for _ in 0..rows {
            let mut row: Vec<i32> = (0..next() % (2 * per_row + 1)).map(|_| (next() % columns) as i32).collect();
            row.sort();
            row.dedup();
            values.extend(row.iter().map(|_| (next() % 64) as f64 / 8.0));
            crd.extend(row);
            pos.push(crd.len() as i32);
        }
        Csr { pos, crd, values }
    }
}

pub fn borrowed<T: Clone>(v: &[T]) -> std::borrow::Cow<'_, [T]> {
    std::borrow::Cow::Borrowed(v)
}

pub fn i32s(v: &[i32]) -> Array<'_> {
    Array::I32(borrowed(v))
}

pub fn f64s(v: &[f64]) -> Array<'_> {
    Array::F64(borrowed(v))
}
