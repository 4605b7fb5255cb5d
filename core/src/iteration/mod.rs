//! iteration
