//! Checks the targets of requests, as far as they are literal. (V003)
//!
//! The host checks again when it connects, after DNS resolution, and rejects at least the same targets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use convengine_config::flow::DocumentIssue;
use convengine_turn::STUB_ADDRESS;

use super::PublishTarget;
use super::context::FlowContext;
use super::source_text::TextKind;

/// Suffixes of private host names.
const LOCAL_SUFFIXES: [&str; 3] = ["localhost", "local", "internal"];

/// Private and reserved address ranges: the first address and the prefix length.
const PRIVATE_V4_RANGES: [([u8; 4], u32); 15] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    for (location, text) in context.all_texts() {
        if text.kind != TextKind::Url && location.path != "/settings/handoff_webhook_url" {
            continue;
        }
        if let Err(reason) = check_target(text.source, context.target) {
            let fix = fix_target(text.source, "write out a public host over http or https");
            findings.push(location.error("V003", reason).with_fix(fix));
        }
    }
}

/// Says what to do about a target that must not be called; `public` says how to call a public one.
pub(super) fn fix_target(url: &str, public: &str) -> String {
    if url.trim().starts_with(STUB_ADDRESS) {
        return "write the address of the service before you publish; for tests alone, give the pack an 'http'".to_owned();
    }
    format!("{public}, or add a private one to convengine.network.allow-private")
}

/// Checks that a URL has an allowed target; parts that templates fill in are not checked.
pub(super) fn check_target(url: &str, target: &PublishTarget<'_>) -> Result<(), String> {
    let url = url.trim();
    match url.strip_prefix(STUB_ADDRESS) {
        // The player puts the address of its service in its place.
        Some(rest) if target.has_stub => check_literal(&format!("http://stub.example{rest}"), target.allowed_targets),
        Some(_) => Err(format!("'{url}' calls the fake service of a pack, which is for tests")),
        None => check_literal(url, target.allowed_targets),
    }
}

fn check_literal(url: &str, allowed: &[String]) -> Result<(), String> {
    let literal = url.split("{{").next().unwrap_or_default();
    let is_whole = literal.len() == url.len();
    let Some((scheme, rest)) = literal.split_once("://") else {
        // A template fills in the beginning of the URL.
        let is_open = !is_whole && !literal.contains(':') && (literal.is_empty() || "https".starts_with(literal));
        return if is_open { Ok(()) } else { Err(format!("'{url}' is not an http or https URL")) };
    };
    let is_secure = scheme.eq_ignore_ascii_case("https");
    if !is_secure && !scheme.eq_ignore_ascii_case("http") {
        return Err(format!("unsupported scheme '{scheme}': only http and https are allowed"));
    }
    let end = rest.find(['/', '\\', '?', '#']);
    let authority = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    if authority.contains('@') {
        return Err("the URL contains a user name or password".to_owned());
    }
    let (host, port) = split_authority(authority);
    if end.is_none() && !is_whole {
        // A secret is the author's own.
        let placeholder = url.get(literal.len() + 2..).unwrap_or_default().trim_start();
        let reason = "a value must not choose the host or port of a URL";
        return if placeholder.starts_with("secret") { Ok(()) } else { Err(reason.to_owned()) };
    }
    let host = normalize_host(host);
    if host.is_empty() {
        return Err(format!("'{url}' has no host"));
    }
    let port = port.filter(|it| !it.is_empty()).unwrap_or(if is_secure { "443" } else { "80" });
    let is_allowed = |entry: &String| {
        entry.eq_ignore_ascii_case(&host) || entry.eq_ignore_ascii_case(&format!("{host}:{port}")) || is_in_network(&host, entry)
    };
    if !is_local(&host) || allowed.iter().any(is_allowed) {
        return Ok(());
    }
    Err(format!("the host '{host}' is private"))
}

/// Splits an authority into host and port.
fn split_authority(authority: &str) -> (&str, Option<&str>) {
    let bracket = authority.find(']').map_or(0, |it| it + 1);
    match authority.get(bracket..).and_then(|it| it.find(':')) {
        Some(at) => (authority.get(..bracket + at).unwrap_or_default(), authority.get(bracket + at + 1..)),
        None => (authority, None),
    }
}

/// Normalizes a host: percent-decoded, in lower case, without a trailing dot.
fn normalize_host(host: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = host.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let encoded = more.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match encoded.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = more.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    // Full-width digits and the ideographic full stop are equivalent to ASCII ones.
    let folded = convengine_text::phrase::fold_text(&String::from_utf8_lossy(&bytes).replace('\u{3002}', "."));
    folded.trim_end_matches('.').to_owned()
}

fn is_local(host: &str) -> bool {
    let is_name = LOCAL_SUFFIXES.iter().any(|suffix| host.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    is_name || parse_address(host).is_some_and(is_private)
}

/// Whether a host is an address of a network such as `10.1.0.0/16`.
fn is_in_network(host: &str, network: &str) -> bool {
    let Some((start, bits)) = network.split_once('/') else { return false };
    let Ok(bits) = bits.parse::<u32>() else { return false };
    match (start.parse::<IpAddr>(), parse_address(host).map(|it| it.to_canonical())) {
        (Ok(IpAddr::V4(start)), Some(IpAddr::V4(address))) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or_default();
            address.to_bits() & mask == start.to_bits() & mask
        }
        (Ok(IpAddr::V6(start)), Some(IpAddr::V6(address))) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or_default();
            address.to_bits() & mask == start.to_bits() & mask
        }
        _ => false,
    }
}

