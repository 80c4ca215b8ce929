//! Builds hosts and routers, and runs the server.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::middleware::from_fn;
use axum::serve::ListenerExt;
use axum::{Extension, Router};
use futures_util::future::join_all;
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::trace::TraceLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::access::cors::Origins;
use crate::access::door::{self, Door, Tenant};
use crate::access::keys::Keys;
use crate::access::rate::Limits;
use crate::access::routes::Routes;
use crate::access::scope::Scopes;
use crate::access::tokens::Tokens;
use crate::assistant::flows::Flows;
use crate::assistant::purse::Purse;
use crate::assistant::timers;
use crate::assistant::vault::Vault;
use crate::configured::Current;
use crate::drive::Host;
use crate::exit::Failure;
use crate::fulfil::container::Containers;
use crate::fulfil::http::Http;
use crate::fulfil::llm::Models;
use crate::fulfil::sql::Queries;
use crate::gate::Gate;
use crate::http::connection::Patient;
use crate::http::document::{self, Document};
use crate::http::{
    assistant, audit, cache, conversation, conversations, error, feedback, health, journal, metrics, observed, privacy, schema, snapshots,
    stomp, stream,
};
use crate::observe::{self, Meter, Traces};
use crate::settings::{Mode, Settings, Stomp};
use crate::spend::Spend;
use crate::stream::{Sharing, Streams, share};
use crate::writer::Writer;
use crate::{follow, recover, retention, store, tls};

/// The path for sending messages.
pub const MESSAGE: &str = "/api/v1/conversation/message";

/// The path for reloading the configuration.
pub const REFRESH: &str = "/api/v1/cache/refresh";

/// The timeout for exporting the last spans at shutdown.
const FLUSH: Duration = Duration::from_secs(2);

/// The largest response in bytes that is sent uncompressed.
const SMALL: u64 = 2048;

/// The graceful shutdown timeout.
const FAREWELL: Duration = Duration::from_secs(10);

/// Returns the routes of a tenant with their required scopes and OpenAPI documentation.
pub fn routes(sse: bool, stomp: Option<&Stomp>) -> Routes {
    let routes = Routes::default()
        .told(Scopes::CONVERSE, routes!(conversation::message))
        .told(Scopes::CONVERSE, routes!(feedback::take))
        .told(Scopes::READ, routes!(conversations::list))
        .told(Scopes::READ, routes!(audit::rows))
        .told(Scopes::READ, routes!(audit::trace))
        .told(Scopes::READ, routes!(journal::read))
        .told(Scopes::ADMIN, routes!(cache::refresh))
        .told(Scopes::ADMIN, routes!(cache::analyze))
        .told(Scopes::ADMIN, routes!(schema::inspect))
        .told(Scopes::READ, routes!(metrics::numbers))
        .told(Scopes::ADMIN, routes!(snapshots::list))
        .told(Scopes::ADMIN, routes!(snapshots::activate))
        .told(Scopes::ADMIN, routes!(snapshots::rollback))
        .told(Scopes::ADMIN, routes!(privacy::delete))
        .told(Scopes::ADMIN, routes!(privacy::forget))
        .administered(routes!(assistant::flow::list))
        .administered(routes!(assistant::flow::read))
        .administered(routes!(assistant::flow::save))
        .administered(routes!(assistant::versions::validate))
        .administered(routes!(assistant::versions::publish))
        .administered(routes!(assistant::versions::list))
        .administered(routes!(assistant::versions::restore))
        .administered(routes!(assistant::deployments::create))
        .administered(routes!(assistant::secrets::keep))
        .administered(routes!(assistant::secrets::list))
        .administered(routes!(assistant::secrets::delete))
        .administered(routes!(assistant::runtime::simulator::start))
        .administered(routes!(assistant::runtime::simulator::turn))
        .administered(routes!(assistant::runtime::approvals::decide))
        .administered(routes!(assistant::runtime::look::state))
        .administered(routes!(assistant::runtime::look::trace))
        .administered(routes!(assistant::runtime::look::replay))
        .deployed(routes!(assistant::runtime::public::start))
        .deployed(routes!(assistant::runtime::public::turn));
    let routes = if sse { routes.heard(routes!(stream::events)) } else { routes };
    stomp.into_iter().fold(routes, stomp::routes)
}

