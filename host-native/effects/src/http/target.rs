//! The network policy of HTTP calls: http and https only, and private networks only if listed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use convengine_core::turn::{EffectError, EffectErrorKind};
use ipnet::{Ipv4Net, Ipv6Net};
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use convengine_settings::NetworkSettings;
use convengine_settings::network::strip_trailing_dot;

/// Checks a URL without resolving its host.
///
/// # Errors
/// `Denied` for another scheme, credentials in the URL, or a private host that is not listed.
pub fn check(url: &Url, network: &NetworkSettings) -> Result<(), EffectError> {
    let denied = |message: &str| Err(EffectError::new(EffectErrorKind::Denied, message));
    if !["http", "https"].contains(&url.scheme()) {
        return denied("the address must start with http:// or https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return denied("the address has a user or password in it: use a header with a secret of convengine.secrets");
    }
    let (host, port) = (host(url), port(url));
    let fine = match parse_ip(url) {
        Some(address) => is_allowed(host, address, port, network),
        // Local names need no lookup if no loopback address is listed.
        None => !is_local(host) || LOOPBACK.iter().any(|it| network.is_allowed(host, *it, port)),
    };
    if fine { Ok(()) } else { Err(PrivateHost(host.to_owned()).into()) }
}

/// Returns the host of a URL, for messages.
pub fn host(url: &Url) -> &str {
    url.host_str().unwrap_or_default()
}

/// Returns the port of a URL.
pub fn port(url: &Url) -> u16 {
    url.port_or_known_default().unwrap_or_default()
}

/// Resolves names for calls of one port and refuses those with a forbidden address. The connector uses these addresses, so a name cannot
/// resolve differently between check and use (DNS rebinding).
pub struct CheckedResolver {
    /// The underlying resolver.
    pub resolver: Arc<dyn Resolve>,
    /// The allowed private networks.
    pub network: Arc<NetworkSettings>,
    /// The port that is called.
    pub port: u16,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let (network, port, found) = (Arc::clone(&self.network), self.port, self.resolver.resolve(name));
        Box::pin(async move {
            let found: Vec<_> = found.await.map_err(ResolveError)?.collect();
            // One private address among public ones is a typical attack.
            if found.iter().all(|address| is_allowed(&host, address.ip(), port, &network)) {
                Ok(Box::new(found.into_iter()) as Addrs)
            } else {
                Err(PrivateHost(host).into())
            }
        })
    }
}

/// The failure of resolving a name.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ResolveError(pub Box<dyn std::error::Error + Send + Sync>);

/// A host in a private network that is not listed.
#[derive(Debug, thiserror::Error)]
#[error("the host '{0}' is in a private network: list it in convengine.network.allow-private if it may be called")]
pub struct PrivateHost(pub String);

impl From<PrivateHost> for EffectError {
    fn from(refused: PrivateHost) -> Self {
        EffectError::new(EffectErrorKind::Denied, refused.to_string())
    }
}

/// Returns the IP address if the host is one; the URL parser has normalized its spelling.
fn parse_ip(url: &Url) -> Option<IpAddr> {
    host(url).trim_matches(['[', ']']).parse().ok()
}

fn is_allowed(host: &str, address: IpAddr, port: u16, network: &NetworkSettings) -> bool {
    !(is_local(host) || is_private(address)) || network.is_allowed(host, address, port)
}

/// Returns whether a name is one of localhost, whatever it resolves to.
fn is_local(host: &str) -> bool {
    let host = strip_trailing_dot(host);
    host.eq_ignore_ascii_case("localhost") || host.to_ascii_lowercase().ends_with(".localhost")
}

fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => PRIVATE_V4.iter().any(|it| it.contains(&address)),
        IpAddr::V6(address) => match embedded_ipv4(address) {
            Some(address) => is_private(address.into()),
            None => !PUBLIC_V6.contains(&address) || PRIVATE_V6.iter().any(|it| it.contains(&address)),
        },
    }
}

/// Returns the IPv4 address embedded for NAT64 (RFC 6052) or 6to4 (RFC 3056).
fn embedded_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
        }
        _ => None,
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(first: u16, second: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0), prefix)
}

