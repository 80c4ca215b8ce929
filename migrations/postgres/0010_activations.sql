-- Which rows of the authors were taken when, so that there is a way back.

create table if not exists cv_activation (
  number bigserial primary key,
  -- The snapshot as the process had it that took the rows.
  hash text not null,
  -- SHA-256 of the rows alone: processes may differ in their settings.
  rows_hash text not null,
  -- found, start, refresh, import, activate or rollback
  how text not null,
  -- Of a rollback: the activation whose rows it has brought back.
  restores bigint,
  at timestamptz not null
);
