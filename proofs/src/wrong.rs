//! Wrong iterators, and on how many data each law catches them.
//!
//! ```text
//!   stream, view, merge, emitted, mistakes ──wrong()──▶ [Wrong] ──▶ the ledger's table, row by row
//!                                                          └─────▶ no law is idle
//! ```
//!
//! What a law says when it is broken is a text; each text is one law's, but for what the domain itself sees: that a loop does not
//! end, and that a load is out of bounds.

use crate::choose::every;
use crate::{bucket_index, emitted, merge, mistakes, pieces, position_map, product, set, stream, view};
use std::collections::BTreeMap;

/// A wrong iterator.
pub struct Wrong {
    /// What it would be.
    pub of: &'static str,
    /// What is wrong with it.
    pub what: String,
    /// On how many data it was run.
    pub data: usize,
    /// What laws said, and on how many data.
    pub said: BTreeMap<String, usize>,
}

impl Wrong {
    /// Runs it on every choice of data; `broken` is what laws say on one.
    pub fn on_all<S: Into<String>>(
        of: &'static str,
        what: impl Into<String>,
        mut broken: impl FnMut(&mut exhaustigen::Gen) -> Vec<S>,
    ) -> Wrong {
        let mut said: BTreeMap<String, usize> = BTreeMap::new();
        let data = every(|c| broken(c).into_iter().for_each(|text| *said.entry(text.into()).or_default() += 1));
        Wrong { of, what: what.into(), data, said }
    }

    /// As a row of the ledger.
    fn row(&self) -> String {
        let said: Vec<String> = self.said.iter().map(|(text, n)| format!("{text}: {n}")).collect();
        format!("| {} | {} | {} | {} |", self.of, self.what, said.join("; "), self.data)
    }
}

fn all() -> Vec<Wrong> {
    let parts = [
        stream::tests::wrong(),
        view::tests::wrong(),
        product::tests::wrong(),
        pieces::tests::wrong(),
        set::tests::wrong(),
        position_map::tests::wrong(),
        bucket_index::tests::wrong(),
        merge::tests::wrong(),
        emitted::wrong(),
        mistakes::wrong(),
    ];
    parts.into_iter().flatten().collect()
}

/// Each law with what it says.
const LAWS: [(&str, &[&str]); 33] = [
    ("termination", &["a loop does not end", "Terminates"]),
    ("positions in bounds", &["a load out of bounds", "a store out of bounds"]),
    (
        "every entry once",
        &[
            "it goes on behind the last entry",
            "it is not at the next entry",
            "coordinates do not ascend",
            "it ends before the last entry",
        ],
    ),
    (
        "seek is repeated next",
        &["seek does not land on the first entry at or after its target", "found says otherwise than the entry"],
    ),
    ("a search is a scan", &["a search does not land where a scan does"]),
    ("conditional advance", &["it moved otherwise"]),
    ("at the end", &["it reads behind its end"]),
    ("finding is scanning", &["an entry is not found where it is", "an entry is found that is not there"]),
    ("a new entry's place", &["it is not the first free place"]),
    ("an image is seen", &["next does not come to the image", "an entry is seen, and said not to be"]),
    (
        "blocks are those of the entries",
        &["a block is not where its entries are", "a seek does not land on the first block at or after its target"],
    ),
    ("a product is one list", &["a product comes to other coordinates"]),
    ("pieces are seen", &["a piece is not the image of its entries"]),
    ("pieces cover", &["a piece ends before it is come to", "a coordinate of a piece stands elsewhere"]),
    (
        "what is asked is found",
        &["a coordinate is found that has no position", "a coordinate is not found", "a coordinate is found elsewhere"],
    ),
    ("what is laid is asked", &["what is laid is not asked where it is", "what is not laid is there"]),
    ("a table is as it was", &["something is left on a table"]),
    (
        "a set is what was inserted",
        &[
            "what is absent was inserted, or what was not is there",
            "what is drained is not what was inserted, ascending",
        ],
    ),
    ("a set is as it was", &["something is left in a set"]),
    ("stretches begin where they say", &["a stretch does not begin where it says"]),
    ("stretches are short", &["there are too many stretches", "stretches are too long"]),
    (
        "a bucket index changes nothing",
        &[
            "a list with a bucket index comes to elsewhere",
            "one that is opened within does not begin there",
            "a finger is not moved there",
            "a part of a list is left",
            "a leap does not land there",
        ],
    ),
    (
        "blocks hold everything",
        &[
            "what has a position is passed over",
            "a coordinate of a block stands elsewhere",
            "there are more blocks, or fewer, than were left",
        ],
    ),
    ("an interval holds", &["a coordinate of an interval stands elsewhere"]),
    ("lists rest", &["a list that is said to be present rests elsewhere"]),
    ("turns ascend", &["coordinates fall", "a coordinate has two turns"]),
    ("denotation", &["it finds other entries", "Theorem"]),
    ("a union of two", &["a turn is not at the next coordinate, or names other lists", "it ends before either list"]),
    (
        "a loop of two comes to all",
        &[
            "a turn is not at the next coordinate that is wanted, or names other lists",
            "it ends before the last coordinate that is wanted",
        ],
    ),
    ("monotone", &["Monotone", "StrictlyMonotone"]),
    ("lawful", &["Lawful"]),
    ("settled", &["Settled"]),
    ("skip is repeated next", &["SkipIsRepeatedNext"]),
];

/// Each is caught, and each law catches one: the ledger says which, and on how many data.
#[test]
fn the_ledger_says_what_catches_each_wrong_iterator() {
    let all = all();
    for wrong in &all {
        assert!(!wrong.said.is_empty(), "nothing catches it: {}", wrong.row());
        for text in wrong.said.keys() {
            assert!(LAWS.iter().any(|(_, texts)| texts.contains(&&text[..])), "no law says `{text}`");
        }
    }
    let ledger = include_str!("../README.md");
    let table: Vec<&str> = ledger.lines().skip_while(|line| !line.starts_with("| of | wrong is")).collect();
    let listed: Vec<&str> = table.iter().skip(2).take_while(|line| line.starts_with('|')).copied().collect();
    let rows: Vec<String> = all.iter().map(Wrong::row).collect();
    assert_eq!(listed, rows, "left, the ledger; right, what was seen:\n{}\n", rows.join("\n"));
    for (law, texts) in LAWS {
        let by: usize = all.iter().filter(|w| texts.iter().any(|text| w.said.contains_key(*text))).count();
        assert!(by > 0, "{law} catches nothing");
        let row = format!("| {law} | {by} |");
        assert!(ledger.lines().any(|line| line == row), "the ledger has no row {row}");
    }
}
