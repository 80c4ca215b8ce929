//! Builds hosts and routers, and runs the server.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::extract::Request;
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::{Extension, Router};
use futures_util::future::join_all;
use tokio::sync::{Notify, broadcast, oneshot};
use tokio::task::JoinHandle;
use tower::ServiceBuilder;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::trace::TraceLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::api::connection::{LimitedListener, Peer, exchange};
use crate::api::mcp::PackPlayer;
use crate::api::openapi::{self, ApiDocument};
use crate::api::stomp::outbox::XhrSessions;
use crate::api::{
    assistant, audit, cache, conversation, conversations, db_schema, error, feedback, health, journal, json_schemas, mcp, mcp_servers,
    metrics, privacy, request_metrics, response_headers, security_log, snapshots, stomp, stream,
};
use crate::auth::auth_gateway::{self, AuthGateway, TenantRoutes};
use crate::auth::connection_share::ConnectionShare;
use crate::auth::credential_check;
use crate::auth::credential_watch::OpenCredentials;
use crate::auth::exposure::{self, Exposure};
use crate::auth::guessing::GuessThrottle;
use crate::auth::host_names::{self, OwnHosts};
use crate::auth::identity::UserVerifier;
use crate::auth::keys::ApiKeyCache;
use crate::auth::known_credentials::{KnownCredentials, LookupLimit};
use crate::auth::rate::RateLimits;
use crate::auth::routes::Routes;
use crate::auth::scope::Scopes;
use crate::auth::tokens::TokenVerifier;
use crate::blocking_share::BlockingShare;
use crate::clock::TurnClock;
use crate::config::active::ConfigManager;
use crate::config::settings::{HttpSettings, Runtime, Settings, StompSettings};
use crate::config::stored_snapshot::StoredSnapshot;
use crate::config::watch;
use crate::effects::container::Containers;
use crate::effects::http::HttpClient;
use crate::effects::llm::Models;
use crate::effects::mcp::McpClients;
use crate::effects::script;
use crate::effects::sql::ToolDatabase;
use crate::exit::Failure;
use crate::ops::observe::{self, Meter, SpanSender};
use crate::ops::retention;
use crate::runtime::assistant::flow_cache::FlowCache;
use crate::runtime::assistant::knowledge::{KnowledgeBases, embedding, indexing};
use crate::runtime::assistant::phrase_vectors::PhraseVectorCache;
use crate::runtime::assistant::secret_store::SecretStore;
use crate::runtime::assistant::timers::{self, FiringSessions};
use crate::runtime::assistant::version_cache::VersionCache;
use crate::runtime::chain::schedule;
use crate::runtime::connectivity::Connectivity;
use crate::runtime::leases;
use crate::runtime::processor_share::ProcessorShare;
use crate::runtime::recovery;
use crate::runtime::restate::Ingress;
use crate::runtime::stop_signals::StopSignals;
use crate::runtime::stream::{ClusterTasks, Streams};
use crate::runtime::turn_queue::TurnQueue;
use crate::runtime::turn_runner::Host;
use crate::runtime::writer::Writer;
use crate::storage;
use crate::storage::assistant::draft;
use crate::storage::server_lock::ServerLock;
use crate::tenants::{self, RunningTenant, Tenants, start_all};

/// The path for sending messages.
pub const MESSAGE_PATH: &str = "/api/v1/conversation/message";

/// The path for reloading the configuration.
pub const REFRESH_PATH: &str = "/api/v1/cache/refresh";

/// The timeout for exporting the last spans at shutdown.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// The largest response in bytes that is sent uncompressed.
const MAX_UNCOMPRESSED_BYTES: u64 = 2048;

/// The number of session changes that a waiting client may fall behind.
const SESSION_CHANGES: usize = 256;

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
        .routes(routes!(mcp::metadata::of_server))
        .routes(routes!(mcp::metadata::of_mcp))
        .routes(routes!(json_schemas::list))
        .routes(routes!(json_schemas::read))
}

