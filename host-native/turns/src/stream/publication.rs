//! Publishes the notices of a turn to its caller and to the subscribers of its conversation.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convengine_core::turn::{Completion, Effect, Millis, Notice, NoticeBody, Outcome, ProgramRef, TurnInput, Write};
use convengine_host_base::clock;
use serde_json::{Value, json};

use super::chunk::Chunk;
use super::live::Subscriber;
use super::{Streams, TokenPublisher, event};

/// The stage on which clients remove progress texts.
pub(super) const CLOSING_STAGE: &str = "ENGINE_RETURN";

/// All notices of a running turn, from which late subscribers receive those already published.
pub(super) type TurnNotices = Arc<Mutex<Vec<Notice>>>;

/// Publishes the notices of one turn, each once and in order.
///
/// A turn that loses the race for its commit runs again as a new turn with a new id. Its earlier slices are already published by then:
/// it is closed like a failed turn, and the new turn publishes all of its notices, as those are stored. The last slice is published
/// after the commit, so that a dropped turn without effects leaves no trace and subscribers that read the audit on the closing event
/// find its rows.
#[derive(Debug)]
pub struct TurnPublisher<'s> {
    streams: &'s Arc<Streams>,
    conversation: String,
    turn: Arc<str>,
    /// Whether the turn runs an assistant.
    is_flow: bool,
    notices: TurnNotices,
    published: usize,
    total: Millis,
    /// The owner of the conversation, if any.
    owner: Option<Arc<str>>,
    /// The caller of the turn, if its response is a stream.
    subscriber: Option<Subscriber>,
}

impl<'s> TurnPublisher<'s> {
    /// Creates the publisher of a new turn.
    pub fn new(streams: &'s Arc<Streams>, input: &TurnInput, owner: Option<Arc<str>>) -> Self {
        let turn = Arc::from(input.turn.as_str());
        let (conversation, is_flow) = (input.conversation.clone(), matches!(input.program, ProgramRef::Flow | ProgramRef::Chain));
        let notices = TurnNotices::default();
        streams.record_running(&conversation, &turn, &notices, owner.as_ref());
        TurnPublisher { streams, conversation, turn, is_flow, notices, published: 0, total: 0, owner, subscriber: None }
    }

    /// Adds the caller as a subscriber.
    #[must_use]
    pub fn with_subscriber(mut self, subscriber: Option<Subscriber>) -> Self {
        self.subscriber = subscriber;
        self
    }

    /// Notifies the caller that an effect has started.
    pub fn send_effect_started(&self, effect: &Effect) {
        if let Some(subscriber) = &self.subscriber {
            subscriber.send_effect_started(effect);
        }
    }

    /// Notifies the caller that an effect has finished.
    pub fn send_effect_finished(&self, completion: &Completion) {
        if let Some(subscriber) = &self.subscriber {
            subscriber.send_effect_finished(completion);
        }
    }

    /// Adds the notices of a slice.
    pub fn add_notices(&self, notices: &mut Vec<Notice>) {
        self.notices().append(notices);
    }

    /// The notices of the turn so far.
    pub fn notices(&self) -> MutexGuard<'_, Vec<Notice>> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes the new notices of the turn.
    pub fn publish(&mut self) {
        let from = self.published;
        let count = self.notices().len();
        self.published = count;
        if let Some(subscriber) = &self.subscriber {
            subscriber.send_notices(self.notices().get(from..).unwrap_or_default());
        }
        if self.published > from && self.streams.record_progress(&self.conversation, &self.turn, count) {
            let wire = event::render_notices(&self.turn, self.notices().get(from..).unwrap_or_default(), 0);
            let chunk = Chunk::for_turn(&self.turn, from, self.published, wire).with_owner(self.owner.as_ref());
            self.streams.publish(&self.conversation, chunk);
        }
    }

    /// Records that the turn is stored, and its duration.
    pub fn mark_stored(&mut self, total: Millis) {
        self.total = total;
    }

    /// The token publisher of an effect, if its output may be streamed.
    pub fn token_publisher(&self, effect: &Effect) -> Option<TokenPublisher> {
        let tokens = TokenPublisher::for_effect(self.streams, &self.conversation, &self.turn, effect, self.subscriber.as_ref());
        // Most model calls of assistants return one object: without subscribers the model is called without streaming.
        tokens.map(|publisher| publisher.with_owner(self.owner.clone()).needing_listener(self.is_flow))
    }

    /// Publishes the last slice of a stored turn. Adds the event on which clients remove progress texts if the notices contain none: after
    /// a policy block, a failure, and a turn that could not be stored (no outcome).
    pub fn close(self, outcome: Option<&Outcome>) {
        let has_subscribers = self.streams.has_subscribers(&self.conversation);
        let notices = std::mem::take(&mut *self.notices());
        let (until, payload) = match outcome {
            Some(outcome) => (notices.len(), closing_payload(outcome, &notices)),
            None => (self.published, (self.published > 0).then(|| json!({"success": false}))),
        };
        if let Some(subscriber) = &self.subscriber {
            subscriber.send_notices(notices.get(self.published..until).unwrap_or_default());
        }
        if !has_subscribers || (until == self.published && payload.is_none()) {
            return;
        }
        let mut wire = event::render_notices(&self.turn, notices.get(self.published..until).unwrap_or_default(), self.total);
        let at = notices.last().map_or_else(clock::now, |it| it.at);
        let end = until + usize::from(payload.is_some());
        if let Some(payload) = payload {
            event::write_unstored(&mut wire, &self.turn, until, CLOSING_STAGE, at, payload);
        }
        let chunk = Chunk::for_turn(&self.turn, self.published, end, wire).into_last().with_owner(self.owner.as_ref());
        self.streams.publish(&self.conversation, chunk);
    }
}

