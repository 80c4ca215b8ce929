-- What a turn loads, without reading the turns before it. `ce_conversation_history` may be of the original engine; it only gets an index.

create index if not exists idx_ce_turn_reset on ce_turn (conversation_id, number, created_at) where reset;
create index if not exists idx_ce_turn_open_conversation on ce_turn (conversation_id) where status = 'open';
create index if not exists idx_ce_conversation_history_order on ce_conversation_history (conversation_id, history_id desc);

-- Each audit row of a turn would look its conversation up, which the same statement writes. Only in databases that this engine has made:
-- elsewhere migration 2 was skipped, which takes no time. Deleting a conversation deletes its audit rows by name.
do $$ begin
  if exists (select 1 from cv_migration where version = 2 and execution_time > 0) then
    alter table ce_audit drop constraint if exists ce_audit_conversation_id_fkey;
  end if;
end $$;
