//! A flow document: a session that recognises what is wanted, asks for values, asks again, and decides. Nothing outside of the engine is
//! needed, so that no turn requests an effect.
//!
//! Run it with `cargo run --example flow`.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::turn::{LoadedSession, Turn, TurnInput, UserEvent, uuid_from_seed};
use serde_json::{Value, json};

/// Nodes are joined by edges. A session stands at a node until the user has said what the node waits for.
const DOCUMENT: &str = r#"{
  "schema_version": "1.0", "doc": "conversation_flow", "id": "table", "name": "Table", "default_locale": "en-US", "root": "root",
  "settings": {"llm_match": false, "llm_verify": false},
  "events": {"fallback": {"enabled": true, "message": "I can book a table. Just say: book a table."}},
  "intents": [{"id": "book", "name": "Book a table", "graph": "book", "phrases": ["book a table", "reserve a table"]}],
  "graphs": [
    {"id": "root", "kind": "root", "entry": "start",
     "nodes": [
       {"id": "start", "type": "start", "name": "Start", "data": {}},
       {"id": "hello", "type": "message", "name": "Hello", "data": {"blocks": [{"kind": "text", "text": "Good day."}]}},
       {"id": "idle", "type": "end", "name": "Wait", "data": {"end_session": false}}],
     "edges": [{"id": "e1", "source": "start", "target": "hello"}, {"id": "e2", "source": "hello", "target": "idle"}]},
    {"id": "book", "kind": "intent", "entry": "begin",
     "nodes": [
       {"id": "begin", "type": "intent", "name": "Begin", "data": {"intent_id": "book"}},
       {"id": "day", "type": "entity", "name": "Day", "data": {"variable": "day", "entity": "@date", "prompt": "For which day?"}},
       {"id": "guests", "type": "entity", "name": "Guests", "data": {"variable": "guests", "entity": "@number",
        "prompt": "For how many?", "reprompt": ["Please say a number."]}},
       {"id": "large", "type": "decision", "name": "A large party?", "data": {}},
       {"id": "call", "type": "end", "name": "Call", "data": {"final_message": "Please call us for {{ guests }} guests."}},
       {"id": "booked", "type": "end", "name": "Booked", "data": {"final_message": "A table for {{ guests }} on {{ day }}."}}],
     "edges": [
       {"id": "e1", "source": "begin", "target": "day"},
       {"id": "e2", "source": "day", "target": "guests"},
       {"id": "e3", "source": "guests", "target": "large"},
       {"id": "e4", "source": "large", "target": "call", "condition": {"expr": "guests > 8"}},
       {"id": "e5", "source": "large", "target": "booked", "condition": {"expr": "default"}}]}
  ]
}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let config = Arc::new(Config::from_flow(&serde_json::from_str(DOCUMENT)?)?);
    let mut session = LoadedSession::default();
    let events = [
        json!({"type": "session.start"}),
        json!({"type": "user.message", "text": "Is it warm outside?"}),
        json!({"type": "user.message", "text": "Then please reserve a table for tomorrow"}),
        json!({"type": "user.message", "text": "not many"}),
        json!({"type": "user.message", "text": "We are four"}),
    ];
    for (seed, event) in (1..).zip(events) {
        println!("> {}", event.get("text").and_then(Value::as_str).unwrap_or("(the session starts)"));
        let input = TurnInput {
            turn: uuid_from_seed(seed),
            conversation: "a-session".to_owned(),
            at: 1_767_258_000_000,
            seed,
            program: config.program(),
            event: UserEvent::from_flow_event(event),
            session: session.clone(),
        };
        let (_, slice) = Turn::start(input, Arc::clone(&config))?;
        let outcome = slice.end.ok_or("the turn waits for an effect")?;
        for message in outcome.payload.iter().flat_map(|payload| payload.value.lines()) {
            println!("< {message}");
        }
        println!("  at {}", outcome.state);
        // The state of a session is JSON: a host stores it, and the next turn gets it.
        session = session.with_writes(&outcome.writes);
    }
    Ok(())
}
