//! `/mcp` and `convengine mcp`: the Model Context Protocol, so that assistants elsewhere can talk to those here, and build and test them
//! (docs/guide/mcp-server.md).
//!
//! There are no sessions: each HTTP request stands alone. The client side of the protocol, which calls tools elsewhere, is not here.

mod arguments;
mod changes;
pub mod http;
mod pages;
mod prompts;
mod resources;
mod server;
mod tools;

pub use server::{Delivery, McpServer};
pub use tools::play::{PackPlayer, PlayReport, PlayedTurn};

/// The path of the endpoint.
pub const PATH: &str = "/mcp";
