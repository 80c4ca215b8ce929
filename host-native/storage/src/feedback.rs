//! Stores user feedback on replies.

use convengine_core::turn::ConversationRow;
use serde_json::Value;

use super::casts::with_casts;
use super::database::Pool;
use super::statement::SqlValue;

/// A row of `ce_mcp_user_feedback`.
#[derive(Debug, PartialEq)]
pub struct FeedbackRow<'f> {
    /// `THUMBS_UP` or `THUMBS_DOWN`.
    pub kind: &'static str,
    /// The client's id of the reply.
    pub message_id: Option<&'f str>,
    /// The user's question.
    pub query: Option<&'f str>,
    /// The reply.
    pub answer: Option<String>,
    /// The last tool called.
    pub tool: Option<&'f str>,
    /// JSON text.
    pub metadata: String,
}

/// A row of `ce_semantic_query_failures`.
#[derive(Debug, PartialEq)]
pub struct FailureRow<'f> {
    /// The user's question.
    pub question: &'f str,
    /// The wrong query.
    pub generated: Option<String>,
    /// The corrected query.
    pub corrected: Option<&'f str>,
    /// Why it was wrong.
    pub cause: &'f str,
    /// What was wrong with the reply.
    pub reason: Option<String>,
}

/// A row of `ce_user_query_knowledge`.
#[derive(Debug, PartialEq, Eq)]
pub struct KnowledgeRow {
    /// The tool.
    pub tool: String,
    /// The user's question.
    pub query: String,
    /// A summary of the result.
    pub description: String,
    /// The executed query.
    pub sql: Option<String>,
    /// The observation of the tool call.
    pub observation: Value,
}

/// Inserts a feedback row. Returns its id.
///
/// # Errors
/// Returns any database error, including a foreign key violation when the conversation does not exist.
pub async fn insert(pool: &Pool, about: &ConversationRow, row: &FeedbackRow<'_>) -> sqlx::Result<i64> {
    let sql = with_casts!(
        "insert into ce_mcp_user_feedback (conversation_id, feedback_type, message_id, intent_code, state_code, user_query,
           assistant_response, mcp_tool_code, captured_query_knowledge_count, applied_query_knowledge_json, metadata_json)
         values ($1::uuid, $2, $3, $4, $5, $6, $7, $8, 0, '[]', $9::json) returning feedback_id::bigint"
    );
    let values = [
        SqlValue::Text(&about.conversation_id),
        SqlValue::Text(row.kind),
        SqlValue::OptionalText(row.message_id),
        SqlValue::Text(&about.intent_code),
        SqlValue::Text(&about.state_code),
        SqlValue::OptionalText(row.query),
        SqlValue::OptionalText(row.answer.as_deref()),
        SqlValue::OptionalText(row.tool),
        SqlValue::Text(&row.metadata),
    ];
    pool.fetch_optional(&sql, &values).await?.ok_or(sqlx::Error::RowNotFound)?.integer("feedback_id")
}

/// Inserts a question that was answered badly. Returns the row id.
pub async fn insert_failure(pool: &Pool, about: &ConversationRow, row: &FailureRow<'_>, metadata: &str) -> sqlx::Result<i64> {
    let sql = with_casts!(
        "insert into ce_semantic_query_failures (conversation_id, question, generated_sql, corrected_sql, root_cause_code, reason,
           stage_code, metadata_json)
         values ($1::uuid, $2, $3, $4, $5, $6, 'MCP_USER_FEEDBACK', $7::json) returning id::bigint"
    );
    let values = [
        SqlValue::Text(&about.conversation_id),
        SqlValue::Text(row.question),
        SqlValue::OptionalText(row.generated.as_deref()),
        SqlValue::OptionalText(row.corrected),
        SqlValue::Text(row.cause),
        SqlValue::OptionalText(row.reason.as_deref()),
        SqlValue::Text(metadata),
    ];
    pool.fetch_optional(&sql, &values).await?.ok_or(sqlx::Error::RowNotFound)?.integer("id")
}

