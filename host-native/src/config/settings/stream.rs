//! Event stream settings (docs/spec/data-and-api.md#8.5 to docs/spec/data-and-api.md#8.7).

use std::time::Duration;

use convengine_core::config::settings::parse_bool;
use serde_json::Value;

use super::stomp::StompSettings;
use crate::exit::Failure;

/// Half an hour, after which browsers reconnect automatically.
const DEFAULT_TIMEOUT_MS: i64 = 1_800_000;

/// Settings of `convengine.stream` and `convengine.transport`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSettings {
    enabled: bool,
    sse: bool,
    stomp: Option<StompSettings>,
    /// Maximum duration of a stream; absent for no limit.
    pub timeout: Option<Duration>,
}

impl StreamSettings {
    /// Reads the settings from a normalized tree.
    pub(super) fn from_tree(tree: &Value, problems: &mut Vec<String>) -> StreamSettings {
        let mut read = |key: &str, default: bool| {
            let Some(value) = lookup(tree, key) else { return default };
            parse_bool(value).unwrap_or_else(|| {
                problems.push(format!("convengine.{key}: {value} is not a Boolean; use true or false"));
                default
            })
        };
        let (enabled, sse, stomp) = (read("stream", true), read("transport.sse.enabled", true), read("transport.stomp.enabled", false));
        let sock_js = read("transport.stomp.sock-js", true);
        let stomp = StompSettings::from_tree(tree, sock_js, problems).filter(|_| stomp);
        let key = "transport.sse.emitter-timeout-ms";
        let ends_after = lookup(tree, key).map_or(Some(DEFAULT_TIMEOUT_MS), |value| {
            let millis = value.as_i64().or_else(|| value.as_str()?.trim().parse().ok());
            if millis.is_none() {
                problems.push(format!("convengine.{key}: {value} is not a whole number; set milliseconds, or 0 for no limit"));
            }
            millis
        });
        let timeout = ends_after.and_then(|it| u64::try_from(it).ok()).filter(|it| *it > 0).map(Duration::from_millis);
        StreamSettings { enabled, sse, stomp, timeout }
    }

    /// Whether server-sent events are offered.
    pub fn is_sse_enabled(&self) -> bool {
        self.enabled && self.sse
    }

    /// The STOMP settings, if STOMP is offered.
    pub fn stomp(&self) -> Option<&StompSettings> {
        self.stomp.as_ref().filter(|_| self.enabled)
    }

    /// Whether any stream is offered.
    pub fn is_any_enabled(&self) -> bool {
        self.is_sse_enabled() || self.stomp().is_some()
    }

    /// Checks that enabled streaming has a transport.
    ///
    /// # Errors
    /// A usage failure if streaming is on without a transport.
    pub fn check(&self) -> Result<(), Failure> {
        if !self.enabled || self.is_any_enabled() {
            return Ok(());
        }
        let line = "convengine.transport.sse.enabled and convengine.transport.stomp.enabled are both off; turn one on or set convengine.stream=false";
        Err(Failure::invalid_usage(line))
    }
}

pub(super) fn lookup<'t>(tree: &'t Value, key: &str) -> Option<&'t Value> {
    key.split('.').try_fold(tree, |node, part| node.get(part)).filter(|it| !it.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(tree: &Value) -> (StreamSettings, usize) {
        let mut problems = Vec::new();
        (StreamSettings::from_tree(tree, &mut problems), problems.len())
    }

    #[test]
    fn offered_streams_follow_from_three_switches() {
        let sse = |on| json!({"enabled": on});
        for (tree, offered, fine) in [
            (json!({}), true, true),
            (json!({"stream": "off"}), false, true),
            (json!({"transport": {"sse": sse(false)}}), false, false),
            (json!({"stream": false, "transport": {"sse": sse(false)}}), false, true),
            (json!({"transport": {"sse": sse(false), "stomp": {"enabled": "true"}}}), false, true),
        ] {
            let (stream, problems) = read(&tree);
            assert_eq!((stream.is_sse_enabled(), stream.check().is_ok(), problems), (offered, fine, 0), "{tree}");
        }
    }

    #[test]
    fn the_stream_timeout_can_be_changed_and_disabled() {
        let ends = |value: Value| read(&json!({"transport": {"sse": {"emitter-timeout-ms": value}}}));
        assert_eq!(ends(Value::Null).0.timeout, Some(Duration::from_secs(1800)));
        assert_eq!(ends(json!("250")).0.timeout, Some(Duration::from_millis(250)));
        assert_eq!((ends(json!(0)).0.timeout, ends(json!(-1)).0.timeout), (None, None));
        assert_eq!(ends(json!("soon")).1, 1);
        assert_eq!(read(&json!({"stream": "perhaps", "transport": {"stomp": {"enabled": 7}}})).1, 2);
    }
}
