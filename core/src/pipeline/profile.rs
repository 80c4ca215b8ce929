//! Profiles: which steps run, in which order. (`decisions.md` 2)

use super::step::Step;

/// A pipeline as data.
#[derive(Debug)]
pub struct Profile {
    /// The steps in order.
    pub order: &'static [Step],
}

/// Version 2. Policy stands before anything that may call a model.
pub const V2: Profile = Profile {
    order: &[
        Step::LoadOrCreateConversation,
        Step::ResetConversation,
        Step::PersistConversationBootstrap,
        Step::AuditUserInput,
        Step::PolicyEnforcement,
        Step::DialogueAct,
        Step::InteractionPolicy,
        Step::IntentResolution,
        Step::FallbackIntentState,
        Step::ToolOrchestration,
        Step::McpTool,
        Step::Rules,
        Step::ResponseResolution,
        Step::PersistConversation,
        Step::PipelineEndGuard,
    ],
};
