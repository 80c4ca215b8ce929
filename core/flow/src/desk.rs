//! The desk of people: what is sent to it and what comes from it (docs/spec/flows.md#4.9). `walk` moves the handoff.

use convengine_config::flow::document::{HandoffMode, NodeKind};
use convengine_text::variable_path::VariablePath;
use convengine_turn::{HttpCaller, HttpReply, HttpRequest, Map, SecretHeader};
use serde_json::{Value, json};

use super::failure::{Failure, effect_failure_code};
use super::handoff::{HandoffDisposition, HandoffEvent};
use super::request_renderer::{IDEMPOTENCY_HEADER, SIGNATURE_HEADER, SIGNATURE_PREFIX, post_json};
use super::turn::Turn;

/// Maximum bytes of the desk's answer.
const MAX_RESPONSE_BYTES: u32 = 64 * 1024;

/// The secret that signs calls of the desk.
const SIGNING_SECRET: &str = "HANDOFF_SIGNING";

impl Turn<'_> {
    /// Ends a turn whose message did not reach the desk; the person still has the conversation.
    pub(super) fn cancel_relay(&mut self, reason: &'static str) {
        self.warn("handoff.relay_failed", json!({"code": reason}));
        self.send_error();
        self.record.stop_reason = reason;
    }

    /// Sends a message of the user to the desk.
    pub(super) async fn relay_to_desk(&mut self, text: String) {
        self.append_history("user", text.clone());
        self.send_relay(&text).await;
    }

    /// Shows a message of a person to the user.
    pub(super) fn show_desk_message(&mut self, text: &str, author: Option<String>) {
        if !text.trim().is_empty() {
            self.publish_human_message(text, author);
        }
    }

    /// Whether another person has taken the conversation: of another credential, or, where one is unknown, of another name.
    pub(super) fn is_taken_by_another(&self, author: Option<&str>, holder: Option<&str>) -> bool {
        let Some(handoff) = &self.state.handoff else { return false };
        let credentials = handoff.holder.as_deref().zip(holder);
        credentials.or(handoff.author.as_deref().zip(author)).is_some_and(|(first, second)| first != second)
    }

    /// Records who has taken the conversation.
    pub(super) fn record_person(&mut self, author: Option<String>, holder: Option<String>) {
        self.trace("handoff.accepted", json!({"author": author}));
        if let Some(handoff) = &mut self.state.handoff {
            handoff.position = None;
            handoff.eta_ms = None;
            handoff.author = author.or(handoff.author.take());
            handoff.holder = holder.or(handoff.holder.take());
        }
    }

    /// Whether the assistant continues or the session ends, once the person is done.
    pub(super) fn completion_event(&self, disposition: Option<HandoffDisposition>) -> HandoffEvent {
        let mode = match self.current_node().map(|it| &it.kind) {
            Some(NodeKind::Handoff(data)) => data.mode,
            // The document has changed since: the person decides.
            _ => HandoffMode::Transfer,
        };
        let is_over = mode == HandoffMode::Transfer && disposition != Some(HandoffDisposition::Returned);
        if is_over { HandoffEvent::Resolve } else { HandoffEvent::Return }
    }

    /// Writes what a person returns; only declared variables.
    pub(super) fn write_returned_variables(&mut self, vars: Map) {
        for (name, value) in vars {
            let path = VariablePath::parse(&name).unwrap_or_else(|_| VariablePath::from_name(name.as_str()));
            let is_declared = self.flow.document.variables.iter().any(|it| path.starts_with(&it.name));
            if !is_declared || self.write_variable(&path, value).is_err() {
                self.warn("handoff.variable_ignored", json!({"variable": name}));
            }
        }
    }

    /// Relays a message of the user to the desk. A failure is traced; the person still has the conversation.
    async fn send_relay(&mut self, text: &str) {
        let Some(correlation_id) = self.state.handoff.as_ref().map(|it| it.correlation_id.clone()) else { return };
        let text = self.redact_outgoing(text.to_owned());
        let body = json!({
            "type": "handoff.relay", "session_id": self.state.session_id, "correlation_id": correlation_id, "text": text,
        });
        let key = format!("{correlation_id}:{}", self.event_number);
        if let Err(failure) = self.call_desk("relay", &key, body).await {
            self.warn("handoff.relay_failed", json!({"code": failure.code}));
        }
    }

    /// Calls the webhook of the desk; without one, the answer is that the handoff is queued.
    pub(super) async fn call_desk(&mut self, call: &str, key: &str, body: Value) -> Result<Value, Failure> {
        let Some(template) = &self.settings().handoff_webhook_url else { return Ok(json!({"state": "queued"})) };
        self.record.check_effects_left()?;
        let unavailable = |reason: String| Failure::new("unavailable", reason);
        let Ok(interpolation) = &template.compiled else { return Err(unavailable("the address of the desk is not a template".to_owned())) };
        let url = interpolation.render_request_url(&self.scope()).map_err(unavailable)?;
        if let Some(name) = url.undefined_in_path.first().or_else(|| url.undefined_in_query.first()) {
            return Err(unavailable(format!("'{name}' in the address of the desk is not defined")));
        }
        let secrets = url.url.secrets.iter().map(|(at, secret)| format!("url {at} {secret}")).collect();
        let sign = SecretHeader { optional: true, ..SecretHeader::new(SIGNATURE_HEADER, SIGNATURE_PREFIX, SIGNING_SECRET) };
        // A desk that got the same key twice knows the conversation already; one that got none would never answer.
        let mut request = post_json(url.url.text, HttpCaller::Handoff(call.to_owned()), body.to_string());
        request.headers.push((IDEMPOTENCY_HEADER.to_owned(), key.to_owned()));
        let request = HttpRequest { secrets, max_bytes: MAX_RESPONSE_BYTES, sign: Some(sign), ..request };
        let outcome = self.effects.perform(request).await;
        let is_accepted = |reply: &HttpReply| (200..300).contains(&reply.status);
        let effect = format!("handoff.{call}");
        self.record.record_effect(&effect, None, if outcome.as_ref().is_ok_and(is_accepted) { "ok" } else { "error" }, 1);
        match outcome {
            Ok(reply) if is_accepted(&reply) => Ok(serde_json::from_str(&reply.body).unwrap_or_default()),
            Ok(reply) => Err(unavailable(format!("the desk answered {}", reply.status))),
            Err(error) => Err(unavailable(format!("the desk could not be called ({})", effect_failure_code(&error)))),
        }
    }
}
