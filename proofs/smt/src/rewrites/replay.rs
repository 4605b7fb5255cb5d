//! Counterexamples, run by the machine.

use super::operands::Operands;
use fiberloom_core::algebra::Value;
use fiberloom_core::format::Array;
use fiberloom_loops::Kernel;
use fiberloom_semantics::machine::{self, Fault};
use std::fmt;
use z3::Model;

/// Other values that are tried where those of a model make no difference.
const DRAWS: u64 = 32;

/// Data on which two kernels differ.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The kernel before the rewrite.
    pub before: String,
    /// And after it.
    pub after: String,
    /// Operands, and what each kernel makes of them.
    pub seen: String,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "{}\nbefore\n{}\nafter\n{}", self.seen, self.before, self.after)
    }
}

type Ran = Result<Vec<Option<Array<'static>>>, Fault>;

fn ran(kernel: &Kernel, params: &[i64], arrays: &[Option<Array<'static>>]) -> Ran {
    // A rewrite may add buffers.
    let all = arrays.iter().map(Option::as_ref).chain(std::iter::repeat(None));
    let arrays: Vec<Option<&Array>> = all.take(kernel.buffers.len()).collect();
    machine::run(kernel, params, &arrays, &Default::default()).map(|outcome| outcome.buffers)
}

/// Runs both kernels on a model's data and, where they do not differ, on the same coordinates with other values; `None` if they
/// never differ.
pub fn replay(before: &Kernel, after: &Kernel, operands: &Operands, model: &Model) -> Option<Counterexample> {
    let said = operands.arrays(model);
    let params = &operands.given.params;
    for draw in 0..DRAWS {
        let arrays = if draw == 0 { said.clone() } else { redrawn(before, operands, &said, draw) };
        let (a, b) = (ran(before, params, &arrays), ran(after, params, &arrays));
        // What breaks a rule before has no meaning to keep.
        if matches!(a, Err(Fault::Broken(_))) || alike(&a, &b) {
            continue;
        }
        let seen = seen(before, params, &arrays, [&a, &b]);
        return Some(Counterexample { before: before.to_string(), after: after.to_string(), seen });
    }
    None
}

/// The same arrays with other values of floats: small whole numbers.
fn redrawn(
    kernel: &Kernel,
    operands: &Operands,
    arrays: &[Option<Array<'static>>],
    draw: u64,
) -> Vec<Option<Array<'static>>> {
    let mut bytes = fiberloom_check::bytes(draw, 4096).into_iter();
    let mut redrawn = arrays.to_vec();
    for (b, array) in redrawn.iter_mut().enumerate() {
        let ty = kernel.buffers[b].ty;
        let Some(array) = array.as_mut().filter(|_| ty.is_float()) else { continue };
        for i in (0..array.len()).filter(|i| operands.is_open(b, *i)) {
            let whole = bytes.next().unwrap_or(1) % 9;
            array.set(i, Value::from_f64(ty, whole as f64 - 3.0));
        }
    }
    redrawn
}

/// Both end alike: with the same results, NaN and the sign of zero apart, or with the same failure.
fn alike(a: &Ran, b: &Ran) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => a.iter().zip(b).all(|(a, b)| match (a, b) {
            (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(x, y)| equal(x, y)),
            (a, b) => a.is_none() == b.is_none(),
        }),
        (Err(Fault::Stopped(a)), Err(Fault::Stopped(b))) => a == b,
        _ => false,
    }
}

fn equal(x: Value, y: Value) -> bool {
    let zeros = x.ty().is_float() && x.as_f64() == 0.0 && y.as_f64() == 0.0;
    x == y || x.is_nan() && y.is_nan() || zeros
}

fn seen(kernel: &Kernel, params: &[i64], arrays: &[Option<Array<'static>>], ends: [&Ran; 2]) -> String {
    let mut text = String::new();
    let mut line = |name: &str, what: String| text += &format!("  {name} = {what}\n");
    for (p, value) in kernel.params.iter().zip(params) {
        line(&kernel.vars[p.0 as usize].0, value.to_string());
    }
    let shown = |array: &Array| array.iter().map(|x| x.to_string()).collect::<Vec<_>>().join(" ");
    for (b, array) in kernel.buffers.iter().zip(arrays) {
        array.iter().for_each(|array| line(&b.name, shown(array)));
    }
    for (when, end) in ["before", "after"].into_iter().zip(ends) {
        match end {
            Err(fault) => line(when, fault.to_string()),
            Ok(results) => {
                for (b, array) in kernel.buffers.iter().zip(results) {
                    array.iter().for_each(|array| line(&format!("{when}: {}", b.name), shown(array)));
                }
            }
        }
    }
    text
}
