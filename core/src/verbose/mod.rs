//! Progress messages: which row of `ce_verbose` speaks for an event. (`spec/data-and-api.md` 8.1, 8.2)

use serde_json::{Value, json};

use crate::config::{ANY, StepMatch, Verbose, same_code};
use crate::turn::{Level, Map, NoticeBody, VerboseNotice};
use crate::turning::Turning;

/// Something that happened and that a row may speak for.
#[derive(Debug, Clone, Copy)]
pub struct Event<'e> {
    /// The step or resolver.
    pub step: &'e str,
    /// What happened.
    pub determinant: &'e str,
    /// The rule, where one is meant.
    pub rule_id: Option<i64>,
    /// Whether something failed.
    pub error: bool,
}

impl<'e> Event<'e> {
    /// Ordinary progress.
    pub fn new(step: &'e str, determinant: &'e str) -> Self {
        Event { step, determinant, rule_id: None, error: false }
    }

    /// A failure: without a row, the user reads the default sentence.
    pub fn error(step: &'e str, determinant: &'e str) -> Self {
        Event { error: true, ..Event::new(step, determinant) }
    }

    /// The same event of a rule.
    pub fn of_rule(self, rule_id: i64) -> Self {
        Event { rule_id: Some(rule_id), ..self }
    }
}

/// Publishes the message for an event; nothing when no row speaks for it.
pub fn publish(t: &Turning<'_>, event: Event<'_>, metadata: impl FnOnce() -> Map) {
    if t.config.verbose.is_empty() && !event.error {
        return;
    }
    let mut facts = metadata();
    for (key, value) in
        [("conversationId", json!(t.session.conversation_id)), ("stepName", json!(event.step)), ("determinant", json!(event.determinant))]
    {
        facts.entry(key).or_insert(value);
    }
    if let Some(info) = t.session.step_infos.get(event.step) {
        facts.entry("stepInfo").or_insert_with(|| info.clone());
    }
    let notice = match select(t, event, &facts) {
        Some(row) => of_row(t, event, row, facts),
        None if event.error => fallback(t, event, facts),
        None => return,
    };
    t.door.notice(NoticeBody::Verbose(Box::new(notice)));
}

fn select<'t>(t: &'t Turning<'_>, event: Event<'_>, facts: &Map) -> Option<&'t Verbose> {
    let document = Value::Object(facts.clone());
    let candidates = t.config.verbose.candidates(event.determinant, &t.session.intent, &t.session.state);
    let scored = candidates.filter_map(|row| Some((score(row, event, &document)?, row)));
    let (_, best) = scored.min_by_key(|(score, row)| (-score, row.priority, row.id))?;
    let has_text = best.message.is_some() || best.error_message.is_some();
    has_text.then_some(best)
}

fn score(row: &Verbose, event: Event<'_>, document: &Value) -> Option<i64> {
    let step = match &row.step {
        StepMatch::Exact(step) if same_code(step, event.step) => 225,
        StepMatch::Exact(step) if same_code(step, ANY) => 0,
        StepMatch::Exact(_) => return None,
        StepMatch::Regex(regex) => (regex.find(event.step) == Ok(true)).then_some(150)?,
        StepMatch::JsonPath(path) => holds(path.first(document).as_ref()).then_some(100)?,
    };
    if row.rule_id.is_some() && row.rule_id != event.rule_id {
        return None;
    }
    if row.tool_code.is_some() {
        // No step of this version speaks of a tool.
        return None;
    }
    let part = |holds: bool, points: i64| if holds { points } else { 0 };
    Some(
        part(row.intent != ANY, 400)
            + part(row.state != ANY, 300)
            + part(row.determinant != ANY, 250)
            + step
            + part(row.rule_id.is_some(), 200)
            - row.priority,
    )
}

/// Null, nothing, blank and false do not hold.
fn holds(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.trim().is_empty() && !text.trim().eq_ignore_ascii_case("false"),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Bool(true) | Value::Number(_) | Value::Object(_)) => true,
    }
}

fn of_row(t: &Turning<'_>, event: Event<'_>, row: &Verbose, mut facts: Map) -> VerboseNotice {
    let render = |it: &crate::text::template::Template| t.session.render(it, || facts.clone());
    let message = row.message.as_ref().map(render);
    let error_message = row.error_message.as_ref().map(render);
    let (first, second) = if event.error { (&error_message, &message) } else { (&message, &error_message) };
    let text = first.as_ref().or(second.as_ref()).cloned().unwrap_or_default();
    let look = if event.error { ["ERROR", "danger", "warning"] } else { ["INFO", "progress", "spark"] };
    for (key, value) in ["severity", "theme", "icon"].into_iter().zip(look) {
        facts.insert(key.to_owned(), Value::from(value));
    }
    VerboseNotice { verbose_id: Some(row.id), text, message, error_message, ..fallback(t, event, facts) }
}

fn fallback(t: &Turning<'_>, event: Event<'_>, facts: Map) -> VerboseNotice {
    VerboseNotice {
        verbose_id: None,
        step: event.step.to_owned(),
        determinant: event.determinant.to_owned(),
        intent: t.session.intent.clone(),
        state: t.session.state.clone(),
        rule_id: event.rule_id,
        level: if event.error { Level::Error } else { Level::Info },
        text: format!("Something went wrong while processing {}.", event.step),
        message: None,
        error_message: None,
        metadata: Value::Object(facts),
    }
}
