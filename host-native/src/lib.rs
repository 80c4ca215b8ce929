//! The native host: stores sessions, drives turns of the core, and fulfils their effects, with tokio, axum and sqlx.
//!
//! A message takes five steps: admit, load, execute, commit, publish ([`runtime::turn_runner`]). The binary `convengine` is the package
//! `convengine-server`; it owns the commands, this crate what they do.

pub mod api;
pub mod app;
pub mod arguments;
pub mod auth;
pub mod clock;
pub mod config;
pub mod effects;
pub mod exit;
pub mod ops;
pub mod output;
pub mod runtime;
pub mod storage;
pub mod tenants;
pub mod work_class;
pub mod worker;
