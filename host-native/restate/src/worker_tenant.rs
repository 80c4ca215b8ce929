//! What a worker has for its tenants.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use convengine_settings::Settings;
use convengine_turns::Turns;
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};

/// The settings that decide which steps a turn has. They are journaled when it begins: another attempt has the same steps, also on a worker
/// with other settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnPolicy {
    /// Whether new conversations leave rows in the database.
    pub conversation_rows: bool,
    /// How long conversations without rows are kept after their newest turn, if not without limit.
    pub retention: Option<Duration>,
    /// Whether timers are armed.
    pub fires_timers: bool,
    /// How long a turn may take.
    pub max_duration: Duration,
}

impl TurnPolicy {
    fn from_settings(settings: &Settings) -> TurnPolicy {
        TurnPolicy {
            conversation_rows: settings.restate.conversation_rows,
            retention: settings.retention.conversations.map(|days| Duration::from_hours(24) * days),
            fires_timers: settings.assistants.timers,
            max_duration: settings.turns.max_duration,
        }
    }
}

/// What a worker has for a tenant.
#[derive(Debug, Clone)]
pub struct WorkerTenant {
    /// Runs its turns.
    pub turns: Arc<Turns>,
    /// The policy of turns that begin here.
    pub policy: TurnPolicy,
}

impl WorkerTenant {
    /// Creates what a worker with these settings has for a tenant.
    pub fn new(settings: &Settings, turns: Arc<Turns>) -> WorkerTenant {
        WorkerTenant { turns, policy: TurnPolicy::from_settings(settings) }
    }
}

/// What a worker has for the tenants that have started.
pub trait FindTenant: Debug + Send + Sync {
    /// Finds a tenant that has started.
    fn find(&self, tenant: Option<&str>) -> Option<WorkerTenant>;

    /// Whether the settings have a tenant.
    fn contains(&self, tenant: Option<&str>) -> bool;
}

/// The tenants of a worker.
#[derive(Debug, Clone)]
pub struct WorkerTenants(Arc<dyn FindTenant>);

impl WorkerTenants {
    /// Creates the tenants of a worker.
    pub fn new(tenants: Arc<dyn FindTenant>) -> WorkerTenants {
        WorkerTenants(tenants)
    }

    /// Returns what there is for a tenant. The cluster calls again if there is none: a tenant that is down comes back, and a worker that does not
    /// know the tenant may be replaced by one that does.
    pub fn find(&self, tenant: Option<&str>) -> HandlerResult<WorkerTenant> {
        let problem = if self.0.contains(tenant) { "has not started" } else { "is unknown" };
        let missing = || HandlerError::from(format!("tenant {} {problem}", tenant.unwrap_or("(none)")));
        self.0.find(tenant).ok_or_else(missing)
    }
}
