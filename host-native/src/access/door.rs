//! The gateway in front of all tenants: authenticates a request, selects its tenant, checks scopes and rate limits, and dispatches it
//! to that tenant's router. Handlers behind it see a single tenant.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, Query, Request, State};
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tower::ServiceExt;
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::administrator::{Administrator, is_local};
use super::caller::Caller;
use super::cors::{self, Origins};
use super::keys::{self, Keys};
use super::rate::Standing;
use super::routes::{Route, find};
use super::scope::Scopes;
use super::tokens::{Rejected, Tokens};
use crate::assistant::deployment::{self, Refused, token_hash};
use crate::drive::Host;
use crate::http::error::{ASSISTANTS, ApiError};
use crate::http::observed::By;
use crate::http::page;
use crate::settings::Mode;
use crate::store::assistant::deployment::{Deployment, is_named, of_token};

const X_API_KEY: &str = "x-api-key";
const X_TENANT: &str = "x-tenant";

/// The path prefix of deployments.
const DEPLOYED: &str = "/v1/public/runtime/";

/// Authenticates requests and dispatches them to tenants.
#[derive(Debug)]
pub struct Door {
    /// How callers authenticate.
    pub mode: Mode,
    /// The routes and the scopes that they require.
    pub routes: Vec<Route>,
    /// The tenants by name; a single tenant has no name.
    pub tenants: BTreeMap<Option<String>, Tenant>,
    /// Verifies JWTs, if the mode accepts them.
    pub tokens: Option<Tokens>,
    /// The token of the assistants administrator, if one is set.
    pub administrator: Option<Administrator>,
    /// The origins that may call.
    pub origins: Origins,
}

/// A tenant with its routes and API keys.
#[derive(Debug)]
pub struct Tenant {
    /// The tenant's conversations.
    pub host: Arc<Host>,
    /// The tenant's router.
    pub router: Router,
    /// The tenant's API keys.
    pub keys: Keys,
}

/// An authorized request: its tenant, caller and scopes.
struct Known<'d> {
    tenant: &'d Tenant,
    caller: Caller,
    scopes: Scopes,
    /// The calling deployment, on deployment routes.
    deployment: Option<Arc<Deployment>>,
}

impl Known<'_> {
    /// The assistant that the request counts against, and whether a deployment of it calls.
    fn assistant(&self, uri: &Uri) -> Option<(String, bool)> {
        let of_path = || uri.path().strip_prefix("/v1/runtime/assistants/")?.split('/').next();
        let simulated = || Some((of_path()?.to_owned(), false));
        self.deployment.as_ref().map(|it| (it.assistant.clone(), true)).or_else(simulated)
    }
}

/// Credentials in the query string, for clients that cannot send headers.
#[derive(Debug, Default, Deserialize)]
struct InAddress {
    access_token: Option<String>,
    tenant: Option<String>,
}

/// Handles every request: dispatches tenant routes and serves the page for all other paths.
pub async fn enter(State(gateway): State<Arc<Door>>, request: Request) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let Some(route) = find(&gateway.routes, &method, uri.path()) else {
        return page::file(&method, &uri, request.headers()).into_response();
    };
    let mut response = answer(&gateway, route, request).await;
    if uri.path().starts_with(ASSISTANTS) {
        // Assistant routes report rate limits even when there are none.
        Standing::UNLIMITED.write(response.headers_mut());
    }
    response.extensions_mut().insert(By(route.path.clone()));
    response
}

/// Returns the response of the tenant's route, or the refusal of the gateway.
async fn answer(gateway: &Door, route: &Route, mut request: Request) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let refuse = |it: ApiError| it.into_response();
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|it| it.0.ip());
    let call = match gateway.known(route, &method, &uri, request.headers(), peer).await {
        Ok(call) => call,
        Err(refusal) => return refuse(refusal),
    };
    let assistant_status = match call.assistant(&uri) {
        Some((id, deployed)) => match call.tenant.host.limits.assistant(&id, deployed, &uri) {
            Ok(status) => status,
            Err(refusal) => return refuse(refusal),
        },
        None => None,
    };
    let caller_id = call.caller.id().map(str::to_owned).or(peer.map(|it| it.to_string())).unwrap_or_default();
    let status = match call.tenant.host.limits.caller(&caller_id, &uri) {
        Ok(status) => status,
        Err(refusal) => return refuse(refusal),
    };
    request.extensions_mut().insert(call.caller);
    request.extensions_mut().extend(call.deployment.map(extension).unwrap_or_default());
    let Ok(mut response) = call.tenant.router.clone().oneshot(request).await;
    for status in [status, assistant_status].into_iter().flatten() {
        status.write(response.headers_mut());
    }
    response
}

