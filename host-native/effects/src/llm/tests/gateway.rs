//! What gateways and compatible servers send, and what is made of it: a line of data for each shape.

use convengine_core::turn::{EffectError, LlmMode, LlmReply, LlmRequest};

use super::dialogue::conversation;
use super::provider::Provider;
use super::server::{Server, response_until_close};
use super::{Piece, TestSubscriber, call, far_deadline, into_result, models, settings};
use crate::OutputSink;
use Asked::{Call, Streamed, StreamedCall, Whole};
use Provider::{Anthropic, Ollama, OpenAi};

/// How the model is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// For a text at once.
    Whole,
    /// For a streamed text.
    Streamed,
    /// For a step of an agent with the tools `balance` and `finish`, at once.
    Call,
    /// The same, streamed.
    StreamedCall,
}

/// The name of a shape, the call, the body, and what is made of it: the answer as text, then thoughts and tool calls, or the error.
type Shape = (&'static str, Provider, Asked, &'static str, &'static str);

/// In a body, `→` begins an event of a stream.
const SHAPES: [Shape; 59] = [
    // Thoughts.
    ("think tags", OpenAi, Whole, r#"{"choices":[{"message":{"content":"<think>\nHm.\n</think>\n\nHello."}}]}"#, "Hello. (Hm.)"),
    (
        "think tags split over chunks",
        OpenAi,
        Streamed,
        r#"→{"choices":[{"delta":{"content":"<th"}}]}→{"choices":[{"delta":{"content":"ink>Hm.</thi"}}]}→{"choices":[{"delta":{"content":"nk>\nHel"}}]}→{"choices":[{"delta":{"content":"lo."}}]}→[DONE]"#,
        "Hello. (Hm.)",
    ),
    (
        "only the closing tag",
        OpenAi,
        Streamed,
        r#"→{"choices":[{"delta":{"content":"Hm."}}]}→{"choices":[{"delta":{"content":"</think>Hello."}}]}→[DONE]"#,
        "Hello. (Hm.)",
    ),
    (
        "a tag that is never closed",
        OpenAi,
        Whole,
        r#"{"choices":[{"message":{"content":"<think>Hm"}}]}"#,
        "Invalid: it has reasoning but no answer",
    ),
    (
        "thoughts up to the limit",
        OpenAi,
        Whole,
        r#"{"choices":[{"message":{"content":"<think>Hm"},"finish_reason":"length"}]}"#,
        "Invalid: it was cut off within its reasoning",
    ),
    ("reasoning_content", OpenAi, Whole, r#"{"choices":[{"message":{"content":"Hello.","reasoning_content":"Hm."}}]}"#, "Hello. (Hm.)"),
    (
        "reasoning_content, streamed",
        OpenAi,
        Streamed,
        r#"→{"choices":[{"delta":{"reasoning_content":"H"}}]}→{"choices":[{"delta":{"reasoning_content":"m.","content":null}}]}→{"choices":[{"delta":{"content":"Hello."}}]}→[DONE]"#,
        "Hello. (Hm.)",
    ),
    (
        "reasoning with details",
        OpenAi,
        Streamed,
        r#"→{"choices":[{"delta":{"content":"","reasoning":"Hm.","reasoning_details":[{"type":"reasoning.text","text":"Hm."}]}}]}→{"choices":[{"delta":{"content":"Hello."}}]}→[DONE]"#,
        "Hello. (Hm.)",
    ),
    (
        "reasoning details alone",
        OpenAi,
        Whole,
        r#"{"choices":[{"message":{"content":"Hello.","reasoning_details":[{"type":"reasoning.summary","summary":"Hm."},{"type":"reasoning.encrypted","data":"x"}]}}]}"#,
        "Hello. (Hm.)",
    ),
    (
        "channels of a harmony model",
        OpenAi,
        Whole,
        r#"{"choices":[{"message":{"content":"<|channel|>analysis<|message|>Hm.<|channel|>final<|message|>Hello."}}]}"#,
        "Hello. (Hm.)",
    ),
    (
        "thinking blocks",
        Anthropic,
        Whole,
        r#"{"content":[{"type":"thinking","thinking":"Hm.","signature":"x"},{"type":"redacted_thinking","data":"y"},{"type":"text","text":"Hello."}],"stop_reason":"end_turn"}"#,
        "Hello. (Hm.)",
    ),
    (
        "thinking blocks, streamed",
        Anthropic,
        Streamed,
        r#"→{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}→{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}→{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"x"}}→{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}→{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hello."}}→{"type":"message_stop"}"#,
        "Hello. (Hm.)",
    ),
    ("a thinking member", Ollama, Whole, r#"{"message":{"content":"Hello.","thinking":"Hm."},"done":true}"#, "Hello. (Hm.)"),
    (
        "a thinking member, streamed",
        Ollama,
        Streamed,
        "{\"message\":{\"content\":\"\",\"thinking\":\"Hm.\"},\"done\":false}\n{\"message\":{\"content\":\"Hello.\"},\"done\":false}\n{\"message\":{\"content\":\"\"},\"done\":true}\n",
        "Hello. (Hm.)",
    ),
    (
        "think tags in lines",
        Ollama,
        Streamed,
        "{\"message\":{\"content\":\"<think>Hm.</th\"},\"done\":false}\n{\"message\":{\"content\":\"ink>Hello.\"},\"done\":true}\n",
        "Hello. (Hm.)",
    ),
    (
        "thoughts before a tool call",
        OpenAi,
        Call,
        r#"{"choices":[{"message":{"content":"<think>Hm.</think>","tool_calls":[{"id":"a","function":{"name":"finish","arguments":"{}"}}]}}]}"#,
        " (Hm.) a:finish{}",
    ),
    // Content.
    (
        "content in parts",
        OpenAi,
        Whole,
        r#"{"choices":[{"message":{"content":[{"type":"text","text":"Hel"},{"type":"text","text":"lo."}]}}]}"#,
        "Hello.",
    ),
    (
        "content in parts, streamed",
        OpenAi,
        Streamed,
        r#"→{"choices":[{"delta":{"content":[{"type":"text","text":"Hel"}]}}]}→{"choices":[{"delta":{"content":[{"type":"text","text":"lo."}]}}]}→[DONE]"#,
        "Hello.",
    ),
    (
        "thoughts among the parts",
        OpenAi,
        Whole,
        r#"{"choices":[{"message":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"Hello."}]}}]}"#,
        "Hello. (Hm.)",
    ),
    ("content that is a text", Anthropic, Whole, r#"{"content":"Hello.","stop_reason":"end_turn"}"#, "Hello."),
    ("no content", OpenAi, Whole, r#"{"choices":[{"message":{"content":null}}]}"#, "Invalid: it is empty"),
    (
        "a refusal in a stream",
        OpenAi,
        Streamed,
        r#"→{"choices":[{"delta":{"refusal":"No."}}]}→{"choices":[{"delta":{},"finish_reason":"stop"}]}→[DONE]"#,
        "Refused: the model refuses to answer: No.",
    ),
    (
        "whole messages in a stream",
        OpenAi,
        Streamed,
        r#"→{"choices":[{"message":{"content":"Hello."},"finish_reason":"stop"}]}→[DONE]"#,
        "Hello.",
    ),
    // The end of a stream.
    (
        "finish_reason without [DONE]",
        OpenAi,
        Streamed,
        r#"→{"choices":[{"delta":{"content":"Hello."}}]}→{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        "Hello.",
    ),
    (
        "usage after finish_reason",
        OpenAi,
        Streamed,
        r#"→{"choices":[{"delta":{"content":"Hello."},"finish_reason":"stop"}]}→{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#,
        "Hello.",
    ),
    (
        "neither finish_reason nor [DONE]",
        OpenAi,
        Streamed,
        r#"→{"choices":[{"delta":{"content":"Hello."}}]}"#,
        "Unavailable: the response was cut off",
    ),
    (
        "a blank finish_reason on every chunk",
        OpenAi,
        Streamed,
        r#"→{"choices":[{"delta":{"content":"Hello."},"finish_reason":""}]}"#,
        "Unavailable: the response was cut off",
    ),
    (
        "a stop_reason without message_stop",
        Anthropic,
        Streamed,
        r#"→{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello."}}→{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
        "Hello.",
    ),
    (
        "a last line without its end",
        Ollama,
        Streamed,
        "{\"message\":{\"content\":\"Hello.\"},\"done\":false}\n{\"message\":{\"content\":\"\"},\"done\":true}",
        "Hello.",
    ),
    ("[DONE] without its end", OpenAi, Streamed, "data: {\"choices\":[{\"delta\":{\"content\":\"Hello.\"}}]}\n\ndata: [DONE]", "Hello."),
    // The form of the body.
    (
        "a byte order mark before events",
        OpenAi,
        Streamed,
        "\u{feff}data: {\"choices\":[{\"delta\":{\"content\":\"Hello.\"}}]}\n\ndata: [DONE]\n\n",
        "Hello.",
    ),
    ("a byte order mark before lines", Ollama, Streamed, "\u{feff}{\"message\":{\"content\":\"Hello.\"},\"done\":true}\n", "Hello."),
    ("a byte order mark before a document", OpenAi, Whole, "\u{feff}{\"choices\":[{\"message\":{\"content\":\"Hello.\"}}]}", "Hello."),
    ("a document for a stream", OpenAi, Streamed, r#"{"choices":[{"message":{"content":"Hello."},"finish_reason":"stop"}]}"#, "Hello."),
    (
        "a document over lines for a stream",
        Anthropic,
        Streamed,
        "{\n  \"content\": [\n    {\"type\": \"text\", \"text\": \"Hello.\"}\n  ]\n}\n",
        "Hello.",
    ),
    (
        "a document over lines for a stream of lines",
        Ollama,
        Streamed,
        "{\n  \"message\": {\"content\": \"Hello.\"},\n  \"done\": true\n}",
        "Hello.",
    ),
    (
        "an error for a stream",
        OpenAi,
        Streamed,
        r#"{"error":{"message":"no capacity"}}"#,
        "Unavailable: the response was cut off: no capacity",
    ),
    (
        "a stream for a document",
        OpenAi,
        Whole,
        r#"→{"choices":[{"delta":{"content":"Hel"}}]}→{"choices":[{"delta":{"content":"lo."}}]}→[DONE]"#,
        "Hello.",
    ),
    (
        "lines for a document",
        Ollama,
        Whole,
        "{\"message\":{\"content\":\"Hel\"},\"done\":false}\n{\"message\":{\"content\":\"lo.\"},\"done\":true}\n",
        "Hello.",
    ),
    (
        "comments, signs of life and unknown fields",
        OpenAi,
        Streamed,
        ": on it\n\nretry: x\nfoo\ndata:\n\ndata:{\"choices\":[{\"delta\":{\"content\":\"Hello.\"}}]}\n\ndata: [DONE]\n\n",
        "Hello.",
    ),
    ("an event of an error", OpenAi, Streamed, "event: error\ndata: no capacity\n\n", "Unavailable: the response was cut off: no capacity"),
    (
        "an end by an error",
        OpenAi,
        Streamed,
        r#"→{"choices":[{"delta":{"content":"Hel"}}]}→{"choices":[{"delta":{},"finish_reason":"error","error":{"message":"no capacity"}}]}"#,
        "Unavailable: the response was cut off: no capacity",
    ),
    // Several choices.
    (
        "two choices",
        OpenAi,
        Whole,
        r#"{"choices":[{"index":0,"message":{"content":"A"}},{"index":1,"message":{"content":"B"}}]}"#,
        "Invalid: it has several choices",
    ),
    (
        "two choices in turns",
        OpenAi,
        Streamed,
        r#"→{"choices":[{"index":0,"delta":{"content":"A"}}]}→{"choices":[{"index":1,"delta":{"content":"B"}}]}→[DONE]"#,
        "Invalid: it has several choices",
    ),
    // Tool calls.
    (
        "calls without ids",
        OpenAi,
        Call,
        r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"balance","arguments":"{\"account\":\"1\"}"}},{"function":{"name":"finish","arguments":"{}"}}]}}]}"#,
        " :balance{\"account\":\"1\"} :finish{}",
    ),
    (
        "calls without ids at one index",
        OpenAi,
        StreamedCall,
        r#"→{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"balance","arguments":"{\"account\":"}}]}}]}→{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"1\"}"}}]}}]}→{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"finish","arguments":"{}"}}]}}]}→[DONE]"#,
        " :balance{\"account\":\"1\"} :finish{}",
    ),
    (
        "calls without ids and arguments at one index",
        OpenAi,
        StreamedCall,
        r#"→{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"balance"}},{"index":0,"function":{"name":"finish"}}]}}]}→[DONE]"#,
        " :balance{} :finish{}",
    ),
    (
        "two calls of one tool at one index",
        OpenAi,
        StreamedCall,
        r#"→{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"balance","arguments":"{\"account\":\"1\"}"}}]}}]}→{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"balance","arguments":"{\"account\":\"2\"}"}}]}}]}→[DONE]"#,
        " :balance{\"account\":\"1\"} :balance{\"account\":\"2\"}",
    ),
    (
        "the name with every piece, and no index",
        OpenAi,
        StreamedCall,
        r#"→{"choices":[{"delta":{"tool_calls":[{"function":{"name":"balance","arguments":"{\"account\":"}}]}}]}→{"choices":[{"delta":{"tool_calls":[{"function":{"name":"balance","arguments":"\"1\"}"}}]}}]}→[DONE]"#,
        " :balance{\"account\":\"1\"}",
    ),
    (
        "calls that end with finish_reason alone",
        OpenAi,
        StreamedCall,
        r#"→{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"finish","arguments":"{}"}}]}}]}→{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        " a:finish{}",
    ),
    (
        "arguments that are written twice",
        OpenAi,
        Call,
        r#"{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"balance","arguments":"\"{\\\"account\\\":\\\"1\\\"}\""}}]}}]}"#,
        " a:balance{\"account\":\"1\"}",
    ),
    (
        "arguments that are written twice, in pieces",
        OpenAi,
        StreamedCall,
        r#"→{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"balance","arguments":"\"{\\\"account\\\""}}]}}]}→{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":\\\"1\\\"}\""}}]}}]}→[DONE]"#,
        " a:balance{\"account\":\"1\"}",
    ),
    (
        "input that is a text",
        Anthropic,
        Call,
        r#"{"content":[{"type":"tool_use","id":"a","name":"balance","input":"{\"account\":\"1\"}"}],"stop_reason":"tool_use"}"#,
        " a:balance{\"account\":\"1\"}",
    ),
    (
        "arguments that are a text",
        Ollama,
        Call,
        r#"{"message":{"content":"","tool_calls":[{"function":{"name":"balance","arguments":"{\"account\":\"1\"}"}}]},"done":true}"#,
        " :balance{\"account\":\"1\"}",
    ),
    (
        "two calls of one tool in lines",
        Ollama,
        StreamedCall,
        "{\"message\":{\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"finish\",\"arguments\":{}}}]},\"done\":false}\n{\"message\":{\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"finish\",\"arguments\":{}}}]},\"done\":true}\n",
        " :finish{} :finish{}",
    ),
    (
        "calls in a stop without message_stop",
        Anthropic,
        StreamedCall,
        r#"→{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"balance","input":{}}}→{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"account\":\"1\"}"}}→{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
        " a:balance{\"account\":\"1\"}",
    ),
    (
        "the earlier form of a call",
        OpenAi,
        Call,
        r#"{"choices":[{"message":{"content":null,"function_call":{"name":"finish","arguments":"{}"}}}]}"#,
        " :finish{}",
    ),
    (
        "the earlier form of a call, streamed",
        OpenAi,
        StreamedCall,
        r#"→{"choices":[{"delta":{"function_call":{"name":"balance","arguments":"{\"account\":"}}}]}→{"choices":[{"delta":{"function_call":{"arguments":"\"1\"}"}}}]}→[DONE]"#,
        " :balance{\"account\":\"1\"}",
    ),
    (
        "a document with calls for a stream",
        OpenAi,
        StreamedCall,
        r#"{"choices":[{"message":{"content":"Hm.","tool_calls":[{"id":"a","function":{"name":"finish","arguments":{}}}]},"finish_reason":"tool_calls"}]}"#,
        "Hm. a:finish{}",
    ),
];

