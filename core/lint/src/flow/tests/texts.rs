use serde_json::json;

use super::bases::{with_condition, with_request, with_text};
use super::{Case, Change, apply_changes, assert_cases, codes, shop};

const CONDITION_PATH: &str = "/graphs/1/edges/5/condition/expr";
const TEXT_PATH: &str = "/graphs/1/nodes/4/data/blocks/0/text";

/// Expressions, templates and secrets.
pub(super) fn cases() -> Vec<Case> {
    let post = |body: serde_json::Value| with_request(json!({"method": "POST", "url": "https://a.example.org", "body": body}));
    let header =
        |name: &str, value: &str| with_request(json!({"method": "GET", "url": "https://a.example.org", "headers": {(name): (value)}}));
    vec![
        (with_condition("session.price >"), "E001", CONDITION_PATH),
        (with_condition("refund"), "E001", CONDITION_PATH),
        (with_condition("nope(session.price)"), "E002", CONDITION_PATH),
        (with_condition("secret.KEY == 'x'"), "E002", CONDITION_PATH),
        (with_condition("args.size == 'x'"), "E002", CONDITION_PATH),
        (with_condition("session.colour matches '('"), "E003", CONDITION_PATH),
        (with_condition("session.colour == 'red' || session.prise > 50"), "E004", CONDITION_PATH),
        (vec![("/graphs/3/nodes/1/data/exit_when", json!("nothing is set"))], "E004", "/graphs/3/nodes/1/data/exit_when"),
        (with_condition("session.total == 'many'"), "E005", CONDITION_PATH),
        (with_condition("session.price == true"), "E005", CONDITION_PATH),
        (with_condition("refund please"), "E001", CONDITION_PATH),
        (with_condition("refund please"), "E007", CONDITION_PATH),
        (with_condition("refund"), "E007", CONDITION_PATH),
        (with_text("{{ session. }}"), "T001", TEXT_PATH),
        (with_text("{{ session.price | upside }}"), "T002", TEXT_PATH),
        (with_text("{{ session.prise }}"), "T003", TEXT_PATH),
        (with_text("{{ system.nows }}"), "T003", TEXT_PATH),
        (vec![("/events/welcome/message", json!({"default": "{{ nobody }}"}))], "T003", "/events/welcome/message/default"),
        (written_late(), "T003", "/graphs/0/nodes/2/data/blocks/0/text"),
        (with_text("{{ secret.SHOP_KEY }}"), "T004", TEXT_PATH),
        (vec![("/tools/0/request/url", json!("https://a.example.org/{{ args.size | raw }}"))], "T005", "/tools/0/request/url"),
        (post(json!("{\"a\": \"{{ event.text }}\"}")), "T007", "/graphs/3/nodes/1/data/request/body"),
        (
            vec![("/graphs/1/nodes/1/data/prompt", json!("token ghp_abcdefghijklmnopqrstuvwxyz0123456789"))],
            "S001",
            "/graphs/1/nodes/1/data/prompt",
        ),
        (
            vec![("/tools/1/request/url", json!("https://shop.example.org/?key=AIzaSyA1234567890abcdefghijklmnopqrstuv"))],
            "S001",
            "/tools/1/request/url",
        ),
        (vec![("/tools/1/request/body", json!("token=ghp_abcdefghijklmnopqrstuvwxyz0123456789"))], "S001", "/tools/1/request/body"),
        (header("X-Api-Key", "0123456789abcdef0123456789abcdef"), "S001", "/graphs/3/nodes/1/data/request/headers/X-Api-Key"),
        (header("Authorization", "Bearer short-token"), "S001", "/graphs/3/nodes/1/data/request/headers/Authorization"),
        (vec![("/tools/0/secrets/-", json!("OLD_KEY"))], "S002", "/tools/0/secrets/1"),
        (vec![("/tools/0/secrets", json!(["OTHER_KEY"]))], "S003", "/tools/0/request/headers/Authorization"),
        (vec![("/tools/0/request/url", json!("https://a.example.org/{{ args.size }}/{{ visitor.id }}"))], "S004", "/tools/0/request/url"),
        (vec![("/graphs/1/nodes/2/data/args/size", json!("{{ visitor.size }}"))], "S004", "/graphs/1/nodes/2/data/args/size"),
        (header("X-Customer", "{{ visitor.id }}"), "S004", "/graphs/3/nodes/1/data/request/headers/X-Customer"),
    ]
}

