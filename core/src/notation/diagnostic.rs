//! Why a program is rejected, and where.

use std::fmt;

/// A half-open interval of byte positions in the program's text. All spans are equal to each other, so that syntax
/// trees compare by what they say and not by where they say it.
#[derive(Clone, Copy, Default, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` to `end`.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// The least span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl std::hash::Hash for Span {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// What follows from a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The program, or the call, is rejected.
    Error,
    /// Nothing: it means what it says.
    Warning,
}

impl Severity {
    /// The word in messages.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// One rejection: what is wrong, where, what was expected, what to change. Or a warning, of what may not be meant.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Whether anything is rejected.
    pub severity: Severity,
    /// The place the message is about.
    pub span: Span,
    /// One sentence that names the thing: "index variable `j` has extent 5 in `A` and 4 in `B`".
    pub message: String,
    /// Other places that matter, each with a short label.
    pub labels: Vec<(Span, String)>,
    /// What to change, if that is known.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A rejection at `span`.
    pub fn new(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Error, span, message: message.into(), labels: Vec::new(), help: None }
    }

    /// A warning at `span`.
    pub fn warning(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::new(span, message) }
    }

    /// With a further place.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push((span, text.into()));
        self
    }

    /// With advice.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help = Some(text.into());
        self
    }
}
