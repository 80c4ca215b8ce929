//! `handoff` nodes: transfer the conversation to a person (docs/spec/flows.md#4.9).

use convengine_config::flow::document::{FlowTemplate, HandoffData, HandoffMode, Node};
use convengine_text::date::Date;
use convengine_text::value::EXPRESSION;
use convengine_turn::{EffectClass, HttpCaller, HttpReply, HttpRequest, Map, SecretHeader};
use serde_json::{Value, json};

use super::super::Walker;
use super::super::failure::Failure;
use super::super::handoff::{Handoff, HandoffEvent, HandoffState};
use super::super::walk::Transition;
use super::http_request::{SIGNATURE_HEADER, SIGNATURE_PREFIX};
use crate::state::{AwaitingKind, HistoryEntry, SessionStatus};

/// Timeout of a call of the desk, in milliseconds.
const TIMEOUT_MS: u32 = 10_000;

/// Maximum bytes of the desk's answer.
const MAX_RESPONSE_BYTES: u32 = 64 * 1024;

/// The secret that signs calls of the desk.
const SIGNING_SECRET: &str = "HANDOFF_SIGNING";

/// The roles that a transcript holds.
const TRANSCRIPT_ROLES: [&str; 3] = ["user", "bot", "human"];

impl<'c> Walker<'c> {
    pub(super) async fn run_handoff(&mut self, node: &'c Node, data: &'c HandoffData) -> Transition {
        if let Some(message) = &data.message {
            self.send_localized(message, &self.node_key(node));
        }
        let queue = data.queue.as_ref().map(|it| self.render_for_desk(it)).unwrap_or_default();
        let reason = data.reason.as_ref().map(|it| self.render_for_desk(it)).unwrap_or_default();
        let correlation_id = self.visit_key(node);
        let mode = if data.mode == HandoffMode::Return { "return" } else { "transfer" };
        let mut body = json!({
            "type": "handoff.request",
            "session_id": self.state.session_id,
            "correlation_id": correlation_id,
            "queue": queue,
            "reason": reason,
            "mode": mode,
            "context": self.handoff_context(data),
            "transcript": self.transcript(data.transcript_turns),
            "user": self.state.user,
            "locale": self.state.locale,
            "channel": self.state.channel,
        });
        if let (Some(visitor), Some(members)) = (&self.state.visitor, body.as_object_mut()) {
            members.insert("visitor".to_owned(), visitor.clone());
        }
        let answer = self.call_desk("request", &correlation_id, body).await;
        // Without a webhook, the handoff waits in the queue (docs/spec/flow-rulings.md#35).
        let event = match &answer {
            Ok(answer) if answer.get("state").and_then(Value::as_str) == Some("queued") => HandoffEvent::Queue,
            Ok(_) => HandoffEvent::Accept,
            Err(_) => HandoffEvent::Decline,
        };
        let state = self.effects.take_transition(HandoffState::Requested, event).unwrap_or(HandoffState::Requested);
        let answer = match answer {
            Ok(answer) => answer,
            Err(failure) => return Transition::Fail(failure),
        };
        let text = |name: &str| answer.get(name).map(|it| EXPRESSION.print(it).into_owned()).filter(|it| !it.is_empty());
        let handoff = Handoff {
            correlation_id,
            state,
            queue,
            reason,
            ticket: text("ticket"),
            position: answer.get("position").and_then(Value::as_u64),
            eta_ms: answer.get("eta_ms").and_then(Value::as_u64),
            author: None,
            holder: None,
            requested_at: Date::from_millis(self.effects.now()).to_rfc3339_millis(),
        };
        self.trace("handoff.requested", json!({"state": handoff.state, "queue": handoff.queue, "ticket": handoff.ticket}));
        self.state.handoff = Some(handoff);
        self.state.status = SessionStatus::HandedOff;
        Transition::Wait(self.new_awaiting(AwaitingKind::Handoff, node, Vec::new()))
    }

    /// Renders a text that the desk shows before anybody has taken the conversation.
    fn render_for_desk(&mut self, template: &FlowTemplate) -> String {
        let text = self.render_text(template);
        self.redactions().redact_text(&text)
    }

