-- What a turn loads, without reading the turns before it. `ce_conversation_history` may be of the original engine; it only gets an index.

create index if not exists idx_ce_turn_reset on ce_turn (conversation_id, number, created_at) where reset = 1;
create index if not exists idx_ce_turn_open_conversation on ce_turn (conversation_id) where status = 'open';
create index if not exists idx_ce_conversation_history_order on ce_conversation_history (conversation_id, history_id, created_at);
