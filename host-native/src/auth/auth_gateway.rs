//! The gateway in front of all tenants: authenticates a request, selects its tenant, checks scopes and rate limits, and dispatches it
//! to that tenant's router. Handlers behind it see a single tenant.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, Query, Request, State};
use axum::http::{Extensions, HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use convengine_access::access_mode::{AccessMode, CurrentAccess};
use convengine_access::admin_token::{is_local, is_trusted, read_credential};
use convengine_access::api_error::{ASSISTANTS_PREFIX, ApiError};
use convengine_access::caller::{Caller, read_owner};
use convengine_access::client_address::ClientAddress;
use convengine_access::connection_share::ConnectionShare;
use convengine_access::cors::{self, AllowedOrigins};
use convengine_access::credential_watch;
use convengine_access::guessing::{Guess, GuessThrottle};
use convengine_access::identity::UserVerifier;
use convengine_access::keys::{self, ApiKeyCache};
use convengine_access::rate;
use convengine_access::refusal::{self, outdated, set_challenge, unauthorized};
use convengine_access::routes::{Access, LINK_PREFIX, Route, find_route};
use convengine_access::scope::Scopes;
use convengine_access::security_log::{LoggedRequest, LoggedSubject};
use convengine_access::tokens::{TokenRejection, TokenVerifier};
use convengine_content::deployment::{self, hash_token};
use convengine_host_base::tenant_span::tenant_span;
use convengine_settings::AdminToken;
use convengine_storage::assistant::deployment::Deployment;
use convengine_turns::Turns;
use convengine_turns::resume_token;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use ipnet::IpNet;
use serde::Deserialize;
use serde_json::{Value, json};
use tower::ServiceExt;
use tower_http::cors::{AllowOrigin, CorsLayer};
use tracing::Instrument;

use crate::api::assistant::body;
use crate::api::connection::Peer;
use crate::api::host::Host;
use crate::api::mcp;
use crate::api::metrics;
use crate::api::page;
use crate::api::request_metrics::MatchedRoute;
use crate::auth::mcp_metadata;
use crate::tenants::{TenantService, Tenants};

const X_TENANT: &str = "x-tenant";

/// The path prefix of deployments.
const DEPLOYMENT_PREFIX: &str = "/v1/public/runtime/";

/// Authenticates requests and dispatches them to tenants.
#[derive(Debug)]
pub struct AuthGateway {
    /// How callers authenticate.
    pub access: AccessMode,
    /// The routes and the scopes that they require.
    pub routes: Vec<Route>,
    /// The tenants.
    pub tenants: Arc<Tenants<TenantRoutes>>,
    /// Verifies JWTs, if the settings have an issuer.
    pub tokens: Option<Arc<TokenVerifier>>,
    /// The token of the assistants administrator, if one is set.
    pub admin_token: Option<AdminToken>,
    /// The origins that may call.
    pub origins: AllowedOrigins,
    /// The proxies that report the addresses of clients.
    pub trusted_proxies: Vec<IpNet>,
    /// Counts the wrong credentials of each address.
    pub guesses: Arc<GuessThrottle>,
}

/// A tenant with its routes and API keys.
#[derive(Debug)]
pub struct TenantRoutes {
    /// The tenant's conversations.
    pub host: Arc<Host>,
    /// The tenant's router.
    pub router: Router,
    /// The tenant's API keys.
    pub keys: ApiKeyCache,
    /// Verifies who the tenant's users are.
    pub users: UserVerifier,
    /// Its share of the connections.
    pub connections: ConnectionShare,
}

impl TenantService for TenantRoutes {
    fn turns(&self) -> &Arc<Turns> {
        &self.host.turns
    }
}

/// An authorized request: its tenant, caller and scopes.
pub(super) struct AuthenticatedCall<'d> {
    pub tenant: &'d TenantRoutes,
    pub caller: Caller,
    pub scopes: Scopes,
    /// The calling deployment, on deployment routes.
    pub deployment: Option<Arc<Deployment>>,
}

/// Credentials in the query string, for clients that cannot send headers.
#[derive(Debug, Default, Deserialize)]
struct QueryCredentials {
    access_token: Option<String>,
    tenant: Option<String>,
}

