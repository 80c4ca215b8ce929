//! Responses with an ETag, which are not sent again if unchanged: clients read the audit after each stream event.

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Returns the body with its ETag, or 304 if the client has it.
pub fn respond_with_etag(headers: &HeaderMap, body: &impl Serialize) -> Response {
    // Rows consist of strings and numbers: serializing them cannot fail.
    let body = serde_json::to_vec(body).unwrap_or_default();
    let digest: String = Sha256::digest(&body).iter().take(16).map(|it| format!("{it:02x}")).collect();
    // Weak, because the content may be compressed.
    let tag = format!("W/\"{digest}\"");
    let is_unmodified = matches_etag(headers, &tag);
    let about = [(header::ETAG, tag), (header::CACHE_CONTROL, "private, no-cache".to_owned())];
    if is_unmodified {
        return (StatusCode::NOT_MODIFIED, about).into_response();
    }
    (about, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// Whether `If-None-Match` contains the tag.
pub fn matches_etag(headers: &HeaderMap, tag: &str) -> bool {
    headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok()).any(|it| list_contains(it, tag))
}

/// Whether a list contains the tag by weak comparison (RFC 9110, section 13.1.2).
fn list_contains(list: &str, tag: &str) -> bool {
    let bare = |it: &str| it.trim().trim_start_matches("W/").to_owned();
    list.split(',').any(|entry| entry.trim() == "*" || bare(entry) == bare(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_matches_in_weak_and_strong_form() {
        let answer = respond_with_etag(&HeaderMap::new(), &["a"]);
        let tag = answer.headers()[header::ETAG].to_str().expect("a tag").to_owned();
        assert_eq!((answer.status(), tag.len()), (StatusCode::OK, 36));
        for (list, status) in [
            (tag.clone(), 304),
            (format!("\"x\", {}", tag.trim_start_matches("W/")), 304),
            ("*".to_owned(), 304),
            ("W/\"x\"".to_owned(), 200),
            (String::new(), 200),
        ] {
            let headers = HeaderMap::from_iter([(header::IF_NONE_MATCH, list.parse().expect("a header"))]);
            assert_eq!(respond_with_etag(&headers, &["a"]).status().as_u16(), status, "{list}");
        }
        assert_ne!(respond_with_etag(&HeaderMap::new(), &["b"]).headers()[header::ETAG], tag);
    }
}
