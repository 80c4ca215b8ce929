//! Reads response bodies up to a size limit.

use reqwest::Response;

/// Why a body cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// It exceeds this many bytes.
    #[error("the answer has more than {0} bytes")]
    TooLong(usize),
    /// The connection broke.
    #[error(transparent)]
    Connection(#[from] reqwest::Error),
}

/// Reads a body as text; invalid UTF-8 becomes `U+FFFD`. Never buffers more than `limit` bytes.
///
/// # Errors
/// [`BodyError`] if the body is too long or the connection breaks.
pub async fn read_text(mut response: Response, limit: usize) -> Result<String, BodyError> {
    if response.content_length().is_some_and(|it| it > limit as u64) {
        return Err(BodyError::TooLong(limit));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > limit {
            return Err(BodyError::TooLong(limit));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8(body).unwrap_or_else(|invalid| String::from_utf8_lossy(invalid.as_bytes()).into_owned()))
}
