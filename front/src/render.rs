//! Diagnostics as people read them: one line for programs, then a drawing under the source line.

use ariadne::{Config, IndexType, Label, Report, ReportKind, Source};
use fiberloom_core::notation::{Diagnostic, Span};
use std::fmt::Write;
use std::ops::Range;

/// Every diagnostic as `FILE:LINE:COL: error: message` (lines and columns from 1, columns in characters), each with
/// the source lines that it is about.
pub fn render(file: &str, text: &str, diagnostics: &[Diagnostic], color: bool) -> String {
    let mut out = String::new();
    for d in diagnostics {
        let (line, column) = place(text, d.span.start as usize);
        writeln!(out, "{file}:{line}:{column}: error: {}", d.message).expect("strings take everything");
        out.push_str(&drawing(file, text, d, color));
    }
    out
}

/// Line and column of a byte, from 1.
pub fn place(text: &str, byte: usize) -> (usize, usize) {
    let before = &text[..floor(text, byte)];
    let line = before.matches('\n').count() + 1;
    let begin = before.rfind('\n').map_or(0, |n| n + 1);
    (line, before[begin..].chars().count() + 1)
}

/// The last character boundary at or before a byte.
fn floor(text: &str, byte: usize) -> usize {
    let mut byte = byte.min(text.len());
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    byte
}

fn drawing(file: &str, text: &str, d: &Diagnostic, color: bool) -> String {
    if text.is_empty() {
        return d.help.iter().map(|h| format!("  help: {h}\n")).collect();
    }
    let range = |s: Span| -> Range<usize> {
        let start = floor(text, (s.start as usize).min(text.len() - 1));
        start..floor(text, s.end as usize).max(start)
    };
    let config = Config::default().with_color(color).with_index_type(IndexType::Byte);
    let main = range(d.span);
    let mut report = Report::build(ReportKind::Error, (file, main.clone()))
        .with_config(config)
        .with_message(&d.message)
        .with_label(Label::new((file, main)).with_message("here"));
    for (span, label) in &d.labels {
        report = report.with_label(Label::new((file, range(*span))).with_message(label));
    }
    if let Some(help) = &d.help {
        report = report.with_help(help);
    }
    let mut bytes = Vec::new();
    match report.finish().write((file, Source::from(text)), &mut bytes) {
        // The first line repeats the message.
        Ok(()) => String::from_utf8_lossy(&bytes).split_once('\n').map_or(String::new(), |(_, rest)| rest.to_string()),
        Err(_) => String::new(),
    }
}
