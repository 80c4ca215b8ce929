-- What authors write (JSON of theirs is text, so that a row that is not JSON can be stored and named): the pipeline's rows, feedback, and the semantic layer. A table that exists is left as it is.

create table if not exists ce_config (
  config_id serial primary key,
  config_type text not null,
  config_key text not null,
  config_value text not null,
  enabled boolean not null default true,
  created_at timestamptz not null default now(),
  constraint ux_ce_config_type_key unique (config_type, config_key)
);

create table if not exists ce_container_config (
  id bigserial primary key,
  intent_code text not null,
  state_code text not null,
  page_id integer not null,
  section_id integer not null,
  container_id integer not null,
  input_param_name text not null,
  priority integer not null default 1,
  enabled boolean not null default true,
  created_at timestamptz not null default now()
);
create index if not exists idx_ce_validation_config_lookup on ce_container_config (intent_code, state_code, enabled, priority);

create table if not exists ce_intent (
  intent_code text primary key not null,
  description text not null,
  priority integer not null default 100,
  enabled boolean not null default true,
  created_at timestamptz not null default now(),
  display_name text,
  llm_hint text
);
create index if not exists ix_ce_intent_enabled_priority on ce_intent (enabled, priority, intent_code);

create table if not exists ce_intent_classifier (
  classifier_id bigserial primary key,
  rule_type text not null,
  pattern text not null,
  intent_code text not null,
  state_code text not null default 'UNKNOWN',
  priority integer not null,
  enabled boolean default true,
  description text,
  constraint ce_intent_classifier_state_not_blank check (trim(state_code) <> '')
);

create table if not exists ce_mcp_tool (
  tool_id bigserial primary key,
  tool_code text not null,
  tool_group text not null,
  intent_code text not null,
  state_code text not null,
  enabled boolean not null default true,
  description text,
  created_at timestamptz not null default now(),
  constraint ce_mcp_tool_tool_code_key unique (tool_code),
  constraint ce_mcp_tool_intent_code_not_blank check (trim(intent_code) <> ''),
  constraint ce_mcp_tool_state_code_not_blank check (trim(state_code) <> '')
);
create index if not exists idx_ce_mcp_tool_enabled on ce_mcp_tool (enabled, intent_code, state_code, tool_group, tool_code);

create table if not exists ce_output_schema (
  schema_id bigserial primary key,
  intent_code text not null,
  state_code text not null,
  schema_type text not null default 'SCHEMA_JSON',
  json_schema text not null,
  description text,
  enabled boolean default true,
  priority integer not null
);
create index if not exists idx_ce_output_schema_lookup on ce_output_schema (intent_code, state_code, schema_type, enabled, priority);

create table if not exists ce_policy (
  policy_id bigserial primary key,
  rule_type text not null,
  pattern text not null,
  response_text text not null,
  priority integer not null default 10,
  enabled boolean not null default true,
  description text,
  created_at timestamptz not null default now()
);
create index if not exists idx_ce_policy_priority on ce_policy (enabled, priority);

create table if not exists ce_prompt_template (
  template_id bigserial primary key,
  intent_code text not null,
  state_code text not null,
  output_format text not null,
  system_prompt text not null,
  user_prompt text not null,
  temperature numeric(3,2) not null default 0.0,
  interaction_mode text,
  interaction_contract text,
  enabled boolean not null default true,
  created_at timestamptz not null default now(),
  constraint ce_prompt_template_intent_not_blank check (trim(intent_code) <> ''),
  constraint ce_prompt_template_state_not_blank check (trim(state_code) <> '')
);
create index if not exists idx_ce_prompt_template_lookup on ce_prompt_template (output_format, intent_code, state_code, enabled);

create table if not exists ce_response (
  response_id bigserial primary key,
  intent_code text not null,
  state_code text not null,
  output_format text not null,
  response_type text not null,
  exact_text text,
  derivation_hint text,
  json_schema text,
  priority integer not null default 100,
  enabled boolean not null default true,
  description text,
  created_at timestamptz not null default now(),
  constraint ce_response_intent_not_blank check (trim(intent_code) <> ''),
  constraint ce_response_state_not_blank check (trim(state_code) <> '')
);
create index if not exists idx_ce_response_intent_state on ce_response (intent_code, state_code, enabled, priority);
create index if not exists idx_ce_response_lookup on ce_response (state_code, enabled, priority);

