//! Runs of chains: `convengine.chains` and `convengine.notify` (docs/spec/chains.md).

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::turn::read_duration;
use crate::config::secrets::resolve;

/// How long a process holds the lease of an attempt unless it renews it.
const DEFAULT_LEASE: Duration = Duration::from_secs(60);

/// The channels that have an address of their own.
const CHANNELS: [&str; 3] = ["email", "sms", "slack"];

/// Settings of the runs of chains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainSettings {
    /// How long a process holds the lease of an attempt unless it renews it.
    pub lease: Duration,
    /// The addresses of notification channels.
    pub channels: BTreeMap<String, NotifyChannel>,
}

/// The address of a notification channel.
#[derive(Clone, PartialEq, Eq)]
pub struct NotifyChannel {
    /// Where notifications are posted.
    pub url: String,
    /// The bearer token, if any.
    pub token: Option<String>,
}

impl fmt::Debug for NotifyChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotifyChannel").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Default for ChainSettings {
    fn default() -> Self {
        ChainSettings { lease: DEFAULT_LEASE, channels: BTreeMap::new() }
    }
}

impl ChainSettings {
    /// Reads the settings from a normalized tree.
    pub fn from_tree(tree: &Value, problems: &mut Vec<String>) -> ChainSettings {
        let lease = read_duration(tree, "/chains/lease", problems).filter(|it| !it.is_zero()).unwrap_or(DEFAULT_LEASE);
        let mut channels = BTreeMap::new();
        for (name, channel) in tree.pointer("/notify").and_then(Value::as_object).into_iter().flatten() {
            if !CHANNELS.contains(&name.as_str()) {
                problems.push(format!("convengine.notify.{name}: unknown channel; use email, sms or slack"));
                continue;
            }
            let text = |key: &str| channel.get(key).and_then(Value::as_str).map(str::trim).filter(|it| !it.is_empty());
            let Some(url) = text("url").filter(|it| it.starts_with("http://") || it.starts_with("https://")) else {
                problems.push(format!("convengine.notify.{name}.url: missing or not a URL; set an http or https address"));
                continue;
            };
            let token =
                text("token").map(|it| if it.starts_with("env:") || it.starts_with("file:") { resolve(it) } else { Ok(it.to_owned()) });
            match token.transpose() {
                Ok(token) => drop(channels.insert(name.clone(), NotifyChannel { url: url.to_owned(), token })),
                Err(reason) => problems.push(format!("convengine.notify.{name}.token: {reason}")),
            }
        }
        ChainSettings { lease, channels }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn channels_have_addresses() {
        let read = |tree: Value| {
            let mut problems = Vec::new();
            (ChainSettings::from_tree(&tree, &mut problems), problems)
        };
        assert_eq!(read(json!({})), (ChainSettings::default(), Vec::new()));
        let (found, problems) = read(json!({"chains": {"lease": "5s"}, "notify": {"email": {"url": "http://a/", "token": "t"}}}));
        assert_eq!((found.lease.as_secs(), problems.len()), (5, 0));
        assert_eq!(found.channels["email"], NotifyChannel { url: "http://a/".to_owned(), token: Some("t".to_owned()) });
        assert!(!format!("{found:?}").contains("\"t\""));
        for tree in [
            json!({"notify": {"fax": {"url": "http://a/"}}}),
            json!({"notify": {"email": {"url": "a"}}}),
            json!({"notify": {"email": {}}}),
            json!({"chains": {"lease": "soon"}}),
        ] {
            assert_eq!(read(tree.clone()).1.len(), 1, "{tree}");
        }
    }
}
