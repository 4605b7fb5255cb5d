//! What takes long says on a terminal that it goes on, and for how long.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{Builder, scope};
use std::time::{Duration, Instant};

/// How often the line is written anew; before the first time nothing is.
const EVERY: Duration = Duration::from_secs(1);

/// Does the work. While it lasts, standard error has a line with how many seconds that is, if it is a terminal.
pub fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let (done, waiting) = channel::<()>();
    scope(|threads| {
        // Without a thread the work is done all the same.
        let _ = Builder::new().spawn_scoped(threads, || tick(what, EVERY, waiting, std::io::stderr()));
        let result = work();
        drop(done);
        result
    })
}

/// Writes the line until the other end of the channel is gone, and removes it then.
pub fn tick(what: &str, every: Duration, until: Receiver<()>, mut to: impl Write) {
    let begin = Instant::now();
    let mut shown = false;
    while until.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
        let _ = write!(to, "\rfiberloom: {what}: {} s", begin.elapsed().as_secs()).and_then(|()| to.flush());
        shown = true;
    }
    if shown {
        let _ = write!(to, "\r\u{1b}[K").and_then(|()| to.flush());
    }
}
