//! `function`: a level without arrays. The operand is a call, or is stored as hashed, which holds the same function.

use super::{At, Kind, Level, LevelKind, Step, Store};
use crate::format::check::{Above, malformed};
use crate::format::{Error, Malformed};
use crate::looplet::{Looplet, Values};

pub(super) struct Function;

impl Kind for Function {
    fn looplet(&self) -> Looplet {
        Looplet::Lookup(Values::Computed)
    }

    fn steps(&self) -> &'static [Step] {
        &[]
    }

    fn stored(&self) -> Option<LevelKind> {
        Some(LevelKind::Hashed)
    }

    fn check<'t>(&self, at: At<'t>, _: Above<'t>) -> Result<Above<'t>, Malformed> {
        malformed(Some(at.l), 0, "a level `function` has no arrays")
    }

    fn assemble(&self, _: &mut Store, _: usize, _: u64) -> Result<Level<'static>, Error> {
        Err(Error::Kind(LevelKind::Function))
    }
}
