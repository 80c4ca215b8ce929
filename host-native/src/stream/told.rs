//! Publishes the notices of a turn to its caller and to the subscribers of its conversation.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convengine_core::turn::{Completion, Effect, Millis, Notice, Outcome, ProgramRef, TurnInput, Write};
use serde_json::{Value, json};

use super::chunk::Chunk;
use super::live::Ear;
use super::{Streams, Tokens, event};
use crate::clock;

/// All notices of a running turn, from which late subscribers receive those already published.
pub(super) type Said = Arc<Mutex<Vec<Notice>>>;

/// Publishes the notices of one turn, each once and in order.
///
/// A turn that loses the race for its commit runs again as a new turn with a new id. Its earlier slices are already published by then:
/// it is closed like a failed turn, and the new turn publishes all of its notices, as those are stored. The last slice is published
/// after the commit, so that a dropped turn without effects leaves no trace and subscribers that read the audit on the closing event
/// find its rows.
#[derive(Debug)]
pub struct Told<'s> {
    streams: &'s Arc<Streams>,
    conversation: String,
    turn: Arc<str>,
    /// Whether the turn runs an assistant.
    of_flow: bool,
    said: Said,
    count: usize,
    total: Millis,
    /// The caller of the turn, if its response is a stream.
    ear: Option<Ear>,
}

impl<'s> Told<'s> {
    /// Creates the publisher of a new turn.
    pub fn of(streams: &'s Arc<Streams>, input: &TurnInput) -> Self {
        let turn = Arc::from(input.turn.as_str());
        let (conversation, of_flow) = (input.conversation.clone(), input.program == ProgramRef::Flow);
        Told { streams, conversation, turn, of_flow, said: Said::default(), count: 0, total: 0, ear: None }
    }

    /// Adds the caller as a subscriber.
    #[must_use]
    pub fn to(mut self, subscriber: Option<Ear>) -> Self {
        self.ear = subscriber;
        self
    }

    /// Notifies the caller that an effect has started.
    pub fn asks(&self, effect: &Effect) {
        if let Some(ear) = &self.ear {
            ear.asked(effect);
        }
    }

    /// Notifies the caller that an effect has finished.
    pub fn hears(&self, completion: &Completion) {
        if let Some(ear) = &self.ear {
            ear.answered(completion);
        }
    }

    /// Adds the notices of a slice.
    pub fn add(&self, notices: &mut Vec<Notice>) {
        self.notices().append(notices);
    }

    /// The notices of the turn so far.
    pub fn notices(&self) -> MutexGuard<'_, Vec<Notice>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes the new notices of the turn.
    pub fn publish(&mut self) {
        let from = self.count;
        let count = self.notices().len();
        self.count = count;
        if let Some(ear) = &self.ear {
            ear.notices(self.notices().get(from..).unwrap_or_default());
        }
        if self.count > from && self.streams.runs(&self.conversation, &self.turn, &self.said, self.count) {
            let wire = event::rendered(&self.turn, self.notices().get(from..).unwrap_or_default(), 0);
            self.streams.send(&self.conversation, Chunk::of(&self.turn, from, self.count, wire));
        }
    }

    /// Records that the turn is stored, and its duration.
    pub fn stored(&mut self, total: Millis) {
        self.total = total;
    }

    /// The token publisher of an effect, if its output may be streamed and has subscribers.
    pub fn tokens(&self, effect: &Effect) -> Option<Tokens> {
        // Most model calls of assistants return one object: without subscribers the model is called without streaming.
        let has_subscribers = !self.of_flow || self.ear.is_some() || self.streams.is_heard(&self.conversation);
        Tokens::of(self.streams, &self.conversation, &self.turn, effect, self.ear.as_ref()).filter(|_| has_subscribers)
    }

    /// Publishes the last slice of a stored turn. Adds the event on which clients remove progress texts if the notices contain none: after
    /// a policy block, a failure, and a turn that could not be stored (no outcome).
    pub fn close(self, outcome: Option<&Outcome>) {
        let has_subscribers = self.streams.ran(&self.conversation, &self.turn);
        let notices = std::mem::take(&mut *self.notices());
        let (until, payload) = match outcome {
            Some(outcome) => (notices.len(), closing(outcome)),
            None => (self.count, (self.count > 0).then(|| json!({"success": false}))),
        };
        if let Some(ear) = &self.ear {
            ear.notices(notices.get(self.count..until).unwrap_or_default());
        }
        if !has_subscribers || (until == self.count && payload.is_none()) {
            return;
        }
        let mut wire = event::rendered(&self.turn, notices.get(self.count..until).unwrap_or_default(), self.total);
        let at = notices.last().map_or_else(clock::now, |it| it.at);
        let end = until + usize::from(payload.is_some());
        if let Some(payload) = payload {
            event::unstored(&mut wire, &self.turn, until, "ENGINE_RETURN", at, payload);
        }
        self.streams.send(&self.conversation, Chunk::of(&self.turn, self.count, end, wire).ending());
    }
}

