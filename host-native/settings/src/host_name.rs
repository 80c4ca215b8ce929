//! The host that a request names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The host of a request: an address, or a name in lower case without a trailing dot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostName {
    /// An IP address; never an IPv4 address in IPv6 form.
    Address(IpAddr),
    /// A name.
    Name(String),
}

/// Parses `HOST` or `HOST:PORT`. Returns `None` for anything else, such as user information or an address in a form that browsers never send.
pub fn parse_host(text: &str) -> Option<(HostName, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, rest) = rest.split_once(']')?;
            let address = IpAddr::V6(address.parse::<Ipv6Addr>().ok()?).to_canonical();
            (HostName::Address(address), rest)
        }
        None => {
            let (name, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
            (parse_name(name)?, rest)
        }
    };
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => None,
        Some("") => None,
        Some(digits) if digits.bytes().all(|it| it.is_ascii_digit()) => Some(digits.parse().ok().filter(|it| *it > 0)?),
        _ => return None,
    };
    Some((host, port))
}

fn parse_name(name: &str) -> Option<HostName> {
    if let Ok(address) = name.parse::<Ipv4Addr>() {
        return Some(HostName::Address(address.into()));
    }
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    let is_label =
        |label: &str| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    // A name that ends in a number is an IPv4 address in another notation.
    let is_number = name.rsplit('.').next().is_none_or(|label| label.starts_with("0x") || label.bytes().all(|byte| byte.is_ascii_digit()));
    (name.len() <= 253 && name.split('.').all(is_label) && !is_number).then_some(HostName::Name(name))
}
