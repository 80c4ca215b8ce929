-- Assistants: their documents, what these need, and the sessions that run them. Times are milliseconds since 1970.

create table if not exists cs_assistant (
  id text primary key not null,
  name text not null,
  -- Counts how often the draft was saved.
  revision bigint not null,
  draft text not null,
  updated_at bigint not null,
  -- The newest version; without one, nothing is published.
  live_version bigint
);

create table if not exists cs_version (
  assistant_id text not null,
  version bigint not null,
  -- The hash of what of the document counts.
  snapshot text not null,
  document text not null,
  published_at bigint not null,
  primary key (assistant_id, version)
);

create table if not exists cs_deployment (
  id uuid primary key not null,
  assistant_id text not null,
  name text not null,
  channel text not null,
  -- A list of the origins whose pages may use it.
  origins text not null,
  debug boolean not null default false,
  -- SHA-256 of the token, which is nowhere.
  token_hash text not null,
  created_at bigint not null
);
create unique index if not exists ux_cs_deployment_token on cs_deployment (token_hash);

create table if not exists cs_secret (
  name text primary key not null,
  value text not null,
  -- What of it may be shown.
  prefix text not null,
  updated_at bigint not null,
  -- Of one that was let go, whose value is empty then; its name is known on.
  revoked_at bigint
);

-- What plans count: the kind is session, import or llm.
create table if not exists cs_usage_events (
  id bigserial primary key,
  workspace_id text not null,
  kind text not null,
  at bigint not null,
  amount bigint not null,
  ref text
);
create index if not exists idx_cs_usage_events on cs_usage_events (workspace_id, kind, at);

create table if not exists cs_session (
  session_id uuid primary key not null,
  assistant_id text not null,
  -- Absent in the simulator.
  deployment_id uuid,
  -- Absent for the draft.
  version bigint,
  snapshot text not null,
  status text not null,
  seq bigint not null,
  state text not null,
  created_at bigint not null,
  updated_at bigint not null
);
create index if not exists idx_cs_session_assistant on cs_session (assistant_id, updated_at);

create table if not exists cs_timer (
  session_id uuid not null,
  id text not null,
  due bigint not null,
  purpose text not null,
  primary key (session_id, id)
);
create index if not exists idx_cs_timer_due on cs_timer (due);
