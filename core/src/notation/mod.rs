//! Programs, from what the user wrote to loops over index variables.
//!
//! ```text
//!  syntax ──check──▶ typed ──concretize──▶ concrete
//!  as written        names resolved,       foralls, wheres and assignments,
//!                    types explicit,       every access concordant with
//!                    sums explicit         the loops around it
//! ```
//!
//! [`syntax`] is what the parser and the builder both make. [`typed`] is what the reference semantics evaluates and
//! what lowering starts from. Every rejection, and every warning, is a [`Diagnostic`].
pub mod command;
pub mod concrete;
pub mod diagnostic;
pub mod free;
pub mod function;
mod print;
mod print_typed;
pub mod property;
pub mod spell;
pub mod syntax;
pub mod typed;
mod warn;

pub use diagnostic::{Diagnostic, Severity, Span};
pub use syntax::MOST_DIGITS;
pub use warn::{Warning, warnings};
