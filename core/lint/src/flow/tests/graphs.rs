use serde_json::{Value, json};

use super::bases::{with_changes, with_condition, with_node};
use super::{Case, assert_cases};

/// Graphs, conditions, events and settings.
pub(super) fn cases() -> Vec<Case> {
    let edge =
        |id: &str, source: &str, port: &str, target: &str| json!({"id": id, "source": source, "source_port": port, "target": target});
    let text = json!({"blocks": [{"kind": "text", "text": "x"}]});
    vec![
        (vec![("/root", json!("none"))], "G001", "/root"),
        (vec![("/root", json!("buy"))], "G001", "/root"),
        (vec![("/graphs/2/kind", json!("root"))], "G001", "/graphs/2/kind"),
        (vec![("/graphs/1/entry", json!("size"))], "G002", "/graphs/1/entry"),
        (vec![("/graphs/2/entry", json!("none"))], "G002", "/graphs/2/entry"),
        (vec![("/graphs/0/edges/0/target", json!("none"))], "G003", "/graphs/0/edges/0/target"),
        (vec![("/graphs/0/edges/-", edge("x", "none", "out", "idle"))], "G003", "/graphs/0/edges/1/source"),
        (vec![("/graphs/1/edges/1/source_port", json!("done"))], "G004", "/graphs/1/edges/1/source_port"),
        (vec![("/graphs/1/edges/3/source_port", json!("-"))], "G004", "/graphs/1/edges/3"),
        (vec![("/graphs/1/edges/7/source_port", json!("btn:none"))], "G004", "/graphs/1/edges/7/source_port"),
        (vec![("/graphs/1/nodes/6/data/mode", json!("goto"))], "G004", "/graphs/1/edges/9"),
        (vec![("/graphs/2/edges/2/target", json!("begin"))], "G005", "/graphs/2/edges/2/target"),
        (vec![("/graphs/1/edges/5/target", json!("sum"))], "G006", "/graphs/1/nodes/4"),
        (vec![("/graphs/2/edges/3", edge("s4", "mark", "out", "call")), ("/graphs/2/edges/2", "-".into())], "G007", "/graphs/2/entry"),
        (vec![("/graphs/1/edges/8", json!("-"))], "G008", "/graphs/1/nodes/5"),
        (vec![("/graphs/1/edges/11", json!("-")), ("/graphs/1/nodes/8/data/match", json!("any"))], "G008", "/graphs/1/nodes/8"),
        (vec![("/graphs/3/edges/2", json!("-"))], "G009", "/graphs/3/nodes/1"),
        (with_changes(with_node("message", "out", text.clone()), &[("/graphs/3/edges/1/target", json!("n"))]), "G010", "/graphs/3/nodes/1"),
        (vec![("/graphs/2/edges/3/target", json!("call"))], "G011", "/graphs/2/nodes/1"),
        (vec![("/graphs/1/edges/-", edge("x", "size", "out", "gone"))], "G012", "/graphs/1/edges/12"),
        (
            vec![("/graphs/1/nodes/-", json!({"id": "x", "type": "fallback", "name": "X", "data": {"match": "error"}}))],
            "G013",
            "/graphs/1/nodes/10",
        ),
        (vec![("/graphs/0/edges/0/target", json!("over"))], "G016", "/graphs/0/edges/0/target"),
        (vec![("/graphs/1/edges/6", json!("-")), ("/graphs/1/edges/5", json!("-"))], "G020", "/graphs/1/nodes/3"),
        (vec![("/graphs/1/edges/6/condition", json!({"expr": "session.price < 10"}))], "G021", "/graphs/1/nodes/3"),
        (
            vec![(
                "/graphs/1/edges/-",
                json!({"id": "x", "source": "dear", "target": "gone", "condition": {"expr": "session.price > 60"}}),
            )],
            "G022",
            "/graphs/1/edges/12",
        ),
        (vec![("/graphs/1/edges/-", json!({"id": "x", "source": "dear", "target": "gone"}))], "G022", "/graphs/1/edges/12"),
        (with_condition("session.price > 50 && session.price < 40"), "G023", "/graphs/1/edges/5/condition/expr"),
        (vec![("/graphs/1/edges/5/source_port", json!("yes"))], "G024", "/graphs/1/edges/6"),
        (with_condition("1 + 1 == 2"), "E006", "/graphs/1/edges/5/condition/expr"),
        (vec![("/events/fallback/graph", json!("none"))], "B001", "/events/fallback/graph"),
        (vec![("/repair", json!({"cancel": {"graph": "none"}}))], "B001", "/repair/cancel/graph"),
        (vec![("/settings/fallback_limit_graph", json!("none"))], "B001", "/settings/fallback_limit_graph"),
        (vec![("/events/welcome/message", json!(" "))], "B002", "/events/welcome"),
        (vec![("/settings/no_input_timeout_s", json!(0))], "B003", "/events/no_input"),
        (vec![("/settings/monthly_llm_spend_cap_cents", json!(0))], "B004", "/settings/monthly_llm_spend_cap_cents"),
        (vec![("/events/fallback/enabled", json!(false))], "B006", "/events"),
        (vec![("/settings/knowledge_fallback", json!(true))], "B007", "/settings/knowledge_fallback"),
        (vec![("/settings/knowledge_fallback_min_score", json!(0.4))], "B009", "/settings/knowledge_fallback_min_score"),
        (vec![("/default_locale", json!("pt-BR"))], "B008", "/default_locale"),
        (vec![("/locales", json!(["de", "sv"]))], "B008", "/locales/1"),
        (vec![("/settings/knowledge_fallback", json!(true))], "K006", "/settings/knowledge_fallback"),
        (with_migration(json!({"from_hash": "sha256:12"})), "M001", "/meta/migrations/0/from_hash"),
        (with_migration(json!({"from_hash": HASH, "nodes": {"ask": "nowhere"}})), "M001", "/meta/migrations/0/nodes/ask"),
        (with_migration(json!({"from_hash": HASH, "nodes": {"help/a": "size"}})), "M001", "/meta/migrations/0/nodes/help~1a"),
        (with_migration(json!({"from_hash": HASH, "vars": [{"rename": "a"}]})), "M001", "/meta/migrations/0/vars/0"),
        (with_migration(json!({"from_hash": HASH, "vars": [{"drop": "a", "to": "b"}]})), "M001", "/meta/migrations/0/vars/0"),
        (with_migration(json!({"from_hash": HASH, "unmappable": "stay"})), "M001", "/meta/migrations/0/unmappable"),
        (with_migration(json!({"from_hash": HASH, "var": []})), "M001", "/meta/migrations/0/var"),
        (vec![("/meta", json!({"migrations": {}}))], "M001", "/meta/migrations"),
        (message_chain(50), "G014", "/graphs/3"),
        (message_chain(70), "G015", "/graphs/3"),
        (message_cycle(65), "G015", "/graphs/3"),
    ]
}

