//! What each step does: one file each, named like the step in audits and tables.

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

use super::Flow;
use crate::config::Step;
use crate::fault::Fault;
use crate::turning::Turning;

impl Step {
    pub(super) async fn run(self, t: &mut Turning<'_>) -> Result<Flow, Fault> {
        match self {
            Step::LoadOrCreateConversation => Ok(load_or_create::run(t)),
            Step::CacheInspectAudit => Ok(cache_inspect::run(t)),
            Step::ResetConversation => Ok(reset::run(t)),
            Step::PersistConversationBootstrap => Ok(persist_bootstrap::run(t)),
            Step::AuditUserInput => Ok(audit_user_input::run(t)),
            Step::PolicyEnforcement => policy_enforcement::run(t).await,
            Step::DialogueAct => dialogue_act::run(t).await,
            Step::InteractionPolicy => Ok(interaction_policy::run(t)),
            Step::ActionLifecycle => Ok(action_lifecycle::run(t)),
            Step::Correction => Ok(correction::run(t)),
            Step::Disambiguation => Ok(disambiguation::run(t).await),
            Step::Guardrail => guardrail::run(t),
            Step::IntentResolution => intent_resolution::run(t).await,
            Step::ResetResolvedIntent => Ok(reset_resolved_intent::run(t)),
            Step::FallbackIntentState => Ok(fallback_intent_state::run(t)),
            Step::AddContainerData => Ok(add_container_data::run(t).await),
            Step::SchemaExtraction => schema_extraction::run(t).await,
            Step::AutoAdvance => Ok(auto_advance::run(t)),
            Step::PendingAction => Ok(pending_action::run(t).await),
            Step::ToolOrchestration => tool_orchestration::run(t).await,
            Step::McpTool => mcp_tool::run(t).await,
            Step::Rules => rules::run(t).await,
            Step::StateGraph => Ok(state_graph::run(t)),
            Step::ResponseResolution => response_resolution::run(t).await,
            Step::Memory => Ok(memory::run(t).await),
            Step::PersistConversation => persist_conversation::run(t),
            Step::PipelineEndGuard => Ok(end_guard::run(t)),
        }
    }
}