/// Builds the router of a server: its own routes, with the auth gateway to its tenants as fallback. `sse` tells whether a tenant has event
/// streams. Refuses requests to other hosts.
pub fn build_router(gateway: Arc<AuthGateway>, hosts: OwnHosts, http: &HttpSettings, sse: bool) -> Router {
    let routes = tenant_routes(sse, None);
    let (own, documented) = open_routes().split_for_parts();
    let document = ApiDocument::new(routes.openapi().merge_from(documented), routes.list().to_vec());
    let own = own
        .layer(map_response(error::render))
        .layer(CompressionLayer::new().compress_when(compression_predicate()))
        .layer(Extension(document));
    let own = own.method_not_allowed_fallback(error::method_not_allowed).fallback(auth_gateway::handle).with_state(Arc::clone(&gateway));
    let own = own.layer(gateway.cors_layer()).layer(from_fn_with_state(Arc::new(hosts), host_names::refuse_other_hosts));
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
    let id = request.headers().get("x-request-id").and_then(|it| it.to_str().ok());
    tracing::error_span!("request", id)
}

/// Builds a host: database, configuration and models. Configuration issues go to standard error.
///
/// Returns the host and the writer's task, which ends when the host is dropped.
///
/// # Errors
/// Returns exit code 2 for invalid settings or configuration, 3 when the database cannot be used.
pub async fn build_host(settings: &Settings, traces: SpanSender) -> Result<(Arc<Host>, JoinHandle<()>), Failure> {
    crate::crypto::install_crypto_provider();
    let database = &settings.database;
    let meter = Meter::for_tenant(settings.tenant.as_deref());
    meter.create_counters();
    let models = Models::new(&settings.llm, Arc::clone(&settings.secrets))?.with_meter(meter.clone());
    let mut connection = storage::connect_or_create(database).await?;
    // Once the file exists, and before anything in it is changed.
    let server_lock = ServerLock::acquire(database)?;
    database.report_loose_files();
    let current = ConfigManager::load(&mut connection, database, &settings.tree).await?;
    let knowledge = KnowledgeBases::new(database, &mut connection, &models, settings.assistants.search_memory)
        .await
        .map_err(|it| storage::database_failure(database, &it))?;
    let readers = storage::open_sized_pool(database, settings.pool_sizes, meter.clone()).await?;
    let secret_store = SecretStore::open(settings, &readers).await?;
    secret_store.refresh(&readers, &settings.secrets).await.map_err(|it| storage::database_failure(database, &it))?;
    let credentials = KnownCredentials::read(&readers).await;
    let credentials = credentials.map_err(|it| storage::database_failure(database, &it))?;
    let (writer, writer_task) = Writer::start(connection, database, &meter);
    let shortest_lease = settings.turns.lease.min(settings.chains.lease);
    let connectivity = Arc::new(Connectivity::new(readers.is_shared(), shortest_lease));
    let host = Host {
        config_manager: current,
        stored_snapshot: StoredSnapshot::default(),
        server_lock,
        readers,
        writer,
        clock: TurnClock::new(settings.tenant.is_some()),
        ingress: build_ingress(settings)?,
        turn_queue: Arc::new(TurnQueue::new(settings.turns.max_duration, settings.turns.max_background, meter.clone())),
        models,
        streams: Arc::new(Streams::new(meter.clone())),
        xhr_sessions: XhrSessions::default(),
        stream_settings: settings.stream.clone(),
        containers: Containers::new(settings.container_url.clone(), Arc::clone(&settings.secrets))?,
        http: HttpClient::new(settings.network.clone(), Arc::clone(&settings.secrets)),
        mcp: McpClients::new(
            Arc::clone(&settings.mcp_commands),
            Arc::clone(&settings.secrets),
            Arc::clone(&settings.redaction),
            settings.tenant.clone(),
        ),
        queries: ToolDatabase::from_url(settings.tool_database.as_ref().unwrap_or(&database.url))?,
        file_roots: Arc::clone(&settings.file_roots),
        secrets: Arc::clone(&settings.secrets),
        secret_store,
        flows: FlowCache::default(),
        versions: VersionCache::default(),
        knowledge,
        phrase_vectors: PhraseVectorCache::new(settings.assistants.search_memory),
        plan: settings.assistants.plan,
        eval_pass_threshold: settings.assistants.eval_pass_threshold,
        workspace: settings.workspace().to_owned(),
        chain_settings: settings.chains.clone(),
        webhook_lookups: LookupLimit::default(),
        firing: FiringSessions::default(),
        stop_signals: StopSignals::default(),
        fires_timers: settings.assistants.timers,
        timer_armed: Notify::new(),
        session_changes: broadcast::Sender::new(SESSION_CHANGES),
        blocking: BlockingShare::new(settings.share.blocking_threads),
        database_capacity: settings.database_capacity,
        redaction: Arc::clone(&settings.redaction),
        turn_settings: settings.turns,
        credentials,
        open_credentials: OpenCredentials::default(),
        rate_limits: RateLimits::new(settings.security.rates).with_assistants(&settings.assistants),
        spend_cap: settings.llm.cap,
        owner: Uuid::new_v4().to_string(),
        open_turns: Arc::default(),
        processor_share: ProcessorShare::default(),
        connectivity,
        meter,
        traces,
        pack_player: OnceLock::new(),
    };
    let host = Arc::new(host);
    host.streams.attach_host(&host);
    Ok((host, writer_task))
}