/// A root graph that reads a variable before it writes it.
fn written_late() -> Vec<Change> {
    let data = json!({"blocks": [{"kind": "text", "text": "{{ late }}"}]});
    vec![
        ("/graphs/0/edges/0/target", json!("say")),
        ("/graphs/0/nodes/-", json!({"id": "say", "type": "message", "name": "Say", "data": data})),
        ("/graphs/0/nodes/-", json!({"id": "set", "type": "set", "name": "Set", "data": {"assign": [{"variable": "late", "value": 1}]}})),
        ("/graphs/0/edges/-", json!({"id": "r2", "source": "say", "target": "set"})),
        ("/graphs/0/edges/-", json!({"id": "r3", "source": "set", "target": "idle"})),
    ]
}

#[test]
fn condition_forms_of_assistants_pass() {
    for source in ["contains:shirt", "var.price == 5"] {
        assert_eq!(codes(&apply_changes(shop(), &with_condition(source))), [], "{source}");
    }
    // It is read as a comparison, whose right side is a text.
    for (source, code) in [("var.price == two words", "E005"), ("session.price >", "E001")] {
        assert_eq!(codes(&apply_changes(shop(), &with_condition(source))), [(code, CONDITION_PATH.to_owned())], "{source}");
    }
}

#[test]
fn expressions_and_templates_are_checked() {
    assert_cases(cases());
}

/// The texts that choose whose data is read by a value that nobody has verified.
fn unverified_texts(changes: &[Change]) -> Vec<String> {
    codes(&apply_changes(shop(), changes)).into_iter().filter(|it| it.0 == "S004").map(|it| it.1).collect()
}

#[test]
fn what_a_page_says_may_not_choose_whose_data_is_read() {
    const ARGUMENT: &str = "/graphs/1/nodes/2/data/args/size";
    let read = |value: &str| (ARGUMENT, json!(value));
    let found = [ARGUMENT.to_owned()];
    for changes in [
        vec![read("{{ visitor.id }}")],
        vec![read("{{ session.colour }}"), ("/inputs", json!(["colour"]))],
        vec![read("{{ session.copy.id }}"), ("/graphs/1/nodes/5/data/assign/0", json!({"variable": "copy", "value": "{{ visitor.id }}"}))],
        vec![read("{{ session.copy }}"), ("/graphs/1/nodes/5/data/assign/0", json!({"variable": "copy", "expr": "visitor.id"}))],
    ] {
        assert_eq!(unverified_texts(&changes), found, "{changes:?}");
    }
    let query = with_request(json!({"method": "GET", "url": "https://a.example.org", "query": {"customer": "{{ visitor.id }}"}}));
    assert_eq!(unverified_texts(&query), ["/graphs/3/nodes/1/data/request/query/customer"]);
}

#[test]
fn what_a_page_says_may_be_shown_and_written_down() {
    let write = json!({"method": "POST", "url": "https://a.example.org", "body": {"email": "{{ visitor.email }}"}});
    for changes in [
        with_text("Hello {{ visitor.name }}."),
        with_request(write.clone()),
        vec![("/graphs/1/nodes/2/data/args/size", json!("{{ user.id }}"))],
        vec![("/graphs/1/nodes/2/data/args/size", json!("{{ session.order.size }}")), ("/inputs", json!(["colour"]))],
    ] {
        assert_eq!(unverified_texts(&changes), [""; 0], "{changes:?}");
        assert!(!codes(&apply_changes(shop(), &changes)).iter().any(|it| it.0 == "T003"), "{changes:?}");
    }
    let reads = [with_request(write), vec![("/graphs/3/nodes/1/data/effect_class", json!("read"))]].concat();
    assert_eq!(unverified_texts(&reads), ["/graphs/3/nodes/1/data/request/body/email"], "a search that is sent by POST reads");
}
