//! The generated pages of the reference: they are up to date, complete, and say what the code does.

use std::fs;

use convengine_core::config::flow;
use convengine_core::config::{Config, Issue, Severity, Tables};
use convengine_core::json::schema::JsonSchema;
use convengine_core::lint::flow::{PublishTarget, check_agent, check_chain, check_document, check_workflow};
use convengine_settings::{Options, Settings};
use convengine_test_macros::test;
use convengine_tests::reference::{self, Meanings};
use convengine_tests::root;
use serde_json::{Value, json};

#[test]
#[on(no_database)]
fn the_committed_pages_are_what_is_generated() {
    let outdated = |name: &str, text: &str| fs::read_to_string(root().join("docs/reference").join(name)).ok().as_deref() != Some(text);
    let changed: Vec<&str> = reference::files().unwrap().iter().filter(|it| outdated(it.0, &it.1)).map(|it| it.0).collect();
    assert!(changed.is_empty(), "run `cargo xtask docs` and commit the result; these pages differ: {}", changed.join(", "));
}

#[test]
#[on(no_database)]
fn everything_has_a_meaning() {
    let gaps: Vec<String> = reference::pages().unwrap().into_iter().flat_map(|it| it.gaps).collect();
    assert!(gaps.is_empty(), "{}", gaps.join("\n"));
}

#[test]
#[on(no_database)]
fn missing_and_unused_meanings_are_found() {
    let meanings = Meanings::parse("f", "# comment\n[a] about\nx = one\ny = two\n[*]\nz = any\n").unwrap();
    assert_eq!((meanings.section("a"), meanings.get("a", "x"), meanings.get("b", "z")), ("about".into(), "one".into(), "any".into()));
    assert_eq!(meanings.get("a", "w"), "");
    assert_eq!(meanings.gaps(), ["f: [a] w has no meaning", "f: [a] y is the meaning of nothing"]);
    assert!(Meanings::parse("f", "x = one\nx = two").is_err() && Meanings::parse("f", "x").is_err());
}

/// The tree of one setting; map names of the documentation become a name.
fn tree(key: &str, value: &Value) -> Value {
    key.replace("NAME", "shop").rsplit('.').fold(value.clone(), |inner, it| json!({it: inner}))
}

#[test]
#[on(no_database)]
fn documented_defaults_are_the_defaults() {
    let compiled = |tree: &Value| Config::compile(&Tables::default(), tree);
    let usual = format!("{:?}", compiled(&json!({})).0.settings);
    let loaded = |set: Vec<String>| {
        let mut settings = Settings::load(&Options { set, ..Options::default() }).unwrap_or_else(|error| panic!("{error}"));
        settings.tree = Value::Null;
        format!("{settings:?}")
    };
    let usual_of_host = loaded(Vec::new());
    let keys = reference::setting_keys().unwrap();
    for (key, default) in keys.iter().filter_map(|key| Some((&key.0, key.1.as_ref()?))) {
        let (config, issues) = compiled(&tree(key, default));
        assert_eq!(format!("{:?}", config.settings), usual, "{key}: {default} is not the default");
        let issues: Vec<String> = issues.iter().map(ToString::to_string).collect();
        assert!(issues.is_empty(), "{issues:?}");
        assert_eq!(loaded(vec![format!("convengine.{key}={default}")]), usual_of_host, "{key}: {default} is not the default");
    }
    let settable = keys.iter().filter(|it| it.1.is_some()).count();
    assert!(keys.len() > 110 && settable > 70, "{settable} defaults of {} settings", keys.len());
}

/// A host that runs packs knows the documented settings. The server removes some from the tree before the core reads it.
#[test]
#[on(no_database)]
fn documented_settings_are_known_to_the_core() {
    let removed = |name: &str| name == "admin-token" || name.starts_with("tenants.");
    for (key, _) in reference::setting_keys().unwrap().iter().filter(|it| !removed(&it.0)) {
        let (_, issues) = Config::compile(&Tables::default(), &tree(key, &json!("x")));
        // A value of another kind is an error; an older name is known, too.
        let is_known = |it: &Issue| it.severity == Severity::Error || it.reason == "is an older name";
        assert!(issues.iter().all(is_known), "{key}: {issues:?}");
    }
}

/// A document with all examples, and with what they refer to.
fn document_of(examples: &[Value]) -> Value {
    let (entry, mut others): (Vec<&Value>, Vec<&Value>) = examples.iter().partition(|it| it["type"] == "intent");
    let reader = json!({"id": "reader", "name": "Reader", "type": "message", "data": {"blocks": [{"kind": "text", "text": "{{ session.order_status }}"}]}});
    others.push(&reader);
    let tool = |id: &str| json!({"id": id, "name": id, "kind": "noop"});
    let start = json!({"id": "start", "name": "Start", "type": "start", "data": {}});
    let variables = ["amount", "days", "due", "email", "is_verified", "name", "order_id", "price", "quantity", "result", "ticket", "total"];
    json!({
        "schema_version": "1.0", "doc": "conversation_flow", "id": "examples", "name": "Examples", "default_locale": "en-US", "root": "root",
        "variables": variables.map(|name| json!({"name": name, "type": "any"})),
        "tools": [tool("load_order"), tool("refund")],
        "intents": [{"id": "order_status", "name": "Order status", "graph": "order_status", "phrases": ["where is my order"]}],
        "graphs": [
            {"id": "root", "kind": "root", "entry": "start", "nodes": others, "edges": []},
            {"id": "order_status", "kind": "intent", "entry": "entry", "nodes": entry, "edges": []},
            {"id": "verify_identity", "kind": "subflow", "entry": "start", "nodes": [start], "edges": [],
                "params": [{"name": "email"}], "returns": [{"name": "verified", "type": "any"}]},
        ],
    })
}

