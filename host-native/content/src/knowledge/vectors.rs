//! Finds the chunks whose vectors are nearest to that of a query: in the database or, where it cannot compare vectors, in memory.
//!
//! Both select candidates by approximate scores; the core computes the exact ones, so that all hosts agree.

use std::sync::Arc;

use convengine_core::knowledge::rank_vector;
use convengine_core::turn::{KNOWLEDGE_LIST_DEPTH, VectorHit};
use convengine_settings::SearchMemory;
use convengine_storage::Pool;
use convengine_storage::assistant::knowledge::find_revision;
use convengine_storage::assistant::knowledge::vector::{self, ChunkVector, VectorSearch};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::sync::Mutex;

use super::directory::Directory;
use super::scan::run_scan;

/// The largest number of chunks whose vectors are searched in memory.
pub const MAX_VECTORS: u64 = 50_000;

/// The number of knowledge bases that the cache expects.
const EXPECTED_BASES: usize = 8;

/// The share of the memory that one knowledge base may take: the cache keeps the rest for what is new.
const USABLE_PERCENT: u64 = 96;

/// The number of vectors that are read at once.
const PAGE_SIZE: i64 = 1_000;

/// How many candidates the approximate scores select for the exact ones.
const CANDIDATES: usize = 4 * KNOWLEDGE_LIST_DEPTH;

/// A search for the chunks nearest to a vector.
#[derive(Debug, Clone, Copy)]
pub struct VectorQuery<'a> {
    /// The reader pool.
    pub pool: &'a Pool,
    /// The assistant.
    pub assistant: &'a str,
    /// The model that has embedded query and chunks.
    pub model: &'a str,
    /// The sources to search; `None` for all.
    pub sources: Option<&'a [String]>,
    /// The chunks of the knowledge base.
    pub directory: &'a Arc<Directory>,
    /// For each source of the directory, whether it is searched.
    pub is_searched: &'a [bool],
    /// The vector of the query.
    pub vector: &'a [f32],
}

impl VectorQuery<'_> {
    /// Returns the nearest chunks, best first, or `None` if the directory is outdated.
    pub async fn find_nearest(&self, place: VectorSearch, cache: &VectorCache) -> sqlx::Result<Option<Vec<VectorHit>>> {
        match place {
            VectorSearch::Database => self.search_database().await,
            VectorSearch::Memory => self.search_memory(cache).await,
        }
    }

    async fn search_database(&self) -> sqlx::Result<Option<Vec<VectorHit>>> {
        let limit = i64::try_from(CANDIDATES).unwrap_or(i64::MAX);
        let (revision, nearest) = vector::find_nearest(self.pool, self.assistant, self.model, self.vector, self.sources, limit).await?;
        let candidates = nearest.iter().filter_map(|row| Some((self.directory.position(row.chunk)?, row.vector.as_slice())));
        Ok((revision == self.directory.revision).then(|| rank(self.directory, self.vector, candidates)))
    }

    async fn search_memory(&self, cache: &VectorCache) -> sqlx::Result<Option<Vec<VectorHit>>> {
        let Some(vectors) = cache.get(self.pool, self.assistant, self.model, self.directory).await? else { return Ok(None) };
        let scan =
            Scan { directory: Arc::clone(self.directory), is_searched: self.is_searched.to_vec(), query: self.vector.to_vec(), vectors };
        run_scan(move || scan.find_nearest()).await.map(Some)
    }
}

/// The vectors of a knowledge base in memory.
#[derive(Debug)]
struct Vectors {
    entries: Vec<Entry>,
}

/// The vector of a chunk.
#[derive(Debug)]
struct Entry {
    /// The position of the chunk in the directory.
    position: usize,
    /// The reciprocal of the length of the vector.
    reciprocal: f32,
    vector: Vec<f32>,
}

impl Entry {
    fn new(directory: &Directory, found: ChunkVector) -> Option<Entry> {
        let length = found.vector.iter().map(|it| it * it).sum::<f32>().sqrt();
        let reciprocal = if length > 0.0 { length.recip() } else { 0.0 };
        Some(Entry { position: directory.position(found.chunk)?, reciprocal, vector: found.vector })
    }

    /// In bytes.
    fn size(&self) -> u64 {
        Entry::size_of_all(1, self.vector.len() as u64)
    }

