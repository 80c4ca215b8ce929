mod ai_agent;
mod analyses;
mod bases;
mod calls;
mod chain;
mod graphs;
mod texts;
mod words;
mod workflow;

use std::collections::BTreeSet;

use convengine_config::flow::DocumentSeverity;
use serde_json::{Value, json};

use super::*;

const SHOP: &str = include_str!("shop.flow.json");
const BANK: &str = include_str!("../../../../../tests/packs/flow/bank_assistant.flow.json");

/// A change: a JSON Pointer and a new value. The value `-` removes, and the pointer suffix `/-` appends to an array.
type Change = (&'static str, Value);

/// Changes of the shop, the code that they cause, and its path.
type Case = (Vec<Change>, &'static str, &'static str);

/// Returns the valid document that all cases change.
fn shop() -> Value {
    serde_json::from_str(SHOP).unwrap()
}

/// Applies changes to a document.
fn apply_changes(mut document: Value, changes: &[Change]) -> Value {
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match document.pointer_mut(parent).unwrap_or_else(|| panic!("unknown {parent}")) {
            Value::Object(members) if *value == json!("-") => assert!(members.shift_remove(key).is_some(), "{pointer}"),
            Value::Object(members) => drop(members.insert(key.to_owned(), value.clone())),
            Value::Array(items) if key == "-" => items.push(value.clone()),
            Value::Array(items) if *value == json!("-") => drop(items.remove(key.parse::<usize>().unwrap())),
            Value::Array(items) => items[key.parse::<usize>().unwrap()] = value.clone(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => panic!("{parent} is not a container"),
        }
    }
    document
}

/// Returns the issues of a document in the environment of the shop.
fn issues_of(document: &Value) -> Vec<DocumentIssue> {
    let secrets = BTreeSet::from(["SHOP_KEY".to_owned()]);
    let revoked = BTreeSet::from(["OLD_KEY".to_owned()]);
    let knowledge = BTreeMap::from([("new".to_owned(), false)]);
    let mcp_tools =
        BTreeMap::from([("mcp.oms.cancel".to_owned(), ApprovedTool { class: EffectClass::Irreversible, needs_approval: true })]);
    let functions = BTreeSet::from(["orders:refund".to_owned()]);
    let target = PublishTarget {
        mcp_tools: Some(&mcp_tools),
        functions: Some(&functions),
        secrets: Some(&secrets),
        revoked_secrets: &revoked,
        script_timeout_ms: Some(2000),
        knowledge: Some(&knowledge),
        has_desk: Some(false),
        ..PublishTarget::empty()
    };
    check_document(document, &target)
}

fn codes(document: &Value) -> Vec<(&'static str, String)> {
    issues_of(document).into_iter().map(|it| (it.code, it.path)).collect()
}

/// Asserts that each case has its code at its path, with the severity of the table.
fn assert_cases(cases: Vec<Case>) {
    for (changes, code, path) in cases {
        let issues = issues_of(&apply_changes(shop(), &changes));
        let found = issues.iter().find(|issue| issue.code == code && issue.path == path);
        let Some(found) = found else { panic!("{changes:?}: no {code} at {path} among {issues:#?}") };
        let weight = CODES.iter().find(|it| it.0 == code).unwrap_or_else(|| panic!("{code} is not in CODES")).1;
        assert_eq!(found.severity, weight, "{code}");
        assert!(found.fix.is_some() && !found.message.ends_with('.'), "{found}");
        let of_graph = path.strip_prefix("/graphs/").map(|rest| rest.split('/').next().unwrap().parse::<usize>().unwrap());
        assert_eq!(found.graph.is_some(), of_graph.is_some(), "{found}");
        let of_node = path.contains("/nodes/") || path.contains("/edges/") && !path.ends_with("/source");
        assert_eq!(found.node.is_some(), of_graph.is_some() && of_node, "{found}");
    }
}

/// Returns all cases.
fn cases() -> Vec<Case> {
    [graphs::cases(), words::cases(), texts::cases(), calls::cases()].into_iter().flatten().collect()
}

#[test]
fn the_shop_is_valid() {
    assert_eq!(issues_of(&shop()), []);
    assert_eq!(check_document(&shop(), &PublishTarget::default()), []);
}

#[test]
fn every_code_has_a_case() {
    let others = [workflow::cases(), chain::cases()].concat();
    // A012 needs providers, which only the test of models has.
    let covered: BTreeSet<&str> = cases().iter().chain(&others).map(|it| it.1).chain(["A012"]).collect();
    let listed: BTreeSet<&str> = CODES.iter().map(|it| it.0).collect();
    assert_eq!(covered, listed);
    assert_eq!(CODES.len(), listed.len());
}

#[test]
fn models_of_agent_nodes_and_aliases_are_those_of_the_providers() {
    let groq = ModelProvider { models: vec!["llama-3".to_owned()], has_tags: false };
    let providers = BTreeMap::from([("groq".to_owned(), groq)]);
    let target = PublishTarget { providers: Some(&providers), ..PublishTarget::empty() };
    for (model, of_node, of_alias) in [
        ("groq:llama-3", None, None),
        ("grok:x", Some("A012"), Some("A012")),
        ("groq:other", Some("A005"), Some("A005")),
        ("groq", Some("A005"), Some("A005")),
        ("slow", Some("A005"), None),
    ] {
        for (path, code) in [("/graphs/3/nodes/1/data/model", of_node), ("/settings/models/fast", of_alias)] {
            let issues = check_document(&apply_changes(shop(), &[(path, json!(model))]), &target);
            let found: Vec<_> = issues.iter().filter(|it| it.path == path).map(|it| it.code).collect();
            assert_eq!(found, code.into_iter().collect::<Vec<_>>(), "{model} at {path}");
        }
    }
}

#[test]
fn the_bank_can_be_published() {
    let bank: Value = serde_json::from_str(BANK).unwrap();
    let issues = check_document(&bank, &PublishTarget::empty());
    let found = |weight: DocumentSeverity| {
        issues.iter().filter(|issue| issue.severity == weight).map(|issue| (issue.code, issue.path.as_str())).collect::<Vec<_>>()
    };
    assert_eq!(found(DocumentSeverity::Error), []);
    assert_eq!(
        found(DocumentSeverity::Warning),
        [("G009", "/graphs/1/nodes/7"), ("H002", "/graphs/1/nodes/7"), ("N008", "/graphs/2/nodes/2")]
    );
}

#[test]
fn issues_are_in_document_order_with_structural_ones() {
    let broken = apply_changes(
        shop(),
        &[
            ("/graphs/2/nodes/1/data/tool_id", json!("none")),
            ("/graphs/1/nodes/1/data/entity", json!("none")),
            ("/graphs/1/nodes/1/data/max_attempts", json!(0)),
            ("/graphs/1/edges/0/source_port", json!("none")),
            ("/events/welcome/graph", json!("none")),
            ("/graphs/1/kind", json!("subflow")),
        ],
    );
    let found = codes(&broken);
    let places: Vec<(&str, &str)> = found.iter().map(|it| (it.0, it.1.as_str())).collect();
    let at =
        |code: &str, path: &str| places.iter().position(|place| *place == (code, path)).unwrap_or_else(|| panic!("{code} {places:#?}"));
    assert!(at("B001", "/events/welcome/graph") < at("G002", "/graphs/1/entry"));
    assert!(at("G002", "/graphs/1/entry") < at("G004", "/graphs/1/edges/0/source_port"));
    assert!(at("G004", "/graphs/1/edges/0/source_port") < at("N006", "/graphs/1/nodes/1/data/max_attempts"));
    assert!(at("N006", "/graphs/1/nodes/1/data/max_attempts") < at("N001", "/graphs/1/nodes/1/data/entity"));
    assert!(at("N001", "/graphs/1/nodes/1/data/entity") < at("V001", "/graphs/2/nodes/1/data/tool_id"));
    assert_eq!(found, codes(&broken));
}

#[test]
fn invalid_documents_only_have_structural_issues() {
    let broken = apply_changes(shop(), &[("/graphs/0/nodes/0/type", json!("robot")), ("/events/welcome/graph", json!("none"))]);
    assert_eq!(codes(&broken), [("D002", "/graphs/0/nodes/0/type".to_owned())]);
    assert_eq!(codes(&json!([])), [("D001", String::new())]);
    let missing = codes(&json!({}));
    assert!(missing.len() > 5 && missing.iter().all(|issue| *issue == ("D001", String::new())), "{missing:?}");
}
