-- The answers of messages and events that may be sent again: what was answered, compressed like journals.

alter table ce_turn add column answer bytea;
