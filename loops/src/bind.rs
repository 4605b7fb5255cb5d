//! Binds tensors to a kernel's parameters and operands, and collects its results as tensors.

use super::{Argument, BufferId, Kernel, Role, Var};
use fiberloom_core::counted;
use fiberloom_core::format::{self, Array, Assembly, Format, Level, Tensor};
use fiberloom_core::notation::typed::{Extents, TensorId};

/// The arguments of a kernel's call. The arrays are the tensors' own: borrowed if those are, else shared with them.
#[derive(Clone, Debug)]
pub struct Bound<'a> {
    /// The value of each of [`Kernel::params`].
    pub params: Vec<i64>,
    /// The array of each of [`Kernel::buffers`] that is an operand.
    pub operands: Vec<Option<Array<'a>>>,
}

impl<'a> Bound<'a> {
    /// The operands' arrays in the form that engines take.
    pub fn arrays(&self) -> Vec<Option<&Array<'a>>> {
        self.operands.iter().map(Option::as_ref).collect()
    }
}

/// Binds the kernel's operands to `tensors`, by name. `extents` gives the extents of every tensor, including results, and `solved` those
/// of every index variable and size. The tensors must be well-formed ([`Checked`](fiberloom_core::format::Checked)): binding does not check them.
///
/// # Errors
/// The operand that is missing, or that does not fit the kernel, and why.
pub fn bind<'a>(
    kernel: &Kernel,
    tensors: &[(&str, &Tensor<'a>)],
    extents: &dyn Fn(TensorId) -> Vec<u64>,
    solved: &Extents,
) -> Result<Bound<'a>, String> {
    let mut params = vec![None; kernel.params.len()];
    let mut operands = vec![None; kernel.buffers.len()];
    for a in &kernel.arguments {
        let modes = extents(a.tensor);
        set_extents(kernel, a, &modes, &mut params).map_err(|e| format!("`{}`: {e}", a.name))?;
        if !a.operand {
            continue;
        }
        let found = tensors.iter().find(|(name, _)| *name == a.name);
        let (_, tensor) = found.ok_or_else(|| format!("`{}` is needed, and was not given", a.name))?;
        if tensor.extents != modes {
            return Err(format!("`{}` has extents {:?}, and {modes:?} is needed", a.name, tensor.extents));
        }
        for ((b, _), array) in a.buffers().zip(arrays(a, tensor).map_err(|e| format!("`{}`: {e}", a.name))?) {
            let buffer = &kernel.buffers[b.0 as usize];
            if array.ty() != buffer.ty {
                return Err(format!("`{}`: `{}` is {}, and {} is needed", a.name, buffer.name, array.ty(), buffer.ty));
            }
            operands[b.0 as usize] = Some(array.clone());
        }
    }
    for (v, of) in &kernel.solved {
        set_extent(kernel, *v, solved.var(*of), &mut params)?;
    }
    for (v, of) in &kernel.given {
        set_extent(kernel, *v, solved.size(*of), &mut params)?;
    }
    let mut pairs = kernel.buffers.iter().zip(&operands);
    if let Some((b, _)) = pairs.find(|(b, array)| b.role == Role::Operand && array.is_none()) {
        return Err(format!("operand `{}` is an array of no tensor", b.name));
    }
    let known = |(value, v): (Option<i64>, &Var)| {
        value.ok_or_else(|| format!("`{}` is the extent of no tensor", kernel.vars[v.0 as usize].0))
    };
    let params = params.into_iter().zip(&kernel.params).map(known).collect::<Result<_, _>>()?;
    Ok(Bound { params, operands })
}

fn set_extents(kernel: &Kernel, a: &Argument, modes: &[u64], params: &mut [Option<i64>]) -> Result<(), String> {
    if modes.len() != a.extents.len() {
        return Err(format!("{} needed, there are {}", counted(a.extents.len(), "mode is", "modes are"), modes.len()));
    }
    a.extents.iter().zip(modes).try_for_each(|(v, n)| set_extent(kernel, *v, *n, params))
}

fn set_extent(kernel: &Kernel, v: Var, n: u64, params: &mut [Option<i64>]) -> Result<(), String> {
    let n = i64::try_from(n).map_err(|_| format!("the extent {n} is not below 2⁶³"))?;
    let at = kernel.params.iter().position(|p| *p == v).ok_or("one of its extents is no parameter of the kernel")?;
    let known = *params[at].get_or_insert(n);
    if known != n {
        return Err(format!("the extent `{}` is {n} here and {known} elsewhere", kernel.vars[v.0 as usize].0));
    }
    Ok(())
}

