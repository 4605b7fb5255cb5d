//! What is told: a line a case, a summary a kernel, what is behind; and all of it as JSON.

use crate::generate::Kind;
use crate::kernels::Compared;
use crate::measure::{PAIRS, geometric_mean};
use std::fmt::Write;
use std::time::Duration;

/// A ratio beyond which a side is said to be behind.
pub const BEHIND: f64 = 1.1;

/// A kernel on a matrix, and what became of it.
pub struct Row {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Where the matrix's nonzeros are.
    pub kind: Kind,
    /// How many nonzeros were asked for.
    pub nonzeros: usize,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a case.
pub enum Outcome {
    /// All sides agree and were timed.
    Compared(Compared),
    /// It would take too long.
    Skipped(String),
    /// A side failed, or sides disagree.
    Failed(String),
}

impl Row {
    /// What was measured, if it was.
    pub fn compared(&self) -> Option<&Compared> {
        match &self.outcome {
            Outcome::Compared(compared) => Some(compared),
            _ => None,
        }
    }

    /// Kernel, matrix and size.
    pub fn case(&self) -> String {
        format!("{:<20}{:<10}{:>10}", self.kernel, self.kind.name(), self.nonzeros)
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// What stands beside the kernel: it on one thread, where it runs on several.
fn beside(threads: usize) -> &'static str {
    if threads > 1 { "one thread" } else { "by hand" }
}

/// The head of the table.
pub fn head(libraries: &Result<String, String>, threads: usize) -> String {
    let on = if threads > 1 { format!("{threads} threads") } else { "one thread".to_string() };
    let peers = match libraries {
        Ok(libraries) => libraries.clone(),
        Err(why) => format!("none: {why}"),
    };
    format!(
        "median of {PAIRS} alternating pairs on {on}, ms; ratios are fiberloom : other, below 1 fiberloom is faster\n\
         fiberloom and by hand: until the arrays are there; all sides keep memory that was freed, and have no fresh pages to wait for\n\
         MB: the most that a call allocates, fiberloom / by hand\n\
         % of GB/s: of the bandwidth of reading operands and result, where memory bounds the kernel; what is written counts twice\n\
         peers: {peers}\n\n\
         {:<20}{:<10}{:>10}{:>12}{:>12}{:>8}{:>17}   peers: ms (ratio)",
        "kernel",
        "matrix",
        "nonzeros",
        "fiberloom",
        beside(threads),
        "ratio",
        "MB"
    )
}

/// A line of the table.
pub fn line(row: &Row) -> String {
    let mut line = row.case();
    match &row.outcome {
        Outcome::Compared(c) => {
            let t = &c.times;
            let mb = |bytes: usize| format!("{:.1}", bytes as f64 / 1e6);
            let memory = format!("{} / {}", mb(c.kernel_bytes), mb(c.by_hand_bytes));
            let _ = write!(line, "{:>12.3}{:>12.3}{:>8.2}{memory:>17}  ", ms(t.kernel), ms(t.by_hand), t.ratio);
            for p in &t.peers {
                let _ = write!(line, " {} {:.3} ({:.2})", p.name, ms(p.time), p.ratio);
            }
            if let Some(reading) = c.reading {
                let percent = 100.0 * reading.share(t.kernel);
                let _ = write!(line, "  {percent:.0} % of {:.1} GB/s", reading.gigabytes());
            }
        }
        Outcome::Skipped(why) => line.push_str(&format!("  skipped: {why}")),
        Outcome::Failed(why) => line.push_str(&format!("  FAILED: {why}")),
    }
    line.trim_end().to_string()
}

/// Means and worst cases of one kernel's rows.
pub fn summary(rows: &[Row], threads: usize) -> String {
    let measured = |ratio: &dyn Fn(&Compared) -> Option<f64>| -> Vec<(f64, String)> {
        let of_row = |row: &Row| Some((ratio(row.compared()?)?, format!("{} {}", row.kind.name(), row.nonzeros)));
        rows.iter().filter_map(of_row).collect()
    };
    let said = |what: &str, ratios: Vec<(f64, String)>| {
        let mean = geometric_mean(&ratios.iter().map(|r| r.0).collect::<Vec<_>>());
        let worst = ratios.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(format!("{what} {mean:.2}, worst {:.2} ({})", worst.0, worst.1))
    };
    let by_hand = said(&format!("geometric mean to {}", beside(threads)), measured(&|c| Some(c.times.ratio)));
    let peer = said("to the best peer", measured(&|c| Some(c.times.best_peer()?.ratio)));
    let both: Vec<String> = by_hand.into_iter().chain(peer).collect();
    if both.is_empty() { String::new() } else { format!("{:<20}{}\n", rows[0].kernel, both.join("; ")) }
}

/// Who is behind whom by more than [`BEHIND`]; empty if nobody is.
pub fn behind(rows: &[Row], threads: usize) -> String {
    let beside = beside(threads);
    let mut lines = Vec::new();
    for row in rows {
        let Some(Compared { times: t, .. }) = row.compared() else { continue };
        let mut say = |what: &str, ratio: f64| {
            if ratio > BEHIND {
                lines.push(format!("{}  {what} {ratio:.2}", row.case()));
            }
        };
        say(&format!("fiberloom : {beside}"), t.ratio);
        if let Some(p) = t.best_peer() {
            say(&format!("fiberloom : {}", p.name), p.ratio);
            say(&format!("{beside} : {}", p.name), t.by_hand.as_secs_f64() / p.time.as_secs_f64().max(1e-9));
        }
    }
    if lines.is_empty() { String::new() } else { format!("behind by more than {BEHIND}:\n{}\n", lines.join("\n")) }
}

/// Everything as one JSON object.
pub fn json(
    (libraries, threads): (&Result<String, String>, usize),
    rows: &[Row],
    compile: &[(String, Duration)],
) -> String {
    let compile =
        compile.iter().map(|(name, time)| format!("{{\"name\": {}, \"ms\": {:.4}}}", quoted(name), ms(*time)));
    format!(
        "{{\n\"cpu\": {},\n\"threads\": {threads},\n\"peers\": {},\n\"kernels\": [{}\n],\n\"compile\": [{}\n]\n}}\n",
        quoted(&cpu()),
        libraries.as_ref().map_or("null".to_string(), |l| quoted(l)),
        listed(rows.iter().map(|row| entry(row, threads))),
        listed(compile)
    )
}

fn listed(entries: impl Iterator<Item = String>) -> String {
    entries.map(|e| format!("\n{e}")).collect::<Vec<_>>().join(",")
}

fn entry(row: &Row, threads: usize) -> String {
    let beside = beside(threads).replace(' ', "_");
    let case =
        format!("\"kernel\": \"{}\", \"matrix\": \"{}\", \"nonzeros\": {}", row.kernel, row.kind.name(), row.nonzeros);
    match &row.outcome {
        Outcome::Compared(c) => {
            let t = &c.times;
            let peer = |p: &crate::measure::Peer| {
                format!("{}: {{\"ms\": {:.6}, \"ratio\": {:.4}}}", quoted(&p.name), ms(p.time), p.ratio)
            };
            let peers: Vec<String> = t.peers.iter().map(peer).collect();
            let bandwidth = c.reading.map_or(String::new(), |r| {
                let (gigabytes, share) = (r.gigabytes(), r.share(t.kernel));
                format!(", \"read_gb_s\": {gigabytes:.3}, \"bandwidth_share\": {share:.4}")
            });
            format!(
                "{{{case}, \"fiberloom_ms\": {:.6}, \"{beside}_ms\": {:.6}, \"ratio\": {:.4}, \"pairs\": {}, \
                 \"fiberloom_bytes\": {}, \"by_hand_bytes\": {}, \"peers\": {{{}}}{bandwidth}}}",
                ms(t.kernel),
                ms(t.by_hand),
                t.ratio,
                t.pairs,
                c.kernel_bytes,
                c.by_hand_bytes,
                peers.join(", ")
            )
        }
        Outcome::Skipped(why) => format!("{{{case}, \"skipped\": {}}}", quoted(why)),
        Outcome::Failed(why) => format!("{{{case}, \"failed\": {}}}", quoted(why)),
    }
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// The processor's name, where Linux tells it.
fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|l| l.strip_prefix("model name")).unwrap_or("unknown");
    name.trim_start_matches(['\t', ' ', ':']).to_string()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::bandwidth::Reading;
    use crate::measure::{Measured, Peer};

