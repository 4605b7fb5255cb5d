//! `cargo xtask play`: the page of the playground, one file that needs no other, and a server for it on this machine.
//!
//! ```text
//!  play/src ──cargo, wasm32──▶ compiler ──xz──▶ ┐  
//!  play/page                                      ├─▶ target/play/index.html ──▶ http://127.0.0.1:PORT/
//!  play/examples                                  ┘
//! ```
//!
//! A file of `play/examples/` is a program. Its lines that begin with `#:` say what else the page holds for it: `title`, `about`, and as on
//! the command line `in NAME=…`, `format NAME=…`, `order NAME=…`, `limit NAME=…`; of a name in `data/` the file's text is taken.

use crate::cargo;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const TARGET: &str = "wasm32-unknown-unknown";
const FOLDER: &str = "target/play";
const SOURCES: &str = "play/page";
const EXAMPLES: &str = "play/examples";

/// The page's scripts, in their order.
const SCRIPTS: [&str; 6] = ["unpack.js", "engine.js", "draw.js", "link.js", "paste.js", "main.js"];

/// The largest page, packed as a server packs it.
const MOST: usize = 1_500_000;

/// Programs that try the page.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Why the page is not tried here, if it is not.
pub fn missing() -> Option<String> {
    let has = |program: &str| {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
    };
    let browser = BROWSERS.iter().any(|browser| has(browser));
    let of = |has: bool, what: &str| (!has).then(|| what.to_string());
    of(browser, "there is no Chromium (Debian: chromium)")
        .or_else(|| of(has("python3"), "there is no python3"))
        .or_else(|| of(has("xz"), "there is no xz, which packs the compiler"))
        .or_else(|| ensure_target().err().map(|why| format!("rustup did not install the library for {TARGET}: {why}")))
}

/// Opens the page in a browser, with what the command line says beside it.
pub fn browser() -> Command {
    let mut command = Command::new("python3");
    command.args(["play/tests/browser.py", "target/play/index.html", "target/debug/fiberloom"]);
    // The machine may be slower than the one that the page's times are asked of.
    command.env("FIBERLOOM_SLACK", "4");
    command
}

/// Builds the page, says how large it is, and serves it until the command is ended.
///
/// # Errors
/// What is missing, or does not build.
pub fn command(arguments: &[&str]) -> Result<(), String> {
    let port = match arguments {
        ["--build"] => None,
        [] => Some(8017),
        ["--port", port] => Some(port.parse().map_err(|_| format!("`{port}` is no port"))?),
        _ => return Err("usage: cargo xtask play [--build | --port N]".to_string()),
    };
    let page = build()?;
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
    let packed = gzip(&page)?.len();
    println!("{}: {} bytes, {packed} packed by gzip; it opens as a file, too", page.display(), size(&page));
    if packed > MOST {
        return Err(format!("the page is to have at most {MOST} bytes packed"));
    }
    port.map_or(Ok(()), |port| serve(&page, port))
}

/// Builds the page. Its path.
///
/// # Errors
/// What is missing, or does not build.
fn build() -> Result<PathBuf, String> {
    ensure_target()?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--package", "fiberloom-play", "--lib", "--target", TARGET, "--profile", "play"]);
    // Lints are another build's.
    command.env("CARGO_TARGET_DIR", FOLDER).env_remove("RUSTC_WORKSPACE_WRAPPER").env_remove("CLIPPY_ARGS");
    cargo::run(&mut command)?;
    let compiler = Path::new(FOLDER).join(TARGET).join("play/fiberloom_play.wasm");
    let page = Path::new(FOLDER).join("index.html");
    std::fs::write(&page, whole(&compiler)?).map_err(|e| format!("{}: {e}", page.display()))?;
    Ok(page)
}

/// Whether the target's library is installed; installs it by rustup if it is not.
fn ensure_target() -> Result<(), String> {
    let printed = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let is_there = printed.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).exists());
    if is_there {
        return Ok(());
    }
    println!("── Rust's library for WebAssembly is missing: rustup target add {TARGET}\n");
    cargo::run(Command::new("rustup").args(["target", "add", TARGET]))
}

/// The page with all that it needs.
fn whole(compiler: &Path) -> Result<String, String> {
    let source = |name: &str| text(&Path::new(SOURCES).join(name));
    let scripts = SCRIPTS.iter().map(|name| source(name)).collect::<Result<Vec<_>, _>>()?;
    let parts = [
        ("/*STYLE*/", source("style.css")?),
        ("/*WORKER*/", source("worker.js")?),
        ("/*SCRIPT*/", scripts.join("\n")),
        ("/*EXAMPLES*/", examples()?),
        ("/*LENGTH*/", std::fs::metadata(compiler).map_err(|e| e.to_string())?.len().to_string()),
        ("/*WASM*/", base64(&lzma(compiler)?)),
    ];
    let mut page = source("index.html")?;
    for (place, part) in parts {
        let at = page.find(place).ok_or_else(|| format!("{SOURCES}/index.html has no place {place}"))?;
        page.replace_range(at..at + place.len(), &part);
    }
    Ok(page)
}

