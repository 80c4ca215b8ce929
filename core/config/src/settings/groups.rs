//! Setting groups of the pipeline steps.

use std::collections::BTreeMap;

use super::choice::{AuditLevel, InteractionDecision, LEVELS, SUMMARIZERS, Summarizer};
use super::http::HttpPolicy;
use super::reader::SettingsReader;

/// `flow.interaction-policy.*`
#[derive(Debug, Clone)]
pub struct InteractionSettings {
    /// `execute-pending-on-affirm`
    pub execute_pending_on_affirm: bool,
    /// `reject-pending-on-negate`
    pub reject_pending_on_negate: bool,
    /// `fill-pending-slot-on-non-new-request`
    pub fill_pending_slot: bool,
    /// `require-resolved-intent-and-state`
    pub require_resolved: bool,
    /// `matrix`: `SUBJECT:ACT` to a decision.
    pub matrix: BTreeMap<String, InteractionDecision>,
}

impl InteractionSettings {
    pub(super) fn read(reader: &mut SettingsReader<'_>) -> InteractionSettings {
        const STEP: &str = "InteractionPolicyStep";
        InteractionSettings {
            execute_pending_on_affirm: reader.boolean("flow.interaction-policy.execute-pending-on-affirm", STEP, true),
            reject_pending_on_negate: reader.boolean("flow.interaction-policy.reject-pending-on-negate", STEP, true),
            fill_pending_slot: reader.boolean("flow.interaction-policy.fill-pending-slot-on-non-new-request", STEP, true),
            require_resolved: reader.boolean("flow.interaction-policy.require-resolved-intent-and-state", STEP, true),
            matrix: reader.matrix("flow.interaction-policy.matrix", STEP),
        }
    }
}

/// `flow.action-lifecycle.*`
#[derive(Debug, Clone)]
pub struct ActionLifecycleSettings {
    /// `enabled`
    pub enabled: bool,
    /// `ttl-turns`: lifetime of an open action in turns; unlimited when not positive.
    pub ttl_turns: i64,
    /// `ttl-minutes`: lifetime of an open action in minutes; unlimited when not positive.
    pub ttl_minutes: i64,
}

impl ActionLifecycleSettings {
    pub(super) fn read(reader: &mut SettingsReader<'_>) -> ActionLifecycleSettings {
        const STEP: &str = "ActionLifecycleStep";
        ActionLifecycleSettings {
            enabled: reader.boolean("flow.action-lifecycle.enabled", STEP, true),
            ttl_turns: reader.limit("flow.action-lifecycle.ttl-turns", STEP, 3),
            ttl_minutes: reader.limit("flow.action-lifecycle.ttl-minutes", STEP, 30),
        }
    }
}

/// `flow.disambiguation.*`
#[derive(Debug, Clone)]
pub struct DisambiguationSettings {
    /// `enabled`
    pub enabled: bool,
    /// `max-options`: maximum options of a question.
    pub max_options: usize,
}

impl DisambiguationSettings {
    pub(super) fn read(reader: &mut SettingsReader<'_>) -> DisambiguationSettings {
        const STEP: &str = "DisambiguationStep";
        DisambiguationSettings {
            enabled: reader.boolean("flow.disambiguation.enabled", STEP, true),
            max_options: reader.count("flow.disambiguation.max-options", STEP, 5),
        }
    }
}

/// `flow.guardrail.*`
#[derive(Debug, Clone)]
pub struct GuardrailSettings {
    /// `enabled`
    pub enabled: bool,
    /// `sanitize-input`
    pub sanitize_input: bool,
    /// `require-approval-for-sensitive-actions`
    pub require_approval: bool,
    /// `approval-gate-fail-closed`: an undecidable message counts as sensitive and not approved.
    pub fail_closed: bool,
    /// `affirm-approves`: a confirmation on the next turn approves.
    pub affirm_approves: bool,
    /// `sensitive-patterns`
    pub sensitive_patterns: Vec<String>,
}

