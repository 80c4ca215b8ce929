//! The native server: feeds messages to the core and performs its effects, with tokio, axum and sqlx.
//!
//! A message passes `http` → `turn_queue` → `turn_runner` (the core and `effects`) → `writer` → `store`. `stream` publishes its
//! notices.

pub mod access;
pub mod app;
pub mod arguments;
pub mod assistant;
pub mod audit;
pub mod clock;
pub mod command;
pub mod config;
pub mod configured;
mod crash;
pub mod drive;
pub mod exit;
pub mod export;
pub mod extension;
pub mod feedback;
pub mod follow;
pub mod forget;
pub mod fulfil;
pub mod gate;
pub mod http;
pub mod import;
pub mod journal;
pub mod lint;
pub mod observe;
pub mod pack_file;
pub mod play;
pub mod recorded;
pub mod recover;
pub mod redact;
pub mod replay;
pub mod retention;
pub mod rows;
pub mod secrets;
pub mod sent_again;
pub mod settings;
pub mod snapshot;
pub mod spend;
pub mod stomp;
pub mod store;
pub mod stream;
pub mod tls;
pub mod writer;
