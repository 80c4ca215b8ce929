//! Runs the examples of the reference: expressions, templates, entities and JSON paths.

use std::borrow::Cow;
use std::sync::Arc;

use convengine_core::json::path::JsonPath;
use convengine_core::pack::{Conversations, Pack};
use convengine_core::text::expr::{Expr, ExprError};
use convengine_core::text::interpolation::{Interpolation, JsonTemplate, OutputContext};
use convengine_core::text::names::NameResolver;
use convengine_core::text::template::{Formula, Template};
use convengine_core::text::variable_path::VariablePath;
use convengine_core::turn::{NoticeBody, Turn};
use serde_json::{Value, json};

use super::blocks::Block;

/// The clock of the examples: Wednesday, 2026-01-28, at noon.
const NOW: i64 = 1_769_601_600_000;

/// The roots that are not session variables.
const ROOTS: [&str; 9] = ["event", "system", "user", "intent", "strings", "args", "item", "index", "value"];

/// What the examples of a page read.
#[derive(Debug, Default)]
pub struct Context {
    /// The document of the last `json context` block.
    pub document: Value,
    /// The definitions of the `json entity` blocks.
    pub entities: Vec<Value>,
}

/// Runs an example; `None` for a block that is not made of examples.
pub fn run(block: &Block, context: &Context, source: &str) -> Option<String> {
    let document = &context.document;
    let names = DocumentNames(document);
    let second = block.word(1);
    Some(match block.word(0) {
        "expression" => show_value(Expr::parse_value(source).map(|it| it.evaluate(&names))),
        "condition" => show_value(Expr::parse(source).map(|expr| expr.is_true(&names).map(|truth| Some(Value::Bool(truth))))),
        "template" => flow_template(source, second, &names),
        "row-template" => row_template(source, document),
        "formula" => match Formula::compile(source).map(|formula| formula.evaluate(&|name| document.get(name))) {
            Err(_) => "(invalid)".to_owned(),
            Ok(Err(_)) => "(error)".to_owned(),
            Ok(Ok(value)) => value.to_string(),
        },
        "row-path" => show_found(JsonPath::compile(source).map(|it| it.value(document))),
        "row-condition" => show_found(JsonPath::compile(source).map(|path| Some(json!(path.matches(document))))),
        "query" => show_found(JsonPath::compile_query(source).map(|it| it.value(document))),
        "entity" => answer(second, block.word(2), context, &json!({"type": "user.message", "text": source})),
        "entity-value" => {
            let button = json!({"id": "b", "label": "b", "value": serde_json::from_str::<Value>(source).ok()?});
            answer(second, block.word(2), context, &button)
        }
        _ => return None,
    })
}

fn show_found(found: Result<Option<Value>, String>) -> String {
    match found {
        Err(_) => "(invalid)".to_owned(),
        Ok(None) => "(nothing)".to_owned(),
        Ok(Some(value)) => value.to_string(),
    }
}

fn show_value<E>(value: Result<Result<Option<Value>, E>, ExprError>) -> String {
    match value {
        Err(error) => format!("({})", error.code),
        Ok(Err(_)) => "(error)".to_owned(),
        Ok(Ok(None)) => "(undefined)".to_owned(),
        Ok(Ok(Some(value))) => value.to_string(),
    }
}

/// Returns a text as examples show it: in quotes where its ends would not be seen.
fn show_text(text: &str) -> String {
    let plain = !text.is_empty() && text.trim() == text && !text.starts_with(['"', '(']) && !text.contains(['\n', '\u{202f}']);
    if plain { text.to_owned() } else { Value::from(text).to_string() }
}

fn row_template(source: &str, document: &Value) -> String {
    let Ok(template) = Template::compile(source) else { return "(invalid)".to_owned() };
    let rendered = template.render(|name| document.get(name));
    match (rendered.error, source.contains('\n')) {
        (Some(_), _) => "(error)".to_owned(),
        (None, true) => rendered.text,
        (None, false) => show_text(&rendered.text),
    }
}

