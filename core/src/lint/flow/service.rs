//! Nodes that call services. (V001, V002, V005, V007–V009)

use serde_json::Value;

use super::ground::{Chart, Ground, Place};
use super::reach::handles;
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{FallbackOn, FlowTool, NodeKind, OnError, RequestForm, ServiceData};
use crate::json::schema::JsonSchema;
use crate::turn::Class;

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    for chart in &ground.charts {
        let handled = handles(ground, chart, FallbackOn::Error);
        for (at, node) in chart.form.nodes.iter().enumerate() {
            let place = chart.place_of(at);
            for (rest, name) in written(chart, at) {
                found.extend(reserved(place.at(&rest), name));
            }
            let NodeKind::Service(data) = &node.kind else { continue };
            let tool = data.tool_id.as_deref().and_then(|it| ground.flow.tool(it));
            found.extend(asked(data, tool, &place));
            found.extend(repeated(chart, at, data, tool, &place));
            if !handled && node.on_error == OnError::Port && !node.disabled && !chart.wired(node, "failure") {
                let message = format!("nothing follows when the call of '{}' fails", node.name);
                found.push(place.clone().warning("V008", message).fix("wire the port 'failure'"));
            }
            if let Some(schema) = tool.and_then(|it| it.input_schema.as_ref()) {
                arguments(data, schema, &place, found);
            }
        }
    }
}

/// What is called: a tool, or what the node says itself.
fn asked(data: &ServiceData, tool: Option<&FlowTool>, place: &Place) -> Option<DocumentIssue> {
    match (&data.tool_id, &data.request, tool) {
        (None, None, _) => {
            let fix = "name a tool by 'tool_id', or give a 'request'";
            Some(place.at("/data").error("V002", "the node says neither which tool it calls nor what it asks").fix(fix))
        }
        (Some(_), Some(_), _) => {
            Some(place.at("/data").error("V002", "the node names a tool and has a request as well").fix("remove one of them"))
        }
        (Some(id), None, None) => {
            Some(place.at("/data/tool_id").error("V001", format!("there is no tool '{id}'")).fix("name a tool of the document"))
        }
        (Some(_), None, Some(tool)) if tool.request.is_none() && ["http", "webhook", "noop"].contains(&tool.kind.as_str()) => {
            let message = format!("the tool '{}' does not say what to ask", tool.name);
            Some(place.at("/data/tool_id").error("V002", message).fix("give the tool a 'request'"))
        }
        (Some(_), None, Some(_)) | (None, Some(_), _) => None,
    }
}

/// What repeating a call does.
pub(super) fn class(own: Option<Class>, tool: Option<&FlowTool>, request: Option<&RequestForm>) -> Class {
    let request = request.or_else(|| tool.and_then(|it| it.request.as_ref()));
    let reads = request.is_some_and(|it| ["GET", "HEAD"].contains(&it.method.as_str()));
    own.or_else(|| tool.and_then(|it| it.effect_class)).unwrap_or(if reads { Class::Read } else { Class::Write })
}

fn repeated(chart: &Chart<'_>, at: usize, data: &ServiceData, tool: Option<&FlowTool>, place: &Place) -> Option<DocumentIssue> {
    let retry = data.retry.as_ref().or_else(|| tool.and_then(|it| it.retry.as_ref()))?;
    let writes = matches!(class(data.effect_class, tool, data.request.as_ref()), Class::Write | Class::Irreversible);
    if !writes || retry.max_attempts < 2 || data.idempotency_key.is_some() {
        return None;
    }
    let place = if chart.data(at, "retry").is_some() { place.at("/data/retry") } else { place.at("/data") };
    let message = "the call changes something, so without a key of its own it is not tried again";
    Some(place.warning("V007", message).fix("add an 'idempotency_key', or leave 'retry' out"))
}

/// Holds what is known of the arguments against the schema of the tool.
fn arguments(data: &ServiceData, schema: &Value, place: &Place, found: &mut Vec<DocumentIssue>) {
    let place = place.at(if data.args.is_some() { "/data/args" } else { "/data" });
    let empty = serde_json::Map::new();
    let args = data.args.as_ref().and_then(|it| it.source.as_object()).unwrap_or(&empty);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    for name in required.filter(|it| !args.contains_key(*it)) {
        found.push(place.clone().error("V009", format!("the tool needs the argument '{name}'")).fix(format!("add '{name}' to 'args'")));
    }
    let named = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in args {
        let place = place.at(&format!("/{}", name.replace('~', "~0").replace('/', "~1")));
        let Some(schema) = named.get(name) else {
            if is_closed {
                let message = format!("the tool does not know the argument '{name}'");
                found.push(place.error("V009", message).fix("remove it, or correct its name"));
            }
            continue;
        };
        // What is filled in only while it runs can be anything.
        let wrong = || JsonSchema::compile(schema).ok()?.check(value);
        if is_literal(value)
            && let Some(wrong) = wrong()
        {
            let message = format!("the argument '{name}' does not fit the tool: {wrong}");
            found.push(place.error("V009", message).fix("give a value that the 'input_schema' of the tool takes"));
        }
    }
}

fn is_literal(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.contains("{{"),
        Value::Array(items) => items.iter().all(is_literal),
        Value::Object(members) => members.values().all(is_literal),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

/// The names of the variables that a node writes, with where they stand.
fn written<'g>(chart: &Chart<'g>, at: usize) -> Vec<(String, &'g str)> {
    let step = |name: &str| name.replace('~', "~0").replace('/', "~1");
    let members = |name: &'static str| chart.data(at, name).and_then(Value::as_object).into_iter().flatten();
    let keys = |name: &'static str| members(name).map(move |(key, _)| (format!("/data/{name}/{}", step(key)), key.as_str()));
    let values = members("outputs").filter_map(|(key, it)| Some((format!("/data/outputs/{}", step(key)), it.as_str()?)));
    let items = ["assign", "outputs"].into_iter().flat_map(|name| {
        let items = chart.data(at, name).and_then(Value::as_array).into_iter().flatten().enumerate();
        items.filter_map(move |(number, it)| Some((format!("/data/{name}/{number}/variable"), it.get("variable")?.as_str()?)))
    });
    let own = chart.data(at, "variable").and_then(Value::as_str).map(|it| ("/data/variable".to_owned(), it));
    let left = chart.data(at, "output").and_then(|it| it.get("variable")).and_then(Value::as_str);
    let left = left.map(|it| ("/data/output/variable".to_owned(), it));
    let is_end = chart.form.nodes.get(at).is_some_and(|it| matches!(it.kind, NodeKind::End(_)));
    // What an end returns is named by its caller.
    let values = values.filter(|_| !is_end);
    own.into_iter().chain(left).chain(items).chain(values).chain(keys("init")).chain(keys("inputs")).collect()
}

/// A name that cannot be written, or that nobody can read where it is written.
pub(super) fn reserved(place: Place, name: &str) -> Option<DocumentIssue> {
    if name.starts_with('_') {
        let message = format!("'{name}' belongs to the engine, and documents cannot write it");
        return Some(place.error("V005", message).fix("write to a name that does not begin with '_'"));
    }
    let inner = name.strip_prefix("session.")?;
    let message = format!("'{name}' cannot be read back: '{{{{ {name} }}}}' means the variable '{inner}'");
    Some(place.error("V005", message).fix(format!("write to '{inner}'")))
}
