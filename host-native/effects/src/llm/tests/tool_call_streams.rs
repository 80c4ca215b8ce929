//! Streamed tool calls: once assembled, they equal those of a complete answer.

use convengine_core::turn::{EffectError, EffectErrorKind, LlmReply, LlmToolCall};
use serde_json::{Value, json};

use super::dialogue::conversation;
use super::provider::{ALL, Provider};
use super::server::{ScriptedResponse, Server, response_until_close, response_with_length};
use super::{TestSubscriber, far_deadline, generate, into_result, models, settings};

/// Id, name and the JSON text of the arguments.
type CallParts<'c> = (&'c str, &'c str, &'c str);

/// With escapes of every kind, including a surrogate pair.
const ESCAPED: &str = r#"{"account":"Gr\u00fc\u00dfe \"x\" \\ \n \ud83d\ude42","list":[1,{"a":null}]}"#;

fn finish_reason(provider: Provider) -> &'static str {
    if provider == Provider::Anthropic { "tool_use" } else { "tool_calls" }
}

/// A complete answer with text and tool calls.
fn complete_answer(provider: Provider, text: &str, calls: &[CallParts<'_>]) -> String {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    let mut answer = provider.answer_with_reason(text, finish_reason(provider));
    match provider {
        Provider::OpenAi => {
            let call = |call: &CallParts<'_>| json!({"id": call.0, "type": "function", "function": {"name": call.1, "arguments": call.2}});
            answer["choices"][0]["message"]["tool_calls"] = calls.iter().map(call).collect();
        }
        Provider::Anthropic => {
            let block = |call: &CallParts<'_>| json!({"type": "tool_use", "id": call.0, "name": call.1, "input": parsed(call.2)});
            answer["content"].as_array_mut().expect("blocks").extend(calls.iter().map(block));
        }
        Provider::Ollama => {
            let call = |call: &CallParts<'_>| json!({"function": {"name": call.1, "arguments": parsed(call.2)}});
            answer["message"]["tool_calls"] = calls.iter().map(call).collect();
        }
    }
    answer.to_string()
}

/// Splits a text into fragments of `size` characters.
fn fragments(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(size).map(|chunk| chunk.iter().collect()).collect()
}

/// The same answer streamed, with arguments in fragments of `size` characters; those of OpenAI are interleaved.
fn streamed_answer(provider: Provider, text: &[&str], calls: &[CallParts<'_>], size: usize) -> String {
    let plain = provider.stream(text);
    match provider {
        Provider::OpenAi => {
            let event = |piece: Value| format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]}));
            let mut events = String::new();
            for (at, call) in calls.iter().enumerate() {
                events += &event(json!({"index": at, "id": call.0, "type": "function", "function": {"name": call.1, "arguments": ""}}));
            }
            let written: Vec<Vec<String>> = calls.iter().map(|it| fragments(it.2, size)).collect();
            for number in 0..written.iter().map(Vec::len).max().unwrap_or(0) {
                for (at, piece) in written.iter().enumerate().filter_map(|(at, pieces)| Some((at, pieces.get(number)?))) {
                    events += &event(json!({"index": at, "function": {"arguments": piece}}));
                }
            }
            let (front, end) = plain.rsplit_once("data: {\"id\"").and_then(|it| it.0.rsplit_once("data: {\"id\"")).expect("the end");
            let rest = &plain[front.len()..];
            assert!(end.contains("\"stop\""), "{end}");
            format!("{front}{events}{}", rest.replace("\"stop\"", "\"tool_calls\""))
        }
        Provider::Anthropic => {
            let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().expect("a type"));
            let mut events = String::new();
            for (at, call) in calls.iter().enumerate() {
                let block = json!({"type": "tool_use", "id": call.0, "name": call.1, "input": {}});
                events += &event(&json!({"type": "content_block_start", "index": at + 1, "content_block": block}));
                // The provider begins with an empty fragment, which is the only one for a call without arguments.
                let written = if call.2 == "{}" { Vec::new() } else { fragments(call.2, size) };
                for piece in [String::new()].iter().chain(&written) {
                    let delta = json!({"type": "input_json_delta", "partial_json": piece});
                    events += &event(&json!({"type": "content_block_delta", "index": at + 1, "delta": delta}));
                }
                events += &event(&json!({"type": "content_block_stop", "index": at + 1}));
            }
            let (front, end) = plain.split_once("event: message_delta").expect("the end");
            format!("{front}{events}event: message_delta{}", end.replace("end_turn", "tool_use"))
        }
        Provider::Ollama => {
            let function =
                |call: &CallParts<'_>| json!({"function": {"name": call.1, "arguments": serde_json::from_str::<Value>(call.2).unwrap()}});
            let line =
                |call: &CallParts<'_>| format!("{}\n", json!({"message": {"content": "", "tool_calls": [function(call)]}, "done": false}));
            let at = plain.trim_end().rfind('\n').map_or(0, |it| it + 1);
            format!("{}{}{}", &plain[..at], calls.iter().map(line).collect::<String>(), &plain[at..])
        }
    }
}

/// Makes a streaming call; returns its result and the published text.
async fn generate_streamed(provider: Provider, answer: ScriptedResponse) -> (Result<LlmReply, EffectError>, String) {
    let server = Server::new(vec![answer]).await;
    let models = models(&settings(&server.address, &[provider.model_spec()]));
    let listener = TestSubscriber::new();
    let answer = into_result(models.generate(&conversation(), Some(&listener), far_deadline()).await.result);
    assert_eq!(server.requests()[0].body["stream"], true);
    (answer, listener.published_text())
}

