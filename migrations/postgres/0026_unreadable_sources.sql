-- How much of a document could not be read: its source is then partial when it is indexed. The characters are those of the text that stand
-- for unreadable ones, the pages are those of scans.

alter table cs_knowledge_source add column unreadable_characters bigint not null default 0;
alter table cs_knowledge_source add column unreadable_pages bigint not null default 0;
