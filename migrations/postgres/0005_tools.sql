-- How tools, tasks and extensions are carried out.

create table if not exists ce_http_tool (
  tool_id integer primary key not null,
  method text not null default 'GET',
  url_template text not null,
  headers text,
  query text,
  body_template text,
  auth_ref text,
  policy text,
  response_mapping text,
  idempotent boolean not null default false
);

create table if not exists cv_tool_spec (
  tool_id integer primary key not null,
  input_schema text,
  spec text
);

create table if not exists cv_document (
  document_id bigserial primary key,
  collection text not null,
  title text,
  body text not null,
  metadata text
);
create index if not exists idx_cv_document_collection on cv_document (collection);

create index if not exists idx_cv_document_words on cv_document
  using gin ((setweight(to_tsvector('english', coalesce(title, '')), 'A') || setweight(to_tsvector('english', body), 'D')));

create table if not exists cv_extension (
  name text primary key not null,
  module text not null,
  requests text,
  hosts text,
  secrets text,
  memory_mib integer not null default 16,
  timeout_ms integer not null default 1000,
  enabled boolean not null default true,
  description text
);

create table if not exists cv_module (
  sha256 text primary key not null,
  bytes bytea not null
);

alter table ce_task add column binding text;
