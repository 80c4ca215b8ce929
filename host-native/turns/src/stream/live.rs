//! Live events of a turn for its caller, if the response is a stream.

use std::sync::Arc;

use convengine_core::turn::{Completion, Effect, EffectId, EffectResult, HttpCaller, Notice, Request};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Streams, relay};

/// An event of a running turn for its caller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LiveEvent {
    /// A notice of the turn.
    Notice(Notice),
    /// An effect has started or finished.
    Effect(Value),
    /// A piece of model output; without a text, a reset of the pieces so far.
    Token {
        /// The effect.
        effect: EffectId,
        /// The piece.
        text: Option<String>,
    },
}

/// The sending side to the caller of a turn. If the caller has disconnected, events are discarded and the turn continues.
#[derive(Debug, Clone)]
pub struct Subscriber(Sink);

/// Where events are sent.
#[derive(Debug, Clone)]
enum Sink {
    /// To a task of this process.
    Channel(mpsc::UnboundedSender<LiveEvent>),
    /// To another process, under a topic.
    Relay(Arc<Streams>, Arc<str>),
}

impl Subscriber {
    /// Creates a subscriber and the receiver of its events.
    pub fn channel() -> (Subscriber, mpsc::UnboundedReceiver<LiveEvent>) {
        let (sender, events) = mpsc::unbounded_channel();
        (Subscriber(Sink::Channel(sender)), events)
    }

    /// Creates a subscriber in another process, which listens to a topic (see [`RelayedEvents`](super::RelayedEvents)).
    pub fn remote(streams: &Arc<Streams>, topic: &str) -> Subscriber {
        streams.expect_remote_subscriber(topic);
        Subscriber(Sink::Relay(Arc::clone(streams), Arc::from(topic)))
    }

    /// The topic of a subscriber in another process.
    pub fn topic(&self) -> Option<&str> {
        match &self.0 {
            Sink::Channel(_) => None,
            Sink::Relay(_, topic) => Some(topic),
        }
    }

    /// Sends an event.
    pub fn send(&self, event: LiveEvent) {
        match &self.0 {
            // Fails if the caller has disconnected.
            Sink::Channel(sender) => drop(sender.send(event)),
            Sink::Relay(streams, topic) => streams.publish(topic, relay::event_chunk(&event)),
        }
    }

    /// Sends the end of the events, which another process waits for.
    pub fn send_end(&self) {
        if let Sink::Relay(streams, topic) = &self.0 {
            streams.publish(topic, relay::end_chunk());
        }
    }

    /// Sends notices.
    pub fn send_notices(&self, notices: &[Notice]) {
        notices.iter().for_each(|notice| self.send(LiveEvent::Notice(notice.clone())));
    }

    /// Sends the start of an effect.
    pub fn send_effect_started(&self, effect: &Effect) {
        let mut event = json!({"id": effect.id.0, "kind": effect_type(&effect.request), "phase": "started"});
        if let (Request::Llm(request), Some(event)) = (&effect.request, event.as_object_mut()) {
            event.insert("purpose".to_owned(), json!(request.purpose));
        }
        self.send(LiveEvent::Effect(event));
    }

    /// Sends a piece of model output; without a text, resets the pieces so far because the model call is retried.
    pub fn send_token(&self, effect: EffectId, text: Option<&str>) {
        self.send(LiveEvent::Token { effect, text: text.map(str::to_owned) });
    }

    /// Sends the outcome of an effect without its data.
    pub fn send_effect_finished(&self, completion: &Completion) {
        let outcome = if matches!(completion.outcome, EffectResult::Ok(_)) { "ok" } else { "error" };
        self.send(LiveEvent::Effect(json!({"id": completion.id.0, "phase": "finished", "outcome": outcome})));
    }
}

/// The effect type (docs/spec/flows.md#15.2).
fn effect_type(request: &Request) -> &'static str {
    match request {
        Request::Llm(_) => "llm.generate",
        Request::Embed(_) | Request::PhraseSearch(_) => "llm.embed",
        Request::Http(request) => match &request.caller {
            HttpCaller::Handoff(call) if call == "relay" => "handoff.relay",
            HttpCaller::Handoff(_) => "handoff.request",
            HttpCaller::Notify(_) => "notify",
            HttpCaller::Tool(_) | HttpCaller::Task(_) | HttpCaller::Extension(_) => "http.request",
        },
        Request::Tool(_) | Request::Extension(_) => "tool.call",
        Request::Task(_) => "task.invoke",
        Request::Container(_) => "container.fetch",
        Request::Sql(_) => "db.query",
        Request::Knowledge(_) => "knowledge.search",
        Request::Script(_) => "script.run",
        Request::Sleep(_) => "timer.set",
    }
}
