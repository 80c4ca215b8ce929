//! Conversations with tool calls: requests, answers, and the choice of the model.

use convengine_core::turn::{EffectErrorKind, LlmDialogue, LlmMessage, LlmMode, LlmRequest, LlmTool, LlmToolCall};
use convengine_settings::spend_cap::SpendPeriod;
use convengine_settings::{Price, SpendCap};
use serde_json::{Value, json};

use super::provider::{ALL, Provider};
use super::server::{Server, response_with_length};
use super::{KEY, call, generate, models, settings};

/// A model call after tools have answered.
pub fn conversation() -> LlmRequest {
    let called = |id: &str, arguments: Value| LlmToolCall { id: id.to_owned(), name: "balance".to_owned(), arguments };
    let messages = vec![
        LlmMessage::user("My balance?"),
        LlmMessage::assistant("", vec![called("a", json!({"account": "1"})), called("b", json!("broken"))]),
        LlmMessage::tool("a", "{\"ok\":true}"),
        LlmMessage::tool("b", "{\"ok\":false}"),
        LlmMessage::assistant("It is 3.", Vec::new()),
        LlmMessage::user("Thanks."),
    ];
    let tool = |name: &str, parameters: Value| LlmTool { name: name.to_owned(), description: "What for.".to_owned(), parameters };
    let tools = vec![tool("balance", json!({"type": "object", "properties": {"account": {"type": "string"}}})), tool("finish", json!({}))];
    let dialogue = LlmDialogue { messages, tools, model: None, temperature: Some(0.25), is_masked: false };
    LlmRequest { user: String::new(), hint: None, dialogue: Some(Box::new(dialogue)), ..call("agent", LlmMode::Text) }
}

/// An answer with a tool call.
fn answer_with_tool_call(provider: Provider, arguments: Value) -> Value {
    let mut answer = provider.answer_with_reason("Let me look.", if provider == Provider::Anthropic { "tool_use" } else { "tool_calls" });
    match provider {
        Provider::OpenAi => {
            let function = json!({"name": "balance", "arguments": arguments.to_string()});
            answer["choices"][0]["message"]["tool_calls"] = json!([{"id": "c1", "type": "function", "function": function}]);
        }
        Provider::Anthropic => {
            let block = json!({"type": "tool_use", "id": "c1", "name": "balance", "input": arguments});
            answer["content"].as_array_mut().expect("blocks").push(block);
        }
        Provider::Ollama => answer["message"]["tool_calls"] = json!([{"function": {"name": "balance", "arguments": arguments}}]),
    }
    answer
}

#[tokio::test]
async fn a_conversation_is_sent_in_the_form_of_each_provider() {
    for provider in ALL {
        let server =
            Server::new(vec![response_with_length(200, "", &answer_with_tool_call(provider, json!({"account": "2"})).to_string())]).await;
        let reply = generate(&models(&settings(&server.address, &[provider.model_spec()])), &conversation()).await.expect("an answer");
        let id = if provider == Provider::Ollama { "" } else { "c1" };
        let expected = LlmToolCall { id: id.to_owned(), name: "balance".to_owned(), arguments: json!({"account": "2"}) };
        assert_eq!((reply.text.as_str(), reply.tool_calls), ("Let me look.", vec![expected]), "{provider:?}");

        let sent = server.requests().remove(0).body;
        let schema = json!({"type": "object", "properties": {"account": {"type": "string"}}});
        let (system, thanks) = (json!({"role": "system", "content": "Be kind."}), json!({"role": "user", "content": "Thanks."}));
        let asked = json!({"role": "user", "content": "My balance?"});
        let spoken = json!({"role": "assistant", "content": "It is 3."});
        let function = |parameters: &Value, name: &str| json!({"type": "function", "function": {"name": name, "description": "What for.", "parameters": parameters}});
        let empty = json!({"type": "object", "properties": {}});
        let functions = json!([function(&schema, "balance"), function(&empty, "finish")]);
        let (messages, tools, temperature) = match provider {
            Provider::OpenAi => {
                let call = |id: &str, text: &str| json!({"id": id, "type": "function", "function": {"name": "balance", "arguments": text}});
                let calls = json!([call("a", "{\"account\":\"1\"}"), call("b", "broken")]);
                let result = |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
                let called = json!({"role": "assistant", "content": null, "tool_calls": calls});
                let results = (result("a", "{\"ok\":true}"), result("b", "{\"ok\":false}"));
                (json!([system, asked, called, results.0, results.1, spoken, thanks]), functions, &sent["temperature"])
            }
            Provider::Ollama => {
                let call = |arguments: Value| json!({"function": {"name": "balance", "arguments": arguments}});
                let calls = json!([call(json!({"account": "1"})), call(json!({"written": "broken"}))]);
                let result = |text: &str| json!({"role": "tool", "tool_name": "balance", "content": text});
                let called = json!({"role": "assistant", "content": "", "tool_calls": calls});
                let results = (result("{\"ok\":true}"), result("{\"ok\":false}"));
                (json!([system, asked, called, results.0, results.1, spoken, thanks]), functions, &sent["options"]["temperature"])
            }
            Provider::Anthropic => {
                let text = |text: &str| json!([{"type": "text", "text": text}]);
                let call = |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "balance", "input": input});
                let calls = json!([call("a", json!({"account": "1"})), call("b", json!({"written": "broken"}))]);
                let result = |id: &str, text: &str| json!({"type": "tool_result", "tool_use_id": id, "content": text});
                let results = json!([result("a", "{\"ok\":true}"), result("b", "{\"ok\":false}")]);
                assert_eq!(sent["system"], "Be kind.");
                let messages = json!([
                    {"role": "user", "content": text("My balance?")}, {"role": "assistant", "content": calls},
                    {"role": "user", "content": results}, {"role": "assistant", "content": text("It is 3.")},
                    {"role": "user", "content": text("Thanks.")}
                ]);
                let tool = |name: &str, schema: &Value| json!({"name": name, "description": "What for.", "input_schema": schema});
                (messages, json!([tool("balance", &schema), tool("finish", &empty)]), &sent["temperature"])
            }
        };
        assert_eq!((&sent["messages"], &sent["tools"], temperature), (&messages, &tools, &json!(0.25)), "{provider:?}");
    }
}

