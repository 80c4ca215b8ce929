use convengine_text::json::schema::JsonSchema;
use serde_json::{Value, json};

use super::*;
use crate::flow::{DocumentSeverity, json_schema};

const BANK: &str = include_str!("../../../../../tests/packs/flow/bank_assistant.flow.json");

/// Nodes of the bank: the one that asks for the account, and others.
const KIND: &str = "/graphs/1/nodes/2";
const CALL: &str = "/graphs/1/nodes/3";
const SAY: &str = "/graphs/1/nodes/5";
const SEARCH: &str = "/graphs/3/nodes/1";

fn bank() -> Value {
    serde_json::from_str(BANK).unwrap()
}

/// The bank with a value set at a pointer; the value `-` removes a member, and the key `-` appends to an array.
fn bank_with(pointer: &str, value: &Value) -> Value {
    let mut document = bank();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Object(members) if *value == json!("-") => assert!(members.shift_remove(key).is_some(), "{pointer}"),
        Value::Object(members) => drop(members.insert(key.to_owned(), value.clone())),
        Value::Array(items) if key == "-" => items.push(value.clone()),
        Value::Array(items) => items[key.parse::<usize>().unwrap()] = value.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => panic!("{parent} holds nothing"),
    }
    document
}

/// Code and pointer of each issue.
fn issues(document: &Value) -> Vec<(&'static str, String)> {
    check_structure(document).into_iter().map(|it| (it.code, it.path)).collect()
}

fn only_issue(document: &Value) -> DocumentIssue {
    let mut issues = check_structure(document);
    assert_eq!(issues.len(), 1, "{issues:#?}");
    issues.remove(0)
}

#[test]
fn the_bank_is_valid() {
    assert_eq!(check_structure(&bank()), []);
    assert_eq!(JsonSchema::compile(&json_schema()).unwrap().find_violation(&bank()), None);
}

