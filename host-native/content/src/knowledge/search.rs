//! Searches a knowledge base. (docs/spec/flows.md#4.12)

use std::sync::Arc;
use std::time::Duration;

use convengine_core::knowledge::{embedding_text, query_terms, rank_vector};
use convengine_core::turn::{EffectError, KNOWLEDGE_LIST_DEPTH, KnowledgeReply, KnowledgeRequest, Passage, VectorHit};
use convengine_storage::Pool;
use convengine_storage::assistant::knowledge::{Posting, chunk, find_postings};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::directory::{Directory, DirectoryCache};
use super::embedding::{Embeddings, Payer, embed};
use super::keyword::{self, Occurrences, locate};
use super::scan::run_scan;
use super::vectors::VectorQuery;
use crate::Content;

/// How often a search starts again because a source has changed meanwhile.
const MAX_ATTEMPTS: u32 = 8;

/// The database, the caches and the models of searches.
#[derive(Debug, Clone, Copy)]
pub struct Searcher<'a> {
    pool: &'a Pool,
    directories: &'a DirectoryCache,
    embedder: Option<Embedder<'a>>,
}

/// How a query is embedded, and at whose cost.
#[derive(Debug, Clone, Copy)]
struct Embedder<'a> {
    content: &'a Content,
    payer: Payer<'a>,
    deadline: Instant,
}

/// The embedding of a query, once a search has needed it.
type EmbeddedQuery = OnceCell<Result<Embeddings, EffectError>>;

