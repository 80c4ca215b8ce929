-- Who has done what that matters to security. Rows are only added, and deleted by age alone.

create table if not exists cv_security_log (
  id integer primary key autoincrement,
  at integer not null,
  action text not null,
  actor text not null,
  actor_name text,
  subject text not null,
  address text not null,
  outcome text not null
);

create index if not exists idx_cv_security_log_at on cv_security_log (at);
