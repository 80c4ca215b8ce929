//! The tools for developers: which there are, and who may call them.

use convengine_access::scope::Scopes;
use convengine_core::turn::Map;
use rmcp::model::{Tool, ToolAnnotations};

use super::{StopCheck, ToolResult, explain, import, lint, play, replay};
use crate::api::mcp::server::McpServer;

/// A tool for developers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeveloperTool {
    /// Finds issues.
    Lint,
    /// Imports a pack.
    Import,
    /// Plays a pack or a talk.
    Play,
    /// Replays a conversation.
    Replay,
    /// Explains a turn.
    ExplainTurn,
    /// Compares a conversation with another configuration.
    Compare,
}

impl DeveloperTool {
    const ALL: [DeveloperTool; 6] = [
        DeveloperTool::Lint,
        DeveloperTool::Import,
        DeveloperTool::Play,
        DeveloperTool::Replay,
        DeveloperTool::ExplainTurn,
        DeveloperTool::Compare,
    ];

    /// The tools that a caller may call.
    pub fn of(server: &McpServer) -> impl Iterator<Item = DeveloperTool> {
        let has_player = server.host().pack_player.get().is_some();
        let permitted = DeveloperTool::ALL.into_iter().filter(|tool| server.permits(tool.scope()));
        permitted.filter(move |tool| has_player || *tool != DeveloperTool::Play)
    }

    fn scope(self) -> Scopes {
        match self {
            DeveloperTool::Lint | DeveloperTool::Import | DeveloperTool::Play => Scopes::ADMIN,
            DeveloperTool::Replay | DeveloperTool::ExplainTurn | DeveloperTool::Compare => Scopes::READ,
        }
    }

    /// The name of the tool.
    pub fn name(self) -> &'static str {
        match self {
            DeveloperTool::Lint => "lint",
            DeveloperTool::Import => "import",
            DeveloperTool::Play => "play",
            DeveloperTool::Replay => "replay",
            DeveloperTool::ExplainTurn => "explain_turn",
            DeveloperTool::Compare => "compare",
        }
    }

    /// Describes the tool.
    pub fn describe(self) -> Tool {
        let (title, description, input, output) = match self {
            DeveloperTool::Lint => lint::describe(),
            DeveloperTool::Import => import::describe(),
            DeveloperTool::Play => play::describe(),
            DeveloperTool::Replay => replay::describe(),
            DeveloperTool::ExplainTurn => explain::describe(),
            DeveloperTool::Compare => replay::describe_comparison(),
        };
        let tool = Tool::new(self.name(), description, input).with_title(title).with_raw_output_schema(output.into());
        tool.with_annotations(self.annotations().open_world(false))
    }

    fn annotations(self) -> ToolAnnotations {
        match self {
            // Replaces the rows of the tables that the pack contains.
            DeveloperTool::Import => ToolAnnotations::new().read_only(false).destructive(true).idempotent(true),
            DeveloperTool::Lint | DeveloperTool::Play | DeveloperTool::Replay | DeveloperTool::ExplainTurn | DeveloperTool::Compare => {
                ToolAnnotations::new().read_only(true).destructive(false).idempotent(true)
            }
        }
    }

    /// Runs the tool.
    ///
    /// # Errors
    /// A message for the model that says what to do.
    pub async fn run(self, server: &McpServer, arguments: Option<Map>, stop: StopCheck) -> ToolResult {
        let host = server.host();
        match self {
            DeveloperTool::Lint => lint::run(&host.content, arguments).await,
            DeveloperTool::Import => import::run(server, arguments).await,
            DeveloperTool::Play => play::run(host, arguments, stop).await,
            DeveloperTool::Replay => replay::run(&host.content, arguments, stop).await,
            DeveloperTool::ExplainTurn => explain::run(&host.content, arguments).await,
            DeveloperTool::Compare => replay::run_comparison(&host.content, arguments, stop).await,
        }
    }
}

/// Title, description, and the schemas of arguments and result.
pub type Description = (&'static str, &'static str, Map, Map);
