//! What a program that is built without Restate does with the commands of a cluster: it refuses them.

use std::future::{Future, Ready, ready};
use std::net::SocketAddr;

use convengine_host_base::exit::Failure;
use convengine_settings::Settings;

use crate::arguments::ClusterCommand;
use crate::turn_cluster::missing_restate;

/// Refuses to run a worker.
///
/// # Errors
/// Always: exit code 2.
pub fn run_worker(_: &Settings, _: impl FnOnce(SocketAddr), _: impl Future<Output = ()>) -> Ready<Result<(), Failure>> {
    ready(Err(missing_restate()))
}

/// Refuses to manage a cluster.
///
/// # Errors
/// Always: exit code 2.
pub fn run_cluster_command(_: &Settings, _: ClusterCommand) -> Ready<Result<(), Failure>> {
    ready(Err(missing_restate()))
}