fn text(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// A file packed by gzip, as a server packs the page.
fn gzip(path: &Path) -> Result<Vec<u8>, String> {
    packed(Command::new("gzip").args(["-9", "-n", "-c"]).arg(path))
}

/// A file in LZMA's old form, which `play/page/unpack.js` reads: a third smaller than by gzip.
fn lzma(path: &Path) -> Result<Vec<u8>, String> {
    packed(Command::new("xz").args(["--format=lzma", "--lzma1=preset=9e,lc=4,pb=0", "-c", "-k"]).arg(path))
        .map_err(|e| format!("{e} (`xz` packs the compiler: Debian installs it unless told otherwise)"))
}

/// What a packer prints.
fn packed(command: &mut Command) -> Result<Vec<u8>, String> {
    let output = command.output().map_err(|e| format!("{}: {e}", cargo::text(command)))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("{}: {}", cargo::text(command), String::from_utf8_lossy(&output.stderr))),
    }
}

/// The examples as JSON, in the order of their files' names.
fn examples() -> Result<String, String> {
    let entries = std::fs::read_dir(EXAMPLES).map_err(|e| format!("{EXAMPLES}: {e}"))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "loom"));
    paths.sort();
    let all = paths.iter().map(|path| example(path)).collect::<Result<Vec<_>, _>>()?;
    Ok(format!("[{}]", all.join(",\n")))
}

fn example(path: &Path) -> Result<String, String> {
    let read = text(path)?;
    let wrong = |line: &str| format!("{}: `{line}` says nothing that is known", path.display());
    let (mut title, mut about) = ("", "");
    let mut said: [Vec<(String, String)>; 4] = Default::default();
    for line in read.lines().filter_map(|line| line.strip_prefix("#: ")) {
        match line.split_once(' ').ok_or_else(|| wrong(line))? {
            ("title", text) => title = text,
            ("about", text) => about = text,
            (what, pair) => {
                let place = ["in", "format", "order", "limit"].iter().position(|known| *known == what);
                let place = place.ok_or_else(|| wrong(line))?;
                let (name, value) = pair.split_once('=').ok_or_else(|| wrong(line))?;
                said[place].push((name.to_string(), if place == 0 { datum(value)? } else { json(value) }));
            }
        }
    }
    let lines = read.lines().filter(|line| !line.starts_with("#:"));
    let program = lines.fold(String::new(), |program, line| program + line + "\n");
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let name = stem.split_once('-').map_or(stem, |(_, name)| name);
    let [data, formats, order, limit] = said.map(|pairs| object(&pairs));
    let state = [("program".to_string(), json(&program)), ("data".to_string(), data), ("formats".to_string(), formats)];
    let state = object(&[&state[..], &[("order".to_string(), order), ("limit".to_string(), limit)]].concat());
    let fields = [("name", json(name)), ("title", json(title)), ("about", json(about)), ("state", state)];
    Ok(object(&fields.map(|(name, value)| (name.to_string(), value))))
}

/// What an example gives: with its text, if it is a file.
fn datum(from: &str) -> Result<String, String> {
    let Some(name) = from.strip_prefix("data/") else { return Ok(object(&[("from".to_string(), json(from))])) };
    let held = json(&text(&Path::new(EXAMPLES).join(from))?);
    Ok(object(&[("from".to_string(), json(name)), ("text".to_string(), held)]))
}

/// An object of values that are JSON.
fn object(pairs: &[(String, String)]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{}:{value}", json(name))).collect();
    format!("{{{}}}", pairs.join(","))
}

/// A text as JSON, in which nothing ends the script that it stands in.
fn json(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            c if c < ' ' || c == '<' || c == '\u{2028}' || c == '\u{2029}' => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// Letters that a script holds: four for three bytes.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word = three.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        let letter = |n: usize| match n <= three.len() {
            true => char::from(LETTERS[(word >> (18 - 6 * n)) as usize & 63]),
            false => '=',
        };
        text.extend((0..4).map(letter));
    }
    text
}

/// Serves the page to this machine, and nothing else.
fn serve(page: &Path, port: u16) -> Result<(), String> {
    let listener =
        TcpListener::bind(("127.0.0.1", port)).map_err(|e| format!("port {port}: {e}; --port names another"))?;
    println!("http://127.0.0.1:{port}/");
    for stream in listener.incoming().flatten() {
        // Who goes away has nothing to be told.
        let _ = answer(stream, page);
    }
    Ok(())
}

fn answer(mut stream: TcpStream, page: &Path) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut first = String::new();
    BufReader::new(std::io::Read::take(&stream, 1 << 13)).read_line(&mut first)?;
    let body = if first.starts_with("GET / ") { std::fs::read(page)? } else { Vec::new() };
    let status = if body.is_empty() { "404 Not Found" } else { "200 OK" };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(&body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_bytes() {
        // RFC 4648, section 10.
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn texts_end_no_script() {
        assert_eq!(json("a\"b\\\n\t</script>é"), "\"a\\\"b\\\\\\n\\u0009\\u003c/script>é\"");
    }

    #[test]
    fn examples_are_twenty() {
        std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap();
        let all = examples().unwrap();
        assert_eq!(all.matches("\"title\":").count(), 20);
        assert!(!all.contains("\"title\":\"\"") && !all.contains("\"about\":\"\""));
    }
}
