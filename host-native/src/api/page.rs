//! Serves the page embedded in the binary, precompressed where the build provides it.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use convengine_access::api_error::{ApiError, path_not_found};
use convengine_page::{Content, PageFile, load_file};

use super::etag::matches_etag;
use super::response_headers::page_policy;

/// Encodings of precompressed files, smallest first: the `Content-Encoding` and the file name suffix.
const ENCODINGS: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];

/// Serves the page and its files; everything else is not found.
///
/// # Errors
/// 404 if the path is not a file of the page.
pub fn serve(method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Response, ApiError> {
    let path = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        "desk" => "desk.html",
        // Links of the book are relative to its folder.
        "docs" => return Ok(Redirect::permanent("/docs/").into_response()),
        "docs/" => "docs/index.html",
        path => path,
    };
    // Precompressed variants are not served under their own names.
    let is_variant = ENCODINGS.iter().any(|it| path.ends_with(it.1));
    let Some(file) = load_file(path).filter(|_| !is_variant) else {
        if path == "index.html" {
            return Err(ApiError::new(StatusCode::NOT_FOUND, uri, "page is not part of this build; run `cargo xtask run`"));
        }
        return Err(path_not_found().at(uri));
    };
    if method != Method::GET && method != Method::HEAD {
        let refused = ApiError::new(StatusCode::METHOD_NOT_ALLOWED, uri, "method not allowed on this path; use GET");
        return Ok(([(header::ALLOW, "GET,HEAD")], refused).into_response());
    }
    Ok(respond(path, file, headers, load_file))
}

fn respond(path: &str, file: PageFile, headers: &HeaderMap, found: impl Fn(&str) -> Option<PageFile>) -> Response {
    // Names of built assets contain a content hash.
    let cache = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let digest: String = file.digest.iter().take(16).map(|it| format!("{it:02x}")).collect();
    // Weak, because the content is sent in several encodings.
    let tag = format!("W/\"{digest}\"");
    let is_unmodified = matches_etag(headers, &tag);
    let about = [(header::ETAG, tag), (header::CACHE_CONTROL, cache.to_owned()), (header::VARY, header::ACCEPT_ENCODING.to_string())];
    // Browsers may replace the stored policy by that of a 304 response.
    let policy = page_policy(path).map(|it| (header::CONTENT_SECURITY_POLICY, it));
    if is_unmodified {
        let mut response = (StatusCode::NOT_MODIFIED, about).into_response();
        response.headers_mut().extend(policy);
        return response;
    }
    let accepted = ENCODINGS.into_iter().filter(|it| accepts_encoding(headers, it.0));
    let variant = accepted.into_iter().find_map(|(encoding, ending)| match found(&format!("{path}{ending}"))?.content {
        Content::Plain(bytes) => Some((encoding, bytes)),
        Content::Brotli(_) => None,
    });
    let (encoding, bytes) = variant.map_or_else(|| (None, file.content.into_plain()), |(encoding, bytes)| (Some(encoding), bytes));
    let kind = mime_guess::from_path(path).first_or_octet_stream();
    let mut response = (about, [(header::CONTENT_TYPE, kind.essence_str())], bytes).into_response();
    response.headers_mut().extend(policy);
    response.headers_mut().extend(encoding.map(|it| (header::CONTENT_ENCODING, HeaderValue::from_static(it))));
    response
}