/// Parses an IP address in any notation that browsers and libraries accept.
fn parse_address(host: &str) -> Option<IpAddr> {
    if let Some(inner) = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
        return inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let numbers: Vec<u64> = host.split('.').map(parse_address_part).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    let bits = 32_u32.checked_sub(u32::try_from(first.len()).ok()?.checked_mul(8)?).filter(|it| *it > 0)?;
    if first.iter().any(|it| *it > 255) || u64::from(u32::MAX >> (32 - bits)) < *last {
        return None;
    }
    let high = first.iter().fold(0_u64, |sum, number| sum << 8 | number);
    u32::try_from(high << bits | last).ok().map(|address| IpAddr::V4(Ipv4Addr::from_bits(address)))
}

/// Parses a part of an IPv4 address: decimal, octal with a leading zero, or hexadecimal.
fn parse_address_part(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 16).ok() };
    }
    match text.strip_prefix('0') {
        Some(digits) if !digits.is_empty() => u64::from_str_radix(digits, 8).ok(),
        _ => text.bytes().all(|it| it.is_ascii_digit()).then(|| text.parse().ok()).flatten(),
    }
}

fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => PRIVATE_V4_RANGES.iter().any(|(first, bits)| {
            let mask = u32::MAX << (32 - bits);
            address.to_bits() & mask == u32::from_be_bytes(*first)
        }),
        IpAddr::V6(address) => match address.segments() {
            // NAT64 and 6to4 addresses embed an IPv4 address.
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
                is_private(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)).into())
            }
            // Protocol, tunnel and documentation ranges within global unicast.
            [0x2001, second, ..] => second < 0x200 || second == 0xdb8,
            [0x3fff, second, ..] => second < 0x1000,
            [first, ..] => first & 0xe000 != 0x2000,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_rejected(url: &str) -> bool {
        check_target(url, &PublishTarget::empty()).is_err()
    }

    #[test]
    fn private_targets_are_rejected_in_every_notation() {
        for host in [
            "localhost",
            "LOCALHOST",
            "a.localhost",
            "printer.local",
            "metadata.google.internal",
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "0x7f.0.0.1",
            "127.0.0.1.",
            "%31%32%37.0.0.1",
            "127。0。0。1",
            "①②⑦.0.0.1",
            "0",
            "10.1.2.3",
            "100.64.0.1",
            "169.254.169.254",
            "172.31.255.255",
            "192.168.1.1",
            "224.0.0.1",
            "255.255.255.255",
            "[::1]",
            "[::]",
            "[::ffff:10.0.0.1]",
            "[64:ff9b::a00:1]",
            "[2002:a00:1::]",
            "[fc00::1]",
            "[fe80::1]",
            "[2001:db8::1]",
            "[ff02::1]",
        ] {
            for end in ["", "/", ":8080/x", "/{{ session.x }}", ":{{ session.port }}", "?q={{ x }}"] {
                assert!(is_rejected(&format!("http://{host}{end}")), "{host}{end}");
            }
        }
        for url in ["ftp://example.org", "file:///etc/passwd", "https://user:password@example.org/", "example.org", "", "https:///x"] {
            assert!(is_rejected(url), "{url}");
        }
        for url in [
            "https://{{ session.host }}/x",
            "https://10.{{ session.rest }}",
            "https://example.org:{{ session.port }}/",
            "https://a{{ b }}.example.org/",
        ] {
            assert!(is_rejected(url), "{url}");
        }
    }

    #[test]
    fn public_targets_and_placeholders_pass() {
        for url in [
            "https://example.org",
            "https://example.org:8443/a?b=c",
            "http://8.8.8.8/",
            "http://172.32.0.1",
            "https://[2600::1]/",
            "https://localhost.example.org/",
            "{{ session.base }}/x",
            "https://{{ secret.HOST }}/x",
            "http{{ s }}://x",
            "HTTPS://Example.org",
            "https://1.2.3.4.5/",
        ] {
            assert!(!is_rejected(url), "{url}");
        }
    }

    #[test]
    fn allowed_targets_pass() {
        let allowed = ["127.0.0.1:9090", "crm.local", "10.1.0.0/16", "fd00::/8", "0.0.0.0/33"].map(str::to_owned);
        let target = PublishTarget { allowed_targets: &allowed, ..PublishTarget::empty() };
        for url in ["http://127.0.0.1:9090/x", "http://CRM.local/x", "http://10.1.255.1:8080/", "https://[fd12::1]/"] {
            assert_eq!(check_target(url, &target), Ok(()), "{url}");
        }
        for url in ["http://127.0.0.1/x", "http://127.0.0.1:9091/x", "http://10.2.0.1/", "https://[fe80::1]/"] {
            assert!(check_target(url, &target).is_err(), "{url}");
        }
    }

    #[test]
    fn the_fake_service_is_called_in_packs_that_have_one() {
        let with_stub = PublishTarget { has_stub: true, ..PublishTarget::empty() };
        for url in ["${STUB}", "${STUB}/a?b={{ session.c }}", " ${STUB}/a "] {
            assert_eq!(check_target(url, &with_stub), Ok(()), "{url}");
            assert!(is_rejected(url) && fix_target(url, "").contains("'http'"), "{url}");
        }
        for url in ["${STUBS}/a", "${OTHER}/a", "${STUB}{{ session.host }}/a", "http://10.0.0.1/"] {
            assert!(check_target(url, &with_stub).is_err(), "{url}");
        }
        assert!(fix_target("http://10.0.0.1/", "call a public host").contains("convengine.network.allow-private"));
    }
}
