//! What one turn has told its listeners.

use std::sync::Arc;

use axum::body::Bytes;
use convengine_core::turn::{Effect, Millis, Notice, Outcome, TurnInput, Write};
use serde_json::{Value, json};

use super::{Streams, Tokens, event};
use crate::clock;

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
    turn: String,
    count: usize,
}

impl<'s> Told<'s> {
    /// A turn that has said nothing yet.
    pub fn of(streams: &'s Arc<Streams>, input: &TurnInput) -> Self {
        Told { streams, conversation: input.conversation.clone(), turn: input.turn.clone(), count: 0 }
    }

    /// Sends what is new among the notices of the turn so far; `total` is how long the turn took, once it has ended.
    pub fn publish(&mut self, notices: &[Notice], total: Millis) {
        let new = notices.get(self.count..).unwrap_or_default();
        self.count = notices.len();
        if new.is_empty() || !self.streams.is_heard(&self.conversation) {
            return;
        }
        let mut wire = String::new();
        new.iter().for_each(|it| event::notice(&mut wire, &self.turn, it, total));
        self.streams.send(&self.conversation, &Bytes::from(wire));
    }

    /// The voice of an effect of the turn, when listeners may hear it.
    pub fn tokens(&self, effect: &Effect) -> Option<Tokens> {
        Tokens::of(self.streams, &self.conversation, &self.turn, effect)
    }

    /// Sends the event on which clients take progress texts away, when the turn's own notices have none: after a policy block, a
    /// failure, and a turn that could not be stored (no outcome).
    pub fn close(self, outcome: Option<&Outcome>) {
        let payload = match outcome {
            Some(outcome) if outcome.fault.is_some() || is_blocked(outcome) => of_outcome(outcome),
            None if self.count > 0 => json!({"success": false}),
            Some(_) | None => return,
        };
        if self.streams.is_heard(&self.conversation) {
            let mut wire = String::new();
            let seq = u32::try_from(self.count).unwrap_or(u32::MAX);
            event::unstored(&mut wire, &self.turn, seq, "ENGINE_RETURN", clock::now(), payload);
            self.streams.send(&self.conversation, &Bytes::from(wire));
        }
    }
}

/// Whether a policy has blocked a turn.
pub fn is_blocked(outcome: &Outcome) -> bool {
    outcome.writes.iter().any(|it| matches!(it, Write::Conversation(row) if row.status == "BLOCKED"))
}

fn of_outcome(outcome: &Outcome) -> Value {
    let code = outcome.fault.as_ref().map(|it| &it.code);
    json!({"intent": outcome.intent, "state": outcome.state, "success": code.is_none(), "errorCode": code})
}

#[cfg(test)]
mod tests {
    use super::*;
    use convengine_core::turn::{Loaded, Map, NoticeBody, ProgramRef, UserEvent};
    use std::task::{Context, Poll, Waker};

    fn input() -> TurnInput {
        TurnInput {
            turn: "t".to_owned(),
            conversation: "c".to_owned(),
            at: 0,
            seed: 1,
            program: ProgramRef::PipelineV2,
            event: UserEvent { text: None, reset: false, params: Map::new() },
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
        wire.lines().filter_map(|it| it.strip_prefix("id:")).map(str::to_owned).collect()
    }

    #[test]
    fn each_notice_is_sent_once_and_a_turn_that_was_dropped_is_closed() {
        let notice = |seq| Notice { seq, at: 0, body: NoticeBody::Audit { stage: "A".to_owned(), payload: json!({}) } };
        let notices = [notice(0), notice(1), notice(2)];
        let ids = heard(|mut told| {
            told.publish(&notices[..2], 0);
            told.publish(&notices[..2], 0);
            told.publish(&notices, 0);
            told.close(None);
        });
        assert_eq!(ids, ["t:0", "t:1", "t:2", "t:3"]);
        assert_eq!(heard(|told| told.close(None)), [""; 0], "one that has said nothing was never there");
    }
}
