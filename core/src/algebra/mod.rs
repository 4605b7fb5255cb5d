//! Scalars: the eleven element types, their values, and the built-in functions with their properties.
//!
//! ```text
//!  Type ── Value (type + bit pattern) ── Op (built-in function) ── apply: Op × Values → Value; evaluate: in a Mode
//!                                           └── properties: identity, annihilator, … for (Op, Type, Mode)
//! ```
//!
//! Invariants: a [`Value`] is equal to another exactly when type and bits are (so NaN = NaN and 0.0 ≠ −0.0);
//! the bits above a type's width are zero; a `bool` is 0 or 1.
mod apply;
mod derivative;
mod elementary;
mod floor;
mod op;
mod properties;
mod rust;
mod table;
mod value;

pub use apply::{apply, evaluate};
pub use derivative::{Derivative, Slope};
pub use elementary::{Place, Step, Steps, Whole, elementary, elementaryf, steps};
pub use floor::{floor_div, floor_divf, floor_rem, floor_remf};
pub use op::{COUNT, Mode, Op, result_type};
pub use properties::{Properties, identity, neutral, properties, subject};
pub use rust::OtherType;
pub use value::{Type, Value};
