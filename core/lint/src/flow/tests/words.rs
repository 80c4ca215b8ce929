use serde_json::{Value, json};

use super::bases::{with_changes, with_node, with_script};
use super::{Case, Change, apply_changes, assert_cases, codes, issues_of, shop};

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
        (vec![("/intents/0/parameters/-", json!({"variable": "gift", "entity": "@date"}))], "I017", "/intents/0/parameters/1"),
        (vec![("/graphs/1/nodes/1/data/entity", json!("none"))], "N001", "/graphs/1/nodes/1/data/entity"),
        (vec![("/entities/0/entries/1/synonyms", json!(["Little"]))], "N003", "/entities/0/entries"),
        (vec![("/entities/1/patterns/-", json!("(a"))], "N004", "/entities/1/patterns/1"),
        (vec![("/entities/1/patterns/-", json!("(a)(?=b)"))], "N004", "/entities/1/patterns/1"),
        (vec![("/graphs/1/nodes/1/data/validation/0/pattern", json!("["))], "N004", "/graphs/1/nodes/1/data/validation/0/pattern"),
        (vec![("/entities/1/group", json!("word"))], "N005", "/entities/1/group"),
        (vec![("/graphs/1/edges/2", json!("-"))], "N007", "/graphs/1/nodes/1"),
        (vec![("/graphs/1/nodes/1/data/reprompt", json!([]))], "N008", "/graphs/1/nodes/1"),
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
        (vec![with_parameter("day1", "@date"), with_parameter("day2", "@date")], "N015", "/intents/0/parameters/2/variable"),
        (vec![("/entities/0/entries/1/synonyms", json!(["it"]))], "N016", "/entities/0"),
        (vec![("/small_talk/0/patterns/-", json!("some small talk"))], "N016", "/entities/0"),
        (vec![("/entities/0/negative_phrases", json!(["small talk", "talk"]))], "N017", "/entities/0/negative_phrases/1"),
        (vec![("/entities/0/negative_phrases", json!(["Little!"]))], "N017", "/entities/0/negative_phrases/0"),
        (
            vec![("/graphs/1/nodes/1/data/keep", json!(true)), ("/graphs/1/nodes/1/data/ask", json!("always"))],
            "N018",
            "/graphs/1/nodes/1/data/keep",
        ),
        (
            with_changes(
                with_node("entity", "out", json!({"variable": "order.size", "entity": "size", "prompt": "?"})),
                &[("/graphs/1/nodes/1/data/keep", json!(true))],
            ),
            "N019",
            "/graphs/1/nodes/1/data/keep",
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

/// A slot of `@date`: its variable, its prompt and the data of its node; null for a parameter.
type Slot<'s> = (&'s str, &'s str, Value);

/// Adds slots to the first intent: as parameters, or as nodes behind the first slot, one after the other.
fn with_slots(slots: &[Slot<'_>]) -> Value {
    let mut document = shop();
    let mut before = "size".to_owned();
    for (number, (variable, prompt, more)) in slots.iter().enumerate() {
        let mut slot = json!({"variable": variable, "entity": "@date", "prompt": prompt, "reprompt": ["?", "?"]});
        let Some(more) = more.as_object() else {
            document["intents"][0]["parameters"].as_array_mut().unwrap().push(slot);
            continue;
        };
        slot.as_object_mut().unwrap().extend(more.clone());
        let id = format!("slot{number}");
        let graph = &mut document["graphs"][1];
        graph["nodes"].as_array_mut().unwrap().push(json!({"id": id, "type": "entity", "name": id, "data": slot}));
        let edges = graph["edges"].as_array_mut().unwrap();
        let next = edges.iter_mut().find(|edge| edge["source"] == *before && edge.get("source_port").is_none()).unwrap();
        let target = std::mem::replace(&mut next["target"], json!(id));
        edges.push(json!({"id": format!("{id}_out"), "source": id, "target": target}));
        edges.push(json!({"id": format!("{id}_failed"), "source": id, "source_port": "failed", "target": "gone"}));
        before = id;
    }
    document
}

/// The paths of N015 in a document, which has no other issue.
fn unclear_slots(document: &Value) -> Vec<String> {
    let issues = issues_of(document);
    assert!(issues.iter().all(|it| it.code == "N015"), "{:?}", issues.iter().map(ToString::to_string).collect::<Vec<_>>());
    issues.into_iter().map(|it| it.path).collect()
}

#[test]
fn slots_that_no_word_tells_apart_are_reported() {
    let (parameter, node) = (Value::Null, json!({}));
    let kinds = [
        (&parameter, &parameter, "/intents/0/parameters/2/variable"),
        (&parameter, &node, "/graphs/1/nodes/10/data/variable"),
        (&node, &node, "/graphs/1/nodes/11/data/variable"),
    ];
    for (is_unclear, one, other) in [
        (true, ("day1", "Which day?"), ("day2", "Which day?")),
        (true, ("day", "Which day?"), ("day_2", "And which day, please?")),
        (true, ("day_a", "What day?"), ("dayB", "When is it?")),
        (true, ("trip.day1", "Day 1?"), ("trip.day2", "Day 2?")),
        (true, ("my_day", "{{ session.total }}: which day?"), ("day", "The day?")),
        (false, ("from", "?"), ("to", "?")),
        (false, ("day1", "From which day?"), ("day2", "To which day?")),
        (false, ("start", "Which day?"), ("end", "Which day?")),
        (false, ("day1", "Which day?"), ("day2", "Which day more?")),
        (false, ("day", "Which day?"), ("day", "And which day?")),
    ] {
        for (first, second, path) in kinds {
            let document = with_slots(&[(one.0, one.1, first.clone()), (other.0, other.1, second.clone())]);
            let expected: &[&str] = if is_unclear { &[path] } else { &[] };
            assert_eq!(unclear_slots(&document), expected, "{one:?} {other:?}");
        }
    }
    let both = ["day1", "day2"].map(|it| (it, "?", Value::Null));
    let message = issues_of(&with_slots(&both)).remove(0).message;
    assert!(message.contains("'day1'") && message.contains("'day2'"), "{message}");
    let again = [("day1", "Day?", json!({})), ("day2", "Day?", json!({})), ("day2", "Until which day?", json!({}))];
    assert_eq!(unclear_slots(&with_slots(&again)), [""; 0], "all prompts of a variable count");
    let three = ["day1", "day2", "day3"].map(|name| (name, "?", json!({})));
    assert_eq!(unclear_slots(&with_slots(&three)).len(), 2, "each slot once");
}

#[test]
fn slots_are_told_apart_in_the_words_of_the_locales() {
    let kinds = |one: &str, other: &str, locale: &str, more: &[&str]| {
        let mut document = with_slots(&[("day1", one, json!({})), ("day2", other, json!({}))]);
        document["default_locale"] = json!(locale);
        document["locales"] = json!(more);
        issues_of(&document).iter().any(|issue| issue.code == "N015")
    };
    for (one, other, locale) in [
        ("Welcher Tag?", "Und welchen Tag möchten Sie?", "de-DE"),
        ("Wo?", "Und wo?", "de-AT"),
        ("¿Qué día?", "¿Y qué día desea?", "es-ES"),
        ("Quel jour ?", "Et quel est le jour ?", "fr-FR"),
        ("Quale giorno?", "E quale giorno?", "it-IT"),
        ("Que dia?", "E qual dia?", "pt-BR"),
        ("Welke dag?", "En welke dag wilt u?", "nl-NL"),
        ("कौन सा दिन?", "और कौन सा दिन?", "hi-IN"),
    ] {
        assert!(kinds(one, other, locale, &[]), "{locale}: {one} {other}");
        assert!(kinds(one, other, "en-US", &[locale]), "{locale} is one of several: {one} {other}");
    }
    for (one, other, locale) in [
        ("Von welchem Tag?", "Bis zu welchem Tag?", "de-DE"),
        ("Wo?", "Wohin?", "de-AT"),
        ("¿De qué día?", "¿A qué día?", "es-ES"),
        ("De quel jour ?", "À quel jour ?", "fr-FR"),
        ("Dal giorno?", "Al giorno?", "it-IT"),
        ("किस दिन से?", "किस दिन तक?", "hi-IN"),
    ] {
        assert!(!kinds(one, other, locale, &[]), "{locale}: {one} {other}");
    }
}

#[test]
fn slots_that_do_not_share_a_message_are_told_apart() {
    let both = |second: Value| vec![("day1", "?", json!({})), ("day2", "?", second)];
    assert_eq!(unclear_slots(&with_slots(&both(json!({})))).len(), 1);
    for other in [
        json!({"prefill": false}),
        json!({"interruptible": false}),
        json!({"redact": true}),
        json!({"multiple": true}),
        json!({"direction": "past"}),
        json!({"entity": "@number"}),
        json!({"entity": "@string"}),
        json!({"validation": [{"min": "2026-01-01"}]}),
    ] {
        assert_eq!(unclear_slots(&with_slots(&both(other.clone()))), [""; 0], "{other}");
    }
    let text = [("text1", "?", json!({"entity": "@string"})), ("text2", "?", json!({"entity": "@string"}))];
    assert_eq!(unclear_slots(&with_slots(&text)), [""; 0]);
    let rules = json!({"validation": [{"min": "2026-01-01", "message": "Later, please."}]});
    let same = [("day1", "?", rules), ("day2", "?", json!({"validation": [{"min": "2026-01-01"}]}))];
    assert_eq!(unclear_slots(&with_slots(&same)).len(), 1, "a message of a rule tells nothing");
    let hidden = ("/variables/-", json!({"name": "day2", "type": "any", "redact": true}));
    assert_eq!(unclear_slots(&apply_changes(with_slots(&both(json!({}))), &[hidden])), [""; 0]);
    let marked = ("/intents/0/phrases/-", json!("book {day1} until {day2}"));
    assert_eq!(unclear_slots(&apply_changes(with_slots(&both(json!({}))), &[marked])), [""; 0], "a phrase tells them apart");
}

#[test]
fn slots_of_two_turns_or_ways_are_told_apart() {
    let document = with_slots(&[("day1", "?", json!({})), ("day2", "?", json!({}))]);
    let last = document["graphs"][1]["edges"].as_array().unwrap().len() - 1;
    let between = |document: Value, node: Value| {
        let edge = document["graphs"][1]["edges"].as_array().unwrap().iter().position(|edge| edge["id"] == "slot0_out").unwrap();
        let mut document = document;
        document["graphs"][1]["edges"][edge]["target"] = node["id"].clone();
        let next = json!({"id": "next", "source": node["id"], "target": "slot1"});
        apply_changes(document, &[("/graphs/1/nodes/-", node), ("/graphs/1/edges/-", next)])
    };
    let says = |more: Value| {
        let data = json!({"blocks": [{"kind": "text", "text": "Well."}], "await": more});
        json!({"id": "says", "type": "message", "name": "Says", "data": data})
    };
    let asks = |more: Value| {
        let data = json!({"variable": "code", "entity": "code", "prompt": "?", "reprompt": ["?", "?"], "required": false});
        let data =
            data.as_object().unwrap().clone().into_iter().chain(more.as_object().unwrap().clone()).collect::<serde_json::Map<_, _>>();
        json!({"id": "asks", "type": "entity", "name": "Asks", "data": data})
    };
    for (node, count) in [
        (says(json!("none")), 1),
        (says(json!("any")), 0),
        (asks(json!({})), 1),
        (asks(json!({"prefill": false})), 1),
        (asks(json!({"prefill": false, "ask": "always"})), 0),
    ] {
        assert_eq!(unclear_slots(&between(document.clone(), node.clone())).len(), count, "{node}");
    }
    let mut other_way = document.clone();
    let edges = other_way["graphs"][1]["edges"].as_array_mut().unwrap();
    let after = edges[last - 1]["target"].clone();
    edges.iter_mut().find(|it| it["id"] == "slot0_out").unwrap()["target"] = after;
    edges.iter_mut().find(|it| it["id"] == "slot0_failed").unwrap()["target"] = json!("slot1");
    assert_eq!(unclear_slots(&other_way), [""; 0], "the second is asked only after an answer to the first");
    let off = apply_changes(document, &[("/graphs/1/nodes/11/disabled", json!(true))]);
    assert_eq!(unclear_slots(&off), [""; 0]);
}

fn has_code(document: &Value, code: &str) -> bool {
    issues_of(document).iter().any(|it| it.code == code)
}

#[test]
fn words_with_another_meaning_need_negative_phrases() {
    let asks_for_code = with_parameter("code", "code");
    let of_help = |phrase: &str| ("/intents/1/phrases/-", json!(phrase));
    let of_buy = |phrase: &str| ("/intents/0/phrases/-", json!(phrase));
    let spelling = |text: &str| ("/entities/0/entries/1/synonyms", json!([text]));
    let sends_size =
        json!({"id": "which", "type": "entity", "name": "Which", "data": {"variable": "order.size", "entity": "size", "prompt": "?"}});
    let moved = vec![("/graphs/1/nodes/1/data/entity", json!("@string")), ("/graphs/2/nodes/-", sends_size)];
    for (is_reported, changes) in [
        (true, vec![of_help("a small question")]),
        (true, vec![of_help("a Little-question")]),
        (true, vec![("/intents/1/negative_phrases", json!(["small talk"]))]),
        (true, vec![("/intents/0/negative_phrases", json!(["small talk"]))]),
        (true, vec![spelling("S")]),
        (true, vec![asks_for_code.clone(), of_help("help with AB-12")]),
        (true, [moved.clone(), vec![of_help("a small question")]].concat()),
        // It means the same there.
        (false, vec![of_buy("buy a small shirt")]),
        (false, [moved, vec![of_buy("buy a small shirt")]].concat()),
        (false, vec![("/intents/1/enabled", json!(false)), of_help("a small question")]),
        // It is said otherwise.
        (false, vec![of_help("smallish questions")]),
        (false, vec![of_help("help with {order.size}")]),
        (false, vec![spelling("very big"), of_help("very big help")]),
        (false, vec![spelling("big small"), of_help("big small help")]),
        (false, vec![spelling("do it")]),
        (false, vec![asks_for_code.clone(), of_help("help with ab-12")]),
        (false, vec![asks_for_code, ("/entities/1/patterns", json!(["^([A-Z]+)-\\d+$"])), of_help("help with AB-12")]),
        // No slot reads it from the message.
        (false, vec![of_help("help with AB-12")]),
        (false, vec![("/graphs/1/nodes/1/data/prefill", json!(false)), of_help("a small question")]),
        (false, vec![("/graphs/1/nodes/1/data/redact", json!(true)), of_help("a small question")]),
        (false, vec![("/graphs/1/nodes/1/disabled", json!(true)), of_help("a small question")]),
        (false, vec![("/entities/0/negative_phrases", json!(["small question"])), of_help("a small question")]),
    ] {
        assert_eq!(has_code(&apply_changes(shop(), &changes), "N016"), is_reported, "{changes:?}");
    }
    for (locale, word, is_reported) in [
        ("en-US", "may", true),
        ("en-US", "mir", false),
        ("de-DE", "mir", true),
        ("de-DE", "may", false),
        ("fr-FR", "été", true),
        ("xx", "may", false),
    ] {
        let changes = [("/default_locale", json!(locale)), spelling(word)];
        assert_eq!(has_code(&apply_changes(shop(), &changes), "N016"), is_reported, "{locale} {word}");
    }
}

#[test]
fn negative_phrases_have_a_value_and_are_none() {
    for (entity, phrase, is_reported) in [
        ("0", "small talk", false),
        ("0", "no small feat", false),
        ("0", "a larger one", true),
        ("0", "talk", true),
        ("0", "LITTLE", true),
        ("0", "smalls", false),
        ("1", "A-1 sauce", false),
        ("1", "a 1 sauce", false),
        ("1", "A-1", false),
        ("1", "?", true),
    ] {
        let pointer = if entity == "0" { "/entities/0/negative_phrases" } else { "/entities/1/negative_phrases" };
        assert_eq!(has_code(&apply_changes(shop(), &[(pointer, json!([phrase]))]), "N017"), is_reported, "{phrase}");
    }
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
    let handoff = |data: Value| with_node("handoff", "timeout", data);
    let search = |data: Value| with_node("knowledge", "out", data);
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
        (
            vec![("/graphs/3/nodes/1/data/tools/1/approval", json!("never")), ("/graphs/3/nodes/1/data/tools/0", json!("-"))],
            "A011",
            "/graphs/3/nodes/1/data/tools/0/tool",
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
fn parameters_that_are_not_asked_for_stand_behind_those_that_are() {
    let silent = json!({"variable": "gift", "entity": "@date"});
    let asked = json!({"variable": "hour", "entity": "@time", "prompt": "When?", "reprompt": ["?"]});
    let codes_of = |parameters: Value| codes(&apply_changes(shop(), &[("/intents/1/parameters", parameters)]));
    assert_eq!(codes_of(json!([silent, asked])), [("I017", "/intents/1/parameters/0".to_owned())]);
    assert_eq!(codes_of(json!([asked, silent])), []);
    assert_eq!(codes_of(json!([silent])), [], "nothing is asked");
}

#[test]
fn tools_with_similar_names_differ_by_id() {
    assert_eq!(codes(&apply_changes(shop(), &rename_tools("one", "two"))), []);
}

#[test]
fn intents_entities_and_scripts_are_checked() {
    assert_cases(cases());
}
