//! `cs_session`, `cs_timer` and `cs_usage_events`: assistant sessions, their timers and their metered usage.

use std::sync::Arc;

use convengine_core::turn::{LoadedSession, Millis};
use serde_json::Value as Json;

use crate::casts::with_casts;
use crate::database::{Connection, Pool};
use crate::database_row::DatabaseRow;
use crate::load::LoadedConversation;
use crate::rows::Column::{Integer, Json as JsonText, Text};
use crate::rows::RowStatement;
use crate::statement::{SqlValue, Statement};

use super::program_key::ProgramKey;

/// A stored session.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Its assistant or workflow.
    pub program: ProgramKey,
    /// The deployment that started it; absent in the simulator.
    pub deployment: Option<String>,
    /// The published version it runs on; absent for a draft.
    pub version: Option<i64>,
    /// The snapshot hash, `sha256:…`.
    pub snapshot: String,
    /// `active`, `completed`, `failed` or `abandoned`.
    pub status: String,
    /// The state document.
    pub state: Json,
}

/// A due timer.
#[derive(Debug, Clone, PartialEq)]
pub struct DueTimer {
    /// The id of the session.
    pub session: String,
    /// The timer id within the session.
    pub timer: String,
    /// The session with its current sequence number; absent when it no longer exists.
    pub stored: Option<(Session, i64)>,
    /// Whether the session is a run that is to be cancelled, or is cancelled.
    pub is_cancelled: bool,
}

/// Returns a session by id.
pub async fn find(pool: &Pool, id: &str) -> sqlx::Result<Option<Session>> {
    let sql = with_casts!(
        "select assistant_id, deployment_id::text, version, snapshot, status, state from cs_session where session_id = $1::uuid"
    );
    pool.load_row(&sql, &[SqlValue::Text(id)]).await?.as_ref().map(session_from_row).transpose()
}

/// Returns the assistant or workflow of a session.
pub async fn find_program(pool: &Pool, id: &str) -> sqlx::Result<Option<ProgramKey>> {
    let sql = with_casts!("select assistant_id from cs_session where session_id = $1::uuid");
    let row = pool.fetch_optional(&sql, &[SqlValue::Text(id)]).await?;
    row.map(|it| it.text("assistant_id")).transpose().map(|key| key.as_deref().map(ProgramKey::parse))
}

/// Loads a session for a new turn. `key` is the idempotency key of the event.
pub async fn load(pool: &Pool, id: &str, key: Option<&str>) -> sqlx::Result<LoadedConversation> {
    let sql = with_casts!(
        "select (select state from cs_session where session_id = $1::uuid) as state,
           coalesce((select max(number) from ce_turn where conversation_id = $1::uuid), 0)::bigint as turns,
           (select count(*) from ce_turn where conversation_id = $1::uuid and status = 'open') as open,
           (select count(*) from ce_turn where message_key = $2) as sent,
           (select owner from cv_conversation_owner where conversation_id = $1::uuid) as owner"
    );
    let row = pool.load_row(&sql, &[SqlValue::Text(id), SqlValue::OptionalText(key)]).await?.ok_or(sqlx::Error::RowNotFound)?;
    let turns = u32::try_from(row.integer("turns")?).unwrap_or(u32::MAX);
    let flow = row.optional_text("state")?.map(|state| Arc::new(serde_json::from_str(&state).unwrap_or(Json::String(state))));
    let session = LoadedSession { flow, turns, turns_since_reset: turns, ..LoadedSession::default() };
    let owner = row.optional_text("owner")?;
    Ok(LoadedConversation { session, is_duplicate: row.integer("sent")? > 0, has_open_turn: row.integer("open")? > 0, owner })
}

/// Returns the earliest due timer of a session. Timers of a paused chain are not due, except for the one of the next step.
pub async fn find_due_timer(pool: &Pool, session: &str, now: Millis) -> sqlx::Result<Option<DueTimer>> {
    let sql = with_casts!(
        "select t.session_id::text as session_id, t.id, s.seq, s.assistant_id, s.deployment_id::text, s.version, s.snapshot, s.status, s.state,
           (select count(*) from cs_run r where r.run_id = t.session_id and r.status in ('cancelling', 'cancelled')) as cancelled
         from cs_timer t left join cs_session s on s.session_id = t.session_id
         where t.session_id = $1::uuid and t.due <= $2 and (t.purpose = 'step' or not exists (
           select 1 from cs_run r join cs_chain c on c.slug = r.chain and c.status = 'paused' where r.run_id = t.session_id))
         order by t.due limit 1"
    );
    let row = pool.load_row(&sql, &[SqlValue::Text(session), SqlValue::Integer(now)]).await?;
    row.as_ref().map(due_timer_from_row).transpose()
}

