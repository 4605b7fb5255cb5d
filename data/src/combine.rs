//! Entries at equal coordinates, folded into one.

use fiberloom_core::algebra::{Op, Value, apply};
use fiberloom_core::format::{Duplicates, added};
use std::str::FromStr;

/// What becomes of entries at equal coordinates, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combine {
    /// Their sum, as the language's `+`.
    Sum,
    /// The least, as the language's `min`.
    Min,
    /// The greatest, as the language's `max`.
    Max,
    /// The last.
    Last,
}

impl Combine {
    /// Every way.
    pub const ALL: [Combine; 4] = [Combine::Sum, Combine::Min, Combine::Max, Combine::Last];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        ["sum", "min", "max", "last"][self as usize]
    }

    /// The same for readers and for [`Entries::assemble`](fiberloom_core::format::Entries::assemble).
    pub fn duplicates(self) -> Duplicates<'static> {
        match self {
            Combine::Sum => Duplicates::Combine(&added),
            Combine::Min => Duplicates::Combine(&least),
            Combine::Max => Duplicates::Combine(&greatest),
            Combine::Last => Duplicates::Combine(&last),
        }
    }
}

impl FromStr for Combine {
    type Err = String;

    fn from_str(name: &str) -> Result<Combine, String> {
        let found = Combine::ALL.into_iter().find(|way| way.name() == name);
        found.ok_or_else(|| format!("`{name}` combines no entries: sum, min, max or last expected"))
    }
}

fn least(earlier: Value, later: Value) -> Value {
    apply(Op::Min, &[earlier, later]).expect("`min` takes two values of any one type")
}

fn greatest(earlier: Value, later: Value) -> Value {
    apply(Op::Max, &[earlier, later]).expect("`max` takes two values of any one type")
}

fn last(_: Value, later: Value) -> Value {
    later
}
