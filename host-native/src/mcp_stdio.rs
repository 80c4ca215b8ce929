//! `convengine mcp`: the protocol on standard input and output, for the editor that starts the process.

use std::future::Future;
use std::time::Duration;

use convengine_access::caller::Caller;
use convengine_access::client_address::ClientAddress;
use convengine_access::scope::Scopes;
use convengine_access::security_log::COMMAND;
use convengine_host_base::exit::Failure;
use convengine_settings::Settings;
use convengine_storage::server_lock::ServerLock;
use convengine_turns::observe::SpanSender;
use convengine_turns::stream::{ClusterTasks, start_cluster};
use futures_util::future::join_all;
use rmcp::ServiceExt;

use crate::api::host::Host;
use crate::api::mcp::{Delivery, McpServer, PackPlayer};
use crate::app::spawn_background_tasks;

/// The graceful shutdown timeout.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves the process that has started this one until it closes standard input or `stop` completes. It may do everything.
///
/// # Errors
/// Exit code 2 for invalid settings, 3 if the database cannot be used, as when a server runs on it.
pub async fn serve(settings: &Settings, player: PackPlayer, stop: impl Future<Output = ()>) -> Result<(), Failure> {
    if ServerLock::is_held(&settings.database) {
        let line = format!(
            "database '{}' is in use by a running server; connect to its /mcp instead, or choose another file with --database",
            settings.database.redacted_url()
        );
        return Err(Failure::service_unavailable(line));
    }
    settings.stream.check()?;
    let (host, writer_task) = Host::start(settings, SpanSender::default()).await?;
    let _ = host.pack_player.set(player);
    let sharing = start_cluster(&host.turns, &settings.database, host.turns.cluster.is_some()).await;
    let background_tasks = spawn_background_tasks(settings, &host);
    let caller = Caller::new(COMMAND).with_scopes(Scopes::ADMIN);
    let server = McpServer::new(host.clone(), caller, ClientAddress::default(), Delivery::Anything);
    let service = async {
        // The client may end before the first request.
        if let Ok(running) = server.serve(rmcp::transport::io::stdio()).await {
            let _ = running.waiting().await;
        }
    };
    tokio::select! {
        () = service => {}
        () = stop => {}
    }
    let shutdown = async {
        host.turns.queue.drain().await;
        background_tasks.iter().for_each(|it| it.abort());
        host.turns.streams.close();
        join_all(sharing.into_iter().map(ClusterTasks::shut_down)).await;
        host.content.readers.close().await;
        host.outbound.queries.close().await;
        drop(host);
        let _ = writer_task.await;
    };
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, shutdown).await.is_err() {
        tracing::warn!("shutdown timed out after {} s with open turns", SHUTDOWN_TIMEOUT.as_secs());
    }
    Ok(())
}
