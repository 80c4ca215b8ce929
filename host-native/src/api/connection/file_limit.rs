//! The limit of open files, of which each connection needs one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files that the server needs besides its connections: databases, outgoing calls, logs.
const OTHER_FILES: u64 = 256;

/// Raises the limit of this process for so many connections as far as the system allows. Returns how many it allows.
pub(super) fn allow_connections(connections: usize) -> usize {
    let wanted = connections as u64 + OTHER_FILES;
    let limit = getrlimit(Resource::Nofile);
    let raised = limit.maximum.map_or(wanted, |it| it.min(wanted));
    if limit.current.is_some_and(|it| it < raised)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum: limit.maximum })
    {
        tracing::debug!(%error, "cannot raise the limit of open files");
    }
    let Some(allowed) = getrlimit(Resource::Nofile).current.filter(|it| *it < wanted) else { return connections };
    let connections = usize::try_from(allowed.saturating_sub(OTHER_FILES).max(allowed / 2)).unwrap_or(connections);
    tracing::warn!("limit of {allowed} open files allows {connections} connections; raise it for convengine.http.max-connections");
    connections
}
