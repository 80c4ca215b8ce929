//! Language model calls, which the host executes.

use serde_json::{Value, json};

use crate::ext::Operation;

/// A call of the host's language model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LlmCall {
    /// The system prompt.
    pub system: String,
    /// The user prompt.
    pub user: String,
    /// The JSON Schema of the answer; null for plain text.
    pub schema: Value,
}

impl Operation for LlmCall {
    /// The text of the answer, which is JSON if there is a schema.
    type Output = String;

    fn request(self) -> Value {
        let mut request = json!({"kind": "llm", "system": self.system, "user": self.user});
        if !self.schema.is_null() {
            request["schema"] = self.schema;
        }
        request
    }

    fn output(reply: Value) -> Option<String> {
        reply.get("text").and_then(Value::as_str).map(str::to_owned)
    }
}