create table if not exists ce_rule (
  rule_id bigserial primary key,
  phase text not null default 'PRE_RESPONSE_RESOLUTION',
  -- null is ANY: the original's tables forbid it, ours follow the documents
  intent_code text,
  state_code text,
  rule_type text not null,
  match_pattern text not null,
  action text not null,
  action_value text,
  priority integer not null default 100,
  enabled boolean not null default true,
  description text,
  created_at timestamptz not null default now(),
  constraint ce_rule_intent_not_blank check (trim(intent_code) <> ''),
  constraint ce_rule_state_not_blank check (trim(state_code) <> '')
);
create index if not exists idx_ce_rule_priority on ce_rule (enabled, phase, state_code, priority);

create table if not exists ce_verbose (
  verbose_id bigserial primary key,
  intent_code text not null,
  state_code text not null,
  step_match text not null default 'EXACT',
  step_value text not null,
  determinant text not null,
  rule_id bigint,
  tool_code text,
  message text,
  error_message text,
  priority integer not null default 100,
  enabled boolean not null default true,
  created_at timestamptz not null default now(),
  constraint ce_verbose_intent_not_blank check (trim(intent_code) <> ''),
  constraint ce_verbose_state_not_blank check (trim(state_code) <> ''),
  constraint ce_verbose_step_match_not_blank check (trim(step_match) <> ''),
  constraint ce_verbose_step_value_not_blank check (trim(step_value) <> ''),
  constraint ce_verbose_determinant_not_blank check (trim(determinant) <> '')
);
create index if not exists idx_ce_verbose_lookup on ce_verbose (enabled, intent_code, state_code, determinant, step_match, step_value, rule_id, tool_code, priority);

create table if not exists ce_pending_action (
  pending_action_id bigserial primary key,
  intent_code text not null,
  state_code text not null,
  action_key text not null,
  bean_name text not null,
  method_names text not null,
  priority integer not null default 100,
  enabled boolean not null default true,
  description text,
  created_at timestamptz not null default now(),
  constraint ce_pending_action_intent_not_blank check (trim(intent_code) <> ''),
  constraint ce_pending_action_state_not_blank check (trim(state_code) <> '')
);
create index if not exists idx_ce_pending_action_lookup on ce_pending_action (enabled, action_key, intent_code, state_code, priority);

create table if not exists ce_mcp_db_tool (
  tool_id bigint primary key not null,
  dialect text not null default 'POSTGRES',
  sql_template text not null,
  param_schema text not null,
  safe_mode boolean not null default true,
  max_rows integer not null default 200,
  created_at timestamptz not null default now(),
  allowed_identifiers text,
  constraint ce_mcp_db_tool_tool_id_fkey foreign key (tool_id) references ce_mcp_tool (tool_id) on delete cascade
);
create index if not exists idx_ce_mcp_db_tool_dialect on ce_mcp_db_tool (dialect);

create table if not exists ce_mcp_planner (
  planner_id bigserial primary key,
  intent_code text not null,
  state_code text not null,
  system_prompt text not null,
  user_prompt text not null,
  enabled boolean not null default true,
  created_at timestamptz not null default now(),
  constraint ce_mcp_planner_intent_not_blank check (trim(intent_code) <> ''),
  constraint ce_mcp_planner_state_not_blank check (trim(state_code) <> '')
);
create index if not exists idx_ce_mcp_planner_scope on ce_mcp_planner (enabled, intent_code, state_code, planner_id);

create table if not exists ce_mcp_user_query_knowledge (
  id bigserial primary key,
  query_text text not null,
  description text,
  prepared_sql text,
  tags text,
  api_hints text,
  embedding text,
  created_at timestamptz not null default now()
);
create index if not exists idx_ce_mcp_user_query_knowledge_query_text on ce_mcp_user_query_knowledge (query_text);

create table if not exists ce_user_query_knowledge (
  id bigserial primary key,
  conversation_id uuid,
  feedback_id bigint,
  feedback_type text,
  tool_code text,
  intent_code text,
  state_code text,
  query_text text not null,
  description text,
  prepared_sql text,
  tags text,
  api_hints text,
  embedding text,
  metadata_json jsonb,
  created_at timestamptz not null default now()
);
create index if not exists idx_ce_user_query_knowledge_query_text on ce_user_query_knowledge (query_text);
create index if not exists idx_ce_user_query_knowledge_tool_code on ce_user_query_knowledge (tool_code, created_at desc);

