//! The HTTP surface.

pub mod audit;
pub mod connection;
pub mod conversation;
pub mod error;
pub mod health;
pub mod page;
pub mod request;
pub mod stream;
