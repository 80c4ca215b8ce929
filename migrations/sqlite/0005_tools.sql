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
  document_id integer primary key not null,
  collection text not null,
  title text,
  body text not null,
  metadata text
);
create index if not exists idx_cv_document_collection on cv_document (collection);

-- The words of the documents; a trigger is named after the table that it fills, and no line within it ends with a semicolon.
create virtual table if not exists cv_document_index using fts5 (
  title, body, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);
insert into cv_document_index (rowid, title, body) select document_id, title, body from cv_document;
create trigger if not exists cv_document_index_insert after insert on cv_document begin
  insert or replace into cv_document_index (rowid, title, body) values (new.document_id, new.title, new.body); end;
create trigger if not exists cv_document_index_delete after delete on cv_document begin
  delete from cv_document_index where rowid = old.document_id; end;
create trigger if not exists cv_document_index_update after update on cv_document begin
  delete from cv_document_index where rowid = old.document_id
  ; insert or replace into cv_document_index (rowid, title, body) values (new.document_id, new.title, new.body); end;

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
  bytes blob not null
);

alter table ce_task add column binding text;
