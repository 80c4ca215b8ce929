//! `/v1/public/chains/{chain}/ingress`: signed webhooks that start runs or answer their steps (docs/spec/workflows-http.md#5).

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use convengine_access::api_error::{ApiError, path_not_found};
use convengine_content::Content;
use convengine_core::config::flow::document::chain::{ChainDocument, StepKind};
use convengine_core::turn::Map;
use convengine_effects::Outbound;
use convengine_host_base::clock;
use convengine_host_base::hex::to_hex;
use convengine_storage::chain::{run, run_key, status};
use convengine_turns::Turns;
use convengine_turns::chain::event::submit_event;
use convengine_turns::chain::trigger::{LiveChain, Trigger, start_run};
use convengine_turns::refusal::Refusal;
use hmac::{Hmac, KeyInit, Mac};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::runs::read_key;
use super::{check_chain, find_run};
use crate::api::assistant::body;
use crate::api::host::Host;
use crate::api::json_text;
use crate::api::query::QueryParams;

/// The largest body in bytes.
const MAX_BODY_BYTES: usize = 1024 * 1024;

/// How far the time of a signature may be from now, in seconds.
const MAX_CLOCK_SKEW_S: i64 = 300;

/// The scope of the keys of webhooks that start runs.
const START_SCOPE: &str = "ingress";

/// A webhook whose signature is right.
struct SignedCall {
    body: Value,
    /// The keys by which it is recognized: that of the sender, and the hash of what was signed.
    keys: Vec<String>,
}

/// The query of a webhook for a step.
#[derive(Debug, Default, Deserialize)]
pub struct IngressQuery {
    run: Option<String>,
}

/// Starts a run by a signed webhook.
#[utoipa::path(
    post,
    path = "/v1/public/chains/{chain}/ingress",
    tag = "chains",
    params(
        ("X-Chain-Signature" = String, Header, description = "`sha256=` and the HMAC-SHA-256 of the body, or of `timestamp.body`"),
        ("X-Chain-Timestamp" = Option<i64>, Header, description = "When it was signed, in Unix seconds"),
        ("Idempotency-Key" = Option<String>, Header, description = "Starts one run only, within a day"),
    ),
    request_body = ref("#/components/schemas/WebhookBody"),
    responses(
        (status = 202, description = "The run has started", body = ref("#/components/schemas/AcceptedWebhook")),
        (status = 200, description = "The webhook was accepted before", body = ref("#/components/schemas/AcceptedWebhook")),
        (status = 401, description = "The signature is missing, wrong or too old"),
        (status = 404, description = "Chain not found"),
        (status = 408, description = "The request body timed out"),
        (status = 409, description = "The chain is not published, or paused"),
        (status = 413, description = "The body is too large"),
        (status = 422, description = "The body is not a JSON object"),
    ),
)]
pub async fn start(
    State(host): State<Arc<Host>>,
    slug: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let bytes = body::read_whole(body, MAX_BODY_BYTES).await?;
    let Ok(Path(slug)) = slug else { return Err(path_not_found()) };
    let signed = SignedBytes::read(&headers, bytes)?;
    signed.check(&host.turns).await?;
    check_chain(&host.content, &slug).await?;
    let chain = LiveChain::find(&host.content, &slug).await?;
    let document = ChainDocument::read(&chain.document);
    let call = verify(&host.content, &headers, &signed, document.ingress_secret()).await?;
    if let Some(run) = find_duplicate(&host.content, &slug, START_SCOPE, &call.keys).await? {
        return Ok(accepted(&run, true));
    }
    let data = Map::from_iter([("kind".to_owned(), json!("webhook")), ("body".to_owned(), call.body)]);
    let trigger = Trigger { data, key: call.keys.first().cloned(), scope: START_SCOPE };
    let started = start_run(&host.turns, &chain, trigger).await?;
    remember(&host.content, &slug, START_SCOPE, call.keys.get(1..).unwrap_or_default(), &started.run).await?;
    Ok(accepted(&started.run, started.is_duplicate))
}