create table if not exists ce_semantic_join_hint (
  id bigserial primary key,
  base_table text not null,
  join_table text not null,
  priority integer not null default 100,
  enabled boolean not null default true,
  created_at timestamptz not null default now()
);
create index if not exists idx_ce_semantic_join_hint_lookup on ce_semantic_join_hint (enabled, base_table, priority, join_table);

create table if not exists ce_semantic_entity (
  id bigserial primary key,
  entity_name text not null,
  description text,
  primary_table text,
  related_tables text,
  synonyms text,
  fields_json jsonb,
  priority integer not null default 100,
  enabled boolean not null default true,
  created_at timestamptz not null default now()
);
create index if not exists idx_ce_semantic_entity_lookup on ce_semantic_entity (enabled, entity_name, priority);

create table if not exists ce_semantic_relationship (
  id bigserial primary key,
  relationship_name text not null,
  description text,
  from_table text not null,
  from_column text not null,
  to_table text not null,
  to_column text not null,
  relation_type text,
  priority integer not null default 100,
  enabled boolean not null default true,
  created_at timestamptz not null default now()
);
create index if not exists idx_ce_semantic_relationship_lookup on ce_semantic_relationship (enabled, relationship_name, priority);

create table if not exists ce_semantic_value_pattern (
  id bigserial primary key,
  from_field text not null,
  to_field text not null,
  value_starts_with text not null,
  priority integer not null default 100,
  enabled boolean not null default true,
  created_at timestamptz not null default now()
);
create index if not exists idx_ce_semantic_value_pattern_lookup on ce_semantic_value_pattern (enabled, from_field, to_field, priority);

create table if not exists ce_semantic_concept (
  id bigserial primary key,
  concept_key text not null,
  concept_kind text not null,
  description text,
  tags text,
  enabled boolean not null default true,
  priority integer not null default 100,
  created_at timestamptz not null default now(),
  constraint ux_ce_semantic_concept_key unique (concept_key)
);
create index if not exists idx_ce_semantic_concept_lookup on ce_semantic_concept (enabled, concept_kind, priority);

create table if not exists ce_semantic_synonym (
  id bigserial primary key,
  synonym_text text not null,
  concept_key text not null,
  domain_key text,
  confidence_score numeric(5,4) not null default 1.0000,
  enabled boolean not null default true,
  priority integer not null default 100,
  created_at timestamptz not null default now()
);
create index if not exists idx_ce_semantic_synonym_lookup on ce_semantic_synonym (enabled, synonym_text, concept_key, priority);

create table if not exists ce_semantic_concept_embedding (
  id bigserial primary key,
  concept_key text not null,
  source_text text not null,
  embedding_text jsonb,
  embedding_model text,
  embedding_version text,
  confidence_score numeric(5,4) not null default 1.0000,
  enabled boolean not null default true,
  priority integer not null default 100,
  created_at timestamptz not null default now(),
  constraint uq_ce_semantic_concept_embedding unique (concept_key, priority)
);
create index if not exists idx_ce_semantic_concept_embedding_lookup on ce_semantic_concept_embedding (enabled, concept_key, priority);

create table if not exists ce_semantic_mapping (
  id bigserial primary key,
  concept_key text not null,
  entity_key text not null,
  field_key text not null,
  mapped_table text not null,
  mapped_column text not null,
  operator_type text,
  value_map_json jsonb,
  query_class_key text,
  enabled boolean not null default true,
  priority integer not null default 100,
  created_at timestamptz not null default now(),
  constraint uq_ce_semantic_mapping unique (entity_key, field_key, query_class_key, priority)
);
create index if not exists idx_ce_semantic_mapping_lookup on ce_semantic_mapping (enabled, entity_key, field_key, query_class_key, priority);

create table if not exists ce_semantic_join_path (
  id bigserial primary key,
  left_entity_key text not null,
  right_entity_key text not null,
  join_expression text not null,
  join_priority integer not null default 100,
  confidence_score numeric(5,4) not null default 1.0000,
  enabled boolean not null default true,
  created_at timestamptz not null default now()
);
create index if not exists idx_ce_semantic_join_path_lookup on ce_semantic_join_path (enabled, left_entity_key, right_entity_key, join_priority);

create table if not exists ce_semantic_query_class (
  id bigserial primary key,
  query_class_key text not null,
  description text,
  base_table_name text,
  ast_skeleton_json jsonb,
  allowed_filter_fields_json jsonb,
  default_select_fields_json jsonb,
  default_sort_fields_json jsonb,
  enabled boolean not null default true,
  priority integer not null default 100,
  created_at timestamptz not null default now(),
  constraint ux_ce_semantic_query_class_key unique (query_class_key)
);

