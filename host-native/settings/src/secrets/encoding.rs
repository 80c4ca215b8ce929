//! The encodings in which a secret may appear in a response.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// The characters to escape in URL components. (RFC 3986)
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Lowercases the hexadecimal digits of percent-encoding.
fn lowercase_hex(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut text, part| {
        let (hex, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        text.push('%');
        text.push_str(&hex.to_lowercase());
        text.push_str(rest);
        text
    })
}

/// Returns the Base64 characters that depend on the value alone, if it has `before` bytes before it in its group of three.
fn base64_infix(value: &str, before: usize, engine: &impl Engine) -> Option<String> {
    let mut bytes = vec![0; before];
    bytes.extend(value.as_bytes());
    let end = bytes.len() * 8 / 6;
    let encoded = engine.encode(bytes);
    let infix = encoded.get((before * 8).div_ceil(6)..end)?;
    (infix.len() >= MIN_INFIX_CHARS).then(|| infix.to_owned())
}

/// Minimum length of a partial encoding in characters; shorter ones would match unrelated text.
const MIN_INFIX_CHARS: usize = 8;

/// Returns the encodings in which a service may echo a value.
pub fn encodings(value: &str) -> Vec<String> {
    let json = Value::from(value).to_string();
    let json = json.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(value);
    let percent = utf8_percent_encode(value, NON_ALPHANUMERIC).to_string();
    let address = utf8_percent_encode(value, RESERVED).to_string();
    let page = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let mut all = vec![
        value.to_owned(),
        json.to_owned(),
        // Some encoders escape JSON for embedding in HTML.
        json.replace('/', "\\/"),
        json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e"),
        lowercase_hex(&percent),
        lowercase_hex(&address),
        // Forms encode a space as a plus.
        address.replace("%20", "+"),
        percent,
        address,
        page.replace('\'', "&#39;"),
        page.replace('\'', "&#x27;"),
        page.replace('\'', "&#039;"),
        page,
        STANDARD.encode(value),
        URL_SAFE_NO_PAD.encode(value),
    ];
    // As part of a longer encoded text, such as a whole header.
    for before in 0..3 {
        all.extend([base64_infix(value, before, &STANDARD_NO_PAD), base64_infix(value, before, &URL_SAFE_NO_PAD)].into_iter().flatten());
    }
    all.sort();
    all.dedup();
    all
}
