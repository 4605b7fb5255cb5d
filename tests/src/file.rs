//! One file test: its program run on every engine, its stages printed.

use crate::array::{Dense, Number};
use crate::binary::{self, Ran};
use crate::directive::{self, Directive, PRINT};
use crate::{COMPILERS, ENGINES, REFUSED, REFUSED_DATA, STOPPED};
use std::path::{Path, PathBuf};

/// How a failure says what to do about it.
const BLESS: &str = "if the new print is right, `cargo xtask bless` rewrites the file";

/// What becomes of the prints of stages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prints {
    /// They are compared, as all else.
    Compared,
    /// Those that differ are rewritten.
    Blessed,
    /// They are not compared: what a test expects is an answer, a message or a count.
    Without,
    /// Nothing else is compared.
    Alone,
}

/// Whether a test expects anything that is compared.
///
/// # Errors
/// If it cannot be read.
pub fn expects(path: &Path, prints: Prints) -> Result<bool, String> {
    let directives = directive::read(&std::fs::read_to_string(path).map_err(|e| e.to_string())?)?;
    Ok(directives.iter().any(|directive| match directive {
        Directive::In(..) | Directive::InFile(..) | Directive::Table(..) | Directive::Strict | Directive::Plan(_) => {
            false
        }
        Directive::Show { .. } => prints != Prints::Without,
        _ => prints != Prints::Alone,
    }))
}

/// Runs the test.
///
/// # Errors
/// Everything that is wrong.
pub fn test(path: &Path, prints: Prints) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let mut test = Test {
        path,
        ran: path.to_path_buf(),
        plan: None,
        directives: directive::read(&text)?,
        text: &text,
        folder: Folder::new(path)?,
    };
    let derived = test.derived(prints == Prints::Blessed)?;
    test.ran = derived.clone().unwrap_or(test.ran);
    test.plan = test.planned()?;
    let operands = test.operands()?;
    let mut wrong = Vec::new();
    let mut expects = false;
    let mut note = |outcome: Result<(), String>| wrong.extend(outcome.err());
    for directive in &test.directives {
        let is_print = matches!(directive, Directive::Show { .. });
        match directive {
            _ if prints == if is_print { Prints::Without } else { Prints::Alone } => {}
            Directive::Error(place, text) if derived.is_none() && test.derives().is_some() => {
                note(test.not_derived(place, text))
            }
            Directive::Error(place, text) => note(test.error(&operands, place, text)),
            Directive::Derive { .. } => {}
            Directive::Rejected(text) => note(test.rejected(&operands, text)),
            Directive::Ops(name, most) => note(test.ops(&operands, name, *most)),
            Directive::Stored(name, entries) => note(test.stored(&operands, name, *entries)),
            Directive::Stopped(text) => note(test.stopped(&operands, text)),
            Directive::Unlowered(text) => note(test.unlowered(&operands, text)),
            Directive::Show { stage, expected, line } => {
                note(test.show(stage, expected, *line, prints == Prints::Blessed))
            }
            Directive::Rows(name, expected) => note(test.rows(&operands, name, expected)),
            Directive::In(..) | Directive::InFile(..) | Directive::Table(..) | Directive::Number(..) => continue,
            Directive::Out(..) | Directive::Strict | Directive::Plan(_) => continue,
        }
        expects = true;
    }
    let results = test.results();
    if prints == Prints::Alone {
        // Answers are not asked for.
    } else if !results.is_empty() {
        ENGINES.iter().filter(|e| test.answers(e)).for_each(|engine| note(test.values(&operands, &results, engine)));
    } else if !expects {
        note(Err("expects nothing: give it an `#! out`, `#! show` or `#! error`".to_string()));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

struct Test<'a> {
    path: &'a Path,
    /// The program that runs: the file's, or the one that is derived of it.
    ran: PathBuf,
    /// The file of the plan, if there is one.
    plan: Option<String>,
    text: &'a str,
    directives: Vec<Directive>,
    folder: Folder,
}

