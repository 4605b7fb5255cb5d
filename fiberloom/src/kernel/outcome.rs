//! What a call made.

use crate::cache::Ops;
use crate::error::Error;
use fiberloom_core::algebra::{OtherType, Value};
use fiberloom_core::format::{Element, Tensor};
use std::time::Duration;

/// What a call made.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The results with their names, which ascend.
    pub results: Vec<(String, Tensor<'static>)>,
    /// How long the engine took, the arrays of results and temporaries made anew; checks are outside it, and which tensors they are.
    pub time: Duration,
    /// What the interpreter counted, if that was the engine: names and counts.
    pub ops: Ops,
}

impl Outcome {
    pub(crate) fn new(mut results: Vec<(String, Tensor<'static>)>, time: Duration, ops: Ops) -> Outcome {
        results.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Outcome { results, time, ops }
    }

    /// The result of a name.
    pub fn get(&self, name: &str) -> Option<&Tensor<'static>> {
        self.results.iter().find(|(n, _)| n == name).map(|(_, tensor)| tensor)
    }

    /// Takes the result of a name out.
    pub fn take(&mut self, name: &str) -> Option<Tensor<'static>> {
        let at = self.results.iter().position(|(n, _)| n == name)?;
        Some(self.results.remove(at).1)
    }

    /// The values of a dense result, the last mode's coordinate running fastest.
    ///
    /// ```
    /// # use fiberloom::{Options, Program};
    /// let program = Program::parse("tensor x: f64[N] dense  tensor y: f64[N] dense  y[i] = 2 * x[i]")?;
    /// let outcome = program.compile(&Options::default())?.run(&[("x", &[1.0, 2.0])])?;
    /// assert_eq!(outcome.dense::<f64>("y")?, [2.0, 4.0]);
    /// assert!(outcome.dense::<i64>("y").is_err());
    /// # Ok::<(), fiberloom::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Call`] if there is no such result, or it is not dense in the order of its modes, or of another type.
    pub fn dense<T: Element>(&self, name: &str) -> Result<&[T], Error> {
        let tensor = self.named(name)?;
        let in_order = tensor.format.order.iter().copied().eq(0..tensor.format.rank());
        if !tensor.format.is_dense() || !in_order {
            let help = "declare it dense, or convert it: `Tensor::to_dense`";
            return Err(Error::Call(format!("the result `{name}` is stored as {}: {help}", tensor.format)));
        }
        let other = || of_type(name, OtherType { is: tensor.values.ty(), asked: T::TYPE });
        tensor.values.as_slice().ok_or_else(other)
    }

    /// The value of a result without modes.
    ///
    /// # Errors
    /// [`Error::Call`] if there is no such result, or it has modes, or is of another type.
    pub fn scalar<T: TryFrom<Value, Error = OtherType>>(&self, name: &str) -> Result<T, Error> {
        let tensor = self.named(name)?;
        match tensor.extents.len() {
            0 => tensor.values.get(0).try_into().map_err(|other| of_type(name, other)),
            modes => {
                let modes = fiberloom_core::counted(modes, "mode", "modes");
                Err(Error::Call(format!("the result `{name}` has {modes}, and is no scalar")))
            }
        }
    }

    fn named(&self, name: &str) -> Result<&Tensor<'static>, Error> {
        self.get(name).ok_or_else(|| Error::Call(format!("there is no result `{name}`")))
    }
}

fn of_type(name: &str, other: OtherType) -> Error {
    Error::Call(format!("the result `{name}` is {other}"))
}

impl std::ops::Index<&str> for Outcome {
    type Output = Tensor<'static>;

    /// The result of that name.
    ///
    /// # Panics
    /// If there is none.
    fn index(&self, name: &str) -> &Tensor<'static> {
        self.get(name).unwrap_or_else(|| panic!("there is no result `{name}`"))
    }
}
