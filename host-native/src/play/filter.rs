//! What a recording holds of steps that the profile does not list: one table, applied to recordings alone.
//!
//! A step that the profile lists is never filtered, so a row of this table loses its effect when its step arrives.

use convengine_core::V2;
use serde_json::Value;

/// What a step leaves in a recording.
struct Traces {
    step: &'static str,
    /// Audit stages; `*` at the end stands for any ending.
    stages: &'static [&'static str],
    /// Members of the context and of its copies.
    context: &'static [&'static str],
    /// Members of the parameters and of their copies.
    params: &'static [&'static str],
}

const TRACES: [Traces; 14] = [
    Traces { step: "CacheInspectAuditStep", stages: &["CACHE_INSPECTION"], context: &[], params: &[] },
    Traces {
        step: "ActionLifecycleStep",
        stages: &["PENDING_ACTION_LIFECYCLE"],
        context: &["pending_action_runtime"],
        params: &["pending_action_runtime_status"],
    },
    Traces {
        step: "CorrectionStep",
        stages: &["CORRECTION_STEP_*"],
        context: &[],
        params: &["routing_decision", "skip_schema_extraction", "correction_applied", "correction_target_field"],
    },
    Traces {
        step: "DisambiguationStep",
        stages: &["DISAMBIGUATION_REQUIRED"],
        context: &[],
        params: &["pending_action_disambiguation_required"],
    },
    Traces {
        step: "GuardrailStep",
        stages: &["GUARDRAIL_*"],
        context: &[],
        params: &["sanitized_user_text", "guardrail_blocked", "guardrail_reason", "skip_tool_execution", "skip_pending_action_execution"],
    },
    Traces { step: "ResetResolvedIntentStep", stages: &[], context: &[], params: &[] },
    Traces { step: "AddContainerDataStep", stages: &["CONTAINER_DATA_*"], context: &["container_data"], params: &[] },
    Traces {
        step: "SchemaExtractionStep",
        stages: &["SCHEMA_*", "RULE_* (SchemaExtractionStep)"],
        context: &[],
        params: &["missing_fields", "schema_description", "schema_id"],
    },
    Traces { step: "AutoAdvanceStep", stages: &["AUTO_ADVANCE_*"], context: &[], params: &[] },
    Traces {
        step: "PendingActionStep",
        stages: &["PENDING_ACTION_SKIPPED", "PENDING_ACTION_EXECUTED", "PENDING_ACTION_REJECTED", "PENDING_ACTION_FAILED"],
        context: &[],
        params: &["pending_action_result"],
    },
    Traces {
        step: "ToolOrchestrationStep",
        stages: &["TOOL_ORCHESTRATION_*", "RULE_* (ToolOrchestrationStep PostTool)"],
        context: &[],
        params: &["tool_result", "tool_status"],
    },
    Traces {
        step: "McpToolStep",
        stages: &["MCP_*", "RULE_* (McpToolStep)", "RULE_* (McpToolStep PreMcp)"],
        context: &["mcp"],
        params: &["mcp_status"],
    },
    Traces { step: "StateGraphStep", stages: &["STATE_GRAPH_*"], context: &[], params: &["state_graph_valid"] },
    Traces { step: "MemoryStep", stages: &["MEMORY_UPDATED"], context: &["memory"], params: &["memory_recall", "memory_session_summary"] },
];

/// Members that hold a copy of the context.
const CONTEXTS: [&str; 3] = ["context", "context_json", "schemaJson"];

/// Members that hold a copy of the parameters.
const PARAMS: [&str; 3] = ["inputParams", "input_params_json", "sessionInputParams"];

fn missing() -> impl Iterator<Item = &'static Traces> {
    TRACES.iter().filter(|it| !V2.order.iter().any(|step| step.name() == it.step))
}

/// Whether a step is compared.
pub(super) fn keeps_step(step: &str) -> bool {
    !missing().any(|it| it.step == step)
}

/// Whether a stage is compared.
pub(super) fn keeps_stage(stage: &str) -> bool {
    !missing().flat_map(|it| it.stages).any(|pattern| fits(pattern, stage))
}

fn fits(pattern: &str, stage: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == stage,
        Some((start, end)) => stage.starts_with(start) && stage.ends_with(end),
    }
}

/// Removes what the missing steps would have left, at every depth.
pub(super) fn strip(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (key, member) in members.iter_mut() {
                if let Value::Object(inner) = member {
                    if CONTEXTS.contains(&key.as_str()) {
                        inner.retain(|name, _| !missing().any(|it| it.context.contains(&name.as_str())));
                    }
                    if PARAMS.contains(&key.as_str()) {
                        inner.retain(|name, _| !missing().any(|it| it.params.contains(&name.as_str())));
                    }
                }
                strip(member);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}