fn extension(deployment: Arc<Deployment>) -> Extensions {
    let mut extensions = Extensions::new();
    extensions.insert(deployment);
    extensions
}

impl Door {
    /// Authenticates and authorizes a request.
    async fn known(
        &self,
        route: &Route,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
    ) -> Result<Known<'_>, ApiError> {
        if headers.contains_key(header::UPGRADE) && !self.origins.allow_socket(headers) {
            let message = "origin is not allowed to open streams; add it to convengine.security.cors.allowed-origins";
            return Err(ApiError::new(StatusCode::FORBIDDEN, uri, message));
        }
        if route.deployed {
            return self.deployed(uri, headers).await;
        }
        if route.administers
            && let Some(call) = self.administrator(uri, headers, peer)?
        {
            return Ok(call);
        }
        let mut query = InAddress::default();
        if route.in_address {
            query = Query::try_from_uri(uri).map(|it| it.0).unwrap_or_default();
        }
        if self.mode.is_none() {
            let name = headers.get(X_TENANT).and_then(|it| it.to_str().ok()).map(str::to_owned).or(query.tenant);
            let tenant = self.named(name, uri)?;
            return Ok(Known { tenant, caller: Caller::default(), scopes: Scopes::ADMIN, deployment: None });
        }
        let text = presented(headers).or(query.access_token).ok_or_else(|| unauthorized(uri, None))?;
        let call = match text.starts_with(keys::PREFIX) {
            true if self.mode.keys => self.by_key(&text, uri).await,
            false if self.mode.jwt => self.by_token(&text, uri).await,
            _ => Err(unauthorized(uri, Some("this kind of credential is not accepted"))),
        }?;
        if call.scopes.suffice(route.needs) {
            return Ok(call);
        }
        let message = format!("{method} on this path requires scope {}; use a key or token that has it", route.needs);
        let mut refused = ApiError::new(StatusCode::FORBIDDEN, uri, message);
        let challenge = format!("Bearer realm=\"convengine\", error=\"insufficient_scope\", scope=\"{}\"", route.needs.text());
        challenged(&mut refused, &challenge);
        Err(refused)
    }

    /// Authenticates a deployment by its token and its origin.
    async fn deployed(&self, uri: &Uri, headers: &HeaderMap) -> Result<Known<'_>, ApiError> {
        let invalid = || unauthorized(uri, Some("not a deployment token"));
        let hash = token_hash(deployment::presented(headers).ok_or_else(invalid)?);
        for tenant in self.tenants.values() {
            let found = of_token(&tenant.host.readers, &hash).await.map_err(|it| ApiError::of_database(&it, uri))?;
            let Some(found) = found else { continue };
            let forbidden = |it: Refused| ApiError::new(StatusCode::FORBIDDEN, uri, it.to_string()).coded("origin_not_allowed");
            deployment::admit(Some(&found), headers).map_err(forbidden)?;
            let caller = Caller::named(&format!("deployment {}", found.id));
            return Ok(Known { tenant, caller, scopes: Scopes::CONVERSE, deployment: Some(Arc::new(found)) });
        }
        Err(invalid())
    }

    /// Whether an origin may call a path: the configured origins, and on deployment paths those of deployments.
    async fn allows(&self, origin: &str, path: &str) -> bool {
        if self.origins.allow(origin) {
            return true;
        }
        if !path.starts_with(DEPLOYED) {
            return false;
        }
        for tenant in self.tenants.values() {
            match is_named(&tenant.host.readers, origin).await {
                Ok(true) => return true,
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "cannot read the origins of deployments"),
            }
        }
        false
    }

    /// Builds the CORS layer for all tenants.
    pub fn cors(self: &Arc<Self>) -> CorsLayer {
        let gateway = Arc::clone(self);
        cors::layer(AllowOrigin::async_predicate(move |origin, request| {
            let (path, gateway) = (request.uri.path().to_owned(), Arc::clone(&gateway));
            async move {
                match origin.to_str() {
                    Ok(origin) => gateway.allows(origin, &path).await,
                    Err(_) => false,
                }
            }
        }))
    }

    /// Authenticates an administrator by token, or by loopback address if authentication is off. Returns `None` if keys or tokens decide.
    fn administrator(&self, uri: &Uri, headers: &HeaderMap, peer: Option<IpAddr>) -> Result<Option<Known<'_>>, ApiError> {
        let caller = match &self.administrator {
            Some(administrator) => match presented(headers) {
                Some(text) if administrator.is(&text) => Caller::named("administrator"),
                _ if !self.mode.is_none() => return Ok(None),
                Some(_) => return Err(unauthorized(uri, Some("does not match convengine.admin-token"))),
                None => return Err(unauthorized(uri, None)),
            },
            None if !self.mode.is_none() => return Ok(None),
            // A foreign page opened on this machine also calls from a loopback address.
            None if is_local(peer, headers) && self.origins.allow_socket(headers) => Caller::default(),
            None => {
                let mut refused =
                    ApiError::new(StatusCode::UNAUTHORIZED, uri, "path is restricted to local callers; set convengine.admin-token");
                challenged(&mut refused, "Bearer realm=\"convengine\"");
                return Err(refused);
            }
        };
        let name = headers.get(X_TENANT).and_then(|it| it.to_str().ok()).map(str::to_owned);
        let tenant = self.named(name, uri)?;
        Ok(Some(Known { tenant, caller, scopes: Scopes::ADMIN, deployment: None }))
    }

    async fn by_key(&self, text: &str, uri: &Uri) -> Result<Known<'_>, ApiError> {
        let invalid = || unauthorized(uri, Some("unknown or inactive API key"));
        let (name, id) = keys::parts(text).ok_or_else(invalid)?;
        let Some(tenant) = self.tenants.get(&name.map(str::to_owned)) else {
            keys::compare(text, None).await;
            return Err(invalid());
        };
        let found = tenant.keys.holder(&tenant.host.readers, text, id).await.map_err(|it| ApiError::of_database(&it, uri))?;
        let key = found.ok_or_else(invalid)?;
        let scopes = Scopes::of(key.scopes.split(' '));
        Ok(Known { tenant, caller: Caller::named(&format!("key {}", key.key_id)), scopes, deployment: None })
    }

    async fn by_token(&self, text: &str, uri: &Uri) -> Result<Known<'_>, ApiError> {
        let Some(tokens) = &self.tokens else { return Err(unauthorized(uri, None)) };
        let claims = tokens.read(text).await.map_err(|it| match it {
            Rejected::Bad(reason) => unauthorized(uri, Some(reason)),
            Rejected::Unknown => {
                ApiError::new(StatusCode::SERVICE_UNAVAILABLE, uri, "cannot fetch the token signing keys; try again later")
            }
        })?;
        // With a single unnamed tenant the claim is not a tenant name.
        let name = claims.tenant.filter(|_| !self.tenants.contains_key(&None));
        let tenant = self.tenants.get(&name).ok_or_else(|| {
            let message = "token names no tenant of this server; use a token with a valid tenant claim";
            ApiError::new(StatusCode::FORBIDDEN, uri, message)
        })?;
        Ok(Known { tenant, caller: Caller::named(&format!("token {}", claims.subject)), scopes: claims.scopes, deployment: None })
    }

    /// Finds a tenant by name when credentials do not determine it.
    fn named(&self, name: Option<String>, uri: &Uri) -> Result<&Tenant, ApiError> {
        if let Some(only) = self.tenants.get(&None) {
            return Ok(only);
        }
        let missing = name.is_none();
        self.tenants.get(&name).ok_or_else(|| {
            let message = if missing { "tenant is missing" } else { "tenant not found" };
            ApiError::new(StatusCode::BAD_REQUEST, uri, format!("{message}; set the X-Tenant header to a tenant name"))
        })
    }
}