/// Inserts a query that a tool has executed.
pub async fn insert_knowledge(
    pool: &Pool,
    about: &ConversationRow,
    kind: &str,
    row: &KnowledgeRow,
    number: i64,
    metadata: &str,
) -> sqlx::Result<()> {
    let sql = with_casts!(
        "insert into ce_user_query_knowledge (conversation_id, feedback_id, feedback_type, tool_code, intent_code, state_code, query_text,
           description, prepared_sql, tags, api_hints, metadata_json)
         values ($1::uuid, $2, $3, $4, $5, $6, $7, $8, $9, $5 || ',' || $6 || ',' || $4, 'feedback_capture,mcp_observation', $10::json)"
    );
    let values = [
        SqlValue::Text(&about.conversation_id),
        SqlValue::Integer(number),
        SqlValue::Text(kind),
        SqlValue::Text(&row.tool),
        SqlValue::Text(&about.intent_code),
        SqlValue::Text(&about.state_code),
        SqlValue::Text(&row.query),
        SqlValue::Text(&row.description),
        SqlValue::OptionalText(row.sql.as_deref()),
        SqlValue::Text(metadata),
    ];
    pool.execute(&sql, &values).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::statement::Statement;
    use crate::testing::each_database;
    use crate::turn_rows::TurnRows;
    use crate::{call_log::CallLogColumns, commit};
    use std::sync::Arc;

    #[tokio::test]
    async fn feedback_is_stored() {
        let about = ConversationRow {
            conversation_id: "5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a0011".to_owned(),
            status: "RUNNING".to_owned(),
            intent_code: "A".to_owned(),
            state_code: "B".to_owned(),
            context: Arc::default(),
            last_user_text: None,
            last_assistant: None,
            params: Arc::default(),
            created_at: 1,
            updated_at: 1,
        };
        let row = FeedbackRow {
            kind: "THUMBS_UP",
            message_id: Some("m"),
            query: None,
            answer: Some("seven".to_owned()),
            tool: None,
            metadata: json!({"a": 1}).to_string(),
        };
        let failure = FailureRow { question: "how many?", generated: None, corrected: Some("select 2"), cause: "JOIN", reason: None };
        let known =
            KnowledgeRow { tool: "t".to_owned(), query: "q".to_owned(), description: "d".to_owned(), sql: None, observation: json!({}) };
        for mut database in each_database().await {
            assert!(insert(&database.pool, &about, &row).await.is_err(), "the conversation does not exist");
            let mut rows = TurnRows::default();
            rows.add_conversation(&about);
            commit::write(&mut database.connection, &rows, CallLogColumns::Plain).await.expect("a conversation");
            let first = insert(&database.pool, &about, &row).await.expect("a row");
            let second = insert(&database.pool, &about, &row).await.expect("a row");
            assert!(second > first);
            assert!(insert_failure(&database.pool, &about, &failure, "{}").await.expect("a row") > 0);
            insert_knowledge(&database.pool, &about, row.kind, &known, first, "{}").await.expect("a row");
            let all = Statement::per_dialect(
                "select (select answer || metadata from (select assistant_response as answer, metadata_json as metadata
                   from ce_mcp_user_feedback limit 1)) as kept,
                   (select corrected_sql || root_cause_code from ce_semantic_query_failures) as failed,
                   (select tags from ce_user_query_knowledge) as tags",
                "select (select assistant_response || (metadata_json->>'a') from ce_mcp_user_feedback limit 1) as kept,
                   (select corrected_sql || root_cause_code from ce_semantic_query_failures) as failed,
                   (select tags from ce_user_query_knowledge) as tags",
            );
            let found = database.pool.fetch_optional(&all, &[]).await.expect("rows").expect("a row");
            assert!(found.text("kept").expect("a text").starts_with("seven"));
            assert_eq!(
                (found.text("failed").expect("a text"), found.text("tags").expect("a text")),
                ("select 2JOIN".into(), "A,B,t".into())
            );
        }
    }
}
