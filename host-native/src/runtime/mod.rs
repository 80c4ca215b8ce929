//! The turn runner and what it needs: the queue of each conversation, the journal, commits, recovery, timers, streams.

pub mod assistant;
pub mod chain;
pub mod charged_call;
pub mod crash;
pub mod idempotency;
pub mod journal_writer;
pub mod leases;
pub mod message;
pub mod recovery;
pub mod refusal;
pub mod reservation;
pub mod restate;
pub mod resume_token;
pub mod rows;
pub mod session_event;
pub mod spend_cap;
pub mod stop_signals;
pub mod stream;
pub mod turn_cluster;
pub mod turn_queue;
pub mod turn_runner;
pub mod writer;
