//! Conformance cases: programs and data in files, results computed with NumPy.
//!
//! `case.json` holds `inputs` and `outputs` (names, and the inputs' files), `args`, `exit` and `says` (the expected exit
//! status, and a text that a message must contain). Results are in `expect_NAME.npy`, and equal up to 10⁻⁹.

use crate::array::{Dense, Number};
use crate::binary;
use crate::file::Folder;
use serde_json::Value;
use std::path::Path;

/// Runs one case on one engine.
///
/// # Errors
/// What is wrong.
pub fn test(folder: &Path, engine: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(folder.join("case.json")).map_err(|e| format!("case.json: {e}"))?;
    let case: Value = serde_json::from_str(&text).map_err(|e| format!("case.json: {e}"))?;
    let results = Folder::new(&folder.join(engine))?;
    let outputs: Vec<&str> = case["outputs"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let file = |name: &str| results.path.join(format!("{name}.npy"));

    let mut args = vec!["run".to_string(), folder.join("program.loom").display().to_string()];
    args.extend(["--json".to_string(), "--engine".to_string(), engine.to_string()]);
    args.extend(case["args"].as_array().into_iter().flatten().filter_map(Value::as_str).map(String::from));
    for (name, input) in case["inputs"].as_object().into_iter().flatten() {
        let input = folder.join(input.as_str().unwrap_or_default());
        args.extend(["--in".to_string(), format!("{name}={}", input.display())]);
    }
    for name in &outputs {
        args.extend(["--out".to_string(), format!("{name}={}", file(name).display())]);
    }
    let ran = binary::run(&args)?;
    ran.expect(case["exit"].as_i64().unwrap_or(0) as i32)?;
    let says = case["says"].as_str().unwrap_or_default();
    if !ran.stderr.contains(says) {
        return Err(format!("the message does not say `{says}`:\n{}", ran.stderr.trim_end()));
    }
    for name in outputs {
        let expected = Dense::read(&folder.join(format!("expect_{name}.npy")))?;
        if let Some(difference) = Dense::read(&file(name))?.difference(&expected, Number::is_near) {
            return Err(format!("{name}{difference}"));
        }
    }
    Ok(())
}
