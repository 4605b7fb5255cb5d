//! Machine code, run: one program, which is linked once.

mod ahead_of_time;
mod among;
mod common;
mod few;
mod operations;
mod parallel;
mod prefetch;
mod run;
mod scatter;
