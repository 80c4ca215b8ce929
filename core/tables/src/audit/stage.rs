//! Names of audit stages; readers of the audit match on them. (docs/spec/data-and-api.md#7.5)

use std::borrow::Cow;

/// Declares the stages with their names.
macro_rules! stages {
    ($($stage:ident$(($source:ty))? = $name:literal,)*) => {
        /// An audit stage; those of rule passes carry their source. Stored audits have these names, so they never change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each is its name in the table below")]
        pub enum Stage {
            $($stage$(($source))?,)*
        }

        impl Stage {
            /// The name that readers of the audit match on.
            pub fn name(self) -> &'static str {
                match self {
                    $(Stage::$stage { .. } => $name,)*
                }
            }
        }
    };
}

stages! {
    StepEnter = "STEP_ENTER",
    StepExit = "STEP_EXIT",
    StepError = "STEP_ERROR",
    InputParamIgnored = "INPUT_PARAM_IGNORED",
    ConversationReset = "CONVERSATION_RESET",
    UserInput = "USER_INPUT",
    PolicyBlock = "POLICY_BLOCK",
    PolicyLlmInput = "POLICY_LLM_INPUT",
    PolicyLlmOutput = "POLICY_LLM_OUTPUT",
    PolicyLlmError = "POLICY_LLM_ERROR",
    PromptRendering = "PROMPT_RENDERING",
    DialogueActLlmInput = "DIALOGUE_ACT_LLM_INPUT",
    DialogueActLlmOutput = "DIALOGUE_ACT_LLM_OUTPUT",
    DialogueActLlmError = "DIALOGUE_ACT_LLM_ERROR",
    DialogueActClassified = "DIALOGUE_ACT_CLASSIFIED",
    InteractionPolicyDecided = "INTERACTION_POLICY_DECIDED",
    IntentResolveStart = "INTENT_RESOLVE_START",
    IntentResolveSkippedSchemaCollection = "INTENT_RESOLVE_SKIPPED_SCHEMA_COLLECTION",
    IntentResolveSkippedPolicy = "INTENT_RESOLVE_SKIPPED_POLICY",
    IntentResolveNoChange = "INTENT_RESOLVE_NO_CHANGE",
    IntentClassificationMatched = "INTENT_CLASSIFICATION_MATCHED",
    IntentClassifierCollision = "INTENT_CLASSIFIER_COLLISION",
    IntentClassifierNoMatch = "INTENT_CLASSIFIER_NO_MATCH",
    IntentResolvedByClassifier = "INTENT_RESOLVED_BY_CLASSIFIER",
    IntentMissing = "INTENT_MISSING",
    StateMissing = "STATE_MISSING",
    RuleMatch(&'static str) = "RULE_MATCH",
    RuleApplied(&'static str) = "RULE_APPLIED",
    RuleNoMatch(&'static str) = "RULE_NO_MATCH",
    SetIntent = "SET_INTENT",
    SetState = "SET_STATE",
    SetDialogueAct = "SET_DIALOGUE_ACT",
    SetInputParam = "SET_INPUT_PARAM",
    SetJson = "SET_JSON",
    GetContext = "GET_CONTEXT",
    GetSchemaJson = "GET_SCHEMA_JSON",
    GetSession = "GET_SESSION",
    ResolveResponse = "RESOLVE_RESPONSE",
    ResponseMappingNotFound = "RESPONSE_MAPPING_NOT_FOUND",
    ResponseExact = "RESPONSE_EXACT",
    AssistantOutput = "ASSISTANT_OUTPUT",
    CacheInspection = "CACHE_INSPECTION",
    PendingActionLifecycle = "PENDING_ACTION_LIFECYCLE",
    PendingActionSkipped = "PENDING_ACTION_SKIPPED",
    PendingActionExecuted = "PENDING_ACTION_EXECUTED",
    PendingActionRejected = "PENDING_ACTION_REJECTED",
    PendingActionFailed = "PENDING_ACTION_FAILED",
    CorrectionStepRetryRequested = "CORRECTION_STEP_RETRY_REQUESTED",
    CorrectionStepConfirmAccept = "CORRECTION_STEP_CONFIRM_ACCEPT",
    CorrectionStepCorrectionPatchApplied = "CORRECTION_STEP_CORRECTION_PATCH_APPLIED",
    DisambiguationRequired = "DISAMBIGUATION_REQUIRED",
    DisambiguationResolved = "DISAMBIGUATION_RESOLVED",
    GuardrailAllow = "GUARDRAIL_ALLOW",
    GuardrailDeny = "GUARDRAIL_DENY",
    IntentResolveSkippedStickyIntent = "INTENT_RESOLVE_SKIPPED_STICKY_INTENT",
    IntentResolvedByAgent = "INTENT_RESOLVED_BY_AGENT",
    IntentClassifierSemanticSkipped = "INTENT_CLASSIFIER_SEMANTIC_SKIPPED",
    IntentAgentSkipped = "INTENT_AGENT_SKIPPED",
    IntentAgentLlmInput = "INTENT_AGENT_LLM_INPUT",
    IntentAgentLlmOutput = "INTENT_AGENT_LLM_OUTPUT",
    IntentAgentScores = "INTENT_AGENT_SCORES",
    IntentAgentRejected = "INTENT_AGENT_REJECTED",
    IntentAgentAccepted = "INTENT_AGENT_ACCEPTED",
    IntentAgentCollision = "INTENT_AGENT_COLLISION",
    IntentAgentNeedsClarification = "INTENT_AGENT_NEEDS_CLARIFICATION",
    IntentAgentClarificationSuppressedSchemaFlow = "INTENT_AGENT_CLARIFICATION_SUPPRESSED_SCHEMA_FLOW",
    IntentCollisionDetected = "INTENT_COLLISION_DETECTED",
    IntentCollisionResolved = "INTENT_COLLISION_RESOLVED",
    ContainerDataSkipped = "CONTAINER_DATA_SKIPPED",
    ContainerDataExecuted = "CONTAINER_DATA_EXECUTED",
    ContainerDataAttached = "CONTAINER_DATA_ATTACHED",
    ContainerDataFailed = "CONTAINER_DATA_FAILED",
    SchemaExtractionStart = "SCHEMA_EXTRACTION_START",
    SchemaExtractionLlmInput = "SCHEMA_EXTRACTION_LLM_INPUT",
    SchemaExtractionLlmOutput = "SCHEMA_EXTRACTION_LLM_OUTPUT",
    SchemaStatus = "SCHEMA_STATUS",
    AutoAdvanceFacts = "AUTO_ADVANCE_FACTS",
    AutoAdvanceSkippedNoSchema = "AUTO_ADVANCE_SKIPPED_NO_SCHEMA",
    SetTask = "SET_TASK",
    ToolOrchestrationRequest = "TOOL_ORCHESTRATION_REQUEST",
    ToolOrchestrationResult = "TOOL_ORCHESTRATION_RESULT",
    ToolOrchestrationError = "TOOL_ORCHESTRATION_ERROR",
    McpContextCleared = "MCP_CONTEXT_CLEARED",
    McpSkippedPendingClarification = "MCP_SKIPPED_PENDING_CLARIFICATION",
    McpSkippedSchemaIncomplete = "MCP_SKIPPED_SCHEMA_INCOMPLETE",
    McpNoToolsAvailable = "MCP_NO_TOOLS_AVAILABLE",
    McpPlanLlmInput = "MCP_PLAN_LLM_INPUT",
    McpPlanLlmOutput = "MCP_PLAN_LLM_OUTPUT",
    McpPlanLlmError = "MCP_PLAN_LLM_ERROR",
    McpToolCall = "MCP_TOOL_CALL",
    McpToolResult = "MCP_TOOL_RESULT",
    McpToolError = "MCP_TOOL_ERROR",
    McpToolRootCause = "MCP_TOOL_ROOT_CAUSE",
    McpToolApproval = "MCP_TOOL_APPROVAL",
    McpDuplicateToolCallSuppressed = "MCP_DUPLICATE_TOOL_CALL_SUPPRESSED",
    McpFinalAnswer = "MCP_FINAL_ANSWER",
    McpDbSqlExecution = "MCP_DB_SQL_EXECUTION",
    McpDbPreflightRepair = "MCP_DB_PREFLIGHT_REPAIR",
    StateGraphValid = "STATE_GRAPH_VALID",
    StateGraphViolation = "STATE_GRAPH_VIOLATION",
    ResolveResponseSelected = "RESOLVE_RESPONSE_SELECTED",
    ResolveResponseLlmInput = "RESOLVE_RESPONSE_LLM_INPUT",
    ResolveResponseLlmOutput = "RESOLVE_RESPONSE_LLM_OUTPUT",
    ExactResponseRendering = "EXACT_RESPONSE_RENDERING",
    MemoryUpdated = "MEMORY_UPDATED",
    MemoryLlmInput = "MEMORY_LLM_INPUT",
    MemoryLlmOutput = "MEMORY_LLM_OUTPUT",
    MemoryLlmError = "MEMORY_LLM_ERROR",
    LlmReasoning = "LLM_REASONING",
    StepHookError = "STEP_HOOK_ERROR",
    EngineReturn = "ENGINE_RETURN",
    TurnCancelled = "TURN_CANCELLED",
    EngineKnownFailure = "ENGINE_KNOWN_FAILURE",
    PipelineTiming = "PIPELINE_TIMING",
    McpUserFeedback = "MCP_USER_FEEDBACK",
    SemanticFailureRecorded = "SEMANTIC_FAILURE_RECORDED",
}

impl Stage {
    /// The text that is stored.
    pub fn to_text(self) -> Cow<'static, str> {
        let (Stage::RuleMatch(source) | Stage::RuleApplied(source) | Stage::RuleNoMatch(source)) = self else {
            return Cow::Borrowed(self.name());
        };
        Cow::Owned(format!("{} ({source})", self.name()))
    }
}
