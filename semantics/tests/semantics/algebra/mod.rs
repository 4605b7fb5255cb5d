//! Scalars, their error bounds and their tangents.

mod dual;
mod number;
mod scalar;
