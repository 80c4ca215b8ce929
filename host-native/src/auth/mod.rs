//! Authentication, authorization and rate limits: everything decided before a request reaches a tenant's handlers.

pub mod admin_token;
pub mod auth_gateway;
pub mod caller;
pub mod command;
pub mod cors;
pub mod keys;
mod public_access;
pub mod rate;
pub mod routes;
pub mod scope;
pub mod tokens;
