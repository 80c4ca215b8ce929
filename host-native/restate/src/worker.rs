//! The endpoint at which Restate calls this process.

use std::future::Future;
use std::time::Duration;

use convengine_host_base::exit::Failure;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::graceful::GracefulShutdown;
use restate_sdk::hyper::HyperEndpoint;
use restate_sdk::prelude::*;
use tokio::net::TcpListener;

use super::conversation::Conversation;
use super::effects::EffectService;
use super::worker_tenant::WorkerTenants;

/// How long turns may run on after the signal to stop; what is then left is continued by another worker.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// The pause after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves the endpoint until `stop` completes, and then what has begun. `identity_key` is the public key of the only cluster that may call.
///
/// # Errors
/// Returns exit code 2 for an invalid key.
pub async fn serve(
    tenants: WorkerTenants,
    listener: TcpListener,
    identity_key: Option<&str>,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let mut endpoint = Endpoint::builder().bind(Conversation::new(tenants.clone())).bind(EffectService::new(tenants));
    if let Some(key) = identity_key {
        endpoint =
            endpoint.identity_key(key).map_err(|error| Failure::invalid_usage(format!("convengine.restate.identity-key: {error}")))?;
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
                tracing::debug!(%error, "a connection from Restate closed");
            }
        });
    }
    drop(listener);
    if tokio::time::timeout(DRAIN_TIMEOUT, connections.shutdown()).await.is_err() {
        tracing::warn!("turns still ran {} s after the signal to stop; another worker continues them", DRAIN_TIMEOUT.as_secs());
    }
    Ok(())
}
