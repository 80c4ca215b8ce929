//! Patterns match as they do in rows.

use serde_json::{Value, json};

fn match_texts(rule_type: &str, pattern: &str, texts: &[&str]) -> Value {
    let texts: Vec<String> = texts.iter().map(|it| (*it).to_owned()).collect();
    json!(convengine_wasm::match_texts(rule_type, pattern, &texts).unwrap())
}

#[test]
fn matching_ignores_case_and_depends_on_the_type() {
    assert_eq!(match_texts("REGEX", r"(?i)\bloan", &["A LOAN please", "alone"]), json!([true, false]));
    assert_eq!(match_texts("REGEX", r"\byes\b", &["Yes!", "eyes"]), json!([true, false]));
    assert_eq!(match_texts("EXACT", " Yes ", &["yes", "yes!"]), json!([true, false]));
    assert_eq!(match_texts("CONTAINS", "Art", &["a START", "x"]), json!([true, false]));
    assert_eq!(match_texts("STARTS_WITH", "st", &["Start", "a start"]), json!([true, false]));
}

#[test]
fn engine_syntax_is_supported_and_runaway_patterns_are_stopped() {
    assert_eq!(match_texts("REGEX", "a++b", &["aab", "aac"]), json!([true, false]));
    assert_eq!(match_texts("REGEX", "(a|b|ab)*(?>c)", &[&"ab".repeat(40)]), json!([null]));
}
