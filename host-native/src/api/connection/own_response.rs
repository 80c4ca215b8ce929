//! Responses that the HTTP library writes itself, before any route sees the request: to a malformed request line or header.
//!
//! They have no headers but `Content-Length`, `Connection` and `Date`. [`with_headers`] adds those of every response.

use axum::http::StatusCode;

use crate::api::response_headers;

/// The statuses of these responses.
const STATUSES: [StatusCode; 3] = [StatusCode::BAD_REQUEST, StatusCode::URI_TOO_LONG, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE];

/// The headers that they have.
const OWN_HEADERS: [&str; 3] = ["content-length", "connection", "date"];

/// The end of the headers, where these responses end too.
const END: &str = "\r\n\r\n";

/// Returns a response of the library with the headers of every response; `None` if the bytes are anything else.
pub(super) fn with_headers(bytes: &[u8]) -> Option<Vec<u8>> {
    let head = std::str::from_utf8(bytes).ok()?.strip_suffix(END)?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.1 ").or_else(|| head.strip_prefix("HTTP/1.0 "))?;
    if !STATUSES.iter().any(|known| status.starts_with(known.as_str())) {
        return None;
    }
    let is_own = |it: &str| it.split_once(':').is_some_and(|header| OWN_HEADERS.iter().any(|own| header.0.eq_ignore_ascii_case(own)));
    if !lines.all(is_own) {
        return None;
    }
    let headers = response_headers::lines();
    Some(format!("{head}\r\n{headers}\r\n").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_responses_of_the_library_get_headers() {
        for line in ["HTTP/1.1 400 Bad Request", "HTTP/1.0 400 Bad Request", "HTTP/1.1 431 Request Header Fields Too Large"] {
            let bytes = format!("{line}\r\ncontent-length: 0\r\ndate: Sun, 29 Nov 2026 09:00:00 GMT\r\n\r\n");
            let found = with_headers(bytes.as_bytes()).and_then(|response| String::from_utf8(response).ok()).expect(line);
            assert!(found.starts_with(line) && found.contains("\r\nx-content-type-options: nosniff\r\n"), "{found}");
            assert!(found.contains("content-security-policy: default-src 'none'") && found.ends_with(END), "{found}");
            assert!(found.matches(END).count() == 1 && found.matches("\r\nx-request-id: ").count() == 1, "{found}");
        }
        for other in [
            "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "text\r\n\r\n",
            "",
        ] {
            assert_eq!(with_headers(other.as_bytes()), None, "{other}");
        }
    }
}
