//! The vectors of knowledge bases in memory, cached by revision, and exact search in them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convengine_core::knowledge::rank_vector;
use convengine_core::turn::{KNOWLEDGE_LIST_DEPTH, VectorHit};

use super::directory::Directory;
use crate::storage::Pool;
use crate::storage::assistant::knowledge::vector::{self, ChunkVector};

/// The largest number of chunks that are searched by vectors.
pub const MAX_VECTORS: i64 = 50_000;

/// The number of knowledge bases in the cache.
const MAX_CACHED: usize = 8;

/// How many candidates the approximate scores select for the exact ones.
const CANDIDATES: usize = 4 * KNOWLEDGE_LIST_DEPTH;

/// The vectors of a knowledge base.
#[derive(Debug)]
pub struct Vectors {
    revision: i64,
    model: String,
    /// By the positions of the chunks in the directory, with the reciprocals of their lengths.
    entries: Vec<(usize, f32, Vec<f32>)>,
}

impl Vectors {
    fn new(revision: i64, model: &str, directory: &Directory, vectors: Vec<ChunkVector>) -> Vectors {
        let entry = |it: ChunkVector| {
            let length = it.vector.iter().map(|it| it * it).sum::<f32>().sqrt();
            Some((directory.position(it.chunk)?, if length > 0.0 { length.recip() } else { 0.0 }, it.vector))
        };
        Vectors { revision, model: model.to_owned(), entries: vectors.into_iter().filter_map(entry).collect() }
    }

    /// Whether a searched chunk has a vector.
    pub fn is_useful(&self, directory: &Directory, is_searched: &[bool]) -> bool {
        self.entries.iter().any(|it| is_covered(directory, is_searched, it.0))
    }

    /// Returns the chunks nearest to a query. The core computes the scores of the candidates, so that all hosts agree.
    pub fn search(&self, directory: &Directory, is_searched: &[bool], query: &[f32]) -> Vec<VectorHit> {
        let covered = self.entries.iter().filter(|it| is_covered(directory, is_searched, it.0));
        let mut scored: Vec<(f32, usize, &[f32])> =
            covered.map(|(position, recip, vector)| (dot(query, vector) * recip, *position, vector.as_slice())).collect();
        if scored.len() > CANDIDATES {
            scored.select_nth_unstable_by(CANDIDATES, |left, right| right.0.total_cmp(&left.0));
            scored.truncate(CANDIDATES);
        }
        let named: Vec<(String, &[f32])> = scored.iter().filter_map(|it| Some((directory.name(it.1)?, it.2))).collect();
        let pairs = named.iter().map(|it| (it.0.as_str(), it.1));
        rank_vector(query, pairs, KNOWLEDGE_LIST_DEPTH).into_iter().map(|(chunk, score)| VectorHit { chunk, score }).collect()
    }
}

fn is_covered(directory: &Directory, is_searched: &[bool], position: usize) -> bool {
    directory.place(position).is_some_and(|it| is_searched.get(it.source) == Some(&true))
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
    ///
    /// # Errors
    /// Returns any database error.
    pub async fn get(&self, pool: &Pool, assistant: &str, model: &str, directory: &Directory) -> sqlx::Result<Arc<Vectors>> {
        let cached = self.lock().get(assistant).cloned();
        if let Some(vectors) = cached.filter(|it| it.revision == directory.revision && it.model == model) {
            return Ok(vectors);
        }
        let found = vector::load(pool, assistant, model, MAX_VECTORS + 1).await?;
        let is_too_large = i64::try_from(found.len()).is_ok_and(|it| it > MAX_VECTORS);
        if is_too_large {
            tracing::warn!(assistant, "more than {MAX_VECTORS} chunks: the knowledge base is searched by keywords alone");
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
