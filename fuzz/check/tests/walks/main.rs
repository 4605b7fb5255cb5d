//! Walks of every generator that a usual test has time for.

mod boxes;
mod campaign;
mod einsum;
mod growth;
mod language;
mod loops;
mod tables;
mod text;
