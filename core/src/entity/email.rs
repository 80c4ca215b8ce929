//! `@email`: an address in a text.

/// The longest address.
const MOST: usize = 254;

/// The first address of a text with its domain in small letters, and whether it is all of the text.
pub(super) fn find(text: &str) -> Option<(String, bool)> {
    text.match_indices('@').find_map(|(at, _)| {
        let local = local(text.get(..at)?)?;
        let domain = domain(text.get(at + 1..)?)?;
        let whole = text.len() == local.len() + 1 + domain.len();
        let address = [local, "@", &domain.to_lowercase()].concat();
        (address.len() <= MOST).then_some((address, whole))
    })
}

/// What a text ends with.
fn local(text: &str) -> Option<&str> {
    let part = |it: char| it.is_ascii_alphanumeric() || ".!#$%&'*+/=?^_{|}~-".contains(it);
    let start = text.len() - text.chars().rev().take_while(|it| part(*it)).count();
    // Letters of other scripts may not be cut off.
    if text.get(..start)?.ends_with(char::is_alphanumeric) {
        return None;
    }
    let local = text.get(start..)?.trim_start_matches(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    (!local.is_empty() && local.len() <= 64 && !local.ends_with('.') && !local.contains("..")).then_some(local)
}

/// What a text begins with.
fn domain(text: &str) -> Option<&str> {
    let end = text.find(|it: char| !it.is_alphanumeric() && it != '-' && it != '.').unwrap_or(text.len());
    let domain = text.get(..end)?.trim_end_matches(['.', '-']);
    let is_next_to_another = text.get(end..)?.starts_with(['@', '_']);
    (is_domain(domain) && !is_next_to_another).then_some(domain)
}

/// Whether a text is a domain with an ending of letters.
pub(super) fn is_domain(text: &str) -> bool {
    let label = |it: &str| (1..=63).contains(&it.len()) && !it.starts_with('-') && !it.ends_with('-');
    let Some((name, ending)) = text.rsplit_once('.') else { return false };
    name.split('.').all(label) && (2..=24).contains(&ending.chars().count()) && ending.chars().all(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::find;

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
        ] {
            assert_eq!(find(text), Some((expected.to_owned(), whole)), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_not_one() {
        for text in [
            "",
            "@",
            "bob",
            "bob@",
            "@example.com",
            "bob@example",
            "bob@example.c",
            "bob@1.2.3.4",
            "a..b@c.de",
            "a.@c.de",
            "a@b..de",
            "a@-b.de",
            "a@b.de@c",
            "jürgén@",
            "éa@b.de",
            "bob at example.com",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
        assert_eq!(find(&("a".repeat(65) + "@b.de")), None);
        assert_eq!(find(&("a@".to_owned() + &"abc.".repeat(64) + "de")), None);
    }
}
