//! Authentication, authorization and rate limits: everything decided before a request reaches a tenant's handlers.

pub mod administrator;
pub mod caller;
pub mod command;
pub mod cors;
pub mod door;
pub mod keys;
pub mod rate;
pub mod routes;
pub mod scope;
pub mod tokens;
