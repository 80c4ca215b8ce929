//! Who may call what: everything that is decided before a call reaches the conversations of a tenant.

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
