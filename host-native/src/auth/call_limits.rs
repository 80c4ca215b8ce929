//! What a call counts against: the limits of its caller, of a visitor of a deployment, or of the simulator.

use axum::extract::Query;
use axum::http::Uri;
use convengine_access::api_error::ApiError;
use convengine_access::client_address::ClientAddress;
use convengine_access::rate::RateStatus;
use convengine_access::routes::LINK_PREFIX;
use convengine_storage::assistant::session::find_program;
use convengine_storage::assistant::{DocumentKind, ProgramKey};
use serde::Deserialize;
use uuid::Uuid;

use super::auth_gateway::AuthenticatedCall;

/// The path segment after which public paths name a session.
const SESSIONS_SEGMENT: &str = "sessions";

impl AuthenticatedCall<'_> {
    /// The assistant, workflow or AI agent that a call of the simulator counts against.
    async fn rate_limited_program(&self, uri: &Uri) -> Option<ProgramKey> {
        let mut parts = uri.path().strip_prefix("/v1/runtime/")?.split('/');
        let simulated = match (parts.next()?, parts.next()?) {
            ("assistants", id) => ProgramKey::new(DocumentKind::Assistant, id),
            // The path has the session alone, which is looked up where it is limited.
            ("workflows" | "ai-agents", "sessions") if self.tenant.host.access.rate_limits.limits_simulator() => {
                let session = Uuid::try_parse(parts.next()?).ok()?.to_string();
                find_program(&self.tenant.host.content.readers, &session).await.ok()??
            }
            ("workflows", id) => ProgramKey::new(DocumentKind::Workflow, id),
            ("ai-agents", id) => ProgramKey::new(DocumentKind::Agent, id),
            _ => return None,
        };
        Some(simulated)
    }

    /// Counts a call of a visitor of a deployment, by its session and its address, or of the simulator.
    pub(super) async fn check_program_limits(&self, uri: &Uri, client: ClientAddress) -> Result<[Option<RateStatus>; 2], ApiError> {
        let limits = &self.tenant.host.access.rate_limits;
        let Some(deployment) = &self.deployment else {
            let program = self.rate_limited_program(uri).await;
            return Ok([program.map_or(Ok(None), |it| limits.check_program(&it, uri))?, None]);
        };
        let address = client.to_text();
        let by_address = limits.check_address(&deployment.id, &address, uri)?;
        if uri.path().starts_with(LINK_PREFIX) && uri.path().ends_with("/turn") {
            // The session is in the body; the handler counts the visitor.
            return Ok([by_address, None]);
        }
        let visitor = session_of_visitor(uri).unwrap_or_else(|| address.clone());
        Ok([by_address, limits.check_visitor(&deployment.id, &visitor, uri)?])
    }

    /// Counts a call of a key or token, or else of an address. The visitors of a deployment have limits of their own.
    pub(super) fn check_caller_limit(&self, uri: &Uri, client: ClientAddress) -> Result<Option<RateStatus>, ApiError> {
        if self.deployment.is_some() {
            return Ok(None);
        }
        let id = self.caller.id().map_or_else(|| client.to_text(), str::to_owned);
        self.tenant.host.access.rate_limits.check_caller(&id, uri)
    }
}

/// The session of a public request, if its path or query names one.
fn session_of_visitor(uri: &Uri) -> Option<String> {
    let mut parts = uri.path().split('/').skip_while(|it| *it != SESSIONS_SEGMENT).skip(1);
    let query = || Query::<VisitorQuery>::try_from_uri(uri).ok()?.0.conversation_id;
    parts.next().map(str::to_owned).or_else(query).and_then(|id| Some(Uuid::try_parse(&id).ok()?.to_string()))
}

/// The session in the query string of routes of AI agents.
#[derive(Debug, Default, Deserialize)]
struct VisitorQuery {
    conversation_id: Option<String>,
}