#[test]
fn every_constraint_is_in_the_check_and_in_the_schema() {
    let schema = JsonSchema::compile(&json_schema()).unwrap();
    let long = "x".repeat(32769);
    let at = |node: &str, rest: &str| format!("{node}{rest}");
    let cases = [
        ("/schema_version".to_owned(), json!("2.0"), "D006"),
        ("/schema_version".to_owned(), json!("new"), "D006"),
        ("/schema_version".to_owned(), json!(1.0), "D001"),
        ("/doc".to_owned(), json!("ai_agent"), "D001"),
        ("/doc".to_owned(), json!(null), "D001"),
        ("/id".to_owned(), json!("1bank"), "D001"),
        ("/id".to_owned(), json!("b".repeat(65)), "D001"),
        ("/id".to_owned(), json!(7), "D001"),
        ("/name".to_owned(), json!(""), "D009"),
        ("/name".to_owned(), json!(" \n"), "D009"),
        ("/name".to_owned(), json!(null), "D001"),
        ("/default_locale".to_owned(), json!("en_US"), "D007"),
        ("/default_locale".to_owned(), json!("english"), "D007"),
        ("/default_time_zone".to_owned(), json!("Mars Base"), "D011"),
        ("/time_zones".to_owned(), json!({"web": "+02:00"}), "D011"),
        ("/locales".to_owned(), json!("en"), "D001"),
        ("/root".to_owned(), json!("a b"), "D001"),
        ("/graphs".to_owned(), json!([]), "D001"),
        ("/graphs".to_owned(), json!({}), "D001"),
        ("/graphs/0".to_owned(), json!(null), "D001"),
        ("/graphs/0/kind".to_owned(), json!("main"), "D002"),
        ("/graphs/0/kind".to_owned(), json!(1), "D001"),
        ("/graphs/0/entry".to_owned(), json!(""), "D001"),
        ("/graphs/0/nodes".to_owned(), json!([]), "D001"),
        ("/graphs/0/edges".to_owned(), json!(null), "D001"),
        ("/graphs/0/edges/0/source".to_owned(), json!("r start"), "D001"),
        ("/graphs/0/edges/0/source_port".to_owned(), json!(1), "D001"),
        ("/graphs/0/edges/0/target_port".to_owned(), json!("out"), "D002"),
        ("/graphs/0/edges/0/priority".to_owned(), json!(1.5), "D001"),
        ("/graphs/0/edges/0/condition".to_owned(), json!("true"), "D001"),
        ("/graphs/1/edges/7/condition/expr".to_owned(), json!(""), "D001"),
        ("/graphs/1/edges/7/condition/expr".to_owned(), json!("x".repeat(4097)), "D001"),
        ("/graphs/2/returns/0/type".to_owned(), json!("text"), "D002"),
        ("/graphs/2/exits".to_owned(), json!([""]), "D001"),
        (at(KIND, "/type"), json!("question"), "D002"),
        (at(KIND, "/type"), json!(5), "D001"),
        (at(KIND, "/name"), json!("  "), "D009"),
        (at(KIND, "/disabled"), json!("yes"), "D001"),
        (at(KIND, "/on_error"), json!("retry"), "D002"),
        (at(KIND, "/position"), json!(7), "D001"),
        (at(KIND, "/position"), json!({"x": 1, "y": "2"}), "D001"),
        (at(KIND, "/data"), json!([]), "D001"),
        (at(KIND, "/data/variable"), json!("account..kind"), "D001"),
        (at(KIND, "/data/entity"), json!(""), "D001"),
        (at(KIND, "/data/prompt"), json!(5), "D001"),
        (at(KIND, "/data/prompt"), json!([]), "D001"),
        (at(KIND, "/data/prompt"), json!(long), "T006"),
        (at(KIND, "/data/prompt"), json!({"default": "a", "de": []}), "D001"),
        (at(KIND, "/data/prompt"), json!({"de": "Was?"}), "D001"),
        (at(KIND, "/data/max_attempts"), json!(0), "N006"),
        (at(KIND, "/data/max_attempts"), json!(11), "D001"),
        (at(KIND, "/data/max_attempts"), json!("3"), "D001"),
        (at(KIND, "/data/ask"), json!("never"), "D002"),
        (at(KIND, "/data/no_input_ms"), json!(9_007_199_254_740_993_u64), "D001"),
        (at(KIND, "/data/buttons/0/id"), json!("1"), "D001"),
        (at(CALL, "/data/timeout_ms"), json!(99), "V006"),
        (at(CALL, "/data/retry"), json!({"on": [399]}), "D001"),
        (at(CALL, "/data/retry"), json!({"on": ["dns"]}), "D002"),
        (at(CALL, "/data/retry"), json!({"on": [true]}), "D001"),
        (at(CALL, "/data/outputs"), json!([{"path": "balance", "variable": "b"}]), "D001"),
        (at(CALL, "/data/request"), json!({"method": "get", "url": "https://a.test"}), "D002"),
        (at(SAY, "/data/blocks"), json!([]), "D001"),
        (at(SAY, "/data/blocks/0/kind"), json!("html"), "D002"),
        (at(SAY, "/data/blocks/0"), json!({"kind": "buttons", "buttons": []}), "D001"),
        (at(SAY, "/data/blocks/0"), json!({"kind": "carousel", "items": [{"title": null}]}), "D001"),
        (at(SEARCH, "/data/query/from"), json!([]), "D001"),
        (at(SEARCH, "/data/query/from"), json!(["user"]), "D002"),
        (at(SEARCH, "/data/min_score"), json!(1.5), "K004"),
        (at(SEARCH, "/data/vector_weight"), json!(-0.1), "D001"),
        ("/tools/0/retry/max_attempts".to_owned(), json!(11), "V006"),
        ("/tools/0/secrets/0".to_owned(), json!("core_api_key"), "D001"),
        ("/tools/0/name".to_owned(), json!(""), "D009"),
        ("/tools/0/request/headers".to_owned(), json!({"a": 1}), "D001"),
        ("/entities/0/kind".to_owned(), json!("set"), "D002"),
        ("/entities/0/entries".to_owned(), json!([]), "N002"),
        ("/entities/0/fuzzy".to_owned(), json!({"max_edits": 3}), "D001"),
        ("/entities/0/negative_phrases".to_owned(), json!([""]), "D001"),
        ("/entities/1/negative_phrases".to_owned(), json!("none"), "D001"),
        ("/intents/0/phrases/0".to_owned(), json!(""), "D001"),
        ("/intents/0/name".to_owned(), json!(""), "D009"),
        ("/small_talk/0/min_score".to_owned(), json!(2), "D001"),
        ("/events/no_input/then".to_owned(), json!("stop"), "D002"),
        ("/settings/session_timeout_s".to_owned(), json!(59), "D001"),
        ("/settings/max_steps_per_turn".to_owned(), json!(65), "B005"),
        ("/settings/models".to_owned(), json!({"fast": ""}), "D001"),
        ("/variables/0/scope".to_owned(), json!("turn"), "D002"),
        ("/meta".to_owned(), json!([]), "D001"),
    ];
    for (pointer, value, code) in cases {
        let document = bank_with(&pointer, &value);
        let issue = only_issue(&document);
        assert_eq!(issue.code, code, "{pointer} {value}: {issue}");
        assert!(issue.path.starts_with(&pointer), "{pointer} {value}: {issue}");
        assert!(issue.is_error() && issue.fix.is_some(), "{issue}");
        assert!(schema.find_violation(&document).is_some(), "the schema accepts {pointer} {value}");
    }
}

