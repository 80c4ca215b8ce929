//! Finds the chunks whose vectors are nearest to that of a query: in the database or, where it cannot compare vectors, in memory.
//!
//! Both select candidates by approximate scores; the core computes the exact ones, so that all hosts agree.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convengine_core::knowledge::rank_vector;
use convengine_core::turn::{KNOWLEDGE_LIST_DEPTH, VectorHit};

use super::directory::Directory;
use crate::storage::Pool;
use crate::storage::assistant::knowledge::vector::{self, ChunkVector, VectorSearch};

/// The largest number of chunks whose vectors are searched in memory.
pub const MAX_VECTORS: i64 = 50_000;

/// The number of knowledge bases in the cache.
const MAX_CACHED: usize = 8;

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
    pub directory: &'a Directory,
    /// For each source of the directory, whether it is searched.
    pub is_searched: &'a [bool],
    /// The vector of the query.
    pub vector: &'a [f32],
}

impl VectorQuery<'_> {
    /// Returns the nearest chunks, best first, or `None` if the directory is outdated.
    ///
    /// # Errors
    /// Returns any database error.
    pub async fn find_nearest(&self, place: VectorSearch, cache: &VectorCache) -> sqlx::Result<Option<Vec<VectorHit>>> {
        match place {
            VectorSearch::Database => self.search_database().await,
            VectorSearch::Memory => self.search_memory(cache).await.map(Some),
        }
    }

    async fn search_database(&self) -> sqlx::Result<Option<Vec<VectorHit>>> {
        let limit = i64::try_from(CANDIDATES).unwrap_or(i64::MAX);
        let (revision, nearest) = vector::find_nearest(self.pool, self.assistant, self.model, self.vector, self.sources, limit).await?;
        let candidates = nearest.iter().filter_map(|it| Some((self.directory.position(it.chunk)?, it.vector.as_slice())));
        Ok((revision == self.directory.revision).then(|| self.rank(candidates)))
    }

    async fn search_memory(&self, cache: &VectorCache) -> sqlx::Result<Vec<VectorHit>> {
        let vectors = cache.get(self.pool, self.assistant, self.model, self.directory).await?;
        let is_comparable = |it: &&Entry| self.is_covered(it.position) && it.vector.len() == self.vector.len();
        let mut scored: Vec<(f32, &Entry)> =
            vectors.entries.iter().filter(is_comparable).map(|it| (dot(self.vector, &it.vector) * it.reciprocal, it)).collect();
        if scored.len() > CANDIDATES {
            // Equal scores by the database id, as in the database.
            let order = |left: &(f32, &Entry), right: &(f32, &Entry)| {
                right.0.total_cmp(&left.0).then_with(|| left.1.position.cmp(&right.1.position))
            };
            scored.select_nth_unstable_by(CANDIDATES, order);
            scored.truncate(CANDIDATES);
        }
        Ok(self.rank(scored.iter().map(|it| (it.1.position, it.1.vector.as_slice()))))
    }

    fn is_covered(&self, position: usize) -> bool {
        self.directory.place(position).is_some_and(|it| self.is_searched.get(it.source) == Some(&true))
    }

    /// Ranks candidates, given by their positions in the directory.
    fn rank<'v>(&self, candidates: impl Iterator<Item = (usize, &'v [f32])>) -> Vec<VectorHit> {
        let named: Vec<(String, &[f32])> = candidates.filter_map(|it| Some((self.directory.name(it.0)?, it.1))).collect();
        let pairs = named.iter().map(|it| (it.0.as_str(), it.1));
        rank_vector(self.vector, pairs, KNOWLEDGE_LIST_DEPTH).into_iter().map(|(chunk, score)| VectorHit { chunk, score }).collect()
    }
}

/// The vectors of a knowledge base in memory.
#[derive(Debug)]
struct Vectors {
    revision: i64,
    model: String,
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

impl Vectors {
    fn new(revision: i64, model: &str, directory: &Directory, vectors: Vec<ChunkVector>) -> Vectors {
        let entry = |it: ChunkVector| {
            let length = it.vector.iter().map(|it| it * it).sum::<f32>().sqrt();
            let reciprocal = if length > 0.0 { length.recip() } else { 0.0 };
            Some(Entry { position: directory.position(it.chunk)?, reciprocal, vector: it.vector })
        };
        Vectors { revision, model: model.to_owned(), entries: vectors.into_iter().filter_map(entry).collect() }
    }
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

/// The vectors of recently searched knowledge bases.
#[derive(Debug, Default)]
pub struct VectorCache(Mutex<BTreeMap<String, Arc<Vectors>>>);

impl VectorCache {
    /// Returns the vectors of `model` that belong to a directory.
    async fn get(&self, pool: &Pool, assistant: &str, model: &str, directory: &Directory) -> sqlx::Result<Arc<Vectors>> {
        let cached = self.lock().get(assistant).cloned();
        if let Some(vectors) = cached.filter(|it| it.revision == directory.revision && it.model == model) {
            return Ok(vectors);
        }
        let found = vector::load(pool, assistant, model, MAX_VECTORS + 1).await?;
        let is_too_large = i64::try_from(found.len()).is_ok_and(|it| it > MAX_VECTORS);
        if is_too_large {
            tracing::warn!(
                assistant,
                "more than {MAX_VECTORS} chunks: the knowledge base is searched by keywords alone; install pgvector for vectors"
            );
        }
        let found = if is_too_large { Vec::new() } else { found };
        let vectors = Arc::new(Vectors::new(directory.revision, model, directory, found));
        let mut cached = self.lock();
        if cached.len() >= MAX_CACHED {
            cached.clear();
        }
        cached.insert(assistant.to_owned(), Arc::clone(&vectors));
        Ok(vectors)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Vectors>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
