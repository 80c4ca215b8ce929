-- Who a conversation belongs to, keys that act for users, and the tokens of deployments. Times are milliseconds since 1970.

create table if not exists cv_conversation_owner (
  conversation_id text primary key not null,
  -- SHA-256 of the caller's identity.
  owner text not null
);

-- Whether requests with the key name the user that they act for.
alter table cv_api_key add column owner_claim boolean not null default false;

create table if not exists cs_deployment_token (
  id text primary key not null,
  deployment_id text not null,
  -- SHA-256 of the token, which is nowhere.
  token_hash text not null,
  created_at integer not null,
  last_used_at integer,
  revoked_at integer
);
create unique index if not exists ux_cs_deployment_token_hash on cs_deployment_token (token_hash);
create index if not exists idx_cs_deployment_token on cs_deployment_token (deployment_id);
insert into cs_deployment_token (id, deployment_id, token_hash, created_at)
  select id, id, token_hash, created_at from cs_deployment;
