//! Reads formats from text, as the language writes them and as [`Format`] prints itself.
//!
//! ```text
//!  {dense, compressed} order(1, 0)    levels, as many as modes; an order, or that of the modes
//!  csr csc dcsr dcsc                  two modes
//!  sparse                             one mode
//!  dense coo csf                      as many modes as the tensor has: given by the caller, or by an order
//!  coo order(1, 0)                    the levels of a name, in another order; csc and dcsc have their own
//! ```

use super::{Format, LevelKind, NAMES};
use crate::words::{counted, nearest};
use std::fmt;
use std::str::FromStr;

/// The error that a text is not a format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoFormat {
    /// The text.
    pub text: String,
    /// The reason, and what was expected.
    pub why: String,
}

impl fmt::Display for NoFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no format: {}", self.text, self.why)
    }
}

impl std::error::Error for NoFormat {}

/// Reads a format that determines its number of modes: levels, a name of one rank, or a name with an order.
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
        spelled(text.trim(), None).map_err(|why| NoFormat { text: text.to_string(), why })
    }
}

impl Format {
    /// The format of a tensor of `rank` modes: those that `parse` reads, and names that fit any number of modes. A format of that rank is
    /// read back as it is printed.
    ///
    /// # Errors
    /// A text that is not a format, or a format of another rank.
    pub fn read(text: &str, rank: usize) -> Result<Format, NoFormat> {
        spelled(text.trim(), Some(rank)).map_err(|why| NoFormat { text: text.to_string(), why })
    }
}

/// Reads a name or levels, and an optional order, of `rank` modes if that is known. The error says what is wrong.
fn spelled(text: &str, rank: Option<usize>) -> Result<Format, String> {
    let (format, order) = match text.strip_prefix('{') {
        Some(listed) => {
            let (inside, behind) = listed.split_once('}').ok_or("its `{` is not closed")?;
            (levels(inside)?, order(behind)?)
        }
        None => {
            let (name, behind) = text.split_at(text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len()));
            let order = order(behind)?;
            (named(name, rank.or(order.as_ref().map(Vec::len)))?, order)
        }
    };
    let modes = |rank: usize| counted(rank, "mode", "modes");
    let has = format.rank();
    match (order, rank.filter(|rank| *rank != has)) {
        (_, Some(rank)) => Err(format!("it has {}, {} expected", modes(has), modes(rank))),
        (None, None) => Ok(format),
        (Some(_), None) if !format.order.is_sorted() => Err(format!("its name says its order: it is `{format}`")),
        (Some(order), None) if order.len() == has && (0..has).all(|mode| order.contains(&mode)) => {
            Ok(Format { order: order.into(), ..format })
        }
        (Some(_), None) => Err(format!("its order is no permutation of {}", modes(has))),
    }
}

/// The levels between braces.
fn levels(text: &str) -> Result<Format, String> {
    let kind = |name: &str| LevelKind::from_name(name).ok_or_else(|| format!("`{name}` is no kind of level"));
    Ok(Format::of(listed(text).map(kind).collect::<Result<Vec<_>, _>>()?))
}

/// The format of a name: of `rank` modes where the name fits any number of them, else of its own number.
fn named(name: &str, rank: Option<usize>) -> Result<Format, String> {
    if LevelKind::from_name(name).is_some() && Format::named(name, 2).is_none() && rank != Some(1) {
        return Err(nothing(name));
    }
    let of_rank = rank.and_then(|rank| Format::named(name, rank));
    match (of_rank, [1, 2].map(|rank| Format::named(name, rank)), rank) {
        (Some(format), ..) | (None, [Some(format), None] | [None, Some(format)], _) => Ok(format),
        (None, [None, None], _) => Err(nothing(name)),
        (None, _, Some(_)) => Err("it has one mode or more".to_string()),
        (None, _, None) => {
            Err(format!("`{name}` has any number of modes: `Format::read(\"{name}\", modes)`, or its levels"))
        }
    }
}

/// The order behind levels or a name, if there is one. Its modes are not checked.
fn order(text: &str) -> Result<Option<Vec<usize>>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let modes = text.strip_prefix("order").and_then(|o| o.trim().strip_prefix('(')?.strip_suffix(')'));
    let modes = modes.ok_or_else(|| format!("`{text}` stands where `order(…)` may stand"))?;
    let number = |mode: &str| mode.parse().map_err(|_| format!("`{mode}` stands in its order, and is no mode"));
    listed(modes).map(number).collect::<Result<_, _>>().map(Some)
}

/// The items between commas.
fn listed(text: &str) -> impl Iterator<Item = &str> {
    let nothing = text.trim().is_empty();
    text.split(',').map(str::trim).filter(move |_| !nothing)
}

/// The message for a word that is not a name.
fn nothing(name: &str) -> String {
    let levels = "levels in braces: `{dense, compressed}`";
    match LevelKind::from_name(name) {
        Some(_) => format!("a kind of level is no format, {levels} are one"),
        None => {
            let near = nearest(name, NAMES.into_iter()).map_or(String::new(), |near| format!("there is `{near}`; "));
            format!("{near}expected {} or {levels}", NAMES.join(", "))
        }
    }
}
