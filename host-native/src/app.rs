//! The router and the server.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::routing::get;
use axum::serve::ListenerExt;
use futures_util::future::join_all;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::trace::TraceLayer;
use uuid::Uuid;

use crate::access::cors::Origins;
use crate::access::door::{self, Door, Tenant};
use crate::access::keys::Keys;
use crate::access::rate::Limits;
use crate::access::routes::Routes;
use crate::access::scope::Scopes;
use crate::access::tokens::Tokens;
use crate::configured::Current;
use crate::drive::Host;
use crate::exit::Failure;
use crate::fulfil::container::Containers;
use crate::fulfil::http::Http;
use crate::fulfil::llm::Models;
use crate::fulfil::sql::Queries;
use crate::gate::Gate;
use crate::http::connection::Patient;
use crate::http::{audit, cache, conversation, conversations, error, feedback, health, schema, stream};
use crate::settings::{Mode, Settings};
use crate::spend::Spend;
use crate::stream::Streams;
use crate::writer::Writer;
use crate::{recover, store, tls};

/// Where messages are sent.
pub const MESSAGE: &str = "/api/v1/conversation/message";

/// Where the authors' rows are read again.
pub const REFRESH: &str = "/api/v1/cache/refresh";

/// How long running turns may go on when the server stops.
const FAREWELL: Duration = Duration::from_secs(10);

/// The routes of a tenant, each with the scopes of which its callers need one.
pub fn routes(offers_streams: bool) -> Routes {
    let routes = Routes::default()
        .post(Scopes::CONVERSE, MESSAGE, conversation::message)
        .post(Scopes::CONVERSE, "/api/v1/conversation/feedback", feedback::take)
        .get(Scopes::READ, "/api/v1/conversation", conversations::list)
        .get(Scopes::READ, "/api/v1/conversation/audit/{id}", audit::rows)
        .get(Scopes::READ, "/api/v1/conversation/audit/{id}/trace", audit::trace)
        .post(Scopes::ADMIN, REFRESH, cache::refresh)
        .get(Scopes::ADMIN, "/api/v1/cache/analyze", cache::analyze)
        .get(Scopes::ADMIN, "/api/v1/db/inspect-schema", schema::inspect);
    if offers_streams { routes.stream("/api/v1/conversation/stream/{id}", get(stream::events)) } else { routes }
}

/// The routes of a server: its own, and behind its door those of its tenants.
pub fn router(door: Arc<Door>) -> Router {
    let own = Router::new().route("/healthz", get(health::alive)).route("/readyz", get(health::ready));
    let own = own.method_not_allowed_fallback(error::method_not_allowed).fallback(door::enter).with_state(Arc::clone(&door));
    around(own.layer(door.origins.layer()))
}

/// Puts tenants behind a door, each with its settings.
async fn door(settings: &Settings, reach: Reach, hosts: Vec<(Settings, Arc<Host>)>) -> Result<Door, Failure> {
    let Reach { mode, local } = reach;
    let tokens = match &settings.security.jwt {
        Some(jwt) => Some(Tokens::start(jwt).await?),
        None => None,
    };
    let listed = settings.security.origins.clone();
    let origins = listed.map_or_else(|| if local { Origins::Local } else { Origins::Listed(Vec::new()) }, Origins::Listed);
    let mut door = Door { mode, routes: Vec::new(), tenants: BTreeMap::new(), tokens, origins };
    for (settings, host) in hosts {
        let (router, routes) = routes(host.offers_streams).into_parts();
        door.routes.extend(routes.into_iter().filter(|it| !door.routes.contains(it)).collect::<Vec<_>>());
        let router = router.method_not_allowed_fallback(error::method_not_allowed).fallback(error::no_route);
        let router = router.with_state(Arc::clone(&host));
        let keys = Keys::new(settings.security.keys_recheck);
        door.tenants.insert(settings.tenant, Tenant { host, router, keys });
    }
    Ok(door)
}

/// Lays around routes what every request goes through.
pub fn around<S: Clone + Send + Sync + 'static>(routes: Router<S>) -> Router<S> {
    routes
        .layer(TraceLayer::new_for_http().make_span_with(span).on_failure(()))
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
}

/// Every line of the log about a request carries the id that its answer has.
fn span(request: &Request) -> tracing::Span {
    let id = request.headers().get("x-request-id").and_then(|it| it.to_str().ok());
    tracing::error_span!("request", id)
}

