-- Secrets at rest: what is sealed, and by which key.

-- The id of the key that sealed the value; absent for a value that was stored before there was a key.
alter table cs_secret add column key_id text;
