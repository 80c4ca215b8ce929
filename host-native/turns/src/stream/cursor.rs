//! The position of a subscriber in a stream. Ensures that no event is delivered twice and detects gaps.

use std::sync::Arc;

use super::chunk::EventRange;

/// The position of a subscriber in its conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamCursor {
    /// The current or last turn; absent if no turn of the conversation had ended when the subscriber joined.
    turn: Option<Arc<str>>,
    /// The number of the next event.
    next: u32,
    /// Whether the subscriber may have joined during a turn, of which it then receives the rest.
    joined: JoinPoint,
    /// Turns replayed from their journals, whose queued live events are duplicates.
    replayed_turns: Vec<Arc<str>>,
}

/// When a subscriber joined, until it has received an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JoinPoint {
    /// The subscriber has received an event.
    Synced,
    /// Any turn may have been running.
    AnyTurn,
    /// This turn was running, or none.
    DuringTurn(Option<Arc<str>>),
}

/// Which events of a chunk a subscriber receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// All events after skipping this many.
    SkipFirst(u32),
    /// No events.
    SkipAll,
    /// Events before the chunk are missing.
    Gap,
}

impl StreamCursor {
    /// Creates a cursor after a turn that has ended, if any.
    pub fn after_turn(turn: Option<Arc<str>>, joined: JoinPoint) -> StreamCursor {
        StreamCursor { turn, next: u32::MAX, joined, replayed_turns: Vec::new() }
    }

    /// Creates a cursor after an event of a turn.
    pub fn after_event(turn: Arc<str>, seq: u32) -> StreamCursor {
        StreamCursor { turn: Some(turn), next: seq.saturating_add(1), joined: JoinPoint::Synced, replayed_turns: Vec::new() }
    }

    /// The turn after or within which the stream continues.
    pub fn turn(&self) -> Option<&Arc<str>> {
        self.turn.as_ref()
    }

    /// Advances over live events; `again` is whether they are published again on request.
    pub fn accept_live(&mut self, span: &EventRange, again: bool) -> Delivery {
        if self.replayed_turns.contains(&span.turn) {
            return Delivery::SkipAll;
        }
        if self.turn.as_ref() == Some(&span.turn) {
            return self.continue_turn(span, true);
        }
        let in_the_middle = match &self.joined {
            JoinPoint::Synced => false,
            JoinPoint::AnyTurn => true,
            JoinPoint::DuringTurn(turn) => turn.as_ref() == Some(&span.turn),
        };
        match (in_the_middle, again, span.from) {
            // Replayed for another subscriber: this one did not request earlier events.
            (true, true, _) => Delivery::SkipAll,
            (true, false, _) | (false, _, 0) => self.begin_turn(span),
            (false, _, 1..) => Delivery::Gap,
        }
    }

    /// Advances over events replayed from a journal.
    pub fn accept_replayed(&mut self, span: &EventRange) -> Delivery {
        if self.turn.as_ref() == Some(&span.turn) {
            return self.continue_turn(span, false);
        }
        self.replayed_turns.extend(self.turn.take());
        self.begin_turn(span)
    }

    fn begin_turn(&mut self, span: &EventRange) -> Delivery {
        self.turn = Some(Arc::clone(&span.turn));
        self.next = span.until;
        self.joined = JoinPoint::Synced;
        Delivery::SkipFirst(0)
    }

    fn continue_turn(&mut self, span: &EventRange, dense: bool) -> Delivery {
        if span.until <= self.next {
            return Delivery::SkipAll;
        }
        if dense && span.from > self.next {
            return Delivery::Gap;
        }
        let known = self.next.saturating_sub(span.from);
        self.next = span.until;
        self.joined = JoinPoint::Synced;
        Delivery::SkipFirst(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Delivery::{Gap, SkipAll, SkipFirst};

    fn span(turn: &str, from: u32, until: u32) -> EventRange {
        EventRange { turn: Arc::from(turn), from, until }
    }

    #[test]
    fn nothing_is_delivered_twice_and_gaps_are_detected() {
        let mut cursor = StreamCursor::after_event(Arc::from("a"), 4);
        for (turn, from, until, take) in [
            ("a", 0, 3, SkipAll),
            ("a", 0, 7, SkipFirst(5)),
            ("a", 9, 10, Gap),
            ("a", 7, 10, SkipFirst(0)),
            ("b", 2, 4, Gap),
            ("b", 0, 4, SkipFirst(0)),
        ] {
            assert_eq!(cursor.accept_live(&span(turn, from, until), false), take, "{turn} {from} {until}");
        }
    }

    #[test]
    fn events_replayed_from_journals_are_not_delivered_again() {
        let mut cursor = StreamCursor::after_event(Arc::from("a"), 1);
        assert_eq!(cursor.accept_replayed(&span("a", 0, 4)), SkipFirst(2));
        assert_eq!(cursor.accept_replayed(&span("b", 0, 4)), SkipFirst(0));
        assert_eq!(cursor.accept_replayed(&span("c", 0, 2)), SkipFirst(0), "part of a running turn");
        for (turn, from, until, take) in [("a", 2, 4, SkipAll), ("b", 0, 4, SkipAll), ("c", 1, 3, SkipFirst(1)), ("d", 0, 1, SkipFirst(0))]
        {
            assert_eq!(cursor.accept_live(&span(turn, from, until), false), take, "{turn}");
        }
        // A single event replaces those that cannot be derived.
        let mut cursor = StreamCursor::after_event(Arc::from("a"), 1);
        assert_eq!(cursor.accept_replayed(&span("a", u32::MAX, u32::MAX)), SkipFirst(0));
        assert_eq!(cursor.accept_replayed(&span("a", u32::MAX, u32::MAX)), SkipAll);
    }

    #[test]
    fn a_subscriber_joining_during_a_turn_receives_the_rest() {
        let ended = || Some(Arc::from("a"));
        for came in [JoinPoint::AnyTurn, JoinPoint::DuringTurn(Some(Arc::from("b")))] {
            let mut cursor = StreamCursor::after_turn(ended(), came);
            assert_eq!(cursor.accept_live(&span("a", 3, 5), false), SkipAll, "the turn had ended");
            assert_eq!(cursor.accept_live(&span("b", 0, 5), true), SkipAll, "requested by another subscriber");
            assert_eq!(cursor.accept_live(&span("b", 5, 6), false), SkipFirst(0));
            assert_eq!(cursor.accept_live(&span("b", 7, 8), false), Gap);
            assert_eq!(cursor.accept_live(&span("b", 0, 8), true), SkipFirst(6));
        }
        let mut cursor = StreamCursor::after_turn(ended(), JoinPoint::DuringTurn(None));
        assert_eq!(cursor.accept_live(&span("b", 5, 6), false), Gap, "the turn began later");
        assert_eq!(cursor.accept_live(&span("b", 0, 6), true), SkipFirst(0));
    }
}
