//! Progress messages: selects the row of `ce_verbose` for an event. (docs/spec/data-and-api.md#8.1, docs/spec/data-and-api.md#8.2)

use std::cmp::Reverse;

use convengine_config::{ANY, StepMatcher, VerboseEvent, VerboseRow, is_same_code};
use convengine_text::json::into_members;
use convengine_text::template::Template;
use convengine_text::value::PROGRESS;
use convengine_turn::{Level, Map, NoticeBody, VerboseNotice};
use serde_json::{Value, json};

use crate::audit::Stage;
use crate::step_context::StepContext;

/// An event that a row may have a message for.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'e> {
    /// The step or resolver, or the task.
    pub step: &'e str,
    /// What happened.
    pub determinant: &'e str,
    /// The rule, if it is about one.
    pub rule_id: Option<i64>,
    /// The tool, if it is about one.
    pub tool_code: Option<&'e str>,
    /// Whether something failed.
    pub failure: Option<Failure>,
}

/// What a failure means for the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The turn goes on. Only the text of a row is published, as ordinary progress.
    Survived,
    /// A task reports an error of its own. The text of its row is published as an error.
    Reported,
    /// The turn fails. Without a row, a default text is published.
    Fatal,
}

impl<'e> Progress<'e> {
    /// Ordinary progress.
    pub fn new(step: &'e str, determinant: &'e str) -> Self {
        Progress { step, determinant, rule_id: None, tool_code: None, failure: None }
    }

    /// A failure that fails the turn.
    pub fn fatal(step: &'e str, determinant: &'e str) -> Self {
        Progress { failure: Some(Failure::Fatal), ..Progress::new(step, determinant) }
    }

    /// A failure that the turn survives.
    pub fn survived(step: &'e str, determinant: &'e str) -> Self {
        Progress { failure: Some(Failure::Survived), ..Progress::new(step, determinant) }
    }

    fn is_fatal(self) -> bool {
        self.failure == Some(Failure::Fatal)
    }

    fn is_error(self) -> bool {
        matches!(self.failure, Some(Failure::Reported | Failure::Fatal))
    }

    /// Returns the progress for a rule.
    pub fn with_rule(self, rule_id: i64) -> Self {
        Progress { rule_id: Some(rule_id), ..self }
    }
}

/// Publishes the message for an event and audits the same facts.
pub fn publish_and_audit(cx: &StepContext<'_>, stage: Stage, progress: Progress<'_>, facts: Value) {
    publish(cx, progress, || into_members(facts.clone()));
    cx.audit(stage, |_| facts);
}

/// Publishes the message for an event; skipped when no row matches, or the profile has no progress messages.
pub fn publish(cx: &StepContext<'_>, progress: Progress<'_>, metadata: impl FnOnce() -> Map) {
    if !cx.config.settings.profile.has_progress_messages {
        return;
    }
    let rows = candidates(cx, progress);
    if !rows.is_empty() || progress.is_fatal() {
        publish_notice(cx, progress, &rows, metadata());
    }
}

fn candidates<'t>(cx: &'t StepContext<'_>, progress: Progress<'t>) -> Vec<&'t VerboseRow> {
    let occasion = VerboseEvent {
        determinant: progress.determinant,
        rule_id: progress.rule_id,
        tool_code: progress.tool_code,
        intent: &cx.session.intent,
        state: &cx.session.state,
    };
    cx.config.verbose.candidates(occasion).collect()
}

fn publish_notice(cx: &StepContext<'_>, progress: Progress<'_>, rows: &[&VerboseRow], metadata: Map) {
    let facts = Value::Object(add_common_facts(cx, progress, metadata));
    let notice = select_row(rows, progress, &facts).and_then(|row| notice_from_row(cx, progress, row, &facts));
    let notice = match notice {
        Some(notice) => notice,
        None if progress.is_fatal() => default_notice(cx, progress, facts),
        None => return,
    };
    cx.effects.publish(NoticeBody::Verbose(Box::new(notice)));
}

