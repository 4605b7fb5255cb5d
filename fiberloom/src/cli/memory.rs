//! What memory this process may take.
//!
//! Data are asked for in a way that can be refused. A program, messages and machine code are not: where addresses are limited
//! (`ulimit -v`), what they take at most is kept back, and a command for which too little is left ends before it begins.

use crate::Error;

/// Bytes of addresses kept back for what is asked for without a way to be refused.
const KEPT: u64 = 16 << 20;

/// Bytes that a byte of a program's text becomes at most, on its way to loops.
const STAGES: u64 = 1 << 10;

/// Bytes of addresses that arguments, and a message about them, take at most.
const ARGUMENTS: u64 = 1 << 20;

/// Refuses to look at arguments where too few addresses are left.
///
/// # Errors
/// [`Error::Stopped`], with how much is left.
pub fn starts() -> Result<(), Error> {
    left_of(crate::addresses_left(), ARGUMENTS).map(drop)
}

/// Refuses to read a program of so many bytes where too few addresses are left.
///
/// # Errors
/// [`Error::Stopped`], with how much is left.
pub fn takes(text: usize) -> Result<(), Error> {
    left_of(crate::addresses_left(), KEPT + STAGES * text as u64).map(drop)
}

/// The bytes that data may take beside `room` bytes for machine code: what the machine, the group of the process and its limit on
/// addresses leave; where nothing says how many, 8 GiB.
///
/// # Errors
/// [`Error::Stopped`], if addresses are limited and none are left beside what is kept back.
pub fn available(room: u64) -> Result<u64, Error> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let machine = kibibytes(&read("/proc/meminfo"), "MemAvailable:");
    let number = |path: &str| read(path).trim().parse::<u64>().ok();
    let group = number("/sys/fs/cgroup/memory.max")
        .map(|most| most.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    let addresses = left_of(crate::addresses_left(), KEPT + room)?;
    Ok([machine, group, addresses].into_iter().flatten().min().unwrap_or(8 << 30))
}

/// The same, and no more than is asked for.
///
/// # Errors
/// As of [`available`].
pub fn allowed(room: u64, asked: Option<u64>) -> Result<u64, Error> {
    Ok(available(room)?.min(asked.unwrap_or(u64::MAX)))
}

/// What is left of so many addresses beside those that are kept; `None` where they are not limited.
///
/// # Errors
/// [`Error::Stopped`], if none are left.
pub fn left_of(addresses: Option<u64>, kept: u64) -> Result<Option<u64>, Error> {
    let Some(left) = addresses else { return Ok(None) };
    left.checked_sub(kept).filter(|rest| *rest > 0).map(Some).ok_or_else(|| {
        let (left, kept) = (left >> 20, kept >> 20);
        let what = format!("the limit on this process's addresses (ulimit -v) leaves {left} MiB");
        Error::Stopped(format!("{what}, and up to {kept} MiB are needed before there are data"))
    })
}

/// What the line of this name says, in bytes, in a text as of `/proc/meminfo`.
pub fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.saturating_mul(1024))
}
