//! Schedules: in which order, and how, loops run.
//!
//! Without commands from the user, [`order`] chooses the order of a statement's loops from the formats alone: kernels
//! are compiled before their data is seen; [`storage`] chooses what temporaries are stored in, by extents too. Commands parse and are checked; those of [`protocol`] are lowered.
pub mod order;
pub mod protocol;
pub mod storage;
