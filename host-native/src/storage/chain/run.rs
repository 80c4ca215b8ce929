//! `cs_run`: the runs of chains as lists show them. Their state is in `cs_session`.

use convengine_core::turn::Millis;
use serde_json::Value as Json;

use crate::storage::database::{Connection, DatabaseRow, Pool, SqlValue, Statement};

/// What a list of runs contains.
#[derive(Debug, Clone, Default)]
pub struct RunFilter<'f> {
    /// The chain.
    pub chain: &'f str,
    /// The statuses; all when empty.
    pub statuses: Vec<String>,
    /// The branch that was taken.
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
///
/// # Errors
/// Returns any database error.
pub async fn list(pool: &Pool, filter: &RunFilter<'_>) -> sqlx::Result<Vec<ListedRun>> {
    let sql = Statement::per_dialect(
        "select r.run_id, r.created_at, s.state from cs_run r join cs_session s on s.session_id = r.run_id
         where r.chain = $1 and ($2 = '[]' or r.status in (select value from json_each($2))) and ($3 is null or r.branch = $3)
           and r.created_at > $4 and r.created_at < $5 and (r.created_at < $6 or (r.created_at = $6 and r.run_id < $7))
         order by r.created_at desc, r.run_id desc limit $8",
        "select r.run_id::text as run_id, r.created_at, s.state from cs_run r join cs_session s on s.session_id = r.run_id
         where r.chain = $1 and ($2 = '[]' or r.status in (select json_array_elements_text($2::json)))
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
        state: serde_json::from_str(&state).map_err(|it| sqlx::Error::Decode(it.into()))?,
    })
}

/// Returns the runs of a chain that await a webhook at a step: two at most.
///
/// # Errors
/// Returns any database error.
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
///
/// # Errors
/// Returns any database error.
pub async fn count_unfinished(pool: &Pool, chain: &str) -> sqlx::Result<i64> {
    let sql = Statement::per_dialect(
        "select count(*) as open from cs_run where chain = $1 and status not in ('succeeded', 'failed', 'cancelled')",
        "select count(*)::bigint as open from cs_run where chain = $1 and status not in ('succeeded', 'failed', 'cancelled')",
    );
    pool.fetch_optional(&sql, &[SqlValue::Text(chain)]).await?.ok_or(sqlx::Error::RowNotFound)?.integer("open")
}

