//! What is decided before a request reaches a tenant's handlers.

pub mod auth_gateway;
mod call_limits;
pub mod health;
#[cfg(test)]
mod logged_routes_tests;
pub mod mcp_metadata;
mod public_access;
