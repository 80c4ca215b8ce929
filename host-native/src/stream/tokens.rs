//! What a model says while it says it: for listeners and callers alone, neither numbered nor stored nor part of a replay.

use std::sync::Arc;

use convengine_core::turn::{Effect, EffectId};

use super::chunk::Chunk;
use super::live::Ear;
use super::{Streams, event};

/// The voice of one effect.
#[derive(Debug)]
pub struct Tokens {
    streams: Arc<Streams>,
    conversation: String,
    turn: String,
    effect: EffectId,
    /// The caller of the turn, who hears it beside those who listen.
    ear: Option<Ear>,
}

impl Tokens {
    /// The voice of an effect whose answer may be shown while it is made.
    pub(super) fn of(streams: &Arc<Streams>, conversation: &str, turn: &str, effect: &Effect, ear: Option<&Ear>) -> Option<Tokens> {
        effect.stream.then(|| Tokens {
            streams: Arc::clone(streams),
            conversation: conversation.to_owned(),
            turn: turn.to_owned(),
            effect: effect.id,
            ear: ear.cloned(),
        })
    }

    /// Sends the next piece of the answer.
    pub fn delta(&self, text: &str) {
        self.send(Some(text));
    }

    /// Says that what was sent so far does not count: the model is asked again.
    pub fn reset(&self) {
        self.send(None);
    }

    fn send(&self, text: Option<&str>) {
        if let Some(ear) = &self.ear {
            ear.token(self.effect, text);
        }
        if self.streams.is_heard(&self.conversation) {
            let mut wire = String::new();
            event::token(&mut wire, &self.turn, self.effect.0, text);
            self.streams.send(&self.conversation, Chunk::loose(wire));
        }
    }
}
