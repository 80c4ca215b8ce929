//! Profiles: which steps run, in which order, and what else sets them apart. (`decisions.md` 2, `spec/pipeline.md` 3)
//!
//! A profile is data. Whoever does something in two ways asks for the flag, never for the profile.

use super::issue::Issue;
use super::rule::Phase;
use super::step::Step;
use super::tables::Tables;
use crate::turn::ProgramRef;

/// Who chooses the intent when wording and model both can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arbitration {
    /// The wording, with the state of its row; a model is asked only where no row fits.
    ClassifierFirst,
    /// A model, which is always asked. Where it names no intent, or fails, the wording gives the intent and no state.
    AgentFirst,
}

/// A pipeline as data.
#[derive(Debug)]
pub struct Profile {
    /// The spelling in settings.
    pub name: &'static str,
    /// What a turn's input and its journal call it.
    pub program: ProgramRef,
    /// The steps in order.
    pub order: &'static [Step],
    /// The moments at which rules run.
    pub rule_phases: &'static [Phase],
    /// Who chooses the intent.
    pub arbitration: Arbitration,
    /// Whether the texts of EXACT responses are shown as they stand, and are no templates.
    pub plain_texts: bool,
    /// Whether values that were just collected drop what tools found, because tools come after them.
    pub drops_findings: bool,
    /// Whether rows of `ce_verbose` speak.
    pub verbose: bool,
    /// Turns of history, unless the settings say otherwise.
    pub history_max_turns: usize,
}

/// The spelling of each profile in settings.
pub(super) const PROFILES: [(&str, &Profile); 2] = [(V1.name, &V1), (V2.name, &V2)];

/// Version 2. Policy stands before anything that may call a model. `CacheInspectAudit` runs only when the settings ask for it.
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
    plain_texts: false,
    drops_findings: true,
    verbose: true,
    history_max_turns: 20,
};

/// Version 1: one turn is a message, its intent, its values and an answer; nothing waits for a yes.
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
    plain_texts: true,
    drops_findings: false,
    verbose: false,
    history_max_turns: 10,
};

/// Settings that only one step reads.
const SETTINGS: [(&str, Step); 10] = [
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

/// Tables that only one step reads.
const TABLES: [(&str, Step); 3] =
    [("ce_pending_action", Step::PendingAction), ("ce_tool", Step::ToolOrchestration), ("ce_state_graph", Step::StateGraph)];

/// Beginnings of parameters that one step writes anew at every turn; what an earlier turn left of them says nothing of this one.
const PARAMS: [(&str, Step); 2] = [("dialogue_act", Step::DialogueAct), ("memory_", Step::Memory)];

impl Profile {
    /// Whether it has a step.
    pub fn runs(&self, step: Step) -> bool {
        self.order.contains(&step)
    }

    /// Whether it runs rules at a moment.
    pub fn has_phase(&self, phase: Phase) -> bool {
        self.rule_phases.contains(&phase)
    }

    /// Settings that no step of it reads.
    pub(super) fn unread_settings(&self) -> impl Iterator<Item = &'static str> {
        SETTINGS.iter().filter(|it| !self.runs(it.1)).map(|it| it.0)
    }

    /// Whether no step of it writes a parameter that another profile may have left.
    pub fn is_stale(&self, param: &str) -> bool {
        PARAMS.iter().any(|it| param.starts_with(it.0) && !self.runs(it.1))
    }

    /// Tables that nothing in it reads.
    pub(crate) fn unread_tables(&self) -> impl Iterator<Item = &'static str> {
        let verbose = (!self.verbose).then_some("ce_verbose");
        TABLES.iter().filter(|it| !self.runs(it.1)).map(|it| it.0).chain(verbose)
    }

    /// What to do about something that it does not read.
    pub(super) fn hint(&self, remove: &str) -> String {
        format!("{remove}, or choose another convengine.pipeline.profile than {}", self.name)
    }

    /// Takes the tables away that nothing reads, and says so of those that have rows.
    pub(super) fn leave_out(&self, tables: &mut Tables, issues: &mut Vec<Issue>) {
        for table in self.unread_tables() {
            let rows = tables.enabled(table).len();
            tables.0.remove(table);
            if rows > 0 {
                let reason = format!("the profile {} reads none of its rows ({rows} enabled)", self.name);
                issues.push(Issue::warning(table, reason, self.hint("disable them")));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::config::Config;

    /// A step stands after everything that it builds on, and no step stands twice.
    #[test]
    fn the_order_keeps_what_the_steps_demand() {
        for (name, profile) in PROFILES {
            let position = |step: Step| profile.order.iter().position(|it| *it == step);
            for (index, step) in profile.order.iter().enumerate() {
                assert_eq!(position(*step), Some(index), "{name}: {} stands twice", step.name());
                for before in step.after() {
                    assert!(position(*before).is_none_or(|it| it < index), "{name}: {} comes before {}", step.name(), before.name());
                }
            }
            assert_eq!(profile.order.first(), Some(&Step::LoadOrCreateConversation));
            assert_eq!(profile.order.last(), Some(&Step::PipelineEndGuard));
            assert_eq!(profile.name, name);
        }
        assert_eq!((V2.order.len(), V1.order.len()), (27, 16));
        assert!(V1.order.iter().all(|it| V2.runs(*it)), "version 2 has every step");
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
        assert_ne!(v1.hash(), v2.hash());
        assert_eq!(Config::from_source(v1.source()).0.program(), ProgramRef::PipelineV1);
        let (own, _) = compile(&json!({}), &json!({"pipeline": {"profile": "v1"}, "flow": {"conversationHistory": {"maxTurns": 3}}}));
        assert_eq!([v2, v1, own].map(|it| it.settings.history_max_turns), [20, 10, 3]);
        let (config, issues) = Config::compile(&Tables::default(), &json!({"pipeline": {"profile": "v3"}}));
        let lines: Vec<String> = issues.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["error convengine.pipeline.profile: \"v3\" is not one of v1, v2; correct the value"]);
        assert_eq!(config.program(), ProgramRef::PipelineV2);
    }

    #[test]
    fn what_a_profile_does_not_read_is_told_once() {
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
        let (_, told) = compile(&tables, &json!({"pipeline": {"profile": "v1"}, "flow": {"guardrail": {"enabled": true}}}));
        assert_eq!(
            told,
            [
                "convengine.flow.guardrail.enabled: has no effect: the profile v1 has no step that reads it",
                "ce_verbose: the profile v1 reads none of its rows (2 enabled)",
                "ce_rule[2].phase: the rule never runs: the profile v1 has no such phase",
                "ce_response[1].exact_text: the profile v1 shows the text as it stands and fills in no values",
            ]
        );
        assert_eq!(compile(&tables, &json!({"flow": {"guardrail": {"enabled": true}}})).1, [""; 0]);
        let tables = json!({"ce_pending_action": [row("pending_action_id")], "ce_tool": [row("tool_id")]});
        let (config, told) = compile(&tables, &json!({"pipeline": {"profile": "v1"}}));
        assert_eq!(told.len(), 2, "{told:?}");
        assert_eq!(config.hash(), compile(&json!({}), &json!({"pipeline": {"profile": "v1"}})).0.hash(), "nothing of them is left");
    }
}
