//! The `convengine` binary: arguments, commands and exit codes.

mod command;

use std::process::ExitCode;

use clap::Parser;
use convengine_host::arguments::Arguments;

fn main() -> ExitCode {
    command::run(Arguments::parse())
}
