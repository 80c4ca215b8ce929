//! The chunks of knowledge bases without their texts, cached by revision.

use std::sync::Arc;

use convengine_settings::SearchMemory;
use convengine_storage::Pool;
use convengine_storage::assistant::knowledge::{DirectoryRow, load_directory};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::keyword::OccurrenceCache;

/// The number of knowledge bases that the cache expects.
const EXPECTED_BASES: usize = 64;

/// The searchable chunks of a knowledge base.
#[derive(Debug, Default)]
pub struct Directory {
    /// The number of the knowledge base.
    pub base: i64,
    /// The revision; 0 if there is no knowledge base.
    pub revision: i64,
    /// The searchable sources.
    pub sources: Vec<DirectorySource>,
    /// Where each chunk is, by its database id.
    places: Vec<(i64, ChunkPlace)>,
}

/// A searchable source.
#[derive(Debug)]
pub struct DirectorySource {
    /// Its id.
    pub id: String,
    /// The locale of its terms.
    pub locale: String,
    /// The model whose vectors all its chunks have.
    pub embedding_model: Option<String>,
    /// The database id and the length of each chunk.
    pub chunks: Vec<(i64, u32)>,
}

/// The place of a chunk in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkPlace {
    /// The index of its source.
    pub source: usize,
    /// The index among the chunks of the source.
    pub chunk: usize,
}

impl Directory {
    fn from_rows(rows: Vec<DirectoryRow>) -> Directory {
        let first = rows.first();
        let mut directory =
            Directory { base: first.map_or(0, |it| it.base), revision: first.map_or(0, |it| it.revision), ..Directory::default() };
        for row in rows {
            let Some(id) = row.source else { continue };
            let source = directory.sources.len();
            let places = row.chunks.iter().enumerate().map(|(chunk, it)| (it.0, ChunkPlace { source, chunk }));
            directory.places.extend(places);
            directory.sources.push(DirectorySource { id, locale: row.locale, embedding_model: row.embedding_model, chunks: row.chunks });
        }
        directory.places.sort_unstable_by_key(|it| it.0);
        directory
    }

    /// Returns the position of a chunk among all chunks of the directory by its database id.
    pub fn position(&self, id: i64) -> Option<usize> {
        self.places.binary_search_by_key(&id, |it| it.0).ok()
    }

    /// Returns the place of the chunk at a position.
    pub fn place(&self, position: usize) -> Option<ChunkPlace> {
        self.places.get(position).map(|it| it.1)
    }

    /// Returns the length of the chunk at a position in terms; 0 if there is none.
    pub fn chunk_length(&self, position: usize) -> u32 {
        let chunk = self.place(position).and_then(|place| self.sources.get(place.source)?.chunks.get(place.chunk));
        chunk.map_or(0, |it| it.1)
    }

    /// Returns the name of the chunk at a position, `{source}#{n}`.
    pub fn name(&self, position: usize) -> Option<String> {
        let place = self.place(position)?;
        Some(format!("{}#{}", self.sources.get(place.source)?.id, place.chunk + 1))
    }

    /// Returns whether a searched source has vectors of `model`.
    pub fn has_vectors(&self, model: &str, is_searched: &[bool]) -> bool {
        let searched = self.sources.iter().zip(is_searched).filter(|it| *it.1);
        searched.map(|it| it.0).any(|source| source.embedding_model.as_deref() == Some(model) && !source.chunks.is_empty())
    }

    /// The number of chunks.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are no chunks.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the database id of a chunk by its name, `{source}#{n}`.
    pub fn chunk_id(&self, name: &str) -> Option<i64> {
        let (source, number) = name.rsplit_once('#')?;
        let index = number.parse::<usize>().ok()?.checked_sub(1)?;
        self.sources.iter().find(|it| it.id == source)?.chunks.get(index).map(|it| it.0)
    }
}

#[derive(Debug, Clone, Copy)]
struct DirectoryWeighter;

impl Weighter<String, Arc<Directory>> for DirectoryWeighter {
    fn weight(&self, assistant: &String, directory: &Arc<Directory>) -> u64 {
        let names: usize =
            directory.sources.iter().map(|source| size_of::<DirectorySource>() + source.id.len() + source.locale.len()).sum();
        let chunks = directory.len() * (size_of::<(i64, ChunkPlace)>() + size_of::<(i64, u32)>());
        (assistant.len() + size_of::<Directory>() + names + chunks) as u64
    }
}

/// The directories of recently searched knowledge bases, and where recently searched terms occur in them.
#[derive(Debug)]
pub struct DirectoryCache {
    directories: Cache<String, Arc<Directory>, DirectoryWeighter>,
    /// Where terms occur.
    pub occurrences: OccurrenceCache,
}

impl DirectoryCache {
    /// Creates a cache of bounded size.
    pub fn new(memory: SearchMemory) -> DirectoryCache {
        DirectoryCache {
            directories: Cache::with_weighter(EXPECTED_BASES, memory.directories(), DirectoryWeighter),
            occurrences: OccurrenceCache::new(memory.occurrences()),
        }
    }

    /// Returns the directory of an assistant; it may be outdated. It is read once, however many wait for it.
    pub async fn get(&self, pool: &Pool, assistant: &str) -> sqlx::Result<Arc<Directory>> {
        let load = async { load_directory(pool, assistant).await.map(|rows| Arc::new(Directory::from_rows(rows))) };
        self.directories.get_or_insert_async(assistant, load).await
    }

    /// Returns a later directory of an assistant than one that has proved to be outdated.
    pub async fn get_later(&self, pool: &Pool, assistant: &str, outdated: &Arc<Directory>) -> sqlx::Result<Arc<Directory>> {
        self.directories.remove_if(assistant, |it| Arc::ptr_eq(it, outdated));
        self.get(pool, assistant).await
    }
}

impl Default for DirectoryCache {
    fn default() -> DirectoryCache {
        DirectoryCache::new(SearchMemory::default())
    }
}

#[cfg(test)]
mod tests {
    use convengine_storage::testing::each_database;
    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn a_directory_is_read_once_for_all_who_ask_and_again_when_it_is_outdated() {
        for database in each_database().await {
            let cache = DirectoryCache::default();
            let asked = join_all((0..20).map(|_| cache.get(&database.pool, "desk"))).await;
            let found: Vec<Arc<Directory>> = asked.into_iter().map(|it| it.expect("a directory")).collect();
            assert!(found.iter().all(|it| Arc::ptr_eq(it, &found[0])), "one copy");
            let later = cache.get_later(&database.pool, "desk", &found[0]).await.expect("a directory");
            assert!(!Arc::ptr_eq(&later, &found[0]));
            let again = cache.get_later(&database.pool, "desk", &found[0]).await.expect("a directory");
            assert!(Arc::ptr_eq(&again, &later), "another one has read it already");
        }
    }

    #[test]
    fn a_full_cache_evicts_some_directories_and_keeps_the_rest() {
        let cache = DirectoryCache::new(SearchMemory::from_mebibytes(16));
        let places = vec![(0, ChunkPlace { source: 0, chunk: 0 }); 1_000];
        for number in 0..200 {
            let directory = Directory { revision: number, places: places.clone(), ..Directory::default() };
            cache.directories.insert(format!("desk-{number}"), Arc::new(directory));
        }
        assert!(cache.directories.weight() <= 2 << 20 && cache.directories.len() > 20, "{:?}", cache.directories);
    }
}
