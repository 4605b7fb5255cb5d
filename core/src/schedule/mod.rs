//! Schedules: in which order, and how, loops run.
//!
//! [`order`] chooses the order of a statement's loops from formats and conditions, before data are seen. [`storage`]
//! chooses what temporaries are stored in, by magnitudes of extents too. Of the commands of programs
//! [`protocol`] says how lists are iterated, [`stage`] makes parts of right sides temporaries, and [`loops`] cuts and orders loops.
//! [`eliminate`] chooses which sums are staged, and [`spell`](crate::notation::spell) says it as commands.
mod bare;
mod bound;
mod collapse;
pub(crate) mod divide;
pub mod eliminate;
pub mod loops;
mod occurs;
pub mod order;
mod parallelize;
mod pos;
pub mod protocol;
mod quotient;
mod reorder;
mod split;
pub mod stage;
pub mod storage;
mod weigh;

use crate::algebra::Mode;
use crate::iteration::Thin;
use crate::notation::Diagnostic;
use crate::notation::typed::Program;
use std::collections::BTreeSet;

/// Whether the schedules of a checked program are legal in a mode.
///
/// # Errors
/// Of each statement the first command that is not: what strict mode refuses, since [`check`](crate::check::check()) has looked at
/// the rest.
pub fn legal(program: &Program, mode: Mode) -> Result<(), Vec<Diagnostic>> {
    let loops = |statement| loops::Loops::of(program, statement, mode).err();
    let wrong: Vec<Diagnostic> = program.statements.iter().filter_map(loops).collect();
    if !wrong.is_empty() {
        return Err(wrong);
    }
    stage::given(program, mode, (&Thin::new(), &BTreeSet::new())).map(|_| ())
}
