//! The extents of a kernel: their names, their values as numbers, and their expressions in terms of other extents.

use crate::choose::symbol::Sym;
use fiberloom_core::map::{ClassId, Size};
use std::collections::BTreeMap;

/// The extents of a kernel.
#[derive(Default)]
pub struct Extents {
    /// The names of the extents.
    pub names: BTreeMap<ClassId, Sym>,
    /// Extents that follow from other extents, as sizes of these.
    pub sizes: BTreeMap<ClassId, Size>,
    /// Extents that the program states as numbers.
    pub constants: BTreeMap<ClassId, i64>,
}

impl Extents {
    /// The name of an extent.
    pub fn name(&self, class: ClassId) -> Sym {
        self.names[&class]
    }

    /// An extent that the program states as a number.
    pub fn number(&self, class: ClassId) -> Option<i64> {
        self.constants.get(&class).copied()
    }

    /// A size with known extents as numbers, as expressions take it.
    pub fn numbered(&self, size: &Size) -> Size {
        size.within(&|c| self.number(c).map(Size::number))
    }

    /// A size in the form in which sizes are compared: known extents are replaced by numbers, and extents that follow from others by
    /// those.
    pub fn known(&self, size: &Size) -> Size {
        let number = |c: ClassId| self.number(c).map(Size::number);
        size.within(&|c| number(c).or_else(|| Some(self.sizes.get(&c)?.within(&number))))
    }

    /// An extent in the form in which sizes are compared.
    pub fn known_extent(&self, class: ClassId) -> Size {
        self.known(&Size::unknown(class))
    }

    /// The size of an extent. An extent of 0 counts as unknown.
    pub fn length(&self, class: ClassId) -> Size {
        self.number(class).filter(|n| *n != 0).map_or_else(|| Size::unknown(class), Size::number)
    }
}