/// Returns the server-wide routes that need no authentication.
pub fn open_routes() -> OpenApiRouter<Arc<Door>> {
    OpenApiRouter::default().routes(routes!(health::alive)).routes(routes!(health::ready)).routes(routes!(document::openapi))
}

/// Builds the router of a server: its own routes, with the auth gateway to its tenants as fallback.
pub fn router(door: Arc<Door>) -> Router {
    let routes = routes(door.tenants.values().any(|it| it.host.offers.sse()), None);
    let (own, documented) = open_routes().split_for_parts();
    let document = Document::of(routes.document().merge_from(documented), routes.list());
    let own = own.layer(CompressionLayer::new().compress_when(large())).layer(Extension(document));
    let own = own.method_not_allowed_fallback(error::method_not_allowed).fallback(door::enter).with_state(Arc::clone(&door));
    around(own.layer(door.cors()))
}

/// Returns which responses to compress. Event streams are excluded, because a compressor would buffer them.
fn large() -> impl Predicate {
    SizeAbove::new(SMALL).and(NotForContentType::SSE)
}

/// Builds the auth gateway with its tenants.
async fn door(settings: &Settings, reach: Reach, hosts: Vec<(Settings, Arc<Host>)>) -> Result<Door, Failure> {
    let Reach { mode, local } = reach;
    let tokens = match &settings.security.jwt {
        Some(jwt) => Some(Tokens::start(jwt).await?),
        None => None,
    };
    let listed = settings.security.origins.clone();
    let origins = listed.map_or_else(|| if local { Origins::Local } else { Origins::Listed(Vec::new()) }, Origins::Listed);
    let administrator = settings.administrator.clone();
    let mut door = Door { mode, routes: Vec::new(), tenants: BTreeMap::new(), tokens, administrator, origins };
    for (settings, host) in hosts {
        let (router, routes) = routes(host.offers.sse(), host.offers.stomp()).into_parts();
        door.routes.extend(routes.into_iter().filter(|it| !door.routes.contains(it)).collect::<Vec<_>>());
        let router = router.layer(CompressionLayer::new().compress_when(large()));
        let router = router.method_not_allowed_fallback(error::method_not_allowed).fallback(error::no_route);
        let router = router.with_state(Arc::clone(&host));
        let keys = Keys::new(settings.security.keys_recheck);
        door.tenants.insert(settings.tenant, Tenant { host, router, keys });
    }
    Ok(door)
}

/// Adds the middleware of every request: metrics, tracing and request ids.
pub fn around<S: Clone + Send + Sync + 'static>(routes: Router<S>) -> Router<S> {
    routes
        .layer(from_fn(observed::count))
        .layer(TraceLayer::new_for_http().make_span_with(span).on_failure(()))
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
}

/// Creates the log span of a request, with its request id.
fn span(request: &Request) -> tracing::Span {
    let id = request.headers().get("x-request-id").and_then(|it| it.to_str().ok());
    tracing::error_span!("request", id)
}

