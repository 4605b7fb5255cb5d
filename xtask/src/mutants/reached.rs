//! Which mistakes an attacker reaches, and by which of its tests: noted where nothing is mistaken, by the switch of each mistake.
//!
//! ```text
//!  17 ⇥ loops::rewrites::strip_mine::ends      the number of a mistake, and the test that came to it
//!  17 ⇥                          somebody came to it whose test is unknown: a thread without a name, a campaign
//! ```
//!
//! Whoever does not come to a mistake cannot notice it, and is not asked; of a test program only those tests are run that come to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Where the notes stand, a file an attacker.
const FOLDER: &str = "target/mutants/reached";

/// The environment variable that names the file of notes.
pub const NOTES: &str = "FIBERLOOM_REACHED";

/// The mistakes that an attacker comes to, each with the tests that do.
#[derive(Clone, Debug, Default)]
pub struct Reached(BTreeMap<u32, Who>);

/// Who comes to a mistake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Who {
    /// Names of tests.
    pub tests: BTreeSet<String>,
    /// Whether someone whose test is unknown comes to it, too.
    pub others: bool,
}

impl Reached {
    /// The file of an attacker's notes, empty, below the repository's root.
    pub fn begin(root: &Path, attacker: &str) -> Result<PathBuf, String> {
        let path = root.join(file(attacker));
        let wrong = |e: std::io::Error| format!("{}: {e}", path.display());
        std::fs::create_dir_all(path.parent().expect("it stands in a folder")).map_err(wrong)?;
        std::fs::write(&path, "").map_err(wrong)?;
        Ok(path)
    }

    /// What an attacker noted; `None` if it noted nothing: then nothing is known.
    pub fn read(attacker: &str) -> Option<Self> {
        let text = std::fs::read_to_string(file(attacker)).ok()?;
        Some(Self::of(&text)).filter(|reached| !reached.0.is_empty())
    }

    /// What such a text says.
    pub(super) fn of(text: &str) -> Self {
        let mut reached = Self::default();
        for (n, test) in text.lines().filter_map(|line| line.split_once('\t')) {
            let Ok(n) = n.parse() else { continue };
            let who = reached.0.entry(n).or_default();
            if test.is_empty() {
                who.others = true;
            } else {
                who.tests.insert(test.to_string());
            }
        }
        reached
    }

    /// Who comes to a mistake; `None`: nobody does.
    pub fn by(&self, n: u32) -> Option<&Who> {
        self.0.get(&n)
    }
}

fn file(attacker: &str) -> PathBuf {
    Path::new(FOLDER).join(attacker.replace(' ', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read() {
        let reached = Reached::of("17\ta::b\n17\tc\n5\t\n17\ta::b\n6");
        let who = reached.by(17).unwrap();
        assert_eq!(who.tests.iter().collect::<Vec<_>>(), ["a::b", "c"]);
        assert!(!who.others && reached.by(5).unwrap().others);
        assert_eq!(reached.by(6), None);
    }
}
