-- What turns write. A table that exists is left as it is.

create table if not exists ce_conversation (
  conversation_id text primary key not null,
  status text not null,
  intent_code text not null default 'UNKNOWN',
  state_code text not null default 'UNKNOWN',
  context_json text not null default '{}',
  last_user_text text,
  last_assistant_json text,
  input_params_json text not null default '{}',
  created_at datetime not null default (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  updated_at datetime not null default (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  constraint ce_conversation_intent_not_blank check (trim(intent_code) <> ''),
  constraint ce_conversation_state_not_blank check (trim(state_code) <> '')
);
create index if not exists idx_ce_conversation_status on ce_conversation (status);
create index if not exists idx_ce_conversation_updated on ce_conversation (updated_at);

create table if not exists ce_llm_call_log (
  llm_call_id integer primary key autoincrement,
  conversation_id text not null,
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
  created_at datetime not null default (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  input_tokens integer,
  output_tokens integer,
  cost_micros integer,
  constraint ce_llm_call_log_intent_not_blank check (trim(intent_code) <> ''),
  constraint ce_llm_call_log_state_not_blank check (trim(state_code) <> '')
);
create index if not exists idx_ce_llm_log_conversation on ce_llm_call_log (conversation_id);
create index if not exists idx_ce_llm_log_intent_state on ce_llm_call_log (intent_code, state_code);

create table if not exists ce_audit (
  audit_id integer primary key autoincrement,
  conversation_id text not null,
  stage text not null,
  payload_json text not null,
  created_at datetime not null default (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  constraint ce_audit_conversation_id_fkey foreign key (conversation_id) references ce_conversation (conversation_id) on delete cascade
);
create index if not exists idx_ce_audit_conversation on ce_audit (conversation_id, created_at desc);

create table if not exists ce_conversation_history (
  history_id integer primary key autoincrement,
  conversation_id text not null,
  user_input text not null,
  assistant_output text,
  created_at datetime not null default (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  modified_at datetime not null default (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  constraint ce_conversation_history_conversation_id_fkey foreign key (conversation_id) references ce_conversation (conversation_id) on delete cascade
);
create index if not exists idx_ce_conversation_history_conv on ce_conversation_history (conversation_id, created_at desc);
