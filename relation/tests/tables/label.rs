//! Texts as labels: dates, decimals, and what is asked of texts.

use super::*;

fn like(text: &str, pattern: &str, escape: Option<char>) -> bool {
    Test::Like(pattern.to_string(), escape).holds(text)
}

/// Days that calendars agree on.
#[test]
fn dates_are_days() {
    let known = [
        ("1970-01-01", 0),
        ("1969-12-31", -1),
        ("2000-02-29", 11_016),
        ("1994-01-01", 8_766),
        ("0001-01-01", -719_162),
    ];
    for (text, n) in known {
        assert_eq!(days(text), Some(n), "{text}");
        assert_eq!(date(n), text);
    }
    for text in [
        "1999-02-29",
        "1900-02-29",
        "1994-13-01",
        "1994-00-01",
        "1994-1-1",
        "94-01-01",
        "1994-01-32",
        "",
        "1994-01-01 ",
    ] {
        assert_eq!(days(text), None, "{text}");
    }
}

/// Each day of eight hundred years is the one behind the day before it.
#[test]
fn days_follow_each_other() {
    let mut before = days("1599-12-31").unwrap();
    for year in 1600..2400 {
        for month in 1..=12 {
            for day in 1..=31 {
                let text = format!("{year}-{month:02}-{day:02}");
                if let Some(n) = days(&text) {
                    assert_eq!(n, before + 1, "{text}");
                    assert_eq!(date(n), text);
                    before = n;
                }
            }
        }
    }
}

#[test]
fn decimals_are_exact() {
    let known = [
        ("1", 2, Some(100)),
        ("-0.05", 2, Some(-5)),
        ("0.050", 2, Some(5)),
        ("1.005", 2, None),
        (".5", 1, Some(5)),
        ("5.", 1, Some(50)),
    ];
    for (text, digits, n) in known {
        assert_eq!(decimal(text, digits), n, "{text}");
    }
    for text in ["", ".", "-", "1e3", "1 ", "0x1", "9223372036854775808", "1.2.3"] {
        assert_eq!(decimal(text, 0), None, "{text}");
    }
    assert_eq!(decimal("-9223372036854775808", 0), Some(i64::MIN));
}

/// What SQL's `LIKE` says of these.
#[test]
fn like_is_that_of_sql() {
    let yes = [
        ("", ""),
        ("", "%"),
        ("abc", "abc"),
        ("abc", "a%"),
        ("abc", "%c"),
        ("abc", "_b_"),
        ("abcabd", "%abd"),
        ("aXbYc", "a%b%c"),
        ("aab", "%ab"),
        ("ä", "_"),
    ];
    let no = [("", "_"), ("abc", "ab"), ("abc", "%d%"), ("abc", "____"), ("abab", "%aba"), ("a", "a_"), ("Abc", "a%")];
    yes.iter().for_each(|(text, pattern)| assert!(like(text, pattern, None), "{text} like {pattern}"));
    no.iter().for_each(|(text, pattern)| assert!(!like(text, pattern, None), "{text} not like {pattern}"));
    let escaped =
        [("50%", "50!%", true), ("500", "50!%", false), ("a!b", "a!!b", true), ("a_", "%!_", true), ("a", "!_", false)];
    escaped.iter().for_each(|(text, pattern, is)| assert_eq!(like(text, pattern, Some('!')), *is, "{text} {pattern}"));
}
