//! Which mistake is made: a module of the copy's core. It is no module of this crate, and is written into the copy as it stands here.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::OnceLock;

/// Whether it is this one.
#[inline]
pub fn on(n: u32) -> bool {
    static MADE: OnceLock<u32> = OnceLock::new();
    let read = || std::env::var("FIBERLOOM_MUTATION").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let made = *MADE.get_or_init(read);
    if made == 0 {
        note(n);
    }
    made == n
}

/// Notes that this mistake is come to, once a thread, where no mistake is made and a file is named for it.
#[cold]
fn note(n: u32) {
    static NOTES: OnceLock<Option<File>> = OnceLock::new();
    thread_local!(static SEEN: RefCell<BTreeSet<u32>> = const { RefCell::new(BTreeSet::new()) });
    let open = || OpenOptions::new().append(true).open(std::env::var_os("FIBERLOOM_REACHED")?).ok();
    let Some(mut notes) = NOTES.get_or_init(open).as_ref() else { return };
    // A thread that is ending has no notes of its own any more.
    if SEEN.try_with(|seen| seen.borrow_mut().insert(n)).unwrap_or(true) {
        notes.write_all(format!("{n}\t{}\n", test()).as_bytes()).expect("there is room for a line");
    }
}

/// The test that runs: the file that a file test gives the command, or the test that the thread is named by; nothing if neither is known.
fn test() -> String {
    let file = std::env::args().find(|a| a.starts_with("tests/") && a.ends_with(".loom"));
    let thread = || std::thread::current().name().filter(|name| *name != "main").map(str::to_string);
    file.map(|file| file.trim_end_matches("/program.loom").to_string()).or_else(thread).unwrap_or_default()
}
