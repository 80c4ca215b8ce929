//! The native host: the API, the gateway before it, the tenants of a process, and the commands, with tokio, axum and sqlx.
//!
//! A message takes four steps: admit, load, drive, publish ([`convengine_turns::turn_runner`]). The binary `convengine` is the package
//! `convengine-server`; it owns the commands, this crate what they do.

pub mod api;
pub mod app;
pub mod arguments;
pub mod auth;
pub mod dev;
pub mod mcp_stdio;
pub mod ops;
#[cfg(feature = "restate")]
pub mod restate;
#[cfg(not(feature = "restate"))]
#[path = "without_restate.rs"]
pub mod restate;
pub mod tenants;
pub mod turn_cluster;
