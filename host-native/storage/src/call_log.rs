//! `ce_llm_call_log`: the log of model calls. A table created by the original engine may lack the usage and cost columns; it is not
//! altered.

use super::database::Connection;
use super::rows::Column::{Integer, Text};
use super::rows::RowStatement;
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

    /// The statement that inserts rows.
    pub(super) fn insert(self) -> &'static [RowStatement] {
        match self {
            CallLogColumns::Plain => &INSERT_PLAIN,
            CallLogColumns::WithUsage => &INSERT_WITH_USAGE,
        }
    }
}

const INSERT_PLAIN: [RowStatement; 1] = [RowStatement {
    sqlite: "insert into ce_llm_call_log (conversation_id, intent_code, state_code, provider, model, prompt_text, user_context,
           response_text, success, error_message, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    postgres: "insert into ce_llm_call_log (conversation_id, intent_code, state_code, provider, model, prompt_text, user_context,
           response_text, success, error_message, created_at)
         select r.id::uuid, r.intent, r.state, r.provider, r.model, r.prompt, r.context, r.response, r.success = 1, r.error,
           to_timestamp(r.at::float8 / 1000)
         from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[],
           $10::text[], $11::bigint[]) r (id, intent, state, provider, model, prompt, context, response, success, error, at)",
    columns: &[Text, Text, Text, Text, Text, Text, Text, Text, Integer, Text, Integer],
}];

const INSERT_WITH_USAGE: [RowStatement; 1] = [RowStatement {
    sqlite: "insert into ce_llm_call_log (conversation_id, intent_code, state_code, provider, model, prompt_text, user_context,
           response_text, success, error_message, created_at, input_tokens, output_tokens, cost_micros)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
    postgres: "insert into ce_llm_call_log (conversation_id, intent_code, state_code, provider, model, prompt_text, user_context,
           response_text, success, error_message, created_at, input_tokens, output_tokens, cost_micros)
         select r.id::uuid, r.intent, r.state, r.provider, r.model, r.prompt, r.context, r.response, r.success = 1, r.error,
           to_timestamp(r.at::float8 / 1000), r.input_tokens, r.output_tokens, r.cost_micros
         from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[],
           $10::text[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[])
           r (id, intent, state, provider, model, prompt, context, response, success, error, at, input_tokens, output_tokens, cost_micros)",
    columns: &[Text, Text, Text, Text, Text, Text, Text, Text, Integer, Text, Integer, Integer, Integer, Integer],
}];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit::write;
    use crate::in_memory;
    use crate::turn_rows::TurnRows;
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
