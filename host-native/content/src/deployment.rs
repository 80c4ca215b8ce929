//! Authentication of deployments by token and web origin. (docs/spec/flows-http.md#1)

use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use convengine_host_base::hex::to_hex;
use reqwest::Url;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use convengine_storage::assistant::deployment::Deployment;

/// The prefix of the token of a deployment to pages.
pub const TOKEN_PREFIX: &str = "cdp_";

/// Why a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AccessDenied {
    /// The token is missing or unknown.
    #[error("invalid deployment token")]
    UnknownToken,
    /// The origin is missing or not allowed by the deployment.
    #[error("origin is not allowed by the deployment")]
    ForeignOrigin,
}

/// The prefix of the token of an AI agent's deployment.
pub const AGENT_TOKEN_PREFIX: &str = "cap_";

/// Generates a token with 256 bits, hashed from three version 4 UUIDs of 122 random bits each.
pub fn generate_token(prefix: &str) -> String {
    let mut random = Sha256::new();
    for _ in 0..3 {
        random.update(Uuid::new_v4().as_bytes());
    }
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(random.finalize()))
}

/// Returns the stored hash of a token.
pub fn hash_token(token: &str) -> String {
    to_hex(&Sha256::digest(token.as_bytes()))
}

/// Returns the deployment token of a request.
pub fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    bearer_token_with_prefix(headers, TOKEN_PREFIX)
}

/// Returns the bearer token of a request if it has a prefix.
pub fn bearer_token_with_prefix<'h>(headers: &'h HeaderMap, prefix: &str) -> Option<&'h str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case("bearer") && token.starts_with(prefix))
}

/// Admits a request if its token belongs to a deployment that allows its origin.
///
/// # Errors
/// Returns [`AccessDenied`] for an unknown token or a foreign origin.
pub fn authorize<'d>(found: Option<&'d Deployment>, headers: &HeaderMap) -> Result<&'d Deployment, AccessDenied> {
    let deployment = found.ok_or(AccessDenied::UnknownToken)?;
    let origin = headers.get(header::ORIGIN).and_then(|value| value.to_str().ok()).ok_or(AccessDenied::ForeignOrigin)?;
    if deployment.origins.iter().any(|it| it == origin) { Ok(deployment) } else { Err(AccessDenied::ForeignOrigin) }
}

/// Returns whether a text is a serialized web origin.
pub fn is_origin(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| url.origin().is_tuple() && url.origin().ascii_serialization() == text)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use convengine_storage::assistant::ProgramKey;

    use super::*;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).expect("a value"))])
    }

    #[test]
    fn a_token_is_random_and_stored_as_a_hash() {
        let (one, other) = (generate_token(TOKEN_PREFIX), generate_token(TOKEN_PREFIX));
        assert!(one.starts_with(TOKEN_PREFIX) && one != other);
        assert_eq!(URL_SAFE_NO_PAD.decode(&one[TOKEN_PREFIX.len()..]).map(|it| it.len()), Ok(32));
        assert_eq!((hash_token(&one).len(), hash_token(&one) == hash_token(&other)), (64, false));
        for (value, token) in [
            ("Bearer cdp_a", Some("cdp_a")),
            ("bearer  cdp_a ", Some("cdp_a")),
            ("Bearer ce_a", None),
            ("Basic cdp_a", None),
            ("cdp_a", None),
            ("", None),
        ] {
            assert_eq!(bearer_token(&headers(header::AUTHORIZATION, value)), token, "{value}");
        }
        assert_eq!(bearer_token(&HeaderMap::new()), None);
    }

    #[test]
    fn a_page_is_admitted_by_its_exact_origin() {
        let deployment = Deployment {
            id: "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69".to_owned(),
            program: ProgramKey::parse("desk"),
            name: "shop".to_owned(),
            channel: "web".to_owned(),
            origins: vec!["https://shop.example".to_owned(), "http://localhost:3000".to_owned()],
            debug: false,
            created_at: 1,
        };
        let admitted = |found, origin: &str| authorize(found, &headers(header::ORIGIN, origin)).map(|it| it.name.clone());
        for origin in ["https://shop.example", "http://localhost:3000"] {
            assert_eq!(admitted(Some(&deployment), origin).as_deref(), Ok("shop"));
        }
        for origin in ["http://shop.example", "https://shop.example:444", "https://shop.example.evil", "https://SHOP.example", "null", ""] {
            assert_eq!(admitted(Some(&deployment), origin), Err(AccessDenied::ForeignOrigin), "{origin}");
        }
        assert_eq!(authorize(Some(&deployment), &HeaderMap::new()), Err(AccessDenied::ForeignOrigin));
        assert_eq!(admitted(None, "https://shop.example"), Err(AccessDenied::UnknownToken));
    }

    #[test]
    fn an_origin_is_written_as_browsers_write_it() {
        assert!(["https://shop.example", "http://localhost:3000", "http://[::1]:80800"].map(is_origin) == [true, true, false]);
        for text in
            ["https://shop.example/", "https://Shop.example", "https://shop.example:443", "shop.example", "*", "null", "file:///x", ""]
        {
            assert!(!is_origin(text), "{text}");
        }
    }
}
