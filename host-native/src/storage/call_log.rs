//! `ce_llm_call_log`: the log of model calls. A table created by the original engine may lack the usage and cost columns; it is not
//! altered.

use super::database::{Connection, SqlValue, Statement};
use super::schema::has_column;

/// The column set of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallLogColumns {
    /// The columns of the original engine.
    Plain,
    /// Also the usage and cost columns.
    WithUsage,
}

impl CallLogColumns {
    /// Detects the columns of the table.
    pub async fn detect(connection: &mut Connection) -> CallLogColumns {
        for column in ["input_tokens", "output_tokens", "cost_micros"] {
            match has_column(connection, "ce_llm_call_log", column).await {
                Ok(true) => {}
                Ok(false) => return CallLogColumns::Plain,
                Err(error) => {
                    tracing::warn!(%error, "cannot read the columns of ce_llm_call_log; usage and cost will not be stored");
                    return CallLogColumns::Plain;
                }
            }
        }
        CallLogColumns::WithUsage
    }

    /// Inserts rows rendered by [`super::turn_rows::TurnRows::llm_call`].
    pub(super) async fn insert(self, connection: &mut Connection, rows: &str) -> sqlx::Result<u64> {
        match self {
            CallLogColumns::Plain => insert_plain(connection, rows).await,
            CallLogColumns::WithUsage => insert_with_usage(connection, rows).await,
        }
    }
}

async fn insert_plain(connection: &mut Connection, rows: &str) -> sqlx::Result<u64> {
    let sql = Statement::per_dialect(
        "insert into ce_llm_call_log (conversation_id, intent_code, state_code, provider, model, prompt_text, user_context,
           response_text, success, error_message, created_at)
         select value->>'$[0][0]', value->>'$[0][1]', value->>'$[0][2]', value->>'$[1][0]', value->>'$[1][1]',
           value->>'$[2][0]', value->>'$[2][1]', value->>'$[3][0]', value->>'$[3][1]', value->>'$[3][2]', value->>'$[3][3]'
         from json_each($1)",
        "insert into ce_llm_call_log (conversation_id, intent_code, state_code, provider, model, prompt_text, user_context,
           response_text, success, error_message, created_at)
         select (a->>0)::uuid, a->>1, a->>2, b->>0, b->>1, c->>0, c->>1, d->>0, (d->>1)::boolean, d->>2,
           to_timestamp((d->>3)::float8 / 1000)
         from (select r->0 as a, r->1 as b, r->2 as c, r->3 as d from json_array_elements($1::json) r offset 0) s",
    );
    connection.execute(&sql, &[SqlValue::Text(rows)]).await
}

async fn insert_with_usage(connection: &mut Connection, rows: &str) -> sqlx::Result<u64> {
    let sql = Statement::per_dialect(
        "insert into ce_llm_call_log (conversation_id, intent_code, state_code, provider, model, prompt_text, user_context,
           response_text, success, error_message, created_at, input_tokens, output_tokens, cost_micros)
         select value->>'$[0][0]', value->>'$[0][1]', value->>'$[0][2]', value->>'$[1][0]', value->>'$[1][1]',
           value->>'$[2][0]', value->>'$[2][1]', value->>'$[3][0]', value->>'$[3][1]', value->>'$[3][2]', value->>'$[3][3]',
           value->>'$[4][0]', value->>'$[4][1]', value->>'$[4][2]'
         from json_each($1)",
        "insert into ce_llm_call_log (conversation_id, intent_code, state_code, provider, model, prompt_text, user_context,
           response_text, success, error_message, created_at, input_tokens, output_tokens, cost_micros)
         select (a->>0)::uuid, a->>1, a->>2, b->>0, b->>1, c->>0, c->>1, d->>0, (d->>1)::boolean, d->>2,
           to_timestamp((d->>3)::float8 / 1000), (e->>0)::bigint, (e->>1)::bigint, (e->>2)::bigint
         from (select r->0 as a, r->1 as b, r->2 as c, r->3 as d, r->4 as e from json_array_elements($1::json) r offset 0) s",
    );
    connection.execute(&sql, &[SqlValue::Text(rows)]).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::commit::write;
    use crate::storage::in_memory;
    use crate::storage::turn_rows::TurnRows;
    use convengine_core::turn::LlmCallRow;

    async fn stored_call(connection: &mut Connection, columns: &'static str) -> String {
        let call = LlmCallRow {
            intent_code: "A".to_owned(),
            state_code: "B".to_owned(),
            provider: "p".to_owned(),
            model: "m".to_owned(),
            prompt_text: "x".to_owned(),
            user_context: "{}".to_owned(),
            response_text: Some("y".to_owned()),
            success: true,
            error_message: None,
            created_at: 5,
            input_tokens: Some(12),
            output_tokens: Some(3),
            cost_micros: None,
        };
        let mut rows = TurnRows::default();
        rows.add_llm_call("c", &call);
        let log = CallLogColumns::detect(connection).await;
        write(connection, &rows, log).await.expect("a row");
        let sql = format!("select concat_ws('|', model, success, created_at, {columns}) from ce_llm_call_log");
        sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(connection.sqlite()).await.expect("a row")
    }

    #[tokio::test]
    async fn usage_is_stored_if_the_table_has_its_columns() {
        let mut own = in_memory().await.expect("a database");
        assert_eq!(stored_call(&mut own, "input_tokens, output_tokens, coalesce(cost_micros, 'none')").await, "m|1|5|12|3|none");
        let mut original = in_memory().await.expect("a database");
        for column in ["input_tokens", "output_tokens", "cost_micros"] {
            let sql = format!("alter table ce_llm_call_log drop column {column}");
            sqlx::query(sqlx::AssertSqlSafe(sql)).execute(original.sqlite()).await.expect("a table of the original");
        }
        assert_eq!(CallLogColumns::detect(&mut original).await, CallLogColumns::Plain);
        assert_eq!(stored_call(&mut original, "response_text").await, "m|1|5|y");
    }
}
