//! Paths of rows and queries on documents.

use super::*;
use serde_json::json;

fn document() -> Value {
    json!({
        "intent": "J", "state": "IDLE", "schemaComplete": false,
        "context": {"orderNumber": "A1", "gone": null},
        "inputParams": {
            "n": 7, "ratio": 0.7, "ten": "10", "name": "Bob", "items": [{"q": 1}, {"q": 2}], "tags": ["a", "b"],
            "flag": true, "empty": "", "list": [], "nul": null, "zero": 0, "false": false, "a-b": 1
        }
    })
}

fn is_match(path: &str) -> bool {
    JsonPath::compile(path).unwrap_or_else(|error| panic!("{path}: {error}")).matches(&document())
}

#[test]
fn any_value_but_a_single_false_matches() {
    for path in [
        "$.intent",
        "intent",
        " $.intent ",
        "$",
        "$.inputParams.n",
        "$.inputParams.zero",
        "$.inputParams.empty",
        "$.inputParams.list",
        "$.inputParams.nul",
        "$.inputParams.items[*].q",
        "$..q",
        "$.inputParams.items[0].q",
        "$.inputParams.items[-1].q",
        "$.inputParams.items[0:1]",
        "$['intent','state']",
        "$.inputParams.items[*]['q']",
        "$.inputParams.items['q',0].q",
        "$['context','inputParams'].name",
        "$['\\u0069ntent']",
        "$.intent == '\\u004a'",
        "$.inputParams.a-b",
        "@.state",
    ] {
        assert!(is_match(path), "{path}");
    }
    for path in ["$.context.nope", "$.schemaComplete", "$.inputParams.false", "$.n", "$.inputParams.items.length()", "$.a.b.c"] {
        assert!(!is_match(path), "{path}");
    }
}

#[test]
fn filters_test_an_object_itself_and_the_elements_of_an_array() {
    for path in [
        "$[?(@.inputParams.n > 5)]",
        "$.context[?(@.orderNumber == 'A1')]",
        "$.inputParams.items[?(@.q > 1)]",
        "$[?(@.inputParams.items[?(@.q == 2)])]",
        "$[?(@.intent == 'J' && (@.state == \"X\" || @.state == 'IDLE'))]",
        "$.inputParams.items[?(@.q > 1)].q",
        "$[?($.intent == 'J')]",
    ] {
        assert!(is_match(path), "{path}");
    }
    for path in ["$[?(@.inputParams.n < 5)]", "$.inputParams.items[?(@.q > 2)]", "$.inputParams.items[?(@.q > 1)].x"] {
        assert!(!is_match(path), "{path}");
    }
}

#[test]
fn missing_members_are_null_and_numeric_strings_are_coerced() {
    for path in [
        "$[?(@.context.nope == null)]",
        "$[?(@.context.gone == null)]",
        "$[?(@.context.nope != 'v')]",
        "$[?(@.context.nope != true)]",
        "$[?(@.context.gone)]",
        "$[?(!@.context.nope)]",
        "$[?(@.inputParams.ten == 10)]",
        "$[?('10' == 10)]",
        "$[?(@.inputParams.ratio == '0.7')]",
        "$[?(@.inputParams.n != null && @.inputParams.n != '')]",
        "$[?(@.schemaComplete==false)]",
    ] {
        assert!(is_match(path), "{path}");
    }
    for path in [
        "$[?(@.context.gone != null)]",
        "$[?(@.inputParams.ten > 5)]",
        "$[?(@.inputParams.flag == 'true')]",
        "$[?(@.inputParams.name == 'bob')]",
        "$[?(!@.context.gone)]",
    ] {
        assert!(!is_match(path), "{path}");
    }
}

#[test]
fn members_are_those_that_the_path_reads() {
    for (path, expected) in [
        ("$.context.a", Some("context")),
        ("intent == 'J' && $.inputParams.items[?(@.q > $.limit)].q", Some("intent inputParams limit")),
        ("$.inputParams.items[?(@.q > $.limit)].q", Some("inputParams limit")),
        ("$[?(@.intent == 'J' || !@.state)]", Some("intent state")),
        ("$[?(@.a)][?(@.b =~ /x/)].c", Some("a b c")),
        ("$['a','b']", Some("a b")),
        ("$.a..b", Some("a")),
        ("$.a.length()", Some("a")),
        ("$", Some("")),
        ("$.*", None),
        ("$..a", None),
        ("$[?(@.size() > 3)]", None),
        ("$[?(@ == 1)]", None),
        ("$.a[?($ == 1)]", None),
    ] {
        let compiled = JsonPath::compile(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(compiled.members().map(|it| it.join(" ")).as_deref(), expected, "{path}");
    }
}

#[test]
fn a_path_that_finds_the_document_needs_all_of_it() {
    for (path, expected) in [("$", None), ("$[?(@.a == 1)]", None), ("$.a[?(@.x > $.b)]", Some("a b")), ("$['a','b']", Some("a b"))] {
        let compiled = JsonPath::compile(path).unwrap();
        assert_eq!(compiled.members_of_values().map(|it| it.join(" ")).as_deref(), expected, "{path}");
    }
}

#[test]
fn named_operators_and_functions_work_in_filters() {
    for path in [
        "$[?(@.inputParams.n in [7, 8])]",
        "$[?(@.inputParams.n nin [1])]",
        "$[?(@.inputParams.name =~ /bo.*/i)]",
        "$[?(@.inputParams.tags subsetof ['a','b','c'])]",
        "$[?(@.inputParams.tags anyof ['b'])]",
        "$[?(@.inputParams.tags noneof ['z'])]",
        "$[?(@.inputParams.tags size 2)]",
        "$[?(@.inputParams.empty empty true)]",
        "$[?(@.inputParams.tags contains 'a')]",
        "$[?(@.inputParams.name contains 'ob')]",
        "$[?(@.inputParams.items.length() == 2)]",
        "$[?(@.inputParams.items.size() > 1)]",
    ] {
        assert!(is_match(path), "{path}");
    }
    for path in [
        "$..[0]",
        "$..['q']",
        "$[?(@.inputParams.n in[7])]",
        "$[?(@.inputParams.n in\t[7])]",
        "$[?(@.inputParams.name contains'ob')]",
        "$[?('a/b' =~ /a\\/b/)]",
    ] {
        assert!(is_match(path), "{path}");
    }
    assert!(!is_match("$[?(@.inputParams.name =~ /bo.*/)]"));
}

#[test]
fn a_bare_comparison_is_a_filter_of_the_root() {
    assert!(is_match("$.state == 'IDLE'"));
    assert!(is_match("$.schemaComplete == false && $.inputParams.n >= 7 || $.intent == 'X'"));
    assert!(!is_match("$.state != 'IDLE'"));
}

#[test]
fn invalid_paths_return_a_message() {
    for source in ["$[?(@.broken", "$.a[", "$.", "$.a == ", "$[?(@.a = 1)]", "", "$.a and $.b", "$[?(@.a =~ /(/)]"] {
        let error = JsonPath::compile(source).unwrap_err();
        assert!(error.contains("at character"), "{source}: {error}");
    }
}

#[test]
fn long_and_deep_paths_do_not_exhaust_the_stack() {
    let deep = format!("$.a in {}", "[".repeat(20_000));
    assert!(JsonPath::compile(&deep).is_err());
    let long = format!("$.a == 1{}", " || $.state == 'IDLE'".repeat(30_000));
    assert!(JsonPath::compile(&long).unwrap().matches(&document()));
}
