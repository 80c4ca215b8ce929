//! `notify` steps: messages to people or services, each sent once.

use convengine_config::flow::document::FlowTemplate;
use convengine_config::flow::document::chain::{NotifyStep, StepDef};
use convengine_turn::{EffectErrorKind, HttpCaller};
use serde_json::{Value, json};

use super::super::Runner;
use super::super::advance::StepResult;
use super::super::failure::StepFailure;
use super::human::delivery;
use super::request_failure;
use crate::{Failure, RequestRenderer, post_json};

impl<'c> Runner<'c> {
    /// Notifies all recipients.
    pub(super) async fn notify(&mut self, step: &'c StepDef, path: &str, data: &'c NotifyStep) -> StepResult {
        let previous = self.previous_text();
        let text = self.render_text(&data.text, &previous);
        let subject = data.subject.as_ref().map(|it| self.render_text(it, &previous));
        let to: Result<Vec<String>, Failure> = match data.channel.as_str() {
            "webhook" => data.to.iter().map(|it| self.render_target(it, &previous)).collect(),
            _ => Ok(data.to.iter().map(|it| self.render_text(it, &previous)).collect()),
        };
        let to = match to {
            Ok(to) => to,
            Err(failure) => return failure.into(),
        };
        self.set_input(json!({"to": to, "subject": subject, "text": text}));
        if data.channel == "log" {
            self.trace("notify.log", json!({"path": path, "to": to, "subject": subject, "text": text}));
            return StepResult::Done(json!({"deliveries": []}));
        }
        // A channel without recipients has its own, such as the room of a chat.
        let recipients: Vec<Value> =
            if to.is_empty() && data.channel != "webhook" { vec![Value::Null] } else { to.iter().map(|it| json!(it)).collect() };
        let mut deliveries = Vec::new();
        let mut failed: Option<StepFailure> = None;
        for (number, recipient) in recipients.iter().enumerate() {
            let body = json!({
                "channel": data.channel, "to": recipient, "subject": subject, "text": text, "chain": self.state.chain,
                "run_id": self.state.id, "step": path,
            });
            let url = match (data.channel.as_str(), recipient.as_str()) {
                ("webhook", Some(url)) => url.to_owned(),
                (channel, _) => format!("notify:{channel}"),
            };
            let mut request = post_json(url, HttpCaller::Notify(data.channel.clone()), body.to_string());
            self.add_key_and_signature(&mut request, &format!("{path}/{number}"), None);
            let outcome = self.send(request).await;
            let is_unavailable = matches!(&outcome, Err(error) if error.kind == EffectErrorKind::Unsupported);
            let mut failure = request_failure(step, &outcome);
            if let Some(failure) = failure.as_mut().filter(|_| is_unavailable) {
                failure.code = "channel_unavailable".to_owned();
                failure.message = format!("the channel '{}' is not configured", data.channel);
            }
            let code = failure.as_ref().map(|it| it.code.clone());
            if let Some(code) = &code {
                self.trace("notify.failed", json!({"path": path, "to": recipient, "code": code}));
            }
            deliveries.push(delivery(recipient, code.as_deref()));
            failed = failed.or(failure);
        }
        let output = json!({"deliveries": deliveries});
        match failed {
            Some(failure) => StepResult::Failed(StepFailure { output: Some(Box::new(output)), ..failure }),
            None => StepResult::Done(output),
        }
    }

    /// Renders the URL of a recipient.
    fn render_target(&self, template: &FlowTemplate, text: &str) -> Result<String, Failure> {
        let names = self.scope(text);
        let mut renderer = RequestRenderer::new(&names);
        let rendered = renderer.render_url(template).map(|it| it.text);
        let undefined = renderer.undefined;
        undefined.iter().for_each(|it| self.warn_undefined(it));
        rendered
    }
}
