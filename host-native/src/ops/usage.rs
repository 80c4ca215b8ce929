//! How much of the database, of caps and of quotas is used, for metrics.

use std::time::Duration;

use tokio::time::timeout;

use convengine_content::Content;
use convengine_content::plan;
use convengine_content::spend_cap;
use convengine_settings::SpendCap;
use convengine_storage::size;

/// How long the database may take to answer: a scrape must not wait for one that is down.
const TIMEOUT: Duration = Duration::from_secs(1);

/// What a tenant uses; what cannot be read is absent.
#[derive(Debug, Clone, Default)]
pub struct Usage {
    /// The size of the database in bytes.
    pub database_bytes: Option<u64>,
    /// The size in bytes that the database may reach.
    pub database_limit_bytes: Option<u64>,
    /// The used shares of the limits that there are, by name; 1 is all.
    pub limits: Vec<(&'static str, f64)>,
}

/// Reads what a tenant uses.
pub async fn read(content: &Content) -> Usage {
    let database_bytes = timeout(TIMEOUT, size::database_bytes(&content.readers)).await.ok().and_then(Result::ok);
    let of_disk = || Some(database_bytes?.saturating_add(size::free_bytes(content.config_manager.database())?));
    let limits = timeout(TIMEOUT, read_limits(content)).await.ok().and_then(Result::ok).unwrap_or_default();
    Usage { database_bytes, database_limit_bytes: content.database_capacity.or_else(of_disk), limits }
}

async fn read_limits(content: &Content) -> sqlx::Result<Vec<(&'static str, f64)>> {
    let mut limits = Vec::new();
    if let Some(SpendCap { micros, per }) = content.spend_cap {
        limits.push(("spend_cap", share(spend_cap::find_used(content, per).await?, micros)));
    }
    let quotas = [("sessions", plan::find_session_quota(content).await?), ("imports", plan::find_import_quota(content).await?)];
    limits.extend(
        quotas.into_iter().filter_map(|(name, quota)| Some((name, quota?))).map(|(name, it)| (name, share(it.used, it.limit.into()))),
    );
    Ok(limits)
}

/// The used share of a limit; of none at all, everything is used.
fn share(used: i64, limit: u64) -> f64 {
    if limit == 0 { 1.0 } else { used as f64 / limit as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_nothing() {
        assert_eq!([share(0, 0), share(0, 4), share(3, 4), share(5, 4)], [1.0, 0.0, 0.75, 1.25]);
    }
}
