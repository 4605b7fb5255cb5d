//! What attacks came to, kept in a file: a run that was ended is resumed where it was.
//!
//! ```text
//!  stage/mistake ⇥ attacker ⇥ seconds ⇥ how it noticed      or nothing behind the last: in vain
//! ```
//!
//! Attacks in vain on what nobody noticed are forgotten when what they read of the copy changes: a test that is new may notice what none
//! did before.

use super::attack::PRINTS;
use super::list::Mistake;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

/// Where the files stand.
const FOLDER: &str = "target/mutants/attacks";

/// What an attack came to: how long it took, and what was noticed.
pub type Attack = (Duration, Option<String>);

/// All attacks so far.
pub struct Known {
    before: BTreeMap<(String, String), Attack>,
    file: Mutex<File>,
}

impl Known {
    /// What is known of attacks by these attackers, nothing unless a run is resumed. What comes last in the file counts.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn open(by: &[&str], resume: bool) -> Result<Self, String> {
        let name = if by.is_empty() { "all".to_string() } else { by.join(",") };
        let path = Path::new(FOLDER).join(name);
        let wrong = |e: std::io::Error| format!("{}: {e}", path.display());
        std::fs::create_dir_all(FOLDER).map_err(wrong)?;
        let text = if resume { std::fs::read_to_string(&path).unwrap_or_default() } else { String::new() };
        let before = text.lines().filter_map(read).collect();
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(wrong)?;
        Ok(Self { before, file: Mutex::new(file) })
    }

    /// What an attack came to before, or comes to now. That a part of an attacker found nothing is not written down.
    pub fn or_attack(&self, mistake: &Mistake, by: &str, part: bool, attack: impl FnOnce() -> Attack) -> Attack {
        let key = (mistake.key(), by.to_string());
        if let Some(known) = self.before.get(&key) {
            return known.clone();
        }
        let (took, how) = attack();
        if part && how.is_none() {
            return (took, how);
        }
        let said = how.clone().unwrap_or_default().replace(['\t', '\n'], " ");
        let line = format!("{}\t{by}\t{:.2}\t{said}\n", key.0, took.as_secs_f64());
        let mut file = self.file.lock().expect("nobody panics with it");
        file.write_all(line.as_bytes()).expect("there is room for a line");
        (took, how)
    }
}

fn read(line: &str) -> Option<((String, String), Attack)> {
    let mut parts = line.split('\t');
    let (mistake, by, seconds) = (parts.next()?, parts.next()?, parts.next()?.parse().ok()?);
    let how = parts.next().filter(|how| !how.is_empty()).map(str::to_string);
    Some(((mistake.to_string(), by.to_string()), (Duration::from_secs_f64(seconds), how)))
}

/// Forgets attacks in vain by these, or by all, on what nobody has noticed: before who has, they took their time.
pub fn forget_vain(by: Option<&[&str]>) {
    let files = std::fs::read_dir(FOLDER).into_iter().flatten().flatten();
    files.for_each(|file| keep(&file.path(), by));
}

fn keep(path: &PathBuf, forgotten: Option<&[&str]>) {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<(&str, (String, String), Attack)> =
        text.lines().filter_map(|line| read(line).map(|(key, attack)| (line, key, attack))).collect();
    let counts = |(_, (_, by), (_, how)): &&(&str, (String, String), Attack)| how.is_some() && by != PRINTS;
    let noticed: BTreeSet<&str> = lines.iter().filter(counts).map(|(_, (mistake, _), _)| mistake.as_str()).collect();
    let stays = |(mistake, by): &(String, String)| {
        noticed.contains(mistake.as_str()) || forgotten.is_some_and(|these| !these.contains(&by.as_str()))
    };
    let kept: String = lines.iter().filter(|(_, key, _)| stays(key)).map(|(line, ..)| format!("{line}\n")).collect();
    let _ = std::fs::write(path, kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let key = ("shape/a b".to_string(), "core's tests".to_string());
        let took = Duration::from_millis(1500);
        assert_eq!(read("shape/a b\tcore's tests\t1.50\tdies"), Some((key.clone(), (took, Some("dies".to_string())))));
        assert_eq!(read("shape/a b\tcore's tests\t1.50\t"), Some((key, (took, None))));
        assert_eq!(read("shape/a b\tcore's te"), None);
    }
}
