//! The pipeline steps: one file each, named like the step in audits and tables.

mod action_lifecycle;
mod add_container_data;
mod audit_user_input;
mod auto_advance;
mod cache_inspect;
mod correction;
mod dialogue_act;
mod disambiguation;
mod end_guard;
mod fallback_intent_state;
mod guardrail;
mod intent_resolution;
mod interaction_policy;
mod load_or_create;
mod mcp_tool;
mod memory;
mod pending_action;
mod persist_bootstrap;
mod persist_conversation;
mod policy_enforcement;
mod reset;
mod reset_resolved_intent;
mod response_resolution;
mod rules;
mod schema_extraction;
mod state_graph;
mod tool_orchestration;

use convengine_config::Step;
use convengine_turn::Fault;

use super::StepOutcome;
use crate::step_context::StepContext;

/// Runs what a step does.
pub(super) async fn run(step: Step, cx: &mut StepContext<'_>) -> Result<StepOutcome, Fault> {
    match step {
        Step::LoadOrCreateConversation => Ok(load_or_create::run(cx)),
        Step::CacheInspectAudit => Ok(cache_inspect::run(cx)),
        Step::ResetConversation => Ok(reset::run(cx)),
        Step::PersistConversationBootstrap => Ok(persist_bootstrap::run(cx)),
        Step::AuditUserInput => Ok(audit_user_input::run(cx)),
        Step::PolicyEnforcement => policy_enforcement::run(cx).await,
        Step::DialogueAct => dialogue_act::run(cx).await,
        Step::InteractionPolicy => Ok(interaction_policy::run(cx)),
        Step::ActionLifecycle => Ok(action_lifecycle::run(cx)),
        Step::Correction => Ok(correction::run(cx)),
        Step::Disambiguation => Ok(disambiguation::run(cx).await),
        Step::Guardrail => guardrail::run(cx),
        Step::IntentResolution => intent_resolution::run(cx).await,
        Step::ResetResolvedIntent => Ok(reset_resolved_intent::run(cx)),
        Step::FallbackIntentState => Ok(fallback_intent_state::run(cx)),
        Step::AddContainerData => Ok(add_container_data::run(cx).await),
        Step::SchemaExtraction => schema_extraction::run(cx).await,
        Step::AutoAdvance => Ok(auto_advance::run(cx)),
        Step::PendingAction => Ok(pending_action::run(cx).await),
        Step::ToolOrchestration => tool_orchestration::run(cx).await,
        Step::McpTool => mcp_tool::run(cx).await,
        Step::Rules => rules::run(cx).await,
        Step::StateGraph => Ok(state_graph::run(cx)),
        Step::ResponseResolution => response_resolution::run(cx).await,
        Step::Memory => Ok(memory::run(cx).await),
        Step::PersistConversation => persist_conversation::run(cx),
        Step::PipelineEndGuard => Ok(end_guard::run(cx)),
    }
}
