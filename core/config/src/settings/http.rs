//! `mcp.http-api.defaults.*`: the default policy of HTTP calls, which a row may override. (docs/spec/tools.md#3.2)

use convengine_text::json;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::reader::SettingsReader;

/// Timeouts, retries and circuit breaker of an HTTP call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HttpPolicy {
    /// `connect-timeout-ms`
    pub connect_timeout_ms: u32,
    /// `read-timeout-ms`: timeout of a whole attempt.
    pub read_timeout_ms: u32,
    /// `max-attempts`
    pub max_attempts: u32,
    /// `initial-backoff-ms`: delay before the second attempt.
    pub initial_backoff_ms: u32,
    /// `max-backoff-ms`
    pub max_backoff_ms: u32,
    /// `backoff-multiplier`
    pub backoff_multiplier: f64,
    /// `circuit-breaker-enabled`
    pub circuit_breaker_enabled: bool,
    /// `circuit-failure-threshold`
    pub circuit_failure_threshold: u32,
    /// `circuit-open-ms`
    pub circuit_open_ms: u32,
    /// `retry-status-codes`
    pub retry_status_codes: Vec<u16>,
    /// `retry-on-io-exception`
    pub retry_on_io_exception: bool,
    /// `max-response-bytes`
    pub max_response_bytes: u32,
}

impl HttpPolicy {
    pub(super) fn read(reader: &mut SettingsReader<'_>) -> HttpPolicy {
        let mut count = |key, default: u32| {
            let default = usize::try_from(default).unwrap_or(usize::MAX);
            u32::try_from(reader.count(key, "", default)).unwrap_or(u32::MAX)
        };
        let policy = HttpPolicy {
            connect_timeout_ms: count("mcp.http-api.defaults.connect-timeout-ms", 2000),
            read_timeout_ms: count("mcp.http-api.defaults.read-timeout-ms", 5000),
            max_attempts: count("mcp.http-api.defaults.max-attempts", 2),
            initial_backoff_ms: count("mcp.http-api.defaults.initial-backoff-ms", 200),
            max_backoff_ms: count("mcp.http-api.defaults.max-backoff-ms", 2000),
            circuit_failure_threshold: count("mcp.http-api.defaults.circuit-failure-threshold", 5),
            circuit_open_ms: count("mcp.http-api.defaults.circuit-open-ms", 30_000),
            max_response_bytes: count("mcp.http-api.defaults.max-response-bytes", 1_048_576),
            backoff_multiplier: reader.number("mcp.http-api.defaults.backoff-multiplier", "", 2.0),
            circuit_breaker_enabled: reader.boolean("mcp.http-api.defaults.circuit-breaker-enabled", "", true),
            retry_status_codes: parse_statuses(&reader.parse_texts("mcp.http-api.defaults.retry-status-codes", "")),
            retry_on_io_exception: reader.boolean("mcp.http-api.defaults.retry-on-io-exception", "", true),
        };
        policy.clamp()
    }

    /// Returns the policy with the overrides of a row, whose keys may be in camel case or kebab case.
    ///
    /// # Errors
    /// The unknown key or the invalid value.
    pub fn with_overrides(&self, row: &Value) -> Result<HttpPolicy, String> {
        let Value::Object(overrides) = super::normalize(row) else { return Err("is not a JSON object".to_owned()) };
        let mut policy = json::into_members(json!(self));
        policy.extend(overrides);
        json::decode::<HttpPolicy>(&Value::Object(policy)).map(HttpPolicy::clamp).map_err(|it| it.to_string())
    }

    /// Clamps each value to its valid range.
    fn clamp(self) -> HttpPolicy {
        HttpPolicy {
            connect_timeout_ms: self.connect_timeout_ms.max(100),
            read_timeout_ms: self.read_timeout_ms.max(100),
            max_attempts: self.max_attempts.clamp(1, 10),
            backoff_multiplier: self.backoff_multiplier.max(1.0),
            circuit_failure_threshold: self.circuit_failure_threshold.max(1),
            circuit_open_ms: self.circuit_open_ms.max(1000),
            max_response_bytes: self.max_response_bytes.clamp(1024, 8_388_608),
            ..self
        }
    }
}

fn parse_statuses(texts: &[String]) -> Vec<u16> {
    if texts.is_empty() {
        return vec![429, 502, 503, 504];
    }
    texts.iter().filter_map(|status| status.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use crate::{Config, Tables};
    use serde_json::json;

    #[test]
    fn a_row_overrides_the_defaults() {
        let tree = json!({"mcp": {"httpApi": {"defaults": {"maxAttempts": 0, "retryStatusCodes": [503], "circuitOpenMs": 5}}}});
        let defaults = Config::compile(&Tables::default(), &tree).0.settings.tools.http;
        assert_eq!((defaults.max_attempts, defaults.circuit_open_ms, defaults.retry_status_codes.as_slice()), (1, 1000, &[503][..]));
        let policy = defaults.with_overrides(&json!({"readTimeoutMs": 900, "max-attempts": 3})).unwrap();
        assert_eq!((policy.read_timeout_ms, policy.max_attempts, policy.circuit_open_ms), (900, 3, 1000));
        assert!(defaults.with_overrides(&json!({"attempts": 3})).unwrap_err().contains("attempts"));
        assert!(defaults.with_overrides(&json!({"max-attempts": "3"})).unwrap_err().contains("invalid type"));
        assert_eq!(defaults.with_overrides(&json!(3)).unwrap_err(), "is not a JSON object");
    }
}