/// Answers a step that awaits a signed webhook.
#[utoipa::path(
    post,
    path = "/v1/public/chains/{chain}/ingress/{step}",
    tag = "chains",
    params(
        ("step" = String, Path, description = "The id of the step"),
        ("run" = Option<String>, Query, description = "The run; the only one that waits if absent"),
        ("X-Chain-Signature" = String, Header, description = "`sha256=` and the HMAC-SHA-256 of the body, or of `timestamp.body`"),
        ("X-Chain-Timestamp" = Option<i64>, Header, description = "When it was signed, in Unix seconds"),
        ("Idempotency-Key" = Option<String>, Header, description = "Is accepted once, within a day"),
    ),
    request_body = ref("#/components/schemas/WebhookBody"),
    responses(
        (status = 202, description = "The run goes on", body = ref("#/components/schemas/AcceptedWebhook")),
        (status = 200, description = "The webhook was accepted before", body = ref("#/components/schemas/AcceptedWebhook")),
        (status = 400, description = "A query parameter is invalid"),
        (status = 401, description = "The signature is missing, wrong or too old"),
        (status = 404, description = "Chain or run not found"),
        (status = 408, description = "The request body timed out"),
        (status = 409, description = "No run waits for it, several do, or the chain is paused"),
        (status = 413, description = "The body is too large"),
        (status = 422, description = "The body is not a JSON object"),
    ),
)]
pub async fn answer(
    State(host): State<Arc<Host>>,
    path: Result<Path<(String, String)>, PathRejection>,
    QueryParams(query): QueryParams<IngressQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let bytes = body::read_whole(body, MAX_BODY_BYTES).await?;
    // PostgreSQL keeps no NUL.
    let Some((slug, step)) = path.ok().map(|it| it.0).filter(|it| !it.1.contains('\0')) else { return Err(path_not_found()) };
    let signed = SignedBytes::read(&headers, bytes)?;
    signed.check(&host.turns).await?;
    check_chain(&host.content, &slug).await?;
    let waiting = match &query.run {
        Some(run) => vec![find_run(&host.content, &slug, run).await?.0],
        None => run::list_awaiting(&host.content.readers, &slug, &step).await?,
    };
    let secret = find_step_secret(&host.content, &slug, waiting.first(), &step).await?;
    let call = verify(&host.content, &headers, &signed, secret.as_deref()).await?;
    let scope = format!("ingress/{step}?run={}", query.run.as_deref().unwrap_or_default());
    if let Some(run) = find_duplicate(&host.content, &slug, &scope, &call.keys).await? {
        return Ok(accepted(&run, true));
    }
    let refuse_with = |code: &'static str, message: &str| ApiError::conflict(message).with_code(code);
    if status::find(&host.content.readers, &slug).await?.is_some_and(|it| it.is_paused) {
        return Err(refuse_with("chain_paused", "chain is paused; set its status to 'live' first"));
    }
    let not_waiting = || refuse_with("not_waiting", "no run waits for this webhook; send it when one does");
    let run = match waiting.as_slice() {
        [run] => run.clone(),
        [] => return Err(not_waiting()),
        _ => return Err(refuse_with("ambiguous_run", "several runs wait for this webhook; name one in the parameter 'run'")),
    };
    let (run, stored) = find_run(&host.content, &slug, &run).await?;
    let key = call.keys.first().cloned().unwrap_or_default();
    let members = [("step", json!(step)), ("body", call.body), ("event_id", json!(format!("ingress/{step}/{key}")))];
    let event: Map = members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    match submit_event(&host.turns, &run, &stored, "run.ingress", event).await {
        Ok(_) => {}
        Err(Refusal::Run(_)) => return Err(not_waiting()),
        Err(refusal) => return Err(ApiError::from(refusal)),
    }
    remember(&host.content, &slug, &scope, &call.keys, &run).await?;
    Ok(accepted(&run, false))
}

fn accepted(run: &str, is_duplicate: bool) -> (StatusCode, Json<Value>) {
    let status = if is_duplicate { StatusCode::OK } else { StatusCode::ACCEPTED };
    (status, Json(json!({"run_id": run, "duplicate": is_duplicate})))
}

/// The secret of a step: as the run knows it, else of the live version.
async fn find_step_secret(content: &Content, slug: &str, run: Option<&String>, step: &str) -> Result<Option<String>, ApiError> {
    let step_id = step.rsplit('/').next().unwrap_or_default();
    let of_document = |document: &ChainDocument| {
        document.all_steps().find(|it| it.id == step_id).and_then(|found| match &found.kind {
            StepKind::Inbound(data) => data.secret.clone(),
            StepKind::Program(_)
            | StepKind::Outbound(_)
            | StepKind::Human(_)
            | StepKind::Decide(_)
            | StepKind::Notify(_)
            | StepKind::Sleep(_) => None,
        })
    };
    if let Some(run) = run {
        let (_, stored) = find_run(content, slug, run).await?;
        let config = content.flows.load(content, &stored.snapshot).await?;
        if let Some(chain) = config.and_then(|config| config.chain().cloned()) {
            return Ok(of_document(&chain.document));
        }
    }
    let chain = LiveChain::find(content, slug).await?;
    Ok(of_document(&ChainDocument::read(&chain.document)))
}

/// What a webhook was signed with, and what was signed.
struct SignedBytes {
    signature: Vec<u8>,
    /// The body, or the time, a dot and the body.
    signed: Vec<u8>,
    body: Vec<u8>,
}