/// Returns the client of the cluster that runs the turns, unless this process does.
fn build_ingress(settings: &Settings) -> Result<Option<Ingress>, Failure> {
    if settings.runtime == Runtime::Database {
        return Ok(None);
    }
    if !settings.database.is_postgres() {
        let reason = "--runtime restate: the workers need the database, too; use --database postgres://…";
        return Err(Failure::invalid_usage(reason.to_owned()));
    }
    let found = Ingress::from_settings(settings)?;
    let missing = || Failure::invalid_usage("--runtime restate: set convengine.restate.ingress to the addresses of the cluster".to_owned());
    found.ok_or_else(missing).map(Some)
}

/// Runs a server until `stop` completes. Calls `listening` with the address once it accepts requests.
///
/// # Errors
/// Returns the reason when the server cannot start.
pub async fn serve(
    settings: &Settings,
    player: PackPlayer,
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
        let (traces, users) = (traces.clone(), users.clone());
        async move { start_tenant(&settings, traces, player, users).await }
    };
    let starting = start_all(settings, &tenants, start).await?;
    let own_hosts = exposure.hosts.clone();
    let key_refresh = tokens.clone().map(TokenVerifier::spawn_refresh);
    let gateway = build_gateway(settings, exposure, Arc::clone(&tenants), tokens);
    let sse = settings.each_tenant().any(|it| it.stream.is_sse_enabled());
    let router = build_router(Arc::new(gateway), own_hosts, &settings.http, sse);
    let address =
        listener.local_addr().map_err(|it| Failure::service_unavailable(format!("cannot listen on {}: {it}", settings.listen)))?;
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
        join_all(running.iter().map(|it| it.host.turn_queue.drain())).await;
        // Leases of running turns are renewed until here.
        join_all(running.iter_mut().map(RunningTenant::stop_background)).await;
        running.iter().for_each(|it| it.host.streams.close());
        join_all(running.iter().map(|it| it.host.streams.wait_for_connections())).await;
        join_all(running.iter_mut().filter_map(|it| it.cluster.take()).map(ClusterTasks::shut_down)).await;
        let _ = server.await;
        let mut writer_tasks = Vec::new();
        for RunningTenant { host, writer, .. } in running {
            host.readers.close().await;
            host.queries.close().await;
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
    let mut tasks =
        vec![spawn_interpreter(Arc::clone(host)), recovery::spawn(Arc::clone(host)), indexing::spawn_indexing(Arc::clone(host))];
    tasks.extend(leases::spawn(Arc::clone(host)));
    tasks.push(credential_check::spawn_check(Arc::clone(host), settings.security.keys_recheck));
    tasks.extend(embedding::spawn_embedding(Arc::clone(host)));
    tasks.push(timers::spawn_measurement(Arc::clone(host)));
    tasks.push(schedule::spawn_measurement(Arc::clone(host)));
    tasks.extend(settings.assistants.timers.then(|| timers::spawn_timers(Arc::clone(host))));
    tasks.extend(settings.assistants.timers.then(|| schedule::spawn(Arc::clone(host))));
    tasks.extend(settings.watch_config.then(|| watch::spawn(Arc::clone(host))));
    tasks.push(retention::spawn(Arc::clone(host), settings.retention));
    tasks
}

/// Compiles the interpreter of scripts if a document has any.
fn spawn_interpreter(host: Arc<Host>) -> JoinHandle<()> {
    tokio::spawn(async move {
        match draft::has_scripts(&host.readers).await {
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
        let paths = shown.split('"').filter(|it| it.starts_with('/') && *it != "/" && !it.contains("__private__axum_fallback"));
        paths.map(str::to_owned).collect()
    }

    #[test]
    fn the_document_lists_exactly_the_routes() {
        for streams in [true, false] {
            let of = |routes: Routes| {
                let (open, open_document) = open_routes().split_for_parts();
                let document = openapi::build_document(routes.openapi().merge_from(open_document), routes.list());
                let documented = document["paths"].as_object().map(|it| it.keys().cloned().collect()).unwrap_or_default();
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
