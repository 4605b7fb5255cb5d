//! Operands of a symbolic run: as many entries in each row as the data have, any coordinates and values.
//!
//! ```text
//!  positions, tables, flags, intervals, runs, blocks     the data's
//!  coordinates of lists                                  any: in the extent, in order within each fiber
//!  values                                                any; where flags stand, those that are not the fill value
//! ```

use super::run::Arguments;
use super::scalar::{Bits, RING, Scalar, bits, width};
use super::truth::Truth;
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::format::{Array, LevelKind};
use fiberloom_loops::{Argument, Bound, BufferId, Holds, Kernel};
use z3::Model;
use z3::ast::{Ast, BV, Bool};

/// Elements that all operands may have together.
const ELEMENTS: usize = 2_000;

/// Which coordinates lists have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coordinates {
    /// Any.
    Any,
    /// The data's.
    Given,
}

/// Operands, what is known of them, and the data that they are like.
pub struct Operands {
    /// What a kernel is called with.
    pub given: Arguments,
    /// What holds of them.
    pub invariants: Vec<Bool>,
    /// Types and elements of the arrays, by buffer.
    types: Vec<Type>,
}

impl Operands {
    /// Operands like those that are bound to a kernel; `None` if they are too many.
    pub fn like(kernel: &Kernel, bound: &Bound, coordinates: Coordinates) -> Option<Operands> {
        let all: usize = bound.operands.iter().flatten().map(Array::len).sum();
        if all > ELEMENTS {
            return None;
        }
        let elements = |array: &Array| array.iter().map(Scalar::Known).collect();
        let operands = bound.operands.iter().map(|array| array.as_ref().map(elements)).collect();
        let given = Arguments { params: bound.params.clone(), operands };
        let types = kernel.buffers.iter().map(|b| b.ty).collect();
        let mut operands = Operands { given, invariants: vec![], types };
        for argument in kernel.arguments.iter().filter(|a| a.operand) {
            operands.open(kernel, argument, coordinates);
        }
        Some(operands)
    }

    /// Forgets a tensor's values and coordinates, but for their order.
    fn open(&mut self, kernel: &Kernel, of: &Argument, coordinates: Coordinates) {
        let kinds = &of.format.levels;
        let flagged = kinds.iter().any(|kind| matches!(kind, LevelKind::Bytemap | LevelKind::Bitmap));
        for l in (0..kinds.len()).filter(|_| !flagged && coordinates == Coordinates::Any) {
            let param = of.extents[of.format.order[l]];
            let at = kernel.params.iter().position(|p| *p == param);
            let extent = at.map_or(0, |at| self.given.params[at]);
            let Some(crd) = of.levels[l].array(Holds::Coordinates) else { continue };
            match kinds[l] {
                LevelKind::Compressed => self.list(&[(crd, extent)], of.levels[l].array(Holds::Positions)),
                LevelKind::Nonunique => self.chain(kernel, of, l),
                LevelKind::Singleton if of.format.chain(l).is_none() => self.list(&[(crd, extent)], None),
                _ => {}
            }
        }
        let values = of.values.0 as usize;
        for element in self.given.operands[values].iter_mut().flatten().enumerate() {
            let (i, element) = element;
            if !(flagged && element.known() == Some(of.fill)) {
                *element = any(kernel.buffers[values].ty, &format!("{}[{i}]", kernel.buffers[values].name));
            }
        }
    }

    /// Forgets the coordinates of a chain that begins at a level.
    fn chain(&mut self, kernel: &Kernel, of: &Argument, l: usize) {
        let levels = of.format.chain(l).unwrap_or(l..l + 1);
        let level = |l: usize| {
            let param = of.extents[of.format.order[l]];
            let at = kernel.params.iter().position(|p| *p == param);
            Some((of.levels[l].array(Holds::Coordinates)?, at.map_or(0, |at| self.given.params[at])))
        };
        let columns: Vec<(BufferId, i64)> = levels.filter_map(level).collect();
        self.list(&columns, of.levels[l].array(Holds::Positions));
    }

