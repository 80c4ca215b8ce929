//! `convengine audit materialise`: stores derived audit rows and the model call log of their turns.

use convengine_core::turn::Millis;
use convengine_host_base::clock;
use convengine_host_base::exit::Failure;
use convengine_host_base::print_line;
use convengine_settings::Settings;
use convengine_storage::call_log::CallLogColumns;
use convengine_storage::rows::Rows;
use convengine_storage::turn::{StoredTurn, list_to_derive_between, mark_audited};
use convengine_storage::turn_rows::TurnRows;
use convengine_storage::{self as storage, Connection, audit, commit};

use super::derive::{self, ConfigCache, DerivedRow, DerivedRows};
use super::meta;

/// Turns per transaction, small enough not to block a concurrent server for long.
const BATCH_SIZE: i64 = 64;

/// The smallest turn id.
const MIN_TURN_ID: &str = "00000000-0000-0000-0000-000000000000";

/// The end of the year 9999, the latest time both databases support.
const MAX_TIME: Millis = 253_402_300_799_999;

/// What was stored, and the turns that were not.
#[derive(Debug)]
pub struct Materialised {
    /// The number of stored audit rows.
    pub rows: u64,
    /// The number of turns whose rows were stored.
    pub turns: u64,
    /// A line for each turn whose rows cannot be derived, the oldest first.
    pub refused: Vec<String>,
}

/// Runs the command for the turns received at or after `from` and before `to`.
///
/// # Errors
/// Returns exit code 1 with a line for each turn whose rows cannot be derived, after storing all others; 2 for an invalid time; 3 when
/// the database cannot be used.
pub async fn command(settings: &Settings, from: Option<&str>, to: Option<&str>) -> Result<(), Failure> {
    let (from, to) = (parse_time("--from", from)?.unwrap_or(0), parse_time("--to", to)?.unwrap_or(MAX_TIME));
    let done = materialise(settings, from, to).await?;
    print_line!("materialised rows: {}, turns: {}", done.rows, done.turns);
    if done.refused.is_empty() { Ok(()) } else { Err(Failure::check_failed(done.refused)) }
}

/// Stores the rows of all turns.
///
/// # Errors
/// Returns exit code 3 when the database cannot be used.
pub async fn materialise_all(settings: &Settings) -> Result<Materialised, Failure> {
    materialise(settings, 0, MAX_TIME).await
}

async fn materialise(settings: &Settings, from: Millis, to: Millis) -> Result<Materialised, Failure> {
    let unusable = |it: sqlx::Error| storage::database_failure(&settings.database, &it);
    let mut connection = storage::connect_for_rows(&settings.database).await?;
    let pool = storage::open_reader_pool(&settings.database).await?;
    let (mut stored_rows, mut stored_turns) = (0, 0);
    let (mut after, mut configs, mut refused) = (MIN_TURN_ID.to_owned(), ConfigCache::default(), Vec::new());
    loop {
        let turns = list_to_derive_between(&pool, from, to, &after, BATCH_SIZE).await.map_err(unusable)?;
        let Some(last) = turns.last() else { break };
        after.clone_from(&last.turn_id);
        let mut found = Vec::new();
        for (turn, rows) in derive::derive_all(&pool, &mut configs, turns).await.map_err(unusable)? {
            match rows {
                Ok(mut rows) => {
                    if settings.turns.audit_meta
                        && let Some(config) = configs.load(&pool, &turn.config_hash).await.map_err(unusable)?
                    {
                        meta::add_meta_to_derived(&turn, &config, &mut rows.audits);
                    }
                    found.push((turn, rows));
                }
                Err(reason) => refused.push((turn.created_at, failure_line(&turn, &reason))),
            }
        }
        let (rows, turns) = store_in_transaction(&mut connection, &found).await.map_err(unusable)?;
        stored_rows += rows;
        stored_turns += turns;
    }
    refused.sort();
    Ok(Materialised { rows: stored_rows, turns: stored_turns, refused: refused.into_iter().map(|it| it.1).collect() })
}

fn parse_time(option: &str, text: Option<&str>) -> Result<Option<Millis>, Failure> {
    let Some(text) = text else { return Ok(None) };
    match clock::parse(text).filter(|it| (0..=MAX_TIME).contains(it)) {
        Some(at) => Ok(Some(at)),
        None => Err(Failure::invalid_usage(format!("invalid time '{text}' for {option}; use 2026-01-31 or 2026-01-31T09:00:00Z"))),
    }
}

fn failure_line(turn: &StoredTurn, reason: &str) -> String {
    format!("cannot derive turn {} of conversation {}: {reason}", turn.number, turn.conversation_id)
}

/// Stores the rows of turns in one transaction. Returns the number of rows and turns.
async fn store_in_transaction(connection: &mut Connection, turns: &[(StoredTurn, DerivedRows)]) -> sqlx::Result<(u64, u64)> {
    connection.begin().await?;
    match store_rows(connection, turns).await {
        Ok(written) => connection.commit().await.map(|()| written),
        Err(error) => {
            connection.rollback().await?;
            Err(error)
        }
    }
}

async fn store_rows(connection: &mut Connection, turns: &[(StoredTurn, DerivedRows)]) -> sqlx::Result<(u64, u64)> {
    let ids: Vec<&str> = turns.iter().map(|it| it.0.turn_id.as_str()).collect();
    // Another process may have stored some of them.
    let ours = mark_audited(connection, &ids).await?;
    let (mut audits, mut others, mut count) = (Rows::default(), TurnRows::default(), 0);
    for (turn, derived) in turns.iter().filter(|it| ours.contains(&it.0.turn_id)) {
        count += 1;
        derived.audits.iter().for_each(|it| add_row(&mut audits, turn, it));
        derived.calls.iter().for_each(|it| others.add_llm_call(&turn.conversation_id, it));
    }
    let log = CallLogColumns::detect(connection).await;
    commit::write(connection, &others, log).await?;
    Ok((connection.execute_rows(&audit::INSERT_WITH_IDS, &audits, None).await?, count))
}

/// Adds a row; its payload is already JSON.
fn add_row(rows: &mut Rows, turn: &StoredTurn, row: &DerivedRow) {
    rows.integer(row.audit_id);
    rows.text(&turn.conversation_id);
    rows.text(&row.stage);
    rows.text(&row.payload);
    rows.text(&clock::format_audit(row.at));
    rows.end_row();
}
