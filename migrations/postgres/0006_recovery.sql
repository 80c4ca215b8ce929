-- What lets another process finish a turn, answers a message that is sent again, and derives audit rows.

-- Who runs an open turn, and until when it is theirs alone.
alter table ce_turn add column owner text;
alter table ce_turn add column lease_until timestamptz;
-- The client's Idempotency-Key.
alter table ce_turn add column message_key text;
-- Milliseconds from the message to the rows, which no replay knows.
alter table ce_turn add column total_ms bigint not null default 0;
-- The number of the first audit row while the rows are not stored; nothing when they are.
alter table ce_turn add column audit_id bigint;
create unique index if not exists ux_ce_turn_message_key on ce_turn (message_key) where message_key is not null;
create index if not exists idx_ce_turn_open on ce_turn (status) where status = 'open';

-- How many notices, from the first, have their audit rows stored already.
alter table ce_turn add column audited integer not null default 0;

-- The place of the answer among those of the turn. Without an outcome the effect has left and nothing is known of it.
alter table ce_turn_effect add column position integer not null default 0;
