//! Turn queries of event streams, and PostgreSQL notifications between server processes.

use serde_json::json;
use sqlx::postgres::{PgListener, PgPoolOptions};

use super::casts::with_casts;
use super::database::Pool;
use super::database_config::{DatabaseConfig, postgres_options};
use super::database_row::DatabaseRow;
use super::statement::{SqlValue, Statement};

/// A turn and whether it is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnState {
    /// The turn.
    pub turn_id: String,
    /// Whether it is open.
    pub is_open: bool,
}

/// Returns at most `most` turns of a conversation, starting at a turn or, without one, at the first. Empty for a turn of another
/// conversation.
pub async fn list_since(pool: &Pool, conversation: &str, turn: Option<&str>, most: i64) -> sqlx::Result<Vec<TurnState>> {
    let sql = with_casts!(
        "select turn_id::text, status from ce_turn where conversation_id = $1::uuid
           and number >= coalesce((select number from ce_turn where turn_id = $2::text::uuid and conversation_id = $1::uuid),
             case when $2::text is null then 0 end)
         order by ce_turn.number limit $3"
    );
    let values = [SqlValue::Text(conversation), SqlValue::OptionalText(turn), SqlValue::Integer(most)];
    pool.fetch_all(&sql, &values).await?.iter().map(turn_state_from_row).collect()
}

/// Returns the last two turns of a conversation, newest first. Only the newest can be open.
pub async fn list_latest(pool: &Pool, conversation: &str) -> sqlx::Result<Vec<TurnState>> {
    let sql = with_casts!("select turn_id::text, status from ce_turn where conversation_id = $1::uuid order by number desc limit 2");
    pool.fetch_all(&sql, &[SqlValue::Text(conversation)]).await?.iter().map(turn_state_from_row).collect()
}

fn turn_state_from_row(row: &DatabaseRow) -> sqlx::Result<TurnState> {
    Ok(TurnState { turn_id: row.text("turn_id")?, is_open: row.text("status")? == "open" })
}

/// Returns conversation and turn id of the last ended turn of each conversation that has one.
pub async fn list_latest_ended(pool: &Pool, conversations: &[&str]) -> sqlx::Result<Vec<(String, String)>> {
    let sql = Statement::per_dialect(
        "select value as conversation_id, (select turn_id from ce_turn where conversation_id = value and status <> 'open'
           order by number desc limit 1) as turn_id from json_each($1)",
        "select r as conversation_id, (select turn_id::text from ce_turn where conversation_id = r::uuid and status <> 'open'
           order by number desc limit 1) as turn_id from json_array_elements_text($1::json) r",
    );
    let found = pool.fetch_all(&sql, &[SqlValue::Text(&json!(conversations).to_string())]).await?;
    let row = |row: &DatabaseRow| match row.optional_text("turn_id")? {
        Some(turn) => Ok(Some((row.text("conversation_id")?, turn))),
        None => Ok(None),
    };
    found.iter().filter_map(|found| row(found).transpose()).collect()
}

/// Notifies all processes that serve the database. Does nothing on SQLite, which has one.
pub async fn notify(pool: &Pool, channel: &str, payload: &str) -> sqlx::Result<()> {
    if !pool.is_shared() {
        return Ok(());
    }
    pool.fetch_all(&Statement::portable("select pg_notify($1, $2)::text"), &[SqlValue::Text(channel), SqlValue::Text(payload)])
        .await
        .map(|_| ())
}

/// Subscribes to notifications over a dedicated connection.
pub async fn listen(config: &DatabaseConfig, channels: &[&str]) -> sqlx::Result<PgListener> {
    let pool = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
    let mut listener = PgListener::connect_with(&pool.connect_with(postgres_options(config)?).await?).await?;
    listener.listen_all(channels.iter().copied()).await?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Database, each_database};
    use super::*;

    const ID: &str = "0b7b6d0e-5a0f-4c56-8a52-0f5a0f6f4d01";
    const OTHER: &str = "0b7b6d0e-5a0f-4c56-8a52-0f5a0f6f4d02";

    fn turn(number: u32) -> String {
        format!("11111111-0000-4000-8000-{number:012}")
    }

    async fn insert_turn(database: &mut Database, conversation: &str, number: u32, status: &str) {
        let sql = Statement::per_dialect(
            "insert into ce_turn (turn_id, conversation_id, number, status, protocol, engine, config_hash, journal, state_hash, created_at,
               closed_at) values ($1, $2, $3, $4, 1, 'test', 'c', x'00', 's', 1, 1)",
            "insert into ce_turn (turn_id, conversation_id, number, status, protocol, engine, config_hash, journal, state_hash, created_at,
               closed_at) values ($1::uuid, $2::uuid, $3::integer, $4, 1, 'test', 'c', '\\x00', 's', now(), now())",
        );
        let id = turn(number);
        let values = [SqlValue::Text(&id), SqlValue::Text(conversation), SqlValue::Integer(number.into()), SqlValue::Text(status)];
        database.connection.execute(&sql, &values).await.expect("a turn");
    }

    #[tokio::test]
    async fn turns_are_listed_from_a_turn_of_the_conversation() {
        for mut database in each_database().await {
            for (number, status) in [(1, "closed"), (2, "lost"), (3, "closed"), (4, "open")] {
                insert_turn(&mut database, ID, number, status).await;
            }
            let known = |number, open| TurnState { turn_id: turn(number), is_open: open };
            let since = async |conversation, from: Option<u32>, most| {
                list_since(&database.pool, conversation, from.map(turn).as_deref(), most).await.expect("turns")
            };
            assert_eq!(since(ID, Some(2), 9).await, [known(2, false), known(3, false), known(4, true)]);
            assert_eq!(since(ID, None, 1).await, [known(1, false)]);
            assert_eq!((since(OTHER, Some(2), 9).await, since(ID, Some(7), 9).await), (Vec::new(), Vec::new()));
            let latest = list_latest(&database.pool, ID).await.expect("turns");
            assert_eq!(latest, [known(4, true), known(3, false)]);
            let newest = list_latest_ended(&database.pool, &[OTHER, ID]).await.expect("turns");
            assert_eq!(newest, [(ID.to_owned(), turn(3))]);
        }
    }

    #[tokio::test]
    async fn notifications_are_received_on_postgresql() {
        for database in each_database().await {
            if !database.pool.is_shared() {
                notify(&database.pool, "a", "no listener").await.expect("nothing");
                continue;
            }
            let mut listener = listen(&database.config, &["a", "b"]).await.expect("a connection");
            for (channel, payload) in [("b", "1"), ("c", "2"), ("a", "3 ü")] {
                notify(&database.pool, channel, payload).await.expect("an answer");
            }
            for expected in [("b", "1"), ("a", "3 ü")] {
                let notification = listener.recv().await.expect("a notification");
                assert_eq!((notification.channel(), notification.payload()), expected);
            }
        }
    }
}