#[test]
#[on(no_database)]
fn examples_of_other_documents_are_valid() {
    let check = |doc: &str, definition: &str, tag: &str, examples: &str| {
        let schema = flow::document_schema(doc).unwrap();
        let part = JsonSchema::compile(&json!({"$defs": schema["$defs"], "$ref": format!("#/$defs/{definition}")})).unwrap();
        let examples: Value = serde_json::from_str(examples).unwrap();
        for (kind, example) in examples.as_object().unwrap() {
            assert_eq!((example[tag].as_str(), part.find_violation(example)), (Some(kind.as_str()), None), "{kind}");
        }
        examples
    };
    let nodes = include_str!("../../src/reference/data/workflow_node_examples.json");
    let mut nodes: Vec<Value> = check("workflow_graph", "WorkflowNode", "type", nodes).as_object().unwrap().values().cloned().collect();
    nodes.push(json!({"id": "end", "name": "End", "type": "end", "data": {"final_message": "{{ rating }}"}}));
    let edge = |at: usize, port: &str| json!({"id": format!("e{at}"), "source": nodes[at]["id"], "source_port": port, "target": nodes[at + 1]["id"]});
    let variables = ["topic", "rating", "order_id", "order_status"].map(|name| json!({"name": name, "type": "any"}));
    let graph = json!({
        "schema_version": "1.0", "doc": "workflow_graph", "id": "examples", "name": "Examples", "shared_state": variables,
        "nodes": nodes, "edges": [edge(0, "out"), edge(1, "out"), edge(2, "out"), edge(3, "success"), edge(4, "out")],
    });
    let steps = check("workflow_chain", "ChainStep", "kind", include_str!("../../src/reference/data/step_examples.json"));
    let branches = ["pay", "check"].map(|id| {
        let step = json!({"id": format!("{id}_end"), "kind": "schedule", "label": id, "config": {"after_ms": 1}});
        json!({"id": id, "name": id, "steps": [step]})
    });
    let chain = json!({
        "schema_version": "1.0", "doc": "workflow_chain", "slug": "examples", "name": "Examples", "trigger": {"kind": "manual"},
        "steps": steps.as_object().unwrap().values().collect::<Vec<_>>(),
        "branches": branches,
    });
    let agent: Value = serde_json::from_str(include_str!("../../src/reference/data/ai_agent_example.json")).unwrap();
    let request = json!({"method": "GET", "url": "https://orders.example/{{ args.id }}"});
    let tool = json!({"id": "order_status", "name": "Order status", "kind": "http", "request": request});
    let issues = [
        check_workflow(&graph, &[tool], &PublishTarget::empty()),
        check_chain(&chain, &PublishTarget::empty()),
        check_agent(&agent, &PublishTarget::empty()),
    ];
    let issues: Vec<String> = issues.into_iter().flatten().map(|issue| issue.to_string()).collect();
    assert_eq!(issues, [""; 0]);
}

#[test]
#[on(no_database)]
fn examples_of_nodes_are_valid() {
    let schema = flow::json_schema();
    let node = JsonSchema::compile(&json!({"$defs": schema["$defs"], "$ref": "#/$defs/Node"})).unwrap();
    let examples: Value = serde_json::from_str(include_str!("../../src/reference/data/node_examples.json")).unwrap();
    for (kind, example) in examples.as_object().unwrap() {
        assert_eq!((example["type"].as_str(), node.find_violation(example)), (Some(kind.as_str()), None), "{kind}");
    }
    let examples: Vec<Value> = examples.as_object().unwrap().values().cloned().collect();
    let find_issues = |examples: &[Value]| {
        let issues = check_document(&document_of(examples), &PublishTarget::empty());
        // Edges, and so ways into and out of nodes, are no part of an example.
        let of_data = issues.iter().filter(|issue| issue.path.contains("/data/") || issue.code.starts_with('D'));
        of_data.map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(find_issues(&examples), [""; 0]);
    // The schema lets such mistakes pass.
    for (pointer, wrong) in [("/data/request/headers/Authorization", "Bearer {{ nobody.KEY }}"), ("/data/outputs/0/path", "$[")] {
        let mut broken = examples.clone();
        *broken.iter_mut().find_map(|it| it.pointer_mut(pointer)).unwrap() = json!(wrong);
        assert_eq!(find_issues(&broken).len(), 1, "{pointer}");
    }
}