/// The tensor's arrays, in the order of [`Argument::buffers`].
fn arrays<'t, 'a>(a: &Argument, tensor: &'t Tensor<'a>) -> Result<impl Iterator<Item = &'t Array<'a>>, String> {
    if tensor.format != a.format {
        return Err(format!("it is stored as {}, and {} is needed", tensor.format, a.format));
    }
    if tensor.fill != a.fill {
        return Err(format!("its fill value is {}, and {} is needed", tensor.fill, a.fill));
    }
    let mut levels = tensor.levels.iter().zip(&a.levels);
    if let Some(l) = levels.position(|(level, needed)| level.kind() != needed.kind()) {
        return Err(format!("level {l} has not the arrays of its kind"));
    }
    Ok(tensor.levels.iter().flat_map(Level::arrays).chain([&tensor.values]))
}

/// The kernel's results as tensors, in the order of its arguments. `made` is called once for each array that the kernel computed. Arrays
/// that a result shares with an operand are shared, or copied if they are borrowed; `None` if memory does not suffice for the copy.
///
/// # Panics
/// If `bound` is not the argument of this kernel's call.
pub fn collect(
    kernel: &Kernel,
    bound: &Bound,
    made: &mut dyn FnMut(BufferId) -> Array<'static>,
) -> Option<Vec<(String, Tensor<'static>)>> {
    let mut take = |b: BufferId| match &bound.operands[b.0 as usize] {
        Some(operand) => operand.share(),
        None => Some(made(b)),
    };
    let extent = |v: &Var| {
        let at = kernel.params.iter().position(|p| p == v).expect("extents are parameters");
        bound.params[at] as u64
    };
    let mut results = Vec::with_capacity(kernel.arguments.len());
    for a in kernel.arguments.iter().filter(|a| !a.operand) {
        // A call may take less than a microsecond: tensors are built in place, not moved.
        let mut levels = Vec::with_capacity(a.levels.len());
        for of in &a.levels {
            levels.push(of.map(|b| take(*b).ok_or(())).ok()?);
        }
        let (extents, values) = (a.extents.iter().map(extent).collect(), take(a.values)?);
        results.push((a.name.clone(), Tensor { extents, format: a.format.clone(), levels, values, fill: a.fill }));
    }
    Some(results)
}

/// Whether [`collect`] copies arrays: a result shares an operand's array that is borrowed.
pub fn shares_borrowed(kernel: &Kernel, bound: &Bound) -> bool {
    let of_results = kernel.arguments.iter().filter(|a| !a.operand).flat_map(Argument::buffers);
    of_results.into_iter().any(|(b, _)| bound.operands[b.0 as usize].as_ref().is_some_and(Array::is_borrowed))
}

/// The function that [`collect`] calls, taking arrays by buffer.
///
/// # Panics
/// The function panics for an array that is missing or was taken before.
pub fn taken(mut arrays: Vec<Option<Array<'static>>>) -> impl FnMut(BufferId) -> Array<'static> {
    move |b| arrays[b.0 as usize].take().expect("every result has its array")
}

/// Converts the results of a kernel from the formats in which it assembled them to the declared ones.
///
/// # Errors
/// The name of the first result whose format has no place for a value, and the reason.
pub fn settle<'p>(
    kernel: &Kernel,
    results: Vec<(String, Tensor<'static>)>,
    declared: &dyn Fn(TensorId) -> Option<&'p Format>,
    how: &Assembly,
) -> Result<Vec<(String, Tensor<'static>)>, (String, format::Error)> {
    let made = kernel.arguments.iter().filter(|a| !a.operand).map(|a| declared(a.tensor));
    let settled = |((name, tensor), format): ((String, Tensor<'static>), Option<&Format>)| match format {
        Some(format) if *format != tensor.format => match tensor.settled(format, how) {
            Ok(tensor) => Ok((name, tensor)),
            Err(e) => Err((name, e)),
        },
        _ => Ok((name, tensor)),
    };
    results.into_iter().zip(made).map(settled).collect()
}

/// Whether a kernel assembles its results in the formats that are declared for them.
pub fn assembles<'p>(kernel: &Kernel, declared: &dyn Fn(TensorId) -> Option<&'p Format>) -> bool {
    let fits = |a: &Argument| declared(a.tensor).is_none_or(|format| *format == a.format);
    kernel.arguments.iter().filter(|a| !a.operand).all(fits)
}