const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// Non-public networks from the registry of special-purpose IPv4 addresses (RFC 6890 and later).
const PRIVATE_V4: [Ipv4Net; 15] = [
    v4(0, 0, 0, 0, 8),
    v4(10, 0, 0, 0, 8),
    v4(100, 64, 0, 0, 10),
    v4(127, 0, 0, 0, 8),
    v4(169, 254, 0, 0, 16),
    v4(172, 16, 0, 0, 12),
    v4(192, 0, 0, 0, 24),
    v4(192, 0, 2, 0, 24),
    v4(192, 88, 99, 0, 24),
    v4(192, 168, 0, 0, 16),
    v4(198, 18, 0, 0, 15),
    v4(198, 51, 100, 0, 24),
    v4(203, 0, 113, 0, 24),
    v4(224, 0, 0, 0, 4),
    v4(240, 0, 0, 0, 4),
];

/// Global unicast; everything else is loopback, local, multicast or reserved.
const PUBLIC_V6: Ipv6Net = v6(0x2000, 0, 3);

/// The networks within it for protocols, tunnels and documentation.
const PRIVATE_V6: [Ipv6Net; 3] = [v6(0x2001, 0, 23), v6(0x2001, 0xdb8, 32), v6(0x3fff, 0, 20)];

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(url: &str) -> Option<String> {
        let error = check(&Url::parse(url).unwrap(), &NetworkSettings::default()).err()?;
        assert_eq!(error.kind, EffectErrorKind::Denied);
        Some(error.message)
    }

    #[test]
    fn a_private_address_is_refused_in_every_notation() {
        for loopback in [
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
        ] {
            let message = denied(&format!("http://{loopback}:8080/x?token=t")).unwrap_or_else(|| panic!("{loopback}"));
            assert_eq!(
                message,
                "the host '127.0.0.1' is in a private network: list it in convengine.network.allow-private if it may be called"
            );
        }
        for private in [
            "0.0.0.0",
            "0",
            "10.255.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.170",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "[::]",
            "[::1]",
            "[::ffff:10.0.0.1]",
            "[::ffff:7f00:1]",
            "[::10.0.0.1]",
            "[64:ff9b::10.0.0.1]",
            "[64:ff9b::a9fe:a9fe]",
            "[64:ff9b:1::8.8.8.8]",
            "[2002:0a00:0001::1]",
            "[2002:7f00:1::]",
            "[fc00::1]",
            "[fdff::1]",
            "[fe80::1]",
            "[febf::1]",
            "[fec0::1]",
            "[ff02::1]",
            "[2001::1]",
            "[2001:db8::1]",
            "[3fff::1]",
            "[5f00::1]",
            "[100::1]",
        ] {
            assert!(denied(&format!("http://{private}/")).is_some(), "{private}");
        }
    }

    #[test]
    fn public_addresses_and_names_pass() {
        for public in [
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "223.255.255.255",
            "[2600::1]",
            "[2a00::1]",
            "[::ffff:8.8.8.8]",
            "[64:ff9b::8.8.8.8]",
            "[2002:808:808::1]",
            "example.org",
            "localhost.example.org",
        ] {
            assert_eq!(denied(&format!("https://{public}/")), None, "{public}");
        }
    }

    #[test]
    fn only_http_without_a_user_passes() {
        for url in ["ftp://example.org/", "file:///etc/passwd", "data:,x", "http://user@example.org/", "https://:password@example.org/"] {
            let message = denied(url).unwrap_or_else(|| panic!("{url}"));
            assert!(!message.contains("password@") && !message.contains("passwd"), "{message}");
        }
    }

    #[test]
    fn localhost_names_are_private_whatever_they_resolve_to() {
        let public = IpAddr::from([8, 8, 8, 8]);
        for name in ["localhost", "LOCALHOST", "localhost.", "a.localhost", "a.b.localhost."] {
            assert!(!is_allowed(name, public, 80, &NetworkSettings::default()), "{name}");
        }
        assert!(is_allowed("notlocalhost", public, 80, &NetworkSettings::default()));
    }
}