/// Inserts runs that have not begun, each with its key unless that key has started another run. `rows` is a JSON array of
/// `[[run, chain, assistant, version, snapshot], state, at, [scope, key, fingerprint], valid_since]`.
pub(in crate::storage) async fn create(connection: &mut Connection, rows: &str) -> sqlx::Result<()> {
    let values = [SqlValue::Text(rows)];
    let sql = Statement::per_dialect(
        "delete from cs_run_key where exists (select 1 from json_each($1) r where chain = r.value->>'$[0][1]'
           and scope = r.value->>'$[3][0]' and key = r.value->>'$[3][1]' and created_at < r.value->>'$[4]')",
        "delete from cs_run_key k using json_array_elements($1::json) r
         where k.chain = r->0->>1 and k.scope = r->3->>0 and k.key = r->3->>1 and k.created_at < (r->>4)::bigint",
    );
    connection.execute(&sql, &values).await?;
    let sql = Statement::per_dialect(
        "insert into cs_run_key (chain, scope, key, fingerprint, run_id, created_at)
         select value->>'$[0][1]', value->>'$[3][0]', value->>'$[3][1]', value->>'$[3][2]', value->>'$[0][0]', value->>'$[2]'
         from json_each($1) where value->>'$[3][1]' is not null on conflict do nothing",
        "insert into cs_run_key (chain, scope, key, fingerprint, run_id, created_at)
         select r->0->>1, r->3->>0, r->3->>1, r->3->>2, (r->0->>0)::uuid, (r->>2)::bigint
         from json_array_elements($1::json) r where r->3->>1 is not null on conflict do nothing",
    );
    connection.execute(&sql, &values).await?;
    let sql = Statement::per_dialect(
        "insert into cs_session (session_id, assistant_id, deployment_id, version, snapshot, status, seq, state, created_at, updated_at)
         select value->>'$[0][0]', value->>'$[0][2]', null, value->>'$[0][3]', value->>'$[0][4]', 'queued', 0, value->'$[1]',
           value->>'$[2]', value->>'$[2]'
         from json_each($1) where value->>'$[3][1]' is null or exists (select 1 from cs_run_key k where k.chain = value->>'$[0][1]'
           and k.scope = value->>'$[3][0]' and k.key = value->>'$[3][1]' and k.run_id = value->>'$[0][0]')
         on conflict do nothing",
        "insert into cs_session (session_id, assistant_id, deployment_id, version, snapshot, status, seq, state, created_at, updated_at)
         select (r->0->>0)::uuid, r->0->>2, null, (r->0->>3)::bigint, r->0->>4, 'queued', 0, (r->1)::text, (r->>2)::bigint,
           (r->>2)::bigint
         from json_array_elements($1::json) r
         where r->3->>1 is null or exists (select 1 from cs_run_key k where k.chain = r->0->>1 and k.scope = r->3->>0
           and k.key = r->3->>1 and k.run_id = (r->0->>0)::uuid)
         on conflict do nothing",
    );
    connection.execute(&sql, &values).await?;
    let sql = Statement::per_dialect(
        "insert into cs_timer (session_id, id, due, purpose) select s.session_id, 'step', r.value->>'$[2]', 'step'
         from json_each($1) r join cs_session s on s.session_id = r.value->>'$[0][0]' where s.seq = 0 on conflict do nothing",
        "insert into cs_timer (session_id, id, due, purpose) select s.session_id, 'step', (r->>2)::bigint, 'step'
         from json_array_elements($1::json) r join cs_session s on s.session_id = (r->0->>0)::uuid where s.seq = 0
         on conflict do nothing",
    );
    connection.execute(&sql, &values).await?;
    let sql = Statement::per_dialect(
        "insert into cs_run (run_id, chain, status, branch, created_at, updated_at)
         select s.session_id, r.value->>'$[0][1]', s.status, null, r.value->>'$[2]', r.value->>'$[2]'
         from json_each($1) r join cs_session s on s.session_id = r.value->>'$[0][0]' where true on conflict do nothing",
        "insert into cs_run (run_id, chain, status, branch, created_at, updated_at)
         select s.session_id, r->0->>1, s.status, null, (r->>2)::bigint, (r->>2)::bigint
         from json_array_elements($1::json) r join cs_session s on s.session_id = (r->0->>0)::uuid on conflict do nothing",
    );
    connection.execute(&sql, &values).await.map(|_| ())
}

/// Updates runs after a turn. `rows` is a JSON array of `[run, chain, status, branch, at]`.
pub(in crate::storage) async fn save(connection: &mut Connection, rows: &str) -> sqlx::Result<()> {
    let sql = Statement::per_dialect(
        "insert into cs_run (run_id, chain, status, branch, created_at, updated_at)
         select value->>0, value->>1, value->>2, value->>3, value->>4, value->>4 from json_each($1) where true
         on conflict (run_id) do update set status = excluded.status, branch = excluded.branch, updated_at = excluded.updated_at",
        "insert into cs_run (run_id, chain, status, branch, created_at, updated_at)
         select (r->>0)::uuid, r->>1, r->>2, r->>3, (r->>4)::bigint, (r->>4)::bigint from json_array_elements($1::json) r
         on conflict (run_id) do update set status = excluded.status, branch = excluded.branch, updated_at = excluded.updated_at",
    );
    connection.execute(&sql, &[SqlValue::Text(rows)]).await.map(|_| ())
}
