//! Pipeline profiles: which steps run, in which order, and how profiles differ. (docs/decisions/0003-order-of-the-pipeline.md,
//! docs/spec/pipeline.md#3)
//!
//! A profile is data: code that varies between profiles reads a flag and never compares profiles.

use convengine_turn::ProgramRef;

use super::phase::Phase;
use super::step::Step;

/// The order in which classifiers and the model choose the intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arbitration {
    /// Classifiers, which also set the state; the model is called only when no row matches.
    ClassifierFirst,
    /// The model, on every message. When it names no intent or fails, classifiers set the intent and no state.
    AgentFirst,
}

/// A pipeline as data. The setting `pipeline.profile` chooses one.
///
/// ```
/// use convengine_config::{Step, V1, V2};
///
/// assert!(V2.has_step(Step::PendingAction) && !V1.has_step(Step::PendingAction));
/// assert!(V1.unread_tables().any(|table| table == "ce_pending_action"), "its rows become a warning");
/// ```
#[derive(Debug)]
pub struct Profile {
    /// The name in settings.
    pub name: &'static str,
    /// The program recorded in turn inputs and journals.
    pub program: ProgramRef,
    /// The steps in order.
    pub order: &'static [Step],
    /// The phases at which rules run.
    pub rule_phases: &'static [Phase],
    /// How the intent is chosen.
    pub arbitration: Arbitration,
    /// Whether texts of EXACT responses are literal, not templates.
    pub has_literal_texts: bool,
    /// Whether newly collected values clear earlier tool results, because tools run later in the turn.
    pub clears_tool_results: bool,
    /// Whether rows of `ce_verbose` publish progress messages.
    pub has_progress_messages: bool,
    /// The default of `flow.conversation-history.max-turns`.
    pub history_max_turns: usize,
}

/// All profiles by name.
pub(super) const PROFILES: [(&str, &Profile); 2] = [(V1.name, &V1), (V2.name, &V2)];

/// Version 2. Policy enforcement precedes every step that may call a model. `CacheInspectAudit` runs only when enabled.
pub const V2: Profile = Profile {
    name: "v2",
    program: ProgramRef::PipelineV2,
    order: &[
        Step::LoadOrCreateConversation,
        Step::CacheInspectAudit,
        Step::ResetConversation,
        Step::PersistConversationBootstrap,
        Step::AuditUserInput,
        Step::PolicyEnforcement,
        Step::DialogueAct,
        Step::InteractionPolicy,
        Step::ActionLifecycle,
        Step::Correction,
        Step::Disambiguation,
        Step::Guardrail,
        Step::IntentResolution,
        Step::ResetResolvedIntent,
        Step::FallbackIntentState,
        Step::AddContainerData,
        Step::SchemaExtraction,
        Step::AutoAdvance,
        Step::PendingAction,
        Step::ToolOrchestration,
        Step::McpTool,
        Step::Rules,
        Step::StateGraph,
        Step::ResponseResolution,
        Step::Memory,
        Step::PersistConversation,
        Step::PipelineEndGuard,
    ],
    rule_phases: &[
        Phase::PostDialogueAct,
        Phase::PostClassifierIntent,
        Phase::PostAgentIntent,
        Phase::PostSchemaExtraction,
        Phase::PostToolExecution,
        Phase::PreAgentMcp,
        Phase::PostSemanticInterpret,
        Phase::PostAgentMcp,
        Phase::PreResponseResolution,
    ],
    arbitration: Arbitration::ClassifierFirst,
    has_literal_texts: false,
    clears_tool_results: true,
    has_progress_messages: true,
    history_max_turns: 20,
};