impl GuardrailSettings {
    pub(super) fn read(reader: &mut SettingsReader<'_>) -> GuardrailSettings {
        const STEP: &str = "GuardrailStep";
        GuardrailSettings {
            enabled: reader.boolean("flow.guardrail.enabled", STEP, true),
            sanitize_input: reader.boolean("flow.guardrail.sanitize-input", STEP, true),
            require_approval: reader.boolean("flow.guardrail.require-approval-for-sensitive-actions", STEP, false),
            fail_closed: reader.boolean("flow.guardrail.approval-gate-fail-closed", STEP, false),
            affirm_approves: reader.boolean("flow.guardrail.affirm-approves", STEP, true),
            sensitive_patterns: reader.parse_texts("flow.guardrail.sensitive-patterns", STEP),
        }
    }
}

/// `flow.state-graph.*`
#[derive(Debug, Clone)]
pub struct StateGraphSettings {
    /// `enabled`
    pub enabled: bool,
    /// `soft-block-on-violation`
    pub soft_block: bool,
    /// `revert-on-violation`: restores the previous state.
    pub revert: bool,
    /// `allowed-transitions`: target states by source state, in upper case.
    pub allowed_transitions: BTreeMap<String, Vec<String>>,
}

impl StateGraphSettings {
    pub(super) fn read(reader: &mut SettingsReader<'_>) -> StateGraphSettings {
        const STEP: &str = "StateGraphStep";
        StateGraphSettings {
            enabled: reader.boolean("flow.state-graph.enabled", STEP, true),
            soft_block: reader.boolean("flow.state-graph.soft-block-on-violation", STEP, false),
            revert: reader.boolean("flow.state-graph.revert-on-violation", STEP, false),
            allowed_transitions: reader.lists("flow.state-graph.allowed-transitions", STEP),
        }
    }
}

/// `flow.memory.*`
#[derive(Debug, Clone)]
pub struct MemorySettings {
    /// `enabled`
    pub enabled: bool,
    /// `summary-max-chars`: maximum length of a summary, in UTF-16 code units.
    pub summary_max_chars: usize,
    /// `recent-turns-for-summary`
    pub recent_turns: usize,
    /// `summarizer`
    pub summarizer: Summarizer,
}

impl MemorySettings {
    pub(super) fn read(reader: &mut SettingsReader<'_>) -> MemorySettings {
        const STEP: &str = "MemoryStep";
        MemorySettings {
            enabled: reader.boolean("flow.memory.enabled", STEP, true),
            summary_max_chars: reader.count("flow.memory.summary-max-chars", STEP, 1200),
            recent_turns: reader.count("flow.memory.recent-turns-for-summary", STEP, 3),
            summarizer: reader.choice("flow.memory.summarizer", STEP, &SUMMARIZERS, Summarizer::Deterministic),
        }
    }
}

/// `mcp.guardrail.*`: the allowed sequences of tools.
#[derive(Debug, Clone)]
pub struct NextToolSettings {
    /// `enabled`
    pub enabled: bool,
    /// `fail-closed`: a tool missing from the map has no successor.
    pub fail_closed: bool,
    /// `allowed-next-by-current-tool`, in upper case; `__START__` precedes the first tool.
    pub allowed: BTreeMap<String, Vec<String>>,
}

/// `flow.tool-orchestration.enabled`, `mcp.*`
#[derive(Debug, Clone)]
pub struct ToolSettings {
    /// Whether tools can be requested directly.
    pub orchestration_enabled: bool,
    /// `tool-max-loops`: maximum planner rounds of a turn.
    pub max_loops: usize,
    /// `tool-call-delay-ms`: delay before each call, in milliseconds.
    pub delay_ms: usize,
    /// `tool-call-delay-after-calls`: number of calls after which an extra delay applies.
    pub delay_after_calls: usize,
    /// `tool-call-delay-after-ms`: the extra delay, in milliseconds.
    pub delay_after_ms: usize,
    /// Number of newest observations that the planner sees; 0 for all.
    pub max_observations: usize,
    /// Maximum characters of an observation that the planner sees.
    pub max_observation_chars: usize,
    /// `guardrail.*`
    pub next_tool: NextToolSettings,
    /// `http-api.defaults.*`
    pub http: HttpPolicy,
    /// `db.preflight.sql-auto-repair-max-retries`: how often a model may repair a failing query; 0 when disabled, as it is by default.
    pub max_sql_repairs: usize,
}

