//! Deletes data older than its retention period, and what nothing needs any more.

use std::sync::Arc;
use std::time::Duration;

use convengine_content::Content;
use convengine_content::config::classifiers;
use convengine_content::plan::month_start;
use convengine_core::turn::Millis;
use convengine_host_base::clock;
use convengine_host_base::exit::Failure;
use convengine_host_base::print_line;
use convengine_settings::{RetentionSettings, Settings};
use convengine_storage::assistant::session;
use convengine_storage::forget::{self, RowKind};
use convengine_storage::{self as storage, Connection, counter, module, security_log, snapshot};
use convengine_turns::TurnCluster;
use convengine_turns::Turns;
use convengine_turns::forget as forgetting;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tracing::Instrument;

use crate::turn_cluster::find_cluster;

/// Conversations deleted per transaction, few enough not to block turns for long.
const CONVERSATIONS_PER_TRANSACTION: i64 = 20;
/// Rows deleted per table and transaction.
const ROWS_PER_TRANSACTION: i64 = 500;
/// The pause between two transactions.
const TRANSACTION_PAUSE: Duration = Duration::from_millis(20);
/// The pause between two sweeps of a server.
const SWEEP_INTERVAL: Duration = Duration::from_mins(10);
/// Snapshots deleted per transaction; they are large.
const SNAPSHOTS_PER_TRANSACTION: i64 = 50;
/// How many days a snapshot is kept after turns were last begun on it.
const SNAPSHOT_DAYS: u32 = 30;
/// How many activations can be rolled back to.
const KEPT_ACTIVATIONS: i64 = 100;
const DAY_MILLIS: Millis = 86_400_000;

/// The number of deleted rows of a sweep.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct SweepCounts {
    /// Conversations.
    pub conversations: u64,
    /// Audit rows.
    pub audit: u64,
    /// User feedback.
    pub feedback: u64,
    /// Rows of the log of model calls.
    pub calls: u64,
    /// Trained classifiers that nothing has used for a long time.
    pub classifiers: u64,
    /// Configuration snapshots that nothing names.
    pub snapshots: u64,
    /// Usage rows and counters of months before the last one.
    pub usage: u64,
}

/// Runs `convengine retention`.
///
/// # Errors
/// Returns exit code 2 when no retention period is set, 3 when the database cannot be used.
pub async fn run(settings: &Settings) -> Result<(), Failure> {
    if settings.retention.is_off() {
        return Err(Failure::invalid_usage(
            "no retention period is set; set convengine.retention.conversations, audit, feedback, calls or security-log to a number of days",
        ));
    }
    let unusable = |it: sqlx::Error| storage::database_failure(&settings.database, &it);
    let mut connection = storage::connect_existing(&settings.database).await?;
    let cluster = find_cluster(settings)?;
    let swept = sweep(&mut connection, &settings.retention, cluster.as_deref(), &mut |_| {}).await.map_err(unusable)?;
    let SweepCounts { conversations, audit, feedback, calls, classifiers, snapshots, usage } = swept;
    print_line!(
        "deleted conversations: {conversations}, audit rows: {audit}, feedback rows: {feedback}, model calls: {calls}, unused classifiers: \
         {classifiers}, unused snapshots: {snapshots}, old usage rows: {usage}"
    );
    Ok(())
}

/// Spawns the task that sweeps periodically. Without a retention period it deletes only what nothing needs, which is not urgent.
pub fn spawn(turns: Arc<Turns>, retention: RetentionSettings) -> JoinHandle<()> {
    let sweep = async move {
        if retention.is_off() {
            sleep(SWEEP_INTERVAL).await;
        }
        loop {
            turns.connectivity.wait().await;
            if let Err(error) = sweep_once(&turns, &retention).await {
                tracing::warn!(%error, "cannot delete old data yet");
            }
            sleep(SWEEP_INTERVAL).await;
        }
    };
    tokio::spawn(sweep.in_current_span())
}

async fn sweep_once(turns: &Turns, retention: &RetentionSettings) -> sqlx::Result<()> {
    let mut connection = storage::open(turns.content.config_manager.database(), false).await?;
    record_snapshots(&mut connection, &turns.content).await?;
    let swept = sweep(&mut connection, retention, turns.cluster.as_deref(), &mut |id| forgetting::end_streams(turns, id, false)).await;
    connection.close().await?;
    swept.map(|_| ())
}

/// Keeps the snapshots that this process may begin turns on without looking at the database.
async fn record_snapshots(connection: &mut Connection, content: &Content) -> sqlx::Result<()> {
    let active = Arc::clone(&content.config_manager.active().config);
    for config in [active].into_iter().chain(content.flows.list()).chain(content.versions.list_configs()) {
        storage::config::store_snapshot_text(connection, config.hash_source(), || config.source_text(), clock::now()).await?;
    }
    Ok(())
}

