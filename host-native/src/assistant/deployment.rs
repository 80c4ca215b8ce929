//! Authentication of deployments by token and web origin. (docs/spec/flows-http.md#1)

use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::check::hex;
use crate::store::assistant::deployment::Deployment;

/// The prefix of every deployment token.
pub const PREFIX: &str = "cdp_";

/// Why a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The token is missing or unknown.
    #[error("invalid deployment token")]
    Unknown,
    /// The origin is missing or not allowed by the deployment.
    #[error("origin is not allowed by the deployment")]
    Foreign,
}

/// Generates a token with 256 bits, hashed from three version 4 UUIDs of 122 random bits each.
pub fn token() -> String {
    let mut random = Sha256::new();
    for _ in 0..3 {
        random.update(Uuid::new_v4().as_bytes());
    }
    format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random.finalize()))
}

/// Returns the stored hash of a token.
pub fn token_hash(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

/// Returns the deployment token of a request.
pub fn presented(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    Some(token.trim()).filter(|it| scheme.eq_ignore_ascii_case("bearer") && it.starts_with(PREFIX))
}

/// Admits a request if its token belongs to a deployment that allows its origin.
///
/// # Errors
/// Returns [`Refused`] for an unknown token or a foreign origin.
pub fn admit<'d>(found: Option<&'d Deployment>, headers: &HeaderMap) -> Result<&'d Deployment, Refused> {
    let deployment = found.ok_or(Refused::Unknown)?;
    let origin = headers.get(header::ORIGIN).and_then(|it| it.to_str().ok()).ok_or(Refused::Foreign)?;
    if deployment.origins.iter().any(|it| it == origin) { Ok(deployment) } else { Err(Refused::Foreign) }
}

/// Returns whether a text is a serialized web origin.
pub fn is_origin(text: &str) -> bool {
    Url::parse(text).is_ok_and(|it| it.origin().is_tuple() && it.origin().ascii_serialization() == text)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).expect("a value"))])
    }

    #[test]
    fn a_token_is_random_and_kept_as_a_hash() {
        let (one, other) = (token(), token());
        assert!(one.starts_with(PREFIX) && one != other);
        assert_eq!(URL_SAFE_NO_PAD.decode(&one[PREFIX.len()..]).map(|it| it.len()), Ok(32));
        assert_eq!((token_hash(&one).len(), token_hash(&one) == token_hash(&other)), (64, false));
        for (value, token) in [
            ("Bearer cdp_a", Some("cdp_a")),
            ("bearer  cdp_a ", Some("cdp_a")),
            ("Bearer ce_a", None),
            ("Basic cdp_a", None),
            ("cdp_a", None),
            ("", None),
        ] {
            assert_eq!(presented(&headers(header::AUTHORIZATION, value)), token, "{value}");
        }
        assert_eq!(presented(&HeaderMap::new()), None);
    }

    #[test]
    fn a_page_is_let_in_by_its_exact_origin() {
        let deployment = Deployment {
            id: "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69".to_owned(),
            assistant: "desk".to_owned(),
            name: "shop".to_owned(),
            channel: "web".to_owned(),
            origins: vec!["https://shop.example".to_owned(), "http://localhost:3000".to_owned()],
            debug: false,
            created_at: 1,
        };
        let admitted = |found, origin: &str| admit(found, &headers(header::ORIGIN, origin)).map(|it| it.name.clone());
        for origin in ["https://shop.example", "http://localhost:3000"] {
            assert_eq!(admitted(Some(&deployment), origin).as_deref(), Ok("shop"));
        }
        for origin in ["http://shop.example", "https://shop.example:444", "https://shop.example.evil", "https://SHOP.example", "null", ""] {
            assert_eq!(admitted(Some(&deployment), origin), Err(Refused::Foreign), "{origin}");
        }
        assert_eq!(admit(Some(&deployment), &HeaderMap::new()), Err(Refused::Foreign));
        assert_eq!(admitted(None, "https://shop.example"), Err(Refused::Unknown));
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
