//! The HTTP API: handlers, request parsing, responses and the OpenAPI document.

pub mod assistant;
pub mod attachment;
pub mod audit;
pub mod cache;
pub mod connection;
pub mod conversation;
pub mod conversations;
pub mod db_schema;
pub mod etag;
pub mod event_stream;
pub mod feedback;
pub mod health;
pub mod journal;
pub mod json_schemas;
pub mod json_text;
pub mod mcp;
pub mod mcp_servers;
pub mod metrics;
pub mod openapi;
pub mod origin;
pub mod page;
pub mod privacy;
pub mod query;
pub mod request;
pub mod request_metrics;
pub mod response_headers;
pub mod schemas;
pub mod security_log;
pub mod snapshots;
pub mod stomp;
pub mod stream;
pub mod turn_refusal;
pub mod worker_health;

pub use convengine_access::api_error as error;
