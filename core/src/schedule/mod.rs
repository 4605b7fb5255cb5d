//! Schedules: in which order, and how, loops run.
//!
//! [`order`] chooses the order of a statement's loops from formats and conditions, before data are seen. [`storage`]
//! chooses what temporaries are stored in, by magnitudes of extents too. Commands of programs are parsed and checked;
//! only [`protocol`] is lowered. [`stage`] makes sums temporaries, and [`eliminate`] chooses which.
mod bare;
mod bound;
mod collapse;
pub mod eliminate;
pub mod loops;
pub mod order;
mod parallelize;
mod pos;
pub mod protocol;
mod reorder;
mod split;
pub mod stage;
pub mod storage;
mod weigh;
