use serde_json::json;

use super::bases::{with_changes, with_node, with_script};
use super::{Case, Change, apply_changes, assert_cases, codes, shop};

/// Intents, entities, scripts, knowledge, agents and handoffs.
pub(super) fn cases() -> Vec<Case> {
    let fallback = json!({"id": "none", "name": "None", "graph": "help", "is_fallback": true});
    let mut cases = vec![
        (vec![("/intents/0/graph", json!("none"))], "I001", "/intents/0/graph"),
        (vec![("/intents/0/graph", json!("send"))], "I001", "/intents/0/graph"),
        (vec![("/graphs/3/nodes/0/data/intent_id", json!("none"))], "I001", "/graphs/3/nodes/0/data/intent_id"),
        (vec![("/intents/1/is_fallback", json!(true)), ("/intents/-", fallback)], "I002", "/intents/2/is_fallback"),
        (vec![("/intents/1/is_fallback", json!(true))], "I003", "/intents/1/phrases"),
        (vec![("/intents/1/phrases", json!([])), ("/settings/llm_match", json!(false))], "I004", "/intents/1/phrases"),
        (vec![("/intents/1/phrases", json!("-")), ("/settings/llm_match", json!(false))], "I004", "/intents/1"),
        (vec![("/intents/1/phrases/-", json!("Buy a SHIRT!"))], "I005", "/intents/1/phrases/3"),
        (vec![("/intents/1/phrases/-", json!("a shirt"))], "I006", "/intents/1/phrases/3"),
        (vec![("/intents/1/phrases/0", json!("-"))], "I007", "/intents/1/phrases"),
        (vec![("/intents/1/description", json!(" "))], "I008", "/intents/1"),
        (vec![("/intents/0/parameters/0/entity", json!("none"))], "I009", "/intents/0/parameters/0/entity"),
        (vec![("/intents/0/parameters/0/reprompt", json!([]))], "I010", "/intents/0/parameters/0"),
        (vec![("/small_talk/0/patterns/-", json!("Help me"))], "I011", "/small_talk/0/patterns/1"),
        (
            with_changes(with_node("subflow", "out", json!({"graph": "buy"})), &[("/intents/0/enabled", json!(false))]),
            "I012",
            "/graphs/3/nodes/1/data/graph",
        ),
        (vec![("/intents/1/phrases/-", json!("help with {none}"))], "I013", "/intents/1/phrases/3"),
        (vec![("/intents/0/phrases/-", json!("get me a {order.size} {order.size}"))], "I014", "/intents/0/phrases/3"),
        (vec![("/intents/0/phrases/-", json!("{order.size}!"))], "I014", "/intents/0/phrases/3"),
        (
            vec![
                ("/intents/0/phrases", json!(["buy a shirt", "order a shirt", "purchase a shirt", "where is my parcel now"])),
                ("/intents/1/phrases", json!(["where is my parcel", "my parcel please", "where is the parcel", "is my parcel here"])),
            ],
            "I015",
            "/intents/0/phrases/3",
        ),
        (vec![("/intents/0/phrases", json!(["alpha", "bravo", "charlie", "delta", "echo"]))], "I016", "/intents/0/phrases"),
        (vec![("/graphs/1/nodes/1/data/entity", json!("none"))], "N001", "/graphs/1/nodes/1/data/entity"),
        (vec![("/entities/0/entries/1/synonyms", json!(["Little"]))], "N003", "/entities/0/entries"),
        (vec![("/entities/1/patterns/-", json!("(a"))], "N004", "/entities/1/patterns/1"),
        (vec![("/entities/1/patterns/-", json!("(a)(?=b)"))], "N004", "/entities/1/patterns/1"),
        (vec![("/graphs/1/nodes/1/data/validation/0/pattern", json!("["))], "N004", "/graphs/1/nodes/1/data/validation/0/pattern"),
        (vec![("/entities/1/group", json!("word"))], "N005", "/entities/1/group"),
        (vec![("/graphs/1/edges/2", json!("-"))], "N007", "/graphs/1/nodes/1"),
        (vec![("/graphs/1/nodes/1/data/reprompt/1", json!("-"))], "N008", "/graphs/1/nodes/1"),
        (vec![("/graphs/1/nodes/1/data/validation/0/min_length", json!(10))], "N009", "/graphs/1/nodes/1/data/validation/0"),
        (vec![("/graphs/1/nodes/1/data/validation/-", json!({"min": 5, "max": "4"}))], "N009", "/graphs/1/nodes/1/data/validation/1"),
        (
            vec![("/graphs/1/nodes/1/data/validation/-", json!({"min": "PT2H", "max": "PT90M"}))],
            "N009",
            "/graphs/1/nodes/1/data/validation/1",
        ),
        (vec![("/graphs/1/nodes/1/data/buttons/0/value", json!("huge"))], "N010", "/graphs/1/nodes/1/data/buttons/0/value"),
        (vec![("/graphs/1/nodes/1/data/buttons/1/label", json!("Huge"))], "N010", "/graphs/1/nodes/1/data/buttons/1/label"),
        (
            with_node("entity", "out", json!({"variable": "order.size", "entity": "@number", "prompt": "?"})),
            "N011",
            "/graphs/3/nodes/1/data/entity",
        ),
        (
            with_node("entity", "out", json!({"variable": "cardNumber", "entity": "@number", "prompt": "?"})),
            "N012",
            "/graphs/3/nodes/1/data/variable",
        ),
        (
            with_node("entity", "out", json!({"variable": "zipCode", "entity": "@number", "prompt": "?"})),
            "N014",
            "/graphs/3/nodes/1/data/entity",
        ),
        (
            vec![("/graphs/1/nodes/1/data/prefill", json!(true)), ("/graphs/1/nodes/1/data/interruptible", json!(false))],
            "N013",
            "/graphs/1/nodes/1/data/prefill",
        ),
        (
            vec![("/graphs/1/nodes/1/data/prefill", json!(true)), ("/graphs/1/nodes/1/data/redact", json!(true))],
            "N013",
            "/graphs/1/nodes/1/data/prefill",
        ),
        (vec![("/variables/-", json!({"name": "user.pin", "type": "string", "default": ""}))], "N012", "/variables/2"),
        (vec![with_parameter("pin", "@string")], "N012", "/intents/0/parameters/1/variable"),
        (vec![with_parameter("colour", "@number")], "N011", "/intents/0/parameters/1/entity"),
        (
            with_node("entity", "out", json!({"variable": "colour", "entity": "@number", "prompt": "?"})),
            "N011",
            "/graphs/3/nodes/1/data/entity",
        ),
    ];
    cases.extend(other_cases());
    cases
}

