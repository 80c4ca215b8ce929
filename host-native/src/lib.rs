//! The native server: feeds messages to the core and performs its effects, with tokio, axum and sqlx.
//!
//! A message passes `http` → `turn_queue` → `turn_runner` (the core and `effects`) → `writer` → `store`. `stream` publishes its
//! notices.

pub mod access;
pub mod active_config;
pub mod app;
pub mod arguments;
pub mod assistant;
pub mod audit;
pub mod clock;
pub mod command;
pub mod config;
pub mod config_watch;
mod crash;
pub mod effects;
pub mod exit;
pub mod export;
pub mod extension;
pub mod feedback;
pub mod forget;
pub mod http;
pub mod idempotency;
pub mod import;
pub mod journal_export;
pub mod journal_writer;
pub mod lint;
pub mod observe;
pub mod pack_file;
pub mod play;
pub mod recovery;
pub mod redaction;
pub mod replay;
pub mod retention;
pub mod rows;
pub mod secrets;
pub mod settings;
pub mod snapshot;
pub mod spend;
pub mod stomp;
pub mod store;
pub mod stream;
pub mod tls;
pub mod turn_queue;
pub mod turn_runner;
pub mod writer;
