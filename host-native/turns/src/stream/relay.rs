//! Relays the events of a turn from the process that runs it to that of its caller.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::Arc;

use convengine_access::caller::ConversationAccess;
use serde_json::Value;

use super::live::{LiveEvent, Subscriber};
use super::{Chunk, Streams, Subscription, parse_events};

/// The names of the events between processes.
const EVENT: &str = "LIVE";
const END: &str = "END";

/// Renders an event for another process. Pieces of model output may wait for others; anything else is sent at once, after them.
pub(super) fn event_chunk(event: &LiveEvent) -> Chunk {
    // Events consist of strings, numbers and JSON values: serializing them cannot fail.
    let data = serde_json::to_string(event).unwrap_or_default();
    let chunk = Chunk::new_unnumbered(format!("event:{EVENT}\ndata:{data}\n\n"));
    Chunk { is_replay: !matches!(event, LiveEvent::Token { .. }), ..chunk }
}

/// Renders the end of the events.
pub(super) fn end_chunk() -> Chunk {
    Chunk { is_replay: true, ..Chunk::new_unnumbered(format!("event:{END}\ndata:{{}}\n\n")) }
}

/// Receives the events of a turn that another process runs, and passes them on to its caller.
#[derive(Debug)]
pub struct RelayedEvents {
    subscription: Subscription,
    subscriber: Subscriber,
    filter: RepeatFilter,
    has_ended: bool,
}

impl RelayedEvents {
    /// Subscribes to a topic, an id that nobody else knows.
    pub fn subscribe(streams: &Arc<Streams>, topic: &str, subscriber: Subscriber) -> RelayedEvents {
        let subscription = streams.subscribe(topic, &ConversationAccess::all());
        RelayedEvents { subscription, subscriber, filter: RepeatFilter::default(), has_ended: false }
    }

    /// Passes events on until their end. What has been passed on is not again when this is called again.
    pub async fn pass_on(&mut self) {
        while !self.has_ended {
            let Some(wire) = poll_fn(|context| self.subscription.poll(context)).await else { return };
            for event in parse_events(std::str::from_utf8(&wire).unwrap_or_default()) {
                self.has_ended |= event.name == END;
                if let Ok(event) = serde_json::from_str::<LiveEvent>(event.data)
                    && self.filter.is_new(&event)
                {
                    self.subscriber.send(event);
                }
            }
        }
    }
}

/// Notices what was sent before: a turn that another process continues sends its events again from the beginning.
#[derive(Debug, Default)]
struct RepeatFilter {
    next_notice: u32,
    finished_effects: BTreeSet<u64>,
}

impl RepeatFilter {
    /// Whether an event is to be passed on.
    fn is_new(&mut self, event: &LiveEvent) -> bool {
        match event {
            LiveEvent::Notice(notice) => {
                let is_new = notice.seq >= self.next_notice;
                self.next_notice = self.next_notice.max(notice.seq + 1);
                is_new
            }
            LiveEvent::Effect(effect) => {
                let id = effect.get("id").and_then(Value::as_u64).unwrap_or(u64::MAX);
                let is_new = !self.finished_effects.contains(&id);
                if effect.get("phase").is_some_and(|it| it == "finished") {
                    self.finished_effects.insert(id);
                }
                is_new
            }
            LiveEvent::Token { effect, .. } => !self.finished_effects.contains(&u64::from(effect.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use convengine_core::turn::{EffectId, Notice, NoticeBody};
    use serde_json::json;

    use super::*;

    fn notice(seq: u32) -> LiveEvent {
        let body = NoticeBody::Audit { stage: "A".into(), payload: json!({"line": "a\nb", "n": 1.0}).into() };
        LiveEvent::Notice(Notice { seq, at: 7, body })
    }

    fn effect(id: u32, phase: &str) -> LiveEvent {
        LiveEvent::Effect(json!({"id": id, "phase": phase}))
    }

    fn token(effect: u32, text: &str) -> LiveEvent {
        LiveEvent::Token { effect: EffectId(effect), text: Some(text.to_owned()) }
    }

    #[tokio::test]
    async fn a_caller_receives_each_event_once_also_when_the_turn_is_continued() {
        let streams = Arc::new(Streams::default());
        let (caller, mut received) = Subscriber::channel();
        let mut relayed = RelayedEvents::subscribe(&streams, "topic", caller);
        let running = Subscriber::remote(&streams, "topic");
        let first = [notice(0), effect(0, "started"), token(0, "a"), effect(0, "finished"), notice(1), effect(1, "started"), token(1, "b")];
        // Another process knows the result of the first effect, and begins the second one again.
        let again = [notice(0), effect(0, "started"), effect(0, "finished"), notice(1), effect(1, "started"), token(1, "c")];
        let rest = [effect(1, "finished"), notice(2)];
        first.iter().chain(&again).chain(&rest).for_each(|event| running.send(event.clone()));
        running.send_end();
        relayed.pass_on().await;
        let all: Vec<LiveEvent> = std::iter::from_fn(|| received.try_recv().ok()).collect();
        assert_eq!(all, [&first[..], &again[4..], &rest].concat());
        relayed.pass_on().await;
    }

    #[test]
    fn only_model_output_waits_for_more() {
        assert!(!event_chunk(&token(0, "a")).is_replay);
        assert!([event_chunk(&notice(0)), event_chunk(&effect(0, "started")), end_chunk()].iter().all(|it| it.is_replay));
    }
}
