//! The address of a client: that of its connection, or what a trusted proxy reports.

use std::net::{IpAddr, Ipv6Addr};

use axum::http::HeaderMap;
use ipnet::IpNet;

/// The header in which each proxy appends the address that it was called from.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// The address of the client of a request; the gateway adds it to each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientAddress(Option<IpAddr>);

impl ClientAddress {
    /// Finds the address from that of the connection. Headers are read only from proxies of `trusted`: others can invent them.
    pub fn find(peer: Option<IpAddr>, headers: &HeaderMap, trusted: &[IpNet]) -> ClientAddress {
        let Some(peer) = peer.map(|it| it.to_canonical()) else { return ClientAddress(None) };
        let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(&address));
        let mut client = peer;
        let lists: Vec<&str> = headers.get_all(FORWARDED_FOR).iter().map(|value| value.to_str().unwrap_or_default()).collect();
        for entry in lists.join(",").rsplit(',') {
            let reported = entry.trim().parse::<IpAddr>().ok().filter(|_| is_trusted(client));
            let Some(reported) = reported else { break };
            client = reported.to_canonical();
        }
        ClientAddress(Some(client))
    }

    /// The address, or that of the /64 network of an IPv6 address, which is usually one client's.
    pub fn network(self) -> Option<IpAddr> {
        self.0.map(|ip| match ip {
            IpAddr::V4(_) => ip,
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        })
    }

    /// The address as text; empty if it is not known.
    pub fn to_text(self) -> String {
        self.0.map(|it| it.to_string()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn only_trusted_proxies_are_believed() {
        let find = |peer: &str, trusted: &[&str], lists: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for list in lists {
                headers.append(HeaderName::from_static(FORWARDED_FOR), HeaderValue::from_static(list));
            }
            let trusted: Vec<IpNet> = trusted.iter().map(|network| network.parse().unwrap()).collect();
            ClientAddress::find(Some(peer.parse().unwrap()), &headers, &trusted).to_text()
        };
        let proxies = ["127.0.0.1/32", "10.0.0.0/8"];
        for (peer, trusted, lists, client) in [
            ("127.0.0.1", &[][..], &["9.9.9.9"][..], "127.0.0.1"),
            ("8.8.8.8", &proxies[..], &["9.9.9.9"], "8.8.8.8"),
            ("127.0.0.1", &proxies, &[], "127.0.0.1"),
            ("127.0.0.1", &proxies, &["9.9.9.9"], "9.9.9.9"),
            ("::ffff:127.0.0.1", &proxies, &["::ffff:9.9.9.9"], "9.9.9.9"),
            ("127.0.0.1", &proxies, &["1.1.1.1, 9.9.9.9, 10.1.2.3"], "9.9.9.9"),
            ("127.0.0.1", &proxies, &["1.1.1.1", "9.9.9.9"], "9.9.9.9"),
            ("127.0.0.1", &proxies, &["1.1.1.1, evil, 10.1.2.3"], "10.1.2.3"),
            ("127.0.0.1", &proxies, &["2001:db8::1"], "2001:db8::1"),
        ] {
            assert_eq!(find(peer, trusted, lists), client, "{peer} {lists:?}");
        }
        assert_eq!(ClientAddress::find(None, &HeaderMap::new(), &[]).to_text(), "");
    }
}
