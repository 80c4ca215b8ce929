//! An AI agent with a tool. The model and the service are plain functions of this file; a host answers the same two kinds of effects by
//! calling a provider and a URL.
//!
//! Run it with `cargo run --example agent_with_tools`.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::turn::{
    Completion, EffectError, EffectErrorKind, EffectResult, HttpReply, HttpRequest, LlmReply, LlmRequest, LlmRole, LlmToolCall,
    LoadedSession, Reply, Request, Turn, TurnInput, UserEvent, uuid_from_seed,
};
use serde_json::{Value, json};

/// The model chooses the tool and its arguments; the document says what a call is, and the engine checks the arguments.
const DOCUMENT: &str = r#"{
  "schema_version": "1.0", "doc": "ai_agent", "id": "orders", "name": "Order clerk",
  "mission": "Tell customers where their orders are.",
  "tools": [{
    "id": "find_order", "name": "Find an order", "description": "Where an order is", "kind": "http", "effect_class": "read",
    "input_schema": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
    "request": {"method": "GET", "url": "https://shop.example/orders/{{ args.number }}"}
  }]
}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let config = Arc::new(Config::from_flow(&serde_json::from_str(DOCUMENT)?)?);
    let mut session = LoadedSession::default();
    for (seed, text) in (1..).zip(["Hello", "Where is order 17?"]) {
        println!("> {text}");
        let input = TurnInput {
            turn: uuid_from_seed(seed),
            conversation: "a-session".to_owned(),
            at: 1_767_258_000_000,
            seed,
            program: config.program(),
            event: UserEvent::from_flow_event(json!({"type": "user.message", "text": text})),
            session: session.clone(),
        };
        let (mut turn, mut slice) = Turn::start(input, Arc::clone(&config))?;
        let outcome = loop {
            if let Some(outcome) = slice.end {
                break outcome;
            }
            let mut completions = Vec::new();
            for effect in &slice.effects {
                completions.push(Completion { id: effect.id, at: turn.now(), outcome: perform(&effect.request) });
            }
            slice = turn.resume(completions)?;
        };
        println!("< {}", outcome.payload.as_ref().map_or("no answer", |payload| &payload.value));
        session = session.with_writes(&outcome.writes);
    }
    Ok(())
}

fn perform(request: &Request) -> EffectResult {
    if let Request::Llm(request) = request {
        EffectResult::Ok(Reply::Llm(call_model(request)))
    } else if let Request::Http(request) = request {
        EffectResult::Ok(Reply::Http(call_service(request)))
    } else {
        EffectResult::Error(EffectError::new(EffectErrorKind::Unsupported, "this host calls models and services only"))
    }
}

/// A model that calls the tool for the number in a message, and reads out what the tool has returned.
fn call_model(request: &LlmRequest) -> LlmReply {
    let dialogue = request.dialogue.as_deref().cloned().unwrap_or_default();
    let Some(last) = dialogue.messages.last() else { return LlmReply::default() };
    println!("  the model reads {}", last.content);
    let say = |text: &str| LlmReply { text: text.to_owned(), ..LlmReply::default() };
    if last.role == LlmRole::Tool {
        let result: Value = serde_json::from_str(&last.content).unwrap_or_default();
        return say(&format!("Your order is {}.", result.pointer("/data/status").and_then(Value::as_str).unwrap_or("not known")));
    }
    let number = last.content.split(|letter: char| !letter.is_ascii_digit()).find_map(|digits| digits.parse::<u32>().ok());
    let Some(number) = number else { return say("Hello. Which order do you ask about?") };
    let call = LlmToolCall { id: "call-1".to_owned(), name: "find_order".to_owned(), arguments: json!({"number": number}) };
    LlmReply { tool_calls: vec![call], ..LlmReply::default() }
}

/// A shop in which each order is on its way.
fn call_service(request: &HttpRequest) -> HttpReply {
    println!("  the service gets {} {}", request.method, request.url);
    HttpReply { status: 200, body: r#"{"status": "on its way"}"#.to_owned(), retry_after_ms: None, broken_json: false }
}
