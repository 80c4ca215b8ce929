//! Runs turns: the queue of each conversation, the turn runner with its effects, the journal, commits, recovery, timers, chains and streams.
//!
//! A message takes four steps: admit, load, drive, publish ([`turn_runner`]). Where messages come from is left to `convengine-host`.

pub mod audit;
pub mod chain;
pub mod crash;
pub mod effects;
mod error_response;
pub mod evals;
pub mod forget;
pub mod idempotency;
pub mod journal_writer;
pub mod leases;
pub mod message;
pub mod observe;
pub mod recovery;
pub mod refusal;
mod reservation;
pub mod resume_token;
pub mod rows;
pub mod running_session;
pub mod session_changes;
pub mod session_event;
pub mod stop_signals;
pub mod stream;
pub mod timers;
mod turn_cluster;
pub mod turn_queue;
pub mod turn_runner;
mod turns;
pub mod upgrade;
pub mod writer;

pub use turn_cluster::TurnCluster;
pub use turns::Turns;
