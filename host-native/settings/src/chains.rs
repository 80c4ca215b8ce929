//! Runs of chains: `convengine.chains` and `convengine.notify` (docs/spec/chains.md).

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::groups::groups;
use super::value::{HttpUrl, scalar};
use crate::secrets::resolve;

/// How long a process holds the lease of an attempt unless it renews it.
const DEFAULT_LEASE: Duration = Duration::from_secs(60);

/// Settings of the runs of chains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainSettings {
    /// How long a process holds the lease of an attempt unless it renews it.
    pub lease: Duration,
    /// The addresses of notification channels.
    pub channels: BTreeMap<String, NotifyChannel>,
}

/// The address of a notification channel.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NotifyChannel {
    /// Where notifications are posted.
    #[serde(deserialize_with = "channel_url")]
    pub url: String,
    /// The bearer token, if any.
    #[serde(default, deserialize_with = "token")]
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

groups! {
    /// `chains.*`
    pub(super) struct ChainTree {
        lease: Duration as "scalar" = DEFAULT_LEASE,
    }

    /// `notify.*`: the channels that have an address of their own.
    pub(super) struct NotifyTree {
        email: Option<NotifyChannel>,
        sms: Option<NotifyChannel>,
        slack: Option<NotifyChannel>,
    }
}

impl ChainSettings {
    pub(super) fn new(chains: &ChainTree, notify: NotifyTree) -> ChainSettings {
        let channels = [("email", notify.email), ("sms", notify.sms), ("slack", notify.slack)];
        let channels = channels.into_iter().filter_map(|(name, channel)| Some((name.to_owned(), channel?))).collect();
        ChainSettings { lease: chains.lease, channels }
    }
}

fn channel_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    scalar(deserializer).map(|HttpUrl(it)| it)
}

/// Deserializes a token, which may be in the environment or in a file.
fn token<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match scalar::<D, Option<String>>(deserializer)? {
        Some(it) if it.starts_with("env:") || it.starts_with("file:") => resolve(&it).map(Some).map_err(D::Error::custom),
        token => Ok(token),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tree::read_test_tree;
    use super::*;

    #[test]
    fn channels_have_addresses() {
        let read = |tree: Value| {
            let (tree, problems) = read_test_tree(&tree);
            (ChainSettings::new(&tree.chains, tree.notify), problems)
        };
        assert_eq!(read(json!({})), (ChainSettings::default(), Vec::new()));
        let (found, problems) = read(json!({"chains": {"lease": "5s"}, "notify": {"email": {"url": "http://a/", "token": "t"}}}));
        assert_eq!((found.lease.as_secs(), problems.len()), (5, 0));
        assert_eq!(found.channels["email"], NotifyChannel { url: "http://a/".to_owned(), token: Some("t".to_owned()) });
        assert!(!format!("{found:?}").contains("\"t\""));
        for tree in [
            json!({"notify": {"fax": {"url": "http://a/"}}}),
            json!({"notify": {"email": {"url": "a"}}}),
            json!({"notify": {"email": {"token": "t"}}}),
            json!({"chains": {"lease": "soon"}}),
        ] {
            assert_eq!(read(tree.clone()).1.len(), 1, "{tree}");
        }
    }
}
