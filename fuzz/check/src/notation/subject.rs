//! What engines run: a program and its data, however they were made.
//!
//! ```text
//!  Case     a tree that can be made smaller; everything that is refused is a finding
//!  Written  a program of the whole language; stages may refuse it by name
//! ```

use super::engines::{self, Engine, Finding, Outcome};
use super::statistics::Statistics;
use arbitrary::Unstructured;
use fiberloom_core::algebra::Mode;
use fiberloom_core::format::Tensor;
use fiberloom_core::notation::typed;
use fiberloom_loops::Options;
use fiberloom_semantics::machine;
use fiberloom_semantics::meaning::Limits;
use std::collections::BTreeMap;
use std::fmt::Display;

/// Tensors by their names.
pub type Operands = BTreeMap<String, Tensor<'static>>;

/// A program, whose text it displays as, and its data.
pub trait Subject: Display + Sized {
    /// How floats are understood.
    fn mode(&self) -> Mode;

    /// How it is lowered, apart from the mode.
    fn options(&self, typed: &typed::Program) -> Options;

    /// What evaluating it may take.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// What interpreted loops may take.
    fn machine_limits(&self) -> machine::Limits {
        machine::Limits::default()
    }

    /// Whether its meaning is evaluated over what is stored, and its loops are interpreted before machine code of them runs.
    fn is_long(&self) -> bool {
        false
    }

    /// What its caller gives; `None`: that is not known.
    fn operands(&self, typed: &typed::Program) -> Option<Operands>;

    /// The values of sizes that its caller says.
    fn sizes(&self, _typed: &typed::Program) -> Vec<(typed::SizeId, u64)> {
        vec![]
    }

    /// The same program on other data: each extent that they say is `extent` at most. `None`: there is nothing to shorten.
    fn shortened(&self, extent: u64) -> Option<Self>;

    /// The same program on other data of the same extents.
    fn redrawn(&self, u: &mut Unstructured) -> Self;

    /// Whether a stage may refuse it in these words, and what that is called; `None`: it is a finding of this kind.
    fn left_out(&self, kind: &str, words: &str) -> Option<&'static str>;

    /// Runs it on its data and on others that are drawn from these seeds.
    ///
    /// # Errors
    /// The first finding, which says on which data.
    fn run_on(&self, engine: Engine, others: &[u64]) -> Result<Outcome, Finding> {
        engines::run_on(self, engine, others)
    }

    /// Programs that are one step smaller.
    fn smaller(&self) -> Vec<Self> {
        vec![]
    }

    /// Words for what stands in it.
    fn constructs(&self) -> Vec<String>;

    /// Counts what its operators meet, where that is known.
    fn count(&self, _statistics: &mut Statistics) {}

    /// Its data, to be looked at.
    fn data(&self) -> String;
}
