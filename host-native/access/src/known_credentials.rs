//! What a tenant knows of its credentials without asking the database: their hashes, and the origins of its deployments.
//!
//! What is not known may have been made by another process, so all of it is read again, but only so often in a second: made-up ones cost no
//! database work each, and keep none that another process has made from being known soon.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

use convengine_storage::Pool;
use convengine_storage::assistant::deployment;
use convengine_storage::credential;

/// How often in a row what is stored is read again; from then on once a second.
const LOOKUP_BURST: NonZeroU32 = match NonZeroU32::new(20) {
    Some(it) => it,
    None => NonZeroU32::MIN,
};

/// A limiter of lookups of what may be made up.
#[derive(Debug)]
pub struct LookupLimit(DefaultDirectRateLimiter);

impl Default for LookupLimit {
    fn default() -> LookupLimit {
        LookupLimit(RateLimiter::direct(Quota::per_second(NonZeroU32::MIN).allow_burst(LOOKUP_BURST)))
    }
}

impl LookupLimit {
    /// Whether another lookup is allowed, which is counted.
    pub fn allows_another(&self) -> bool {
        self.0.check().is_ok()
    }
}

/// The known credentials of a tenant.
#[derive(Debug, Default)]
pub struct KnownCredentials {
    known: Mutex<Known>,
    credential_lookups: LookupLimit,
    origin_lookups: LookupLimit,
}

#[derive(Debug, Default)]
struct Known {
    hashes: BTreeSet<String>,
    /// Those that this process has made since the hashes were last read.
    added: Vec<String>,
    origins: BTreeSet<String>,
}

impl KnownCredentials {
    /// Reads the credentials of a tenant and the origins of its deployments.
    pub async fn read(readers: &Pool) -> sqlx::Result<KnownCredentials> {
        let credentials = KnownCredentials::default();
        credentials.read_hashes(readers).await?;
        credentials.read_origins(readers).await?;
        Ok(credentials)
    }

    /// Adds a credential that this process has made, by its hash.
    pub fn add(&self, hash: &str) {
        let mut known = self.lock();
        known.hashes.insert(hash.to_owned());
        known.added.push(hash.to_owned());
    }

    /// Whether a credential is known, by its hash.
    pub fn contains(&self, hash: &str) -> bool {
        self.lock().hashes.contains(hash)
    }

    /// Whether a credential is stored, so that it has to be looked up. With `may_look_up` one that is not known may be of another process.
    pub async fn may_exist(&self, readers: &Pool, hash: &str, may_look_up: bool) -> sqlx::Result<bool> {
        if !self.contains(hash) && may_look_up && self.credential_lookups.allows_another() {
            self.read_hashes(readers).await?;
        }
        Ok(self.contains(hash))
    }

    /// Records what a lookup has found.
    pub fn record_lookup(&self, hash: &str, is_stored: bool) {
        if !is_stored {
            self.lock().hashes.remove(hash);
        }
    }

    /// Adds origins of a deployment that this process has made.
    pub fn add_origins(&self, origins: &[String]) {
        self.lock().origins.extend(origins.iter().cloned());
    }

    /// Whether a deployment is known to allow an origin. Deployments are never deleted.
    pub fn contains_origin(&self, origin: &str) -> bool {
        self.lock().origins.contains(origin)
    }

    /// Whether a deployment allows an origin that is not known.
    pub async fn look_up_origin(&self, readers: &Pool, origin: &str) -> sqlx::Result<bool> {
        if self.origin_lookups.allows_another() {
            self.read_origins(readers).await?;
        }
        Ok(self.contains_origin(origin))
    }

    async fn read_hashes(&self, readers: &Pool) -> sqlx::Result<()> {
        self.lock().added.clear();
        let hashes = credential::list_hashes(readers).await?;
        let mut known = self.lock();
        // One that is made meanwhile may be missing in what was read.
        known.hashes = hashes.into_iter().chain(known.added.iter().cloned()).collect();
        Ok(())
    }

    async fn read_origins(&self, readers: &Pool) -> sqlx::Result<()> {
        let deployments = deployment::list(readers).await?;
        self.lock().origins.extend(deployments.into_iter().flat_map(|it| it.origins));
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convengine_storage::assistant::ProgramKey;
    use convengine_storage::assistant::deployment::{Deployment, insert as insert_deployment};
    use convengine_storage::chain::token::{TokenWait, insert};
    use convengine_storage::testing::each_database;

    #[tokio::test]
    async fn unknown_credentials_are_looked_up_so_often_and_known_ones_always() {
        for database in each_database().await {
            let pool = &database.pool;
            let wait = TokenWait { run: "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69".to_owned(), path: "s".to_owned(), attempt: 1 };
            insert(pool, "aa", &wait, 1).await.expect("a token");
            let known = KnownCredentials::read(pool).await.expect("hashes");
            insert(pool, "bb", &wait, 1).await.expect("a token of another process");
            let may_exist = async |hash: &str, may_look_up| known.may_exist(pool, hash, may_look_up).await.expect("an answer");
            assert!(may_exist("aa", false).await && !may_exist("bb", false).await && may_exist("bb", true).await);
            for number in 0..200 {
                assert!(!may_exist(&format!("made up {number}"), true).await);
            }
            assert!(!known.credential_lookups.allows_another());
            insert(pool, "cc", &wait, 1).await.expect("another one");
            let begun = std::time::Instant::now();
            while !may_exist("cc", true).await {
                assert!(!may_exist("made up", true).await && begun.elapsed().as_secs() < 20, "made-up ones do not hide it for long");
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            known.record_lookup("aa", false);
            assert!(!known.contains("aa") && may_exist("bb", true).await);
            known.add("dd");
            assert!(may_exist("dd", false).await);
        }
    }

    #[tokio::test]
    async fn unknown_origins_are_looked_up_so_often() {
        for database in each_database().await {
            let pool = &database.pool;
            let deployment = |id: &str, origin: &str| Deployment {
                id: id.to_owned(),
                program: ProgramKey::parse("desk"),
                name: "shop".to_owned(),
                channel: "web".to_owned(),
                origins: vec![origin.to_owned()],
                debug: false,
                created_at: 1,
            };
            let first = deployment("4d7fe557-03ba-56be-b8c3-a9a5d12f0d69", "https://first.example");
            insert_deployment(pool, &first, "aa").await.expect("a deployment");
            let known = KnownCredentials::read(pool).await.expect("hashes");
            assert!(known.contains_origin("https://first.example"), "those of the start are known");
            let later = deployment("4d7fe557-03ba-56be-b8c3-a9a5d12f0d70", "https://later.example");
            insert_deployment(pool, &later, "bb").await.expect("a deployment of another process");
            assert!(known.look_up_origin(pool, "https://later.example").await.expect("an answer"));
            for _ in 0..200 {
                assert!(!known.look_up_origin(pool, "https://evil.example").await.expect("an answer"));
            }
            assert!(!known.origin_lookups.allows_another());
            known.add_origins(&["https://shop.example".to_owned()]);
            assert!(known.contains_origin("https://shop.example") && !known.contains_origin("https://evil.example"));
        }
    }
}
