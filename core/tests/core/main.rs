//! What the nouns are, against plain maps, tables and arithmetic written a second time.

mod algebra;
mod format;
mod iteration;
mod map;
mod parallel;
mod shape;
