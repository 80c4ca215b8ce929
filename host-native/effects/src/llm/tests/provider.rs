//! Answers in the form of each provider.

use serde_json::{Value, json};

/// A provider of these tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    OpenAi,
    Anthropic,
    Ollama,
}

/// All of them.
pub const ALL: [Provider; 3] = [Provider::OpenAi, Provider::Anthropic, Provider::Ollama];

impl Provider {
    /// Returns the value of `--llm`.
    pub fn model_spec(self) -> &'static str {
        match self {
            Provider::OpenAi => "openai:test-model",
            Provider::Anthropic => "anthropic:test-model",
            Provider::Ollama => "ollama:test-model",
        }
    }

    /// Returns the path of calls.
    pub fn path(self) -> &'static str {
        match self {
            Provider::OpenAi => "/v1/chat/completions",
            Provider::Anthropic => "/v1/messages",
            Provider::Ollama => "/api/chat",
        }
    }

    /// A complete answer of 12 and 7 tokens with a finish reason.
    pub fn answer_with_reason(self, text: &str, reason: &str) -> Value {
        match self {
            Provider::OpenAi => json!({
                "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "test-model-1",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": text, "refusal": null}, "finish_reason": reason}],
                "usage": {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19}
            }),
            Provider::Anthropic => json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": "test-model-1",
                "content": [{"type": "text", "text": text}], "stop_reason": reason, "stop_sequence": null,
                "usage": {"input_tokens": 9, "cache_read_input_tokens": 3, "output_tokens": 7}
            }),
            Provider::Ollama => json!({
                "model": "test-model-1", "created_at": "2026-01-02T03:04:05Z", "message": {"role": "assistant", "content": text},
                "done": true, "done_reason": reason, "prompt_eval_count": 12, "eval_count": 7
            }),
        }
    }

    /// A complete answer with the usual finish reason.
    pub fn answer(self, text: &str) -> String {
        let reason = if self == Provider::Anthropic { "end_turn" } else { "stop" };
        self.answer_with_reason(text, reason).to_string()
    }

    /// The same answer, streamed.
    pub fn stream(self, pieces: &[&str]) -> String {
        match self {
            Provider::OpenAi => {
                let chunk = |choices: Value, usage: Value| json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "test-model-1", "choices": choices, "usage": usage});
                let choice = |delta: Value, reason: Value| json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
                let mut all = vec![chunk(choice(json!({"role": "assistant", "content": ""}), Value::Null), Value::Null)];
                all.extend(pieces.iter().map(|piece| chunk(choice(json!({"content": piece}), Value::Null), Value::Null)));
                all.push(chunk(choice(json!({}), json!("stop")), Value::Null));
                all.push(chunk(json!([]), json!({"prompt_tokens": 12, "completion_tokens": 7})));
                let events: String = all.iter().map(|it| format!("data: {it}\n\n")).collect();
                format!("{events}data: [DONE]\n\n")
            }
            Provider::Anthropic => {
                let piece = |text: &&str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
                let mut all = vec![
                    json!({"type": "message_start", "message": {"id": "msg_1", "model": "test-model-1", "content": [],
                        "usage": {"input_tokens": 9, "cache_creation_input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": 1}}}),
                    json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                    json!({"type": "ping"}),
                ];
                all.extend(pieces.iter().map(piece));
                all.push(json!({"type": "content_block_stop", "index": 0}));
                all.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}}));
                all.push(json!({"type": "message_stop"}));
                all.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().expect("a type"))).collect()
            }
            Provider::Ollama => {
                let line = |text: &str, done: bool| json!({"model": "test-model-1", "message": {"role": "assistant", "content": text}, "done": done});
                let mut all: Vec<Value> = pieces.iter().map(|it| line(it, false)).collect();
                let mut last = line("", true);
                last["done_reason"] = json!("stop");
                last["prompt_eval_count"] = json!(12);
                last["eval_count"] = json!(7);
                all.push(last);
                all.iter().map(|it| format!("{it}\n")).collect()
            }
        }
    }

    /// An error in the provider's form.
    pub fn error(self, kind: &str, message: &str) -> String {
        match self {
            Provider::OpenAi => json!({"error": {"message": message, "type": kind, "param": null, "code": null}}),
            Provider::Anthropic => json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}),
            Provider::Ollama => json!({"error": message}),
        }
        .to_string()
    }
}
