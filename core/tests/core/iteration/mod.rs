//! Sequences and lattices.

mod lattice;
mod sequence;
