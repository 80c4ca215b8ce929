-- What a turn cannot derive again, and the configurations that journals refer to.

create table if not exists ce_turn (
  turn_id uuid primary key not null,
  conversation_id uuid not null,
  number integer not null,
  status text not null,
  protocol integer not null,
  engine text not null,
  behaviour bigint not null default 0,
  config_hash text not null,
  journal bytea not null,
  state_hash text not null,
  reset boolean not null default false,
  created_at timestamptz not null,
  closed_at timestamptz not null,
  constraint ux_ce_turn_conversation_number unique (conversation_id, number)
);

create table if not exists ce_turn_effect (
  turn_id uuid not null,
  effect_id integer not null,
  request_hash text not null,
  request text,
  outcome text not null,
  at timestamptz not null,
  primary key (turn_id, effect_id)
);

create table if not exists ce_config_snapshot (
  hash text primary key not null,
  body text not null,
  created_at timestamptz not null
);
