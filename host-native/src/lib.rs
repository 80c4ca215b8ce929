//! The native host: the API, the gateway before it, the tenants of a process, and the commands, with tokio, axum and sqlx.
//!
//! A message takes four steps: admit, load, drive, publish ([`runtime::turn_runner`]). The binary `convengine` is the package
//! `convengine-server`; it owns the commands, this crate what they do.

pub mod api;
pub mod app;
pub mod arguments;
pub mod auth;
pub mod mcp_stdio;
pub mod ops;
#[cfg(feature = "restate")]
pub mod restate;
#[cfg(not(feature = "restate"))]
#[path = "without_restate.rs"]
pub mod restate;
pub mod tenants;
pub mod turn_cluster;

pub use convengine_effects as effects;
pub use convengine_host_base::{
    blocking_share, clock, crypto, exit, output, pack_file, print_error_line, print_line, redact_url, tls, trace_ids, work_class,
};
pub use convengine_storage as storage;

/// The configuration and the settings.
pub mod config {
    pub use convengine_content::config::{export, import, json_schema, lint, nlu};
    pub use convengine_settings as settings;
    pub use convengine_settings::secrets;
}

/// Turns, and what they run on.
pub mod runtime {
    pub use convengine_turns::{refusal, resume_token, rows, stream, turn_runner};

    /// Documents and knowledge bases of assistants.
    pub mod assistant {
        pub use convengine_content::{knowledge, references};
    }
}
