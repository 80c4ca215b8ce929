//! Plays packs and talks, for `convengine test`, `convengine chat` and the project's own test runners.
//!
//! A pack of plain messages runs in the core. A pack with SQL between its turns, another path, or a body that is not a message is
//! played over HTTP against a server on a temporary database, in this process or that of a program, which needs the feature `http`. So does a pack whose turns need
//! services of a host: SQL, tools of other groups, scripts and extensions.

#[cfg(feature = "http")]
mod chat;
mod check;
#[cfg(feature = "http")]
mod command;
mod core;
#[cfg(feature = "http")]
mod engine_process;
mod expect;
#[cfg(feature = "http")]
pub mod fake_http;
#[cfg(feature = "http")]
mod flow;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "http")]
mod junit;
mod known_differences;
#[cfg(feature = "http")]
mod local_server;
#[cfg(feature = "http")]
mod local_services;
#[cfg(feature = "http")]
mod mcp_play;
#[cfg(feature = "http")]
mod pack_import;
mod recording;
mod report;
#[cfg(feature = "http")]
pub mod restate;
#[cfg(feature = "http")]
mod server;
mod trace;

use std::path::Path;

use convengine_core::pack::{Pack, PackFileError};

#[cfg(feature = "http")]
pub use self::chat::Chat;
pub use self::check::failed_checks;
#[cfg(feature = "http")]
pub use self::command::{play, play_http, run_command};
pub use self::core::{Checkpoint, CorePlayer, CoreTurn, Suspend};
#[cfg(feature = "http")]
pub use self::engine_process::{EngineCommand, EngineProcess, free_ports};
pub use self::expect::{PlayedTurn, differences, without_volatile};
#[cfg(feature = "http")]
pub use self::flow::{publish_requests, secret_names, session_id, session_request as of_session};
#[cfg(feature = "http")]
pub use self::http::HttpPlayer;
pub use self::known_differences::{ExpectedTurn, KnownDifferences};
#[cfg(feature = "http")]
pub use self::local_server::LocalServer;
#[cfg(feature = "http")]
pub use self::mcp_play::play_in_core;
#[cfg(feature = "http")]
pub use self::pack_import::import_pack;
pub use self::report::{PackReport, TurnReport, play_core, recorded_differences};
#[cfg(feature = "http")]
pub use self::server::{PackServer, ServerOptions};

/// Reads a pack or a talk.
///
/// # Errors
/// [`PackFileError`] if a file cannot be read or is invalid.
pub fn read_pack(path: &Path) -> Result<Pack, PackFileError> {
    Pack::from_file(path, &|it| std::fs::read(it))
}
