//! `cs_deployment_token`: the tokens of deployments, as hashes.

use convengine_core::turn::Millis;

use crate::casts::with_casts;
use crate::database::Pool;
use crate::database_row::DatabaseRow;
use crate::statement::{SqlValue, Statement};

/// A token without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeploymentToken {
    /// Its id, a UUID.
    pub id: String,
    /// The deployment.
    pub deployment: String,
    /// Creation time.
    pub created_at: Millis,
    /// The last time a request used it, to the minute.
    pub last_used_at: Option<Millis>,
}

impl DeploymentToken {
    pub(super) fn from_row(row: &DatabaseRow) -> sqlx::Result<DeploymentToken> {
        Ok(DeploymentToken {
            id: row.text("token_id")?,
            deployment: row.text("deployment_id")?,
            created_at: row.integer("token_created_at")?,
            last_used_at: row.optional_integer("last_used_at")?,
        })
    }
}

/// Inserts a token.
pub async fn insert(pool: &Pool, id: &str, deployment: &str, token_hash: &str, at: Millis) -> sqlx::Result<()> {
    let sql =
        with_casts!("insert into cs_deployment_token (id, deployment_id, token_hash, created_at) values ($1::uuid, $2::uuid, $3, $4)");
    let values = [SqlValue::Text(id), SqlValue::Text(deployment), SqlValue::Text(token_hash), SqlValue::Integer(at)];
    pool.execute(&sql, &values).await.map(|_| ())
}

/// Adds the token of a deployment that a server of an earlier version has made, which knows one token for each. Returns whether it did.
pub async fn adopt(pool: &Pool, token_hash: &str) -> sqlx::Result<bool> {
    let sql = Statement::portable(
        "insert into cs_deployment_token (id, deployment_id, token_hash, created_at)
         select d.id, d.id, d.token_hash, d.created_at from cs_deployment d
         where d.token_hash = $1 and not exists (select 1 from cs_deployment_token t where t.deployment_id = d.id)
         on conflict do nothing",
    );
    Ok(pool.execute(&sql, &[SqlValue::Text(token_hash)]).await? > 0)
}

/// Returns the active tokens of all deployments, oldest first.
pub async fn list_active(pool: &Pool) -> sqlx::Result<Vec<DeploymentToken>> {
    let sql = with_casts!(
        "select id::text as token_id, deployment_id::text as deployment_id, created_at as token_created_at, last_used_at
         from cs_deployment_token where revoked_at is null order by created_at, id"
    );
    pool.fetch_all(&sql, &[]).await?.iter().map(DeploymentToken::from_row).collect()
}

/// Returns whether a token exists and is not revoked.
pub async fn is_active(pool: &Pool, id: &str) -> sqlx::Result<bool> {
    let sql = with_casts!("select id::text as id from cs_deployment_token where id = $1::uuid and revoked_at is null");
    Ok(pool.fetch_optional(&sql, &[SqlValue::Text(id)]).await?.is_some())
}

/// Revokes a token of a deployment. Returns whether it was active.
pub async fn revoke(pool: &Pool, deployment: &str, id: &str, at: Millis) -> sqlx::Result<bool> {
    // Servers of an earlier version read the first token from the deployment.
    let sql = with_casts!(
        "update cs_deployment set token_hash = 'revoked ' || id where id = $1::uuid and token_hash =
           (select token_hash from cs_deployment_token where id = $2::uuid and deployment_id = $1::uuid)"
    );
    pool.execute(&sql, &[SqlValue::Text(deployment), SqlValue::Text(id)]).await?;
    let sql = with_casts!(
        "update cs_deployment_token set revoked_at = $3 where id = $2::uuid and deployment_id = $1::uuid and revoked_at is null"
    );
    Ok(pool.execute(&sql, &[SqlValue::Text(deployment), SqlValue::Text(id), SqlValue::Integer(at)]).await? > 0)
}

/// Records that a token was used.
pub async fn record_use(pool: &Pool, id: &str, at: Millis) -> sqlx::Result<()> {
    let sql = with_casts!("update cs_deployment_token set last_used_at = $2 where id = $1::uuid");
    pool.execute(&sql, &[SqlValue::Text(id), SqlValue::Integer(at)]).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assistant::ProgramKey;
    use crate::assistant::deployment::{self, Deployment, find_by_token_hash};
    use crate::testing::each_database;

    #[tokio::test]
    async fn a_deployment_has_several_tokens_until_they_are_revoked() {
        const SECOND: &str = "4d7fe557-03ba-56be-b8c3-a9a5d12f0d70";
        for database in each_database().await {
            let pool = &database.pool;
            let shop = Deployment {
                id: "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69".to_owned(),
                program: ProgramKey::parse("desk"),
                name: "shop".to_owned(),
                channel: "web".to_owned(),
                origins: Vec::new(),
                debug: false,
                created_at: 1,
            };
            deployment::insert(pool, &shop, "aa").await.expect("a deployment");
            insert(pool, SECOND, &shop.id, "bb", 2).await.expect("a token");
            assert!(insert(pool, &shop.id, &shop.id, "bb", 2).await.is_err(), "tokens are unique");
            record_use(pool, SECOND, 9).await.expect("recorded");
            let found = find_by_token_hash(pool, "bb").await.expect("an answer").expect("a token");
            assert_eq!((found.0.id.as_str(), found.1.id.as_str(), found.1.last_used_at), (shop.id.as_str(), SECOND, Some(9)));
            let ids = async || list_active(pool).await.expect("tokens").into_iter().map(|token| token.id).collect::<Vec<_>>();
            assert_eq!(ids().await, [shop.id.as_str(), SECOND]);
            assert!(!revoke(pool, SECOND, &shop.id, 3).await.expect("an answer"), "of another deployment");
            let active = async |id| is_active(pool, id).await.expect("an answer");
            assert!(active(&shop.id).await && active(SECOND).await);
            assert!(revoke(pool, &shop.id, &shop.id, 3).await.expect("an answer"));
            assert!(!active(&shop.id).await && active(SECOND).await);
            assert!(!revoke(pool, &shop.id, &shop.id, 4).await.expect("an answer"), "already revoked");
            assert!(find_by_token_hash(pool, "aa").await.expect("an answer").is_none());
            assert!(find_by_token_hash(pool, "bb").await.expect("an answer").is_some(), "the other one still works");
            assert_eq!(ids().await, [SECOND]);
            let old = Statement::portable("select name from cs_deployment where token_hash = 'aa'");
            assert!(pool.fetch_all(&old, &[]).await.expect("rows").is_empty(), "revoked for servers of an earlier version, too");
        }
    }
}
