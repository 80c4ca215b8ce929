//! The names by which this server may be called: its own address, and `convengine.http.allowed-hosts`.
//!
//! A page of another site can make its own name resolve to this server (DNS rebinding). Its requests then count as same-origin for the
//! browser, but their `Host` names the other site, so that they are refused here.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use convengine_settings::{HostName, parse_host};

use crate::api_error::ApiError;

/// The port of requests that name none: HTTP, or HTTPS at a proxy.
const DEFAULT_PORTS: [u16; 2] = [80, 443];

/// How much of an unknown host an error shows, in characters.
const MAX_SHOWN_CHARS: usize = 100;

/// The hosts that requests may name.
#[derive(Debug, Clone, Default)]
pub struct OwnHosts {
    /// Every address and `localhost`, on any port: of a server that listens on all addresses, whose port may be mapped to another.
    any_address: bool,
    /// Names and addresses of the listener, on its port.
    own: Vec<HostName>,
    /// Whether the listener is reachable from this machine only.
    is_loopback: bool,
    port: u16,
    allowed: Vec<(HostName, Option<u16>)>,
}

impl OwnHosts {
    /// The hosts of a listener: as its setting names it, what that resolved to, and the address that it got.
    pub fn new(setting: &str, resolved: &[SocketAddr], bound: SocketAddr, allowed: Vec<(HostName, Option<u16>)>) -> OwnHosts {
        let addresses = resolved.iter().copied().chain([bound]).map(|address| address.ip().to_canonical());
        let mut own: Vec<HostName> = addresses.clone().map(HostName::Address).collect();
        own.extend(parse_host(setting).map(|it| it.0));
        OwnHosts {
            any_address: addresses.clone().any(|it| it.is_unspecified()),
            own,
            is_loopback: addresses.clone().all(|it| it.is_loopback()),
            port: bound.port(),
            allowed,
        }
    }

    fn contains(&self, host: &HostName, port: Option<u16>) -> bool {
        let is_port = |own: u16| port.map_or_else(|| DEFAULT_PORTS.contains(&own), |port| port == own);
        if self.allowed.iter().any(|(name, only)| name == host && only.is_none_or(is_port)) {
            return true;
        }
        let is_localhost = matches!(host, HostName::Name(it) if it == "localhost");
        let is_address = matches!(host, HostName::Address(_));
        let is_loopback = is_localhost || matches!(host, HostName::Address(it) if it.is_loopback());
        self.any_address && (is_address || is_localhost)
            || port.unwrap_or(80) == self.port && (self.own.contains(host) || self.is_loopback && is_loopback)
    }

    /// Checks the host of a request: that of the target if it has one, and the only `Host` header.
    ///
    /// # Errors
    /// 421 if one of them is not a host of this server, or there is no `Host` header.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
        let refuse = |message: String| Err(ApiError::new(StatusCode::MISDIRECTED_REQUEST, uri, message));
        let mut given = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (given.next(), given.next()) else {
            return refuse("host is missing or repeated; send one Host header with the name or address of this server".to_owned());
        };
        let host = host.to_str().unwrap_or("?");
        let target = uri.authority().map(|it| it.as_str());
        for host in [Some(host), target].into_iter().flatten() {
            if !parse_host(host).is_some_and(|(name, port)| self.contains(&name, port)) {
                let shown: String = host.chars().take(MAX_SHOWN_CHARS).collect();
                return refuse(format!(
                    "host '{shown}' is not one of this server; call its address, or add it to convengine.http.allowed-hosts"
                ));
            }
        }
        Ok(())
    }
}

