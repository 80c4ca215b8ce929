//! Calls every statement on both databases.

use convengine_core::knowledge::{Source, SourceFormat, cut_source};

use super::source::{
    SourceVersion, count_waiting, delete, fail, find, find_base, finish, has_table, increment_revision, is_current, lease_next, list,
    list_texts, put, take,
};
use super::vector::{self, ChunkVector, EmbeddingJob, VectorSearch, prepare_search};
use super::{chunk, find_postings, load_directory};
use crate::schema::migrate;
use crate::statement::Statement;
use crate::testing::each_database;

fn source(id: &str, text: &str) -> Source {
    let (id, text) = (id.to_owned(), text.to_owned());
    let url = Some("https://bank.example/fees".to_owned());
    let (title, locale) = ("It's \"Fees\"".to_owned(), "en".to_owned());
    Source { id, title, text, url, locale, format: SourceFormat::Markdown, unreadable_pages: 0 }
}

#[tokio::test]
async fn a_source_is_stored_indexed_and_deleted() {
    for mut database in each_database().await {
        let (connection, pool) = (&mut database.connection, &database.pool);
        assert!(has_table(connection).await.expect("an answer"));
        assert_eq!(find_base(connection, "desk").await.expect("an answer"), None);
        assert_eq!(load_directory(pool, "desk").await.expect("an answer"), []);
        let base = increment_revision(connection, "desk").await.expect("a base");
        assert_eq!(find_base(connection, "desk").await.expect("an answer"), Some(base));
        let fees = source("fees", "# Cards\n\ncard card's \\ 'card'\n\n# Accounts\n\naccount");
        put(connection, "desk", &fees, base.revision, 5, 0).await.expect("stored");
        let job = lease_next(pool, 6, 10).await.expect("an answer").expect("a job");
        assert_eq!((job.assistant.as_str(), &job.source, job.version), ("desk", &fees, base.revision));
        assert_eq!(lease_next(pool, 9, 20).await.expect("an answer"), None);
        let version = SourceVersion { assistant: "desk", source: "fees", version: base.revision };
        let chunks = cut_source(&fees);
        chunk::insert(connection, &version, base.id, 1, &chunks).await.expect("stored");
        let directory = load_directory(pool, "desk").await.expect("a directory");
        assert_eq!(directory.iter().filter(|it| it.source.is_some()).count(), 0, "not published");
        assert!(super::source::record_progress(connection, &version, 1, 2, 30).await.expect("an answer"));
        let row = find(pool, "desk", "fees").await.expect("an answer").expect("a source");
        assert_eq!((row.status.as_str(), row.chunks, row.total_chunks, row.is_searchable), ("indexing", 1, 2, false));
        assert!(finish(connection, &version, 2).await.expect("an answer"));
        assert!(!finish(connection, &version, 2).await.expect("an answer"), "it is ready");
        assert_eq!(chunk::list_obsolete(connection, 9).await.expect("chunks"), [0; 0], "it is the indexed version");

        let directory = load_directory(pool, "desk").await.expect("a directory");
        let lengths: Vec<u32> = directory[0].chunks.iter().map(|it| it.1).collect();
        assert_eq!((directory[0].source.as_deref(), lengths), (Some("fees"), chunks.iter().map(|it| it.length).collect()));
        let terms = ["card", "account", "weather"].map(str::to_owned);
        let (revision, postings) = find_postings(pool, "desk", base.id, &terms).await.expect("postings");
        assert_eq!(revision, base.revision);
        let sum =
            |term: usize| postings.iter().filter(|row| row.term == term).flat_map(|row| &row.counts).map(|count| count.1).sum::<u32>();
        let expected = |term: &str| chunks.iter().map(|chunk| chunk.count(term)).sum::<u32>();
        assert_eq!((sum(0), sum(1), sum(2)), (expected("card"), expected("account"), 0));
        assert!(expected("card") > 1 && expected("account") > 0);
        let ids: Vec<i64> = directory[0].chunks.iter().map(|it| it.0).collect();
        let passages = chunk::find_passages(pool, &ids[..1]).await.expect("passages");
        assert_eq!((passages[0].chunk.as_str(), &passages[0].text, passages[0].url.is_some()), ("fees#1", &chunks[0].text, true));

        put(connection, "desk", &source("a", "b"), 2, 7, 0).await.expect("stored");
        fail(pool, &SourceVersion { assistant: "desk", source: "a", version: 2 }, "no").await.expect("stored");
        let rows = list(pool, "desk").await.expect("sources");
        let shown: Vec<_> = rows.iter().map(|row| (row.source.id.as_str(), row.status.as_str(), row.error.as_deref())).collect();
        assert_eq!(shown, [("a", "failed", Some("no")), ("fees", "ready", None)]);
        assert_eq!(list_texts(connection).await.expect("sources")[1], ("desk".to_owned(), fees));
        assert!(delete(connection, "desk", "fees").await.expect("an answer"));
        assert!(!delete(connection, "desk", "fees").await.expect("an answer"));
        let obsolete = chunk::list_obsolete_of(connection, "desk", "fees", 9).await.expect("chunks");
        assert_eq!(obsolete.len(), chunks.len());
        assert_eq!(chunk::list_obsolete_of(connection, "desk", "other", 9).await.expect("chunks"), [0; 0]);
        assert_eq!(chunk::list_version(connection, &version, 9).await.expect("chunks").len(), chunks.len());
        chunk::delete(connection, &obsolete).await.expect("deleted");
        assert_eq!(chunk::list_obsolete(connection, 9).await.expect("chunks"), [0; 0]);
        assert!(find_postings(pool, "desk", base.id, &terms).await.expect("postings").1.iter().all(|it| it.counts.is_empty()));
    }
}