impl Drop for Told<'_> {
    /// Also removes a turn that another process continues, which publishes the rest.
    fn drop(&mut self) {
        if self.count > 0 {
            self.streams.ran(&self.conversation, &self.turn);
        }
    }
}

/// Whether a policy has blocked a turn.
pub fn is_blocked(outcome: &Outcome) -> bool {
    outcome.writes.iter().any(|it| matches!(it, Write::Conversation(row) if row.status == "BLOCKED"))
}

/// The payload of the closing event that exists on the stream only, if one is needed.
pub(super) fn closing(outcome: &Outcome) -> Option<Value> {
    let code = outcome.fault.as_ref().map(|it| &it.code);
    let payload = || json!({"intent": outcome.intent, "state": outcome.state, "success": code.is_none(), "errorCode": code});
    (code.is_some() || is_blocked(outcome)).then(payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::live;
    use convengine_core::turn::{Class, EffectId, LlmMode, LlmRequest, Loaded, NoticeBody, Request, UserEvent};
    use std::task::{Context, Poll, Waker};

    fn input() -> TurnInput {
        TurnInput {
            turn: "t".to_owned(),
            conversation: "c".to_owned(),
            at: 0,
            seed: 1,
            program: ProgramRef::PipelineV2,
            event: UserEvent::default(),
            session: Loaded::default(),
        }
    }

    fn heard(publish: impl FnOnce(Told<'_>)) -> Vec<String> {
        let streams = Arc::new(Streams::default());
        let mut subscription = streams.subscribe("c");
        publish(Told::of(&streams, &input()));
        let mut wire = String::new();
        while let Poll::Ready(Some(events)) = subscription.poll(&mut Context::from_waker(Waker::noop())) {
            wire.push_str(std::str::from_utf8(&events).expect("text"));
        }
        assert!(streams.told_so_far("c").is_none(), "the turn is no longer running");
        wire.lines().filter_map(|it| it.strip_prefix("id:")).map(str::to_owned).collect()
    }

    fn notices(from: u32, until: u32) -> Vec<Notice> {
        let body = |_| NoticeBody::Audit { stage: "A".to_owned(), payload: json!({}) };
        (from..until).map(|seq| Notice { seq, at: 0, body: body(seq) }).collect()
    }

    #[test]
    fn each_notice_is_sent_once_and_a_turn_that_was_dropped_is_closed() {
        let ids = heard(|mut publisher| {
            publisher.add(&mut notices(0, 2));
            publisher.publish();
            publisher.publish();
            publisher.add(&mut notices(2, 3));
            publisher.publish();
            publisher.add(&mut notices(3, 9));
            publisher.close(None);
        });
        assert_eq!(ids, ["t:0", "t:1", "t:2", "t:3"]);
        assert_eq!(heard(|publisher| publisher.close(None)), [""; 0], "a turn without published notices leaves no trace");
    }

    #[test]
    fn who_comes_late_is_told_what_was_told() {
        let streams = Arc::new(Streams::default());
        let mut publisher = Told::of(&streams, &input());
        publisher.add(&mut notices(0, 2));
        assert!(streams.told_so_far("c").is_none());
        publisher.publish();
        publisher.add(&mut notices(2, 5));
        let chunk = streams.told_so_far("c").expect("a running turn");
        let ids: Vec<&str> = std::str::from_utf8(&chunk.wire).unwrap().lines().filter_map(|it| it.strip_prefix("id:")).collect();
        assert_eq!(ids, ["t:0", "t:1"]);
        drop(publisher);
        assert!(streams.told_so_far("c").is_none());
    }

    #[test]
    fn pieces_of_assistants_are_for_who_hears_them() {
        let streams = Arc::new(Streams::default());
        let input = |program| TurnInput { program, ..input() };
        let request: Request = LlmRequest {
            purpose: "agent".to_owned(),
            mode: LlmMode::Text,
            system: String::new(),
            user: String::new(),
            hint: None,
            schema: None,
            context: Value::Null,
            user_text: String::new(),
            dialogue: None,
        }
        .into();
        let (id, key) = (EffectId(2), "t/2".to_owned());
        let effect = Effect { id, key, class: Class::Read, deadline_ms: 1, stream: true, repeatable: true, request };
        assert!(Told::of(&streams, &input(ProgramRef::PipelineV1)).tokens(&effect).is_some(), "pipeline turns always stream");
        let flow = || Told::of(&streams, &input(ProgramRef::Flow));
        assert!(flow().tokens(&effect).is_none(), "no subscribers");
        let (subscriber, mut events) = Ear::open();
        let tokens = flow().to(Some(subscriber)).tokens(&effect).expect("the caller is subscribed");
        tokens.delta("a");
        tokens.reset();
        for text in [Some("a".to_owned()), None] {
            assert_eq!(events.try_recv(), Ok(live::Told::Token { effect: id, text }));
        }
        let unseen = Effect { stream: false, ..effect.clone() };
        assert!(flow().to(Some(Ear::open().0)).tokens(&unseen).is_none(), "the effect does not stream");
        let _listener = streams.subscribe("c");
        assert!(flow().tokens(&effect).is_some());
    }
}
