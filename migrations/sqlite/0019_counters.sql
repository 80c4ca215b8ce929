-- Counters of quotas and spend caps, so that no call sums what was used. Times are milliseconds since 1970.

create table if not exists cs_counter (
  workspace_id text not null,
  -- session, llm, spend.day or spend.month.
  kind text not null,
  -- The document of a budget; empty otherwise.
  ref text not null,
  -- The start of the day or month.
  period integer not null,
  -- Used and reserved.
  used integer not null,
  primary key (workspace_id, kind, ref, period)
);
