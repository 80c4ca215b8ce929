//! The router and the server.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::trace::TraceLayer;
use uuid::Uuid;

use crate::access::routes::Routes;
use crate::access::scope::Scopes;
use crate::configured::Current;
use crate::drive::Host;
use crate::exit::Failure;
use crate::fulfil::container::Containers;
use crate::fulfil::http::Http;
use crate::fulfil::llm::Models;
use crate::fulfil::sql::Queries;
use crate::gate::Gate;
use crate::http::connection::Patient;
use crate::http::{audit, cache, conversation, conversations, error, feedback, health, page, schema, stream};
use crate::settings::Settings;
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

/// The routes of a server.
pub fn router(host: Arc<Host>) -> Router {
    let (routes, _) = routes(host.offers_streams).into_parts();
    let routes = routes.route("/healthz", get(health::alive)).route("/readyz", get(health::ready));
    let routes = routes.method_not_allowed_fallback(error::method_not_allowed).fallback(page::file);
    around(routes).with_state(host)
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
    let listener = listen(settings).await?;
    let (host, writing) = host(settings).await?;
    let address = listener.local_addr().map_err(|it| Failure::service(format!("cannot listen on {}: {it}", settings.listen)))?;
    let (hang_up, hung_up) = oneshot::channel::<()>();
    let server = axum::serve(Patient(listener), router(Arc::clone(&host))).with_graceful_shutdown(async {
        let _ = hung_up.await;
    });
    let server = tokio::spawn(server.into_future());
    listening(address);
    let watching = recover::watch(Arc::clone(&host));
    stop.await;
    drop(hang_up);
    // First the turns, which may go on without their clients, and are heard to their end; then the connections that still get an
    // answer.
    let farewell = async {
        host.gate.drain().await;
        // Until then the leases of running turns are renewed.
        watching.abort();
        host.streams.close();
        let _ = server.await;
        host.readers.close().await;
        host.queries.close().await;
        drop(host);
        let _ = writing.await;
    };
    if tokio::time::timeout(FAREWELL, farewell).await.is_err() {
        tracing::warn!("turns or connections were still open after {} s", FAREWELL.as_secs());
    }
    Ok(())
}

async fn listen(settings: &Settings) -> Result<TcpListener, Failure> {
    let at = &settings.listen;
    let failed = |it: std::io::Error| Failure::service(format!("cannot listen on {at}: {it}: choose another address with --listen"));
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host(at)
        .await
        .map_err(|it| Failure::usage(format!("cannot read the address '{at}': {it}: write --listen HOST:PORT")))?
        .collect();
    if !settings.open && !addresses.iter().all(|it| it.ip().is_loopback()) {
        let line = format!("'{at}' can be reached from other machines and there are no keys yet: add --set convengine.security.mode=none");
        return Err(Failure::usage(line));
    }
    TcpListener::bind(addresses.as_slice()).await.map_err(failed)
}