impl<'a> Searcher<'a> {
    /// Creates a searcher by keywords and, if there is a model for embeddings, by vectors at the cost of `payer`.
    pub fn new(content: &'a Content, payer: Payer<'a>, deadline: Instant) -> Searcher<'a> {
        let embedder = Embedder { content, payer, deadline };
        Searcher { pool: &content.readers, directories: &content.knowledge.directories, embedder: Some(embedder) }
    }

    /// Creates a searcher by keywords.
    pub fn by_keyword(pool: &'a Pool, directories: &'a DirectoryCache) -> Searcher<'a> {
        Searcher { pool, directories, embedder: None }
    }

    /// Executes a search: lists and passages belong to one revision of the knowledge base.
    pub async fn search(&self, request: &KnowledgeRequest) -> sqlx::Result<KnowledgeReply> {
        self.search_passages(request, |reply| reply.chunks_to_read(request)).await
    }

    /// Executes a search; `names` selects the chunks whose passages are added.
    pub async fn search_passages(
        &self,
        request: &KnowledgeRequest,
        names: impl Fn(&KnowledgeReply) -> Vec<String>,
    ) -> sqlx::Result<KnowledgeReply> {
        let embedded = EmbeddedQuery::new();
        let mut directory = self.directories.get(self.pool, &request.assistant).await?;
        for _ in 0..MAX_ATTEMPTS {
            if let Some(mut reply) = self.search_lists(request, &directory, &embedded).await? {
                let wanted = names(&reply);
                if let Some(passages) = self.read_passages(&directory, &wanted).await? {
                    reply.passages = passages;
                    return Ok(with_usage(reply, &embedded));
                }
            }
            directory = self.directories.get_later(self.pool, &request.assistant, &directory).await?;
        }
        Err(sqlx::Error::Protocol("the knowledge base changes too often to be searched".to_owned()))
    }

    /// Returns the lists, or `None` if the directory is outdated.
    async fn search_lists(
        &self,
        request: &KnowledgeRequest,
        directory: &Arc<Directory>,
        embedded: &EmbeddedQuery,
    ) -> sqlx::Result<Option<KnowledgeReply>> {
        let is_searched = searched_sources(directory, request.sources.as_deref());
        let terms = query_terms(&request.query, &locales(directory, &is_searched));
        let Some(occurrences) = self.find_occurrences(&request.assistant, directory, &terms).await? else { return Ok(None) };
        let scan = (Arc::clone(directory), is_searched.clone());
        let (stats, keyword) = run_scan(move || keyword::select(&scan.0, &scan.1, &occurrences)).await?;
        let Some(vector) = self.search_vectors(request, directory, &is_searched, embedded).await? else { return Ok(None) };
        Ok(Some(KnowledgeReply { stats, keyword, vector, ..KnowledgeReply::default() }))
    }

    /// Returns where each term occurs, or `None` if the directory is outdated. Reads terms that are not cached, and always the revision.
    async fn find_occurrences(
        &self,
        assistant: &str,
        directory: &Arc<Directory>,
        terms: &[String],
    ) -> sqlx::Result<Option<Vec<Occurrences>>> {
        let occurrences = &self.directories.occurrences;
        let cached: Vec<Option<Occurrences>> = terms.iter().map(|it| occurrences.get(directory, it)).collect();
        let missing: Vec<String> = terms.iter().zip(&cached).filter(|it| it.1.is_none()).map(|it| it.0.clone()).collect();
        let (revision, postings) = find_postings(self.pool, assistant, directory.base, &missing).await?;
        if revision != directory.revision {
            return Ok(None);
        }
        let (count, within) = (missing.len(), Arc::clone(directory));
        let read = run_scan(move || locate_all(&within, count, &postings)).await?;
        missing.iter().zip(&read).for_each(|(term, it)| occurrences.insert(directory, term, it));
        let mut read = read.into_iter();
        Ok(Some(cached.into_iter().map(|found| found.or_else(|| read.next()).unwrap_or_default()).collect()))
    }

    /// Returns the nearest chunks, none without embeddings, or `None` if the directory is outdated. Without an answer of the model, the
    /// keyword list is enough.
    async fn search_vectors(
        &self,
        request: &KnowledgeRequest,
        directory: &Arc<Directory>,
        is_searched: &[bool],
        embedded: &EmbeddedQuery,
    ) -> sqlx::Result<Option<Vec<VectorHit>>> {
        let Some(embedder) = self.embedder else { return Ok(Some(Vec::new())) };
        let Embedder { content, .. } = embedder;
        if content.outbound.models.is_embedding_scripted() {
            return self.search_scripted_vectors(embedder, request, directory, is_searched).await;
        }
        let Some(model) = content.outbound.models.embedding_model() else { return Ok(Some(Vec::new())) };
        if !directory.has_vectors(&model, is_searched) {
            return Ok(Some(Vec::new()));
        }
        let Ok(embeddings) = embedded.get_or_init(|| embedder.embed_query(request)).await else { return Ok(Some(Vec::new())) };
        let Some(vector) = embeddings.vectors.first() else { return Ok(Some(Vec::new())) };
        let (assistant, sources) = (request.assistant.as_str(), request.sources.as_deref());
        let query = VectorQuery { pool: self.pool, assistant, model: &model, sources, directory, is_searched, vector };
        query.find_nearest(content.knowledge.vector_search, &content.knowledge.vectors).await
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
        let names: Vec<String> =
            sources.iter().flat_map(|source| (1..=source.chunks.len()).map(|n| format!("{}#{n}", source.id))).collect();
        let Some(passages) = self.read_passages(directory, &names).await? else { return Ok(None) };
        if passages.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let texts = std::iter::once(request.query.clone()).chain(passages.iter().map(|it| embedding_text(&it.title, &it.text)));
        let embedded = embed(embedder.content, embedder.payer, texts.collect(), embedder.deadline).await;
        let Ok(Embeddings { vectors, .. }) = embedded else { return Ok(Some(Vec::new())) };
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
    /// Embeds a query.
    async fn embed_query(&self, request: &KnowledgeRequest) -> Result<Embeddings, EffectError> {
        // Some of the deadline is left for the rest of the search.
        let deadline = self.deadline.checked_sub(Duration::from_secs(5)).unwrap_or(self.deadline);
        let embedded = embed(self.content, self.payer, vec![request.query.clone()], deadline).await;
        if let Err(error) = &embedded {
            tracing::warn!(%error, assistant = request.assistant, "cannot embed a query; the knowledge base is searched by keywords alone");
        }
        embedded
    }
}

/// Adds what the embedding of the query has used, or why there is none.
fn with_usage(reply: KnowledgeReply, embedded: &EmbeddedQuery) -> KnowledgeReply {
    match embedded.get() {
        Some(Ok(embeddings)) => KnowledgeReply { usage: embeddings.usage, ..reply },
        Some(Err(error)) => KnowledgeReply { vector_error: Some(error.message.clone()), ..reply },
        None => reply,
    }
}

/// Returns where each of `count` terms occurs.
fn locate_all(directory: &Directory, count: usize, postings: &[Posting]) -> Vec<Occurrences> {
    let mut located: Vec<Occurrences> = vec![Occurrences::default(); count];
    for Posting { term, counts } in postings {
        if let Some(occurrences) = located.get_mut(*term) {
            *occurrences = locate(directory, counts);
        }
    }
    located
}

/// For each source of a directory, whether a search covers it.
fn searched_sources(directory: &Directory, sources: Option<&[String]>) -> Vec<bool> {
    directory.sources.iter().map(|source| sources.is_none_or(|ids| ids.contains(&source.id))).collect()
}

fn locales<'d>(directory: &'d Directory, is_searched: &[bool]) -> Vec<&'d str> {
    let searched = directory.sources.iter().zip(is_searched).filter(|it| *it.1);
    let mut locales: Vec<&str> = searched.map(|it| it.0.locale.as_str()).collect();
    locales.sort_unstable();
    locales.dedup();
    locales
}
