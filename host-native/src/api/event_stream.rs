//! What all streams of server-sent events have in common.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderName, header};

/// Idle time after which a comment is sent, because proxies drop idle connections.
pub const HEARTBEAT: Duration = Duration::from_secs(20);

/// The comment, which clients skip.
pub const COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// The headers of a stream.
pub const HEADERS: [(HeaderName, &str); 3] = [
    (header::CONTENT_TYPE, "text/event-stream"),
    (header::CACHE_CONTROL, "no-cache"),
    (HeaderName::from_static("x-accel-buffering"), "no"),
];
