use convengine_config::flow::document::ProgramKind;
use convengine_config::flow::{DocumentIssue, DocumentSeverity};
use serde_json::{Value, json};

use super::super::{BoundPrograms, CODES, check_chain};
use super::{Case, apply_changes};
use crate::flow::PublishTarget;

const CLAIM: &str = include_str!("../../../../../tests/packs/chain/claim_desk.json");

/// Steps are: 0 and 1 assistants, 2 human, 3 decide, 4 webhook, 5 notify, 6 schedule, 7 notify; branches: 0 notify, 1 human.
pub(super) fn cases() -> Vec<Case> {
    let step = |kind: &str, config: Value| json!({"id": "extra", "kind": kind, "label": "Extra", "config": config});
    let branch = |id: &str, next: &str| {
        let on = json!({"cases": [{"match": ["x"], "branch": next}]});
        json!({"id": id, "name": id, "steps": [{"id": format!("in_{id}"), "kind": "decide", "label": "On", "config": on}]})
    };
    let pay = step("webhook", json!({"direction": "outbound", "url": "https://pay.example.test"}));
    let enters = |branch: &str| json!([{"match": ["reject"], "branch": branch}]);
    vec![
        (vec![("/steps", json!([])), ("/branches", json!([]))], "X001", "/steps"),
        (vec![("/steps/3/label", json!(" "))], "X002", "/steps/3/label"),
        (vec![("/steps/0/config/assistant", json!("nobody"))], "X003", "/steps/0/config/assistant"),
        (vec![("/steps/0/config/assistant", json!("draft"))], "X003", "/steps/0/config/assistant"),
        (vec![("/steps/4/config/url", json!(" "))], "X004", "/steps/4/config"),
        (vec![("/steps/4/config/url", json!("http://169.254.169.254/latest"))], "X004", "/steps/4/config/url"),
        (vec![("/steps/2/config/assignees/0", json!("http://localhost/desk"))], "X004", "/steps/2/config/assignees/0"),
        (vec![("/steps/3/config/cases/0/branch", json!("none"))], "X005", "/steps/3/config/cases/0/branch"),
        (vec![("/steps/3/config/default", json!("none"))], "X005", "/steps/3/config/default"),
        (vec![("/branches/1/id", json!("rejected"))], "X005", "/branches/1/id"),
        (vec![("/steps/6", step("webhook", json!({"direction": "inbound"})))], "X006", "/steps/6/config"),
        (vec![("/steps/3/config/cases", json!([]))], "X007", "/steps/3/config/cases"),
        (vec![("/steps/3/config/cases/0", json!({"branch": "rejected"}))], "X007", "/steps/3/config/cases/0"),
        (vec![("/branches/-", branch("loop", "loop")), ("/steps/3/config/cases", enters("loop"))], "X008", "/branches/2"),
        (
            vec![
                ("/branches/-", branch("b1", "b2")),
                ("/branches/-", branch("b2", "b3")),
                ("/branches/-", branch("b3", "b4")),
                ("/branches/-", branch("b4", "rejected")),
                ("/steps/3/config/cases", enters("b1")),
            ],
            "X008",
            "/branches/2",
        ),
        (vec![("/steps/6/config", json!({"at": "tomorrow"}))], "X009", "/steps/6/config/at"),
        (vec![("/steps/6/config", json!({"at": "2026-03-29T25:00"}))], "X009", "/steps/6/config/at"),
        (vec![("/steps/6/config", json!({"cron": "@reboot"}))], "X009", "/steps/6/config/cron"),
        (vec![("/steps/6/config", json!({"cron": "61 * * * *"}))], "X009", "/steps/6/config/cron"),
        (vec![("/steps/6/config", json!({"cron": "0 0 31 2 *"}))], "X009", "/steps/6/config/cron"),
        (vec![("/trigger", json!({"kind": "schedule", "cron": "@daily", "timezone": "Mars/Base"}))], "X009", "/trigger/timezone"),
        (vec![("/steps/6/config", json!({}))], "X010", "/steps/6/config"),
        (vec![("/trigger", json!({"kind": "schedule"}))], "X010", "/trigger"),
        (vec![], "X011", "/branches/1/steps/0/config"),
        (vec![("/steps/4/error_branch", json!("none"))], "X012", "/steps/4/error_branch"),
        (vec![("/steps/4/error_branch", json!("-"))], "X012", "/steps/4"),
        (vec![("/trigger", json!({"kind": "webhook"}))], "X013", "/trigger"),
        (vec![("/steps/1", pay)], "X014", "/steps/1"),
    ]
}