/// Version 1: a turn is a message, its intent, its values and a response; nothing waits for a confirmation.
pub const V1: Profile = Profile {
    name: "v1",
    program: ProgramRef::PipelineV1,
    order: &[
        Step::LoadOrCreateConversation,
        Step::ResetConversation,
        Step::PersistConversationBootstrap,
        Step::AuditUserInput,
        Step::PolicyEnforcement,
        Step::IntentResolution,
        Step::ResetResolvedIntent,
        Step::FallbackIntentState,
        Step::AddContainerData,
        Step::McpTool,
        Step::SchemaExtraction,
        Step::AutoAdvance,
        Step::Rules,
        Step::ResponseResolution,
        Step::PersistConversation,
        Step::PipelineEndGuard,
    ],
    rule_phases: &[Phase::PostAgentIntent, Phase::PreResponseResolution],
    arbitration: Arbitration::AgentFirst,
    has_literal_texts: true,
    clears_tool_results: false,
    has_progress_messages: false,
    history_max_turns: 10,
};

/// Setting groups read by a single step.
const STEP_SETTINGS: [(&str, Step); 10] = [
    ("flow.dialogue-act", Step::DialogueAct),
    ("flow.query-rewrite", Step::DialogueAct),
    ("flow.interaction-policy", Step::InteractionPolicy),
    ("flow.action-lifecycle", Step::ActionLifecycle),
    ("flow.disambiguation", Step::Disambiguation),
    ("flow.guardrail", Step::Guardrail),
    ("flow.tool-orchestration", Step::ToolOrchestration),
    ("flow.state-graph", Step::StateGraph),
    ("flow.memory", Step::Memory),
    ("audit.cache-inspector", Step::CacheInspectAudit),
];

/// Tables read by a single step.
const STEP_TABLES: [(&str, Step); 3] =
    [("ce_pending_action", Step::PendingAction), ("ce_tool", Step::ToolOrchestration), ("ce_state_graph", Step::StateGraph)];

/// Prefixes of parameters that one step rewrites at every turn; without that step their stored values are stale.
const STEP_PARAMS: [(&str, Step); 2] = [("dialogue_act", Step::DialogueAct), ("memory_", Step::Memory)];

impl Profile {
    /// Whether it includes a step.
    pub fn has_step(&self, step: Step) -> bool {
        self.order.contains(&step)
    }

    /// Whether it runs rules at a phase.
    pub fn has_phase(&self, phase: Phase) -> bool {
        self.rule_phases.contains(&phase)
    }

