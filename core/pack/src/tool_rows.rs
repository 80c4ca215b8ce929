//! Converts tool definitions of a pack to rows, so that a pack and a database imported from it have the same configuration.

use convengine_config::is_same_code;
use convengine_turn::Map;
use serde_json::{Value, json};

use super::Pack;

/// Moves `{"request", "response"}` to `ce_http_tool` and `{"expression"}` to `cv_tool_spec`. Other scripts, and definitions of unknown
/// tools, stay.
pub(super) fn insert_tool_rows(pack: &mut Pack) {
    let (definitions, scripts): (Vec<_>, Vec<_>) =
        std::mem::take(&mut pack.tools).into_iter().partition(|(_, script)| is_definition(script));
    pack.tools = scripts.into_iter().collect();
    for (code, script) in definitions {
        let ids = tool_ids(pack, &code);
        if ids.is_empty() {
            pack.tools.insert(code, script);
            continue;
        }
        for id in ids {
            let (table, row) = tool_row(id, &script);
            let rows = pack.tables.0.entry(table.to_owned()).or_default();
            if !rows.iter().any(|row| row.get("tool_id").and_then(Value::as_i64) == Some(id)) {
                rows.push(row);
            }
        }
    }
}

/// Whether a script defines how to run a tool, as opposed to its answer.
fn is_definition(script: &Value) -> bool {
    script.get("request").is_some() || script.get("expression").is_some()
}

fn tool_ids(pack: &Pack, code: &str) -> Vec<i64> {
    let rows = pack.tables.rows("ce_mcp_tool").into_iter();
    rows.filter(|row| row.code("tool_code").is_some_and(|row_code| is_same_code(&row_code, code))).map(|it| it.id()).collect()
}

fn tool_row(id: i64, script: &Value) -> (&'static str, Map) {
    let mut row = Map::from_iter([("tool_id".to_owned(), json!(id))]);
    let Some(request) = script.get("request") else {
        row.insert("spec".to_owned(), Value::from(json!({"expression": script.get("expression")}).to_string()));
        return ("cv_tool_spec", row);
    };
    let mut set = |column: &str, value: Option<Value>| {
        let text = |value: Value| if value.is_string() || value.is_boolean() { value } else { Value::from(value.to_string()) };
        row.extend(value.filter(|value| !value.is_null()).map(|value| (column.to_owned(), text(value))));
    };
    let member = |name: &str| request.get(name).cloned();
    set("method", member("method"));
    set("url_template", member("url").or_else(|| member("url_template")));
    let (mut headers, auth) = convert_auth(&member("auth").unwrap_or_default());
    headers.extend(member("headers").and_then(|headers| headers.as_object().cloned()).unwrap_or_default());
    set("headers", (!headers.is_empty()).then_some(Value::Object(headers)));
    set("auth_ref", auth);
    set("query", member("query"));
    set("body_template", member("body").or_else(|| member("body_template")));
    set("policy", member("policy"));
    set("idempotent", member("idempotent"));
    set("response_mapping", script.get("response").cloned());
    ("ce_http_tool", row)
}

/// Converts `auth`: a reference to a secret stays, and a literal value, which only test packs may have, becomes a header.
fn convert_auth(auth: &Value) -> (Map, Option<Value>) {
    let text = |name: &str| auth.get(name).and_then(Value::as_str);
    let Some(value) = text("value") else { return (Map::new(), (!auth.is_null()).then(|| auth.clone())) };
    let bearer = text("type").is_some_and(|kind| kind.to_uppercase().starts_with("BEARER"));
    let header = text("header").unwrap_or(if bearer { "Authorization" } else { "X-API-KEY" });
    let prefix = text("prefix").unwrap_or(if bearer { "Bearer " } else { "" });
    (Map::from_iter([(header.to_owned(), Value::from(format!("{prefix}{value}")))]), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_definitions_become_rows() {
        let pack = json!({
            "name": "n", "tables": {"ce_mcp_tool": [{"tool_id": 7, "tool_code": "A.b"}, {"tool_code": "c"}, {"tool_id": 9, "tool_code": "d"}]},
            "tools": {
                "a.B": {"request": {"method": "GET", "url": "${STUB}/x", "query": "args", "auth": {"type": "API_KEY", "header": "X-Key", "value": "k"}},
                        "response": {"mode": "TEXT"}},
                "c": {"expression": {"n": "a * 2"}}, "d": {"text": "said"}, "gone": {"expression": "1"}
            }
        });
        let pack = Pack::parse(&pack.to_string()).unwrap();
        let http = json!([{"tool_id": 7, "method": "GET", "url_template": "${STUB}/x", "headers": "{\"X-Key\":\"k\"}", "query": "args",
            "response_mapping": "{\"mode\":\"TEXT\"}"}]);
        assert_eq!(json!(pack.tables.0.get("ce_http_tool")), http);
        assert_eq!(json!(pack.tables.0.get("cv_tool_spec")), json!([{"tool_id": 2, "spec": "{\"expression\":{\"n\":\"a * 2\"}}"}]));
        assert_eq!(pack.tools.keys().collect::<Vec<_>>(), ["d", "gone"]);
    }
}
