//! Runs a worker: the turns that a Restate cluster passes on.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;

use crate::app::build_host;
use crate::config::settings::Settings;
use crate::config::watch;
use crate::exit::Failure;
use crate::ops::observe::{self, SpanSender};
use crate::runtime::restate::{self, WorkerHosts};
use crate::runtime::stream::{ClusterTasks, start_cluster};
use crate::runtime::turn_runner::Host;

/// The number of connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// Runs a worker until `stop` completes. Calls `listening` with the address once it accepts turns.
///
/// # Errors
/// Returns the reason when the worker cannot start.
pub async fn run(settings: &Settings, listening: impl FnOnce(SocketAddr), stop: impl Future<Output = ()>) -> Result<(), Failure> {
    let listener = listen(settings).await?;
    let metrics_task = observe::start_recording();
    let (traces, _export_task) = SpanSender::start(settings.otlp_endpoint.as_deref())?;
    let mut hosts: Vec<(&Settings, Arc<Host>)> = Vec::new();
    let tenants = if settings.tenants.is_empty() { vec![settings] } else { settings.tenants.values().collect() };
    for settings in tenants {
        let (host, _writer) = build_host(settings, traces.clone()).await?;
        hosts.push((settings, host));
    }
    let sharing: Vec<ClusterTasks> =
        join_all(hosts.iter().map(|(settings, host)| start_cluster(host, &settings.database, true))).await.into_iter().flatten().collect();
    let followers: Vec<JoinHandle<()>> =
        hosts.iter().filter(|it| it.0.watch_config).map(|(_, host)| watch::spawn(Arc::clone(host))).collect();
    let by_tenant = WorkerHosts::new(hosts.iter().map(|(settings, host)| (*settings, Arc::clone(host))));
    let address = listener.local_addr();
    listening(address.map_err(|it| Failure::service_unavailable(format!("cannot listen: {it}")))?);
    let served = restate::serve(by_tenant, listener, settings.restate.identity_key.as_deref(), stop).await;
    followers.iter().for_each(JoinHandle::abort);
    join_all(sharing.into_iter().map(ClusterTasks::shut_down)).await;
    for (_, host) in hosts {
        host.readers.close().await;
    }
    metrics_task.abort();
    served
}

/// Binds an address that workers of one machine share: the system spreads the connections over them.
async fn bind(at: &str) -> std::io::Result<TcpListener> {
    let mut last = std::io::Error::new(std::io::ErrorKind::InvalidInput, "no address");
    for address in tokio::net::lookup_host(at).await? {
        let bound = || {
            let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
            socket.set_reuseaddr(true)?;
            socket.set_reuseport(true)?;
            socket.bind(address)?;
            socket.listen(BACKLOG)
        };
        match bound() {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Listens where the settings say. An address that others reach needs the key of the cluster.
async fn listen(settings: &Settings) -> Result<TcpListener, Failure> {
    let at = &settings.restate.listen;
    let failed = |it: std::io::Error| Failure::service_unavailable(format!("cannot listen on {at}: {it}; set convengine.restate.listen"));
    let listener = bind(at).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    if !address.ip().is_loopback() && settings.restate.identity_key.is_none() {
        return Err(Failure::invalid_usage(format!(
            "anybody who reaches {address} could run turns; set convengine.restate.identity-key to the public key of the cluster"
        )));
    }
    if !settings.tenants.is_empty() || settings.database.is_postgres() {
        return Ok(listener);
    }
    Err(Failure::invalid_usage("a worker shares its database with others; use --database postgres://…".to_owned()))
}
