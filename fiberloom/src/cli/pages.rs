//! Man pages and completions, made of the table of commands and options.

use super::args::Shell;
use super::parse;
use crate::Error;
use clap_complete::{Shell as Completed, generate};

/// A man page in troff: of `fiberloom`, or of one of its commands.
///
/// # Errors
/// There is no such command.
pub fn man(command: Option<&str>) -> Result<String, Error> {
    let mut table = parse::table();
    table.build();
    let page = match command {
        None => table.clone(),
        Some(name) => {
            let command = table.find_subcommand(name).filter(|c| !c.is_hide_set());
            let command = command.ok_or_else(|| Error::Call(format!("no command `{name}` has a man page")))?;
            // The page's name has a dash, as pages of other tools with commands do; its synopsis has the blank.
            let full = format!("fiberloom-{name}");
            command.clone().name(full.clone()).display_name(full).bin_name(format!("fiberloom {name}"))
        }
    };
    let mut bytes = Vec::new();
    clap_mangen::Man::new(page).manual("Fiberloom").render(&mut bytes).expect("memory takes everything");
    Ok(String::from_utf8(bytes).expect("the table is text"))
}

/// A script that completes commands, options and files.
pub fn completions(shell: Shell) -> String {
    let shell = match shell {
        Shell::Bash => Completed::Bash,
        Shell::Zsh => Completed::Zsh,
        Shell::Fish => Completed::Fish,
    };
    let mut bytes = Vec::new();
    generate(shell, &mut parse::table(), "fiberloom", &mut bytes);
    String::from_utf8(bytes).expect("the table is text")
}
