//! Searches on both databases find what the core's index finds.

use convengine_core::knowledge::{KnowledgeIndex, Source, SourceFormat};
use convengine_core::turn::{KNOWLEDGE_LIST_DEPTH, KnowledgeReply, KnowledgeRequest};

use super::directory::DirectoryCache;
use super::indexing::{MAX_IMMEDIATE_BYTES, delete_source, index_next, put_source};
use super::search::Searcher;
use crate::clock;
use crate::storage::assistant::knowledge::source;
use crate::storage::testing::{Database, each_database};

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
            .map(|it| format!("{}{}", words[self.below(words.len()).min(self.below(words.len()))], paragraph(it)))
            .collect()
    }

    fn source(&mut self) -> Source {
        let id = ["fees", "limits", "gebühr#1", "it's", "a b", "Z", "zz/ü.md"][self.below(7)].to_owned();
        let locale = ["en", "de-AT", "fr", "xx", "zh", ""][self.below(6)].to_owned();
        let format = [SourceFormat::Text, SourceFormat::Markdown][self.below(2)];
        Source { id, title: self.text(5), text: self.text(900), url: None, locale, format }
    }
}

fn request(query: String, sources: Option<Vec<String>>) -> KnowledgeRequest {
    KnowledgeRequest { assistant: "desk".to_owned(), sources, query, top_k: 5, vector_weight: 0.5 }
}

async fn search(database: &Database, directories: &DirectoryCache, request: &KnowledgeRequest) -> KnowledgeReply {
    Searcher::by_keyword(&database.pool, directories).search(request).await.expect("a reply")
}

#[tokio::test]
async fn databases_find_what_the_index_of_the_core_finds() {
    for database in each_database().await {
        let (mut random, mut index, directories) = (Random(7), KnowledgeIndex::new(), DirectoryCache::default());
        // Another assistant with the same words changes nothing.
        put_source(&database.config, "other", random.source()).await.expect("stored");
        for round in 0..60 {
            let source = random.source();
            if round % 7 == 6 {
                let existed = delete_source(&database.config, "desk", &source.id).await.expect("an answer");
                assert_eq!(existed, index.remove(&source.id));
            } else {
                put_source(&database.config, "desk", source.clone()).await.expect("stored");
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
        };
        let large = |word: &str| of(format!("{word} ").repeat(MAX_IMMEDIATE_BYTES / word.len()));
        put_source(&database.config, "desk", of("Old fees".to_owned())).await.expect("stored");
        put_source(&database.config, "desk", large("young")).await.expect("stored");
        let state = async || source::find(&database.pool, "desk", "fees").await.expect("an answer").expect("a source");
        assert_eq!((state().await.status.as_str(), state().await.is_searchable), ("indexing", true));
        let found = async |word: &str| search(&database, &directories, &request(word.to_owned(), None)).await.stats.frequencies[0];
        assert_eq!((found("old").await, found("young").await), (1, 0));

        // A process dies: its lease expires, and another one starts again.
        let now = clock::now();
        assert!(source::lease_next(&database.pool, now, now + 60_000).await.expect("an answer").is_some());
        assert!(!index_next(&database.config, &database.pool, now + 1_000).await.expect("an answer"), "leased");
        assert!(index_next(&database.config, &database.pool, now + 60_001).await.expect("an answer"));
        let indexed = state().await;
        assert_eq!((indexed.status.as_str(), indexed.chunks, indexed.total_chunks), ("ready", indexed.chunks, indexed.chunks));
        assert!(indexed.chunks > 100);
        assert_eq!((found("old").await, found("young").await), (0, u64::try_from(indexed.chunks).expect("a number")));

        put_source(&database.config, "desk", large("late")).await.expect("stored");
        assert!(delete_source(&database.config, "desk", "fees").await.expect("an answer"));
        assert!(!index_next(&database.config, &database.pool, now + 60_001).await.expect("an answer"), "deleted");
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
        };
        put_source(&database.config, "desk", of("fee 0")).await.expect("stored");
        let replace = async {
            for round in 1..30 {
                put_source(&database.config, "desk", of(&format!("fee {round}"))).await.expect("stored");
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
