-- Tables of steps that the original does not have, and scripted answers of imported packs.

create table if not exists ce_state_graph (
  graph_id bigserial primary key,
  intent_code text not null default 'ANY',
  from_state text not null,
  to_state text not null,
  enabled boolean not null default true,
  description text
);

create table if not exists ce_tool (
  tool_id bigserial primary key,
  intent_code text not null default 'ANY',
  state_code text not null default 'ANY',
  tool_group text,
  tool_code text,
  args_json text,
  when_path text,
  priority integer not null default 100,
  enabled boolean not null default true,
  description text
);

create table if not exists ce_task (
  task_id bigserial primary key,
  kind text not null,
  task text not null,
  intent_code text not null default 'ANY',
  state_code text not null default 'ANY',
  step text,
  stage text,
  priority integer not null default 100,
  enabled boolean not null default true,
  description text
);

create table if not exists ce_memory (
  conversation_id uuid not null,
  store text not null,
  summary text not null,
  turns integer not null,
  updated_at timestamptz not null,
  primary key (conversation_id, store)
);

create table if not exists cv_script (
  kind text not null,
  name text not null,
  reply text not null,
  primary key (kind, name)
);
