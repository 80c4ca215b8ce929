//! Retention periods: `convengine.retention`.

use serde_json::Value;

/// Retention periods in days; absent means forever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionSettings {
    /// Conversations, counted from their latest turn.
    pub conversations: Option<u32>,
    /// Audit rows.
    pub audit: Option<u32>,
    /// User feedback.
    pub feedback: Option<u32>,
    /// The log of model calls.
    pub calls: Option<u32>,
}

impl RetentionSettings {
    /// Reads the settings from a normalized tree.
    pub(super) fn from_tree(tree: &Value, problems: &mut Vec<String>) -> RetentionSettings {
        let group = tree.get("retention").unwrap_or(&Value::Null);
        if !group.is_object() && !group.is_null() {
            problems.push(format!(
                "convengine.retention: {group} is not a map; set convengine.retention.conversations, audit, feedback or calls"
            ));
        }
        for name in group.as_object().into_iter().flatten().map(|it| it.0) {
            if !["conversations", "audit", "feedback", "calls"].contains(&name.as_str()) {
                problems.push(format!("convengine.retention.{name}: unknown setting; use conversations, audit, feedback or calls"));
            }
        }
        let mut days = |name: &str| {
            let value = group.get(name).filter(|it| !it.is_null())?;
            let text = value.as_str().map_or_else(|| value.to_string(), |it| it.trim().to_owned());
            let days = text.parse().ok().filter(|it| (1..=36_500).contains(it));
            if days.is_none() {
                problems.push(format!("convengine.retention.{name}: '{text}' is not a number of days from 1 to 36500"));
            }
            days
        };
        RetentionSettings { conversations: days("conversations"), audit: days("audit"), feedback: days("feedback"), calls: days("calls") }
    }

    /// Whether everything is kept forever.
    pub fn is_off(&self) -> bool {
        *self == RetentionSettings::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn days_are_read_or_rejected() {
        let read = |value: Value| {
            let mut problems = Vec::new();
            (RetentionSettings::from_tree(&json!({"retention": value}), &mut problems), problems.len())
        };
        assert!(read(Value::Null).0.is_off());
        let (retention, problems) = read(json!({"conversations": 30, "calls": " 7 "}));
        assert_eq!((retention.conversations, retention.audit, retention.calls, problems), (Some(30), None, Some(7), 0));
        for value in [json!({"audit": 0}), json!({"audit": "soon"}), json!({"audits": 7}), json!(30)] {
            assert_eq!(read(value.clone()).1, 1, "{value}");
        }
    }
}
