//! Explanations of the steps of an agent: what it has called, and its reason to continue or stop (docs/spec/flows.md#15.7).

use convengine_config::flow::document::{FlowCondition, FlowTool};
use convengine_turn::{Candidate, LlmToolCall, Verdict};
use serde_json::{Value, json};

use super::super::super::turn::Turn;
use super::run::{AgentRun, AgentTransition};

/// Codes of results whose message comes from the engine.
const EXPLAINED_CODES: [&str; 8] =
    ["invalid_args", "output_invalid", "unknown_tool", "auth_required", "limit", "budget", "cancelled", "in_doubt"];

/// How a step of an agent ends, or why none is taken.
#[derive(Clone, Copy)]
pub(super) enum AgentStepEnd<'t> {
    /// The step was taken.
    Taken(&'t AgentTransition),
    /// The node has handled all its messages.
    TurnLimit,
    /// The turn has taken all its steps.
    StepLimit,
    /// The turn has no effects left.
    EffectLimit,
    /// A limit of an AI agent is reached, by its stop reason.
    Limit(&'static str),
    /// The edited arguments of a call are invalid, for this reason.
    InvalidEdit(&'t str),
    /// A guardrail hands the conversation over.
    Escalated,
}

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

    /// Begins the explanation of what the decision about a call leads to.
    pub(super) fn begin_approval(&mut self, run: &AgentRun<'c>, is_approved: bool) {
        self.begin_agent_step(run, None);
        self.note_fact("approved", || json!(is_approved));
    }

    /// Notes a call that waits for the approval of a person.
    pub(super) fn note_waiting_call(&mut self, tool: &FlowTool) {
        self.note(|| Candidate::for_choice("", &tool.id, Verdict::Matched).with_reason("it waits for the approval of a person"));
    }

    /// Notes a call with its result.
    pub(super) fn note_call(&mut self, call: &LlmToolCall, result: &Value) {
        self.note(|| {
            let error = |member: &str| result.pointer("/error").and_then(|members| members.get(member)?.as_str());
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

    /// Explains what happens before or after a step.
    pub(super) fn explain_agent(&mut self, run: &AgentRun<'c>, end: AgentStepEnd<'_>) {
        self.begin_agent_step(run, None);
        self.end_agent_step(run, end);
    }

    /// Records the explanation of a step.
    pub(super) fn end_agent_step(&mut self, run: &AgentRun<'c>, end: AgentStepEnd<'_>) {
        self.close_explanation(|_| match end {
            AgentStepEnd::Taken(transition) => explain_transition(run, transition),
            AgentStepEnd::TurnLimit => {
                format!("the limit of {} turns is reached: the message is not sent to the model", run.data.max_turns)
            }
            AgentStepEnd::StepLimit => "the agent has reached its step limit of the turn: the turn ends".to_owned(),
            AgentStepEnd::EffectLimit => "the effect limit of the turn is reached before the step".to_owned(),
            AgentStepEnd::Limit(reason) => format!("a limit of the agent is reached ({reason}): the turn ends before the step"),
            AgentStepEnd::InvalidEdit(reason) => format!("the edited arguments are not valid, and the call still waits: {reason}"),
            AgentStepEnd::Escalated => "a guardrail hands the conversation over to a person".to_owned(),
        });
    }
}

fn explain_transition(run: &AgentRun<'_>, transition: &AgentTransition) -> String {
    match transition {
        AgentTransition::Continue => "the results of the calls go back to the model".to_owned(),
        AgentTransition::AwaitInput => "the model has called nothing: the agent waits for the user".to_owned(),
        AgentTransition::AwaitApproval => "a call waits for the approval of a person".to_owned(),
        AgentTransition::Leave("max_turns") => format!("the limit of {} turns is reached: the node is left", run.data.max_turns),
        AgentTransition::Leave(port) => format!("the agent is done: the node is left by the port '{port}'"),
        AgentTransition::Fail(failure) => format!("the agent fails ({})", failure.code),
    }
}
