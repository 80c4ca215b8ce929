//! The HTTP API: handlers, request parsing, responses and the OpenAPI document.

pub mod assistant;
pub mod attachment;
pub mod audit;
pub mod cache;
pub mod connection;
pub mod conversation;
pub mod conversations;
pub mod document;
pub mod error;
pub mod feedback;
pub mod health;
pub mod journal;
pub mod metrics;
pub mod observed;
pub mod origin;
pub mod page;
pub mod privacy;
pub mod query;
pub mod request;
pub mod schema;
pub mod schemas;
pub mod snapshots;
pub mod stomp;
pub mod stream;
pub mod tagged;
