//! STOMP settings (docs/spec/data-and-api.md#2.2, docs/spec/data-and-api.md#8.6).

use serde_json::Value;

use super::stream::lookup;

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

impl StompSettings {
    /// Reads the settings from a normalized tree. Returns `None` if a value is invalid.
    pub(super) fn from_tree(tree: &Value, sock_js: bool, problems: &mut Vec<String>) -> Option<StompSettings> {
        let mut path = |key: &str, default: &str| {
            let key = format!("transport.stomp.{key}");
            let Some(value) = lookup(tree, &key) else { return Some(default.to_owned()) };
            let path = value.as_str().map(|it| it.trim().trim_end_matches('/')).filter(|it| is_path(it));
            if path.is_none() {
                problems.push(format!("convengine.{key}: invalid path {value}; use a path such as {default}"));
            }
            path.map(str::to_owned)
        };
        let (endpoint, destination) = (path("endpoint", "/ws-convengine"), path("audit-destination-base", "/topic/convengine/audit"));
        let key = "transport.stomp.allowed-origin-pattern";
        let origins = match lookup(tree, key) {
            None => vec!["*".to_owned()],
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Some(Value::String(list)) => list.split(',').map(str::to_owned).collect(),
            Some(_) => Vec::new(),
        };
        let origins: Vec<String> = origins.iter().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect();
        if origins.is_empty() {
            problems.push(format!("convengine.{key}: no origins; set * or patterns such as https://*.example.com"));
            return None;
        }
        let mode = lookup(tree, "transport.stomp.broker.mode").and_then(Value::as_str).unwrap_or("SIMPLE");
        if !["SIMPLE", "RELAY"].contains(&mode.trim().to_ascii_uppercase().as_str()) {
            problems.push(format!("convengine.transport.stomp.broker.mode: unknown mode '{mode}'; use SIMPLE or RELAY"));
        }
        Some(StompSettings { endpoint: endpoint?, destination_base: destination?, origins, sock_js })
    }
}

/// Whether a text is a non-empty path without characters that are special in routes or headers.
fn is_path(text: &str) -> bool {
    let fits = |it: char| it.is_ascii_alphanumeric() || "/-_.~".contains(it);
    text.len() > 1 && text.starts_with('/') && !text.contains("//") && text.chars().all(fits) && !format!("{text}/").starts_with("/api/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(stomp: Value) -> (Option<StompSettings>, Vec<String>) {
        let mut problems = Vec::new();
        (StompSettings::from_tree(&json!({"transport": {"stomp": stomp}}), true, &mut problems), problems)
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
            (json!({"broker": {"mode": "MANY"}}), "broker.mode"),
        ] {
            let (_, problems) = read(bad.clone());
            assert!(problems.len() == 1 && problems[0].contains(word), "{bad}: {problems:?}");
        }
    }
}
