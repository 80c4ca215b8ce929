//! The HTTP server: `convengine.http`.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use serde::de::{Deserializer, Error};

use super::groups::groups;
use super::value::{list, scalar, whole};
use crate::{HostName, parse_host};

groups! {
    /// Settings of `convengine.http`.
    #[derive(PartialEq, Eq)]
    pub struct HttpSettings {
        /// How long a client may take to send the headers of a request.
        pub header_timeout: Duration as "scalar" = Duration::from_secs(10),
        /// How long a client may take to send the body of a request; large bodies get more.
        pub body_timeout: Duration as "scalar" = Duration::from_secs(30),
        /// How long a connection stays open between requests.
        // Proxies usually keep connections for 60 s. The side that is closed first must not be theirs.
        pub idle_timeout: Duration as "scalar" = Duration::from_secs(75),
        /// The maximum number of open connections.
        pub max_connections: usize as "whole::<_, _, 1, 1_000_000>" = 8192,
        /// Names under which the server is reached beside its address, each on any port or on one.
        pub allowed_hosts: Vec<(HostName, Option<u16>)> as "hosts",
        /// The proxies whose `X-Forwarded-For` is believed.
        pub trusted_proxies: Vec<IpNet> as "networks",
    }
}

fn hosts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(HostName, Option<u16>)>, D::Error> {
    let parse = |entry: &String| {
        let problem = || D::Error::custom(format!("invalid host '{entry}'; use a name or address, with :PORT for one port"));
        parse_host(entry).ok_or_else(problem)
    };
    list(deserializer)?.iter().map(parse).collect()
}

fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let parse = |entry: &String| {
        let network = entry.parse().or_else(|_| entry.parse::<IpAddr>().map(|address| IpNet::from(address.to_canonical())));
        network.map_err(|_| D::Error::custom(format!("invalid proxy '{entry}'; use an address, or a network such as 10.1.0.0/16")))
    };
    list(deserializer)?.iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tree::read_test_tree;
    use super::*;

    #[test]
    fn limits_and_hosts_are_read_or_rejected() {
        let read = |http: Value| {
            let (tree, problems) = read_test_tree(&json!({ "http": http }));
            (tree.http, problems)
        };
        let given = json!({"header-timeout": "2s", "idle-timeout": 500, "max-connections": "10", "allowed-hosts": "Bot.Example, [::1]:80"});
        let (found, problems) = read(given);
        assert_eq!((found.header_timeout, found.body_timeout), (Duration::from_secs(2), HttpSettings::default().body_timeout));
        assert_eq!((found.idle_timeout, found.max_connections), (Duration::from_millis(500), 10));
        let hosts = [(HostName::Name("bot.example".to_owned()), None), (HostName::Address("::1".parse().expect("an address")), Some(80))];
        assert_eq!((found.allowed_hosts.as_slice(), problems.len()), (hosts.as_slice(), 0));
        for host in ["*", "https://a.example", "a b", "a.example:0"] {
            let (found, problems) = read(json!({"allowed-hosts": ["a.example", host]}));
            assert_eq!((found.allowed_hosts.len(), problems.len()), (0, 1), "{host}: {problems:?}");
            assert!(problems[0].starts_with(&format!("convengine.http.allowed-hosts: invalid host '{host}'; use")), "{problems:?}");
        }
        let (found, problems) = read(json!({"trusted-proxies": "127.0.0.1, 10.0.0.0/8"}));
        let proxies: Vec<String> = found.trusted_proxies.iter().map(ToString::to_string).collect();
        assert_eq!((proxies, problems.len()), (vec!["127.0.0.1/32".to_owned(), "10.0.0.0/8".to_owned()], 0));
        assert!(read(json!({"trusted-proxies": ["proxy.example"]})).1[0].contains("invalid proxy 'proxy.example'; use"));
        let (found, problems) = read(json!({"max-connections": 0, "idle-timeot": "1s"}));
        assert_eq!((found, problems.len()), (HttpSettings::default(), 2), "{problems:?}");
    }
}