/// The hash of a version.
const HASH: &str = "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// The shop with a declared migration.
fn with_migration(migration: Value) -> Vec<super::Change> {
    vec![("/meta", json!({"migrations": [migration]}))]
}

/// The help graph with `count` consecutive messages.
fn message_chain(count: usize) -> Vec<super::Change> {
    let data = json!({"blocks": [{"kind": "text", "text": "x"}]});
    let mut nodes = vec![json!({"id": "asked", "type": "intent", "name": "Help", "data": {"intent_id": "help"}})];
    let mut edges = vec![json!({"id": "e", "source": "asked", "target": "n0"})];
    for at in 0..count {
        nodes.push(json!({"id": format!("n{at}"), "type": "message", "name": format!("Node {at}"), "data": data}));
        edges.push(json!({"id": format!("e{at}"), "source": format!("n{at}"), "target": format!("n{}", at + 1)}));
    }
    nodes.push(json!({"id": format!("n{count}"), "type": "end", "name": "Over", "data": {}}));
    vec![("/graphs/3/nodes", json!(nodes)), ("/graphs/3/edges", json!(edges))]
}

/// As [`long`], with an edge from the last message to the first.
fn message_cycle(count: usize) -> Vec<super::Change> {
    let back = json!({"id": "back", "source": format!("n{}", count - 1), "target": "n0"});
    with_changes(message_chain(count), &[("/graphs/3/edges/-", back)])
}

#[test]
fn valid_migrations_have_no_issues() {
    let vars = json!([{"rename": "a", "to": "b"}, {"default": "c", "value": null}, {"drop": "d"}]);
    let migration = json!({"from_hash": HASH, "nodes": {"help/a": "help/agent", "b": "size"}, "vars": vars, "unmappable": "to_root"});
    let document = super::apply_changes(super::shop(), &with_migration(migration));
    assert_eq!(super::issues_of(&document), []);
}

#[test]
fn the_structure_of_graphs_is_checked() {
    assert_cases(cases());
}
