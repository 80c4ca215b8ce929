//! Progress messages: which row of `ce_verbose` speaks for an event. (`spec/data-and-api.md` 8.1, 8.2)

use serde_json::{Value, json};

use crate::audit::Stage;
use crate::config::{ANY, Occasion, StepMatch, Verbose, same_code};
use crate::json::members;
use crate::text::template::Template;
use crate::turn::{Level, Map, NoticeBody, VerboseNotice};
use crate::turning::Turning;

/// Something that happened and that a row may speak for.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'e> {
    /// The step or resolver.
    pub step: &'e str,
    /// What happened.
    pub determinant: &'e str,
    /// The rule, where one is meant.
    pub rule_id: Option<i64>,
    /// The tool, where one is meant.
    pub tool_code: Option<&'e str>,
    /// Whether something failed.
    pub error: bool,
}

impl<'e> Progress<'e> {
    /// Ordinary progress.
    pub fn new(step: &'e str, determinant: &'e str) -> Self {
        Progress { step, determinant, rule_id: None, tool_code: None, error: false }
    }

    /// A failure: without a row, the user reads the default sentence.
    pub fn error(step: &'e str, determinant: &'e str) -> Self {
        Progress { error: true, ..Progress::new(step, determinant) }
    }

    /// The same of a rule.
    pub fn of_rule(self, rule_id: i64) -> Self {
        Progress { rule_id: Some(rule_id), ..self }
    }
}

/// Publishes the message for what happened, and audits the same facts.
pub fn tell(t: &Turning<'_>, stage: Stage, progress: Progress<'_>, facts: Value) {
    publish(t, progress, || members(facts.clone()));
    t.audit(stage, |_| facts);
}

/// Publishes the message for what happened; nothing when no row speaks for it, or the profile has no progress messages.
pub fn publish(t: &Turning<'_>, progress: Progress<'_>, metadata: impl FnOnce() -> Map) {
    if !t.config.settings.profile.verbose {
        return;
    }
    let rows = candidates(t, progress);
    if !rows.is_empty() || progress.error {
        speak(t, progress, &rows, metadata());
    }
}

fn candidates<'t>(t: &'t Turning<'_>, progress: Progress<'t>) -> Vec<&'t Verbose> {
    let occasion = Occasion {
        determinant: progress.determinant,
        rule_id: progress.rule_id,
        tool_code: progress.tool_code,
        intent: &t.session.intent,
        state: &t.session.state,
    };
    t.config.verbose.candidates(occasion).collect()
}

fn speak(t: &Turning<'_>, progress: Progress<'_>, rows: &[&Verbose], metadata: Map) {
    let facts = Value::Object(facts(t, progress, metadata));
    let notice = select(rows, progress, &facts).and_then(|row| of_row(t, progress, row, &facts));
    let notice = match notice {
        Some(notice) => notice,
        None if progress.error => default(t, progress, facts),
        None => return,
    };
    t.door.notice(NoticeBody::Verbose(Box::new(notice)));
}

fn facts(t: &Turning<'_>, progress: Progress<'_>, mut facts: Map) -> Map {
    for (key, value) in [
        ("conversationId", json!(t.session.conversation_id)),
        ("stepName", json!(progress.step)),
        ("determinant", json!(progress.determinant)),
    ] {
        facts.entry(key).or_insert(value);
    }
    if let Some(info) = t.session.step_infos.iter().find(|it| it.name == progress.step) {
        facts.entry("stepInfo").or_insert_with(|| info.json());
    }
    facts
}

fn select<'r>(rows: &[&'r Verbose], progress: Progress<'_>, facts: &Value) -> Option<&'r Verbose> {
    let scored = rows.iter().filter_map(|row| Some((score(row, progress, facts)?, *row)));
    scored.min_by_key(|(score, row)| (-score, row.priority, row.id)).map(|it| it.1)
}

fn score(row: &Verbose, progress: Progress<'_>, document: &Value) -> Option<i64> {
    let step = match &row.step {
        StepMatch::Exact(step) if same_code(step, progress.step) => 225,
        StepMatch::Exact(step) if same_code(step, ANY) => 0,
        StepMatch::Exact(_) => return None,
        StepMatch::Regex(regex) => (regex.find(progress.step) == Ok(true)).then_some(150)?,
        StepMatch::JsonPath(path) => holds(path.first(document).as_ref()).then_some(100)?,
    };
    if row.rule_id.is_some() && row.rule_id != progress.rule_id {
        return None;
    }
    if let Some(code) = &row.tool_code {
        progress.tool_code.filter(|it| same_code(it, code))?;
    }
    let part = |holds: bool, points: i64| if holds { points } else { 0 };
    Some(
        part(row.intent != ANY, 400)
            + part(row.state != ANY, 300)
            + part(row.determinant != ANY, 250)
            + step
            + part(row.rule_id.is_some(), 200)
            + part(row.tool_code.is_some(), 150)
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

/// The row's message; `None` when both of its texts are blank.
fn of_row(t: &Turning<'_>, progress: Progress<'_>, row: &Verbose, facts: &Value) -> Option<VerboseNotice> {
    let own = || members(facts.clone());
    // ConvEngine: a row's text that is missing is an empty one; pinned by the recording `s16_verbose`.
    let render = |it: &Option<Template>| it.as_ref().map(|it| t.session.render(it, own).text).unwrap_or_default();
    let (message, error_message) = (render(&row.message), render(&row.error_message));
    let texts = if progress.error { [&error_message, &message] } else { [&message, &error_message] };
    let text = (*texts.iter().find(|it| !it.trim().is_empty())?).clone();
    let look = if progress.error { ["ERROR", "danger", "warning"] } else { ["INFO", "progress", "spark"] };
    let mut metadata = own();
    for (key, value) in ["severity", "theme", "icon"].into_iter().zip(look) {
        metadata.insert(key.to_owned(), Value::from(value));
    }
    let (message, error_message) = (Some(message), Some(error_message));
    Some(VerboseNotice { verbose_id: Some(row.id), text, message, error_message, ..default(t, progress, Value::Object(metadata)) })
}

fn default(t: &Turning<'_>, progress: Progress<'_>, metadata: Value) -> VerboseNotice {
    VerboseNotice {
        verbose_id: None,
        step: progress.step.to_owned(),
        determinant: progress.determinant.to_owned(),
        intent: t.session.intent.clone(),
        state: t.session.state.clone(),
        rule_id: progress.rule_id,
        tool_code: progress.tool_code.map(str::to_owned),
        level: if progress.error { Level::Error } else { Level::Info },
        text: format!("Something went wrong while processing {}.", progress.step),
        message: None,
        error_message: None,
        metadata,
    }
}
