-- Tools of the workspace, which workflows call by name. Times are milliseconds since 1970.

create table if not exists cs_tool (
  id text primary key not null,
  document text not null,
  updated_at bigint not null
);
