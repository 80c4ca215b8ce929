//! Builds routers, and runs the server.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::{Extension, Router};
use convengine_access::connection_share::ConnectionShare;
use convengine_access::credential_check;
use convengine_access::exposure::{self, Exposure};
use convengine_access::guessing::GuessThrottle;
use convengine_access::host_names::{self, OwnHosts};
use convengine_access::identity::UserVerifier;
use convengine_access::keys::ApiKeyCache;
use convengine_access::scope::Scopes;
use convengine_access::tokens::TokenVerifier;
use convengine_content::config::watch;
use convengine_content::knowledge::{embedding, indexing};
use convengine_effects::script;
use convengine_host_base::exit::Failure;
use convengine_settings::{HttpSettings, Settings, StompSettings};
use convengine_storage::Pool;
use convengine_storage::assistant::draft;
use convengine_turns::chain::schedule;
use convengine_turns::leases;
use convengine_turns::observe::SpanSender;
use convengine_turns::recovery;
use convengine_turns::stream::ClusterTasks;
use convengine_turns::timers;
use futures_util::future::join_all;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tower::ServiceBuilder;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::trace::TraceLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::connection::{LimitedListener, Peer, exchange};
use crate::api::host::Host;
use crate::api::mcp::PackPlayer;
use crate::api::openapi::{self, ApiDocument};
use crate::api::routes::Routes;
use crate::api::{
    assistant, audit, cache, conversation, conversations, db_schema, error, feedback, journal, json_schemas, mcp, mcp_servers, metrics,
    privacy, request_metrics, response_headers, security_log, snapshots, stomp, stream,
};
use crate::auth::auth_gateway::{self, AuthGateway, TenantRoutes};
use crate::auth::{health, mcp_metadata};
use crate::ops::observe;
use crate::ops::retention;
use crate::tenants::{self, RunningTenant, Tenants, start_all};

/// The path for sending messages.
pub const MESSAGE_PATH: &str = "/api/v1/conversation/message";

/// The path for reloading the configuration.
pub const REFRESH_PATH: &str = "/api/v1/cache/refresh";

/// The timeout for exporting the last spans at shutdown.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// The largest response in bytes that is sent uncompressed.
const MAX_UNCOMPRESSED_BYTES: u64 = 2048;

/// The graceful shutdown timeout.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the routes of a tenant with their required scopes and OpenAPI documentation.
pub fn tenant_routes(sse: bool, stomp: Option<&StompSettings>) -> Routes {
    let routes = Routes::default()
        .add(Scopes::CONVERSE, routes!(conversation::message))
        .add(Scopes::CONVERSE, routes!(feedback::submit))
        .add(Scopes::READ, routes!(conversations::list))
        .add(Scopes::READ, routes!(audit::rows))
        .add(Scopes::READ, routes!(audit::trace))
        .add(Scopes::READ, routes!(journal::read))
        .add(Scopes::LISTEN, routes!(mcp::http::post))
        .add(Scopes::ADMIN, routes!(cache::refresh))
        .add(Scopes::ADMIN, routes!(cache::analyze))
        .add(Scopes::ADMIN, routes!(db_schema::inspect))
        .add(Scopes::READ, routes!(metrics::render))
        .add_admin(routes!(mcp_servers::list))
        .add_admin(routes!(mcp_servers::tools))
        .add_admin(routes!(mcp_servers::approve, mcp_servers::withdraw))
        .add_admin(routes!(mcp_servers::call))
        .add(Scopes::ADMIN, routes!(snapshots::list))
        .add(Scopes::ADMIN, routes!(snapshots::activate))
        .add(Scopes::ADMIN, routes!(snapshots::rollback))
        .add(Scopes::ADMIN, routes!(privacy::delete))
        .add(Scopes::ADMIN, routes!(privacy::forget))
        .add_admin(routes!(security_log::list));
    let routes = assistant::routes::add_all(routes);
    let routes = if sse { routes.add_stream(routes!(stream::events)) } else { routes };
    stomp.into_iter().fold(routes, stomp::socket::add_routes)
}

