//! A call of an extension: a WebAssembly module without imports that speaks the turn protocol. (`architecture.md` 12)

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Reply, Request};
use crate::turn::{Answer, Class, EffectError, EffectErrorKind, Operation};

/// Everything that was said to the extension in this call: its start, and each answer to what it asked for.
///
/// A module depends on its messages alone, so the host makes a fresh instance, gives it the messages in order, and answers with what
/// it said last. Nothing of an instance has to outlive a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExtensionRequest {
    /// The name of the extension.
    pub extension: String,
    /// SHA-256 of the module, in hexadecimal.
    pub module: String,
    /// The messages: the first starts the call, the others resume it.
    pub messages: Vec<Value>,
    /// Bytes that its memory may have.
    pub memory_bytes: u32,
    /// Milliseconds that it may take.
    pub timeout_ms: u32,
}

impl ExtensionRequest {
    /// What a module said, as the answer to this request: each host hands the bytes in here, so that all of them answer alike.
    pub fn heard(&self, said: &[u8]) -> Answer {
        let text = std::str::from_utf8(said).unwrap_or_default();
        match serde_json::from_str(text) {
            Ok(said) => Answer::Ok(Reply::Extension(ExtensionReply { said })),
            Err(_) => {
                let message = format!("the extension '{}' did not answer with JSON: check what it returns", self.extension);
                Answer::Error(EffectError::new(EffectErrorKind::Invalid, message))
            }
        }
    }
}

/// What the extension said last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExtensionReply {
    /// `{"effects": […], "notices": […], "end": …}`.
    pub said: Value,
}

impl From<ExtensionRequest> for Request {
    fn from(request: ExtensionRequest) -> Self {
        Request::Extension(request)
    }
}

impl Operation for ExtensionRequest {
    type Output = ExtensionReply;

    fn class(&self) -> Class {
        Class::Pure
    }

    fn deadline_ms(&self) -> u32 {
        self.timeout_ms
    }

    fn output(reply: Reply) -> Option<ExtensionReply> {
        if let Reply::Extension(reply) = reply { Some(reply) } else { None }
    }
}