#[tokio::test]
async fn streamed_tool_calls_equal_complete_ones() {
    let one = ("c1", "balance", ESCAPED);
    let two = ("c2", "finish", r#"{"account":"2"}"#);
    let none = ("c3", "finish", "{}");
    for provider in ALL {
        for calls in [&[one][..], &[one, two], &[none, one], &[none]] {
            for text in [&["Let me ", "\"look\"."][..], &[]] {
                let server = Server::new(vec![response_with_length(200, "", &complete_answer(provider, &text.concat(), calls))]).await;
                let expected =
                    generate(&models(&settings(&server.address, &[provider.model_spec()])), &conversation()).await.expect("an answer");
                assert_eq!(expected.tool_calls.len(), calls.len());
                for size in [1, 2, 3, 7, 1000] {
                    let body = streamed_answer(provider, text, calls, size);
                    let (answer, shown) = generate_streamed(provider, response_until_close(body.as_bytes())).await;
                    assert_eq!((answer.as_ref(), shown), (Ok(&expected), text.concat()), "{provider:?} {calls:?} {size}");
                }
            }
        }
    }
}

#[tokio::test]
async fn invalid_arguments_are_passed_on_and_blank_ones_are_empty() {
    for (written, expected) in [
        ("{\"account\": ", json!("{\"account\": ")),
        ("{\"a\":1}{\"a\":2}", json!("{\"a\":1}{\"a\":2}")),
        ("[1]", json!([1])),
        ("", json!({})),
        (" \n", json!({})),
    ] {
        for provider in [Provider::OpenAi, Provider::Anthropic] {
            let body = streamed_answer(provider, &["x"], &[("c1", "balance", written)], 4);
            let answer = generate_streamed(provider, response_until_close(body.as_bytes())).await.0.expect("an answer");
            let call = LlmToolCall { id: "c1".to_owned(), name: "balance".to_owned(), arguments: expected.clone() };
            assert_eq!(answer.tool_calls, [call], "{provider:?}");
        }
        let server =
            Server::new(vec![response_with_length(200, "", &complete_answer(Provider::OpenAi, "x", &[("c1", "balance", written)]))]).await;
        let answer = generate(&models(&settings(&server.address, &["openai:m"])), &conversation()).await.expect("an answer");
        assert_eq!(answer.tool_calls[0].arguments, expected, "as in a complete answer");
    }
}

#[tokio::test]
async fn truncated_tool_calls_are_failures() {
    for provider in ALL {
        let body = streamed_answer(provider, &["Look."], &[("c1", "balance", ESCAPED), ("c2", "finish", "{}")], 9);
        // An answer that the model has ended is whole.
        let ended = ["\"finish_reason\":\"tool_calls\"", "\"stop_reason\":\"tool_use\"", "\"done_reason\""];
        let last = ended.iter().find_map(|it| body.find(it)).expect("an end");
        for end in (0..last).step_by(61) {
            let (answer, shown) = generate_streamed(provider, response_until_close(&body.as_bytes()[..end])).await;
            assert_eq!(answer.expect_err("half an answer").kind, EffectErrorKind::Unavailable, "{provider:?} {end}");
            assert!("Look.".starts_with(&shown), "{shown}");
        }
    }
    for (provider, reason, cut) in [
        (Provider::OpenAi, "\"tool_calls\"}]", "\"length\"}]"),
        (Provider::Anthropic, "\"stop_reason\":\"tool_use\"", "\"stop_reason\":\"max_tokens\""),
    ] {
        let body = streamed_answer(provider, &[], &[("c1", "balance", "{\"account\":")], 9);
        assert!(body.contains(reason), "{body}");
        let answer = generate_streamed(provider, response_until_close(body.replace(reason, cut).as_bytes())).await.0;
        assert_eq!(answer.expect_err("cut off").kind, EffectErrorKind::Invalid, "{provider:?}");
    }
}

#[tokio::test]
async fn openai_compatible_servers_are_understood() {
    let stream = |pieces: Value| {
        let event = |piece: &Value| format!("data: {}\n\n", json!({"choices": [{"delta": {"tool_calls": piece}}]}));
        format!("{}data: [DONE]\n\n", pieces.as_array().expect("pieces").iter().map(event).collect::<String>())
    };
    let function = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let two = [("a", "balance", json!({"account": "1"})), ("b", "finish", json!({}))];
    for (story, pieces) in [
        (
            "all calls have the same place",
            json!([[{"index": 0, "id": "a", "function": function("balance", json!("{\"account\":\"1\"}"))},
                    {"index": 0, "id": "b", "function": function("finish", json!("{}"))}]]),
        ),
        (
            "no call has a place",
            json!([[{"id": "a", "function": function("balance", json!("{\"account\":"))}], [{"function": {"arguments": "\"1\"}"}}],
                   [{"id": "b", "function": function("finish", json!(null))}]]),
        ),
        (
            "id and name come with every piece, arguments as an object",
            json!([[{"index": 1, "id": "b", "function": function("finish", json!({}))}],
                   [{"index": 0, "id": "a", "function": function("balance", json!("{\"account\":"))}],
                   [{"index": 0, "id": "a", "function": function("balance", json!("\"1\"}"))}]]),
        ),
        (
            "the name comes in two",
            json!([[{"index": 0, "id": "a", "function": {"name": "bal"}}], [{"index": 0, "function": function("ance", json!("{\"account\":\"1\"}"))}],
                   [{"index": 1, "id": "b", "function": {"name": "finish"}}]]),
        ),
    ] {
        let answer = generate_streamed(Provider::OpenAi, response_until_close(stream(pieces).as_bytes())).await.0.expect("an answer");
        let expected = two.clone().map(|(id, name, arguments)| LlmToolCall { id: id.to_owned(), name: name.to_owned(), arguments });
        assert_eq!(answer.tool_calls, expected, "{story}");
    }
}
