//! `GET …/knowledge/search`: shows both lists with their scores. (docs/spec/flows-http.md#3)

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use convengine_access::api_error::ApiError;
use convengine_content::knowledge::effect;
use convengine_core::knowledge::rank_keyword;
use convengine_core::turn::{KNOWLEDGE_LIST_DEPTH, KnowledgeReply, KnowledgeRequest, Passage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::require_document;
use crate::api::assistant::kind_routes::DocumentPath;
use crate::api::host::Host;
use crate::api::query::QueryParams;

const DEFAULT_TOP_K: u32 = 10;
const MAX_QUERY_CHARS: usize = 4_000;

/// The query parameters.
#[derive(Debug, Deserialize)]
pub struct SearchParams {
    q: Option<String>,
    top_k: Option<String>,
    sources: Option<String>,
    vector_weight: Option<String>,
}

/// Searches a knowledge base and shows both lists with their scores.
#[utoipa::path(
    get,
    path = "/v1/{documents}/{document}/knowledge/search",
    tag = "documents",
    params(
        ("q" = String, Query, description = "The question"),
        ("top_k" = Option<u32>, Query, minimum = 1, maximum = 50, description = "The length of each list, 1 to 50; default 10"),
        ("sources" = Option<String>, Query, description = "The ids of the sources to search, separated by commas; default all"),
        ("vector_weight" = Option<f64>, Query, minimum = 0, maximum = 1, description = "The weight of the vector list, 0 to 1; default 0.5"),
    ),
    responses(
        (status = 200, description = "The lists, best first", body = ref("#/components/schemas/KnowledgeSearch")),
        (status = 400, description = "A parameter is invalid"),
        (status = 404, description = "Document not found"),
    ),
)]
pub async fn search(
    State(host): State<Arc<Host>>,
    path: DocumentPath,
    QueryParams(params): QueryParams<SearchParams>,
) -> Result<Json<Value>, ApiError> {
    let key = require_document(&host.content, &path).await?;
    let request =
        params.into_request(key.as_str().to_owned()).map_err(|reason| ApiError::bad_request(reason).with_code("invalid_search"))?;
    let reply = effect::search_lists(&host.content, &request).await?;
    Ok(Json(describe(&request, &reply)))
}

impl SearchParams {
    fn into_request(self, assistant: String) -> Result<KnowledgeRequest, String> {
        let query = self.q.filter(|query| query.chars().count() <= MAX_QUERY_CHARS);
        let query = query.ok_or_else(|| format!("q is missing or too long; send at most {MAX_QUERY_CHARS} characters"))?;
        let top_k = match self.top_k {
            None => Some(DEFAULT_TOP_K),
            Some(it) => it.parse().ok().filter(|it| (1..=50).contains(it)),
        };
        let weight = match self.vector_weight {
            None => Some(0.5),
            Some(it) => it.parse().ok().filter(|it| (0.0..=1.0).contains(it)),
        };
        let sources = self.sources.map(|list| list.split(',').map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect());
        Ok(KnowledgeRequest {
            assistant,
            program: None,
            sources: sources.filter(|it: &Vec<String>| !it.is_empty()),
            query,
            top_k: top_k.ok_or("invalid top_k; send a number from 1 to 50")?,
            vector_weight: weight.ok_or("invalid vector_weight; send a number from 0 to 1")?,
        })
    }
}

/// The JSON form of the lists; `reply` has the passages of all chunks.
pub fn describe(request: &KnowledgeRequest, reply: &KnowledgeReply) -> Value {
    let most = usize::try_from(request.top_k).unwrap_or(usize::MAX);
    let keyword = rank_keyword(&reply.stats, &reply.keyword, KNOWLEDGE_LIST_DEPTH);
    let keyword: Vec<Value> = keyword.iter().take(most).map(|it| hit(reply, &it.0, it.1)).collect();
    let vector: Vec<Value> = reply.vector.iter().take(most).map(|it| hit(reply, &it.chunk, it.score)).collect();
    let fused = reply.fuse(request.vector_weight);
    let with_conf = fused.iter().take(most).map(|scored| {
        let mut hit = hit(reply, &scored.chunk, scored.rrf);
        if let Value::Object(members) = &mut hit {
            members.insert("conf".to_owned(), json!(round(scored.conf)));
        }
        hit
    });
    let lists: Vec<&str> =
        [("keyword", !reply.keyword.is_empty()), ("vector", !reply.vector.is_empty())].iter().filter(|it| it.1).map(|it| it.0).collect();
    json!({
        "query": request.query,
        "conf": round(fused.first().map_or(0.0, |it| it.conf)),
        "keyword": keyword,
        "vector": vector,
        "fused": with_conf.collect::<Vec<_>>(),
        "lists": lists,
    })
}

fn hit(reply: &KnowledgeReply, chunk: &str, score: f64) -> Value {
    let passage = reply.passages.iter().find(|it| it.chunk == chunk);
    let of = |get: fn(&Passage) -> &str| passage.map(get);
    json!({
        "source_id": of(|it| &it.source),
        "chunk_id": chunk,
        "title": of(|it| &it.title),
        "url": passage.and_then(|it| it.url.as_deref()),
        "score": round(score),
        "text": of(|it| &it.text),
    })
}

/// Rounds to 6 decimals.
fn round(score: f64) -> f64 {
    (score * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_checked() {
        let params = |q: Option<&str>, top_k: Option<&str>, sources: Option<&str>| {
            let own = |it: Option<&str>| it.map(str::to_owned);
            SearchParams { q: own(q), top_k: own(top_k), sources: own(sources), vector_weight: None }.into_request("desk".to_owned())
        };
        let request = params(Some("fees"), None, Some(" a, b,")).expect("a request");
        assert_eq!((request.top_k, request.sources), (10, Some(vec!["a".to_owned(), "b".to_owned()])));
        assert_eq!(params(Some(""), Some("50"), Some("")).expect("a request").sources, None);
        for (q, top_k) in [(None, None), (Some("x"), Some("0")), (Some("x"), Some("51")), (Some("x"), Some("-1")), (Some("x"), Some("a"))] {
            assert!(params(q, top_k, None).is_err(), "{q:?} {top_k:?}");
        }
    }

    #[test]
    fn scores_have_six_decimals() {
        assert_eq!((round(0.123_456_78), round(2.0 / 3.0), round(1.0)), (0.123_457, 0.666_667, 1.0));
    }
}
