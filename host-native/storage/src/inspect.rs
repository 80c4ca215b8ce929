//! Reads a database schema from the system catalog. (docs/spec/data-and-api.md#9.4)

use serde_json::Value;

use super::database::Pool;
use super::statement::{SqlValue as Sql, Statement};

/// A database schema. Each entry is a JSON object with `table_name` and the members listed, as in the original API.
pub struct Schema {
    /// The schema name, in the database's spelling.
    pub name: String,
    /// `table_name`.
    pub tables: Vec<Value>,
    /// `column_name`, `data_type`, `is_nullable`, `ordinal_position`, `is_primary_key`, `is_foreign_key`.
    pub columns: Vec<Value>,
    /// `constraint_name`, `source_table`, `source_column`, `target_table`, `target_column`.
    pub joins: Vec<Value>,
    /// `index_name`, `index_def`.
    pub indexes: Vec<Value>,
    /// `column_name`, `sequence_name`.
    pub sequences: Vec<Value>,
    /// `trigger_name`, `action_timing`, `event_manipulation`, `action_statement`.
    pub triggers: Vec<Value>,
}

/// Reads a schema by name, ignoring case; without a name, the current schema. Returns `None` when it does not exist.
pub async fn read_schema(pool: &Pool, name: Option<&str>) -> sqlx::Result<Option<Schema>> {
    let Some(name) = resolve_schema_name(pool, name).await? else { return Ok(None) };
    Ok(Some(Schema {
        tables: read_tables(pool, &name).await?,
        columns: read_columns(pool, &name).await?,
        joins: read_foreign_keys(pool, &name).await?,
        indexes: read_indexes(pool, &name).await?,
        sequences: read_sequences(pool, &name).await?,
        triggers: read_triggers(pool, &name).await?,
        name,
    }))
}

async fn resolve_schema_name(pool: &Pool, name: Option<&str>) -> sqlx::Result<Option<String>> {
    let sql = Statement::per_dialect(
        "select name from pragma_database_list where lower(name) = lower(coalesce($1, 'main')) order by name <> $1 limit 1",
        "select nspname::text as name from pg_namespace
         where nspname = coalesce($1, current_schema()) or lower(nspname) = lower($1) order by nspname <> $1 limit 1",
    );
    pool.fetch_optional(&sql, &[Sql::OptionalText(name)]).await?.map(|it| it.text("name")).transpose()
}

async fn query_json_rows(pool: &Pool, sql: &Statement, schema: &str) -> sqlx::Result<Vec<Value>> {
    let found = pool.fetch_all(sql, &[Sql::Text(schema)]).await?;
    found.iter().map(|row| serde_json::from_str(&row.text("found")?).map_err(|error| sqlx::Error::Decode(Box::new(error)))).collect()
}

async fn read_tables(pool: &Pool, schema: &str) -> sqlx::Result<Vec<Value>> {
    let sql = Statement::per_dialect(
        "select json_object('table_name', name) as found from pragma_table_list
         where schema = $1 and type = 'table' and name not like 'sqlite\\_%' escape '\\' order by name",
        "select json_build_object('table_name', c.relname)::text as found from pg_class c
         join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind in ('r', 'p') order by c.relname",
    );
    query_json_rows(pool, &sql, schema).await
}

async fn read_columns(pool: &Pool, schema: &str) -> sqlx::Result<Vec<Value>> {
    let sql = Statement::per_dialect(
        "select json_object('table_name', t.name, 'column_name', c.name, 'data_type', lower(c.type),
           'is_nullable', iif(c.\"notnull\" or c.pk, 'NO', 'YES'), 'ordinal_position', c.cid + 1,
           'is_primary_key', json(iif(c.pk, 'true', 'false')),
           'is_foreign_key', json(iif(exists (select 1 from pragma_foreign_key_list(t.name, t.schema) f where f.\"from\" = c.name),
             'true', 'false'))) as found
         from pragma_table_list t, pragma_table_info(t.name, t.schema) c
         where t.schema = $1 and t.type = 'table' and t.name not like 'sqlite\\_%' escape '\\' order by t.name, c.cid",
        "select json_build_object('table_name', c.relname, 'column_name', a.attname, 'data_type', format_type(a.atttypid, a.atttypmod),
           'is_nullable', case when a.attnotnull then 'NO' else 'YES' end, 'ordinal_position', a.attnum,
           'is_primary_key', exists (select 1 from pg_constraint k where k.conrelid = c.oid and k.contype = 'p' and a.attnum = any (k.conkey)),
           'is_foreign_key', exists (select 1 from pg_constraint k where k.conrelid = c.oid and k.contype = 'f' and a.attnum = any (k.conkey)))
           ::text as found
         from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
         where n.nspname = $1 and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped order by c.relname, a.attnum",
    );
    query_json_rows(pool, &sql, schema).await
}

async fn read_foreign_keys(pool: &Pool, schema: &str) -> sqlx::Result<Vec<Value>> {
    // A foreign key without a column name references the primary key.
    let sql = Statement::per_dialect(
        "select json_object('constraint_name', t.name || '_fkey' || f.id, 'source_table', t.name, 'source_column', f.\"from\",
           'target_table', f.\"table\", 'target_column',
           coalesce(f.\"to\", (select k.name from pragma_table_info(f.\"table\", t.schema) k where k.pk = f.seq + 1))) as found
         from pragma_table_list t, pragma_foreign_key_list(t.name, t.schema) f
         where t.schema = $1 and t.type = 'table' order by t.name, f.id, f.seq",
        "select json_build_object('constraint_name', k.conname, 'source_table', s.relname, 'source_column', sa.attname,
           'target_table', t.relname, 'target_column', ta.attname)::text as found
         from pg_constraint k join pg_class s on s.oid = k.conrelid join pg_class t on t.oid = k.confrelid
         join pg_namespace n on n.oid = s.relnamespace, unnest(k.conkey, k.confkey) with ordinality p (source, target, place),
         pg_attribute sa, pg_attribute ta
         where n.nspname = $1 and k.contype = 'f' and sa.attrelid = s.oid and sa.attnum = p.source and ta.attrelid = t.oid
           and ta.attnum = p.target
         order by s.relname, k.conname, p.place",
    );
    query_json_rows(pool, &sql, schema).await
}

