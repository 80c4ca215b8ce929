//! The HTTP surface.

pub mod attachment;
pub mod audit;
pub mod cache;
pub mod connection;
pub mod conversation;
pub mod conversations;
pub mod error;
pub mod feedback;
pub mod health;
pub mod page;
pub mod request;
pub mod schema;
pub mod stream;
