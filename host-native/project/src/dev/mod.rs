//! `convengine dev`: serves a folder of packs and talks, and takes over what is saved in it.
//!
//! At each save the changed packs are imported, the talks are played, and the page replays its open conversation.

mod folder;
mod follow;
mod routes;

use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use convengine_host::api::mcp::PackPlayer;
use convengine_host::app::{self, Server};
use convengine_host_base::exit::Failure;
use convengine_settings::Settings;
use serde::Serialize;
use tokio::sync::broadcast;

use self::folder::ProjectFolder;

/// Changes that a slow page may lag behind; a page that missed some reads all files again.
const MAX_WAITING_CHANGES: usize = 64;

/// What the page is told about.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Change {
    /// A pack was saved.
    File {
        /// Its name.
        name: String,
        /// The hash of its text.
        hash: String,
    },
    /// The talks were played.
    Talks {
        /// Whether all passed.
        passed: bool,
        /// What `convengine test` printed.
        output: String,
    },
    /// The server stops.
    #[serde(skip)]
    End,
}

/// Runs the server for a folder until `stop` completes; `listening` is called with the address.
///
/// # Errors
/// Exit code 2 if the address can be reached from other machines, 3 if the folder cannot be read or the server cannot start.
pub async fn run(
    settings: Settings,
    folder: &Path,
    player: PackPlayer,
    listening: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let folder = Arc::new(ProjectFolder::open(folder)?);
    let (changes, _) = broadcast::channel(MAX_WAITING_CHANGES);
    let routes = routes::build(Arc::clone(&folder), changes.clone());
    let settings = Arc::new(settings);
    let following = tokio::spawn(follow::follow(folder, Arc::clone(&settings), changes.clone()));
    let stop = async {
        stop.await;
        following.abort();
        // Open streams would be waited for. Without any there is nobody to tell.
        let _ = changes.send(Change::End);
    };
    app::serve(&settings, Server { player, routes }, listening, stop).await
}
