//! Who may call what.

pub mod routes;
pub mod scope;
