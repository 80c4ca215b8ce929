//! The routes of workflows, workflow chains and AI agents, which differ in their paths only.

use crate::auth::routes::Routes;

/// Adds the routes of all three kinds.
pub fn add_all(routes: Routes) -> Routes {
    let routes = workflows::add(routes);
    ai_agents::add(chains::add(routes))
}

/// Defines a module with the handlers of a kind of document.
macro_rules! document_routes {
    (
        $(#[$about:meta])*
        $module:ident, $kind:ident, $schema:tt, $param:tt,
        $list:tt, $draft:tt, $validate:tt, $publish:tt, $versions:tt, $restore:tt
    ) => {
        $(#[$about])*
        pub mod $module {
            use std::sync::Arc;

            use axum::Json;
            use axum::body::Body;
            use axum::extract::rejection::PathRejection;
            use axum::extract::{Path, State};
            use axum::http::{HeaderMap, StatusCode, Uri};
            use axum::response::Response;
            use serde_json::Value;
            use utoipa_axum::routes;

            use crate::api::assistant::document;
            use crate::api::error::ApiError;
            use crate::auth::routes::Routes;
            use crate::runtime::turn_runner::Host;
            use crate::storage::assistant::DocumentKind;

            const KIND: DocumentKind = DocumentKind::$kind;

            /// Adds the routes.
            pub fn add(routes: Routes) -> Routes {
                routes
                    .add_admin(routes!(list))
                    .add_admin(routes!(read))
                    .add_admin(routes!(save))
                    .add_admin(routes!(validate))
                    .add_admin(routes!(publish))
                    .add_admin(routes!(versions))
                    .add_admin(routes!(restore))
            }

            /// Lists the documents.
            #[utoipa::path(
                get,
                path = $list,
                tag = "workflows",
                responses(
                    (status = 200, description = "The documents, ordered by id", body = ref($schema)),
                    (status = 503, description = "The database is unavailable"),
                ),
            )]
            pub async fn list(State(host): State<Arc<Host>>, uri: Uri) -> Result<Json<Value>, ApiError> {
                document::list(&host, &uri, KIND).await
            }

            /// Returns a draft as its author saved it.
            #[utoipa::path(
                get,
                path = $draft,
                tag = "workflows",
                params(($param = String, Path, description = "The id of the document")),
                responses(
                    (status = 200, description = "The document", body = ref("#/components/schemas/Draft")),
                    (status = 404, description = "Document not found"),
                    (status = 503, description = "The database is unavailable"),
                ),
            )]
            pub async fn read(State(host): State<Arc<Host>>, uri: Uri, id: Result<Path<String>, PathRejection>) -> Result<Response, ApiError> {
                let key = document::parse_key(KIND, id, &uri)?;
                document::read(&host, &uri, &key).await
            }

            /// Saves a draft. Creates the document if it does not exist.
            #[utoipa::path(
                put,
                path = $draft,
                tag = "workflows",
                params(
                    ($param = String, Path, description = "The id of the document"),
                    ("If-Match" = Option<String>, Header, description = "The ETag of the draft as it was read, or *"),
                    ("If-None-Match" = Option<String>, Header, description = "* to create only"),
                ),
                request_body = ref("#/components/schemas/Draft"),
                responses(
                    (status = 200, description = "The draft is saved; the response lists its issues", body = ref("#/components/schemas/Saved")),
                    (status = 400, description = "If-Match or If-None-Match has no supported form"),
                    (status = 404, description = "The path is invalid"),
                    (status = 408, description = "The request body timed out"),
                    (status = 412, description = "The draft is not as If-Match or If-None-Match expects"),
                    (status = 415, description = "The Content-Type is not JSON"),
                    (status = 422, description = "The body is not JSON, not such a document, or has another id"),
                    (status = 503, description = "The database is unavailable"),
                ),
            )]
            pub async fn save(
                State(host): State<Arc<Host>>,
                uri: Uri,
                id: Result<Path<String>, PathRejection>,
                headers: HeaderMap,
                body: Body,
            ) -> Result<Response, ApiError> {
                document::save(&host, &uri, KIND, id, &headers, body).await
            }

            /// Checks whether a draft can be published, without changing anything.
            #[utoipa::path(
                post,
                path = $validate,
                tag = "workflows",
                params(($param = String, Path, description = "The id of the document")),
                responses(
                    (status = 200, description = "Whether the draft can be published", body = ref("#/components/schemas/Validated")),
                    (status = 404, description = "Document not found"),
                    (status = 503, description = "The database is unavailable"),
                ),
            )]
            pub async fn validate(
                State(host): State<Arc<Host>>,
                uri: Uri,
                id: Result<Path<String>, PathRejection>,
            ) -> Result<Json<Value>, ApiError> {
                let key = document::parse_key(KIND, id, &uri)?;
                document::validate(&host, &uri, &key).await
            }

            /// Publishes a draft as the live version.
            #[utoipa::path(
                post,
                path = $publish,
                tag = "workflows",
                params(
                    ($param = String, Path, description = "The id of the document"),
                    ("If-Match" = Option<String>, Header, description = "The ETag of the draft as it was read, or *"),
                ),
                responses(
                    (status = 201, description = "The draft is published", body = ref("#/components/schemas/Published")),
                    (status = 400, description = "If-Match has no supported form"),
                    (status = 404, description = "Document not found"),
                    (status = 409, description = "The draft was changed concurrently"),
                    (status = 412, description = "The draft is not as If-Match expects"),
                    (status = 422, description = "The draft has errors; the live version is unchanged"),
                    (status = 503, description = "The database is unavailable"),
                ),
            )]
            pub async fn publish(
                State(host): State<Arc<Host>>,
                uri: Uri,
                id: Result<Path<String>, PathRejection>,
                headers: HeaderMap,
            ) -> Result<(StatusCode, Json<Value>), ApiError> {
                let key = document::parse_key(KIND, id, &uri)?;
                document::publish(&host, &uri, &key, &headers).await
            }

            /// Lists the versions of a document, newest first.
            #[utoipa::path(
                get,
                path = $versions,
                tag = "workflows",
                params(($param = String, Path, description = "The id of the document")),
                responses(
                    (status = 200, description = "The versions and which one is live", body = ref("#/components/schemas/Versions")),
                    (status = 404, description = "Document not found"),
                    (status = 503, description = "The database is unavailable"),
                ),
            )]
            pub async fn versions(
                State(host): State<Arc<Host>>,
                uri: Uri,
                id: Result<Path<String>, PathRejection>,
            ) -> Result<Json<Value>, ApiError> {
                let key = document::parse_key(KIND, id, &uri)?;
                document::versions(&host, &uri, &key).await
            }

            /// Restores a version as the draft.
            #[utoipa::path(
                post,
                path = $restore,
                tag = "workflows",
                params(
                    ($param = String, Path, description = "The id of the document"),
                    ("version" = String, Path, description = "The version number"),
                    ("If-Match" = Option<String>, Header, description = "The ETag of the draft as it was read, or *"),
                ),
                responses(
                    (status = 200, description = "The version is restored as a new revision of the draft", body = ref("#/components/schemas/Restored")),
                    (status = 400, description = "If-Match has no supported form"),
                    (status = 404, description = "Document or version not found"),
                    (status = 412, description = "The draft is not as If-Match expects"),
                    (status = 503, description = "The database is unavailable"),
                ),
            )]
            pub async fn restore(
                State(host): State<Arc<Host>>,
                uri: Uri,
                path: Result<Path<(String, String)>, PathRejection>,
                headers: HeaderMap,
            ) -> Result<Json<Value>, ApiError> {
                document::restore(&host, &uri, KIND, path, &headers).await
            }
        }
    };
}

