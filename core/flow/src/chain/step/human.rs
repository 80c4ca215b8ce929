//! `human` steps: a question to people, and the wait for their decision.

use convengine_config::flow::document::chain::{HumanStep, StepDef};
use convengine_config::flow::shape::Keyword;
use convengine_text::date::Date;
use convengine_turn::{HttpCaller, HttpRequest, STUB_ADDRESS};
use serde_json::{Value, json};

use super::super::Runner;
use super::super::advance::StepResult;
use super::super::state::{Wait, WaitKind};
use super::request_failure;
use crate::post_json;

impl<'c> Runner<'c> {
    /// Asks people and waits.
    pub(super) async fn ask_human(&mut self, step: &'c StepDef, path: &str, data: &'c HumanStep) -> StepResult {
        let prompt = self.render_text(&data.prompt, &self.previous_text());
        self.set_input(json!(prompt));
        let now = self.effects.now();
        let due = data.expires_ms.and_then(|ms| now.checked_add(i64::try_from(ms).ok()?));
        let to_field = |param: &convengine_config::flow::document::Param| {
            let mut field = json!({"name": param.name.to_string(), "required": param.required});
            if let Some(members) = field.as_object_mut() {
                members.extend(param.kind.map(|kind| ("type".to_owned(), json!(kind.keyword()))));
                members.extend(param.default.clone().map(|it| ("default".to_owned(), it)));
            }
            field
        };
        let wait = Wait {
            due: due.map(|ms| Date::from_millis(ms).to_rfc3339_millis()),
            prompt: Some(prompt),
            assignees: data.assignees.clone(),
            options: data.options.clone(),
            form: data.form.iter().map(to_field).collect(),
            ..Wait::new(WaitKind::Human, path, &step.id, self.attempt_number())
        };
        for (number, assignee) in data.assignees.iter().enumerate() {
            let Some(request) = self.human_request(&wait, number, assignee) else { continue };
            let outcome = self.send(request).await;
            if let Some(failure) = request_failure(step, &outcome) {
                self.trace("notify.failed", json!({"path": path, "to": assignee, "code": failure.code}));
            }
        }
        StepResult::Waiting(wait)
    }

    /// The request that notifies an assignee; `None` for a label.
    fn human_request(&self, wait: &Wait, number: usize, assignee: &str) -> Option<HttpRequest> {
        // Each assignee is notified once.
        let key = format!("{}#{}/{number}", wait.path, wait.attempt);
        let resume_path = format!("/v1/workflow-chains/{}/runs/{}/resume", self.state.chain, self.state.id);
        if is_url(assignee) {
            let secret = resume_token_secret(&self.state.id, wait);
            // The token comes before what others have written.
            let body = json!({
                "type": "human.request", "resume_token": format!("[secret:{secret}]"), "chain": self.state.chain, "run_id": self.state.id,
                "step": wait.path, "prompt": wait.prompt, "options": wait.options, "form": wait.form, "resume_path": resume_path,
                "expires_at": wait.due,
            })
            .to_string();
            let marker = format!("[secret:{secret}]");
            let secrets = body.find(&marker).map(|at| format!("json {at} {secret}")).into_iter().collect();
            let mut request = post_json(assignee.to_owned(), HttpCaller::Notify("webhook".to_owned()), body);
            request.secrets = secrets;
            self.add_key_and_signature(&mut request, &key, None);
            return Some(request);
        }
        if !assignee.contains('@') {
            return None;
        }
        let text = format!("{}\n\n{resume_path}", wait.prompt.as_deref().unwrap_or_default());
        let body = json!({
            "channel": "email", "to": assignee, "subject": "A decision is needed", "text": text, "chain": self.state.chain,
            "run_id": self.state.id, "step": wait.path,
        });
        let mut request = post_json("notify:email".to_owned(), HttpCaller::Notify("email".to_owned()), body.to_string());
        self.add_key_and_signature(&mut request, &key, None);
        Some(request)
    }
}

/// Whether an assignee is notified by a request to its URL.
fn is_url(assignee: &str) -> bool {
    assignee.contains("://") || assignee.starts_with(STUB_ADDRESS)
}

/// Whether an assignee is notified; others are labels.
pub(in crate::chain) fn is_notified(assignee: &str) -> bool {
    is_url(assignee) || assignee.contains('@')
}

/// The name by which the host finds the token of a wait.
fn resume_token_secret(run: &str, wait: &Wait) -> String {
    format!("resume_token:{run}:{}:{}:{}", wait.path, wait.attempt, wait.token_serial)
}

/// The deliveries of a step.
pub(super) fn delivery(to: &Value, code: Option<&str>) -> Value {
    match code {
        None => json!({"to": to, "status": "sent"}),
        Some(code) => json!({"to": to, "status": "failed", "code": code}),
    }
}
