//! Searches on both databases find what the core's index finds.

use std::cell::Cell;

use convengine_core::knowledge::{KnowledgeIndex, Source, SourceFormat, cut_source, rank_vector};
use convengine_core::turn::{KNOWLEDGE_LIST_DEPTH, KnowledgeReply, KnowledgeRequest, VectorHit};
use convengine_host_base::clock;
use convengine_host_base::meter::Meter;
use convengine_storage::assistant::knowledge::chunk;
use convengine_storage::assistant::knowledge::source::{self, SourceVersion};
use convengine_storage::assistant::knowledge::vector::{self, ChunkVector, VectorSearch};
use convengine_storage::testing::{Database, each_database};

use super::directory::{Directory, DirectoryCache};
use super::indexing::{MAX_IMMEDIATE_BYTES, delete_source, index_next, put_source, sweep};
use super::search::Searcher;
use super::vectors::{VectorCache, VectorQuery};

const WORDS: &str = "card cards fee fees transfer account Karte Gebühr Überweisung limit über straße l'été café ÇA don't C++ 100% 5€ 咖啡 \
    大杯咖啡 커피는 สวัสดี 'quoted' back\\slash under_score a:b 1_2 NULL or and not near \"x\" İstanbul IBAN DE89370400440532013000 e-mail …";

/// A small generator, so that failures can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % most
    }

    fn text(&mut self, most: usize) -> String {
        let words: Vec<&str> = WORDS.split_ascii_whitespace().collect();
        let paragraph = |it: usize| if it % 37 == 36 { "\n\n# Heading " } else { " " };
        // Some words are far more frequent than others.
        (0..self.below(most))
            .map(|index| format!("{}{}", words[self.below(words.len()).min(self.below(words.len()))], paragraph(index)))
            .collect()
    }

    fn source(&mut self) -> Source {
        let id = ["fees", "limits", "gebühr#1", "it's", "a b", "Z", "zz/ü.md"][self.below(7)].to_owned();
        let locale = ["en", "de-AT", "fr", "xx", "zh", ""][self.below(6)].to_owned();
        let format = [SourceFormat::Text, SourceFormat::Markdown][self.below(2)];
        Source { id, title: self.text(5), text: self.text(900), url: None, locale, format, unreadable_pages: 0 }
    }
}

fn request(query: String, sources: Option<Vec<String>>) -> KnowledgeRequest {
    KnowledgeRequest { assistant: "desk".to_owned(), program: None, sources, query, top_k: 5, vector_weight: 0.5 }
}

/// Stores a source on a connection of its own.
async fn put(database: &Database, assistant: &str, source: Source) -> sqlx::Result<()> {
    let mut connection = convengine_storage::open(&database.config, false).await?;
    put_source(&mut connection, assistant, source).await?;
    connection.close().await
}

async fn search(database: &Database, directories: &DirectoryCache, request: &KnowledgeRequest) -> KnowledgeReply {
    Searcher::by_keyword(&database.pool, directories).search(request).await.expect("a reply")
}

#[tokio::test]
async fn databases_find_what_the_index_of_the_core_finds() {
    for database in each_database().await {
        let (mut random, mut index, directories) = (Random(7), KnowledgeIndex::new(), DirectoryCache::default());
        // Another assistant with the same words changes nothing.
        put(&database, "other", random.source()).await.expect("stored");
        for round in 0..60 {
            let source = random.source();
            if round % 7 == 6 {
                let existed = delete_source(&database.config, "desk", &source.id).await.expect("an answer");
                assert_eq!(existed, index.remove(&source.id));
            } else {
                put(&database, "desk", source.clone()).await.expect("stored");
                index.add(&source);
            }
            let searched = [None, Some(vec![]), Some(vec!["fees".to_owned(), "it's".to_owned()])][random.below(3)].clone();
            let request = request(random.text(8), searched);
            let expected = index.search(&request.query, request.sources.as_deref(), KNOWLEDGE_LIST_DEPTH);
            let found = search(&database, &directories, &request).await;
            assert_eq!((&found.stats, &found.keyword), (&expected.stats, &expected.candidates), "{request:?}");
            let passages: Vec<&str> = found.passages.iter().map(|it| it.chunk.as_str()).collect();
            assert_eq!(passages, found.chunks_to_read(&request));
            for passage in &found.passages {
                let chunk = index.chunk(&passage.chunk).expect("a chunk");
                assert_eq!((&passage.text, &passage.title, &passage.source), (&chunk.text, &chunk.title, &chunk.source));
            }
        }
    }
}

