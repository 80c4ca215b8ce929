//! `webhook` steps: a signed call of a service, or the wait for one.

use convengine_config::flow::document::HttpRequestDef;
use convengine_config::flow::document::chain::{InboundStep, OutboundStep, StepDef, StepKind};
use convengine_text::date::Date;
use convengine_turn::{EffectClass, HttpCaller, HttpRequest, SecretHeader};
use serde_json::{Value, json};

use super::super::Runner;
use super::super::advance::StepResult;
use super::super::failure::StepFailure;
use super::super::state::{Wait, WaitKind};
use super::{request_failure, response_body};
use crate::{Failure, IDEMPOTENCY_HEADER, RequestRenderer};

/// Maximum bytes of a response.
const MAX_RESPONSE_BYTES: u32 = 262_144;

/// The header of the signature.
const SIGNATURE_HEADER: &str = "X-Chain-Signature";

impl<'c> Runner<'c> {
    /// Calls the service of an outbound webhook once.
    pub(super) async fn call_webhook(&mut self, step: &'c StepDef, path: &str, data: &'c OutboundStep) -> StepResult {
        let request = match self.prepare_webhook(step, path, data) {
            Ok(request) => request,
            Err(failure) => return failure.into(),
        };
        let outcome = self.send(request).await;
        if let Some(failure) = request_failure(step, &outcome) {
            return StepResult::Failed(failure);
        }
        let Ok(reply) = outcome else { return StepResult::Failed(StepFailure::new("network", "the request could not be sent")) };
        let body = match response_body(&reply) {
            Ok(body) => body,
            Err(failure) => return failure.into(),
        };
        match self.write_outputs(&data.outputs, &body) {
            Ok(()) => StepResult::Done(body),
            Err(failure) => failure.into(),
        }
    }

    fn prepare_webhook(&self, step: &StepDef, path: &str, data: &OutboundStep) -> Result<HttpRequest, Failure> {
        let default_body = || {
            json!({
                "chain": self.state.chain, "run_id": self.state.id, "step": path, "input": self.state.trigger.get("body"),
                "context": self.state.context,
            })
        };
        let definition = HttpRequestDef {
            method: data.method.clone(),
            url: data.url.clone(),
            query: Vec::new(),
            headers: data.headers.clone(),
            body: data.body.clone(),
            body_type: Some("json".to_owned()),
        };
        let (rendered, undefined) = {
            let names = self.scope("");
            let mut renderer = RequestRenderer::new(&names);
            let rendered = renderer.render(&definition, HttpCaller::Tool(format!("{}/{}", self.state.chain, step.id)), true);
            (rendered, renderer.undefined)
        };
        undefined.iter().for_each(|it| self.warn_undefined(it));
        let mut request = rendered?;
        if data.body.is_none() {
            request.body = Some(default_body().to_string());
            request.headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        request.timeout_ms = data.timeout_ms;
        request.connect_timeout_ms = data.timeout_ms;
        self.add_key_and_signature(&mut request, path, data.secret.as_deref());
        Ok(request)
    }

    /// Adds the idempotency key of a step to a request, which may then be repeated, and the header of its signature.
    pub(super) fn add_key_and_signature(&self, request: &mut HttpRequest, key: &str, secret: Option<&str>) {
        request.headers.push((IDEMPOTENCY_HEADER.to_owned(), format!("{}/{key}", self.state.id)));
        request.idempotent = true;
        request.class = EffectClass::Write;
        request.max_bytes = MAX_RESPONSE_BYTES;
        request.sign = secret.map(|it| SecretHeader::new(SIGNATURE_HEADER, "sha256=", it));
    }

    /// Awaits an inbound webhook; as the first step, the trigger is the call.
    pub(super) fn await_webhook(&mut self, step: &'c StepDef, path: &str, data: &'c InboundStep) -> StepResult {
        if self.state.previous.is_none() && self.state.frames.len() == 1 && self.state.frames.last().is_some_and(|it| it.index == 0) {
            let body = self.state.trigger.get("body").cloned().unwrap_or_default();
            return self.take_body(data, body);
        }
        let due = self.effects.now().saturating_add(i64::try_from(data.await_timeout_ms).unwrap_or(i64::MAX));
        let wait = Wait::new(WaitKind::Webhook, path, &step.id, self.attempt_number());
        StepResult::Waiting(Wait { due: Some(Date::from_millis(due).to_rfc3339_millis()), ..wait })
    }

    /// Ends the wait for a webhook with its body.
    pub(in crate::chain) fn receive_webhook(&mut self, body: Value) {
        let Some((step, path)) = self.find_current_step() else { return };
        let StepKind::Inbound(data) = &step.kind else { return };
        self.close_wait(false);
        let result = self.take_body(data, body);
        self.apply_result(step, &path, result);
    }

    fn take_body(&mut self, data: &InboundStep, body: Value) -> StepResult {
        match self.write_outputs(&data.outputs, &body) {
            Ok(()) => StepResult::Done(body),
            Err(failure) => failure.into(),
        }
    }
}
