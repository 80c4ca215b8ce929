//! Progress messages of tasks.

use serde_json::{Value, json};

use crate::step_context::StepContext;
use crate::turn::{Level, Map, NoticeBody, TaskProgress, VerboseNotice};
use crate::verbose::{Failure, Progress, publish};

/// Publishes a task's progress message: with the text of `ce_verbose`, or with its own.
pub(super) fn publish_task_progress(cx: &StepContext<'_>, publication: &TaskProgress) {
    let step = cx.session.step_infos.iter().rev().find(|it| it.exit.is_none()).map_or("", |it| it.name);
    match publication {
        TaskProgress::Verbose { determinant, metadata, error } => {
            publish(cx, Progress { failure: error.then_some(Failure::Reported), ..Progress::new(step, determinant) }, || metadata.clone());
        }
        TaskProgress::Text { text, metadata, error } => publish_text(cx, step, text, metadata, *error),
    }
}

fn publish_text(cx: &StepContext<'_>, step: &str, text: &str, metadata: &Map, error: bool) {
    let mut facts = metadata.clone();
    for (key, value) in [("conversationId", json!(cx.session.conversation_id)), ("stepName", json!(step)), ("determinant", json!("TEXT"))] {
        facts.entry(key).or_insert(value);
    }
    cx.effects.publish(NoticeBody::Verbose(Box::new(VerboseNotice {
        verbose_id: None,
        step: step.to_owned(),
        determinant: "TEXT".to_owned(),
        intent: cx.session.intent.clone(),
        state: cx.session.state.clone(),
        rule_id: None,
        tool_code: None,
        level: if error { Level::Error } else { Level::Info },
        text: text.to_owned(),
        message: None,
        error_message: None,
        metadata: Value::Object(facts),
    })));
}
