-- What turns write. A table that exists is left as it is.
-- Type json and not jsonb: it gives back what was stored, with its order of members and its numbers.

create table if not exists ce_conversation (
  conversation_id uuid primary key not null,
  status text not null,
  intent_code text not null default 'UNKNOWN',
  state_code text not null default 'UNKNOWN',
  context_json json not null default '{}',
  last_user_text text,
  last_assistant_json json,
  input_params_json json not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint ce_conversation_intent_not_blank check (trim(intent_code) <> ''),
  constraint ce_conversation_state_not_blank check (trim(state_code) <> '')
);
create index if not exists idx_ce_conversation_status on ce_conversation (status);
create index if not exists idx_ce_conversation_updated on ce_conversation (updated_at);

create table if not exists ce_llm_call_log (
  llm_call_id bigserial primary key,
  conversation_id uuid not null,
  intent_code text not null default 'UNKNOWN',
  state_code text not null default 'UNKNOWN',
  provider text not null,
  model text not null,
  temperature numeric(3,2),
  prompt_text text not null,
  user_context text not null,
  response_text text,
  success boolean not null,
  error_message text,
  created_at timestamptz not null default now(),
  input_tokens bigint,
  output_tokens bigint,
  cost_micros bigint,
  constraint ce_llm_call_log_intent_not_blank check (trim(intent_code) <> ''),
  constraint ce_llm_call_log_state_not_blank check (trim(state_code) <> '')
);
create index if not exists idx_ce_llm_log_conversation on ce_llm_call_log (conversation_id);
create index if not exists idx_ce_llm_log_intent_state on ce_llm_call_log (intent_code, state_code);

create table if not exists ce_audit (
  audit_id bigserial primary key,
  conversation_id uuid not null,
  stage text not null,
  payload_json json not null,
  created_at timestamptz not null default now(),
  constraint ce_audit_conversation_id_fkey foreign key (conversation_id) references ce_conversation (conversation_id) on delete cascade
);
create index if not exists idx_ce_audit_conversation on ce_audit (conversation_id, created_at desc);

create table if not exists ce_conversation_history (
  history_id bigserial primary key,
  conversation_id uuid not null,
  user_input text not null,
  assistant_output json,
  created_at timestamptz not null default now(),
  modified_at timestamptz not null default now(),
  constraint ce_conversation_history_conversation_id_fkey foreign key (conversation_id) references ce_conversation (conversation_id) on delete cascade
);
create index if not exists idx_ce_conversation_history_conv on ce_conversation_history (conversation_id, created_at desc);

-- Of the authors, and here because it refers to conversations.
create table if not exists ce_mcp_user_feedback (
  feedback_id bigserial primary key,
  conversation_id uuid not null,
  feedback_type text not null,
  message_id text,
  intent_code text,
  state_code text,
  user_query text,
  assistant_response text,
  mcp_tool_code text,
  captured_query_knowledge_count integer not null default 0,
  applied_query_knowledge_json jsonb,
  metadata_json jsonb,
  created_at timestamptz not null default now(),
  constraint ce_mcp_user_feedback_conversation_fkey foreign key (conversation_id) references ce_conversation (conversation_id) on delete cascade
);
create index if not exists idx_ce_mcp_user_feedback_conversation on ce_mcp_user_feedback (conversation_id, created_at desc);
