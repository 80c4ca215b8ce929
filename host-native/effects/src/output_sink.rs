//! Receives the output of an effect while it runs.

use std::fmt::Debug;

use serde_json::Value;

/// Takes the output of one effect, piece by piece.
pub trait OutputSink: Debug + Send + Sync {
    /// Takes the next piece of an answer.
    fn send_delta(&self, text: &str);

    /// Discards the pieces so far, because the model call is retried.
    fn send_reset(&self);

    /// Takes the progress of a tool call: `{"progress", "total", "message"}`.
    fn send_progress(&self, progress: &Value);
}