    /// Relays a message of the user to the desk. A failure is traced; the person still has the conversation.
    pub(crate) async fn send_relay(&mut self, text: &str) {
        let Some(correlation_id) = self.state.handoff.as_ref().map(|it| it.correlation_id.clone()) else { return };
        let text = if self.flow.redacted_variables().is_empty() { text.to_owned() } else { self.redactions().redact_text(text) };
        let body = json!({
            "type": "handoff.relay", "session_id": self.state.session_id, "correlation_id": correlation_id, "text": text,
        });
        let key = format!("{correlation_id}:{}", self.event_number);
        if let Err(failure) = self.call_desk("relay", &key, body).await {
            self.warn("handoff.relay_failed", json!({"code": failure.code}));
        }
    }

    /// Calls the webhook of the desk; without one, the answer is that the handoff is queued.
    async fn call_desk(&mut self, call: &str, key: &str, body: Value) -> Result<Value, Failure> {
        let Some(template) = &self.settings().handoff_webhook_url else { return Ok(json!({"state": "queued"})) };
        self.check_effects_left()?;
        let unavailable = |reason: String| Failure::new("unavailable", reason);
        let Ok(interpolation) = &template.compiled else { return Err(unavailable("the address of the desk is not a template".to_owned())) };
        let url = interpolation.render_request_url(&self.scope()).map_err(unavailable)?;
        if let Some(name) = url.undefined_in_path.first().or_else(|| url.undefined_in_query.first()) {
            return Err(unavailable(format!("'{name}' in the address of the desk is not defined")));
        }
        let request = HttpRequest {
            caller: HttpCaller::Handoff(call.to_owned()),
            method: "POST".to_owned(),
            secrets: url.url.secrets.iter().map(|(at, secret)| format!("url {at} {secret}")).collect(),
            url: url.url.text,
            headers: vec![("Content-Type".to_owned(), "application/json".to_owned()), ("Idempotency-Key".to_owned(), key.to_owned())],
            body: Some(body.to_string()),
            auth: None,
            connect_timeout_ms: TIMEOUT_MS,
            timeout_ms: TIMEOUT_MS,
            max_bytes: MAX_RESPONSE_BYTES,
            class: EffectClass::Write,
            // A desk that got the same key twice knows the conversation already; one that got none would never answer.
            idempotent: true,
            key: None,
            breaker: None,
            sign: Some(SecretHeader { optional: true, ..SecretHeader::new(SIGNATURE_HEADER, SIGNATURE_PREFIX, SIGNING_SECRET) }),
        };
        let outcome = self.effects.perform(request).await;
        let is_accepted = |it: &HttpReply| (200..300).contains(&it.status);
        let effect = format!("handoff.{call}");
        self.record_effect(&effect, None, if outcome.as_ref().is_ok_and(is_accepted) { "ok" } else { "error" }, 1);
        match outcome {
            Ok(reply) if is_accepted(&reply) => Ok(serde_json::from_str(&reply.body).unwrap_or_default()),
            Ok(reply) => Err(unavailable(format!("the desk answered {}", reply.status))),
            Err(error) => Err(unavailable(format!("the desk could not be called ({})", super::http_retry::effect_failure_code(&error)))),
        }
    }

    /// The variables that the desk receives, with redacted ones by name.
    fn handoff_context(&self, data: &HandoffData) -> Value {
        let mut context = Map::new();
        for path in &data.context {
            if let Some(value) = self.variable(path).cloned() {
                let shown = if self.is_variable_redacted(path) { json!(format!("[{path}]")) } else { value };
                context.insert(path.to_string(), shown);
            }
        }
        self.redactions().redact_value(Value::Object(context))
    }

    /// The history of the latest turns; it is redacted already.
    fn transcript(&self, turns: u32) -> Value {
        let first = (self.state.turn + 1).saturating_sub(turns);
        let is_shown = |it: &&HistoryEntry| turns > 0 && it.turn >= first && TRANSCRIPT_ROLES.contains(&it.role.as_str());
        json!(self.state.history.iter().filter(is_shown).collect::<Vec<_>>())
    }
}
