//! Which private network addresses tools and tasks may call.

use std::net::IpAddr;

use ipnet::IpNet;
use reqwest::Url;
use serde_json::Value;

use super::groups::groups;
use super::value::{as_list, list};

/// Private addresses allowed by `convengine.network.allow-private`, or by its older name `convengine.outbound.allow`. Public addresses are
/// always allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkSettings(Vec<AllowEntry>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct AllowEntry {
    pattern: HostPattern,
    /// Absent for all ports.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    Name(String),
    Network(IpNet),
}

groups! {
    /// `network.*`
    pub(super) struct NetworkTree {
        allow_private: Vec<String> as "list",
    }

    /// `outbound.*`, the older name of `network.*`.
    pub(super) struct OutboundTree {
        allow: Vec<String> as "list",
    }
}

impl NetworkSettings {
    pub(super) fn new(network: &NetworkTree, outbound: &OutboundTree, problems: &mut Vec<String>) -> NetworkSettings {
        let mut allowed = Vec::new();
        for (key, entries) in [("network.allow-private", &network.allow_private), ("outbound.allow", &outbound.allow)] {
            for entry in entries {
                match parse_entry(entry) {
                    Some(one) => allowed.push(one),
                    None => problems.push(format!(
                        "convengine.{key}: invalid entry '{entry}'; use a host, host:port, an address, address:port or a network such \
                         as 10.1.0.0/16"
                    )),
                }
            }
        }
        NetworkSettings(allowed)
    }

    /// Settings that allow the private addresses of a list, as `convengine.network.allow-private` has one.
    ///
    /// # Errors
    /// A line for each entry that names no address.
    pub fn allowing(entries: &str) -> Result<NetworkSettings, Vec<String>> {
        let network = NetworkTree { allow_private: as_list(&Value::from(entries)) };
        let mut problems = Vec::new();
        let settings = NetworkSettings::new(&network, &OutboundTree::default(), &mut problems);
        if problems.is_empty() { Ok(settings) } else { Err(problems) }
    }

    /// Whether a private address may be called because it or the host name that resolved to it is listed.
    pub fn is_allowed(&self, host: &str, address: IpAddr, port: u16) -> bool {
        self.0.iter().filter(|entry| entry.port.is_none_or(|allowed| allowed == port)).any(|entry| match &entry.pattern {
            HostPattern::Name(name) => name == strip_trailing_dot(host),
            HostPattern::Network(net) => net.contains(&address.to_canonical()),
        })
    }
}

/// Reads the private targets that a tree allows, as they are written.
pub fn read_allowed_targets(tree: &Value) -> Vec<String> {
    ["network.allow-private", "outbound.allow"].into_iter().flat_map(|it| read_list(tree, it)).collect()
}

/// Reads a setting of a tree that is a list or a comma-separated string.
fn read_list(tree: &Value, key: &str) -> Vec<String> {
    tree.pointer(&format!("/{}", key.replace('.', "/"))).map(as_list).unwrap_or_default()
}

/// Removes the trailing dot of a fully qualified host name.
pub fn strip_trailing_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

fn parse_entry(entry: &str) -> Option<AllowEntry> {
    if entry.contains('/') {
        return Some(AllowEntry { pattern: HostPattern::Network(canonicalize(entry.parse().ok()?)), port: None });
    }
    if let Ok(address) = entry.parse::<IpAddr>() {
        return Some(AllowEntry { pattern: HostPattern::Network(address.to_canonical().into()), port: None });
    }
    let (host, port) = match entry.rsplit_once(':') {
        Some((host, port)) if !entry.ends_with(']') => (host, Some(port.parse().ok().filter(|it| *it > 0)?)),
        _ => (entry, None),
    };
    Some(AllowEntry { pattern: parse_host(host)?, port })
}

/// Parses a host in the spelling of the URL parser, so that equal hosts compare equal.
fn parse_host(host: &str) -> Option<HostPattern> {
    let url = Url::parse(&format!("http://{host}/")).ok()?;
    let is_host =
        url.port().is_none() && url.username().is_empty() && url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let host = strip_trailing_dot(url.host_str().filter(|_| is_host)?);
    if let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Some(HostPattern::Network(address.to_canonical().into()));
    }
    let is_valid = !host.is_empty() && host.chars().all(|character| character.is_ascii_alphanumeric() || ".-_".contains(character));
    is_valid.then(|| HostPattern::Name(host.to_owned()))
}

