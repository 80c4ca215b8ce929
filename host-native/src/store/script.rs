//! Scripted tasks, tools, containers and services that came with an imported pack.

use convengine_core::pack::StandIns;
use convengine_core::turn::Map;
use serde_json::Value;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::schema;

/// Loads all of them; without the table there are none.
///
/// # Errors
/// What SQLite says.
pub async fn load(connection: &mut SqliteConnection) -> sqlx::Result<StandIns> {
    let mut stand_ins = StandIns::default();
    if !schema::tables(connection).await?.contains("cv_script") {
        return Ok(stand_ins);
    }
    for row in sqlx::query("select kind, name, reply from cv_script order by kind, name").fetch_all(connection).await? {
        let reply: String = row.try_get("reply")?;
        let reply: Value = serde_json::from_str(&reply).unwrap_or(Value::Null);
        match row.try_get::<String, _>("kind")?.as_str() {
            "task" => stand_ins.tasks.insert(row.try_get("name")?, reply),
            "tool" => stand_ins.tools.insert(row.try_get("name")?, reply),
            "container" => stand_ins.containers.insert(row.try_get("name")?, reply),
            "http" => {
                stand_ins.http = serde_json::from_value(reply).unwrap_or_default();
                None
            }
            _ => None,
        };
    }
    Ok(stand_ins)
}

/// Replaces those of one kind: `task`, `tool`, `container` or `http`.
///
/// # Errors
/// What SQLite says.
pub async fn replace(connection: &mut SqliteConnection, kind: &str, replies: &Map) -> sqlx::Result<()> {
    delete(connection, kind).await?;
    for (name, reply) in replies {
        insert(connection, kind, name, reply).await?;
    }
    Ok(())
}

async fn delete(connection: &mut SqliteConnection, kind: &str) -> sqlx::Result<()> {
    sqlx::query("delete from cv_script where kind = $1").bind(kind).execute(connection).await.map(|_| ())
}

async fn insert(connection: &mut SqliteConnection, kind: &str, name: &str, reply: &Value) -> sqlx::Result<()> {
    let sql = "insert into cv_script (kind, name, reply) values ($1, $2, $3)";
    sqlx::query(sql).bind(kind).bind(name).bind(reply.to_string()).execute(connection).await.map(|_| ())
}
