//! Starts the tenants of a process. One that cannot start is tried again, at growing intervals, while the others serve.

use std::future::Future;
use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use convengine_content::spend_cap;
use convengine_host_base::exit::Failure;
use convengine_host_base::tenant_span::tenant_span;
use convengine_settings::Settings;
use convengine_storage as storage;
use convengine_turns::observe::SpanSender;
use convengine_turns::stream::{ClusterTasks, start_cluster};
use futures_util::future::join_all;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tracing::Instrument;

use super::{Problem, TenantService, Tenants};
use crate::api::host::Host;

/// How long an attempt to start one of several tenants may take.
const START_TIMEOUT: Duration = Duration::from_secs(15);

/// The pause before a tenant is tried again, which doubles up to the longest one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A tenant that has started, with what ends when the process stops.
#[derive(Debug)]
pub struct RunningTenant {
    /// The tenant's host.
    pub host: Arc<Host>,
    /// The task of the writer, which ends when the turns are dropped.
    pub writer: JoinHandle<()>,
    /// The connection with other processes.
    pub cluster: Option<ClusterTasks>,
    /// Tasks that run until they are aborted.
    pub background: Vec<JoinHandle<()>>,
}

impl RunningTenant {
    /// Builds the host of a tenant and connects it with other processes. Its background tasks are not started yet.
    ///
    /// # Errors
    /// Returns the reason when the tenant cannot start.
    pub async fn start(settings: &Settings, traces: SpanSender, is_worker: bool) -> Result<RunningTenant, Failure> {
        let (host, writer) = Host::start(settings, traces).await?;
        spend_cap::count_recorded(&host.content).await.map_err(|it| storage::database_failure(&settings.database, &it))?;
        let cluster = start_cluster(&host.turns, &settings.database, is_worker || host.turns.cluster.is_some()).await;
        Ok(RunningTenant { host, writer, cluster, background: Vec::new() })
    }

    /// Aborts the background tasks and waits for their end: one that has just begun a query would find its pool closed.
    pub async fn stop_background(&mut self) {
        self.background.iter().for_each(JoinHandle::abort);
        join_all(take(&mut self.background)).await;
    }
}

/// The tenants that have started, and those that are still tried.
#[derive(Debug)]
pub struct StartingTenants {
    running: Arc<Mutex<Vec<RunningTenant>>>,
    retries: Vec<JoinHandle<()>>,
}

impl StartingTenants {
    /// Starts no more tenants; returns those that run.
    pub async fn finish(self) -> Vec<RunningTenant> {
        self.retries.iter().for_each(JoinHandle::abort);
        join_all(self.retries).await;
        take(&mut *lock(&self.running))
    }
}

/// Starts all tenants at once, each with `start`.
///
/// # Errors
/// Returns the failure of a server without tenants, or that of the first tenant when the setup of every one is invalid.
pub async fn start_all<T, F, S>(settings: &Settings, tenants: &Arc<Tenants<T>>, start: F) -> Result<StartingTenants, Failure>
where
    T: TenantService,
    F: Fn(Arc<Settings>) -> S + Clone + Send + Sync + 'static,
    S: Future<Output = Result<(T, RunningTenant), Failure>> + Send,
{
    let all: Vec<Arc<Settings>> = settings.each_tenant().map(|tenant| Arc::new(tenant.clone())).collect();
    let mut attempts = join_all(all.iter().map(|it| attempt(it, &start))).await;
    let ends_start =
        |it: &Result<(T, RunningTenant), Failure>| it.as_ref().is_err_and(|failure| failure.code == 2 || settings.tenants.is_empty());
    if attempts.iter().all(ends_start)
        && let Some(Err(failure)) = attempts.drain(..).next()
    {
        return Err(failure);
    }
    let mut starting = StartingTenants { running: Arc::default(), retries: Vec::new() };
    for (settings, attempt) in all.into_iter().zip(attempts) {
        match attempt {
            Ok((service, tenant)) => {
                lock(&starting.running).push(tenant);
                tenants.start(settings.tenant.as_deref(), service);
            }
            Err(failure) => {
                report(tenants, &settings, &failure);
                let (tenants, running, start) = (Arc::clone(tenants), Arc::clone(&starting.running), start.clone());
                starting.retries.push(tokio::spawn(async move {
                    let (service, tenant) = keep_starting(&tenants, &settings, start).await;
                    lock(&running).push(tenant);
                    tenants.start(settings.tenant.as_deref(), service);
                }));
            }
        }
    }
    Ok(starting)
}

/// Starts a tenant. One of several is given up for now when its database does not answer.
async fn attempt<T, F, S>(settings: &Arc<Settings>, start: &F) -> Result<(T, RunningTenant), Failure>
where
    F: Fn(Arc<Settings>) -> S,
    S: Future<Output = Result<(T, RunningTenant), Failure>>,
{
    let attempt = start(Arc::clone(settings)).instrument(tenant_span(settings.tenant.as_deref()));
    let Some(name) = &settings.tenant else { return attempt.await };
    let late = || Failure::service_unavailable(format!("tenant '{name}' has not started within {} s", START_TIMEOUT.as_secs()));
    timeout(START_TIMEOUT, attempt).await.unwrap_or_else(|_| Err(late()))
}

/// Tries a tenant until it starts.
async fn keep_starting<T, F, S>(tenants: &Tenants<T>, settings: &Arc<Settings>, start: F) -> (T, RunningTenant)
where
    T: TenantService,
    F: Fn(Arc<Settings>) -> S,
    S: Future<Output = Result<(T, RunningTenant), Failure>>,
{
    let mut pause = FIRST_PAUSE;
    loop {
        sleep(pause).await;
        match attempt(settings, &start).await {
            Ok(started) => return started,
            Err(failure) => report(tenants, settings, &failure),
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn report<T: TenantService>(tenants: &Tenants<T>, settings: &Settings, failure: &Failure) {
    tracing::warn!(tenant = settings.tenant.as_deref(), %failure, "tenant cannot start; it is tried again");
    tenants.report(settings.tenant.as_deref(), Some(Problem::from_failure(failure)));
}

fn lock(running: &Mutex<Vec<RunningTenant>>) -> MutexGuard<'_, Vec<RunningTenant>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}
