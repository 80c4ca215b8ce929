//! A first turn without any I/O: compile a configuration, send a message, complete its effects, print the answer, and restore the same
//! turn from its journal. The README of the crate explains it line by line.
//!
//! Run it with `cargo run --example first_turn`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use std::error::Error;
use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::pack::{Conversations, Message, Pack, Scripted};
use convengine_core::turn::{Completion, Outcome, Slice, Turn, state_hash};

/// A pack is configuration (`tables`, `settings`) with a scripted model (`llm`) and, in tests, the turns to play.
const PACK: &str = r#"{
  "name": "first_turn",
  "settings": {"flow": {"dialogueAct": {"resolute": "REGEX_ONLY"}}},
  "tables": {
    "ce_intent": [{"intent_code": "HOURS", "description": "when the shop is open"}],
    "ce_intent_classifier": [
      {"classifier_id": 1, "intent_code": "HOURS", "state_code": "UNKNOWN", "rule_type": "REGEX", "pattern": "\\b(open|hours)\\b"}
    ],
    "ce_response": [
      {"response_id": 1, "intent_code": "HOURS", "state_code": "ANY", "output_format": "TEXT", "response_type": "DERIVED",
       "derivation_hint": "Say when the shop is open."}
    ],
    "ce_prompt_template": [
      {"template_id": 1, "intent_code": "HOURS", "state_code": "ANY", "output_format": "TEXT",
       "system_prompt": "You answer for a bakery that opens at 6 and closes at 14.", "user_prompt": "{{userText}}"}
    ]
  },
  "llm": [{"purpose": "response_text", "reply": "We are open from 6 to 14."}]
}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let pack = Pack::parse(PACK)?;
    let (config, issues) = Config::compile(&pack.tables, &pack.settings);
    for issue in issues {
        eprintln!("{issue:?}");
    }
    let config = Arc::new(config);
    let mut conversations = Conversations::default();
    let mut model = Scripted::from_pack(&pack);

    // Everything that a turn may not find out by itself comes in with the message: the time, and the seed of its ids.
    let message = Message { message: Some("When are you open?".to_owned()), at: 1_767_258_000_000, seed: 7, ..Message::default() };
    let (mut turn, mut slice) = Turn::start(message.into_input(&conversations, config.program()), Arc::clone(&config))?;
    let mut notices = Vec::new();
    let outcome = loop {
        // A host publishes the notices of a slice before it starts the effects.
        notices.append(&mut slice.notices);
        if let Some(outcome) = slice.end.take() {
            break outcome;
        }
        let completions = complete(&slice, &mut model, turn.now());
        slice = turn.resume(completions)?;
    };
    conversations.commit(&outcome);
    print(&outcome, notices.len());

    // The journal has the input and the completions. It restores the turn on any host, at any time.
    let (_, mut restored) = Turn::restore(turn.journal().clone(), config)?;
    let again = restored.end.take().ok_or("the restored turn has not ended")?;
    assert_eq!(state_hash(&again, &restored.notices), state_hash(&outcome, &notices));
    println!("restored from its journal: same state hash");
    Ok(())
}

/// Answers the effects of a slice, as a host does; here the pack's script answers for the model.
fn complete(slice: &Slice, model: &mut Scripted, at: i64) -> Vec<Completion> {
    let complete = |effect: &convengine_core::turn::Effect| {
        let (outcome, delay_ms) = model.answer(&effect.request);
        println!("effect {:?}: {}", effect.id, effect.key);
        Completion { id: effect.id, at: at.saturating_add_unsigned(delay_ms), outcome }
    };
    slice.effects.iter().map(complete).collect()
}

fn print(outcome: &Outcome, notices: usize) {
    let answer = outcome.payload.as_ref().map_or("no answer", |it| it.value.as_str());
    println!("{} / {}: {answer}", outcome.intent, outcome.state);
    println!("{notices} notices, {} writes", outcome.writes.len());
}