/// Returns the server-wide routes that need no authentication.
pub fn open_routes() -> OpenApiRouter<Arc<AuthGateway>> {
    OpenApiRouter::default()
        .routes(routes!(health::alive))
        .routes(routes!(health::ready))
        .routes(routes!(openapi::openapi))
        .routes(routes!(mcp_metadata::of_server))
        .routes(routes!(mcp_metadata::of_mcp))
        .routes(routes!(json_schemas::list))
        .routes(routes!(json_schemas::read))
}

/// Builds the router of a server: its own routes and those of the program, with the auth gateway to its tenants as fallback. `sse` tells
/// whether a tenant has event streams. Refuses requests to other hosts.
pub fn build_router(gateway: Arc<AuthGateway>, hosts: OwnHosts, http: &HttpSettings, sse: bool, more: Router) -> Router {
    let routes = tenant_routes(sse, None);
    let (own, documented) = open_routes().split_for_parts();
    let document = ApiDocument::new(routes.openapi().merge_from(documented), routes.list().to_vec());
    let own = own
        .layer(map_response(error::render))
        .layer(CompressionLayer::new().compress_when(compression_predicate()))
        .layer(Extension(document));
    let own = own.method_not_allowed_fallback(error::method_not_allowed).fallback(auth_gateway::handle).with_state(Arc::clone(&gateway));
    let own = own.merge(more).layer(gateway.cors_layer()).layer(from_fn_with_state(Arc::new(hosts), host_names::refuse_other_hosts));
    with_middleware(own).layer(from_fn_with_state(http.body_timeout, exchange::follow))
}

/// Returns which responses to compress. Event streams, also those of SockJS, are excluded, because a compressor would buffer them.
fn compression_predicate() -> impl Predicate {
    SizeAbove::new(MAX_UNCOMPRESSED_BYTES).and(NotForContentType::SSE).and(NotForContentType::const_new("application/javascript"))
}

/// Builds the auth gateway to these tenants, of which none needs to have started.
fn build_gateway(
    settings: &Settings,
    exposure: Exposure,
    tenants: Arc<Tenants<TenantRoutes>>,
    tokens: Option<Arc<TokenVerifier>>,
) -> AuthGateway {
    let Exposure { access, origins, .. } = exposure;
    let (admin_token, trusted_proxies) = (settings.admin_token.clone(), settings.http.trusted_proxies.clone());
    let guesses = Arc::new(GuessThrottle::new(settings.security.guessing));
    let routes = Vec::new();
    let mut gateway = AuthGateway { access, routes, tenants, tokens, admin_token, origins, trusted_proxies, guesses };
    for settings in settings.each_tenant() {
        let (_, routes) = tenant_routes(settings.stream.is_sse_enabled(), settings.stream.stomp()).into_parts();
        gateway.routes.extend(routes.into_iter().filter(|it| !gateway.routes.contains(it)).collect::<Vec<_>>());
    }
    gateway
}

/// Starts a tenant of a server.
async fn start_tenant(
    settings: &Settings,
    traces: SpanSender,
    player: PackPlayer,
    tokens: Option<Arc<TokenVerifier>>,
) -> Result<(TenantRoutes, RunningTenant), Failure> {
    let mut tenant = RunningTenant::start(settings, traces, false).await?;
    let host = Arc::clone(&tenant.host);
    let _ = host.pack_player.set(player);
    tenant.background = spawn_background_tasks(settings, &host);
    let (router, _) = tenant_routes(settings.stream.is_sse_enabled(), settings.stream.stomp()).into_parts();
    let router = router.layer(map_response(error::render)).layer(CompressionLayer::new().compress_when(compression_predicate()));
    let router = router.method_not_allowed_fallback(error::method_not_allowed).fallback(error::no_route);
    let router = router.with_state(Arc::clone(&host));
    let keys = ApiKeyCache::new(settings.security.keys_recheck);
    let connections = ConnectionShare::new(settings.share.connections);
    let users = UserVerifier::new(tokens, settings.tenant.clone());
    Ok((TenantRoutes { host, router, keys, users, connections }, tenant))
}

