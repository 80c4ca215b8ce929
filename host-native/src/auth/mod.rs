//! What is decided before a request reaches a tenant's handlers.

pub mod auth_gateway;
mod call_limits;
#[cfg(test)]
mod logged_routes_tests;
mod public_access;

pub use convengine_access::{
    access_mode, admin_token, caller, client_address, command, connection_share, cors, credential_check, credential_watch, exposure,
    guessing, host_names, identity, keys, known_credentials, openness, rate, refusal, scope, security_log, tokens,
};

/// The routes of a tenant and their access rules.
pub mod routes {
    use std::sync::Arc;

    pub use convengine_access::routes::{Access, LINK_PREFIX, Route, find_route};

    use crate::host::Host;

    /// Routes whose handlers have the state of a tenant.
    pub type Routes = convengine_access::routes::Routes<Arc<Host>>;
}
