//! Small arrays as they are written in file tests.
//!
//! ```text
//!  7                                   a scalar
//!  1 0 2.5                             one mode, every element
//!  [2, 3] 1 0 0  0 0 2                 extents, then every element in the order of rows
//!  [5, 4] {(0, 1): 1, (2, 0): 2}       extents, then what is not 0
//!  [5, 4] {(0, 1): 1} else inf         … what is not infinite
//! ```

use crate::array::{Dense, Number};

/// Reads an array.
///
/// # Errors
/// What is wrong with the text.
pub fn read(text: &str) -> Result<Dense, String> {
    let text = text.trim();
    let Some(rest) = text.strip_prefix('[') else {
        let values = numbers(text)?;
        let extents = if values.len() == 1 { vec![] } else { vec![values.len()] };
        return Ok(Dense { extents, values });
    };
    let (extents, rest) = rest.split_once(']').ok_or("`]` expected after the extents")?;
    let extents = indices(extents)?;
    let size: usize = extents.iter().product();
    let Some(entries) = rest.trim().strip_prefix('{') else {
        let values = numbers(rest)?;
        let there = values.len();
        let fits = there == size;
        return if fits { Ok(Dense { extents, values }) } else { Err(format!("{there} elements, expected {size}")) };
    };
    let (entries, after) = entries.split_once('}').ok_or("`}` expected after the entries")?;
    let fill = match after.trim().strip_prefix("else") {
        Some(fill) => number(fill.trim())?,
        None if after.trim().is_empty() => Number::Integer(0),
        None => return Err(format!("`else` expected, not `{}`", after.trim())),
    };
    let mut values = vec![fill; size];
    // `(0, 1): 1, (2, 0): 2`: each value ends where the next coordinates begin.
    for entry in entries.split('(').map(str::trim).filter(|e| !e.is_empty()) {
        let (at, value) =
            entry.split_once("):").ok_or_else(|| format!("`(coordinates): value` expected: `{entry}`"))?;
        let at = indices(at)?;
        if at.len() != extents.len() || at.iter().zip(&extents).any(|(c, e)| c >= e) {
            return Err(format!("{at:?} lies outside of extents {extents:?}"));
        }
        let place = at.iter().zip(&extents).fold(0, |place, (c, e)| place * e + c);
        values[place] = number(value.trim().trim_end_matches(','))?;
    }
    Ok(Dense { extents, values })
}

fn indices(text: &str) -> Result<Vec<usize>, String> {
    let parts = text.split(',').map(str::trim).filter(|s| !s.is_empty());
    parts.map(|s| s.parse().map_err(|_| format!("`{s}` is no coordinate"))).collect()
}

fn numbers(text: &str) -> Result<Vec<Number>, String> {
    text.split_whitespace().map(number).collect()
}

fn number(text: &str) -> Result<Number, String> {
    match text {
        "true" => return Ok(Number::Integer(1)),
        "false" => return Ok(Number::Integer(0)),
        _ => {}
    }
    let integer = text.parse().map(Number::Integer);
    integer.or_else(|_| text.parse().map(Number::Float)).map_err(|_| format!("`{text}` is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_are_read() {
        let array = |extents: &[usize], values: &[i128]| Dense {
            extents: extents.to_vec(),
            values: values.iter().map(|x| Number::Integer(*x)).collect(),
        };
        assert_eq!(read("7").unwrap(), array(&[], &[7]));
        assert_eq!(read("1 0 2").unwrap(), array(&[3], &[1, 0, 2]));
        assert_eq!(read("[1] 4").unwrap(), array(&[1], &[4]));
        assert_eq!(read("[0]").unwrap(), array(&[0], &[]));
        assert_eq!(read("[2, 2] {(0, 1): 1, (1, 0): -2}").unwrap(), array(&[2, 2], &[0, 1, -2, 0]));
        assert_eq!(read("[2] {(0): 1} else 9").unwrap(), array(&[2], &[1, 9]));
        for wrong in ["[2] 1", "[2, 2] {(2, 0): 1}", "[2] {(0): 1} 3", "x", "[2"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