/// Builds a host: database, configuration and models. Configuration issues go to standard error.
///
/// Returns the host and the writer's task, which ends when the host is dropped.
///
/// # Errors
/// Returns exit code 2 for invalid settings or configuration, 3 when the database cannot be used.
pub async fn host(settings: &Settings, traces: Traces) -> Result<(Arc<Host>, JoinHandle<()>), Failure> {
    tls::install();
    let database = &settings.database;
    let meter = Meter::of(settings.tenant.as_deref());
    let models = Models::new(&settings.llm, Arc::clone(&settings.secrets))?.counted(meter.clone());
    let mut connection = store::connect_ready(database).await?;
    let current = Current::start(&mut connection, database, &settings.tree).await?;
    let readers = store::readers(database).await?;
    let vault = Vault::default();
    vault.refresh(&readers, &settings.secrets).await.map_err(|it| store::unusable(database, &it))?;
    let (writer, writer_task) = Writer::start(connection, database.clone(), meter.clone());
    let host = Host {
        current,
        readers,
        writer,
        gate: Arc::new(Gate::new(meter.clone())),
        models,
        streams: Arc::new(Streams::new(meter.clone())),
        offers: settings.stream.clone(),
        containers: Containers::at(settings.container_url.clone(), Arc::clone(&settings.secrets))?,
        http: Http::new(settings.network.clone(), Arc::clone(&settings.secrets)),
        queries: Queries::at(settings.tool_database.as_ref().unwrap_or(&database.url))?,
        file_roots: Arc::clone(&settings.file_roots),
        secrets: Arc::clone(&settings.secrets),
        vault,
        flows: Flows::default(),
        plan: settings.assistants.plan,
        workspace: settings.workspace().to_owned(),
        armed: Notify::new(),
        redaction: Arc::clone(&settings.redaction),
        turns: settings.turns,
        limits: Limits::new(settings.security.rates).with(&settings.assistants),
        spend: Arc::new(Spend::new(settings.llm.cap)),
        purse: Purse::default(),
        owner: Uuid::new_v4().to_string(),
        open: Arc::default(),
        meter,
        traces,
    };
    let host = Arc::new(host);
    host.streams.belong_to(&host);
    Ok((host, writer_task))
}

/// Runs a server until `stop` completes. Calls `listening` with the address once it accepts requests.
///
/// # Errors
/// Returns the reason when the server cannot start.
pub async fn serve(settings: &Settings, listening: impl FnOnce(SocketAddr), stop: impl Future<Output = ()>) -> Result<(), Failure> {
    settings.stream.check()?;
    let (listener, reach) = listen(settings).await?;
    let metrics_task = observe::begin();
    let (traces, export_task) = Traces::start(settings.collector.as_deref())?;
    let mut tenants = Vec::new();
    let mut writer_tasks = Vec::new();
    let tenant_settings = if settings.tenants.is_empty() { vec![settings] } else { settings.tenants.values().collect() };
    for settings in tenant_settings {
        let (host, writer) = host(settings, traces.clone()).await?;
        tenants.push((settings.clone(), host));
        writer_tasks.push(writer);
    }
    drop(traces);
    let sharing: Vec<Sharing> =
        join_all(tenants.iter().map(|(settings, host)| share(host, &settings.database))).await.into_iter().flatten().collect();
    let tenant_hosts = tenants.clone();
    let hosts: Vec<Arc<Host>> = tenants.iter().map(|it| Arc::clone(&it.1)).collect();
    let router = router(Arc::new(door(settings, reach, tenants).await?));
    let address = listener.local_addr().map_err(|it| Failure::service(format!("cannot listen on {}: {it}", settings.listen)))?;
    let (stop_server, stopped) = oneshot::channel::<()>();
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    let server = axum::serve(Patient(listener).tap_io(|_| ()), service).with_graceful_shutdown(async {
        let _ = stopped.await;
    });
    let server = tokio::spawn(server.into_future());
    listening(address);
    let background_tasks: Vec<JoinHandle<()>> = tenant_hosts.into_iter().flat_map(|(settings, host)| watches(&settings, &host)).collect();
    stop.await;
    drop(stop_server);
    // Drain turns first, which may outlive their clients, then streams, then connections waiting for a response.
    let shutdown = async {
        join_all(hosts.iter().map(|it| it.gate.drain())).await;
        // Leases of running turns are renewed until here.
        background_tasks.iter().for_each(JoinHandle::abort);
        hosts.iter().for_each(|it| it.streams.close());
        join_all(hosts.iter().map(|it| it.streams.left())).await;
        join_all(sharing.into_iter().map(Sharing::end)).await;
        let _ = server.await;
        for host in hosts {
            host.readers.close().await;
            host.queries.close().await;
        }
        join_all(writer_tasks).await;
        if let Some(export_task) = export_task {
            // An unreachable collector must not use up the shutdown timeout.
            let _ = tokio::time::timeout(FLUSH, export_task).await;
        }
        metrics_task.abort();
    };
    if tokio::time::timeout(FAREWELL, shutdown).await.is_err() {
        tracing::warn!("shutdown timed out after {} s with open turns or connections", FAREWELL.as_secs());
    }
    Ok(())
}

