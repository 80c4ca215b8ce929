//! Publishes model output while it is generated. Token events are not numbered, stored or replayed.

use std::sync::Arc;

use convengine_core::turn::{Effect, EffectId};
use convengine_effects::OutputSink;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::chunk::Chunk;
use super::live::Subscriber;
use super::{Streams, event};

/// Publishes the model output of an effect.
#[derive(Debug)]
pub struct TokenPublisher {
    streams: Arc<Streams>,
    conversation: String,
    turn: String,
    effect: EffectId,
    /// The owner of the conversation, if any.
    owner: Option<Arc<str>>,
    /// The caller of the turn, if its response is a stream.
    subscriber: Option<Subscriber>,
    /// Whether the output is streamed only while somebody listens.
    needs_listener: bool,
}

/// A publisher as another process is sent it, which executes the effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TokenTarget {
    conversation: String,
    turn: String,
    effect: EffectId,
    owner: Option<String>,
    /// The topic of the caller.
    topic: Option<String>,
    /// Absent from workers of earlier versions, whose turns send effects to the newest.
    #[serde(default)]
    needs_listener: bool,
}

impl TokenPublisher {
    /// Creates the publisher of an effect that another process has sent.
    pub fn from_target(streams: &Arc<Streams>, target: TokenTarget) -> TokenPublisher {
        TokenPublisher {
            streams: Arc::clone(streams),
            conversation: target.conversation,
            turn: target.turn,
            effect: target.effect,
            owner: target.owner.map(Arc::from),
            subscriber: target.topic.map(|it| Subscriber::remote(streams, &it)),
            needs_listener: target.needs_listener,
        }
    }

    /// Returns what another process needs to publish the output.
    pub fn to_target(&self) -> TokenTarget {
        TokenTarget {
            conversation: self.conversation.clone(),
            turn: self.turn.clone(),
            effect: self.effect,
            owner: self.owner.as_deref().map(str::to_owned),
            topic: self.subscriber.as_ref().and_then(Subscriber::topic).map(str::to_owned),
            needs_listener: self.needs_listener,
        }
    }

    /// Creates a publisher for an effect whose output may be streamed.
    pub(super) fn for_effect(
        streams: &Arc<Streams>,
        conversation: &str,
        turn: &str,
        effect: &Effect,
        subscriber: Option<&Subscriber>,
    ) -> Option<TokenPublisher> {
        effect.stream.then(|| TokenPublisher {
            streams: Arc::clone(streams),
            conversation: conversation.to_owned(),
            turn: turn.to_owned(),
            effect: effect.id,
            owner: None,
            subscriber: subscriber.cloned(),
            needs_listener: false,
        })
    }

    /// Sets the owner of the conversation.
    pub(super) fn with_owner(self, owner: Option<Arc<str>>) -> TokenPublisher {
        TokenPublisher { owner, ..self }
    }

    /// Sets whether the output is streamed only while somebody listens.
    pub(super) fn needing_listener(self, needs_listener: bool) -> TokenPublisher {
        TokenPublisher { needs_listener, ..self }
    }

    /// Whether the output is to be streamed now.
    pub fn is_needed(&self) -> bool {
        !self.needs_listener || self.subscriber.is_some() || self.streams.has_subscribers(&self.conversation)
    }

    fn send(&self, text: Option<&str>) {
        if let Some(subscriber) = &self.subscriber {
            subscriber.send_token(self.effect, text);
        }
        if self.streams.has_subscribers(&self.conversation) {
            let mut wire = String::new();
            event::write_token(&mut wire, &self.turn, self.effect.0, text);
            self.streams.publish(&self.conversation, Chunk::new_unnumbered(wire).with_owner(self.owner.as_ref()));
        }
    }
}

impl OutputSink for TokenPublisher {
    fn send_delta(&self, text: &str) {
        self.send(Some(text));
    }

    fn send_reset(&self) {
        self.send(None);
    }

    fn send_progress(&self, progress: &Value) {
        if self.streams.has_subscribers(&self.conversation) {
            let mut wire = String::new();
            event::write_tool_progress(&mut wire, &self.turn, self.effect.0, progress);
            self.streams.publish(&self.conversation, Chunk::new_unnumbered(wire).with_owner(self.owner.as_ref()));
        }
    }
}
