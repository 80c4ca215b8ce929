//! Values in URLs: each is one segment of the path or one value of the query.

/// Percent-encodes everything but the unreserved characters of RFC 3986.
pub fn percent_encode(text: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            let halves = [byte >> 4, byte & 15];
            out.extend(halves.iter().filter_map(|half| DIGITS.get(usize::from(*half))).copied().map(char::from));
        }
    }
    out
}

/// Percent-encodes a text for a form body, with a plus for a space.
pub fn encode_form(text: &str) -> String {
    percent_encode(text).replace("%20", "+")
}

/// Whether a segment of a path would name another resource than the one of its place: a blank segment, or one that stands for this or the
/// upper folder, encoded or not.
pub fn is_unsafe_segment(segment: &str) -> bool {
    let decoded = percent_decode(segment);
    ["", ".", ".."].contains(&String::from_utf8_lossy(&decoded).trim())
}

/// Decodes what is percent-encoded; a percent sign without two digits stands for itself.
pub fn percent_decode(text: &str) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let digits = more.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { more.get(2..).unwrap_or_default() } else { more };
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_that_lead_elsewhere_are_unsafe() {
        for text in ["", " ", ".", "..", "%2e%2E", ".%2e", "%20..%20", "%20"] {
            assert!(is_unsafe_segment(text), "{text}");
        }
        for text in ["a", "...", "..a", "%252e%252e", "%zz", "-"] {
            assert!(!is_unsafe_segment(text), "{text}");
        }
        assert_eq!(percent_encode("PX 77&/ü"), "PX%2077%26%2F%C3%BC");
    }
}
