-- What a turn loads, without reading the turns before it.

create index if not exists idx_ce_turn_reset on ce_turn (conversation_id, number, created_at) where reset;
create index if not exists idx_ce_turn_open_conversation on ce_turn (conversation_id) where status = 'open';
