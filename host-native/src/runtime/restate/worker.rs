//! The endpoint at which Restate calls this process.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::graceful::GracefulShutdown;
use restate_sdk::hyper::HyperEndpoint;
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use super::conversation::Conversation;
use super::effects::EffectService;
use crate::config::settings::Settings;
use crate::exit::Failure;
use crate::tenants::{TenantService, Tenants};
use crate::turns::Turns;

/// How long turns may run on after the signal to stop; what is then left is continued by another worker.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// The pause after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The settings that decide which steps a turn has. They are journaled when it begins: another attempt has the same steps, also on a worker
/// with other settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnPolicy {
    /// Whether new conversations leave rows in the database.
    pub conversation_rows: bool,
    /// How long conversations without rows are kept after their newest turn, if not without limit.
    pub retention: Option<Duration>,
    /// Whether timers are armed.
    pub fires_timers: bool,
    /// How long a turn may take.
    pub max_duration: Duration,
}

impl TurnPolicy {
    fn from_settings(settings: &Settings) -> TurnPolicy {
        TurnPolicy {
            conversation_rows: settings.restate.conversation_rows,
            retention: settings.retention.conversations.map(|days| Duration::from_hours(24) * days),
            fires_timers: settings.assistants.timers,
            max_duration: settings.turns.max_duration,
        }
    }
}

/// What a worker has for a tenant.
#[derive(Debug, Clone)]
pub struct WorkerHost {
    /// Runs its turns.
    pub turns: Arc<Turns>,
    /// The policy of turns that begin here.
    pub policy: TurnPolicy,
}

impl WorkerHost {
    /// Creates what a worker with these settings has for a tenant.
    pub fn new(settings: &Settings, turns: Arc<Turns>) -> WorkerHost {
        WorkerHost { turns, policy: TurnPolicy::from_settings(settings) }
    }
}

impl TenantService for WorkerHost {
    fn turns(&self) -> &Arc<Turns> {
        &self.turns
    }
}

/// The hosts of a worker by their tenant.
#[derive(Debug, Clone)]
pub struct WorkerHosts(Arc<Tenants<WorkerHost>>);

impl WorkerHosts {
    /// Creates the hosts of these tenants.
    pub fn new(tenants: Arc<Tenants<WorkerHost>>) -> WorkerHosts {
        WorkerHosts(tenants)
    }

    /// Returns the host of a tenant. The cluster calls again if there is none: a tenant that is down comes back, and a worker that does not
    /// know the tenant may be replaced by one that does.
    pub fn find(&self, tenant: Option<&str>) -> HandlerResult<WorkerHost> {
        let problem = if self.0.contains(tenant) { "has not started" } else { "is unknown" };
        let missing = || HandlerError::from(format!("tenant {} {problem}", tenant.unwrap_or("(none)")));
        self.0.get(tenant).cloned().ok_or_else(missing)
    }
}

/// Serves the endpoint until `stop` completes, and then what has begun. `identity_key` is the public key of the only cluster that may call.
///
/// # Errors
/// Returns exit code 2 for an invalid key.
pub async fn serve(
    hosts: WorkerHosts,
    listener: TcpListener,
    identity_key: Option<&str>,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let mut endpoint = Endpoint::builder().bind(Conversation::new(hosts.clone())).bind(EffectService::new(hosts));
    if let Some(key) = identity_key {
        endpoint = endpoint.identity_key(key).map_err(|it| Failure::invalid_usage(format!("convengine.restate.identity-key: {it}")))?;
    }
    let service = HyperEndpoint::new(endpoint.build());
    let connections = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Most likely there are too many: what has been accepted needs time to end.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Without it, each step would wait for an acknowledgement.
        let _ = stream.set_nodelay(true);
        let connection = http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service.clone());
        let connection = connections.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection of the runtime ended");
            }
        });
    }
    drop(listener);
    if tokio::time::timeout(DRAIN_TIMEOUT, connections.shutdown()).await.is_err() {
        tracing::warn!("turns still ran {} s after the signal to stop; another worker continues them", DRAIN_TIMEOUT.as_secs());
    }
    Ok(())
}
