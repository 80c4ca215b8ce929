//! Names of audit stages: the original's, because readers match on them. (`spec/data-and-api.md` 7.5)

/// A stage; those of rule passes carry their source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is its name in the table below")]
pub enum Stage {
    StepEnter,
    StepExit,
    StepError,
    InputParamIgnored,
    ConversationReset,
    UserInput,
    PolicyBlock,
    PolicyLlmInput,
    PolicyLlmOutput,
    PolicyLlmError,
    PromptRendering,
    DialogueActLlmInput,
    DialogueActLlmOutput,
    DialogueActLlmError,
    DialogueActClassified,
    InteractionPolicyDecided,
    IntentResolveStart,
    IntentResolveSkippedSchemaCollection,
    IntentResolveSkippedPolicy,
    IntentResolveNoChange,
    IntentClassificationMatched,
    IntentClassifierCollision,
    IntentClassifierNoMatch,
    IntentResolvedByClassifier,
    IntentMissing,
    StateMissing,
    RuleMatch(&'static str),
    RuleApplied(&'static str),
    RuleNoMatch(&'static str),
    SetIntent,
    SetState,
    SetDialogueAct,
    SetInputParam,
    SetJson,
    GetContext,
    GetSchemaJson,
    GetSession,
    ResolveResponse,
    ResponseMappingNotFound,
    ResponseExact,
    AssistantOutput,
    EngineReturn,
    EngineKnownFailure,
    PipelineTiming,
}

impl Stage {
    /// The text that is stored.
    pub fn text(self) -> String {
        let (Stage::RuleMatch(source) | Stage::RuleApplied(source) | Stage::RuleNoMatch(source)) = self else {
            return self.name().to_owned();
        };
        format!("{} ({source})", self.name())
    }

    fn name(self) -> &'static str {
        match self {
            Stage::StepEnter => "STEP_ENTER",
            Stage::StepExit => "STEP_EXIT",
            Stage::StepError => "STEP_ERROR",
            Stage::InputParamIgnored => "INPUT_PARAM_IGNORED",
            Stage::ConversationReset => "CONVERSATION_RESET",
            Stage::UserInput => "USER_INPUT",
            Stage::PolicyBlock => "POLICY_BLOCK",
            Stage::PolicyLlmInput => "POLICY_LLM_INPUT",
            Stage::PolicyLlmOutput => "POLICY_LLM_OUTPUT",
            Stage::PolicyLlmError => "POLICY_LLM_ERROR",
            Stage::PromptRendering => "PROMPT_RENDERING",
            Stage::DialogueActLlmInput => "DIALOGUE_ACT_LLM_INPUT",
            Stage::DialogueActLlmOutput => "DIALOGUE_ACT_LLM_OUTPUT",
            Stage::DialogueActLlmError => "DIALOGUE_ACT_LLM_ERROR",
            Stage::DialogueActClassified => "DIALOGUE_ACT_CLASSIFIED",
            Stage::InteractionPolicyDecided => "INTERACTION_POLICY_DECIDED",
            Stage::IntentResolveStart => "INTENT_RESOLVE_START",
            Stage::IntentResolveSkippedSchemaCollection => "INTENT_RESOLVE_SKIPPED_SCHEMA_COLLECTION",
            Stage::IntentResolveSkippedPolicy => "INTENT_RESOLVE_SKIPPED_POLICY",
            Stage::IntentResolveNoChange => "INTENT_RESOLVE_NO_CHANGE",
            Stage::IntentClassificationMatched => "INTENT_CLASSIFICATION_MATCHED",
            Stage::IntentClassifierCollision => "INTENT_CLASSIFIER_COLLISION",
            Stage::IntentClassifierNoMatch => "INTENT_CLASSIFIER_NO_MATCH",
            Stage::IntentResolvedByClassifier => "INTENT_RESOLVED_BY_CLASSIFIER",
            Stage::IntentMissing => "INTENT_MISSING",
            Stage::StateMissing => "STATE_MISSING",
            Stage::RuleMatch(_) => "RULE_MATCH",
            Stage::RuleApplied(_) => "RULE_APPLIED",
            Stage::RuleNoMatch(_) => "RULE_NO_MATCH",
            Stage::SetIntent => "SET_INTENT",
            Stage::SetState => "SET_STATE",
            Stage::SetDialogueAct => "SET_DIALOGUE_ACT",
            Stage::SetInputParam => "SET_INPUT_PARAM",
            Stage::SetJson => "SET_JSON",
            Stage::GetContext => "GET_CONTEXT",
            Stage::GetSchemaJson => "GET_SCHEMA_JSON",
            Stage::GetSession => "GET_SESSION",
            Stage::ResolveResponse => "RESOLVE_RESPONSE",
            Stage::ResponseMappingNotFound => "RESPONSE_MAPPING_NOT_FOUND",
            Stage::ResponseExact => "RESPONSE_EXACT",
            Stage::AssistantOutput => "ASSISTANT_OUTPUT",
            Stage::EngineReturn => "ENGINE_RETURN",
            Stage::EngineKnownFailure => "ENGINE_KNOWN_FAILURE",
            Stage::PipelineTiming => "PIPELINE_TIMING",
        }
    }
}
