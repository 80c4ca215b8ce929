//! Service nodes, and names of written variables. (V001, V002, V005, V007–V009)

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::{FallbackOn, FlowTool, HttpRequestDef, NodeKind, OnError, ServiceData};
use convengine_text::json::schema::JsonSchema;
use convengine_turn::EffectClass;
use serde_json::Value;

use super::context::{FlowContext, GraphContext, Location};
use super::reachability::is_handled;

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    for graph_cx in &context.graphs {
        let handled = is_handled(context, graph_cx, FallbackOn::Error);
        for (at, node) in graph_cx.definition.nodes.iter().enumerate() {
            let location = graph_cx.node_location(at);
            for (rest, name) in written_variables(graph_cx, at) {
                findings.extend(check_reserved(location.join(&rest), name));
            }
            let NodeKind::Service(data) = &node.kind else { continue };
            let tool = data.tool_id.as_deref().and_then(|it| context.flow.tool(it));
            findings.extend(check_target(data, tool, &location));
            findings.extend(check_retry(graph_cx, at, data, tool, &location));
            if !handled && node.on_error == OnError::Port && !node.disabled && !graph_cx.is_wired(node, "failure") {
                let message = format!("nothing follows when the call of '{}' fails", node.name);
                findings.push(location.clone().warning("V008", message).with_fix("connect the port 'failure'"));
            }
            if let Some(schema) = tool.and_then(|it| it.input_schema.as_ref()) {
                check_arguments(data, &schema.source, &location, findings);
            }
        }
    }
}

/// Checks that a node has exactly one of a tool and a request.
fn check_target(data: &ServiceData, tool: Option<&FlowTool>, location: &Location) -> Option<DocumentIssue> {
    match (&data.tool_id, &data.request, tool) {
        (None, None, _) => {
            let fix = "add a 'tool_id' or a 'request'";
            Some(location.join("/data").error("V002", "the node has neither a tool nor a request").with_fix(fix))
        }
        (Some(_), Some(_), _) => {
            Some(location.join("/data").error("V002", "the node has both a tool and a request").with_fix("remove one of them"))
        }
        (Some(id), None, None) => Some(
            location
                .join("/data/tool_id")
                .error("V001", format!("unknown tool '{id}'"))
                .with_fix("use the id of a tool of the document or of the workspace"),
        ),
        (Some(_), None, Some(tool)) if tool.request.is_none() && ["http", "webhook", "noop"].contains(&tool.kind.as_str()) => {
            let message = format!("the tool '{}' has no request", tool.name);
            Some(location.join("/data/tool_id").error("V002", message).with_fix("add a 'request' to the tool"))
        }
        (Some(_), None, Some(_)) | (None, Some(_), _) => None,
    }
}

/// Returns the effect class of a call; by default, GET and HEAD read and other methods write.
pub(super) fn effect_class(own: Option<EffectClass>, tool: Option<&FlowTool>, request: Option<&HttpRequestDef>) -> EffectClass {
    let request = request.or_else(|| tool.and_then(|tool| tool.request.as_ref()));
    let reads = request.is_some_and(|request| ["GET", "HEAD"].contains(&request.method.as_str()));
    own.or_else(|| tool.and_then(|tool| tool.effect_class)).unwrap_or(if reads { EffectClass::Read } else { EffectClass::Write })
}

fn check_retry(
    graph_cx: &GraphContext<'_>,
    at: usize,
    data: &ServiceData,
    tool: Option<&FlowTool>,
    location: &Location,
) -> Option<DocumentIssue> {
    let retry = data.retry.as_ref().or_else(|| tool.and_then(|tool| tool.retry.as_ref()))?;
    let writes = matches!(effect_class(data.effect_class, tool, data.request.as_ref()), EffectClass::Write | EffectClass::Irreversible);
    if !writes || retry.max_attempts < 2 || data.idempotency_key.is_some() {
        return None;
    }
    let location = if graph_cx.node_data(at, "retry").is_some() { location.join("/data/retry") } else { location.join("/data") };
    let message = "the call has side effects, so it is not retried without an idempotency key";
    Some(location.warning("V007", message).with_fix("add an 'idempotency_key', or omit 'retry'"))
}

