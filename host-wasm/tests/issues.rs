//! The issues of a pack are those that `convengine lint` prints, each with its path.

use convengine_core::pack::Pack;
use convengine_wasm::find_issues;
use serde_json::{Value, json};

fn issues(name: &str) -> Vec<Value> {
    let file = format!("{}/../tests/packs/lint/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let pack = Pack::parse(&std::fs::read_to_string(file).unwrap()).unwrap();
    let found = json!(find_issues(&pack)).as_array().cloned().unwrap();
    let of_compiling = json!(pack.compile().1).as_array().cloned().unwrap();
    assert!(found.starts_with(&of_compiling) && of_compiling.iter().all(|it| it["rule"] == "compile"), "those of the engine come first");
    found
}

#[test]
fn lint_issues_are_included() {
    let found = issues("connection_transfer");
    let rules_and_paths: Vec<(&str, &str)> =
        found.iter().map(|issue| (issue["rule"].as_str().unwrap(), issue["path"].as_str().unwrap())).collect();
    assert!(rules_and_paths.contains(&("derived-without-template", "ce_response[1].response_type")), "{rules_and_paths:?}");
    for issue in &found {
        for member in ["severity", "path", "reason", "hint", "rule"] {
            assert!(issue[member].as_str().is_some_and(|it| !it.is_empty()), "{member} of {issue}");
        }
        let (table, rest) = issue["path"].as_str().unwrap().split_once('[').unwrap();
        let (row, column) = rest.split_once("].").unwrap();
        assert!(table.starts_with("ce_") && row.parse::<i64>().is_ok() && !column.is_empty(), "{issue}");
    }
}

#[test]
fn compile_issues_come_first() {
    let rules = |name| issues(name).iter().map(|issue| issue["rule"] == "compile").collect::<Vec<bool>>();
    for name in ["loan_in_one_turn", "faq_with_retrieval", "inventory_lookup"] {
        let of_compiling = rules(name);
        assert!(of_compiling.is_sorted_by(|a, b| a >= b) && of_compiling.contains(&false), "{name}: {of_compiling:?}");
    }
}

#[test]
fn the_fake_service_may_be_called_in_packs_that_have_one() {
    let file = format!("{}/../tests/packs/chain/refund.json", env!("CARGO_MANIFEST_DIR"));
    let mut pack = Pack::parse(&std::fs::read_to_string(file).unwrap()).unwrap();
    let is_reported = |pack: &Pack| json!(find_issues(pack)).to_string().contains("X004");
    assert!(!is_reported(&pack));
    pack.http.clear();
    assert!(is_reported(&pack));
}
