//! Schedules: in which order, and how, loops run.
//!
//! [`order`] chooses the order of a statement's loops from formats and conditions, before data are seen. [`storage`] chooses the storage
//! of temporaries, also by magnitudes of extents. Programs' commands are applied by [`protocol`] (how lists are iterated), [`stage`]
//! (parts of right sides as temporaries) and [`loops`] (cuts and order of loops). [`eliminate`] chooses the sums to stage, and
//! [`spell`](fiberloom_core::notation::spell) writes the choice as commands.
mod bare;
mod bound;
mod collapse;
pub mod divide;
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

use fiberloom_core::algebra::Mode;
use fiberloom_core::iteration::Thin;
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::typed::Program;
use fiberloom_core::stack::with_room;
use std::collections::BTreeSet;

/// Whether the schedules of a checked program are legal in a mode.
///
/// # Errors
/// For each statement, the first command that is not legal. [`check`](crate::check::check()) has rejected those that no mode allows, so
/// these are the ones that strict mode refuses.
pub fn legal(program: &Program, mode: Mode) -> Result<(), Vec<Diagnostic>> {
    with_room(|| {
        let loops = |statement| loops::Loops::of(program, statement, mode).err();
        let wrong: Vec<Diagnostic> = program.statements.iter().filter_map(loops).collect();
        if !wrong.is_empty() {
            return Err(wrong);
        }
        stage::given(program, mode, (&Thin::new(), &BTreeSet::new())).map(|_| ())
    })
}
