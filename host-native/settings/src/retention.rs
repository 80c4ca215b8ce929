//! Retention periods: `convengine.retention`.

use serde::de::Deserializer;

use super::groups::groups;
use super::value::{FromText, scalar};

groups! {
    /// Retention periods in days; absent means forever.
    #[derive(Copy, PartialEq, Eq)]
    pub struct RetentionSettings {
        /// Conversations, counted from their latest turn.
        pub conversations: Option<u32> as "days",
        /// Audit rows.
        pub audit: Option<u32> as "days",
        /// User feedback.
        pub feedback: Option<u32> as "days",
        /// The log of model calls.
        pub calls: Option<u32> as "days",
        /// The security log.
        pub security_log: Option<u32> as "days",
    }
}

impl RetentionSettings {
    /// Whether everything is kept forever.
    pub fn is_off(&self) -> bool {
        *self == RetentionSettings::default()
    }
}

fn days<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    scalar(deserializer).map(|Days(days)| Some(days))
}

struct Days(u32);

impl FromText for Days {
    fn from_text(text: &str) -> Result<Days, String> {
        let days = text.parse().ok().filter(|it| (1..=36_500).contains(it));
        days.map(Days).ok_or_else(|| format!("'{text}' is not a number of days; set one from 1 to 36500"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tree::read_test_tree;

    #[test]
    fn days_are_read_or_rejected() {
        let read = |value: Value| {
            let (tree, problems) = read_test_tree(&json!({"retention": value}));
            (tree.retention, problems.len())
        };
        assert!(read(Value::Null).0.is_off());
        assert_eq!(read(json!({"security-log": 400})).0.security_log, Some(400));
        let (retention, problems) = read(json!({"conversations": 30, "calls": " 7 "}));
        assert_eq!((retention.conversations, retention.audit, retention.calls, problems), (Some(30), None, Some(7), 0));
        for value in [json!({"audit": 0}), json!({"audit": "soon"}), json!({"audits": 7}), json!(30)] {
            assert_eq!(read(value.clone()).1, 1, "{value}");
        }
    }
}