impl Test<'_> {
    /// The arguments that give the operands, their files written.
    fn operands(&self) -> Result<Vec<String>, String> {
        let mut args = Vec::new();
        for directive in &self.directives {
            let (name, file) = match directive {
                Directive::In(name, array) => {
                    let file = self.folder.path.join(format!("{name}.npy"));
                    array.write(&file, self.element_type(name)?)?;
                    (name, file)
                }
                Directive::InFile(name, file) if file.starts_with("pattern:") => (name, file.into()),
                Directive::InFile(name, file) => (name, self.path.with_file_name(file)),
                Directive::Table(name, lines) => {
                    let file = self.folder.path.join(format!("{name}.csv"));
                    std::fs::write(&file, lines.join("\n") + "\n").map_err(|e| e.to_string())?;
                    (name, file)
                }
                Directive::Number(name, number) => (name, number.into()),
                _ => continue,
            };
            args.extend(["--in".to_string(), format!("{name}={}", file.display())]);
        }
        Ok(args)
    }

    /// The command that derives a program, what it is to print, and on which line that is said.
    fn derives(&self) -> Option<(&[String], &[String], usize)> {
        self.directives.iter().find_map(|directive| match directive {
            Directive::Derive { args, expected, line } => Some((&args[..], &expected[..], *line)),
            _ => None,
        })
    }

    /// The file of the program that is derived, if one is to be, and it is not to be refused. It is what is expected.
    fn derived(&self, bless: bool) -> Result<Option<PathBuf>, String> {
        let refused = self.directives.iter().any(|directive| matches!(directive, Directive::Error(..)));
        let Some((args, expected, line)) = self.derives().filter(|_| !refused) else { return Ok(None) };
        let ran = self.derive(args)?;
        ran.expect(0)?;
        let file = self.folder.path.join("derived.loom");
        std::fs::write(&file, &ran.stdout).map_err(|e| e.to_string())?;
        let printed: Vec<&str> = ran.stdout.trim_end().lines().collect();
        if bless && printed != expected {
            let text = std::fs::read_to_string(self.path).map_err(|e| e.to_string())?;
            let words: Vec<&str> = ["derive"].into_iter().chain(args.iter().map(String::as_str)).collect();
            std::fs::write(self.path, blessed(&text, &words, &printed)).map_err(|e| e.to_string())?;
        } else if printed != expected {
            let what = format!("{} prints\n{}", args.join(" "), ran.stdout.trim_end());
            return Err(format!("{what}\nwhich is not what line {} expects; {BLESS}", line + 2));
        }
        Ok(Some(file))
    }

    /// The file of the plan, written, if there is one.
    fn planned(&self) -> Result<Option<String>, String> {
        let lines = self.directives.iter().find_map(|directive| match directive {
            Directive::Plan(lines) => Some(lines),
            _ => None,
        });
        let Some(lines) = lines else { return Ok(None) };
        let file = self.folder.path.join("given.plan");
        std::fs::write(&file, lines.join("\n") + "\n").map_err(|e| e.to_string())?;
        Ok(Some(file.display().to_string()))
    }

    /// The options that give the plan.
    fn by_plan(&self) -> impl Iterator<Item = &str> {
        self.plan.iter().flat_map(|file| ["--plan", file])
    }

    fn derive(&self, args: &[String]) -> Result<Ran, String> {
        let path = self.path.display().to_string();
        binary::run(args.iter().map(String::as_str).chain([path.as_str()]))
    }

    /// No program is derived, with a message at this place.
    fn not_derived(&self, place: &str, text: &str) -> Result<(), String> {
        let ran = self.derive(self.derives().map_or(&[], |(args, ..)| args))?;
        ran.expect(REFUSED)?;
        let begin = format!("{}:{place}:", self.path.display());
        let says = |line: &str| line.strip_prefix(&begin).is_some_and(|message| message.contains(text));
        if ran.stderr.lines().any(says) {
            return Ok(());
        }
        Err(format!("no message begins with `{begin}` and says `{text}`:\n{}", ran.stderr.trim_end()))
    }

    /// The type that the program declares for a tensor.
    fn element_type(&self, name: &str) -> Result<&str, String> {
        let declared =
            |line: &&str| line.trim_start().strip_prefix("tensor").is_some_and(|l| l.trim_start().starts_with(name));
        let lines = self.text.lines().map(|line| line.strip_prefix(PRINT).map_or(line, str::trim_start));
        let line = lines.filter(declared).find_map(|l| {
            let (left, right) = l.split_once(':')?;
            (left.split_whitespace().nth(1) == Some(name)).then_some(right)
        });
        let ty = line.and_then(|l| l.trim().split('[').next());
        ty.map(str::trim).ok_or_else(|| format!("the program declares no tensor `{name}` on a line of its own"))
    }

    fn results(&self) -> Vec<(&str, &Dense)> {
        let mut results = Vec::new();
        for directive in &self.directives {
            if let Directive::Out(name, array) = directive {
                results.push((name.as_str(), array));
            }
        }
        results
    }

    /// Whether the test expects this engine to answer.
    fn answers(&self, engine: &str) -> bool {
        let unlowered = self.directives.iter().any(|d| matches!(d, Directive::Unlowered(_)));
        !(unlowered && COMPILERS.contains(&engine) || self.plan.is_some() && engine == "llvm")
    }

    fn run(&self, operands: &[String], more: &[&str]) -> Result<Ran, String> {
        let path = self.ran.display().to_string();
        let operands = operands.iter().map(String::as_str);
        let args = ["run", &path].into_iter().chain(operands).chain(self.by_plan());
        binary::run(args.chain(self.mode()).chain(more.iter().copied()))
    }

    /// The arguments that say the mode, where it is not the usual one.
    fn mode(&self) -> impl Iterator<Item = &str> {
        self.is_strict().then_some(["--mode", "strict"]).into_iter().flatten()
    }

    fn is_strict(&self) -> bool {
        self.directives.iter().any(|d| matches!(d, Directive::Strict))
    }

    /// The results of one engine are exactly the expected ones.
    fn values(&self, operands: &[String], results: &[(&str, &Dense)], engine: &str) -> Result<(), String> {
        let file = |name: &str| self.folder.path.join(format!("{engine}-{name}.npy"));
        let mut args = vec!["--engine".to_string(), engine.to_string()];
        for (name, _) in results {
            args.extend(["--out".to_string(), format!("{name}={}", file(name).display())]);
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        self.run(operands, &args)?.expect(0).map_err(|e| format!("{engine}: {e}"))?;
        for (name, expected) in results {
            let got = Dense::read(&file(name))?;
            let exact = if self.is_strict() { Number::is } else { Number::eq };
            if let Some(difference) = got.difference(expected, exact) {
                return Err(format!("{engine}: {name}{difference}"));
            }
        }
        Ok(())
    }

    /// A result with labels has these rows, whichever engine computes them.
    fn rows(&self, operands: &[String], name: &str, expected: &[String]) -> Result<(), String> {
        for engine in ENGINES.iter().filter(|e| self.answers(e)) {
            let ran = self.run(operands, &["--engine", engine, "--out", &format!("{name}=-")])?;
            ran.expect(0).map_err(|e| format!("{engine}: {e}"))?;
            if !ran.stdout.lines().eq(expected.iter().map(String::as_str)) {
                return Err(format!(
                    "{engine}: {name} is\n{}\nand expected is\n{}",
                    ran.stdout.trim_end(),
                    expected.join("\n")
                ));
            }
        }
        Ok(())
    }

    /// The program is refused with a message at this place.
    fn error(&self, operands: &[String], place: &str, text: &str) -> Result<(), String> {
        let path = self.path.display().to_string();
        let ran = match &self.plan {
            Some(_) => binary::run(["show", "loops", &path].into_iter().chain(self.by_plan()))?,
            None if operands.is_empty() => binary::run(["check", &path])?,
            None => self.run(operands, &[])?,
        };
        ran.expect(REFUSED)?;
        let path = self.plan.as_ref().unwrap_or(&path);
        let begin = format!("{path}:{place}:");
        let says = |line: &str| line.strip_prefix(&begin).is_some_and(|message| message.contains(text));
        if ran.stderr.lines().any(says) {
            return Ok(());
        }
        Err(format!("no message begins with `{begin}` and says `{text}`:\n{}", ran.stderr.trim_end()))
    }

    fn rejected(&self, operands: &[String], text: &str) -> Result<(), String> {
        for engine in ENGINES {
            let ran = self.run(operands, &["--engine", engine])?;
            let refused = ran.expect(REFUSED_DATA);
            // The meaning says in its own words what leaves an array.
            let said = if COMPILERS.contains(&engine) { says(&ran, text) } else { Ok(()) };
            refused.and(said).map_err(|e| format!("{engine}: {e}"))?;
        }
        Ok(())
    }

    fn stopped(&self, operands: &[String], text: &str) -> Result<(), String> {
        for engine in ENGINES {
            let ran = self.run(operands, &["--engine", engine])?;
            ran.expect(STOPPED).and_then(|()| says(&ran, text)).map_err(|e| format!("{engine}: {e}"))?;
        }
        Ok(())
    }

    fn unlowered(&self, operands: &[String], text: &str) -> Result<(), String> {
        for engine in COMPILERS {
            let ran = self.run(operands, &["--engine", engine])?;
            let refused = ran.expect(REFUSED).and_then(|()| says(&ran, text));
            refused.map_err(|e| format!("{engine}: {e}\n(if it is lowered now, take the `#! unlowered` away)"))?;
        }
        Ok(())
    }

    /// What an engine reports of a run.
    fn report(&self, operands: &[String], engine: &str) -> Result<serde_json::Value, String> {
        let ran = self.run(operands, &["--engine", engine, "--json"])?;
        ran.expect(0).map_err(|e| format!("{engine}: {e}"))?;
        serde_json::from_str(&ran.stdout).map_err(|e| format!("--json: {e}"))
    }

    /// Both engines that compile store so many entries of a result.
    fn stored(&self, operands: &[String], name: &str, entries: u64) -> Result<(), String> {
        for engine in COMPILERS {
            let stored = self.report(operands, engine)?["results"][name]["nnz"].as_u64();
            if stored != Some(entries) {
                return Err(format!("{engine}: {stored:?} entries of {name} are stored, {entries} expected"));
            }
        }
        Ok(())
    }

    fn ops(&self, operands: &[String], name: &str, most: u64) -> Result<(), String> {
        let json = self.report(operands, "loops")?;
        match json["ops"][name].as_u64() {
            Some(count) if count <= most => Ok(()),
            Some(count) => Err(format!("{count} {name}, at most {most} expected")),
            None => Err(format!("--json counts no `{name}`: {}", json["ops"])),
        }
    }

    fn show(&self, stage: &str, expected: &[String], line: usize, bless: bool) -> Result<(), String> {
        let path = self.ran.display().to_string();
        let words: Vec<&str> = ["show"].into_iter().chain(stage.split_whitespace()).collect();
        let given = words.iter().copied().chain([path.as_str()]);
        let ran = binary::run(given.chain(self.mode()).chain(self.by_plan()))?;
        ran.expect(0)?;
        let printed: Vec<&str> = ran.stdout.trim_end().lines().collect();
        if printed == expected {
            return Ok(());
        }
        if !bless {
            return Err(format!(
                "show {stage} prints\n{}\nwhich is not what line {} expects; {BLESS}",
                ran.stdout.trim_end(),
                line + 2
            ));
        }
        // The file may have been blessed by an earlier directive: its own line is found anew.
        let text = std::fs::read_to_string(self.path).map_err(|e| e.to_string())?;
        std::fs::write(self.path, blessed(&text, &words, &printed)).map_err(|e| e.to_string())
    }
}

