//! What programs and loops mean, against values worked out by hand and rules that they break.

mod algebra;
mod loops;
mod notation;
mod ptx;
mod relation;
