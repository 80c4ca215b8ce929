//! Tools that query a database: identifiers are checked, values are bound, and a model may repair a failed query.
//! (docs/spec/tools.md#4.1)

use convengine_config::{SqlTemplate, Tool};
use convengine_text::json::read_object;
use convengine_turn::{EffectError, EffectErrorKind, LlmMode, Map, SqlReply, SqlRequest, payload};
use serde_json::{Value, json};

use crate::audit::Stage;
use crate::llm::{self, Prompts};
use crate::step_context::StepContext;
use crate::verbose::{Failure, Progress, publish_and_audit};

/// The name in progress messages.
const PROGRESS_NAME: &str = "McpDbExecutor";

/// Query timeout in milliseconds.
const TIMEOUT_MS: u32 = 10_000;

/// Rows included in an audit; the tool's result has all of them.
const AUDITED_ROWS: usize = 20;

/// Runs the query of a tool; returns a list of rows.
///
/// # Errors
/// An identifier that is not allowed, or the host's error for the last query.
pub async fn run_query(cx: &mut StepContext<'_>, tool: &Tool, template: &SqlTemplate, args: &Map) -> Result<Value, EffectError> {
    let original = expand_identifiers(template, args).map_err(|it| EffectError::new(EffectErrorKind::Invalid, it))?;
    let mut sql = original.clone();
    let params = query_params(template, args);
    let mut repairs = cx.config.settings.tools.max_sql_repairs;
    loop {
        let request = SqlRequest {
            tool_code: tool.code.clone(),
            sql: sql.clone(),
            params: params.clone(),
            max_rows: template.max_rows,
            timeout_ms: TIMEOUT_MS,
            safe: template.safe_mode,
            engine_tables: template.engine_tables,
            repaired_from: (sql != original).then(|| original.clone()),
        };
        let outcome = cx.effects.perform(request).await;
        publish_query(cx, tool, &sql, &params, &outcome);
        let error = match outcome {
            Ok(reply) => return Ok(Value::Array(reply.rows.into_iter().map(Value::Object).collect())),
            Err(error) => error,
        };
        // Only a query that the database does not understand can be repaired; a refusal is final.
        if error.kind != EffectErrorKind::Invalid || repairs == 0 {
            return Err(error);
        }
        repairs -= 1;
        match repair_query(cx, &sql, &params, &error).await {
            Some(repaired) if repaired != sql => sql = repaired,
            Some(_) | None => return Err(error),
        }
    }
}

/// Substitutes identifiers: `name` or `name.name`, and only those that the row allows.
fn expand_identifiers(template: &SqlTemplate, args: &Map) -> Result<String, String> {
    let mut sql = template.sql.clone();
    for (name, value) in args {
        let token = format!("${{{name}}}");
        if value.is_null() || !sql.contains(&token) {
            continue;
        }
        let text = value.as_str().unwrap_or_default().trim();
        if !is_identifier(text) {
            return Err(format!("the argument '{name}' is no name of a table or column"));
        }
        let allowed = template
            .identifiers
            .as_ref()
            .map(|identifiers| identifiers.get(name).is_some_and(|allowed| allowed.iter().any(|identifier| identifier == text)));
        if allowed == Some(false) {
            return Err(format!("the argument '{name}' is none of the names that are allowed"));
        }
        sql = sql.replace(&token, text);
    }
    match sql.split_once("${") {
        Some((_, rest)) => Err(format!("the argument '{}' is missing", rest.split('}').next().unwrap_or_default())),
        None => Ok(sql),
    }
}

fn is_identifier(text: &str) -> bool {
    let word = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() <= 2 && parts.iter().all(|it| word(it))
}

/// The arguments, with a limit that never exceeds the row's. (docs/spec/tools.md#D-13)
fn query_params(template: &SqlTemplate, args: &Map) -> Map {
    let max = u64::from(template.max_rows);
    let requested = args.get("limit").and_then(|limit| limit.as_u64().or_else(|| limit.as_str()?.trim().parse().ok()));
    let mut params = args.clone();
    params.insert("limit".to_owned(), json!(requested.map_or(max, |it| it.min(max))));
    params
}