/// Checks the literal arguments against the schema of the tool.
fn check_arguments(data: &ServiceData, schema: &Value, location: &Location, findings: &mut Vec<DocumentIssue>) {
    let location = location.join(if data.args.is_some() { "/data/args" } else { "/data" });
    let empty = serde_json::Map::new();
    let args = data.args.as_ref().and_then(|it| it.source.as_object()).unwrap_or(&empty);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    for name in required.filter(|it| !args.contains_key(*it)) {
        findings.push(
            location.clone().error("V009", format!("the tool requires the argument '{name}'")).with_fix(format!("add '{name}' to 'args'")),
        );
    }
    let named = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in args {
        let location = location.join(&format!("/{}", name.replace('~', "~0").replace('/', "~1")));
        let Some(schema) = named.get(name) else {
            if is_closed {
                let message = format!("the tool has no argument '{name}'");
                findings.push(location.error("V009", message).with_fix("remove it, or correct its name"));
            }
            continue;
        };
        // Values of templates are unknown until the call.
        let mismatch = || JsonSchema::compile(schema).ok()?.find_violation(value);
        if is_literal(value)
            && let Some(reason) = mismatch()
        {
            let message = format!("the argument '{name}' does not match the schema of the tool: {reason}");
            findings.push(location.error("V009", message).with_fix("use a value that the 'input_schema' of the tool allows"));
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

/// Returns the variables that a node writes, with JSON Pointers to their names.
fn written_variables<'g>(graph_cx: &GraphContext<'g>, at: usize) -> Vec<(String, &'g str)> {
    let escape = |name: &str| name.replace('~', "~0").replace('/', "~1");
    let members = |name: &'static str| graph_cx.node_data(at, name).and_then(Value::as_object).into_iter().flatten();
    let keys = |name: &'static str| members(name).map(move |(key, _)| (format!("/data/{name}/{}", escape(key)), key.as_str()));
    let values = members("outputs").filter_map(|(key, variable)| Some((format!("/data/outputs/{}", escape(key)), variable.as_str()?)));
    let items = ["assign", "outputs"].into_iter().flat_map(|name| {
        let items = graph_cx.node_data(at, name).and_then(Value::as_array).into_iter().flatten().enumerate();
        items.filter_map(move |(number, item)| Some((format!("/data/{name}/{number}/variable"), item.get("variable")?.as_str()?)))
    });
    let own = graph_cx.node_data(at, "variable").and_then(Value::as_str).map(|it| ("/data/variable".to_owned(), it));
    let output = graph_cx.node_data(at, "output").and_then(|it| it.get("variable")).and_then(Value::as_str);
    let output = output.map(|it| ("/data/output/variable".to_owned(), it));
    let is_end = graph_cx.definition.nodes.get(at).is_some_and(|node| matches!(node.kind, NodeKind::End(_)));
    // The outputs of an end node are named by the caller.
    let values = values.filter(|_| !is_end);
    own.into_iter().chain(output).chain(items).chain(values).chain(keys("init")).chain(keys("inputs")).collect()
}

/// Reports a name that is reserved, or that templates cannot read back.
pub(super) fn check_reserved(location: Location, name: &str) -> Option<DocumentIssue> {
    if name.starts_with('_') {
        let message = format!("'{name}' is reserved for the engine");
        return Some(location.error("V005", message).with_fix("use a name that does not begin with '_'"));
    }
    let inner = name.strip_prefix("session.")?;
    let message = format!("'{name}' cannot be read back: '{{{{ {name} }}}}' reads the variable '{inner}'");
    Some(location.error("V005", message).with_fix(format!("write to '{inner}'")))
}
