//! Progress messages of tasks.

use serde_json::{Value, json};

use crate::turn::{Level, Map, NoticeBody, Publication, VerboseNotice};
use crate::turning::Turning;
use crate::verbose::{Progress, publish};

/// Publishes what a task has to say: in the words of `ce_verbose`, or in its own.
pub(super) fn publication(t: &Turning<'_>, publication: &Publication) {
    let step = t.session.step_infos.iter().rev().find(|it| it.left.is_none()).map_or("", |it| it.name);
    match publication {
        Publication::Verbose { determinant, metadata, error } => {
            publish(t, Progress { error: *error, ..Progress::new(step, determinant) }, || metadata.clone());
        }
        Publication::Text { text, metadata, error } => own_words(t, step, text, metadata, *error),
    }
}

fn own_words(t: &Turning<'_>, step: &str, text: &str, metadata: &Map, error: bool) {
    let mut facts = metadata.clone();
    for (key, value) in [("conversationId", json!(t.session.conversation_id)), ("stepName", json!(step)), ("determinant", json!("TEXT"))] {
        facts.entry(key).or_insert(value);
    }
    t.door.notice(NoticeBody::Verbose(Box::new(VerboseNotice {
        verbose_id: None,
        step: step.to_owned(),
        determinant: "TEXT".to_owned(),
        intent: t.session.intent.clone(),
        state: t.session.state.clone(),
        rule_id: None,
        tool_code: None,
        level: if error { Level::Error } else { Level::Info },
        text: text.to_owned(),
        message: None,
        error_message: None,
        metadata: Value::Object(facts),
    })));
}