/// Reads the bearer token or API key from the headers.
fn presented(headers: &HeaderMap) -> Option<String> {
    let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok()).map(str::trim);
    let bearer = text(header::AUTHORIZATION.as_str()).and_then(|it| {
        let (scheme, token) = it.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    bearer.or_else(|| text(X_API_KEY)).filter(|it| !it.is_empty()).map(str::to_owned)
}

/// Builds the 401 response for missing credentials, or for invalid ones with a reason.
fn unauthorized(uri: &Uri, reason: Option<&str>) -> ApiError {
    let (message, challenge) = match reason {
        None => {
            let message = "missing credentials; send Authorization: Bearer KEY or X-API-Key: KEY";
            (message.to_owned(), "Bearer realm=\"convengine\"")
        }
        Some(reason) => {
            let message = format!("invalid credentials: {reason}");
            (message, "Bearer realm=\"convengine\", error=\"invalid_token\"")
        }
    };
    let mut refused = ApiError::new(StatusCode::UNAUTHORIZED, uri, message);
    challenged(&mut refused, challenge);
    refused
}

fn challenged(refused: &mut ApiError, challenge: &str) {
    if let Ok(value) = HeaderValue::from_str(challenge) {
        refused.headers_mut().insert(header::WWW_AUTHENTICATE, value);
    }
}
