//! The passes in a row: one program, which is linked once.

mod common;
mod concrete;
mod loops_plan;
mod plans;
