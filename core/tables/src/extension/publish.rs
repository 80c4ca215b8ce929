//! Progress messages of tasks. (docs/spec/data-and-api.md#8.2)

use std::borrow::Cow;

use convengine_text::template::Template;
use convengine_turn::{Level, Map, NoticeBody, TaskProgress, VerboseNotice, payload};
use serde_json::{Value, json};

use crate::audit::Stage;
use crate::step_context::StepContext;
use crate::verbose::{Failure, Progress, publish};

/// A task whose messages are published. Its name is their step, wherever in the turn it is called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Publisher<'t> {
    task: &'t str,
    /// Whether its texts are templates; otherwise they have been rendered, and what they print is never parsed again.
    has_templates: bool,
}

impl<'t> Publisher<'t> {
    /// A task whose texts are templates.
    pub fn with_templates(task: &'t str) -> Publisher<'t> {
        Publisher { task, has_templates: true }
    }

    /// A task whose texts have been rendered.
    pub fn with_rendered_texts(task: &'t str) -> Publisher<'t> {
        Publisher { task, has_templates: false }
    }

    /// Publishes a message: with the text of `ce_verbose`, or with its own.
    pub fn publish(self, cx: &StepContext<'_>, publication: &TaskProgress) {
        match publication {
            TaskProgress::Verbose { determinant, metadata, error } => {
                let progress = Progress { failure: error.then_some(Failure::Reported), ..Progress::new(self.task, determinant) };
                publish(cx, progress, || metadata.clone());
            }
            TaskProgress::Text { text, metadata, error } => self.publish_text(cx, text, metadata, *error),
        }
    }

    fn publish_text(self, cx: &StepContext<'_>, text: &str, metadata: &Map, error: bool) {
        let mut facts = metadata.clone();
        for (key, value) in
            [("conversationId", json!(cx.session.conversation_id)), ("stepName", json!(self.task)), ("determinant", json!("TEXT"))]
        {
            facts.entry(key).or_insert(value);
        }
        let Some(text) = self.render(cx, text, &facts) else { return };
        cx.effects.publish(NoticeBody::Verbose(Box::new(VerboseNotice {
            verbose_id: None,
            step: self.task.to_owned(),
            determinant: "TEXT".to_owned(),
            intent: cx.session.intent.clone(),
            state: cx.session.state.clone(),
            rule_id: None,
            tool_code: None,
            level: if error { Level::Error } else { Level::Info },
            text: text.into_owned(),
            message: None,
            error_message: None,
            metadata: Value::Object(facts),
        })));
    }

    /// Renders a text with the session and the facts. A template that does not compile is audited and never shown.
    fn render<'m>(self, cx: &StepContext<'_>, text: &'m str, facts: &Map) -> Option<Cow<'m, str>> {
        if !self.has_templates {
            return Some(Cow::Borrowed(text));
        }
        match Template::compile(text) {
            Ok(template) => Some(Cow::Owned(cx.session.render(&template, || facts.clone()).text)),
            Err(reason) => {
                let message = format!("the text of a progress message is not a template: {reason}");
                cx.audit(
                    Stage::StepHookError,
                    |_| payload!({"step": self.task, "phase": "publish", "hookClass": self.task, "errorType": "invalid", "errorMessage": message}),
                );
                None
            }
        }
    }
}
