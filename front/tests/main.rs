//! Text to syntax and back: one program, which is linked once.

mod check;
mod elsewhere;
mod format;
mod parse;
