//! `bound(i, n)`: fixes an extent at a number. The extents of data are checked against it (`shape`).

use super::loops::{Apply, Legal};
use fiberloom_core::notation::typed::VarId;

impl Apply<'_> {
    pub(super) fn bound(&self, v: VarId) -> Legal {
        self.is_loop(v)?;
        if self.loops.cut(v).is_some() {
            let message = format!("`{}` counts entries, of which data alone say how many there are", self.name(v));
            return self.refuse(message, "bound a loop over coordinates");
        }
        Ok(())
    }
}
