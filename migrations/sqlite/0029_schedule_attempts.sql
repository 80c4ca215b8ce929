-- How often the due run of a schedule could not be started since it last could: because of an error, or because another run was unfinished.
-- The pause until the next attempt grows with both.

alter table cs_chain add column failures integer not null default 0;
alter table cs_chain add column waits integer not null default 0;
