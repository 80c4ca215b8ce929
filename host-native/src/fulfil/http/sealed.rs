//! Replaces secret markers in requests and signs bodies. (docs/spec/flows.md#2.6, docs/spec/flows.md#4.6)

use std::collections::BTreeMap;

use convengine_core::turn::{EffectError, EffectErrorKind, HttpRequest};
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::Sha256;

use crate::assistant::check::hex;
use crate::secrets::Secrets;

/// How a part of a request encodes an inserted value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// Percent-encoded, for URLs and forms.
    Component,
    /// Unchanged.
    Plain,
    /// Escaped for a JSON string.
    Json,
}

/// Returns the request with its secret markers replaced and its signature added.
///
/// # Errors
/// `NotFound` for a secret that is not stored, `Invalid` for a marker that is not at its declared position.
pub fn opened(request: &HttpRequest, secrets: &Secrets) -> Result<HttpRequest, EffectError> {
    let mut request = request.clone();
    let mut places: BTreeMap<(&str, usize), &str> = BTreeMap::new();
    let markers = std::mem::take(&mut request.secrets);
    for entry in &markers {
        let mut words = entry.splitn(3, ' ');
        let at = (words.next(), words.next().and_then(|it| it.parse().ok()), words.next());
        let (Some(part), Some(at), Some(name)) = at else { return Err(misplaced()) };
        places.insert((part, at), name);
    }
    // Backwards, so that the positions of earlier markers stay valid.
    for ((part, at), name) in places.into_iter().rev() {
        let value = secret(secrets, name)?;
        match part {
            "url" => put(&mut request.url, at, name, &value, Spelling::Component)?,
            "body" | "json" | "form" => put(request.body.as_mut().ok_or_else(misplaced)?, at, name, &value, spelling(part))?,
            header => {
                let header = header.parse().ok().and_then(|it: usize| request.headers.get_mut(it)).ok_or_else(misplaced)?;
                put(&mut header.1, at, name, &value, Spelling::Plain)?;
            }
        }
    }
    if let Some(sign) = request.sign.take() {
        let signature = signature(&secret(secrets, &sign.secret)?, request.body.as_deref().unwrap_or_default());
        request.headers.retain(|it| !it.0.eq_ignore_ascii_case(&sign.header));
        request.headers.push((sign.header, format!("{}{signature}", sign.prefix)));
    }
    Ok(request)
}

/// Returns the HMAC-SHA-256 of a body in hexadecimal.
fn signature(secret: &str, body: &str) -> String {
    // HMAC accepts keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(body.as_bytes());
    hex(&mac.finalize().into_bytes())
}

fn secret(secrets: &Secrets, name: &str) -> Result<String, EffectError> {
    let missing = || EffectError::new(EffectErrorKind::NotFound, format!("the secret '{name}' is not stored: store it at /v1/secrets"));
    secrets.value(name).ok_or_else(missing)
}

fn put(text: &mut String, at: usize, name: &str, value: &str, spelling: Spelling) -> Result<(), EffectError> {
    let marker = format!("[secret:{name}]");
    if !text.get(at..).is_some_and(|it| it.starts_with(&marker)) {
        return Err(misplaced());
    }
    let value = match spelling {
        Spelling::Component => utf8_percent_encode(value, NON_ALPHANUMERIC).to_string(),
        Spelling::Plain => value.to_owned(),
        Spelling::Json => {
            let quoted = serde_json::Value::from(value).to_string();
            quoted.trim_start_matches('"').strip_suffix('"').unwrap_or_default().to_owned()
        }
    };
    text.replace_range(at..at + marker.len(), &value);
    Ok(())
}

/// Returns the encoding of a body part, regardless of its content type.
fn spelling(part: &str) -> Spelling {
    match part {
        "json" => Spelling::Json,
        "form" => Spelling::Component,
        _ => Spelling::Plain,
    }
}

fn misplaced() -> EffectError {
    EffectError::new(EffectErrorKind::Invalid, "a secret of the request does not stand where the request says")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(body: &str, kind: &str, secrets: &[&str]) -> HttpRequest {
        serde_json::from_value(json!({
            "caller": {"tool": "t"}, "method": "POST", "url": "https://a.example/x?k=[secret:KEY]&l=[secret:KEY]",
            "headers": [["Content-Type", kind], ["Authorization", "Bearer [secret:KEY]"]], "body": body,
            "connect_timeout_ms": 1, "timeout_ms": 1, "max_bytes": 1, "class": "write", "secrets": secrets,
            "sign": {"header": "X-Convoship-Signature", "prefix": "sha256=", "secret": "SIGN"},
        }))
        .expect("a request")
    }

    fn known() -> Secrets {
        let mut secrets = Secrets::default();
        secrets.know("KEY", "a\"b&c d");
        secrets.know("SIGN", "key");
        secrets
    }

    #[test]
    fn each_part_writes_a_secret_in_its_own_way() {
        let places = ["url 22 KEY", "url 37 KEY", "1 7 KEY", "json 6 KEY"];
        let result = opened(&request("{\"k\":\"[secret:KEY]\"}", "application/json", &places), &known()).expect("a request");
        assert_eq!(result.url, "https://a.example/x?k=a%22b%26c%20d&l=a%22b%26c%20d");
        assert_eq!(result.headers.get(1).map(|it| it.1.as_str()), Some("Bearer a\"b&c d"));
        assert_eq!(result.body.as_deref(), Some("{\"k\":\"a\\\"b&c d\"}"));
        assert!(result.secrets.is_empty() && result.sign.is_none());
    }

    #[test]
    fn text_that_only_looks_like_a_marker_stays() {
        let result = opened(&request("[secret:KEY] [secret:KEY]", "text/plain", &["body 13 KEY"]), &known()).expect("a request");
        assert_eq!(result.body.as_deref(), Some("[secret:KEY] a\"b&c d"));
    }

    #[test]
    fn the_body_is_signed_as_it_is_sent() {
        // RFC 4231 has no case with this key: it is the widely printed one of HMAC-SHA-256.
        let text = "The quick brown fox jumps over the lazy dog";
        let result = opened(&request(text, "text/plain", &[]), &known()).expect("a request");
        let expected = "sha256=f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8";
        assert_eq!(result.headers.last().map(|it| it.1.as_str()), Some(expected));
    }

    #[test]
    fn what_is_not_stored_is_named() {
        let refused = |secrets: &[&str]| opened(&request("", "text/plain", secrets), &known()).map(|_| ()).expect_err("an error").kind;
        assert_eq!(refused(&["1 7 OTHER"]), EffectErrorKind::NotFound);
        for place in ["1 8 KEY", "9 0 KEY", "body 0 KEY", "url x KEY", ""] {
            assert_eq!(refused(&[place]), EffectErrorKind::Invalid, "{place}");
        }
    }
}
