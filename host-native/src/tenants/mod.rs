//! The tenants of a process. Each starts and serves by itself, so that one whose database is down does not stop the others.

mod readiness;
mod start;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub use readiness::{Problem, Readiness, check_soon, watch};
pub use start::{RunningTenant, StartingTenants, start_all};

use convengine_settings::Settings;
use convengine_turns::Turns;

/// What a process has for a tenant that has started.
pub trait TenantService: Send + Sync + 'static {
    /// The tenant's turns.
    fn turns(&self) -> &Arc<Turns>;
}

/// The tenants of the settings by name; a single tenant has no name.
#[derive(Debug)]
pub struct Tenants<T>(BTreeMap<Option<String>, Tenant<T>>);

#[derive(Debug)]
struct Tenant<T> {
    /// Empty until it has started. It then stays, also while its database is down.
    service: OnceLock<T>,
    /// Why it did not serve when that was last found out.
    problem: Mutex<Option<Problem>>,
}

impl<T: TenantService> Tenants<T> {
    /// Creates the tenants of these settings, none of which has started.
    pub fn new<'s>(settings: impl IntoIterator<Item = &'s Settings>) -> Tenants<T> {
        let tenant = |it: &Settings| (it.tenant.clone(), Tenant { service: OnceLock::new(), problem: Mutex::default() });
        Tenants(settings.into_iter().map(tenant).collect())
    }

    /// Finds a tenant that has started.
    pub fn get(&self, name: Option<&str>) -> Option<&T> {
        self.find(name)?.service.get()
    }

    /// The tenants that have started.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.values().filter_map(|it| it.service.get())
    }

    /// The tenants that have started and whose databases are not known to be unavailable, by name.
    pub fn reachable(&self) -> impl Iterator<Item = (Option<&str>, &T)> {
        let is_reachable = |it: &Tenant<T>| it.problem() != Some(Problem::DatabaseUnavailable);
        self.0.iter().filter(move |it| is_reachable(it.1)).filter_map(|(name, it)| Some((name.as_deref(), it.service.get()?)))
    }

    /// Remembers that the database of a tenant does not answer, until it is checked again.
    pub fn report_unavailable(&self, name: Option<&str>) {
        self.report(name, Some(Problem::DatabaseUnavailable));
    }

    /// Whether the settings have a tenant.
    pub fn contains(&self, name: Option<&str>) -> bool {
        self.find(name).is_some()
    }

    /// Whether every tenant has started.
    pub fn have_all_started(&self) -> bool {
        self.0.values().all(|tenant| tenant.service.get().is_some())
    }

    /// Lets a tenant serve from now on.
    fn start(&self, name: Option<&str>, service: T) {
        if let Some(tenant) = self.find(name) {
            // A tenant is started once.
            let _ = tenant.service.set(service);
        }
        self.report(name, None);
    }

    /// Remembers whether a tenant serves, and logs it when that has changed.
    fn report(&self, name: Option<&str>, problem: Option<Problem>) {
        let Some(tenant) = self.find(name) else { return };
        let mut known = tenant.problem.lock().unwrap_or_else(PoisonError::into_inner);
        if *known == problem {
            return;
        }
        match &problem {
            Some(problem) => tracing::error!(tenant = name, %problem, "turns cannot run"),
            None => tracing::warn!(tenant = name, "turns can run again"),
        }
        *known = problem;
    }

    fn find(&self, name: Option<&str>) -> Option<&Tenant<T>> {
        self.0.get(&name.map(str::to_owned))
    }
}

impl<T> Tenant<T> {
    fn problem(&self) -> Option<Problem> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
