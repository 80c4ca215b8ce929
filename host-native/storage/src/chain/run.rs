//! `cs_run`: the runs of chains as lists show them. Their state is in `cs_session`.

use convengine_core::turn::Millis;
use serde_json::Value as Json;

use crate::casts::with_casts;
use crate::database::Pool;
use crate::database_row::DatabaseRow;
use crate::rows::Column::{Integer, Json as JsonText, Text};
use crate::rows::{Column, RowStatement};
use crate::statement::{SqlValue, Statement};

/// What a list of runs contains.
#[derive(Debug, Clone, Default)]
pub struct RunFilter<'f> {
    /// The chain.
    pub chain: &'f str,
    /// The statuses; all when empty.
    pub statuses: Vec<String>,
    /// The branch taken.
    pub branch: Option<String>,
    /// Runs that began after this time.
    pub after: Option<Millis>,
    /// Runs that began before this time.
    pub before: Option<Millis>,
    /// Continues after this run: its start and id.
    pub cursor: Option<(Millis, String)>,
    /// The maximum number of runs.
    pub limit: i64,
}

/// A run of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedRun {
    /// The run.
    pub id: String,
    /// When it was created.
    pub created_at: Millis,
    /// Its state.
    pub state: Json,
}

/// Returns runs, newest first.
pub async fn list(pool: &Pool, filter: &RunFilter<'_>) -> sqlx::Result<Vec<ListedRun>> {
    let sql = Statement::per_dialect(
        "select r.run_id, r.created_at, s.state from cs_run r join cs_session s on s.session_id = r.run_id
         where r.chain = $1 and ($2 = '[]' or iif(r.status = 'cancelling', s.status, r.status) in (select value from json_each($2))) and ($3 is null or r.branch = $3)
           and r.created_at > $4 and r.created_at < $5 and (r.created_at < $6 or (r.created_at = $6 and r.run_id < $7))
         order by r.created_at desc, r.run_id desc limit $8",
        "select r.run_id::text as run_id, r.created_at, s.state from cs_run r join cs_session s on s.session_id = r.run_id
         where r.chain = $1
           and ($2 = '[]' or case r.status when 'cancelling' then s.status else r.status end in (select json_array_elements_text($2::json)))
           and ($3::text is null or r.branch = $3)
           and r.created_at > $4 and r.created_at < $5 and (r.created_at < $6 or (r.created_at = $6 and r.run_id < $7::uuid))
         order by r.created_at desc, r.run_id desc limit $8",
    );
    let statuses = serde_json::json!(filter.statuses).to_string();
    let (cursor_at, cursor_id) = filter.cursor.clone().unwrap_or((Millis::MAX, "00000000-0000-0000-0000-000000000000".to_owned()));
    let values = [
        SqlValue::Text(filter.chain),
        SqlValue::Text(&statuses),
        SqlValue::OptionalText(filter.branch.as_deref()),
        SqlValue::Integer(filter.after.unwrap_or(Millis::MIN)),
        SqlValue::Integer(filter.before.unwrap_or(Millis::MAX)),
        SqlValue::Integer(cursor_at),
        SqlValue::Text(&cursor_id),
        SqlValue::Integer(filter.limit),
    ];
    pool.fetch_all(&sql, &values).await?.iter().map(listed_from_row).collect()
}

fn listed_from_row(row: &DatabaseRow) -> sqlx::Result<ListedRun> {
    let state = row.text("state")?;
    Ok(ListedRun {
        id: row.text("run_id")?,
        created_at: row.integer("created_at")?,
        state: serde_json::from_str(&state).map_err(|error| sqlx::Error::Decode(error.into()))?,
    })
}

/// Returns the runs of a chain that await a webhook at a step: two at most.
pub async fn list_awaiting(pool: &Pool, chain: &str, step: &str) -> sqlx::Result<Vec<String>> {
    let sql = Statement::per_dialect(
        "select r.run_id from cs_run r join cs_session s on s.session_id = r.run_id
         where r.chain = $1 and r.status = 'awaiting_event' and s.state->>'$.wait.kind' = 'webhook'
           and $2 in (s.state->>'$.wait.step_id', s.state->>'$.wait.path') limit 2",
        "select r.run_id::text as run_id from cs_run r join cs_session s on s.session_id = r.run_id
         where r.chain = $1 and r.status = 'awaiting_event' and s.state::json->'wait'->>'kind' = 'webhook'
           and $2 in (s.state::json->'wait'->>'step_id', s.state::json->'wait'->>'path') limit 2",
    );
    pool.fetch_all(&sql, &[SqlValue::Text(chain), SqlValue::Text(step)]).await?.iter().map(|it| it.text("run_id")).collect()
}

/// Returns the number of unfinished runs of a chain.
pub async fn count_unfinished(pool: &Pool, chain: &str) -> sqlx::Result<i64> {
    let sql =
        with_casts!("select count(*)::bigint as open from cs_run where chain = $1 and status not in ('succeeded', 'failed', 'cancelled')");
    pool.fetch_optional(&sql, &[SqlValue::Text(chain)]).await?.ok_or(sqlx::Error::RowNotFound)?.integer("open")
}