async fn read_indexes(pool: &Pool, schema: &str) -> sqlx::Result<Vec<Value>> {
    // SQLite has no definition text for indexes that back a constraint.
    let sql = Statement::per_dialect(
        "select json_object('table_name', t.name, 'index_name', i.name, 'index_def', coalesce(m.sql, '')) as found
         from pragma_table_list t, pragma_index_list(t.name, t.schema) i left join sqlite_master m on m.type = 'index' and m.name = i.name
         where t.schema = $1 and t.type = 'table' order by t.name, i.name",
        "select json_build_object('table_name', tablename, 'index_name', indexname, 'index_def', indexdef)::text as found
         from pg_indexes where schemaname = $1 order by tablename, indexname",
    );
    query_json_rows(pool, &sql, schema).await
}

async fn read_sequences(pool: &Pool, schema: &str) -> sqlx::Result<Vec<Value>> {
    let sql = Statement::per_dialect(
        "select json_object('table_name', t.name, 'column_name', c.name, 'sequence_name', 'sqlite_sequence') as found
         from pragma_table_list t, pragma_table_info(t.name, t.schema) c
         where t.schema = $1 and c.pk = 1 and t.name in (select name from sqlite_sequence) order by t.name",
        "select json_build_object('table_name', c.relname, 'column_name', a.attname, 'sequence_name', s.relname)::text as found
         from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S' join pg_class c on c.oid = d.refobjid
         join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid and a.attnum = d.refobjsubid
         where n.nspname = $1 and d.deptype in ('a', 'i') order by c.relname, a.attname",
    );
    query_json_rows(pool, &sql, schema).await
}

async fn read_triggers(pool: &Pool, schema: &str) -> sqlx::Result<Vec<Value>> {
    // SQLite stores triggers as text, so timing and event are parsed from it.
    let sql = Statement::per_dialect(
        "select json_object('table_name', tbl_name, 'trigger_name', name,
           'action_timing', case when upper(sql) like '% AFTER %' then 'AFTER' when upper(sql) like '% INSTEAD OF %' then 'INSTEAD OF'
             else 'BEFORE' end,
           'event_manipulation', case when upper(sql) like '% INSERT ON %' then 'INSERT' when upper(sql) like '% DELETE ON %' then 'DELETE'
             else 'UPDATE' end,
           'action_statement', sql) as found
         from sqlite_master where type = 'trigger' and $1 = 'main' order by tbl_name, name",
        "select json_build_object('table_name', event_object_table, 'trigger_name', trigger_name, 'action_timing', action_timing,
           'event_manipulation', event_manipulation, 'action_statement', action_statement)::text as found
         from information_schema.triggers where event_object_schema = $1 order by event_object_table, trigger_name, event_manipulation",
    );
    query_json_rows(pool, &sql, schema).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::each_database;

    #[tokio::test]
    async fn a_schema_has_the_members_of_the_original_api() {
        for mut database in each_database().await {
            let trigger = Statement::per_dialect(
                "create trigger audited after insert on ce_config begin select 1; end",
                "create trigger audited after insert on ce_config for each row execute function suppress_redundant_updates_trigger()",
            );
            database.connection.execute(&trigger, &[]).await.expect("a trigger");
            let found = read_schema(&database.pool, None).await.expect("rows").expect("a schema");
            let upper = found.name.to_uppercase();
            assert_eq!(read_schema(&database.pool, Some(&upper)).await.expect("rows").expect("a schema").name, found.name);
            assert!(read_schema(&database.pool, Some("nowhere")).await.expect("rows").is_none());
            let with = |rows: &[Value], members: &[(&str, Value)]| {
                assert!(rows.iter().any(|row| members.iter().all(|(name, value)| row[*name] == *value)), "{members:?} in {rows:?}");
            };
            let text = |text: &str| Value::String(text.to_owned());
            with(&found.tables, &[("table_name", text("ce_audit"))]);
            let column = [("table_name", text("ce_mcp_user_feedback")), ("column_name", text("conversation_id"))];
            let facts = [("is_nullable", text("NO")), ("is_primary_key", false.into()), ("is_foreign_key", true.into())];
            with(&found.columns, &[&column[..], &facts[..]].concat());
            let key = [("table_name", text("ce_mcp_user_feedback")), ("column_name", text("feedback_id")), ("ordinal_position", 1.into())];
            with(&found.columns, &[&key[..], &[("is_primary_key", true.into())]].concat());
            let ends =
                [("source_table", "ce_mcp_user_feedback"), ("target_table", "ce_conversation"), ("target_column", "conversation_id")];
            with(&found.joins, &ends.map(|(name, value)| (name, text(value))));
            with(&found.indexes, &[("table_name", text("ce_user_query_knowledge"))]);
            let event = [("trigger_name", "audited"), ("action_timing", "AFTER"), ("event_manipulation", "INSERT")];
            with(&found.triggers, &event.map(|(name, value)| (name, text(value))));
            if database.pool.is_shared() {
                with(&found.sequences, &[("table_name", text("ce_config")), ("column_name", text("config_id"))]);
            }
        }
    }
}