/// Adds a parameter to the first intent.
fn with_parameter(variable: &str, entity: &str) -> Change {
    ("/intents/0/parameters/-", json!({"variable": variable, "entity": entity, "prompt": "?", "reprompt": ["?"]}))
}

/// Renames the tools of the agent: new ids, similar names.
fn rename_tools(first: &str, second: &str) -> Vec<Change> {
    vec![
        ("/tools/0/id", json!(first)),
        ("/tools/0/name", json!("Get X")),
        ("/tools/1/id", json!(second)),
        ("/tools/1/name", json!("Get.X")),
        ("/graphs/3/nodes/1/data/tools/0/tool", json!(first)),
        ("/graphs/3/nodes/1/data/tools/1/tool", json!(second)),
        ("/graphs/1/nodes/2/data/tool_id", json!(first)),
        ("/graphs/2/nodes/1/data/tool_id", json!(second)),
    ]
}

fn other_cases() -> Vec<Case> {
    let code = "/graphs/3/nodes/1/data/code";
    let handoff = |data: serde_json::Value| with_node("handoff", "timeout", data);
    let search = |data: serde_json::Value| with_node("knowledge", "out", data);
    vec![
        (with_script("x = 'a"), "P001", code),
        (with_script("x = (1"), "P001", code),
        (with_script("if x:\n\ty = 1\n        z = 2"), "P001", code),
        (with_script("import math, os"), "P002", code),
        (with_script("from subprocess import run"), "P002", code),
        (with_script("x = eval('1')"), "P003", code),
        (with_script("x = ().__class__"), "P003", code),
        (with_script("branch = 'a'"), "P004", code),
        (with_node("python", "out", json!({"code": "x = 1", "branches": ["a"]})), "P004", "/graphs/3/nodes/1/data/branches/0"),
        (with_script("session['_error'] = 1"), "P005", code),
        (with_node("python", "out", json!({"code": "x = f(1)", "timeout_ms": 3000})), "P006", "/graphs/3/nodes/1/data/timeout_ms"),
        (with_script("session['a'] = session['b'] + 1"), "P010", code),
        (search(json!({"sources": [], "query": {"from": ["last_user"]}})), "K001", "/graphs/3/nodes/1/data/sources"),
        (search(json!({"query": {"from": ["template"]}})), "K003", "/graphs/3/nodes/1/data/query"),
        (search(json!({"query": {"from": ["last_user"]}})), "K005", "/graphs/3/nodes/1"),
        (vec![("/graphs/3/nodes/1/data/instructions", json!(" "))], "A001", "/graphs/3/nodes/1/data/instructions"),
        (vec![("/graphs/3/nodes/1/data/tools/0/tool", json!("none"))], "A002", "/graphs/3/nodes/1/data/tools/0/tool"),
        (rename_tools("or.er", "or_er"), "A003", "/graphs/3/nodes/1/data/tools/1/tool"),
        (rename_tools("finish", "order"), "A003", "/graphs/3/nodes/1/data/tools/0/tool"),
        (rename_tools("price", "request_human"), "A003", "/graphs/3/nodes/1/data/tools/1/tool"),
        (vec![("/graphs/3/nodes/1/data/model", json!("slow"))], "A005", "/graphs/3/nodes/1/data/model"),
        (vec![("/tools/0/sensitive", json!(true))], "A007", "/graphs/3/nodes/1/data/tools/0/tool"),
        (vec![("/graphs/3/nodes/1/data/tools/1/approval", json!("never"))], "A008", "/graphs/3/nodes/1/data/tools/1/tool"),
        (
            vec![("/tools/0/request/method", json!("POST")), ("/graphs/3/nodes/1/data/tools/1/approval", json!("never"))],
            "A008",
            "/graphs/3/nodes/1/data/tools/1/tool",
        ),
        (vec![("/graphs/3/nodes/1/data/output/schema", json!({"type": "text"}))], "A009", "/graphs/3/nodes/1/data/output/schema"),
        (vec![("/graphs/3/nodes/1/data/memory", json!({"max_chars": 9_000_000}))], "A010", "/graphs/3/nodes/1/data/memory/max_chars"),
        (handoff(json!({})), "H001", "/graphs/3/nodes/1"),
        (handoff(json!({})), "H002", "/graphs/3/nodes/1"),
        (handoff(json!({"mode": "return"})), "H003", "/graphs/3/nodes/1"),
        (search(json!({"sources": ["absent"], "query": {"from": ["last_user"]}})), "K001", "/graphs/3/nodes/1/data/sources/0"),
        (search(json!({"sources": ["new"], "query": {"from": ["last_user"]}})), "K002", "/graphs/3/nodes/1/data/sources/0"),
    ]
}

#[test]
fn parameters_prompt_like_nodes() {
    // A node prompts for it, so the parameter does not.
    assert_eq!(codes(&apply_changes(shop(), &[with_parameter("order.size", "@number")])), []);
    let hidden = ("/variables/-", json!({"name": "pin", "type": "string", "redact": true}));
    assert_eq!(codes(&apply_changes(shop(), &[with_parameter("pin", "@string"), hidden])), []);
    let fitting = ("/graphs/1/nodes/1/data/validation/-", json!({"min": "PT45M", "max": "PT1H"}));
    assert_eq!(codes(&apply_changes(shop(), &[fitting])), []);
}

#[test]
fn tools_with_similar_names_differ_by_id() {
    assert_eq!(codes(&apply_changes(shop(), &rename_tools("one", "two"))), []);
}

#[test]
fn intents_entities_and_scripts_are_checked() {
    assert_cases(cases());
}
