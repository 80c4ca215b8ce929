//! `cs_deployment`: the deployments of assistants.

use convengine_core::turn::Millis;

use crate::store::database::{Pool, Row, Statement, Value};

/// A channel that exposes an assistant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployment {
    /// Its id, a UUID.
    pub id: String,
    /// The assistant.
    pub assistant: String,
    /// The display name.
    pub name: String,
    /// The channel type.
    pub channel: String,
    /// The allowed web origins.
    pub origins: Vec<String>,
    /// Whether end users may see debug traces.
    pub debug: bool,
    /// Creation time.
    pub created_at: Millis,
}

/// Inserts a deployment with the hash of its token.
///
/// # Errors
/// Returns any database error.
pub async fn insert(pool: &Pool, deployment: &Deployment, token_hash: &str) -> sqlx::Result<()> {
    let sql = Statement::of(
        "insert into cs_deployment (id, assistant_id, name, channel, origins, debug, token_hash, created_at)
         values ($1, $2, $3, $4, $5, $6 <> 0, $7, $8)",
        "insert into cs_deployment (id, assistant_id, name, channel, origins, debug, token_hash, created_at)
         values ($1::uuid, $2, $3, $4, $5, $6::bigint <> 0, $7, $8)",
    );
    let origins = serde_json::json!(deployment.origins).to_string();
    let values = [
        Value::Text(&deployment.id),
        Value::Text(&deployment.assistant),
        Value::Text(&deployment.name),
        Value::Text(&deployment.channel),
        Value::Text(&origins),
        Value::Int(deployment.debug.into()),
        Value::Text(token_hash),
        Value::Int(deployment.created_at),
    ];
    pool.run(&sql, &values).await.map(|_| ())
}

/// Returns the deployment with a token hash.
///
/// # Errors
/// Returns any database error.
pub async fn of_token(pool: &Pool, token_hash: &str) -> sqlx::Result<Option<Deployment>> {
    let sql = Statement::of(
        "select id, assistant_id, name, channel, origins, debug, created_at from cs_deployment where token_hash = $1",
        "select id::text as id, assistant_id, name, channel, origins, debug, created_at from cs_deployment where token_hash = $1",
    );
    pool.first(&sql, &[Value::Text(token_hash)]).await?.as_ref().map(deployment).transpose()
}

/// Returns whether any deployment allows an origin.
///
/// # Errors
/// Returns any database error.
pub async fn is_named(pool: &Pool, origin: &str) -> sqlx::Result<bool> {
    let sql = Statement::of(
        "select d.id from cs_deployment d, json_each(d.origins) o where o.value = $1 limit 1",
        "select d.id from cs_deployment d, json_array_elements_text(d.origins::json) o where o = $1 limit 1",
    );
    Ok(pool.first(&sql, &[Value::Text(origin)]).await?.is_some())
}

fn deployment(row: &Row) -> sqlx::Result<Deployment> {
    Ok(Deployment {
        id: row.text("id")?,
        assistant: row.text("assistant_id")?,
        name: row.text("name")?,
        channel: row.text("channel")?,
        origins: serde_json::from_str(&row.text("origins")?).map_err(|it| sqlx::Error::Decode(Box::new(it)))?,
        debug: row.flag("debug")?,
        created_at: row.int("created_at")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::each;

    #[tokio::test]
    async fn a_deployment_is_found_by_the_hash_of_its_token() {
        let one = |id: &str, debug| Deployment {
            id: id.to_owned(),
            assistant: "desk".to_owned(),
            name: "the shop's page".to_owned(),
            channel: "web".to_owned(),
            origins: vec!["https://shop.example".to_owned()],
            debug,
            created_at: 7,
        };
        for database in each().await {
            let pool = &database.pool;
            let (first, second) = (one("4d7fe557-03ba-56be-b8c3-a9a5d12f0d69", true), one("4d7fe557-03ba-56be-b8c3-a9a5d12f0d70", false));
            insert(pool, &first, "aa").await.expect("a deployment");
            insert(pool, &second, "bb").await.expect("a deployment");
            let other = one("4d7fe557-03ba-56be-b8c3-a9a5d12f0d71", false);
            assert!(insert(pool, &other, "aa").await.is_err(), "tokens are unique");
            assert_eq!(of_token(pool, "aa").await.expect("an answer"), Some(first));
            assert_eq!(of_token(pool, "bb").await.expect("an answer"), Some(second));
            assert_eq!(of_token(pool, "a").await.expect("an answer"), None);
            assert!(is_named(pool, "https://shop.example").await.expect("an answer"));
            assert!(!is_named(pool, "https://shop.example.evil").await.expect("an answer"));
        }
    }
}