fn flow_template(source: &str, place: &str, names: &dyn NameResolver) -> String {
    let place = match place {
        "json" | "form" => {
            let value = serde_json::from_str(source).unwrap_or_else(|_| Value::from(source));
            return match JsonTemplate::parse(&value) {
                Err((_, error)) => format!("({})", error.code),
                Ok(it) if place == "form" => it.render_form(names).output.text,
                Ok(it) => it.render_with_secrets(names).output.text,
            };
        }
        "url" => OutputContext::Url,
        "link" => OutputContext::Link,
        "query" => OutputContext::Query,
        "header" => OutputContext::Header,
        _ => OutputContext::Text,
    };
    match Interpolation::parse(source) {
        Err(error) => format!("({})", error.code),
        Ok(it) => show_text(&it.render_with_secrets(names, place).output.text),
    }
}

/// Resolves names in a context: a root, or a variable of its member `session`.
struct DocumentNames<'d>(&'d Value);

impl NameResolver for DocumentNames<'_> {
    fn value(&self, path: &VariablePath) -> Option<Cow<'_, Value>> {
        let document = self.0.as_object()?;
        let is_root = path.first_name() == "session" || ROOTS.contains(&path.first_name());
        path.find(if is_root { document } else { document.get("session")?.as_object()? }).map(Cow::Borrowed)
    }

    fn user_message(&self) -> &str {
        self.0["event"]["text"].as_str().unwrap_or_default()
    }

    fn now(&self) -> i64 {
        NOW
    }

    fn locale(&self) -> &str {
        self.0["system"]["locale"].as_str().unwrap_or("en-US")
    }

    fn time_zone(&self) -> &str {
        self.0["system"]["time_zone"].as_str().unwrap_or("UTC")
    }
}

/// Plays an entity node that receives an answer: a message, or a button with a value.
fn answer(entity: &str, locale: &str, context: &Context, answer: &Value) -> String {
    let is_button = answer.get("label").is_some();
    let buttons = if is_button { json!([answer]) } else { json!([]) };
    let ask = json!({"variable": "found", "entity": entity, "prompt": "?", "buttons": buttons, "max_attempts": 2});
    let nodes = json!([
        {"id": "start", "type": "start", "name": "Start", "data": {}}, {"id": "ask", "type": "entity", "name": "Ask", "data": ask},
        {"id": "end", "type": "end", "name": "End", "data": {}}
    ]);
    let edges = json!([{"id": "a", "source": "start", "target": "ask"}, {"id": "b", "source": "ask", "target": "end"}]);
    let document = json!({
        "schema_version": "1.0", "doc": "conversation_flow", "id": "f", "name": "F", "root": "r", "entities": context.entities,
        "graphs": [{"id": "r", "kind": "root", "entry": "start", "nodes": nodes, "edges": edges}]
    });
    let event = if is_button { json!({"type": "user.button", "button_id": "b"}) } else { answer.clone() };
    let locale = if locale.is_empty() { "en-US" } else { locale };
    let turn = |path: &str, body: Value| json!({"at": NOW, "request": {"method": "POST", "path": path, "body": body}});
    let sessions = "/v1/runtime/assistants/f/sessions";
    let turns = [turn(sessions, json!({"locale": locale})), turn(&format!("{sessions}/s/turns"), event)];
    let pack = json!({"name": "entity", "documents": [document], "turns": turns});
    play_entity(&pack).unwrap_or_else(|reason| format!("(failed: {reason})"))
}

fn play_entity(pack: &Value) -> Result<String, String> {
    let pack = Pack::parse(&pack.to_string()).map_err(|it| it.to_string())?;
    let (config, issues) = pack.compile();
    if let Some(issue) = issues.first() {
        return Err(issue.to_string());
    }
    let config = Arc::new(config);
    let mut conversations = Conversations::default();
    let mut found = String::new();
    for index in 0..2 {
        let message = pack.message(index).ok_or("not a message")?;
        let input = message.into_input(&conversations, config.program());
        let (_, slice) = Turn::start(input, Arc::clone(&config)).map_err(|it| it.to_string())?;
        let outcome = slice.end.ok_or("the turn waits")?;
        conversations.commit(&outcome);
        let ambiguous = slice.notices.iter().find_map(|notice| match &notice.body {
            NoticeBody::Audit { stage, payload } if stage == "entity.ambiguous" => payload.get("values").cloned(),
            _ => None,
        });
        let value = outcome.session.context.get("found").map_or("(nothing)".to_owned(), Value::to_string);
        found = ambiguous.map_or(value, |it| format!("(ambiguous) {it}"));
    }
    Ok(found)
}
