//! Tests a pack without any I/O: the test supplies the clock, the ids and all answers.

use std::error::Error;
use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::pack::{Conversations, Message, Pack, Scripted};
use convengine_core::turn::{Completion, Turn};

/// Runs a conversation; returns the intent and the reply of each turn.
fn run_conversation(pack: &Pack, messages: &[&str]) -> Result<Vec<String>, Box<dyn Error>> {
    let (config, issues) = Config::compile(&pack.tables, &pack.settings);
    assert!(issues.is_empty(), "{issues:?}");
    let config = Arc::new(config);
    let mut scripted = Scripted::from_pack(pack);
    let mut conversations = Conversations::default();
    let mut answers = Vec::new();
    for (seed, text) in (1_u32..).zip(messages) {
        let at = 1_767_258_000_000 + i64::from(seed) * 60_000;
        let (conversation_id, message) = (Some("0f2a7c51-6b1d-4f0e-9a55-2f6f1f3d8c10".to_owned()), Some((*text).to_owned()));
        let message = Message { conversation_id, message, at, seed: seed.into(), ..Message::default() };
        let (mut turn, mut slice) = Turn::start(message.into_input(&conversations, config.program()), Arc::clone(&config))?;
        let outcome = loop {
            if let Some(outcome) = slice.end.take() {
                break outcome;
            }
            let effect = slice.effects.pop().ok_or("the turn neither ended nor requested an effect")?;
            let (outcome, _) = scripted.answer(&effect.request);
            slice = turn.resume(vec![Completion { id: effect.id, at: turn.now(), outcome }])?;
        };
        conversations.commit(&outcome);
        let answer = outcome.payload.map(|it| it.value).unwrap_or_default();
        answers.push(format!("{}: {answer}", outcome.intent));
    }
    Ok(answers)
}

#[test]
fn stock_is_read_from_the_shelf() -> Result<(), Box<dyn Error>> {
    let pack = Pack::parse(include_str!("../../page/pack.json"))?;
    let answers = run_conversation(&pack, &["When do you open?", "Is there bread left?", "Thank you"])?;
    assert_eq!(
        answers,
        [
            "HOURS: We are open from 6 to 14, and closed on Mondays.",
            "STOCK: There are 3 loaves left, at 4.0 each.",
            "OTHER: Ask me when we are open, or what is left.",
        ]
    );
    Ok(())
}

#[test]
fn a_failing_task_fails_the_turn_and_not_the_conversation() -> Result<(), Box<dyn Error>> {
    let mut pack = Pack::parse(include_str!("../../page/pack.json"))?;
    pack.tasks["shelf:count"]["error"] = "the shelf is dark".into();
    let answers = run_conversation(&pack, &["Is there bread left?", "When do you open?"])?;
    assert_eq!(answers[1], "HOURS: We are open from 6 to 14, and closed on Mondays.");
    Ok(())
}
