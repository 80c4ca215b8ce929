//! The HTTP surface.

pub mod audit;
pub mod conversation;
pub mod error;
pub mod health;
pub mod page;
pub mod request;
