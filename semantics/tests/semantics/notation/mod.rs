//! Programs.

mod both;
mod einsum;
mod large;
mod meaning;
