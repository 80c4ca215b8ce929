//! What one turn tells its listeners.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convengine_core::turn::{Completion, Effect, Millis, Notice, Outcome, ProgramRef, TurnInput, Write};
use serde_json::{Value, json};

use super::chunk::Chunk;
use super::live::Ear;
use super::{Streams, Tokens, event};
use crate::clock;

/// All notices of a turn that runs, told and untold: whoever comes late is told the former from here.
pub(super) type Said = Arc<Mutex<Vec<Notice>>>;

/// The voice of one turn: each notice is sent once, in its order.
///
/// A turn that loses the race for its commit is run again as a new turn with a new id. Its slices before an effect have been seen by
/// then; it is closed like a failed turn, and the new one tells all of its notices, because they are the ones that are stored. The
/// last slice is told after the commit, so that a turn without effects leaves no trace when it is dropped, and a listener that reads
/// the audit on the closing event finds the rows.
#[derive(Debug)]
pub struct Told<'s> {
    streams: &'s Arc<Streams>,
    conversation: String,
    turn: Arc<str>,
    /// Whether it is a turn of an assistant.
    of_flow: bool,
    said: Said,
    count: usize,
    total: Millis,
    /// Its caller, who hears it beside those who listen.
    ear: Option<Ear>,
}

impl<'s> Told<'s> {
    /// A turn that has said nothing yet.
    pub fn of(streams: &'s Arc<Streams>, input: &TurnInput) -> Self {
        let turn = Arc::from(input.turn.as_str());
        let (conversation, of_flow) = (input.conversation.clone(), input.program == ProgramRef::Flow);
        Told { streams, conversation, turn, of_flow, said: Said::default(), count: 0, total: 0, ear: None }
    }

    /// The same with a caller who hears it.
    #[must_use]
    pub fn to(mut self, ear: Option<Ear>) -> Self {
        self.ear = ear;
        self
    }

    /// Tells the caller that an effect leaves.
    pub fn asks(&self, effect: &Effect) {
        if let Some(ear) = &self.ear {
            ear.asked(effect);
        }
    }

    /// Tells the caller that an effect was answered.
    pub fn hears(&self, completion: &Completion) {
        if let Some(ear) = &self.ear {
            ear.answered(completion);
        }
    }

    /// Takes what a slice of the turn says.
    pub fn add(&self, notices: &mut Vec<Notice>) {
        self.notices().append(notices);
    }

    /// All notices of the turn so far.
    pub fn notices(&self) -> MutexGuard<'_, Vec<Notice>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what is new among the notices of the turn.
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

    /// Notes that the turn is stored, and how long it took.
    pub fn stored(&mut self, total: Millis) {
        self.total = total;
    }

    /// The voice of an effect of the turn, when its caller or listeners may hear it.
    pub fn tokens(&self, effect: &Effect) -> Option<Tokens> {
        // Most calls of assistants are answered with one object: nobody hears pieces then, and the model is asked for the whole.
        let heard = !self.of_flow || self.ear.is_some() || self.streams.is_heard(&self.conversation);
        Tokens::of(self.streams, &self.conversation, &self.turn, effect, self.ear.as_ref()).filter(|_| heard)
    }

    /// Sends the last slice of a turn that is stored, and the event on which clients take progress texts away, when the turn's own
    /// notices have none: after a policy block, a failure, and a turn that could not be stored (no outcome).
    pub fn close(self, outcome: Option<&Outcome>) {
        let heard = self.streams.ran(&self.conversation, &self.turn);
        let notices = std::mem::take(&mut *self.notices());
        let (until, payload) = match outcome {
            Some(outcome) => (notices.len(), closing(outcome)),
            None => (self.count, (self.count > 0).then(|| json!({"success": false}))),
        };
        if let Some(ear) = &self.ear {
            ear.notices(notices.get(self.count..until).unwrap_or_default());
        }
        if !heard || (until == self.count && payload.is_none()) {
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
    /// Also of a turn that another process goes on with, which tells the rest.
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

/// What closes a turn on the stream alone.
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
        assert!(streams.told_so_far("c").is_none(), "it runs no more");
        wire.lines().filter_map(|it| it.strip_prefix("id:")).map(str::to_owned).collect()
    }

    fn notices(from: u32, until: u32) -> Vec<Notice> {
        let body = |_| NoticeBody::Audit { stage: "A".to_owned(), payload: json!({}) };
        (from..until).map(|seq| Notice { seq, at: 0, body: body(seq) }).collect()
    }

    #[test]
    fn each_notice_is_sent_once_and_a_turn_that_was_dropped_is_closed() {
        let ids = heard(|mut told| {
            told.add(&mut notices(0, 2));
            told.publish();
            told.publish();
            told.add(&mut notices(2, 3));
            told.publish();
            told.add(&mut notices(3, 9));
            told.close(None);
        });
        assert_eq!(ids, ["t:0", "t:1", "t:2", "t:3"]);
        assert_eq!(heard(|told| told.close(None)), [""; 0], "one that has said nothing was never there");
    }

    #[test]
    fn who_comes_late_is_told_what_was_told() {
        let streams = Arc::new(Streams::default());
        let mut told = Told::of(&streams, &input());
        told.add(&mut notices(0, 2));
        assert!(streams.told_so_far("c").is_none());
        told.publish();
        told.add(&mut notices(2, 5));
        let chunk = streams.told_so_far("c").expect("it runs");
        let ids: Vec<&str> = std::str::from_utf8(&chunk.wire).unwrap().lines().filter_map(|it| it.strip_prefix("id:")).collect();
        assert_eq!(ids, ["t:0", "t:1"]);
        drop(told);
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
        assert!(Told::of(&streams, &input(ProgramRef::PipelineV1)).tokens(&effect).is_some(), "tables are asked in pieces as ever");
        let flow = || Told::of(&streams, &input(ProgramRef::Flow));
        assert!(flow().tokens(&effect).is_none(), "nobody hears them");
        let (ear, mut heard) = Ear::open();
        let tokens = flow().to(Some(ear)).tokens(&effect).expect("its caller hears them");
        tokens.delta("a");
        tokens.reset();
        for text in [Some("a".to_owned()), None] {
            assert_eq!(heard.try_recv(), Ok(live::Told::Token { effect: id, text }));
        }
        let unseen = Effect { stream: false, ..effect.clone() };
        assert!(flow().to(Some(Ear::open().0)).tokens(&unseen).is_none(), "it is not for users");
        let _listener = streams.subscribe("c");
        assert!(flow().tokens(&effect).is_some());
    }
}
