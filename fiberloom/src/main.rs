//! The `fiberloom` command.

fn main() -> std::process::ExitCode {
    fiberloom::cli::main(std::env::args_os().collect()).into()
}
