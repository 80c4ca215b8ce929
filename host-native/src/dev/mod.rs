//! `convengine dev`: serves a folder of packs and talks, and takes over what is saved in it.
//!
//! At each save the changed packs are imported, the talks are played, and the page replays its open conversation.

mod folder;
mod follow;
mod imported;
mod routes;

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use convengine_host_base::exit::Failure;
use convengine_settings::{Options, Settings};
use serde::Serialize;
use tokio::sync::{broadcast, oneshot};

use self::folder::ProjectFolder;
use self::follow::Follower;
use crate::api::host::Host;
use crate::api::mcp::PackPlayer;
use crate::app::{self, Server};

/// The settings of a folder.
const SETTINGS_FILE: &str = "convengine.toml";

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
        /// What `convengine test` printed of those that failed, and the counts.
        output: String,
    },
    /// The server stops.
    #[serde(skip)]
    End,
}

/// Names `convengine.toml` as the settings file if the folder has one and the options name no other; returns whether it does. The program
/// has to run in the folder, because paths in the file are relative to it.
pub fn use_settings_of(folder: &Path, options: &mut Options) -> bool {
    let is_used = options.settings.is_none() && folder.join(SETTINGS_FILE).is_file();
    if is_used {
        options.settings = Some(SETTINGS_FILE.into());
    }
    is_used
}

/// Loads the settings of the current folder: `convengine.toml` unless another file is named, and a database in a hidden folder unless one is
/// set.
///
/// # Errors
/// Exit code 2 if a setting is invalid, or the address can be reached from other machines; 3 if the folder of the database cannot be made.
pub fn load_settings(mut options: Options) -> Result<Settings, Failure> {
    use_settings_of(Path::new(""), &mut options);
    let settings = Settings::load(&options)?.for_tenant(options.tenant.as_deref())?;
    if !is_loopback(&settings.listen) {
        let line =
            format!("dev shows the files of a folder without a key, so it listens on a loopback address only, not on {}", settings.listen);
        return Err(Failure::invalid_usage(line));
    }
    let failed = |error| Failure::service_unavailable(format!("cannot create the folder of {}: {error}", settings.database.redacted_url()));
    settings.database.create_folder().map_err(failed)?;
    Ok(settings)
}

/// Returns the pack of the current folder, for a command that needs one.
///
/// # Errors
/// Exit code 2 if the folder cannot be read, or holds no pack or several.
pub fn find_pack() -> Result<PathBuf, Failure> {
    let folder = ProjectFolder::open(Path::new("."))?;
    let unreadable = |error| Failure::invalid_usage(format!("cannot read the folder {}: {error}", folder.path().display()));
    let names = folder.packs().map_err(unreadable)?;
    match names.as_slice() {
        [name] => Ok(name.into()),
        _ => Err(Failure::invalid_usage(format!("the folder holds several packs; name one of {}", names.join(", ")))),
    }
}

fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |it| it.0);
    host == "localhost" || host.trim_matches(['[', ']']).parse().is_ok_and(|it: IpAddr| it.is_loopback())
}

/// Runs the server for the current folder until `stop` completes; `listening` is called with the address.
///
/// # Errors
/// Exit code 2 if the folder holds no pack, 3 if the server cannot start.
pub async fn run(
    settings: Settings,
    player: PackPlayer,
    listening: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let folder = Arc::new(ProjectFolder::open(Path::new("."))?);
    let (changes, _) = broadcast::channel(MAX_WAITING_CHANGES);
    let routes = routes::build(Arc::clone(&folder), changes.clone());
    let settings = Arc::new(settings);
    let (start, is_listening) = oneshot::channel();
    let host = Arc::new(OnceLock::new());
    let following = tokio::spawn({
        let follower = Follower { folder, settings: Arc::clone(&settings), host: Arc::clone(&host), changes: changes.clone() };
        async move {
            // The tables are there, and the address is the first line that is printed. A server that does not start has nothing to follow.
            if is_listening.await.is_ok() {
                follower.run().await;
            }
        }
    });
    let listening = |address| {
        listening(address);
        // It fails only if the task has ended.
        let _ = start.send(());
    };
    let stop = async {
        stop.await;
        following.abort();
        // Open streams would be waited for. Without any there is nobody to tell.
        let _ = changes.send(Change::End);
    };
    let started = Arc::new(move |started: &Arc<Host>| {
        // The settings are those of one tenant, which starts once.
        let _ = host.set(Arc::clone(started));
    });
    app::serve(&settings, Server { player, routes, started }, listening, stop).await
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn only_this_machine_is_loopback() {
        for (address, expected) in [
            ("127.0.0.1:8080", true),
            ("[::1]:8080", true),
            ("localhost:0", true),
            ("0.0.0.0:8080", false),
            ("[::]:8080", false),
            ("192.168.0.7:80", false),
            ("localhost.example:80", false),
        ] {
            assert_eq!(is_loopback(address), expected, "{address}");
        }
    }
}
