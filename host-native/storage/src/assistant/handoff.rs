//! `cs_handoff`: the conversations that a person has, or should have.

use convengine_core::turn::Millis;

use crate::casts::with_casts;
use crate::database::Pool;
use crate::database_row::DatabaseRow;
use crate::rows::Column::{Integer, Text};
use crate::rows::RowStatement;
use crate::statement::{SqlValue, Statement};

use super::program_key::ProgramKey;

/// A conversation at the desk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeskConversation {
    /// The session.
    pub session: String,
    /// Its assistant or workflow.
    pub program: ProgramKey,
    /// `waiting` or `running`.
    pub state: String,
    /// The queue.
    pub queue: String,
    /// The reason.
    pub reason: String,
    /// Ticket number assigned by the desk.
    pub ticket: Option<String>,
    /// The person who has it.
    pub author: Option<String>,
    /// When a person was requested.
    pub requested_at: Millis,
    /// When the last turn ended.
    pub updated_at: Millis,
    /// The beginning of the last message.
    pub preview: String,
    /// Messages of the user since the last answer.
    pub unread: i64,
}

/// Returns a page of conversations, those that have waited longest first, starting after a request time and session. Without a state, all.
pub async fn list(pool: &Pool, state: Option<&str>, after: (Millis, &str), most: i64) -> sqlx::Result<Vec<DeskConversation>> {
    let sql = with_casts!(
        "select session_id::text as session_id, assistant_id, state, queue, reason, ticket, author, requested_at, updated_at, preview, unread
         from cs_handoff where (requested_at, session_id) > ($1, $2::uuid) and ($3::text is null or state = $3)
         order by requested_at, cs_handoff.session_id limit $4"
    );
    let values = [SqlValue::Integer(after.0), SqlValue::Text(after.1), SqlValue::OptionalText(state), SqlValue::Integer(most)];
    pool.fetch_all(&sql, &values).await?.iter().map(conversation_from_row).collect()
}

/// Returns a value that changes with the list.
pub async fn find_revision(pool: &Pool) -> sqlx::Result<(i64, Millis)> {
    let sql = Statement::portable("select count(*) as open, coalesce(max(updated_at), 0) as latest from cs_handoff");
    let row = pool.fetch_optional(&sql, &[]).await?.ok_or(sqlx::Error::RowNotFound)?;
    Ok((row.integer("open")?, row.integer("latest")?))
}

fn conversation_from_row(row: &DatabaseRow) -> sqlx::Result<DeskConversation> {
    Ok(DeskConversation {
        session: row.text("session_id")?,
        program: ProgramKey::parse(&row.text("assistant_id")?),
        state: row.text("state")?,
        queue: row.text("queue")?,
        reason: row.text("reason")?,
        ticket: row.optional_text("ticket")?,
        author: row.optional_text("author")?,
        requested_at: row.integer("requested_at")?,
        updated_at: row.integer("updated_at")?,
        preview: row.text("preview")?,
        unread: row.integer("unread")?,
    })
}