#[tokio::test]
async fn sources_of_languages_that_are_stemmed_since_are_indexed_again() {
    for mut database in each_database().await {
        let (connection, pool) = (&mut database.connection, &database.pool);
        for (id, locale, is_failed) in
            [("a", "ar-EG", false), ("b", "EL", false), ("c", "en", false), ("d", "ta_IN", true), ("e", "tag", false)]
        {
            let base = increment_revision(connection, "desk").await.expect("a base");
            let of_locale = Source { locale: locale.to_owned(), ..source(id, "text") };
            put(connection, "desk", &of_locale, base.revision, 5, 0).await.expect("stored");
            let version = SourceVersion { assistant: "desk", source: id, version: base.revision };
            if is_failed {
                fail(pool, &version, "no").await.expect("stored");
            } else {
                assert!(finish(connection, &version, 1).await.expect("an answer"));
            }
        }
        connection.execute(&Statement::portable("delete from cv_migration where version = 25"), &[]).await.expect("a deletion");
        migrate(connection).await.expect("a migration");
        let mut jobs = Vec::new();
        while let Some(job) = lease_next(pool, 6, 10).await.expect("an answer") {
            jobs.push((job.source.id, job.version));
        }
        jobs.sort();
        assert_eq!(jobs, [("a".to_owned(), 6), ("b".to_owned(), 6)]);
        assert_eq!(find_base(connection, "desk").await.expect("an answer").map(|it| it.revision), Some(6));
        assert!(list(pool, "desk").await.expect("sources").iter().all(|listed| listed.is_searchable == (listed.source.id != "d")));
    }
}

