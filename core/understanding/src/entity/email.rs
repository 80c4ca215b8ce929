//! `@email`: email addresses.

use std::ops::Range;

use convengine_text::phrase::is_unspaced;

use super::scanner::is_accent;

/// Maximum characters of an address.
const MAX_CHARS: usize = 254;

/// Returns the addresses of a text with their places.
pub(super) fn find_all(text: &str) -> impl Iterator<Item = (String, Range<usize>)> {
    text.match_indices('@').filter_map(move |(at, _)| {
        let local = local_part(text.get(..at)?)?;
        let domain = domain_part(text.get(at + 1..)?)?;
        let address = [local, "@", &domain.to_lowercase()].concat();
        (address.chars().count() <= MAX_CHARS).then_some((address, at - local.len()..at + 1 + domain.len()))
    })
}

/// Returns the local part at the end of a text.
fn local_part(text: &str) -> Option<&str> {
    let end = |part: fn(char) -> bool| text.get(text.trim_end_matches(part).len()..).filter(|tail| !tail.is_empty());
    // In scripts without spaces, words may precede the address directly.
    let local = end(|character| is_local_char(character) && !is_unspaced(character)).or_else(|| end(is_local_char))?;
    let local = local.trim_start_matches(|character: char| !character.is_alphanumeric() && character != '_');
    (!local.is_empty() && !local.ends_with('.') && !local.contains("..")).then_some(local)
}

fn is_local_char(character: char) -> bool {
    character.is_alphanumeric() || is_accent(character) || ".!#$%&'*+/=?^_{|}~-".contains(character)
}

/// Returns the domain at the start of a text.
fn domain_part(text: &str) -> Option<&str> {
    let end = text
        .find(|character: char| !character.is_alphanumeric() && !is_accent(character) && character != '-' && character != '.')
        .unwrap_or(text.len());
    let domain = text.get(..end)?.trim_end_matches(['.', '-']);
    let is_next_to_another = text.get(end..)?.starts_with(['@', '_']);
    // Excludes IP addresses.
    let has_letters = top_level_domain(domain)?.contains(char::is_alphabetic);
    (has_letters && !is_next_to_another).then_some(domain)
}

/// Returns the last label of a domain with at least two labels.
pub(super) fn top_level_domain(domain: &str) -> Option<&str> {
    let is_label = |label: &str| (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-');
    domain.rsplit_once('.').map(|it| it.1).filter(|_| domain.split('.').all(is_label))
}

#[cfg(test)]
mod tests {
    use super::find_all;

    /// The first value, and whether it is the whole text.
    fn find(text: &str) -> Option<(String, bool)> {
        find_all(text).next().map(|found| (found.0, found.1 == (0..text.len())))
    }

    #[test]
    fn addresses_are_found() {
        for (text, expected, whole) in [
            ("bob@example.com", "bob@example.com", true),
            ("Bob.Smith+x@Mail.EXAMPLE.co.uk", "Bob.Smith+x@mail.example.co.uk", true),
            ("it is bob@example.com.", "bob@example.com", false),
            ("(bob@example.com)", "bob@example.com", false),
            ("<bob@example.com>, thanks", "bob@example.com", false),
            ("'bob@example.com'", "bob@example.com", false),
            ("mailto:bob@example.com", "bob@example.com", false),
            ("o'neil@x.ie", "o'neil@x.ie", true),
            ("me @ home, me@home.de!", "me@home.de", false),
            ("a@b and c@d.org", "c@d.org", false),
            ("_x@y.io", "_x@y.io", true),
            ("a@bücher.de", "a@bücher.de", true),
            ("a@b-c.de-", "a@b-c.de", false),
            ("...a@b.de...", "a@b.de", false),
            ("a@b.xn--p1ai", "a@b.xn--p1ai", true),
            ("é@b.com", "é@b.com", true),
            ("e\u{301}a@b.com", "e\u{301}a@b.com", true),
            ("mail a@b.c", "a@b.c", false),
            ("почта@пример.рф", "почта@пример.рф", true),
            ("我的邮箱是a@b.com", "a@b.com", false),
            ("用户@b.com", "用户@b.com", true),
        ] {
            assert_eq!(find(text), Some((expected.to_owned(), whole)), "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_addresses() {
        for text in [
            "",
            "@",
            "bob",
            "bob@",
            "@example.com",
            "bob@example",
            "bob@1.2.3.4",
            "a..b@c.de",
            "a.@c.de",
            "a@b..de",
            "a@-b.de",
            "a@b.de@c",
            "jürgén@",
            "bob at example.com",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
        assert_eq!(find(&("é".repeat(249) + "@b.de")).map(|it| it.1), Some(true));
        assert_eq!(find(&("a".repeat(250) + "@b.de")), None);
        assert_eq!(find(&("a@".to_owned() + &"abc.".repeat(64) + "de")), None);
    }
}