#[tokio::test]
async fn an_answer_may_consist_of_tool_calls_alone() {
    for provider in ALL {
        let mut answer = answer_with_tool_call(provider, json!({}));
        match provider {
            Provider::OpenAi => answer["choices"][0]["message"]["content"] = Value::Null,
            Provider::Anthropic => drop(answer["content"].as_array_mut().expect("blocks").remove(0)),
            Provider::Ollama => answer["message"]["content"] = json!(""),
        }
        let server = Server::new(vec![response_with_length(200, "", &answer.to_string())]).await;
        let reply = generate(&models(&settings(&server.address, &[provider.model_spec()])), &conversation()).await.expect("an answer");
        assert_eq!((reply.text.as_str(), reply.tool_calls.len()), ("", 1), "{provider:?}");
    }
    // Arguments that are not JSON are passed on; calls that were cut off are not.
    let mut broken = answer_with_tool_call(Provider::OpenAi, json!({}));
    broken["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = json!(format!("{{\"account\": {KEY}"));
    let mut cut = answer_with_tool_call(Provider::OpenAi, json!({}));
    cut["choices"][0]["finish_reason"] = json!("length");
    let server =
        Server::new(vec![response_with_length(200, "", &broken.to_string()), response_with_length(200, "", &cut.to_string())]).await;
    let models = models(&settings(&server.address, &["openai:m"]));
    let reply = generate(&models, &conversation()).await.expect("an answer");
    assert_eq!(reply.tool_calls[0].arguments, json!("{\"account\": [secret:TEST_KEY]"));
    assert_eq!(generate(&models, &conversation()).await.expect_err("cut off").kind, EffectErrorKind::Invalid);
}

#[tokio::test]
async fn a_document_may_name_a_model_and_its_provider() {
    for (words, requested, path, model) in [
        (&["openai:a", "anthropic:b"][..], "large", "/v1/chat/completions", "large"),
        (&["openai:a", "anthropic:b"], "anthropic:large", "/v1/messages", "large"),
        (&["agent=openai:a", "policy=ollama:b"], "ollama:llama:8b", "/api/chat", "llama:8b"),
        (&["agent=openai:a"], "anthropic:large", "/v1/chat/completions", "large"),
        (&["ollama:a"], "llama:8b", "/api/chat", "llama:8b"),
    ] {
        let both = Provider::OpenAi.answer_with_reason("x", "stop");
        let mut answer = Provider::Anthropic.answer_with_reason("x", "end_turn");
        answer["choices"] = both["choices"].clone();
        (answer["message"], answer["done"]) = (json!({"content": "x"}), json!(true));
        let server = Server::new(vec![response_with_length(200, "", &answer.to_string())]).await;
        let mut request = conversation();
        request.dialogue.as_mut().expect("a conversation").model = Some(requested.to_owned());
        generate(&models(&settings(&server.address, words)), &request).await.expect("an answer");
        let got = server.requests().remove(0);
        assert_eq!((got.path(), &got.body["model"]), (path, &json!(model)), "{words:?} {requested}");
    }
    let server = Server::new(vec![response_with_length(200, "", &Provider::OpenAi.answer("x"))]).await;
    let mut request = conversation();
    request.dialogue.as_mut().expect("a conversation").model = Some("openai:large".to_owned());
    let off = models(&settings(&server.address, &["agent=off", "openai:a"]));
    assert_eq!(generate(&off, &request).await.expect_err("the purpose is off").kind, EffectErrorKind::Unsupported);
    let missing = generate(&models(&settings(&server.address, &[])), &request).await.expect_err("no model");
    assert_eq!((missing.kind, missing.message.contains("--llm openai:large")), (EffectErrorKind::Unsupported, true), "{missing:?}");
    // The spend cap applies to models that documents name.
    let mut llm = settings(&server.address, &["openai:a"]);
    llm.cap = Some(SpendCap { micros: 10, per: SpendPeriod::Day });
    llm.prices.insert("a".to_owned(), Price { input: 1, output: 1 });
    assert_eq!(generate(&models(&llm), &request).await.expect_err("no price").kind, EffectErrorKind::Denied);
    assert!(server.requests().is_empty());
}
