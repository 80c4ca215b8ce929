//! Generated configurations of any size, and flows of any length, for cost measurements.
//!
//! Every configuration has the same conversation and the ten rows that it matches; all other rows are unrelated to it.

use anyhow::Result;
use convengine_core::config::Tables;
use convengine_core::pack::Pack;
use serde_json::{Value, json};

/// The number of rows of the smallest configuration: those that the conversation matches.
pub const MIN_ROWS: usize = 10;

const CONVERSATION: &str = "b1f7f6a4-6a52-4c39-8d54-51c2a0e94410";

/// Returns a pack with `rows` rows, but at least [`MIN_ROWS`]; its turns do not depend on the number of rows.
///
/// # Errors
/// If the generated pack is not valid.
pub fn pack(rows: usize) -> Result<Pack> {
    let mut tables = Tables::default();
    let others = (0..rows.saturating_sub(MIN_ROWS)).map(unrelated_row);
    for (table, row) in matching_rows().into_iter().chain(others) {
        if let Value::Object(row) = row {
            tables.0.entry(table.to_owned()).or_default().push(row);
        }
    }
    let messages = [
        ("Where is my order?", json!({})),
        ("Please track order MF-20417", json!({"orderId": "MF-20417"})),
        ("I am afraid it is a lost parcel", json!({})),
        ("Where is my parcel now?", json!({"carrier": {"name": "Northline", "depots": ["Lund", "Kiel"]}})),
        ("Track the parcel again, please", json!({})),
    ];
    let turn = |(text, params): (&str, Value)| {
        let body = json!({"conversationId": CONVERSATION, "message": text, "inputParams": params});
        json!({"request": {"method": "POST", "path": "/api/v1/conversation/message", "body": body}})
    };
    let pack = json!({
        "name": format!("{rows} rows"),
        "settings": {"flow": {"dialogueAct": {"resolute": "REGEX_ONLY"}}, "audit": {"enabled": true, "level": "ALL"}},
        "tables": tables,
        "turns": messages.map(turn),
    });
    Ok(serde_json::from_value(pack)?)
}

