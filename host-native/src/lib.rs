//! The native host: stores sessions, drives turns of the core, and fulfils their effects, with tokio, axum and sqlx.
//!
//! A message takes five steps: admit, load, execute, commit, publish ([`runtime::turn_runner`]). The binary `convengine` is the package
//! `convengine-server`; it owns the commands, this crate what they do.

pub mod api;
pub mod app;
pub mod arguments;
pub mod auth;
pub mod config;
pub mod content;
pub mod effects;
pub mod host;
pub mod ops;
pub mod runtime;
pub mod tenants;
pub mod turns;
pub mod worker;

pub use convengine_host_base::{
    blocking_share, clock, crypto, exit, output, pack_file, print_error_line, print_line, redact_url, tls, trace_ids, work_class,
};
pub use convengine_storage as storage;
