//! Lints the SQL templates of tools: reports statements that the guard will refuse.

use convengine_core::config::{Issue, Tables};
use convengine_core::turn::Map;
use serde_json::Value;

use super::guard::{Dialect, Permissions, guard};

/// Checks the enabled rows of `ce_mcp_db_tool` whose template is a complete statement.
pub fn check(tables: &Tables, dialect: Dialect) -> Vec<Issue> {
    let rows = |table: &str| tables.0.get(table).map(Vec::as_slice).unwrap_or_default();
    let disabled: Vec<&Value> = rows("ce_mcp_tool").iter().filter(|it| !is_on(it, "enabled")).filter_map(|it| it.get("tool_id")).collect();
    rows("ce_mcp_db_tool")
        .iter()
        .filter(|row| row.get("tool_id").is_none_or(|id| !disabled.contains(&id)))
        .filter_map(|row| check_row(row, dialect, rows("cv_tool_spec").iter().any(|spec| allows_engine_tables(spec, row))))
        .collect()
}

/// Whether a row of `cv_tool_spec` lets a query read the engine's own tables.
fn allows_engine_tables(spec: &Map, query: &Map) -> bool {
    if spec.get("tool_id") != query.get("tool_id") {
        return false;
    }
    let value = match spec.get("spec") {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        other => other.cloned().unwrap_or_default(),
    };
    value.get("engine_tables") == Some(&Value::Bool(true))
}

fn check_row(row: &Map, dialect: Dialect, engine_tables: bool) -> Option<Issue> {
    // A template with `${…}` is complete only at the call.
    let sql = row.get("sql_template")?.as_str().filter(|it| !it.contains("${"))?;
    let reason = guard(sql, dialect, Permissions::new(is_on(row, "safe_mode"), engine_tables)).err()?;
    let id = row.get("tool_id").unwrap_or(&Value::Null);
    let warning = Issue::warning(
        format!("ce_mcp_db_tool[{id}].sql_template"),
        format!("every call of the tool will be refused: {reason}"),
        "correct the template",
    );
    Some(Issue { rule: "refused-sql", ..warning })
}

/// Returns whether a flag column is set, which is its default.
fn is_on(row: &Map, column: &str) -> bool {
    !matches!(row.get(column), Some(Value::Bool(false))) && row.get(column).and_then(Value::as_i64) != Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn refused_templates_are_reported() {
        let tool = |id: i64, enabled: bool| json!({"tool_id": id, "tool_code": format!("t{id}"), "enabled": enabled});
        let row = |id: i64, sql: &str, safe: Value| json!({"tool_id": id, "sql_template": sql, "safe_mode": safe});
        let tables = json!({
            "ce_mcp_tool": [tool(1, true), tool(2, true), tool(3, false), tool(4, true), tool(5, true), tool(6, true)],
            "ce_mcp_db_tool": [
                row(1, "select a from t where b = :b limit :limit", json!(true)),
                row(2, "delete from t", json!(true)),
                row(3, "drop table t", json!(true)),
                row(4, "select * from ${table}", json!(true)),
                row(5, "select mine(a) from t", json!(1)),
                row(6, "select mine(a) from t", json!(0)),
            ]
        });
        let issues = check(&serde_json::from_value(tables).expect("tables"), Dialect::Sqlite);
        let texts: Vec<String> = issues.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "warning ce_mcp_db_tool[2].sql_template: every call of the tool will be refused: only queries are allowed: write one that \
                 begins with select, values or with; correct the template (refused-sql)",
                "warning ce_mcp_db_tool[5].sql_template: every call of the tool will be refused: the function 'mine' is not allowed: it \
                 is not known to have no effect; turn safe_mode off if it is yours; correct the template (refused-sql)",
            ]
        );
    }
}
