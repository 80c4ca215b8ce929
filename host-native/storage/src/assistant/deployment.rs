//! `cs_deployment`: the deployments of assistants.

use convengine_core::turn::Millis;

use crate::casts::with_casts;
use crate::database::Pool;
use crate::database_row::DatabaseRow;
use crate::statement::SqlValue;

use super::deployment_token::{self, DeploymentToken};
use super::program_key::ProgramKey;

/// A channel that exposes an assistant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployment {
    /// Its id, a UUID.
    pub id: String,
    /// The assistant or workflow.
    pub program: ProgramKey,
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

/// Inserts a deployment with the hash of its first token, which has the id of the deployment.
pub async fn insert(pool: &Pool, deployment: &Deployment, token_hash: &str) -> sqlx::Result<()> {
    let sql = with_casts!(
        "insert into cs_deployment (id, assistant_id, name, channel, origins, debug, token_hash, created_at)
         values ($1::uuid, $2, $3, $4, $5, $6::bigint <> 0, $7, $8)"
    );
    let origins = serde_json::json!(deployment.origins).to_string();
    let values = [
        SqlValue::Text(&deployment.id),
        SqlValue::Text(deployment.program.as_str()),
        SqlValue::Text(&deployment.name),
        SqlValue::Text(&deployment.channel),
        SqlValue::Text(&origins),
        SqlValue::Integer(deployment.debug.into()),
        SqlValue::Text(token_hash),
        SqlValue::Integer(deployment.created_at),
    ];
    pool.execute(&sql, &values).await?;
    deployment_token::insert(pool, &deployment.id, &deployment.id, token_hash, deployment.created_at).await
}

/// Returns the deployment with an active token of this hash, and that token.
pub async fn find_by_token_hash(pool: &Pool, token_hash: &str) -> sqlx::Result<Option<(Deployment, DeploymentToken)>> {
    let sql = with_casts!(
        "select d.id::text as id, d.assistant_id, d.name, d.channel, d.origins, d.debug, d.created_at, t.id::text as token_id,
           t.deployment_id::text as deployment_id, t.created_at as token_created_at, t.last_used_at
         from cs_deployment_token t join cs_deployment d on d.id = t.deployment_id where t.token_hash = $1 and t.revoked_at is null"
    );
    let mut row = pool.fetch_optional(&sql, &[SqlValue::Text(token_hash)]).await?;
    if row.is_none() && pool.is_shared() && deployment_token::adopt(pool, token_hash).await? {
        row = pool.fetch_optional(&sql, &[SqlValue::Text(token_hash)]).await?;
    }
    row.as_ref().map(|row| Ok((deployment_from_row(row)?, DeploymentToken::from_row(row)?))).transpose()
}

/// Returns whether a deployment exists, and its document.
pub async fn find_program(pool: &Pool, id: &str) -> sqlx::Result<Option<ProgramKey>> {
    let sql = with_casts!("select assistant_id from cs_deployment where id = $1::uuid");
    let row = pool.fetch_optional(&sql, &[SqlValue::Text(id)]).await?;
    row.map(|it| it.text("assistant_id")).transpose().map(|key| key.as_deref().map(ProgramKey::parse))
}

/// Returns all deployments, oldest first.
pub async fn list(pool: &Pool) -> sqlx::Result<Vec<Deployment>> {
    let sql = with_casts!(
        "select id::text as id, assistant_id, name, channel, origins, debug, created_at from cs_deployment order by created_at, id"
    );
    pool.fetch_all(&sql, &[]).await?.iter().map(deployment_from_row).collect()
}

/// Returns the deployments that can be used, oldest first: those whose tokens are not all revoked.
pub async fn list_open(pool: &Pool) -> sqlx::Result<Vec<Deployment>> {
    // A server of an earlier version that shares the database makes deployments without rows of tokens.
    let sql = with_casts!(
        "select d.id::text as id, d.assistant_id, d.name, d.channel, d.origins, d.debug, d.created_at from cs_deployment d
         where exists (select 1 from cs_deployment_token t where t.deployment_id = d.id and t.revoked_at is null)
            or not exists (select 1 from cs_deployment_token t where t.deployment_id = d.id)
         order by d.created_at, d.id"
    );
    pool.fetch_all(&sql, &[]).await?.iter().map(deployment_from_row).collect()
}

fn deployment_from_row(row: &DatabaseRow) -> sqlx::Result<Deployment> {
    Ok(Deployment {
        id: row.text("id")?,
        program: ProgramKey::parse(&row.text("assistant_id")?),
        name: row.text("name")?,
        channel: row.text("channel")?,
        origins: serde_json::from_str(&row.text("origins")?).map_err(|error| sqlx::Error::Decode(Box::new(error)))?,
        debug: row.boolean("debug")?,
        created_at: row.integer("created_at")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api_key::has_credentials;
    use crate::statement::Statement;
    use crate::testing::each_database;

    #[tokio::test]
    async fn a_deployment_is_found_by_the_hash_of_its_token() {
        let one = |id: &str, debug| Deployment {
            id: id.to_owned(),
            program: ProgramKey::parse("workflow:desk"),
            name: "the shop's page".to_owned(),
            channel: "web".to_owned(),
            origins: vec!["https://shop.example".to_owned()],
            debug,
            created_at: 7,
        };
        for database in each_database().await {
            let pool = &database.pool;
            let (first, second) = (one("4d7fe557-03ba-56be-b8c3-a9a5d12f0d69", true), one("4d7fe557-03ba-56be-b8c3-a9a5d12f0d70", false));
            insert(pool, &first, "aa").await.expect("a deployment");
            assert!(has_credentials(pool).await.expect("an answer"));
            insert(pool, &second, "bb").await.expect("a deployment");
            let other = one("4d7fe557-03ba-56be-b8c3-a9a5d12f0d71", false);
            assert!(insert(pool, &other, "aa").await.is_err(), "tokens are unique");
            let find = async |hash| find_by_token_hash(pool, hash).await.expect("an answer").map(|found| found.0);
            assert_eq!((find("aa").await, find("a").await), (Some(first.clone()), None));
            assert_eq!(find("bb").await, Some(second.clone()));
            let forget = Statement::portable("delete from cs_deployment_token where token_hash = 'bb'");
            pool.execute(&forget, &[]).await.expect("as an earlier version has made it");
            assert_eq!(find("bb").await, Some(second.clone()).filter(|_| pool.is_shared()), "only a shared database has such servers");
            assert_eq!(list(pool).await.expect("deployments")[..2], [first.clone(), second.clone()]);
            assert_eq!(list_open(pool).await.expect("deployments")[..2], [first.clone(), second.clone()]);
            let revoke = Statement::portable("update cs_deployment_token set revoked_at = 9 where token_hash = 'aa'");
            pool.execute(&revoke, &[]).await.expect("a revocation");
            let open = list_open(pool).await.expect("deployments");
            assert!(open.contains(&second) && !open.contains(&first), "its only token is revoked: {open:?}");
            assert_eq!(find_program(pool, &first.id).await.expect("an answer"), Some(first.program));
            assert_eq!(find_program(pool, "4d7fe557-03ba-56be-b8c3-a9a5d12f0d79").await.expect("an answer"), None);
        }
    }
}
