//! Produces the turn's answer: from a text, by a model, or as the open question.

mod derived;

pub use derived::{answer_collision, derive_answer};

use convengine_config::{OutputFormat, Response, ResponseSource, is_same_code};
use convengine_text::template::Template;
use convengine_text::value::TEMPLATE;
use convengine_turn::{Map, Payload, PayloadKind, payload};
use serde_json::{Value, json};

use crate::audit::Stage;
use crate::session::{AnswerSource, UNCONFIRMED};
use crate::step_context::StepContext;

/// Maximum length of a template preview in an audit row, in characters.
const MAX_PREVIEW_CHARS: usize = 500;

/// Renders the answer from the row's text. (docs/spec/data-and-api.md#5.2)
pub fn render_exact(cx: &mut StepContext<'_>, response: &Response, template: &Template) {
    let rendered = cx.session.render(template, || response_variables(response, template));
    let final_answer = cx.session.context.get("mcp").and_then(|it| it.get("finalAnswer")).map(|answer| TEMPLATE.print(answer).into_owned());
    let final_answer = final_answer.map(|answer| answer.trim().to_owned()).filter(|answer| !answer.is_empty() && answer != "null");
    let blank = rendered.text.trim().is_empty() && template.literal().is_none();
    let reason = rendered.error.or_else(|| blank.then(|| "the text came out blank".to_owned()));
    let text = match (&reason, final_answer) {
        (Some(_), Some(answer)) => answer,
        (Some(_), None) | (None, _) => rendered.text,
    };
    if let Some(reason) = reason.filter(|_| !blank || !text.trim().is_empty()) {
        cx.audit(Stage::ExactResponseRendering, |_| fallback_payload(template, &reason));
    }
    cx.audit(Stage::ResponseExact, |_| payload!({"text": text}));
    set_answer(cx, response.format, "RESPONSE_EXACT", text);
}

fn fallback_payload(template: &Template, reason: &str) -> Value {
    let preview: String = template.source().chars().take(MAX_PREVIEW_CHARS).collect();
    let more = if template.source().chars().count() > MAX_PREVIEW_CHARS { "..." } else { "" };
    json!({
        "component": "response-exact", "fallbackUsed": true, "errorClass": "TEMPLATE_EVALUATION", "errorMessage": reason,
        "templatePreview": format!("{preview}{more}"),
    })
}

fn response_variables(response: &Response, template: &Template) -> Map {
    let values =
        [("outputFormat", json!(response.format.name())), ("responseType", json!("EXACT")), ("exactText", json!(template.source()))];
    let absent = ["derivationHint", "jsonSchema"].map(|it| (it, Value::Null));
    values.into_iter().chain(absent).map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Sets the payload and its stored form. (docs/spec/data-and-api.md#5.5)
fn set_answer(cx: &mut StepContext<'_>, format: OutputFormat, source: &'static str, text: String) {
    let structured = || serde_json::from_str::<Value>(&text).is_ok_and(|value| value.is_object() || value.is_array());
    let (kind, stored) = match format {
        OutputFormat::Text => (PayloadKind::Text, json!({"type": "TEXT", "value": text}).to_string()),
        OutputFormat::Json if structured() => (PayloadKind::Json, text.clone()),
        OutputFormat::Json if source == "RESPONSE_EXACT" => (PayloadKind::Json, json!({"type": "JSON_TEXT", "value": text}).to_string()),
        OutputFormat::Json => (PayloadKind::Json, json!({"type": "TEXT", "value": text}).to_string()),
    };
    cx.session.last_output = Some((source, text.clone()));
    cx.session.last_assistant = Some(stored);
    cx.session.payload = Some(Payload { kind, value: text });
}

/// Answers with the question asked in this turn; returns false when none was asked. (docs/decisions/0006-clarification.md)
pub fn answer_open_question(cx: &mut StepContext<'_>) -> bool {
    let Some(question) =
        cx.session.clarification.as_ref().filter(|_| cx.session.is_question_new).map(|clarification| clarification.question.clone())
    else {
        return false;
    };
    answer_text(cx, &question, "CLARIFICATION");
    true
}

/// Answers that the outcome of a call is unknown, unless the configuration covers it: a rule has changed intent or state since, or the
/// response uses what the call left. Returns false when there is nothing to say.
pub fn answer_unconfirmed(cx: &mut StepContext<'_>, response: &Response) -> bool {
    let Some((intent, state)) = &cx.session.unconfirmed_at else { return false };
    let has_moved = !is_same_code(intent, &cx.session.intent) || !is_same_code(state, &cx.session.state);
    if has_moved || response_templates(cx, response).iter().any(|template| template.names().any(is_call_variable)) {
        return false;
    }
    answer_text(cx, UNCONFIRMED, "UNCONFIRMED");
    true
}

fn response_templates<'c>(cx: &StepContext<'c>, response: &'c Response) -> Vec<&'c Template> {
    match &response.source {
        ResponseSource::Exact(template) => vec![template],
        ResponseSource::Derived { .. } => {
            let prompt = cx.config.prompts.find_response(response.format.name(), &cx.session.intent, &cx.session.state);
            prompt.map(|prompt| vec![&prompt.system, &prompt.user]).unwrap_or_default()
        }
    }
}

/// Whether a template variable covers call results: the whole context or parameters, or their action and tool members.
fn is_call_variable(name: &str) -> bool {
    let is_call_member = |part: &str| ["pending_action", "tool_", "mcp"].iter().any(|prefix| part.starts_with(prefix));
    ["context", "inputParams", "session"].contains(&name) || name.split('.').any(is_call_member)
}

/// Answers with a built-in text.
fn answer_text(cx: &mut StepContext<'_>, text: &str, kind: &str) {
    cx.session.last_assistant = Some(json!({"type": "TEXT", "value": text}).to_string());
    cx.session.payload = Some(Payload { kind: PayloadKind::Text, value: text.to_owned() });
    audit_answer(cx, "TEXT", kind, None);
}

/// Audits the answer: at once, or where hooks and transformers apply, which may still change it, at the end of the turn.
pub fn audit_answer(cx: &mut StepContext<'_>, format: &str, kind: &str, response_id: Option<i64>) {
    if !cx.config.hooks.has_any(&cx.session.intent, &cx.session.state) {
        return audit_output(cx, format, kind, response_id);
    }
    cx.session.unaudited_answer = Some(AnswerSource { format: format.to_owned(), kind: kind.to_owned(), response_id });
}

/// Audits the answer that has waited for the end of the turn, if any.
pub fn audit_final_answer(cx: &mut StepContext<'_>) {
    if let Some(source) = cx.session.unaudited_answer.take() {
        audit_output(cx, &source.format, &source.kind, source.response_id);
    }
}

fn audit_output(cx: &StepContext<'_>, format: &str, kind: &str, response_id: Option<i64>) {
    cx.audit(Stage::AssistantOutput, |session| {
        payload!({
            "output": session.payload.as_ref().map(|payload| &payload.value),
            "outputFormat": format,
            "responseType": kind,
            "responseId": response_id,
            "intent": session.intent,
            "state": session.state,
            "context": session.context,
            "schemaJson": session.schema_json(),
        })
    });
}
