//! Whether a server without `convengine.security.mode` is still open to its own machine (docs/guide/access.md).
//!
//! It is open while no tenant has an API key or a deployment. Both may be created by another process, so an open server looks them up. A
//! server that has closed stays closed until it is restarted. A tenant whose database does not answer closes no other one: none of its own
//! callers is served meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex as StdMutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::Mutex;
use tokio::time::timeout;

use convengine_storage::Pool;
use convengine_storage::api_key::has_credentials;

/// How long an open server relies on the last lookup.
const RECHECK_INTERVAL: Duration = Duration::from_millis(50);

/// How long a lookup may take when several tenants are asked.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(1);

/// Remembers whether a server has closed.
#[derive(Debug, Default)]
pub struct Openness {
    closed: AtomicBool,
    /// When the last lookup without result began.
    checked_at: StdMutex<Option<Instant>>,
    /// Concurrent requests wait for the same lookup.
    lookup: Mutex<()>,
}

impl Openness {
    /// Creates the state of a server that closes for other reasons too, such as an administrator's token.
    pub fn new(is_closed: bool) -> Openness {
        Openness { closed: AtomicBool::new(is_closed), ..Openness::default() }
    }

    /// Looks again at the next request: this process may have created a deployment.
    pub fn forget_lookup(&self) {
        *self.checked_at.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether the server is closed. `list_tenants` is called when they have to be asked; `report_failure` gets the name of each whose database
    /// did not answer, if another one did.
    ///
    /// # Errors
    /// Any database error if no tenant answered. It is then not known whether the server is closed.
    pub async fn is_closed<'p, N>(
        &self,
        list_tenants: impl FnOnce() -> Vec<(N, &'p Pool)>,
        report_failure: impl Fn(N),
    ) -> sqlx::Result<bool> {
        if self.closed.load(Ordering::Acquire) {
            return Ok(true);
        }
        if self.is_checked() {
            return Ok(false);
        }
        let _lookup = self.lookup.lock().await;
        if self.closed.load(Ordering::Acquire) || self.is_checked() {
            return Ok(self.closed.load(Ordering::Acquire));
        }
        let started = Instant::now();
        let (names, tenants): (Vec<N>, Vec<&Pool>) = list_tenants().into_iter().unzip();
        let mut answers = join_all(tenants.iter().map(|tenant| look_up(tenant, tenants.len() > 1))).await;
        if answers.iter().any(|answer| matches!(answer, Ok(true))) {
            self.closed.store(true, Ordering::Release);
            tracing::warn!("an API key or a deployment exists now: from now on, requests need keys or tokens");
            return Ok(true);
        }
        if answers.iter().all(Result::is_err)
            && let Some(Err(error)) = answers.pop()
        {
            return Err(error);
        }
        names.into_iter().zip(&answers).filter(|it| it.1.is_err()).for_each(|it| report_failure(it.0));
        *self.checked_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
        Ok(false)
    }

    fn is_checked(&self) -> bool {
        let checked_at = *self.checked_at.lock().unwrap_or_else(PoisonError::into_inner);
        checked_at.is_some_and(|instant| instant.elapsed() < RECHECK_INTERVAL)
    }
}

/// Whether a tenant has credentials; one of several has only a second to answer.
async fn look_up(tenant: &Pool, is_one_of_several: bool) -> sqlx::Result<bool> {
    if is_one_of_several {
        return timeout(LOOKUP_TIMEOUT, has_credentials(tenant)).await.unwrap_or(Err(sqlx::Error::PoolTimedOut));
    }
    has_credentials(tenant).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use convengine_storage::api_key::{ApiKey, insert, revoke};
    use convengine_storage::testing::each_database;

    #[tokio::test]
    async fn a_key_of_any_tenant_closes_for_good() {
        let (tenants, others) = (each_database().await, each_database().await);
        for (tenant, other) in tenants.iter().zip(&others) {
            let openness = Openness::default();
            let pools = || vec![((), &other.pool), ((), &tenant.pool)];
            assert!(!openness.is_closed(pools, |()| {}).await.expect("an answer"));
            let key = ApiKey {
                key_id: "a".to_owned(),
                name: "n".to_owned(),
                hash: "h".to_owned(),
                scopes: "read".to_owned(),
                owner_claim: false,
                created_at: 1,
                expires_at: None,
                revoked_at: None,
                last_used_at: None,
            };
            insert(&tenant.pool, &key).await.expect("a key");
            openness.forget_lookup();
            assert!(openness.is_closed(pools, |()| {}).await.expect("an answer"));
            revoke(&tenant.pool, "a", 2).await.expect("an answer");
            assert!(openness.is_closed(Vec::new, |()| {}).await.expect("an answer"), "closed until a restart");
            assert!(Openness::default().is_closed(pools, |()| {}).await.expect("an answer"), "a revoked key counts");
            assert!(Openness::new(true).is_closed(|| vec![((), &other.pool)], |()| {}).await.expect("an answer"));
        }
    }

    #[tokio::test]
    async fn a_database_that_does_not_answer_closes_no_other_tenant() {
        let (tenants, others) = (each_database().await, each_database().await);
        for (tenant, lost) in tenants.iter().zip(&others) {
            lost.pool.close().await;
            let (openness, failed) = (Openness::default(), StdMutex::new(Vec::new()));
            let report = |tenant: &'static str| failed.lock().expect("a list").push(tenant);
            let both = || vec![("lost", &lost.pool), ("other", &tenant.pool)];
            assert!(!openness.is_closed(both, report).await.expect("an answer"));
            assert_eq!(failed.lock().expect("a list").as_slice(), ["lost"]);
            openness.forget_lookup();
            assert!(openness.is_closed(|| vec![((), &lost.pool)], |()| {}).await.is_err(), "the only tenant");
        }
    }
}
