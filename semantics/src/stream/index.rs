//! The ordered sets over which attributes range.

use std::fmt::Debug;
use std::rc::Rc;

/// The indices of streams: one ordered type for all attributes.
pub trait Index: Clone + Ord + Debug + 'static {
    /// An attribute's index set.
    type Set: Clone + PartialEq + Debug + 'static;
    /// The index of a stream that has ended: above all others, and in no set.
    const END: Self;
    /// The only index of a level that is summed over.
    const STAR: Self;

    /// The least index of a set at which a skip to this bound may rest.
    fn least(set: &Self::Set, to: &(Self, bool)) -> Option<Self>;

    /// The indices of a set, ascending.
    fn all(set: &Self::Set) -> Vec<Self>;

    /// An index beyond those of a set.
    fn beyond(set: &Self::Set) -> Self;

    /// The index's place in a set, which distinguishes states. The place of an ended index is behind all others.
    fn place(&self, set: &Self::Set) -> i64;
}

/// The numbers from 0 up to an extent; the extent `END` is unbounded.
impl Index for i64 {
    type Set = i64;
    const END: i64 = i64::MAX;
    const STAR: i64 = 0;

    fn least(extent: &i64, (i, past): &(i64, bool)) -> Option<i64> {
        Some(i.saturating_add(i64::from(*past)).max(0)).filter(|i| i < extent)
    }

    fn all(extent: &i64) -> Vec<i64> {
        (0..*extent).collect()
    }

    fn beyond(extent: &i64) -> i64 {
        *extent
    }

    fn place(&self, extent: &i64) -> i64 {
        *self.min(extent)
    }
}

/// An index of sets that are listed: numbers are before texts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Label {
    /// The index of a level that is summed over.
    Star,
    /// A number.
    Number(i64),
    /// A text.
    Text(Rc<str>),
    /// The index of a stream that has ended.
    End,
}

/// Sets of labels, ascending.
impl Index for Label {
    type Set = Rc<[Label]>;
    const END: Label = Label::End;
    const STAR: Label = Label::Star;

    fn least(set: &Rc<[Label]>, (i, past): &(Label, bool)) -> Option<Label> {
        set.iter().find(|label| if *past { *label > i } else { *label >= i }).cloned()
    }

    fn all(set: &Rc<[Label]>) -> Vec<Label> {
        set.to_vec()
    }

    fn beyond(_: &Rc<[Label]>) -> Label {
        Label::End
    }

    fn place(&self, set: &Rc<[Label]>) -> i64 {
        set.partition_point(|label| label < self) as i64
    }
}
