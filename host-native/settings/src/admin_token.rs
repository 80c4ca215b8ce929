//! The token of the assistants administrator, `convengine.admin-token`. (docs/spec/flows-http.md#1)

use std::fmt;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::secrets::resolve;

/// Minimum length of a token in bytes, so that it cannot be guessed.
const MIN_TOKEN_BYTES: usize = 16;

/// The hash of the administrator's token. Debug output does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct AdminToken([u8; 32]);

impl fmt::Debug for AdminToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[token]")
    }
}

impl AdminToken {
    /// Removes the setting from a normalized tree so that it cannot leak. Its value is the token, `env:VARIABLE` or `file:PATH`.
    pub fn take_from_settings(tree: &mut Value, problems: &mut Vec<String>) -> Option<AdminToken> {
        let value = match tree.as_object_mut()?.shift_remove("admin-token")? {
            Value::Null => return None,
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            _ => {
                // The value is omitted: it may be the token.
                problems.push("convengine.admin-token: must be a string; set the token, env:VARIABLE or file:PATH".to_owned());
                return None;
            }
        };
        let value = value.trim();
        if value.is_empty() {
            return None;
        }
        let token = match value.starts_with("env:") || value.starts_with("file:") {
            true => resolve(value),
            false => Ok(value.to_owned()),
        };
        let token =
            token.and_then(|token| if token.len() < MIN_TOKEN_BYTES { Err(too_short()) } else { Ok(AdminToken::from_token(&token)) });
        token.map_err(|reason| problems.push(format!("convengine.admin-token: {reason}"))).ok()
    }

    fn from_token(token: &str) -> AdminToken {
        AdminToken(Sha256::digest(token.as_bytes()).into())
    }

    /// Whether a text is the token. Compares in constant time.
    pub fn matches(&self, text: &str) -> bool {
        let other = AdminToken::from_token(text);
        self.0.iter().zip(other.0).fold(0, |differ, (one, other)| differ | (one ^ other)) == 0
    }
}

fn too_short() -> String {
    format!("token is too short; set one of at least {MIN_TOKEN_BYTES} characters, such as that of `openssl rand -base64 32`")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_is_removed_from_the_settings_and_not_printed() {
        let take = |given: Value| {
            let (mut tree, mut problems) = (json!({"admin-token": given, "input": {}}), Vec::new());
            let found = AdminToken::take_from_settings(&mut tree, &mut problems);
            assert_eq!(tree, json!({"input": {}}));
            (found, problems)
        };
        let (found, problems) = take(json!(" let-me-in-please "));
        let found = found.expect("a token");
        assert!(found.matches("let-me-in-please") && !found.matches("let-me-in-pleas") && !found.matches("") && problems.is_empty());
        assert_eq!(format!("{found:?}"), "[token]");
        assert!(take(json!(1234567890123456_u64)).0.is_some_and(|it| it.matches("1234567890123456")));
        for nothing in [json!(""), json!(" "), Value::Null] {
            assert_eq!(take(nothing), (None, Vec::new()));
        }
        for wrong in [json!(["hunter2"]), json!("hunter2"), json!(7), json!("env:CONVENGINE_NO_SUCH_TOKEN"), json!("file:/nowhere/at-all")]
        {
            let (found, problems) = take(wrong);
            assert!(found.is_none() && problems.len() == 1 && !problems[0].contains("hunter2"), "{problems:?}");
        }
    }
}