/// Adds the middleware of every request: metrics, tracing, request ids and headers for browsers.
pub fn with_middleware<S: Clone + Send + Sync + 'static>(routes: Router<S>) -> Router<S> {
    // As one layer, the outermost first: the router boxes and clones each of its layers for each request.
    let layers = ServiceBuilder::new()
        .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(TraceLayer::new_for_http().make_span_with(request_span).on_failure(()))
        .layer(from_fn(request_metrics::record_request));
    routes.layer(layers).layer(map_response(response_headers::add))
}

/// Creates the log span of a request, with its request id.
fn request_span(request: &Request) -> tracing::Span {
    let id = request.headers().get("x-request-id").and_then(|value| value.to_str().ok());
    tracing::error_span!("request", id)
}

/// Is called with a tenant.
pub type TenantCallback = Arc<dyn Fn(&Arc<Host>) + Send + Sync>;

/// What a program adds to the server.
pub struct Server {
    /// Plays packs for callers of the Model Context Protocol.
    pub player: PackPlayer,
    /// Routes beside those of the server, which take precedence over the page; they need no key.
    pub routes: Router,
    /// Is called with each tenant that has started.
    pub started: TenantCallback,
}

impl Server {
    /// A server that the program adds nothing to.
    pub fn new(player: PackPlayer) -> Self {
        Self { player, routes: Router::new(), started: Arc::new(|_| ()) }
    }
}

/// Runs a server until `stop` completes. Calls `listening` with the address once it accepts requests.
///
/// # Errors
/// Returns the reason when the server cannot start.
pub async fn serve(
    settings: &Settings,
    Server { player, routes, started }: Server,
    listening: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    settings.stream.check()?;
    let (listener, exposure) = exposure::listen(settings).await?;
    let metrics_task = observe::start_recording();
    let (traces, export_task) = SpanSender::start(settings.otlp_endpoint.as_deref())?;
    let tenants = Arc::new(Tenants::new(settings.each_tenant()));
    let tokens = match &settings.security.jwt {
        Some(jwt) => Some(Arc::new(TokenVerifier::new(jwt).await?)),
        None => None,
    };
    let users = tokens.clone();
    let start = move |settings: Arc<Settings>| {
        let (traces, users, started) = (traces.clone(), users.clone(), Arc::clone(&started));
        async move {
            let tenant = start_tenant(&settings, traces, player, users).await?;
            started(&tenant.1.host);
            Ok(tenant)
        }
    };
    let starting = start_all(settings, &tenants, start).await?;
    let own_hosts = exposure.hosts.clone();
    let key_refresh = tokens.clone().map(TokenVerifier::spawn_refresh);
    let gateway = build_gateway(settings, exposure, Arc::clone(&tenants), tokens);
    let sse = settings.each_tenant().any(|it| it.stream.is_sse_enabled());
    let router = build_router(Arc::new(gateway), own_hosts, &settings.http, sse, routes);
    let address =
        listener.local_addr().map_err(|error| Failure::service_unavailable(format!("cannot listen on {}: {error}", settings.listen)))?;
    let (stop_server, stopped) = oneshot::channel::<()>();
    let service = router.into_make_service_with_connect_info::<Peer>();
    let server = axum::serve(LimitedListener::new(listener, settings.http.clone()), service).with_graceful_shutdown(async {
        let _ = stopped.await;
    });
    let server = tokio::spawn(server.into_future());
    listening(address);
    let own_tasks: Vec<JoinHandle<()>> = std::iter::once(tenants::watch(tenants)).chain(key_refresh).collect();
    stop.await;
    drop(stop_server);
    // Drain turns first, which may outlive their clients, then streams, then connections waiting for a response.
    let shutdown = async {
        own_tasks.iter().for_each(JoinHandle::abort);
        join_all(own_tasks).await;
        let mut running = starting.finish().await;
        join_all(running.iter().map(|it| it.host.turns.queue.drain())).await;
        // Leases of running turns are renewed until here.
        join_all(running.iter_mut().map(RunningTenant::stop_background)).await;
        running.iter().for_each(|it| it.host.turns.streams.close());
        join_all(running.iter().map(|it| it.host.turns.streams.wait_for_connections())).await;
        join_all(running.iter_mut().filter_map(|it| it.cluster.take()).map(ClusterTasks::shut_down)).await;
        let _ = server.await;
        let mut writer_tasks = Vec::new();
        for RunningTenant { host, writer, .. } in running {
            host.content.readers.close().await;
            host.outbound.queries.close().await;
            writer_tasks.push(writer);
        }
        join_all(writer_tasks).await;
        if let Some(export_task) = export_task {
            // An unreachable collector must not use up the shutdown timeout.
            let _ = tokio::time::timeout(FLUSH_TIMEOUT, export_task).await;
        }
        metrics_task.abort();
    };
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, shutdown).await.is_err() {
        tracing::warn!("shutdown timed out after {} s with open turns or connections", SHUTDOWN_TIMEOUT.as_secs());
    }
    Ok(())
}