document_routes!(
    /// `/v1/workflows`: workflow graphs.
    workflows, Workflow, "#/components/schemas/Workflows", "workflow",
    "/v1/workflows", "/v1/workflows/{workflow}/draft", "/v1/workflows/{workflow}/validate-publish", "/v1/workflows/{workflow}/publish",
    "/v1/workflows/{workflow}/versions", "/v1/workflows/{workflow}/versions/{version}/restore"
);

document_routes!(
    /// `/v1/workflow-chains`: workflow chains.
    chains, Chain, "#/components/schemas/Chains", "chain",
    "/v1/workflow-chains", "/v1/workflow-chains/{chain}/draft", "/v1/workflow-chains/{chain}/validate-publish",
    "/v1/workflow-chains/{chain}/publish", "/v1/workflow-chains/{chain}/versions", "/v1/workflow-chains/{chain}/versions/{version}/restore"
);

document_routes!(
    /// `/v1/ai-agents`: AI agents.
    ai_agents, Agent, "#/components/schemas/AiAgents", "ai_agent",
    "/v1/ai-agents", "/v1/ai-agents/{ai_agent}/draft", "/v1/ai-agents/{ai_agent}/validate-publish", "/v1/ai-agents/{ai_agent}/publish",
    "/v1/ai-agents/{ai_agent}/versions", "/v1/ai-agents/{ai_agent}/versions/{version}/restore"
);