fn add_common_facts(cx: &StepContext<'_>, progress: Progress<'_>, mut facts: Map) -> Map {
    for (key, value) in [
        ("conversationId", json!(cx.session.conversation_id)),
        ("stepName", json!(progress.step)),
        ("determinant", json!(progress.determinant)),
    ] {
        facts.entry(key).or_insert(value);
    }
    if let Some(info) = cx.session.step_infos.iter().find(|info| info.name == progress.step) {
        facts.entry("stepInfo").or_insert_with(|| info.to_json());
    }
    facts
}

fn select_row<'r>(rows: &[&'r VerboseRow], progress: Progress<'_>, facts: &Value) -> Option<&'r VerboseRow> {
    let scored = rows.iter().filter_map(|row| Some((score_row(row, progress, facts)?, *row)));
    scored.min_by_key(|(score, row)| (Reverse(*score), row.priority, row.id)).map(|it| it.1)
}

fn score_row(row: &VerboseRow, progress: Progress<'_>, document: &Value) -> Option<i64> {
    let step = match &row.step {
        StepMatcher::Exact(step) if is_same_code(step, progress.step) => 225,
        // ConvEngine: the name of the class whose method publishes.
        StepMatcher::Exact(step) if progress.step.split_once(':').is_some_and(|it| is_same_code(step, it.0)) => 225,
        StepMatcher::Exact(step) if is_same_code(step, ANY) => 0,
        StepMatcher::Exact(_) => return None,
        StepMatcher::Regex(regex) => (regex.is_match(progress.step) == Ok(true)).then_some(150)?,
        StepMatcher::JsonPath(path) => PROGRESS.is_true(path.first(document).as_ref()).then_some(100)?,
    };
    if row.rule_id.is_some() && row.rule_id != progress.rule_id {
        return None;
    }
    if let Some(code) = &row.tool_code {
        progress.tool_code.filter(|it| is_same_code(it, code))?;
    }
    let part = |applies: bool, points: i64| if applies { points } else { 0 };
    let points = part(row.intent != ANY, 400)
        + part(row.state != ANY, 300)
        + part(row.determinant != ANY, 250)
        + step
        + part(row.rule_id.is_some(), 200)
        + part(row.tool_code.is_some(), 150);
    Some(points.saturating_sub(row.priority))
}

/// The row's message; `None` when both texts are blank.
fn notice_from_row(cx: &StepContext<'_>, progress: Progress<'_>, row: &VerboseRow, facts: &Value) -> Option<VerboseNotice> {
    let own_facts = || into_members(facts.clone());
    // A missing text counts as empty. (recording `s16_verbose`)
    let render =
        |template: &Option<Template>| template.as_ref().map(|template| cx.session.render(template, own_facts).text).unwrap_or_default();
    let (message, error_message) = (render(&row.message), render(&row.error_message));
    let texts = if progress.failure.is_some() { [&error_message, &message] } else { [&message, &error_message] };
    let text = (*texts.iter().find(|text| !text.trim().is_empty())?).clone();
    let presentation = if progress.is_error() { ["ERROR", "danger", "warning"] } else { ["INFO", "progress", "spark"] };
    let mut metadata = own_facts();
    for (key, value) in ["severity", "theme", "icon"].into_iter().zip(presentation) {
        metadata.insert(key.to_owned(), Value::from(value));
    }
    let (message, error_message) = (Some(message), Some(error_message));
    Some(VerboseNotice { verbose_id: Some(row.id), text, message, error_message, ..default_notice(cx, progress, Value::Object(metadata)) })
}

fn default_notice(cx: &StepContext<'_>, progress: Progress<'_>, metadata: Value) -> VerboseNotice {
    VerboseNotice {
        verbose_id: None,
        step: progress.step.to_owned(),
        determinant: progress.determinant.to_owned(),
        intent: cx.session.intent.clone(),
        state: cx.session.state.clone(),
        rule_id: progress.rule_id,
        tool_code: progress.tool_code.map(str::to_owned),
        level: if progress.is_error() { Level::Error } else { Level::Info },
        text: format!("Something went wrong while processing {}.", progress.step),
        message: None,
        error_message: None,
        metadata,
    }
}
