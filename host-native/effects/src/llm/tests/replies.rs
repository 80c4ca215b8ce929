//! Requests and complete answers.

use convengine_core::turn::{EffectErrorKind, EffectResult, EmbedRequest, LlmMode, Reply, Usage};
use convengine_settings::Price;
use serde_json::{Value, json};

use super::provider::{ALL, Provider};
use super::server::{Server, response_with_length};
use super::{KEY, call, far_deadline, generate, models, settings};

/// Makes a call; returns the request body that the provider received, and the text of the answer.
async fn exchange(provider: Provider, purpose: &str, mode: LlmMode, schema: Option<Value>, answer: &str) -> (Value, String) {
    let server = Server::new(vec![response_with_length(200, "", answer)]).await;
    let models = models(&settings(&server.address, &[provider.model_spec()]));
    let mut request = call(purpose, mode);
    request.schema = schema;
    let reply = generate(&models, &request).await.expect("an answer");
    let got = server.requests().remove(0);
    assert_eq!((got.path(), got.header("content-type")), (provider.path(), Some("application/json")));
    let bearer = format!("Bearer {KEY}");
    let signed = (got.header("authorization"), got.header("x-api-key"), got.header("anthropic-version"));
    match provider {
        Provider::OpenAi => assert_eq!(signed, (Some(bearer.as_str()), None, None)),
        Provider::Anthropic => assert_eq!(signed, (None, Some(KEY), Some("2023-06-01"))),
        Provider::Ollama => assert_eq!(signed, (None, None, None)),
    }
    assert!(!got.body.to_string().contains("not for the provider"), "the context is not sent");
    (got.body, reply.text)
}

