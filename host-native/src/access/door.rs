//! The door: finds out who calls, whose conversations the call is about and whether it may be, and hands it to that tenant's routes.
//! Behind it a call sees one tenant and nothing of the others.

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

/// Where the paths of deployments begin.
const DEPLOYED: &str = "/v1/public/runtime/";

/// What is behind the door of a server.
#[derive(Debug)]
pub struct Door {
    /// How callers say who they are.
    pub mode: Mode,
    /// What calls need.
    pub routes: Vec<Route>,
    /// By name; the only one has none.
    pub tenants: BTreeMap<Option<String>, Tenant>,
    /// Reads tokens, where the mode has them.
    pub tokens: Option<Tokens>,
    /// Who keeps assistants, where they have a token.
    pub administrator: Option<Administrator>,
    /// The pages that may call.
    pub origins: Origins,
}

/// A tenant behind the door.
#[derive(Debug)]
pub struct Tenant {
    /// Its conversations.
    pub host: Arc<Host>,
    /// Its routes.
    pub router: Router,
    /// Its keys.
    pub keys: Keys,
}

/// A call that may go on, as somebody.
struct Known<'d> {
    tenant: &'d Tenant,
    caller: Caller,
    scopes: Scopes,
    /// Whose pages call, on their routes.
    deployment: Option<Arc<Deployment>>,
}

impl Known<'_> {
    /// The assistant whose calls are counted, and whether a deployment of it calls.
    fn assistant(&self, uri: &Uri) -> Option<(String, bool)> {
        let of_path = || uri.path().strip_prefix("/v1/runtime/assistants/")?.split('/').next();
        let simulated = || Some((of_path()?.to_owned(), false));
        self.deployment.as_ref().map(|it| (it.assistant.clone(), true)).or_else(simulated)
    }
}

/// What an address may say where headers cannot.
#[derive(Debug, Default, Deserialize)]
struct InAddress {
    access_token: Option<String>,
    tenant: Option<String>,
}

/// Answers what is no route of the door's own.
pub async fn enter(State(door): State<Arc<Door>>, request: Request) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let Some(route) = find(&door.routes, &method, uri.path()) else {
        return page::file(&method, &uri, request.headers()).into_response();
    };
    let mut answer = answer(&door, route, request).await;
    if uri.path().starts_with(ASSISTANTS) {
        // Where nothing is limited, that is told.
        Standing::UNLIMITED.write(answer.headers_mut());
    }
    answer.extensions_mut().insert(By(route.path.clone()));
    answer
}

/// The answer of a tenant's route, or of the door when it stays closed.
async fn answer(door: &Door, route: &Route, mut request: Request) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let refused = |it: ApiError| it.into_response();
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|it| it.0.ip());
    let known = match door.known(route, &method, &uri, request.headers(), peer).await {
        Ok(known) => known,
        Err(refusal) => return refused(refusal),
    };
    let of_assistant = match known.assistant(&uri) {
        Some((id, deployed)) => match known.tenant.host.limits.assistant(&id, deployed, &uri) {
            Ok(standing) => standing,
            Err(refusal) => return refused(refusal),
        },
        None => None,
    };
    let counted = known.caller.id().map(str::to_owned).or(peer.map(|it| it.to_string())).unwrap_or_default();
    let standing = match known.tenant.host.limits.caller(&counted, &uri) {
        Ok(standing) => standing,
        Err(refusal) => return refused(refusal),
    };
    request.extensions_mut().insert(known.caller);
    request.extensions_mut().extend(known.deployment.map(extension).unwrap_or_default());
    let Ok(mut response) = known.tenant.router.clone().oneshot(request).await;
    for standing in [standing, of_assistant].into_iter().flatten() {
        standing.write(response.headers_mut());
    }
    response
}

fn extension(deployment: Arc<Deployment>) -> Extensions {
    let mut extensions = Extensions::new();
    extensions.insert(deployment);
    extensions
}