#[test]
fn missing_members_are_reported() {
    let schema = JsonSchema::compile(&json_schema()).unwrap();
    for pointer in [
        "/schema_version",
        "/doc",
        "/id",
        "/name",
        "/root",
        "/graphs",
        "/graphs/0/id",
        "/graphs/0/kind",
        "/graphs/0/nodes",
        "/graphs/0/edges",
        "/graphs/0/nodes/0/id",
        "/graphs/0/nodes/0/type",
        "/graphs/0/nodes/0/name",
        "/graphs/0/nodes/0/data",
        "/graphs/1/nodes/0/data/intent_id",
        "/graphs/1/nodes/2/data/prompt",
        "/graphs/1/nodes/5/data/blocks/0/kind",
        "/graphs/1/nodes/5/data/blocks/0/text",
        "/graphs/0/edges/0/target",
        "/entities/0/entries",
        "/entities/1/kind",
        "/tools/0/kind",
        "/tools/0/request/url",
        "/variables/0/type",
    ] {
        let document = bank_with(pointer, &json!("-"));
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let issue = only_issue(&document);
        assert_eq!((issue.code, issue.path.as_str()), ("D001", parent));
        assert!(issue.message.starts_with(&format!("'{name}' is missing from ")), "{issue}");
        assert!(schema.find_violation(&document).is_some(), "the schema accepts it without {pointer}");
    }
    assert_eq!(only_issue(&json!([])).to_string(), "error D001 : the document must be an object, but is an empty array; write an object");
}

#[test]
fn unusual_but_valid_documents_are_accepted() {
    let schema = JsonSchema::compile(&json_schema()).unwrap();
    for (pointer, value) in [
        ("/graphs/1/nodes/2/data/max_attempts", json!(2.0)),
        ("/graphs/1/nodes/2/data/prompt", json!({"default": ["a", "b"], "en": "c", "channel:sms": "d", "zh-Hant": "e"})),
        ("/graphs/1/nodes/2/data/default", json!(null)),
        ("/graphs/1/nodes/2/position", json!({"x": -1.5, "y": 0})),
        ("/graphs/1/nodes/3/data/retry", json!({"on": [429, "network"]})),
        ("/graphs/0/edges/0/source_port", json!("yes")),
        ("/meta", json!({"any": [1]})),
        ("/settings", json!({})),
    ] {
        let document = bank_with(pointer, &value);
        assert_eq!(check_structure(&document), [], "{pointer} {value}");
        assert_eq!(schema.find_violation(&document), None);
    }
}

