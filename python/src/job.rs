//! Work without the interpreter's lock.
//!
//! ```text
//!  Tiny   some microseconds         with the lock
//!  Short  some milliseconds         without it, on the caller's thread
//!  Long   or not known              on a thread of its own; the caller looks for signals meanwhile
//! ```
//!
//! An exception that a signal handler raises (Ctrl-C: `KeyboardInterrupt`) ends a long job's call: the kernel that runs is
//! asked to stop, which it does at its next outer turn; what does not stop is left behind. It holds what it reads, and
//! nobody sees what it makes.

use crate::error::exception;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Sets the number of threads on which loops run; 0 for the usual number.
#[pyfunction]
pub fn set_threads(number: usize) {
    fiberloom::set_threads(number);
}

/// The number of threads on which loops run.
#[pyfunction]
pub fn threads() -> usize {
    fiberloom::threads()
}

/// How long a job takes, as far as is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Effort {
    /// Less than others would wait for the lock.
    Tiny,
    /// Less than anybody would wait to interrupt it.
    Short,
    /// Perhaps very long.
    Long,
}

/// Elements that are looked at in some milliseconds, whatever is done with them once.
const SHORT: usize = 1 << 20;

/// How often a caller looks for signals: far less than the second within which a call ends.
const POLL: Duration = Duration::from_millis(50);

/// How long a call that is interrupted waits for its job to stop.
const GRACE: Duration = Duration::from_millis(300);

impl Effort {
    /// Of a job that took so long.
    pub fn of(time: Duration) -> Effort {
        match time.as_micros() {
            0..=20 => Effort::Tiny,
            21..=50_000 => Effort::Short,
            _ => Effort::Long,
        }
    }
}

/// Runs a job that looks at so many elements once or a few times.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    elements: usize,
    job: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    with_effort(py, if elements <= SHORT { Effort::Short } else { Effort::Long }, |_| job())
}

/// Where a long job is asked to end.
pub type Asked = Option<Arc<fiberloom::Interrupt>>;

/// Where calls of several threads are asked to end.
#[pyclass(frozen, module = "fiberloom")]
#[derive(Default)]
pub struct Interrupt(pub Arc<fiberloom::Interrupt>);

#[pymethods]
impl Interrupt {
    #[new]
    fn new() -> Interrupt {
        Interrupt::default()
    }

    /// Asks them to end.
    fn ask(&self) {
        self.0.ask();
    }
}

/// Runs a job.
///
/// # Errors
/// What a signal handler raised; a panic in the job, which is a defect.
pub fn with_effort<T: Send + 'static>(
    py: Python<'_>,
    effort: Effort,
    job: impl FnOnce(Asked) -> T + Send + 'static,
) -> PyResult<T> {
    until(py, effort, None, job)
}

/// Runs a job, which another thread may ask to end, too.
///
/// # Errors
/// As of [`with_effort`]; that it was asked, and has not ended.
pub fn until<T: Send + 'static>(
    py: Python<'_>,
    effort: Effort,
    ends: Asked,
    job: impl FnOnce(Asked) -> T + Send + 'static,
) -> PyResult<T> {
    match effort {
        Effort::Tiny => Ok(job(ends)),
        Effort::Short => Ok(py.detach(|| job(ends))),
        Effort::Long => on_a_thread(py, ends.unwrap_or_default(), job),
    }
}

fn on_a_thread<T: Send + 'static>(
    py: Python<'_>,
    interrupt: Arc<fiberloom::Interrupt>,
    job: impl FnOnce(Asked) -> T + Send + 'static,
) -> PyResult<T> {
    let (send, mut done) = channel();
    let asked = interrupt.clone();
    let started = std::thread::Builder::new().name("fiberloom".to_string()).spawn(move || {
        // Nobody waits for what is abandoned.
        let _ = send.send(job(Some(asked)));
    });
    started.map_err(|e| exception(py, "LimitError", format!("no thread could be started: {e}")))?;
    loop {
        let came;
        (done, came) = py.detach(move || {
            let came = done.recv_timeout(POLL);
            (done, came)
        });
        match came {
            Ok(made) => return Ok(made),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(exception(py, "DefectError", "a defect of Fiberloom, please report it: a job panicked"));
            }
            Err(RecvTimeoutError::Timeout) => {
                let raised = match py.check_signals() {
                    Err(raised) => raised,
                    Ok(()) if interrupt.is_asked() => exception(py, "LimitError", "the call was asked to end"),
                    Ok(()) => continue,
                };
                interrupt.ask();
                py.detach(move || done.recv_timeout(GRACE).is_ok());
                return Err(raised);
            }
        }
    }
}

/// How many threads compile.
static COMPILING: AtomicUsize = AtomicUsize::new(0);

/// As long as it lives, the process should not end: the compiler's memory is freed then.
pub struct Compiling;

impl Compiling {
    /// Another one.
    pub fn begin() -> Compiling {
        COMPILING.fetch_add(1, Ordering::SeqCst);
        Compiling
    }
}

impl Drop for Compiling {
    fn drop(&mut self) {
        COMPILING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits until nothing is compiled, so many seconds at most: before the process ends.
#[pyfunction]
pub fn settle(py: Python<'_>, seconds: f64) {
    let end = Instant::now() + Duration::from_secs_f64(seconds.clamp(0.0, 3600.0));
    py.detach(|| {
        while COMPILING.load(Ordering::SeqCst) > 0 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}
