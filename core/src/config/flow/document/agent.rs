//! The data of nodes at which a model talks.

use serde_json::Value;

use super::read::{self, Of};
use super::text::{Condition, LocalizedText, Template};
use crate::text::path::Path;

/// Data of `instruction_agent`.
#[derive(Debug, Clone)]
pub struct AgentData {
    /// What the model is to do.
    pub instructions: Template,
    /// The tools that it may call.
    pub tools: Vec<AgentTool>,
    /// The alias of the model.
    pub model: Option<String>,
    /// How freely it writes.
    pub temperature: Option<f64>,
    /// Calls of the model in a turn.
    pub max_steps: u32,
    /// What is said first.
    pub greeting: Option<LocalizedText>,
    /// When it is done.
    pub exit_when: Option<Condition>,
    /// Messages of the user.
    pub max_turns: u32,
    /// What it remembers.
    pub memory: AgentMemory,
    /// What it leaves.
    pub output: Option<AgentOutput>,
}

/// A tool of an agent.
#[derive(Debug, Clone)]
pub struct AgentTool {
    /// The tool.
    pub tool: String,
    /// When a person has to say yes.
    pub approval: Option<Approval>,
}

/// When a person has to say yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// Never.
    Never,
    /// Before each call.
    Always,
    /// Before calls that do more than read.
    Write,
}

/// What an agent remembers.
#[derive(Debug, Clone)]
pub struct AgentMemory {
    /// Messages that are kept.
    pub max_messages: usize,
    /// Characters that are kept.
    pub max_chars: usize,
    /// When it forgets.
    pub reset: MemoryReset,
}

/// When an agent forgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryReset {
    /// Never.
    Never,
    /// When it is entered.
    OnEnter,
    /// When it is left.
    OnExit,
}

/// What an agent leaves.
#[derive(Debug, Clone)]
pub struct AgentOutput {
    /// Where it goes.
    pub variable: Path,
    /// JSON Schema that it has to keep.
    pub schema: Option<Value>,
}

impl AgentData {
    pub(super) fn read(of: Of<'_>) -> AgentData {
        let approvals = [("never", Approval::Never), ("always", Approval::Always), ("write", Approval::Write)];
        let resets = [("never", MemoryReset::Never), ("on_exit", MemoryReset::OnExit)];
        let memory = of.part("memory");
        let size = |name: &str, usual: usize| memory.count(name).map_or(usual, |it| usize::try_from(it).unwrap_or(usize::MAX));
        AgentData {
            instructions: of.template("instructions").unwrap_or_default(),
            tools: of.list("tools", |it| AgentTool { tool: it.string("tool"), approval: it.word("approval", &approvals) }),
            model: of.maybe("model"),
            temperature: of.real("temperature"),
            max_steps: of.small("max_steps").unwrap_or(8),
            greeting: of.localized("greeting"),
            exit_when: of.text("exit_when").map(Condition::from),
            max_turns: of.small("max_turns").unwrap_or(20),
            memory: AgentMemory {
                max_messages: size("max_messages", 40),
                max_chars: size("max_chars", 24_000),
                reset: memory.word("reset", &resets).unwrap_or(MemoryReset::OnEnter),
            },
            output: of.object("output").map(|it| AgentOutput {
                variable: read::path(it.text("variable").unwrap_or_default()),
                schema: it.value("schema").cloned(),
            }),
        }
    }
}