/// Spawns the background tasks of a tenant.
fn watches(settings: &Settings, host: &Arc<Host>) -> Vec<JoinHandle<()>> {
    let mut tasks = vec![recover::watch(Arc::clone(host))];
    tasks.extend(settings.assistants.timers.then(|| timers::watch(Arc::clone(host))));
    tasks.extend(settings.follow.then(|| follow::watch(Arc::clone(host))));
    tasks.extend((!settings.retention.is_off()).then(|| retention::watch(Arc::clone(host), settings.retention)));
    tasks
}

/// The exposure of a server and its authentication mode.
#[derive(Debug, Clone, Copy)]
struct Reach {
    mode: Mode,
    /// Whether it is reachable only from this machine and needs no authentication.
    local: bool,
}

async fn listen(settings: &Settings) -> Result<(TcpListener, Reach), Failure> {
    let at = &settings.listen;
    let failed = |it: std::io::Error| Failure::service(format!("cannot listen on {at}: {it}; choose another address with --listen"));
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host(at)
        .await
        .map_err(|it| Failure::usage(format!("invalid address '{at}': {it}; use --listen HOST:PORT")))?
        .collect();
    let loopback = addresses.iter().all(|it| it.ip().is_loopback());
    let Some(mode) = settings.security.mode.or(loopback.then(Mode::default)) else {
        let line = format!(
            "'{at}' is reachable from other machines without authentication; create a key with 'convengine key create' and add --set \
             convengine.security.mode=keys, or allow anonymous access with --set convengine.security.mode=none"
        );
        return Err(Failure::usage(line));
    };
    let listener = TcpListener::bind(addresses.as_slice()).await.map_err(failed)?;
    Ok((listener, Reach { mode, local: loopback && mode.is_none() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use std::collections::BTreeSet;

    /// The paths of a router, from its debug output, without fallbacks.
    fn paths<S>(routes: &Router<S>) -> BTreeSet<String> {
        let shown = format!("{routes:?}");
        let paths = shown.split('"').filter(|it| it.starts_with('/') && *it != "/" && !it.contains("__private__axum_fallback"));
        paths.map(str::to_owned).collect()
    }

    #[test]
    fn every_route_is_in_the_document_and_nothing_else() {
        for streams in [true, false] {
            let of = |routes: Routes| {
                let (open, open_document) = open_routes().split_for_parts();
                let document = document::whole(routes.document().merge_from(open_document), routes.list());
                let documented = document["paths"].as_object().map(|it| it.keys().cloned().collect()).unwrap_or_default();
                (&paths(&routes.into_parts().0) | &paths(&open), documented)
            };
            let (routed, documented): (_, BTreeSet<String>) = of(routes(streams, None));
            assert_eq!(routed, documented);
            assert!([MESSAGE, REFRESH, "/openapi.json"].iter().all(|it| documented.contains(*it)));
            let (routed, documented) = of(routes(streams, None).stream("/unsaid", get(metrics::numbers)));
            assert!(routed.contains("/unsaid") && !documented.contains("/unsaid"), "an undocumented route is detected");
        }
    }
}
