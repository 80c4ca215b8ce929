//! Runs a worker: the turns that a Restate cluster passes on.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use convengine_content::config::watch;
use convengine_host_base::exit::Failure;
use convengine_restate::{FindTenant, WorkerTenant, WorkerTenants};
use convengine_settings::Settings;
use convengine_turns::Turns;
use convengine_turns::observe::SpanSender;
use convengine_turns::stream::ClusterTasks;
use futures_util::future::join_all;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;

use crate::ops::observe;
use crate::restate::worker_health;
use crate::tenants::{self, RunningTenant, TenantService, Tenants, start_all};

/// The number of connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// Runs a worker until `stop` completes. Calls `listening` with the address once it accepts turns.
///
/// # Errors
/// Returns the reason when the worker cannot start.
pub async fn run(settings: &Settings, listening: impl FnOnce(SocketAddr), stop: impl Future<Output = ()>) -> Result<(), Failure> {
    let listener = listen(settings).await?;
    let tenants = Arc::new(Tenants::new(settings.each_tenant()));
    let health = match &settings.restate.health_listen {
        Some(at) => Some(worker_health::serve(at, settings, Arc::clone(&tenants)).await?),
        None => None,
    };
    let metrics_task = observe::start_recording();
    let (traces, _export_task) = SpanSender::start(settings.otlp_endpoint.as_deref())?;
    let start = move |settings: Arc<Settings>| {
        let traces = traces.clone();
        async move { start_tenant(&settings, traces).await }
    };
    let starting = start_all(settings, &tenants, start).await?;
    let watch_task = tenants::watch(Arc::clone(&tenants));
    let address = listener.local_addr();
    listening(address.map_err(|error| Failure::service_unavailable(format!("cannot listen: {error}")))?);
    let served = convengine_restate::serve(WorkerTenants::new(tenants), listener, settings.restate.identity_key.as_deref(), stop).await;
    watch_task.abort();
    let mut running = starting.finish().await;
    join_all(running.iter_mut().map(RunningTenant::stop_background)).await;
    join_all(running.iter_mut().filter_map(|it| it.cluster.take()).map(ClusterTasks::shut_down)).await;
    for tenant in running {
        tenant.host.content.readers.close().await;
    }
    // It answers until everything else has ended.
    health.iter().for_each(JoinHandle::abort);
    metrics_task.abort();
    served
}

/// Starts a tenant of a worker.
async fn start_tenant(settings: &Settings, traces: SpanSender) -> Result<(WorkerTenant, RunningTenant), Failure> {
    let mut tenant = RunningTenant::start(settings, traces, true).await?;
    tenant.background.extend(settings.watch_config.then(|| watch::spawn(Arc::clone(&tenant.host.content))));
    Ok((WorkerTenant::new(settings, Arc::clone(&tenant.host.turns)), tenant))
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
            "anyone who can reach {address} could run turns; set convengine.restate.identity-key to the public key of the cluster"
        )));
    }
    if !settings.tenants.is_empty() || settings.database.is_postgres() {
        return Ok(listener);
    }
    Err(Failure::invalid_usage("a worker shares its database with others; use --database postgres://…".to_owned()))
}

impl TenantService for WorkerTenant {
    fn turns(&self) -> &Arc<Turns> {
        &self.turns
    }
}

impl FindTenant for Tenants<WorkerTenant> {
    fn find(&self, tenant: Option<&str>) -> Option<WorkerTenant> {
        self.get(tenant).cloned()
    }

    fn contains(&self, tenant: Option<&str>) -> bool {
        Tenants::contains(self, tenant)
    }
}
