//! Event stream settings (docs/spec/data-and-api.md#8.5 to docs/spec/data-and-api.md#8.7).

use std::time::Duration;

use convengine_host_base::exit::Failure;
use serde::de::{Deserializer, Error};

use super::groups::groups;
use super::stomp::{StompSettings, StompTree};
use super::value::scalar;

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

groups! {
    /// `transport.*`
    pub(super) struct TransportTree {
        sse: SseTree,
        pub(super) stomp: StompTree,
    }

    struct SseTree {
        enabled: bool as "scalar" = true,
        emitter_timeout_ms: i64 as "millis" = DEFAULT_TIMEOUT_MS,
    }
}

fn millis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let text: String = scalar(deserializer)?;
    text.parse().map_err(|_| D::Error::custom(format!("'{text}' is not a whole number; set milliseconds, or 0 for no limit")))
}

impl StreamSettings {
    pub(super) fn new(enabled: Option<bool>, transport: TransportTree) -> StreamSettings {
        let timeout = u64::try_from(transport.sse.emitter_timeout_ms).ok().filter(|it| *it > 0).map(Duration::from_millis);
        StreamSettings {
            enabled: enabled.unwrap_or(true),
            sse: transport.sse.enabled,
            stomp: transport.stomp.enabled.then(|| StompSettings::new(transport.stomp)),
            timeout,
        }
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tree::read_test_tree;
    use super::*;

    fn read(tree: &Value) -> (StreamSettings, usize) {
        let (tree, problems) = read_test_tree(tree);
        (StreamSettings::new(tree.stream, tree.transport), problems.len())
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
