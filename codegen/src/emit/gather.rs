//! Sums of what is gathered: as lanes of vectors where a machine gathers fast and fibers are long.
//!
//! ```text
//!   for p in A1_pos[i]..A1_pos[i + 1]                 if 8 * fibers <= entries:  four lanes at a time, the last of them masked
//!     t = t + A_vals[p] * x_vals[A1_crd[p]]    ──▶    otherwise:                 one by one, several sums at a time
//! ```
//!
//! With the last lanes masked, no turns are left over for a loop of their own, whose end would be one more to predict; but to begin and
//! to end a sum of lanes takes as long as some entries do. The fibers' average length decides, which no loop changes: nobody
//! has to predict it. To gather is slow on machines that have to hide what they gather (GDS) or do it in microcode.

use super::Emitter;
use crate::Error;
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::loops::{BufferId, Expr, Stmt, Var, gathers};
use inkwell::IntPredicate;
use inkwell::values::{IntValue, MetadataValue};

/// The length of fibers on average from which on their sums are lanes.
const LONG: i64 = 8;

/// Bytes of all lanes.
const LANES: usize = 32;

impl<'c> Emitter<'c, '_> {
    /// Whether a loop's turns had better be lanes that gather, if they may: decided when it runs.
    pub(super) fn is_long(&self, var: Var, lo: &Expr, body: &[Stmt]) -> Result<Option<IntValue<'c>>, Error> {
        let found = pos_of(lo).zip(walked(var, body)).filter(|_| self.gathers_fast && self.has_lanes(body));
        let Some((pos, crd)) = found else { return Ok(None) };
        let (fibers, entries) = (self.capacity(pos)?.into_int_value(), self.capacity(crd)?.into_int_value());
        let each = self.builder.build_int_unsigned_div(entries, self.i64(LONG), "")?;
        Ok(Some(self.builder.build_int_compare(IntPredicate::ULE, fibers, each, "long")?))
    }

    /// What LLVM should do with it.
    pub(super) fn gather_hints(&self, body: &[Stmt]) -> Vec<MetadataValue<'c>> {
        let widest = body.iter().flat_map(Stmt::exprs).filter_map(|e| self.widest(e)).max().unwrap_or(LANES);
        let yes = self.context.bool_type().const_int(1, false);
        let number = |n: usize| self.context.i32_type().const_int(n as u64, false);
        [
            ("vectorize.enable", yes),
            ("vectorize.predicate.enable", yes),
            ("vectorize.width", number(LANES / widest)),
            ("interleave.count", number(1)),
            ("unroll.disable", yes),
        ]
        .map(|(name, value)| self.hint(&format!("llvm.loop.{name}"), value))
        .into()
    }

    /// Whether a loop only folds what it gathers, in elements of which machines gather lanes.
    fn has_lanes(&self, body: &[Stmt]) -> bool {
        let folds = body.iter().all(|stmt| matches!(stmt, Stmt::Let(..) | Stmt::Set(..)));
        let mut fit = true;
        body.iter().flat_map(Stmt::exprs).for_each(|e| {
            e.each(&mut |e| match e {
                Expr::Load(b, _) => fit &= [4, 8].contains(&self.kernel.buffers[b.0 as usize].ty.bytes()),
                Expr::Among(..) => fit = false,
                _ => {}
            });
        });
        folds && fit && gathers(body)
    }
}

/// The positions that a loop over a fiber begins at.
fn pos_of(lo: &Expr) -> Option<BufferId> {
    match lo {
        Expr::Load(pos, _) => Some(*pos),
        Expr::Op(Op::Convert(Type::I64), args) => pos_of(&args[0]),
        _ => None,
    }
}

/// An array that is walked with a loop's turns.
fn walked(var: Var, body: &[Stmt]) -> Option<BufferId> {
    let mut found = None;
    body.iter().flat_map(Stmt::exprs).for_each(|e| {
        e.each(&mut |e| match e {
            Expr::Load(b, at) if **at == Expr::Var(var) => found = found.or(Some(*b)),
            _ => {}
        });
    });
    found
}
