//! Iterators over fibers, where they run at once.

mod merge;
