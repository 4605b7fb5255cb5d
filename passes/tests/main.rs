//! What is checked of programs: one program, which is linked once.

mod check;
mod properties;
mod warnings;
