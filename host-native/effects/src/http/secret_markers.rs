//! Replaces secret markers in requests and signs bodies. (docs/spec/flows.md#2.6, docs/spec/flows.md#4.6)

use std::collections::BTreeMap;

use convengine_core::turn::{EffectError, EffectErrorKind, HttpRequest};
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::Sha256;

use convengine_host_base::hex::to_hex;
use convengine_settings::secrets::Secrets;

/// How a part of a request encodes an inserted value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    /// Percent-encoded, for URLs and forms.
    Percent,
    /// Unchanged.
    Plain,
    /// Escaped for a JSON string.
    Json,
}

/// Returns the request with its secret markers replaced and its signature added.
///
/// # Errors
/// `NotFound` for a secret that is not stored, `Invalid` for a marker that is not at its declared position.
pub fn replace_markers(request: &HttpRequest, secrets: &Secrets) -> Result<HttpRequest, EffectError> {
    let mut request = request.clone();
    let mut places: BTreeMap<(&str, usize), &str> = BTreeMap::new();
    let markers = std::mem::take(&mut request.secrets);
    for entry in &markers {
        let mut words = entry.splitn(3, ' ');
        let at = (words.next(), words.next().and_then(|word| word.parse().ok()), words.next());
        let (Some(part), Some(at), Some(name)) = at else { return Err(misplaced_marker()) };
        places.insert((part, at), name);
    }
    // Backwards, so that the positions of earlier markers stay valid.
    for ((part, at), name) in places.into_iter().rev() {
        let value = secret_value(secrets, name)?;
        match part {
            "url" => replace_marker(&mut request.url, at, name, &value, Encoding::Percent)?,
            "body" | "json" | "form" => {
                replace_marker(request.body.as_mut().ok_or_else(misplaced_marker)?, at, name, &value, body_encoding(part))?
            }
            header => {
                let header = header.parse().ok().and_then(|it: usize| request.headers.get_mut(it)).ok_or_else(misplaced_marker)?;
                replace_marker(&mut header.1, at, name, &value, Encoding::Plain)?;
            }
        }
    }
    if let Some(sign) = request.sign.take()
        && !(sign.optional && secrets.get(&sign.secret).is_none())
    {
        let signature = compute_signature(&secret_value(secrets, &sign.secret)?, request.body.as_deref().unwrap_or_default());
        request.headers.retain(|it| !it.0.eq_ignore_ascii_case(&sign.header));
        request.headers.push((sign.header, format!("{}{signature}", sign.prefix)));
    }
    Ok(request)
}

/// Returns the HMAC-SHA-256 of a body in hexadecimal.
fn compute_signature(secret: &str, body: &str) -> String {
    // HMAC accepts keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(body.as_bytes());
    to_hex(&mac.finalize().into_bytes())
}

fn secret_value(secrets: &Secrets, name: &str) -> Result<String, EffectError> {
    let missing = || EffectError::new(EffectErrorKind::NotFound, format!("the secret '{name}' is not stored: store it at /v1/secrets"));
    secrets.get(name).ok_or_else(missing)
}

fn replace_marker(text: &mut String, at: usize, name: &str, value: &str, spelling: Encoding) -> Result<(), EffectError> {
    let marker = format!("[secret:{name}]");
    if !text.get(at..).is_some_and(|it| it.starts_with(&marker)) {
        return Err(misplaced_marker());
    }
    let value = match spelling {
        Encoding::Percent => utf8_percent_encode(value, NON_ALPHANUMERIC).to_string(),
        Encoding::Plain => value.to_owned(),
        Encoding::Json => {
            let quoted = serde_json::Value::from(value).to_string();
            quoted.trim_start_matches('"').strip_suffix('"').unwrap_or_default().to_owned()
        }
    };
    text.replace_range(at..at + marker.len(), &value);
    Ok(())
}

/// Returns the encoding of a body part, regardless of its content type.
fn body_encoding(part: &str) -> Encoding {
    match part {
        "json" => Encoding::Json,
        "form" => Encoding::Percent,
        _ => Encoding::Plain,
    }
}

fn misplaced_marker() -> EffectError {
    EffectError::new(EffectErrorKind::Invalid, "a secret of the request is not at its declared position")
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

    fn test_secrets() -> Secrets {
        let mut secrets = Secrets::default();
        secrets.add("KEY", "a\"b&c d");
        secrets.add("SIGN", "key");
        secrets
    }

    #[test]
    fn each_part_has_its_own_encoding() {
        let places = ["url 22 KEY", "url 37 KEY", "1 7 KEY", "json 6 KEY"];
        let result =
            replace_markers(&request("{\"k\":\"[secret:KEY]\"}", "application/json", &places), &test_secrets()).expect("a request");
        assert_eq!(result.url, "https://a.example/x?k=a%22b%26c%20d&l=a%22b%26c%20d");
        assert_eq!(result.headers.get(1).map(|it| it.1.as_str()), Some("Bearer a\"b&c d"));
        assert_eq!(result.body.as_deref(), Some("{\"k\":\"a\\\"b&c d\"}"));
        assert!(result.secrets.is_empty() && result.sign.is_none());
    }

    #[test]
    fn undeclared_markers_are_unchanged() {
        let result =
            replace_markers(&request("[secret:KEY] [secret:KEY]", "text/plain", &["body 13 KEY"]), &test_secrets()).expect("a request");
        assert_eq!(result.body.as_deref(), Some("[secret:KEY] a\"b&c d"));
    }

    #[test]
    fn the_body_is_signed_as_it_is_sent() {
        // RFC 4231 has no case with this key: it is the widely printed one of HMAC-SHA-256.
        let text = "The quick brown fox jumps over the lazy dog";
        let result = replace_markers(&request(text, "text/plain", &[]), &test_secrets()).expect("a request");
        let expected = "sha256=f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8";
        assert_eq!(result.headers.last().map(|it| it.1.as_str()), Some(expected));
    }

    #[test]
    fn unknown_secrets_and_misplaced_markers_are_errors() {
        let refused = |secrets: &[&str]| {
            replace_markers(&request("", "text/plain", secrets), &test_secrets()).map(|_| ()).expect_err("an error").kind
        };
        assert_eq!(refused(&["1 7 OTHER"]), EffectErrorKind::NotFound);
        for place in ["1 8 KEY", "9 0 KEY", "body 0 KEY", "url x KEY", ""] {
            assert_eq!(refused(&[place]), EffectErrorKind::Invalid, "{place}");
        }
    }
}
