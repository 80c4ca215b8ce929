//! Profiles: which steps run, in which order. (`decisions.md` 2)

use super::step::Step;

/// A pipeline as data.
#[derive(Debug)]
pub struct Profile {
    /// The steps in order.
    pub order: &'static [Step],
}

/// Version 2. Policy stands before anything that may call a model. `CacheInspectAudit` runs only when the settings ask for it.
pub const V2: Profile = Profile {
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
};
