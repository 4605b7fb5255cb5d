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

#[cfg(test)]
mod tests {
    use super::*;

    /// Every list of up to three levels, in every order of modes, is read back as it is printed.
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
    fn names_have_orders() {
        let is = |text: &str, other: &str| assert_eq!(text.parse::<Format>(), other.parse());
        is("csr order(1, 0)", "csc");
        is("coo order(2, 0, 1)", "{nonunique, singleton, singleton} order(2, 0, 1)");
        is("dense order( 0,1 )", "{dense, dense}");
        is("csf order(0)", "{compressed}");
        assert_eq!(Format::read("csf order(1, 0)", 2), "{compressed, compressed} order(1, 0)".parse());
        assert_eq!(Format::read("csf order(1, 0)", 3).unwrap_err().why, "its order is no permutation of 3 modes");
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
        says("dense order(0, 0)", "no permutation of 2 modes");
        says("dense order(1, x)", "`x` stands in its order");
        says("csc order(0, 1)", "its name says its order: it is `{dense, compressed} order(1, 0)`");
        says("csr order(0)", "no permutation of 2 modes");
        says("sparse order(1, 0)", "no permutation of 1 mode");
        says("crs order(1, 0)", "expected dense, csr, ");
        assert_eq!(Format::read("csr", 3).unwrap_err().why, "it has 2 modes, 3 modes expected");
        assert_eq!(Format::read("csf", 0).unwrap_err().why, "it has one mode or more");
    }
}