fn says(ran: &Ran, text: &str) -> Result<(), String> {
    let said = ran.stderr.contains(text);
    if said { Ok(()) } else { Err(format!("the message does not say `{text}`:\n{}", ran.stderr.trim_end())) }
}

/// The file with what stands under `#! show STAGE`, or another directive of these words, replaced.
fn blessed(text: &str, words: &[&str], printed: &[&str]) -> String {
    let mut out = String::new();
    let mut replaced = false;
    for line in text.lines() {
        if replaced && line.starts_with(PRINT) {
            continue;
        }
        replaced = line.strip_prefix("#!").is_some_and(|d| d.split_whitespace().eq(words.iter().copied()));
        out.push_str(line);
        out.push('\n');
        if replaced {
            for line in printed {
                out.push_str(format!("{PRINT} {line}").trim_end());
                out.push('\n');
            }
        }
    }
    out
}

/// A folder for a test's data, gone when the test is.
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
}

impl Folder {
    /// A new folder for the test in this file.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(test: &Path) -> Result<Folder, String> {
        let name: String =
            test.display().to_string().chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        let path = std::env::temp_dir().join(format!("fiberloom-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Folder { path })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::blessed;

    #[test]
    fn blessing_replaces_a_print_and_nothing_else() {
        let text = "a\n#! show loops\n#| old\n#| older\n#! out y = 1\n#! show llvm\n#| kept\n";
        let expected = "a\n#! show loops\n#| new\n#|\n#| x\n#! out y = 1\n#! show llvm\n#| kept\n";
        assert_eq!(blessed(text, &["show", "loops"], &["new", "", "x"]), expected);
    }
}
