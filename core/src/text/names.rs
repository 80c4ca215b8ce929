//! What templates and expressions of flow documents can name.

use std::borrow::Cow;

use serde_json::Value;

use super::path::Path;

/// The values behind names.
pub trait Names {
    /// What a path names; nothing when it is not defined. A path that does not begin with a root means a session variable.
    fn value(&self, path: &Path) -> Option<Cow<'_, Value>>;
    /// The user's last message.
    fn said(&self) -> &str;
    /// The turn's clock, in milliseconds since 1970.
    fn now(&self) -> i64;
    /// The session's locale, as `en-US`.
    fn locale(&self) -> &str;
}