    /// Setting groups that none of its steps reads.
    pub(super) fn unread_settings(&self) -> impl Iterator<Item = &'static str> {
        STEP_SETTINGS.iter().filter(|it| !self.has_step(it.1)).map(|it| it.0)
    }

    /// Whether a parameter belongs to a step it lacks, so that a stored value comes from another profile and is not to be read.
    pub fn is_stale(&self, param: &str) -> bool {
        STEP_PARAMS.iter().any(|&(prefix, step)| param.starts_with(prefix) && !self.has_step(step))
    }

    /// Tables that none of its steps reads.
    pub fn unread_tables(&self) -> impl Iterator<Item = &'static str> {
        let verbose = (!self.has_progress_messages).then_some("ce_verbose");
        STEP_TABLES.iter().filter(|it| !self.has_step(it.1)).map(|it| it.0).chain(verbose)
    }

    /// The hint for configuration that it does not read.
    pub(super) fn hint(&self, remove: &str) -> String {
        format!("{remove}, or choose a convengine.pipeline.profile other than '{}'", self.name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Config, Tables};

    /// Each step comes after all of its prerequisites, and no step occurs twice.
    #[test]
    fn the_order_satisfies_the_prerequisites_of_the_steps() {
        for (name, profile) in PROFILES {
            let position = |step: Step| profile.order.iter().position(|other| *other == step);
            for (index, step) in profile.order.iter().enumerate() {
                assert_eq!(position(*step), Some(index), "{name}: {} occurs twice", step.name());
                for before in step.prerequisites() {
                    assert!(position(*before).is_none_or(|it| it < index), "{name}: {} comes before {}", step.name(), before.name());
                }
            }
            assert_eq!(profile.order.first(), Some(&Step::LoadOrCreateConversation));
            assert_eq!(profile.order.last(), Some(&Step::PipelineEndGuard));
            assert_eq!(profile.name, name);
        }
        assert_eq!((V2.order.len(), V1.order.len()), (27, 16));
        assert!(V1.order.iter().all(|it| V2.has_step(*it)), "version 2 has every step");
    }

    fn compile(tables: &Value, tree: &Value) -> (Config, Vec<String>) {
        let tables = serde_json::from_value(tables.clone()).unwrap();
        let (config, issues) = Config::compile(&tables, tree);
        assert!(issues.iter().all(|it| !it.is_error()), "{issues:?}");
        (config, issues.iter().map(|it| format!("{}: {}", it.path, it.reason)).collect())
    }

    #[test]
    fn the_settings_name_the_profile_and_the_snapshot_keeps_it() {
        let (v2, _) = compile(&json!({}), &json!({}));
        let (named, _) = compile(&json!({}), &json!({"pipeline": {"profile": "v2"}}));
        let (v1, _) = compile(&json!({}), &json!({"pipeline": {"profile": " V1"}}));
        assert_eq!([&v2, &named, &v1].map(Config::program), [ProgramRef::PipelineV2, ProgramRef::PipelineV2, ProgramRef::PipelineV1]);
        assert_ne!(v1.hash_source(), v2.hash_source());
        assert_eq!(Config::from_source(&v1.source()).0.program(), ProgramRef::PipelineV1);
        let (own, _) = compile(&json!({}), &json!({"pipeline": {"profile": "v1"}, "flow": {"conversationHistory": {"maxTurns": 3}}}));
        assert_eq!([v2, v1, own].map(|it| it.settings.history_max_turns), [20, 10, 3]);
        let (config, issues) = Config::compile(&Tables::default(), &json!({"pipeline": {"profile": "v3"}}));
        let lines: Vec<String> = issues.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["error convengine.pipeline.profile: \"v3\" is not one of v1, v2; correct the value"]);
        assert_eq!(config.program(), ProgramRef::PipelineV2);
    }

    #[test]
    fn what_a_profile_does_not_read_is_reported_once() {
        let row = |key: &str| json!({key: 1, "intent_code": "ANY", "state_code": "ANY"});
        let rule = |id: u32, phase: &str| json!({"rule_id": id, "phase": phase, "rule_type": "EXACT", "match_pattern": "ANY", "action": "SET_STATE", "action_value": "A"});
        let response = |id: u32, text: &str| json!({"response_id": id, "intent_code": "ANY", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT", "exact_text": text});
        let tables = json!({
            "ce_verbose": [
                {"verbose_id": 1, "intent_code": "ANY", "state_code": "ANY", "step_value": "ANY", "determinant": "STEP_ENTER", "message": "a"},
                {"verbose_id": 2, "intent_code": "ANY", "state_code": "ANY", "step_value": "ANY", "determinant": "STEP_EXIT", "message": "b"},
            ],
            "ce_state_graph": [{"graph_id": 1, "intent_code": "ANY", "from_state": "A", "to_state": "A", "enabled": 0}],
            "ce_rule": [rule(1, "PIPELINE_RULES"), rule(2, "POST_AGENT_MCP"), rule(3, "AGENT_POST_INTENT")],
            "ce_response": [response(1, "You said {{userText}}."), response(2, "{ plain }")],
        });
        let (_, lines) = compile(&tables, &json!({"pipeline": {"profile": "v1"}, "flow": {"guardrail": {"enabled": true}}}));
        assert_eq!(
            lines,
            [
                "convengine.flow.guardrail.enabled: has no effect: no step of the profile 'v1' reads it",
                "ce_verbose: the profile 'v1' does not read this table (enabled rows: 2)",
                "ce_rule[2].phase: the rule never runs: the profile 'v1' has no such phase",
                "ce_response[1].exact_text: the profile 'v1' shows the text verbatim, without filling in values",
            ]
        );
        assert_eq!(compile(&tables, &json!({"flow": {"guardrail": {"enabled": true}}})).1, [""; 0]);
        let tables = json!({"ce_pending_action": [row("pending_action_id")], "ce_tool": [row("tool_id")]});
        let (config, lines) = compile(&tables, &json!({"pipeline": {"profile": "v1"}}));
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(
            config.hash_source(),
            compile(&json!({}), &json!({"pipeline": {"profile": "v1"}})).0.hash_source(),
            "their rows are removed"
        );
    }
}