/// Records that a run is to be cancelled, unless it has ended.
pub async fn request_cancellation(pool: &Pool, run: &str) -> sqlx::Result<()> {
    let sql = with_casts!(
        "update cs_run set status = 'cancelling' where run_id = $1::uuid and status not in ('succeeded', 'failed', 'cancelled')"
    );
    pool.execute(&sql, &[SqlValue::Text(run)]).await.map(|_| ())
}

/// Returns whether a run is to be cancelled, or is cancelled.
pub async fn is_cancelled(pool: &Pool, run: &str) -> sqlx::Result<bool> {
    let sql = with_casts!("select 1 as found from cs_run where run_id = $1::uuid and status in ('cancelling', 'cancelled')");
    pool.load_row(&sql, &[SqlValue::Text(run)]).await.map(|it| it.is_some())
}

/// Inserts runs that have not begun, each with its key unless that key has started another run.
pub(crate) const CREATE: [RowStatement; 6] = [
    RowStatement {
        sqlite: "delete from cs_run_key where chain = $2 and scope = $8 and key = $9 and created_at < $11",
        postgres: "delete from cs_run_key k
             using unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[],
               $10::text[], $11::bigint[]) r (run, chain, assistant, version, snapshot, state, at, scope, key, fingerprint, valid_since)
             where k.chain = r.chain and k.scope = r.scope and k.key = r.key and k.created_at < r.valid_since",
        columns: RUN_COLUMNS,
    },
    RowStatement {
        sqlite: "insert into cs_run_key (chain, scope, key, fingerprint, run_id, created_at)
             select $2, $8, $9, $10, $1, $7 where $9 is not null on conflict do nothing",
        postgres: "insert into cs_run_key (chain, scope, key, fingerprint, run_id, created_at)
             select r.chain, r.scope, r.key, r.fingerprint, r.run::uuid, r.at
             from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[],
               $10::text[], $11::bigint[]) r (run, chain, assistant, version, snapshot, state, at, scope, key, fingerprint, valid_since)
             where r.key is not null on conflict do nothing",
        columns: RUN_COLUMNS,
    },
    RowStatement {
        sqlite: "insert into cs_session (session_id, assistant_id, deployment_id, version, snapshot, status, seq, state, created_at,
               updated_at)
             select $1, $3, null, $4, $5, 'queued', 0, $6, $7, $7
             where $9 is null or exists (select 1 from cs_run_key k where k.chain = $2 and k.scope = $8 and k.key = $9 and k.run_id = $1)
             on conflict do nothing",
        postgres: "insert into cs_session (session_id, assistant_id, deployment_id, version, snapshot, status, seq, state, created_at,
               updated_at)
             select r.run::uuid, r.assistant, null, r.version, r.snapshot, 'queued', 0, r.state, r.at, r.at
             from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[],
               $10::text[], $11::bigint[]) r (run, chain, assistant, version, snapshot, state, at, scope, key, fingerprint, valid_since)
             where r.key is null or exists (select 1 from cs_run_key k where k.chain = r.chain and k.scope = r.scope and k.key = r.key
               and k.run_id = r.run::uuid)
             on conflict do nothing",
        columns: RUN_COLUMNS,
    },
    RowStatement {
        sqlite: "insert into cs_timer (session_id, id, due, purpose)
             select session_id, 'step', $7, 'step' from cs_session where session_id = $1 and seq = 0 on conflict do nothing",
        postgres: "insert into cs_timer (session_id, id, due, purpose)
             select s.session_id, 'step', r.at, 'step'
             from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[],
               $10::text[], $11::bigint[]) r (run, chain, assistant, version, snapshot, state, at, scope, key, fingerprint, valid_since)
             join cs_session s on s.session_id = r.run::uuid where s.seq = 0 on conflict do nothing",
        columns: RUN_COLUMNS,
    },
    RowStatement {
        sqlite: "insert into cs_run (run_id, chain, status, branch, created_at, updated_at)
             select session_id, $2, status, null, $7, $7 from cs_session where session_id = $1 on conflict do nothing",
        postgres: "insert into cs_run (run_id, chain, status, branch, created_at, updated_at)
             select s.session_id, r.chain, s.status, null, r.at, r.at
             from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[],
               $10::text[], $11::bigint[]) r (run, chain, assistant, version, snapshot, state, at, scope, key, fingerprint, valid_since)
             join cs_session s on s.session_id = r.run::uuid on conflict do nothing",
        columns: RUN_COLUMNS,
    },
    // What finds and deletes conversations looks at this table.
    RowStatement {
        sqlite: "insert into ce_conversation (conversation_id, status, created_at, updated_at)
             select session_id, 'RUNNING', $7, $7 from cs_session where session_id = $1 on conflict (conversation_id) do nothing",
        postgres: "insert into ce_conversation (conversation_id, status, created_at, updated_at)
             select s.session_id, 'RUNNING', to_timestamp(r.at::float8 / 1000), to_timestamp(r.at::float8 / 1000)
             from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[],
               $10::text[], $11::bigint[]) r (run, chain, assistant, version, snapshot, state, at, scope, key, fingerprint, valid_since)
             join cs_session s on s.session_id = r.run::uuid on conflict (conversation_id) do nothing",
        columns: RUN_COLUMNS,
    },
];

