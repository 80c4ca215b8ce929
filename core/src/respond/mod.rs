//! Makes answers: from a text, by a model, or as the question that is open.

mod derived;

pub use derived::{collision, derived};

use serde_json::{Value, json};

use crate::audit::Stage;
use crate::config::{Making, OutputFormat, Response, same_code};
use crate::session::UNCONFIRMED;
use crate::text::template::Template;
use crate::turn::{Map, Payload, PayloadKind};
use crate::turning::Turning;

/// The longest piece of a template in an audit row, in characters.
const PREVIEW: usize = 500;

/// Makes the answer from the row's text. (`spec/data-and-api.md` 5.2)
pub fn exact(t: &mut Turning<'_>, response: &Response, template: &Template) -> String {
    let rendered = t.session.render(template, || own_variables(response, template));
    let final_answer = t.session.context.get("mcp").and_then(|it| it.get("finalAnswer")).map(crate::text::plain_text);
    let final_answer = final_answer.map(|it| it.trim().to_owned()).filter(|it| !it.is_empty() && it != "null");
    let blank = rendered.text.trim().is_empty() && template.literal().is_none();
    let reason = rendered.error.or_else(|| blank.then(|| "the text came out blank".to_owned()));
    let text = match (&reason, final_answer) {
        (Some(_), Some(answer)) => answer,
        (Some(_), None) | (None, _) => rendered.text,
    };
    if let Some(reason) = reason.filter(|_| !blank || !text.trim().is_empty()) {
        t.audit(Stage::ExactResponseRendering, |_| fallback(template, &reason));
    }
    t.audit(Stage::ResponseExact, |_| json!({"text": text}));
    answer(t, response.format, "RESPONSE_EXACT", text.clone());
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

/// Sets the payload and what is stored of it. (`spec/data-and-api.md` 5.5)
fn answer(t: &mut Turning<'_>, format: OutputFormat, source: &'static str, text: String) {
    let structured = || serde_json::from_str::<Value>(&text).is_ok_and(|it| it.is_object() || it.is_array());
    let (kind, stored) = match format {
        OutputFormat::Text => (PayloadKind::Text, json!({"type": "TEXT", "value": text}).to_string()),
        OutputFormat::Json if structured() => (PayloadKind::Json, text.clone()),
        OutputFormat::Json if source == "RESPONSE_EXACT" => (PayloadKind::Json, json!({"type": "JSON_TEXT", "value": text}).to_string()),
        OutputFormat::Json => (PayloadKind::Json, json!({"type": "TEXT", "value": text}).to_string()),
    };
    t.session.last_output = Some((source, text.clone()));
    t.session.last_assistant = Some(stored);
    t.session.payload = Some(Payload { kind, value: text });
}

/// Answers with the question that was asked in this turn; false when none was. (`decisions.md` 3, clarification)
pub fn question(t: &mut Turning<'_>) -> bool {
    let Some(question) = t.session.clarification.as_ref().filter(|_| t.session.asked).map(|it| it.question.clone()) else {
        return false;
    };
    say(t, &question, "CLARIFICATION");
    true
}

/// Answers that nobody knows whether a call was carried out, when the rows do not speak of it: no rule has moved the conversation since,
/// and nothing of the response is made from what the call left. False when there is nothing to say.
pub fn unconfirmed(t: &mut Turning<'_>, response: &Response) -> bool {
    let Some((intent, state)) = &t.session.unconfirmed else { return false };
    let moved = !same_code(intent, &t.session.intent) || !same_code(state, &t.session.state);
    if moved || templates(t, response).iter().any(|it| it.names().any(tells)) {
        return false;
    }
    say(t, UNCONFIRMED, "UNCONFIRMED");
    true
}

fn templates<'c>(t: &Turning<'c>, response: &'c Response) -> Vec<&'c Template> {
    match &response.making {
        Making::Exact(template) => vec![template],
        Making::Derived { .. } => {
            let prompt = t.config.prompts.answer(response.format.name(), &t.session.intent, &t.session.state);
            prompt.map(|it| vec![&it.system, &it.user]).unwrap_or_default()
        }
    }
}

/// Whether a value of a template holds what a call left: the context or the parameters as a whole, or their members of actions and tools.
fn tells(name: &str) -> bool {
    let of_calls = |part: &str| ["pending_action", "tool_", "mcp"].iter().any(|it| part.starts_with(it));
    ["context", "inputParams", "session"].contains(&name) || name.split('.').any(of_calls)
}

/// Answers with the engine's own words.
fn say(t: &mut Turning<'_>, text: &str, kind: &str) {
    t.session.last_assistant = Some(json!({"type": "TEXT", "value": text}).to_string());
    t.session.payload = Some(Payload { kind: PayloadKind::Text, value: text.to_owned() });
    t.audit(Stage::AssistantOutput, |session| {
        json!({
            "output": text, "outputFormat": "TEXT", "responseType": kind, "responseId": null,
            "intent": session.intent, "state": session.state, "context": session.context, "schemaJson": session.schema_json(),
        })
    });
}
