//! Decodes documents by the character set that they, or who sends them, declare.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::document::UNREADABLE;

/// How far the declaration of a web page is looked for, in bytes.
const MAX_DECLARATION: usize = 1024;

/// Decodes a document. Its byte order mark comes first, then `declared`, the name that its sender gives; then, for a web page, its own
/// declaration; else it is UTF-8. [`UNREADABLE`] stands for what is not of the character set.
///
/// # Errors
/// The reason why the declared character set is not known.
pub fn decode(bytes: &[u8], declared: Option<&str>, is_page: bool) -> Result<String, String> {
    if let Some((encoding, length)) = Encoding::for_bom(bytes) {
        return Ok(decode_as(encoding, bytes.get(length..).unwrap_or_default()));
    }
    if let Some(name) = declared {
        let unknown = || format!("its character set '{name}' is unknown; declare one such as utf-8, windows-1252 or shift_jis");
        return Encoding::for_label(name.as_bytes()).map(|it| decode_as(it, bytes)).ok_or_else(unknown);
    }
    let own = if is_page { declared_by_page(bytes) } else { None };
    let text = decode_as(own.unwrap_or(UTF_8), bytes);
    // Text of another character set, such as UTF-16 without a mark, is full of these.
    Ok(text.replace('\0', UNREADABLE.encode_utf8(&mut [0; 4])))
}

fn decode_as(encoding: &'static Encoding, bytes: &[u8]) -> String {
    encoding.decode_without_bom_handling(bytes).0.into_owned()
}

/// Returns the character set of `<?xml encoding="…"?>`, `<meta charset="…">` or `<meta http-equiv content="…; charset=…">`.
fn declared_by_page(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.get(..MAX_DECLARATION.min(bytes.len()))?;
    let start = String::from_utf8_lossy(start).to_ascii_lowercase();
    let label = match start.trim_start().strip_prefix("<?xml") {
        Some(declaration) => declaration.split("?>").next().and_then(|it| value_of(it, "encoding")).or_else(|| meta_charset(&start)),
        None => meta_charset(&start),
    };
    let encoding = Encoding::for_label(label?.as_bytes())?;
    // The declaration could be read, so that it is not UTF-16.
    Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

fn meta_charset(start: &str) -> Option<&str> {
    let mut rest = start;
    while let Some(at) = rest.find('<') {
        rest = rest.get(at..)?;
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->")?.1;
        } else if let Some(tag) = rest.strip_prefix("<meta") {
            let (attributes, behind) = tag.split_once('>')?;
            if let Some(label) = value_of(attributes, "charset") {
                return Some(label);
            }
            rest = behind;
        } else {
            rest = rest.get(1..)?;
        }
    }
    None
}

/// Returns the value behind `name=`, with or without quotes.
fn value_of<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let value = text.split_once(name)?.1.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let end = value.find(|it: char| it.is_whitespace() || matches!(it, '"' | '\'' | ';' | '/' | '>')).unwrap_or(value.len());
    value.get(..end).filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(bytes: &[u8]) -> String {
        decode(bytes, None, true).expect("a text")
    }

    #[test]
    fn documents_are_decoded_as_declared() {
        for (bytes, declared, expected) in [
            (&b"Gr\xf6\xdfe \x80"[..], Some("windows-1252"), "Größe €"),
            (b"Gr\xf6\xdfe", Some("ISO-8859-1"), "Größe"),
            (b"\xcf\xf0\xe8\xe2\xe5\xf2", Some("windows-1251"), "Привет"),
            (b"\x93\xfa\x96\x7b", Some("Shift_JIS"), "日本"),
            (b"\xc4\xe3\xba\xc3", Some("gb2312"), "你好"),
            (b"\xef\xbb\xbfGr\xc3\xb6\xc3\x9fe", Some("windows-1252"), "Größe"),
            (b"\xff\xfeG\x00r\x00\xf6\x00", None, "Grö"),
            (b"\xfe\xff\x00G\x00r\x00\xf6", None, "Grö"),
            (b"Gr\xc3\xb6\xc3\x9fe", None, "Größe"),
            (b"Gr\xf6\xdfe", None, "Gr\u{fffd}\u{fffd}e"),
            (b"G\x00r\x00", None, "G\u{fffd}r\u{fffd}"),
        ] {
            assert_eq!(decode(bytes, declared, false).as_deref(), Ok(expected), "{bytes:?}");
        }
        let reason = decode(b"x", Some("latin-klingon"), false).expect_err("refused");
        assert_eq!(reason, "its character set 'latin-klingon' is unknown; declare one such as utf-8, windows-1252 or shift_jis");
    }

    #[test]
    fn pages_declare_their_character_set() {
        for declaration in [
            "<meta charset=windows-1252>",
            "<META CharSet = 'latin1' />",
            "<meta name=x content=y><meta http-equiv=\"Content-Type\" content=\"text/html; charset=iso-8859-1\">",
            "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><html>",
            "<!-- <meta charset=utf-8> --><meta charset=\"windows-1252\">",
        ] {
            let bytes = [declaration.as_bytes(), b"<p>Gr\xf6\xdfe"].concat();
            assert!(page(&bytes).ends_with("<p>Größe"), "{declaration}");
        }
        for declaration in ["<meta charset=utf-16>", "<meta charset=unknown>", "<meta charset", "<!-- <meta charset=latin1>", ""] {
            assert!(page(format!("{declaration}<p>Größe").as_bytes()).ends_with("<p>Größe"), "{declaration}");
        }
    }
}
