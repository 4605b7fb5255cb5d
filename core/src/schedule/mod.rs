//! Schedules: in which order, and how, loops run.
//!
//! Without commands from the user, [`order`] chooses the order of a statement's loops from the formats alone: kernels
//! are compiled before their data is seen. Commands parse and are checked; none is lowered yet.
pub mod order;