fn due_timer_from_row(row: &DatabaseRow) -> sqlx::Result<DueTimer> {
    let stored = match row.optional_integer("seq")? {
        Some(seq) => Some((session_from_row(row)?, seq)),
        None => None,
    };
    let is_cancelled = row.integer("cancelled")? > 0;
    Ok(DueTimer { session: row.text("session_id")?, timer: row.text("id")?, stored, is_cancelled })
}

/// Claims at most `most` due timers for 5 seconds, earliest first, without those of sessions with an open turn and of paused chains. Returns
/// their sessions. A run goes on by itself; its next step is only due here once the process that runs it has had the time to do so.
pub async fn claim_due_timers(pool: &Pool, now: Millis, most: i64) -> sqlx::Result<Vec<String>> {
    let sql = Statement::per_dialect(
        "update cs_timer set claimed_until = cast(unixepoch('subsec') * 1000 as integer) + 5000
         where (session_id, id) in (select t.session_id, t.id from cs_timer t
           where t.due <= $1 and not (t.purpose = 'step' and t.due > $1 - 800)
             and (t.claimed_until is null or t.claimed_until < cast(unixepoch('subsec') * 1000 as integer))
             and not exists (select 1 from ce_turn o where o.conversation_id = t.session_id and o.status = 'open')
             and (t.purpose = 'step' or not exists (
               select 1 from cs_run r join cs_chain c on c.slug = r.chain and c.status = 'paused' where r.run_id = t.session_id))
           order by t.due limit $2)
         returning session_id",
        "with due as materialized (select t.session_id, t.id from cs_timer t
           where t.due <= $1 and not (t.purpose = 'step' and t.due > $1 - 800)
             and (t.claimed_until is null or t.claimed_until < extract(epoch from now()) * 1000)
             and not exists (select 1 from ce_turn o where o.conversation_id = t.session_id and o.status = 'open')
             and (t.purpose = 'step' or not exists (
               select 1 from cs_run r join cs_chain c on c.slug = r.chain and c.status = 'paused' where r.run_id = t.session_id))
           order by t.due limit $2 for update of t skip locked)
         update cs_timer t set claimed_until = (extract(epoch from now()) * 1000)::bigint + 5000
         from due where t.session_id = due.session_id and t.id = due.id
         returning t.session_id::text as session_id",
    );
    let rows = pool.fetch_all(&sql, &[SqlValue::Integer(now), SqlValue::Integer(most)]).await?;
    rows.iter().map(|it| it.text("session_id")).collect()
}

/// Returns whether a timer is due, and when the next one after `now` is. Timers of a paused chain are not due, except for the one of the next
/// step.
pub async fn find_next_due(pool: &Pool, now: Millis) -> sqlx::Result<(bool, Option<Millis>)> {
    let sql = Statement::portable(
        "select (select count(*) from (select 1 from cs_timer t where t.due <= $1 and (t.purpose = 'step' or not exists (
               select 1 from cs_run r join cs_chain c on c.slug = r.chain and c.status = 'paused' where r.run_id = t.session_id)) limit 1) it)
             as due,
           (select min(due) from cs_timer where due > $1) as next",
    );
    let row = pool.fetch_optional(&sql, &[SqlValue::Integer(now)]).await?.ok_or(sqlx::Error::RowNotFound)?;
    Ok((row.integer("due")? > 0, row.optional_integer("next")?))
}

/// Returns when the oldest due timer became due, without those of sessions with an open turn and of paused chains.
pub async fn find_oldest_due(pool: &Pool, now: Millis) -> sqlx::Result<Option<Millis>> {
    let sql = Statement::portable(
        "select t.due from cs_timer t where t.due <= $1
           and not exists (select 1 from ce_turn o where o.conversation_id = t.session_id and o.status = 'open')
           and (t.purpose = 'step' or not exists (
             select 1 from cs_run r join cs_chain c on c.slug = r.chain and c.status = 'paused' where r.run_id = t.session_id))
         order by t.due limit 1",
    );
    pool.fetch_optional(&sql, &[SqlValue::Integer(now)]).await?.map(|it| it.integer("due")).transpose()
}

