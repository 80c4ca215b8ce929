-- Who may call, and what models have cost. Times are milliseconds since 1970.

create table if not exists cv_api_key (
  key_id text primary key not null,
  name text not null,
  hash text not null,
  scopes text not null,
  created_at bigint not null,
  expires_at bigint,
  revoked_at bigint,
  last_used_at bigint
);

-- By the day in UTC, in millionths of the currency that prices have.
create table if not exists cv_spend (
  day text primary key not null,
  micros bigint not null
);