fn publish_query(cx: &StepContext<'_>, tool: &Tool, sql: &str, params: &Map, outcome: &Result<SqlReply, EffectError>) {
    let error = outcome.as_ref().err().map(|it| &it.message);
    let rows = outcome.as_ref().map(|reply| reply.rows.as_slice()).unwrap_or_default();
    let payload = json!({
        "tool_code": tool.code, "tool_group": tool.group, "sql": sql, "params": params,
        "status": if error.is_some() { "ERROR" } else { "SUCCESS" }, "error": error, "row_count": rows.len(),
        "truncated": outcome.as_ref().is_ok_and(|it| it.truncated),
        "rows": rows.iter().take(AUDITED_ROWS).collect::<Vec<_>>(),
    });
    let progress = Progress {
        tool_code: Some(&tool.code),
        failure: error.map(|_| Failure::Survived),
        ..Progress::new(PROGRESS_NAME, "MCP_DB_SQL_EXECUTION")
    };
    publish_and_audit(cx, Stage::McpDbSqlExecution, progress, payload);
}

/// Asks a model to repair a query; `None` when it cannot.
async fn repair_query(cx: &mut StepContext<'_>, sql: &str, params: &Map, error: &EffectError) -> Option<String> {
    let config = cx.config;
    let facts = [
        ("sql_before", json!(sql)),
        ("params_json", json!(params)),
        ("error_message", json!(error.message)),
        ("schema_json", json!({})),
        ("semantic_json", json!({})),
        ("context_json", Value::Object(cx.session.context.clone())),
    ];
    let variables = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let prompts: Prompts = llm::render_prompts(cx, &config.sql_repair.system, &config.sql_repair.user, &variables);
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["sql"], "properties": {"sql": {"type": "string"}},
    });
    let reply = llm::call_model(cx, "sql_repair", LlmMode::JsonStrict, prompts, Some(schema)).await;
    let repaired = reply.as_ref().ok().and_then(|reply| read_object(&reply.text).ok());
    let repaired = repaired.and_then(|answer| answer.get("sql")?.as_str().map(|sql| sql.trim().to_owned())).filter(|it| !it.is_empty());
    cx.audit(
        Stage::McpDbPreflightRepair,
        |_| payload!({"failed_sql": sql, "repaired_sql": repaired, "error": reply.err().map(|error| error.message)}),
    );
    repaired
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::from_value;

    fn template(sql: &str, identifiers: Value) -> SqlTemplate {
        SqlTemplate {
            sql: sql.to_owned(),
            max_rows: 5,
            safe_mode: true,
            engine_tables: false,
            identifiers: from_value(identifiers).unwrap(),
        }
    }

    #[test]
    fn identifiers_are_names_and_listed_ones_only() {
        let listed = template("select ${col} from ${tbl} limit :limit", json!({"col": ["id"], "tbl": ["main.orders"]}));
        let expanded = |args: Value| expand_identifiers(&listed, args.as_object().unwrap());
        assert_eq!(
            expanded(json!({"col": " id ", "tbl": "main.orders", "x": 1})).as_deref(),
            Ok("select id from main.orders limit :limit")
        );
        assert!(expanded(json!({"col": "id, secret", "tbl": "main.orders"})).unwrap_err().contains("no name"));
        assert!(expanded(json!({"col": "secret", "tbl": "main.orders"})).unwrap_err().contains("allowed"));
        assert!(expanded(json!({"col": "id"})).unwrap_err().contains("'tbl' is missing"));
        assert!(
            expand_identifiers(&template("select * from ${t}", Value::Null), &Map::from_iter([("t".to_owned(), json!("a.b.c"))])).is_err()
        );
    }

    #[test]
    fn no_call_gets_more_rows_than_its_row_allows() {
        let template = template("select 1", Value::Null);
        for (args, limit) in [(json!({}), 5), (json!({"limit": 3}), 3), (json!({"limit": "4"}), 4), (json!({"limit": 900}), 5)] {
            assert_eq!(query_params(&template, args.as_object().unwrap())["limit"], json!(limit));
        }
    }
}
