//! Statements whose dialects differ in casts only: SQLite has uuids and JSON as text, and needs none.

/// Creates a statement of its text for PostgreSQL.
macro_rules! with_casts {
    ($sql:expr) => {
        $crate::statement::Statement::per_dialect($crate::casts::without_casts!($sql), $sql)
    };
}

/// Removes the casts from a literal statement.
macro_rules! without_casts {
    ($sql:expr) => {{
        const SQL: &str = $sql;
        const KEPT: &([u8; SQL.len()], usize) = &$crate::casts::remove(SQL);
        const SQLITE: &str = match std::str::from_utf8(KEPT.0.split_at(KEPT.1).0) {
            Ok(sql) => sql,
            Err(_) => panic!("casts are ASCII"),
        };
        SQLITE
    }};
}

pub(crate) use {with_casts, without_casts};

/// Returns the bytes of a statement without its casts, and their number. `::` and a type are a cast wherever they stand.
pub(crate) const fn remove<const LENGTH: usize>(sql: &str) -> ([u8; LENGTH], usize) {
    let (sql, mut kept, mut count, mut at) = (sql.as_bytes(), [0; LENGTH], 0, 0);
    while at < sql.len() {
        if sql[at] == b':' && sql[at + 1] == b':' {
            at += 2;
            while at < sql.len() && sql[at].is_ascii_alphanumeric() {
                at += 1;
            }
            assert!(
                at == sql.len() || !matches!(sql[at], b'[' | b'(' | b'_'),
                "only casts to a word are removed: write a statement per dialect"
            );
        } else {
            kept[count] = sql[at];
            (count, at) = (count + 1, at + 1);
        }
    }
    (kept, count)
}

#[cfg(test)]
mod tests {
    #[test]
    fn casts_are_removed_wherever_they_stand() {
        const STATEMENT: &str = "select a::text as a, n::bigint from t where b = $1::text::uuid and c <> 'ü: ' and ($2::float8 is null)";
        assert_eq!(without_casts!(STATEMENT), "select a as a, n from t where b = $1 and c <> 'ü: ' and ($2 is null)");
        assert_eq!(without_casts!("select count(*)::bigint"), "select count(*)");
    }
}
