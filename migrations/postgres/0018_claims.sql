-- Claims of due timers and schedules, so that one of several processes fires each. Times are milliseconds since 1970.

alter table cs_timer add column claimed_until bigint;
alter table cs_chain add column claimed_until bigint;
