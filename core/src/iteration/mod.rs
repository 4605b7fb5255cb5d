//! Iteration: the coordinates at which a loop must run, and the simplified body there.
//!
//! ```text
//!   body            C = A + B              at the loop over j, both lists
//!   sequence        A ∪ B                  from the functions' properties
//!   lattice   ┌ A ∪ B ┐                    a point is a simplified body
//!             ├─ A exhausted ─▶ B          an edge is "this list is exhausted"; from three lists on
//!             └─ B exhausted ─▶ A          there is one wide loop, and no edges
//! ```
//!
//! Only `show lattice` uses the *space* of a variable of a typed statement, shape operators included (space.rs, along.rs). Lowering does
//! not read spaces.
//!
//! An annihilator gives an intersection, everything else a union. A body whose value where nothing is present must be written too runs
//! over the whole extent (functions paper, section 5.2). ∅ stands for sparse and exhausted, 𝓕 for the whole extent; the rules are those
//! of the shape paper's figure 27. Lists that the body reads and the sequence does not name are *followers*: they are searched at the
//! coordinates of the leaders.
mod along;
mod declared;
pub mod draw;
mod formats;
mod lattice;
mod presence;
mod sequence;
mod simplify;
mod space;

pub use along::show as show_spaces;
pub use formats::{Spares, Thin};
pub use lattice::{Lattice, Point, Shape, shape};
pub use sequence::{Sequence, background};
pub use simplify::Simplify;
pub use simplify::literal;
pub use space::{Cut, Edge, Space, SpaceLattice, SpacePoint};
