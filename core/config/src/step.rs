//! The pipeline steps, their names in tables, settings and audits, and their order constraints.

/// A step of the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is described in the header of its file in `pipeline/step`")]
pub enum Step {
    LoadOrCreateConversation,
    CacheInspectAudit,
    ResetConversation,
    PersistConversationBootstrap,
    AuditUserInput,
    PolicyEnforcement,
    DialogueAct,
    InteractionPolicy,
    ActionLifecycle,
    Correction,
    Disambiguation,
    Guardrail,
    IntentResolution,
    ResetResolvedIntent,
    FallbackIntentState,
    AddContainerData,
    SchemaExtraction,
    AutoAdvance,
    PendingAction,
    ToolOrchestration,
    McpTool,
    Rules,
    StateGraph,
    ResponseResolution,
    Memory,
    PersistConversation,
    PipelineEndGuard,
}

/// What publishes progress messages beside the steps.
pub const PUBLISHERS: [&str; 8] = [
    "AgentIntentCollisionResolver",
    "AgentIntentResolver",
    "JsonOutputFormatResolver",
    "McpPlanner",
    "OutputFormatResolverFactory",
    "ResponseTypeResolverFactory",
    "RuleActionResolverFactory",
    "TextOutputFormatResolver",
];

impl Step {
    /// The name in audits and in `ce_verbose.step_value`.
    pub fn name(self) -> &'static str {
        match self {
            Step::LoadOrCreateConversation => "LoadOrCreateConversationStep",
            Step::CacheInspectAudit => "CacheInspectAuditStep",
            Step::ResetConversation => "ResetConversationStep",
            Step::PersistConversationBootstrap => "PersistConversationBootstrapStep",
            Step::AuditUserInput => "AuditUserInputStep",
            Step::PolicyEnforcement => "PolicyEnforcementStep",
            Step::DialogueAct => "DialogueActStep",
            Step::InteractionPolicy => "InteractionPolicyStep",
            Step::ActionLifecycle => "ActionLifecycleStep",
            Step::Correction => "CorrectionStep",
            Step::Disambiguation => "DisambiguationStep",
            Step::Guardrail => "GuardrailStep",
            Step::IntentResolution => "IntentResolutionStep",
            Step::ResetResolvedIntent => "ResetResolvedIntentStep",
            Step::FallbackIntentState => "FallbackIntentStateStep",
            Step::AddContainerData => "AddContainerDataStep",
            Step::SchemaExtraction => "SchemaExtractionStep",
            Step::AutoAdvance => "AutoAdvanceStep",
            Step::PendingAction => "PendingActionStep",
            Step::ToolOrchestration => "ToolOrchestrationStep",
            Step::McpTool => "McpToolStep",
            Step::Rules => "RulesStep",
            Step::StateGraph => "StateGraphStep",
            Step::ResponseResolution => "ResponseResolutionStep",
            Step::Memory => "MemoryStep",
            Step::PersistConversation => "PersistConversationStep",
            Step::PipelineEndGuard => "PipelineEndGuardStep",
        }
    }

    /// The steps that must run before it, if the profile has them: it reads what they write, or they guard it.
    pub fn prerequisites(self) -> &'static [Step] {
        match self {
            Step::LoadOrCreateConversation => &[],
            Step::CacheInspectAudit | Step::ResetConversation => &[Step::LoadOrCreateConversation],
            Step::PersistConversationBootstrap => &[Step::ResetConversation],
            Step::AuditUserInput => &[Step::PersistConversationBootstrap],
            Step::PolicyEnforcement => &[Step::AuditUserInput],
            Step::DialogueAct => &[Step::PolicyEnforcement],
            Step::InteractionPolicy => &[Step::DialogueAct],
            Step::ActionLifecycle | Step::Correction => &[Step::InteractionPolicy],
            Step::Disambiguation => &[Step::PolicyEnforcement, Step::ActionLifecycle],
            Step::Guardrail => &[Step::DialogueAct, Step::Disambiguation],
            Step::IntentResolution => &[Step::PolicyEnforcement, Step::Correction, Step::Disambiguation, Step::Guardrail],
            Step::ResetResolvedIntent => &[Step::IntentResolution],
            Step::FallbackIntentState => &[Step::ResetResolvedIntent],
            Step::AddContainerData => &[Step::FallbackIntentState],
            Step::SchemaExtraction => &[Step::AddContainerData],
            Step::AutoAdvance => &[Step::SchemaExtraction],
            Step::PendingAction => &[Step::Guardrail, Step::FallbackIntentState, Step::AutoAdvance],
            Step::ToolOrchestration => &[Step::Guardrail, Step::PendingAction, Step::AutoAdvance],
            Step::McpTool => &[Step::Guardrail, Step::AddContainerData, Step::ToolOrchestration],
            Step::Rules => &[Step::AutoAdvance, Step::PendingAction, Step::ToolOrchestration, Step::McpTool],
            Step::StateGraph => &[Step::Rules],
            Step::ResponseResolution => &[Step::Rules, Step::StateGraph],
            Step::Memory => &[Step::ResponseResolution],
            Step::PersistConversation => &[Step::ResponseResolution, Step::Memory],
            Step::PipelineEndGuard => &[Step::PersistConversation],
        }
    }
}