/// Refuses requests to other hosts, on every path.
pub async fn refuse_other_hosts(State(hosts): State<Arc<OwnHosts>>, request: Request, next: Next) -> Response {
    match hosts.check(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn hosts_at(setting: &str, allowed: &[&str]) -> OwnHosts {
        let bound: SocketAddr = setting.replace("localhost", "127.0.0.1").parse().expect("an address");
        OwnHosts::new(setting, &[bound], bound, allowed.iter().filter_map(|it| parse_host(it)).collect())
    }

    fn is_known(hosts: &OwnHosts, host: &str) -> bool {
        let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_str(host).expect("a header"))]);
        hosts.check(&Uri::from_static("/x"), &headers).is_ok()
    }

    #[test]
    fn a_server_on_loopback_is_called_by_loopback_names_and_its_port() {
        let hosts = hosts_at("127.0.0.1:8080", &[]);
        for host in ["127.0.0.1:8080", "localhost:8080", "LocalHost:8080", "localhost.:8080", "[::1]:8080", "[::ffff:127.0.0.1]:8080"] {
            assert!(is_known(&hosts, host), "{host}");
        }
        for host in [
            "",
            "evil:8080",
            "localhost",
            "localhost:",
            "localhost:80",
            "localhost:+8080",
            "localhost:08080x",
            "localhost..:8080",
            ".localhost:8080",
            "localhost.evil.example:8080",
            "evil.localhost:8080",
            "user@localhost:8080",
            "localhost:8080@evil.example",
            "evil.example#@localhost:8080",
            "localhost:8080/",
            "localhost:8080,evil:8080",
            "localhost:8080 evil",
            "10.0.0.1:8080",
            "0.0.0.0:8080",
            "127.1:8080",
            "2130706433:8080",
            "0x7f.0.0.1:8080",
            "0177.0.0.1:8080",
            "127.0.0.1.:8080",
            "::1:8080",
            "[::1]8080",
            "[::1%lo]:8080",
            "[::1]:8080:8080",
            "[localhost]:8080",
        ] {
            assert!(!is_known(&hosts, host), "{host}");
        }
        assert!(is_known(&hosts_at("127.0.0.1:80", &[]), "localhost"), "a browser omits port 80");
    }

    #[test]
    fn a_server_on_all_addresses_is_called_by_any_address_and_by_listed_names() {
        let all = hosts_at("0.0.0.0:8080", &["bot.example", "Chat.Example.:8443"]);
        for host in
            ["192.0.2.1:8080", "192.0.2.1:80", "[2001:db8::1]:9000", "localhost:9000", "bot.example", "BOT.example.:1", "chat.example:8443"]
        {
            assert!(is_known(&all, host), "{host}");
        }
        for host in ["evil.example:8080", "chat.example", "chat.example:8080", "sub.bot.example", "xbot.example", "bot.example.evil"] {
            assert!(!is_known(&all, host), "{host}");
        }
        let one = hosts_at("192.0.2.1:8080", &["bot.example:443"]);
        assert!(is_known(&one, "192.0.2.1:8080") && is_known(&one, "bot.example"), "a proxy for HTTPS omits port 443");
        for host in ["localhost:8080", "127.0.0.1:8080", "192.0.2.2:8080", "bot.example:8080"] {
            assert!(!is_known(&one, host), "{host}");
        }
    }

    #[test]
    fn the_target_and_the_only_host_header_are_both_checked() {
        let hosts = hosts_at("127.0.0.1:8080", &[]);
        let check = |uri: &'static str, given: &[&'static str]| {
            let headers = given.iter().map(|host| (header::HOST, HeaderValue::from_static(host)));
            let mut all = HeaderMap::new();
            for (name, value) in headers {
                all.append(name, value);
            }
            hosts.check(&Uri::from_static(uri), &all).is_ok()
        };
        assert!(
            check("/x", &["localhost:8080"]) && check("http://127.0.0.1:8080/x", &["localhost:8080"]) && check("*", &["localhost:8080"])
        );
        assert!(!check("/x", &[]) && !check("http://localhost:8080/x", &[]) && !check("/x", &["localhost:8080", "localhost:8080"]));
        assert!(!check("http://evil:8080/x", &["localhost:8080"]) && !check("http://localhost:8080/x", &["evil:8080"]));
        assert!(!check("http://u@localhost:8080/x", &["localhost:8080"]) && !check("evil:8080", &["localhost:8080"]));
    }
}
