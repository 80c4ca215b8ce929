//! `…/knowledge` of workflows and AI agents, which differ in their paths only. (docs/spec/workflows-http.md#2)

use crate::auth::routes::Routes;

/// Adds the routes of both kinds.
pub fn add_all(routes: Routes) -> Routes {
    ai_agents::add(workflows::add(routes))
}

/// Defines a module with the handlers of the knowledge bases of a kind of document.
macro_rules! knowledge_routes {
    (
        $(#[$about:meta])*
        $module:ident, $kind:ident, $param:tt, $sources:tt, $search:tt, $source:tt
    ) => {
        $(#[$about])*
        mod $module {
            use std::sync::Arc;

            use axum::Json;
            use axum::body::Body;
            use axum::extract::rejection::PathRejection;
            use axum::extract::{Path, State};
            use axum::http::{HeaderMap, StatusCode, Uri};
            use serde_json::Value;
            use utoipa_axum::routes;

            use super::super::search::{SearchParams, search_base};
            use super::super::{delete_source, document, list_sources, new_source, parse_path, put_source, read_source};
            use crate::api::error::ApiError;
            use crate::api::query::QueryParams;
            use crate::auth::routes::Routes;
            use crate::runtime::turn_runner::Host;
            use crate::storage::assistant::DocumentKind;

            /// Adds the routes.
            pub fn add(routes: Routes) -> Routes {
                routes
                    .add_admin(routes!(put))
                    .add_admin(routes!(list))
                    .add_admin(routes!(search))
                    .add_admin(routes!(read))
                    .add_admin(routes!(delete))
            }

            const KIND: DocumentKind = DocumentKind::$kind;

            /// Stores a source of a knowledge base and replaces an existing one with the same id.
            #[utoipa::path(
                post,
                path = $sources,
                tag = "workflows",
                params(($param = String, Path, description = "The id of the document")),
                request_body = ref("#/components/schemas/NewKnowledgeSource"),
                responses(
                    (status = 201, description = "The source is stored and searchable", body = ref("#/components/schemas/KnowledgeSource")),
                    (status = 202, description = "The source is stored and will be indexed", body = ref("#/components/schemas/KnowledgeSource")),
                    (status = 400, description = "The body is not valid JSON"),
                    (status = 404, description = "Document not found"),
                    (status = 408, description = "The request body timed out"),
                    (status = 413, description = "The request body or its text is too large"),
                    (status = 415, description = "The Content-Type is not supported"),
                    (status = 422, description = "A member of the body is invalid, or its text cannot be read"),
                    (status = 503, description = "The database is unavailable"),
                ),
            )]
            pub async fn put(
                State(host): State<Arc<Host>>,
                uri: Uri,
                id: Result<Path<String>, PathRejection>,
                headers: HeaderMap,
                body: Body,
            ) -> Result<(StatusCode, Json<Value>), ApiError> {
                let received = new_source::read(&uri, &headers, body).await;
                put_source(&host, &uri, &document::parse_key(KIND, id, &uri)?, received).await
            }

            /// Lists the sources of a knowledge base.
            #[utoipa::path(
                get,
                path = $sources,
                tag = "workflows",
                params(($param = String, Path, description = "The id of the document")),
                responses(
                    (status = 200, description = "The sources, ordered by id", body = ref("#/components/schemas/KnowledgeSources")),
                    (status = 404, description = "Document not found"),
                    (status = 503, description = "The database is unavailable"),
                ),
            )]
            pub async fn list(State(host): State<Arc<Host>>, uri: Uri, id: Result<Path<String>, PathRejection>) -> Result<Json<Value>, ApiError> {
                list_sources(&host, &uri, &document::parse_key(KIND, id, &uri)?).await
            }

            /// Returns a source of a knowledge base.
            #[utoipa::path(
                get,
                path = $source,
                tag = "workflows",
                params(
                    ($param = String, Path, description = "The id of the document"),
                    ("source" = String, Path, description = "The source id"),
                ),
                responses(
                    (status = 200, description = "The source and the state of its indexing", body = ref("#/components/schemas/KnowledgeSource")),
                    (status = 404, description = "Document or source not found"),
                    (status = 503, description = "The database is unavailable"),
                ),
            )]
            pub async fn read(
                State(host): State<Arc<Host>>,
                uri: Uri,
                path: Result<Path<(String, String)>, PathRejection>,
            ) -> Result<Json<Value>, ApiError> {
                let (key, id) = parse_path(KIND, path, &uri)?;
                read_source(&host, &uri, &key, &id).await
            }

            /// Deletes a source of a knowledge base.
            #[utoipa::path(
                delete,
                path = $source,
                tag = "workflows",
                params(
                    ($param = String, Path, description = "The id of the document"),
                    ("source" = String, Path, description = "The source id"),
                ),
                responses(
                    (status = 204, description = "The source is deleted"),
                    (status = 404, description = "Document or source not found"),
                    (status = 503, description = "The database is unavailable"),
                ),
            )]
            pub async fn delete(
                State(host): State<Arc<Host>>,
                uri: Uri,
                path: Result<Path<(String, String)>, PathRejection>,
            ) -> Result<StatusCode, ApiError> {
                let (key, id) = parse_path(KIND, path, &uri)?;
                delete_source(&host, &uri, &key, &id).await
            }

            /// Searches a knowledge base and shows both lists with their scores.
            #[utoipa::path(
                get,
                path = $search,
                tag = "workflows",
                params(
                    ($param = String, Path, description = "The id of the document"),
                    ("q" = String, Query, description = "The question"),
                    ("top_k" = Option<u32>, Query, description = "The length of each list, 1 to 50; default 10"),
                    ("sources" = Option<String>, Query, description = "The ids of the sources to search, separated by commas; default all"),
                    ("vector_weight" = Option<f64>, Query, description = "The weight of the vector list, 0 to 1; default 0.5"),
                ),
                responses(
                    (status = 200, description = "The lists, best first", body = ref("#/components/schemas/KnowledgeSearch")),
                    (status = 400, description = "A parameter is invalid"),
                    (status = 404, description = "Document not found"),
                    (status = 503, description = "The database is unavailable"),
                ),
            )]
            pub async fn search(
                State(host): State<Arc<Host>>,
                uri: Uri,
                id: Result<Path<String>, PathRejection>,
                QueryParams(params): QueryParams<SearchParams>,
            ) -> Result<Json<Value>, ApiError> {
                search_base(&host, &uri, &document::parse_key(KIND, id, &uri)?, params).await
            }
        }
    };
}

knowledge_routes!(
    /// The sources of workflows.
    workflows,
    Workflow,
    "workflow",
    "/v1/workflows/{workflow}/knowledge",
    "/v1/workflows/{workflow}/knowledge/search",
    "/v1/workflows/{workflow}/knowledge/{source}"
);

knowledge_routes!(
    /// The sources of AI agents.
    ai_agents,
    Agent,
    "ai_agent",
    "/v1/ai-agents/{ai_agent}/knowledge",
    "/v1/ai-agents/{ai_agent}/knowledge/search",
    "/v1/ai-agents/{ai_agent}/knowledge/{source}"
);
