//! Diagnostics as people read them: one line for programs, then a drawing under the source line.

use ariadne::{Config, IndexType, Label, Report, ReportKind, Source};
use fiberloom_core::notation::{Diagnostic, Severity, Span};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

/// Every diagnostic as `FILE:LINE:COL: error: message` or `… warning: …` (lines and columns from 1, columns in characters), each with
/// the source lines that it is about.
pub fn render(file: &str, text: &str, diagnostics: &[Diagnostic], color: bool) -> String {
    let mut out = String::new();
    for d in diagnostics {
        let (line, column) = place(text, d.span.start as usize);
        let d = Diagnostic { message: cut(&d.message), help: d.help.as_deref().map(cut), ..d.clone() };
        writeln!(out, "{file}:{line}:{column}: {}: {}", d.severity.name(), d.message).expect("strings take everything");
        out.push_str(&drawing(file, text, &d, color));
    }
    out
}

/// A sentence as long as people read: a name in it may have a million characters.
fn cut(sentence: &str) -> String {
    match sentence.char_indices().nth(WIDEST) {
        None => sentence.to_string(),
        Some((end, _)) => format!("{}…", &sentence[..end]),
    }
}

/// Line and column of a byte, from 1.
pub fn place(text: &str, byte: usize) -> (usize, usize) {
    let at = floor(text, byte);
    let number = text[..at].matches('\n').count() + 1;
    (number, text[lines(text, &(at..at)).start..at].chars().count() + 1)
}

/// The last character boundary at or before a byte.
fn floor(text: &str, byte: usize) -> usize {
    let mut byte = byte.min(text.len());
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    byte
}

/// The longest program, and the longest line, that are drawn as they are.
const LONGEST: usize = 1 << 20;
const WIDEST: usize = 500;

/// How many characters of a longer line are shown on either side.
const BESIDE: usize = 40;

fn drawing(file: &str, text: &str, d: &Diagnostic, color: bool) -> String {
    let help = || d.help.iter().map(|h| format!("  help: {h}\n")).collect::<String>();
    if text.is_empty() {
        return help();
    }
    let range = |s: Span| -> Range<usize> {
        let start = floor(text, (s.start as usize).min(text.len() - 1));
        start..floor(text, s.end as usize).max(start)
    };
    let main = range(d.span);
    let labels = labels(d.labels.iter().map(|(span, label)| (range(*span), label.as_str())), &main);
    let is_wide = |at: &Range<usize>| lines(text, at).len() > WIDEST;
    if text.len() > LONGEST || labels.iter().any(|(at, _)| is_wide(at)) {
        return excerpt(text, main.start) + &help();
    }
    let config = Config::default().with_color(color).with_index_type(IndexType::Byte);
    let kind = match d.severity {
        Severity::Error => ReportKind::Error,
        Severity::Warning => ReportKind::Warning,
    };
    let mut report = Report::build(kind, (file, main.clone())).with_config(config).with_message(&d.message);
    for (at, label) in labels {
        report = report.with_label(Label::new((file, at)).with_message(label));
    }
    if let Some(help) = &d.help {
        report = report.with_help(help);
    }
    let mut bytes = Vec::new();
    match report.finish().write((file, Source::from(of_lines(text))), &mut bytes) {
        // The first line repeats the message.
        Ok(()) => String::from_utf8_lossy(&bytes).split_once('\n').map_or(String::new(), |(_, rest)| rest.to_string()),
        Err(_) => String::new(),
    }
}

/// The places that are drawn, from the top down, as a drawing in one box takes them: each once, with all that is said
/// of it, and the main one among them, of which something is said in any case.
fn labels<'d>(
    others: impl Iterator<Item = (Range<usize>, &'d str)>,
    main: &Range<usize>,
) -> Vec<(Range<usize>, String)> {
    let mut said: BTreeMap<(usize, usize), Vec<&str>> = BTreeMap::new();
    for (at, label) in others {
        let here = said.entry((at.start, at.end)).or_default();
        if !here.contains(&label) {
            here.push(label);
        }
    }
    said.entry((main.start, main.end)).or_insert_with(|| vec!["here"]);
    said.into_iter().map(|((start, end), labels)| (start..end, labels.join(", "))).collect()
}

/// The lines that a stretch of the text stands on.
fn lines(text: &str, at: &Range<usize>) -> Range<usize> {
    let begin = text[..at.start].rfind('\n').map_or(0, |n| n + 1);
    let end = text[at.end..].find('\n').map_or(text.len(), |n| at.end + n);
    begin..end
}

/// The text as one whose lines end at line feeds alone, byte by byte: to the drawing other characters end lines, too.
fn of_lines(text: &str) -> String {
    let ends_lines = |(at, c): (usize, char)| match c {
        '\r' => !text[at + 1..].starts_with('\n'),
        c => matches!(c, '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'),
    };
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match ends_lines((at, c)) {
            true => out.extend(std::iter::repeat_n(' ', c.len_utf8())),
            false => out.push(c),
        }
    }
    out
}

/// What stands around a byte of a line that is too long to be drawn.
fn excerpt(text: &str, at: usize) -> String {
    let line = lines(text, &(at..at));
    let (before, behind) = (&text[line.start..at], &text[at..line.end]);
    let first = before.char_indices().rev().take(BESIDE).last().map_or(0, |(n, _)| n);
    let last = behind.char_indices().nth(BESIDE).map_or(behind.len(), |(n, _)| n);
    let dots = |is_cut: bool| if is_cut { "…" } else { "" };
    let left = format!("{}{}", dots(first > 0), &before[first..]);
    let shown = format!("   {left}{}{}\n", &behind[..last], dots(last < behind.len()));
    of_lines(&shown) + &format!("   {}^ here\n", " ".repeat(left.chars().count()))
}
