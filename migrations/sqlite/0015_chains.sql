-- Chains: whether they take triggers, their runs as lists show them, and what makes triggers and resumes single. Times are milliseconds
-- since 1970.

create table if not exists cs_chain (
  slug text primary key not null,
  -- live or paused.
  status text not null,
  -- The next time of its schedule; absent without one.
  next_run_at integer,
  updated_at integer not null
);
create index if not exists idx_cs_chain_next on cs_chain (next_run_at);

-- The state of a run is in cs_session.
create table if not exists cs_run (
  run_id text primary key not null,
  chain text not null,
  status text not null,
  branch text,
  created_at integer not null,
  updated_at integer not null
);
create index if not exists idx_cs_run_chain on cs_run (chain, created_at, run_id);

-- The keys of triggers and webhooks, valid for a day: of each scope, the first one starts the run.
create table if not exists cs_run_key (
  chain text not null,
  scope text not null,
  key text not null,
  -- The hash of the input, so that a key is not used for another one.
  fingerprint text not null,
  run_id text not null,
  created_at integer not null,
  primary key (chain, scope, key)
);
create index if not exists idx_cs_run_key_created on cs_run_key (created_at);

-- Tokens that resume a wait; only their hashes.
create table if not exists cs_resume_token (
  token_hash text primary key not null,
  run_id text not null,
  path text not null,
  attempt integer not null,
  created_at integer not null
);
create index if not exists idx_cs_resume_token_run on cs_resume_token (run_id);
