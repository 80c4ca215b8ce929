//! How STOMP is offered. (`spec/data-and-api.md` 2.2, 8.6)

use serde_json::Value;

use super::stream::at;

/// Settings of `convengine.transport.stomp`.
///
/// `topic-prefix` and `app-destination-prefix` are taken and have no effect, as nothing is there but the events of conversations; those of
/// `broker` have none either: the processes that serve a database tell each other what is listened to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stomp {
    /// The path.
    pub endpoint: String,
    /// What stands before the conversation in a destination, without the slash between them.
    pub destination: String,
    /// From where pages may connect, `*` for any characters.
    pub origins: Vec<String>,
    /// Whether the endpoint is one of SockJS.
    pub sock_js: bool,
}

impl Stomp {
    /// Reads the settings; nothing when one of them is wrong.
    pub(super) fn read(tree: &Value, sock_js: bool, problems: &mut Vec<String>) -> Option<Stomp> {
        let mut path = |key: &str, default: &str| {
            let key = format!("transport.stomp.{key}");
            let Some(value) = at(tree, &key) else { return Some(default.to_owned()) };
            let path = value.as_str().map(|it| it.trim().trim_end_matches('/')).filter(|it| is_path(it));
            if path.is_none() {
                problems.push(format!("convengine.{key}: {value} is no path: write one such as {default}"));
            }
            path.map(str::to_owned)
        };
        let (endpoint, destination) = (path("endpoint", "/ws-convengine"), path("audit-destination-base", "/topic/convengine/audit"));
        let key = "transport.stomp.allowed-origin-pattern";
        let origins = match at(tree, key) {
            None => vec!["*".to_owned()],
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Some(Value::String(list)) => list.split(',').map(str::to_owned).collect(),
            Some(_) => Vec::new(),
        };
        let origins: Vec<String> = origins.iter().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect();
        if origins.is_empty() {
            problems.push(format!("convengine.{key}: no origin is listed: write * or origins such as https://*.example.com"));
            return None;
        }
        let mode = at(tree, "transport.stomp.broker.mode").and_then(Value::as_str).unwrap_or("SIMPLE");
        if !["SIMPLE", "RELAY"].contains(&mode.trim().to_ascii_uppercase().as_str()) {
            problems.push(format!("convengine.transport.stomp.broker.mode: '{mode}' is not known: use SIMPLE or RELAY"));
        }
        Some(Stomp { endpoint: endpoint?, destination: destination?, origins, sock_js })
    }
}

/// Whether a text is a path with something in it, and nothing that routes or headers would read otherwise.
fn is_path(text: &str) -> bool {
    let fits = |it: char| it.is_ascii_alphanumeric() || "/-_.~".contains(it);
    text.len() > 1 && text.starts_with('/') && !text.contains("//") && text.chars().all(fits) && !format!("{text}/").starts_with("/api/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(stomp: Value) -> (Option<Stomp>, Vec<String>) {
        let mut problems = Vec::new();
        (Stomp::read(&json!({"transport": {"stomp": stomp}}), true, &mut problems), problems)
    }

    #[test]
    fn what_is_not_set_is_as_in_the_original() {
        let expected = Stomp {
            endpoint: "/ws-convengine".to_owned(),
            destination: "/topic/convengine/audit".to_owned(),
            origins: vec!["*".to_owned()],
            sock_js: true,
        };
        assert_eq!(read(json!({"broker": {"mode": "relay"}, "topic-prefix": "/topic"})), (Some(expected), Vec::new()));
        let (stomp, problems) = read(json!({"endpoint": "/a/b/", "allowed-origin-pattern": "https://a, https://*.b"}));
        let stomp = stomp.expect("settings");
        assert_eq!((stomp.endpoint.as_str(), stomp.origins.len(), problems.len()), ("/a/b", 2, 0));
    }

    #[test]
    fn a_bad_value_has_its_line() {
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