/// Handles every request: dispatches tenant routes and serves the page for all other paths.
pub async fn handle(State(gateway): State<Arc<AuthGateway>>, request: Request) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let Some(route) = find_route(&gateway.routes, &method, uri.path()) else {
        let headers = request.headers().clone();
        if ![Method::GET, Method::HEAD].contains(&method) {
            // Many clients read no response before they have sent everything.
            let _ = body::read_whole(request.into_body(), 0).await;
        }
        return page::serve(&method, &uri, &headers).into_response();
    };
    let mut response = dispatch(&gateway, route, request).await;
    if uri.path().starts_with(ASSISTANTS_PREFIX) {
        // Assistant routes report rate limits even when there are none.
        rate::write_unlimited(response.headers_mut());
    }
    response.extensions_mut().insert(MatchedRoute(route.path.clone()));
    response
}

/// Returns the response of the tenant's route, or the refusal of the gateway.
async fn dispatch(gateway: &AuthGateway, route: &Route, mut request: Request) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let refuse = |it: ApiError| it.into_response();
    let peer = request.extensions().get::<ConnectInfo<Peer>>().map(|it| it.0.address.ip());
    let client = ClientAddress::find(peer, request.headers(), &gateway.trusted_proxies);
    let may_look_up = !gateway.guesses.is_throttled(client);
    let call = match gateway.authenticate(route, &method, &uri, request.headers(), peer, may_look_up).await {
        Ok(call) => call,
        Err(refusal) => {
            let refusal = gateway.guesses.count(client, refusal, &uri);
            let is_mcp = route.path == mcp::PATH && refusal.status() == StatusCode::UNAUTHORIZED;
            return refuse(if is_mcp { mcp_metadata::add_to_challenge(refusal, request.headers()) } else { refusal });
        }
    };
    let program_status = match call.check_program_limits(&uri, client).await {
        Ok(statuses) => statuses,
        Err(refusal) => return refuse(refusal),
    };
    let status = match call.check_caller_limit(&uri, client) {
        Ok(status) => status,
        Err(refusal) => return refuse(refusal),
    };
    let permit = match call.tenant.connections.acquire(&uri) {
        Ok(permit) => permit,
        Err(refusal) => return refuse(refusal),
    };
    request.extensions_mut().insert(client);
    request.extensions_mut().insert(call.tenant.users.for_client(&gateway.guesses, client));
    let caller = call.caller.with_scopes(call.scopes);
    request.extensions_mut().insert(caller.clone());
    request.extensions_mut().insert(permit.clone());
    request.extensions_mut().extend(call.deployment.map(deployment_extension).unwrap_or_default());
    let host = &call.tenant.host;
    let response = match LoggedRequest::new(&method, &route.path, &uri, &caller, client) {
        Some(logged) => match run_logged(call.tenant, logged, request, &uri).await {
            Ok(response) => response,
            Err(refusal) => return refuse(refusal),
        },
        None => {
            let Ok(response) = call.tenant.router.clone().oneshot(request).instrument(tenant_span(host.turns.meter.tenant())).await;
            response
        }
    };
    let mut response = credential_watch::end_stream_with(&host.access.open_credentials, &caller, response);
    if let AccessMode::Default { openness, .. } = &gateway.access
        && method == Method::POST
        && route.access.is_administrator()
    {
        openness.forget_lookup();
    }
    for status in program_status.into_iter().chain([status]).flatten() {
        status.write_headers(response.headers_mut());
    }
    permit.hold_during(response)
}

/// Carries out a request that is logged, to its end and with its outcome even if the client is gone.
async fn run_logged(tenant: &TenantRoutes, logged: LoggedRequest, request: Request, uri: &Uri) -> Result<Response, ApiError> {
    let (host, router) = (Arc::clone(&tenant.host), tenant.router.clone());
    logged.record_start(&host.content.readers, &host.turns.meter).await.map_err(|it| ApiError::from_database(&it, uri))?;
    let running = async move {
        let Ok(response) = router.oneshot(request).await;
        let subject = response.extensions().get::<LoggedSubject>();
        logged.record_end(&host.content.readers, &host.turns.meter, response.status(), subject).await;
        response
    };
    let ended = tokio::spawn(running.instrument(tenant_span(tenant.host.turns.meter.tenant())).in_current_span()).await;
    ended.map_err(|error| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, uri, format!("the request has failed: {error}")))
}

