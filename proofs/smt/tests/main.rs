//! Laws that are asked of a solver: one program, which is linked once.

mod any_length;
mod bounded;
mod machine;
mod rewrites;
mod wrong;