    /// The size in bytes of so many entries with so many numbers in all.
    fn size_of_all(entries: u64, numbers: u64) -> u64 {
        entries.saturating_mul(size_of::<Entry>() as u64).saturating_add(numbers.saturating_mul(size_of::<f32>() as u64))
    }
}

/// A scan of vectors in memory, which a thread of its own makes.
struct Scan {
    directory: Arc<Directory>,
    is_searched: Vec<bool>,
    query: Vec<f32>,
    vectors: Arc<Vectors>,
}

impl Scan {
    fn find_nearest(&self) -> Vec<VectorHit> {
        let is_covered = |it: usize| self.directory.place(it).is_some_and(|place| self.is_searched.get(place.source) == Some(&true));
        let is_comparable = |it: &&Entry| is_covered(it.position) && it.vector.len() == self.query.len();
        let entries = self.vectors.entries.iter().filter(is_comparable);
        let mut scored: Vec<(f32, &Entry)> = entries.map(|entry| (dot(&self.query, &entry.vector) * entry.reciprocal, entry)).collect();
        if scored.len() > CANDIDATES {
            // Equal scores by the database id, as in the database.
            let order = |left: &(f32, &Entry), right: &(f32, &Entry)| {
                right.0.total_cmp(&left.0).then_with(|| left.1.position.cmp(&right.1.position))
            };
            scored.select_nth_unstable_by(CANDIDATES, order);
            scored.truncate(CANDIDATES);
        }
        rank(&self.directory, &self.query, scored.iter().map(|it| (it.1.position, it.1.vector.as_slice())))
    }
}

/// Ranks candidates, given by their positions in the directory.
fn rank<'v>(directory: &Directory, query: &[f32], candidates: impl Iterator<Item = (usize, &'v [f32])>) -> Vec<VectorHit> {
    let named: Vec<(String, &[f32])> = candidates.filter_map(|candidate| Some((directory.name(candidate.0)?, candidate.1))).collect();
    let pairs = named.iter().map(|it| (it.0.as_str(), it.1));
    rank_vector(query, pairs, KNOWLEDGE_LIST_DEPTH).into_iter().map(|(chunk, score)| VectorHit { chunk, score }).collect()
}

/// Eight sums, which the compiler keeps in one register.
fn dot(left: &[f32], right: &[f32]) -> f32 {
    let (left, right) = (left.as_chunks::<8>(), right.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (left, right) in left.0.iter().zip(right.0) {
        for (sum, (left, right)) in sums.iter_mut().zip(left.iter().zip(right)) {
            *sum += left * right;
        }
    }
    let rest: f32 = left.1.iter().zip(right.1).map(|(left, right)| left * right).sum();
    sums.iter().sum::<f32>() + rest
}

/// A revision of a knowledge base with the model of its vectors.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct VectorKey {
    assistant: String,
    revision: i64,
    model: String,
}

#[derive(Debug, Clone, Copy)]
struct VectorWeighter;

impl Weighter<VectorKey, Arc<Vectors>> for VectorWeighter {
    fn weight(&self, _: &VectorKey, vectors: &Arc<Vectors>) -> u64 {
        size_of::<Vectors>() as u64 + vectors.entries.iter().map(Entry::size).sum::<u64>()
    }
}

/// The vectors of recently searched knowledge bases: one copy of each, and together no more than fits.
#[derive(Debug)]
pub struct VectorCache {
    vectors: Cache<VectorKey, Arc<Vectors>, VectorWeighter>,
    /// The bytes of all vectors.
    limit: u64,
    /// One knowledge base is loaded at a time, after room was made for it.
    loading: Mutex<()>,
}

impl VectorCache {
    /// Creates a cache of bounded size.
    pub fn new(memory: SearchMemory) -> VectorCache {
        let limit = memory.vectors();
        VectorCache { vectors: Cache::with_weighter(EXPECTED_BASES, limit, VectorWeighter), limit, loading: Mutex::default() }
    }

