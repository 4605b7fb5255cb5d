//! Names: the user's, which have to be names, and the builder's own, which are none of the user's.
//!
//! ```text
//!  ident("i+1")    ─▶ "`i+1`"     in quotes, which the language has nowhere else: `written` refuses the program
//!  own("axis_1")   ─▶ "␁axis_1"   marked until the program is printed: `axis_1`, or `axis_1_` where that is the user's
//! ```

use fiberloom_core::notation::{Diagnostic, Span, syntax};
use std::collections::{BTreeMap, BTreeSet};

/// Stands before the builder's own names.
const OWN: char = '\u{1}';

/// A name at no place.
pub(super) fn ident(name: &str) -> syntax::Ident {
    let own = name.strip_prefix(OWN).unwrap_or(name);
    let fits = own.chars().all(of_word) && own.starts_with(|c: char| !c.is_ascii_digit());
    let name = if fits { name.to_string() } else { format!("`{}`", own.escape_debug().to_string().replace('`', "'")) };
    syntax::Ident { name, span: Span::default() }
}

/// A name of the builder's own, like this one.
pub(super) fn own(name: &str) -> String {
    format!("{OWN}{name}")
}

fn of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The printed program with the builder's names as they are written.
///
/// # Errors
/// A name that is none.
pub(super) fn written(text: &str) -> Result<String, Diagnostic> {
    if let Some(name) = text.split('`').nth(1) {
        let message = format!("`{name}` is no name");
        return Err(
            Diagnostic::new(Span::default(), message).help("a name has letters, digits and `_`, no digit first")
        );
    }
    let mut pieces = text.split(OWN);
    let mut out = pieces.next().unwrap_or_default().to_string();
    let pieces: Vec<(&str, &str)> = pieces.map(|p| p.split_at(p.find(|c| !of_word(c)).unwrap_or(p.len()))).collect();
    let users = std::iter::once(out.as_str()).chain(pieces.iter().map(|(_, rest)| *rest));
    let mut taken: BTreeSet<String> = users.flat_map(|t| t.split(|c| !of_word(c))).map(str::to_string).collect();
    let mut chosen: BTreeMap<&str, String> = BTreeMap::new();
    for (name, rest) in pieces {
        let written = chosen.entry(name).or_insert_with(|| {
            let mut free = name.to_string();
            while !taken.insert(free.clone()) {
                free.push('_');
            }
            free
        });
        out.push_str(written);
        out.push_str(rest);
    }
    Ok(out)
}
