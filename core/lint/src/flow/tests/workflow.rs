use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::ProgramKind;
use serde_json::{Value, json};

use super::super::{BoundPrograms, CODES, check_workflow};
use super::{Case, apply_changes};
use crate::flow::PublishTarget;

const SUPPORT: &str = include_str!("../../../../../tests/packs/workflow/support.json");

/// Nodes are: 0 trigger, 1 agent, 2 router, 3 assistant, 4 tool, 5 workflow, 6 end.
pub(super) fn cases() -> Vec<Case> {
    let program = |kind: &str, data: Value| json!({"id": "survey", "type": kind, "name": "Survey", "data": data});
    let typed = |kind: &str| json!({"id": "survey", "type": kind, "name": "Survey", "data": {}});
    let mut cases = vec![
        (vec![("/entries", json!([])), ("/root", json!("-")), ("/nodes/1/id", json!("triage"))], "W001", "/entries"),
        (vec![("/entries", json!(["desk"])), ("/root", json!("desk")), ("/edges", json!([]))], "W003", ""),
        (vec![("/nodes/3/data/assistant_id", json!("none"))], "W004", "/nodes/3/data/assistant_id"),
        (vec![("/nodes/3/data/assistant_id", json!("draft"))], "W005", "/nodes/3/data/assistant_id"),
        (vec![("/nodes/3/data/assistant_id", json!("live")), ("/nodes/3/data/version", json!("9"))], "W005", "/nodes/3/data/assistant_id"),
        (vec![("/nodes/5", program("agent", json!({"agent_id": "none"})))], "W006", "/nodes/5/data/agent_id"),
        (vec![("/nodes/4/data/tool_name", json!("none"))], "W007", "/nodes/4/data/tool_name"),
        (vec![("/nodes/5/data/workflow_id", json!("none"))], "W008", "/nodes/5/data/workflow_id"),
        (vec![("/nodes/5/data/workflow_id", json!("support"))], "W009", "/nodes/5/data/workflow_id"),
        (vec![("/nodes/5/data/workflow_id", json!("circle"))], "W009", "/nodes/5/data/workflow_id"),
        (vec![("/nodes/5/data/workflow_id", json!("deep1"))], "W010", "/nodes/5/data/workflow_id"),
        (vec![("/edges/2", json!("-")), ("/edges/2", json!("-")), ("/edges/2", json!("-"))], "W011", "/nodes/2"),
        (vec![("/edges/2/condition/expr", json!("  "))], "W012", "/edges/2/condition/expr"),
        (vec![("/edges/2/condition/expr", json!("hi ?"))], "W013", "/edges/2/condition/expr"),
        (vec![("/edges/-", json!({"id": "e10", "source": "opened", "target": "bye"}))], "W014", "/edges/9"),
        (vec![("/nodes/4/data/args/id", json!("{{ secret.SHOP_KEY }}"))], "T004", "/nodes/4/data/args/id"),
        (vec![("/nodes/3/data/inputs/topic", json!("{{ secret.SHOP_KEY }}"))], "T004", "/nodes/3/data/inputs/topic"),
        (vec![("/nodes/5/data/inputs/about", json!(["{{ topic | nope }}"]))], "T002", "/nodes/5/data/inputs/about/0"),
        (
            vec![("/nodes/5", program("agent", json!({"agent_id": "none", "inputs": {"a": "{{ secret.KEY }}"}})))],
            "T004",
            "/nodes/5/data/inputs/a",
        ),
        (vec![("/nodes/4/data/args/id", json!("{{ visitor.id }}"))], "S004", "/nodes/4/data/args/id"),
        (vec![("/nodes/4/data/outputs/0/default", json!("{{ secret.KEY }}"))], "T004", "/nodes/4/data/outputs/0/default"),
    ];
    let drafts =
        ["script", "datastore", "set", "human", "parallel", "wait"].map(|kind| (vec![("/nodes/5", typed(kind))], "W002", "/nodes/5"));
    cases.extend(drafts);
    cases
}

fn issues_of(changes: &[(&'static str, Value)]) -> Vec<DocumentIssue> {
    let pack: Value = serde_json::from_str(SUPPORT).unwrap();
    let tools = pack["workspace_tools"].as_array().unwrap();
    let mut programs = BoundPrograms::from_pack(pack["documents"].as_array().unwrap(), tools);
    let assistant = |id: &str| BoundPrograms::key(ProgramKind::Assistant, id);
    programs.versions.insert(assistant("draft"), Vec::new());
    programs.versions.insert(assistant("live"), vec!["latest".to_owned(), "1".to_owned()]);
    programs.nested.insert("circle".to_owned(), vec!["support".to_owned()]);
    for level in 1..9 {
        programs.nested.insert(format!("deep{level}"), vec![format!("deep{}", level + 1)]);
    }
    check_workflow(
        &apply_changes(pack["documents"][0].clone(), changes),
        tools,
        &PublishTarget { programs: Some(&programs), ..PublishTarget::empty() },
    )
}

#[test]
fn the_support_desk_can_be_published() {
    assert_eq!(issues_of(&[]), []);
}

#[test]
fn every_mistake_has_its_code_and_place() {
    for (changes, code, path) in cases() {
        let issues = issues_of(&changes);
        let found = issues.iter().find(|issue| issue.code == code && issue.path == path);
        let Some(found) = found else { panic!("{changes:?}: no {code} at {path} among {issues:#?}") };
        assert_eq!(Some(found.severity), CODES.iter().find(|it| it.0 == code).map(|it| it.1), "{code}");
        assert!(found.fix.is_some() && !found.message.ends_with('.'), "{found}");
    }
}

#[test]
fn a_trigger_may_lead_to_a_decision() {
    let decision = json!({"id": "desk", "type": "decision", "name": "Which desk", "data": {}});
    let changes = [
        ("/nodes/2", decision),
        ("/edges/0/target", json!("desk")),
        ("/root", json!("-")),
        ("/nodes/1/id", json!("triage")),
        ("/edges/1/source", json!("triage")),
    ];
    assert_eq!(issues_of(&changes), []);
    let unnamed = [&changes[..], &[("/entries", json!("-"))]].concat();
    assert_eq!(issues_of(&unnamed), [], "each trigger is an entry");
}
