//! STOMP settings (docs/spec/data-and-api.md#2.2, docs/spec/data-and-api.md#8.6).

use serde::de::{Deserializer, Error};

use super::groups::groups;
use super::value::{FromText, list, scalar};

/// Settings of `convengine.transport.stomp`.
///
/// `topic-prefix` and `app-destination-prefix` are accepted without effect, as there are no other topics. The `broker` settings have no
/// effect either: processes that share a database coordinate subscriptions themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StompSettings {
    /// The path of the endpoint.
    pub endpoint: String,
    /// The prefix of destinations before the conversation id, without the slash between them.
    pub destination_base: String,
    /// Allowed origin patterns; `*` matches any characters.
    pub origins: Vec<String>,
    /// Whether the endpoint also speaks SockJS.
    pub sock_js: bool,
}

groups! {
    /// `transport.stomp.*`
    pub(super) struct StompTree {
        pub(super) enabled: bool as "scalar",
        endpoint: Option<EndpointPath> as "scalar",
        audit_destination_base: Option<EndpointPath> as "scalar",
        allowed_origin_pattern: Option<Vec<String>> as "origins",
        sock_js: Option<bool> as "scalar",
    }
}

#[derive(Debug, Clone)]
struct EndpointPath(String);

impl FromText for EndpointPath {
    fn from_text(text: &str) -> Result<EndpointPath, String> {
        let path = text.trim_end_matches('/');
        if is_path(path) {
            Ok(EndpointPath(path.to_owned()))
        } else {
            Err(format!("invalid path '{text}'; use a path such as /ws-convengine"))
        }
    }
}

fn origins<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let origins = list(deserializer)?;
    if origins.is_empty() {
        return Err(D::Error::custom("no origins; set * or patterns such as https://*.example.com"));
    }
    Ok(Some(origins))
}

impl StompSettings {
    pub(super) fn new(tree: StompTree) -> StompSettings {
        let path = |path: Option<EndpointPath>, default: &str| path.map_or_else(|| default.to_owned(), |path| path.0);
        StompSettings {
            endpoint: path(tree.endpoint, "/ws-convengine"),
            destination_base: path(tree.audit_destination_base, "/topic/convengine/audit"),
            origins: tree.allowed_origin_pattern.unwrap_or_else(|| vec!["*".to_owned()]),
            sock_js: tree.sock_js.unwrap_or(true),
        }
    }
}

/// Whether a text is a non-empty path without characters that are special in routes or headers.
fn is_path(text: &str) -> bool {
    let fits = |character: char| character.is_ascii_alphanumeric() || "/-_.~".contains(character);
    text.len() > 1 && text.starts_with('/') && !text.contains("//") && text.chars().all(fits) && !format!("{text}/").starts_with("/api/")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stream::StreamSettings;
    use super::super::tree::read_test_tree;
    use super::*;

    fn read(stomp: Value) -> (Option<StompSettings>, Vec<String>) {
        let (mut tree, problems) = read_test_tree(&json!({"transport": {"stomp": stomp, "sse": {"enabled": false}}}));
        tree.transport.stomp.enabled = true;
        (StreamSettings::new(None, tree.transport).stomp().cloned(), problems)
    }

    #[test]
    fn defaults_match_the_original_server() {
        let expected = StompSettings {
            endpoint: "/ws-convengine".to_owned(),
            destination_base: "/topic/convengine/audit".to_owned(),
            origins: vec!["*".to_owned()],
            sock_js: true,
        };
        assert_eq!(read(json!({"broker": {"mode": "relay"}, "topic-prefix": "/topic"})), (Some(expected), Vec::new()));
        let (stomp, problems) = read(json!({"endpoint": "/a/b/", "allowed-origin-pattern": "https://a, https://*.b"}));
        let stomp = stomp.expect("settings");
        assert_eq!((stomp.endpoint.as_str(), stomp.origins.len(), problems.len()), ("/a/b", 2, 0));
    }

    #[test]
    fn invalid_values_are_reported() {
        for (bad, word) in [
            (json!({"endpoint": "ws"}), "transport.stomp.endpoint"),
            (json!({"endpoint": "/"}), "transport.stomp.endpoint"),
            (json!({"endpoint": "/a/{b}"}), "transport.stomp.endpoint"),
            (json!({"endpoint": "/api/v1"}), "transport.stomp.endpoint"),
            (json!({"audit-destination-base": 7}), "audit-destination-base"),
            (json!({"allowed-origin-pattern": ""}), "allowed-origin-pattern"),
        ] {
            let (_, problems) = read(bad.clone());
            assert!(problems.len() == 1 && problems[0].contains(word), "{bad}: {problems:?}");
        }
    }
}
