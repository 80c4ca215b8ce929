//! A pack's messages as one conversation, with the answers that the core gives to them undisturbed.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use convengine_core::config::Config;
use convengine_core::pack::{Pack, PackRequest, PackTurn};
use convengine_server::play::{CorePlayer, CoreTurn, Suspend};
use serde_json::{Value, json};

/// Messages and their answers.
#[derive(Debug, Clone)]
pub struct Talk {
    /// One after the other.
    pub turns: Vec<Exchange>,
}

/// A message and its answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    body: Value,
    /// What the user sees.
    pub answer: Value,
}

impl Talk {
    /// All messages of a pack in one conversation, again and again until there are so many, at least once.
    ///
    /// # Errors
    /// When the pack's script answers the same question differently the second time, or the core cannot play it.
    pub fn of(pack: &Pack, turns: usize) -> Result<Talk> {
        let mut talk = Talk { turns: Vec::new() };
        play(pack, turns, |request, played, _| {
            talk.turns.push(Exchange { body: request.body.clone(), answer: seen(&played.played.json) });
            Ok(())
        })?;
        Ok(talk)
    }
}

/// Plays the conversation that [`Talk::of`] makes of a pack and shows each turn, with the configuration it ran under.
///
/// # Errors
/// As there, or when `seen` fails.
pub fn play(pack: &Pack, turns: usize, mut seen: impl FnMut(&PackRequest, &CoreTurn, &Arc<Config>) -> Result<()>) -> Result<()> {
    let counts =
        pack.llm.iter().any(|it| it.times.is_some() || !it.replies.is_empty()) || pack.http.iter().any(|it| !it.sequence.is_empty());
    ensure!(!counts, "the script of {} counts its uses", pack.name);
    let messages: Vec<PackTurn> = pack.turns.iter().filter(|it| is_steady(pack, it)).map(in_one_conversation).collect();
    let mut pack = pack.clone();
    pack.turns = messages.iter().cycle().take(turns.max(messages.len())).cloned().collect();
    let mut player = CorePlayer::new(&pack, Suspend::Never);
    for (index, turn) in pack.turns.iter().enumerate() {
        let played = player.play(index).with_context(|| pack.name.clone())?;
        seen(turn.request.as_ref().context("a turn without a message")?, &played, &player.config)?;
    }
    Ok(())
}

impl Exchange {
    /// The body of the message in this conversation.
    #[must_use]
    pub fn body(&self, conversation: &str) -> String {
        let mut body = self.body.clone();
        body["conversationId"] = conversation.into();
        body.to_string()
    }
}

/// What of an answer the user sees.
#[must_use]
pub fn seen(answer: &Value) -> Value {
    let of = |name: &str| answer.get(name).cloned().unwrap_or_default();
    json!({"success": of("success"), "errorCode": of("errorCode"), "intent": of("intent"), "state": of("state"), "payload": of("payload")})
}

/// Whether a turn is a message whose model does not fail: many failures open the breaker that all conversations share.
fn is_steady(pack: &Pack, turn: &PackTurn) -> bool {
    let Some(request) = &turn.request else { return false };
    let text = request.body.get("message").and_then(Value::as_str).map(str::trim);
    !pack.llm.iter().any(|it| it.error.is_some() && it.user_text.as_deref().is_none_or(|of_rule| Some(of_rule) == text))
}

/// The turn without a name of its conversation, so that all turns are in the same.
fn in_one_conversation(turn: &PackTurn) -> PackTurn {
    let mut turn = turn.clone();
    turn.conversation = Some("main".to_owned());
    if let Some(body) = turn.request.as_mut().and_then(|it| it.body.as_object_mut()) {
        body.insert("conversationId".to_owned(), "6f0c2d4e-8a1b-4c3d-9e5f-7a6b5c4d3e2f".into());
    }
    turn
}