/// Returns the number of turns of a session, from 1 on; `None` when it does not exist.
pub async fn find_seq(pool: &Pool, id: &str) -> sqlx::Result<Option<i64>> {
    let sql = with_casts!("select seq from cs_session where session_id = $1::uuid");
    pool.fetch_optional(&sql, &[SqlValue::Text(id)]).await?.map(|it| it.integer("seq")).transpose()
}

/// Deletes a timer that is no longer needed.
pub async fn delete_timer(pool: &Pool, due: &DueTimer) -> sqlx::Result<()> {
    let sql = with_casts!("delete from cs_timer where session_id = $1::uuid and id = $2");
    pool.execute(&sql, &[SqlValue::Text(&due.session), SqlValue::Text(&due.timer)]).await.map(|_| ())
}

/// Returns the amount of one usage kind since a time, optionally for one assistant.
pub async fn sum_usage(pool: &Pool, workspace: &str, kind: &str, since: Millis, document: Option<&str>) -> sqlx::Result<i64> {
    let values = [SqlValue::Text(workspace), SqlValue::Text(kind), SqlValue::Integer(since), SqlValue::OptionalText(document)];
    pool.fetch_optional(&SUM_USAGE, &values).await?.ok_or(sqlx::Error::RowNotFound)?.integer("amount")
}

/// Records a session that a plan meters. Returns the id of the usage row.
pub async fn add_session_usage(pool: &Pool, workspace: &str, assistant: &str, at: Millis) -> sqlx::Result<i64> {
    let sql = Statement::portable(
        "insert into cs_usage_events (workspace_id, kind, at, amount, ref) values ($1, 'session', $2, 1, $3) returning id",
    );
    let values = [SqlValue::Text(workspace), SqlValue::Integer(at), SqlValue::Text(assistant)];
    pool.fetch_optional(&sql, &values).await?.ok_or(sqlx::Error::RowNotFound)?.integer("id")
}

/// Records what models have cost a document outside of turns, in millionths of a currency unit.
pub async fn add_model_usage(pool: &Pool, workspace: &str, document: &str, micros: u64, at: Millis) -> sqlx::Result<()> {
    let sql = Statement::portable("insert into cs_usage_events (workspace_id, kind, at, amount, ref) values ($1, 'llm', $2, $3, $4)");
    // In microcents.
    let amount = i64::try_from(micros.saturating_mul(100)).unwrap_or(i64::MAX);
    let values = [SqlValue::Text(workspace), SqlValue::Integer(at), SqlValue::Integer(amount), SqlValue::Text(document)];
    pool.execute(&sql, &values).await.map(|_| ())
}

/// Deletes a usage row, unless its session has a stored turn; `None` for a row that stands for no session. Returns whether it did.
pub async fn delete_session_usage(pool: &Pool, number: i64, session: Option<&str>) -> sqlx::Result<bool> {
    let sql =
        with_casts!("delete from cs_usage_events where id = $1 and not exists (select 1 from ce_turn where conversation_id = $2::uuid)");
    Ok(pool.execute(&sql, &[SqlValue::Integer(number), SqlValue::OptionalText(session)]).await? > 0)
}

/// Returns the number of documents imported since a time.
pub async fn count_imports(connection: &mut Connection, workspace: &str, since: Millis) -> sqlx::Result<i64> {
    let values = [SqlValue::Text(workspace), SqlValue::Text("import"), SqlValue::Integer(since), SqlValue::OptionalText(None)];
    connection.fetch_optional(&SUM_USAGE, &values).await?.ok_or(sqlx::Error::RowNotFound)?.integer("amount")
}

/// Deletes usage rows from before a time, which no quota and no budget counts any more. Examines at most `most` rows, the oldest. Returns the
/// number of deleted rows.
pub async fn delete_usage_before(connection: &mut Connection, before: Millis, most: i64) -> sqlx::Result<u64> {
    let sql = Statement::portable(
        "delete from cs_usage_events where id in
           (select id from (select id, at from cs_usage_events order by id limit $2) u where at < $1)",
    );
    connection.execute(&sql, &[SqlValue::Integer(before), SqlValue::Integer(most)]).await
}

const SUM_USAGE: Statement = with_casts!(
    "select coalesce(sum(amount), 0)::bigint as amount from cs_usage_events
     where workspace_id = $1 and kind = $2 and at >= $3 and ($4::text is null or ref = $4)"
);

