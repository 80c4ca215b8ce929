//! The progress of a call as subscribers of its conversation see it: without secrets, redacted, short, and not too often. Log messages of
//! servers are for nobody: they are dropped as they arrive.

use convengine_redaction::Redaction;
use convengine_settings::secrets::Secrets;
use rmcp::model::ProgressNotificationParam;
use serde_json::{Value, json};

use crate::OutputSink;

/// Maximum progress messages of a call; the rest is dropped.
pub const MAX_PROGRESS_MESSAGES: u32 = 100;

/// Maximum characters of a progress message.
const MAX_PROGRESS_CHARS: usize = 500;

/// Publishes the progress of a call.
#[derive(Debug, Clone, Copy)]
pub struct McpProgress<'a> {
    publisher: &'a dyn OutputSink,
    secrets: &'a Secrets,
    redaction: &'a Redaction,
}

impl<'a> McpProgress<'a> {
    /// Creates the publisher of a call, with what must not be published.
    pub fn new(publisher: &'a dyn OutputSink, secrets: &'a Secrets, redaction: &'a Redaction) -> McpProgress<'a> {
        McpProgress { publisher, secrets, redaction }
    }

    /// Publishes a message of the server.
    pub fn publish(&self, step: &ProgressNotificationParam) {
        self.publisher.send_progress(&render(step, self.secrets, self.redaction));
    }
}

/// Renders `{"progress", "total", "message"}`. The message is cut last, so that no part of a secret is left at its end.
fn render(step: &ProgressNotificationParam, secrets: &Secrets, redaction: &Redaction) -> Value {
    let message = step.message.as_ref().map(|it| secrets.scrub(it));
    let mut shown = json!({"progress": step.progress, "total": step.total, "message": message});
    redaction.redact_members(&mut shown, &["progress", "total", "message"]);
    if let Some(Value::String(message)) = shown.get_mut("message")
        && let Some((end, _)) = message.char_indices().nth(MAX_PROGRESS_CHARS)
    {
        message.truncate(end);
    }
    shown
}

#[cfg(test)]
mod tests {
    use rmcp::model::{NumberOrString, ProgressToken};

    use super::*;

    #[test]
    fn a_message_is_scrubbed_redacted_and_cut() {
        let mut secrets = Secrets::default();
        secrets.add("CRM", "hunter2-hunter2");
        let mut problems = Vec::new();
        let rules = json!([{"pattern": r"\b4929\d{12}\b", "with": "[card]"}]);
        let redaction = Redaction::read(&rules, &mut problems);
        assert_eq!(problems, [""; 0]);
        let mut step = ProgressNotificationParam::new(ProgressToken(NumberOrString::Number(1)), 4_929_123_456_781_111.0);
        step.message = Some("charge 4929123456781111 with hunter2-hunter2".to_owned());
        let shown = render(&step, &secrets, &redaction);
        assert_eq!(shown["message"], "charge [card] with [secret:CRM]");
        assert!(!shown.to_string().contains("4929"), "{shown}");
        // A secret at the place of the cut does not leave its beginning.
        step.message = Some(format!("{} hunter2-hunter2", "x".repeat(MAX_PROGRESS_CHARS - 4)));
        let shown = render(&step, &secrets, &Redaction::default());
        let message = shown["message"].as_str().unwrap_or_default();
        assert_eq!(message, format!("{} [se", "x".repeat(MAX_PROGRESS_CHARS - 4)));
    }
}
