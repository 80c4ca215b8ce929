//! `convengine cluster`: the versions of the worker that a Restate cluster calls (docs/operations/upgrades.md).

use convengine_host_base::exit::Failure;
use convengine_host_base::print_line;
use convengine_restate::{Admin, WorkerVersion};
use convengine_settings::Settings;

use crate::arguments::ClusterCommand;

/// Runs a command.
///
/// # Errors
/// Returns exit code 1 when a version is not drained, 2 for invalid usage or settings, 3 when the cluster does not answer or refuses.
pub async fn run(settings: &Settings, command: ClusterCommand) -> Result<(), Failure> {
    let addresses = settings.restate.admin.clone();
    if addresses.is_empty() {
        return Err(Failure::invalid_usage("set convengine.restate.admin to the addresses of the cluster's administration interface"));
    }
    let admin = Admin::new(addresses).map_err(|error| Failure::service_unavailable(format!("cannot create a client: {error}")))?;
    match command {
        ClusterCommand::List { json } => list(&admin, json).await,
        ClusterCommand::Register { address } => register(&admin, &address).await,
        ClusterCommand::Remove { id } => remove(&admin, id.as_deref()).await,
    }
}

async fn list(admin: &Admin, as_json: bool) -> Result<(), Failure> {
    let versions = admin.list().await.map_err(Failure::service_unavailable)?;
    if as_json {
        print_line!("{}", serde_json::to_string_pretty(&versions).unwrap_or_default());
        return Ok(());
    }
    for version in &versions {
        print_line!("{}", describe(version));
    }
    Ok(())
}

/// Returns the line of a version.
fn describe(version: &WorkerVersion) -> String {
    let WorkerVersion { id, address, version: name, registered, open, .. } = version;
    let state = match version {
        WorkerVersion { is_current: true, .. } => format!("current, {open} open"),
        _ if version.is_drained() => "drained".to_owned(),
        _ => format!("draining, {open} open"),
    };
    format!("{id}  {address}  {}  {registered}  {state}", name.as_deref().unwrap_or("unknown version"))
}

async fn register(admin: &Admin, address: &str) -> Result<(), Failure> {
    let id = admin.register(address).await.map_err(|error| Failure::service_unavailable(format!("{error}; is a worker running there?")))?;
    print_line!("registered {address} as {id}");
    Ok(())
}

/// Removes a version, or all that are drained.
async fn remove(admin: &Admin, id: Option<&str>) -> Result<(), Failure> {
    let versions = admin.list().await.map_err(Failure::service_unavailable)?;
    let chosen: Vec<&WorkerVersion> = match id {
        Some(id) => {
            let unknown = || Failure::check_failed(vec![format!("no version {id}; `convengine cluster list` has them")]);
            let found = versions.iter().find(|it| it.id == id).ok_or_else(unknown)?;
            if !found.is_drained() {
                return Err(Failure::check_failed(vec![format!("{}; nothing was removed, its turns would be lost", describe(found))]));
            }
            vec![found]
        }
        None => versions.iter().filter(|it| it.is_drained()).collect(),
    };
    for version in &chosen {
        admin.remove(&version.id).await.map_err(Failure::service_unavailable)?;
        print_line!("removed {} at {}; its workers may stop", version.id, version.address);
    }
    if chosen.is_empty() {
        print_line!("no version is drained");
    }
    Ok(())
}