/// Deletes old data, also in the cluster that runs the turns, if one does, and calls `gone` for each deleted conversation. Stops if another
/// process is sweeping.
///
/// # Errors
/// Returns any database error, and an I/O error when the cluster cannot be reached; earlier deletions are kept.
pub async fn sweep(
    connection: &mut Connection,
    retention: &RetentionSettings,
    cluster: Option<&dyn TurnCluster>,
    gone: &mut (dyn FnMut(&str) + Send),
) -> sqlx::Result<SweepCounts> {
    let before = |days: u32| clock::now() - Millis::from(days) * DAY_MILLIS;
    let mut swept = SweepCounts::default();
    while let Some(days) = retention.conversations {
        let ids = with_sweep_lock(connection, async |connection| delete_old_conversations(connection, before(days), cluster).await)
            .await?
            .unwrap_or_default();
        if ids.is_empty() {
            break;
        }
        ids.iter().for_each(|it| gone(it));
        swept.conversations += u64::try_from(ids.len()).unwrap_or(0);
        sleep(TRANSACTION_PAUSE).await;
    }
    let kinds = [
        (RowKind::Audit, retention.audit, &mut swept.audit),
        (RowKind::Feedback, retention.feedback, &mut swept.feedback),
        (RowKind::ModelCalls, retention.calls, &mut swept.calls),
    ];
    for (kind, days, count) in kinds {
        let Some(days) = days else { continue };
        while let Some(deleted @ 1..) =
            with_sweep_lock(connection, async |connection| forget::delete_aged(connection, kind, before(days), ROWS_PER_TRANSACTION).await)
                .await?
        {
            *count += deleted;
            sleep(TRANSACTION_PAUSE).await;
        }
    }
    if let Some(days) = retention.security_log {
        sweep_security_log(connection, before(days)).await?;
    }
    swept.classifiers = with_sweep_lock(connection, classifiers::delete_unused).await?.unwrap_or(0);
    swept.snapshots = delete_unused_snapshots(connection, before(SNAPSHOT_DAYS)).await?;
    swept.usage = delete_old_usage(connection).await?;
    if swept != SweepCounts::default() {
        forgetting::truncate_wal(connection).await?;
        let SweepCounts { conversations, audit, feedback, calls, classifiers, snapshots, usage } = swept;
        tracing::info!(conversations, audit, feedback, calls, classifiers, snapshots, usage, "deleted old data");
    }
    Ok(swept)
}

/// Deletes the snapshots that nothing names, then the modules that none of the others names. Returns the number of snapshots.
async fn delete_unused_snapshots(connection: &mut Connection, before: Millis) -> sqlx::Result<u64> {
    let mut deleted = 0;
    while let Some(count @ 1..) =
        with_sweep_lock(connection, async |it| snapshot::delete_unused(it, before, KEPT_ACTIVATIONS, SNAPSHOTS_PER_TRANSACTION).await)
            .await?
    {
        deleted += count;
        sleep(TRANSACTION_PAUSE).await;
    }
    if deleted > 0 && module::has_tables(connection).await? {
        with_sweep_lock(connection, module::delete_unused).await?;
    }
    Ok(deleted)
}

/// Deletes usage rows and counters from before the last month: quotas and budgets count this one. Returns their number.
async fn delete_old_usage(connection: &mut Connection) -> sqlx::Result<u64> {
    let before = month_start(month_start(clock::now()) - 1);
    let mut deleted = with_sweep_lock(connection, async |it| counter::delete_before(it, before).await).await?.unwrap_or(0);
    while let Some(count @ 1..) =
        with_sweep_lock(connection, async |it| session::delete_usage_before(it, before, ROWS_PER_TRANSACTION).await).await?
    {
        deleted += count;
        sleep(TRANSACTION_PAUSE).await;
    }
    Ok(deleted)
}

async fn sweep_security_log(connection: &mut Connection, before: Millis) -> sqlx::Result<()> {
    let mut entries = 0;
    while let Some(deleted @ 1..) =
        with_sweep_lock(connection, async |it| security_log::delete_older(it, before, ROWS_PER_TRANSACTION).await).await?
    {
        entries += deleted;
        sleep(TRANSACTION_PAUSE).await;
    }
    if entries > 0 {
        tracing::info!(entries, "deleted old entries of the security log");
    }
    Ok(())
}

async fn delete_old_conversations(
    connection: &mut Connection,
    before: Millis,
    cluster: Option<&dyn TurnCluster>,
) -> sqlx::Result<Vec<String>> {
    let ids = forget::list_idle_since(connection, before, CONVERSATIONS_PER_TRANSACTION).await?;
    if ids.is_empty() {
        return Ok(ids);
    }
    if let Some(cluster) = cluster {
        cluster.forget(&ids).await.map_err(|error| sqlx::Error::Io(std::io::Error::other(error)))?;
    }
    forget::delete_idle(connection, &ids, before).await
}

/// Runs work in a transaction, unless another process holds the sweep lock.
async fn with_sweep_lock<T>(
    connection: &mut Connection,
    work: impl AsyncFnOnce(&mut Connection) -> sqlx::Result<T>,
) -> sqlx::Result<Option<T>> {
    connection.begin().await?;
    let done = match forget::try_lock_sweep(connection).await {
        Ok(true) => work(connection).await.map(Some),
        Ok(false) => Ok(None),
        Err(error) => Err(error),
    };
    match done {
        Ok(done) => connection.commit().await.map(|()| done),
        Err(error) => connection.rollback().await.and(Err(error)),
    }
}
