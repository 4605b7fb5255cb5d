//! Schedules: in which order, and how, loops run.
//!
//! [`order`] chooses the order of a statement's loops from formats and conditions, before data are seen. [`storage`]
//! chooses what temporaries are stored in, by magnitudes of extents too. Of the commands of programs
//! [`protocol`] says how lists are iterated, and [`stage`] makes parts of right sides temporaries; [`eliminate`] chooses which sums are,
//! and [`spell`] says it as commands.
pub mod eliminate;
pub mod loops;
mod occurs;
pub mod order;
pub mod protocol;
pub mod spell;
pub mod stage;
pub mod storage;
