//! What the page asks of `convengine dev`: the files of the project, and what happens to them.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HOST, IF_MATCH, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use convengine_content::check::MAX_DOCUMENT_BYTES;
use futures_util::Stream;
use futures_util::stream::unfold;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, Sender};

use super::Change;
use super::folder::{ProjectFolder, WriteError, hash};
use crate::api::connection::body_timeout::{BodyTimedOut, is_timeout};
use crate::api::response_headers::page_policy;

/// What tells the page that it shows a project.
const MARK: &str = "<meta name=\"convengine-project\">";

/// How much is read of a text that is too large, because browsers read no answer before they have sent everything.
const MAX_READ_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone)]
struct Project {
    folder: Arc<ProjectFolder>,
    changes: Sender<Change>,
}

/// The routes: the page itself, `/dev/project`, `/dev/files/{name}` and `/dev/events`. Pages of other origins are refused.
pub fn build(folder: Arc<ProjectFolder>, changes: Sender<Change>) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/dev/project", get(list))
        .route("/dev/files/{name}", get(read).put(write))
        .route("/dev/events", get(events))
        .layer(from_fn(refuse_other_origins))
        .with_state(Project { folder, changes })
}

/// A page that is open elsewhere in the browser must not read or change the files.
async fn refuse_other_origins(request: Request, next: Next) -> Response {
    if !is_own_origin(request.headers()) {
        return (StatusCode::FORBIDDEN, "only the page of this server may use its files").into_response();
    }
    next.run(request).await
}

/// Whether a request names no origin, or that of this server.
fn is_own_origin(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return true };
    headers.get(HOST).is_some_and(|host| [b"http://", host.as_bytes()].concat() == origin.as_bytes())
}

/// The page, which then reads the project.
async fn page() -> Response {
    let Some(index) = convengine_page::read_file("index.html") else {
        return (StatusCode::NOT_FOUND, "this build has no page; build it with `cargo xtask page`").into_response();
    };
    let text = String::from_utf8_lossy(&index).replacen("<head>", &format!("<head>{MARK}"), 1);
    let mut response = ([(CONTENT_TYPE, "text/html; charset=utf-8"), (CACHE_CONTROL, "no-store")], text).into_response();
    response.headers_mut().extend(page_policy("index.html").map(|it| (CONTENT_SECURITY_POLICY, it)));
    response
}

async fn list(State(project): State<Project>) -> Response {
    let name = project.folder.path().file_name().map(|it| it.to_string_lossy().into_owned());
    match project.folder.packs() {
        Ok(files) => Json(json!({"name": name, "files": files})).into_response(),
        Err(error) => unreadable(&error),
    }
}

async fn read(State(project): State<Project>, Path(name): Path<String>) -> Response {
    match project.folder.read(&name) {
        Ok(Some(text)) => ([(ETAG, tag(&text)), (CONTENT_TYPE, "application/json".to_owned())], text).into_response(),
        Ok(None) => not_found(&name),
        Err(error) => unreadable(&error),
    }
}

async fn write(State(project): State<Project>, Path(name): Path<String>, headers: HeaderMap, body: Body) -> Response {
    let text = match read_text(body).await {
        Ok(text) => text,
        Err((status, reason)) => return (status, reason).into_response(),
    };
    let Some(expected) = headers.get(IF_MATCH).and_then(|it| it.to_str().ok()) else {
        return (StatusCode::PRECONDITION_REQUIRED, "expected If-Match with the tag of the text that was changed").into_response();
    };
    match project.folder.write(&name, &text, expected.trim_matches('"')) {
        Ok(()) => (StatusCode::NO_CONTENT, [(ETAG, tag(&text))]).into_response(),
        Err(WriteError::Conflict) => {
            (StatusCode::PRECONDITION_FAILED, format!("'{name}' was changed or removed meanwhile")).into_response()
        }
        Err(WriteError::Io(error)) => (StatusCode::INTERNAL_SERVER_ERROR, format!("cannot write '{name}': {error}")).into_response(),
    }
}

/// Reads the text of a pack, of the size that documents may have elsewhere.
async fn read_text(body: Body) -> Result<String, (StatusCode, String)> {
    let too_large = || {
        let reason = format!("the text is too large: the page saves at most {MAX_DOCUMENT_BYTES} bytes; change the file with an editor");
        (StatusCode::PAYLOAD_TOO_LARGE, reason)
    };
    match to_bytes(body, MAX_READ_BYTES).await {
        Ok(bytes) if bytes.len() > MAX_DOCUMENT_BYTES => Err(too_large()),
        Ok(bytes) => String::from_utf8(bytes.into()).map_err(|_| (StatusCode::BAD_REQUEST, "the text is not UTF-8".to_owned())),
        Err(error) if is_timeout(&error) => Err((StatusCode::REQUEST_TIMEOUT, BodyTimedOut.to_string())),
        // Who breaks off reads no answer.
        Err(_) => Err(too_large()),
    }
}

async fn events(State(project): State<Project>) -> impl IntoResponse {
    Sse::new(stream(project.changes.subscribe())).keep_alive(KeepAlive::default())
}

fn stream(receiver: Receiver<Change>) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold(receiver, async |mut receiver| match receiver.recv().await {
        Ok(Change::End) | Err(RecvError::Closed) => None,
        Ok(change) => {
            let event = Event::default().event("change").json_data(&change).unwrap_or_default();
            Some((Ok(event), receiver))
        }
        Err(RecvError::Lagged(_)) => Some((Ok(Event::default().event("missed").data("{}")), receiver)),
    })
}

fn tag(text: &str) -> String {
    format!("\"{}\"", hash(text))
}

fn not_found(name: &str) -> Response {
    (StatusCode::NOT_FOUND, format!("the project has no pack '{name}'")).into_response()
}

fn unreadable(error: &std::io::Error) -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, format!("cannot read the folder: {error}")).into_response()
}
