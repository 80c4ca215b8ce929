//! Scripted tasks, tools and containers that came with an imported pack.

use convengine_core::pack::StandIns;
use serde_json::Value;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

/// Loads all of them.
///
/// # Errors
/// What SQLite says.
pub async fn load(connection: &mut SqliteConnection) -> sqlx::Result<StandIns> {
    let mut stand_ins = StandIns::default();
    for row in sqlx::query("select kind, name, reply from cv_script order by kind, name").fetch_all(connection).await? {
        let reply: String = row.try_get("reply")?;
        let reply = serde_json::from_str(&reply).unwrap_or(Value::Null);
        match row.try_get::<String, _>("kind")?.as_str() {
            "task" => stand_ins.tasks.insert(row.try_get("name")?, reply),
            "tool" => stand_ins.tools.insert(row.try_get("name")?, reply),
            "container" => stand_ins.containers.insert(row.try_get("name")?, reply),
            _ => None,
        };
    }
    Ok(stand_ins)
}