/// Answers a call with a body; returns the result and the published text.
async fn play(provider: Provider, asked: Asked, body: &str) -> (Result<LlmReply, EffectError>, Option<String>) {
    let server = Server::new(vec![response_until_close(body.as_bytes())]).await;
    let models = models(&settings(&server.address, &[provider.model_spec()]));
    let request: LlmRequest = match asked {
        Whole | Streamed => call("response_text", LlmMode::Text),
        Call | StreamedCall => conversation(),
    };
    let listener = matches!(asked, Streamed | StreamedCall).then(TestSubscriber::new);
    let result = models.generate(&request, listener.as_ref().map(|it| it as &dyn OutputSink), far_deadline()).await.result;
    (into_result(result), listener.as_ref().map(TestSubscriber::published_text))
}

/// A result as the table has it.
fn describe(result: &Result<LlmReply, EffectError>, provider: Provider) -> String {
    let reply = match result {
        Ok(reply) => reply,
        Err(error) => {
            let message = error.message.replace("the answer cannot be used: ", "").replace(&format!("{}: ", provider.model_spec()), "");
            return format!("{:?}: {message}", error.kind);
        }
    };
    let reasoning = if reply.reasoning.is_empty() { String::new() } else { format!(" ({})", reply.reasoning) };
    let calls: String = reply.tool_calls.iter().map(|call| format!(" {}:{}{}", call.id, call.name, call.arguments)).collect();
    format!("{}{reasoning}{calls}", reply.text)
}

