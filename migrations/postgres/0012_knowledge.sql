-- Knowledge bases of assistants: sources, and the chunks that searches find. Times are milliseconds since 1970.

create table if not exists cs_knowledge_base (
  id bigserial primary key,
  assistant_id text not null unique,
  -- Incremented by every change.
  revision bigint not null
);

create table if not exists cs_knowledge_source (
  assistant_id text not null,
  source_id text not null,
  title text not null,
  url text,
  locale text not null,
  -- text or markdown.
  format text not null,
  -- indexing, ready or failed.
  status text not null,
  error text,
  -- The revision of the base when the text was stored.
  version bigint not null,
  -- The version that searches find, and its locale; absent until the first one is indexed.
  indexed_version bigint,
  indexed_locale text,
  -- The chunks stored so far, and all that there will be.
  chunks bigint not null,
  total_chunks bigint not null,
  -- The model whose vectors all chunks of the indexed version have.
  embedding_model text,
  embedding_error text,
  embedding_retry_at bigint not null default 0,
  -- Until when another process leaves the source to the one that is indexing it.
  leased_until bigint not null default 0,
  updated_at bigint not null,
  text text not null,
  primary key (assistant_id, source_id)
);

create table if not exists cs_knowledge_chunk (
  id bigserial primary key,
  assistant_id text not null,
  source_id text not null,
  version bigint not null,
  -- Counted from 1.
  number bigint not null,
  -- The number of its terms.
  length bigint not null,
  title text not null,
  url text,
  text text not null
);
create unique index if not exists ux_cs_knowledge_chunk on cs_knowledge_chunk (assistant_id, source_id, version, number);

-- The terms of each chunk, as the core stems them: `{base}_{term}`, with how often they occur as their position.
create table if not exists cs_knowledge_index (
  rowid bigint primary key,
  terms tsvector not null
);
create index if not exists idx_cs_knowledge_index on cs_knowledge_index using gin (terms);

create table if not exists cs_knowledge_vector (
  chunk_id bigint primary key not null,
  model text not null,
  -- 32-bit floats.
  vector real[] not null
);
