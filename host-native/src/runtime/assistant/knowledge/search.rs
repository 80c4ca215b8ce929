//! Searches a knowledge base. (docs/spec/flows.md#4.12)

use std::sync::Arc;
use std::time::Duration;

use convengine_core::knowledge::{embedding_text, query_terms, rank_vector};
use convengine_core::turn::{KNOWLEDGE_LIST_DEPTH, KnowledgeReply, KnowledgeRequest, Passage, VectorHit};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::directory::{Directory, DirectoryCache};
use super::embedding::embed;
use super::keyword::{self, Occurrences, locate};
use super::vectors::{VectorCache, VectorQuery};
use crate::effects::llm::Models;
use crate::runtime::turn_runner::Host;
use crate::storage::Pool;
use crate::storage::assistant::knowledge::vector::VectorSearch;
use crate::storage::assistant::knowledge::{Posting, chunk, find_postings};

/// How often a search starts again because a source has changed meanwhile.
const MAX_ATTEMPTS: u32 = 8;

/// The database, the caches and the models of searches.
#[derive(Debug, Clone, Copy)]
pub struct Searcher<'a> {
    pool: &'a Pool,
    directories: &'a DirectoryCache,
    embedder: Option<Embedder<'a>>,
}

/// How a query is embedded.
#[derive(Debug, Clone, Copy)]
struct Embedder<'a> {
    models: &'a Models,
    place: VectorSearch,
    vectors: &'a VectorCache,
    deadline: Instant,
}

/// The vector of a query once it is embedded; `None` if the model does not answer.
type QueryVector = OnceCell<Option<Vec<f32>>>;

impl<'a> Searcher<'a> {
    /// Creates a searcher by keywords and, if there is a model for embeddings, by vectors.
    pub fn new(host: &'a Host, deadline: Instant) -> Searcher<'a> {
        let knowledge = &host.knowledge;
        let embedder = Embedder { models: &host.models, place: knowledge.vector_search, vectors: &knowledge.vectors, deadline };
        Searcher { pool: &host.readers, directories: &knowledge.directories, embedder: Some(embedder) }
    }

    /// Creates a searcher by keywords.
    pub fn by_keyword(pool: &'a Pool, directories: &'a DirectoryCache) -> Searcher<'a> {
        Searcher { pool, directories, embedder: None }
    }

    /// Executes a search: lists and passages belong to one revision of the knowledge base.
    ///
    /// # Errors
    /// Returns any database error.
    pub async fn search(&self, request: &KnowledgeRequest) -> sqlx::Result<KnowledgeReply> {
        self.search_passages(request, |reply| reply.chunks_to_read(request)).await
    }

    /// Executes a search; `names` selects the chunks whose passages are added.
    ///
    /// # Errors
    /// Returns any database error.
    pub async fn search_passages(
        &self,
        request: &KnowledgeRequest,
        names: impl Fn(&KnowledgeReply) -> Vec<String>,
    ) -> sqlx::Result<KnowledgeReply> {
        let vector = QueryVector::new();
        for _ in 0..MAX_ATTEMPTS {
            let directory = self.directories.get(self.pool, &request.assistant).await?;
            let Some(mut reply) = self.search_lists(request, &directory, &vector).await? else {
                self.directories.reload(self.pool, &request.assistant).await?;
                continue;
            };
            let wanted = names(&reply);
            let Some(passages) = self.read_passages(&directory, &wanted).await? else {
                self.directories.reload(self.pool, &request.assistant).await?;
                continue;
            };
            reply.passages = passages;
            return Ok(reply);
        }
        Err(sqlx::Error::Protocol("the knowledge base changes too often to be searched".to_owned()))
    }

    /// Returns the lists, or `None` if the directory is outdated.
    async fn search_lists(
        &self,
        request: &KnowledgeRequest,
        directory: &Arc<Directory>,
        vector: &QueryVector,
    ) -> sqlx::Result<Option<KnowledgeReply>> {
        let is_searched = searched_sources(directory, request.sources.as_deref());
        let terms = query_terms(&request.query, &locales(directory, &is_searched));
        let Some(occurrences) = self.find_occurrences(&request.assistant, directory, &terms).await? else { return Ok(None) };
        let (stats, keyword) = keyword::select(directory, &is_searched, &occurrences);
        let Some(vector) = self.search_vectors(request, directory, &is_searched, vector).await? else { return Ok(None) };
        Ok(Some(KnowledgeReply { stats, keyword, vector, passages: Vec::new() }))
    }

    /// Returns where each term occurs, or `None` if the directory is outdated. Reads terms that are not cached, and always the revision.
    async fn find_occurrences(&self, assistant: &str, directory: &Directory, terms: &[String]) -> sqlx::Result<Option<Vec<Occurrences>>> {
        let cached: Vec<Option<Occurrences>> = terms.iter().map(|it| directory.occurrences.get(it)).collect();
        let missing: Vec<String> = terms.iter().zip(&cached).filter(|it| it.1.is_none()).map(|it| it.0.clone()).collect();
        let (revision, postings) = find_postings(self.pool, assistant, directory.base, &missing).await?;
        if revision != directory.revision {
            return Ok(None);
        }
        let mut read: Vec<Occurrences> = vec![Occurrences::default(); missing.len()];
        for Posting { term, counts } in &postings {
            if let Some(occurrences) = read.get_mut(*term) {
                *occurrences = locate(directory, counts);
            }
        }
        missing.iter().zip(&read).for_each(|(term, it)| directory.occurrences.insert(term, it));
        let mut read = read.into_iter();
        Ok(Some(cached.into_iter().map(|it| it.or_else(|| read.next()).unwrap_or_default()).collect()))
    }