#[tokio::test]
async fn text_is_requested_and_parsed() {
    let messages = json!([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Say hello.\n\nShortly."}]);
    for provider in ALL {
        let (sent, text) = exchange(provider, "response_text", LlmMode::Text, None, &provider.answer("Grüße 🙂")).await;
        assert_eq!(text, "Grüße 🙂");
        let expected = match provider {
            Provider::OpenAi => json!({"model": "test-model", "messages": messages, "max_tokens": 4096, "temperature": 0.0}),
            Provider::Anthropic => json!({"model": "test-model", "max_tokens": 4096, "system": "Be kind.",
                "messages": [{"role": "user", "content": "Say hello.\n\nShortly."}], "temperature": 0.0}),
            Provider::Ollama => json!({"model": "test-model", "messages": messages, "stream": false,
                "options": {"num_predict": 4096, "temperature": 0.0}}),
        };
        assert_eq!(sent, expected, "{provider:?}");
    }
}

#[tokio::test]
async fn json_is_requested_in_the_form_of_each_provider() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let prompt = format!("Be kind.\n\nAnswer with one JSON value and nothing else. It follows this JSON Schema: {schema}");
    for provider in ALL {
        let answer = provider.answer("{\"a\":1}");
        let (sent, text) = exchange(provider, "schema_extraction", LlmMode::Json, Some(schema.clone()), &answer).await;
        assert_eq!(text, "{\"a\":1}");
        let (system, mode, expected) = match provider {
            Provider::OpenAi => (&sent["messages"][0]["content"], &sent["response_format"], json!({"type": "json_object"})),
            Provider::Anthropic => (&sent["system"], &sent["tools"], Value::Null),
            Provider::Ollama => (&sent["messages"][0]["content"], &sent["format"], json!("json")),
        };
        assert_eq!((system, mode), (&json!(prompt), &expected), "{provider:?}");
    }
}

#[tokio::test]
async fn a_strict_schema_is_enforced_by_the_provider() {
    let schema = json!({"type": "object", "required": ["match"], "properties": {"match": {"type": "boolean"}}});
    for provider in ALL {
        let mut answer: Value = serde_json::from_str(&provider.answer("{\"match\":true}")).unwrap();
        if provider == Provider::Anthropic {
            let tool = json!({"type": "tool_use", "id": "t", "name": "policy", "input": {"match": true}});
            answer["content"] = json!([{"type": "text", "text": "I call it."}, tool]);
            answer["stop_reason"] = json!("tool_use");
        }
        let (sent, text) = exchange(provider, "policy", LlmMode::JsonStrict, Some(schema.clone()), &answer.to_string()).await;
        assert_eq!(text, "{\"match\":true}", "{provider:?}");
        match provider {
            Provider::OpenAi => {
                let format = json!({"name": "policy", "strict": true, "schema": schema});
                assert_eq!(sent["response_format"], json!({"type": "json_schema", "json_schema": format}));
            }
            Provider::Anthropic => {
                assert_eq!(sent["tools"], json!([{"name": "policy", "description": "Takes the answer.", "input_schema": schema}]));
                assert_eq!(sent["tool_choice"], json!({"type": "tool", "name": "policy"}));
            }
            Provider::Ollama => assert_eq!(sent["format"], schema),
        }
        assert!(!sent.to_string().contains("nothing else"), "the provider enforces it: {sent}");
    }
    let list = json!({"type": "array"});
    let (sent, _) = exchange(Provider::Anthropic, "policy", LlmMode::JsonStrict, Some(list), &Provider::Anthropic.answer("[]")).await;
    assert!(sent["tools"].is_null() && sent["system"].as_str().unwrap().contains("\"array\""), "a tool's input cannot be a list: {sent}");
}

#[tokio::test]
async fn a_lone_system_prompt_becomes_the_user_prompt() {
    for provider in ALL {
        let server = Server::new(vec![response_with_length(200, "", &provider.answer("x"))]).await;
        let models = models(&settings(&server.address, &[provider.model_spec()]));
        let mut request = call("extract", LlmMode::Text);
        (request.user, request.hint) = (" ".to_owned(), None);
        generate(&models, &request).await.expect("an answer");
        let sent = server.requests().remove(0).body;
        assert_eq!(sent["messages"], json!([{"role": "user", "content": "Be kind."}]), "{provider:?}");
        assert!(sent["system"].is_null());
    }
}

#[tokio::test]
async fn usage_is_counted_and_priced() {
    for provider in ALL {
        let server = Server::new(vec![response_with_length(200, "", &provider.answer("x"))]).await;
        let mut llm = settings(&server.address, &[provider.model_spec()]);
        let mut usage = Usage { input_tokens: 12, output_tokens: 7, cost_micros: None };
        for (priced, cost) in [("other", None), ("test-model-1", Some(3)), ("test-model", Some(95))] {
            let price =
                if priced == "test-model" { Price { input: 5_000_000, output: 5_000_000 } } else { Price { input: 250_000, output: 0 } };
            llm.prices.insert(priced.to_owned(), price);
            usage.cost_micros = cost;
            let reply = generate(&models(&llm), &call("agent", LlmMode::Text)).await.expect("an answer");
            assert_eq!((reply.usage, reply.model.as_str()), (Some(usage), "test-model-1"), "{provider:?}");
            assert_eq!(reply.provider, provider.model_spec().split(':').next().unwrap());
        }
    }
    let server = Server::new(vec![response_with_length(200, "", r#"{"choices":[{"message":{"content":"x"}}]}"#)]).await;
    let reply = generate(&models(&settings(&server.address, &["openai:plain"])), &call("agent", LlmMode::Text)).await.expect("an answer");
    assert_eq!((reply.usage, reply.model.as_str()), (None, "plain"), "a server that reports no usage");
    // With a price, it is estimated, so that it counts.
    let answer = format!(r#"{{"choices":[{{"message":{{"content":"{}"}}}}]}}"#, "x".repeat(3_000));
    let server = Server::new(vec![response_with_length(200, "", &answer)]).await;
    let mut llm = settings(&server.address, &["openai:plain"]);
    llm.prices.insert("plain".to_owned(), Price { input: 0, output: 5_000_000 });
    let usage = generate(&models(&llm), &call("agent", LlmMode::Text)).await.expect("an answer").usage.expect("an estimate");
    assert_eq!((usage.output_tokens, usage.cost_micros, usage.input_tokens > 0), (1_000, Some(5_000), true));
}

#[tokio::test]
async fn texts_are_embedded_by_the_configured_model() {
    let request = EmbedRequest { texts: vec!["one".to_owned(), "two".to_owned()] };
    let openai = json!({"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1.5, 0]}]});
    let ollama = json!({"embeddings": [[1.5, 0], [0, 1]]});
    for (word, path, body) in [("embed=openai:e", "/v1/embeddings", openai), ("embed=ollama:e", "/api/embed", ollama)] {
        let server = Server::new(vec![
            response_with_length(200, "", &body.to_string()),
            response_with_length(200, "", r#"{"data":[],"embeddings":[]}"#),
        ])
        .await;
        let models = models(&settings(&server.address, &[word, "openai:chat"]));
        let EffectResult::Ok(Reply::Embed(reply)) = models.embed(&request, far_deadline()).await.result else { panic!("no vectors") };
        assert_eq!(reply.vectors, [[1.5, 0.0], [0.0, 1.0]]);
        let got = server.requests().remove(0);
        assert_eq!((got.path(), &got.body["model"], &got.body["input"]), (path, &json!("e"), &json!(["one", "two"])));
        let EffectResult::Error(error) = models.embed(&request, far_deadline()).await.result else { panic!("too few vectors") };
        assert_eq!(error.kind, EffectErrorKind::Invalid, "{error}");
        assert!(error.message.contains("0 vectors for 2 texts"), "{error}");
    }
    let EffectResult::Error(error) = models(&settings("http://127.0.0.1:1", &["openai:chat"])).embed(&request, far_deadline()).await.result
    else {
        panic!()
    };
    assert_eq!((error.kind, error.message.as_str()), (EffectErrorKind::Unsupported, "no model for embeddings is set up"));
}
