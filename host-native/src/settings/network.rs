//! Which private network addresses tools and tasks may call.

use std::net::IpAddr;

use ipnet::IpNet;
use reqwest::Url;
use serde_json::Value;

/// Private addresses allowed by `convengine.network.allow-private` and `convengine.outbound.allow`. Public addresses are always allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Network(Vec<Allowed>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Allowed {
    place: Place,
    /// Absent for all ports.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Name(String),
    Net(IpNet),
}

impl Network {
    /// Reads the settings from a normalized tree.
    pub fn read(tree: &Value, problems: &mut Vec<String>) -> Network {
        let mut allowed = Vec::new();
        for key in ["network.allow-private", "outbound.allow"] {
            for entry in listed(tree, key) {
                match parse(&entry) {
                    Some(one) => allowed.push(one),
                    None => problems.push(format!(
                        "convengine.{key}: invalid entry '{entry}'; use a host, host:port, an address, address:port or a network such \
                         as 10.1.0.0/16"
                    )),
                }
            }
        }
        Network(allowed)
    }

    /// Whether a private address may be called because it or the host name that resolved to it is listed.
    pub fn permits(&self, host: &str, address: IpAddr, port: u16) -> bool {
        self.0.iter().filter(|it| it.port.is_none_or(|it| it == port)).any(|it| match &it.place {
            Place::Name(name) => name == bare(host),
            Place::Net(net) => net.contains(&address.to_canonical()),
        })
    }
}

/// Reads a setting that is a list or a comma-separated string.
pub fn listed(tree: &Value, key: &str) -> Vec<String> {
    let entries: Vec<String> = match tree.pointer(&format!("/{}", key.replace('.', "/"))).unwrap_or(&Value::Null) {
        Value::Null => Vec::new(),
        Value::Array(list) => list.iter().map(text).collect(),
        other => text(other).split(',').map(str::to_owned).collect(),
    };
    entries.iter().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect()
}

/// Removes the trailing dot of a fully qualified host name.
pub fn bare(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn parse(entry: &str) -> Option<Allowed> {
    if entry.contains('/') {
        return Some(Allowed { place: Place::Net(canonical(entry.parse().ok()?)), port: None });
    }
    if let Ok(address) = entry.parse::<IpAddr>() {
        return Some(Allowed { place: Place::Net(address.to_canonical().into()), port: None });
    }
    let (host, port) = match entry.rsplit_once(':') {
        Some((host, port)) if !entry.ends_with(']') => (host, Some(port.parse().ok().filter(|it| *it > 0)?)),
        _ => (entry, None),
    };
    Some(Allowed { place: place(host)?, port })
}

/// Parses a host in the spelling of the URL parser, so that equal hosts compare equal.
fn place(host: &str) -> Option<Place> {
    let url = Url::parse(&format!("http://{host}/")).ok()?;
    let is_host = url.port().is_none() && url.username().is_empty() && url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let host = bare(url.host_str().filter(|_| is_host)?);
    if let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Some(Place::Net(address.to_canonical().into()));
    }
    let is_valid = !host.is_empty() && host.chars().all(|it| it.is_ascii_alphanumeric() || ".-_".contains(it));
    is_valid.then(|| Place::Name(host.to_owned()))
}

/// Converts a network of IPv4-mapped addresses to an IPv4 network.
fn canonical(net: IpNet) -> IpNet {
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

    use super::*;
    use crate::arguments::Options;
    use crate::settings::Settings;

    fn read(value: Value) -> (Network, Vec<String>) {
        let mut problems = Vec::new();
        (Network::read(&json!({"network": {"allow-private": value}}), &mut problems), problems)
    }

    fn permits(network: &Network, host: &str, address: &str, port: u16) -> bool {
        network.permits(host, address.parse().unwrap(), port)
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
            assert_eq!(permits(&network, host, address, port), permitted, "{host} {address} {port}");
        }
    }

    #[test]
    fn a_text_lists_with_commas_and_nothing_lists_nothing() {
        let (network, problems) = read(json!(" localhost:80 , ::ffff:10.0.0.0/104,,0x7f.1"));
        assert_eq!(problems, [""; 0]);
        assert!(
            permits(&network, "localhost", "::1", 80) && permits(&network, "x", "10.9.9.9", 1) && permits(&network, "x", "127.0.0.1", 1)
        );
        for nothing in [Value::Null, json!(""), json!([])] {
            assert_eq!(read(nothing), (Network::default(), Vec::new()));
        }
    }

    #[test]
    fn an_entry_that_is_not_understood_is_a_problem() {
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
            assert_eq!((network, problems.len()), (Network::default(), 1), "{bad}");
            assert!(problems[0].contains(&format!("'{bad}'")), "{problems:?}");
        }
    }

    #[test]
    fn a_bad_entry_ends_the_start_and_an_encrypted_container_service_does_not() {
        let read = |set: &str| Settings::read(&Options { set: vec![set.to_owned()], ..Options::default() });
        let failure = read("convengine.network.allow-private=crm.local,*").expect_err("bad");
        assert_eq!((failure.code, failure.lines.len()), (2, 1));
        let settings = read("convengine.network.allow-private=[\"crm.local:80\"]").expect("good");
        assert!(permits(&settings.network, "crm.local", "10.0.0.1", 80));
        assert!(read("convengine.container.url=https://crm.local/data").is_ok());
    }
}
