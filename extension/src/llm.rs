//! Calls of a language model, which the host makes.

use serde_json::{Value, json};

use crate::ext::Operation;

/// A call of the model that the host has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LlmCall {
    /// What the model is.
    pub system: String,
    /// What it is asked.
    pub user: String,
    /// The JSON Schema of its answer; null for a text.
    pub schema: Value,
}

impl Operation for LlmCall {
    /// The text of the model, which is JSON when there is a schema.
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
