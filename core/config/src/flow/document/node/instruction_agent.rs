//! `instruction_agent`: lets a model converse and call tools. (docs/spec/flows.md#4.13)

use convengine_derive::Described;
use convengine_text::variable_path::VariablePath;
use serde_json::Value;

use super::super::Document;
use super::super::text::{FlowCondition, FlowTemplate, LocalizedText};
use super::traits::{NodeData, NodeTraits, VariableWrite, Waiting};

/// Data of `instruction_agent`.
#[derive(Debug, Clone, Described)]
pub struct AgentData {
    /// Instructions of the model; rendered when the node is entered.
    #[member(required, example = r#""Help {{ user.name }} to choose a plan.""#, multiline)]
    pub instructions: FlowTemplate,
    /// Tools that it may call.
    pub tools: Vec<AgentTool>,
    /// Alias in `settings.models`, or the name of a model.
    #[member(shape = NON_EMPTY, meaning = Names(Model))]
    pub model: Option<String>,
    /// Sampling temperature; without it the model's own.
    #[member(shape = Number(0, 2))]
    pub temperature: Option<f64>,
    /// Calls of the model in one turn.
    #[member(shape = Integer(1, 50), codes("A004", "A004"), default = 8)]
    pub max_steps: u32,
    /// Text that is sent first; the node then waits.
    pub greeting: Option<LocalizedText>,
    /// [Condition](expressions.md) that ends the node, checked after each step.
    #[member(example = r#""order.id != null""#)]
    pub exit_when: Option<FlowCondition>,
    /// Messages of the user until the node is left by `max_turns`.
    #[member(shape = POSITIVE, default = 20)]
    pub max_turns: u32,
    /// What the model remembers.
    pub memory: AgentMemory,
    /// What `finish` returns.
    pub output: Option<AgentOutput>,
}

/// A tool that an agent may call.
#[derive(Debug, Clone, Described)]
pub struct AgentTool {
    /// Id of the [tool](#tool).
    #[member(required, shape = ID, meaning = Names(Tool))]
    pub tool: String,
    /// Asks a person before each call (`always`), before calls that do more than read (`write`, also without it), or `never`.
    pub approval: Option<Approval>,
}

/// When a call of a tool that a model plans requires approval: of an agent's tool, of `spec` in `cv_tool_spec`, or of a row of `cv_mcp_tool`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Described)]
pub enum Approval {
    /// Never.
    Never,
    /// Before each call.
    Always,
    /// Before calls that write.
    Write,
}

/// The memory of an agent.
#[derive(Debug, Clone, Described)]
pub struct AgentMemory {
    /// Most messages.
    #[member(default = 40)]
    pub max_messages: usize,
    /// Most characters.
    #[member(default = 24000)]
    pub max_chars: usize,
    /// When it is emptied.
    pub reset: MemoryReset,
}

/// When the memory of an agent is cleared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum MemoryReset {
    /// Never.
    Never,
    /// When the agent is entered.
    #[default]
    OnEnter,
    /// When the agent is left.
    OnExit,
}

/// The output of an agent.
#[derive(Debug, Clone, Described)]
pub struct AgentOutput {
    /// Variable that takes it.
    #[member(required, meaning = Writes)]
    pub variable: VariablePath,
    /// JSON Schema that it must match.
    #[member(shape = AnyObject)]
    pub schema: Option<Value>,
}

impl NodeData for AgentData {
    fn traits(&self) -> NodeTraits<'_> {
        NodeTraits {
            default_port: "done",
            ports: &["done", "max_turns", "handoff", "error"],
            waiting: Waiting::Always,
            ..NodeTraits::CALLING
        }
    }

    fn writes(&self, _: &Document) -> Option<Vec<VariableWrite>> {
        Some(VariableWrite::of_any(self.output.iter().map(|it| &it.variable)))
    }
}