#[tokio::test]
async fn a_large_source_is_indexed_in_the_background_while_the_old_one_is_found() {
    for database in each_database().await {
        let directories = DirectoryCache::default();
        let of = |text: String| Source {
            id: "fees".to_owned(),
            title: String::new(),
            text,
            url: None,
            locale: "en".to_owned(),
            format: SourceFormat::Text,
            unreadable_pages: 0,
        };
        let large = |word: &str| of(format!("{word} ").repeat(MAX_IMMEDIATE_BYTES / word.len()));
        put(&database, "desk", of("Old fees".to_owned())).await.expect("stored");
        put(&database, "desk", large("young")).await.expect("stored");
        let state = async || source::find(&database.pool, "desk", "fees").await.expect("an answer").expect("a source");
        assert_eq!((state().await.status.as_str(), state().await.is_searchable), ("indexing", true));
        let found = async |word: &str| search(&database, &directories, &request(word.to_owned(), None)).await.stats.frequencies[0];
        assert_eq!((found("old").await, found("young").await), (1, 0));

        // A process dies: its lease expires, and another one starts again.
        let now = clock::now();
        assert!(source::lease_next(&database.pool, now, now + 60_000).await.expect("an answer").is_some());
        assert!(!index_next(&database.config, &database.pool, &Meter::default(), now + 1_000).await.expect("an answer"), "leased");
        assert!(index_next(&database.config, &database.pool, &Meter::default(), now + 60_001).await.expect("an answer"));
        let indexed = state().await;
        assert_eq!((indexed.status.as_str(), indexed.chunks, indexed.total_chunks), ("ready", indexed.chunks, indexed.chunks));
        assert!(indexed.chunks > 100);
        assert_eq!((found("old").await, found("young").await), (0, u64::try_from(indexed.chunks).expect("a number")));

        put(&database, "desk", large("late")).await.expect("stored");
        assert!(delete_source(&database.config, "desk", "fees").await.expect("an answer"));
        assert!(!index_next(&database.config, &database.pool, &Meter::default(), now + 60_001).await.expect("an answer"), "deleted");
        assert_eq!(search(&database, &directories, &request("young late".to_owned(), None)).await.stats.chunks, 0);
    }
}

#[tokio::test]
async fn searches_see_the_old_or_the_new_chunks() {
    for database in each_database().await {
        let directories = DirectoryCache::default();
        let of = |text: &str| Source {
            id: "fees".to_owned(),
            title: String::new(),
            text: text.to_owned(),
            url: None,
            locale: "en".to_owned(),
            format: SourceFormat::Text,
            unreadable_pages: 0,
        };
        put(&database, "desk", of("fee 0")).await.expect("stored");
        let replace = async {
            for round in 1..30 {
                put(&database, "desk", of(&format!("fee {round}"))).await.expect("stored");
            }
        };
        let look = async {
            for _ in 0..60 {
                let reply = search(&database, &directories, &request("fee".to_owned(), None)).await;
                assert_eq!((reply.stats.frequencies.as_slice(), reply.passages.len()), (&[1][..], 1));
            }
        };
        tokio::join!(replace, look);
    }
}

fn fees(text: String) -> Source {
    let (id, title, locale) = ("fees".to_owned(), String::new(), "en".to_owned());
    Source { id, title, text, url: None, locale, format: SourceFormat::Text, unreadable_pages: 0 }
}

#[tokio::test]
async fn others_write_while_a_large_source_is_indexed() {
    for mut database in each_database().await {
        put(&database, "desk", fees("Old fees".to_owned())).await.expect("stored");
        put(&database, "desk", fees("young fees apply ".repeat(40_000))).await.expect("stored");
        let (is_done, mut written) = (Cell::new(false), 0);
        let meter = Meter::default();
        let index = async {
            assert!(index_next(&database.config, &database.pool, &meter, clock::now()).await.expect("an answer"));
            is_done.set(true);
        };
        let connection = &mut database.connection;
        let write = async {
            while !is_done.get() {
                source::increment_revision(connection, "other").await.expect("written");
                written += 1;
            }
        };
        tokio::join!(index, write);
        // Each batch of chunks lets others write.
        assert!(written > 10, "{written} times");
        let indexed = source::find(&database.pool, "desk", "fees").await.expect("an answer").expect("a source");
        assert!(indexed.status == "ready" && indexed.chunks > 300, "{indexed:?}");
        assert_eq!(chunk::list_obsolete(&mut database.connection, 1).await.expect("chunks"), [0; 0], "the old ones are gone");
    }
}

