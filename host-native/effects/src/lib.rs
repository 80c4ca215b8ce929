//! Executes the effects that the core requests: calls of models, services, MCP servers, containers, extensions and scripts, files,
//! documents, and queries.
//!
//! Nothing here knows turns or conversations: the host decides which effect runs, for whom and how long.

pub mod container;
pub mod documents;
mod error_message;
pub mod extension;
pub mod failure_log;
pub mod files;
pub mod http;
pub mod llm;
pub mod mcp;
mod outbound;
mod output_sink;
mod retry_after;
pub mod script;
mod search_words;
pub mod sql;
pub mod tool;

pub use error_message::cut_message;
pub use outbound::Outbound;
pub use output_sink::OutputSink;
