//! The effect that calls an extension: a WebAssembly module without imports that speaks the turn protocol. (docs/spec/architecture.md#12)

use convengine_text::json;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{EffectClass, EffectResult, Reply};
use crate::error::{EffectError, EffectErrorKind};

/// All messages sent to the extension in this call: its start, and the answers to its requests.
///
/// A module depends on its messages only, so the host creates a fresh instance, sends it the messages in order, and answers with its last
/// message. No instance outlives a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExtensionRequest {
    /// The name of the extension.
    pub extension: String,
    /// SHA-256 of the module, in hexadecimal.
    pub module: String,
    /// The messages: the first starts the call, the others resume it.
    pub messages: Vec<Value>,
    /// Memory limit in bytes.
    pub memory_bytes: u32,
    /// Time limit in milliseconds.
    pub timeout_ms: u32,
}

impl ExtensionRequest {
    /// Parses a module's output as the answer to this request; shared by all hosts. Output that is not JSON is an
    /// [`Invalid`](EffectErrorKind::Invalid) answer.
    pub fn parse_output(&self, output: &[u8]) -> EffectResult {
        match std::str::from_utf8(output).ok().and_then(|text| json::decode_text(text).ok()) {
            Some(message) => EffectResult::Ok(Reply::Extension(ExtensionReply { message })),
            None => {
                let message = format!("the extension '{}' did not answer with JSON: check what it returns", self.extension);
                EffectResult::Error(EffectError::new(EffectErrorKind::Invalid, message))
            }
        }
    }
}

/// The last message of the extension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExtensionReply {
    /// `{"effects": […], "notices": […], "end": …}`.
    #[serde(rename = "said")]
    pub message: Value,
}

operation!(Extension: ExtensionRequest => ExtensionReply, class: EffectClass::Pure, deadline_ms: |request| request.timeout_ms);
