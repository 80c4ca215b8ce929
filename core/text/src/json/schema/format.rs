//! Formats of strings.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::date::{Date, parse_duration_seconds};

/// Whether a text has a format; a format that is not known has every text. Offsets of times may be missing, as people leave them out.
pub(super) fn has_format(format: &str, text: &str) -> bool {
    match format {
        "date" => text.len() == 10 && Date::parse(text).is_some(),
        "date-time" => text.len() > 10 && text.trim() == text && Date::parse(text).is_some(),
        "time" => !text.contains(char::is_whitespace) && Date::parse(&format!("1970-01-01T{text}")).is_some(),
        "duration" => text.len() > 2 && !text.ends_with('T') && parse_duration_seconds(text).is_some(),
        "email" => text.rsplit_once('@').is_some_and(|(name, domain)| is_mailbox(name) && domain.contains('.') && is_host_name(domain)),
        "hostname" => is_host_name(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "uri" | "iri" => is_uri(text),
        "uuid" => is_uuid(text),
        _ => true,
    }
}

fn is_mailbox(name: &str) -> bool {
    let is_allowed = |c: char| c.is_alphanumeric() || ".!#$%&'*+/=?^_`{|}~-".contains(c);
    let has_lone_dots = !name.starts_with('.') && !name.ends_with('.') && !name.contains("..");
    !name.is_empty() && name.len() <= 64 && has_lone_dots && name.chars().all(is_allowed)
}

fn is_host_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let ends = !label.starts_with('-') && !label.ends_with('-');
        (1..=63).contains(&label.len()) && ends && label.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || ['+', '-', '.'].contains(&c));
    let is_forbidden = |c: char| c.is_whitespace() || c.is_control() || "<>\"{}|\\^`".contains(c);
    is_scheme && !rest.trim_start_matches('/').is_empty() && !rest.contains(is_forbidden)
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::has_format;

    #[test]
    fn formats_tell_valid_texts_from_others() {
        for (format, valid, invalid) in [
            ("date", &["2026-02-28"][..], &["2026-02-30", "28.02.2026", "2026-02-28T10:00:00Z", "tomorrow", ""][..]),
            (
                "date-time",
                &["2026-02-28T10:00:00Z", "2026-02-28T10:00:00.5+02:00", "2026-02-28T10:00"],
                &["2026-02-28", "2026-02-28T25:00:00Z"],
            ),
            ("time", &["10:00", "10:00:30Z"], &["24:00", "ten", ""]),
            ("duration", &["P1D", "PT90M"], &["P", "PT", "90 minutes", "P1DT"]),
            (
                "email",
                &["a.b+c@example.com"],
                &["a@b", "a b@example.com", "@example.com", "a@example..com", ".a@example.com", "a@-x.com", "a"],
            ),
            ("hostname", &["example.com", "localhost"], &["a_b", "-a.com", "a..b", ""]),
            ("ipv4", &["10.0.0.1"], &["10.0.0", "10.0.0.256", "010.0.0.1"]),
            ("ipv6", &["::1"], &["1", "10.0.0.1"]),
            ("uri", &["https://example.com/a?b=c", "mailto:a@example.com"], &["example.com", "https://", "https://a b", ":x"]),
            ("uuid", &["6BA7b810-9dad-11d1-80b4-00c04fd430c8"], &["6ba7b810", "6ba7b810-9dad-11d1-80b4-00c04fd430cg"]),
            ("colour", &["anything"], &[]),
        ] {
            assert!(valid.iter().all(|it| has_format(format, it)), "{format}");
            for text in invalid {
                assert!(!has_format(format, text), "{format} {text}");
            }
        }
    }
}
