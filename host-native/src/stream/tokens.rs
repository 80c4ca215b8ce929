//! What a model says while it says it: for listeners alone, neither numbered nor stored nor part of a replay.

use std::sync::Arc;

use convengine_core::turn::{Effect, EffectId};

use super::chunk::Chunk;
use super::{Streams, event};

/// The voice of one effect.
#[derive(Debug)]
pub struct Tokens {
    streams: Arc<Streams>,
    conversation: String,
    turn: String,
    effect: EffectId,
}

impl Tokens {
    /// The voice of an effect whose answer may be shown while it is made.
    pub(super) fn of(streams: &Arc<Streams>, conversation: &str, turn: &str, effect: &Effect) -> Option<Tokens> {
        let voice =
            || Tokens { streams: Arc::clone(streams), conversation: conversation.to_owned(), turn: turn.to_owned(), effect: effect.id };
        effect.stream.then(voice)
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
        if self.streams.is_heard(&self.conversation) {
            let mut wire = String::new();
            event::token(&mut wire, &self.turn, self.effect.0, text);
            self.streams.send(&self.conversation, Chunk::loose(wire));
        }
    }
}
