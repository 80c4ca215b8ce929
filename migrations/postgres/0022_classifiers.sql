-- Trained classifiers: a cache, which can be trained again from the phrases. Times are milliseconds since 1970.

create table if not exists cv_classifier (
  -- SHA-256 of the phrases and the trainer.
  hash text primary key not null,
  created_at bigint not null,
  -- The start of the day when it was last read.
  used_at bigint not null,
  -- As the core encodes it.
  bytes bytea not null
);
