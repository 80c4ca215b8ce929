-- Words of Arabic, Greek and Tamil are stemmed, as those of questions are: their sources are indexed again. Searches find what they have
-- until then.

update cs_knowledge_base set revision = revision + 1 where assistant_id in
  (select assistant_id from cs_knowledge_source where status <> 'failed' and substr(lower(locale) || '-', 1, 3) in ('ar-', 'el-', 'ta-', 'ar_', 'el_', 'ta_'));

update cs_knowledge_source set status = 'indexing', chunks = 0, total_chunks = 0, leased_until = 0,
  version = (select revision from cs_knowledge_base where cs_knowledge_base.assistant_id = cs_knowledge_source.assistant_id)
  where status <> 'failed' and substr(lower(locale) || '-', 1, 3) in ('ar-', 'el-', 'ta-', 'ar_', 'el_', 'ta_');
