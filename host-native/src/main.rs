//! The `convengine` binary.

use std::process::ExitCode;

use clap::Parser;
use convengine_server::arguments::Arguments;
use convengine_server::command;

fn main() -> ExitCode {
    command::run(Arguments::parse())
}
