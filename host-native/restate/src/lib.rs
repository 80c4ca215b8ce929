//! Runs turns on Restate, a distributed engine for durable invocations, instead of this process.
//!
//! | part | is |
//! |---|---|
//! | a conversation, a session or a run | a virtual object, whose turns are exclusive |
//! | a turn | an invocation, under the idempotency key of its message |
//! | an effect | a journaled step; of several at once, each is an invocation of its own |
//! | the session | the state of the object |
//! | a timer | a delayed call of the object |
//! | rows | a projection, written in the last step of a turn, or for conversations left out; nothing of a later turn depends on them |
//!
//! The API calls the cluster that [`find_cluster`] returns; a worker serves the virtual object (`conversation`) and its effects (`effects`).

mod admin;
mod conversation;
mod effects;
mod expiry;
mod ingress;
mod object_state;
mod refused_turn;
mod request;
mod step_log;
mod steps;
mod store;
mod timers;
mod worker;
mod worker_tenant;

pub use admin::{Admin, WorkerVersion};
use ingress::Ingress;
pub use worker::serve;
pub use worker_tenant::{FindTenant, WorkerTenant, WorkerTenants};

use convengine_host_base::exit::Failure;
use convengine_settings::Settings;
use convengine_turns::TurnCluster;

/// Returns the cluster of a tenant's settings, if they name one.
///
/// # Errors
/// Returns exit code 3 when no HTTP client can be created.
pub fn find_cluster(settings: &Settings) -> Result<Option<Box<dyn TurnCluster>>, Failure> {
    Ok(Ingress::from_settings(settings)?.map(|it| Box::new(it) as Box<dyn TurnCluster>))
}
