//! What a tenant knows of its credentials without asking the database: their hashes, and the origins of its deployments.
//!
//! A credential that is not known is looked up, because another process may have made it, but only so many in a second: made-up ones cost
//! no database work each.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

use crate::storage::Pool;
use crate::storage::assistant::deployment;
use crate::storage::credential;

/// How many unknown credentials in a row are looked up; from then on one a second.
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
#[derive(Debug)]
pub struct KnownCredentials {
    recheck: Duration,
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
    /// When the hashes were read; absent if they have to be read again.
    read_at: Option<Instant>,
}

impl KnownCredentials {
    /// Reads the credentials of a tenant. They are read again for unknown ones, once older than `recheck`.
    ///
    /// # Errors
    /// Any database error.
    pub async fn read(readers: &Pool, recheck: Duration) -> sqlx::Result<KnownCredentials> {
        let credentials = KnownCredentials {
            recheck,
            known: Mutex::default(),
            credential_lookups: LookupLimit::default(),
            origin_lookups: LookupLimit::default(),
        };
        credentials.read_hashes(readers).await?;
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

    /// Whether a credential may be stored, so that it has to be looked up. With `may_look_up` unknown ones may be, too.
    ///
    /// # Errors
    /// Any database error.
    pub async fn may_exist(&self, readers: &Pool, hash: &str, may_look_up: bool) -> sqlx::Result<bool> {
        if self.contains(hash) {
            return Ok(true);
        }
        if !may_look_up || !self.credential_lookups.allows_another() {
            return Ok(false);
        }
        let is_recent = self.lock().read_at.is_some_and(|it| it.elapsed() < self.recheck);
        if is_recent {
            return Ok(true);
        }
        self.read_hashes(readers).await?;
        Ok(self.contains(hash))
    }

    /// Records what a lookup has found: an unknown credential is one of another process, which may have made more.
    pub fn record_lookup(&self, hash: &str, is_stored: bool) {
        let mut known = self.lock();
        if !is_stored {
            known.hashes.remove(hash);
        } else if known.hashes.insert(hash.to_owned()) {
            known.read_at = None;
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
    ///
    /// # Errors
    /// Any database error.
    pub async fn look_up_origin(&self, readers: &Pool, origin: &str) -> sqlx::Result<bool> {
        let is_allowed = self.origin_lookups.allows_another() && deployment::is_origin_allowed(readers, origin).await?;
        if is_allowed {
            self.lock().origins.insert(origin.to_owned());
        }
        Ok(is_allowed)
    }

    async fn read_hashes(&self, readers: &Pool) -> sqlx::Result<()> {
        let started = Instant::now();
        self.lock().added.clear();
        let hashes = credential::list_hashes(readers).await?;
        let mut known = self.lock();
        // One that is made meanwhile may be missing in what was read.
        known.hashes = hashes.into_iter().chain(known.added.iter().cloned()).collect();
        known.read_at = Some(started);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::chain::token::{TokenWait, insert};
    use crate::storage::testing::each_database;

    #[tokio::test]
    async fn unknown_credentials_are_looked_up_so_often_and_known_ones_always() {
        for database in each_database().await {
            let pool = &database.pool;
            let wait = TokenWait { run: "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69".to_owned(), path: "s".to_owned(), attempt: 1 };
            insert(pool, "aa", &wait, 1).await.expect("a token");
            let known = KnownCredentials::read(pool, Duration::from_secs(3600)).await.expect("hashes");
            insert(pool, "bb", &wait, 1).await.expect("a token of another process");
            let may_exist = async |hash: &str, may_look_up| known.may_exist(pool, hash, may_look_up).await.expect("an answer");
            assert!(may_exist("aa", false).await && !may_exist("bb", false).await && may_exist("bb", true).await);
            known.record_lookup("bb", true);
            assert!(known.contains("bb"));
            assert!(!may_exist("made up", true).await, "one of another process: they are read again");
            let mut lookups = 0;
            for number in 0..200 {
                lookups += u32::from(may_exist(&format!("made up {number}"), true).await);
            }
            assert!((1..=LOOKUP_BURST.get() + 5).contains(&lookups), "{lookups} lookups");
            known.record_lookup("aa", false);
            assert!(!known.contains("aa") && may_exist("bb", true).await);
            known.add("cc");
            assert!(may_exist("cc", false).await);
        }
    }

    #[tokio::test]
    async fn unknown_origins_are_looked_up_so_often() {
        for database in each_database().await {
            let known = KnownCredentials::read(&database.pool, Duration::from_secs(3600)).await.expect("hashes");
            for _ in 0..200 {
                assert!(!known.look_up_origin(&database.pool, "https://evil.example").await.expect("an answer"));
            }
            assert!(!known.origin_lookups.allows_another());
            known.add_origins(&["https://shop.example".to_owned()]);
            assert!(known.contains_origin("https://shop.example") && !known.contains_origin("https://evil.example"));
        }
    }
}
