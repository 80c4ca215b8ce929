//! Authentication of callers from outside: pages and users of deployments, and holders of a resume token.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode, Uri};
use convengine_access::api_error::ApiError;
use convengine_access::caller::Caller;
use convengine_access::guessing::Guess;
use convengine_access::refusal::{self, unauthorized};
use convengine_access::routes::LINK_PREFIX;
use convengine_access::scope::Scopes;
use convengine_content::deployment::{self, AccessDenied, hash_token};
use convengine_host_base::clock;
use convengine_storage::assistant::deployment::{Deployment, find_by_token_hash};
use convengine_storage::assistant::deployment_token::{self, DeploymentToken};
use convengine_turns::resume_token;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};

use super::auth_gateway::{AuthGateway, AuthenticatedCall, TenantRoutes};

/// How often the use of a token is recorded.
const USE_INTERVAL_MS: i64 = 60_000;

impl AuthGateway {
    /// Authenticates a deployment by its token and its origin.
    pub(super) async fn authenticate_deployment(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        may_look_up: bool,
    ) -> Result<AuthenticatedCall<'_>, ApiError> {
        let invalid = || unauthorized(uri, Some("not a deployment token"));
        let token = deployment::bearer_token(headers).ok_or_else(invalid)?;
        let (tenant, found, token_id) = self.find_deployment(uri, token, may_look_up).await?.ok_or_else(invalid)?;
        deployment::authorize(Some(&found), headers).map_err(|it| origin_not_allowed(it, uri))?;
        Ok(deployment_call(tenant, found, &token_id))
    }

    /// Authenticates a deployment of an AI agent by the token in the path, and by the origin if the deployment lists origins.
    pub(super) async fn authenticate_deployment_link(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        may_look_up: bool,
    ) -> Result<AuthenticatedCall<'_>, ApiError> {
        let invalid = || unauthorized(uri, Some("not a deployment token")).with_code("invalid_token");
        let token = uri.path().strip_prefix(LINK_PREFIX).and_then(|rest| rest.split('/').next()).unwrap_or_default();
        let token = Some(token).filter(|it| it.starts_with(deployment::AGENT_TOKEN_PREFIX)).ok_or_else(invalid)?;
        let (tenant, found, token_id) = self.find_deployment(uri, token, may_look_up).await?.ok_or_else(invalid)?;
        if !found.origins.is_empty() {
            deployment::authorize(Some(&found), headers).map_err(|it| origin_not_allowed(it, uri))?;
        }
        Ok(deployment_call(tenant, found, &token_id))
    }

    /// Finds the deployment of a token, with its tenant and the id of the token.
    async fn find_deployment(
        &self,
        uri: &Uri,
        token: &str,
        may_look_up: bool,
    ) -> Result<Option<(&TenantRoutes, Deployment, String)>, ApiError> {
        let hash = hash_token(token);
        let found = self
            .find_in_tenants(uri, &hash, may_look_up, |tenant| Box::pin(find_by_token_hash(&tenant.host.content.readers, &hash)))
            .await?;
        Ok(found.map(|(tenant, (deployment, token))| {
            record_use(tenant, &token);
            (tenant, deployment, token.id)
        }))
    }

    /// Authenticates the holder of a resume token of a run; the handler checks which one.
    pub(super) async fn authenticate_resume_token(
        &self,
        uri: &Uri,
        token: &str,
        may_look_up: bool,
    ) -> Result<AuthenticatedCall<'_>, ApiError> {
        let hash = hash_token(token);
        let found =
            self.find_in_tenants(uri, &hash, may_look_up, |tenant| Box::pin(resume_token::find_wait(&tenant.host.content, token))).await?;
        let (tenant, wait) = found.ok_or_else(|| unauthorized(uri, Some("unknown resume token")).with_code("invalid_token"))?;
        let caller = Caller::new(&format!("run {}", wait.run));
        Ok(AuthenticatedCall { tenant, caller, scopes: Scopes::CONVERSE, deployment: None })
    }

    /// Looks a credential up by its hash: in the tenants that know it, which uses up no lookups of others, else in all at once, so that one
    /// whose database does not answer delays no other.
    async fn find_in_tenants<'t: 'f, 'f, V: Send>(
        &'t self,
        uri: &Uri,
        hash: &'f str,
        may_look_up: bool,
        find: impl Fn(&'t TenantRoutes) -> BoxFuture<'f, sqlx::Result<Option<V>>> + Send + Sync,
    ) -> Result<Option<(&'t TenantRoutes, V)>, ApiError> {
        let (known, others): (Vec<_>, Vec<_>) = self.tenants.values().partition(|it| it.host.access.credentials.contains(hash));
        let (is_known, mut failure) = (!known.is_empty(), None);
        for tenants in [known, others] {
            let mut lookups: FuturesUnordered<_> =
                tenants.into_iter().map(|tenant| look_up(tenant, hash, may_look_up, &find).map(move |found| (tenant, found))).collect();
            while let Some((tenant, found)) = lookups.next().await {
                match found {
                    Ok(Some(found)) => return Ok(Some((tenant, found))),
                    Ok(None) => {}
                    Err(error) => failure = Some(error),
                }
            }
        }
        match failure {
            Some(error) => Err(refusal::lookup_failed(&error, is_known, uri)),
            None if self.tenants.have_all_started() => Ok(None),
            None => Err(refusal::tenant_unavailable(uri).with_guess(Guess::Unknown)),
        }
    }
}

/// Looks a credential up in one tenant, unless that one is known not to have it.
async fn look_up<'t, 'f, V>(
    tenant: &'t TenantRoutes,
    hash: &str,
    may_look_up: bool,
    find: &(impl Fn(&'t TenantRoutes) -> BoxFuture<'f, sqlx::Result<Option<V>>> + Sync),
) -> sqlx::Result<Option<V>> {
    let (readers, credentials) = (&tenant.host.content.readers, &tenant.host.access.credentials);
    if !credentials.may_exist(readers, hash, may_look_up).await? {
        return Ok(None);
    }
    let found = find(tenant).await?;
    credentials.record_lookup(hash, found.is_some());
    Ok(found)
}

/// Records the use of a token, at most once a minute and without delaying the request.
fn record_use(tenant: &TenantRoutes, token: &DeploymentToken) {
    let now = clock::now();
    if token.last_used_at.is_some_and(|at| now - at < USE_INTERVAL_MS) {
        return;
    }
    let (readers, id) = (tenant.host.content.readers.clone(), token.id.clone());
    tokio::spawn(async move {
        if let Err(error) = deployment_token::record_use(&readers, &id, now).await {
            tracing::debug!(%error, "cannot record the use of a deployment token");
        }
    });
}

fn deployment_call<'d>(tenant: &'d TenantRoutes, deployment: Deployment, token_id: &str) -> AuthenticatedCall<'d> {
    let identity = format!("deployment {}", deployment.id);
    let caller = Caller::new(&identity).with_owner(&identity).with_deployment_token(token_id);
    AuthenticatedCall { tenant, caller, scopes: Scopes::CONVERSE, deployment: Some(Arc::new(deployment)) }
}

fn origin_not_allowed(denied: AccessDenied, uri: &Uri) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, uri, denied.to_string()).with_code("origin_not_allowed")
}
