//! Replaces the creation times of competing prompt templates by their order, because time stamps differ between databases.

use convengine_turn::Map;
use serde_json::Value;

use super::code::to_upper_code;

/// Columns that identify competing templates.
const SCOPE_COLUMNS: [&str; 4] = ["output_format", "response_type", "intent_code", "state_code"];

/// Replaces each `created_at` by the number of older rows of the same scope; a row without competitors loses the column.
pub(super) fn replace_times_by_rank(rows: &mut [Map]) {
    let scopes: Vec<Vec<String>> = rows.iter().map(row_scope).collect();
    let mut times: Vec<(&Vec<String>, Option<i64>)> =
        scopes.iter().zip(rows.iter()).map(|(scope, row)| (scope, row.get("created_at").and_then(parse_millis))).collect();
    times.sort_unstable();
    for (scope, row) in scopes.iter().zip(rows.iter_mut()) {
        let own = row.shift_remove("created_at").as_ref().and_then(parse_millis);
        let first = times.partition_point(|it| it.0 < scope);
        let competitors = times.partition_point(|it| it.0 <= scope) - first;
        if competitors > 1 && own.is_some() {
            let older = times.partition_point(|it| *it < (scope, own)) - first;
            row.insert("created_at".to_owned(), Value::from(older));
        }
    }
}

fn row_scope(row: &Map) -> Vec<String> {
    SCOPE_COLUMNS.iter().map(|column| row.get(*column).and_then(Value::as_str).map(to_upper_code).unwrap_or_default()).collect()
}

/// Parses a number of milliseconds, or a text such as `2026-01-02 03:04:05.678`, with or without `T` and `Z`.
fn parse_millis(value: &Value) -> Option<i64> {
    if let Some(number) = value.as_i64() {
        return Some(number);
    }
    let digits: Vec<i64> =
        value.as_str()?.split(|c: char| !c.is_ascii_digit()).filter(|it| !it.is_empty()).map_while(|part| part.parse().ok()).collect();
    let [year, month, day, rest @ ..] = digits.as_slice() else { return None };
    let part = |at: usize| rest.get(at).copied().unwrap_or(0);
    // Only the order matters, and months of 31 days preserve it.
    let days = (year.checked_mul(12)?.checked_add(*month)?).checked_mul(31)?.checked_add(*day)?;
    let fraction = value
        .as_str()?
        .split('.')
        .nth(1)
        .map(|digits| digits.chars().take_while(char::is_ascii_digit).chain("000".chars()).take(3).collect::<String>());
    let fraction = fraction.and_then(|digits| digits.parse::<i64>().ok()).unwrap_or(0);
    let seconds = days.checked_mul(86_400)?.checked_add(part(0).checked_mul(3600)?)?.checked_add(part(1).checked_mul(60)?)?;
    seconds.checked_add(part(2))?.checked_mul(1000)?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ranked(rows: Value) -> Vec<Value> {
        let mut rows: Vec<Map> = serde_json::from_value(rows).unwrap();
        replace_times_by_rank(&mut rows);
        rows.into_iter().map(|mut row| row.remove("created_at").unwrap_or_default()).collect()
    }

    #[test]
    fn competing_templates_keep_only_their_order() {
        let row = |intent: &str, at: Value| json!({"output_format": "TEXT", "intent_code": intent, "state_code": "ANY", "created_at": at});
        let rows = json!([
            row("A", json!("2026-02-01 00:00:00.5")),
            row("a", json!("2026-01-31T23:59:59Z")),
            row("B", json!("2026-01-01 00:00:00")),
        ]);
        assert_eq!(ranked(rows), [json!(1), json!(0), Value::Null]);
        assert_eq!(ranked(json!([row("A", json!(5)), row("A", json!(9)), row("A", Value::Null)])), [json!(1), json!(2), Value::Null]);
    }
}
