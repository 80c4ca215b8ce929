//! The steps: one file each, named like the step in audits and tables.

mod audit_user_input;
mod dialogue_act;
mod end_guard;
mod fallback_intent_state;
mod intent_resolution;
mod interaction_policy;
mod load_or_create;
mod persist_bootstrap;
mod persist_conversation;
mod policy_enforcement;
mod reset;
mod response_resolution;
mod rules;

use super::Flow;
use crate::fault::Fault;
use crate::turning::Turning;

/// A step of the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is described in the header of its file")]
pub enum Step {
    LoadOrCreateConversation,
    ResetConversation,
    PersistConversationBootstrap,
    AuditUserInput,
    PolicyEnforcement,
    DialogueAct,
    InteractionPolicy,
    IntentResolution,
    FallbackIntentState,
    Rules,
    ResponseResolution,
    PersistConversation,
    PipelineEndGuard,
}

impl Step {
    /// The spelling in audits and in `ce_verbose.step_value`.
    pub fn name(self) -> &'static str {
        match self {
            Step::LoadOrCreateConversation => "LoadOrCreateConversationStep",
            Step::ResetConversation => "ResetConversationStep",
            Step::PersistConversationBootstrap => "PersistConversationBootstrapStep",
            Step::AuditUserInput => "AuditUserInputStep",
            Step::PolicyEnforcement => "PolicyEnforcementStep",
            Step::DialogueAct => "DialogueActStep",
            Step::InteractionPolicy => "InteractionPolicyStep",
            Step::IntentResolution => "IntentResolutionStep",
            Step::FallbackIntentState => "FallbackIntentStateStep",
            Step::Rules => "RulesStep",
            Step::ResponseResolution => "ResponseResolutionStep",
            Step::PersistConversation => "PersistConversationStep",
            Step::PipelineEndGuard => "PipelineEndGuardStep",
        }
    }

    pub(super) async fn run(self, t: &mut Turning<'_>) -> Result<Flow, Fault> {
        match self {
            Step::LoadOrCreateConversation => Ok(load_or_create::run(t)),
            Step::ResetConversation => Ok(reset::run(t)),
            Step::PersistConversationBootstrap => Ok(persist_bootstrap::run(t)),
            Step::AuditUserInput => Ok(audit_user_input::run(t)),
            Step::PolicyEnforcement => policy_enforcement::run(t).await,
            Step::DialogueAct => dialogue_act::run(t).await,
            Step::InteractionPolicy => Ok(interaction_policy::run(t)),
            Step::IntentResolution => Ok(intent_resolution::run(t)),
            Step::FallbackIntentState => Ok(fallback_intent_state::run(t)),
            Step::Rules => Ok(rules::run(t)),
            Step::ResponseResolution => response_resolution::run(t),
            Step::PersistConversation => persist_conversation::run(t),
            Step::PipelineEndGuard => Ok(end_guard::run(t)),
        }
    }
}
