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

/// One rejection: what is wrong, where, what was expected, what to change.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
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
        Diagnostic { span, message: message.into(), labels: Vec::new(), help: None }
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