impl Drop for TurnPublisher<'_> {
    /// Removes the turn once its last slice is published; also one that another process continues, which publishes the rest.
    fn drop(&mut self) {
        self.streams.remove_running(&self.conversation, &self.turn);
    }
}

/// Whether a policy has blocked a turn.
pub fn is_blocked(outcome: &Outcome) -> bool {
    outcome.writes.iter().any(|write| matches!(write, Write::Conversation(row) if row.status == "BLOCKED"))
}

/// The payload of the closing event that exists on the stream only, if one is needed: a turn that fails after its pipeline, such as in a
/// transformer, has a stored one.
pub(super) fn closing_payload(outcome: &Outcome, notices: &[Notice]) -> Option<Value> {
    if notices.iter().any(|notice| matches!(&notice.body, NoticeBody::Audit { stage, .. } if stage == CLOSING_STAGE)) {
        return None;
    }
    let code = outcome.fault.as_ref().map(|it| &it.code);
    let payload = || json!({"intent": outcome.intent, "state": outcome.state, "success": code.is_none(), "errorCode": code});
    (code.is_some() || is_blocked(outcome)).then(payload)
}

#[cfg(test)]
mod tests {
    use convengine_access::caller::ConversationAccess;
    use convengine_core::turn::{EffectClass, EffectId, LlmMode, LlmRequest, LoadedSession, Request, UserEvent};
    use convengine_effects::OutputSink;

    use super::*;
    use crate::stream::live;
    use std::task::{Context, Poll, Waker};

    fn input() -> TurnInput {
        TurnInput {
            turn: "t".to_owned(),
            conversation: "c".to_owned(),
            at: 0,
            seed: 1,
            program: ProgramRef::PipelineV2,
            event: UserEvent::default(),
            session: LoadedSession::default(),
        }
    }

    fn publish_and_collect(publish: impl FnOnce(TurnPublisher<'_>)) -> Vec<String> {
        let streams = Arc::new(Streams::default());
        let mut subscription = streams.subscribe("c", &ConversationAccess::all());
        publish(TurnPublisher::new(&streams, &input(), None));
        let mut wire = String::new();
        while let Poll::Ready(Some(events)) = subscription.poll(&mut Context::from_waker(Waker::noop())) {
            wire.push_str(std::str::from_utf8(&events).expect("text"));
        }
        assert!(streams.published_events("c").is_none(), "the turn is no longer running");
        wire.lines().filter_map(|it| it.strip_prefix("id:")).map(str::to_owned).collect()
    }

    fn notices(from: u32, until: u32) -> Vec<Notice> {
        let body = |_| NoticeBody::Audit { stage: "A".into(), payload: json!({}).into() };
        (from..until).map(|seq| Notice { seq, at: 0, body: body(seq) }).collect()
    }

    #[test]
    fn each_notice_is_published_once_and_a_dropped_turn_is_closed() {
        let ids = publish_and_collect(|mut publisher| {
            publisher.add_notices(&mut notices(0, 2));
            publisher.publish();
            publisher.publish();
            publisher.add_notices(&mut notices(2, 3));
            publisher.publish();
            publisher.add_notices(&mut notices(3, 9));
            publisher.close(None);
        });
        assert_eq!(ids, ["t:0", "t:1", "t:2", "t:3"]);
        assert_eq!(publish_and_collect(|publisher| publisher.close(None)), [""; 0], "a turn without published notices leaves no trace");
    }

    #[test]
    fn late_subscribers_receive_published_events() {
        let streams = Arc::new(Streams::default());
        let mut publisher = TurnPublisher::new(&streams, &input(), None);
        publisher.add_notices(&mut notices(0, 2));
        assert!(streams.published_events("c").is_none());
        publisher.publish();
        publisher.add_notices(&mut notices(2, 5));
        let chunk = streams.published_events("c").expect("a running turn");
        let ids: Vec<&str> = std::str::from_utf8(&chunk.wire).unwrap().lines().filter_map(|it| it.strip_prefix("id:")).collect();
        assert_eq!(ids, ["t:0", "t:1"]);
        drop(publisher);
        assert!(streams.published_events("c").is_none());
    }

    #[test]
    fn assistant_tokens_are_published_only_with_subscribers() {
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
        let effect = Effect { id, key, class: EffectClass::Read, deadline_ms: 1, stream: true, repeatable: true, request };
        let streams_now = |publisher: TurnPublisher<'_>| publisher.token_publisher(&effect).is_some_and(|it| it.is_needed());
        assert!(streams_now(TurnPublisher::new(&streams, &input(ProgramRef::PipelineV1), None)), "pipeline turns always stream");
        let flow = || TurnPublisher::new(&streams, &input(ProgramRef::Flow), None);
        assert!(!streams_now(flow()), "no subscribers");
        let target = || flow().token_publisher(&effect).map(|it| it.to_target());
        let unheard = target();
        let (subscriber, mut events) = Subscriber::channel();
        let tokens = flow().with_subscriber(Some(subscriber)).token_publisher(&effect).expect("the effect streams");
        assert!(tokens.is_needed(), "the caller is subscribed");
        tokens.send_delta("a");
        tokens.send_reset();
        for text in [Some("a".to_owned()), None] {
            assert_eq!(events.try_recv(), Ok(live::LiveEvent::Token { effect: id, text }));
        }
        let unseen = Effect { stream: false, ..effect.clone() };
        assert!(flow().with_subscriber(Some(Subscriber::channel().0)).token_publisher(&unseen).is_none(), "the effect does not stream");
        let _listener = streams.subscribe("c", &ConversationAccess::all());
        assert!(streams_now(flow()));
        assert_eq!(target(), unheard, "a repeated attempt sends another process the same, also if somebody listens meanwhile");
    }
}