impl SignedBytes {
    /// Reads the headers; `None` is a body that is too large.
    ///
    /// # Errors
    /// 401 if the signature is missing, malformed or too old, 413 if the body is too large.
    fn read(headers: &HeaderMap, body: Option<Vec<u8>>) -> Result<SignedBytes, ApiError> {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let signature = header("x-chain-signature").and_then(|value| value.trim().strip_prefix("sha256=")).and_then(from_hex);
        let signature = signature.ok_or_else(invalid_signature)?;
        let timestamp = headers.get("x-chain-timestamp").is_some().then(|| header("x-chain-timestamp").unwrap_or_default());
        if let Some(text) = timestamp {
            let seconds: i64 = text.trim().parse().map_err(|_| invalid_signature())?;
            if (clock::now() / 1000).saturating_sub(seconds).saturating_abs() > MAX_CLOCK_SKEW_S {
                let message = "invalid credentials: signature expired; sign again with the current time";
                return Err(ApiError::with_status(StatusCode::UNAUTHORIZED, message).with_code("signature_expired"));
            }
        }
        // What is too large was not kept, so its signature cannot be checked.
        let Some(body) = body else {
            let message = format!("body is too large; send at most {MAX_BODY_BYTES} bytes");
            return Err(ApiError::too_large(message));
        };
        let mut signed = timestamp.map(|timestamp| format!("{timestamp}.").into_bytes()).unwrap_or_default();
        signed.extend_from_slice(&body);
        Ok(SignedBytes { signature, signed, body })
    }

    /// Whether the signature is that of a secret, by its name.
    fn is_signed_with(&self, outbound: &Outbound, secret: &str) -> bool {
        let Some(mut mac) = outbound.secrets.get(secret).and_then(|key| Hmac::<Sha256>::new_from_slice(key.as_bytes()).ok()) else {
            return false;
        };
        mac.update(&self.signed);
        mac.verify_slice(&self.signature).is_ok()
    }

    /// Refuses what is signed with no secret of the tenant, before anything is looked up. Another process may have stored the secret just now,
    /// so they are read again, but only so often.
    ///
    /// # Errors
    /// 401 if the signature is made up, 503 if the database is unavailable.
    async fn check(&self, turns: &Turns) -> Result<(), ApiError> {
        let is_signed = || turns.outbound.secrets.names().iter().any(|it| self.is_signed_with(&turns.outbound, it));
        if is_signed() {
            return Ok(());
        }
        if turns.access.webhook_lookups.allows_another() {
            turns.content.secret_store.refresh_if_changed(&turns.readers, &turns.outbound.secrets).await?;
            if is_signed() {
                return Ok(());
            }
        }
        Err(invalid_signature())
    }
}

/// The error for a signature that is missing or wrong.
fn invalid_signature() -> ApiError {
    let message = "invalid credentials: signature is missing or wrong; sign the body as sent";
    ApiError::with_status(StatusCode::UNAUTHORIZED, message).with_code("invalid_signature")
}

/// Checks the signature, then the body.
async fn verify(content: &Content, headers: &HeaderMap, call: &SignedBytes, secret: Option<&str>) -> Result<SignedCall, ApiError> {
    // Another process may have just changed the secret.
    content.secret_store.refresh_if_changed(&content.readers, &content.outbound.secrets).await?;
    if !secret.is_some_and(|it| call.is_signed_with(&content.outbound, it)) {
        return Err(invalid_signature());
    }
    let parsed = json_text::parse::<Value>(&call.body).ok().filter(Value::is_object);
    let body = parsed.ok_or_else(|| ApiError::unprocessable("body is not a JSON object; send one").with_code("invalid_body"))?;
    let hash = format!("signed:{}", to_hex(&Sha256::digest(&call.signed)));
    let keys = read_key(headers)?.map(|it| format!("key:{it}")).into_iter().chain([hash]).collect();
    Ok(SignedCall { body, keys })
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return None;
    }
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

/// The run that one of the keys has started or answered.
async fn find_duplicate(content: &Content, slug: &str, scope: &str, keys: &[String]) -> Result<Option<String>, ApiError> {
    for key in keys {
        let found = run_key::find(&content.readers, slug, scope, key, clock::now()).await;
        if let Some(used) = found? {
            return Ok(Some(used.run));
        }
    }
    Ok(None)
}

/// Stores the keys of a webhook that was accepted.
async fn remember(content: &Content, slug: &str, scope: &str, keys: &[String], run: &str) -> Result<(), ApiError> {
    for key in keys {
        run_key::insert(&content.readers, slug, scope, key, run, clock::now()).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_hexadecimal() {
        assert_eq!(from_hex("00ff"), Some(vec![0, 255]));
        assert!(["0", "zz", "ä0"].iter().all(|text| from_hex(text).is_none()));
    }
}