/// Returns the rows that the conversation matches.
fn matching_rows() -> [(&'static str, Value); MIN_ROWS] {
    let classifier = |id: i64, rule_type: &str, pattern: &str, state: &str| {
        let row = json!({
            "classifier_id": id, "rule_type": rule_type, "pattern": pattern, "intent_code": "ORDER", "state_code": state, "priority": id,
        });
        ("ce_intent_classifier", row)
    };
    let rule = |id: i64, phase: &str, state: &str, rule_type: &str, pattern: &str, action: &str, value: &str| {
        let row = json!({
            "rule_id": id, "phase": phase, "intent_code": "ORDER", "state_code": state, "rule_type": rule_type,
            "match_pattern": pattern, "action": action, "action_value": value, "priority": 10,
        });
        ("ce_rule", row)
    };
    [
        ("ce_intent", json!({"intent_code": "ORDER", "description": "Asks about an order"})),
        classifier(1, "REGEX", r"\b(where|track)\b.*\b(order|parcel)\b", "ORDER_OPEN"),
        classifier(2, "CONTAINS", "lost parcel", "ORDER_LOST"),
        (
            "ce_policy",
            json!({"policy_id": 1, "rule_type": "REGEX", "pattern": r"\b(bypass|skip) the payment\b", "response_text": "No.", "priority": 10}),
        ),
        rule(1, "PRE_RESPONSE_RESOLUTION", "ORDER_OPEN", "JSON_PATH", "$.inputParams.orderId != null", "SET_STATE", "ORDER_FOUND"),
        rule(2, "POST_CLASSIFIER_INTENT", "ORDER_LOST", "EXACT", "ANY", "SET_INPUT_PARAM", "search:started"),
        ("ce_response", response(1, "ORDER", "ORDER_OPEN", "Which order do you mean?")),
        ("ce_response", response(2, "ORDER", "ORDER_FOUND", "Order {{inputParams.orderId}} is on its way.")),
        ("ce_response", response(3, "ORDER", "ORDER_LOST", "We look for it: {{inputParams.search}}.")),
        ("ce_verbose", verbose(1, "ORDER", "RulesStep", "RULE_APPLIED", None)),
    ]
}

/// The number of kinds of unrelated rows.
const KINDS: usize = 21;

/// Returns a row that the conversation does not match, although it resembles the rows that it matches.
fn unrelated_row(number: usize) -> (&'static str, Value) {
    let topic = number / KINDS;
    let id = topic + 100;
    let (intent, open, done) = (format!("TOPIC_{topic}"), format!("T{topic}_OPEN"), format!("T{topic}_DONE"));
    let classifier = |kind: usize, rule_type: &str, pattern: String| {
        let row = json!({
            "classifier_id": 4 * id + kind, "rule_type": rule_type, "pattern": pattern, "intent_code": intent, "state_code": open,
            "priority": 50,
        });
        ("ce_intent_classifier", row)
    };
    let policy = |kind: usize, rule_type: &str, pattern: String| {
        let row = json!({"policy_id": 2 * id + kind, "rule_type": rule_type, "pattern": pattern, "response_text": "No.", "priority": 50});
        ("ce_policy", row)
    };
    let rule = |kind: usize, intent: &str| {
        let row = json!({
            "rule_id": 2 * id + kind, "intent_code": intent, "state_code": open, "rule_type": "JSON_PATH",
            "match_pattern": "$.inputParams.orderId != null", "action": "SET_STATE", "action_value": done, "priority": 50,
        });
        ("ce_rule", row)
    };
    match number % KINDS {
        0 => ("ce_intent", json!({"intent_code": intent, "description": "Asks about another thing"})),
        1 => rule(0, &intent),
        2 => rule(1, "ORDER"),
        3 => classifier(0, "REGEX", format!(r"\b(where|track)\b.*\bmodel {topic}\b.*\b(order|parcel)\b")),
        4 => classifier(1, "EXACT", format!("where is my order {topic}?")),
        5 => classifier(2, "CONTAINS", format!("lost parcel of model {topic}.")),
        6 => classifier(3, "STARTS_WITH", format!("please track order {topic}.")),
        7 => policy(0, "REGEX", format!(r"\b(bypass|skip) the check of model {topic}\b")),
        8 => policy(1, "CONTAINS", format!("my parcel without customs {topic}.")),
        9 => ("ce_response", response(2 * id, &intent, &open, "Another thing.")),
        10 => ("ce_response", response(2 * id + 1, "ORDER", &open, "Another state.")),
        11 => ("ce_verbose", verbose(2 * id, &intent, "RulesStep", "STEP_ENTER", None)),
        12 => ("ce_verbose", verbose(2 * id + 1, "ANY", "RulesStep", "RULE_APPLIED", Some(2 * id))),
        13 => (
            "ce_prompt_template",
            json!({
                "template_id": id, "intent_code": intent, "state_code": open, "output_format": "TEXT", "system_prompt": "Be kind.",
                "user_prompt": "{{user_input}}", "interaction_mode": "CONFIRM",
            }),
        ),
        14 => (
            "ce_output_schema",
            json!({
                "schema_id": id, "intent_code": intent, "state_code": open, "schema_type": "SCHEMA_JSON", "priority": 50,
                "json_schema": r#"{"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}"#,
            }),
        ),
        15 => (
            "ce_pending_action",
            json!({
                "pending_action_id": id, "intent_code": intent, "state_code": open, "action_key": format!("act_{topic}"),
                "bean_name": "desk", "method_names": "act", "priority": 50,
            }),
        ),
        16 => (
            "ce_container_config",
            json!({
                "id": id, "intent_code": intent, "state_code": open, "page_id": 1, "section_id": 1, "container_id": id,
                "input_param_name": "about", "priority": 50,
            }),
        ),
        17 => (
            "ce_task",
            json!({
                "task_id": id, "task": "desk:note", "kind": "HOOK", "stage": "BEFORE", "step": "RulesStep", "intent_code": intent,
                "state_code": "ANY", "priority": 50,
            }),
        ),
        18 => (
            "ce_mcp_tool",
            json!({"tool_id": id, "tool_code": format!("look_{topic}"), "tool_group": "DB", "intent_code": intent, "state_code": "ANY"}),
        ),
        19 => (
            "ce_tool",
            json!({
                "tool_id": id, "tool_code": format!("look_{topic}"), "tool_group": "DB", "intent_code": intent, "state_code": "ANY",
                "args_json": r#"{"text": "{{user_input}}"}"#, "priority": 50,
            }),
        ),
        _ => ("ce_state_graph", json!({"graph_id": id, "intent_code": intent, "from_state": open, "to_state": done})),
    }
}

fn response(id: impl Into<Value>, intent: &str, state: &str, text: &str) -> Value {
    json!({
        "response_id": id.into(), "intent_code": intent, "state_code": state, "output_format": "TEXT", "response_type": "EXACT",
        "exact_text": text, "priority": 10,
    })
}

fn verbose(id: impl Into<Value>, intent: &str, step: &str, determinant: &str, rule_id: Option<usize>) -> Value {
    json!({
        "verbose_id": id.into(), "intent_code": intent, "state_code": "ANY", "step_match": "EXACT", "step_value": step,
        "determinant": determinant, "rule_id": rule_id, "message": "One moment, I look it up.", "priority": 10,
    })
}

/// Returns a chain whose first turn executes `steps` steps without an effect: decisions between notes in the trace.
///
/// # Errors
/// If the generated pack is not valid.
pub fn note_chain(steps: usize) -> Result<Pack> {
    let step = |at: usize| match at {
        _ if at.is_multiple_of(2) => json!({"id": format!("s{at}"), "kind": "notify", "label": format!("Note {at}"),
            "config": {"channel": "log", "text": "{{ trigger.body.number }}: step"}}),
        _ => json!({"id": format!("s{at}"), "kind": "decide", "label": format!("Is it {at}?"),
            "config": {"on": "{{ trigger.body.number }}", "cases": [{"match": ["seven"], "branch": "stop"}]}}),
    };
    let stop = json!({"id": "stop", "name": "Stop", "then": "stop", "steps": [
        {"id": "stopped", "kind": "notify", "label": "Stopped", "config": {"channel": "log", "text": "stop"}},
    ]});
    let chain = json!({
        "schema_version": "1.0", "doc": "workflow_chain", "slug": "notes", "name": "Notes", "trigger": {"kind": "manual"},
        "steps": (0..steps).map(step).collect::<Vec<_>>(), "branches": [stop],
    });
    let request = json!({"method": "POST", "path": "/v1/workflow-chains/notes/run", "body": {"input": {"number": 4}}});
    Ok(serde_json::from_value(json!({"name": format!("{steps} steps"), "documents": [chain], "turns": [{"request": request}]}))?)
}

/// Returns a flow document whose second turn walks through `nodes` nodes without an effect: an intent, alternating variable
/// assignments and decisions, a message and the end.
///
/// # Errors
/// If the generated pack is not valid.
pub fn walk_flow(nodes: usize) -> Result<Pack> {
    let node_id = |at: usize| format!("n{at}");
    let node = |at: usize| match at {
        0 => json!({"id": node_id(0), "type": "intent", "name": "Asked", "data": {"intent_id": "walk"}}),
        _ if at + 1 == nodes => json!({"id": node_id(at), "type": "end", "name": "Done", "data": {}}),
        _ if at + 2 == nodes => {
            json!({"id": node_id(at), "type": "message", "name": "Say", "data": {"blocks": [{"kind": "text", "text": "{{ steps }} steps"}]}})
        }
        _ if at.is_multiple_of(2) => json!({"id": node_id(at), "type": "decision", "name": format!("Is {at} odd?"), "data": {}}),
        _ => {
            json!({"id": node_id(at), "type": "set", "name": format!("Count {at}"), "data": {"assign": [{"variable": "steps", "op": "increment"}]}})
        }
    };
    let edge = |at: usize| {
        let mut edge = json!({"id": format!("e{at}"), "source": node_id(at), "target": node_id(at + 1)});
        if at.is_multiple_of(2) && at > 0 && at + 2 < nodes {
            edge["condition"] = json!({"expr": "steps > 0 && steps < 1000000"});
        }
        edge
    };
    let graph = json!({"id": "g", "kind": "intent", "name": "Walk", "entry": node_id(0),
        "nodes": (0..nodes).map(node).collect::<Vec<_>>(), "edges": (0..nodes - 1).map(edge).collect::<Vec<_>>()});
    let root = json!({"id": "root", "kind": "root", "name": "Root", "entry": "start",
        "nodes": [{"id": "start", "type": "start", "name": "Start", "data": {}}, {"id": "idle", "type": "end", "name": "Idle", "data": {"end_session": false}}],
        "edges": [{"id": "e", "source": "start", "target": "idle"}]});
    let document = json!({"schema_version": "1.0", "doc": "conversation_flow", "id": "walker", "name": "Walker", "root": "root",
        "default_locale": "en", "graphs": [root, graph],
        "intents": [{"id": "walk", "name": "Walk", "phrases": ["walk on"], "graph": "g"}]});
    let turn = |path: &str, body: Value| json!({"request": {"method": "POST", "path": format!("/v1/runtime/assistants/walker/sessions{path}"), "body": body}});
    let walks = turn("/${SESSION}/turns", json!({"type": "user.message", "text": "walk on"}));
    Ok(serde_json::from_value(json!({"name": format!("{nodes} nodes"), "documents": [document], "turns": [turn("", json!({})), walks]}))?)
}