#[tokio::test]
async fn vectors_are_stored_compared_and_deleted() {
    for mut database in each_database().await {
        let (connection, pool) = (&mut database.connection, &database.pool);
        let base = increment_revision(connection, "desk").await.expect("a base");
        let fees = source("fees", "# Cards\n\ncard\n\n# Accounts\n\naccount\n\n# Loans\n\nloan");
        put(connection, "desk", &fees, base.revision, 5, 0).await.expect("stored");
        let version = SourceVersion { assistant: "desk", source: "fees", version: base.revision };
        let mut chunks = cut_source(&fees);
        chunks = chunks.iter().cycle().take(4).cloned().collect();
        chunk::insert(connection, &version, base.id, 1, &chunks).await.expect("stored");
        assert!(finish(connection, &version, 4).await.expect("an answer"));

        let job = vector::lease_next(pool, "m", 6, 10).await.expect("an answer");
        assert_eq!(job, Some(EmbeddingJob { assistant: "desk".to_owned(), source: "fees".to_owned(), version: base.revision }));
        let missing = vector::list_missing(pool, &version, "m", 3).await.expect("chunks");
        assert_eq!(missing.len(), 3);
        let mut vectors: Vec<ChunkVector> = missing.iter().map(|it| ChunkVector { chunk: it.0, vector: vec![0.5, 1.0 / 3.0] }).collect();
        vectors.push(ChunkVector { chunk: i64::MAX, vector: vec![1.0, 2.0] });
        vectors[1].vector = vec![-0.0, f32::MIN_POSITIVE];
        vector::put(connection, "old", &vectors[..1]).await.expect("stored");
        vector::put(connection, "m", &vectors).await.expect("stored");
        let last = vector::list_missing(pool, &version, "m", 9).await.expect("chunks")[0].0;
        vector::put(connection, "m", &[ChunkVector { chunk: last, vector: vec![1.0] }]).await.expect("stored");
        assert!(vector::finish(connection, &version, "m").await.expect("an answer"));
        vectors[3] = ChunkVector { chunk: last, vector: vec![1.0] };
        let load = async |model: &str, after: i64, limit: i64| vector::load(pool, "desk", model, after, limit).await.expect("vectors");
        assert_eq!(load("m", 0, 9).await, vectors, "without the chunk that does not exist");
        assert_eq!(load("m", 0, 1).await, vectors[..1]);
        assert_eq!(load("m", vectors[0].chunk, 2).await, vectors[1..3], "the next page");
        assert_eq!(load("old", 0, 9).await, []);
        assert_eq!(vector::measure(pool, "desk", "m").await.expect("a size"), (4, 7), "three of two numbers, one of one");
        assert_eq!(vector::measure(pool, "desk", "old").await.expect("a size"), (0, 0));
        assert_eq!(load_directory(pool, "desk").await.expect("a directory")[0].embedding_model.as_deref(), Some("m"));

        if prepare_search(connection).await.expect("an answer") == VectorSearch::Database {
            let find = async |query: &[f32], sources: Option<&[String]>, limit: i64| {
                let (revision, found) = vector::find_nearest(pool, "desk", "m", query, sources, limit).await.expect("vectors");
                assert_eq!(revision, base.revision);
                found
            };
            assert_eq!(find(&[0.0, 1.0], None, 9).await, [vectors[1].clone(), vectors[0].clone(), vectors[2].clone()]);
            assert_eq!(find(&[0.0, 0.0], None, 2).await, vectors[..2], "no angles");
            assert_eq!(find(&[1.0], Some(&["it's".to_owned(), "fees".to_owned()]), 9).await, vectors[3..]);
            assert_eq!(find(&[1.0], Some(&["other".to_owned()]), 9).await, []);
            assert_eq!(vector::find_nearest(pool, "none", "m", &[1.0], None, 9).await.expect("vectors"), (0, vec![]));
        }
        let ids: Vec<i64> = vectors.iter().map(|it| it.chunk).collect();
        assert_eq!(vector::list_orphans(connection, 9).await.expect("chunks"), [0; 0]);
        connection.execute(&Statement::portable("delete from cs_knowledge_chunk"), &[]).await.expect("deleted");
        assert_eq!(vector::list_orphans(connection, 3).await.expect("chunks").len(), 3, "as many as are asked for");
        chunk::delete(connection, &ids).await.expect("deleted");
        assert_eq!(vector::list_orphans(connection, 9).await.expect("chunks"), [0; 0], "the vectors are gone with the chunks");
        assert_eq!(load("m", 0, 9).await, []);
    }
}

#[tokio::test]
async fn a_source_is_taken_once_and_only_while_it_is_current() {
    for mut database in each_database().await {
        let (connection, pool) = (&mut database.connection, &database.pool);
        let base = increment_revision(connection, "desk").await.expect("a base");
        let version = SourceVersion { assistant: "desk", source: "fees", version: base.revision };
        put(connection, "desk", &source("fees", "card"), base.revision, 5, 70).await.expect("stored");
        assert_eq!(count_waiting(pool).await.expect("an answer"), 1);
        assert!(take(connection, &version, 70, 80).await.expect("an answer"));
        assert!(!take(connection, &version, 70, 90).await.expect("an answer"), "another process has it");
        assert!(is_current(connection, &version).await.expect("an answer"));
        let replaced = SourceVersion { version: base.revision + 1, ..version };
        put(connection, "desk", &source("fees", "card"), replaced.version, 6, 0).await.expect("stored");
        assert!(!is_current(connection, &version).await.expect("an answer"));
        assert!(is_current(connection, &replaced).await.expect("an answer"));
        assert!(finish(connection, &replaced, 0).await.expect("an answer"));
        assert!(!is_current(connection, &replaced).await.expect("an answer"), "it is indexed");
        assert_eq!(count_waiting(pool).await.expect("an answer"), 0);
    }
}
