//! Configuration targets: rules, packs and talks. A valid input is run, with a limited number of turns and answers.

use std::sync::Arc;

use anyhow::Result;
use convengine_core::config::Config;
use convengine_core::lint;
use convengine_core::pack::{Conversations, Message, Pack, Scripted};
use convengine_core::turn::{Completion, Turn};
use serde_json::{Value, json};

use super::super::{FuzzResult, Target, seeds};
use super::{describe_error, require};

/// Rows of `ce_rule` in an otherwise valid pack.
pub const RULES: Target = Target { name: "rules", seeds: rules, read: read_rules };

/// Packs.
pub const PACK: Target = Target { name: "pack", seeds: packs, read: read_pack };

/// Talks.
pub const TALK: Target = Target { name: "talk", seeds: talks, read: read_talk };

/// The maximum number of turns that are run.
const MAX_TURNS: usize = 3;

/// The maximum number of answers to a turn.
const MAX_ANSWERS: usize = 100;

/// The pack of all talks. It is small because it is compiled for each input.
const TALK_PACK: &str = include_str!("../../../packs/bench/plain.json");

fn rules() -> Result<Vec<Vec<u8>>> {
    Ok(seeds::rows("ce_rule")?.iter().map(|row| row.to_string().into_bytes()).collect())
}

fn read_rules(input: &[u8]) -> FuzzResult {
    let Ok(Value::Array(mut rows)) = serde_json::from_slice::<Value>(input) else { return Ok("not a list".to_owned()) };
    rows.truncate(20);
    for row in rows.iter_mut().filter_map(Value::as_object_mut) {
        row.insert("intent_code".to_owned(), json!("ANY"));
        row.insert("state_code".to_owned(), json!("ANY"));
    }
    let pack = json!({
        "name": "rules",
        "settings": {"flow": {"dialogueAct": {"resolute": "REGEX_ONLY"}}},
        "tables": {
            "ce_rule": rows,
            "ce_response": [{"response_id": 1, "intent_code": "ANY", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT", "exact_text": "{{inputParams}}"}]
        },
        "turns": [message("yes, 42 of my order"), message("no")]
    });
    check_pack(&pack.to_string())
}

fn message(text: &str) -> Value {
    let id = "87583a5f-039f-5549-b37a-748e462dd9b4";
    let body = json!({"conversationId": id, "message": text, "inputParams": {"n": 7, "list": [1, "a"], "map": {"b": true}}});
    json!({"request": {"method": "POST", "path": "/api/v1/conversation/message", "body": body}})
}

fn packs() -> Result<Vec<Vec<u8>>> {
    Ok(seeds::packs()?.iter().map(|pack| pack.to_string().into_bytes()).collect())
}

fn read_pack(input: &[u8]) -> FuzzResult {
    check_pack(&String::from_utf8_lossy(input))
}

fn check_pack(text: &str) -> FuzzResult {
    let pack = match Pack::parse(text) {
        Ok(pack) => pack,
        Err(reason) => return Ok(describe_error(reason)),
    };
    let printed = serde_json::to_string(&pack).map_err(|it| format!("cannot be serialized: {it}"))?;
    let again = Pack::parse(&printed).map_err(|it| format!("cannot be read back: {it}"))?;
    require(serde_json::to_string(&again).ok().as_ref() == Some(&printed), || "differs when read back".to_owned())?;
    run_pack(&pack)
}

/// Runs the first turns; returns a description of their outcomes.
fn run_pack(pack: &Pack) -> FuzzResult {
    let (config, issues) = Config::compile(&pack.tables, &pack.settings);
    let hints = lint::check_with_replies(&pack.tables, config.settings.profile, &issues, &pack.known_replies());
    let config = Arc::new(config);
    let (mut scripted, mut conversations) = (Scripted::from_pack(pack), Conversations::default());
    let mut kinds = vec![
        format!("{} {}", issues.len().min(3), hints.len().min(3)),
        issues.first().map(|it| describe_error(&it.reason)).unwrap_or_default(),
    ];
    for message in (0..pack.turns.len()).filter_map(|it| pack.message(it)).take(MAX_TURNS) {
        kinds.push(run_turn(&config, message, &mut scripted, &mut conversations)?);
    }
    Ok(kinds.join("|"))
}

fn run_turn(config: &Arc<Config>, message: Message, scripted: &mut Scripted, conversations: &mut Conversations) -> FuzzResult {
    let input = message.into_input(conversations, config.program());
    scripted.begin_turn(&input);
    let begun = input.at;
    let failed = |it: convengine_core::turn::TurnError| format!("the turn failed: {it}");
    let (mut turn, mut slice) = Turn::start(input, Arc::clone(config)).map_err(failed)?;
    for at in (begun + 1..).take(MAX_ANSWERS) {
        if let Some(outcome) = slice.end {
            conversations.commit(&outcome);
            return Ok(outcome.fault.map_or_else(|| outcome.intent, |it| it.code.to_string()));
        }
        let effects = std::mem::take(&mut slice.effects);
        require(!effects.is_empty(), || "the turn waits without an effect".to_owned())?;
        let answers = effects.iter().map(|it| Completion { id: it.id, at, outcome: scripted.answer(&it.request).0 }).collect();
        slice = turn.resume(answers).map_err(failed)?;
    }
    Ok("unfinished".to_owned())
}

fn talks() -> Result<Vec<Vec<u8>>> {
    Ok(seeds::talks()?.into_iter().map(String::into_bytes).collect())
}

fn read_talk(input: &[u8]) -> FuzzResult {
    let pack = match Pack::parse_talk(&String::from_utf8_lossy(input), |_| Ok(TALK_PACK.to_owned())) {
        Ok(pack) => pack,
        Err(reason) => return Ok(describe_error(reason)),
    };
    run_pack(&pack)
}
