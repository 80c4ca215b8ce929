-- What operators look for.

-- The error code of a turn that failed.
alter table ce_turn add column fault text;
create index if not exists idx_ce_turn_fault on ce_turn (conversation_id) where fault is not null;
