//! The published JSON Schemas of files: `convengine schema` prints them, `GET /schemas/{name}` serves them.

use serde::Serialize;
use serde_json::Value;

use convengine_core::config::flow;
use convengine_core::pack;

use convengine_host_base::exit::Failure;
use convengine_host_base::print_line;

/// A published schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PublishedSchema {
    /// Packs.
    Pack,
    /// Flow documents.
    Flow,
    /// AI agents.
    Agent,
}

impl PublishedSchema {
    /// All published schemas.
    pub const ALL: [PublishedSchema; 3] = [PublishedSchema::Pack, PublishedSchema::Flow, PublishedSchema::Agent];

    /// Parses a name.
    pub fn parse(name: &str) -> Option<PublishedSchema> {
        PublishedSchema::ALL.into_iter().find(|schema| schema.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            PublishedSchema::Pack => "pack",
            PublishedSchema::Flow => "flow",
            PublishedSchema::Agent => "agent",
        }
    }

    /// The schema.
    pub fn to_json(self) -> Value {
        match self {
            PublishedSchema::Pack => pack::json_schema(),
            PublishedSchema::Flow => flow::json_schema(),
            PublishedSchema::Agent => flow::agent_json_schema(),
        }
    }

    /// The names of all schemas, for messages.
    pub fn names() -> String {
        PublishedSchema::ALL.map(PublishedSchema::name).join(", ")
    }
}

/// Prints a schema: `convengine schema NAME`.
///
/// # Errors
/// Returns exit code 2 for an unknown name.
pub fn run(name: &str) -> Result<(), Failure> {
    let unknown = || Failure::invalid_usage(format!("schema '{name}' does not exist; use one of {}", PublishedSchema::names()));
    print_line!("{:#}", PublishedSchema::parse(name).ok_or_else(unknown)?.to_json());
    Ok(())
}
