//! Patterns match as they do in rows.

use convengine_wasm::match_pattern;
use serde_json::{Value, json};

fn found(rule_type: &str, pattern: &str, texts: &[&str]) -> Value {
    serde_json::from_str(&match_pattern(rule_type, pattern, &json!(texts).to_string()).unwrap()).unwrap()
}

#[test]
fn case_does_not_count_and_each_type_looks_in_its_way() {
    assert_eq!(found("REGEX", r"(?i)\bloan", &["A LOAN please", "alone"]), json!([true, false]));
    assert_eq!(found("REGEX", r"\byes\b", &["Yes!", "eyes"]), json!([true, false]));
    assert_eq!(found("EXACT", " Yes ", &["yes", "yes!"]), json!([true, false]));
    assert_eq!(found("CONTAINS", "Art", &["a START", "x"]), json!([true, false]));
    assert_eq!(found("STARTS_WITH", "st", &["Start", "a start"]), json!([true, false]));
}

#[test]
fn what_only_the_engine_reads_is_tried_and_what_runs_away_is_stopped() {
    assert_eq!(found("REGEX", "a++b", &["aab", "aac"]), json!([true, false]));
    assert_eq!(found("REGEX", "(a|b|ab)*(?>c)", &[&"ab".repeat(40)]), json!([null]));
}
