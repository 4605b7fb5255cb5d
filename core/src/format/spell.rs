//! Formats from text, as the language writes them and as [`Format`] prints itself.
//!
//! ```text
//!  {dense, compressed} order(1, 0)    levels, as many as modes; an order or their own
//!  csr csc dcsr dcsc                  two modes
//!  sparse                             one
//!  dense coo csf                      as many as the tensor has: the reader has to be told
//! ```

use super::{Format, LevelKind, NAMES};
use crate::counted;
use std::fmt;
use std::str::FromStr;

/// A text is no format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoFormat {
    /// The text.
    pub text: String,
    /// What is wrong with it and what was expected.
    pub why: String,
}

impl fmt::Display for NoFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no format: {}", self.text, self.why)
    }
}

impl std::error::Error for NoFormat {}

/// A format that says by itself how many modes it has: levels, or a name that has one rank.
///
/// ```
/// use fiberloom_core::format::Format;
///
/// let csc: Format = "csc".parse()?;
/// assert_eq!(csc.to_string(), "{dense, compressed} order(1, 0)");
/// assert_eq!(csc.to_string().parse(), Ok(csc));
/// assert!("coo".parse::<Format>().is_err());
/// assert_eq!(Format::read("coo", 2)?.to_string(), "{nonunique, singleton}");
/// # Ok::<(), fiberloom_core::format::NoFormat>(())
/// ```
impl FromStr for Format {
    type Err = NoFormat;

    fn from_str(text: &str) -> Result<Format, NoFormat> {
        let name = text.trim();
        let no = |why: String| Err(NoFormat { text: text.to_string(), why });
        if name.starts_with('{') {
            return levels(name).or_else(no);
        }
        match [1, 2].map(|rank| Format::named(name, rank)) {
            [Some(format), None] | [None, Some(format)] => Ok(format),
            [None, None] => no(nothing(name)),
            _ => no(format!("`{name}` has any number of modes: `Format::read(\"{name}\", modes)`, or its levels")),
        }
    }
}

impl Format {
    /// The format of a tensor of so many modes: what `parse` takes, and the names that any number of modes has.
    /// What a format of that rank prints is read as the same.
    ///
    /// # Errors
    /// A text that is no format, or one of another rank.
    pub fn read(text: &str, rank: usize) -> Result<Format, NoFormat> {
        let no = |why: String| NoFormat { text: text.to_string(), why };
        let modes = |rank: usize| counted(rank, "mode", "modes");
        match Format::named(text.trim(), rank) {
            Some(format) => Ok(format),
            None if text.trim() == "coo" || text.trim() == "csf" => Err(no("it has one mode or more".to_string())),
            None => match text.parse::<Format>()? {
                format if format.rank() == rank => Ok(format),
                other => Err(no(format!("it has {}, {} expected", modes(other.rank()), modes(rank)))),
            },
        }
    }
}

/// `{…}` and `{…} order(…)`; what is wrong.
fn levels(text: &str) -> Result<Format, String> {
    let (inside, behind) = text[1..].split_once('}').ok_or("its `{` is not closed")?;
    let kind = |name: &str| LevelKind::from_name(name).ok_or_else(|| format!("`{name}` is no kind of level"));
    let levels = listed(inside).map(kind).collect::<Result<Vec<_>, _>>()?;
    let rank = levels.len();
    let format = Format::of(levels);
    if behind.trim().is_empty() {
        return Ok(format);
    }
    let order = behind.trim().strip_prefix("order").map(str::trim);
    let order = order.and_then(|o| o.strip_prefix('(')?.strip_suffix(')'));
    let order = order.ok_or_else(|| format!("`{}` stands where `order(…)` may stand", behind.trim()))?;
    let order: Option<Vec<usize>> = listed(order).map(|mode| mode.parse().ok()).collect();
    match order.filter(|order| order.len() == rank && (0..rank).all(|mode| order.contains(&mode))) {
        Some(order) => Ok(Format { order: order.into(), ..format }),
        None => Err(format!("its order is no permutation of {}", counted(rank, "mode", "modes"))),
    }
}

/// What stands between commas.
fn listed(text: &str) -> impl Iterator<Item = &str> {
    let nothing = text.trim().is_empty();
    text.split(',').map(str::trim).filter(move |_| !nothing)
}

/// What to say of a word that is no name.
fn nothing(name: &str) -> String {
    let levels = "levels in braces: `{dense, compressed}`";
    match LevelKind::from_name(name) {
        Some(_) => format!("a kind of level is no format, {levels} are one"),
        None => format!("expected {} or {levels}", NAMES.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is printed is read, of every list of up to three levels and every order of them.
    #[test]
    fn prints_are_read_back() {
        let orders = [vec![0, 1, 2], vec![0, 2, 1], vec![1, 0, 2], vec![1, 2, 0], vec![2, 0, 1], vec![2, 1, 0]];
        for of in LevelKind::ALL {
            for below in LevelKind::ALL {
                for order in &orders {
                    let format = Format { order: order.clone().into(), ..Format::of(vec![of, below, of]) };
                    assert_eq!(format.to_string().parse(), Ok(format.clone()));
                    assert_eq!(Format::read(&format.to_string(), 3), Ok(format));
                }
            }
        }
        for name in NAMES {
            for format in (0..4).filter_map(|rank| Format::named(name, rank)) {
                assert_eq!(Format::read(&format.to_string(), format.rank()), Ok(format.clone()));
                assert_eq!(Format::read(name, format.rank()), Ok(format));
            }
        }
        assert_eq!(" { dense ,compressed }  order( 1,0 ) ".parse(), Ok(Format::named("csc", 2).expect("a name")));
    }

    #[test]
    fn what_is_no_format_is_refused() {
        let says = |text: &str, part: &str| {
            let error = text.parse::<Format>().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        says("crs", "expected dense, csr, ");
        says("compressed", "a kind of level is no format");
        says("dense", "any number of modes");
        says("{dense, sparse}", "`sparse` is no kind of level");
        says("{dense", "not closed");
        says("{dense,}", "`` is no kind of level");
        says("{dense, dense} order(1)", "no permutation of 2 modes");
        says("{dense} order(1)", "no permutation of 1 mode");
        says("{dense} csr", "`csr` stands where");
        says("csr order(1, 0)", "expected dense, csr");
        assert_eq!(Format::read("csr", 3).unwrap_err().why, "it has 2 modes, 3 modes expected");
        assert_eq!(Format::read("csf", 0).unwrap_err().why, "it has one mode or more");
    }
}
