//! Whether turns can run: of each tenant, and of the process.

use std::sync::Arc;
use std::time::Duration;

use convengine_host_base::exit::Failure;
use convengine_host_base::metric_names as names;
use convengine_host_base::tenant_span::tenant_span;
use convengine_turns::Turns;
use futures_util::future::join_all;
use metrics::gauge;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tracing::Instrument;

use super::{TenantService, Tenants};

/// How long a database may take to answer.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// How long it may take to answer when several tenants are asked.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// How often the tenants are checked for metrics and the log.
const WATCH_INTERVAL: Duration = Duration::from_secs(5);

/// Why a tenant does not serve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It has not started: its database is being opened or cannot be used.
    #[error("not started: the database is not open; the log says why it cannot be used")]
    NotStarted,
    /// It has not started, because what it is set up with is wrong.
    #[error("not started: its settings or rows are invalid; the log says why")]
    InvalidSetup,
    /// A policy row, with the reason.
    #[error("cannot run turns: a policy does not compile: {0}")]
    InvalidPolicy(String),
    /// Nothing can be stored any more.
    #[error("cannot store turns; restart the server")]
    WriterStopped,
    /// Somebody has deleted it.
    #[error("configuration snapshot is missing from the database; restart the server")]
    SnapshotMissing,
    /// It may come back.
    #[error("database is unavailable; try again later")]
    DatabaseUnavailable,
}

impl Problem {
    /// Why a tenant could not be started.
    pub(super) fn from_failure(failure: &Failure) -> Problem {
        if failure.code == 3 { Problem::NotStarted } else { Problem::InvalidSetup }
    }
}

/// Which tenants serve.
#[derive(Debug)]
pub struct Readiness {
    /// The tenants, each with the hash of its configuration or with its problem.
    tenants: Vec<(Option<String>, Result<String, Problem>)>,
}

impl Readiness {
    /// Whether at least one tenant serves.
    pub fn is_ready(&self) -> bool {
        self.tenants.iter().any(|it| it.1.is_ok())
    }

    /// The problem of a server without tenants.
    pub fn problem(&self) -> Option<&Problem> {
        match self.tenants.as_slice() {
            [(None, Err(problem))] => Some(problem),
            _ => None,
        }
    }

    fn count_down(&self) -> usize {
        self.tenants.iter().filter(|it| it.1.is_err()).count()
    }

    /// The body of `/readyz`. Only those who may know the names of tenants get them.
    pub fn to_json(&self, with_names: bool) -> Value {
        if let [(None, Ok(config))] = self.tenants.as_slice() {
            return json!({"status": "UP", "config": config});
        }
        let (all, down) = (self.tenants.len(), self.count_down());
        if down == 0 {
            return json!({"status": "UP", "tenants": all});
        }
        let status = if self.is_ready() { "DEGRADED" } else { "DOWN" };
        if !with_names {
            return json!({"status": status, "tenants": all, "down": down});
        }
        let problem = |(name, result): &(Option<String>, Result<String, Problem>)| {
            Some(json!({"tenant": name, "reason": result.as_ref().err()?.to_string()}))
        };
        let problems: Vec<Value> = self.tenants.iter().filter_map(problem).collect();
        json!({"status": status, "tenants": all, "down": down, "problems": problems})
    }
}

/// Checks all tenants at once, for a caller who waits: of several tenants, one whose database is known not to answer is not asked, and each
/// has a second. Otherwise the outage of one would make balancers take the process for dead.
pub async fn check_soon<T: TenantService>(tenants: &Tenants<T>) -> Readiness {
    let time = if tenants.0.len() > 1 { ANSWER_TIMEOUT } else { CHECK_TIMEOUT };
    check_within(tenants, time, |problem| tenants.0.len() > 1 && problem == &Problem::DatabaseUnavailable).await
}

/// Checks all tenants at once.
async fn check<T: TenantService>(tenants: &Tenants<T>) -> Readiness {
    check_within(tenants, CHECK_TIMEOUT, |_| false).await
}