fn issues_of(changes: &[(&'static str, Value)]) -> Vec<DocumentIssue> {
    let text = CLAIM.replace("${STUB}", "https://bank.example.test");
    let pack: Value = serde_json::from_str(&text).unwrap();
    let documents = pack["documents"].as_array().unwrap();
    let mut programs = BoundPrograms::from_pack(documents, &[]);
    programs.versions.insert(BoundPrograms::key(ProgramKind::Assistant, "draft"), Vec::new());
    let chain = documents.iter().find(|it| it["doc"] == "workflow_chain").unwrap().clone();
    check_chain(&apply_changes(chain, changes), &PublishTarget { programs: Some(&programs), ..PublishTarget::empty() })
}

#[test]
fn the_claim_can_be_published() {
    let issues = issues_of(&[]);
    let found: Vec<_> = issues.iter().map(|issue| (issue.code, issue.path.as_str())).collect();
    assert_eq!(found, [("X011", "/branches/1/steps/0/config")], "somebody books by hand without a limit");
}

#[test]
fn a_branch_that_no_step_enters_is_a_warning() {
    let issues = issues_of(&[("/steps/4/on_error", json!("fail"))]);
    let found = issues.iter().find(|it| it.code == "X005").unwrap();
    assert_eq!((found.severity, found.path.as_str()), (DocumentSeverity::Warning, "/branches/1"));
}

#[test]
fn every_mistake_of_a_chain_has_its_code_and_place() {
    for (changes, code, path) in cases() {
        let issues = issues_of(&changes);
        let found = issues.iter().find(|issue| issue.code == code && issue.path == path);
        let Some(found) = found else { panic!("{changes:?}: no {code} at {path} among {issues:#?}") };
        assert_eq!(Some(found.severity), CODES.iter().find(|it| it.0 == code).map(|it| it.1), "{code}");
        assert!(found.fix.is_some() && !found.message.ends_with('.'), "{found}");
    }
}

#[test]
fn local_times_and_nicknames_pass() {
    for config in [
        json!({"at": "2026-03-29T09:00"}),
        json!({"at": "2026-03-29 09:00:30"}),
        json!({"cron": "@midnight"}),
        json!({"cron": "0 9 */2 * FRI"}),
    ] {
        let issues = issues_of(&[("/steps/6/config", config.clone())]);
        assert!(issues.iter().all(|it| it.code != "X009"), "{config}: {issues:?}");
    }
}

#[test]
fn an_id_with_a_hyphen_is_read_in_brackets() {
    let issues = |text: &str| {
        let case = json!([{"expr": text, "branch": "rejected"}]);
        issues_of(&[("/steps/4/id", json!("pay-out")), ("/steps/3/config/cases", case)])
            .into_iter()
            .filter(|issue| issue.code == "E004")
            .collect::<Vec<_>>()
    };
    assert_eq!(issues("steps['pay-out'].output is set"), []);
    let found = issues("steps.pay-out.output is set");
    let fix = "write steps['pay-out'].output for a name with '-', or put spaces around the minus";
    let found: Vec<_> = found.iter().map(|issue| (issue.message.as_str(), issue.fix.as_deref())).collect();
    assert_eq!(found, [("'out.output' is read but never written", Some(fix)), ("unknown step 'pay'", Some(fix))]);
    let template = issues_of(&[("/steps/4/id", json!("pay-out")), ("/steps/5/config/text", json!("{{ steps.pay-out.output }}"))]);
    let found = template.iter().find(|it| it.code == "T001").unwrap();
    assert!(found.message.ends_with("write steps['pay-out'].output"), "{found}");
}
