//! The hashes of all credentials that are stored: API keys, tokens of deployments and resume tokens of runs.

use super::database::Pool;
use super::statement::Statement;

/// Returns the hashes of all active credentials, as SHA-256 in hexadecimal digits. A key with an older hash is listed by its id.
pub async fn list_hashes(pool: &Pool) -> sqlx::Result<Vec<String>> {
    // Servers of an earlier version keep the first token of a deployment in its row.
    let sql = Statement::portable(
        "select case when hash like 'sha256:%' then substr(hash, 8) else key_id end as hash from cv_api_key where revoked_at is null
         union all select token_hash as hash from cs_deployment_token where revoked_at is null
         union all select token_hash as hash from cs_deployment
         union all select token_hash as hash from cs_resume_token",
    );
    pool.fetch_all(&sql, &[]).await?.iter().map(|it| it.text("hash")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api_key::{self, ApiKey};
    use crate::assistant::ProgramKey;
    use crate::assistant::deployment::{self, Deployment};
    use crate::assistant::deployment_token;
    use crate::testing::each_database;

    #[tokio::test]
    async fn active_credentials_of_every_kind_are_listed() {
        const DEPLOYMENT: &str = "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69";
        for database in each_database().await {
            let pool = &database.pool;
            let key = |id: &str, hash: &str| ApiKey {
                key_id: id.to_owned(),
                name: "n".to_owned(),
                hash: hash.to_owned(),
                scopes: "read".to_owned(),
                owner_claim: false,
                created_at: 1,
                expires_at: None,
                revoked_at: None,
                last_used_at: None,
            };
            for (id, hash) in [("new", "sha256:aa"), ("old", "$argon2id$x"), ("gone", "sha256:bb")] {
                api_key::insert(pool, &key(id, hash)).await.expect("a key");
            }
            assert!(api_key::revoke(pool, "gone", 2).await.expect("an answer"));
            let shop = Deployment {
                id: DEPLOYMENT.to_owned(),
                program: ProgramKey::parse("desk"),
                name: "shop".to_owned(),
                channel: "web".to_owned(),
                origins: Vec::new(),
                debug: false,
                created_at: 1,
            };
            deployment::insert(pool, &shop, "cc").await.expect("a deployment");
            let listed = async || {
                let mut hashes = list_hashes(pool).await.expect("hashes");
                hashes.sort();
                hashes.dedup();
                hashes
            };
            assert_eq!(listed().await, ["aa", "cc", "old"]);
            assert!(deployment_token::revoke(pool, DEPLOYMENT, DEPLOYMENT, 3).await.expect("an answer"));
            assert!(!listed().await.contains(&"cc".to_owned()));
        }
    }
}
