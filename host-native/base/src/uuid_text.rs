//! UUIDs as clients write them.

/// Parses a UUID of 36 characters and returns it in lower case.
pub fn parse_uuid(text: &str) -> Option<String> {
    let fits = text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    fits.then(|| text.to_ascii_lowercase())
}