create table if not exists ce_semantic_ambiguity_option (
  id bigserial primary key,
  entity_key text not null,
  query_class_key text not null,
  ambiguity_code text,
  field_key text,
  option_key text not null,
  option_label text not null,
  mapped_filter_json jsonb not null,
  recommended boolean not null default false,
  priority integer not null default 100,
  enabled boolean not null default true,
  created_at timestamptz not null default now()
);
create index if not exists idx_ce_semantic_ambiguity_option_lookup on ce_semantic_ambiguity_option (enabled, entity_key, query_class_key, coalesce(ambiguity_code,''), coalesce(field_key,''), priority);
create unique index if not exists ux_ce_semantic_ambiguity_option on ce_semantic_ambiguity_option (entity_key, query_class_key, coalesce(ambiguity_code,''), coalesce(field_key,''), option_key);

create table if not exists ce_semantic_query_failures (
  id bigserial primary key,
  conversation_id uuid,
  question text not null,
  question_embedding text,
  generated_sql text,
  corrected_sql text,
  root_cause_code text,
  reason text,
  stage_code text,
  metadata_json jsonb,
  created_at timestamptz not null default now()
);
create index if not exists idx_ce_semantic_query_failures_created on ce_semantic_query_failures (created_at desc);

create table if not exists ce_semantic_model (
  id bigserial primary key,
  model_version integer not null,
  database_name text not null,
  description text,
  enabled boolean not null default true,
  created_at timestamptz not null default now(),
  constraint ux_ce_semantic_model_db_version unique (database_name, model_version)
);

create table if not exists ce_semantic_setting (
  id bigserial primary key,
  setting_key text not null,
  setting_value text not null,
  enabled boolean not null default true,
  priority integer not null default 100,
  created_at timestamptz not null default now(),
  constraint ux_ce_semantic_setting_key unique (setting_key)
);

create table if not exists ce_semantic_source_table (
  id bigserial primary key,
  table_name text not null,
  description text,
  enabled boolean not null default true,
  priority integer not null default 100,
  created_at timestamptz not null default now(),
  constraint ux_ce_semantic_source_table_name unique (table_name)
);

create table if not exists ce_semantic_source_column (
  id bigserial primary key,
  table_name text not null,
  column_name text not null,
  data_type text,
  is_primary_key boolean not null default false,
  description text,
  foreign_key_table text,
  foreign_key_column text,
  enabled boolean not null default true,
  priority integer not null default 100,
  created_at timestamptz not null default now(),
  constraint ux_ce_semantic_source_column unique (table_name, column_name)
);
create index if not exists idx_ce_semantic_source_column_fk on ce_semantic_source_column (foreign_key_table, foreign_key_column);

create table if not exists ce_semantic_lexicon (
  id bigserial primary key,
  term_key text not null,
  synonym_text text not null,
  enabled boolean not null default true,
  priority integer not null default 100,
  created_at timestamptz not null default now(),
  constraint ux_ce_semantic_lexicon_term_synonym unique (term_key, synonym_text)
);

create table if not exists ce_semantic_rule_allowed_table (
  id bigserial primary key,
  table_name text not null,
  enabled boolean not null default true,
  priority integer not null default 100,
  created_at timestamptz not null default now(),
  constraint ux_ce_semantic_rule_allowed_table unique (table_name)
);

create table if not exists ce_semantic_rule_deny_operation (
  id bigserial primary key,
  operation_name text not null,
  enabled boolean not null default true,
  priority integer not null default 100,
  created_at timestamptz not null default now(),
  constraint ux_ce_semantic_rule_deny_operation unique (operation_name)
);

create table if not exists ce_semantic_rule_config (
  id bigserial primary key,
  max_result_limit integer,
  enabled boolean not null default true,
  created_at timestamptz not null default now()
);

create table if not exists ce_semantic_metric (
  id bigserial primary key,
  metric_key text not null,
  metric_expr text,
  description text,
  enabled boolean not null default true,
  priority integer not null default 100,
  created_at timestamptz not null default now(),
  constraint ux_ce_semantic_metric_key unique (metric_key)
);

create table if not exists ce_semantic_intent_rule (
  id bigserial primary key,
  rule_key text not null,
  rule_json jsonb,
  enabled boolean not null default true,
  priority integer not null default 100,
  created_at timestamptz not null default now(),
  constraint ux_ce_semantic_intent_rule_key unique (rule_key)
);
