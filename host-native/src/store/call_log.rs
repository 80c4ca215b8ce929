//! The log of model calls: a table that was there before us may lack the columns for usage and cost, and is left as it is.

use sqlx::sqlite::SqliteConnection;

/// Which columns the table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallLog {
    /// Those of the original.
    Plain,
    /// Those for usage and cost, too.
    WithUsage,
}

impl CallLog {
    /// Looks at the table.
    pub async fn of(connection: &mut SqliteConnection) -> CallLog {
        match usage_columns(connection).await {
            Ok(3) => CallLog::WithUsage,
            Ok(_) => CallLog::Plain,
            Err(error) => {
                tracing::warn!(%error, "the columns of ce_llm_call_log cannot be read: usage and cost are not stored");
                CallLog::Plain
            }
        }
    }

    /// Writes rows that [`super::commit::TurnRows::llm_call`] has rendered.
    pub(super) async fn insert(self, connection: &mut SqliteConnection, rows: String) -> sqlx::Result<()> {
        match self {
            CallLog::Plain => insert_plain(connection, rows).await,
            CallLog::WithUsage => insert_with_usage(connection, rows).await,
        }
    }
}

async fn usage_columns(connection: &mut SqliteConnection) -> sqlx::Result<i64> {
    let sql = "select count(*) from pragma_table_info('ce_llm_call_log') where name in ('input_tokens', 'output_tokens', 'cost_micros')";
    sqlx::query_scalar(sql).fetch_one(connection).await
}

async fn insert_plain(connection: &mut SqliteConnection, rows: String) -> sqlx::Result<()> {
    let sql = "insert into ce_llm_call_log (conversation_id, intent_code, state_code, provider, model, prompt_text, user_context,
                 response_text, success, error_message, created_at)
               select value->>'$[0][0]', value->>'$[0][1]', value->>'$[0][2]', value->>'$[1][0]', value->>'$[1][1]',
                 value->>'$[2][0]', value->>'$[2][1]', value->>'$[3][0]', value->>'$[3][1]', value->>'$[3][2]', value->>'$[3][3]'
               from json_each($1)";
    sqlx::query(sql).bind(rows).execute(connection).await.map(|_| ())
}

async fn insert_with_usage(connection: &mut SqliteConnection, rows: String) -> sqlx::Result<()> {
    let sql = "insert into ce_llm_call_log (conversation_id, intent_code, state_code, provider, model, prompt_text, user_context,
                 response_text, success, error_message, created_at, input_tokens, output_tokens, cost_micros)
               select value->>'$[0][0]', value->>'$[0][1]', value->>'$[0][2]', value->>'$[1][0]', value->>'$[1][1]',
                 value->>'$[2][0]', value->>'$[2][1]', value->>'$[3][0]', value->>'$[3][1]', value->>'$[3][2]', value->>'$[3][3]',
                 value->>'$[4][0]', value->>'$[4][1]', value->>'$[4][2]'
               from json_each($1)";
    sqlx::query(sql).bind(rows).execute(connection).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::commit::{TurnRows, write};
    use crate::store::in_memory;
    use convengine_core::turn::LlmCallRow;

    async fn stored(connection: &mut SqliteConnection, columns: &str) -> String {
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
        rows.llm_call("c", &call);
        let log = CallLog::of(connection).await;
        write(connection, &rows, log).await.expect("a row");
        let sql = format!("select concat_ws('|', model, success, created_at, {columns}) from ce_llm_call_log");
        sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(connection).await.expect("a row")
    }

    #[tokio::test]
    async fn usage_is_stored_where_the_table_has_room_for_it() {
        let mut ours = in_memory().await.expect("a database");
        assert_eq!(stored(&mut ours, "input_tokens, output_tokens, coalesce(cost_micros, 'none')").await, "m|1|5|12|3|none");
        let mut theirs = in_memory().await.expect("a database");
        for column in ["input_tokens", "output_tokens", "cost_micros"] {
            let sql = format!("alter table ce_llm_call_log drop column {column}");
            sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut theirs).await.expect("a table of the original");
        }
        assert_eq!(CallLog::of(&mut theirs).await, CallLog::Plain);
        assert_eq!(stored(&mut theirs, "response_text").await, "m|1|5|y");
    }
}