const RUN_COLUMNS: &[Column] = &[Text, Text, Text, Integer, Text, JsonText, Integer, Text, Text, Text, Integer];

/// Updates runs after a turn; a run that is to be cancelled remains so until it ends. The end of a run ends the pause of a schedule that waits
/// for it.
pub(crate) const SAVE: [RowStatement; 2] = [
    RowStatement {
        sqlite: "insert into cs_run (run_id, chain, status, branch, created_at, updated_at) values ($1, $2, $3, $4, $5, $5)
             on conflict (run_id) do update set branch = excluded.branch, updated_at = excluded.updated_at,
               status = case when cs_run.status = 'cancelling' and excluded.status not in ('succeeded', 'failed', 'cancelled')
                 then cs_run.status else excluded.status end",
        postgres: "insert into cs_run (run_id, chain, status, branch, created_at, updated_at)
             select r.run::uuid, r.chain, r.status, r.branch, r.at, r.at
             from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[]) r (run, chain, status, branch, at)
             on conflict (run_id) do update set branch = excluded.branch, updated_at = excluded.updated_at,
               status = case when cs_run.status = 'cancelling' and excluded.status not in ('succeeded', 'failed', 'cancelled')
                 then cs_run.status else excluded.status end",
        columns: RUN_STATUS_COLUMNS,
    },
    RowStatement {
        sqlite: "update cs_chain set claimed_until = null where slug = $2 and $3 in ('succeeded', 'failed', 'cancelled')
               and claimed_until is not null and next_run_at <= $5",
        postgres: "update cs_chain c set claimed_until = null
             from (select distinct u.chain from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
               u (run, chain, status, branch, at) where u.status in ('succeeded', 'failed', 'cancelled')) r
             where c.slug = r.chain and c.claimed_until is not null",
        columns: RUN_STATUS_COLUMNS,
    },
];

const RUN_STATUS_COLUMNS: &[Column] = &[Text, Text, Text, Text, Integer];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::assistant::session;
    use crate::call_log::CallLogColumns;
    use crate::commit::write;
    use crate::testing::{Database, each_database};
    use crate::turn_rows::{SessionRow, TurnRows};

    const RUN: &str = "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69";

    /// Stores the rows of a turn after which the run has a status.
    async fn save_turn(database: &mut Database, status: &str) {
        let timer = json!({"id": "step", "due": "1970-01-01T00:00:09Z", "purpose": "step"});
        let state = json!({"chain": "daily", "status": status, "seq": 1, "timers": [timer]});
        let row = SessionRow {
            session: RUN,
            assistant: "chain:daily",
            deployment: None,
            version: Some(1),
            snapshot: "sha256:a",
            state: &state,
            at: 7,
        };
        let mut rows = TurnRows::default();
        rows.add_session(&row);
        rows.add_run(&row);
        write(&mut database.connection, &rows, CallLogColumns::Plain).await.expect("written");
    }

    #[tokio::test]
    async fn a_request_to_cancel_remains_until_the_run_ends() {
        for mut database in each_database().await {
            save_turn(&mut database, "running").await;
            let pool = database.pool.clone();
            let is_stored = async || {
                let is_stored = is_cancelled(&pool, RUN).await.expect("an answer");
                let due = session::find_due_timer(&pool, RUN, 9_000).await.expect("an answer").expect("a timer");
                assert_eq!(due.is_cancelled, is_stored);
                is_stored
            };
            let ids = async |status: &str| {
                let filter = RunFilter { chain: "daily", statuses: vec![status.to_owned()], limit: 9, ..RunFilter::default() };
                list(&pool, &filter).await.expect("runs").len()
            };
            assert!(!is_stored().await);
            request_cancellation(&pool, RUN).await.expect("stored");
            assert!(is_stored().await);
            save_turn(&mut database, "sleeping").await;
            assert!(is_stored().await, "a turn that ends meanwhile does not withdraw it");
            assert_eq!((ids("sleeping").await, ids("cancelling").await), (1, 0), "lists show the status of the run itself");
            save_turn(&mut database, "failed").await;
            assert!(!is_stored().await, "a run that has failed can be opened again");
            request_cancellation(&pool, RUN).await.expect("nothing to store");
            assert!(!is_stored().await);
            save_turn(&mut database, "cancelled").await;
            assert!(is_stored().await);
        }
    }
}
