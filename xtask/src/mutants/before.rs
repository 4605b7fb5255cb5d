//! Who noticed each mistake last: a tracked file, so that a campaign anywhere asks that one first.
//!
//! ```text
//!  stage/mistake ⇥ attacker ⇥ test       or nothing behind the last: all of that attacker
//! ```
//!
//! It is an order of asking and no result: what counts is who notices when the campaign is run. A mistake with a test of its own has no
//! line.

use super::attack::{OWN, Outcome};
use super::list::Mistake;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

/// The file, beside the lists.
pub const FILE: &str = "proofs/mutants/noticed";

/// Who noticed: an attacker, and its test, if that is known.
pub type Who = (String, Option<String>);

/// The file as it was read, and as it is written while mistakes are noticed.
pub struct Before {
    read: BTreeMap<String, Who>,
    now: Mutex<BTreeMap<String, Who>>,
    path: PathBuf,
}

impl Before {
    /// What the file says of these mistakes, nothing if there is no file.
    pub fn open(all: &[Mistake]) -> Self {
        Self::at(PathBuf::from(FILE), all)
    }

    fn at(path: PathBuf, all: &[Mistake]) -> Self {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let mut read: BTreeMap<String, Who> = text.lines().filter_map(line).collect();
        read.retain(|key, _| all.iter().any(|mistake| mistake.key() == *key && mistake.test.is_none()));
        Self { now: Mutex::new(read.clone()), read, path }
    }

    /// Who noticed a mistake last.
    pub fn who(&self, mistake: &Mistake) -> Option<&Who> {
        self.read.get(&mistake.key())
    }

    /// Writes down who notices a mistake now.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn note(&self, mistake: &Mistake, outcome: &Outcome) -> Result<(), String> {
        let Some(noticed) = outcome.noticed.first().filter(|n| n.by != OWN) else { return Ok(()) };
        let mut now = self.now.lock().expect("nobody panics with it");
        now.insert(mistake.key(), (noticed.by.to_string(), noticed.test().map(str::to_string)));
        let said = |(key, (by, test)): (&String, &Who)| format!("{key}\t{by}\t{}\n", test.as_deref().unwrap_or(""));
        let text: String = now.iter().map(said).collect();
        std::fs::write(&self.path, text).map_err(|e| format!("{}: {e}", self.path.display()))
    }
}

fn line(line: &str) -> Option<(String, Who)> {
    let mut parts = line.split('\t');
    let (key, by) = (parts.next()?, parts.next()?);
    let test = parts.next().filter(|test| !test.is_empty());
    Some((key.to_string(), (by.to_string(), test.map(str::to_string))))
}

#[cfg(test)]
mod tests {
    use super::super::attack::Noticed;
    use super::super::list::read_list;
    use super::*;
    use std::time::Duration;

    #[test]
    fn who_noticed_is_asked_in_the_next_run() {
        let path = std::env::temp_dir().join(format!("fiberloom-noticed-{}", std::process::id()));
        std::fs::write(&path, "s/a\tlaws\tx::y\ns/gone\tlaws\t\ns/own\tlaws\t\n").unwrap();
        let list = "file f.rs\n\na\n- x\n+ y\n\nb\n- x\n+ z\n\nown\n- y\n+ z\ntest laws: z\n";
        let all = read_list("s", list).unwrap();
        let before = Before::at(path.clone(), &all);
        assert_eq!(before.who(&all[0]), Some(&("laws".to_string(), Some("x::y".to_string()))));
        assert_eq!((before.who(&all[1]), before.who(&all[2])), (None, None));

        let noticed = |by: &'static str, how: &str| Outcome {
            noticed: vec![Noticed { by, how: how.to_string(), after: Duration::ZERO }],
            ..Outcome::default()
        };
        before.note(&all[1], &noticed("loops", "answer")).unwrap();
        before.note(&all[2], &noticed(OWN, "z")).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(text, "s/a\tlaws\tx::y\ns/b\tloops\t\n");
    }
}