#[tokio::test]
async fn every_shape_of_an_answer_has_its_outcome() {
    for (name, provider, asked, body, expected) in SHAPES {
        let events: String = body.split('→').skip(1).map(|it| format!("data: {it}\n\n")).collect();
        let (result, shown) = play(provider, asked, if events.is_empty() { body } else { &events }).await;
        let found = describe(&result, provider);
        let is_expected = if result.is_ok() { found == expected } else { found.starts_with(expected) };
        assert!(is_expected, "{name}: expected {expected}, got {found}");
        if let (Ok(reply), Some(shown)) = (&result, shown) {
            assert_eq!(shown, reply.text, "{name}: what is shown while it streams");
        }
    }
}

#[tokio::test]
async fn a_finished_answer_needs_one_call_alone() {
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}\n\n";
    let server = Server::new(vec![response_until_close(body.as_bytes())]).await;
    let mut llm = settings(&server.address, &["openai:test-model"]);
    llm.max_attempts = 3;
    let listener = TestSubscriber::new();
    let answer = models(&llm).generate(&call("response_text", LlmMode::Text), Some(&listener), far_deadline()).await;
    assert_eq!((into_result(answer.result).expect("an answer").text.as_str(), answer.billed_attempts), ("Hello.", 0));
    assert_eq!((server.requests().len(), listener.take_pieces().contains(&Piece::Reset)), (1, false));
}
