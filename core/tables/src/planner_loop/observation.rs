//! Tool results as the planner sees them: whole if they fit, else truncated with markers. (docs/spec/tools.md#D-11)

use convengine_config::settings::ToolSettings;
use convengine_text as text;
use convengine_turn::Map;
use serde_json::{Value, json};

/// The result or the failure of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolObservation {
    /// The tool, as the planner spelled it.
    pub code: String,
    /// JSON text.
    pub json: String,
    /// Whether the call failed.
    pub failed: bool,
}

impl ToolObservation {
    /// A tool's result.
    pub fn from_result(code: &str, json: String) -> ToolObservation {
        ToolObservation { code: code.to_owned(), json, failed: false }
    }

    /// A failure, worded for the planner.
    pub fn from_failure(code: &str, reason: &str) -> ToolObservation {
        ToolObservation { code: code.to_owned(), json: json!({"status": "ERROR", "error": reason}).to_string(), failed: true }
    }

    /// The observation as a waiting call stores it.
    pub fn to_stored(&self) -> Value {
        json!({"toolCode": self.code, "json": self.json, "failed": self.failed})
    }

    /// Reads a stored observation.
    pub fn from_stored(stored: &Value) -> Option<ToolObservation> {
        let text = |name: &str| stored.get(name)?.as_str().map(str::to_owned);
        let failed = stored.get("failed").and_then(Value::as_bool).unwrap_or_default();
        Some(ToolObservation { code: text("toolCode")?, json: text("json")?, failed })
    }

    /// The result as JSON.
    pub fn to_value(&self) -> Value {
        serde_json::from_str(&self.json).unwrap_or(Value::Null)
    }

    /// The result as rules and templates see it.
    pub fn to_entry(&self) -> Value {
        json!({"toolCode": self.code, "json": self.json})
    }
}

/// The observations shown to the planner.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PromptObservations {
    /// The newest results, oldest first.
    pub list: Value,
    /// Whether a result was truncated.
    pub is_truncated: bool,
    /// Characters of the untruncated results.
    pub raw_chars: usize,
    /// Characters of the shown results.
    pub chars: usize,
}

/// Renders the newest results, without duplicates and each within its character limit.
pub(super) fn render_observations(observations: &[ToolObservation], settings: &ToolSettings) -> PromptObservations {
    let count = if settings.max_observations == 0 { observations.len() } else { settings.max_observations };
    let newest = observations.get(observations.len().saturating_sub(count)..).unwrap_or_default();
    let raw = Value::Array(newest.iter().map(ToolObservation::to_entry).collect());
    let (mut list, mut cut) = (Vec::new(), false);
    for observation in newest {
        let (value, was_cut) = truncate_to_fit(observation.to_value(), settings.max_observation_chars);
        cut |= was_cut;
        let entry = json!({"toolCode": observation.code, "json": value});
        if !list.contains(&entry) {
            list.push(entry);
        }
    }
    let list = Value::Array(list);
    PromptObservations { is_truncated: cut, raw_chars: json_chars(&raw), chars: json_chars(&list), list }
}

fn json_chars(value: &Value) -> usize {
    value.to_string().chars().count()
}

/// Limits for one truncation level.
struct TruncationLimits {
    items: usize,
    members: usize,
    chars: usize,
}

/// From generous to strict; the first level that fits is used.
const TRUNCATION_LEVELS: [TruncationLimits; 4] = [
    TruncationLimits { items: 20, members: 60, chars: 2000 },
    TruncationLimits { items: 8, members: 40, chars: 500 },
    TruncationLimits { items: 3, members: 20, chars: 160 },
    TruncationLimits { items: 1, members: 10, chars: 60 },
];

fn truncate_to_fit(value: Value, chars: usize) -> (Value, bool) {
    if json_chars(&value) <= chars {
        return (value, false);
    }
    let fitting = TRUNCATION_LEVELS.iter().map(|it| it.truncate(&value)).find(|truncated| json_chars(truncated) <= chars);
    // A deeply nested result may fit no level; its beginning is better than nothing.
    let head = || json!({"truncated": true, "head": value.to_string().chars().take(chars / 2).collect::<String>()});
    (fitting.unwrap_or_else(head), true)
}

impl TruncationLimits {
    fn truncate(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(text::truncate_with_ellipsis(text, self.chars)),
            Value::Array(items) => self.truncate_list(items),
            Value::Object(members) => Value::Object(self.truncate_object(members)),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn truncate_list(&self, items: &[Value]) -> Value {
        let head: Vec<Value> = items.iter().take(self.items).map(|it| self.truncate(it)).collect();
        if head.len() == items.len() {
            return Value::Array(head);
        }
        json!({"rows": head, "rowCount": items.len(), "truncated": true})
    }

    fn truncate_object(&self, members: &Map) -> Map {
        let mut shown: Map = members.iter().take(self.members).map(|(key, value)| (key.clone(), self.truncate(value))).collect();
        if shown.len() < members.len() {
            shown.insert("truncated".to_owned(), json!(true));
            shown.insert("memberCount".to_owned(), json!(members.len()));
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use convengine_config::Config;

    use super::*;

    fn show_results(max: usize, chars: usize, results: &[Value]) -> PromptObservations {
        let (config, _) = Config::compile(&convengine_config::Tables::default(), &json!({}));
        let settings = ToolSettings { max_observations: max, max_observation_chars: chars, ..config.settings.tools };
        let seen: Vec<ToolObservation> = results.iter().map(|result| ToolObservation::from_result("a.b", result.to_string())).collect();
        render_observations(&seen, &settings)
    }

    #[test]
    fn what_fits_is_shown_whole_and_once() {
        let shown = show_results(3, 1000, &[json!({"old": 1}), json!({"status": 200, "mapped": {"x": [1]}}), json!(7), json!(7)]);
        let expected = json!([{"toolCode": "a.b", "json": {"status": 200, "mapped": {"x": [1]}}}, {"toolCode": "a.b", "json": 7}]);
        assert_eq!((shown.list, shown.is_truncated), (expected, false));
        assert_eq!((shown.raw_chars, shown.chars), (129, 89));
    }

    #[test]
    fn long_results_keep_their_shape_and_say_what_was_cut() {
        let rows: Vec<Value> = (0..500).map(|number| json!({"id": number, "note": "n".repeat(30)})).collect();
        let shown = show_results(0, 1000, &[json!({"total": 500, "rows": rows}), json!([1])]);
        let first = &shown.list[0]["json"];
        assert_eq!((first["total"].clone(), first["rows"]["rowCount"].clone(), shown.is_truncated), (json!(500), json!(500), true));
        assert_eq!(first["rows"]["rows"].as_array().unwrap().len(), 8);
        assert_eq!(first["rows"]["rows"][0]["id"], json!(0));
        assert_eq!(first["rows"]["truncated"], json!(true));
        assert_eq!(shown.list[1]["json"], json!([1]));
    }

    #[test]
    fn nothing_is_longer_than_allowed() {
        let members: Map = (0..90).map(|number| (format!("member {number}"), json!(["x".repeat(400), [["y".repeat(90)]]]))).collect();
        let deep = (0..40).fold(json!("z".repeat(50)), |value, _| {
            json!([value.clone(), value]).get(0).map(|inner| json!({"a": inner, "b": "w".repeat(50)})).unwrap()
        });
        for value in [json!("t".repeat(5000)), Value::Object(members), deep] {
            let shown = show_results(1, 1000, &[value]);
            assert!(shown.is_truncated && json_chars(&shown.list[0]["json"]) <= 1000, "{}", shown.list);
        }
    }
}
