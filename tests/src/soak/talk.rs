//! A pack's messages as one conversation, with the expected answers from an undisturbed run in the core.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use convengine_core::config::Config;
use convengine_core::pack::{Pack, PackRequest, PackTurn};
use convengine_player::{CorePlayer, CoreTurn, Suspend};
use serde_json::{Value, json};

/// A conversation: messages with their expected answers.
#[derive(Debug, Clone)]
pub struct Talk {
    /// The exchanges in order.
    pub turns: Vec<Exchange>,
}

/// A message and its expected answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    body: Value,
    /// The part of the answer that the user sees.
    pub answer: Value,
}

impl Talk {
    /// Runs all messages of a pack in one conversation; they repeat until there are `turns` turns, but run at least once.
    ///
    /// # Errors
    /// If the pack's script answers a repeated request differently, or the core cannot run the pack.
    pub fn from_pack(pack: &Pack, turns: usize) -> Result<Talk> {
        let mut talk = Talk { turns: Vec::new() };
        play(pack, turns, |request, played, _| {
            talk.turns.push(Exchange { body: request.body.clone(), answer: visible_part(&played.played.json) });
            Ok(())
        })?;
        Ok(talk)
    }
}

/// Runs a pack's messages in one conversation of at least `turns` turns and passes each turn, with its configuration, to `visit`.
///
/// # Errors
/// If the pack's script answers a repeated request differently, the core cannot run the pack, or `visit` fails.
pub fn play(pack: &Pack, turns: usize, mut visit: impl FnMut(&PackRequest, &CoreTurn, &Arc<Config>) -> Result<()>) -> Result<()> {
    let is_stateful =
        pack.llm.iter().any(|rule| rule.times.is_some() || !rule.replies.is_empty()) || pack.http.iter().any(|it| !it.sequence.is_empty());
    ensure!(!is_stateful, "the script of pack '{}' answers differently when it is repeated", pack.name);
    let messages: Vec<PackTurn> = pack.turns.iter().filter(|it| is_steady(pack, it)).map(move_to_conversation).collect();
    let mut pack = pack.clone();
    pack.turns = messages.iter().cycle().take(turns.max(messages.len())).cloned().collect();
    let mut player = CorePlayer::new(&pack, Suspend::Never);
    for (index, turn) in pack.turns.iter().enumerate() {
        let played = player.play(index).with_context(|| pack.name.clone())?;
        visit(turn.request.as_ref().context("turn without a message")?, &played, &player.config)?;
    }
    Ok(())
}

impl Exchange {
    /// Returns the body of the message with this conversation id.
    #[must_use]
    pub fn body(&self, conversation: &str) -> String {
        let mut body = self.body.clone();
        body["conversationId"] = conversation.into();
        body.to_string()
    }
}

/// Returns the part of an answer that the user sees.
#[must_use]
pub fn visible_part(answer: &Value) -> Value {
    let member = |name: &str| answer.get(name).cloned().unwrap_or_default();
    json!({
        "success": member("success"), "errorCode": member("errorCode"), "intent": member("intent"), "state": member("state"),
        "payload": member("payload"),
    })
}

/// Returns whether a turn is a message without a model failure: many failures open the circuit breaker of all conversations.
fn is_steady(pack: &Pack, turn: &PackTurn) -> bool {
    let Some(request) = &turn.request else { return false };
    let text = request.body.get("message").and_then(Value::as_str).map(str::trim);
    !pack.llm.iter().any(|rule| rule.error.is_some() && rule.user_text.as_deref().is_none_or(|of_rule| Some(of_rule) == text))
}

/// Moves a turn into the one conversation of the talk.
fn move_to_conversation(turn: &PackTurn) -> PackTurn {
    let mut turn = turn.clone();
    turn.conversation = Some("main".to_owned());
    if let Some(body) = turn.request.as_mut().and_then(|it| it.body.as_object_mut()) {
        body.insert("conversationId".to_owned(), "6f0c2d4e-8a1b-4c3d-9e5f-7a6b5c4d3e2f".into());
    }
    turn
}