fn deployment_extension(deployment: Arc<Deployment>) -> Extensions {
    let mut extensions = Extensions::new();
    extensions.insert(deployment);
    extensions
}

impl AuthGateway {
    /// Authenticates and authorizes a request. Unknown credentials are looked up in the database with `may_look_up`.
    async fn authenticate(
        &self,
        route: &Route,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
        may_look_up: bool,
    ) -> Result<AuthenticatedCall<'_>, ApiError> {
        let access = self.current_access().await.map_err(|it| ApiError::from_database(&it, uri))?;
        // A foreign page may open a WebSocket, or send a SockJS message as plain text, without a preflight request.
        let is_socket = headers.contains_key(header::UPGRADE) || (route.method.is_none() && *method == Method::POST);
        // Browsers let a page of another site that resolves to this server send anything.
        let is_checked = is_socket || route.path == mcp::PATH;
        if is_checked && !access.origins.is_socket_allowed(headers) {
            let what = if is_socket { "open streams" } else { "call this path" };
            let message = format!("origin is not allowed to {what}; add it to convengine.security.cors.allowed-origins");
            return Err(ApiError::new(StatusCode::FORBIDDEN, uri, message));
        }
        match route.access {
            Access::Deployment => return self.authenticate_deployment(uri, headers, may_look_up).await,
            Access::DeploymentLink => return self.authenticate_deployment_link(uri, headers, may_look_up).await,
            Access::Signature => {
                let query = Query::<QueryCredentials>::try_from_uri(uri).map(|it| it.0).unwrap_or_default();
                let name = headers.get(X_TENANT).and_then(|value| value.to_str().ok()).map(str::to_owned).or(query.tenant);
                let tenant = self.find_tenant(name, uri)?;
                return Ok(AuthenticatedCall { tenant, caller: Caller::default(), scopes: Scopes::CONVERSE, deployment: None });
            }
            Access::ResumeToken if let Some(token) = deployment::bearer_token_with_prefix(headers, resume_token::TOKEN_PREFIX) => {
                return self.authenticate_resume_token(uri, token, may_look_up).await;
            }
            Access::Scoped | Access::Administrator | Access::ResumeToken => {}
        }
        // A foreign page that is open on this machine calls from it too.
        if access.is_local_only && !(is_local(peer, headers) && access.origins.is_socket_allowed(headers)) {
            return Err(refusal::not_this_machine(uri));
        }
        if route.access.is_administrator()
            && let Some(call) = self.authenticate_administrator(access, uri, headers, peer)?
        {
            return Ok(call);
        }
        // The tools for developers are those of the administrator.
        // Monitoring reads metrics, also while no key can be looked up.
        if route.path == mcp::PATH || route.path == metrics::PATH {
            match self.authenticate_administrator(access, uri, headers, peer) {
                Ok(Some(call)) => return Ok(call),
                // A wrong token is a guess, and not a call without one.
                Err(refusal) if self.admin_token.is_some() && read_credential(headers).is_some() => return Err(refusal),
                Ok(None) | Err(_) => {}
            }
        }
        let mut query = QueryCredentials::default();
        if route.query_credentials {
            query = Query::try_from_uri(uri).map(|it| it.0).unwrap_or_default();
        }
        if access.mode.is_none() {
            let name = headers.get(X_TENANT).and_then(|value| value.to_str().ok()).map(str::to_owned).or(query.tenant);
            let tenant = self.find_tenant(name, uri)?;
            let scopes = if route.path == mcp::PATH { Scopes::LISTEN } else { Scopes::ADMIN };
            return Ok(AuthenticatedCall { tenant, caller: Caller::default(), scopes, deployment: None });
        }
        let text = read_credential(headers).or(query.access_token).ok_or_else(|| access.missing_credentials(uri))?;
        let call = match text.starts_with(keys::PREFIX) {
            true if access.mode.keys => self.authenticate_key(&text, headers, uri, may_look_up).await,
            false if access.mode.jwt => self.authenticate_token(&text, uri).await,
            _ => Err(unauthorized(uri, Some("this kind of credential is not accepted"))),
        }?;
        if call.scopes.is_sufficient_for(route.required_scopes) {
            return Ok(call);
        }
        let message = format!("{method} on this path requires scope {}; use a key or token that has it", route.required_scopes);
        let mut refused = ApiError::new(StatusCode::FORBIDDEN, uri, message);
        let challenge = format!("Bearer realm=\"convengine\", error=\"insufficient_scope\", scope=\"{}\"", route.required_scopes.to_text());
        set_challenge(&mut refused, &challenge);
        Err(refused)
    }

    /// How callers authenticate now. Tenants whose databases do not answer are not asked, for they serve nobody.
    async fn current_access(&self) -> sqlx::Result<CurrentAccess<'_>> {
        let list_tenants = || self.tenants.reachable().map(|(name, it)| (name, &it.host.content.readers)).collect();
        self.access.current(&self.origins, list_tenants, |it| self.tenants.report_unavailable(it)).await
    }

    /// Whether an origin may call a path: the configured origins, and on deployment paths those of deployments.
    async fn is_origin_allowed(&self, origin: &str, path: &str) -> bool {
        match self.current_access().await {
            Ok(access) if access.origins.is_allowed(origin) => return true,
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "cannot look up whether there are keys or deployments"),
        }
        if ![DEPLOYMENT_PREFIX, LINK_PREFIX].iter().any(|it| path.starts_with(it)) {
            return false;
        }
        if self.tenants.values().any(|it| it.host.access.credentials.contains_origin(origin)) {
            return true;
        }
        let look_up = |tenant: &'_ TenantRoutes| {
            let host = Arc::clone(&tenant.host);
            async move { host.access.credentials.look_up_origin(&host.content.readers, origin).await }
        };
        // All at once, so that one whose database does not answer delays no other.
        let mut lookups: FuturesUnordered<_> = self.tenants.reachable().map(|it| look_up(it.1)).collect();
        while let Some(found) = lookups.next().await {
            match found {
                Ok(true) => return true,
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "cannot read the origins of deployments"),
            }
        }
        false
    }

    /// Builds the CORS layer for all tenants.
    pub fn cors_layer(self: &Arc<Self>) -> CorsLayer {
        let gateway = Arc::clone(self);
        cors::build_layer(AllowOrigin::async_predicate(move |origin, request| {
            let (path, gateway) = (request.uri.path().to_owned(), Arc::clone(&gateway));
            async move {
                match origin.to_str() {
                    Ok(origin) => gateway.is_origin_allowed(origin, &path).await,
                    Err(_) => false,
                }
            }
        }))
    }

    /// Authenticates an administrator by token, or by loopback address if authentication is off. Returns `None` if keys or tokens decide.
    fn authenticate_administrator(
        &self,
        access: CurrentAccess<'_>,
        uri: &Uri,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
    ) -> Result<Option<AuthenticatedCall<'_>>, ApiError> {
        let caller = match &self.admin_token {
            Some(administrator) => match read_credential(headers) {
                Some(text) if administrator.matches(&text) => Caller::new("administrator").with_name("administrator"),
                _ if !access.mode.is_none() => return Ok(None),
                Some(_) => return Err(unauthorized(uri, Some("does not match convengine.admin-token"))),
                None => return Err(unauthorized(uri, None)),
            },
            None if !access.mode.is_none() => return Ok(None),
            // A foreign page opened on this machine also calls from a loopback address.
            None if is_local(peer, headers) && access.origins.is_socket_allowed(headers) => Caller::default(),
            None => {
                return Err(refusal::unauthorized_with(uri, "path is restricted to local callers; set convengine.admin-token"));
            }
        };
        let name = headers.get(X_TENANT).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let tenant = self.find_tenant(name, uri)?;
        Ok(Some(AuthenticatedCall { tenant, caller, scopes: Scopes::ADMIN, deployment: None }))
    }

    async fn authenticate_key(
        &self,
        text: &str,
        headers: &HeaderMap,
        uri: &Uri,
        may_look_up: bool,
    ) -> Result<AuthenticatedCall<'_>, ApiError> {
        let invalid = || unauthorized(uri, Some("unknown or inactive API key"));
        let (name, id) = keys::parse_key(text).ok_or_else(invalid)?;
        let tenant = self.tenants.get(name).ok_or_else(|| self.unknown_or_down(uri, invalid()))?;
        let host = &tenant.host;
        let found = tenant.keys.find_active(&host.content.readers, &host.access.credentials, text, id, may_look_up).await;
        let found = found.map_err(|error| refusal::lookup_failed(&error, host.access.credentials.contains(&hash_token(text)), uri))?;
        let key = found.ok_or_else(invalid)?;
        let scopes = Scopes::from_names(key.scopes.split(' '));
        let mut caller = Caller::new(&format!("key {}", key.key_id)).with_name(&key.name).with_key(&key.key_id);
        if let Some(owner) = read_owner(headers, key.owner_claim, uri)? {
            caller = caller.with_owner(&format!("key {}:{owner}", key.key_id)).with_user(json!({"id": owner}));
        }
        Ok(AuthenticatedCall { tenant, caller, scopes, deployment: None })
    }

    async fn authenticate_token(&self, text: &str, uri: &Uri) -> Result<AuthenticatedCall<'_>, ApiError> {
        let Some(tokens) = &self.tokens else { return Err(unauthorized(uri, None)) };
        let claims = tokens.verify(text).await.map_err(|rejection| match rejection {
            TokenRejection::Invalid(reason) => unauthorized(uri, Some(reason)),
            TokenRejection::Outdated(reason) => outdated(uri, reason),
            TokenRejection::KeysUnavailable => {
                ApiError::new(StatusCode::SERVICE_UNAVAILABLE, uri, "cannot fetch the token signing keys; try again later")
            }
        })?;
        // With a single unnamed tenant the claim is not a tenant name.
        let name = claims.tenant.as_deref().filter(|_| !self.tenants.contains(None));
        let tenant = self.tenants.get(name).ok_or_else(|| {
            let message = "token names no tenant of this server; use a token with a valid tenant claim";
            self.unknown_or_down(uri, ApiError::new(StatusCode::FORBIDDEN, uri, message))
        })?;
        let identity = format!("token {}", claims.subject);
        let name = |claim: &str| claims.user.get(claim).and_then(Value::as_str).filter(|value| !value.trim().is_empty());
        let name = name("name").or_else(|| name("id")).unwrap_or(&claims.subject);
        let caller = Caller::new(&identity).with_name(name).with_owner(&identity).with_expiry(claims.expires_at);
        let caller = caller.with_user(Value::Object(claims.user.clone()));
        Ok(AuthenticatedCall { tenant, caller, scopes: claims.scopes, deployment: None })
    }

    /// Finds a tenant by name when credentials do not determine it.
    fn find_tenant(&self, name: Option<String>, uri: &Uri) -> Result<&TenantRoutes, ApiError> {
        if let Some(only) = self.tenants.get(None) {
            return Ok(only);
        }
        let name = name.as_deref();
        self.tenants.get(name).ok_or_else(|| {
            if self.tenants.contains(name) {
                return refusal::tenant_unavailable(uri);
            }
            let message = if name.is_none() { "tenant is missing" } else { "tenant not found" };
            ApiError::new(StatusCode::BAD_REQUEST, uri, format!("{message}; set the X-Tenant header to a tenant name"))
        })
    }

    /// The refusal of credentials that are unknown to the tenants that have started. While another one has not, they may be its own, and the
    /// answer does not tell outsiders which tenants there are.
    pub(super) fn unknown_or_down(&self, uri: &Uri, unknown: ApiError) -> ApiError {
        if self.tenants.have_all_started() {
            return unknown;
        }
        let guess = if unknown.guess() == Guess::Wrong { Guess::Unknown } else { Guess::No };
        refusal::tenant_unavailable(uri).with_guess(guess)
    }

    /// Whether a caller may know the names of tenants: from this machine, or with the token of the administrator.
    pub fn may_know_tenants(&self, uri: &Uri, peer: Option<IpAddr>, headers: &HeaderMap) -> bool {
        let is_trusted = is_trusted(self.admin_token.as_ref(), peer, headers);
        if !is_trusted && read_credential(headers).is_some() {
            let client = ClientAddress::find(peer, headers, &self.trusted_proxies);
            let refusal = unauthorized(uri, Some("does not match convengine.admin-token"));
            // The answer is the same without names; the guess is counted.
            let _ = self.guesses.count(client, refusal, uri);
        }
        is_trusted
    }
}
