//! The HTTP server: `convengine.http`.

use std::time::Duration;

use serde_json::Value;

use super::network::read_list;
use super::turn::read_duration;
use crate::auth::host_names::{HostName, parse_host};

/// Settings of `convengine.http`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// How long a client may take to send the headers of a request.
    pub header_timeout: Duration,
    /// How long a client may take to send the body of a request; large bodies get more.
    pub body_timeout: Duration,
    /// How long a connection stays open between requests.
    pub idle_timeout: Duration,
    /// The maximum number of open connections.
    pub max_connections: usize,
    /// Names under which the server is reached beside its address, each on any port or on one.
    pub allowed_hosts: Vec<(HostName, Option<u16>)>,
}

impl Default for HttpSettings {
    fn default() -> HttpSettings {
        HttpSettings {
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            // Proxies usually keep connections for 60 s. The side that is closed first must not be theirs.
            idle_timeout: Duration::from_secs(75),
            max_connections: 8192,
            allowed_hosts: Vec::new(),
        }
    }
}

impl HttpSettings {
    /// Reads the settings from a normalized tree.
    pub(super) fn from_tree(tree: &Value, problems: &mut Vec<String>) -> HttpSettings {
        let usual = HttpSettings::default();
        let header_timeout = read_duration(tree, "/http/header-timeout", problems).unwrap_or(usual.header_timeout);
        let body_timeout = read_duration(tree, "/http/body-timeout", problems).unwrap_or(usual.body_timeout);
        let idle_timeout = read_duration(tree, "/http/idle-timeout", problems).unwrap_or(usual.idle_timeout);
        let max_connections = match tree.pointer("/http/max-connections").filter(|it| !it.is_null()) {
            None => usual.max_connections,
            Some(value) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                text.trim().parse().ok().filter(|it| (1..=1_000_000).contains(it)).unwrap_or_else(|| {
                    problems.push(format!("convengine.http.max-connections: '{text}' is not a number from 1 to 1000000"));
                    usual.max_connections
                })
            }
        };
        let key = "http.allowed-hosts";
        let mut allowed_hosts = Vec::new();
        for entry in read_list(tree, key) {
            match parse_host(&entry) {
                Some(host) => allowed_hosts.push(host),
                None => problems.push(format!("convengine.{key}: invalid host '{entry}'; use a name or address, with :PORT for one port")),
            }
        }
        HttpSettings { header_timeout, body_timeout, idle_timeout, max_connections, allowed_hosts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn limits_and_hosts_are_read_or_rejected() {
        let mut problems = Vec::new();
        let mut read = |http: Value| HttpSettings::from_tree(&json!({ "http": http }), &mut problems);
        let given = json!({"header-timeout": "2s", "idle-timeout": 500, "max-connections": "10", "allowed-hosts": "Bot.Example, [::1]:80"});
        let found = read(given);
        assert_eq!((found.header_timeout, found.body_timeout), (Duration::from_secs(2), HttpSettings::default().body_timeout));
        assert_eq!((found.idle_timeout, found.max_connections), (Duration::from_millis(500), 10));
        let hosts = [(HostName::Name("bot.example".to_owned()), None), (HostName::Address("::1".parse().expect("an address")), Some(80))];
        assert_eq!(found.allowed_hosts, hosts);
        assert_eq!(
            read(json!({"allowed-hosts": ["*", "https://a.example", "a b", "a.example:0"], "max-connections": 0})).max_connections,
            4096
        );
        assert_eq!(problems.len(), 5, "{problems:?}");
    }
}
