//! Tokens that resume a wait of a run; only their hashes are stored. (docs/spec/chains.md#5)

use convengine_content::Content;
use convengine_content::deployment::{generate_token, hash_token};
use convengine_core::turn::{EffectError, EffectErrorKind, HttpRequest};
use convengine_host_base::clock;
use convengine_storage::chain::token::{self, TokenWait};

use crate::Turns;

/// The prefix of every token.
pub const TOKEN_PREFIX: &str = "crt_";

/// The name under which the core refers to the token of a wait, before the run, the path, the attempt and a serial number.
const MARKER_PREFIX: &str = "resume_token:";

/// Replaces the tokens of a wait by a new one.
pub async fn replace_token(turns: &Turns, wait: &TokenWait) -> sqlx::Result<String> {
    token::delete(&turns.readers, wait).await?;
    add_token(turns, wait).await
}

async fn add_token(turns: &Turns, wait: &TokenWait) -> sqlx::Result<String> {
    let new = generate_token(TOKEN_PREFIX);
    let hash = hash_token(&new);
    token::insert(&turns.readers, &hash, wait, clock::now()).await?;
    turns.access.credentials.add(&hash);
    Ok(new)
}

/// Returns the wait of a token.
pub async fn find_wait(content: &Content, token: &str) -> sqlx::Result<Option<TokenWait>> {
    token::find(&content.readers, &hash_token(token)).await
}

/// Puts tokens in the place of their markers in a request; `None` when it has none.
///
/// # Errors
/// Returns an error when a marker is not where it should be, or the token cannot be stored.
pub async fn insert_tokens(turns: &Turns, request: &HttpRequest) -> Result<Option<HttpRequest>, EffectError> {
    let is_token = |it: &String| it.split(' ').nth(2).is_some_and(|it| it.starts_with(MARKER_PREFIX));
    let Some(entry) = request.secrets.iter().find(|it| is_token(it)) else { return Ok(None) };
    let misplaced = || EffectError::new(EffectErrorKind::Invalid, "the place of a resume token is not in the request");
    let name = entry.split(' ').nth(2).ok_or_else(misplaced)?;
    let wait = parse_marker(name).ok_or_else(misplaced)?;
    let marker = format!("[secret:{name}]");
    let body = request.body.as_ref().filter(|it| it.contains(&marker)).ok_or_else(misplaced)?;
    let unavailable = |it: sqlx::Error| EffectError::new(EffectErrorKind::Unavailable, format!("cannot store a resume token: {it}"));
    let token = add_token(turns, &wait).await.map_err(unavailable)?;
    let secrets = request.secrets.iter().filter(|it| !is_token(it)).cloned().collect();
    Ok(Some(HttpRequest { body: Some(body.replacen(&marker, &token, 1)), secrets, ..request.clone() }))
}

fn parse_marker(name: &str) -> Option<TokenWait> {
    let mut parts = name.strip_prefix(MARKER_PREFIX)?.split(':');
    let wait = TokenWait { run: parts.next()?.to_owned(), path: parts.next()?.to_owned(), attempt: parts.next()?.parse().ok()? };
    Some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_names_a_wait() {
        let wait = TokenWait { run: "r".to_owned(), path: "s1/a/b".to_owned(), attempt: 2 };
        assert_eq!(parse_marker("resume_token:r:s1/a/b:2:0"), Some(wait));
        assert!(parse_marker("CRM").is_none() && parse_marker("resume_token:r:s1").is_none());
    }
}