    pub(crate) fn row(kernel: &'static str, kind: Kind, nonzeros: usize, ratio: f64) -> Row {
        let ms = Duration::from_millis;
        let peers = vec![Peer { name: "scipy".to_string(), time: ms(10), ratio: ratio / 2.0 }];
        let times = Measured { kernel: ms(20).mul_f64(ratio / 4.0), by_hand: ms(5), ratio, pairs: PAIRS, peers };
        let reading = Some(Reading { bytes: 1_000_000, written: 0, time: times.kernel / 2 });
        let compared = Compared { times, kernel_bytes: 1_000_000, by_hand_bytes: 500_000, reading };
        Row { kernel, kind, nonzeros, outcome: Outcome::Compared(compared) }
    }

    #[test]
    fn lines_summaries_and_who_is_behind() {
        let mut rows = vec![row("spmv", Kind::Uniform, 1000, 4.0), row("spmv", Kind::Stencil, 1000, 1.0)];
        rows.push(Row { outcome: Outcome::Failed("a \"b\"".to_string()), ..row("spmv", Kind::Banded, 1000, 1.0) });
        assert!(line(&rows[0]).contains("1.0 / 0.5   scipy 10.000 (2.00)  50 % of 0.1 GB/s"), "{}", line(&rows[0]));
        let said = "geometric mean to by hand 2.00, worst 4.00 (uniform 1000); to the best peer 1.00, worst 2.00";
        assert!(summary(&rows, 1).contains(said), "{}", summary(&rows, 1));
        assert_eq!(behind(&rows, 1).lines().count(), 3, "{}", behind(&rows, 1));
        assert!(behind(&rows[1..], 1).is_empty());
        let json = json((&Err("none".to_string()), 1), &rows, &[("sum".to_string(), Duration::from_millis(3))]);
        assert!(
            head(&Err(String::new()), 2).contains("on 2 threads") && summary(&rows, 2).contains("to one thread 2.00")
        );
        assert!(json.contains("\"failed\": \"a \\\"b\\\"\"") && json.contains("\"peers\": null"), "{json}");
    }
}
