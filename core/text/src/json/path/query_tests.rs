//! Queries of flow documents.

use super::*;
use serde_json::json;

fn document() -> Value {
    json!({
        "store": {"book": [
            {"category": "reference", "author": "Nigel Rees", "title": "Sayings", "price": 8.95},
            {"category": "fiction", "author": "Evelyn Waugh", "title": "Sword", "price": 12.99},
            {"category": "fiction", "author": "Herman Melville", "title": "Moby Dick", "isbn": "0-553", "price": 8.99},
            {"category": "fiction", "author": "J. R. R. Tolkien", "title": "The Lord", "isbn": "0-395", "price": 22.99}
        ], "bicycle": {"color": "red", "price": 399}},
        "max": 9, "none": null, "list": [], "o": {"j": 1, "k": [2, 3]}, "it's": "q", "é": "e", "tags": ["a", "", "abc"]
    })
}

fn value(path: &str) -> Value {
    JsonPath::compile_query(path).unwrap_or_else(|it| panic!("{path}: {it}")).value(&document()).unwrap_or(json!("nothing"))
}

#[test]
fn a_singular_query_leads_to_a_value_and_any_other_to_a_list() {
    for (path, expected) in [
        ("$.max", json!(9)),
        ("$['max']", json!(9)),
        ("$.none", json!(null)),
        ("$.nope", json!("nothing")),
        ("$.list", json!([])),
        ("$.list[*]", json!("nothing")),
        ("$.store.book[0].title", json!("Sayings")),
        ("$.store.book[-1]['title']", json!("The Lord")),
        ("$.store.book[9]", json!("nothing")),
        ("$.store.book[*].price", json!([8.95, 12.99, 8.99, 22.99])),
        ("$.store.book[0,2].price", json!([8.95, 8.99])),
        ("$.store.book[1:3].price", json!([12.99, 8.99])),
        ("$.store.book[::-2].price", json!([22.99, 12.99])),
        ("$..price", json!([8.95, 12.99, 8.99, 22.99, 399])),
        ("$..book[2].author", json!(["Herman Melville"])),
        ("$.o[*, *]", json!([1, [2, 3], 1, [2, 3]])),
        ("$.o..[0]", json!([2])),
        ("$[\"it's\"]", json!("q")),
        ("$['it\\'s']", json!("q")),
        ("$['\\u00e9']", json!("e")),
        ("$.é", json!("e")),
        ("$ .o [ 'j' ]", json!(1)),
    ] {
        assert_eq!(value(path), expected, "{path}");
    }
    assert_eq!(value("$"), document());
}

#[test]
fn filters_test_children() {
    for (filter, expected) in [
        ("@.price < 9", "Sayings, Moby Dick"),
        ("@.price <= $.max", "Sayings, Moby Dick"),
        ("@.isbn", "Moby Dick, The Lord"),
        ("!@.isbn", "Sayings, Sword"),
        ("@.isbn == @.nope", "Sayings, Sword"),
        ("@.category == 'fiction' && (@.price > 20 || @.price < 9)", "Moby Dick, The Lord"),
        ("!(@.category == 'fiction')", "Sayings"),
        ("@.price != 8.95", "Sword, Moby Dick, The Lord"),
        ("@.price == '8.95'", ""),
        ("@.title > 'Sq'", "Sword, The Lord"),
        ("@.price >= 22.99e0", "The Lord"),
        ("length(@.title) > 7", "Moby Dick, The Lord"),
        ("length(@.nope) == 1", ""),
        ("count(@.*) == 5", "Moby Dick, The Lord"),
        ("count($.store.book[*]) == 4", "Sayings, Sword, Moby Dick, The Lord"),
        ("match(@.author, 'J.*')", "The Lord"),
        ("match(@.author, 'Rees')", ""),
        ("search(@.author, 'Rees|Waugh')", "Sayings, Sword"),
        ("search(@.price, '8')", ""),
        ("search(@.author, @.nope)", ""),
        ("value(@..title) == 'Sword'", "Sword"),
        ("value(@.*) == 'Sword'", ""),
        ("@ == null", ""),
        ("true == true", "Sayings, Sword, Moby Dick, The Lord"),
    ] {
        let found = value(&format!("$.store.book[?{filter}].title"));
        let found = found.as_array().map(|list| list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")).unwrap_or_default();
        assert_eq!(found, expected, "{filter}");
    }
    assert_eq!(value("$.o[?@ == 1]"), json!([1]));
    assert_eq!(value("$.o[?@[0] == 2, 'j']"), json!([[2, 3], 1]));
    assert_eq!(value("$.tags[?length(@) > 0]"), json!(["a", "abc"]));
    assert_eq!(value("$..[?@.color].price"), json!([399]));
}

#[test]
fn results_match_a_standard_library() {
    use jsonpath_rust::JsonPath as _;
    let document = document();
    for path in [
        "$.*",
        "$.store..*",
        "$..book[-1:]",
        "$..book[?@.isbn]['price']",
        "$..book[?@.price < 10].title",
        "$..book[?@.price < 10 || @.category == 'fiction' && !@.isbn].title",
        "$..book[?search(@.title, '[Ss]w')].price",
        "$..book[?match(@.isbn, '0-3.*')].price",
        "$..book[?length(@.title) > 7].price",
        "$..book[?count(@.*) > 4].price",
        "$..[?@.color == 'red'].price",
        "$.tags[?@ > 'a']",
        "$.o.k[?@ >= 2]",
        "$[?@[0] == 2]",
        "$.store.book[?@.price == $.store.book[2].price].title",
    ] {
        let expected: Vec<Value> = document.query(path).unwrap().into_iter().cloned().collect();
        let found: Vec<Value> = JsonPath::compile_query(path).unwrap().find(&document).into_iter().map(Cow::into_owned).collect();
        assert_eq!(found, expected, "{path}");
    }
}

#[test]
fn non_standard_queries_are_rejected() {
    for path in [
        "",
        "max",
        "@.max",
        "$.",
        "$..",
        "$[",
        "$[]",
        "$[01]",
        "$['a'",
        "$['a\\x']",
        "$[?]",
        "$[?@.a = 1]",
        "$[?@.* == 1]",
        "$[?length(@.a)]",
        "$[?match(@.a, 'x') == true]",
        "$[?count(1) > 0]",
        "$[?nope(@)]",
        "$[?1]",
        "$[?@.k == [2, 3]]",
        "$[?@.a in [1]]",
        "$.length()",
        "$.a b",
    ] {
        assert!(JsonPath::compile_query(path).is_err(), "{path}");
    }
    let often = JsonPath::compile_query(&format!("${}", "[*,*]".repeat(60))).unwrap();
    let nested = (0..60).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(often.find(&nested).len(), select::MAX_FOUND);
    let deep = format!("$[?{}@{}]", "(".repeat(10_000), ")".repeat(10_000));
    assert!(JsonPath::compile_query(&deep).is_err());
    // What nests as deeply as allowed is read at once.
    for (open, close) in [("(", ")"), ("!(", ")"), ("length(", ")"), ("@[?", "]"), ("count(@[?", "]) > 0")] {
        let nested = format!("$[?{}@.a{}]", open.repeat(7), close.repeat(7));
        assert!(JsonPath::compile_query(&nested).is_ok() || open == "length(", "{nested}");
    }
}
