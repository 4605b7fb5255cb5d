//! Indexed streams: iterators over fibers, each written once and read twice.
//!
//! ```text
//!                     ┌ Concrete: runs at once on slices, without allocation (laws, proofs)
//!  List, BucketIndex, Table, PositionMap, Pieces, Set, merges over a Domain
//!                     └ Symbolic: emits loops (what the compiler generates; it stands in `loops`)
//! ```
//!
//! An iterator's state lives in the domain ([`State`] handles), never in the iterator. A stream here is always
//! *settled*: between calls it rests on an entry or at its end, so `index` may be asked whenever `valid` holds.
//!
//! Laws (checked in `proofs`): indices are strictly ascending; `seek(i)` lands on the first entry at or after `i`, as
//! repeated `next` would; every loop ends; no load leaves its array.
//! Source: the streams paper, section 5; settling is this project's.
mod bucket_index;
mod concrete;
mod domain;
mod list;
mod merge;
mod pieces;
mod position_map;
mod set;
mod table;
mod view;

pub use bucket_index::BucketIndex;
pub use concrete::{Concrete, PLACES, TABLE, written};
pub use domain::{Arith, BufferId, Compare, Domain, LANES, Sought, State};
pub use list::{Entry, EntryRun, List, ListFiber, Run, bounds, each};
pub use merge::{PATIENCE, Side, intersect, leap, meet, meet_lanes, unite_flat, unite_two, wide};
pub use pieces::{Interval, Kind, Pieces, Places};
pub use position_map::PositionMap;
pub use set::Set;
pub use table::{Table, slot};
pub use view::{Mark, Shift, View};
