-- Who may call, and what models have cost. Times are milliseconds since 1970.

create table if not exists cv_api_key (
  key_id text primary key not null,
  name text not null,
  hash text not null,
  scopes text not null,
  created_at integer not null,
  expires_at integer,
  revoked_at integer,
  last_used_at integer
);

-- By the day in UTC, in millionths of the currency that prices have.
create table if not exists cv_spend (
  day text primary key not null,
  micros integer not null
);