/// Returns a page of open sessions of an assistant, ordered by id, starting after `after`.
pub async fn list_open(pool: &Pool, assistant: &str, after: &str, count: i64) -> sqlx::Result<Vec<(String, Session)>> {
    let sql = with_casts!(
        "select session_id::text as session_id, assistant_id, deployment_id::text, version, snapshot, status, state from cs_session
         where assistant_id = $1 and status in ('active', 'handed_off') and version is not null and session_id > $2::uuid
         order by session_id limit $3"
    );
    let rows = pool.fetch_all(&sql, &[SqlValue::Text(assistant), SqlValue::Text(after), SqlValue::Integer(count)]).await?;
    rows.iter().map(|row| Ok((row.text("session_id")?, session_from_row(row)?))).collect()
}

fn session_from_row(row: &DatabaseRow) -> sqlx::Result<Session> {
    let state = row.text("state")?;
    Ok(Session {
        program: ProgramKey::parse(&row.text("assistant_id")?),
        deployment: row.optional_text("deployment_id")?,
        version: row.optional_integer("version")?,
        snapshot: row.text("snapshot")?,
        status: row.text("status")?,
        state: serde_json::from_str(&state).map_err(|error| sqlx::Error::Decode(error.into()))?,
    })
}

/// Upserts session rows and deletes the timers that they no longer have.
pub(crate) const SAVE: [RowStatement; 2] = [
    RowStatement {
        sqlite: "insert into cs_session (session_id, assistant_id, deployment_id, version, snapshot, status, seq, state, created_at,
               updated_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)
             on conflict (session_id) do update set version = excluded.version, snapshot = excluded.snapshot, status = excluded.status,
               seq = excluded.seq, state = excluded.state, updated_at = excluded.updated_at",
        postgres: "insert into cs_session (session_id, assistant_id, deployment_id, version, snapshot, status, seq, state, created_at,
               updated_at)
             select r.id::uuid, r.assistant, r.deployment::uuid, r.version, r.snapshot, r.status, r.seq, r.state, r.at, r.at
             from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::bigint[])
               r (id, assistant, deployment, version, snapshot, status, seq, state, at)
             on conflict (session_id) do update set version = excluded.version, snapshot = excluded.snapshot, status = excluded.status,
               seq = excluded.seq, state = excluded.state, updated_at = excluded.updated_at",
        columns: &[Text, Text, Text, Integer, Text, Text, Integer, JsonText, Integer],
    },
    RowStatement {
        sqlite: "delete from cs_timer where session_id = $1 and id not in (select value from json_each($10))",
        postgres: "delete from cs_timer t
             using unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::bigint[],
               $10::text[]) r (id, assistant, deployment, version, snapshot, status, seq, state, at, kept)
             where t.session_id = r.id::uuid and t.id not in (select json_array_elements_text(r.kept::json))",
        columns: &[Text, Text, Text, Integer, Text, Text, Integer, JsonText, Integer, JsonText],
    },
];

/// Upserts the timers of sessions.
pub(crate) const SAVE_TIMERS: [RowStatement; 1] = [RowStatement {
    sqlite: "insert into cs_timer (session_id, id, due, purpose) values ($1, $2, $3, $4)
         on conflict (session_id, id) do update set due = excluded.due, purpose = excluded.purpose, claimed_until = null",
    postgres: "insert into cs_timer (session_id, id, due, purpose)
         select r.session::uuid, r.id, r.due, r.purpose
         from unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) r (session, id, due, purpose)
         on conflict (session_id, id) do update set due = excluded.due, purpose = excluded.purpose, claimed_until = null",
    columns: &[Text, Text, Integer, Text],
}];

