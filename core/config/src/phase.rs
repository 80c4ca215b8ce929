//! The phases of a turn at which rules run. (docs/spec/data-and-api.md#6.1)

use convengine_derive::Described;

use super::code::is_same_code;
use super::flow::shape::Keyword;

/// The phase of a turn at which rules run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Described)]
pub enum Phase {
    /// After the dialogue act is classified.
    #[kind("POST_DIALOGUE_ACT")]
    PostDialogueAct,
    /// After a classifier chose the intent.
    #[kind("POST_CLASSIFIER_INTENT")]
    PostClassifierIntent,
    /// After the intent resolver chose the intent.
    #[kind("POST_AGENT_INTENT")]
    PostAgentIntent,
    /// After values are extracted.
    #[kind("POST_SCHEMA_EXTRACTION")]
    PostSchemaExtraction,
    /// After a directly requested tool has run.
    #[kind("POST_TOOL_EXECUTION")]
    PostToolExecution,
    /// Before the planner runs.
    #[kind("PRE_AGENT_MCP")]
    PreAgentMcp,
    /// After a question is interpreted as a database query.
    #[kind("POST_SEMANTIC_INTERPRET")]
    PostSemanticInterpret,
    /// After the planner has run.
    #[kind("POST_AGENT_MCP")]
    PostAgentMcp,
    /// Before the response is selected.
    #[kind("PRE_RESPONSE_RESOLUTION")]
    PreResponseResolution,
}

/// Older spellings of phases. (docs/decisions/0040-accepted-spellings.md)
const OLDER_NAMES: [(&str, Phase); 7] = [
    ("PIPELINE_RULES", Phase::PreResponseResolution),
    ("AGENT_POST_INTENT", Phase::PostAgentIntent),
    ("CLASSIFIER_POST_INTENT", Phase::PostClassifierIntent),
    ("AGENT_POST_MCP", Phase::PostAgentMcp),
    ("AGENT_POST_SEMANTIC_INTERPRET", Phase::PostSemanticInterpret),
    ("SEMANTIC_INTERPRET_POST", Phase::PostSemanticInterpret),
    ("TOOL_POST_EXECUTION", Phase::PostToolExecution),
];

impl Phase {
    /// Parses the name of a phase; `None` gives the default of the column.
    pub fn parse(name: Option<&str>) -> Option<Phase> {
        let Some(name) = name else { return Some(Phase::PreResponseResolution) };
        let older = || OLDER_NAMES.iter().find(|(older_name, _)| is_same_code(older_name, name)).map(|&(_, current)| current);
        Phase::from_keyword(&name.trim().to_ascii_uppercase()).or_else(older)
    }

    /// The canonical name in tables and audits.
    pub fn name(self) -> &'static str {
        self.keyword()
    }
}
