//! Explanations of the steps of an agent: what it has called, and its reason to continue or stop (docs/spec/flows.md#15.7).

use convengine_config::flow::document::FlowCondition;
use convengine_turn::{Candidate, LlmToolCall, Verdict};
use serde_json::{Value, json};

use super::super::super::turn::Turn;
use super::run::{AgentRun, AgentTransition};

/// Codes of results whose message comes from the engine.
const EXPLAINED_CODES: [&str; 8] =
    ["invalid_args", "output_invalid", "unknown_tool", "auth_required", "limit", "budget", "cancelled", "in_doubt"];

impl<'c> Turn<'c> {
    /// Begins the explanation of a step, or of what happens before or after one.
    pub(super) fn begin_agent_step(&mut self, run: &AgentRun<'c>, step: Option<u32>) {
        self.open_explanation("agent_step", |turn| {
            json!({
                "node": turn.state.node_key(&run.node.id), "step": step, "maxSteps": run.max_steps(),
                "turn": run.memory.turns, "maxTurns": run.data.max_turns,
            })
        });
    }

    /// Notes a call with its result.
    pub(super) fn note_call(&mut self, call: &LlmToolCall, result: &Value) {
        self.note(|| {
            let error = |member: &str| result.pointer("/error").and_then(|it| it.get(member)?.as_str());
            let (verdict, reason) = match (error("code"), error("message")) {
                (None, _) => (Verdict::Matched, "called".to_owned()),
                (Some(code), Some(message)) if EXPLAINED_CODES.contains(&code) => (Verdict::Failed, format!("{code}: {message}")),
                (Some(code), _) => (Verdict::Failed, code.to_owned()),
            };
            Candidate::for_choice("", &call.name, verdict).with_reason(reason)
        });
    }

    /// Notes the exit condition.
    pub(super) fn note_exit_condition(&mut self, condition: &FlowCondition, is_true: bool) {
        let (verdict, reason) =
            if is_true { (Verdict::Won, "the exit condition is true") } else { (Verdict::NotMatched, "the exit condition is not true") };
        self.note(|| Candidate::for_choice("", &condition.source, verdict).with_reason(reason));
    }

    /// Records the explanation of a step.
    pub(super) fn end_agent_step(&mut self, run: &AgentRun<'c>, then: &AgentTransition) {
        self.close_explanation(|| match then {
            AgentTransition::Continue => "the results of the calls go back to the model".to_owned(),
            AgentTransition::AwaitInput => "the model has called nothing: the agent waits for the user".to_owned(),
            AgentTransition::AwaitApproval => "a call waits for the approval of a person".to_owned(),
            AgentTransition::Leave("max_turns") => format!("the limit of {} turns is reached: the node is left", run.data.max_turns),
            AgentTransition::Leave(port) => format!("the agent is done: the node is left by the port '{port}'"),
            AgentTransition::Fail(failure) => format!("the agent fails ({})", failure.code),
        });
    }
}