/// Converts a network of IPv4-mapped addresses to an IPv4 network.
fn canonicalize(net: IpNet) -> IpNet {
    match net.addr().to_canonical() {
        IpAddr::V4(address) if net.max_prefix_len() == 128 && net.prefix_len() >= 96 => {
            IpNet::new(address.into(), net.prefix_len() - 96).unwrap_or(net)
        }
        _ => net,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tree::read_test_tree;
    use super::*;
    use crate::Options;
    use crate::Settings;

    fn read(value: Value) -> (NetworkSettings, Vec<String>) {
        let (tree, mut problems) = read_test_tree(&json!({"network": {"allow-private": value}}));
        (NetworkSettings::new(&tree.network, &tree.outbound, &mut problems), problems)
    }

    fn is_allowed(network: &NetworkSettings, host: &str, address: &str, port: u16) -> bool {
        network.is_allowed(host, address.parse().unwrap(), port)
    }

    #[test]
    fn hosts_addresses_and_networks_are_listed_with_and_without_a_port() {
        let list = json!(["CRM.Local", "stock.local.:8080", "127.0.0.1:9000", "10.1.0.0/16", "[fd00::1]:9", "fd00::2", "[fd00::3]"]);
        let (network, problems) = read(list);
        assert_eq!(problems, [""; 0]);
        for (host, address, port, permitted) in [
            ("crm.local", "192.168.0.9", 1, true),
            ("crm.local.", "192.168.0.9", 1, true),
            ("sub.crm.local", "192.168.0.9", 1, false),
            ("stock.local", "192.168.0.9", 8080, true),
            ("stock.local", "192.168.0.9", 8081, false),
            ("any", "127.0.0.1", 9000, true),
            ("any", "::ffff:127.0.0.1", 9000, true),
            ("any", "127.0.0.1", 80, false),
            ("any", "10.1.255.1", 80, true),
            ("any", "10.2.0.1", 80, false),
            ("any", "fd00::1", 9, true),
            ("any", "fd00::1", 10, false),
            ("any", "fd00::2", 10, true),
            ("any", "fd00::3", 10, true),
        ] {
            assert_eq!(is_allowed(&network, host, address, port), permitted, "{host} {address} {port}");
        }
    }

    #[test]
    fn comma_separated_and_empty_lists_are_read() {
        let (network, problems) = read(json!(" localhost:80 , ::ffff:10.0.0.0/104,,0x7f.1"));
        assert_eq!(problems, [""; 0]);
        assert!(
            is_allowed(&network, "localhost", "::1", 80)
                && is_allowed(&network, "x", "10.9.9.9", 1)
                && is_allowed(&network, "x", "127.0.0.1", 1)
        );
        for nothing in [Value::Null, json!(""), json!([])] {
            assert_eq!(read(nothing), (NetworkSettings::default(), Vec::new()));
        }
    }

    #[test]
    fn invalid_entries_are_reported() {
        for bad in [
            "*",
            "*.local",
            "host:",
            "host:0",
            "host:99999",
            "http://host",
            "host/path",
            "10.0.0.0/33",
            "10.0.0.0/8:80",
            "me@host",
            "a b",
            "[::1",
        ] {
            let (network, problems) = read(json!([bad]));
            assert_eq!((network, problems.len()), (NetworkSettings::default(), 1), "{bad}");
            assert!(problems[0].contains(&format!("'{bad}'")), "{problems:?}");
        }
    }

    #[test]
    fn an_invalid_entry_prevents_the_start_and_an_https_container_url_does_not() {
        let read = |set: &str| Settings::load(&Options { set: vec![set.to_owned()], ..Options::default() });
        let failure = read("convengine.network.allow-private=crm.local,*").expect_err("bad");
        assert_eq!((failure.code, failure.lines.len()), (2, 1));
        let settings = read("convengine.network.allow-private=[\"crm.local:80\"]").expect("good");
        assert!(is_allowed(&settings.network, "crm.local", "10.0.0.1", 80));
        assert!(read("convengine.container.url=https://crm.local/data").is_ok());
    }
}