/// Inserts usage rows.
pub(crate) const ADD_USAGE: [RowStatement; 1] = [RowStatement {
    sqlite: "insert into cs_usage_events (workspace_id, kind, at, amount, ref) values ($1, $2, $3, $4, $5)",
    postgres: "insert into cs_usage_events (workspace_id, kind, at, amount, ref)
         select r.workspace, r.kind, r.at, r.amount, r.ref
         from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[]) r (workspace, kind, at, amount, ref)",
    columns: &[Text, Text, Integer, Integer, Text],
}];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::call_log::CallLogColumns;
    use crate::commit::write;
    use crate::testing::each_database;
    use crate::turn_rows::{SessionRow, TurnRows};

    const ID: &str = "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69";

    fn row<'r>(state: &'r Json, version: Option<i64>) -> SessionRow<'r> {
        SessionRow { session: ID, assistant: "bank", deployment: None, version, snapshot: "sha256:a", state, at: 7 }
    }

    #[tokio::test]
    async fn saving_a_session_replaces_its_state_and_timers() {
        for mut database in each_database().await {
            assert_eq!(find(&database.pool, ID).await.expect("an answer"), None);
            let timers = json!([{"id": "session", "due": "1970-01-01T00:00:09Z", "purpose": "session"}]);
            for (seq, version, timers) in [(1, None, timers), (2, Some(3), json!([]))] {
                let state = json!({"status": "active", "seq": seq, "vars": {"a": "it's \"\u{e4}\""}, "timers": timers});
                let mut rows = TurnRows::default();
                rows.add_session(&row(&state, version));
                rows.add_usage("default", "llm", 5, 9 + seq, "bank");
                write(&mut database.connection, &rows, CallLogColumns::Plain).await.expect("written");
                let found = find(&database.pool, ID).await.expect("an answer").expect("a session");
                assert_eq!((&found.state, found.version, found.status.as_str()), (&state, version, "active"));
                let next = async |now| find_next_due(&database.pool, now).await.expect("an answer");
                let of_timer = [(false, Some(9_000)), (true, None)];
                let expected = if seq == 1 { of_timer } else { [(false, None); 2] };
                assert_eq!([next(8_999).await, next(9_000).await], expected);
                let oldest = async |now| find_oldest_due(&database.pool, now).await.expect("an answer");
                assert_eq!([oldest(8_999).await, oldest(9_000).await], [None, (seq == 1).then_some(9_000)]);
                assert_eq!(find_seq(&database.pool, ID).await.expect("an answer"), state["seq"].as_i64());
                let due = find_due_timer(&database.pool, ID, 9_000).await.expect("an answer");
                let stored = due.map(|it| (it.is_cancelled, it.stored.expect("a session")));
                assert_eq!(stored, (seq == 1).then_some((false, (found, 1))));
                // One process claims it, and no other.
                let claim = async || claim_due_timers(&database.pool, 9_000, 10).await.expect("timers").len();
                assert_eq!([claim().await, claim().await], if seq == 1 { [1, 0] } else { [0, 0] });
                let loaded = load(&database.pool, ID, None).await.expect("an answer");
                assert_eq!((loaded.session.flow.as_deref(), loaded.has_open_turn, loaded.is_duplicate), (Some(&state), false, false));
            }
            let used = async |since, of| sum_usage(&database.pool, "default", "llm", since, of).await.expect("a sum");
            assert_eq!([used(0, Some("bank")).await, used(0, Some("desk")).await, used(6, None).await], [21, 0, 0]);
            let open = list_open(&database.pool, "bank", "00000000-0000-0000-0000-000000000000", 5).await.expect("sessions");
            assert_eq!(open.iter().map(|it| it.0.as_str()).collect::<Vec<_>>(), [ID]);
        }
    }

    #[tokio::test]
    async fn the_usage_of_a_session_without_a_turn_can_be_deleted() {
        for database in each_database().await {
            let pool = &database.pool;
            let used = async || sum_usage(pool, "default", "session", 5, None).await.expect("a sum");
            let first = add_session_usage(pool, "default", "bank", 6).await.expect("a row");
            add_session_usage(pool, "default", "bank", 7).await.expect("a row");
            add_session_usage(pool, "default", "bank", 4).await.expect("of the month before");
            assert_eq!(used().await, 2);
            assert!(delete_session_usage(pool, first, Some(ID)).await.expect("an answer"));
            assert!(!delete_session_usage(pool, first, Some(ID)).await.expect("an answer"));
            assert_eq!(used().await, 1);
            let other = add_session_usage(pool, "default", "bank", 8).await.expect("a row");
            assert!(delete_session_usage(pool, other, None).await.expect("an answer"));
            assert_eq!(used().await, 1);
        }
    }

    #[tokio::test]
    async fn usage_that_nothing_counts_is_deleted_in_batches() {
        for mut database in each_database().await {
            for at in [1, 2, 3, 9] {
                add_session_usage(&database.pool, "default", "bank", at).await.expect("a row");
            }
            let connection = &mut database.connection;
            let mut deleted = Vec::new();
            for _ in 0..3 {
                deleted.push(delete_usage_before(connection, 9, 2).await.expect("an answer"));
            }
            assert_eq!(deleted, [2, 1, 0]);
            assert_eq!(sum_usage(&database.pool, "default", "session", 0, None).await.expect("a sum"), 1);
        }
    }
}