#[test]
fn issues_have_a_location_and_a_fix() {
    let issue = only_issue(&bank_with("/graphs/1/nodes/2/data/max_attempts", &json!(11)));
    let expected = json!({
        "code": "D001", "severity": "error", "path": "/graphs/1/nodes/2/data/max_attempts", "graph": "g_balance", "node": "b_kind",
        "name": "Which account", "message": "'max_attempts' must be an integer from 1 to 10, but is 11",
        "fix": "write an integer from 1 to 10"
    });
    assert_eq!(serde_json::to_value(issue).unwrap(), expected);
    let issue = only_issue(&bank_with("/graphs/1/nodes/2/type", &json!("entitty")));
    assert_eq!((issue.node.as_deref(), issue.fix.as_deref()), (Some("b_kind"), Some("write 'entity'")));
    assert!(issue.message.contains("'start', 'end', 'intent'") && issue.message.ends_with("but is 'entitty'"), "{issue}");
    let issue = only_issue(&bank_with("/graphs/1/edges/0/priority", &json!(null)));
    assert_eq!((issue.graph.as_deref(), issue.node, issue.name.as_deref()), (Some("g_balance"), None, Some("be1")));
    let issue = only_issue(&bank_with("/tools/0/kind", &json!("rest")));
    assert_eq!((issue.graph, issue.name.as_deref()), (None, Some("Get balance")));
}

#[test]
fn unknown_members_are_warnings() {
    let issue = only_issue(&bank_with("/graphs/1/nodes/2/data/max_attempt", &json!(3)));
    assert_eq!(
        issue.to_string(),
        "warning D003 /graphs/1/nodes/2/data/max_attempt: the member 'max_attempt' is unknown and has no effect; \
        remove it, or leave it: it is preserved"
    );
    let mut document = bank_with("/graphs/1/nodes/2/data/maxAttempts", &json!(3));
    document["graphs"][1]["nodes"][2]["data"].as_object_mut().unwrap().shift_remove("max_attempts");
    let issue = only_issue(&document);
    assert_eq!((issue.node.as_deref(), issue.fix.as_deref()), (Some("b_kind"), Some("rename it to 'max_attempts'")));
    assert_eq!(issues(&bank_with("/graphs/0/nodes/0/a~b", &json!(1))), [("D003", "/graphs/0/nodes/0/a~0b".to_owned())]);
}

#[test]
fn ids_are_unique() {
    for (list, pointer) in [
        ("/graphs/0/nodes", "/graphs/0/nodes/2/id"),
        ("/graphs/0/edges", "/graphs/0/edges/1/id"),
        ("/graphs", "/graphs/4/id"),
        ("/intents", "/intents/2/id"),
        ("/entities", "/entities/2/id"),
        ("/tools", "/tools/1/id"),
        ("/small_talk", "/small_talk/1/id"),
    ] {
        let first = bank().pointer(&format!("{list}/0")).unwrap().clone();
        let mut document = bank_with(&format!("{list}/-"), &first);
        if let Some(name) = document.pointer_mut("/graphs/0/nodes/2/name") {
            *name = json!("Another");
        }
        let issue = only_issue(&document);
        assert_eq!((issue.code, issue.path.as_str()), ("D004", pointer));
        assert!(issue.is_error());
    }
    let mut document = bank();
    document["graphs"][0]["nodes"][1]["name"] = json!("Start ");
    let issue = only_issue(&document);
    assert_eq!((issue.code, issue.severity, issue.path.as_str()), ("D010", DocumentSeverity::Warning, "/graphs/0/nodes/1/name"));
    assert_eq!((issue.graph.as_deref(), issue.node.as_deref()), (Some("root"), Some("r_wait")));
}

