//! Pools of connections, one for each class of work.

use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;

use convengine_host_base::meter::Meter;
use convengine_host_base::work_class::WorkClass;

/// How long users wait for a connection.
pub(super) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long work in the background waits for a connection: nobody waits for it.
const BACKGROUND_ACQUIRE_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum number of connections of each pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSizes {
    /// For users.
    pub user: u32,
    /// For work in the background.
    pub background: u32,
}

impl PoolSizes {
    /// Returns the maximum number of connections of a class.
    pub fn for_class(self, class: WorkClass) -> u32 {
        match class {
            WorkClass::User => self.user,
            WorkClass::Background => self.background,
        }
    }
}

impl Default for PoolSizes {
    fn default() -> PoolSizes {
        PoolSizes { user: 4, background: 2 }
    }
}

/// Something that each class of work has for itself.
#[derive(Debug, Clone)]
pub struct ByClass<T> {
    user: T,
    background: T,
}

impl<T> ByClass<T> {
    /// Creates one for each class.
    pub fn new(create: impl Fn(WorkClass) -> T) -> ByClass<T> {
        ByClass { user: create(WorkClass::User), background: create(WorkClass::Background) }
    }

    /// Returns that of a class.
    pub fn get(&self, class: WorkClass) -> &T {
        match class {
            WorkClass::User => &self.user,
            WorkClass::Background => &self.background,
        }
    }
}

/// How long work waits for a connection.
pub(super) fn acquire_timeout(class: WorkClass) -> Duration {
    match class {
        WorkClass::User => ACQUIRE_TIMEOUT,
        WorkClass::Background => BACKGROUND_ACQUIRE_TIMEOUT,
    }
}

/// The connections of each class of work.
#[derive(Debug)]
pub struct ClassPool<DB: sqlx::Database> {
    pools: ByClass<sqlx::Pool<DB>>,
    meter: Meter,
}

impl<DB: sqlx::Database> Clone for ClassPool<DB> {
    fn clone(&self) -> Self {
        ClassPool { pools: self.pools.clone(), meter: self.meter.clone() }
    }
}

impl<DB: sqlx::Database> ClassPool<DB> {
    /// Creates the pools. `meter` measures the waits for a connection.
    pub fn new(pools: ByClass<sqlx::Pool<DB>>, meter: Meter) -> ClassPool<DB> {
        ClassPool { pools, meter }
    }

    /// Waits for a connection of the current class.
    ///
    /// # Errors
    /// Returns an error when none is free in time, or none can be opened.
    pub async fn acquire(&self) -> sqlx::Result<PoolConnection<DB>> {
        let (class, since) = (WorkClass::current(), Instant::now());
        let acquired = Box::pin(self.pools.get(class).acquire()).await;
        self.meter.record_connection_wait(class, since.elapsed());
        acquired
    }

    /// Closes the pools after all connections are returned.
    pub(super) async fn close(&self) {
        for class in WorkClass::ALL {
            self.pools.get(class).close().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::statement::Statement;
    use crate::testing::each_database;
    use convengine_host_base::work_class::in_background;

    #[tokio::test]
    async fn work_in_the_background_cannot_take_the_connections_of_users() {
        for database in each_database().await {
            let query = async || database.pool.fetch_all(&Statement::portable("select 1 as one"), &[]).await.map(|rows| rows.len());
            let held = in_background(database.pool.hold_all_for_test()).await;
            assert_eq!(query().await.expect("connections of users are free"), 1);
            drop(held);
            assert_eq!(in_background(query()).await.expect("a connection"), 1);
        }
    }
}
