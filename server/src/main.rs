//! The `convengine` binary: arguments, commands and exit codes.

mod command;

use std::process::ExitCode;

use clap::Parser;
use convengine_host::arguments::Arguments;
use mimalloc::MiMalloc;

/// A turn allocates some thousand times; the allocator of the system takes twice as long and keeps more.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    command::run(Arguments::parse())
}