#[test]
fn a_time_zone_has_to_exist() {
    let mut document = bank_with("/default_time_zone", &json!("europe/berlin"));
    document["time_zones"] = json!({"web": "Asia/Kolkata", "sms": "Europe/Nowhere"});
    assert_eq!(
        only_issue(&document).to_string(),
        "error D011 /time_zones/sms: 'sms' must be the IANA name of a time zone such as 'Europe/Berlin', but is 'Europe/Nowhere'; \
         write the IANA name of a time zone such as 'Europe/Berlin'"
    );
}

#[test]
fn texts_are_in_the_locales_of_the_document() {
    let texts = |value: Value| {
        let mut document = bank_with("/graphs/1/nodes/2/data/prompt", &value);
        document["locales"] = json!(["en-US", "de-AT", "pt-BR", "de-AT"]);
        check_structure(&document)
    };
    assert_eq!(texts(json!("one text")), []);
    assert_eq!(texts(json!({"default": "a", "de": "b", "pt-BR": "c"})), []);
    let missing = texts(json!({"default": "a", "de": "b", "pt-PT": "c"}));
    assert_eq!(missing.len(), 1);
    assert_eq!(
        missing[0].to_string(),
        "warning D008 /graphs/1/nodes/2/data/prompt: 'prompt' has no text for 'pt-BR'; add a text for 'pt-BR'"
    );
    for key in ["en_US", "channel:", "Default", "german"] {
        let issue = only_issue(&bank_with("/graphs/1/nodes/2/data/prompt", &json!({"default": "a", key: "b"})));
        assert_eq!((issue.code, issue.path), ("D007", format!("/graphs/1/nodes/2/data/prompt/{key}")));
    }
    let issue = only_issue(&bank_with("/locales", &json!(["en-US", "?"])));
    assert_eq!((issue.code, issue.path.as_str()), ("D007", "/locales/1"));
}

#[test]
fn the_size_of_documents_is_bounded() {
    let document = bank_with("/meta", &json!({"notes": "x".repeat(MAX_BYTES)}));
    assert_eq!(issues(&document), [("D005", String::new())]);
    let many = |list: &str, of: usize, make: &dyn Fn(usize) -> Value| {
        let mut document = bank();
        *document.pointer_mut(list).unwrap() = (0..of).map(make).collect();
        document
    };
    let node = |at: usize| json!({"id": format!("n{at}"), "type": "decision", "name": format!("N {at}"), "data": {}});
    let edge = |at: usize| json!({"id": format!("e{at}"), "source": "r_start", "target": "r_wait"});
    let graph = |at: usize| json!({"id": format!("g{at}"), "kind": "subflow", "entry": "n0", "nodes": [node(0)], "edges": []});
    let schema = JsonSchema::compile(&json_schema()).unwrap();
    for (list, most, make) in
        [("/graphs/0/nodes", 1000, &node as &dyn Fn(usize) -> Value), ("/graphs/0/edges", 4000, &edge), ("/graphs", 500, &graph)]
    {
        assert_eq!(check_structure(&many(list, most, make)), []);
        let document = many(list, most + 1, make);
        assert_eq!(issues(&document), [("D005", list.to_owned())]);
        assert!(schema.find_violation(&document).is_some());
    }
}

#[test]
fn issues_are_in_the_order_of_the_document_and_bounded() {
    let mut document = bank_with("/graphs/1/nodes/2/name", &json!(""));
    document["graphs"][0]["edges"][0]["source"] = json!("");
    document["graphs"][0]["nodes"][1]["type"] = json!("stop");
    document["own"] = json!(1);
    document["tools"][0]["name"] = json!("");
    document["graphs"][1]["own"] = json!(1);
    let codes: Vec<&str> = issues(&document).iter().map(|it| it.0).collect();
    assert_eq!(codes, ["D003", "D009", "D001", "D002", "D003", "D009"]);

    document["intents"] = (0..5000).map(|_| json!(null)).collect();
    document["settings"] = Value::Object((0..5000).map(|number| (format!("own{number}"), json!(number))).collect());
    let issues = check_structure(&document);
    assert_eq!((issues.len(), issues.iter().filter(|it| it.is_error()).count()), (2000, 1000));
}
