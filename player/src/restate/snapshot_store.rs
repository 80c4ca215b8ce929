//! A store for the snapshots of a cluster, in memory: the part of the protocol of S3 that Restate uses.
//!
//! Without snapshots the logs of several nodes are never trimmed, and a node whose logs are not trimmed cannot be removed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// The time of all objects.
const MODIFIED: &str = "Thu, 01 Jan 1970 00:00:00 GMT";

/// An object with its version.
#[derive(Debug, Clone)]
struct StoredObject {
    version: u64,
    bytes: Bytes,
}

/// Objects, and uploads that are under way, by path.
#[derive(Debug, Default)]
struct Objects {
    stored: BTreeMap<String, StoredObject>,
    /// The parts of uploads by the path of the object and the number of the part.
    parts: BTreeMap<(String, u32), Bytes>,
    /// The version of the object that was stored last.
    version: u64,
}

/// Serves an empty store until the runtime ends. Returns its address.
///
/// # Errors
/// Returns an error when no loopback port can be bound.
pub(super) fn serve(runtime: &Runtime) -> Result<String> {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = format!("http://{}", listener.local_addr()?);
    let objects = Arc::new(Mutex::new(Objects::default()));
    let routes = Router::new().fallback(answer).layer(DefaultBodyLimit::disable()).with_state(objects);
    runtime.spawn(async { axum::serve(listener, routes).await });
    Ok(address)
}

async fn answer(State(objects): State<Arc<Mutex<Objects>>>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let mut objects = objects.lock().unwrap_or_else(PoisonError::into_inner);
    let (path, query) = (uri.path().to_owned(), uri.query().unwrap_or_default());
    match method.as_str() {
        "GET" | "HEAD" => objects.find(&path),
        "PUT" => match query_value(query, "partNumber").and_then(|number| number.parse().ok()) {
            Some(number) => objects.put_part(path, number, body),
            None => objects.put(path, &headers, body),
        },
        "DELETE" => {
            objects.stored.remove(&path);
            StatusCode::NO_CONTENT.into_response()
        }
        "POST" if query.split('&').any(|it| it.starts_with("delete")) => objects.delete_listed(&path, &String::from_utf8_lossy(&body)),
        "POST" if query_value(query, "uploadId").is_some() => objects.complete_upload(path),
        "POST" => xml("<InitiateMultipartUploadResult><UploadId>one</UploadId></InitiateMultipartUploadResult>".to_owned()),
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}

impl Objects {
    fn find(&self, path: &str) -> Response {
        let Some(object) = self.stored.get(path) else {
            return (StatusCode::NOT_FOUND, "<Error><Code>NoSuchKey</Code></Error>").into_response();
        };
        let headers = [(header::ETAG, object.etag()), (header::LAST_MODIFIED, MODIFIED.to_owned())];
        (headers, object.bytes.clone()).into_response()
    }

    /// Stores an object, if it has the expected version or is expected not to exist.
    fn put(&mut self, path: String, headers: &HeaderMap, bytes: Bytes) -> Response {
        let current = self.stored.get(&path).map(StoredObject::etag);
        let expected = headers.get(header::IF_MATCH).and_then(|value| value.to_str().ok());
        if (headers.contains_key(header::IF_NONE_MATCH) && current.is_some())
            || expected.is_some_and(|etag| Some(etag) != current.as_deref())
        {
            return StatusCode::PRECONDITION_FAILED.into_response();
        }
        [(header::ETAG, self.store(path, bytes))].into_response()
    }

    fn store(&mut self, path: String, bytes: Bytes) -> String {
        self.version += 1;
        let object = StoredObject { version: self.version, bytes };
        let etag = object.etag();
        self.stored.insert(path, object);
        etag
    }

    fn put_part(&mut self, path: String, number: u32, bytes: Bytes) -> Response {
        self.parts.insert((path, number), bytes);
        [(header::ETAG, format!("\"part-{number}\""))].into_response()
    }

    /// Stores the parts of an upload as one object.
    fn complete_upload(&mut self, path: String) -> Response {
        let keys: Vec<(String, u32)> = self.parts.keys().filter(|it| it.0 == path).cloned().collect();
        let parts: Vec<Bytes> = keys.iter().filter_map(|it| self.parts.remove(it)).collect();
        let etag = self.store(path, parts.concat().into());
        xml(format!("<CompleteMultipartUploadResult><ETag>{}</ETag></CompleteMultipartUploadResult>", etag.replace('"', "&quot;")))
    }

    /// Deletes the objects of a list from a bucket.
    fn delete_listed(&mut self, bucket: &str, list: &str) -> Response {
        let mut deleted = String::new();
        for key in list.split("<Key>").skip(1).filter_map(|piece| piece.split("</Key>").next()) {
            self.stored.remove(&format!("{}/{key}", bucket.trim_end_matches('/')));
            deleted += &format!("<Deleted><Key>{key}</Key></Deleted>");
        }
        xml(format!("<DeleteResult>{deleted}</DeleteResult>"))
    }
}

impl StoredObject {
    fn etag(&self) -> String {
        format!("\"{}\"", self.version)
    }
}

fn xml(text: String) -> Response {
    ([(header::CONTENT_TYPE, "application/xml")], text).into_response()
}

/// Returns the value of a parameter of a query.
fn query_value<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    query.split('&').filter_map(|it| it.split_once('=')).find(|it| it.0 == name).map(|it| it.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_replaced_only_in_the_expected_version() {
        let mut objects = Objects::default();
        let mut put = |name, value: &'static str, text: &'static str| {
            let headers = HeaderMap::from_iter([(name, value.parse().unwrap())]);
            objects.put("/a".to_owned(), &headers, Bytes::from(text)).status()
        };
        assert_eq!(put(header::IF_NONE_MATCH, "*", "one"), StatusCode::OK);
        assert_eq!(put(header::IF_NONE_MATCH, "*", "two"), StatusCode::PRECONDITION_FAILED);
        assert_eq!(put(header::IF_MATCH, "\"1\"", "two"), StatusCode::OK);
        assert_eq!(put(header::IF_MATCH, "\"1\"", "three"), StatusCode::PRECONDITION_FAILED);
        assert_eq!(objects.stored["/a"].bytes, "two");
        objects.delete_listed("/", "<Delete><Object><Key>a</Key></Object></Delete>");
        assert_eq!(objects.find("/a").status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn parts_of_an_upload_become_one_object() {
        let mut objects = Objects::default();
        for (number, text) in [(2, "b"), (1, "a")] {
            objects.put_part("/a".to_owned(), number, Bytes::from(text));
        }
        objects.complete_upload("/a".to_owned());
        assert_eq!(objects.stored["/a"].bytes, "ab");
        assert!(objects.parts.is_empty());
    }
}
