//! What is stored of conversations, for a search in it.

use crate::casts::with_casts;
use crate::database::Connection;
use crate::database_row::DatabaseRow;
use crate::statement::{SqlValue, Statement};

/// The values that the rows of a conversation hold, each as JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredValues {
    /// The conversation.
    pub conversation: String,
    /// The input parameters.
    pub params: String,
    /// The context, with the values that were extracted from messages.
    pub context: String,
    /// The state of a session or run; absent for a conversation of tables.
    pub state: Option<String>,
}

/// A compressed journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredJournal {
    /// Its turn.
    pub turn: String,
    /// The conversation of the turn.
    pub conversation: String,
    /// The hash of the configuration that it ran on.
    pub snapshot: String,
    /// The journal.
    pub journal: Vec<u8>,
}

/// Returns at most `most` conversations whose values contain a text, case-sensitively, ordered by id, starting after `after`.
pub async fn list_values(connection: &mut Connection, text: &str, after: Option<&str>, most: i64) -> sqlx::Result<Vec<StoredValues>> {
    let sql = Statement::per_dialect(
        "select c.conversation_id, cast(c.input_params_json as text) as params, cast(c.context_json as text) as context, s.state
         from ce_conversation c left join cs_session s on s.session_id = c.conversation_id
         where ($2 is null or c.conversation_id > $2)
           and (instr(c.input_params_json, $1) > 0 or instr(c.context_json, $1) > 0 or instr(s.state, $1) > 0)
         order by c.conversation_id limit $3",
        "select c.conversation_id::text as conversation_id, c.input_params_json::text as params, c.context_json::text as context, s.state
         from ce_conversation c left join cs_session s on s.session_id = c.conversation_id
         where ($2::text is null or c.conversation_id > $2::text::uuid)
           and (strpos(c.input_params_json::text, $1) > 0 or strpos(c.context_json::text, $1) > 0 or strpos(s.state, $1) > 0)
         order by c.conversation_id limit $3",
    );
    let rows = connection.fetch_all(&sql, &[SqlValue::Text(text), SqlValue::OptionalText(after), SqlValue::Integer(most)]).await?;
    rows.iter().map(values_from_row).collect()
}

fn values_from_row(row: &DatabaseRow) -> sqlx::Result<StoredValues> {
    Ok(StoredValues {
        conversation: row.text("conversation_id")?,
        params: row.optional_text("params")?.unwrap_or_default(),
        context: row.optional_text("context")?.unwrap_or_default(),
        state: row.optional_text("state")?,
    })
}

/// Returns at most `most` journals, ordered by turn, starting after the turn `after`.
pub async fn list_journals(connection: &mut Connection, after: Option<&str>, most: i64) -> sqlx::Result<Vec<StoredJournal>> {
    let sql = with_casts!(
        "select turn_id::text as turn, conversation_id::text as conversation_id, config_hash, journal from ce_turn
         where ($1::text is null or turn_id > $1::text::uuid) order by turn_id limit $2"
    );
    let rows = connection.fetch_all(&sql, &[SqlValue::OptionalText(after), SqlValue::Integer(most)]).await?;
    rows.iter().map(journal_from_row).collect()
}

fn journal_from_row(row: &DatabaseRow) -> sqlx::Result<StoredJournal> {
    Ok(StoredJournal {
        turn: row.text("turn")?,
        conversation: row.text("conversation_id")?,
        snapshot: row.text("config_hash")?,
        journal: row.bytes("journal")?,
    })
}

/// Returns a conversation that has an owner and neither a row nor a turn, if there is one: what it holds is stored elsewhere.
pub async fn find_without_rows(connection: &mut Connection) -> sqlx::Result<Option<String>> {
    let sql = with_casts!(
        "select o.conversation_id::text as conversation_id from cv_conversation_owner o
         where not exists (select 1 from ce_conversation c where c.conversation_id = o.conversation_id)
           and not exists (select 1 from ce_turn t where t.conversation_id = o.conversation_id) limit 1"
    );
    connection.fetch_optional(&sql, &[]).await?.map(|it| it.text("conversation_id")).transpose()
}
