//! Produces the turn's answer: from a text, by a model, or as the open question.

mod derived;

pub use derived::{collision, derived};

use serde_json::{Value, json};

use crate::audit::Stage;
use crate::config::{Making, OutputFormat, Response, same_code};
use crate::session::UNCONFIRMED;
use crate::text::template::Template;
use crate::turn::{Map, Payload, PayloadKind};
use crate::turning::Turning;

/// Maximum length of a template preview in an audit row, in characters.
const PREVIEW: usize = 500;

/// Renders the answer from the row's text. (docs/spec/data-and-api.md#5.2)
pub fn exact(cx: &mut Turning<'_>, response: &Response, template: &Template) -> String {
    let rendered = cx.session.render(template, || own_variables(response, template));
    let final_answer = cx.session.context.get("mcp").and_then(|it| it.get("finalAnswer")).map(crate::text::plain_text);
    let final_answer = final_answer.map(|it| it.trim().to_owned()).filter(|it| !it.is_empty() && it != "null");
    let blank = rendered.text.trim().is_empty() && template.literal().is_none();
    let reason = rendered.error.or_else(|| blank.then(|| "the text came out blank".to_owned()));
    let text = match (&reason, final_answer) {
        (Some(_), Some(answer)) => answer,
        (Some(_), None) | (None, _) => rendered.text,
    };
    if let Some(reason) = reason.filter(|_| !blank || !text.trim().is_empty()) {
        cx.audit(Stage::ExactResponseRendering, |_| fallback(template, &reason));
    }
    cx.audit(Stage::ResponseExact, |_| json!({"text": text}));
    answer(cx, response.format, "RESPONSE_EXACT", text.clone());
    text
}

fn fallback(template: &Template, reason: &str) -> Value {
    let preview: String = template.source().chars().take(PREVIEW).collect();
    let more = if template.source().chars().count() > PREVIEW { "..." } else { "" };
    json!({
        "component": "response-exact", "fallbackUsed": true, "errorClass": "TEMPLATE_EVALUATION", "errorMessage": reason,
        "templatePreview": format!("{preview}{more}"),
    })
}

fn own_variables(response: &Response, template: &Template) -> Map {
    let values =
        [("outputFormat", json!(response.format.name())), ("responseType", json!("EXACT")), ("exactText", json!(template.source()))];
    let absent = ["derivationHint", "jsonSchema"].map(|it| (it, Value::Null));
    values.into_iter().chain(absent).map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Sets the payload and its stored form. (docs/spec/data-and-api.md#5.5)
fn answer(cx: &mut Turning<'_>, format: OutputFormat, source: &'static str, text: String) {
    let structured = || serde_json::from_str::<Value>(&text).is_ok_and(|it| it.is_object() || it.is_array());
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

/// Answers with the question asked in this turn; returns false when none was asked. (docs/decisions/README.md#3, clarification)
pub fn question(cx: &mut Turning<'_>) -> bool {
    let Some(question) = cx.session.clarification.as_ref().filter(|_| cx.session.asked).map(|it| it.question.clone()) else {
        return false;
    };
    say(cx, &question, "CLARIFICATION");
    true
}

/// Answers that the outcome of a call is unknown, unless the configuration covers it: a rule has changed intent or state since, or the
/// response uses what the call left. Returns false when there is nothing to say.
pub fn unconfirmed(cx: &mut Turning<'_>, response: &Response) -> bool {
    let Some((intent, state)) = &cx.session.unconfirmed else { return false };
    let has_moved = !same_code(intent, &cx.session.intent) || !same_code(state, &cx.session.state);
    if has_moved || templates(cx, response).iter().any(|it| it.names().any(tells)) {
        return false;
    }
    say(cx, UNCONFIRMED, "UNCONFIRMED");
    true
}

fn templates<'c>(cx: &Turning<'c>, response: &'c Response) -> Vec<&'c Template> {
    match &response.making {
        Making::Exact(template) => vec![template],
        Making::Derived { .. } => {
            let prompt = cx.config.prompts.answer(response.format.name(), &cx.session.intent, &cx.session.state);
            prompt.map(|it| vec![&it.system, &it.user]).unwrap_or_default()
        }
    }
}

/// Whether a template variable covers call results: the whole context or parameters, or their action and tool members.
fn tells(name: &str) -> bool {
    let is_call_member = |part: &str| ["pending_action", "tool_", "mcp"].iter().any(|it| part.starts_with(it));
    ["context", "inputParams", "session"].contains(&name) || name.split('.').any(is_call_member)
}

/// Answers with a built-in text.
fn say(cx: &mut Turning<'_>, text: &str, kind: &str) {
    cx.session.last_assistant = Some(json!({"type": "TEXT", "value": text}).to_string());
    cx.session.payload = Some(Payload { kind: PayloadKind::Text, value: text.to_owned() });
    cx.audit(Stage::AssistantOutput, |session| {
        json!({
            "output": text, "outputFormat": "TEXT", "responseType": kind, "responseId": null,
            "intent": session.intent, "state": session.state, "context": session.context, "schemaJson": session.schema_json(),
        })
    });
}
