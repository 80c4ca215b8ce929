//! `cv_script`: scripted replies of tasks, tools, containers and HTTP services from imported packs.

use convengine_core::pack::Fakes;
use convengine_core::turn::Map;
use serde_json::Value;

use super::database::Connection;
use super::schema;
use super::statement::{SqlValue as Sql, Statement};

/// Loads all scripted replies; empty when the table does not exist.
pub async fn load(connection: &mut Connection) -> sqlx::Result<Fakes> {
    let mut fakes = Fakes::default();
    if !schema::list_tables(connection).await?.contains("cv_script") {
        return Ok(fakes);
    }
    let sql = Statement::portable("select kind, name, reply from cv_script order by kind, name");
    for row in connection.fetch_all(&sql, &[]).await? {
        let reply: Value = serde_json::from_str(&row.text("reply")?).map_err(decode_error)?;
        match row.text("kind")?.as_str() {
            "task" => fakes.tasks.insert(row.text("name")?, reply),
            "tool" => fakes.tools.insert(row.text("name")?, reply),
            "container" => fakes.containers.insert(row.text("name")?, reply),
            "http" => {
                fakes.http = serde_json::from_value(reply).map_err(decode_error)?;
                None
            }
            _ => None,
        };
    }
    Ok(fakes)
}

/// Replaces the replies of one kind: `task`, `tool`, `container` or `http`.
pub async fn replace(connection: &mut Connection, kind: &str, replies: &Map) -> sqlx::Result<()> {
    delete(connection, kind).await?;
    for (name, reply) in replies {
        insert(connection, kind, name, reply).await?;
    }
    Ok(())
}

fn decode_error(error: serde_json::Error) -> sqlx::Error {
    sqlx::Error::Decode(error.into())
}

async fn delete(connection: &mut Connection, kind: &str) -> sqlx::Result<()> {
    connection.execute(&Statement::portable("delete from cv_script where kind = $1"), &[Sql::Text(kind)]).await.map(|_| ())
}

async fn insert(connection: &mut Connection, kind: &str, name: &str, reply: &Value) -> sqlx::Result<()> {
    let sql = Statement::portable("insert into cv_script (kind, name, reply) values ($1, $2, $3)");
    connection.execute(&sql, &[Sql::Text(kind), Sql::Text(name), Sql::Text(&reply.to_string())]).await.map(|_| ())
}