impl Door {
    /// Who calls, when they may.
    async fn known(
        &self,
        route: &Route,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
    ) -> Result<Known<'_>, ApiError> {
        if headers.contains_key(header::UPGRADE) && !self.origins.allow_socket(headers) {
            let message = "pages of this origin may not listen: add it to convengine.security.cors.allowed-origins";
            return Err(ApiError::new(StatusCode::FORBIDDEN, uri, message));
        }
        if route.deployed {
            return self.deployed(uri, headers).await;
        }
        if route.administers
            && let Some(known) = self.administrator(uri, headers, peer)?
        {
            return Ok(known);
        }
        let mut said = InAddress::default();
        if route.in_address {
            said = Query::try_from_uri(uri).map(|it| it.0).unwrap_or_default();
        }
        if self.mode.is_none() {
            let name = headers.get(X_TENANT).and_then(|it| it.to_str().ok()).map(str::to_owned).or(said.tenant);
            let tenant = self.named(name, uri)?;
            return Ok(Known { tenant, caller: Caller::default(), scopes: Scopes::ADMIN, deployment: None });
        }
        let text = presented(headers).or(said.access_token).ok_or_else(|| unauthorized(uri, None))?;
        let known = match text.starts_with(keys::PREFIX) {
            true if self.mode.keys => self.by_key(&text, uri).await,
            false if self.mode.jwt => self.by_token(&text, uri).await,
            _ => Err(unauthorized(uri, Some("it is of a kind that does not count here"))),
        }?;
        if known.scopes.suffice(route.needs) {
            return Ok(known);
        }
        let message = format!("{method} of this path needs the scope {}: ask for a key or token that has it", route.needs);
        let mut refused = ApiError::new(StatusCode::FORBIDDEN, uri, message);
        let challenge = format!("Bearer realm=\"convengine\", error=\"insufficient_scope\", scope=\"{}\"", route.needs.text());
        challenged(&mut refused, &challenge);
        Err(refused)
    }

    /// The page of a deployment, by its token and its origin.
    async fn deployed(&self, uri: &Uri, headers: &HeaderMap) -> Result<Known<'_>, ApiError> {
        let nobody = || unauthorized(uri, Some("it is not the token of a deployment"));
        let hash = token_hash(deployment::presented(headers).ok_or_else(nobody)?);
        for tenant in self.tenants.values() {
            let found = of_token(&tenant.host.readers, &hash).await.map_err(|it| ApiError::of_database(&it, uri))?;
            let Some(found) = found else { continue };
            let foreign = |it: Refused| ApiError::new(StatusCode::FORBIDDEN, uri, it.to_string()).coded("origin_not_allowed");
            deployment::admit(Some(&found), headers).map_err(foreign)?;
            let caller = Caller::named(&format!("deployment {}", found.id));
            return Ok(Known { tenant, caller, scopes: Scopes::CONVERSE, deployment: Some(Arc::new(found)) });
        }
        Err(nobody())
    }

    /// Whether pages of an origin may call a path: those of the settings, and on the paths of deployments theirs.
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
                Err(error) => tracing::warn!(%error, "the origins of deployments cannot be read"),
            }
        }
        false
    }

    /// Answers browsers that ask, and tells them who may read an answer.
    pub fn cors(self: &Arc<Self>) -> CorsLayer {
        let door = Arc::clone(self);
        cors::layer(AllowOrigin::async_predicate(move |origin, request| {
            let (path, door) = (request.uri.path().to_owned(), Arc::clone(&door));
            async move {
                match origin.to_str() {
                    Ok(origin) => door.allows(origin, &path).await,
                    Err(_) => false,
                }
            }
        }))
    }

    /// Somebody who keeps assistants by a token, or from this machine where nobody has to say who they are; nothing where keys decide.
    fn administrator(&self, uri: &Uri, headers: &HeaderMap, peer: Option<IpAddr>) -> Result<Option<Known<'_>>, ApiError> {
        let caller = match &self.administrator {
            Some(administrator) => match presented(headers) {
                Some(text) if administrator.is(&text) => Caller::named("administrator"),
                _ if !self.mode.is_none() => return Ok(None),
                Some(_) => return Err(unauthorized(uri, Some("it is not that of convengine.admin-token"))),
                None => return Err(unauthorized(uri, None)),
            },
            None if !self.mode.is_none() => return Ok(None),
            // A page that somebody looks at on this machine calls from there, too.
            None if is_local(peer, headers) && self.origins.allow_socket(headers) => Caller::default(),
            None => {
                let mut refused =
                    ApiError::new(StatusCode::UNAUTHORIZED, uri, "this path answers its own machine alone: set convengine.admin-token");
                challenged(&mut refused, "Bearer realm=\"convengine\"");
                return Err(refused);
            }
        };
        let name = headers.get(X_TENANT).and_then(|it| it.to_str().ok()).map(str::to_owned);
        let tenant = self.named(name, uri)?;
        Ok(Some(Known { tenant, caller, scopes: Scopes::ADMIN, deployment: None }))
    }

    async fn by_key(&self, text: &str, uri: &Uri) -> Result<Known<'_>, ApiError> {
        let nobody = || unauthorized(uri, Some("no such key counts here"));
        let (name, id) = keys::parts(text).ok_or_else(nobody)?;
        let Some(tenant) = self.tenants.get(&name.map(str::to_owned)) else {
            keys::compare(text, None).await;
            return Err(nobody());
        };
        let found = tenant.keys.holder(&tenant.host.readers, text, id).await.map_err(|it| ApiError::of_database(&it, uri))?;
        let key = found.ok_or_else(nobody)?;
        let scopes = Scopes::of(key.scopes.split(' '));
        Ok(Known { tenant, caller: Caller::named(&format!("key {}", key.key_id)), scopes, deployment: None })
    }

    async fn by_token(&self, text: &str, uri: &Uri) -> Result<Known<'_>, ApiError> {
        let Some(tokens) = &self.tokens else { return Err(unauthorized(uri, None)) };
        let claims = tokens.read(text).await.map_err(|it| match it {
            Rejected::Bad(reason) => unauthorized(uri, Some(reason)),
            Rejected::Unknown => {
                ApiError::new(StatusCode::SERVICE_UNAVAILABLE, uri, "the keys of tokens cannot be fetched: try again later")
            }
        })?;
        // Where there is only one, whatever the claim may mean, it is no tenant's name.
        let name = claims.tenant.filter(|_| !self.tenants.contains_key(&None));
        let tenant = self.tenants.get(&name).ok_or_else(|| {
            let message = "the token is of no tenant of this server: ask for one whose claim names one";
            ApiError::new(StatusCode::FORBIDDEN, uri, message)
        })?;
        Ok(Known { tenant, caller: Caller::named(&format!("token {}", claims.subject)), scopes: claims.scopes, deployment: None })
    }

    /// The tenant of a name where callers do not belong to one.
    fn named(&self, name: Option<String>, uri: &Uri) -> Result<&Tenant, ApiError> {
        if let Some(only) = self.tenants.get(&None) {
            return Ok(only);
        }
        let missing = name.is_none();
        self.tenants.get(&name).ok_or_else(|| {
            let message = if missing { "say whose conversations are meant" } else { "there is no such tenant" };
            ApiError::new(StatusCode::BAD_REQUEST, uri, format!("{message}: send the header X-Tenant with a tenant's name"))
        })
    }
}

/// What a caller says who they are with.
fn presented(headers: &HeaderMap) -> Option<String> {
    let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok()).map(str::trim);
    let bearer = text(header::AUTHORIZATION.as_str()).and_then(|it| {
        let (scheme, token) = it.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    bearer.or_else(|| text(X_API_KEY)).filter(|it| !it.is_empty()).map(str::to_owned)
}

/// Refuses somebody who has not said who they are, or not well.
fn unauthorized(uri: &Uri, reason: Option<&str>) -> ApiError {
    let (message, challenge) = match reason {
        None => {
            let message = "say who you are: send Authorization: Bearer KEY, or X-API-Key: KEY";
            (message.to_owned(), "Bearer realm=\"convengine\"")
        }
        Some(reason) => {
            let message = format!("the key or token does not count: {reason}: ask for another one");
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
