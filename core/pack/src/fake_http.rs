//! The fake HTTP service of a pack, which its tools and tasks call at `${STUB}`. (docs/spec/interface.md#3)

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A rule for all paths with a prefix. The first matching rule answers; the method and the body do not matter.
///
/// ```
/// use convengine_pack::HttpRule;
///
/// let rule: HttpRule = serde_json::from_str(
///     r#"{"path_prefix": "/orders", "sequence": [{"status": 503}, {"json": {"status": "sent"}}]}"#,
/// )?;
/// assert_eq!(rule.response(0), (503, String::new()));
/// assert_eq!(rule.response(1), (200, r#"{"status":"sent"}"#.to_owned()));
/// assert_eq!(rule.response(9), rule.response(1), "the last answer repeats");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HttpRule {
    /// The prefix of the path, including the query.
    pub path_prefix: String,
    /// The status code, unless there is a sequence.
    #[serde(default = "default_status")]
    pub status: u16,
    /// The body as JSON, unless there is a sequence.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub json: Value,
    /// The body as text, unless there is a sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The answers to the first, second, … request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sequence: Vec<HttpAnswer>,
    /// Whether the sequence restarts after its end; otherwise its last answer repeats.
    #[serde(default)]
    pub repeat: bool,
}

/// One answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HttpAnswer {
    /// The status code.
    #[serde(default = "default_status")]
    pub status: u16,
    /// The body, as JSON.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub json: Value,
    /// The body, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

fn default_status() -> u16 {
    200
}

impl HttpRule {
    /// Returns status and body of the answer after `uses` earlier ones. A text takes precedence over JSON; with neither, the body is empty.
    pub fn response(&self, uses: usize) -> (u16, String) {
        let nth = if self.repeat && !self.sequence.is_empty() { uses % self.sequence.len() } else { uses };
        let of_sequence = self.sequence.get(nth).or_else(|| self.sequence.last());
        let (status, json, text) =
            of_sequence.map_or((self.status, &self.json, &self.text), |response| (response.status, &response.json, &response.text));
        let json = || if json.is_null() { String::new() } else { json.to_string() };
        (status, text.clone().unwrap_or_else(json))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_sequence_restarts_or_repeats_its_end() {
        let mut rule: HttpRule = serde_json::from_value(json!({
            "path_prefix": "/a", "sequence": [{"status": 503, "json": {"error": "busy"}}, {"json": {"ok": true}}], "repeat": true
        }))
        .unwrap();
        let statuses = |rule: &HttpRule| (0..4).map(|number| rule.response(number).0).collect::<Vec<_>>();
        assert_eq!(statuses(&rule), [503, 200, 503, 200]);
        rule.repeat = false;
        assert_eq!(statuses(&rule), [503, 200, 200, 200]);
        assert_eq!(rule.response(1).1, r#"{"ok":true}"#);
    }
}
