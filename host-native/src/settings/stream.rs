//! Event stream settings (docs/spec/data-and-api.md#8.5 to docs/spec/data-and-api.md#8.7).

use std::time::Duration;

use convengine_core::config::settings::boolean;
use serde_json::Value;

use super::stomp::Stomp;
use crate::exit::Failure;

/// Half an hour, after which browsers reconnect automatically.
const ENDS_AFTER_MS: i64 = 1_800_000;

/// Settings of `convengine.stream` and `convengine.transport`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    on: bool,
    sse: bool,
    stomp: Option<Stomp>,
    /// Maximum duration of a stream; absent for no limit.
    pub ends_after: Option<Duration>,
}

impl Stream {
    /// Reads the settings from a normalized tree.
    pub(super) fn read(tree: &Value, problems: &mut Vec<String>) -> Stream {
        let mut read = |key: &str, default: bool| {
            let Some(value) = at(tree, key) else { return default };
            boolean(value).unwrap_or_else(|| {
                problems.push(format!("convengine.{key}: {value} is not a Boolean; use true or false"));
                default
            })
        };
        let (on, sse, stomp) = (read("stream", true), read("transport.sse.enabled", true), read("transport.stomp.enabled", false));
        let sock_js = read("transport.stomp.sock-js", true);
        let stomp = Stomp::read(tree, sock_js, problems).filter(|_| stomp);
        let key = "transport.sse.emitter-timeout-ms";
        let ends_after = at(tree, key).map_or(Some(ENDS_AFTER_MS), |value| {
            let millis = value.as_i64().or_else(|| value.as_str()?.trim().parse().ok());
            if millis.is_none() {
                problems.push(format!("convengine.{key}: {value} is not a whole number; set milliseconds, or 0 for no limit"));
            }
            millis
        });
        let ends_after = ends_after.and_then(|it| u64::try_from(it).ok()).filter(|it| *it > 0).map(Duration::from_millis);
        Stream { on, sse, stomp, ends_after }
    }

    /// Whether server-sent events are offered.
    pub fn sse(&self) -> bool {
        self.on && self.sse
    }

    /// The STOMP settings, if STOMP is offered.
    pub fn stomp(&self) -> Option<&Stomp> {
        self.stomp.as_ref().filter(|_| self.on)
    }

    /// Whether any stream is offered.
    pub fn any(&self) -> bool {
        self.sse() || self.stomp().is_some()
    }

    /// Checks that enabled streaming has a transport.
    ///
    /// # Errors
    /// A usage failure if streaming is on without a transport.
    pub fn check(&self) -> Result<(), Failure> {
        if !self.on || self.any() {
            return Ok(());
        }
        let line = "convengine.transport.sse.enabled and convengine.transport.stomp.enabled are both off; turn one on or set convengine.stream=false";
        Err(Failure::usage(line))
    }
}

pub(super) fn at<'t>(tree: &'t Value, key: &str) -> Option<&'t Value> {
    key.split('.').try_fold(tree, |node, part| node.get(part)).filter(|it| !it.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(tree: &Value) -> (Stream, usize) {
        let mut problems = Vec::new();
        (Stream::read(tree, &mut problems), problems.len())
    }

    #[test]
    fn what_is_offered_follows_from_three_switches() {
        let sse = |on| json!({"enabled": on});
        for (tree, offered, fine) in [
            (json!({}), true, true),
            (json!({"stream": "off"}), false, true),
            (json!({"transport": {"sse": sse(false)}}), false, false),
            (json!({"stream": false, "transport": {"sse": sse(false)}}), false, true),
            (json!({"transport": {"sse": sse(false), "stomp": {"enabled": "true"}}}), false, true),
        ] {
            let (stream, problems) = read(&tree);
            assert_eq!((stream.sse(), stream.check().is_ok(), problems), (offered, fine, 0), "{tree}");
        }
    }

    #[test]
    fn the_end_of_a_stream_can_be_moved_and_taken_away() {
        let ends = |value: Value| read(&json!({"transport": {"sse": {"emitter-timeout-ms": value}}}));
        assert_eq!(ends(Value::Null).0.ends_after, Some(Duration::from_secs(1800)));
        assert_eq!(ends(json!("250")).0.ends_after, Some(Duration::from_millis(250)));
        assert_eq!((ends(json!(0)).0.ends_after, ends(json!(-1)).0.ends_after), (None, None));
        assert_eq!(ends(json!("soon")).1, 1);
        assert_eq!(read(&json!({"stream": "perhaps", "transport": {"stomp": {"enabled": 7}}})).1, 2);
    }
}
