//! Headers of every response that tell browsers what they may do with it.

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;
use uuid::Uuid;

/// For responses that are not part of the page: no browser has to render them or load anything for them.
const DATA_POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

/// For documents of the page. The built page has the same policy inside, for servers of static files; those cannot forbid framing.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// For scripts of the page: a worker follows the policy of its script, and the engine's worker calls models and services.
const SCRIPT_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src *; base-uri 'none'; frame-ancestors 'none'",
);

/// For pages of the book, whose styles are partly in attributes. Its text is the product's own.
const BOOK_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// The headers of every response.
pub const HEADERS: [(HeaderName, HeaderValue); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::CONTENT_SECURITY_POLICY, DATA_POLICY),
];

/// The lines of the headers of a response that is written without the router, with an id of its own.
pub fn lines() -> String {
    let headers: String = HEADERS.iter().map(|(name, value)| format!("{name}: {}\r\n", value.to_str().unwrap_or_default())).collect();
    format!("{headers}x-request-id: {}\r\n", Uuid::new_v4())
}

/// Adds the headers that a response does not have yet.
pub async fn add(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(value);
    }
    response
}

/// The content security policy of a file of the page, if it is not that of other responses.
pub fn page_policy(path: &str) -> Option<HeaderValue> {
    if path.starts_with("docs/") && path.ends_with(".html") {
        return Some(BOOK_POLICY);
    }
    match path.rsplit_once('.')?.1 {
        "html" => Some(PAGE_POLICY),
        "js" => Some(SCRIPT_POLICY),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_policy_of_its_build() {
        let build = include_str!("../../../web-demo/vite.config.ts");
        let policy =
            build.split("const POLICY =").nth(1).and_then(|rest| rest.split(';').next().map(|_| rest)).expect("the policy of the build");
        let policy: String = policy.split("\n\n").next().unwrap_or_default().split('"').skip(1).step_by(2).collect();
        assert_eq!(PAGE_POLICY, format!("{policy}; frame-ancestors 'none'"));
    }
}