/// Checks all tenants whose known problem is not enough. Changes are logged, and the number of those that do not serve is a metric.
async fn check_within<T: TenantService>(tenants: &Tenants<T>, time: Duration, is_enough: impl Fn(&Problem) -> bool) -> Readiness {
    let is_enough = &is_enough;
    let checks = tenants.0.iter().map(|(name, tenant)| async move {
        let known = tenant.problem().filter(is_enough);
        let result = match (tenant.service.get(), known) {
            (None, _) => Err(tenant.problem().unwrap_or(Problem::NotStarted)),
            (Some(_), Some(problem)) => Err(problem),
            (Some(service), None) => timeout(time, check_turns(service.turns()).instrument(tenant_span(name.as_deref())))
                .await
                .unwrap_or(Err(Problem::DatabaseUnavailable)),
        };
        tenants.report(name.as_deref(), result.as_ref().err().cloned());
        (name.clone(), result)
    });
    let readiness = Readiness { tenants: join_all(checks).await };
    gauge!(names::TENANTS_DOWN).set(u32::try_from(readiness.count_down()).unwrap_or(u32::MAX));
    readiness
}

/// Checks the tenants from time to time, until the task is aborted.
pub fn watch<T: TenantService>(tenants: Arc<Tenants<T>>) -> JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            check(&tenants).await;
            sleep(WATCH_INTERVAL).await;
        }
    })
}

/// Returns the hash of the configuration of a tenant whose turns can run: the database is available and has the snapshot, and no policy
/// row is invalid.
async fn check_turns(turns: &Turns) -> Result<String, Problem> {
    let config = Arc::clone(&turns.content.config_manager.active().config);
    if let Some(reason) = config.policy_unavailable() {
        return Err(Problem::InvalidPolicy(reason.to_string()));
    }
    if !turns.writer.is_running() {
        return Err(Problem::WriterStopped);
    }
    match turns.content.stored_snapshot.exists(&turns.readers, config.hash_source()).await {
        Ok(true) => Ok(config.hash_source().to_owned()),
        Ok(false) => Err(Problem::SnapshotMissing),
        Err(error) => {
            tracing::debug!(%error, "cannot read the configuration snapshot");
            Err(Problem::DatabaseUnavailable)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tenant_that_serves_makes_a_server_ready_and_only_some_get_names() {
        let readiness = |found: &[(&str, Option<Problem>)]| {
            let tenant = |(name, problem): &(&str, Option<Problem>)| {
                (Some((*name).to_owned()), problem.clone().map_or_else(|| Ok("h".to_owned()), Err))
            };
            Readiness { tenants: found.iter().map(tenant).collect() }
        };
        let up = readiness(&[("a", None), ("b", None)]);
        assert_eq!((up.is_ready(), up.to_json(true)), (true, json!({"status": "UP", "tenants": 2})));
        let degraded = readiness(&[("a", None), ("b", Some(Problem::DatabaseUnavailable))]);
        assert_eq!((degraded.is_ready(), degraded.to_json(false)), (true, json!({"status": "DEGRADED", "tenants": 2, "down": 1})));
        let problems = json!([{"tenant": "b", "reason": "database is unavailable; try again later"}]);
        assert_eq!(degraded.to_json(true), json!({"status": "DEGRADED", "tenants": 2, "down": 1, "problems": problems}));
        let down = readiness(&[("a", Some(Problem::NotStarted))]);
        assert_eq!((down.is_ready(), down.to_json(false)), (false, json!({"status": "DOWN", "tenants": 1, "down": 1})));
        assert!(down.problem().is_none());
        let single = Readiness { tenants: vec![(None, Err(Problem::WriterStopped))] };
        assert_eq!((single.is_ready(), single.problem()), (false, Some(&Problem::WriterStopped)));
        let single = Readiness { tenants: vec![(None, Ok("h".to_owned()))] };
        assert_eq!(single.to_json(false), json!({"status": "UP", "config": "h"}));
    }
}
