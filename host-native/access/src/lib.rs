//! Authentication, authorization and rate limits: who a caller is, what it may do, and how a request is refused.
//!
//! Which route a request reaches is decided by the gateway of `convengine-host`. A function that returns `sqlx::Result` fails with the error of the
//! database unless its documentation says more.

pub mod access_mode;
pub mod admin_token;
pub mod api_error;
pub mod caller;
pub mod client_address;
pub mod command;
pub mod connection_share;
pub mod cors;
pub mod credential_check;
pub mod credential_watch;
pub mod exposure;
pub mod guessing;
pub mod host_names;
pub mod identity;
pub mod keys;
pub mod known_credentials;
pub mod openness;
pub mod rate;
pub mod refusal;
pub mod routes;
pub mod scope;
pub mod security_log;
mod tenant_access;
pub mod tokens;

pub use tenant_access::TenantAccess;
