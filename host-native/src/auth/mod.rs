//! What is decided before a request reaches a tenant's handlers.

pub mod auth_gateway;
mod call_limits;
pub mod health;
#[cfg(test)]
mod logged_routes_tests;
pub mod mcp_metadata;
mod public_access;

pub use convengine_access::{command, security_log};

/// The routes of a tenant.
pub mod routes {
    pub use convengine_access::routes::Route;
}
