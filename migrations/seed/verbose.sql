-- A first set of progress messages, for every intent and state. Change the words to yours.
-- Run it once on a database that `convengine migrate` has prepared.

insert into ce_verbose (intent_code, state_code, step_match, step_value, determinant, message, error_message, priority, enabled) values
  ('ANY', 'ANY', 'EXACT', 'DialogueActStep', 'DIALOGUE_ACT_LLM_INPUT', 'Reading your message', null, 100, true),
  ('ANY', 'ANY', 'EXACT', 'DialogueActStep', 'DIALOGUE_ACT_LLM_ERROR', null, 'Your message is taken as it stands', 100, true),
  ('ANY', 'ANY', 'EXACT', 'CorrectionStep', 'CORRECTION_PATCH_APPLIED', 'Changing {{field}}', null, 100, true),
  ('ANY', 'ANY', 'EXACT', 'CorrectionStep', 'CONFIRM_ACCEPT', 'Thank you, going on', null, 100, true),
  ('ANY', 'ANY', 'EXACT', 'CorrectionStep', 'RETRY_REQUESTED', 'Trying that once more', null, 100, true),
  ('ANY', 'ANY', 'EXACT', 'AgentIntentResolver', 'INTENT_AGENT_LLM_INPUT', 'Finding out what this is about', null, 100, true),
  ('ANY', 'ANY', 'EXACT', 'AgentIntentResolver', 'AGENT_INTENT_COLLISION', 'This could be about two things', null, 100, true),
  ('ANY', 'ANY', 'EXACT', 'AgentIntentResolver', 'AGENT_INTENT_NEEDS_CLARIFICATION', 'One question first', null, 100, true),
  ('ANY', 'ANY', 'EXACT', 'AgentIntentResolver', 'AGENT_INTENT_REJECTED', null, 'Not sure yet what this is about', 100, true),
  ('ANY', 'ANY', 'EXACT', 'AgentIntentResolver', 'INTENT_AGENT_LLM_ERROR', null, 'What this is about could not be found out', 100, true),
  ('ANY', 'ANY', 'EXACT', 'SchemaExtractionStep', 'SCHEMA_EXTRACTION_LLM_INPUT', 'Noting the details', null, 100, true),
  ('ANY', 'ANY', 'EXACT', 'SchemaExtractionStep', 'SCHEMA_EXTRACTION_LLM_ERROR', null, 'The details could not be noted', 100, true),
  ('ANY', 'ANY', 'EXACT', 'ToolOrchestrationStep', 'TOOL_ORCHESTRATION_REQUEST', 'Looking it up', null, 100, true),
  ('ANY', 'ANY', 'EXACT', 'ToolOrchestrationStep', 'TOOL_ORCHESTRATION_ERROR', null, 'Looking it up did not work', 100, true),
  ('ANY', 'ANY', 'EXACT', 'McpPlanner', 'MCP_PLAN_LLM_INPUT', 'Thinking about the next step', null, 100, true),
  ('ANY', 'ANY', 'EXACT', 'McpPlanner', 'MCP_PLAN_LLM_ERROR', null, 'The next step could not be planned', 100, true),
  ('ANY', 'ANY', 'EXACT', 'McpToolStep', 'MCP_TOOL_CALL', 'Working with {{tool_code}}', '{{tool_code}} did not answer as expected', 100, true),
  ('ANY', 'ANY', 'EXACT', 'McpToolStep', 'MCP_TOOL_ERROR', null, 'That step is not possible here', 100, true),
  ('ANY', 'ANY', 'EXACT', 'McpToolStep', 'MCP_FINAL_ANSWER', 'Putting the answer together', 'There is no complete answer', 100, true),
  ('ANY', 'ANY', 'EXACT', 'TextOutputFormatResolver', 'RESOLVE_RESPONSE_LLM_INPUT', 'Writing the answer', null, 100, true),
  ('ANY', 'ANY', 'EXACT', 'TextOutputFormatResolver', 'RESOLVE_RESPONSE_LLM_ERROR', null, 'The answer could not be written', 100, true),
  ('ANY', 'ANY', 'EXACT', 'JsonOutputFormatResolver', 'RESOLVE_RESPONSE_LLM_INPUT', 'Preparing the answer', null, 100, true),
  ('ANY', 'ANY', 'EXACT', 'JsonOutputFormatResolver', 'RESOLVE_RESPONSE_LLM_ERROR', null, 'The answer could not be prepared', 100, true),
  ('ANY', 'ANY', 'EXACT', 'ANY', 'STEP_ERROR', null, 'Something did not work; please try again', 200, true);