/// Prepares what turns share: database, configuration, model. Issues of the configuration go to standard error.
///
/// The task is the writer's; it ends after the last use of what turns share.
///
/// # Errors
/// Settings or configuration that do not allow a start, or a database that cannot be used.
pub async fn host(settings: &Settings) -> Result<(Arc<Host>, JoinHandle<()>), Failure> {
    tls::install();
    let place = &settings.database;
    let models = Models::new(&settings.llm, Arc::clone(&settings.secrets))?;
    let mut connection = store::connect_ready(place).await?;
    let current = Current::start(&mut connection, place, &settings.tree).await?;
    let readers = store::readers(place).await?;
    let (writer, writing) = Writer::start(connection, place.clone());
    let host = Host {
        current,
        readers,
        writer,
        gate: Arc::new(Gate::default()),
        models,
        streams: Arc::new(Streams::default()),
        offers_streams: settings.stream.sse(),
        stream_ends_after: settings.stream.ends_after,
        containers: Containers::at(settings.container_url.clone(), Arc::clone(&settings.secrets))?,
        http: Http::new(settings.network.clone(), Arc::clone(&settings.secrets)),
        queries: Queries::at(settings.tool_database.as_ref().unwrap_or(&place.url))?,
        file_roots: Arc::clone(&settings.file_roots),
        secrets: Arc::clone(&settings.secrets),
        turns: settings.turns,
        limits: Limits::new(settings.security.rates),
        spend: Arc::new(Spend::new(settings.llm.cap)),
        owner: Uuid::new_v4().to_string(),
        open: Arc::default(),
    };
    Ok((Arc::new(host), writing))
}

/// Runs a server until `stop`; calls `listening` with the address once messages can be sent.
///
/// # Errors
/// Why it could not start.
pub async fn serve(settings: &Settings, listening: impl FnOnce(SocketAddr), stop: impl Future<Output = ()>) -> Result<(), Failure> {
    settings.stream.check()?;
    let (listener, reach) = listen(settings).await?;
    let mut tenants = Vec::new();
    let mut writing = Vec::new();
    let of_tenants = if settings.tenants.is_empty() { vec![settings] } else { settings.tenants.values().collect() };
    for settings in of_tenants {
        let (host, writer) = host(settings).await?;
        tenants.push((settings.clone(), host));
        writing.push(writer);
    }
    let hosts: Vec<Arc<Host>> = tenants.iter().map(|it| Arc::clone(&it.1)).collect();
    let router = router(Arc::new(door(settings, reach, tenants).await?));
    let address = listener.local_addr().map_err(|it| Failure::service(format!("cannot listen on {}: {it}", settings.listen)))?;
    let (hang_up, hung_up) = oneshot::channel::<()>();
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    let server = axum::serve(Patient(listener).tap_io(|_| ()), service).with_graceful_shutdown(async {
        let _ = hung_up.await;
    });
    let server = tokio::spawn(server.into_future());
    listening(address);
    let watching: Vec<JoinHandle<()>> = hosts.iter().map(|it| recover::watch(Arc::clone(it))).collect();
    stop.await;
    drop(hang_up);
    // First the turns, which may go on without their clients, and are heard to their end; then the connections that still get an
    // answer.
    let farewell = async {
        join_all(hosts.iter().map(|it| it.gate.drain())).await;
        // Until then the leases of running turns are renewed.
        watching.iter().for_each(JoinHandle::abort);
        hosts.iter().for_each(|it| it.streams.close());
        let _ = server.await;
        for host in hosts {
            host.readers.close().await;
            host.queries.close().await;
        }
        join_all(writing).await;
    };
    if tokio::time::timeout(FAREWELL, farewell).await.is_err() {
        tracing::warn!("turns or connections were still open after {} s", FAREWELL.as_secs());
    }
    Ok(())
}

/// From where a server is reached, and what callers have to say there.
#[derive(Debug, Clone, Copy)]
struct Reach {
    mode: Mode,
    /// Whether nobody but this machine reaches it, and nobody has to say who they are.
    local: bool,
}

async fn listen(settings: &Settings) -> Result<(TcpListener, Reach), Failure> {
    let at = &settings.listen;
    let failed = |it: std::io::Error| Failure::service(format!("cannot listen on {at}: {it}: choose another address with --listen"));
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host(at)
        .await
        .map_err(|it| Failure::usage(format!("cannot read the address '{at}': {it}: write --listen HOST:PORT")))?
        .collect();
    let loopback = addresses.iter().all(|it| it.ip().is_loopback());
    let Some(mode) = settings.security.mode.or(loopback.then(Mode::default)) else {
        let line = format!(
            "'{at}' can be reached from other machines: make a key with `convengine key create` and add --set \
             convengine.security.mode=keys, or let everybody in with --set convengine.security.mode=none"
        );
        return Err(Failure::usage(line));
    };
    let listener = TcpListener::bind(addresses.as_slice()).await.map_err(failed)?;
    Ok((listener, Reach { mode, local: loopback && mode.is_none() }))
}
