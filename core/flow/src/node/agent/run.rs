//! The run of an agent in a turn, and how it goes on after a step.

use convengine_config::flow::agent_memory_variable_of;
use convengine_config::flow::document::{AgentData, AgentPolicy, Node, Refusal};

use super::super::super::failure::Failure;
use super::super::super::view::SessionView;
use super::memory::Memory;

/// Upper limit for the steps of a turn; documents may lower it.
const MAX_STEPS: u32 = 50;

/// The run of an agent in a turn.
pub(super) struct AgentRun<'c> {
    pub node: &'c Node,
    pub data: &'c AgentData,
    /// What only an AI agent has.
    pub policy: Option<&'c AgentPolicy>,
    pub memory: Memory,
    /// The variable of the memory.
    pub variable: String,
    /// Whether the model has sent a text in this turn.
    pub has_sent_text: bool,
    /// Whether an invalid output has already been rejected once.
    pub is_output_rejected: bool,
    /// The message and the replies of this turn, of an AI agent.
    pub texts: Vec<String>,
    /// What guardrails have refused in this turn.
    pub refusals: Vec<Refusal>,
}

/// What happens after a step.
pub(super) enum AgentTransition {
    /// Another step.
    Continue,
    /// The agent waits for the user.
    AwaitInput,
    /// The agent waits for an approval.
    AwaitApproval,
    /// The node is left by a port.
    Leave(&'static str),
    /// The agent has failed.
    Fail(Failure),
}

impl<'c> AgentRun<'c> {
    /// Reads the run of a node.
    pub fn load(view: SessionView<'_, 'c>, node: &'c Node, data: &'c AgentData) -> AgentRun<'c> {
        let graph = view.state.frame().map(|it| it.graph.as_str()).unwrap_or_default();
        let variable = view.flow.agent_memory_variable(graph, &node.id);
        // Older sessions have it by the node's id alone.
        let stored = view.state.vars.get(&variable).or_else(|| view.state.vars.get(&agent_memory_variable_of(&node.id)));
        let memory = Memory::from_stored(stored);
        let policy = view.flow.document.agent.as_deref();
        AgentRun {
            node,
            data,
            policy,
            memory,
            variable,
            has_sent_text: false,
            is_output_rejected: false,
            texts: Vec::new(),
            refusals: Vec::new(),
        }
    }

    /// The most steps of a turn.
    pub fn max_steps(&self) -> u32 {
        self.data.max_steps.min(MAX_STEPS)
    }

    /// Counts a call of a tool.
    pub fn count_call(&mut self, name: &str) {
        if self.policy.is_some() {
            let progress = &mut self.memory.progress;
            for counts in [&mut progress.turn_calls, &mut progress.calls] {
                *counts.entry(name.to_owned()).or_default() += 1;
            }
        }
    }
}
