//! Searches the knowledge bases of assistants. (docs/spec/flows.md#4.12)

use std::time::Duration;

use convengine_core::config::Config;
use convengine_core::knowledge::rank_keyword;
use convengine_core::turn::{EffectError, EffectErrorKind, EffectResult, KNOWLEDGE_LIST_DEPTH, KnowledgeReply, KnowledgeRequest, Reply};
use convengine_storage::assistant::{DocumentKind, ProgramKey};
use tokio::time::Instant;

use crate::Content;
use crate::knowledge::embedding::Payer;
use crate::knowledge::search::Searcher;

/// The longest search outside of a turn, with the embedding of its query.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(15);

/// Executes a search.
pub async fn execute(content: &Content, config: &Config, request: &KnowledgeRequest, deadline: Instant) -> EffectResult {
    let kind = request.program.as_deref().and_then(DocumentKind::from_name).unwrap_or(DocumentKind::Assistant);
    let base = ProgramKey::new(kind, &request.assistant).as_str().to_owned();
    match Searcher::new(content, Payer::Turn(config), deadline).search(&KnowledgeRequest { assistant: base, ..request.clone() }).await {
        Ok(reply) => EffectResult::Ok(Reply::Knowledge(Box::new(reply))),
        Err(error) => {
            tracing::error!(%error, "cannot search a knowledge base");
            EffectResult::Error(EffectError::new(EffectErrorKind::Unavailable, "the knowledge base cannot be read"))
        }
    }
}

/// Searches, and reads the passages of both lists instead of those of the best chunks.
pub async fn search_lists(content: &Content, request: &KnowledgeRequest) -> sqlx::Result<KnowledgeReply> {
    let key = ProgramKey::parse(&request.assistant);
    let searcher = Searcher::new(content, Payer::Document(&key), Instant::now() + SEARCH_TIMEOUT);
    searcher.search_passages(request, |reply| listed_chunks(request, reply)).await
}

fn listed_chunks(request: &KnowledgeRequest, reply: &KnowledgeReply) -> Vec<String> {
    let most = usize::try_from(request.top_k).unwrap_or(usize::MAX);
    let keyword = rank_keyword(&reply.stats, &reply.keyword, KNOWLEDGE_LIST_DEPTH).into_iter().take(most).map(|it| it.0);
    let vector = reply.vector.iter().take(most).map(|it| it.chunk.clone());
    let mut names: Vec<String> = keyword.chain(vector).chain(reply.chunks_to_read(request)).collect();
    names.sort_unstable();
    names.dedup();
    names
}