    /// Forgets coordinates: a column each, with its extent. Their tuples are strictly ascending within the fibers of some positions; without
    /// positions they may be anything.
    fn list(&mut self, columns: &[(BufferId, i64)], pos: Option<BufferId>) {
        let fibers: Vec<i64> = pos.map_or(vec![], |pos| {
            let elements = self.given.operands[pos.0 as usize].iter().flatten();
            elements.map(|p| p.known().and_then(Value::as_i64).unwrap_or(0)).collect()
        });
        for (crd, extent) in columns {
            let b = crd.0 as usize;
            let ty = self.types[b];
            for (i, element) in self.given.operands[b].iter_mut().flatten().enumerate() {
                *element = coordinate(ty, *extent, &format!("coordinate {b} [{i}]"), &mut self.invariants);
            }
        }
        for fiber in fibers.windows(2) {
            for p in fiber[0] + 1..fiber[1] {
                let ascends = self.ascends(columns, p as usize);
                self.invariants.push(ascends.term());
            }
        }
    }

    /// Whether the tuple at a position is above the one before.
    fn ascends(&self, columns: &[(BufferId, i64)], p: usize) -> Truth {
        let column = |b: BufferId| self.given.operands[b.0 as usize].as_deref().unwrap_or_default();
        columns.iter().rev().fold(Truth::NO, |below, (crd, _)| {
            let (a, b) = (&column(*crd)[p - 1], &column(*crd)[p]);
            let less = super::functions::apply(Op::Lt, &[a.clone(), b.clone()], true).is_true();
            less.or(&a.same(b).and(&below))
        })
    }

    /// The arrays of a model.
    pub fn arrays(&self, model: &Model) -> Vec<Option<Array<'static>>> {
        let of = |(elements, ty): (&Option<Vec<Scalar>>, &Type)| {
            let elements = elements.as_ref()?;
            Some(Array::from_values(*ty, elements.iter().map(|x| value(x, model))))
        };
        self.given.operands.iter().zip(&self.types).map(of).collect()
    }

    /// Whether an element of a buffer is a value of a tensor that may be anything.
    pub fn is_open(&self, b: usize, i: usize) -> bool {
        self.given.operands[b].as_ref().is_some_and(|elements| elements[i].known().is_none())
    }
}

/// Any value of a type.
fn any(ty: Type, name: &str) -> Scalar {
    match ty {
        Type::Bool => Scalar::Truth(Truth::Open(Bool::new_const(name))),
        _ => Bits::of(ty, BV::new_const(name, width(ty))),
    }
}

/// Any coordinate in an extent. Its high bits are known to be 0.
fn coordinate(ty: Type, extent: i64, name: &str, invariants: &mut Vec<Bool>) -> Scalar {
    let within = (0, extent.max(1) as i128 - 1);
    let term = BV::new_const(name, bits(within));
    if extent > 0 && extent.count_ones() != 1 {
        invariants.push(term.bvult(BV::from_u64(extent as u64, bits(within))));
    }
    Bits::within(ty, term, within)
}

/// What a model says of a scalar. Elements of the ring are the whole numbers −8 to 7.
pub fn value(x: &Scalar, model: &Model) -> Value {
    match x {
        Scalar::Known(value) => *value,
        Scalar::Truth(truth) => {
            let said = model.eval(&truth.term(), true).and_then(|b| b.simplify().as_bool());
            Value::bool(said.unwrap_or(false))
        }
        Scalar::Bits(of) => {
            let said = model.eval(&x.term(), true).and_then(|term| term.simplify().as_u64()).unwrap_or(0);
            if of.ty.is_float() {
                let signed = if said < 1 << (RING - 1) { said as i64 } else { said as i64 - (1 << RING) };
                Value::from_f64(of.ty, signed as f64)
            } else {
                Value::from_bits(of.ty, said)
            }
        }
    }
}