    /// Returns the vectors of `model` that belong to a directory, or `None` if the directory is outdated.
    async fn get(&self, pool: &Pool, assistant: &str, model: &str, directory: &Directory) -> sqlx::Result<Option<Arc<Vectors>>> {
        let key = VectorKey { assistant: assistant.to_owned(), revision: directory.revision, model: model.to_owned() };
        if let Some(found) = self.vectors.get(&key) {
            return Ok(Some(found));
        }
        let _guard = self.loading.lock().await;
        if let Some(found) = self.vectors.get(&key) {
            return Ok(Some(found));
        }
        self.vectors.retain(|it, _| it.assistant != key.assistant || it.revision > key.revision);
        let entries = self.load(pool, assistant, model, directory).await?;
        // Sources that have changed meanwhile may have left out some.
        if find_revision(pool, assistant).await? != directory.revision {
            return Ok(None);
        }
        let vectors = Arc::new(Vectors { entries });
        self.vectors.insert(key, Arc::clone(&vectors));
        Ok(Some(vectors))
    }

    /// Returns no vectors of a knowledge base that is too large.
    async fn load(&self, pool: &Pool, assistant: &str, model: &str, directory: &Directory) -> sqlx::Result<Vec<Entry>> {
        let (count, numbers) = vector::measure(pool, assistant, model).await?;
        let needed = Entry::size_of_all(count, numbers);
        if count > MAX_VECTORS || needed > self.limit / 100 * USABLE_PERCENT {
            tracing::warn!(
                assistant,
                "{count} chunks with {} MiB of vectors: the knowledge base is searched by keywords alone; install pgvector for vectors, or, up \
                 to {MAX_VECTORS} chunks, raise convengine.assistants.knowledge-memory-mb",
                needed >> 20
            );
            return Ok(Vec::new());
        }
        self.make_room(needed);
        let mut entries = Vec::with_capacity(usize::try_from(count).unwrap_or_default());
        let mut after = i64::MIN;
        loop {
            let page = vector::load(pool, assistant, model, after, PAGE_SIZE).await?;
            let Some(last) = page.last() else { return Ok(entries) };
            after = last.chunk;
            entries.extend(page.into_iter().filter_map(|it| Entry::new(directory, it)));
        }
    }

    /// Evicts knowledge bases, one by one, until so many bytes are free.
    fn make_room(&self, needed: u64) {
        while self.vectors.weight() + needed > self.limit {
            let Some((key, _)) = self.vectors.iter().next() else { return };
            self.vectors.remove(&key);
        }
    }
}

impl Default for VectorCache {
    fn default() -> VectorCache {
        VectorCache::new(SearchMemory::default())
    }
}

#[cfg(test)]
mod tests {
    use convengine_storage::assistant::knowledge::source;
    use convengine_storage::testing::each_database;
    use futures_util::future::join_all;

    use super::*;
    use crate::knowledge::directory::DirectoryCache;

    #[tokio::test]
    async fn vectors_are_loaded_once_for_all_who_ask() {
        for mut database in each_database().await {
            source::increment_revision(&mut database.connection, "desk").await.expect("a base");
            let directory = DirectoryCache::default().get(&database.pool, "desk").await.expect("a directory");
            let cache = VectorCache::default();
            let asked = join_all((0..20).map(|_| cache.get(&database.pool, "desk", "m", &directory))).await;
            let found: Vec<Arc<Vectors>> = asked.into_iter().map(|answer| answer.expect("an answer").expect("vectors")).collect();
            assert!(found.windows(2).all(|it| Arc::ptr_eq(&it[0], &it[1])), "one copy");
            // The knowledge base has changed since the directory was read.
            source::increment_revision(&mut database.connection, "desk").await.expect("a base");
            assert!(VectorCache::default().get(&database.pool, "desk", "m", &directory).await.expect("an answer").is_none());
        }
    }

    #[test]
    fn room_is_made_by_evicting_one_knowledge_base_after_another() {
        let cache = VectorCache::new(SearchMemory::from_mebibytes(16));
        let size = cache.limit / 4;
        let numbers = usize::try_from((size - Entry::size_of_all(1, 0)) / 4).expect("a number") - 64;
        for revision in 0..3 {
            let key = VectorKey { assistant: format!("desk-{revision}"), revision, model: "m".to_owned() };
            let entries = vec![Entry { position: 0, reciprocal: 1.0, vector: vec![0.0; numbers] }];
            cache.vectors.insert(key, Arc::new(Vectors { entries }));
        }
        assert_eq!(cache.vectors.len(), 3);
        cache.make_room(size);
        assert_eq!(cache.vectors.len(), 3, "there was room");
        cache.make_room(2 * size);
        assert_eq!(cache.vectors.len(), 2, "one is enough");
        cache.make_room(cache.limit);
        assert!(cache.vectors.is_empty());
    }
}