impl ToolSettings {
    pub(super) fn read(reader: &mut SettingsReader<'_>) -> ToolSettings {
        const STEP: &str = "McpToolStep";
        const PLANNER: &str = "McpPlanner";
        let max_loops = reader.count("mcp.tool-max-loops", "", 5);
        let delay_ms = reader.count("mcp.tool-call-delay-ms", "", 0);
        let delay_after_calls = reader.count("mcp.tool-call-delay-after-calls", "", 4);
        let delay_after_ms = reader.count("mcp.tool-call-delay-after-ms", "", 2000);
        let repairs = reader.boolean("mcp.db.preflight.sql-auto-repair-enabled", "", false);
        let max_repairs = reader.count("mcp.db.preflight.sql-auto-repair-max-retries", "", 3);
        ToolSettings {
            orchestration_enabled: reader.boolean("flow.tool-orchestration.enabled", "ToolOrchestrationStep", true),
            max_loops: reader.row_count(STEP, "MCP_TOOL_MAX_LOOPS", max_loops).max(1),
            delay_ms: reader.row_count(STEP, "MCP_TOOL_CALL_DELAY_MS", delay_ms),
            delay_after_calls: reader.row_count(STEP, "MCP_TOOL_CALL_DELAY_AFTER_CALLS", delay_after_calls),
            delay_after_ms: reader.row_count(STEP, "MCP_TOOL_CALL_DELAY_AFTER_MS", delay_after_ms),
            max_observations: reader.row_count(PLANNER, "MCP_PLANNER_MAX_OBSERVATIONS_COUNT", 2),
            max_observation_chars: reader.row_count(PLANNER, "MCP_PLANNER_MAX_OBS_CHARS", 6000).max(1000),
            next_tool: NextToolSettings {
                enabled: reader.boolean("mcp.guardrail.enabled", "", false),
                fail_closed: reader.boolean("mcp.guardrail.fail-closed", "", false),
                allowed: reader.lists("mcp.guardrail.allowed-next-by-current-tool", ""),
            },
            http: HttpPolicy::read(reader),
            max_sql_repairs: if repairs { max_repairs } else { 0 },
        }
    }
}

/// `audit.*`: filters of audit events.
#[derive(Debug, Clone)]
pub struct AuditSettings {
    /// `enabled`: whether any event is kept.
    pub enabled: bool,
    /// `level`
    pub level: AuditLevel,
    /// `include-stages`: stages to keep, in upper case, with `*` as the wildcard; empty keeps all.
    pub include_stages: Vec<String>,
    /// `exclude-stages`: stages to drop.
    pub exclude_stages: Vec<String>,
    /// `include-intents`: intents to keep; empty keeps all.
    pub include_intents: Vec<String>,
    /// `exclude-intents`: intents to drop.
    pub exclude_intents: Vec<String>,
    /// `cache-inspector`: whether `CacheInspectAuditStep` audits the row as loaded.
    pub cache_inspector: bool,
}

impl AuditSettings {
    pub(super) fn read(reader: &mut SettingsReader<'_>) -> AuditSettings {
        AuditSettings {
            enabled: reader.boolean("audit.enabled", "", true),
            level: reader.choice("audit.level", "", &LEVELS, AuditLevel::All),
            include_stages: reader.names("audit.include-stages"),
            exclude_stages: reader.names("audit.exclude-stages"),
            include_intents: reader.names("audit.include-intents"),
            exclude_intents: reader.names("audit.exclude-intents"),
            cache_inspector: reader.boolean("audit.cache-inspector", "", false),
        }
    }
}
