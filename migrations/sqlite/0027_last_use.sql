-- What retention and pruning look for. Times are milliseconds since 1970.

-- The start of the day when a turn was last begun on it.
alter table ce_config_snapshot add column used_at integer;
update ce_config_snapshot set used_at = cast(unixepoch('subsec') * 1000 as integer);
create index if not exists idx_ce_config_snapshot_used on ce_config_snapshot (used_at);
create index if not exists idx_ce_turn_config on ce_turn (config_hash);

-- Each conversation, session and run has a row of its own, also one that has not begun or whose first turn was lost.
insert into ce_conversation (conversation_id, status, created_at, updated_at)
  select session_id, 'RUNNING', created_at, updated_at from cs_session where true on conflict (conversation_id) do nothing;
insert into ce_conversation (conversation_id, status, created_at, updated_at)
  select conversation_id, 'RUNNING', min(created_at), max(closed_at) from ce_turn where true group by conversation_id
  on conflict (conversation_id) do nothing;