/// Spawns the background tasks of a tenant.
pub(crate) fn spawn_background_tasks(settings: &Settings, host: &Arc<Host>) -> Vec<JoinHandle<()>> {
    let (turns, content) = (&host.turns, &host.content);
    let mut tasks =
        vec![spawn_interpreter(content.readers.clone()), recovery::spawn(Arc::clone(turns)), indexing::spawn_indexing(Arc::clone(content))];
    tasks.extend(leases::spawn(Arc::clone(turns)));
    let (access, recheck) = (Arc::clone(&host.access), settings.security.keys_recheck);
    tasks.push(credential_check::spawn_check(access, content.readers.clone(), &content.connectivity, recheck));
    tasks.extend(embedding::spawn_embedding(Arc::clone(content)));
    tasks.push(timers::spawn_measurement(Arc::clone(turns)));
    tasks.push(schedule::spawn_measurement(Arc::clone(turns)));
    tasks.extend(settings.assistants.timers.then(|| timers::spawn_timers(Arc::clone(turns))));
    tasks.extend(settings.assistants.timers.then(|| schedule::spawn(Arc::clone(turns))));
    tasks.extend(settings.watch_config.then(|| watch::spawn(Arc::clone(content))));
    tasks.push(retention::spawn(Arc::clone(turns), settings.retention));
    tasks
}

/// Compiles the interpreter of scripts if a document has any.
fn spawn_interpreter(readers: Pool) -> JoinHandle<()> {
    tokio::spawn(async move {
        match draft::has_scripts(&readers).await {
            Ok(true) => script::prepare(),
            Ok(false) => {}
            Err(error) => tracing::warn!("cannot look for scripts: {error}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use std::collections::BTreeSet;

    /// The paths of a router, from its debug output, without fallbacks.
    fn route_paths<S>(routes: &Router<S>) -> BTreeSet<String> {
        let shown = format!("{routes:?}");
        let paths = shown.split('"').filter(|path| path.starts_with('/') && *path != "/" && !path.contains("__private__axum_fallback"));
        paths.map(str::to_owned).collect()
    }

    #[test]
    fn the_document_lists_exactly_the_routes() {
        for streams in [true, false] {
            let of = |routes: Routes| {
                let (open, open_document) = open_routes().split_for_parts();
                let document = openapi::build_document(routes.openapi().merge_from(open_document), routes.list());
                let documented = document["paths"].as_object().map(|paths| paths.keys().cloned().collect()).unwrap_or_default();
                (&route_paths(&routes.into_parts().0) | &route_paths(&open), documented)
            };
            let (routed, documented): (_, BTreeSet<String>) = of(tenant_routes(streams, None));
            assert_eq!(routed, documented);
            assert!([MESSAGE_PATH, REFRESH_PATH, "/openapi.json"].iter().all(|it| documented.contains(*it)));
            let (routed, documented) = of(tenant_routes(streams, None).add_undocumented_stream("/unsaid", get(metrics::render)));
            assert!(routed.contains("/unsaid") && !documented.contains("/unsaid"), "an undocumented route is detected");
        }
    }
}