#[tokio::test]
async fn what_a_process_that_died_has_left_is_deleted() {
    for mut database in each_database().await {
        put(&database, "desk", fees("Old fees".to_owned())).await.expect("stored");
        let connection = &mut database.connection;
        let base = source::find_base(connection, "desk").await.expect("an answer").expect("a base");
        // A version that was replaced before it was published, and a source that was deleted.
        for id in ["fees", "deleted"] {
            let left = SourceVersion { assistant: "desk", source: id, version: 999 };
            let chunks: Vec<_> = cut_source(&fees("left ".to_owned())).into_iter().cycle().take(60).collect();
            chunk::insert(connection, &left, base.id, 1, &chunks).await.expect("stored");
        }
        assert_eq!(chunk::list_obsolete(connection, 200).await.expect("chunks").len(), 120);
        sweep(&database.config).await.expect("deleted");
        assert_eq!(chunk::list_obsolete(&mut database.connection, 200).await.expect("chunks"), [0; 0]);
        let reply = search(&database, &DirectoryCache::default(), &request("old left".to_owned(), None)).await;
        assert_eq!((reply.stats.chunks, reply.passages.len()), (1, 1), "what searches find is kept");
    }
}

/// Vectors with directions that repeat, some of zeros, and some of another length.
fn random_vector(random: &mut Random) -> Vec<f32> {
    let length = if random.below(20) == 0 { 4 } else { 5 };
    #[allow(clippy::cast_precision_loss, reason = "small numbers")]
    let number = |random: &mut Random| random.below(7) as f32 / 3.0 - 1.0;
    if random.below(50) == 0 { vec![0.0; length] } else { (0..length).map(|_| number(random)).collect() }
}

/// Stores sources with a vector for each chunk, and returns the vectors with the names of the chunks.
async fn put_vectors(database: &mut Database, random: &mut Random) -> Vec<(String, Vec<f32>)> {
    let mut all = Vec::new();
    for id in ["fees", "limits", "it's"] {
        let text = (0..200).map(|part| format!("# Part {part}\n\n{}\n\n", "word ".repeat(150))).collect();
        let (title, locale, format) = (String::new(), String::new(), SourceFormat::Markdown);
        let of = Source { id: id.to_owned(), title, text, url: None, locale, format, unreadable_pages: 0 };
        put(database, "desk", of).await.expect("stored");
    }
    while let Some(job) = vector::lease_next(&database.pool, "m", 1, 2).await.expect("an answer") {
        let version = SourceVersion { assistant: "desk", source: &job.source, version: job.version };
        let missing = vector::list_missing(&database.pool, &version, "m", 1_000).await.expect("chunks");
        for (number, (chunk, _)) in (1..).zip(missing) {
            let vector = random_vector(random);
            all.push((format!("{}#{number}", job.source), vector.clone()));
            vector::put(&mut database.connection, "m", &[ChunkVector { chunk, vector }]).await.expect("stored");
        }
        vector::finish(&mut database.connection, &version, "m").await.expect("stored");
    }
    all
}

#[tokio::test]
async fn vectors_are_found_in_the_database_as_in_memory() {
    for mut database in each_database().await {
        let mut random = Random(3);
        let all = put_vectors(&mut database, &mut random).await;
        assert!(all.len() > 500, "{}", all.len());
        let directory = DirectoryCache::default().get(&database.pool, "desk").await.expect("a directory");
        let has_database_search = vector::prepare_search(&mut database.connection).await.expect("an answer") == VectorSearch::Database;
        assert!(has_database_search || database.pool.is_shared(), "SQLite has the functions");
        let cache = VectorCache::default();
        for round in 0..30 {
            let sources = [None, Some(vec!["it's".to_owned(), "none".to_owned()]), Some(vec![])][round % 3].clone();
            let vector = random_vector(&mut random);
            let is_searched = search_of(&directory, sources.as_deref());
            let query = VectorQuery {
                pool: &database.pool,
                assistant: "desk",
                model: "m",
                sources: sources.as_deref(),
                directory: &directory,
                is_searched: &is_searched,
                vector: &vector,
            };
            let in_memory = query.find_nearest(VectorSearch::Memory, &cache).await.expect("an answer").expect("hits");
            if has_database_search {
                let in_database = query.find_nearest(VectorSearch::Database, &cache).await.expect("an answer").expect("hits");
                assert_eq!(in_database, in_memory, "{vector:?} {sources:?}");
            }
            let is_covered = |name: &str| sources.as_ref().is_none_or(|ids| ids.iter().any(|id| name.starts_with(&format!("{id}#"))));
            let covered = all.iter().filter(|chunk| is_covered(&chunk.0) && chunk.1.len() == vector.len());
            let exact = rank_vector(&vector, covered.map(|chunk| (chunk.0.as_str(), chunk.1.as_slice())), KNOWLEDGE_LIST_DEPTH);
            let scores = |hits: &[VectorHit]| hits.iter().map(|it| it.score).collect::<Vec<_>>();
            assert_eq!(scores(&in_memory), exact.iter().map(|it| it.1).collect::<Vec<_>>(), "{vector:?} {sources:?}");
        }
    }
}

fn search_of(directory: &Directory, sources: Option<&[String]>) -> Vec<bool> {
    directory.sources.iter().map(|source| sources.is_none_or(|ids| ids.contains(&source.id))).collect()
}
