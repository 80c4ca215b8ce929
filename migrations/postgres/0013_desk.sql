-- The conversations that a person has, or should have: what the desk lists. Times are milliseconds since 1970.

create table if not exists cs_handoff (
  session_id uuid primary key not null,
  assistant_id text not null,
  -- waiting or running.
  state text not null,
  queue text not null,
  reason text not null,
  ticket text,
  author text,
  requested_at bigint not null,
  updated_at bigint not null,
  -- The beginning of the last message.
  preview text not null,
  -- Messages of the user since the last answer.
  unread bigint not null
);
create index if not exists idx_cs_handoff_requested on cs_handoff (requested_at, session_id);