/// Replaces the rows of sessions; a row without a state only deletes the old one.
pub(crate) const SAVE: [RowStatement; 2] = [
    RowStatement {
        sqlite: "delete from cs_handoff where session_id = $1 and $3 is null",
        postgres: "delete from cs_handoff h using unnest($1::text[], $2::text[], $3::text[]) r (session, assistant, state)
             where h.session_id = r.session::uuid and r.state is null",
        columns: &[Text, Text, Text],
    },
    RowStatement {
        sqlite: "insert into cs_handoff (session_id, assistant_id, state, queue, reason, ticket, author, requested_at, updated_at, preview,
               unread)
             select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 where $3 is not null
             on conflict (session_id) do update set assistant_id = excluded.assistant_id, state = excluded.state, queue = excluded.queue,
               reason = excluded.reason, ticket = excluded.ticket, author = excluded.author, requested_at = excluded.requested_at,
               updated_at = excluded.updated_at, preview = excluded.preview, unread = excluded.unread",
        postgres: "insert into cs_handoff (session_id, assistant_id, state, queue, reason, ticket, author, requested_at, updated_at,
               preview, unread)
             select r.session::uuid, r.assistant, r.state, r.queue, r.reason, r.ticket, r.author, r.requested_at, r.updated_at, r.preview,
               r.unread
             from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[],
               $10::text[], $11::bigint[])
               r (session, assistant, state, queue, reason, ticket, author, requested_at, updated_at, preview, unread)
             where r.state is not null
             on conflict (session_id) do update set assistant_id = excluded.assistant_id, state = excluded.state, queue = excluded.queue,
               reason = excluded.reason, ticket = excluded.ticket, author = excluded.author, requested_at = excluded.requested_at,
               updated_at = excluded.updated_at, preview = excluded.preview, unread = excluded.unread",
        columns: &[Text, Text, Text, Text, Text, Text, Text, Integer, Integer, Text, Integer],
    },
];

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::call_log::CallLogColumns;
    use crate::commit::write;
    use crate::testing::{Database, each_database};
    use crate::turn_rows::{SessionRow, TurnRows};

    const FIRST: &str = "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69";
    const SECOND: &str = "4d7fe557-03ba-56be-b8c3-a9a5d12f0d70";
    const NIL: &str = "00000000-0000-0000-0000-000000000000";

    async fn store(database: &mut Database, session: &str, state: &Json, had: bool) {
        let row = SessionRow { session, assistant: "bank", deployment: None, version: None, snapshot: "sha256:a", state, at: 7_000 };
        let mut rows = TurnRows::default();
        rows.add_session(&row);
        rows.add_handoff(&row, had);
        write(&mut database.connection, &rows, CallLogColumns::Plain).await.expect("written");
    }

    fn state(handoff: &str, author: Option<&str>) -> Json {
        let handoff = json!({"state": handoff, "queue": "it's", "requested_at": "1970-01-01T00:00:05Z", "author": author});
        let history = [("user", "a"), ("bot", "b"), ("user", "c"), ("user", "d\n\u{e4} \u{0}")];
        let history: Vec<Json> = history.iter().map(|message| json!({"role": message.0, "text": message.1})).collect();
        json!({"status": "handed_off", "seq": 1, "handoff": handoff, "history": history})
    }

    #[tokio::test]
    async fn the_desk_lists_open_handoffs() {
        for mut database in each_database().await {
            let empty = find_revision(&database.pool).await.expect("a revision");
            store(&mut database, SECOND, &state("accepted", Some("Mia")), false).await;
            store(&mut database, FIRST, &state("queued", None), false).await;
            let listed = async |state, after, most| list(&database.pool, state, after, most).await.expect("conversations");
            let all = listed(None, (0, NIL), 9).await;
            assert_eq!(all.iter().map(|it| it.session.as_str()).collect::<Vec<_>>(), [FIRST, SECOND]);
            let row = &all[0];
            assert_eq!((row.state.as_str(), row.queue.as_str(), row.requested_at, row.updated_at), ("waiting", "it's", 5_000, 7_000));
            assert_eq!((row.unread, row.preview.as_str(), &row.author, &row.ticket), (2, "d \u{e4}", &None, &None));
            assert_eq!(listed(Some("running"), (0, NIL), 9).await[0].author.as_deref(), Some("Mia"));
            assert_eq!(listed(None, (5_000, FIRST), 9).await.len(), 1);
            assert_eq!((listed(None, (0, NIL), 1).await.len(), listed(Some("waiting"), (5_000, FIRST), 9).await.len()), (1, 0));
            let full = find_revision(&database.pool).await.expect("a revision");
            assert_eq!((empty, full), ((0, 0), (2, 7_000)));
            store(&mut database, FIRST, &json!({"status": "active", "seq": 2, "handoff": null}), true).await;
            let left = list(&database.pool, None, (0, NIL), 9).await.expect("conversations");
            assert_eq!(left.iter().map(|it| it.session.as_str()).collect::<Vec<_>>(), [SECOND]);
        }
    }
}
