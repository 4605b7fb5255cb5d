//! Parts of what is shown, and of the command line, that no command shows alone.

use fiberloom::Error;
use fiberloom::cli::memory::{kibibytes, left_of};
use fiberloom::cli::progress::tick;
use fiberloom::show::report::{self, min_median};
use fiberloom::show::rescheduled;
use std::sync::mpsc::channel;
use std::thread::{scope, sleep};
use std::time::Duration;

#[test]
fn medians() {
    let ms = |times: &[u64]| times.iter().map(|t| Duration::from_millis(*t)).collect::<Vec<_>>();
    assert_eq!(min_median(&ms(&[5])), (5.0, 5.0));
    assert_eq!(min_median(&ms(&[9, 1, 5])), (1.0, 5.0));
    assert_eq!(min_median(&ms(&[9, 1, 5, 2])), (1.0, 3.5));
}

#[test]
fn errors_are_objects() {
    let said = report::error(&Error::Call("a\"\\\n".to_string()));
    assert_eq!(said, r#"{"error": {"exit": 2, "kind": "call", "message": "a\"\\\n", "diagnostics": []}}"#);
}

#[test]
fn a_schedule_takes_the_place_of_the_last_statement_s() {
    let given = |text: &str| rescheduled(text.to_string(), Some("none"), false).unwrap();
    assert_eq!(given("y[i] = x[i]\n"), "y[i] = x[i]\n\nschedule { none; }\n");
    assert_eq!(
        given("y[i] = x[i] schedule { unroll(i, 2); }"),
        format!("y[i] = x[i] {}\nschedule {{ none; }}\n", " ".repeat(26))
    );
    assert_eq!(given("y[i] ="), "y[i] =");
    let none = |text: &str| rescheduled(text.to_string(), None, true).unwrap();
    assert_eq!(none("y[i] = x[i]\nschedule {\n}\n"), "y[i] = x[i]\n          \n \n");
}

#[test]
fn what_the_system_says_of_memory() {
    assert_eq!(kibibytes("MemTotal: 9 kB\nMemAvailable:    3 kB\n", "MemAvailable:"), Some(3072));
    assert_eq!(kibibytes("MemTotal: 9 kB\n", "MemAvailable:"), None);
}

#[test]
fn what_is_kept_back_is_left() {
    assert_eq!(left_of(None, 10).unwrap(), None);
    assert_eq!(left_of(Some(11), 10).unwrap(), Some(1));
    assert!(left_of(Some(10), 10).is_err() && left_of(Some(9), 10).is_err());
}

/// What is written while work of this length is done.
fn written(work: Duration, every: Duration) -> String {
    let (done, waiting) = channel();
    let mut bytes = Vec::new();
    scope(|threads| {
        threads.spawn(|| tick("working", every, waiting, &mut bytes));
        sleep(work);
        drop(done);
    });
    String::from_utf8(bytes).unwrap()
}

#[test]
fn only_what_takes_long_is_shown_and_the_line_is_removed() {
    assert_eq!(written(Duration::ZERO, Duration::from_secs(60)), "");
    let shown = written(Duration::from_millis(50), Duration::from_millis(1));
    assert!(shown.starts_with("\rfiberloom: working: 0 s") && shown.ends_with("\r\u{1b}[K"), "{shown:?}");
}