/// Whether a client accepts an encoding: named with a weight above zero, or covered by `*` (RFC 9110, section 12.5.3).
fn accepts_encoding(headers: &HeaderMap, encoding: &str) -> bool {
    let weight = |wanted: &str| {
        let lists = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        let mut parts = lists.flat_map(|it| it.split(',')).map(|part| part.split_once(';').unwrap_or((part, "")));
        let (_, weight) = parts.find(|part| part.0.trim().eq_ignore_ascii_case(wanted))?;
        let weight = weight.trim().strip_prefix(['q', 'Q']).and_then(|rest| rest.trim_start().strip_prefix('='));
        Some(weight.and_then(|weight| weight.trim().parse().ok()).unwrap_or(1.0))
    };
    weight(encoding).or_else(|| weight("*")).is_some_and(|it: f32| it > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderName;

    fn headers(of: &[(HeaderName, &str)]) -> HeaderMap {
        of.iter().map(|(name, value)| (name.clone(), value.parse().expect("a header"))).collect()
    }

    fn serve(bytes: &'static str) -> PageFile {
        PageFile { content: Content::Plain(bytes.as_bytes().into()), digest: [7; 32] }
    }

    fn respond_with(path: &str, lies_there: &[(&str, &'static str)], of: &[(HeaderName, &str)]) -> Response {
        let found = |path: &str| lies_there.iter().find(|it| it.0 == path).map(|it| serve(it.1));
        respond(path, serve("plain"), &headers(of), found)
    }

    #[test]
    fn an_encoding_is_accepted_by_name_or_star() {
        let takes = |list: &str, encoding| accepts_encoding(&headers(&[(header::ACCEPT_ENCODING, list)]), encoding);
        for list in ["br", "gzip, BR", "gzip, br;q=0.1", "*", "gzip;q=0, *;q=0.5", "br ; q=1.000", "br;level=4"] {
            assert!(takes(list, "br"), "{list}");
        }
        for list in ["", "gzip", "br;q=0", "br;q=0.0, *", "br; q=0", "br;Q=0", "*;q=0", "brotli", "identity"] {
            assert!(!takes(list, "br"), "{list}");
        }
    }

    #[tokio::test]
    async fn the_smallest_available_and_accepted_encoding_is_sent() {
        let both = [("a.css.br", "brotli"), ("a.css.gz", "gzipped")];
        for (lies_there, list, encoding, body) in [
            (&both[..], "gzip, deflate, br", Some("br"), "brotli"),
            (&both, "gzip, br;q=0", Some("gzip"), "gzipped"),
            (&both, "identity", None, "plain"),
            (&both[1..], "br, gzip", Some("gzip"), "gzipped"),
            (&[], "br, gzip", None, "plain"),
        ] {
            let answer = respond_with("a.css", lies_there, &[(header::ACCEPT_ENCODING, list)]);
            let header_text = |name| answer.headers().get(name).map(|it: &HeaderValue| it.to_str().expect("a text").to_owned());
            assert_eq!(header_text(header::CONTENT_ENCODING).as_deref(), encoding, "{list}");
            assert_eq!(
                (header_text(header::CONTENT_TYPE).as_deref(), header_text(header::VARY).as_deref()),
                (Some("text/css"), Some("accept-encoding"))
            );
            let bytes = axum::body::to_bytes(answer.into_body(), 100).await.expect("a body");
            assert_eq!(bytes, body, "{list}");
        }
    }

    #[tokio::test]
    async fn a_file_that_is_embedded_in_brotli_alone_is_sent_to_every_client() {
        // "again again again again again " in brotli.
        const COMPRESSED: &[u8] = &[27, 29, 0, 248, 141, 148, 110, 222, 170, 12, 3, 57, 171, 52, 183, 160, 39, 14, 32, 51];
        let compressed = || Content::Brotli(COMPRESSED.into());
        assert_eq!(&*compressed().into_plain(), "again ".repeat(5).as_bytes());
        for (list, encoding, body) in [("br", Some("br"), COMPRESSED), ("gzip", None, "again ".repeat(5).as_bytes())] {
            let file = |content| PageFile { content, digest: [7; 32] };
            let found = |path: &str| path.ends_with(".br").then(|| file(Content::Plain(COMPRESSED.into())));
            let answer = respond("a.wasm", file(compressed()), &headers(&[(header::ACCEPT_ENCODING, list)]), found);
            assert_eq!(answer.headers().get(header::CONTENT_ENCODING).map(HeaderValue::as_bytes), encoding.map(str::as_bytes));
            assert_eq!(answer.headers()[header::CONTENT_TYPE], "application/wasm");
            assert_eq!(axum::body::to_bytes(answer.into_body(), 100).await.expect("a body"), body);
        }
    }

    #[test]
    fn unchanged_files_are_not_sent_again_in_any_encoding() {
        let tag = respond_with("a.css", &[], &[]).headers()[header::ETAG].to_str().expect("a tag").to_owned();
        for (path, cache) in [("a.css", "no-cache"), ("sw.js", "no-cache"), ("assets/a-1.css", "public, max-age=31536000, immutable")] {
            let again = respond_with(path, &[("a.css.br", "brotli")], &[(header::IF_NONE_MATCH, &tag), (header::ACCEPT_ENCODING, "br")]);
            assert_eq!(
                (again.status(), &again.headers()[header::ETAG]),
                (StatusCode::NOT_MODIFIED, &HeaderValue::from_str(&tag).expect("a tag"))
            );
            assert_eq!(
                (&again.headers()[header::CACHE_CONTROL], again.headers().get(header::CONTENT_ENCODING)),
                (&HeaderValue::from_static(cache), None)
            );
        }
        let other = respond_with("a.css", &[], &[(header::IF_NONE_MATCH, "W/\"0\"")]);
        assert_eq!(other.status(), StatusCode::OK);
    }
}
