//! Bodies of answers, read as far as they may go.

use reqwest::Response;

/// Why a body cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// It is longer than what was agreed.
    #[error("the answer has more than {0} bytes")]
    TooLong(usize),
    /// The connection broke off.
    #[error(transparent)]
    Broken(#[from] reqwest::Error),
}

/// Reads a body as text; what is no UTF-8 in it becomes `U+FFFD`.
///
/// # Errors
/// [`BodyError`]; of a body that is too long, no more than the limit is held.
pub async fn text(mut response: Response, most: usize) -> Result<String, BodyError> {
    if response.content_length().is_some_and(|it| it > most as u64) {
        return Err(BodyError::TooLong(most));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > most {
            return Err(BodyError::TooLong(most));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8(body).unwrap_or_else(|it| String::from_utf8_lossy(it.as_bytes()).into_owned()))
}
