//! Publishes model output while it is generated. Token events are not numbered, stored or replayed.

use std::sync::Arc;

use convengine_core::turn::{Effect, EffectId};

use super::chunk::Chunk;
use super::live::Ear;
use super::{Streams, event};

/// Publishes the model output of an effect.
#[derive(Debug)]
pub struct Tokens {
    streams: Arc<Streams>,
    conversation: String,
    turn: String,
    effect: EffectId,
    /// The caller of the turn, if its response is a stream.
    ear: Option<Ear>,
}

impl Tokens {
    /// Creates a publisher for an effect whose output may be streamed.
    pub(super) fn of(streams: &Arc<Streams>, conversation: &str, turn: &str, effect: &Effect, subscriber: Option<&Ear>) -> Option<Tokens> {
        effect.stream.then(|| Tokens {
            streams: Arc::clone(streams),
            conversation: conversation.to_owned(),
            turn: turn.to_owned(),
            effect: effect.id,
            ear: subscriber.cloned(),
        })
    }

    /// Sends the next piece of output.
    pub fn delta(&self, text: &str) {
        self.send(Some(text));
    }

    /// Resets the pieces so far because the model call is retried.
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