    /// Returns the nearest chunks, none without embeddings, or `None` if the directory is outdated. Without an answer of the model, the
    /// keyword list is enough.
    async fn search_vectors(
        &self,
        request: &KnowledgeRequest,
        directory: &Directory,
        is_searched: &[bool],
        vector: &QueryVector,
    ) -> sqlx::Result<Option<Vec<VectorHit>>> {
        let Some(embedder) = self.embedder else { return Ok(Some(Vec::new())) };
        if embedder.models.is_embedding_scripted() {
            return self.search_scripted_vectors(embedder, request, directory, is_searched).await;
        }
        let Some(model) = embedder.models.embedding_model() else { return Ok(Some(Vec::new())) };
        if !directory.has_vectors(&model, is_searched) {
            return Ok(Some(Vec::new()));
        }
        let vector = vector.get_or_init(|| embedder.embed_query(request)).await;
        let Some(vector) = vector.as_deref() else { return Ok(Some(Vec::new())) };
        let (assistant, sources) = (request.assistant.as_str(), request.sources.as_deref());
        let query = VectorQuery { pool: self.pool, assistant, model: &model, sources, directory, is_searched, vector };
        query.find_nearest(embedder.place, embedder.vectors).await
    }

    /// Embeds query and chunks with the rules of a script, as the player of packs does.
    async fn search_scripted_vectors(
        &self,
        embedder: Embedder<'_>,
        request: &KnowledgeRequest,
        directory: &Directory,
        is_searched: &[bool],
    ) -> sqlx::Result<Option<Vec<VectorHit>>> {
        let searched = directory.sources.iter().zip(is_searched).filter(|it| *it.1);
        let mut sources: Vec<_> = searched.map(|it| it.0).collect();
        sources.sort_unstable_by(|left, right| left.id.cmp(&right.id));
        let names: Vec<String> = sources.iter().flat_map(|it| (1..=it.chunks.len()).map(|n| format!("{}#{n}", it.id))).collect();
        let Some(passages) = self.read_passages(directory, &names).await? else { return Ok(None) };
        if passages.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let texts = std::iter::once(request.query.clone()).chain(passages.iter().map(|it| embedding_text(&it.title, &it.text)));
        let Ok(vectors) = embed(embedder.models, texts.collect(), embedder.deadline).await else { return Ok(Some(Vec::new())) };
        let Some((query, vectors)) = vectors.split_first() else { return Ok(Some(Vec::new())) };
        let pairs = names.iter().zip(vectors).map(|(name, it)| (name.as_str(), it.as_slice()));
        let ranked = rank_vector(query, pairs, KNOWLEDGE_LIST_DEPTH);
        Ok(Some(ranked.into_iter().map(|(chunk, score)| VectorHit { chunk, score }).collect()))
    }

    /// Returns the passages of chunks in order, or `None` if one is gone.
    async fn read_passages(&self, directory: &Directory, names: &[String]) -> sqlx::Result<Option<Vec<Passage>>> {
        if names.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let ids: Vec<i64> = names.iter().filter_map(|it| directory.chunk_id(it)).collect();
        let found = chunk::find_passages(self.pool, &ids).await?;
        Ok(names.iter().map(|name| found.iter().find(|it| it.chunk == *name).cloned()).collect())
    }
}

impl Embedder<'_> {
    /// Returns the vector of a query, or `None` if the model does not answer.
    async fn embed_query(&self, request: &KnowledgeRequest) -> Option<Vec<f32>> {
        // Some of the deadline is left for the rest of the search.
        let deadline = self.deadline.checked_sub(Duration::from_secs(5)).unwrap_or(self.deadline);
        match embed(self.models, vec![request.query.clone()], deadline).await {
            Ok(vectors) => vectors.into_iter().next(),
            Err(error) => {
                tracing::warn!(%error, assistant = request.assistant, "cannot embed a query; the knowledge base is searched by keywords alone");
                None
            }
        }
    }
}

/// For each source of a directory, whether a search covers it.
fn searched_sources(directory: &Directory, sources: Option<&[String]>) -> Vec<bool> {
    directory.sources.iter().map(|it| sources.is_none_or(|ids| ids.contains(&it.id))).collect()
}

fn locales<'d>(directory: &'d Directory, is_searched: &[bool]) -> Vec<&'d str> {
    let searched = directory.sources.iter().zip(is_searched).filter(|it| *it.1);
    let mut locales: Vec<&str> = searched.map(|it| it.0.locale.as_str()).collect();
    locales.sort_unstable();
    locales.dedup();
    locales
}
