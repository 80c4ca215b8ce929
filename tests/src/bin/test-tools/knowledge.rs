//! Times a knowledge base: `test-tools knowledge ADDRESS [CHUNKS] [SEARCHES]` indexes generated articles in an empty database and searches them.
//!
//! Prints JSON: milliseconds and bytes of indexing, and microseconds of searches by keywords. The words of articles and questions are as
//! unevenly frequent as those of a language. `cargo xtask postgres -- …` has a server for the address.

use std::time::Instant;

use anyhow::{Result, bail};
use convengine_content::knowledge::directory::DirectoryCache;
use convengine_content::knowledge::indexing::put_and_index;
use convengine_content::knowledge::search::Searcher;
use convengine_core::knowledge::{Source, SourceFormat};
use convengine_core::turn::KnowledgeRequest;
use convengine_storage::{self as storage, DatabaseConfig};
use serde_json::json;

/// The number of different words.
const WORDS: f64 = 20_000.0;

/// The words of an article; each becomes one chunk.
const ARTICLE_WORDS: usize = 180;

/// The articles of a source.
const ARTICLES: usize = 20;

/// Runs the command.
#[tokio::main]
pub async fn run(words: &[&str]) -> Result<()> {
    let (url, chunks, searches) = match words {
        [url] => (url, 10_000, 2_000),
        [url, chunks] => (url, chunks.parse()?, 2_000),
        [url, chunks, searches] => (url, chunks.parse()?, searches.parse()?),
        _ => bail!("usage: test-tools knowledge ADDRESS [CHUNKS] [SEARCHES]"),
    };
    let database = DatabaseConfig { url: (*url).to_owned(), full_sync: false };
    storage::connect_or_create(&database).await?.close().await?;
    let (mut random, mut bytes) = (Random(11), 0);
    let started = Instant::now();
    for number in 0..chunks / ARTICLES {
        let text: Vec<String> = (0..ARTICLES).map(|article| format!("# Article {article}\n\n{}", random.words(ARTICLE_WORDS))).collect();
        let (id, title, text) = (format!("source-{number}"), random.words(4), text.join("\n\n"));
        bytes += text.len();
        let (locale, format) = ("en".to_owned(), SourceFormat::Markdown);
        let source = Source { id, title, text, url: None, locale, format, unreadable_pages: 0 };
        put_and_index(&database, "desk", source).await?;
    }
    let indexed_ms = started.elapsed().as_millis();
    let pool = storage::open_reader_pool(&database).await?;
    let directories = DirectoryCache::default();
    let searcher = Searcher::by_keyword(&pool, &directories);
    let (mut times, mut found) = (Vec::new(), 0);
    for number in 0..=searches {
        let query = random.words(3 + number % 8);
        let request = KnowledgeRequest { assistant: "desk".to_owned(), program: None, sources: None, query, top_k: 5, vector_weight: 0.5 };
        let started = Instant::now();
        let reply = searcher.search(&request).await?;
        found = reply.stats.chunks;
        // The first search reads the directory of the knowledge base.
        if number > 0 {
            times.push(started.elapsed().as_micros());
        }
    }
    pool.close().await;
    times.sort_unstable();
    let percentile = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
    let sums = json!({
        "chunks": found, "text_bytes": bytes, "indexed_ms": indexed_ms, "searches": times.len(),
        "p50_us": percentile(50), "p99_us": percentile(99), "max_us": times.last(),
    });
    println!("{sums}");
    Ok(())
}

/// A small generator, so that runs are the same.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        #[allow(clippy::cast_precision_loss, reason = "31 bits")]
        let part = (self.0 >> 33) as f64;
        part / f64::from(1_u32 << 31)
    }

    /// Words with frequencies that are the reciprocals of their ranks.
    fn words(&mut self, count: usize) -> String {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most WORDS")]
        let word = |power: f64| format!("w{}", WORDS.powf(power) as u32);
        (0..count).map(|_| word(self.next())).collect::<Vec<_>>().join(" ")
    }
}
