//! The values that templates and expressions of flow documents can read by name.

use std::borrow::Cow;

use serde_json::Value;

use super::variable_path::VariablePath;

/// Resolves the names that an expression or template reads.
pub trait NameResolver {
    /// Returns the value of a path, or `None` when it is not defined. A path without a root name resolves to a session variable.
    fn value(&self, path: &VariablePath) -> Option<Cow<'_, Value>>;
    /// A value as users know it, such as a value of a list by its name in the session's locale; other values as they are.
    fn name_of(&self, value: &Value) -> Value {
        value.clone()
    }
    /// The user's last message.
    fn user_message(&self) -> &str;
    /// The turn's clock, in milliseconds since 1970.
    fn now(&self) -> i64;
    /// The session's locale, such as `en-US`.
    fn locale(&self) -> &str;
    /// The session's time zone, such as `Europe/Berlin`.
    fn time_zone(&self) -> &str;
}

/// Resolves names in a fixed document, for tests. Its members `session`, `event`, `system`, `strings` and `item` are roots.
#[cfg(test)]
#[derive(Debug, Clone)]
pub struct FixedNames {
    /// The roots, by their names.
    pub document: serde_json::Map<String, Value>,
    /// The message of the user.
    pub user_message: &'static str,
    /// The locale.
    pub locale: &'static str,
    /// The time zone.
    pub time_zone: &'static str,
}

#[cfg(test)]
impl FixedNames {
    /// Creates them from a document.
    pub fn new(document: Value) -> FixedNames {
        let Value::Object(document) = document else { panic!("the document must be an object") };
        FixedNames { document, user_message: "I want my REFUND now", locale: "en-US", time_zone: "UTC" }
    }
}

#[cfg(test)]
impl NameResolver for FixedNames {
    fn value(&self, path: &VariablePath) -> Option<Cow<'_, Value>> {
        let Some(Value::Object(session)) = self.document.get("session") else { return None };
        let is_rooted = ["session", "event", "system", "strings", "item"].contains(&path.first_name());
        path.find(if is_rooted { &self.document } else { session }).map(Cow::Borrowed)
    }

    fn user_message(&self) -> &str {
        self.user_message
    }

    fn now(&self) -> i64 {
        1_767_258_061_999
    }

    fn locale(&self) -> &str {
        self.locale
    }

    fn time_zone(&self) -> &str {
        self.time_zone
    }
}

/// Calls `check` with texts of random pieces, for tests.
#[cfg(test)]
pub fn check_random_texts(rounds: u64, pieces: &[&str], mut check: impl FnMut(&str)) {
    let mut state = 7_u64;
    // SplitMix64.
    let mut next = |below: usize| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % below as u64).unwrap()
    };
    for _ in 0..rounds {
        let mut text = String::new();
        for _ in 0..next(24) {
            match next(8) {
                0 => text.push(char::from_u32(next(0x3000) as u32).unwrap_or('x')),
                1 => text.push(char::from(next(128) as u8)),
                _ => text.push_str(pieces[next(pieces.len())]),
            }
        }
        check(&text);
    }
}
