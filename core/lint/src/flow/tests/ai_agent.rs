use std::collections::{BTreeMap, BTreeSet};

use convengine_config::flow::{DocumentIssue, DocumentSeverity};
use serde_json::{Value, json};

use super::super::{CODES, check_agent};
use super::{Case, apply_changes};
use crate::flow::PublishTarget;

const SHOP: &str = include_str!("../../../../../tests/packs/agent/shop.json");

fn shop() -> Value {
    let pack: Value = serde_json::from_str(&SHOP.replace("${STUB}", "https://shop.example.test")).unwrap();
    pack["documents"][0].clone()
}

fn issues_of(changes: &[(&'static str, Value)]) -> Vec<DocumentIssue> {
    let secrets = BTreeSet::from(["SHOP_KEY".to_owned()]);
    let knowledge = BTreeMap::from([("terms".to_owned(), true), ("draft".to_owned(), false)]);
    let target = PublishTarget { secrets: Some(&secrets), knowledge: Some(&knowledge), ..PublishTarget::empty() };
    check_agent(&apply_changes(shop(), changes), &target)
}

/// Tools are: 0 order_status, 1 stock, 2 verify, 3 refund, 4 close_account, 5 subscribe. Tasks: 0 status, 1 refund, 2 close, 3 mail.
/// Guardrails: 0 AUTH, 1 LIMIT, 2 disabled, 3 REDACT, 4 ESCALATE.
fn cases() -> Vec<Case> {
    vec![
        (vec![("/mission", json!("-"))], "D001", ""),
        (vec![("/tasks/0/flag", json!("SECRET"))], "D002", "/tasks/0/flag"),
        (vec![("/guardrails/0/kind", json!("FIREWALL"))], "D002", "/guardrails/0/kind"),
        (vec![("/guardrails/1/config/max_calls", json!("-"))], "D001", "/guardrails/1/config"),
        (vec![("/goal", json!("x"))], "D003", "/goal"),
        (vec![("/tools/1/id", json!("refund"))], "D004", "/tools/3/id"),
        (vec![("/schema_version", json!("2.0"))], "D006", "/schema_version"),
        (vec![("/mission", json!(" "))], "A001", "/mission"),
        (vec![("/tool_names", json!(["none"]))], "A002", "/tool_names/0"),
        (vec![("/tasks/0/tool_names/1", json!("none"))], "A002", "/tasks/0/tool_names/1"),
        (vec![("/guardrails/1/config/tools/0", json!("none"))], "A002", "/guardrails/1/config/tools/0"),
        (vec![("/tools/1/id", json!("close.account"))], "A003", "/tools/4/id"),
        (vec![("/tools/5/id", json!("remember"))], "A003", "/tools/5/id"),
        (vec![("/model", json!(" "))], "A005", "/model"),
        (vec![("/guardrails/0/enabled", json!(false))], "A007", "/tasks/1/flag"),
        (vec![("/guardrails/0/enabled", json!(false))], "A007", "/tools/4/sensitive"),
        (vec![("/guardrails/0/config/variable", json!("memory.nickname"))], "A007", "/guardrails/0/config"),
        (vec![("/tools/4/sensitive", json!(false)), ("/tools/4/approval", json!("never"))], "A008", "/tools/4"),
        (vec![("/guardrails/0/config/expr", json!("customer.verified =="))], "E001", "/guardrails/0/config/expr"),
        (vec![("/guardrails/3/config/patterns/0", json!("(a"))], "N004", "/guardrails/3/config/patterns/0"),
        (vec![("/knowledge/0", json!("none"))], "K001", "/knowledge/0"),
        (vec![("/knowledge/0", json!("draft"))], "K002", "/knowledge/0"),
        (vec![("/mission", json!("{{ a"))], "T001", "/mission"),
        (vec![("/mission", json!("{{ secret.SHOP_KEY }}"))], "T004", "/mission"),
        (vec![("/tools/1/request/headers", json!({"X": "{{ secret.NONE }}"}))], "V010", "/tools/1/request/headers/X"),
        (vec![("/tools/1/request/url", json!("http://10.0.0.1/"))], "V003", "/tools/1/request/url"),
        (vec![("/tools/1/request", json!("-"))], "V002", "/tools/1"),
        (vec![("/tools/5/kind", json!("mcp"))], "V014", "/tools/5/kind"),
        (vec![("/mission", json!("Use ghp_abcdefghijklmnopqrstuvwxyz0123456789."))], "S001", "/mission"),
    ]
}

#[test]
fn the_shop_can_be_published() {
    let errors: Vec<DocumentIssue> = issues_of(&[]).into_iter().filter(|it| it.severity == DocumentSeverity::Error).collect();
    assert_eq!(errors, []);
}

#[test]
fn every_mistake_has_its_code_and_place() {
    for (changes, code, path) in cases() {
        let issues = issues_of(&changes);
        let found: Vec<_> = issues.iter().filter(|issue| issue.code == code && issue.path == path).collect();
        let [found] = found.as_slice() else { panic!("{changes:?}: not one {code} at {path} among {issues:#?}") };
        let known = CODES.iter().find(|it| it.0 == code).map(|it| it.1);
        assert!(known.is_none_or(|it| it == found.severity), "{code}");
        assert!(found.fix.is_some() && !found.message.ends_with('.') && found.graph.is_none(), "{found}");
    }
}
